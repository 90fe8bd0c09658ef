/* fake_executor.c: see fake_executor.h. */
#include "fake_executor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "executor/slurm.h"
#include "executor/slurm_words.h"
#include "os/loop.h"

#define MANY 4096

enum report_kind { REPORT_STARTED, REPORT_ENDED };
struct report {
    enum report_kind kind;
    struct run_key run;
    struct run_end end;
};

struct found {
    struct run_key run;
    enum adopted what;
    struct run_end end;
};

struct folder {
    char task[64];
    uint32_t attempt;
    bool in_slurm, lives;
};

static struct {
    struct fake_start starts[MANY];
    struct fake_stop stops[MANY];
    struct report reports[MANY];
    struct found found[64];
    char adopted[64][64];
    struct folder folders[64];
    size_t folder_count;
    char external[64], forgotten[64];
    size_t stored_ends;
    size_t start_count, stop_count, report_count, found_count, adopted_count, live;
    int fail, end_with;
    size_t slurm_made;
    int refuse_slurm;
    const char *doing;
    struct fake_known known;
    struct executor_shim shim;
} fake = { .end_with = -1 };

struct executor {
    bool is_slurm;
    struct loop *loop;
    struct executor_events events;
    struct executor_sweep sweep;
    struct loop_timer *timer;
    char host[64];
};

static struct executor *only;

static void deliver_reports(void *ctx) {
    struct executor *ex = ctx;
    size_t count = fake.report_count;
    for (size_t i = 0; i < count; i++) {
        struct report report = fake.reports[i];
        if (report.kind == REPORT_STARTED) {
            ex->events.started(ex->events.ctx, report.run, loop_now(ex->loop));
        } else {
            fake.live--;
            ex->events.ended(ex->events.ctx, report.run, &report.end);
        }
    }
    memmove(fake.reports, fake.reports + count,
            (fake.report_count - count) * sizeof(*fake.reports));
    fake.report_count -= count;
}

static void queue(enum report_kind kind, struct run_key run, const struct run_end *end) {
    struct report *report = &fake.reports[fake.report_count++];
    *report = (struct report){ .kind = kind, .run = run };
    if (end)
        report->end = *end;
    loop_timer_set(only->loop, only->timer, loop_now_steady(only->loop));
}

void fake_report_started(struct run_key run) {
    queue(REPORT_STARTED, run, NULL);
}

void fake_report_ended(struct run_key run, const struct run_end *end) {
    queue(REPORT_ENDED, run, end);
}

struct run_end fake_exit(int code) {
    return (struct run_end){ .kind = RUN_END_EXIT,
                             .code = code,
                             .durable = true,
                             .started_at = loop_now(only->loop),
                             .ended_at = loop_now(only->loop),
                             .out_bytes = 1 };
}

size_t fake_start_count(void) {
    return fake.start_count;
}

const struct fake_start *fake_start_at(size_t index) {
    return &fake.starts[index];
}

size_t fake_stop_count(void) {
    return fake.stop_count;
}

const struct fake_stop *fake_stop_at(size_t index) {
    return &fake.stops[index];
}

void fake_forget_calls(void) {
    fake.start_count = fake.stop_count = 0;
}

size_t fake_live(void) {
    return fake.live;
}

void fake_fail_starts(int code) {
    fake.fail = code;
}

void fake_end_all_with(int code) {
    fake.end_with = code;
}

void fake_will_adopt(struct run_key run, enum adopted what, const struct run_end *end) {
    struct found *found = &fake.found[fake.found_count++];
    *found = (struct found){ .run = run, .what = what };
    if (end)
        found->end = *end;
}

const char *fake_adopted(size_t index) {
    return index < fake.adopted_count ? fake.adopted[index] : NULL;
}

void fake_has_folder(const char *task, uint32_t attempt) {
    struct folder *folder = &fake.folders[fake.folder_count++];
    snprintf(folder->task, sizeof(folder->task), "%s", task);
    folder->attempt = attempt;
}

void fake_has_slurm_folder(const char *task, uint32_t attempt) {
    fake_has_folder(task, attempt);
    fake.folders[fake.folder_count - 1].in_slurm = true;
}

void fake_has_slurm_external(const char *task) {
    fake_has_slurm_folder(task, 9);
    fake.folders[fake.folder_count - 1].lives = true;
}

size_t fake_slurm_made(void) {
    return fake.slurm_made;
}

void fake_refuse_slurm(int code) {
    fake.refuse_slurm = code;
}

void fake_slurm_says(const char *doing) {
    fake.doing = doing;
}

void fake_has_external(const char *task) {
    snprintf(fake.external, sizeof(fake.external), "%s", task);
}

void fake_external_ends(const char *task) {
    only->sweep.external_ended(only->sweep.ctx, task, 9);
}

