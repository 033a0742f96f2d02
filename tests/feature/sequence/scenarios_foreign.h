/*
 * Executors that consist of simulated threads, well-behaved and not, and a sequence on one of them.
 * Its tasks are judged: each is called once, in order, and no two run at once. There is one
 * executor at a time.
 */
#ifndef TESTS_FEATURE_SEQUENCE_SCENARIOS_FOREIGN_H
#define TESTS_FEATURE_SEQUENCE_SCENARIOS_FOREIGN_H

#include "simulated/scene.h"

enum foreign_kind {
    FOREIGN_INSIDE,  /* runs works inside `execute` */
    FOREIGN_THREADS, /* runs works on its own threads */
    FOREIGN_KEEPS    /* stores works until foreign_run_kept() is called; runs the rest at its end */
};

struct foreign_manner {
    enum foreign_kind kind;
    uint32_t threads;
    uint32_t times;    /* how often each work is run; 0: once */
    uint64_t refuses;  /* one bit for each of the first calls of `execute`: the call answers FULL */
    bool lies;         /* a call that answers FULL runs the work nevertheless */
    bool has_timer;    /* the executor has its own timer */
    uint32_t early;    /* how many alarms ring at once, too early */
    uint64_t late_ns;  /* how much too late the other alarms ring */
    uint32_t deaf_for; /* how many alarms are refused */
};

enum { FOREIGN_STEPS_MAX = 16 };

/* A task of the sequence; the scenario sets its properties. */
struct foreign_step {
    void (*body)(struct foreign_step *self);
    int64_t delay_ns;
    lanepool_future *future; /* released at the end */
    bool accepted;
    _Atomic uint32_t runs, cancels, releases;
    uint64_t started_ns; /* guarded by the sequence */
    uint32_t place;      /* guarded by the sequence: its position in the order of starts */
};

struct foreign {
    lanepool_executor *executor;
    lanepool_sequence *sequence;
    struct foreign_step steps[FOREIGN_STEPS_MAX];
    bool cancels; /* steps may be cancelled */
};

extern struct foreign foreign;

/* Creates the executor. Returns false if memory, a lock or a semaphore could not be allocated; then
 * nothing is to be closed. */
bool foreign_try_open(const struct foreign_manner *manner);
/* Creates the executor, its threads, and a sequence. */
void foreign_open(const struct foreign_manner *manner);
/* Runs the stored works, each as often as `manner.times` says. */
void foreign_run_kept(void);
/* Runs the first work that was handed over, even if it has run already. */
void foreign_run_first(void);
/* Ends the executor and its threads. The threads end last if works may be late. */
void foreign_close(void);
/* Waits until the sequence is idle, destroys it, judges the steps, and ends the executor. */
void foreign_end(void);

lanepool_status foreign_submit(struct foreign_step *step);
/* Destroys the sequence and judges its steps. */
void foreign_end_sequence(void);

static inline bool foreign_before(const struct foreign_step *a, const struct foreign_step *b)
{
    return atomic_load(&a->runs) == 1 && atomic_load(&b->runs) == 1 && a->place < b->place;
}

#endif
