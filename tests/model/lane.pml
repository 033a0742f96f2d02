/*
 * The protocol of a lane in src/lane/lane.c, for Spin. The role's holder appends ENTRIES entries,
 * each in one of MODES modes. Between two appends it may do the following, in any order:
 *
 *   - It freezes and thaws the lane, FREEZES times.
 *   - It closes a gate and later opens it, GATES times. At most one gate is closed. Others that
 *     were opened may still wait in the lane.
 *   - It makes a waiting entry a tombstone, TOMBSTONES times.
 *   - It takes any of the waiting entries out, TAKE_OUTS times, if a parked task has the lane. Then
 *     it grants the run at the head if its mode overlaps with the granted entries'.
 *
 * Each entry's task releases the lane as soon as it was granted. PARKS tasks park before that.
 *
 * Checked:
 *   - A task runs only when every earlier conflicting one has released, and never together with
 *     one. It is not granted a lane whose gate is closed, and does not run while a gate has it.
 *   - No waiting entry is granted twice. No entry is accessed after its release, or after it has
 *     passed or was taken out.
 *   - After a take-out no run waits whose mode overlaps with the granted entries'.
 *   - At the end all tasks have run, passed or left, all gates have passed, and the lane is idle.
 *
 * Steps are atomic, in program order; memory orders are not modelled.
 *
 * Planted errors, chosen by PLANTED; each must be found:
 * 1. A swap does not compare the turn.
 * 2. A release ignores that the turn is odd.
 * 3. An advance writes the slot that is in use.
 * 4. A gate is inserted without a turn.
 * 5. Opener and advancer read and write a gate's state in two steps.
 * 6. A gate is freed when it is opened.
 * 7. Only the last tombstone of a run is released.
 * 8. Entries are taken out without a check for a parked task after the freeze.
 * 9. A take-out leaves `last` as it was.
 * 10. A thaw leaves `blocked` set when no entry is left.
 * 11. The run granted after a take-out stays in the list.
 * 12. No run is granted after a take-out.
 * 13. A tombstone is made without a freeze.
 */
#ifndef ENTRIES
#define ENTRIES 4
#endif
#ifndef MODES
#define MODES 2 /* 3: commuting entries, too */
#endif
#ifndef FREEZES
#define FREEZES 2
#endif
#ifndef GATES
#define GATES 0
#endif
#ifndef TOMBSTONES
#define TOMBSTONES 0
#endif
#ifndef PARKS
#define PARKS 0
#endif
#ifndef TAKE_OUTS
#define TAKE_OUTS PARKS
#endif
#ifndef PLANTED
#define PLANTED 0
#endif
#define NONE 255

/* The entries of gates are numbered behind those of tasks. */
#define ALL             (ENTRIES + GATES)
#define IS_GATE(entry)  ((entry) >= ENTRIES)
#define GATE(entry)     ((entry) - ENTRIES)
#define TICKET(entry)   (IS_GATE(entry) -> gate_ticket[GATE(entry)] : (entry))

/* As in lanepool/key.h: modes overlap if they have a bit in common. */
#define EXCLUSIVE     0
#define SHARED        1
#define COMMUTING     2
#define OVERLAP(a, b) (((a) & (b)) != 0)

/* The lane word: active, mode, blocked, due, which, turn (odd: an append is in progress). */
byte active_count, mode; bool blocked, due, which; byte turn;
byte first[2]; byte last = NONE; byte next[ALL];

mtype = { waits, holds, opened, passed };
mtype gate_state[GATES + 1]; byte gate_ticket[GATES + 1];

byte mode_of[ALL]; bool is_granted[ENTRIES], is_tombstone[ENTRIES], is_released[ALL];
bool is_appended[ENTRIES]; /* it has not ended, and was neither cancelled nor taken out */
byte running[3]; /* tasks and gates that have the lane, by mode */
byte finished, freezes, gates, gates_passed, tombstones, take_outs;
byte parks, parked;
byte closed = NONE; /* the gate that is closed */

