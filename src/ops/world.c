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
    print_number(w, key, whole > 0 ? (double)part / (double)whole : 0, 4);
}

/* clang-format off */
#define POOL_PLACE(X) \
    X(print_text, "path", T_TEXT, "the folder", "/home/me/web-1", paths[i]) \
    X(print_id, "task", T_ID | T_NULL, "the task that has it", NULL, engine, engine_workspace_holder(engine, paths[i]))
static const struct shape pool_place = { "PoolPlace", "a folder of a project's pool", .members = SHAPE_ALL(POOL_PLACE) };
/* clang-format on */

/* The pool, and who is where. */
static void print_pool(struct json_writer *w, const struct engine *engine, const char *project) {
    const char *const *paths;
    size_t count =
        config_words(engine_config(engine), "projects.P.workspace_paths", project, &paths);
    print_list(w, "workspaces");
    for (size_t i = 0; i < count; i++) {
        json_write_object_begin(w);
        POOL_PLACE(SHAPE_PRINT)
        json_write_object_end(w);
    }
    json_write_array_end(w);
}

/* clang-format off */
#define PROJECT(X) \
    X(print_text, "name", T_TEXT, "its name", "web", p->name) \
    X(print_text, "prefix", T_TEXT, "what the ids of its tasks begin with", "web", p->prefix) \
    X(print_text, "path", T_TEXT | T_NULL, "its folder", "/home/me/web", p->path) \
    X(print_number, "weight", T_NUMBER, "its part of all tokens, compared with the others", NULL, (double)share.weight_milli / 1000.0, 3) \
    X(print_amount, "max_running", T_INT | T_NULL, "most runs at once; null: no limit", NULL, config_number(config, "projects.P.max_running", p->name)) \
    X(print_amount, "budget", T_INT | T_NULL, "its budget of tokens", NULL, config_number(config, "projects.P.budget", p->name)) \
    X(print_bool, "paused", T_BOOL, "nothing of it starts", NULL, p->paused || orphaned || config_number(config, "projects.P.paused", p->name) != 0) \
    X(print_text, "paused_by", T_TEXT | T_NULL, "who paused it", "ann", pause ? pause->by : NULL) \
    X(print_time, "paused_at", T_TIME | T_NULL, "when", NULL, pause ? pause->at : 0) \
    X(print_text, "pause_reason", T_TEXT | T_NULL, "`section_removed`: the configuration no longer names it", "section_removed", orphaned ? "section_removed" : NULL) \
    X(print_bool, "active", T_BOOL, "it takes part in shares", NULL, is_in_force(engine, p->name)) \
    X(print_bool, "coordination", T_BOOL, "its tasks are never slung", NULL, config_number(config, "projects.P.coordination", p->name) != 0) \
    X(print_int, "tokens", T_INT, "tokens used in the window", NULL, tokens) \
    X(print_usd, "budget_usd", T_USD | T_NULL, "its budget of dollars", NULL, money.money.budget) \
    X(print_usd, "usd", T_USD | T_NULL, "dollars used in the window", NULL, money.money.used) \
    X(print_int, "unknown_cost_runs", T_INT, "runs in the window that reported no cost", NULL, money.unpriced) \
    X(print_part, "share", T_NUMBER, "its part of all tokens in the window, live runs included", NULL, share.tokens + share.reserved, sums->tokens) \
    X(print_number, "target", T_NUMBER, "what its weight gives it among the projects that are open", NULL, world_target(&share, sums), 4) \
    X(print_int, "ready", T_INT, "tasks that could start", NULL, share.ready) \
    X(print_int, "running", T_INT, "live runs", NULL, share.live) \
    X(print_int, "external", T_INT, "live runs of it that do not belong to this daemon", NULL, p->external) \
    X(print_text, "workspace_mode", T_TEXT, "the setting of that name", "auto", config_text(config, "projects.P.workspace_mode", p->name)) \
    X(print_text, "merge", T_TEXT | T_NULL, "how the work of its tasks is brought in", "direct", engine_project_merge(config, p->name))
const struct shape shape_project = { "Project", "a project", .members = SHAPE_ROWS(
    PROJECT(SHAPE_ROW)
    { "counts", T_INT | T_MAP, "its tasks by state", &words_state },
    { "workspaces", T_OBJECT | T_LIST, "its pool", &pool_place }) };
/* clang-format on */

