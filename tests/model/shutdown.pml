/*
 * The end of a pool: src/pool/pool_shutdown.c, with its parts in src/pool/hand_back.c,
 * src/core/caller_runs.c, src/pool/pool_quiesce.c and src/core/pool_submit.c.
 *
 * SUBMITTERS threads submit a task each. With CALLER one more thread submits a task that it runs
 * itself. With QUIESCE another thread quiesces. At the same time STOPPERS threads shut the pool
 * down, each by a drain or now, and AWAITERS threads await its end. At least one thread shuts down,
 * so all threads must end.
 *
 * A finished task is counted by a store that is not `seq`. The store may wait in its thread's
 * buffer until the next read-modify-write operation, and the thread's next check of `attention` may
 * precede it. The caller does not check again, and counts by a `seq` store.
 *
 * Left out: lanes (all tasks are compatible, so routed tasks are ready); the two steps of an append
 * and the details of sleeping (inbox_role.pml, sleep_wake.pml); time limits, nested submits, waits
 * inside tasks.
 *
 * Checked:
 * * Each task is refused, or called exactly once.
 * * No task is cancelled unless there was a shutdown now.
 * * The stronger mode wins, and is accepted once.
 * * The hand-back happens when no task runs.
 * * Await and quiesce return only after the calls that they wait for.
 * * Every thread ends.
 *
 * Planted errors, chosen by PLANTED:
 * 1. The pool counts as stopped before the hand-back.
 * 2. The inbox is found empty and then closed, in two steps.
 * 3. A thread that finds the role taken does not set ASKED.
 * 4. A drain replaces a stop.
 * 5. A caller does not count as a worker.
 * 6. Attention is requested after the state is set.
 * 7. The caller's count is not `seq`.
 * 8. A thread that is no worker gives the role back without a check of `attention`.
 */
#ifndef WORKERS
#define WORKERS 1
#endif
#ifndef SUBMITTERS
#define SUBMITTERS 1
#endif
#ifndef CALLER
#define CALLER 0
#endif
#ifndef QUIESCE
#define QUIESCE 0
#endif
#ifndef STOPPERS
#define STOPPERS 2
#endif
#ifndef AWAITERS
#define AWAITERS 1
#endif
#ifndef PLANTED
#define PLANTED 0
#endif
#define TASKS   (SUBMITTERS + CALLER)
#define OWN     (1 << SUBMITTERS) /* the caller's task */
#define MESSAGE 128               /* the quiesce, in the inbox */
#define BIT(t)  (1 << (t))
#define VISITORS (AWAITERS + QUIESCE)

mtype = { RUNNING, DRAINING, STOPPING }
mtype state = RUNNING;
byte attention, workers_left = WORKERS; bool stopped, joining, joined;
bool taken, asked;                /* the router role */
byte inbox, behind; bool closed;  /* tasks as bits; `behind`: tasks behind the message */
byte ready;                       /* in rings */
byte routed[2], finished[2], epoch; /* by epoch */
byte task_epoch;                  /* bits of tasks of the second epoch */
bool quiescing, quiesce_is_posted;
byte searching, sleeping; bool asleep[WORKERS], crew_stop;
bool waits_here, is_called, caller_is_posted;
bool visits[VISITORS], visitor_is_posted[VISITORS];
bool joined_of[WORKERS];

byte accepted, refused, called, cancelled; /* sets of tasks */
byte running, stops;                       /* running tasks; accepted calls of shutdown now */
bool saw_stop;

/* The store buffers: 0, or the epoch + 1 of a task that is not counted yet. First those of the
 * workers, then that of the caller. */
byte uncounted[WORKERS + 1];
#define DRAINED (me > WORKERS || uncounted[me] == 0)

proctype memory() {
end_memory:
  do
  :: atomic { uncounted[0] != 0 -> finished[uncounted[0] - 1]++; uncounted[0] = 0 }
  :: atomic { uncounted[1] != 0 -> finished[uncounted[1] - 1]++; uncounted[1] = 0 }
  :: atomic { uncounted[WORKERS] != 0 -> finished[uncounted[WORKERS] - 1]++; uncounted[WORKERS] = 0 }
  od
}

/* --- sleeps and waits, in one step each --- */

