/*
 * The inbox and the router role of src/route/inbox.c and src/route/router.c, with the checks of
 * src/sched/worker.c before a worker sleeps or leaves a search.
 *
 * SUBMITTERS submitters append EACH nodes by the two steps of an append (tail, then link), and
 * route if they may. WORKERS workers check for work, search, sleep and route. One of the tasks
 * lasts until all others have finished, so that its worker cannot make up for a lost wake-up. LONG
 * says which one; without LONG it may be any. Only NODES nodes exist; they are used again when
 * their tasks have run. So a guess of the tail may name a node of another append. With FIRST the
 * first task is already in the inbox.
 *
 *   SUBMITTER_ROUTES  as LANEPOOL_ROUTING_SUBMITTER; otherwise workers route, and
 *                     submitters only if all workers sleep
 *   REAP              finished tasks are reaped by the role's holder, as with a program's rule
 *   CLOSE             no workers: a hand-back empties the inbox and closes it
 *
 * Left out: lanes and rings (routed tasks are ready at once, in one queue), the details of sleeping
 * (sleep_wake.pml has them), and how often a search checks. Of the memory orders one is modelled:
 * if an appender's checks find nothing to do, they may precede its link, unless another thread's
 * membarrier is between them. All other steps happen in program order. The check of the role before
 * the attempt to take it is left out, too, because the attempt decides.
 *
 * Checked:
 * * The role has one holder.
 * * Each node is routed once, in the order in which the nodes moved the tail.
 * * No link is written into a node that has left the inbox.
 * * Every task runs, and no thread waits for ever.
 * * A closed inbox has no node behind it.
 *
 * Planted errors, chosen by PLANTED:
 * 1. The tail is cleared before the head.
 * 2. The wake precedes the link.
 * 3. The holder does not check for remaining work after it has given the role back.
 * 4. A worker that leaves a search with a task ignores a missing link.
 * 5. A worker does not check for a missing link before it sleeps.
 * 6. A worker checks the role and then takes it, in two steps.
 * 7. A closed inbox accepts nodes.
 * 8. A holder with the ASKED bit set ignores a missing link.
 * 9. A worker that leaves a search with a task while the role is taken does not set ASKED. The
 *    holder may just have met a missing link, and not have published that yet.
 * 10. No membarrier at a missing link.
 */
#ifndef SUBMITTERS
#define SUBMITTERS 2
#endif
#ifndef EACH
#define EACH 1
#endif
#ifndef FIRST
#define FIRST 0
#endif
#ifndef NODES
#define NODES TASKS
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef BATCH
#define BATCH 2
#endif
#ifndef SUBMITTER_ROUTES
#define SUBMITTER_ROUTES 0
#endif
#ifndef REAP
#define REAP 0
#endif
#ifndef CLOSE
#define CLOSE 0
#endif
#ifndef PLANTED
#define PLANTED 0
#endif
#define TASKS   (SUBMITTERS * EACH + FIRST)
#define NONE    0 /* nodes are counted from 1 */
#define CLOSED  15
#define NOTHING 15

byte tail, head, next[NODES + 1];          /* the inbox */
/* Nodes whose links are not visible yet, and the nodes before them. */
byte late[SUBMITTERS], behind[SUBMITTERS];
byte rest; bool rest_is_stalled;           /* what the last holder published */
byte inbox_next, taken_last; bool stalled; /* written by the role's holder */
bool taken, asked;                         /* the role's word */
byte searching, sleeping;                  /* the word of the sleepers */
bool asleep[WORKERS];
byte unreaped;

/* Tasks are numbered by their position in the order. Those below `ready` are routed and in the
 * queue; those below `begun` have been taken from it. */
byte order[TASKS], accepted, refused, routed, ready, begun, finished, long_task, holders;
byte free_nodes = NODES; bool in_use[NODES + 1];

/* --- sleep.c, in one step each --- */

inline wake_by_rule() { /* inside an atomic step */
  if
  :: searching == 0 && sleeping > 0 ->
     i = 0;
     do :: !asleep[i] -> i++ :: else -> break od;
     asleep[i] = false; sleeping--; searching++; i = 0
  :: else
  fi
}

/* --- router.c: the role --- */

inline take_role() { taken = true; holders++; assert(holders == 1) }

#define CAN_BE_TAKEN (rest != NONE && !rest_is_stalled)
#if PLANTED == 8
#define ASKED_FOR_LINK false
#else
#define ASKED_FOR_LINK (was_asked && rest_is_stalled)
#endif

inline give_back() {
  atomic { rest = inbox_next; rest_is_stalled = stalled };
  atomic { holders--; was_asked = asked; taken = false; asked = false };
#if PLANTED != 3
  if
  :: atomic { CAN_BE_TAKEN || ASKED_FOR_LINK -> something = true }
  :: rest_is_stalled && !ASKED_FOR_LINK
  :: atomic { rest == NONE -> look_for_first(something) }
  fi;
  if :: REAP && !something && unreaped > 0 -> something = true :: else fi;
#endif
  atomic {
    was_asked = false;
    if :: something -> something = false; wake_by_rule() :: else fi
  }
}

