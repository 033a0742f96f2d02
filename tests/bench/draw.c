#include "draw.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "engine.h"
#include "support/random.h"

static uint64_t state = 1;

uint32_t bench_draw_below(uint32_t bound)
{
    return random_below(&state, bound);
}

void bench_zipf_init(struct bench_zipf *zipf, uint32_t bound, double exponent)
{
    double sum = 0;
    zipf->bound = bound;
    zipf->sums = malloc(bound * sizeof *zipf->sums);
    bench_require(zipf->sums != NULL, "memory for the Zipf distribution");
    for (uint32_t i = 0; i < bound; i++) {
        sum += 1.0 / pow(i + 1.0, exponent);
        zipf->sums[i] = sum;
    }
    for (uint32_t i = 0; i < bound; i++)
        zipf->sums[i] /= sum;
}

uint32_t bench_zipf_draw(const struct bench_zipf *zipf)
{
    double wanted = (double)(random_next(&state) >> 11) / 9007199254740992.0; /* 2^53 */
    uint32_t low = 0, high = zipf->bound - 1;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (zipf->sums[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void bench_zipf_fini(struct bench_zipf *zipf)
{
    free(zipf->sums);
    zipf->sums = NULL;
}

/* Inserts `number` into the first `count` numbers, which are sorted. Returns false if it is there
 * already. */
static bool insert(uint32_t *numbers, uint32_t count, uint32_t number)
{
    uint32_t place = count;
    while (place > 0 && numbers[place - 1] > number)
        place--;
    if (place > 0 && numbers[place - 1] == number)
        return false;
    for (uint32_t i = count; i > place; i--)
        numbers[i] = numbers[i - 1];
    numbers[place] = number;
    return true;
}

void bench_draw_different(uint32_t *numbers, uint32_t count, uint32_t bound)
{
    uint32_t drawn = 0;
    while (drawn < count)
        if (insert(numbers, drawn, bench_draw_below(bound)))
            drawn++;
}
