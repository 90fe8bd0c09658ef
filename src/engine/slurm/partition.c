/* partition.c: how many runs a partition has room for (slurm.follow).
 *
 * Slurm queues any number of jobs, but a job queued there has left Sluice's order. So the key of a
 * partition can have as many slots as the partition: of what sinfo reports as allocated or idle,
 * each run taking what `tasks.slurm` requests. Nodes that are down or drained do not count, nor
 * does a partition that is not up.
 *
 * sinfo does not run while nothing depends on it: no run is in Slurm and no partition is without a
 * slot. If it fails, the last values stay, and before the first answer there is no limit. A
 * shrinking partition stops no run, as with every cap. */
#include "engine/executors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "config/run_settings.h"
#include "engine/runs/runs_internal.h"
#include "engine/slurm/slurm_internal.h"
#include "os/log.h"

#define QUERY_TIMEOUT SECONDS(30)
#define OUTPUT_MAX    ((size_t)1 << 20)
#define NAME_BYTES    128

struct partition {
    char key[sizeof(SLURM_KEY) + NAME_BYTES];
    int64_t cpus, nodes; /* usable */
};

struct partitions {
    LIST(struct partition) all;
    struct helper_process *query;
    struct loop_timer *timer;
    time_ms queried_at;  /* monotonic; 0: never */
    time_ms answered_at; /* the same, of the last valid answer */
    bool is_new;         /* the next turn applies it */
    bool is_failing;     /* already logged */
};

PART_STATE(partitions, struct partitions, partitions_of)

enum follow { FOLLOW_OFF, FOLLOW_CPUS, FOLLOW_NODES };

static enum follow follow_of(const struct config *config) {
    return (enum follow)config_number(config, "slurm.follow", NULL);
}

/* --- output of sinfo ------------------------------------------------------------------------- */

/* "3/5/0/8": allocated, idle, other, total. */
static bool take_usable(const char *text, int64_t *ret) {
    int64_t allocated, idle;
    if (sscanf(text, "%" SCNd64 "/%" SCNd64 "/", &allocated, &idle) != 2 || allocated < 0
        || idle < 0)
        return false;
    *ret = allocated + idle;
    return true;
}

static void add_partition(struct partitions *p, const char *name, int64_t cpus, int64_t nodes) {
    struct partition *one = LIST_ADD(&p->all);
    *one = (struct partition){ .cpus = cpus, .nodes = nodes };
    (void)snprintf(one->key, sizeof(one->key), SLURM_KEY "%s", name);
}

/* "gpu*|up|3/5/0/8|1/1/0/2"; the star marks the default one. */
static void take_line(struct partitions *p, char *line) {
    char *fields[4] = { line };
    for (size_t i = 1; i < ARRAY_SIZE(fields); i++) {
        fields[i] = strchr(fields[i - 1], '|');
        if (!fields[i])
            return;
        *fields[i]++ = '\0';
    }
    int64_t cpus, nodes;
    size_t length = strlen(fields[0]);
    if (length == 0 || length > NAME_BYTES || !take_usable(fields[2], &cpus)
        || !take_usable(fields[3], &nodes))
        return;
    if (strcmp(fields[1], "up") != 0)
        cpus = nodes = 0;
    bool is_default = fields[0][length - 1] == '*';
    fields[0][length - is_default] = '\0';
    add_partition(p, fields[0], cpus, nodes);
    if (is_default)
        add_partition(p, SLURM_NO_PARTITION, cpus, nodes);
}

static bool take_answer(struct partitions *p, const char *output) {
    struct partitions read = { 0 };
    char *text = xstrdup(output), *rest = text, *line;
    while ((line = strsep(&rest, "\n")))
        take_line(&read, line);
    free(text);
    if (read.all.count == 0)
        return false;
    free(p->all.items);
    memcpy(&p->all, &read.all, sizeof(p->all));
    return true;
}

/* --- queries ---------------------------------------------------------------------------------- */