/* --- inbox.c: links --- */

inline make_link(before, own) { /* inside an atomic step */
  if
  :: before == NONE -> head = own
  :: before == CLOSED
  :: else -> assert(in_use[before] && next[before] == NONE); next[before] = own
  fi
}

inline membarrier() { /* inside an atomic step */
#if PLANTED == 10
  skip
#else
  i = 0;
  do
  :: i < SUBMITTERS && late[i] != NONE -> make_link(behind[i], late[i]); late[i] = NONE; i++
  :: i < SUBMITTERS && late[i] == NONE -> i++
  :: else -> break
  od;
  i = 0
#endif
}

/* Finds out if there is a first node: a tail without a head needs a membarrier and a second
 * read. */
inline look_for_first(found) { /* inside an atomic step */
  if :: head == NONE && tail != NONE && tail != CLOSED -> membarrier() :: else fi;
  found = (head != NONE)
}

/* --- inbox.c: taking --- */

/* The link is read in one step with the steps before it: the thread that makes it does not read
 * what these write. */
inline take_node() {
  node = inbox_next;
  if
  :: node == NONE
  :: node != NONE && node == taken_last -> inbox_next = NONE; taken_last = NONE
  :: node != NONE && node != taken_last ->
     if
     :: next[node] == NONE ->
        membarrier();
        if
        :: next[node] == NONE -> stalled = true; node = NONE
        :: else -> inbox_next = next[node]
        fi
     :: else -> inbox_next = next[node]
     fi
  fi;
  if
  :: node != NONE ->
     assert(in_use[node] && routed < accepted && order[routed] == node);
     routed++; count++
  :: else
  fi
}

inline take() {
  if
  :: atomic { inbox_next != NONE || head == NONE -> stalled = false; take_node() }
  :: atomic { inbox_next == NONE && head != NONE ->
              stalled = false;
#if PLANTED == 1
              taken_last = tail; tail = NONE
#else
              inbox_next = head; head = NONE
#endif
            };
     atomic {
#if PLANTED == 1
              inbox_next = head; head = NONE;
#else
              taken_last = tail; tail = NONE;
#endif
              take_node() }
  fi
}

/* --- router.c: routing --- */

/* Puts the ready tasks into the queue, and wakes a worker for them, in the step of the last
 * take. */
inline route() {
  do
  :: node == NOTHING -> take()
  :: node != NOTHING && node != NONE && count < BATCH -> take()
  :: atomic {
       node == NONE || count == BATCH ->
       if :: REAP -> finished = finished + unreaped; unreaped = 0 :: else fi;
       if :: count > 0 -> ready = routed; wake_by_rule() :: else fi;
       node = NOTHING; count = 0; break
     }
  od
}

/* --- pool_submit.c, inbox.c: appending --- */

/* True if an appender's checks find nothing to do: the role need not or cannot be taken, and no
 * worker is to be woken. Otherwise the checks end with operations before which the link becomes
 * visible. */
#define FINDS_NOTHING_TO_DO                                      \
  ((!(SUBMITTER_ROUTES || sleeping == WORKERS) || taken) && \
   !(searching == 0 && sleeping > 0) && PLANTED != 2)

inline build() {
  free_nodes > 0 -> free_nodes--;
  own = 1;
  do :: in_use[own] -> own++ :: else -> break od;
  in_use[own] = true; next[own] = NONE; before = guess; left--
}

proctype submitter(byte me) {
  byte guess = NONE, before, own, left = EACH, node = NOTHING, count, i;
  bool was_asked, something;
  do
  :: left > 0 ->
     atomic { build() };
     do
     :: atomic { (accepted > FIRST || me == 0) && (tail == before || PLANTED == 7) ->
                 before = tail; assert(tail != own);
                 tail = own; order[accepted] = own; accepted++; break }
     :: atomic { tail != before && PLANTED != 7 ->
                 before = tail;
                 if :: before == CLOSED -> refused++; before = NONE; goto refusal :: else fi }
     od;
#if PLANTED == 2
     atomic { wake_by_rule() };
#endif
     if
     :: atomic { make_link(before, own); guess = own; own = NONE; before = NONE }
     :: atomic { FINDS_NOTHING_TO_DO ->
                 late[me] = own; behind[me] = before;
                 guess = own; own = NONE; before = NONE };
        atomic { if :: late[me] != NONE -> make_link(behind[me], late[me]); late[me] = NONE
                    :: else fi };
        goto refusal
     fi;
     if
     :: atomic { (SUBMITTER_ROUTES || sleeping == WORKERS) && !taken -> take_role() };
        route(); give_back()
     :: (SUBMITTER_ROUTES || sleeping == WORKERS) && taken
     :: !(SUBMITTER_ROUTES || sleeping == WORKERS)
     fi;
#if PLANTED != 2
     atomic { wake_by_rule() };
#endif
refusal: skip
  :: else -> break
  od
}

/* --- worker.c, worker_loop.c --- */

