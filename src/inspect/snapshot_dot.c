/* Owns the graph of a snapshot: a node for each task, arrows to the tasks that block it. */
#include "inspect/snapshot_text.h"

static const char *state_fill_color(lanepool_snapshot_state state)
{
    switch (state) {
    case LANEPOOL_SNAPSHOT_RUNNING:
    case LANEPOOL_SNAPSHOT_VISITED:
        return "#8fd19e";
    case LANEPOOL_SNAPSHOT_READY:
        return "#cfe8ff";
    case LANEPOOL_SNAPSHOT_LATCHED:
        return "#ffd27f";
    case LANEPOOL_SNAPSHOT_RETRYING:
    case LANEPOOL_SNAPSHOT_PARKED:
        return "#f4a6a0";
    default:
        return "#eeeeee";
    }
}

static void write_node(const lanepool_i_out *out, const lanepool_snapshot *snapshot, size_t index)
{
    lanepool_i_out_text(out, "  t");
    lanepool_i_out_number(out, index);
    lanepool_i_out_text(out, " [label=\"");
    lanepool_i_out_task(out, snapshot, index);
    lanepool_i_out_text(out, "\\n");
    lanepool_i_out_state(out, snapshot, index);
    lanepool_i_out_text(out, "\", fillcolor=\"");
    lanepool_i_out_text(out, state_fill_color(snapshot->tasks[index].state));
    lanepool_i_out_text(out, "\"];\n");
}

static void write_arrow(const lanepool_i_out *out, const lanepool_snapshot *snapshot, size_t from,
                        size_t to, size_t lane)
{
    lanepool_i_out_text(out, "  t");
    lanepool_i_out_number(out, from);
    lanepool_i_out_text(out, " -> t");
    lanepool_i_out_number(out, to);
    if (lane != LANEPOOL_SNAPSHOT_NONE) {
        lanepool_i_out_text(out, " [label=\"");
        lanepool_i_out_lane(out, snapshot, lane);
        lanepool_i_out_text(out, "\"]");
    }
    lanepool_i_out_text(out, ";\n");
}

/* Points each waiting task at the one before it, and the first one at all granted tasks. */
static void write_lane_arrows(const lanepool_i_out *out, const lanepool_snapshot *snapshot,
                              size_t index)
{
    const lanepool_snapshot_lane *lane = &snapshot->lanes[index];
    const size_t *order = snapshot->order + lane->first;
    for (size_t i = 0; i < lane->waiting; i++) {
        size_t task = snapshot->entries[order[lane->granted + i]].task;
        if (i > 0) {
            write_arrow(out, snapshot, task, snapshot->entries[order[lane->granted + i - 1]].task,
                        index);
            continue;
        }
        for (size_t holder = 0; holder < lane->granted; holder++)
            write_arrow(out, snapshot, task, snapshot->entries[order[holder]].task, index);
    }
}

lanepool_status lanepool_snapshot_write_dot(const lanepool_snapshot *snapshot,
                                            lanepool_write_fn write, void *context)
{
    lanepool_i_out out = { write, context };
    if (snapshot == NULL || write == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_out_text(&out, "digraph lanepool {\n  rankdir=RL;\n"
                              "  node [shape=box, style=\"filled,rounded\", "
                              "fontname=\"sans-serif\"];\n"
                              "  edge [fontname=\"sans-serif\"];\n");
    for (size_t i = 0; i < snapshot->task_count; i++)
        write_node(&out, snapshot, i);
    for (size_t i = 0; i < snapshot->lane_count; i++)
        if (!snapshot->lanes[i].by_rule)
            write_lane_arrows(&out, snapshot, i);
    for (size_t i = 0; i < snapshot->entry_count; i++)
        if (snapshot->entries[i].behind != LANEPOOL_SNAPSHOT_NONE)
            write_arrow(&out, snapshot, snapshot->entries[i].task, snapshot->entries[i].behind,
                        LANEPOOL_SNAPSHOT_NONE);
    lanepool_i_out_text(&out, "}\n");
    return LANEPOOL_OK;
}
