/* Owns the list of sites, and the one whose order is weakened. */
#include "simulator/weak_sites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/weak.h"

enum { SITES_MAX = 1 << 12, ORDERS = __ATOMIC_SEQ_CST + 1 };

/* The linker puts all sites between these. */
extern struct sim_site __start_sim_sites[];
extern struct sim_site __stop_sim_sites[];

static struct {
    struct sim_site *all[SITES_MAX]; /* one of the structs of each site, by its number less 1 */
    unsigned count;
    const struct sim_site *now; /* of the operation that the running fiber is about to make */
    unsigned weakened;          /* 0: none */
    int weaker[ORDERS];         /* the order in place of each other one */
    unsigned long executions;
} sites;

void sim_step_at(enum sim_access access, const volatile void *object, const struct sim_site *site)
{
    if (sim.current == NULL)
        return;
    sim_step(access, object);
    sites.now = site;
}

int sim_site_order(int order, bool *engine)
{
    const struct sim_site *site = sites.now;

    sites.now = NULL;
    *engine = site != NULL;
    if (site == NULL || sites.weakened == 0 || site->number != sites.weakened)
        return order;
    sites.executions++;
    return sites.weaker[order];
}

/* --- the list --- */

static int compare(const void *a, const void *b)
{
    const struct sim_site *const *left = a;
    const struct sim_site *const *right = b;
    int by = strcmp((*left)->file, (*right)->file);

    if (by == 0)
        by = ((*left)->line > (*right)->line) - ((*left)->line < (*right)->line);
    if (by == 0)
        by = strcmp((*left)->function, (*right)->function);
    if (by == 0)
        by = strcmp((*left)->operation, (*right)->operation);
    return by != 0 ? by : strcmp((*left)->object, (*right)->object);
}

static bool is_of_library(const struct sim_site *site)
{
    return strstr(site->file, "/src/") != NULL || strncmp(site->file, "src/", 4) == 0;
}

__attribute__((constructor)) static void number_sites(void)
{
    size_t total = (size_t)(__stop_sim_sites - __start_sim_sites);
    struct sim_site **sorted = malloc(total * sizeof *sorted);

    if (sorted == NULL)
        abort();
    for (size_t i = 0; i < total; i++)
        sorted[i] = &__start_sim_sites[i];
    qsort(sorted, total, sizeof(struct sim_site *), compare);
    for (size_t i = 0; i < total; i++) {
        if (!is_of_library(sorted[i]))
            continue;
        if (sites.count == 0 || compare(&sites.all[sites.count - 1], &sorted[i]) != 0) {
            if (sites.count == SITES_MAX)
                abort();
            sites.all[sites.count++] = sorted[i];
        }
        sorted[i]->number = sites.count;
    }
    free(sorted);
}

unsigned sim_site_count(void)
{
    return sites.count;
}

/* --- a site's text --- */

static const char *order_of(const struct sim_site *site)
{
    return strstr(site->operation, "memory_order_") + strlen("memory_order_");
}

static bool order_is(const struct sim_site *site, const char *order)
{
    return strncmp(order_of(site), order, strlen(order)) == 0;
}

static void name_operation(const struct sim_site *site, char *name, size_t size)
{
    static const char *const orders[][2] = { { "relaxed", "relaxed" },
                                             { "acquire", "acquire" },
                                             { "release", "release" },
                                             { "acq_rel", "acq_rel" },
                                             { "seq_cst", "seq" } };
    const char *begin = site->operation;
    const char *order = "";

    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        if (order_is(site, orders[i][0]))
            order = orders[i][1];
    if (strncmp(begin, "atomic_", 7) == 0)
        begin += 7;
    size_t length = strcspn(begin, " (");
    if (length > 9 && strncmp(begin + length - 9, "_explicit", 9) == 0)
        length -= 9;
    if (strncmp(begin, "compare_exchange", 16) == 0)
        snprintf(name, size, "cas_%s", order);
    else
        snprintf(name, size, "%.*s_%s", (int)length, begin, order);
}

struct sim_site_text sim_site_text(unsigned number)
{
    const struct sim_site *site = sites.all[number - 1];
    struct sim_site_text text = { .function = site->function, .occurrence = 1 };
    const char *within = strstr(site->file, "/src/");

    text.file = within != NULL ? within + 1 : site->file;
    name_operation(site, text.operation, sizeof text.operation);
    snprintf(text.object, sizeof text.object, "%s", site->object);
    for (unsigned i = number - 1; i-- > 0 && strcmp(sites.all[i]->file, site->file) == 0;)
        if (strcmp(sites.all[i]->function, site->function) == 0 &&
            strcmp(sites.all[i]->operation, site->operation) == 0 &&
            strcmp(sites.all[i]->object, site->object) == 0)
            text.occurrence++;
    return text;
}

/* --- weakening --- */

bool sim_site_has(unsigned number, enum sim_part part)
{
    const struct sim_site *site = sites.all[number - 1];

    switch (part) {
    case SIM_TOTAL:
        return order_is(site, "seq_cst");
    case SIM_ACQUIRE:
        return order_is(site, "acquire") || order_is(site, "acq_rel");
    default:
        return order_is(site, "release") || order_is(site, "acq_rel");
    }
}

void sim_site_weaken(unsigned number, enum sim_part part)
{
    static const int without[SIM_PARTS][ORDERS] = {
        [SIM_TOTAL] = { [__ATOMIC_RELAXED] = __ATOMIC_RELAXED,
                        [__ATOMIC_CONSUME] = __ATOMIC_CONSUME,
                        [__ATOMIC_ACQUIRE] = __ATOMIC_ACQUIRE,
                        [__ATOMIC_RELEASE] = __ATOMIC_RELEASE,
                        [__ATOMIC_ACQ_REL] = __ATOMIC_ACQ_REL,
                        [__ATOMIC_SEQ_CST] = __ATOMIC_ACQ_REL },
        [SIM_ACQUIRE] = { [__ATOMIC_RELEASE] = __ATOMIC_RELEASE,
                          [__ATOMIC_ACQ_REL] = __ATOMIC_RELEASE,
                          [__ATOMIC_SEQ_CST] = __ATOMIC_RELEASE },
        [SIM_RELEASE] = { [__ATOMIC_CONSUME] = __ATOMIC_CONSUME,
                          [__ATOMIC_ACQUIRE] = __ATOMIC_ACQUIRE,
                          [__ATOMIC_ACQ_REL] = __ATOMIC_ACQUIRE,
                          [__ATOMIC_SEQ_CST] = __ATOMIC_ACQUIRE }
    };

    sites.weakened = number;
    sites.executions = 0;
    memcpy(sites.weaker, without[part], sizeof sites.weaker);
}

unsigned long sim_site_executions(void)
{
    return sites.executions;
}
