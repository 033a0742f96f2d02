/*
 * Reading the effects of a batch that is done, in the planned order.
 */
#ifndef LEDGERBATCH_REMOTE_EFFECTS_H
#define LEDGERBATCH_REMOTE_EFFECTS_H

#include "remote/session.h"
#include "remote/wire.h"

struct effects {
    PGresult *rows; /* NULL before the first ones are read */
    int next;       /* the next one */
    uint64_t after; /* all rows up to this task of the store were read */
};

void effects_fini(struct effects *effects);

/*
 * Finds the next effect of a task or of a later one. A task that was appended twice may have two
 * effects: the first one counts. `effect` is valid until the next call. Returns REFUSED at the end.
 */
enum answer effects_find(struct effects *effects, struct session *session, uint32_t seq,
                         struct wire *effect, uint32_t *found, struct problem *problem);

#endif
