/*
 * Owns how overlapping spans of tasks that share a lane become pieces side by side. Time is cut
 * wherever a span begins or ends. Within each part, its spans divide the row among them.
 */
#include <stdlib.h>

#include "memory.h"
#include "model/spans.h"

/* A span that has begun and not ended at the current time. */
struct active {
    struct lane_span span;
    size_t piece; /* its last piece, which is extended if nothing changes */
};

struct division {
    struct lane_spans pieces;
    struct active *active;
    size_t active_count, active_capacity;
};

static int compare_spans(const void *left, const void *right)
{
    const struct lane_span *a = left, *b = right;
    if (a->from != b->from) {
        return a->from < b->from ? -1 : 1;
    }
    return (a->entry > b->entry) - (a->entry < b->entry);
}

static bool some_overlap(const struct lane_spans *sorted)
{
    uint64_t until = 0;
    for (size_t i = 0; i < sorted->count; i++) {
        if (sorted->items[i].from < until) {
            return true;
        }
        until = sorted->items[i].to;
    }
    return false;
}

static void drop_ended_spans(struct division *division, uint64_t time)
{
    size_t left = 0;
    for (size_t i = 0; i < division->active_count; i++) {
        if (division->active[i].span.to > time) {
            division->active[left++] = division->active[i];
        }
    }
    division->active_count = left;
}

static void begin_span(struct division *division, const struct lane_span *span)
{
    division->active = memory_grow(division->active, &division->active_capacity,
                                   division->active_count + 1, sizeof *division->active);
    division->active[division->active_count++] = (struct active){ *span, LANEPOOL_REPLAY_NONE };
}

static void add_piece(struct division *division, size_t slot, unsigned slot_count, uint64_t from,
                      uint64_t to)
{
    struct active *active = &division->active[slot];
    struct lane_spans *pieces = &division->pieces;
    if (active->piece != LANEPOOL_REPLAY_NONE) {
        struct lane_span *last = &pieces->items[active->piece];
        if (last->slot == slot && last->slot_count == slot_count && last->to == from) {
            last->to = to;
            return;
        }
    }
    pieces->items =
        memory_grow(pieces->items, &pieces->capacity, pieces->count + 1, sizeof *pieces->items);
    active->piece = pieces->count;
    struct lane_span *piece = &pieces->items[pieces->count++];
    *piece = active->span;
    piece->from = from;
    piece->to = to;
    piece->slot = (unsigned)slot;
    piece->slot_count = slot_count;
}

/* The next time at which a span ends or begins. */
static uint64_t next_cut(const struct division *division, const struct lane_spans *sorted,
                         size_t begun)
{
    uint64_t cut = begun < sorted->count ? sorted->items[begun].from : LANEPOOL_REPLAY_UNSEEN;
    for (size_t i = 0; i < division->active_count; i++) {
        cut = division->active[i].span.to < cut ? division->active[i].span.to : cut;
    }
    return cut;
}

void spans_divide(struct lane_spans *spans)
{
    struct division division = { 0 };
    size_t begun = 0;
    if (spans->count == 0) {
        return;
    }
    qsort(spans->items, spans->count, sizeof *spans->items, compare_spans);
    if (!some_overlap(spans)) {
        return;
    }
    for (uint64_t time = spans->items[0].from; time != LANEPOOL_REPLAY_UNSEEN;) {
        drop_ended_spans(&division, time);
        for (; begun < spans->count && spans->items[begun].from <= time; begun++) {
            begin_span(&division, &spans->items[begun]);
        }
        uint64_t next = next_cut(&division, spans, begun);
        size_t slots = division.active_count < SPANS_SLOTS ? division.active_count : SPANS_SLOTS;
        for (size_t slot = 0; slot < slots; slot++) {
            add_piece(&division, slot, (unsigned)slots, time, next);
        }
        time = next;
    }
    free(division.active);
    spans_fini(spans);
    *spans = division.pieces;
}