inline look(entry) { assert(entry != NONE); assert(!is_released[entry]) }
inline read_word() {
  atomic { w_active = active_count; w_mode = mode; w_blocked = blocked;
           w_due = due; w_which = which; w_turn = turn }
}
#define UNCHANGED (active_count == w_active && mode == w_mode && blocked == w_blocked && \
                   due == w_due && which == w_which && (turn == w_turn || PLANTED == 1))

/* --- grants --- */

inline begin_running(as) {
  assert(running[EXCLUSIVE] == 0);
  assert(running[SHARED] == 0 || OVERLAP(as, SHARED));
  assert(running[COMMUTING] == 0 || OVERLAP(as, COMMUTING));
  running[as]++
}

inline gate_holds(gate) {
  gate_state[GATE(gate)] = holds; begin_running(EXCLUSIVE)
}
inline gate_passes(gate) {
  gate_state[GATE(gate)] = passed; is_released[gate] = true; gates_passed++
}

inline grant_gate(gate) {
  if
  :: atomic { PLANTED != 5 && gate_state[GATE(gate)] == waits -> gate_holds(gate) }
  :: PLANTED == 5 && gate_state[GATE(gate)] == waits -> atomic { gate_holds(gate) }
  :: atomic { gate_state[GATE(gate)] == opened -> gate_passes(gate); owed++ }
  fi
}

/* Grants `count` entries from `entry` on. */
inline grant_run() {
  do
  :: count > 0 ->
     look(entry); follows = next[entry];
     if
     :: IS_GATE(entry) -> grant_gate(entry)
     :: !IS_GATE(entry) && is_tombstone[entry] ->
        atomic { is_released[entry] = true; finished++;
                 if :: PLANTED == 7 && count > 1 :: else -> owed++ fi }
     :: !IS_GATE(entry) && !is_tombstone[entry] ->
        atomic { assert(!is_granted[entry]); is_granted[entry] = true }
     fi;
     entry = follows; count--
  :: else -> break
  od
}

/* The run at `head` has `count` entries; `follows` is the one behind them. */
inline measure_run() {
  look(head);
  entry = head; count = 1; follows = next[entry];
  do
  :: follows != NONE && OVERLAP(mode_of[head], mode_of[follows]) ->
     entry = follows; count++; look(entry); follows = next[entry]
  :: else -> break
  od
}

/* A task's entry leaves the list: no gate may be closed that stands before it. */
inline leave_list(entry) { assert(IS_GATE(entry) || closed == NONE) }

inline try_advance() {
  head = first[w_which]; measure_run(); run_mode = mode_of[head];
  if
  :: PLANTED == 3 -> first[w_which] = follows
  :: else -> first[1 - w_which] = follows
  fi;
  if
  :: atomic { UNCHANGED -> moved = true; active_count = count; mode = run_mode;
              blocked = (follows != NONE); leave_list(head);
              if :: PLANTED != 3 -> which = 1 - w_which :: else fi };
     entry = head;
     grant_run()
  :: atomic { !UNCHANGED -> moved = false }
  fi
}

/* Releases `owed` granted entries, and those that pass. */
inline release_owed() {
  do
  :: owed == 0 -> break
  :: owed > 0 ->
     read_word();
     if
     :: w_active == 1 && w_blocked && (!(w_turn & 1) || PLANTED == 2) ->
        try_advance();
        if :: moved -> owed-- :: else fi
     :: else ->
        if
        :: atomic { UNCHANGED -> if :: w_active == 1 && w_blocked -> due = true :: else fi;
                    active_count = w_active - 1; owed-- }
        :: atomic { !UNCHANGED -> skip }
        fi
     fi
  od
}

/* --- tasks --- */

proctype task(byte me) {
  byte head, count, entry, follows, earlier, owed, w_active, w_mode, run_mode, w_turn;
  bool moved, w_blocked, w_due, w_which;
  if
  :: is_granted[me]
  :: is_released[me] -> goto left
  fi;
  atomic {
    assert(!is_released[me]);
    begin_running(mode_of[me]);
    earlier = 0;
    do
    :: earlier < me ->
       assert(!is_appended[earlier] || OVERLAP(mode_of[earlier], mode_of[me]));
       earlier++
    :: else -> break
    od;
    earlier = 0
  };
  if
  :: atomic { parks < PARKS -> parks++; parked++ }; parked--
  :: true
  fi;
  atomic {
    running[mode_of[me]]--;
    is_appended[me] = false; is_released[me] = true; finished++; owed = 1
  };
  release_owed();
left: skip
}

