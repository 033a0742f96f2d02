/*
 * Words for the state of a model, the same in every picture.
 */
#ifndef LANEVIEW_DESCRIBE_H
#define LANEVIEW_DESCRIBE_H

#include "base/text.h"
#include "model/model.h"
#include "model/spans.h"

/* The name of a task's tag; "task", "rollup" or "cut" if the tag has no name. */
const char *describe_tag(const struct model *model, size_t task);
/* Returns the text behind the name of a claim in this lanepool_mode. */
const char *describe_mode(unsigned mode);

/* Adds "#4", or "submission" for a task that has no ticket yet. */
void describe_number(struct text *text, const struct model *model, size_t task);

/* Adds "#4 close". */
void describe_task(struct text *text, const struct model *model, size_t task);

/* Adds "#4 close at A" for a cut's visit of a lane. */
void describe_visit(struct text *text, const struct model *model, size_t entry);

/* Adds "1/2 arrived": how many entries were granted at a time. */
void describe_arrived(struct text *text, const struct model *model, size_t task, uint64_t time);

/* Adds "2/3 arrived" for a latched span, or "latched" if the number changes within the span. */
void describe_latch(struct text *text, const struct model *model, const struct lane_span *span);

/* Adds "2/3" for a latched span whose number does not change. */
void describe_latch_short(struct text *text, const struct model *model,
                          const struct lane_span *span);

/* Adds "#4 close failed, attempt 2 follows" or "#4 close is parked" for a span of such a task. */
void describe_failed(struct text *text, const struct model *model, const struct lane_span *span);

/* Adds the short form: "#4 failed" or "#4 parked". */
void describe_failed_short(struct text *text, const struct model *model,
                           const struct lane_span *span);

/* Adds what a blocked worker waits for, in few words: "#4 waits for #2", "waits for #2" or "#2
 * is parked". */
void describe_blocked_short(struct text *text, const struct model *model,
                            const struct model_span *span);

/* Adds why a worker does nothing: "blocked: #4 close is latched (1/2 arrived) and waits for #2
 * post, which runs on worker 1". */
void describe_idle(struct text *text, const struct model *model, const struct model_span *span);

/* Adds the short form: "blocked: #4 is latched (1/2), waits for #2 on worker 1", or "blocked: #2
 * is parked". */
void describe_idle_short(struct text *text, const struct model *model,
                         const struct model_span *span);

/* Adds everything known about a task, one fact a line, for tool tips. */
void describe_history(struct text *text, const struct model *model, size_t task);

#endif
