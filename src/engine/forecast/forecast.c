/* forecast.c: when waiting tasks would start, computed in a thread by the simulation.
 *
 * The thread plays a copy of the core forward; the copy shares nothing with the original, so
 * neither blocks the other. At most one is computed at a time, and a result is used for ten
 * seconds. A queue whose copy would delay the loop gets no forecast: then only the position in the
 * queue is shown.
 *
 * Durations are learned from ended runs, per project and kind; recent ones weigh more. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine_internal.h"
#include "engine/outlook.h"
#include "engine/schedules.h"
#include "os/worker.h"
#include "sim/forecast.h"

#define KEPT_FOR         SECONDS(10)
#define KEPT_LONGER      50000u      /* steps; a forecast that took as many is kept 1 s longer */
#define COPY_MAX         (64u << 20) /* bytes; about 10 ms to copy */
#define LARGE            (4u << 20)  /* bytes; about 10,000 tasks */
#define STEPS_MAX        2000000u    /* 300,000 tasks; about 1 s in its thread */
#define HORIZON          DAYS(30)
#define DEFAULT_DURATION MINUTES(5)
#define NEW_PART         8 /* the newest run has a weight of one eighth */

struct waiter {
    engine_forecast_ready ready;
    void *ctx;
};

/* What a forecast was made from. */
struct moment {
    uint64_t event; /* the last one: every change of the queue is an event */
    const struct config *config;
    bool paused; /* then it begins with a resume: its order is valid, its times are not */
    bool large;
};

struct engine_forecast_state {
    struct worker_job job;
    struct forecast current;
    time_ms made_at;  /* 0: none */
    time_ms begun_at; /* its first moment */
    struct moment made_of;
    LIST(struct forecast_mean) means;
    time_ms mean_of_all; /* 0: no run has ended yet */
    LIST(struct waiter) waiters;

    struct worker *worker;
    bool running;

    /* Owned by the thread while `running`. */
    struct core *copy;
    struct moment copied;
    struct forecast_options options;
    struct coming coming;
    struct forecast made;
    int result;
};

PART_STATE(forecast, struct engine_forecast_state, forecast_of)

static void drop_copy(struct engine_forecast_state *f) {
    f->running = false;
    core_free(f->copy);
    free((void *)(uintptr_t)f->options.means);
    f->options.means = NULL;
    f->copy = NULL;
    coming_finish(&f->coming);
}

static void notify_waiters(struct engine_forecast_state *f) {
    size_t count = f->waiters.count;
    struct waiter *waiters = f->waiters.items;
    memset(&f->waiters, 0, sizeof(f->waiters));
    for (size_t i = 0; i < count; i++)
        waiters[i].ready(waiters[i].ctx);
    free(waiters);
}

static void compute(void *ctx, struct worker_job *job) {
    struct engine_forecast_state *f = (struct engine_forecast_state *)job;
    (void)ctx;
    f->result = forecast_run(f->copy, &f->options, &f->made);
}

/* From now on, all answers come from this one. Takes `made`. */
static void keep_forecast(struct engine *e, struct forecast *made, const struct moment *of,
                          time_ms begun_at) {
    struct engine_forecast_state *f = forecast_of(e);
    forecast_finish(&f->current);
    f->current = *made;
    *made = (struct forecast){ 0 };
    f->made_at = e->now;
    f->made_of = *of;
    f->begun_at = begun_at;
}

static void computed(void *ctx, struct worker_job *job, bool was_run) {
    struct engine *e = ctx;
    struct engine_forecast_state *f = (struct engine_forecast_state *)job;
    (void)was_run;
    drop_copy(f);
    if (!f->worker) /* the engine is ending */
        return;
    keep_forecast(e, &f->made, &f->copied, f->options.now);
    notify_waiters(f);
}

static void forecast_init(struct engine *e) {
    static const struct worker_calls calls = { .run = compute, .done = computed };
    forecast_of(e)->worker = worker_new(e->loop, &calls, e);
}