void world_print_project(struct json_writer *w, const struct engine *engine,
                         const struct engine_project *p, const struct world_sums *sums) {
    const struct config *config = engine_config(engine);
    struct share_view share = { 0 };
    (void)core_share(engine_core(engine), p->symbol, &share);
    int64_t tokens, reserved;
    struct budgets_view money = { 0 };
    world_tokens(engine, p, &tokens, &reserved);
    (void)core_budgets(engine_core(engine), p->symbol, &money);
    bool orphaned = p->standing == PROJECT_ORPHANED;
    struct engine_pause lost = { .at = p->standing_since };
    const struct engine_pause *pause = orphaned ? &lost : p->paused ? &p->pause : NULL;
    json_write_object_begin(w);
    PROJECT(SHAPE_PRINT)
    print_object(w, "counts");
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        print_int(w, task_state_name((enum task_state)s), share.by_state[s]);
    json_write_object_end(w);
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

/* clang-format off */
#define LIMITER(X) \
    X(print_text, "name", T_TEXT, "its name", "anthropic", name) \
    X(print_text, "state", T_WORD, "`backoff`: the provider said wait; `probing`: one run goes first; `ramping`: slots come back step by step; `closed`: a person must act, then clear it", &words_limiter, limiter_state(&l)) \
    X(print_time, "opens_at", T_TIME | T_NULL, "when the backoff ends", NULL, l.backoff_until) \
    X(print_int, "hits", T_INT, "limits hit in a row", NULL, l.hits) \
    X(print_time, "last_success", T_TIME | T_NULL, "when a run that used it last ended well", NULL, l.last_success) \
    X(print_int, "used", T_INT, "slots in use", NULL, l.used) \
    X(print_amount, "cap", T_INT | T_NULL, "slots; null: no limit", NULL, l.cap)
const struct shape shape_limiter = { "Limiter", "a provider account", .members = SHAPE_ROWS(
    LIMITER(SHAPE_ROW)
    { "agent", T_TEXT | T_NULL | T_MAYBE, "of one that was closed because a login or a bill was refused: whose", "claude" },
    { "said", T_TEXT | T_NULL | T_MAYBE, "what it said", "Credit balance is too low" },
    { "fix", T_TEXT | T_NULL | T_MAYBE, "what to do", "add credit, then: sluice limiter clear anthropic" }) };
/* clang-format on */

void world_print_limiter(struct json_writer *w, const struct engine *engine, const char *name) {
    struct limiter_view l = { .cap = UNLIMITED, .full_cap = UNLIMITED };
    sym symbol = op_symbol(engine, name);
    if (symbol)
        (void)core_limiter(engine_core(engine), symbol, &l);
    json_write_object_begin(w);
    LIMITER(SHAPE_PRINT)
    struct engine_trouble t;
    if (l.closed && engine_trouble(engine, TROUBLE_ACCOUNT, name, &t)) {
        print_text(w, "agent", t.agent);
        print_text(w, "said", t.message);
        print_text(w, "fix", t.fix);
    }
    json_write_object_end(w);
}

/* clang-format off */
#define GROUP(X) \
    X(print_text, "name", T_TEXT, "its name", "night", group->name) \
    X(print_bool, "owned", T_BOOL, "it is not closed when all its tasks are final", NULL, group->owned) \
    X(print_bool, "closed", T_BOOL, "it is closed", NULL, group->closed) \
    X(print_time, "created_at", T_TIME | T_NULL, "when it was opened", NULL, group->created_at) \
    X(print_time, "closed_at", T_TIME | T_NULL, "when it was closed", NULL, group->closed_at) \
    X(print_int, "total", T_INT, "its tasks", NULL, group->total) \
    X(print_int, "open", T_INT, "those that are not final", NULL, group->open) \
    X(print_int, "failed", T_INT, "those that failed", NULL, group->failed)
const struct shape shape_group = { "Group", "tasks that are followed together", .members = SHAPE_ALL(GROUP) };
/* clang-format on */

void world_print_group(struct json_writer *w, const struct engine_group *group) {
    GROUP(SHAPE_PRINT)
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

/* clang-format off */
#define LIMIT(X) \
    X(print_text, "key", T_TEXT, "which", "runs", key) \
    X(print_int, "used", T_INT, "slots in use", NULL, used) \
    X(print_amount, "cap", T_INT | T_NULL, "slots; null: no limit", NULL, cap)
const struct shape shape_limit = { "Limit", "a limit that has a cap or is used", .members = SHAPE_ALL(LIMIT) };
/* clang-format on */

static void print_limit(void *ctx, const char *key, amount used, amount cap) {
    struct json_writer *w = ctx;
    json_write_object_begin(w);
    LIMIT(SHAPE_PRINT)
    json_write_object_end(w);
}

void world_print_limits(struct json_writer *w, const struct engine *engine) {
    json_write_array_begin(w);
    world_each_limit(engine, print_limit, w);
    json_write_array_end(w);
}

/* clang-format off */
#define BUDGET(X) \
    X(print_text, "key", T_TEXT, "`global` or `project:NAME`", "global", key) \
    X(print_int, "used", T_INT, "tokens used", NULL, v->tokens.used) \
    X(print_int, "reserved", T_INT, "tokens reserved for live runs", NULL, v->tokens.reserved) \
    X(print_amount, "cap", T_INT | T_NULL, "tokens; null: no budget", NULL, v->tokens.budget) \
    X(print_usd, "usd_used", T_USD | T_NULL, "dollars used", NULL, v->money.used) \
    X(print_usd, "usd_reserved", T_USD | T_NULL, "dollars reserved", NULL, v->money.reserved) \
    X(print_usd, "usd_cap", T_USD | T_NULL, "dollars; null: no budget", NULL, v->money.budget) \
    X(print_int, "unknown_cost_runs", T_INT, "runs that reported no cost", NULL, v->unpriced) \
    X(print_bool, "open", T_BOOL, "something is left", NULL, v->open) \
    X(print_time, "opens_at", T_TIME | T_NULL, "when something is left again, if it is known", NULL, v->open || v->opens_at == TIME_NEVER ? 0 : v->opens_at)
const struct shape shape_budget = { "Budget", "a budget, and what is used of it", .members = SHAPE_ALL(BUDGET) };
/* clang-format on */

static void print_budget(struct json_writer *w, const char *key, const struct budgets_view *v) {
    json_write_object_begin(w);
    BUDGET(SHAPE_PRINT)
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
