/*
 * Sleeping and waking: src/sched/sleep.c, with the loop and the checks of src/sched/worker.c and
 * the put of src/sched/ready_ring.c, on a machine with store buffers.
 *
 * PUBLISHERS threads put EACH times BATCH ready tasks into the ring of any worker, and tasks that
 * do not fit into the overflow list. Workers take tasks, search, and sleep. The task that is taken
 * first lasts until all others have finished, so that its worker cannot make up for a lost wake-up.
 * At the end, or with STOP_EARLY at any time, the workers are stopped.
 *
 *   PINNED      publishers pin tasks to a worker instead, which no other worker takes,
 *               and wake that worker; pinned.pml has where these tasks come from
 *   RESIDENT    this many workers always have a thread; the others are absent at first,
 *               and may end after any sleep
 *   NAPS        each worker may nap so many times instead of going to sleep
 *   FAILS       a thread may be refused; then the task that is taken first does not wait
 *
 * A store that is not `seq` waits in a buffer of one entry for each thread. The buffer is emptied
 * at any time, and before each `seq` or read-modify-write operation.
 *
 * Left out: how often a search checks (it may give up at any time); routing, which inbox_role.pml
 * has; the identity of tasks; repeated attempts to start a thread.
 *
 * Checked:
 * * No task is left behind while a worker sleeps that may run it.
 * * The counts never exceed the number of workers nor fall below 0.
 * * No worker is posted twice for one sleep.
 * * Stopped workers end.
 * * No thread is started after the workers have been joined, nor two for one worker.
 *
 * Planted errors, chosen by PLANTED:
 * 1. The sleep flag is a plain store.
 * 2. The ring's tail is a plain store.
 * 3. The checks precede the flag.
 * 4. The last worker that leaves a search with a task wakes no other.
 * 5. The wake precedes the work.
 * 6. The wake precedes the stop.
 * 7. A worker that finds work after it set its flag does not wait for a post that is on its way.
 * 8. A worker that becomes absent does not check once more.
 * 9. A worker that ends becomes absent before it has left the count of sleepers.
 * 10. The check for a stop precedes the count of workers that have not left.
 * 11. After a nap a worker that finds a task does not count as searching, so it wakes no other.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef PUBLISHERS
#define PUBLISHERS 2
#endif
#ifndef EACH
#define EACH 1
#endif
#ifndef BATCH
#define BATCH 1
#endif
#ifndef RING
#define RING 2
#endif
#ifndef PINNED
#define PINNED 0
#endif
#ifndef STOP_EARLY
#define STOP_EARLY 0
#endif
#ifndef RESIDENT
#define RESIDENT WORKERS
#endif
#ifndef NAPS
#define NAPS 0
#endif
#ifndef FAILS
#define FAILS 0
#endif
#ifndef PLANTED
#define PLANTED 0
#endif
#define TASKS   (PUBLISHERS * EACH * BATCH)
#define THREADS (WORKERS + PUBLISHERS + 1)

byte ring[WORKERS], pinned[WORKERS], spilled;
bool putting[WORKERS];
byte searching, sleeping; /* the word of the sleepers */
bool asleep[WORKERS]; byte posted[WORKERS];
bool stop;
byte begun, finished, gone;
bool absent[WORKERS], coming[WORKERS];
byte not_left = RESIDENT; /* workers_left */
bool joined;

/* --- the machine --- */

#define EMPTY 0
#define PUTTING_ENDS 1 /* in `ring` of the entry */
#define FLAG_IS_SET  2
#define TAIL_MOVES   3
byte buffered[THREADS], buffered_ring[THREADS];
#define DRAINED (buffered[me] == EMPTY)

inline memory_takes(thread) {
  if
  :: buffered[thread] == PUTTING_ENDS -> putting[buffered_ring[thread]] = false
  :: buffered[thread] == FLAG_IS_SET -> asleep[buffered_ring[thread]] = true
  :: buffered[thread] == TAIL_MOVES -> ring[buffered_ring[thread]]++
  fi;
  buffered[thread] = EMPTY; buffered_ring[thread] = 0
}

proctype memory() {
  byte thread;
end_memory:
  do
  :: atomic { buffered[0] != EMPTY -> thread = 0; memory_takes(thread) }
  :: atomic { buffered[1] != EMPTY -> thread = 1; memory_takes(thread); thread = 0 }
  :: atomic { buffered[2] != EMPTY -> thread = 2; memory_takes(thread); thread = 0 }
  :: atomic { buffered[THREADS - 2] != EMPTY -> thread = THREADS - 2; memory_takes(thread); thread = 0 }
  od
}

/* --- sleep.c --- */

inline check_counts() { assert(searching + sleeping <= WORKERS) }