/* Joins the thread. */
static void forecast_free(struct engine *e) {
    struct engine_forecast_state *f = forecast_of(e);
    worker_free(TAKE_PTR(f->worker), WORKER_DROP, 0);
    notify_waiters(f); /* no client is left to read it, but their memory is */
    forecast_finish(&f->made);
    forecast_finish(&f->current);
    free(f->means.items);
    free(f->waiters.items);
}

/* --- learning -------------------------------------------------------------------------------- */

/* The core is new, and the means are stored by symbols of the old one. */
static void forecast_forget(struct engine *e) {
    forecast_of(e)->means.count = 0;
}

static void blend(time_ms *mean, time_ms value) {
    *mean = *mean == 0 ? value : *mean + (value - *mean) / NEW_PART;
}

/* -1: not reported. */
static void blend_report(int64_t *mean, int64_t reported) {
    if (reported >= 0)
        *mean = *mean < 0 ? reported : *mean + (reported - *mean) / NEW_PART;
}

void forecast_learn(struct engine *e, task_id task, const struct run_end *end, int64_t tokens,
                    int64_t money) {
    struct engine_forecast_state *f = forecast_of(e);
    struct task_view view;
    if (end->kind != RUN_END_EXIT || end->started_at == 0 || end->ended_at < end->started_at
        || !core_task(e->core, task, &view))
        return;
    time_ms took = time_max(end->ended_at - end->started_at, 1);
    blend(&f->mean_of_all, took);
    for (size_t i = 0; i < f->means.count; i++) {
        struct forecast_mean *mean = &f->means.items[i];
        if (mean->project != view.project || mean->kind != view.kind)
            continue;
        blend(&mean->duration, took);
        blend_report(&mean->tokens, tokens);
        blend_report(&mean->money, money);
        return;
    }
    *LIST_ADD(&f->means) = (struct forecast_mean){ .project = view.project,
                                                   .kind = view.kind,
                                                   .duration = took,
                                                   .tokens = tokens,
                                                   .money = money };
}

/* Expected durations; `means` is a copy that the caller frees. */
static void forecast_expect(const struct engine *e, struct forecast_options *ret) {
    const struct engine_forecast_state *f = forecast_of(e);
    struct forecast_mean *means = xcalloc(f->means.count + 1, sizeof(*means));
    if (f->means.count > 0)
        memcpy(means, f->means.items, f->means.count * sizeof(*means));
    *ret = (struct forecast_options){
        .now = e->now,
        .means = means,
        .mean_count = f->means.count,
        .default_duration = f->mean_of_all ? f->mean_of_all : DEFAULT_DURATION,
        .horizon = HORIZON,
        .max_steps = STEPS_MAX,
    };
}

/* As the forecast expects it. */
time_ms engine_expected_run(const struct engine *e, sym project, sym kind) {
    const struct engine_forecast_state *f = forecast_of(e);
    const struct forecast_options options = { .means = f->means.items,
                                              .mean_count = f->means.count };
    const struct forecast_mean *mean = forecast_mean_of(&options, project, kind);
    return mean ? mean->duration : f->mean_of_all ? f->mean_of_all : DEFAULT_DURATION;
}

int engine_coming(struct engine *e, const struct config *config, time_ms horizon,
                  struct coming *ret, struct error *err) {
    int r = openings_read(config, &ret->hours, err);
    if (r < 0)
        return r;
    ret->offset = turn_clock_offset(e);
    schedules_add_coming(e, horizon, ret);
    return 0;
}

/* A paused queue is played as after a resume. */
static struct core *copy_queue(const struct engine *e, struct moment *ret) {
    struct core_counts counts;
    core_count(e->core, &counts);
    struct core *copy = core_copy(e->core);
    *ret = (struct moment){ .event = e->last_event,
                            .config = e->config,
                            .paused = engine_is_paused(e),
                            .large = counts.bytes > LARGE };
    if (ret->paused)
        (void)core_apply(copy, &(struct fact){ .kind = FACT_RESUME }, NULL);
    return copy;
}