inline wake_worker(w) { asleep[w] = false; sleeping--; searching++ }

inline wake_by_rule() {
  atomic {
    if
    :: searching == 0 && sleeping > 0 ->
       if
       :: asleep[0] -> wake_worker(0)
       :: !asleep[0] -> wake_worker(WORKERS - 1)
       fi
    :: else
    fi
  }
}

inline wake_all() {
  atomic {
    if :: asleep[0] -> wake_worker(0) :: else fi;
    if :: asleep[WORKERS - 1] -> wake_worker(WORKERS - 1) :: else fi
  }
}

inline wake_waits() { atomic { if :: waits_here -> caller_is_posted = true :: else fi } }

/* --- the role --- */

inline try_or_ask() {
  atomic { DRAINED ->
           is_mine = !taken;
           if :: is_mine || PLANTED == 3 :: else -> asked = true fi;
           taken = true }
}

inline give_back_quietly() {
  atomic { DRAINED -> was_asked = asked; taken = false; asked = false; is_mine = false };
  if :: inbox != 0 -> wake_by_rule() :: inbox == 0 fi
}

/* Routes the whole inbox. A message begins an epoch; then its quiesce is checked. */
inline count_routed(bits, e) {
  do
  :: bits & BIT(count) -> routed[e]++; bits = bits & ~BIT(count);
     if :: e == 1 -> task_epoch = task_epoch | BIT(count) :: else fi
  :: !(bits & BIT(count)) && count < TASKS -> count++
  :: !(bits & BIT(count)) && count >= TASKS -> break
  od;
  count = 0
}

inline route() {
  atomic {
    batch = inbox & ~MESSAGE; moved = batch;
    count_routed(batch, epoch);
    if
    :: inbox & MESSAGE ->
       epoch = 1; attention++; quiescing = true;
       batch = behind; moved = moved | behind;
       count_routed(batch, 1)
    :: else
    fi;
    inbox = 0; behind = 0; batch = 0;
    ready = ready | (moved & ~OWN); moved = moved & OWN
  };
  if :: QUIESCE -> look_for_quiesce() :: !QUIESCE fi;
  if
  :: CALLER && moved != 0 ->
     if
     :: state == STOPPING -> ready = ready | OWN
     :: atomic { state != STOPPING };
        atomic { if :: waits_here -> is_called = true; caller_is_posted = true
                    :: else -> ready = ready | OWN fi }
     fi;
     moved = 0
  :: else
  fi;
  if :: ready != 0 -> wake_by_rule() :: ready == 0 fi
}

/* --- pool_quiesce.c, hand_back.c, lifecycle.c: checking the counters --- */

inline look_for_quiesce() {
  atomic {
    if
    :: quiescing && finished[0] == routed[0] ->
       quiescing = false; attention--; quiesce_is_posted = true
    :: else
    fi
  }
}

inline hand_back() {
  assert(running == 0);
  do
  :: route();
     if
     :: atomic { inbox == 0 -> closed = true; break }
     :: inbox != 0
     fi
  od;
  atomic {
    assert(running == 0 && (ready & called) == 0);
    called = called | ready; cancelled = cancelled | ready;
    batch = ready;
    do
    :: batch & BIT(count) -> batch = batch & ~BIT(count);
       finished[(task_epoch & BIT(count) -> 1 : 0)]++
    :: !(batch & BIT(count)) && count < TASKS -> count++
    :: !(batch & BIT(count)) && count >= TASKS -> break
    od;
    count = 0; ready = 0
  }
}

inline set_stopped() {
  atomic {
    stopped = true;
    if :: visits[0] -> visits[0] = false; visitor_is_posted[0] = true :: else fi;
    if :: visits[VISITORS - 1] -> visits[VISITORS - 1] = false;
          visitor_is_posted[VISITORS - 1] = true
       :: else
    fi
  }
}