#define FOUND_NOTHING  (begun == ready)
#define SOMETHING_LEFT (CAN_BE_TAKEN || (rest == NONE && head != NONE) || (REAP && unreaped > 0))

/* The last worker that leaves a search with a task checks everywhere. A missing link may have been
 * made during the search by a thread that left its node to this worker. If the role is taken, the
 * worker sets ASKED, so that the holder checks for it. */
inline look_for_others() {
  if
  :: atomic { !FOUND_NOTHING -> something = true }
#if PLANTED == 4 || PLANTED == 9
  :: FOUND_NOTHING && (taken || asked) -> something = (PLANTED == 9 && rest_is_stalled)
#else
  :: FOUND_NOTHING && (taken || asked) ->
     if
     :: atomic { taken -> asked = true }
     :: atomic { !taken -> asked = true; take_role() }; give_back()
     fi
#endif
  :: FOUND_NOTHING && !taken && !asked ->
     if
     :: atomic { CAN_BE_TAKEN || (rest_is_stalled && PLANTED != 4) -> something = true }
     :: rest_is_stalled && PLANTED == 4
     :: atomic { rest == NONE -> look_for_first(something) }
     fi;
     if :: REAP && !something && unreaped > 0 -> something = true :: else fi
  fi;
  atomic { if :: something -> something = false; wake_by_rule() :: else fi }
}

proctype worker(byte me) {
  byte mine = NOTHING, node = NOTHING, count, i;
  bool was_asked, something, is_searching, is_last;
look_again:
  do
  :: atomic { begun < ready ->
              mine = begun; begun++;
              if :: is_searching -> is_searching = false; searching--; is_last = (searching == 0)
                 :: else
              fi };
     if :: is_last -> is_last = false; look_for_others() :: else fi;
     if :: mine == long_task -> finished == TASKS - 1 :: else fi;
#if REAP
     atomic { unreaped++; mine = NOTHING };
     if
     :: atomic { !taken -> take_role() }; route(); give_back()
     :: taken
     fi
#else
     atomic { finished++; in_use[order[mine]] = false; free_nodes++; mine = NOTHING }
#endif
#if PLANTED == 6
  :: FOUND_NOTHING && !taken && SOMETHING_LEFT -> atomic { take_role() };
#else
  :: atomic { FOUND_NOTHING && !taken && SOMETHING_LEFT -> take_role() };
#endif
     route(); give_back()
  :: atomic { FOUND_NOTHING && !is_searching -> is_searching = true; searching++ }
  :: atomic { FOUND_NOTHING && is_searching -> searching--; sleeping++; asleep[me] = true; break }
  od;

  /* The worker's sleep flag is set: it checks for a missing link first, then everywhere. */
#if PLANTED != 5
  if
  :: taken || asked -> something = true
  :: atomic { !taken && !asked }; something = rest_is_stalled
  fi;
  if
  :: atomic { something && !taken -> something = false; take_role() }; route(); give_back()
  :: atomic { something && taken -> something = false; asked = true }
  :: !something
  fi;
#endif
  if
  :: !FOUND_NOTHING -> goto stay
  :: FOUND_NOTHING && (taken || asked) -> goto end_asleep
  :: FOUND_NOTHING && !taken && !asked ->
     if
     :: CAN_BE_TAKEN -> goto stay
     :: rest_is_stalled
     :: atomic { rest == NONE -> look_for_first(something);
                 if :: something -> something = false; goto stay :: else fi }
     fi;
     if :: REAP && unreaped > 0 -> goto stay :: else -> goto end_asleep fi
  fi;
stay:
  atomic { if :: asleep[me] -> asleep[me] = false; sleeping--; searching++ :: else fi;
           goto look_again };
end_asleep:
  !asleep[me]; goto look_again
}

/* --- hand_back.c: emptying and closing --- */

proctype closer() {
  byte node = NOTHING, count, i;
  atomic { !taken -> take_role() };
  do
  :: route();
     if
     :: atomic { inbox_next == NONE && tail == NONE -> tail = CLOSED; break }
     :: else
     fi
  od;
  assert(routed == accepted && head == NONE);
  atomic { rest = NONE; rest_is_stalled = false; holders--; taken = false; asked = false }
}

init {
  byte i;
  atomic {
#if FIRST
    tail = 1; head = 1; order[0] = 1; accepted = 1; in_use[1] = true; free_nodes--;
#endif
    do :: i < SUBMITTERS -> run submitter(i); i++ :: else -> break od;
    i = 0;
    if
    :: CLOSE -> run closer()
    :: !CLOSE ->
#ifdef LONG
       long_task = LONG;
#else
       do :: long_task < TASKS -> long_task++ :: break od;
#endif
       do :: i < WORKERS -> run worker(i); i++ :: else -> break od
    fi;
    i = 0
  };
  if
  :: CLOSE -> _nr_pr == 1; assert(routed == accepted && accepted + refused == TASKS)
  :: !CLOSE -> finished == TASKS; assert(accepted == TASKS && routed == TASKS)
  fi
}