/* The flag is claimed and the word is changed by separate operations; then the worker is posted. */
inline try_wake(index, woken) {
  if
  :: atomic { asleep[index] && DRAINED -> asleep[index] = false };
     atomic { assert(sleeping > 0); searching++; sleeping--; check_counts() };
     atomic { assert(posted[index] == 0); posted[index]++; woken = true }
  :: atomic { !asleep[index] -> woken = false }
  fi
}

/* Starts an absent worker that was claimed. If its thread is refused, it counts as busy. */
inline start(index) {
#if PLANTED == 10
  if
  :: stop
  :: atomic { !stop };
     atomic { not_left = not_left + 2 };
     atomic { assert(!joined && !coming[index]); coming[index] = true };
     not_left--
  fi
#else
  atomic { DRAINED -> not_left = not_left + 2 };
  if
  :: stop -> not_left--
  :: atomic { !stop };
     if
     :: FAILS -> not_left--
     :: atomic { assert(!joined && !coming[index]); coming[index] = true }
     fi
  fi;
  not_left--
#endif
}

inline try_start(index, woken) {
  if
  :: atomic { absent[index] && DRAINED -> absent[index] = false };
     atomic { assert(sleeping > 0); sleeping--; woken = true };
     start(index)
  :: atomic { !absent[index] -> woken = false }
  fi
}

inline wake_by_rule() {
  if
  :: atomic { searching == 0 && sleeping > 0 -> at = 0 };
     do
     :: at < WORKERS -> try_wake(at, is_woken); if :: is_woken -> break :: else -> at++ fi
     :: else -> break
     od;
#if RESIDENT < WORKERS
     if
     :: atomic { !is_woken -> at = RESIDENT };
        do
        :: at < WORKERS -> try_start(at, is_woken); if :: is_woken -> break :: else -> at++ fi
        :: else -> break
        od
     :: is_woken
     fi;
#endif
     atomic { at = 0; is_woken = false }
  :: atomic { !(searching == 0 && sleeping > 0) }
  fi
}

/* --- ready_ring.c, worker.c: putting --- */

/* Puts `count` tasks into the ring `where`, the rest into the overflow list, and wakes a worker. */
inline put() {
#if PLANTED == 5
  wake_by_rule();
#endif
  if
  :: putting[where]
  :: atomic { !putting[where] && DRAINED -> putting[where] = true };
#if PLANTED == 2
     atomic { ring[where] < RING && DRAINED ->
              buffered[me] = TAIL_MOVES; buffered_ring[me] = where; putting[where] = false; count-- }
#else
     atomic { DRAINED ->
              do :: count > 0 && ring[where] < RING -> ring[where]++; count-- :: else -> break od };
     atomic { buffered[me] = PUTTING_ENDS; buffered_ring[me] = where }
#endif
  fi;
  if
  :: atomic { count > 0 && DRAINED -> spilled = spilled + count; count = 0 }
  :: count == 0
  fi;
  where = 0;
#if PLANTED != 5
  wake_by_rule()
#endif
}

proctype publisher(byte me) {
  byte where, count, at, left = EACH;
  bool is_woken;
  do
  :: left > 0 ->
     atomic { left--; count = BATCH;
              do :: where < WORKERS - 1 -> where++ :: break od };
#if PINNED
     atomic { DRAINED -> pinned[where] = pinned[where] + count; count = 0 };
     try_wake(where, is_woken);
     atomic { where = 0; is_woken = false }
#else
     put()
#endif
  :: else -> break
  od
}

/* --- worker.c --- */

#define OTHER ((me + 1) % WORKERS)

inline find() {
  atomic {
    if
    :: pinned[me] > 0 && DRAINED -> pinned[me]--; has_task = true
    :: spilled > 0 && DRAINED -> spilled--; has_task = true
    :: ring[me] > 0 && DRAINED -> ring[me]--; has_task = true
    :: ring[OTHER] > 0 && DRAINED ->
       count = ring[OTHER] - ring[OTHER] / 2; ring[OTHER] = ring[OTHER] - count;
       count--; has_task = true
#if WORKERS > 2
    :: ring[(me + 2) % WORKERS] > 0 && DRAINED ->
       ring[(me + 2) % WORKERS]--; has_task = true
#endif
    :: true -> skip /* the check found nothing */
    fi
  };
  if :: count > 0 -> where = me; put() :: else fi
}

inline check_everywhere() { /* checks for work of any kind */
  if
  :: stop -> something = true
  :: atomic { !stop };
     if
     :: spilled > 0 -> something = true
     :: atomic { spilled == 0 };
        if
        :: ring[0] > 0 -> something = true
        :: atomic { ring[0] == 0 };
           if
           :: ring[1] > 0 || ring[WORKERS - 1] > 0 -> something = true
           :: atomic { ring[1] == 0 && ring[WORKERS - 1] == 0 };
              something = (pinned[me] > 0)
           fi
        fi
     fi
  fi
}

inline run_task() {
  begun++;
  if
  :: atomic { begun == 1 && !STOP_EARLY && !PINNED && !FAILS -> is_first = true }; finished == TASKS - 1
  :: else
  fi;
  atomic { finished++; has_task = false; is_first = false }
}

