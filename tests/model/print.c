/* print.c: facts as lines of text, so that a history can be read. */
#include <inttypes.h>

#include "generate.h"

static void put_amount(struct strbuf *out, const char *name, int64_t value) {
    if (value == INT64_MAX)
        strbuf_printf(out, " %s=-", name);
    else
        strbuf_printf(out, " %s=%" PRId64, name, value);
}

static void put_name(struct strbuf *out, const struct symbol_table *symbols, const char *name,
                     sym value) {
    if (value)
        strbuf_printf(out, " %s=%s", name, symbol_name(symbols, value));
}

static void put_flag(struct strbuf *out, const char *name, bool value) {
    if (value)
        strbuf_printf(out, " %s", name);
}

static void put_limiter_policy(struct strbuf *out, const struct limiter_policy *p) {
    put_amount(out, "max_running", p->max_running);
    put_amount(out, "initial", p->initial);
    put_amount(out, "max", p->max);
    put_amount(out, "recovery", p->recovery);
    put_flag(out, "probe", p->probe);
    put_flag(out, "any_success", p->any_success);
    put_amount(out, "reserve", p->reserve);
    put_amount(out, "reserve_five_hour", p->reserve_of[QUOTA_FIVE_HOUR]);
    put_amount(out, "reserve_weekly", p->reserve_of[QUOTA_WEEKLY]);
}

static void put_policy(struct strbuf *out, const struct policy *p) {
    strbuf_printf(out, " order=%#x fair=%d guarantee=%d", p->order, (int)p->fair,
                  (int)p->guarantee);
    put_amount(out, "window", p->fair_window);
    put_amount(out, "run_tokens", p->run_tokens);
    put_flag(out, "budget_counts_reserved", p->budget_counts_reserved);
    put_amount(out, "max_wait", p->max_wait);
    put_amount(out, "runs", p->runs);
    put_amount(out, "roots", p->roots);
    for (int i = 0; i < RETRY_CLASS_MAX; i++) {
        const struct retry_policy *r = &p->retry[i];
        strbuf_printf(out, " %s(", retry_class_name((enum retry_class)i));
        put_amount(out, "max", r->max);
        put_amount(out, "delay", r->delay);
        put_amount(out, "factor", r->factor_milli);
        put_amount(out, "cap", r->cap);
        put_amount(out, "jitter", r->jitter_milli);
        strbuf_puts(out, " )");
    }
    put_flag(out, "count_launches", p->count_launches);
    put_flag(out, "failed_is_unfinished", p->failed_is_unfinished);
    put_flag(out, "launch_is_failed", p->launch_is_failed);
    put_flag(out, "lost_requeue", p->lost_requeue);
    put_amount(out, "breaker.reset", p->breaker.reset);
    put_amount(out, "reset_max", p->breaker.reset_max);
    put_amount(out, "agent_max", p->breaker.agent_max);
    put_amount(out, "batch", p->pace.batch);
    put_amount(out, "spawn_delay", p->pace.spawn_delay);
    put_amount(out, "tick", p->pace.tick);
    put_amount(out, "drain", p->drain);
    put_flag(out, "drain_active_only", p->drain_active_only);
    put_flag(out, "dependency_fails", p->dependency_fails);
    strbuf_puts(out, " limiter(");
    put_limiter_policy(out, &p->limiter);
    strbuf_puts(out, " )");
}

