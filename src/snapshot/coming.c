/* coming.c: see coming.h. */
#include "snapshot/coming.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static const void *copy_of(const void *items, size_t count, size_t size) {
    if (count == 0)
        return NULL;
    void *copy = xcalloc(count, size);
    memcpy(copy, items, count * size);
    return copy;
}

void coming_add_task(struct coming *c, time_ms at, sym schedule, const struct task_spec *spec) {
    c->tasks = xgrow(c->tasks, &c->task_capacity, c->task_count + 1, sizeof(*c->tasks));
    struct coming_task *task = &c->tasks[c->task_count++];
    *task = (struct coming_task){ .at = at, .schedule = schedule, .spec = *spec };
    task->spec.depends_on =
        copy_of(spec->depends_on, spec->depends_on_count, sizeof(*spec->depends_on));
    task->spec.resources = copy_of(spec->resources, spec->resource_count, sizeof(*spec->resources));
}

void coming_add_open(struct coming *c, sym schedule, task_id task) {
    c->open = xgrow(c->open, &c->open_capacity, c->open_count + 1, sizeof(*c->open));
    size_t at = c->open_count++;
    for (; at > 0 && c->open[at - 1].task > task; at--) /* nearly always the last one */
        c->open[at] = c->open[at - 1];
    c->open[at] = (struct coming_open){ .task = task, .schedule = schedule };
}

void coming_set_overlap(struct coming *c, sym schedule, enum schedule_overlap overlap) {
    c->overlaps =
        xgrow(c->overlaps, &c->overlap_capacity, c->overlap_count + 1, sizeof(*c->overlaps));
    c->overlaps[c->overlap_count++] = (struct coming_overlap){ schedule, overlap };
}

static enum schedule_overlap overlap_of(const struct coming *c, sym schedule) {
    for (size_t i = 0; i < c->overlap_count; i++)
        if (c->overlaps[i].schedule == schedule)
            return c->overlaps[i].overlap;
    return OVERLAP_SKIP;
}

sym coming_schedule_of(const struct coming *c, task_id task) {
    size_t low = 0, high = c->open_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->open[middle].task < task)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->open_count && c->open[low].task == task ? c->open[low].schedule : 0;
}

/* --- hours ------------------------------------------------------------------------------------ */

static int apply_hours(struct coming *c, struct core *core, uint32_t handle, time_ms now,
                       coming_apply_fact apply, void *ctx) {
    const struct opening *one = &c->hours.items[handle - 1];
    struct opening_state state = opening_at(one, now + c->offset);
    time_ms until = state.until == TIME_NEVER ? TIME_NEVER : state.until - c->offset;
    struct fact fact = { .kind = FACT_HOURS };
    fact.hours.scope = one->scope;
    fact.hours.id = symbol_find(core_symbols(core), one->name, strlen(one->name));
    fact.hours.until = state.open ? 0 : until;
    if (until != TIME_NEVER)
        timer_heap_add(&c->changes, until, 0, handle);
    return apply(ctx, &fact);
}

static int by_time(const void *a, const void *b) {
    const struct coming_task *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->spec.id < y->spec.id ? -1 : x->spec.id > y->spec.id;
}

int coming_begin(struct coming *c, struct core *core, time_ms now, coming_apply_fact apply,
                 void *ctx) {
    int r = 0;
    if (c->task_count > 1)
        qsort(c->tasks, c->task_count, sizeof(*c->tasks), by_time);
    timer_heap_init(&c->changes, NULL, NULL);
    for (uint32_t i = 0; r >= 0 && i < c->hours.count; i++)
        r = apply_hours(c, core, i + 1, now, apply, ctx);
    return r < 0 ? r : 0;
}

time_ms coming_next_change(const struct coming *c) {
    return timer_heap_next(&c->changes);
}

/* --- tasks ------------------------------------------------------------------------------------ */

time_ms coming_next_task(const struct coming *c) {
    return c->next < c->task_count ? c->tasks[c->next].at : TIME_NEVER;
}

static bool is_open(const struct core *core, task_id task) {
    struct task_view view;
    return core_task(core, task, &view) && !task_state_is_final(view.state);
}

/* The open tasks of the last firing end. */
static int cancel_last(const struct coming *c, const struct core *core, sym schedule,
                       coming_apply_fact apply, void *ctx) {
    int r = 0;
    for (size_t i = 0; r >= 0 && i < c->open_count; i++)
        if (c->open[i].schedule == schedule && is_open(core, c->open[i].task))
            r = apply(ctx, &(struct fact){ .kind = FACT_CANCEL, .task = c->open[i].task });
    return r;
}

static void forget_last(struct coming *c, sym schedule) {
    size_t kept = 0;
    for (size_t i = 0; i < c->open_count; i++)
        if (c->open[i].schedule != schedule)
            c->open[kept++] = c->open[i];
    c->open_count = kept;
}

static int apply_firing(struct coming *c, struct core *core, size_t count, coming_apply_fact apply,
                        void *ctx) {
    const struct coming_task *tasks = &c->tasks[c->next];
    sym schedule = tasks[0].schedule;
    enum schedule_overlap overlap = overlap_of(c, schedule);
    int r = 0;
    for (size_t i = 0; schedule && overlap == OVERLAP_SKIP && i < c->open_count; i++)
        if (c->open[i].schedule == schedule && is_open(core, c->open[i].task))
            return 0;
    for (size_t i = 0; r >= 0 && i < count; i++) {
        const struct fact added = { .kind = FACT_TASK_ADDED,
                                    .task = tasks[i].spec.id,
                                    .spec = &tasks[i].spec };
        r = apply(ctx, &added);
    }
    if (r < 0 || !schedule)
        return r;
    if (overlap == OVERLAP_REPLACE)
        r = cancel_last(c, core, schedule, apply, ctx);
    forget_last(c, schedule);
    for (size_t i = 0; i < count; i++)
        coming_add_open(c, schedule, tasks[i].spec.id);
    return r;
}

int coming_apply(struct coming *c, struct core *core, time_ms now, coming_apply_fact apply,
                 void *ctx) {
    uint32_t handle;
    int r = 0;
    while (r >= 0 && (handle = timer_heap_pop(&c->changes, now)) > 0)
        r = apply_hours(c, core, handle, now, apply, ctx);
    while (r >= 0 && coming_next_task(c) <= now) {
        size_t end = c->next + 1;
        while (end < c->task_count && c->tasks[end].at == c->tasks[c->next].at
               && c->tasks[c->next].schedule
               && c->tasks[end].schedule == c->tasks[c->next].schedule)
            end++;
        r = apply_firing(c, core, end - c->next, apply, ctx);
        c->next = end;
    }
    return r < 0 ? r : 0;
}

void coming_finish(struct coming *c) {
    for (size_t i = 0; i < c->task_count; i++) {
        free((void *)(uintptr_t)c->tasks[i].spec.depends_on);
        free((void *)(uintptr_t)c->tasks[i].spec.resources);
    }
    free(c->tasks);
    free(c->open);
    free(c->overlaps);
    timer_heap_finish(&c->changes);
    openings_finish(&c->hours);
    *c = (struct coming){ 0 };
}
