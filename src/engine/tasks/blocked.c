/* blocked.c: events for changes of what a task waits for.
 *
 * One event for every task whose set of unmet dependencies differs after the turn: it was added
 * with some, they were changed, or one was finished or reopened. Only these cost anything. Only the
 * message bus uses them, and a queue of a million tasks would have twice the events, so they are
 * written only if the bus reports everything. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json_write.h"
#include "engine/note.h"
#include "engine/runs/runs_internal.h"
#include "engine/tasks/tasks_internal.h"

#define NAMED_MAX 20u /* blockers that are named; the others are counted */

struct blocked {
    bool is_on;              /* in this turn */
    bool is_written;         /* the events about this decision */
    uint64_t before;         /* of a task whose dependencies are about to change */
    LIST(task_id) concerned; /* while their events are written */
};

PART_STATE(blocked, struct blocked, blocked_of)

/* Dependencies that are not done, in the given order; in the arena of the turn. */
static size_t find_blockers(struct engine *e, task_id task, task_id **ret) {
    size_t count = core_task_depends(e->core, task, NULL, 0), unmet = 0;
    task_id *items = count ? arena_alloc(&e->turn.arena, count * sizeof(*items)) : NULL;
    count = count ? core_task_depends(e->core, task, items, count) : 0;
    for (size_t i = 0; i < count; i++)
        if (state_of(e, items[i]) != TASK_DONE)
            items[unmet++] = items[i];
    *ret = items;
    return unmet;
}

static void write_event(struct engine *e, task_id task, const task_id *blockers, size_t count) {
    struct event_data data;
    char id[ENGINE_ID_MAX];
    struct json_writer *w = event_begin(&data);
    json_put_array(w, "blockers");
    for (size_t i = 0; i < count && i < NAMED_MAX; i++)
        json_write_string(w, engine_task_id(e, blockers[i], id));
    json_write_array_end(w);
    json_put_int(w, "count", (int64_t)count);
    event_end(e, &data, "task.blocked", task, 0);
}

static void blocked_begin(struct engine *e) {
    blocked_of(e)->is_written = false;
    blocked_of(e)->is_on = strcmp(config_text(e->config, "bus.lifecycle", NULL), "all") == 0;
}

void blocked_added(struct engine *e, task_id task) {
    enum task_state state = state_of(e, task);
    task_id *blockers = NULL;
    if (!blocked_of(e)->is_on || state == TASK_ABSENT || state == TASK_DRAFT)
        return;
    size_t count = find_blockers(e, task, &blockers);
    if (count > 0)
        write_event(e, task, blockers, count);
}

/* A hash of what it waits for. */
static uint64_t digest(struct engine *e, task_id task) {
    task_id *blockers = NULL;
    size_t count = blocked_of(e)->is_on ? find_blockers(e, task, &blockers) : 0;
    return count ? hash_bytes(blockers, count * sizeof(*blockers)) : 0;
}

/* Only waiting tasks are blocked. */
static bool waits(const struct engine *e, task_id task) {
    enum task_state state = state_of(e, task);
    return state == TASK_WAITING || state == TASK_READY || state == TASK_HELD;
}

static void blocked_applying(struct engine *e, const struct fact *fact) {
    if (fact->kind == FACT_DEPENDENCIES)
        blocked_of(e)->before = digest(e, fact->task);
}

static void blocked_applied(struct engine *e, const struct fact *fact) {
    task_id *blockers = NULL;
    if (fact->kind != FACT_DEPENDENCIES || !blocked_of(e)->is_on || !waits(e, fact->task)
        || digest(e, fact->task) == blocked_of(e)->before)
        return;
    size_t count = find_blockers(e, fact->task, &blockers);
    write_event(e, fact->task, blockers, count);
}

/* --- dependencies that were finished or reopened ---------------------------------------------- */

static bool flips(const struct order *o) {
    return o->kind == ORDER_CHANGE && (o->from == TASK_DONE) != (o->to == TASK_DONE);
}

static void collect(void *ctx, task_id task) {
    struct engine *e = ctx;
    *LIST_ADD(&blocked_of(e)->concerned) = task;
}

static void write_collected(struct engine *e) {
    task_id *items = blocked_of(e)->concerned.items;
    size_t count = blocked_of(e)->concerned.count;
    qsort(items, count, sizeof(*items), task_id_compare);
    for (size_t i = 0; i < count; i++) {
        task_id *blockers = NULL;
        /* A task that was started in this turn was clear before it. */
        bool starts = state_of(e, items[i]) == TASK_STARTING && !run_find(e, items[i]);
        if ((i > 0 && items[i] == items[i - 1]) || !(starts || waits(e, items[i])))
            continue;
        size_t unmet = find_blockers(e, items[i], &blockers);
        write_event(e, items[i], blockers, unmet);
    }
    blocked_of(e)->concerned.count = 0;
}

/* The first order that finishes or reopens a task writes the events of all tasks concerned by any
 * such order, before their own orders. */
static void blocked_ordered(struct engine *e, const struct order *orders, size_t count) {
    if (orders->kind == ORDER_CHANGE && orders->from == TASK_DRAFT)
        blocked_added(e, orders->task);
    if (blocked_of(e)->is_written || !blocked_of(e)->is_on || !flips(orders))
        return;
    blocked_of(e)->is_written = true;
    for (size_t i = 0; i < count; i++)
        if (flips(&orders[i]))
            core_each_dependant(e->core, orders[i].task, collect, e);
    if (blocked_of(e)->concerned.count > 0)
        write_collected(e);
}

static void blocked_free(struct engine *e) {
    free(blocked_of(e)->concerned.items);
}

const struct engine_part blocked_part = {
    .state_size = sizeof(struct blocked),
    .at = { [STEP_BEGIN] = blocked_begin, [STEP_FREE] = blocked_free },
    .applying = blocked_applying,
    .applied = blocked_applied,
    .ordered = blocked_ordered,
};
