/* op_daemon_metrics.c: metrics for Prometheus (base/metric.h has the rules); the front end appends
 * its own. There is a series per configured name, never per task: where a name may be one of many
 * (a workspace, a phase, a task), only its kind is a label. */
#include <stdio.h>
#include <string.h>

#include "base/metric.h"
#include "core/core.h"
#include "engine/alert.h"
#include "engine/escalation.h"
#include "engine/hosts.h"
#include "engine/opening_hours.h"
#include "engine/probes.h"
#include "engine/questions.h"
#include "engine/sandboxes.h"
#include "engine/schedules.h"
#include "engine/tally.h"
#include "ops/print.h"

#define PROJECTS_MAX  100u /* with their own series */
#define HOURS_MAX     100u
#define DIFFERENT_MAX 10000u /* counted classes and the like */

struct limit_print {
    struct strbuf *out;
    bool caps;
};

static void print_limit(void *ctx, const char *key, amount used, amount cap) {
    const struct limit_print *p = ctx;
    if (!p->caps)
        metric_labeled(p->out, "limit_used", "limit", key, used);
    else if (cap != UNLIMITED)
        metric_labeled(p->out, "limit_cap", "limit", key, cap);
}

/* --- budgets --------------------------------------------------------------------------------- */

enum budget_part { BUDGET_USED, BUDGET_RESERVED, BUDGET_CAP };

/* Projects without a budget are omitted; the global sum is always shown. */
static void print_budget(const struct engine *engine, struct strbuf *out, const char *name,
                         enum budget_part part, const struct engine_project *project) {
    struct budgets_view view = { 0 };
    (void)core_budgets(engine_core(engine), project ? project->symbol : 0, &view);
    bool money = strstr(name, "_usd") != NULL;
    const struct budget_view *b = money ? &view.money : &view.tokens;
    if (b->budget == UNLIMITED && (project || part == BUDGET_CAP))
        return;
    struct metric_label labels[] = { { "scope", project ? "project" : "global" },
                                     { "project", project ? project->name : "" } };
    int64_t number = part == BUDGET_USED       ? b->used
                     : part == BUDGET_RESERVED ? b->reserved
                                               : b->budget;
    (money ? metric_series_micro : metric_series)(out, name, labels, ARRAY_SIZE(labels), number);
}

static void metrics_print_budgets(const struct engine *engine, struct strbuf *out) {
    static const struct {
        const char *name, *help;
        enum budget_part part;
    } rows[] = {
        { "budget_used_tokens", "Tokens used in the window of each budget.", BUDGET_USED },
        { "budget_reserved_tokens", "Tokens reserved for live runs.", BUDGET_RESERVED },
        { "budget_cap_tokens", "Tokens that may be used in the window.", BUDGET_CAP },
        { "budget_used_usd", "Dollars spent in the window of each budget.", BUDGET_USED },
        { "budget_reserved_usd", "Dollars reserved for live runs.", BUDGET_RESERVED },
        { "budget_cap_usd", "Dollars that may be spent in the window.", BUDGET_CAP },
    };
    for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
        metric_head(out, rows[row].name, "gauge", rows[row].help);
        print_budget(engine, out, rows[row].name, rows[row].part, NULL);
        for (size_t i = 0; i < engine_project_count(engine) && i < PROJECTS_MAX; i++)
            print_budget(engine, out, rows[row].name, rows[row].part, engine_project_at(engine, i));
    }
}

struct gates {
    int64_t plain[GATE_MAX];
    int64_t leases[LEASE_KIND_MAX];
};

static void count_gate(void *ctx, const struct verdict *first, int64_t more) {
    struct gates *g = ctx;
    if (first->gate == GATE_LEASE)
        g->leases[first->lease] += more;
    else
        g->plain[first->gate] += more;
}

static void metrics_print_gates(const struct engine *engine, struct strbuf *out) {
    struct gates g = { 0 };
    (void)core_waiting_by_gate(engine_core(engine), DIFFERENT_MAX, count_gate, &g);
    metric_head(out, "waiting_tasks", "gauge", "Waiting tasks, by the first closed gate.");
    for (int gate = 0; gate < GATE_MAX; gate++)
        if (gate != GATE_LEASE)
            metric_labeled(out, "waiting_tasks", "gate", gate_name((enum gate)gate), g.plain[gate]);
    _cleanup_(strbuf_finish) struct strbuf label = STRBUF_INIT;
    for (int lease = 0; lease < LEASE_KIND_MAX; lease++) {
        strbuf_clear(&label);
        strbuf_printf(&label, "lease:%s", lease_kind_name((enum lease_kind)lease));
        metric_labeled(out, "waiting_tasks", "gate", strbuf_text(&label), g.leases[lease]);
    }
}

/* --- what runs have used --------------------------------------------------------------------- */

