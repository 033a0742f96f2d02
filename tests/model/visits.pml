/*
 * The visits of a cut: src/lane/visits.c and src/feature/cut.c.
 *
 * A cut has LANES lanes, each with an earlier task. The router puts the cut's entries into them, and
 * lists those that are granted at once. A thread that ends an earlier task lists that lane's entry.
 * VISITORS visitors and the cut itself are run by WORKERS workers. What happens under the cut's
 * lock is one step. A worker may let any visitor queue anew after a visit. A visitor may take all
 * listed entries at once: the first for its visit, the others as its share.
 *
 *   SLOW    the visit of the first lane lasts until all others were visited
 *   CANCEL  another thread may cancel the cut until it begins
 *   FAILS   up to so many visits fail; the cut is retried, or ends if RETRIES is 0
 *   LEAVES  up to so many lanes are poisoned instead: the cut leaves them
 *
 * Left out: the lanes' own protocol (lane.pml), how blocks become ready and are taken, the future.
 * All steps happen in program order.
 *
 * Checked:
 * * A visit is made while the cut has the lane, and one at a time for each lane.
 * * A later task of a lane starts when the visit has ended with success, or the cut with a failure.
 * * The function is called once, after all visits, and no visitor is active.
 * * A cancelled cut makes no visit. A cut that has begun cannot be cancelled.
 * * Every lane goes on, and no thread waits for ever, even if a visit is slow.
 *
 * Planted errors, chosen by PLANTED:
 * 1. A lane goes on before its visit has ended.
 * 2. A round ends although entries are left.
 * 3. A visitor becomes idle although an entry is listed.
 * 4. A visitor that queues anew does not settle what it has passed.
 * 5. Before the cut begins, several visitors are active.
 * 6. A round ends before the router has put all entries into their lanes.
 * 7. A cut that leaves its last lane does not become ready.
 * 8. A round ends although a visitor is active.
 * 9. A visitor becomes idle although another one has a share.
 * 10. A visitor takes a share although another one is idle.
 */
#ifndef LANES
#define LANES 3
#endif
#ifndef VISITORS
#define VISITORS 2
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef SLOW
#define SLOW 0
#endif
#ifndef CANCEL
#define CANCEL 0
#endif
#ifndef FAILS
#define FAILS 0
#endif
#ifndef RETRIES
#define RETRIES 1
#endif
#ifndef LEAVES
#define LEAVES 0
#endif
#ifndef PLANTED
#define PLANTED 0
#endif

mtype = { absent, waiting, granted, listed, shared, visited, passed, kept }; /* an entry */
mtype = { earlier, of_cut, free };                                    /* who has a lane */
mtype = { not_begun, begun, cancelled };                              /* the cut */

mtype entry[LANES] = absent;
mtype lane[LANES] = earlier;
mtype state = not_begun;
bool is_routed, has_started, is_tombstone, is_over, was_called, gave_up;
byte left = LANES, busy, idle = VISITORS, kept_count;
byte ready_visitors, ready_cuts;
byte inside[LANES]; /* visits that are being made */
byte successes[LANES];
bool has_left[LANES];
byte sharer[LANES]; /* the worker whose visitor has the shared entry */
byte fails_left = FAILS, retries_left = RETRIES, leaves_left = LEAVES;

/* --- under the cut's lock --- */

inline count_listed(count, k)
{
    count = 0;
    for (k : 0 .. LANES - 1) {
        count = count + (entry[k] == listed)
    }
}

inline activate(most)
{
    do
    :: most > 0 && idle > 0 ->
        idle--;
        busy++;
        ready_visitors++;
        most--
    :: else -> break
    od;
    most = 0
}

/* Makes visitors active for entries that have been listed. */
inline activate_for(count)
{
    if
    :: state == not_begun && PLANTED != 5 -> count = (busy == 0 && count > 0)
    :: else -> skip
    fi;
    activate(count)
}

/* Makes the cut ready if its round has ended. */
inline end_round()
{
    if
    :: (left == 0 || PLANTED == 2) && (busy == 0 || PLANTED == 8) &&
       (is_routed || PLANTED == 6) && ready_cuts == 0 ->
        ready_cuts++
    :: else -> skip
    fi
}

