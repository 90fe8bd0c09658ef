/* op_daemon_metrics.c: numbers for Prometheus (base/metric.h has the rules). The front end adds its
 * own behind them. */
#include <stdio.h>

#include "base/metric.h"
#include "core/budgets.h"
#include "engine/alert.h"
#include "engine/away.h"
#include "engine/sandboxes.h"
#include "engine/tally.h"
#include "ops/metrics.h"
#include "ops/world.h"

#define PROJECTS_MAX 100u /* of which numbers are told one by one */

static void print_spans(struct strbuf *out, const char *name, const char *help,
                        const struct engine_spans *spans) {
    int64_t bounds[ENGINE_BOUNDS];
    for (size_t i = 0; i < ENGINE_BOUNDS; i++)
        bounds[i] = engine_bounds[i] * 1000;
    metric_histogram(out, name, help,
                     &(struct metric_histogram){ .bounds_us = bounds,
                                                 .up_to = spans->up_to,
                                                 .bounds = ENGINE_BOUNDS,
                                                 .count = spans->count,
                                                 .sum_us = spans->sum_ms * 1000 });
}

static void print_latency(struct strbuf *out, const char *name, const char *help,
                          const struct latency *latency) {
    metric_histogram(out, name, help,
                     &(struct metric_histogram){ .bounds_us = latency_bounds,
                                                 .up_to = latency->up_to,
                                                 .bounds = LATENCY_BOUNDS,
                                                 .count = latency->count,
                                                 .sum_us = latency->sum_us });
}

static void print_tasks_by_state(struct op_call *call, struct strbuf *out) {
    struct core_counts counts;
    core_count(engine_core(call->engine), &counts);
    metric_head(out, "tasks", "gauge", "Tasks that are kept, by state.");
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        metric_labeled(out, "tasks", "state", task_state_name((enum task_state)s),
                       counts.by_state[s]);
    metric_gauge(out, "runs", counts.runs_used, "Runs that are live.");
    metric_gauge(out, "runs_away", engine_away_count(call->engine),
                 "Live runs on hosts that are unreachable.");
    if (counts.runs_cap != UNLIMITED)
        metric_gauge(out, "runs_limit", counts.runs_cap, "Most runs at once.");
    const char *sandboxes[ENGINE_SANDBOX_KINDS];
    int64_t in_sandbox[ENGINE_SANDBOX_KINDS];
    engine_count_sandboxes(call->engine, sandboxes, in_sandbox);
    metric_head(out, "runs_by_sandbox", "gauge", "Runs that are live, by their sandbox.");
    for (size_t i = 0; i < ENGINE_SANDBOX_KINDS; i++)
        metric_labeled(out, "runs_by_sandbox", "sandbox", sandboxes[i], in_sandbox[i]);
    metric_gauge(out, "core_bytes", (int64_t)counts.bytes, "Memory of the scheduler's state.");
    metric_head(out, "queue_depth", "gauge", "Tasks that wait, by kind.");
    const char *kind;
    for (size_t i = 0; (kind = op_kind_at(call->engine, i)); i++) {
        sym symbol = op_symbol(call->engine, kind);
        metric_labeled(out, "queue_depth", "kind", kind,
                       symbol ? core_queue_depth(engine_core(call->engine), symbol) : 0);
    }
}