static void set_timer(struct engine *e);

static void warn_failing(struct partitions *p, const struct helper_end *end) {
    if (!p->is_failing)
        log_warning(
            "sinfo does not say how large the partitions are, so their limits stay as they are: %s",
            end->timed_out   ? "it does not answer"
            : end->error     ? strerror(end->error)
            : end->output[0] ? end->output
                             : "it names none");
    p->is_failing = true;
}

static void sinfo_ended(void *ctx, const struct helper_end *end) {
    struct engine *e = ctx;
    struct partitions *p = partitions_of(e);
    p->query = NULL;
    if (end->code == 0 && take_answer(p, end->output)) {
        p->answered_at = loop_now_steady(e->loop);
        p->is_new = true;
        p->is_failing = false;
        e->start_pending = true; /* there may be another slot */
        turn_wake(e);
    } else {
        warn_failing(p, end);
    }
    set_timer(e);
}

static void query_sizes(struct engine *e) {
    static const char *const words[] = { "sinfo", "--noheader", "--format=%P|%a|%C|%F", NULL };
    const struct helper_spec spec = { .timeout = QUERY_TIMEOUT, .output_max = OUTPUT_MAX };
    struct partitions *p = partitions_of(e);
    if (p->query)
        return;
    p->queried_at = loop_now_steady(e->loop);
    int r = slurm_query(e, words, spec, sinfo_ended, e, &p->query);
    if (r < 0) {
        p->query = NULL;
        warn_failing(p, &(struct helper_end){ .error = -r, .output = "" });
        set_timer(e);
    }
}

/* A partition without slots, or of unknown size. */
static bool has_closed(const struct partitions *p) {
    for (size_t i = 0; i < p->all.count; i++)
        if (p->all.items[i].cpus == 0 || p->all.items[i].nodes == 0)
            return true;
    return p->all.count == 0;
}

/* Whether any waiting or live run depends on the next answer. */
static bool is_needed(const struct engine *e) {
    struct core_counts counts;
    for (size_t i = 0; i < run_count(e); i++)
        if (run_live_at(e, i)->executor == EXECUTOR_SLURM)
            return true;
    if (!has_closed(partitions_of(e)))
        return false;
    core_count(e->core, &counts); /* iterates over the classes */
    return counts.by_state[TASK_READY] > 0;
}

static time_ms span_of(const struct engine *e) {
    return config_number(e->config, "slurm.follow_s", NULL);
}

static void timer_due(void *ctx) {
    struct engine *e = ctx;
    if (follow_of(e->config) == FOLLOW_OFF)
        return;
    if (is_needed(e))
        query_sizes(e);
    else if (has_closed(partitions_of(e)))
        set_timer(e); /* else the next order asks */
}

static void set_timer(struct engine *e) {
    loop_timer_set(e->loop, partitions_of(e)->timer,
                   time_add(loop_now_steady(e->loop), span_of(e)));
}

/* --- the cap of a key ------------------------------------------------------------------------ */

/* What a run takes of a partition that is counted in CPUs. */
static int64_t cpus_of_run(const struct config *config) {
    const char *text = config_slurm_value(config, "cpus", NULL, NULL);
    int64_t cpus = 1;
    return text && number_parse_int(text, &cpus, NULL) == 0 && cpus > 0 ? cpus : 1;
}

/* While anything is usable, one run is allowed: Slurm knows better what fits. */
static amount room_of(const struct config *config, const struct partition *p) {
    int64_t have = follow_of(config) == FOLLOW_NODES ? p->nodes : p->cpus;
    int64_t each = follow_of(config) == FOLLOW_NODES ? 1 : cpus_of_run(config);
    return have > 0 && have < each ? 1 : have / each;
}

static amount cap_of(const struct config *config, const struct partition *p) {
    amount most = config_number(config, "limits.resource.N", p->key);
    amount room = room_of(config, p);
    return follow_of(config) == FOLLOW_OFF || most < room ? most : room;
}

