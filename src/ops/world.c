/* world.c: see world.h. Everything here is read from the core and the configuration as they stand. */
#include "ops/world.h"

#include <string.h>

#include "core/budgets.h"
#include "engine/partition.h"
#include "engine/trouble.h"
#include "engine/worktrees.h"
#include "ops/budgets.h"

static bool is_in_force(const struct engine *engine, const char *name) {
    return config_number(engine_config(engine), "projects.P.active", name) != 0;
}

/* --- tokens ---------------------------------------------------------------------------------- */

static void add_bucket(void *ctx, const struct usage_spec *bucket) {
    *(int64_t *)ctx += bucket->tokens;
}

static void add_project(const struct engine *engine, const struct engine_project *p, int64_t *used,
                        int64_t *reserved) {
    struct share_view share;
    core_usage(engine_core(engine), p->symbol, add_bucket, used);
    if (core_share(engine_core(engine), p->symbol, &share))
        *reserved += share.reserved;
}

void world_tokens(const struct engine *engine, const struct engine_project *project,
                  int64_t *ret_used, int64_t *ret_reserved) {
    *ret_used = *ret_reserved = 0;
    if (project) {
        add_project(engine, project, ret_used, ret_reserved);
        return;
    }
    core_usage(engine_core(engine), 0, add_bucket, ret_used);
    for (size_t i = 0; i < engine_project_count(engine); i++)
        add_project(engine, engine_project_at(engine, i), ret_used, ret_reserved);
}

void world_sum(const struct engine *engine, struct world_sums *ret) {
    *ret = (struct world_sums){ 0 };
    for (size_t i = 0; i < engine_project_count(engine); i++) {
        struct share_view share;
        if (!core_share(engine_core(engine), engine_project_at(engine, i)->symbol, &share))
            continue;
        ret->tokens += share.tokens + share.reserved;
        if (share.open)
            ret->weight_milli += share.weight_milli;
        ret->open += share.open;
    }
}

double world_target(const struct share_view *share, const struct world_sums *sums) {
    if (!share->open)
        return 0;
    if (sums->weight_milli == 0)
        return 1.0 / (double)sums->open;
    return (double)share->weight_milli / (double)sums->weight_milli;
}

/* --- projects -------------------------------------------------------------------------------- */

static void print_part(struct json_writer *w, const char *key, int64_t part, int64_t whole) {
    json_write_key(w, key);
    json_write_double(w, whole > 0 ? (double)part / (double)whole : 0, 4);
}

