/* sling_admit.c: see sling_internal.h. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "core/admit.h"
#include "ops/batch.h"
#include "ops/sling_internal.h"

const char sling_deferred[] = "the queue is full (queue.hard)";

struct sling_graph {
    uint32_t *starts, *targets;
    size_t arrows, capacity;
    bool *waits, *deferred;
};

static void sling_graph_finish(struct sling_graph *g) {
    free(g->starts);
    free(g->targets);
    free(g->waits);
    free(g->deferred);
}

static bool is_fresh(const struct sling_item *item) {
    return !item->already && !item->skipped;
}

static void add_arrow(struct sling_graph *g, size_t target) {
    g->targets = xgrow(g->targets, &g->capacity, g->arrows + 1, sizeof(*g->targets));
    g->targets[g->arrows++] = (uint32_t)target;
}

static void add_task(struct sling_graph *g, const struct slinging *s, task_id task) {
    uint32_t handle = task ? id_map_find(&s->seen, hash_u64(task), &task) : 0;
    if (handle)
        add_arrow(g, handle - 1);
}

/* The tasks of a unit need each other: a ring of arrows. */
static void add_ring(struct sling_graph *g, const struct slinging *s, size_t at) {
    uint32_t unit = s->items[at].unit;
    size_t next = at + 1;
    if (next == s->count || s->items[next].unit != unit)
        for (next = at; next > 0 && s->items[next - 1].unit == unit;)
            next--;
    if (next != at)
        add_arrow(g, next);
}

static void sling_graph_fill(const struct op_call *call, const struct slinging *s,
                             struct sling_graph *g) {
    const struct core *core = engine_core(call->engine);
    g->starts = xcalloc(s->count + 1, sizeof(*g->starts));
    g->waits = xcalloc(s->count + 1, sizeof(*g->waits));
    g->deferred = xcalloc(s->count + 1, sizeof(*g->deferred));
    for (size_t i = 0; i < s->count; i++) {
        const struct sling_item *item = &s->items[i];
        struct task_view view = { 0 };
        g->starts[i] = (uint32_t)g->arrows;
        g->waits[i] = is_fresh(item);
        add_ring(g, s, i);
        if (!is_fresh(item) || !core_task(core, item->task, &view))
            continue;
        add_task(g, s, view.parent);
        size_t count = core_task_depends(core, item->task, NULL, 0);
        _cleanup_(freep) task_id *needs = xcalloc(count + 1, sizeof(*needs));
        (void)core_task_depends(core, item->task, needs, count);
        for (size_t k = 0; k < count; k++)
            add_task(g, s, needs[k]);
    }
    g->starts[s->count] = (uint32_t)g->arrows;
}

static void defer_some(const struct op_call *call, struct slinging *s) {
    _cleanup_(sling_graph_finish) struct sling_graph g = { 0 };
    sling_graph_fill(call, s, &g);
    struct admit_request request = { .starts = g.starts,
                                     .targets = g.targets,
                                     .waits = g.waits,
                                     .node_count = (uint32_t)s->count,
                                     .room = queue_room_left(call) };
    (void)admit_fill(&request, g.deferred);
    for (size_t i = 0; i < s->count; i++) {
        if (!g.deferred[i] || !is_fresh(&s->items[i]))
            continue;
        s->items[i].skipped = sling_deferred;
        s->fresh--;
    }
}

static void note_branch(struct op_call *call, struct slinging *s) {
    struct task_view view;
    for (size_t i = 0; i < s->count && !s->room.note; i++)
        if (is_fresh(&s->items[i]) && core_task(engine_core(call->engine), s->items[i].task, &view))
            s->room.note =
                submission_branch_note(engine_config(call->engine),
                                       op_name_of(call->engine, view.project), op_arena(call));
}

static size_t count_steps(const struct slinging *s) {
    size_t count = 0;
    for (size_t i = 0; i < s->works.count; i++) {
        const struct sling_item *item = sling_item_of(s, s->works.items[i].task);
        count += item && is_fresh(item) ? json_array_size(s->works.items[i].steps) : 0;
    }
    return count;
}

int sling_admit(struct op_call *call, struct slinging *s) {
    size_t asked = s->fresh, steps = count_steps(s);
    if (op_flag(call, "partial") && (amount)s->fresh > queue_room_left(call))
        defer_some(call, s);
    int r = queue_room_check(call, (s->fresh > 0 ? s->fresh : asked) + steps, &s->room);
    for (size_t i = 0; r == 0 && i < s->count; i++)
        s->room.deferred += s->items[i].skipped == sling_deferred;
    if (r == 0 && op_text(call, "base_branch"))
        note_branch(call, s);
    return r;
}
