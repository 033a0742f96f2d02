/*
 * Lanes of workers: the tasks that src/route/worker_lanes.c makes ready, the pinned task of
 * src/sched/ready_ring.h, and the sleep of its worker (src/sched/worker.c, sleep.c), on a machine
 * with store buffers.
 *
 * A router appends TASKS tasks, each to the lane of one worker or of both, in all combinations. The
 * last grant pins a task to one worker: the one that made the grant, if its lane is among the
 * task's, else the owner of the task's first lane. With PAUSE, the pool is paused and resumed at
 * any time.
 *
 * The worker's store that empties its pinned task may wait in a buffer of one entry. The buffer is
 * emptied at any time, and before each `seq` or read-modify-write operation of the worker.
 *
 * Left out: chains, in which a worker runs the next task of its lane without pinning it: that is a
 * pin and a take with no step of another thread in between; the steps of an append and of a release, which lane.pml and lane_latch.pml have; the
 * search before a sleep, which sleep_wake.pml has.
 *
 * Checked:
 * * A task begins once, on a worker whose lane it has, and only when every earlier task of its
 *   lanes has ended.
 * * No task is pinned to a worker that has one already.
 * * All tasks end: none is lost, and none waits for a worker that sleeps.
 * * No worker is posted twice for one sleep.
 *
 * Planted errors, chosen by PLANTED:
 * 1. The wake precedes the pinned task.
 * 2. A worker checks for a pinned task before it sets its flag.
 * 3. A worker empties its pinned task only after it has released the task's lanes.
 * 4. The worker of the task's other lane is woken.
 * 5. The first grant pins a rollup.
 * 6. A resume wakes no worker.
 */
#ifndef TASKS
#define TASKS 3
#endif
#ifndef PAUSE
#define PAUSE 0
#endif
#ifndef PLANTED
#define PLANTED 0
#endif
#define WORKERS 2
#define ROUTER  WORKERS
#define NONE    15
#define BIT(t)  (1 << (t))

byte lanes[TASKS];    /* 1, 2, or 3: both */
byte countdown[TASKS];
byte placed[WORKERS]; /* sets of tasks: appended to the lane */
byte left[WORKERS];   /* sets of tasks: have left the lane */
byte granted[WORKERS] = NONE;
byte pinned[WORKERS] = NONE;
bool asleep[WORKERS]; byte posted[WORKERS];
bool empties[WORKERS]; /* the worker's buffer holds the store of no task */
byte begun, ended;
bool paused;

#define DRAINED (me == ROUTER || !empties[me])
#define WAITS_IN(lane, t) ((placed[lane] & BIT(t)) && !(left[lane] & BIT(t)))

proctype memory() {
end_memory:
  do
  :: atomic { empties[0] -> pinned[0] = NONE; empties[0] = false }
  :: atomic { empties[1] -> pinned[1] = NONE; empties[1] = false }
  od
}

/* --- pinning --- */

inline try_wake(index) {
  if
  :: atomic { asleep[index] && DRAINED -> asleep[index] = false };
     atomic { assert(posted[index] == 0); posted[index]++ }
  :: atomic { !asleep[index] && DRAINED }
  fi
}

/* Pins the tasks of the set `ready`. */
inline put_ready() {
  do
  :: ready != 0 ->
     atomic {
       t = 0;
       do :: ready & BIT(t) -> break :: else -> t++ od;
       ready = ready & ~BIT(t);
       if
       :: me != ROUTER && (lanes[t] & BIT(me)) -> where = me
       :: else -> where = (lanes[t] & 1 -> 0 : 1)
       fi
     };
#if PLANTED == 1
     try_wake(where);
     atomic { DRAINED -> assert(pinned[where] == NONE); pinned[where] = t }
#else
     atomic { DRAINED -> assert(pinned[where] == NONE); pinned[where] = t };
     if
     :: PLANTED == 4 && lanes[t] == 3 -> try_wake(1 - where)
     :: !(PLANTED == 4 && lanes[t] == 3) -> try_wake(where)
     fi
#endif
  :: else -> t = 0; where = 0; break
  od
}