static void print_engine(struct op_call *call, struct strbuf *out) {
    struct engine_stats stats;
    engine_stats(call->engine, &stats);
    metric_gauge(out, "active", 1, "1: this daemon decides; 0: it is a standby.");
    metric_head(out, "info", "gauge", "Always 1; the version is the label.");
    metric_labeled(out, "info", "version", engine_version(call->engine), 1);
    metric_head(out, "build_info", "gauge",
                "Always 1; version and schema of the store are labels.");
    char schema[16];
    (void)snprintf(schema, sizeof(schema), "%u", STORE_VERSION);
    struct metric_label build[] = { { "version", engine_version(call->engine) },
                                    { "schema", schema } };
    metric_series(out, "build_info", build, ARRAY_SIZE(build), 1);
    metric_head(out, "start_time_seconds", "gauge",
                "When this daemon started; another value is a restart.");
    metric_series_micro(out, "start_time_seconds", NULL, 0, engine_started_at(call->engine) * 1000);
    metric_gauge(out, "uptime_seconds",
                 (engine_now(call->engine) - engine_started_at(call->engine)) / 1000,
                 "Time since the daemon started.");
    metric_gauge(out, "paused", engine_is_paused(call->engine), "1 while nothing is started.");
    metric_counter(out, "turns_total", stats.turns, "Turns of the engine.");
    metric_counter(out, "facts_total", stats.facts, "Facts told to the scheduler.");
    metric_counter(out, "orders_total", stats.orders, "Orders it gave.");
    metric_counter(out, "run_starts_total", stats.starts, "Runs that were started.");
    metric_counter(out, "run_ends_total", stats.ends, "Runs that have ended.");
    metric_counter(out, "failed_commits_total", stats.failed_commits,
                   "Commits that the store refused.");
    metric_counter(out, "events_total", engine_last_event(call->engine), "Events since the first.");
    print_latency(out, "turn_duration_seconds", "How long turns took, with their commits.",
                  engine_turn_latency(call->engine));
    metric_seconds(out, "turn_last_seconds", stats.last_turn_us, "How long the last turn took.");
    metric_seconds(out, "turn_slowest_seconds", stats.slowest_turn_us,
                   "How long the slowest turn took.");
}

static void print_store(struct op_call *call, struct strbuf *out) {
    struct store_info store;
    store_info(engine_store(call->engine), &store);
    metric_counter(out, "store_commits_total", store.commits, "Commits.");
    metric_counter(out, "store_rows_total", store.rows, "Rows written.");
    if (store.bytes >= 0)
        metric_gauge(out, "store_bytes", store.bytes, "Size of the database.");
    if (store.log_bytes >= 0)
        metric_gauge(out, "store_log_bytes", store.log_bytes, "Size of the write-ahead log.");
    print_latency(out, "store_commit_duration_seconds", "How long commits took.", &store.latency);
    metric_seconds(out, "store_commit_last_seconds", store.last_commit_us,
                   "How long the last commit took.");
    metric_seconds(out, "store_commit_slowest_seconds", store.slowest_commit_us,
                   "How long the slowest commit took.");
    metric_gauge(out, "store_full", engine_is_full(call->engine),
                 "1 while no new tasks are taken.");
}

static void print_host(struct op_call *call, struct strbuf *out) {
    struct engine_host_values host;
    engine_host(call->engine, &host);
    if (host.disk_free_mb >= 0)
        metric_gauge(out, "host_disk_free_bytes", host.disk_free_mb << 20, "Free disk.");
    if (host.memory_free_mb >= 0)
        metric_gauge(out, "host_memory_free_bytes", host.memory_free_mb << 20, "Free memory.");
    if (host.load_milli >= 0) {
        metric_head(out, "host_load", "gauge", "Load of the machine, over a minute.");
        metric_series_micro(out, "host_load", NULL, 0, host.load_milli * 1000);
    }
}

static void print_projects(struct op_call *call, struct strbuf *out) {
    size_t count = engine_project_count(call->engine);
    count = count < PROJECTS_MAX ? count : PROJECTS_MAX;
    static const struct {
        const char *name, *help;
    } rows[] = {
        { "project_ready", "Tasks of a project that could start." },
        { "project_running", "Runs of a project." },
        { "project_tokens", "Tokens of a project in the window." },
    };
    for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
        metric_head(out, rows[row].name, "gauge", rows[row].help);
        for (size_t i = 0; i < count; i++) {
            const struct engine_project *p = engine_project_at(call->engine, i);
            if (p->standing == PROJECT_DELETED)
                continue;
            struct share_view share = { 0 };
            int64_t used = 0, reserved = 0;
            (void)core_share(engine_core(call->engine), p->symbol, &share);
            if (row == 2)
                world_tokens(call->engine, p, &used, &reserved);
            metric_labeled(out, rows[row].name, "project", p->name,
                           row == 0   ? share.ready
                           : row == 1 ? share.live
                                      : used);
        }
    }
}

