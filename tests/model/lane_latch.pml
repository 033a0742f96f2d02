/*
 * Tasks over two lanes: the lanes of src/lane/lane.c and the countdown of src/task/countdown.h.
 * Tasks are routed and released in the order of src/route/rule_keys.c.
 *
 * The role's holder routes TASKS tasks. Each claims one lane or both, in either mode, in all
 * combinations. Each task has a thread of its own, and runs as soon as it is ready. A body does not
 * end before every routed task that may run has begun. So if such a task is blocked, no thread can
 * continue, and that is an error.
 *
 * Left out: freezing, and the steps of an advance before its swap, which lane.pml has; rings and
 * workers; memory orders: steps happen in program order.
 *
 * Checked:
 * * A task is made ready once, and begins only when every earlier conflicting one has ended.
 * * It begins without waiting for anything else: readers together, a writer alone.
 * * Nothing of a task is accessed after its last release.
 * * The count of latched lanes becomes 0.
 *
 * Planted errors, chosen by PLANTED:
 * 1. A lane that is granted at once counts twice.
 * 2. The router holds no share of the countdown.
 * 3. A link is read after the grant.
 * 4. Only one reader is granted at a time.
 * 5. An advance does not compare the turn.
 */
#ifndef TASKS
#define TASKS 3
#endif
#ifndef PLANTED
#define PLANTED 0
#endif
#define NONE 15
#if PLANTED == 2
#define OWN_SHARE 0
#else
#define OWN_SHARE 1
#endif

/* The lane word and its fields. */
#define ACTIVE(w)  ((w) & 3)
#define SHARED     4
#define BLOCKED    8
#define DUE        16
#define WHICH(w)   (((w) >> 5) & 1)
#define OTHER      32
#define TURN       64 /* odd: an append is in progress */
#define KEPT       (~(3 | SHARED))
#define HAS(w, it) (((w) & (it)) != 0)

short word[2]; byte first[4]; byte last[2];

/* Entry t * 2 + lane is task t's entry in the lane. */
#define TASK(entry) ((entry) / 2)
byte next[2 * TASKS];
bool is_shared[2 * TASKS];
byte lanes[TASKS]; /* 1, 2, or 3: both */
byte latch[TASKS];
short latched;

/* Sets of tasks, one bit for each. */
byte conflicts[TASKS], placed, ready, begun, ended, released;
#define BIT(t)     (1 << (t))
#define MAY_GO_ON(t) (!(placed & BIT(t)) || (begun & BIT(t)) || (conflicts[t] & ~released))

inline make_ready(t) { assert(!(ready & BIT(t))); ready = ready | BIT(t) }
inline look(entry) { assert(entry != NONE && !(released & BIT(TASK(entry)))) }

inline arrive(t, arrivals) {
  if
  :: atomic { latch[t] == (arrivals) -> is_last = true }
  :: latch[t] != (arrivals) ->
     atomic { is_last = (latch[t] == (arrivals)); latch[t] = latch[t] - (arrivals) }
  fi
}

/* --- advance --- */

inline grant() {
  arrive(TASK(head), 1);
  atomic {
    if
    :: is_last -> make_ready(TASK(head)); latched = latched - (lanes[TASK(head)] == 3 -> 1 : 0)
    :: else -> latched++
    fi;
    is_last = false;
    if :: PLANTED == 3 -> look(head); follows = next[head] :: PLANTED != 3 fi;
    head = follows; count--
  }
}

inline try_advance(lane) {
  atomic {
    head = first[lane * 2 + WHICH(w)]; look(head);
    follows = next[head]; count = 1; entry = head;
    do
    :: is_shared[head] && follows != NONE && is_shared[follows] && PLANTED != 4 ->
       entry = follows; look(entry); follows = next[entry]; count++
    :: else -> break
    od;
    moved = ((w & KEPT) ^ OTHER) | count | (is_shared[head] -> SHARED : 0);
    if :: follows == NONE -> moved = moved & ~BLOCKED :: else fi;
    first[lane * 2 + WHICH(moved)] = follows;
    entry = NONE; follows = NONE
  };
  if
  :: atomic { word[lane] == w || (PLANTED == 5 && (word[lane] & (TURN - 1)) == (w & (TURN - 1))) ->
              word[lane] = moved; has_moved = true; moved = 0; w = 0 };
     do
     :: atomic { count > 0 -> if :: PLANTED != 3 -> look(head); follows = next[head] :: PLANTED == 3 fi };
        grant()
     :: atomic { count == 0 -> head = NONE; follows = NONE; break }
     od
  :: atomic { else -> w = word[lane]; moved = 0; head = NONE; count = 0 }
  fi
}

/* --- tasks --- */

inline release(lane) {
  w = word[lane];
  do
  :: ACTIVE(w) == 1 && HAS(w, BLOCKED) && !HAS(w, TURN) ->
     try_advance(lane);
     if :: has_moved -> has_moved = false; break :: else fi
  :: else ->
     if
     :: atomic { word[lane] == w ->
                 word[lane] = (w - 1) | (ACTIVE(w) == 1 && HAS(w, BLOCKED) -> DUE : 0);
                 w = 0; break }
     :: atomic { else -> w = word[lane] }
     fi
  od
}