static bool begin(struct engine *e) {
    struct engine_forecast_state *f = forecast_of(e);
    struct core_counts counts;
    core_count(e->core, &counts);
    if (counts.bytes > COPY_MAX || worker_start(f->worker) < 0)
        return false;
    (void)engine_coming(e, e->config, HORIZON, &f->coming, NULL);
    f->copy = copy_queue(e, &f->copied);
    forecast_expect(e, &f->options);
    f->options.coming = &f->coming;
    f->running = worker_submit(f->worker, &f->job) == 0;
    if (!f->running)
        drop_copy(f);
    return f->running;
}

static bool is_there(const struct engine *e, time_ms kept) {
    const struct engine_forecast_state *f = forecast_of(e);
    kept += SECONDS(f->current.steps / KEPT_LONGER);
    return f->made_at && e->now - f->made_at < kept;
}

/* True: there is one, or none will come. */
static bool wait_for(struct engine *e, engine_forecast_ready ready, void *ctx) {
    struct engine_forecast_state *f = forecast_of(e);
    if (!f->running && !begin(e))
        return true;
    *LIST_ADD(&f->waiters) = (struct waiter){ ready, ctx };
    return false;
}

bool engine_forecast(struct engine *e, engine_forecast_ready ready, void *ctx) {
    return is_there(e, KEPT_FOR) || wait_for(e, ready, ctx);
}

time_ms engine_forecast_start(const struct engine *e, task_id task) {
    const struct engine_forecast_state *f = forecast_of(e);
    bool fresh = is_there(e, KEPT_FOR + SECONDS(1)) && !f->made_of.paused;
    return fresh ? forecast_start(&f->current, task) : TIME_NEVER;
}

const struct forecast *engine_forecast_made(const struct engine *e,
                                            struct engine_forecast_info *ret) {
    const struct engine_forecast_state *f = forecast_of(e);
    if (!is_there(e, KEPT_FOR + SECONDS(1)))
        return NULL;
    *ret = (struct engine_forecast_info){ .at = f->begun_at, .paused = f->made_of.paused };
    return &f->current;
}

/* --- the order of the queue ------------------------------------------------------------------ */

bool engine_order_is_fresh(const struct engine *e) {
    const struct moment *of = &forecast_of(e)->made_of;
    if (of->large && is_there(e, SECONDS(1)))
        return true;
    return is_there(e, KEPT_FOR) && of->event == e->last_event && of->config == e->config
           && of->paused == engine_is_paused(e);
}

bool engine_order(struct engine *e, engine_forecast_ready ready, void *ctx) {
    return engine_order_is_fresh(e) || wait_for(e, ready, ctx);
}

task_id engine_order_at(const struct engine *e, size_t index) {
    const struct forecast *made = &forecast_of(e)->current;
    return is_there(e, KEPT_FOR + SECONDS(1)) && index < made->count ? made->order[index] : 0;
}

size_t engine_order_position(const struct engine *e, task_id task) {
    return is_there(e, KEPT_FOR + SECONDS(1)) ? forecast_position(&forecast_of(e)->current, task)
                                              : SIZE_MAX;
}

const struct engine_part forecast_part = {
    .state_size = sizeof(struct engine_forecast_state),
    .at = { [STEP_INIT] = forecast_init,
            [STEP_UNLOAD] = forecast_forget,
            [STEP_FREE] = forecast_free },
};

/* --- with other settings ---------------------------------------------------------------------- */

/* Compares other settings: two copies of the core, one with the other configuration applied, are
 * played forward in a thread. The one with the settings in force becomes the forecast of all other
 * answers, so they agree with it.
 *
 * The loop waits only for the copies, so a queue whose copies would delay it is refused with a
 * message. If the daemon ends first, the callback gets NULL. */