/* --- the role's holder --- */

inline begin_turn() {
  atomic { turn++; was_blocked = blocked };
  if :: !was_blocked -> atomic { turn++ } :: else fi
}

inline end_turn() {
  atomic { was_due = due; turn++; due = false };
  if
  :: was_due -> do :: read_word(); try_advance(); if :: moved -> break :: else fi od;
     release_owed()
  :: else
  fi
}

inline thaw() {
  if
  :: first[which] != NONE || PLANTED == 10 -> end_turn()
  :: else -> atomic { turn++; due = false; blocked = false }
  fi
}

inline freeze_once() {
  begin_turn();
  if
  :: was_blocked ->
     entry = first[which];
     do
     :: entry != NONE ->
        look(entry); assert(IS_GATE(entry) || !is_granted[entry]); entry = next[entry]
     :: else -> break
     od;
     end_turn()
  :: else
  fi
}

inline append() {
  do
  :: read_word();
     if
     :: w_blocked ->
        begin_turn();
        if :: was_blocked -> look(last); next[last] = i; last = i; end_turn(); break :: else fi
     :: !w_blocked && w_active == 0 ->
        atomic { active_count = 1; mode = mode_of[i]; leave_list(i) };
        atomic { is_granted[i] = true }; break
     :: !w_blocked && w_active > 0 && OVERLAP(mode_of[i], w_mode) ->
        if
        :: atomic { UNCHANGED -> active_count++; leave_list(i) };
           atomic { is_granted[i] = true }; break
        :: atomic { !UNCHANGED -> skip }
        fi
     :: !w_blocked && w_active > 0 && !OVERLAP(mode_of[i], w_mode) ->
        first[w_which] = i; last = i;
        if
        :: atomic { UNCHANGED -> blocked = true; break }
        :: atomic { !UNCHANGED -> skip }
        fi
     fi
  od
}

inline insert_gate() {
  entry = first[which];
  look(entry);
  atomic { next[gate] = entry; gate_ticket[GATE(gate)] = TICKET(entry) };
  atomic { first[which] = gate; closed = gate }
}

inline close_gate() {
  atomic { gate = ENTRIES + gates; gates++; next[gate] = NONE;
           gate_state[GATE(gate)] = waits; gate_ticket[GATE(gate)] = i };
  do
  :: read_word();
     if
     :: w_blocked && PLANTED == 4 -> insert_gate(); break
     :: w_blocked && PLANTED != 4 ->
        begin_turn();
        if :: was_blocked -> insert_gate(); end_turn(); break :: else fi
     :: !w_blocked && w_active == 0 ->
        atomic { active_count = 1; mode = EXCLUSIVE; closed = gate; gate_holds(gate); break }
     :: !w_blocked && w_active > 0 ->
        first[w_which] = gate; last = gate;
        if
        :: atomic { UNCHANGED -> blocked = true; closed = gate; break }
        :: atomic { !UNCHANGED -> skip }
        fi
     fi
  od
}

inline open_gate() {
  atomic { gate = closed; closed = NONE };
  if
  :: atomic { PLANTED != 5 && gate_state[GATE(gate)] == waits -> gate_state[GATE(gate)] = opened;
              if :: PLANTED == 6 -> is_released[gate] = true :: else fi }
  :: PLANTED == 5 && gate_state[GATE(gate)] == waits -> gate_state[GATE(gate)] = opened
  :: atomic { gate_state[GATE(gate)] == holds -> running[EXCLUSIVE]--; gate_passes(gate); owed = 1 };
     release_owed()
  fi
}

/* Sets `entry` to an entry of a task that was appended. */
inline choose_entry() {
  entry = 0;
  do
  :: entry + 1 < i -> entry++
  :: break
  od
}

inline assert_waits(chosen) {
  follows = first[which];
  do
  :: follows != NONE && follows != chosen -> follows = next[follows]
  :: else -> break
  od;
  assert(follows == chosen)
}

