/* result.c: computes the numbers of a report from the record, after the play, so that the player
 * stays fast. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "sim/sim_report.h"

bool sim_outcome_failed(enum outcome outcome) {
    static const bool failed[OUTCOME_MAX] = {
        [OUTCOME_UNFINISHED] = true, [OUTCOME_INVALID] = true,  [OUTCOME_FAILED] = true,
        [OUTCOME_LAUNCH] = true,     [OUTCOME_TIMEOUT] = true,  [OUTCOME_LOST] = true,
        [OUTCOME_CONFLICT] = true,   [OUTCOME_UNMERGED] = true, [OUTCOME_STUCK] = true,
        [OUTCOME_DENIED] = true,
    };
    return failed[outcome];
}

/* --- waits ----------------------------------------------------------------------------------- */

static int time_compare(const void *left, const void *right) {
    const time_ms *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* The smallest value that at least `percent` of the values do not exceed. */
static time_ms percentile(const time_ms *sorted, size_t count, unsigned percent) {
    size_t rank = (count * percent + 99) / 100;
    return sorted[rank == 0 ? 0 : rank - 1];
}

static bool task_wait(const struct sim_task *task, time_ms *ret_wait) {
    if (task->first_start == TIME_NEVER || task->ready_at == TIME_NEVER)
        return false;
    *ret_wait = task->first_start - task->ready_at;
    return true;
}

static void build_waits(const struct sim_play *play, struct sim_waits *ret) {
    time_ms *waits = xcalloc(play->task_count + 1, sizeof(*waits));
    size_t count = 0;
    double sum = 0;
    for (size_t i = 1; i <= play->task_count; i++)
        if (task_wait(&play->tasks[i], &waits[count]))
            sum += (double)waits[count++];
    *ret = (struct sim_waits){ .count = count };
    if (count > 0) {
        qsort(waits, count, sizeof(*waits), time_compare);
        ret->mean = sum / (double)count;
        ret->p50 = percentile(waits, count, 50);
        ret->p95 = percentile(waits, count, 95);
        ret->max = waits[count - 1];
    }
    free(waits);
}

/* --- projects and kinds ---------------------------------------------------------------------- */

static struct sim_group_result *groups_begin(const struct sim_world *world,
                                             const struct sim_group *groups, size_t count) {
    struct sim_group_result *results = xcalloc(count + 1, sizeof(*results));
    for (size_t i = 0; i < count; i++) {
        const char *name = symbol_name(core_symbols(world->core), groups[i].id);
        results[i].name = name[0] ? name : "-";
        results[i].weight = groups[i].weight;
        results[i].peak = groups[i].peak;
        results[i].contested_share = results[i].contested_target = -1;
    }
    return results;
}

static void group_add_task(struct sim_group_result *group, const struct sim_task *task) {
    group->tasks++;
    group->done += task->state == TASK_DONE;
    group->failed += task->state == TASK_FAILED;
    time_ms wait;
    if (task_wait(task, &wait)) {
        group->mean_wait += (double)wait; /* a sum until groups_end */
        group->waited++;
    }
}

static void group_add_run(struct sim_group_result *group, const struct sim_run *run,
                          time_ms begin) {
    group->runs++;
    group->busy += run->end - time_max(run->start, begin);
    group->tokens += !run->live && run->tokens > 0 ? run->tokens : 0;
}

static void groups_end(struct sim_group_result *groups, size_t count, int64_t tokens) {
    for (size_t i = 0; i < count; i++) {
        struct sim_group_result *g = &groups[i];
        g->share = tokens > 0 ? (double)g->tokens / (double)tokens : 0;
        g->mean_wait = g->waited > 0 ? g->mean_wait / g->waited : 0;
        g->mean_run = g->runs > 0 ? (double)g->busy / g->runs : 0;
    }
}

static void build_targets(const struct sim_play *play, struct sim_result *result) {
    int64_t weights = 0;
    size_t members = 0;
    double contested = 0;
    for (size_t i = 0; i < result->project_count; i++) {
        contested += play->projects[i].contested;
        if (result->projects[i].tasks > 0 && result->projects[i].weight >= 0) {
            weights += result->projects[i].weight;
            members++;
        }
    }
    for (size_t i = 0; i < result->project_count; i++) {
        struct sim_group_result *project = &result->projects[i];
        if (project->tasks > 0 && project->weight >= 0)
            project->target =
                weights > 0 ? (double)project->weight / (double)weights : 1.0 / (double)members;
        if (contested > 0) {
            project->contested_share = play->projects[i].contested / contested;
            project->contested_target = play->projects[i].contested_target / contested;
        }
    }
}

static void build_groups(const struct sim_world *world, const struct sim_play *play,
                         struct sim_result *result) {
    result->projects = groups_begin(world, play->projects, play->project_count);
    result->kinds = groups_begin(world, play->kinds, play->kind_count);
    result->project_count = play->project_count;
    result->kind_count = play->kind_count;
    for (size_t i = 1; i <= play->task_count; i++) {
        const struct sim_task *task = &play->tasks[i];
        if (!task->listed)
            continue;
        group_add_task(&result->projects[task->project], task);
        group_add_task(&result->kinds[task->kind], task);
    }
    for (size_t i = 0; i < play->run_count; i++) {
        const struct sim_run *run = &play->runs[i];
        const struct sim_task *task = &play->tasks[run->task];
        group_add_run(&result->projects[task->project], run, play->begin);
        group_add_run(&result->kinds[task->kind], run, play->begin);
    }
    groups_end(result->projects, result->project_count, result->tokens);
    groups_end(result->kinds, result->kind_count, result->tokens);
    build_targets(play, result);
}

/* --- attempts -------------------------------------------------------------------------------- */

static void build_attempts(const struct sim_play *play, struct sim_result *result) {
    bool *limited = xcalloc(play->task_count + 1, sizeof(*limited)); /* by task: its last attempt */
    for (size_t i = 0; i < play->run_count; i++) {
        const struct sim_run *run = &play->runs[i];
        result->attempts++;
        result->retries += run->attempt > 1 && !run->listed && !limited[run->task];
        result->busy += run->end - time_max(run->start, play->begin);
        limited[run->task] = run->outcome == OUTCOME_LIMITED;
        if (run->live)
            continue;
        result->limited += run->outcome == OUTCOME_LIMITED;
        result->stopped += run->outcome == OUTCOME_CANCELED;
        result->failed_attempts += sim_outcome_failed(run->outcome);
        result->tokens += run->tokens > 0 ? run->tokens : 0;
    }
    free(limited);
}

/* --- remaining tasks ------------------------------------------------------------------------- */

static void left_code(const struct sim_world *world, const struct task_view *view,
                      const struct verdict *verdict, struct strbuf *out) {
    if (!verdict) {
        strbuf_puts(out,
                    task_state_is_live(view->state) ? "running" : task_state_name(view->state));
        return;
    }
    verdict_code(verdict, core_symbols(world->core), out);
    if (verdict->gate == GATE_HELD && verdict->hold != HOLD_NONE)
        strbuf_printf(out, ":%s", hold_name(verdict->hold));
}

/* Few gates stop many tasks, so a linear search is enough. There may be as many codes with a
 * workspace or phase as tasks; all codes after the first hundred count as one. */
#define LEFT_MAX 100

static struct sim_left *left_find(struct sim_result *result, const char *code, size_t *capacity) {
    for (size_t i = 0; i < result->left_count; i++)
        if (strcmp(result->left[i].code, code) == 0 || i == LEFT_MAX)
            return &result->left[i];
    result->left = xgrow(result->left, capacity, result->left_count + 1, sizeof(*result->left));
    struct sim_left *left = &result->left[result->left_count++];
    *left = (struct sim_left){ .code = xstrdup(result->left_count > LEFT_MAX ? "other" : code) };
    return left;
}

static int left_compare(const void *a, const void *b) {
    const struct sim_left *left = a, *right = b;
    if (left->count != right->count)
        return left->count > right->count ? -1 : 1;
    return left->example < right->example ? -1 : left->example > right->example;
}

static void build_left(const struct sim_world *world, struct sim_result *result) {
    const struct task_names names = { .name = world->name, .ctx = world->ctx };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    size_t capacity = 0;
    for (size_t i = 1; i <= world->task_count; i++) {
        struct task_view view;
        if (!core_task(world->core, i, &view) || task_state_is_final(view.state))
            continue;
        struct verdict verdict;
        bool blocked = view.state != TASK_DRAFT && !task_state_is_live(view.state)
                       && core_blocked(world->core, i, &verdict);
        strbuf_clear(&text);
        left_code(world, &view, blocked ? &verdict : NULL, &text);
        struct sim_left *left = left_find(result, strbuf_text(&text), &capacity);
        left->count++;
        if (left->count > 1)
            continue;
        left->example = i;
        strbuf_clear(&text);
        if (blocked)
            verdict_message(&verdict, core_symbols(world->core), &names, &text);
        left->message = xstrdup(strbuf_text(&text));
    }
    if (result->left_count > 1)
        qsort(result->left, result->left_count, sizeof(*result->left), left_compare);
}

/* --- all ------------------------------------------------------------------------------------- */

void sim_result_build(const struct sim_world *world, const struct sim_options *options,
                      const struct sim_play *play, struct sim_result *ret_result) {
    struct sim_result result = {
        .seed = options->seed,
        .makespan = play->end - play->begin,
        .how = play->how,
        .runs_cap = world->runs_cap,
        .peak = play->peak,
        .steps = play->steps,
    };
    for (size_t i = 1; i <= play->task_count; i++) {
        result.tasks += play->tasks[i].listed;
        if (play->tasks[i].listed)
            result.by_state[play->tasks[i].state]++;
    }
    build_attempts(play, &result);
    amount slots = result.peak;
    if (result.runs_cap != UNLIMITED && result.runs_cap > slots)
        slots = result.runs_cap;
    if (slots > 0 && result.makespan > 0)
        result.utilisation = (double)result.busy / ((double)slots * (double)result.makespan);
    build_waits(play, &result.waits);
    build_groups(world, play, &result);
    build_left(world, &result);
    *ret_result = result;
}

void sim_result_finish(struct sim_result *result) {
    for (size_t i = 0; i < result->left_count; i++) {
        free(result->left[i].code);
        free(result->left[i].message);
    }
    free(result->left);
    free(result->projects);
    free(result->kinds);
    *result = (struct sim_result){ 0 };
}