#define OUTLOOK_COPY_MAX (32u << 20) /* bytes of a core; two copies take about 10 ms */

struct play {
    struct core *copy;
    struct coming coming;
    struct forecast made;
    struct outlook outlook;
    int result;
};

struct engine_outlook_state {
    struct worker_job job;
    struct worker *worker;
    bool running;
    struct play plays[2]; /* now, then */
    struct moment copied;
    struct forecast_options options;
    outlook_ready ready;
    void *ctx;
};

PART_STATE(outlook, struct engine_outlook_state, outlook_of)

static void play_finish(struct play *play) {
    core_free(play->copy);
    coming_finish(&play->coming);
    forecast_finish(&play->made);
    for (size_t i = 0; i < play->outlook.project_count; i++)
        free(play->outlook.projects[i].name);
    free(play->outlook.projects);
    free(play->outlook.bottleneck.code);
    free(play->outlook.bottleneck.name);
    *play = (struct play){ 0 };
}

static void clear(struct engine_outlook_state *o) {
    for (size_t i = 0; i < ARRAY_SIZE(o->plays); i++)
        play_finish(&o->plays[i]);
    free((void *)(uintptr_t)o->options.means);
    o->options = (struct forecast_options){ 0 };
}

/* --- results --------------------------------------------------------------------------------- */

/* At most OUTLOOK_POINTS points: the last end of each equal part. */
static void take_points(const struct forecast *made, struct outlook *ret) {
    size_t count = made->end_count < OUTLOOK_POINTS ? made->end_count : OUTLOOK_POINTS;
    for (size_t i = 0; i < count; i++) {
        size_t at = (i + 1) * made->end_count / count - 1;
        ret->points[i].at = made->ends[at].at;
        ret->points[i].left = (uint32_t)(made->end_count - at - 1);
    }
    ret->point_count = count;
}

static int by_name(const void *a, const void *b) {
    const struct outlook_project *x = a, *y = b;
    return strcmp(x->name, y->name);
}

static void take_projects(const struct play *play, struct outlook *ret) {
    const struct symbol_table *symbols = core_symbols(play->copy);
    uint32_t *places = xcalloc((size_t)symbols->count + 1, sizeof(*places)); /* 0: not seen yet */
    for (size_t i = 0; i < play->made.end_count; i++) {
        const struct forecast_end *end = &play->made.ends[i];
        if (places[end->project] == 0) {
            ret->projects =
                xrealloc(ret->projects, (ret->project_count + 1) * sizeof(*ret->projects));
            ret->projects[ret->project_count++] =
                (struct outlook_project){ .name = xstrdup(symbol_name(symbols, end->project)) };
            places[end->project] = (uint32_t)ret->project_count;
        }
        struct outlook_project *project = &ret->projects[places[end->project] - 1];
        project->tasks++;
        project->finish = end->at;
    }
    free(places);
    if (ret->project_count > 1)
        qsort(ret->projects, ret->project_count, sizeof(*ret->projects), by_name);
}

static void sum_up(struct play *play, time_ms now) {
    const struct forecast *made = &play->made;
    struct outlook *ret = &play->outlook;
    *ret = (struct outlook){
        .at = now,
        .finish = made->end_count > 0 ? made->ends[made->end_count - 1].at : now,
        .tasks = (uint32_t)made->end_count,
        .complete = made->complete && play->result == 0,
    };
    ret->others = (uint32_t)made->others;
    ret->later = (uint32_t)made->later;
    if (made->bottleneck.code) {
        ret->bottleneck = made->bottleneck;
        ret->bottleneck.code = xstrdup(made->bottleneck.code);
        ret->bottleneck.name = xstrdup(made->bottleneck.name);
    }
    take_points(made, ret);
    take_projects(play, ret);
}

