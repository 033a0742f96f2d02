/*
 * The protocol of a lane in src/lane/lane.c, for Spin. The role's holder appends ENTRIES entries,
 * each in either mode, and freezes and thaws the lane FREEZES times at any moments. Each entry's
 * task releases the lane as soon as it was granted.
 *
 * Checked: a task runs only when every earlier conflicting one has released, and never together
 * with one. No waiting entry is granted twice or accessed after its release. At the end all tasks
 * have run. Steps are atomic, in program order; memory orders are not modelled.
 *
 * Planted errors, chosen by PLANTED; each must be found:
 * 1. A swap does not compare the turn.
 * 2. A release ignores that the turn is odd.
 * 3. An advance writes the slot that is in use.
 */
#ifndef ENTRIES
#define ENTRIES 4
#endif
#ifndef FREEZES
#define FREEZES 2
#endif
#ifndef PLANTED
#define PLANTED 0
#endif
#define NONE 255

/* The lane word: active, shared, blocked, due, which, turn (odd: an append is in progress). */
byte active_count; bool shared, blocked, due, which; byte turn;
byte first[2]; byte last = NONE; byte next[ENTRIES];

bool is_shared[ENTRIES], is_granted[ENTRIES], is_released[ENTRIES], is_appended[ENTRIES];
byte sharing, excluding, finished, freezes;

inline look(entry) { assert(entry != NONE); assert(!is_released[entry]) }
inline grant(entry) { atomic { assert(!is_granted[entry]); is_granted[entry] = true } }
inline read_word() {
  atomic { w_active = active_count; w_shared = shared; w_blocked = blocked;
           w_due = due; w_which = which; w_turn = turn }
}
#define UNCHANGED (active_count == w_active && shared == w_shared && blocked == w_blocked && \
                   due == w_due && which == w_which && (turn == w_turn || PLANTED == 1))

inline try_advance() {
  head = first[w_which]; look(head);
  entry = head; run_shared = is_shared[head]; count = 1; follows = next[entry];
  do
  :: run_shared && follows != NONE && is_shared[follows] ->
     entry = follows; count++; look(entry); follows = next[entry]
  :: else -> break
  od;
  if
  :: PLANTED == 3 -> first[w_which] = follows
  :: else -> first[1 - w_which] = follows
  fi;
  if
  :: atomic { UNCHANGED -> moved = true; active_count = count; shared = run_shared;
              blocked = (follows != NONE);
              if :: PLANTED != 3 -> which = 1 - w_which :: else fi };
     entry = head;
     do
     :: count > 0 -> look(entry); follows = next[entry]; grant(entry); entry = follows; count--
     :: else -> break
     od
  :: atomic { !UNCHANGED -> moved = false }
  fi
}

proctype task(byte me) {
  byte head, count, entry, follows, earlier, w_active, w_turn;
  bool run_shared, moved, w_shared, w_blocked, w_due, w_which;
  is_granted[me];
  atomic {
    assert(!is_released[me]);
    if
    :: is_shared[me] -> sharing++; assert(excluding == 0)
    :: else -> excluding++; assert(excluding == 1 && sharing == 0)
    fi;
    earlier = 0;
    do
    :: earlier < me ->
       assert(!(is_appended[earlier] && (!is_shared[earlier] || !is_shared[me])));
       earlier++
    :: else -> break
    od
  };
  atomic {
    if :: is_shared[me] -> sharing-- :: else -> excluding-- fi;
    is_appended[me] = false; is_released[me] = true; finished++
  };
  do
  :: read_word();
     if
     :: w_active == 1 && w_blocked && (!(w_turn & 1) || PLANTED == 2) ->
        try_advance();
        if :: moved -> break :: else fi
     :: else ->
        if
        :: atomic { UNCHANGED -> if :: w_active == 1 && w_blocked -> due = true :: else fi;
                    active_count = w_active - 1; break }
        :: atomic { !UNCHANGED -> skip }
        fi
     fi
  od
}

inline end_turn() {
  atomic { was_due = due; turn++; due = false };
  if
  :: was_due -> do :: read_word(); try_advance(); if :: moved -> break :: else fi od
  :: else
  fi
}

active proctype holder() {
  byte i = 0, head, count, entry, follows, w_active, w_turn;
  bool run_shared, moved, w_shared, w_blocked, w_due, w_which, was_due, was_blocked;
  atomic {
    do
    :: i < ENTRIES ->
       next[i] = NONE;
       if :: is_shared[i] = true :: is_shared[i] = false fi;
       run task(i); i++
    :: else -> break
    od;
    i = 0
  };
  do
  :: i < ENTRIES ->
     is_appended[i] = true;
again: read_word();
     if
     :: w_blocked ->
        atomic { turn++; was_blocked = blocked };
        if
        :: !was_blocked -> atomic { turn++ }; goto again
        :: else -> look(last); next[last] = i; last = i; end_turn()
        fi
     :: !w_blocked && w_active == 0 ->
        atomic { active_count = 1; shared = is_shared[i] }; grant(i)
     :: !w_blocked && w_active > 0 && is_shared[i] && w_shared ->
        if
        :: atomic { UNCHANGED -> active_count++ }; grant(i)
        :: atomic { !UNCHANGED -> goto again }
        fi
     :: !w_blocked && w_active > 0 && !(is_shared[i] && w_shared) ->
        first[w_which] = i; last = i;
        if
        :: atomic { UNCHANGED -> blocked = true }
        :: atomic { !UNCHANGED -> goto again }
        fi
     fi;
     i++
  :: i > 0 && freezes < FREEZES ->
     freezes++;
     if
     :: blocked ->
        atomic { turn++; was_blocked = blocked };
        if
        :: !was_blocked -> atomic { turn++ }
        :: else ->
           entry = first[which];
           do
           :: entry != NONE -> look(entry); assert(!is_granted[entry]); entry = next[entry]
           :: else -> break
           od;
           end_turn()
        fi
     :: !blocked
     fi
  :: i == ENTRIES -> break
  od
}

active proctype monitor() { end_of_all: timeout -> assert(finished == ENTRIES) }
