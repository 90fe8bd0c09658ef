/* report_json.c: everything a play shows, as one object with stable keys.
 *
 * The keys are described in docs/cli/sim.md and never change their meaning. Times are milliseconds
 * since the beginning of the play, parts are between 0 and 1.
 */
#include "sim/report.h"

#include <string.h>

#include "base/json_write.h"

static void put_part(struct json_writer *w, const char *key, double value) {
    json_write_key(w, key);
    if (value < 0)
        json_write_null(w);
    else
        json_write_double(w, value, 4);
}

static void put_mean(struct json_writer *w, const char *key, double value) {
    json_put_int(w, key, (int64_t)(value + 0.5));
}

static void put_groups(struct json_writer *w, const struct sim_group_result *groups, size_t count,
                       bool projects) {
    json_write_array_begin(w);
    for (size_t i = 0; i < count; i++) {
        const struct sim_group_result *g = &groups[i];
        json_write_object_begin(w);
        json_put_string(w, projects ? "project" : "kind", g->name);
        if (projects) {
            json_write_key(w, "weight");
            if (g->weight < 0)
                json_write_null(w);
            else
                json_write_double(w, (double)g->weight / 1000, 3);
        }
        json_put_int(w, "tasks", g->tasks);
        json_put_int(w, "done", g->done);
        json_put_int(w, "failed", g->failed);
        json_put_int(w, "runs", g->runs);
        json_put_int(w, "peak", g->peak);
        json_put_int(w, "tokens", g->tokens);
        json_put_int(w, "busy_ms", g->busy);
        put_part(w, "share", g->share);
        if (projects) {
            put_part(w, "target_share", g->target);
            put_part(w, "contested_share", g->contested_share);
            put_part(w, "contested_target", g->contested_target);
        }
        put_mean(w, "mean_run_ms", g->mean_run);
        put_mean(w, "mean_wait_ms", g->mean_wait);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void put_left(struct json_writer *w, const struct sim_case *c) {
    json_write_array_begin(w);
    for (size_t i = 0; i < c->result->left_count; i++) {
        const struct sim_left *left = &c->result->left[i];
        json_write_object_begin(w);
        json_put_string(w, "gate", left->code);
        json_put_int(w, "tasks", left->count);
        json_put_string(w, "example", c->world->name(c->world->ctx, left->example));
        json_put_string(w, "reason", left->sentence);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void put_runs(struct json_writer *w, const struct sim_case *c) {
    const struct sim_play *play = c->play;
    const struct symbol_table *symbols = core_symbols(c->world->core);
    json_write_array_begin(w);
    for (size_t i = 0; i < play->run_count; i++) {
        const struct sim_run *run = &play->runs[i];
        const struct sim_task *task = &play->tasks[run->task];
        json_write_object_begin(w);
        json_put_string(w, "task", c->world->name(c->world->ctx, run->task));
        json_put_string(w, "project", symbol_name(symbols, play->projects[task->project].id));
        sym kind = play->kinds[task->kind].id;
        json_put_string(w, "kind", kind ? symbol_name(symbols, kind) : NULL);
        json_put_int(w, "attempt", run->attempt);
        json_put_int(w, "start_ms", run->start - play->begin);
        json_put_int(w, "end_ms", run->end - play->begin);
        json_put_string(w, "outcome", run->live ? "running" : outcome_name(run->outcome));
        json_write_key(w, "tokens");
        if (run->live || run->tokens < 0)
            json_write_null(w);
        else
            json_write_int(w, run->tokens);
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

static void put_numbers(struct json_writer *w, const struct sim_result *r) {
    json_put_int(w, "makespan_ms", r->makespan);
    json_put_string(w, "end", sim_end_name(r->how));
    put_part(w, "utilisation", r->utilisation);
    json_put_int(w, "peak", r->peak);
    json_write_key(w, "runs_cap");
    if (r->runs_cap == UNLIMITED)
        json_write_null(w);
    else
        json_write_int(w, r->runs_cap);
    json_put_int(w, "busy_ms", r->busy);
    json_put_object(w, "wait_ms");
    put_mean(w, "mean", r->waits.mean);
    json_put_int(w, "p50", r->waits.p50);
    json_put_int(w, "p95", r->waits.p95);
    json_put_int(w, "max", r->waits.max);
    json_put_int(w, "count", (int64_t)r->waits.count);
    json_write_object_end(w);
    json_put_object(w, "tasks");
    json_put_int(w, "total", r->tasks);
    for (int state = TASK_DRAFT; state < TASK_STATE_MAX; state++)
        json_put_int(w, task_state_name((enum task_state)state), r->by_state[state]);
    json_write_object_end(w);
    json_put_int(w, "attempts", r->attempts);
    json_put_int(w, "retries", r->retries);
    json_put_int(w, "failed_attempts", r->failed_attempts);
    json_put_int(w, "limited", r->limited);
    json_put_int(w, "stopped", r->stopped);
    json_put_int(w, "tokens", r->tokens);
    json_put_int(w, "steps", (int64_t)r->steps);
}

static void put_case(struct json_writer *w, const struct sim_case *c) {
    json_write_object_begin(w);
    put_numbers(w, c->result);
    json_write_key(w, "projects");
    put_groups(w, c->result->projects, c->result->project_count, true);
    json_write_key(w, "kinds");
    put_groups(w, c->result->kinds, c->result->kind_count, false);
    json_write_key(w, "left");
    put_left(w, c);
    json_write_key(w, "runs");
    put_runs(w, c);
    json_write_object_end(w);
}

static void put_change(struct json_writer *w, const struct sim_result *now,
                       const struct sim_result *with) {
    json_write_object_begin(w);
    json_put_int(w, "makespan_ms", with->makespan - now->makespan);
    json_put_double(w, "utilisation", with->utilisation - now->utilisation, 4);
    json_put_int(w, "wait_mean_ms",
                 (int64_t)(with->waits.mean + 0.5) - (int64_t)(now->waits.mean + 0.5));
    json_put_int(w, "wait_p95_ms", with->waits.p95 - now->waits.p95);
    json_put_int(w, "wait_max_ms", with->waits.max - now->waits.max);
    json_put_int(w, "done", (int64_t)with->by_state[TASK_DONE] - now->by_state[TASK_DONE]);
    json_put_int(w, "failed", (int64_t)with->by_state[TASK_FAILED] - now->by_state[TASK_FAILED]);
    json_put_int(w, "attempts", (int64_t)with->attempts - now->attempts);
    json_put_int(w, "tokens", with->tokens - now->tokens);
    json_write_object_end(w);
}

void report_json(const struct sim_case *now, const struct sim_case *with,
                 const char *const *overrides, struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    json_write_object_begin(&w);
    json_put_int(&w, "seed", (int64_t)now->result->seed);
    json_write_key(&w, "result");
    put_case(&w, now);
    if (with) {
        json_put_array(&w, "overrides");
        for (; overrides && *overrides; overrides++)
            json_write_string(&w, *overrides);
        json_write_array_end(&w);
        json_write_key(&w, "with");
        put_case(&w, with);
        json_write_key(&w, "change");
        put_change(&w, now->result, with->result);
    }
    json_write_object_end(&w);
    strbuf_putc(out, '\n');
}