/* --- computing ------------------------------------------------------------------------------- */

static void outlook_compute(void *ctx, struct worker_job *job) {
    struct engine_outlook_state *o = (struct engine_outlook_state *)job;
    (void)ctx;
    for (size_t i = 0; i < ARRAY_SIZE(o->plays); i++) {
        struct play *play = &o->plays[i];
        o->options.coming = &play->coming;
        play->result = forecast_run(play->copy, &o->options, &play->made);
        sum_up(play, o->options.now);
        play->outlook.paused = o->copied.paused;
    }
}

static void outlook_computed(void *ctx, struct worker_job *job, bool was_run) {
    struct engine_outlook_state *o = (struct engine_outlook_state *)job;
    (void)was_run;
    o->running = false;
    struct play now = o->plays[0], then = o->plays[1]; /* the callback may start another query */
    struct engine *e = ctx;
    if (o->worker && now.result == 0)
        keep_forecast(e, &now.made, &o->copied, o->options.now);
    memset(o->plays, 0, sizeof(o->plays));
    clear(o);
    if (o->worker)
        o->ready(o->ctx, &now.outlook, &then.outlook);
    else /* the engine is ending */
        o->ready(o->ctx, NULL, NULL);
    play_finish(&now);
    play_finish(&then);
}

static void outlook_init(struct engine *e) {
    static const struct worker_calls calls = { .run = outlook_compute, .done = outlook_computed };
    outlook_of(e)->worker = worker_new(e->loop, &calls, e);
}

/* Joins the thread. */
static void outlook_free(struct engine *e) {
    worker_free(TAKE_PTR(outlook_of(e)->worker), WORKER_DROP, 0);
}

static int outlook_begin(struct engine *e, struct config *config, struct error *err) {
    struct engine_outlook_state *o = outlook_of(e);
    for (size_t i = 0; i < config_agent_count(e->config); i++)
        config_add_builtin_agent(config, config_agent_name(e->config, i));
    /* Before the copies: it may add names to the core. */
    int r = engine_coming(e, e->config, HORIZON, &o->plays[0].coming, err);
    if (r == 0)
        r = engine_coming(e, config, HORIZON, &o->plays[1].coming, err);
    for (size_t i = 0; r == 0 && i < ARRAY_SIZE(o->plays); i++)
        o->plays[i].copy = copy_queue(e, &o->copied);
    if (r == 0)
        r = configure_copy(e, config, o->plays[1].copy, err);
    if (r < 0)
        return r;
    forecast_expect(e, &o->options);
    r = worker_submit(o->worker, &o->job);
    return r < 0 ? error_set(err, r, "cannot start a thread: %s", strerror(-r)) : 0;
}

int engine_whatif(struct engine *e, struct config *config, outlook_ready ready, void *ctx,
                  struct error *err) {
    struct engine_outlook_state *o = outlook_of(e);
    struct core_counts counts;
    core_count(e->core, &counts);
    uint32_t open = 0;
    for (int s = TASK_WAITING; s < TASK_STATE_MAX; s++)
        open += task_state_is_final((enum task_state)s) ? 0 : counts.by_state[s];
    if (o->running)
        return error_set(err, -EBUSY, "another such question is being computed: ask again");
    if (counts.bytes > OUTLOOK_COPY_MAX)
        return error_set(err, -EFBIG,
                         "the queue is too large to be played forward here (%" PRIu32
                         " open tasks, %zu MB): ask again when it is shorter",
                         open, counts.bytes >> 20);
    int r = outlook_begin(e, config, err);
    if (r < 0) {
        clear(o);
        return r;
    }
    o->running = true;
    o->ready = ready;
    o->ctx = ctx;
    return 0;
}

const struct engine_part outlook_part = {
    .state_size = sizeof(struct engine_outlook_state),
    .at = { [STEP_INIT] = outlook_init, [STEP_FREE] = outlook_free },
};