inline check_counters() {
  if :: QUIESCE -> look_for_quiesce() :: !QUIESCE fi;
  if
  :: workers_left == 0 ->
     if
     :: stopped
     :: !stopped ->
        if :: PLANTED == 1 -> set_stopped() :: PLANTED != 1 fi;
        if :: state == STOPPING -> hand_back() :: state != STOPPING fi;
        if :: QUIESCE -> look_for_quiesce() :: !QUIESCE fi;
        set_stopped()
     fi
  :: workers_left != 0 ->
     if
     :: state == DRAINING && !crew_stop && finished[0] + finished[1] == routed[0] + routed[1] ->
        if
#if PLANTED == 2
        :: inbox == 0 -> closed = true; crew_stop = true; wake_all()
#else
        :: atomic { inbox == 0 -> closed = true }; crew_stop = true; wake_all()
#endif
        :: inbox != 0
        fi
     :: else
     fi
  fi
}

inline attend() {
  do
  :: attention == 0 -> break
  :: attention != 0 ->
     try_or_ask();
     if
     :: !is_mine -> break
     :: is_mine ->
        check_counters();
        give_back_quietly();
        if :: was_asked -> was_asked = false; wake_waits() :: !was_asked -> break fi
     fi
  od
}

inline give_back() {
  give_back_quietly();
  if :: was_asked -> wake_waits() :: !was_asked fi;
  if
  :: (was_asked || me >= WORKERS) && PLANTED != 8 -> was_asked = false; attend()
  :: else -> was_asked = false
  fi
}

inline try_route() {
  if
  :: atomic { !taken && DRAINED -> taken = true }; route(); give_back()
  :: taken
  fi
}

inline count_out() {
  atomic { DRAINED -> assert(workers_left > 0); workers_left--; is_last = (workers_left == 0) };
  if :: is_last -> is_last = false; attend() :: !is_last fi
}

/* --- tasks --- */

inline call(task) {
  atomic { assert(!(called & BIT(task))); called = called | BIT(task); running++ };
  atomic { DRAINED -> running--; uncounted[me] = (task_epoch & BIT(task) -> 2 : 1) }
}

proctype worker(byte me) {
  byte task, batch, moved, count;
  bool is_mine, was_asked, is_last, is_searching;
  do
  :: crew_stop -> break
  :: atomic { !crew_stop && ready != 0 && DRAINED ->
              if
              :: ready & BIT(0) -> task = 0
              :: !(ready & BIT(0)) && (ready & BIT(1)) -> task = 1
              :: !(ready & BIT(0)) && !(ready & BIT(1)) -> task = 2
              fi;
              ready = ready & ~BIT(task);
              if :: is_searching -> is_searching = false; searching--; is_last = (searching == 0)
                 :: else
              fi };
     if
     :: is_last && (ready != 0 || (!taken && inbox != 0)) -> is_last = false; wake_by_rule()
     :: else -> is_last = false
     fi;
     call(task);
     task = 0
  :: atomic { !crew_stop && ready == 0 && inbox != 0 && !taken }; try_route()
  :: atomic { !crew_stop && ready == 0 && DRAINED && !is_searching -> is_searching = true; searching++ }
  :: atomic { !crew_stop && ready == 0 && DRAINED && is_searching ->
              searching--; sleeping++; asleep[me] = true };
     attend();
     if
     :: atomic { crew_stop || ready != 0 || (!taken && inbox != 0) ->
                 if :: asleep[me] -> wake_worker(me) :: else fi }
     :: atomic { else }; !asleep[me]
     fi
  od;
  if :: is_searching -> atomic { searching--; is_searching = false } :: !is_searching fi;
  count_out();
  joined_of[me] = true
}

/* --- pool_submit.c --- */

/* The state is only a hint here: an old value may be read. */
inline append(own) {
  if
  :: state != RUNNING -> is_in = false
  :: atomic {
       is_in = !closed;
       if
       :: is_in -> accepted = accepted | own;
          if :: inbox & MESSAGE -> behind = behind | own :: else -> inbox = inbox | own fi
       :: else
       fi }
  fi
}

inline appended() {
  if :: sleeping == WORKERS -> try_route() :: sleeping != WORKERS fi;
  wake_by_rule()
}

proctype submitter(byte me; byte task) {
  byte batch, moved, count;
  bool is_mine, was_asked, is_in;
  append(BIT(task));
  if :: is_in -> appended() :: !is_in -> atomic { refused = refused | BIT(task) } fi
}

/* --- caller_runs.c --- */