/* The pool, and who is where. */
static void print_pool(struct json_writer *w, const struct engine *engine, const char *project) {
    const char *const *paths;
    size_t count =
        config_words(engine_config(engine), "projects.P.workspace_paths", project, &paths);
    print_list(w, "workspaces");
    for (size_t i = 0; i < count; i++) {
        json_write_object_begin(w);
        print_text(w, "path", paths[i]);
        print_id(w, "task", engine, engine_workspace_holder(engine, paths[i]));
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

void world_print_project(struct json_writer *w, const struct engine *engine,
                         const struct engine_project *p, const struct world_sums *sums) {
    const struct config *config = engine_config(engine);
    struct share_view share = { 0 };
    (void)core_share(engine_core(engine), p->symbol, &share);
    int64_t tokens, reserved;
    struct budgets_view money = { 0 };
    world_tokens(engine, p, &tokens, &reserved);
    (void)core_budgets(engine_core(engine), p->symbol, &money);
    json_write_object_begin(w);
    print_text(w, "name", p->name);
    print_text(w, "prefix", p->prefix);
    print_text(w, "path", p->path);
    json_write_key(w, "weight");
    json_write_double(w, (double)share.weight_milli / 1000.0, 3);
    print_amount(w, "max_running", config_number(config, "projects.P.max_running", p->name));
    print_amount(w, "budget", config_number(config, "projects.P.budget", p->name));
    bool orphaned = p->standing == PROJECT_ORPHANED;
    struct engine_pause lost = { .at = p->standing_since };
    print_bool(w, "paused",
               p->paused || orphaned || config_number(config, "projects.P.paused", p->name) != 0);
    print_pause(w, orphaned ? &lost : p->paused ? &p->pause : NULL);
    print_text(w, "pause_reason", orphaned ? "section_removed" : NULL);
    print_bool(w, "active", is_in_force(engine, p->name));
    print_bool(w, "coordination", config_number(config, "projects.P.coordination", p->name) != 0);
    print_int(w, "tokens", tokens);
    print_usd(w, "budget_usd", money.money.budget);
    print_usd(w, "usd", money.money.used);
    print_int(w, "unknown_cost_runs", money.unpriced);
    print_part(w, "share", share.tokens + share.reserved, sums->tokens);
    json_write_key(w, "target");
    json_write_double(w, world_target(&share, sums), 4);
    print_int(w, "ready", share.ready);
    print_int(w, "running", share.live);
    print_object(w, "counts");
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        print_int(w, task_state_name((enum task_state)s), share.by_state[s]);
    json_write_object_end(w);
    print_int(w, "external", p->external);
    print_text(w, "workspace_mode", config_text(config, "projects.P.workspace_mode", p->name));
    print_text(w, "merge", engine_project_merge(config, p->name));
    print_pool(w, engine, p->name);
    json_write_object_end(w);
}

/* --- limiters and groups --------------------------------------------------------------------- */

static const char *limiter_state(const struct limiter_view *l) {
    if (l->closed)
        return "closed";
    if (l->backoff_until)
        return "backoff";
    if (l->probing)
        return "probing";
    return l->cap < l->full_cap ? "ramping" : "open";
}

void world_print_limiter(struct json_writer *w, const struct engine *engine, const char *name) {
    struct limiter_view l = { .cap = UNLIMITED, .full_cap = UNLIMITED };
    sym symbol = op_symbol(engine, name);
    if (symbol)
        (void)core_limiter(engine_core(engine), symbol, &l);
    json_write_object_begin(w);
    print_text(w, "name", name);
    print_text(w, "state", limiter_state(&l));
    print_time(w, "opens_at", l.backoff_until);
    print_int(w, "hits", l.hits);
    print_time(w, "last_success", l.last_success);
    print_int(w, "used", l.used);
    print_amount(w, "cap", l.cap);
    struct engine_trouble t;
    if (l.closed && engine_trouble(engine, TROUBLE_ACCOUNT, name, &t)) {
        print_text(w, "agent", t.agent);
        print_text(w, "said", t.message);
        print_text(w, "fix", t.fix);
    }
    json_write_object_end(w);
}

void world_print_group(struct json_writer *w, const struct engine_group *group) {
    print_text(w, "name", group->name);
    print_bool(w, "owned", group->owned);
    print_bool(w, "closed", group->closed);
    print_time(w, "created_at", group->created_at);
    print_time(w, "closed_at", group->closed_at);
    print_int(w, "total", group->total);
    print_int(w, "open", group->open);
    print_int(w, "failed", group->failed);
}

/* --- limits ---------------------------------------------------------------------------------- */

struct limits {
    const struct engine *engine;
    world_limit each;
    void *ctx;
};

static void tell_limit(const struct limits *l, enum lease_kind kind, const char *name) {
    amount used = 0, cap = UNLIMITED;
    sym symbol = name ? op_symbol(l->engine, name) : 0;
    if ((name && !symbol) || !core_lease(engine_core(l->engine), kind, symbol, &used, &cap)
        || (used == 0 && cap == UNLIMITED))
        return;
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    strbuf_puts(&key, lease_kind_name(kind));
    if (name)
        strbuf_printf(&key, ":%s", name);
    l->each(l->ctx, strbuf_text(&key), used, cap);
}

static void tell_named(const struct limits *l, enum lease_kind kind, op_name_at at) {
    const char *name;
    for (size_t i = 0; (name = at(l->engine, i)); i++)
        tell_limit(l, kind, name);
}

static bool is_used(const struct engine *engine, const char *resource) {
    amount used = 0, cap = UNLIMITED;
    sym symbol = op_symbol(engine, resource);
    return symbol && core_lease(engine_core(engine), LEASE_RESOURCE, symbol, &used, &cap)
           && used > 0;
}

/* Those that somebody has named as a resource were told; a cluster has many that nobody uses. */
static void tell_partitions(const struct limits *l) {
    const char *key;
    for (size_t i = 0; (key = engine_partition_at(l->engine, i)); i++)
        if (!op_knows(l->engine, op_resource_at, key) && is_used(l->engine, key))
            tell_limit(l, LEASE_RESOURCE, key);
}

void world_each_limit(const struct engine *engine, world_limit each, void *ctx) {
    struct limits l = { engine, each, ctx };
    tell_limit(&l, LEASE_RUNS, NULL);
    tell_limit(&l, LEASE_ROOTS, NULL);
    tell_named(&l, LEASE_KIND, op_kind_at);
    tell_named(&l, LEASE_PROJECT, op_project_at);
    tell_named(&l, LEASE_REVIEW, op_project_at);
    tell_named(&l, LEASE_WORKSPACES, op_project_at);
    tell_named(&l, LEASE_AGENT, op_agent_at);
    tell_named(&l, LEASE_RESOURCE, op_resource_at);
    tell_partitions(&l);
}

static void print_limit(void *ctx, const char *key, amount used, amount cap) {
    struct json_writer *w = ctx;
    json_write_object_begin(w);
    print_text(w, "key", key);
    print_int(w, "used", used);
    print_amount(w, "cap", cap);
    json_write_object_end(w);
}

void world_print_limits(struct json_writer *w, const struct engine *engine) {
    json_write_array_begin(w);
    world_each_limit(engine, print_limit, w);
    json_write_array_end(w);
}

static void print_budget(struct json_writer *w, const char *key, const struct budgets_view *v) {
    json_write_object_begin(w);
    print_text(w, "key", key);
    print_int(w, "used", v->tokens.used);
    print_int(w, "reserved", v->tokens.reserved);
    print_amount(w, "cap", v->tokens.budget);
    print_usd(w, "usd_used", v->money.used);
    print_usd(w, "usd_reserved", v->money.reserved);
    print_usd(w, "usd_cap", v->money.budget);
    print_int(w, "unknown_cost_runs", v->unpriced);
    print_bool(w, "open", v->open);
    print_time(w, "opens_at", v->open || v->opens_at == TIME_NEVER ? 0 : v->opens_at);
    json_write_object_end(w);
}

void world_print_budgets(struct json_writer *w, const struct engine *engine) {
    struct budgets_view v = { 0 };
    json_write_array_begin(w);
    (void)core_budgets(engine_core(engine), 0, &v);
    print_budget(w, "global", &v);
    for (size_t i = 0; i < engine_project_count(engine); i++) {
        const struct engine_project *p = engine_project_at(engine, i);
        _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
        if (!core_budgets(engine_core(engine), p->symbol, &v)
            || (v.tokens.budget == UNLIMITED && v.money.budget == UNLIMITED))
            continue;
        strbuf_printf(&key, "project:%s", p->name);
        print_budget(w, strbuf_text(&key), &v);
    }
    json_write_array_end(w);
}
