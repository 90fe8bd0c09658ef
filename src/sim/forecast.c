/* forecast.c: runs the scheduler forward with runs that all succeed. See forecast.h.
 *
 * The player (player.h) records everything about a queue whose tasks are numbered from 1. A forecast
 * wants only the first start of each task, and a few tasks may have ids in the millions, so nothing
 * is sized by ids: live runs are a heap, starts a list. */
#include "sim/forecast.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/timer_heap.h"
#include "sim/bottleneck.h"
#include "sim/player.h"

struct live {
    task_id task; /* 0: a free record */
    uint32_t attempt;
    uint32_t heap_position;
    int64_t tokens, money; /* -1: none reported */
    sym project;
    enum outcome outcome;
};

struct forecaster {
    struct core *core;
    const struct forecast_options *options;
    struct forecast *result;
    size_t entry_capacity, end_capacity, live_capacity;
    struct gate_waits waits;
    time_ms now;
    struct live *runs; /* handles of the heap: index + 1 */
    size_t run_count, run_capacity;
    uint32_t *free_runs;
    size_t free_count, free_capacity;
    struct timer_heap ends;
    struct order *orders; /* of this turn, to be carried out */
    size_t order_capacity;
    task_id last_own;   /* tasks after it are coming */
    uint64_t own_open;  /* that are not final */
    uint32_t runs_live; /* of them */
    int r;
};

static void apply(struct forecaster *f, const struct fact *fact) {
    f->result->steps++;
    if (f->r == 0 && core_apply(f->core, fact, NULL) < 0)
        f->r = -ENOTRECOVERABLE;
}

const struct forecast_mean *forecast_mean_of(const struct forecast_options *options, sym project,
                                             sym kind) {
    const struct forecast_mean *any = NULL;
    for (size_t i = 0; i < options->mean_count; i++) {
        const struct forecast_mean *mean = &options->means[i];
        if (mean->project != project)
            continue;
        if (mean->kind == kind)
            return mean;
        if (mean->kind == 0 && !any)
            any = mean;
    }
    return any;
}

/* --- runs ------------------------------------------------------------------------------------ */

static uint32_t new_handle(struct forecaster *f) {
    if (f->free_count > 0)
        return f->free_runs[--f->free_count];
    f->runs = xgrow(f->runs, &f->run_capacity, f->run_count + 1, sizeof(*f->runs));
    return (uint32_t)++f->run_count;
}

/* Returns its expected end. */
static time_ms add_run(struct forecaster *f, const struct task_view *view) {
    const struct forecast_mean *mean = forecast_mean_of(f->options, view->project, view->kind);
    time_ms duration = mean ? mean->duration : f->options->default_duration;
    bool stopping = view->phase == PHASE_STOPPING;
    duration = time_max(duration, 1);
    time_ms end = time_add(view->started_at, duration);
    if (stopping)
        end = time_add(f->now, SIM_STOP_DURATION);
    else if (end <= f->now) /* it exceeds the mean: assume that it needs another tenth of it */
        end = time_add(f->now, duration / 10 + 1);
    uint32_t handle = new_handle(f);
    int64_t tokens = mean ? mean->tokens : -1;
    int64_t money = view->expected > 0 ? view->expected : mean ? mean->money : -1;
    f->runs[handle - 1] = (struct live){
        .task = view->id,
        .attempt = view->attempt,
        .tokens = tokens >= 0 && tokens < view->tokens ? view->tokens : tokens,
        .money = money < view->money ? view->money : money,
        .project = view->project,
        .outcome = stopping ? OUTCOME_CANCELED : OUTCOME_OK,
    };
    f->runs_live += view->id <= f->last_own;
    timer_heap_add(&f->ends, end, view->id, handle);
    return end;
}

static void add_running(void *ctx, task_id task) {
    struct forecaster *f = ctx;
    struct task_view view;
    if (!core_task(f->core, task, &view))
        return;
    struct forecast *result = f->result;
    time_ms end = add_run(f, &view);
    result->live =
        xgrow(result->live, &f->live_capacity, result->live_count + 1, sizeof(*result->live));
    result->live[result->live_count++] = (struct forecast_live){ task, end };
    if (view.state == TASK_STARTING)
        apply(f, &(struct fact){ .kind = FACT_RUN_STARTED, .task = task, .attempt = view.attempt });
}

static void end_run(struct forecaster *f, uint32_t handle) {
    const struct live run = f->runs[handle - 1];
    struct forecast *result = f->result;
    f->free_runs = xgrow(f->free_runs, &f->free_capacity, f->free_count + 1, sizeof(*f->free_runs));
    f->free_runs[f->free_count++] = handle;
    f->runs[handle - 1].task = 0;
    f->runs_live -= run.task <= f->last_own;
    if (run.outcome == OUTCOME_OK && run.task <= f->last_own) {
        f->waits.run_ended = true;
        result->ends =
            xgrow(result->ends, &f->end_capacity, result->end_count + 1, sizeof(*result->ends));
        result->ends[result->end_count++] = (struct forecast_end){ f->now, run.project };
    }
    struct fact ended = { .kind = FACT_RUN_ENDED, .task = run.task, .attempt = run.attempt };
    ended.ended.outcome = run.outcome;
    ended.ended.tokens = run.tokens;
    ended.ended.money = run.money;
    ended.ended.output = true;
    apply(f, &ended);
}