static void put_task(struct strbuf *out, const struct symbol_table *symbols,
                     const struct task_spec *s) {
    strbuf_printf(out, " %" PRIu64 " %s", s->id, task_state_name(s->state));
    put_name(out, symbols, "project", s->project);
    put_name(out, symbols, "kind", s->kind);
    put_name(out, symbols, "agent", s->agent);
    put_name(out, symbols, "limiter", s->limiter);
    put_flag(out, "bound", s->bound);
    put_name(out, symbols, "workspace", s->workspace);
    put_name(out, symbols, "serial", s->serial);
    put_flag(out, "not-parallelizable", !s->parallelizable);
    put_flag(out, "review", s->review);
    put_flag(out, "artifact-missing", s->artifact_missing);
    put_flag(out, "probe-closed", s->probe_closed);
    strbuf_printf(out, " priority=%d until=%s", s->priority, until_name(s->until));
    if (s->parent)
        strbuf_printf(out, " parent=%" PRIu64 "/%u(%s)", s->parent, s->parent_iteration,
                      parent_gate_name(s->parent_gate));
    for (size_t i = 0; i < s->depends_on_count; i++)
        strbuf_printf(out, " dep=%" PRIu64, s->depends_on[i]);
    for (size_t i = 0; i < s->resource_count; i++)
        put_name(out, symbols, "resource", s->resources[i]);
    put_amount(out, "created", s->created_at);
    put_amount(out, "ready_since", s->ready_since);
    if (s->state == TASK_HELD)
        strbuf_printf(out, " hold=%s not_before=%" PRId64, hold_name(s->hold), s->not_before);
    if (task_state_is_live(s->state)) {
        strbuf_printf(out, " phase=%s stop=%d until=%" PRId64 " started=%" PRId64,
                      run_phase_name(s->phase), (int)s->stop, s->not_before, s->started_at);
        put_name(out, symbols, "run_agent", s->run_agent);
        put_name(out, symbols, "run_limiter", s->run_limiter);
        put_flag(out, "run_unlimited", s->run_unlimited);
    }
    if (s->keeps)
        strbuf_printf(out, " keeps=%#x", s->keeps);
    strbuf_printf(out, " iteration=%u attempt=%u", s->iteration, s->attempt);
    if (s->retry_max >= 0)
        strbuf_printf(out, " retry_max=%d", s->retry_max);
    if (s->failures || s->launch_failures || s->losses || s->restarts)
        strbuf_printf(out, " failures=%u/%u/%u/%u openings=%u", s->failures, s->launch_failures,
                      s->losses, s->restarts, s->breaker_openings);
    const struct escalation_spec *x = &s->escalation;
    for (unsigned i = 0; i < x->count; i++)
        strbuf_printf(out, " escalate=%s", x->agents[i] ? symbol_name(symbols, x->agents[i]) : ":");
    if (x->after || x->step || x->failed)
        strbuf_printf(out, " after=%u step=%u failed=%u", x->after, x->step, x->failed);
    put_name(out, symbols, "own_agent", x->own_agent);
}

static void put_project(struct strbuf *out, const struct symbol_table *symbols,
                        const struct project_spec *p) {
    put_name(out, symbols, "id", p->id);
    put_amount(out, "weight", p->weight_milli);
    put_amount(out, "max_running", p->max_running);
    put_amount(out, "budget", p->budget);
    put_flag(out, "inactive", !p->active);
    put_flag(out, "paused", p->paused);
    put_amount(out, "workspaces", p->workspaces);
    put_flag(out, "kept", p->workspaces_kept);
    put_amount(out, "review", p->review);
}

/* Facts about projects, kinds, agents, limiters and slots. False: another fact. */
static bool put_world(struct strbuf *out, const struct symbol_table *symbols,
                      const struct fact *f) {
    if (f->kind == FACT_CLOCK)
        put_amount(out, "now", f->now);
    else if (f->kind == FACT_POLICY)
        put_policy(out, f->policy);
    else if (f->kind == FACT_PROJECT)
        put_project(out, symbols, &f->project);
    else if (f->kind == FACT_KIND) {
        put_name(out, symbols, "id", f->kind_spec.id);
        put_amount(out, "base", f->kind_spec.base);
        put_amount(out, "max_running", f->kind_spec.max_running);
    } else if (f->kind == FACT_AGENT) {
        put_name(out, symbols, "id", f->agent.id);
        put_amount(out, "slots", f->agent.slots);
        put_name(out, symbols, "limiter", f->agent.limiter);
        for (unsigned i = 0; i < f->agent.failover_count; i++)
            put_name(out, symbols, "failover", f->agent.failover[i]);
        for (unsigned i = 0; i < f->agent.escalate_count; i++)
            strbuf_printf(out, " escalate=%s",
                          f->agent.escalate[i] ? symbol_name(symbols, f->agent.escalate[i]) : ":");
        put_amount(out, "escalate_after", f->agent.escalate_after);
        put_flag(out, "roster", f->agent.roster);
        put_flag(out, "idle", f->agent.idle);
        put_flag(out, "hours", f->agent.hours);
        put_amount(out, "launch_failures", f->agent.launch_failures);
        put_amount(out, "openings", f->agent.openings);
        put_amount(out, "closed_until", f->agent.closed_until);
    } else if (f->kind == FACT_LIMITER) {
        put_name(out, symbols, "id", f->limiter.id);
        put_limiter_policy(out, &f->limiter.policy);
        put_amount(out, "backoff_until", f->limiter.backoff_until);
        put_amount(out, "hits", f->limiter.hits);
        put_flag(out, "closed", f->limiter.closed);
        put_flag(out, "in_backoff", f->limiter.in_backoff);
        put_amount(out, "since", f->limiter.backoff_since);
        put_amount(out, "last_hit", f->limiter.last_hit);
        put_amount(out, "ramp_since", f->limiter.ramp_since);
    } else if (f->kind == FACT_LIMITER_USED) {
        put_name(out, symbols, "id", f->used.limiter);
        strbuf_printf(out, " %s", quota_window_name(f->used.window));
        put_amount(out, "used", f->used.quota.used_milli);
        put_amount(out, "resets_at", f->used.quota.resets_at);
        put_flag(out, "corrects", f->used.corrects);
    } else if (f->kind == FACT_HOURS) {
        put_name(out, symbols, lease_kind_name(f->hours.scope), f->hours.id);
        put_amount(out, "until", f->hours.until);
    } else if (f->kind == FACT_LIMITER_CLEAR)
        put_name(out, symbols, "id", f->limiter_clear);
    else if (f->kind == FACT_AGENT_CLEAR)
        put_name(out, symbols, "id", f->agent_clear);
    else if (f->kind == FACT_RESOURCE) {
        put_name(out, symbols, "id", f->resource.id);
        put_amount(out, "cap", f->resource.cap);
    } else if (f->kind == FACT_WORKSPACE) {
        put_name(out, symbols, "id", f->workspace.id);
        put_amount(out, "locked_by", (int64_t)f->workspace.locked_by);
        put_flag(out, "locked", f->workspace.locked);
    } else if (f->kind == FACT_HOST) {
        put_amount(out, "disk", f->host.disk_free_mb);
        put_amount(out, "memory", f->host.memory_free_mb);
        put_amount(out, "load", f->host.load_milli);
    } else if (f->kind == FACT_BUDGET)
        put_amount(out, "budget", f->budget);
    else if (f->kind == FACT_USAGE) {
        put_name(out, symbols, "project", f->usage.project);
        strbuf_printf(out,
                      " tokens=%" PRId64 " unreported=%" PRId64
                      " starts=%d completions=%d reports=%d at=%" PRId64,
                      f->usage.tokens, f->usage.unreported, f->usage.starts, f->usage.completions,
                      f->usage.reports, f->usage.at);
    } else if (f->kind == FACT_EXTERNAL) {
        put_name(out, symbols, "project", f->external.project);
        put_name(out, symbols, "limiter", f->external.limiter);
        put_amount(out, "running", f->external.running);
        put_amount(out, "roots", f->external.roots);
    } else
        return f->kind == FACT_PAUSE || f->kind == FACT_RESUME || f->kind == FACT_TICK;
    return true;
}