proctype task(byte me) {
  byte head = NONE, entry = NONE, follows = NONE, count;
  short w, moved;
  bool is_last, has_moved;
  atomic {
    ready & BIT(me) -> assert((conflicts[me] & ~ended) == 0 && !(released & BIT(me)));
    begun = begun | BIT(me)
  };
  atomic {
    MAY_GO_ON(0) && MAY_GO_ON(1) && MAY_GO_ON(TASKS - 2) && MAY_GO_ON(TASKS - 1);
    ended = ended | BIT(me)
  };
  if :: lanes[me] & 1 -> release(0) :: else fi;
  if :: lanes[me] & 2 -> release(1) :: else fi;
  released = released | BIT(me)
}

/* --- the role's holder --- */

inline end_turn(lane) {
  atomic { w = word[lane]; word[lane] = (w + TURN) & ~DUE };
  if
  :: HAS(w, DUE) ->
     w = word[lane];
     do :: try_advance(lane); if :: has_moved -> has_moved = false; break :: else fi od
  :: else -> w = 0
  fi
}

inline append(lane) {
  next[own] = NONE;
  w = word[lane];
  do
  :: HAS(w, BLOCKED) ->
     atomic { w = word[lane]; word[lane] = w + TURN };
     if
     :: HAS(w, BLOCKED) ->
        look(last[lane]);
        atomic { next[last[lane]] = own; last[lane] = own };
        end_turn(lane);
        break
     :: else -> atomic { word[lane] = word[lane] + TURN; w = word[lane] }
     fi
  :: !HAS(w, BLOCKED) && ACTIVE(w) == 0 ->
     atomic { word[lane] = (w & KEPT) | (is_shared[own] -> SHARED : 0) | 1; granted++; w = 0; break }
  :: !HAS(w, BLOCKED) && ACTIVE(w) != 0 && is_shared[own] && HAS(w, SHARED) ->
     if
     :: atomic { word[lane] == w -> word[lane] = w + 1; granted++; w = 0; break }
     :: atomic { else -> w = word[lane] }
     fi
  :: !HAS(w, BLOCKED) && ACTIVE(w) != 0 && !(is_shared[own] && HAS(w, SHARED)) ->
     atomic { first[lane * 2 + WHICH(w)] = own; last[lane] = own };
     if
     :: atomic { word[lane] == w -> word[lane] = w | BLOCKED; w = 0; break }
     :: atomic { else -> w = word[lane] }
     fi
  od
}

inline route_one(lane) {
  own = t * 2 + lane;
  latch[t] = 1;
  append(lane);
  if :: granted == 1 -> atomic { make_ready(t) } :: else fi
}

inline route_two() {
  latch[t] = 2 + OWN_SHARE;
  own = t * 2; append(0);
  if :: PLANTED == 1 && granted == 1 -> latch[t]-- :: else fi;
  own = t * 2 + 1; append(1);
  if
  :: granted == 2 -> atomic { make_ready(t) }
  :: granted < 2 ->
     arrive(t, granted + OWN_SHARE);
     atomic {
       if
       :: is_last -> make_ready(t); latched = latched - (2 - granted)
       :: else -> latched = latched + granted
       fi;
       is_last = false
     }
  fi
}

inline find_conflicts() {
  earlier = 0;
  do
  :: earlier < t ->
     if
     :: (lanes[t] & lanes[earlier] & 1) && !(is_shared[t * 2] && is_shared[earlier * 2]) ||
        (lanes[t] & lanes[earlier] & 2) && !(is_shared[t * 2 + 1] && is_shared[earlier * 2 + 1]) ->
        conflicts[t] = conflicts[t] | BIT(earlier)
     :: else
     fi;
     earlier++
  :: else -> break
  od;
  earlier = 0
}

init {
  byte t, earlier, own, granted;
  byte head = NONE, entry = NONE, follows = NONE, count;
  short w, moved;
  bool is_last, has_moved;
  atomic {
    do
    :: t < TASKS ->
       if :: lanes[t] = 1 :: t > 0 -> lanes[t] = 2 :: lanes[t] = 3 fi;
       if :: lanes[t] != 2 -> is_shared[t * 2] = true :: true fi;
       if :: lanes[t] != 1 -> is_shared[t * 2 + 1] = true :: true fi;
       find_conflicts();
       run task(t);
       t++
    :: else -> break
    od;
    t = 0
  };
  do
  :: t < TASKS ->
     if :: lanes[t] == 1 -> route_one(0) :: lanes[t] == 2 -> route_one(1) :: lanes[t] == 3 -> route_two() fi;
     atomic { placed = placed | BIT(t); granted = 0; t++ }
  :: else -> break
  od;
  released == BIT(TASKS) - 1;
  assert(latched == 0 && ready == released);
  assert(ACTIVE(word[0]) == 0 && ACTIVE(word[1]) == 0);
  assert(!HAS(word[0], BLOCKED | DUE) && !HAS(word[1], BLOCKED | DUE))
}
