/*
 * Keeps records for a while after their end, so that a checked build recognises a second release of
 * a handle. Other builds free these records at once, and compile nothing of this.
 *
 * Each pool and each executor has a quarantine. A record that names it has a reference to it,
 * because futures and handles of detached tasks may outlive their pool. At the end of the pool or
 * the executor, the quarantine frees its records; from then on records are freed at once.
 *
 * With AddressSanitizer the quarantine keeps no record. The sanitizer finds a use of freed memory
 * itself, and tells where it was freed.
 *
 * A child of fork() frees each record at once, and leaves alone what the quarantine has kept.
 */
#ifndef LANEPOOL_SRC_BASE_QUARANTINE_H
#define LANEPOOL_SRC_BASE_QUARANTINE_H

#if defined(LANEPOOL_CHECKED)

#include "base/list.h"

/* How many records a quarantine keeps; the oldest is freed first. */
#if defined(__SANITIZE_ADDRESS__)
#define LANEPOOL_I_QUARANTINE_MAX ((size_t)0)
#else
#define LANEPOOL_I_QUARANTINE_MAX ((size_t)1024)
#endif

typedef struct lanepool_i_quarantine lanepool_i_quarantine;

/* Part of a record, zeroed when the record is made. Guards: L the quarantine's lock. */
typedef struct lanepool_i_quarantined {
    lanepool_i_quarantine *quarantine; /* referenced until the record's end; or NULL */
    lanepool_i_link link;              /* L */
    void *record;                      /* the argument of `free_record` */
    void (*free_record)(void *record); /* frees the record's memory */
} lanepool_i_quarantined;

/* Returns a quarantine with one reference; NULL if memory cannot be allocated. */
lanepool_i_quarantine *lanepool_i_quarantine_open(void);
/* Frees the records, and gives the reference of lanepool_i_quarantine_open() back. */
void lanepool_i_quarantine_close(lanepool_i_quarantine *quarantine);
/* Names the quarantine that keeps the record after its end. Does nothing if the record names one,
 * or if `quarantine` is NULL. */
void lanepool_i_quarantine_name(lanepool_i_quarantined *part, lanepool_i_quarantine *quarantine);
/* Ends a record: the quarantine calls `free_record` later, or this call does. */
void lanepool_i_quarantine_keep(lanepool_i_quarantined *part, void *record,
                                void (*free_record)(void *record));

/* The record's part is its member `quarantined`. */
#define LANEPOOL_I_QUARANTINE_NAME(record, quarantine) \
    lanepool_i_quarantine_name(&(record)->quarantined, (quarantine))
#define LANEPOOL_I_QUARANTINE_KEEP(record, free) \
    lanepool_i_quarantine_keep(&(record)->quarantined, (record), (free))

#else

#define LANEPOOL_I_QUARANTINE_NAME(record, quarantine) ((void)0)
#define LANEPOOL_I_QUARANTINE_KEEP(record, free)       (free)(record)

#endif

#endif
