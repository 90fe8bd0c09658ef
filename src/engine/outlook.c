/* outlook.c: would it be quicker with other settings? Two copies of the core, one of them told the other
 * configuration, are played forward in a thread of their own.
 *
 * Making the copies is the only part that the loop waits for, so a queue whose copies would be felt is
 * refused in words. What an end of the daemon interrupts is told to whoever waits, with nothing. */
#include "engine/outlook.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/forecast_internal.h"
#include "engine/outlook_internal.h"
#include "os/worker.h"

#define COPY_MAX  (32u << 20) /* bytes of a core; two copies take about 10 ms */
#define STEPS_MAX 400000u     /* of each play; about 0.2 s in its thread */
#define HORIZON   DAYS(60)

struct play {
    struct core *copy;
    struct forecast made;
    struct outlook outlook;
    int result;
    uint32_t open; /* tasks that are not final */
};

struct engine_outlook_state {
    struct worker_job job;
    struct worker *worker;
    bool running;
    struct play plays[2]; /* now, then */
    struct forecast_options options;
    outlook_ready ready;
    void *ctx;
};

static struct engine_outlook_state *outlook_of(const struct engine *e) {
    return e->part[PART_outlook];
}

static void outlook_finish(struct outlook *outlook) {
    for (size_t i = 0; i < outlook->project_count; i++)
        free(outlook->projects[i].name);
    free(outlook->projects);
}

static void play_finish(struct play *play) {
    core_free(play->copy);
    forecast_finish(&play->made);
    outlook_finish(&play->outlook);
    *play = (struct play){ 0 };
}

static void clear(struct engine_outlook_state *o) {
    for (size_t i = 0; i < ARRAY_SIZE(o->plays); i++)
        play_finish(&o->plays[i]);
    free((void *)(uintptr_t)o->options.means);
    o->options = (struct forecast_options){ 0 };
}

/* --- what it comes to ------------------------------------------------------------------------ */

/* At most so many points: of each equal part of the ends the last. */
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
    uint32_t *places = xcalloc((size_t)symbols->count + 1, sizeof(*places)); /* 0: not yet there */
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
    ret->others = play->open > ret->tasks ? play->open - ret->tasks : 0;
    take_points(made, ret);
    take_projects(play, ret);
}

/* --- computing ------------------------------------------------------------------------------- */

static void compute(void *ctx, struct worker_job *job) {
    struct engine_outlook_state *o = (struct engine_outlook_state *)job;
    (void)ctx;
    for (size_t i = 0; i < ARRAY_SIZE(o->plays); i++) {
        struct play *play = &o->plays[i];
        play->result = forecast_run(play->copy, &o->options, &play->made);
        sum_up(play, o->options.now);
    }
}

static void computed(void *ctx, struct worker_job *job, bool was_run) {
    struct engine_outlook_state *o = (struct engine_outlook_state *)job;
    (void)ctx;
    (void)was_run;
    o->running = false;
    struct play now = o->plays[0], then = o->plays[1]; /* whoever is called may ask again */
    memset(o->plays, 0, sizeof(o->plays));
    clear(o);
    if (o->worker)
        o->ready(o->ctx, &now.outlook, &then.outlook);
    else /* the engine ends */
        o->ready(o->ctx, NULL, NULL);
    play_finish(&now);
    play_finish(&then);
}

static void outlook_init(struct engine *e) {
    static const struct worker_calls calls = { .run = compute, .done = computed };
    outlook_of(e)->worker = worker_new(e->loop, &calls, NULL);
}

/* Waits for its thread */
static void outlook_free(struct engine *e) {
    worker_free(TAKE_PTR(outlook_of(e)->worker), WORKER_DROP, 0);
}

static uint32_t open_count(const struct core_counts *counts) {
    uint32_t open = 0;
    for (int s = TASK_WAITING; s < TASK_STATE_MAX; s++)
        open += task_state_is_final((enum task_state)s) ? 0 : counts->by_state[s];
    return open;
}

static int begin(struct engine *e, struct config *config, uint32_t open, struct error *err) {
    struct engine_outlook_state *o = outlook_of(e);
    for (size_t i = 0; i < config_agent_count(e->config); i++)
        config_know_agent(config, config_agent_name(e->config, i));
    for (size_t i = 0; i < ARRAY_SIZE(o->plays); i++)
        o->plays[i] = (struct play){ .copy = core_copy(e->core), .open = open };
    int r = configure_copy(e, config, o->plays[1].copy, err);
    if (r < 0)
        return r;
    forecast_expect(e, &o->options);
    o->options.horizon = HORIZON;
    o->options.max_steps = STEPS_MAX;
    o->options.wants_ends = true;
    r = worker_give(o->worker, &o->job);
    return r < 0 ? error_set(err, r, "cannot start a thread: %s", strerror(-r)) : 0;
}

int engine_whatif(struct engine *e, struct config *config, outlook_ready ready, void *ctx,
                  struct error *err) {
    struct engine_outlook_state *o = outlook_of(e);
    struct core_counts counts;
    core_count(e->core, &counts);
    uint32_t open = open_count(&counts);
    if (o->running)
        return error_set(err, -EBUSY, "another such question is being computed: ask again");
    if (counts.bytes > COPY_MAX)
        return error_set(err, -EFBIG,
                         "the queue is too large to be played forward here (%" PRIu32
                         " open tasks, %zu MB): ask again when it is shorter",
                         open, counts.bytes >> 20);
    int r = begin(e, config, open, err);
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
    .name = "outlook",
    .state_size = sizeof(struct engine_outlook_state),
    .at = { [STEP_INIT] = outlook_init, [STEP_FREE] = outlook_free },
};