static void print_tokens(const struct engine *engine, struct strbuf *out) {
    metric_head(out, "tokens_total", "counter",
                "Tokens of ended runs; input includes cached tokens.");
    for (size_t i = 0; i < engine_tally_count(engine); i++) {
        const struct spent_row *t = engine_tally_at(engine, i);
        const int64_t numbers[] = { t->tokens_in, t->tokens_out, t->tokens_cached };
        static const char *const types[] = { "input", "output", "cached" };
        for (size_t k = 0; k < ARRAY_SIZE(types); k++) {
            struct metric_label labels[] = { { "project", t->project },
                                             { "agent", t->agent },
                                             { "type", types[k] } };
            metric_series(out, "tokens_total", labels, ARRAY_SIZE(labels), numbers[k]);
        }
    }
}

enum tally_number { TALLY_RUNS, TALLY_COST, TALLY_UNKNOWN_COST, TALLY_UNKNOWN_TOKENS };

/* One counter per project and agent. */
static void print_sums(const struct engine *engine, struct strbuf *out, const char *name,
                       const char *help, enum tally_number which) {
    metric_head(out, name, "counter", help);
    for (size_t i = 0; i < engine_tally_count(engine); i++) {
        const struct spent_row *t = engine_tally_at(engine, i);
        struct metric_label labels[] = { { "project", t->project }, { "agent", t->agent } };
        const int64_t numbers[] = { t->runs, t->cost_micro_usd, t->unknown_cost,
                                    t->unknown_tokens };
        (which == TALLY_COST ? metric_series_micro : metric_series)(
            out, name, labels, ARRAY_SIZE(labels), numbers[which]);
    }
}

static void metrics_print_spent(const struct engine *engine, struct strbuf *out) {
    print_sums(engine, out, "ended_runs_total", "Runs that have ended.", TALLY_RUNS);
    metric_head(out, "run_outcomes_total", "counter", "Ended runs, by outcome.");
    for (int o = 0; o < OUTCOME_MAX; o++)
        metric_labeled(out, "run_outcomes_total", "outcome", outcome_name((enum outcome)o),
                       (int64_t)engine_outcome_count(engine, (enum outcome)o));
    metric_counter(out, "escalations_total", engine_escalation_count(engine),
                   "Escalations of tasks to a stronger agent or model.");
    print_tokens(engine, out);
    print_sums(engine, out, "cost_usd_total", "Dollars that ended runs have reported.", TALLY_COST);
    print_sums(engine, out, "unknown_cost_runs_total", "Ended runs that reported no cost.",
               TALLY_UNKNOWN_COST);
    print_sums(engine, out, "unknown_tokens_runs_total", "Ended runs that reported no tokens.",
               TALLY_UNKNOWN_TOKENS);
}

/* --- everything else ------------------------------------------------------------------------- */

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
    metric_head(out, "tasks", "gauge", "Stored tasks, by state.");
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        metric_labeled(out, "tasks", "state", task_state_name((enum task_state)s),
                       counts.by_state[s]);
    metric_gauge(out, "runs", counts.runs_used, "Live runs.");
    metric_gauge(out, "runs_away", engine_unreachable_count(call->engine),
                 "Live runs on hosts that are unreachable.");
    if (counts.runs_cap != UNLIMITED)
        metric_gauge(out, "runs_limit", counts.runs_cap, "Maximum number of runs at once.");
    const char *sandboxes[ENGINE_SANDBOX_KINDS];
    int64_t in_sandbox[ENGINE_SANDBOX_KINDS];
    engine_count_sandboxes(call->engine, sandboxes, in_sandbox);
    metric_head(out, "runs_by_sandbox", "gauge", "Live runs, by sandbox.");
    for (size_t i = 0; i < ENGINE_SANDBOX_KINDS; i++)
        metric_labeled(out, "runs_by_sandbox", "sandbox", sandboxes[i], in_sandbox[i]);
    metric_gauge(out, "core_bytes", (int64_t)counts.bytes, "Memory of the scheduler's state.");
    metric_head(out, "queue_depth", "gauge", "Waiting tasks, by kind.");
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
    metric_gauge(out, "active", 1, "1: this daemon is the active one; 0: it is a standby.");
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
                "Start time of the daemon; a change means a restart.");
    metric_series_micro(out, "start_time_seconds", NULL, 0, engine_started_at(call->engine) * 1000);
    metric_gauge(out, "uptime_seconds",
                 (engine_now(call->engine) - engine_started_at(call->engine)) / 1000,
                 "Time since the daemon started.");
    metric_gauge(out, "paused", engine_is_paused(call->engine), "1 while dispatch is paused.");
    metric_counter(out, "turns_total", stats.turns, "Turns of the engine.");
    metric_counter(out, "facts_total", stats.facts, "Facts applied by the scheduler.");
    metric_counter(out, "orders_total", stats.orders, "Orders of the scheduler.");
    metric_counter(out, "run_starts_total", stats.starts, "Runs that were started.");
    metric_counter(out, "run_ends_total", stats.ends, "Runs that have ended.");
    metric_counter(out, "failed_commits_total", stats.failed_commits,
                   "Commits that the store refused.");
    metric_counter(out, "events_total", engine_last_event(call->engine), "Events in total.");
    print_latency(out, "turn_duration_seconds", "Duration of turns, including their commits.",
                  engine_turn_latency(call->engine));
    metric_seconds(out, "turn_last_seconds", stats.last_turn_us, "Duration of the last turn.");
    metric_seconds(out, "turn_slowest_seconds", stats.slowest_turn_us,
                   "Duration of the slowest turn.");
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
    print_latency(out, "store_commit_duration_seconds", "Duration of commits.", &store.latency);
    metric_seconds(out, "store_commit_last_seconds", store.last_commit_us,
                   "Duration of the last commit.");
    metric_seconds(out, "store_commit_slowest_seconds", store.slowest_commit_us,
                   "Duration of the slowest commit.");
    metric_gauge(out, "store_full", engine_is_full(call->engine),
                 "1 while new tasks are refused because the disk is full.");
}