const char *fake_forgotten(void) {
    return fake.forgotten;
}

void fake_forget_everything(void) {
    memset(&fake, 0, sizeof(fake));
    fake.end_with = -1;
}

/* --- the interface --------------------------------------------------------------------------- */

int executor_local_new(struct loop *loop, const struct executor_options *options,
                       const struct executor_events *events, struct executor **ret,
                       struct error *err) {
    (void)err;
    struct executor *ex = xcalloc(1, sizeof(*ex));
    snprintf(ex->host, sizeof(ex->host), "%s", options->host ? options->host : "host-1");
    ex->loop = loop;
    ex->events = *events;
    ex->timer = loop_timer_new(loop, deliver_reports, ex);
    only = *ret = ex;
    return 0;
}

struct executor *executor_free(struct executor *ex) {
    if (ex)
        loop_timer_free(ex->loop, ex->timer);
    if (ex == only)
        only = NULL;
    free(ex);
    return NULL;
}

int executor_slurm_new(struct loop *loop, const struct executor_slurm_options *options,
                       const struct executor_events *events, struct executor **ret,
                       struct error *err) {
    (void)options;
    if (fake.refuse_slurm)
        return error_set(err, fake.refuse_slurm, "the test has no Slurm");
    struct executor *ex = xcalloc(1, sizeof(*ex));
    ex->is_slurm = true;
    ex->loop = loop;
    ex->events = *events;
    fake.slurm_made++;
    *ret = ex;
    return 0;
}

size_t executor_slurm_probe(const struct executor_slurm_options *options,
                            const struct executor_feature **ret) {
    static const struct executor_feature features[] = { { "sbatch", true, NULL, NULL } };
    (void)options;
    *ret = features;
    return ARRAY_SIZE(features);
}

bool executor_describe_run(const struct executor *ex, struct run_key run, struct strbuf *out) {
    (void)run;
    if (!ex->is_slurm || !fake.doing)
        return false;
    strbuf_puts(out, fake.doing);
    return true;
}

static void copy_place(struct fake_start *start, const struct run_spec *spec) {
    const struct run_place *p = &spec->place;
    const char *const pairs[][2] = {
        { "partition", p->partition }, { "account", p->account },       { "qos", p->qos },
        { "gres", p->gres },           { "constraint", p->constraint }, { "extra", p->extra }
    };
    size_t used = 0;
    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
        if (pairs[i][1])
            used += (size_t)snprintf(start->place + used, sizeof(start->place) - used, "%s=%s ",
                                     pairs[i][0], pairs[i][1]);
    snprintf(start->place + used, sizeof(start->place) - used,
             "cpus=%" PRId64 " memory=%" PRId64 " time=%" PRId64, p->cpus, p->memory_bytes,
             slurm_time_limit(spec));
    snprintf(start->name, sizeof(start->name), "%s", spec->name ? spec->name : "");
    snprintf(start->token, sizeof(start->token), "%s", spec->token ? spec->token : "");
}

static void copy_spec(struct fake_start *start, const struct run_spec *spec) {
    size_t used = 0;
    for (size_t i = 0; spec->command.argv[i] && used < sizeof(start->command); i++)
        used += (size_t)snprintf(start->command + used, sizeof(start->command) - used, "%s%s",
                                 i ? " " : "", spec->command.argv[i]);
    used = 0;
    for (size_t i = 0; spec->env[i] && used < sizeof(start->env); i++)
        used +=
            (size_t)snprintf(start->env + used, sizeof(start->env) - used, "%s\n", spec->env[i]);
    snprintf(start->cwd, sizeof(start->cwd), "%s", spec->cwd);
    snprintf(start->prompt, sizeof(start->prompt), "%s", spec->prompt ? spec->prompt : "");
    start->timeout = spec->command.timeout;
    start->stop_signal = spec->stop_signal;
    start->has_key = spec->key != NULL;
    if (spec->key)
        start->key = *spec->key;
}

int executor_start(struct executor *ex, struct run_key run, const char *folder,
                   const struct run_spec *spec, struct error *err) {
    if (fake.fail)
        return error_set(err, fake.fail, "the test lets no run start");
    struct fake_start *start = &fake.starts[fake.start_count++];
    *start = (struct fake_start){ .run = run, .in_slurm = ex->is_slurm };
    snprintf(start->folder, sizeof(start->folder), "%s", folder);
    copy_spec(start, spec);
    copy_place(start, spec);
    fake.live++;
    if (fake.end_with >= 0) {
        struct run_end end = fake_exit(fake.end_with);
        fake_report_started(run);
        fake_report_ended(run, &end);
    }
    return 0;
}

bool executor_is_busy(const struct executor *ex) {
    (void)ex;
    return false;
}