static void start_run(struct forecaster *f, const struct order *order) {
    struct forecast *result = f->result;
    struct task_view view;
    if (order->attempt == 0 || !core_task(f->core, order->task, &view))
        return;
    time_ms end = add_run(f, &view);
    if (order->task <= f->last_own) {
        result->entries =
            xgrow(result->entries, &f->entry_capacity, result->count + 1, sizeof(*result->entries));
        result->entries[result->count] =
            (struct forecast_entry){ order->task, f->now, end, result->count };
        result->count++;
    }
    apply(f, &(struct fact){
                 .kind = FACT_RUN_STARTED, .task = order->task, .attempt = order->attempt });
}

/* Rare, so the search may be linear: nothing is canceled, and a successful run begins no new
 * iteration. */
static void stop_run(struct forecaster *f, task_id task) {
    for (uint32_t handle = 1; handle <= f->run_count; handle++) {
        struct live *run = &f->runs[handle - 1];
        if (run->task != task)
            continue;
        run->outcome = OUTCOME_CANCELED;
        timer_heap_remove(&f->ends, run->heap_position);
        timer_heap_add(&f->ends, time_add(f->now, SIM_STOP_DURATION), task, handle);
    }
}

/* --- turns ----------------------------------------------------------------------------------- */

/* The next fact invalidates the core's list, so orders that cause facts are copied first. */
static void decide(struct forecaster *f) {
    size_t all, count = 0;
    const struct order *orders = core_decide(f->core, &all);
    f->result->steps += all;
    f->orders = xgrow(f->orders, &f->order_capacity, all + 1, sizeof(*f->orders));
    for (size_t i = 0; i < all; i++) {
        if (orders[i].kind == ORDER_START || orders[i].kind == ORDER_STOP)
            f->orders[count++] = orders[i];
        if (orders[i].kind == ORDER_CHANGE && orders[i].task <= f->last_own)
            f->own_open += (uint64_t)task_state_is_final(orders[i].from)
                           - (uint64_t)task_state_is_final(orders[i].to);
    }
    for (size_t i = 0; i < count; i++) {
        if (f->orders[i].kind == ORDER_START)
            start_run(f, &f->orders[i]);
        else
            stop_run(f, f->orders[i].task);
    }
}

/* A task that is refused, for instance because its agent is not known yet, does not come. */
static int apply_coming(void *ctx, const struct fact *fact) {
    struct forecaster *f = ctx;
    f->result->steps++;
    (void)core_apply(f->core, fact, NULL);
    return 0;
}

/* One point in time. False: nothing happened. */
static bool turn(struct forecaster *f) {
    uint64_t quiet = f->result->steps + 1; /* only the clock was set */
    apply(f, &(struct fact){ .kind = FACT_CLOCK, .now = f->now });
    uint32_t handle;
    if (f->options->coming && f->r == 0)
        f->r = coming_apply(f->options->coming, f->core, f->now, apply_coming, f);
    while ((handle = timer_heap_pop(&f->ends, f->now)))
        end_run(f, handle);
    decide(f);
    return f->result->steps != quiet;
}

static void play(struct forecaster *f) {
    const struct forecast_options *o = f->options;
    time_ms horizon = o->horizon > 0 ? time_add(o->now, o->horizon) : TIME_NEVER;
    uint64_t most = o->max_steps ? o->max_steps : FORECAST_STEPS;
    unsigned idle = 0;
    while (f->r == 0) {
        bool happened = turn(f);
        if (f->r == 0)
            bottleneck_sample(&f->waits, f->core, f->now);
        time_ms next = time_min(timer_heap_next(&f->ends), core_next_wakeup(f->core));
        next = time_max(f->now, next);
        /* What is coming starts nothing that waits now. */
        if (next == TIME_NEVER || (o->coming && f->own_open == 0)) {
            f->result->complete = true;
            return;
        }
        if (o->coming) {
            time_ms coming = time_min(coming_next_task(o->coming), coming_next_change(o->coming));
            next = time_max(f->now, time_min(next, coming));
        }
        if (next > horizon || f->result->steps >= most)
            return;
        idle = next == f->now && !happened ? idle + 1 : 0;
        if (idle > SIM_IDLE_TURNS_MAX)
            f->r = -ENOTRECOVERABLE;
        f->now = next;
    }
}

static void run_moved(void *ctx, uint32_t handle, uint32_t position) {
    struct forecaster *f = ctx;
    f->runs[handle - 1].heap_position = position;
}

static int by_live_task(const void *a, const void *b) {
    const struct forecast_live *left = a, *right = b;
    return left->task < right->task ? -1 : left->task > right->task;
}

