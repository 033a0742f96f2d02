/*
 * Owns the disturbances: when a thread is disturbed next, and how.
 *
 * All variables that threads share here are accessed with relaxed order, so that the noise does not
 * synchronize the library.
 */
#define _GNU_SOURCE
#include "noise/noise.h"

#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "support/random.h"

/* Out of a thousand disturbances, this many are yields and pauses; the others are sleeps. A yield
 * gives the core to a waiting thread. A pause shifts two competing threads by some instructions. A
 * sleep lets all other threads pass. Few and short sleeps are enough, because more workloads find
 * more errors than longer ones. */
enum { YIELDS = 490, PAUSES = 490, PAUSES_MOST = 256, SLEEP_BITS_MOST = 7, QUIET_DOORS = 1 << 20 };

_Thread_local uint32_t noise_doors_left;

/* Written while the library has no threads. */
static _Atomic uint64_t seed;
static _Atomic uint32_t one_in;
static _Atomic uint32_t settings; /* how often seed and one_in were set */

static _Atomic uint32_t threads; /* how many threads have been disturbed */

/* One thread's generator; each setting starts it anew. */
static _Thread_local uint64_t state;
static _Thread_local uint32_t state_is_of;

void noise_set(uint64_t new_seed, uint32_t new_one_in)
{
    atomic_store_explicit(&seed, new_seed, memory_order_relaxed);
    atomic_store_explicit(&one_in, new_one_in, memory_order_relaxed);
    atomic_store_explicit(&threads, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&settings, 1, memory_order_relaxed);
    noise_doors_left = 0;
}

static void begin_if_new(void)
{
    uint32_t setting = atomic_load_explicit(&settings, memory_order_relaxed);
    uint32_t thread;

    if (state_is_of == setting) {
        return;
    }
    state_is_of = setting;
    thread = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);
    state = random_mix(atomic_load_explicit(&seed, memory_order_relaxed) + random_mix(thread));
    /* Otherwise the system makes 50 microseconds out of one. */
    (void)prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
}

static void pause_for_some_instructions(void)
{
    for (volatile uint32_t i = random_below(&state, PAUSES_MOST); i > 0; i = i - 1) {
    }
}

/* Sleeps for up to an eighth of a millisecond; short sleeps are as likely as long ones. */
static void sleep_for_some_microseconds(void)
{
    uint32_t most = 1u << random_below(&state, SLEEP_BITS_MOST + 1);
    struct timespec time = { .tv_nsec = 1000 * (1 + (long)random_below(&state, most)) };

    (void)nanosleep(&time, NULL);
}

void noise_make(void)
{
    uint32_t mean = atomic_load_explicit(&one_in, memory_order_relaxed);
    uint32_t dice;

    if (mean == 0) {
        noise_doors_left = QUIET_DOORS;
        return;
    }
    begin_if_new();
    noise_doors_left = random_below(&state, 2 * mean - 1);
    dice = random_below(&state, 1000);
    if (dice < YIELDS) {
        sched_yield();
    } else if (dice < YIELDS + PAUSES) {
        pause_for_some_instructions();
    } else {
        sleep_for_some_microseconds();
    }
}