/* Sums of the window, not since the beginning: they fall when it moves on. */
static void print_costs(struct op_call *call, struct strbuf *out) {
    static const struct {
        const char *name, *help;
    } rows[] = {
        { "project_cost_usd", "Dollars that ended runs of a project cost in the window." },
        { "project_unknown_cost_runs", "Ended runs of a project in the window that told no cost." },
    };
    size_t count = engine_project_count(call->engine);
    count = count < PROJECTS_MAX ? count : PROJECTS_MAX;
    for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
        metric_head(out, rows[row].name, "gauge", rows[row].help);
        for (size_t i = 0; i < count; i++) {
            const struct engine_project *p = engine_project_at(call->engine, i);
            if (p->standing == PROJECT_DELETED)
                continue;
            struct budgets_view v = { 0 };
            (void)core_budgets(engine_core(call->engine), p->symbol, &v);
            if (row == 0)
                metric_series_micro(out, rows[row].name,
                                    &(struct metric_label){ "project", p->name }, 1, v.money.used);
            else
                metric_labeled(out, rows[row].name, "project", p->name, v.unpriced);
        }
    }
}

static void print_limiters(struct op_call *call, struct strbuf *out) {
    static const struct {
        const char *name, *help;
    } rows[] = {
        { "limiter_open", "1 while a provider account takes runs." },
        { "limiter_hits", "Rate limits in a row." },
        { "limiter_used", "Runs on a provider account." },
        { "limiter_cap", "Most runs on a provider account now; it rises after a rate limit." },
        { "limiter_backoff_seconds", "How long a provider account still waits." },
    };
    for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
        const char *name;
        metric_head(out, rows[row].name, "gauge", rows[row].help);
        for (size_t i = 0; (name = op_limiter_at(call->engine, i)); i++) {
            struct limiter_view l = { .cap = UNLIMITED };
            sym symbol = op_symbol(call->engine, name);
            if (symbol)
                (void)core_limiter(engine_core(call->engine), symbol, &l);
            int64_t left = l.backoff_until - engine_now(call->engine);
            const int64_t numbers[] = { !l.closed && !l.backoff_until, l.hits, l.used, l.cap,
                                        left > 0 ? left / 1000 : 0 };
            if (numbers[row] != UNLIMITED)
                metric_labeled(out, rows[row].name, "limiter", name, numbers[row]);
        }
    }
}

static void print_times(struct op_call *call, struct strbuf *out) {
    struct engine_stats stats;
    engine_stats(call->engine, &stats);
    print_spans(out, "queue_latency_seconds", "From ready to the order to start.", &stats.queued);
    print_spans(out, "run_duration_seconds", "From the first instruction of a run to its end.",
                &stats.ran);
    metric_gauge(out, "queued_runs", core_queue_depth(engine_core(call->engine), 0),
                 "Tasks that wait for a place or for others.");
    metric_gauge(out, "alerts", (int64_t)engine_alert_count(call->engine), "Alerts that are open.");
}

static int run(struct op_call *call) {
    print_engine(call, &call->answer);
    print_tasks_by_state(call, &call->answer);
    print_times(call, &call->answer);
    metrics_print_gates(call->engine, &call->answer);
    metrics_print_limits(call->engine, &call->answer);
    metrics_print_budgets(call->engine, &call->answer);
    metrics_print_spent(call->engine, &call->answer);
    print_projects(call, &call->answer);
    print_costs(call, &call->answer);
    print_limiters(call, &call->answer);
    print_store(call, &call->answer);
    print_host(call, &call->answer);
    return 0;
}

const struct op op_daemon_metrics = {
    .name = "daemon.metrics",
    .method = "GET",
    .path = "/metrics",
    .summary = "numbers for Prometheus",
    .text = "Text, version 0.0.4. Names begin with `sluice_`; no label is an id.",
    .right = OP_READ,
    .answer = OP_ANSWER_TEXT,
    .run = run,
};
