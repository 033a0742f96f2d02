/*
 * Shared by the files that show a run.
 */
#ifndef LANEVIEW_SHOW_INTERNAL_H
#define LANEVIEW_SHOW_INTERNAL_H

#include "base/text.h"
#include "model/model.h"
#include "show/show.h"

struct show {
    const struct show_options *options;
    const struct recording *recording;
    struct session *session; /* NULL when a recording is shown */
    struct model model;
    size_t fed;        /* the number of events that the model has been fed */
    uint64_t time_ns;  /* of a recording: how far it is shown */
    bool is_paused;    /* nothing is submitted, and the picture does not change */
    unsigned steps;    /* requested steps that are not done yet */
    bool quits;        /* the user wants to end */
    bool is_gone;      /* the output's reader has closed it */
    struct text notes; /* what the last key did, for the last row */
};

/* Returns true if everything that happens has been shown. */
static inline bool show_is_over(const struct show *show)
{
    return show->fed == show->recording->event_count && (!show->session || show->session->is_over);
}

/* Obeys a key. */
void show_take_key(struct show *show, char key);

/* Does requested steps as far as there are events. `is_quiet` says that no more events come
 * unless something is submitted. */
bool show_do_steps(struct show *show, bool is_quiet, struct problem *problem);

/* Adds the last row of the screen: the keys. */
void show_add_footer(struct text *text, const struct show *show);

#endif