/* Applies all caps to a core, this one or a copy, that is new or has a new configuration. */
static int partitions_apply(const struct engine *e, const struct config *config, struct core *core,
                            struct error *err) {
    (void)err;
    const struct partitions *p = partitions_of(e);
    for (size_t i = 0; i < p->all.count; i++) {
        const struct partition *one = &p->all.items[i];
        struct fact fact = { .kind = FACT_RESOURCE };
        fact.resource.id = symbol_intern(core_symbols(core), one->key, strlen(one->key));
        fact.resource.cap = cap_of(config, one);
        (void)core_apply(core, &fact, NULL);
    }
    return 0;
}

/* --- life ------------------------------------------------------------------------------------ */

static void partitions_init(struct engine *e) {
    partitions_of(e)->timer = loop_timer_new(e->loop, timer_due, e);
}

static void partitions_free(struct engine *e) {
    struct partitions *p = partitions_of(e);
    helper_kill(p->query);
    loop_timer_free(e->loop, p->timer);
    free(p->all.items);
}

static void partitions_loaded(struct engine *e) {
    (void)partitions_apply(e, e->config, e->core, NULL);
}

/* What was received since the last turn. */
static void partitions_turn(struct engine *e) {
    struct partitions *p = partitions_of(e);
    if (!p->is_new)
        return;
    p->is_new = false;
    (void)partitions_apply(e, e->config, e->core, NULL);
}

void partitions_query(struct engine *e) {
    const struct partitions *p = partitions_of(e);
    bool is_old = !p->queried_at || loop_now_steady(e->loop) - p->queried_at >= span_of(e);
    if (follow_of(e->config) != FOLLOW_OFF && is_old)
        query_sizes(e);
}

static void partitions_configure(struct engine *e) {
    (void)partitions_apply(e, e->config, e->core, NULL);
    partitions_query(e);
}

/* --- reading --------------------------------------------------------------------------------- */

const char *engine_partition_at(const struct engine *e, size_t index) {
    const struct partitions *p = partitions_of(e);
    bool follows = follow_of(e->config) != FOLLOW_OFF;
    return follows && index < p->all.count ? p->all.items[index].key : NULL;
}

bool engine_partition_size(const struct engine *e, const char *key, struct strbuf *out) {
    const struct partitions *p = partitions_of(e);
    enum follow follow = follow_of(e->config);
    const struct partition *found = NULL;
    for (size_t i = 0; i < p->all.count; i++)
        if (strcmp(p->all.items[i].key, key) == 0)
            found = &p->all.items[i];
    if (follow == FOLLOW_OFF || !found || cap_of(e->config, found) != room_of(e->config, found))
        return false;
    const char *name = found->key + strlen(SLURM_KEY);
    bool is_default = strcmp(name, SLURM_NO_PARTITION) == 0;
    strbuf_printf(out, "the %s%s%s has %" PRId64 " %s that can be used",
                  is_default ? "default partition" : "partition '", is_default ? "" : name,
                  is_default ? "" : "'", follow == FOLLOW_NODES ? found->nodes : found->cpus,
                  follow == FOLLOW_NODES ? "nodes" : "CPUs");
    if (follow == FOLLOW_CPUS)
        strbuf_printf(out, ", %" PRId64 " for each run", cpus_of_run(e->config));
    strbuf_printf(out, ", as sinfo said %" PRId64 " s ago (slurm.follow)",
                  (loop_now_steady(e->loop) - p->answered_at) / 1000);
    return true;
}

const struct engine_part partitions_part = {
    .state_size = sizeof(struct partitions),
    .at = { [STEP_INIT] = partitions_init,
            [STEP_LOADED] = partitions_loaded,
            [STEP_BEGIN] = partitions_turn,
            [STEP_CONFIGURED] = partitions_configure,
            [STEP_FREE] = partitions_free },
    .apply_to_copy = partitions_apply,
};