static void put_about_task(struct strbuf *out, const struct fact *f) {
    strbuf_printf(out, " %" PRIu64, f->task);
    if (f->kind >= FACT_ORDER_REFUSED)
        strbuf_printf(out, " attempt=%u", f->attempt);
    if (f->kind == FACT_HOLD)
        strbuf_puts(out, f->marker ? " marker" : ""), put_amount(out, "until", f->until);
    if (f->kind == FACT_PRIORITY)
        put_amount(out, "priority", f->priority);
    if (f->kind == FACT_DEPENDENCIES)
        for (size_t i = 0; i < f->dependencies.count; i++)
            strbuf_printf(out, " dep=%" PRIu64, f->dependencies.items[i]);
    if (f->kind == FACT_ARTIFACT)
        put_flag(out, f->artifact_present ? "present" : "missing", true);
    if (f->kind == FACT_PROBE)
        put_flag(out, f->probe_open ? "yes" : "not-yet", true);
    if (f->kind == FACT_RUN_PHASE)
        strbuf_printf(out, " phase=%s", run_phase_name(f->phase));
    if (f->kind == FACT_RUN_TOKENS)
        put_amount(out, "tokens", f->tokens);
    if (f->kind == FACT_RUN_LIMITED)
        strbuf_printf(out, " retry_after=%" PRId64 " reset_at=%" PRId64, f->limited.retry_after,
                      f->limited.reset_at);
    if (f->kind == FACT_RUN_ENDED)
        strbuf_printf(out,
                      " %s tokens=%" PRId64 " retry_after=%" PRId64 " reset_at=%" PRId64
                      " pause=%" PRId64 " workspace=%u%s%s",
                      outcome_name(f->ended.outcome), f->ended.tokens, f->ended.retry_after,
                      f->ended.reset_at, f->ended.pause, (unsigned)f->ended.workspace,
                      f->ended.output ? " output" : "",
                      f->ended.before_agent ? " before_agent" : "");
}

void fact_print(const struct fact *fact, const struct symbol_table *symbols, struct strbuf *out) {
    strbuf_puts(out, fact_kind_name(fact->kind));
    if (fact->kind == FACT_TASK_ADDED)
        put_task(out, symbols, fact->spec);
    else if (!put_world(out, symbols, fact))
        put_about_task(out, fact);
}
