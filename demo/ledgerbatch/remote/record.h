/*
 * The record of a batch: one row in the schema `ledgerbatch`, beside the schema that lanepool has
 * for the tasks. So a database has one batch.
 *
 * Locks belong to the connection. If a process ends, another one gets its lock.
 */
#ifndef LEDGERBATCH_REMOTE_RECORD_H
#define LEDGERBATCH_REMOTE_RECORD_H

#include "plan/plan.h"
#include "remote/session.h"

/* The name that lanepool has for the batch of a database. */
#define RECORD_BATCH_NAME "ledgerbatch"

struct record {
    struct session session;
    bool is_there;               /* it was read */
    size_t appended;             /* at least so many tasks of the plan are in the batch */
    bool is_sealed;              /* all are */
    char head[SHA256_TEXT_SIZE]; /* of the published database; "" before */
    char publisher[256];
};

/* The work that one process does for all. */
enum record_lock { RECORD_APPEND, RECORD_PUBLISH };

/*
 * Reads the record, and checks that it is of the same input and rules. There may be none yet,
 * unless it must exist.
 */
bool record_open(struct record *record, const char *store, bool must_exist, const struct plan *plan,
                 struct problem *problem);
/* Makes the record if there is none. Lanepool's schema is there already, so that a batch with a
 * record is whole. */
bool record_make(struct record *record, const struct plan *plan, struct problem *problem);
/* Reads the record of the batch that is there, and the number of its tasks. */
bool record_view(struct record *record, const char *store, size_t *task_count,
                 struct problem *problem);
void record_close(struct record *record);

/* Reads the record anew. */
enum answer record_read(struct record *record, struct problem *problem);

/* Tries to get a lock, and reads the record anew. */
enum answer record_lock(struct record *record, enum record_lock lock, bool *is_got,
                        struct problem *problem);

enum answer record_set_appended(struct record *record, size_t appended, bool is_sealed,
                                struct problem *problem);

/* Records who has published, unless that is recorded. */
enum answer record_set_head(struct record *record, const char *head, const char *publisher,
                            struct problem *problem);

#endif