static void print_host(struct op_call *call, struct strbuf *out) {
    struct engine_host_values host;
    engine_host(call->engine, &host);
    if (host.disk_free_mb >= 0)
        metric_gauge(out, "host_disk_free_bytes", host.disk_free_mb << 20, "Free disk.");
    if (host.memory_free_mb >= 0)
        metric_gauge(out, "host_memory_free_bytes", host.memory_free_mb << 20, "Free memory.");
    if (host.load_milli >= 0) {
        metric_head(out, "host_load", "gauge", "Load average of the machine over one minute.");
        metric_series_micro(out, "host_load", NULL, 0, host.load_milli * 1000);
    }
}

static void print_projects(struct op_call *call, struct strbuf *out) {
    static const struct {
        const char *name, *help;
    } rows[] = {
        { "project_ready", "Tasks of a project that could start." },
        { "project_running", "Runs of a project." },
        { "project_tokens", "Tokens of a project in the window." },
        { "project_cost_usd", "Dollars that ended runs of a project cost in the window." },
        { "project_unknown_cost_runs",
          "Ended runs of a project in the window that reported no cost." },
    };
    size_t count = engine_project_count(call->engine);
    for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
        metric_head(out, rows[row].name, "gauge", rows[row].help);
        for (size_t i = 0; i < count && i < PROJECTS_MAX; i++) {
            const struct engine_project *p = engine_project_at(call->engine, i);
            struct metric_label label = { "project", p->name };
            struct share_view share = { 0 };
            struct budgets_view v = { 0 };
            if (p->standing == PROJECT_DELETED)
                continue;
            (void)core_share(engine_core(call->engine), p->symbol, &share);
            (void)core_budgets(engine_core(call->engine), p->symbol, &v);
            const int64_t numbers[] = { share.ready, share.live,
                                        row == 2 ? window_tokens(call->engine, p) : 0, v.money.used,
                                        v.unpriced };
            (row == 3 ? metric_series_micro : metric_series)(out, rows[row].name, &label, 1,
                                                             numbers[row]);
        }
    }
}

static void print_limiters(struct op_call *call, struct strbuf *out) {
    static const struct {
        const char *name, *help;
    } rows[] = {
        { "limiter_open", "1 while a provider account accepts runs." },
        { "limiter_hits", "Consecutive rate limits." },
        { "limiter_used", "Runs on a provider account." },
        { "limiter_cap", "Current maximum number of runs on a provider account; it rises gradually "
                         "after a rate limit." },
        { "limiter_backoff_seconds", "Time until a provider account opens." },
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
            const int64_t numbers[] = { !l.closed && !l.backoff_until && !l.reserved_until
                                            && !l.hours_until,
                                        l.hits, l.used, l.cap, left > 0 ? left / 1000 : 0 };
            if (numbers[row] != UNLIMITED)
                metric_labeled(out, rows[row].name, "limiter", name, numbers[row]);
        }
    }
}

static void print_hours_open(struct op_call *call, struct strbuf *out) {
    size_t count = engine_hours_count(call->engine);
    metric_head(out, "hours_open", "gauge", "1 inside the opening hours.");
    for (size_t i = 0; i < count && i < HOURS_MAX; i++) {
        struct engine_hours hours;
        engine_hours_at(call->engine, i, &hours);
        struct metric_label labels[] = { { "scope", lease_kind_name(hours.scope) },
                                         { "name", hours.name } };
        metric_series(out, "hours_open", labels, ARRAY_SIZE(labels), hours.open);
    }
}