proctype caller(byte me) {
  byte batch, moved, count;
  bool is_mine, was_asked, is_in, is_last, is_due;
  if :: PLANTED == 5 :: PLANTED != 5 -> workers_left++ fi;
  atomic { waits_here = true };
  append(OWN);
  if
  :: !is_in -> atomic { waits_here = false; refused = refused | OWN }
  :: is_in ->
     appended();
     do
     :: is_called || state == STOPPING -> break
     :: !is_called && state != STOPPING ->
        try_or_ask();
        if :: is_mine -> route(); give_back() :: !is_mine fi;
        if
        :: is_called || state == STOPPING
        :: !is_called && state != STOPPING -> atomic { caller_is_posted -> caller_is_posted = false }
        fi
     od;
     atomic { waits_here = false; is_due = is_called };
     if
     :: is_due && state != STOPPING ->
        call(SUBMITTERS);
        if :: PLANTED == 7 :: PLANTED != 7 -> DRAINED fi;
        attend()
     :: is_due && state == STOPPING -> atomic { ready = ready | OWN }; wake_by_rule()
     :: !is_due
     fi
  fi;
  if :: PLANTED == 5 :: PLANTED != 5 -> count_out() fi
}

/* --- pool_shutdown.c --- */

proctype stopper() {
  mtype before;
  if
  :: /* lanepool_pool_shutdown */
#if PLANTED != 6
     attention++;
#endif
     if
#if PLANTED == 4
     :: atomic { state != DRAINING -> before = state; state = DRAINING };
#else
     :: atomic { state == RUNNING -> state = DRAINING };
#endif
#if PLANTED == 6
        attention++;
#endif
        wake_all()
     :: else ->
#if PLANTED != 6
        attention--
#else
        skip
#endif
     fi
  :: /* lanepool_pool_shutdown_now */
     if
     :: crew_stop
     :: !crew_stop ->
        atomic { before = state;
                 if :: before != STOPPING -> state = STOPPING; stops++; assert(stops == 1) :: else fi };
        if
        :: before == STOPPING
        :: before != STOPPING ->
           if :: before == RUNNING -> attention++ :: before == DRAINING fi;
           wake_all();
           crew_stop = true; wake_all();
           wake_waits()
        fi
     fi
  fi
}

/* --- awaiting, quiescing --- */

inline await(number) {
  do
  :: atomic { joined -> break }
  :: atomic { !joined && stopped && !joining -> joining = true };
     joined_of[0] && joined_of[WORKERS - 1];
     atomic { joined = true; set_stopped() }
  :: atomic { !joined && !(stopped && !joining) -> visits[number] = true };
     atomic { visitor_is_posted[number] -> visitor_is_posted[number] = false }
  od
}

proctype awaiter(byte number) {
  await(number);
  assert((accepted & ~called) == 0 && running == 0 && closed);
  assert(inbox == 0 && ready == 0)
}

proctype quiescer(byte me) {
  byte batch, moved, count, before;
  bool is_mine, was_asked, is_in;
  atomic {
    is_in = !closed; before = accepted;
    if :: is_in -> inbox = inbox | MESSAGE :: else fi
  };
  if
  :: is_in -> appended(); quiesce_is_posted
  :: !is_in -> await(VISITORS - 1)
  fi;
  assert((before & ~called) == 0)
}

init {
  byte i;
  atomic {
    run memory();
    do :: i < WORKERS -> run worker(i); i++ :: else -> break od;
    i = 0;
    do :: i < SUBMITTERS -> run submitter(WORKERS + 1, i); i++ :: else -> break od;
    i = 0;
    do :: i < STOPPERS -> run stopper(); i++ :: else -> break od;
    i = 0;
    do :: i < AWAITERS -> run awaiter(i); i++ :: else -> break od;
    if :: CALLER -> run caller(WORKERS) :: !CALLER fi;
    if :: QUIESCE -> run quiescer(WORKERS + 1) :: !QUIESCE fi
  };
  _nr_pr == 2; /* every process except the memory has ended */
  assert((accepted | refused) == BIT(TASKS) - 1 && (accepted & refused) == 0);
  assert(accepted == called && running == 0);
  assert(cancelled == 0 || stops == 1);
  assert(state == (stops == 1 -> STOPPING : DRAINING))
}
