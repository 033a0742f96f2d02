/* Random choices that are the same in every run: all engines get the same tasks. */
#ifndef BENCH_DRAW_H
#define BENCH_DRAW_H

#include <stdint.h>

/* Returns a number below `bound`. */
uint32_t bench_draw_below(uint32_t bound);

/* Draws numbers below a bound. The k-th number has a probability in proportion to k to the power of
 * minus `exponent`. */
struct bench_zipf {
    uint32_t bound;
    double *sums; /* the sums of the first probabilities */
};

void bench_zipf_init(struct bench_zipf *zipf, uint32_t bound, double exponent);
uint32_t bench_zipf_draw(const struct bench_zipf *zipf);
void bench_zipf_fini(struct bench_zipf *zipf);

/* Draws `count` different numbers below `bound`, ascending. */
void bench_draw_different(uint32_t *numbers, uint32_t count, uint32_t bound);

#endif