/* Windows whose use is known, or that have a reserve. */
static void print_windows(struct op_call *call, struct strbuf *out) {
    static const struct {
        const char *name, *help;
    } rows[] = {
        { "limiter_window_used_ratio", "Used part of a window of an account; 1: all." },
        { "limiter_window_reserve_ratio", "Part of a window that is reserved for the owner." },
        { "limiter_window_reset_seconds", "End of a window, in seconds since 1970." },
    };
    for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
        const char *name;
        metric_head(out, rows[row].name, "gauge", rows[row].help);
        for (size_t i = 0; (name = op_limiter_at(call->engine, i)); i++) {
            struct limiter_view l = { 0 };
            sym symbol = op_symbol(call->engine, name);
            if (symbol)
                (void)core_limiter(engine_core(call->engine), symbol, &l);
            for (int w = 0; w < QUOTA_WINDOW_MAX; w++) {
                const struct quota *quota = &l.windows[w].quota;
                bool known = quota->resets_at > 0, reserve = l.windows[w].reserve > 0;
                struct metric_label labels[] = { { "limiter", name },
                                                 { "window", quota_window_name(w) } };
                const int64_t micro[] = { quota->used_milli * INT64_C(1000),
                                          l.windows[w].reserve * 10000, quota->resets_at * 1000 };
                if (row == 1 ? known || reserve : known)
                    metric_series_micro(out, rows[row].name, labels, ARRAY_SIZE(labels),
                                        micro[row]);
            }
        }
    }
}

static void print_probes(struct op_call *call, struct strbuf *out) {
    struct engine_probe_counts counts;
    engine_count_probes(call->engine, &counts);
    metric_gauge(out, "probe_tasks", (int64_t)counts.tasks,
                 "Tasks with a closed gate or a pending check.");
    metric_gauge(out, "probe_commands", (int64_t)counts.commands,
                 "Distinct commands of these gates and checks.");
    metric_gauge(out, "probes_running", (int64_t)counts.running,
                 "Commands of gates and checks that are running.");
}

static void print_schedules(struct op_call *call, struct strbuf *out) {
    size_t count = engine_schedule_count(call->engine);
    uint64_t fired = 0, skipped = 0;
    int64_t paused = 0;
    for (size_t i = 0; i < count; i++) {
        struct engine_schedule s;
        engine_schedule_at(call->engine, i, &s);
        fired += s.fired;
        skipped += s.skipped;
        paused += s.paused;
    }
    metric_gauge(out, "schedules", (int64_t)count, "Schedules.");
    metric_gauge(out, "schedules_paused", paused, "Schedules that are paused.");
    metric_counter(out, "schedule_firings_total", fired, "Due times at which tasks were added.");
    metric_counter(out, "schedule_skips_total", skipped, "Skipped due times.");
}

static int run(struct op_call *call) {
    print_engine(call, &call->answer);
    print_tasks_by_state(call, &call->answer);
    struct engine_stats stats;
    engine_stats(call->engine, &stats);
    print_spans(&call->answer, "queue_latency_seconds", "From ready to the order to start.",
                &stats.queued);
    print_spans(&call->answer, "run_duration_seconds",
                "From the first instruction of a run to its end.", &stats.ran);
    metric_gauge(&call->answer, "queued_runs", core_queue_depth(engine_core(call->engine), 0),
                 "Tasks that wait for a slot or for other tasks.");
    metric_gauge(&call->answer, "alerts", (int64_t)engine_alert_count(call->engine),
                 "Open alerts.");
    metric_gauge(&call->answer, "questions", (int64_t)engine_question_count(call->engine),
                 "Unanswered questions of runs.");
    metrics_print_gates(call->engine, &call->answer);
    print_probes(call, &call->answer);
    metric_head(&call->answer, "limit_used", "gauge", "Used slots of each limit.");
    each_limit(call->engine, print_limit, &(struct limit_print){ &call->answer, false });
    metric_head(&call->answer, "limit_cap", "gauge",
                "Slots of each limit; unlimited ones are left out.");
    each_limit(call->engine, print_limit, &(struct limit_print){ &call->answer, true });
    metrics_print_budgets(call->engine, &call->answer);
    metrics_print_spent(call->engine, &call->answer);
    print_projects(call, &call->answer);
    print_limiters(call, &call->answer);
    print_hours_open(call, &call->answer);
    print_windows(call, &call->answer);
    print_schedules(call, &call->answer);
    print_store(call, &call->answer);
    print_host(call, &call->answer);
    return 0;
}

const struct op op_daemon_metrics = {
    OP("daemon.metrics", "GET", "/metrics", "show metrics for Prometheus"),
    .text = "Text format, version 0.0.4. Names begin with `sluice_`; no label is an id.",
    OP_READS(READ, NONE, run),
    .answer = OP_ANSWER_TEXT,
};