/* Tickets tell whether the entry waits, as in lanepool_i_entry_is_granted(). */
inline make_tombstone() {
  tombstones++;
  if :: PLANTED != 13 -> begin_turn() :: else -> was_blocked = true fi;
  if
  :: was_blocked ->
     atomic {
       choose_entry();
       if
       :: blocked && is_appended[entry] && TICKET(first[which]) <= entry ->
          if :: PLANTED != 13 -> assert_waits(entry) :: else fi
       :: else -> entry = NONE
       fi
     };
     if
     :: atomic { entry != NONE -> assert(!is_granted[entry]);
                 is_tombstone[entry] = true; is_appended[entry] = false }
     :: entry == NONE
     fi;
     if :: PLANTED != 13 -> thaw() :: else fi
  :: else
  fi
}

inline take_out_any() {
  previous = NONE; entry = first[which];
  do
  :: entry != NONE ->
     look(entry); follows = next[entry];
     if
     :: !IS_GATE(entry) && !is_tombstone[entry] ->
        if
        :: previous == NONE -> first[which] = follows
        :: else -> next[previous] = follows
        fi;
        if :: last == entry && PLANTED != 9 -> last = previous :: else fi;
        atomic { is_appended[entry] = false; is_released[entry] = true; finished++ }
     :: previous = entry
     fi;
     entry = follows
  :: else -> break
  od
}

inline grant_overlapping() {
  head = first[which];
  if
  :: head != NONE ->
     measure_run();
     do
     :: read_word();
        if
        :: w_active > 0 && OVERLAP(mode_of[head], w_mode) ->
           if
           :: atomic { UNCHANGED -> active_count = active_count + count; leave_list(head) };
              if :: PLANTED != 11 -> first[which] = follows :: else fi;
              entry = head;
              grant_run();
              release_owed();
              break
           :: atomic { !UNCHANGED -> skip }
           fi
        :: else -> break
        fi
     od
  :: else
  fi
}

inline take_out() {
  take_outs++;
  begin_turn();
  if
  :: was_blocked ->
     if
     :: parked > 0 || PLANTED == 8 ->
        take_out_any();
        if :: PLANTED != 12 -> grant_overlapping() :: else fi;
        atomic { head = first[which];
                 assert(head == NONE || active_count == 0 || !OVERLAP(mode, mode_of[head])) }
     :: else
     fi;
     thaw()
  :: else
  fi
}

/* Makes states equal that differ only in what is not used any more. */
inline forget() {
  atomic { head = 0; count = 0; entry = 0; follows = 0; previous = 0; gate = 0; owed = 0;
           w_active = 0; w_turn = 0; run_mode = 0; moved = false; w_mode = 0;
           w_blocked = false; w_due = false; w_which = false; was_due = false; was_blocked = false }
}

active proctype holder() {
  byte i = 0, head, count, entry, follows, previous, gate, owed, w_active, w_mode, run_mode, w_turn;
  bool moved, w_blocked, w_due, w_which, was_due, was_blocked;
  atomic {
    do
    :: i < ENTRIES ->
       next[i] = NONE;
       if
       :: mode_of[i] = EXCLUSIVE
       :: mode_of[i] = SHARED
       :: MODES == 3 -> mode_of[i] = COMMUTING
       fi;
       run task(i); i++
    :: else -> break
    od;
    i = 0
  };
  do
  :: i < ENTRIES -> is_appended[i] = true; append(); i++; forget()
  :: i > 0 && freezes < FREEZES ->
     freezes++;
     if :: blocked -> freeze_once() :: !blocked fi;
     forget()
  :: gates < GATES && closed == NONE -> close_gate(); forget()
  :: closed != NONE -> open_gate(); forget()
  :: tombstones < TOMBSTONES && blocked -> make_tombstone(); forget()
  :: take_outs < TAKE_OUTS && blocked && parked > 0 -> take_out(); forget()
  :: i == ENTRIES && closed == NONE -> break
  od
}

active proctype monitor() {
end_of_all:
  timeout -> assert(finished == ENTRIES && gates_passed == gates);
  assert(active_count == 0 && !blocked && !due && !(turn & 1))
}
