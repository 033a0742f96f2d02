/*
 * Executors made of simulated threads, well-behaved and not, and a sequence on one of them with
 * tasks that are judged: called once, in order, never two at once. There is one at a time.
 */
#ifndef TESTS_SIMULATED_FOREIGN_H
#define TESTS_SIMULATED_FOREIGN_H

#include "simulated/scene.h"

enum foreign_kind {
    FOREIGN_INSIDE,  /* runs works inside of `execute` */
    FOREIGN_THREADS, /* on threads of its own */
    FOREIGN_KEEPS    /* when it is told to; what is left, after its end */
};

struct foreign_manner {
    enum foreign_kind kind;
    uint32_t threads;
    uint32_t times;    /* that each work is run; 0: once */
    uint64_t refuses;  /* one bit for each of the first calls of `execute`: it answers FULL */
    bool lies;         /* and runs it all the same */
    bool has_timer;    /* of its own */
    uint32_t early;    /* so many alarms ring at once */
    uint64_t late_ns;  /* others so much too late */
    uint32_t deaf_for; /* so many alarms are refused */
};

enum { FOREIGN_STEPS_MAX = 16 };

/* A task of the sequence; what it is, is the scenario's to set. */
struct foreign_step {
    void (*body)(struct foreign_step *self);
    int64_t delay_ns;
    lanepool_future *future; /* released at the end */
    bool accepted;
    _Atomic uint32_t runs, cancels, releases;
    uint64_t started_ns; /* guarded by the sequence */
    uint32_t place;      /* likewise: in the order of the starts */
};

struct foreign {
    lanepool_executor *executor;
    lanepool_sequence *sequence;
    struct foreign_step steps[FOREIGN_STEPS_MAX];
    bool cancels; /* steps may be cancelled */
};

extern struct foreign foreign;

/* Makes the executor; false: something was lacking, and nothing is to be closed. */
bool foreign_try_open(const struct foreign_manner *manner);
/* The same, and a sequence. */
void foreign_open(const struct foreign_manner *manner);
/* Runs the works that are kept, each as often as the manner says. */
void foreign_run_kept(void);
/* Runs the first work that was ever handed over, whatever has become of it. */
void foreign_run_first(void);
/* Ends the executor and its threads: these last, so that works may be late. */
void foreign_close(void);
/* Waits until the sequence is idle, destroys it, judges the steps, and closes. */
void foreign_end(void);

lanepool_status foreign_submit(struct foreign_step *step);
/* Destroys the sequence and judges its steps. */
void foreign_end_sequence(void);

static inline bool foreign_before(const struct foreign_step *a, const struct foreign_step *b)
{
    return atomic_load(&a->runs) == 1 && atomic_load(&b->runs) == 1 && a->place < b->place;
}

#endif