static int by_task(const void *a, const void *b) {
    const struct forecast_entry *left = a, *right = b;
    if (left->task != right->task)
        return left->task < right->task ? -1 : 1;
    return left->position < right->position ? -1 : left->position > right->position;
}

static int by_position(const void *a, const void *b) {
    const struct forecast_entry *left = a, *right = b;
    return left->position < right->position ? -1 : left->position > right->position;
}

/* Each task once, with its first start. */
static void sort_entries(struct forecast *result) {
    size_t kept = 0;
    if (result->count > 0)
        qsort(result->entries, result->count, sizeof(*result->entries), by_task);
    for (size_t i = 0; i < result->count; i++) {
        if (kept == 0 || result->entries[kept - 1].task != result->entries[i].task)
            result->entries[kept++] = result->entries[i];
    }
    result->count = kept;
    if (kept == 0)
        return;
    result->order = xcalloc(kept, sizeof(*result->order));
    qsort(result->entries, kept, sizeof(*result->entries), by_position);
    for (size_t i = 0; i < kept; i++) {
        result->order[i] = result->entries[i].task;
        result->entries[i].position = i;
    }
    qsort(result->entries, kept, sizeof(*result->entries), by_task);
}

/* Where only a person, a file or a failed task stops the others, nothing is left for later: what is
 * coming may go on for ever. */
static void count_others(struct forecaster *f, uint64_t open) {
    struct forecast *result = f->result;
    struct core_counts counts;
    core_count(f->core, &counts);
    result->others = open > result->end_count ? open - result->end_count : 0;
    if (!result->complete && f->runs_live == 0 && !bottleneck_is_waiting(&f->waits))
        result->complete = true;
    if (result->complete)
        return;
    uint64_t stopped = counts.by_state[TASK_HELD] + (uint64_t)counts.hopeless;
    if (stopped < result->others) {
        result->later = result->others - stopped;
        result->others = stopped;
    }
}

int forecast_run(struct core *copy, const struct forecast_options *options, struct forecast *ret) {
    struct forecast result = { 0 };
    struct forecaster f = {
        .core = copy, .options = options, .result = &result, .now = options->now
    };
    timer_heap_init(&f.ends, run_moved, &f);
    struct coming *coming = options->coming;
    struct core_counts counts;
    core_count(copy, &counts);
    f.last_own = coming && coming->task_count > 0 ? coming->tasks[0].spec.id - 1 : UINT64_MAX;
    for (int state = TASK_ABSENT + 1; state < TASK_STATE_MAX; state++)
        f.own_open += task_state_is_final((enum task_state)state) ? 0 : counts.by_state[state];
    uint64_t open = f.own_open - counts.by_state[TASK_DRAFT];
    apply(&f, &(struct fact){ .kind = FACT_CLOCK, .now = f.now });
    if (coming && f.r == 0)
        f.r = coming_begin(coming, copy, f.now, apply_coming, &f);
    core_each_run(copy, add_running, &f);
    play(&f);
    count_others(&f, open);
    result.bottleneck = bottleneck_end(&f.waits, copy, f.now);
    sort_entries(&result);
    if (result.live_count > 0)
        qsort(result.live, result.live_count, sizeof(*result.live), by_live_task);
    result.end = f.now;
    timer_heap_finish(&f.ends);
    free(f.runs);
    free(f.free_runs);
    free(f.orders);
    if (f.r < 0)
        forecast_finish(&result);
    else
        *ret = result;
    return f.r;
}

const struct forecast_entry *forecast_entry(const struct forecast *forecast, task_id task) {
    size_t low = 0, high = forecast->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (forecast->entries[middle].task < task)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < forecast->count && forecast->entries[low].task == task;
    return found ? &forecast->entries[low] : NULL;
}

uint64_t forecast_index(const struct forecast *forecast, task_id task) {
    const struct forecast_live key = { .task = task };
    const struct forecast_live *live =
        forecast->live_count > 0
            ? bsearch(&key, forecast->live, forecast->live_count, sizeof(key), by_live_task)
            : NULL;
    if (live)
        return (uint64_t)(live - forecast->live);
    const struct forecast_entry *entry = forecast_entry(forecast, task);
    return entry ? forecast->live_count + entry->position : UINT64_MAX;
}

time_ms forecast_start(const struct forecast *forecast, task_id task) {
    const struct forecast_entry *entry = forecast_entry(forecast, task);
    return entry ? entry->start : TIME_NEVER;
}

size_t forecast_position(const struct forecast *forecast, task_id task) {
    const struct forecast_entry *entry = forecast_entry(forecast, task);
    return entry ? entry->position : SIZE_MAX;
}

void forecast_finish(struct forecast *forecast) {
    free(forecast->entries);
    free(forecast->order);
    free(forecast->ends);
    free(forecast->live);
    free(forecast->bottleneck.code);
    free(forecast->bottleneck.name);
    *forecast = (struct forecast){ 0 };
}