/* --- the lanes --- */

proctype Router()
{
    byte i, count;
    for (i : 0 .. LANES - 1) {
        atomic {
            if
            :: lane[i] == earlier -> entry[i] = waiting
            :: lane[i] == free -> lane[i] = of_cut; entry[i] = granted
            fi
        }
    }
    atomic {
        count = 0;
        for (i : 0 .. LANES - 1) {
            if
            :: entry[i] == granted -> entry[i] = listed; count++
            :: else -> skip
            fi
        }
        activate_for(count)
    }
    atomic {
        is_routed = true;
        end_round();
        i = 0;
        count = 0
    }
}

/* The earlier task ends, or is parked. Then a later one follows the cut. */
proctype Lane(byte i)
{
    byte count;
    if
    :: atomic {
        true;
        if
        :: entry[i] == waiting -> lane[i] = of_cut; entry[i] = listed; count = 1; activate_for(count)
        :: else -> lane[i] = free
        fi
    }
    :: atomic {
        entry[i] == waiting && leaves_left > 0 ->
        leaves_left--;
        has_left[i] = true;
        entry[i] = passed;
        left--;
        if
        :: PLANTED != 7 -> end_round()
        :: else -> skip
        fi
    } ->
        lane[i] = free
    fi;
    atomic {
        entry[i] != absent && lane[i] == free ->
        assert(inside[i] == 0);
        assert(has_left[i] || successes[i] == 1 || state == cancelled || gave_up)
    }
}

/* --- the workers --- */

#define is_visited(i)        ((i) >= LANES || entry[(i) % LANES] == passed)
#define are_others_visited() (is_visited(1) && is_visited(2))

/* Marks the entry, and lets the lane go on. */
inline pass_entry(i)
{
    atomic { entry[i] = passed; unsettled++ };
    lane[i] = free
}

inline visit(i)
{
    if
    :: PLANTED == 1 -> lane[i] = free
    :: else -> skip
    fi;
    atomic {
        assert(lane[i] == of_cut && inside[i] == 0 && !is_over);
        assert(!is_tombstone);
        inside[i]++
    };
    !(SLOW && i == 0) || are_others_visited(); /* the visit lasts so long */
    atomic {
        inside[i]--;
        if
        :: fails_left > 0 -> fails_left--; fails = true
        :: fails = false; successes[i]++
        fi
    };
    if
    :: fails -> atomic { entry[i] = kept; kept_count++; left = left - unsettled - 1; unsettled = 0 }
    :: else -> pass_entry(i)
    fi
}

inline decide()
{
    atomic {
        starts = !is_tombstone && !has_started; /* a future lets one caller begin */
        has_started = has_started || starts
    };
    atomic {
        state = (starts -> begun : cancelled);
        count_listed(count, k);
        activate(count)
    }
}

inline settle()
{
    left = left - unsettled;
    unsettled = 0
}

inline pick_own()
{
    i = LANES;
    for (k : 0 .. LANES - 1) {
        if
        :: i == LANES && entry[k] == shared && sharer[k] == me -> i = k
        :: else -> skip
        fi
    };
    k = 0;
    if
    :: i < LANES -> entry[i] = visited
    :: else -> skip
    fi
}

/* Takes a listed entry, and perhaps all others as a share. */
inline take_listed()
{
    i = LANES;
    for (k : 0 .. LANES - 1) {
        if
        :: i == LANES && entry[k] == listed -> i = k; entry[k] = visited
        :: i < LANES && entry[k] == listed && takes_share -> entry[k] = shared; sharer[k] = me
        :: else -> skip
        fi
    };
    k = 0
}

/* Takes the share of another visitor. */
inline take_of_others()
{
    count = WORKERS + 1;
    for (k : 0 .. LANES - 1) {
        if
        :: entry[k] == shared && (count == WORKERS + 1 || sharer[k] == count) ->
            count = sharer[k];
            sharer[k] = me
        :: else -> skip
        fi
    };
    count = 0;
    k = 0;
    pick_own()
}

inline count_shared(count, k)
{
    count = 0;
    for (k : 0 .. LANES - 1) {
        count = count + (entry[k] == shared)
    }
}