int executor_stop(struct executor *ex, struct run_key run, enum stop_how how) {
    fake.stops[fake.stop_count++] =
        (struct fake_stop){ .run = run, .how = how, .in_slurm = ex->is_slurm };
    for (size_t i = 0; i < fake_start_count(); i++)
        if (fake_start_at(i)->run.task == run.task && fake_start_at(i)->run.attempt == run.attempt)
            return 0;
    return -ENOENT;
}

struct executor_shim executor_shim(struct executor *ex, struct run_key run) {
    (void)run;
    return ex->is_slurm ? (struct executor_shim){ 0 } : fake.shim;
}

void fake_shim_is(pid_t pid, uint64_t start, const char *cgroup) {
    fake.shim = (struct executor_shim){ .pid = pid, .start = start, .space = 7, .cgroup = cgroup };
}

const struct fake_known *fake_known(void) {
    return &fake.known;
}

static void copy_known(const struct executor_known *known) {
    fake.known = (struct fake_known){ .has_key = known->key != NULL,
                                      .pid = known->shim.pid,
                                      .start = known->shim.start,
                                      .space = known->shim.space };
    if (known->key)
        fake.known.key = *known->key;
    snprintf(fake.known.cgroup, sizeof(fake.known.cgroup), "%s",
             known->shim.cgroup ? known->shim.cgroup : "");
}

enum adopted executor_adopt(struct executor *ex, struct run_key run, const char *folder,
                            const struct executor_known *known) {
    static const char *const names[] = { "alive", "ended", "lost" };
    (void)folder;
    copy_known(known);
    enum adopted what = ADOPTED_LOST;
    struct run_end end = { .kind = RUN_END_LOST, .code = -1 };
    for (size_t i = 0; i < fake.found_count; i++)
        if (fake.found[i].run.task == run.task && fake.found[i].run.attempt == run.attempt) {
            what = fake.found[i].what;
            end = fake.found[i].end;
        }
    snprintf(fake.adopted[fake.adopted_count++], sizeof(fake.adopted[0]),
             "%s%" PRIu64 ".%" PRIu32 "=%s", ex->is_slurm ? "slurm " : "", run.task, run.attempt,
             names[what]);
    fake.live++;
    if (what != ADOPTED_ALIVE)
        fake_report_ended(run, &end);
    return what;
}

int executor_sweep(struct executor *ex, struct executor_sweep *sweep, struct error *err) {
    struct run_started who = { 0 };
    (void)err;
    ex->sweep = *sweep;
    for (size_t i = 0; i < fake.folder_count; i++) {
        const struct folder *folder = &fake.folders[i];
        if ((ex->is_slurm && !folder->in_slurm)
            || sweep->known(sweep->ctx, folder->task, folder->attempt))
            continue;
        bool is_its = folder->in_slurm == ex->is_slurm;
        sweep->removed += is_its && !folder->lives;
        sweep->left += !is_its;
        if (is_its && folder->lives)
            sweep->external(sweep->ctx, folder->task, folder->attempt, &who);
    }
    if (!ex->is_slurm && fake.external[0] && !sweep->known(sweep->ctx, fake.external, 9))
        sweep->external(sweep->ctx, fake.external, 9, &who);
    return 0;
}

void executor_forget(struct executor *ex, const char *task) {
    (void)ex;
    snprintf(fake.forgotten, sizeof(fake.forgotten), "%s", task);
}

void executor_forget_folder(struct executor *ex, const char *folder) {
    (void)ex, (void)folder;
}

void executor_end_is_stored(struct executor *ex, struct run_key run) {
    (void)ex, (void)run;
    fake.stored_ends++;
}

size_t fake_stored_ends(void) {
    return fake.stored_ends;
}

uint32_t executor_live(const struct executor *ex) {
    (void)ex;
    return (uint32_t)fake.live;
}

const char *executor_boot_id(const struct executor *ex) {
    return ex->is_slurm ? "slurm:test" : "boot-1";
}

const char *executor_host(const struct executor *ex) {
    return ex->is_slurm ? "slurm" : ex->host;
}

struct cgroup_slot *executor_slot_take(struct executor *ex, bool limited,
                                       struct executor_slot *ret_slot) {
    (void)ex;
    (void)limited;
    (void)ret_slot;
    return NULL;
}

void executor_slot_give_back(struct executor *ex, struct cgroup_slot *slot, pid_t guard,
                             enum guard_over how) {
    (void)ex;
    (void)slot;
    (void)guard;
    (void)how;
}

size_t executor_clean(struct executor *ex, size_t *ret_kept) {
    (void)ex;
    *ret_kept = 0;
    return 0;
}

size_t executor_features(const struct executor *ex, const struct executor_feature **ret) {
    static const struct executor_feature none = { .name = "pidfd", .there = true };
    (void)ex;
    *ret = &none;
    return 1;
}
