/*
 * What is shown of a model, in words: the same ones in every picture.
 */
#ifndef LANEVIEW_DESCRIBE_H
#define LANEVIEW_DESCRIBE_H

#include "base/text.h"
#include "model/model.h"
#include "model/spans.h"

/* The name of a task's tag; "task" or "rollup" where it has none. */
const char *describe_tag(const struct model *model, size_t task);

/* "#4", or "submission" before it has a ticket. */
void describe_number(struct text *text, const struct model *model, size_t task);

/* "#4 close". */
void describe_task(struct text *text, const struct model *model, size_t task);

/* "1/2 arrived", as it was at a time. */
void describe_arrived(struct text *text, const struct model *model, size_t task, uint64_t time);

/* "2/3 arrived" of a latched span; "latched" if the number changes within it. */
void describe_latch(struct text *text, const struct model *model, const struct lane_span *span);

/* "2/3" of a latched span whose number does not change. */
void describe_latch_short(struct text *text, const struct model *model,
                          const struct lane_span *span);

/* "#4 close failed, attempt 2 follows" or "#4 close is kept", of the spans of such tasks. */
void describe_failed(struct text *text, const struct model *model, const struct lane_span *span);

/* The same where there is less room: "#4 failed" or "#4 kept". */
void describe_failed_short(struct text *text, const struct model *model,
                           const struct lane_span *span);

/* What a worker that is blocked waits for, in a few words: "#4 waits for #2", "waits for #2" or
 * "#2 is kept". */
void describe_blocked_short(struct text *text, const struct model *model,
                            const struct model_span *span);

/* Why a worker does nothing: "blocked: #4 close is latched (1/2 arrived) and waits for #2 post,
 * which runs on worker 1". */
void describe_idle(struct text *text, const struct model *model, const struct model_span *span);

/* The same where there is less room: "blocked: #4 is latched (1/2), waits for #2 on worker 1", or
 * "blocked: #2 is kept". */
void describe_idle_short(struct text *text, const struct model *model,
                         const struct model_span *span);

/* All that is known of a task, a fact a line: for tool tips. */
void describe_history(struct text *text, const struct model *model, size_t task);

#endif
