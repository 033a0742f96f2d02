/*
 * What the files that show a run share.
 */
#ifndef LANEVIEW_SHOW_INTERNAL_H
#define LANEVIEW_SHOW_INTERNAL_H

#include "base/text.h"
#include "model/model.h"
#include "show/show.h"

struct show {
    const struct show_options *options;
    const struct recording *recording;
    struct session *session; /* NULL: a recording is shown again */
    struct model model;
    size_t fed;        /* events that the model has been fed */
    uint64_t time_ns;  /* of a recording: up to here it is shown */
    bool is_paused;    /* nothing is submitted, and the picture stands still */
    unsigned steps;    /* that were asked for and not done yet */
    bool quits;        /* the user wants no more */
    bool is_gone;      /* whoever read the output does so no longer */
    struct text notes; /* what the last key has done; the last row says so */
};

/* Whether everything that happens has been shown. */
static inline bool show_is_over(const struct show *show)
{
    return show->fed == show->recording->event_count && (!show->session || show->session->is_over);
}

/* Obeys a key. */
void show_take_key(struct show *show, char key);

/* Does steps that were asked for, as far as events are there; `is_quiet`: none will come unless
 * something is submitted. */
bool show_do_steps(struct show *show, bool is_quiet, struct problem *problem);

/* The last row of the screen: what can be done. */
void show_add_footer(struct text *text, const struct show *show);

#endif