inline prepare_sleep() {
#if PLANTED == 3
  check_everywhere();
#endif
  atomic { DRAINED -> assert(searching > 0); searching--; sleeping++; check_counts() };
#if PLANTED == 1
  atomic { buffered[me] = FLAG_IS_SET; buffered_ring[me] = me };
#else
  atomic { assert(!asleep[me]); asleep[me] = true };
#endif
#if PLANTED != 3
  check_everywhere();
#endif
  if
  :: something ->
     something = false;
     if
     :: atomic { asleep[me] && DRAINED -> asleep[me] = false };
        atomic { assert(sleeping > 0); sleeping--; searching++; check_counts() }
     :: atomic { !asleep[me] && DRAINED };
        if :: PLANTED == 7 :: PLANTED != 7 -> atomic { posted[me] > 0 -> posted[me]-- } fi
     fi
  :: else ->
     if
     :: atomic { posted[me] > 0 -> posted[me]-- }
#if RESIDENT < WORKERS
     :: atomic { me >= RESIDENT && asleep[me] && DRAINED -> asleep[me] = false };
        leave()
#endif
     fi
  fi
}

/* The worker has cleared its own flag. */
inline leave() {
#if PLANTED == 9
  absent[me] = true;
  atomic { assert(sleeping > 0); sleeping-- };
  atomic { sleeping++ };
#else
  atomic { assert(sleeping > 0); sleeping-- };
  atomic { sleeping++; check_counts() };
  atomic { assert(!absent[me]); absent[me] = true };
#endif
#if PLANTED != 8
  check_everywhere();
#endif
  if
  :: something && !stop ->
     something = false;
     if
     :: atomic { absent[me] -> absent[me] = false };
        atomic { assert(sleeping > 0); sleeping-- };
        atomic { searching++; check_counts() }
     :: atomic { !absent[me] -> leaves = true }
     fi
  :: else -> atomic { something = false; leaves = true }
  fi
}

proctype worker(byte me) {
#if NAPS > 0
  byte naps;
#endif
  byte where, count, at;
  bool has_task, is_searching, is_last, something, is_woken, is_first, leaves;
  if
  :: me >= RESIDENT -> goto end_absent
  :: else
  fi;
come:
  do
  :: stop || leaves -> break
  :: !stop && !leaves ->
     find();
     if
     :: has_task ->
        if
        :: is_searching ->
           atomic { DRAINED -> is_searching = false; assert(searching > 0); searching--;
                    is_last = (searching == 0) };
           if
           :: is_last && PLANTED != 4 ->
              check_everywhere();
              if :: something -> wake_by_rule() :: else fi
           :: else
           fi;
           atomic { is_last = false; something = false }
        :: else
        fi;
        run_task()
     :: !has_task && !is_searching ->
        atomic { DRAINED -> is_searching = true; searching++; check_counts() }
     :: !has_task && is_searching -> prepare_sleep()
#if NAPS > 0
     /* No wake: what was left to this worker waits until it is back. */
     :: atomic { !has_task && is_searching && naps < NAPS && DRAINED ->
                 naps++; is_searching = false; assert(searching > 0); searching-- };
#if PLANTED != 11
        atomic { DRAINED -> is_searching = true; searching++; check_counts() }
#endif
#endif
     fi
  od;
  if :: is_searching && !leaves -> atomic { DRAINED -> searching-- } :: else fi;
  atomic { is_searching = false; leaves = false };
  atomic { DRAINED -> not_left--; gone++ };
  if
  :: me >= RESIDENT
  :: me < RESIDENT -> goto end_of_thread
  fi;
end_absent:
  atomic { coming[me] -> coming[me] = false };
  atomic { DRAINED -> is_searching = true; searching++; check_counts() };
  goto come;
end_of_thread:
  skip
}

/* --- lanepool_i_workers_stop --- */

inline wake_all() {
  at = 0;
  do :: at < WORKERS -> try_wake(at, is_woken); at++ :: else -> break od
}

init {
  byte me, at;
  bool is_woken;
  atomic {
    do :: me < WORKERS -> run worker(me); me++ :: else -> break od;
    me = RESIDENT;
    do :: me < WORKERS -> absent[me] = true; sleeping++; me++ :: else -> break od;
    do :: me < WORKERS + PUBLISHERS -> run publisher(me); me++ :: else -> break od;
    run memory()
  };
  if
  :: STOP_EARLY
  :: !STOP_EARLY -> finished == TASKS
  fi;
#if PLANTED == 6
  wake_all();
#endif
  stop = true;
#if PLANTED != 6
  wake_all();
#endif
  atomic { not_left == 0 -> joined = true };
  assert(gone >= RESIDENT && searching == 0 && (RESIDENT < WORKERS || sleeping == 0));
  assert(STOP_EARLY || finished == TASKS)
}