inline arrive(task, arrivals) {
  assert(countdown[task] >= (arrivals));
  countdown[task] = countdown[task] - (arrivals);
  if
  :: countdown[task] == 0 || (PLANTED == 5 && countdown[task] == 1 && lanes[task] == 3) ->
     ready = ready | BIT(task)
  :: else
  fi
}

/* --- the router --- */

inline append(lane) {
  atomic {
    placed[lane] = placed[lane] | BIT(routed);
    if
    :: granted[lane] == NONE -> granted[lane] = routed; count++
    :: else
    fi
  }
}

proctype router() {
  byte me = ROUTER, routed, count, ready, t, where;
  do
  :: routed < TASKS ->
     atomic { count = 0; countdown[routed] = (lanes[routed] == 3 -> 3 : 2) };
     if :: lanes[routed] & 1 -> append(0) :: else fi;
     if :: lanes[routed] & 2 -> append(1) :: else fi;
     atomic { arrive(routed, count + 1); routed++ };
     put_ready()
  :: else -> break
  od
}

/* --- a worker --- */

inline release(lane) {
  atomic {
    DRAINED -> assert(granted[lane] == task);
    left[lane] = left[lane] | BIT(task);
    granted[lane] = NONE; t = 0;
    do
    :: t == TASKS -> break
    :: t < TASKS && WAITS_IN(lane, t) -> granted[lane] = t; arrive(t, 1); break
    :: else -> t++
    od;
    t = 0
  }
}

inline run_task() {
#if PLANTED != 3
  empties[me] = true;
#endif
  atomic {
    assert(!(begun & BIT(task)) && (lanes[task] & BIT(me)));
    begun = begun | BIT(task); t = 0;
    do
    :: t < task -> assert(!(lanes[t] & lanes[task]) || (ended & BIT(t))); t++
    :: else -> break
    od;
    t = 0
  };
  ended = ended | BIT(task);
  if :: lanes[task] & 1 -> release(0) :: else fi;
  if :: lanes[task] & 2 -> release(1) :: else fi;
#if PLANTED == 3
  empties[me] = true;
#endif
  task = NONE;
  put_ready()
}

/* Sets `task` if there is one and the pool is not paused. */
inline find() {
  if
  :: atomic { pinned[me] != NONE && DRAINED };
     if :: atomic { !paused -> task = pinned[me] } :: paused fi
  :: atomic { pinned[me] == NONE || !DRAINED }
  fi
}

inline check_everywhere() {
  if
  :: paused
  :: atomic { !paused }; something = (pinned[me] != NONE && DRAINED)
  fi
}

inline sleep() {
#if PLANTED == 2
  check_everywhere();
#endif
  atomic { DRAINED -> assert(!asleep[me]); asleep[me] = true };
#if PLANTED != 2
  check_everywhere();
#endif
  if
  :: something ->
     something = false;
     if
     :: atomic { asleep[me] -> asleep[me] = false }
     :: atomic { !asleep[me] }; atomic { posted[me] > 0 -> posted[me]-- }
     fi
  :: else ->
end_asleep:
     atomic { posted[me] > 0 -> posted[me]-- }
  fi
}

proctype worker(byte me) {
  byte task = NONE, ready, t, where;
  bool something;
  do
  :: true ->
     find();
     if :: task != NONE -> run_task() :: else -> sleep() fi
  od
}

proctype pauser() {
  byte me = ROUTER;
  paused = true;
  paused = false;
#if PLANTED != 6
  try_wake(0);
  try_wake(1)
#endif
}

init {
  byte t;
  atomic {
    do
    :: t < TASKS -> if :: lanes[t] = 1 :: lanes[t] = 2 :: lanes[t] = 3 fi; t++
    :: else -> break
    od;
    run memory(); run router(); run worker(0); run worker(1);
    if :: PAUSE -> run pauser() :: else fi
  };
  ended == BIT(TASKS) - 1
}