inline put_share_back()
{
    for (k : 0 .. LANES - 1) {
        if
        :: entry[k] == shared && sharer[k] == me -> entry[k] = listed
        :: else -> skip
        fi
    };
    k = 0
}

inline run_visitor()
{
    do
    :: atomic { pick_own() };
        if
        :: i == LANES -> atomic {
            settle();
            if
            :: idle == 0 || PLANTED == 10 -> takes_share = true
            :: takes_share = false
            fi;
            take_listed();
            if
            :: i == LANES && PLANTED != 9 -> take_of_others()
            :: else -> skip
            fi;
            takes_share = false;
            if
            :: i == LANES -> goto retire
            :: else -> skip
            fi
        }
        :: else -> skip
        fi;
        if
        :: state == not_begun -> decide()
        :: else -> skip
        fi;
        if
        :: state == begun -> visit(i)
        :: else -> pass_entry(i)
        fi;
        if
        :: skip
        :: atomic { /* it queues anew */
            unsettled = (PLANTED == 4 -> 0 : unsettled);
            settle();
            put_share_back();
            ready_visitors++;
            goto next
        }
        fi;
        goto again;
retire:
        atomic {
            settle();
            count_shared(count, k);
            share_count = (PLANTED == 9 -> 0 : count);
            count_listed(count, k);
            if
            :: count + share_count > 0 && PLANTED != 3 ->
                count = 0; share_count = 0; goto again
            :: else -> skip
            fi;
            count = 0;
            idle++;
            busy--;
            end_round();
            goto next
        };
again:
        skip
    od
}

inline release_kept()
{
    for (k : 0 .. LANES - 1) {
        if
        :: entry[k] == kept -> lane[k] = free
        :: else -> skip
        fi
    };
    k = 0
}

/* The cut's turn has come. */
inline run_cut()
{
    atomic {
        assert(!is_over);
        if
        :: state == not_begun -> /* the cut has left all its lanes */
            state = (is_tombstone -> cancelled : begun);
            has_started = has_started || !is_tombstone
        :: else -> skip
        fi;
        if
        :: state == cancelled -> is_over = true
        :: state == begun && kept_count == 0 -> is_over = true; was_called = true
        :: state == begun && kept_count > 0 && retries_left > 0 ->
            retries_left--;
            for (k : 0 .. LANES - 1) {
                if
                :: entry[k] == kept -> entry[k] = listed
                :: else -> skip
                fi
            };
            left = kept_count;
            count = kept_count;
            kept_count = 0;
            activate(count)
        :: else -> gave_up = true; release_kept(); is_over = true
        fi;
        k = 0
    };
    if
    :: was_called -> atomic {
        assert(busy == 0 && left == 0);
        for (k : 0 .. LANES - 1) {
            assert(entry[k] == passed && inside[k] == 0);
            assert(has_left[k] || successes[k] == 1)
        };
        k = 0
    }
    :: else -> skip
    fi
}

proctype Worker(byte me)
{
    byte i, k, count, unsettled, share_count;
    bool fails, starts, takes_share;
next:
    atomic { i = 0; k = 0; count = 0; fails = false; starts = false; unsettled = 0 };
    if
    :: atomic { ready_visitors > 0 -> ready_visitors-- };
        run_visitor()
    :: atomic { ready_cuts > 0 -> ready_cuts-- };
        run_cut();
        goto next
    :: is_over && ready_visitors == 0 && ready_cuts == 0
    fi
}

#if CANCEL
proctype Canceller()
{
    atomic {
        if
        :: !has_started && !is_over -> is_tombstone = true
        :: else -> skip
        fi
    }
}
#endif

/* When no thread can go on, all must be over. */
proctype Judge()
{
    byte n;
    atomic {
        timeout ->
        assert(is_over && busy == 0 && ready_visitors == 0 && ready_cuts == 0);
        for (n : 0 .. LANES - 1) {
            assert(lane[n] == free)
        };
        n = 0
    }
}

init {
    byte n;
    atomic {
        run Router();
        for (n : 0 .. LANES - 1) {
            run Lane(n)
        }
        for (n : 1 .. WORKERS) {
            run Worker(n)
        }
#if CANCEL
        run Canceller();
#endif
        run Judge()
    }
}
