/* Owns the reading of effects from the table that lanepool::pg has for them. */
#include "remote/effects.h"

#include <stdio.h>

static const char select_effects[] =
    "SELECT seq, data FROM lanepool_ledgerbatch.effect WHERE seq > $1 AND part = 0"
    " ORDER BY seq LIMIT 4096";

void effects_fini(struct effects *effects)
{
    PQclear(effects->rows);
}

static struct wire field(const struct effects *effects, int row, int column)
{
    return (struct wire){ .at = (const unsigned char *)PQgetvalue(effects->rows, row, column),
                          .left = (size_t)PQgetlength(effects->rows, row, column) };
}

/* Returns a number of PostgreSQL, which has its highest byte first. */
static uint64_t get_number(struct wire wire)
{
    uint64_t number = 0;
    for (size_t i = 0; i < wire.left; i++) {
        number = number << 8 | wire.at[i];
    }
    return number;
}

static enum answer read_rows(struct effects *effects, struct session *session,
                             struct problem *problem)
{
    char after[24];
    const char *parameters[] = { after };
    PGresult *rows;
    snprintf(after, sizeof after, "%llu", (unsigned long long)effects->after);
    enum answer answer = session_call(session, select_effects, 1, parameters, true, &rows, problem);
    if (answer != ANSWER_DONE) {
        return answer;
    }
    PQclear(effects->rows);
    effects->rows = rows;
    effects->next = 0;
    int count = PQntuples(rows);
    if (count > 0) {
        effects->after = get_number(field(effects, count - 1, 0));
        return ANSWER_DONE;
    }
    problem_set(problem, EXIT_CODE_IO, "the store is damaged: it lacks what tasks have done");
    return ANSWER_REFUSED;
}

enum answer effects_find(struct effects *effects, struct session *session, uint32_t seq,
                         struct wire *effect, uint32_t *found, struct problem *problem)
{
    if (!effects->rows) {
        effects->after = seq - 1; /* a task has this number in the store, or a higher one */
    }
    do {
        if (!effects->rows || effects->next == PQntuples(effects->rows)) {
            enum answer answer = read_rows(effects, session, problem);
            if (answer != ANSWER_DONE) {
                return answer;
            }
        }
        *effect = field(effects, effects->next++, 1);
        *found = (uint32_t)wire_get(effect, 4);
    } while (*found < seq);
    return ANSWER_DONE;
}
