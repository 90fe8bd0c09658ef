/* write.c: writes a core as a live snapshot. See write.h.
 *
 * The core exports its state as facts (core/core.h). Facts about the world are few and are kept
 * until the first task comes, because a project in the file needs several of them; then each task
 * is printed as it comes.
 *
 * Settings are read from the core's own specs through the rows of the settings table, and not from
 * the daemon's configuration: the file has what the core decides by, whatever a reload or a default
 * did to it. A setting is written when the reader would have another value without it. */
#include "snapshot/write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "base/money.h"
#include "base/utf8.h"
#include "config/config.h"
#include "config/settings.h"
#include "core/core.h"
#include "snapshot/decode.h"

#define PIECE       ((size_t)64 * 1024)
#define NUMBER_MOST 9007199254740991 /* as in schema.c */
#define PASSES                                                                                     \
    3 /* one setting may change what another means: max_wait_s puts `overdue` into the order */

enum name_role {
    NAME_PROJECT,
    NAME_KIND,
    NAME_AGENT,
    NAME_LIMITER,
    NAME_RESOURCE,
    NAME_WORKSPACE,
    NAME_PHASE,
    NAME_ROLE_MAX,
};

struct writer {
    const struct snapshot_source *source;
    const struct symbol_table *symbols;
    sym symbol_count; /* the names of the core; later ones are the writer's own */
    struct json_writer json;
    struct strbuf out, name, id;
    snapshot_sink sink;
    void *ctx;
    struct error *err;

    /* Facts about the world, in their order. */
    struct fact *world;
    size_t world_count, world_capacity;
    struct policy policy;
    bool policy_serial;
    size_t task_count;
    bool in_tasks;

    struct config *config; /* as the reader will have it: what differs from it is written */
};

/* --- names ----------------------------------------------------------------------------------- */

static bool name_fits(enum name_role role, const char *name, size_t length) {
    bool is_setting = role <= NAME_RESOURCE; /* it stands in a key of the configuration */
    return length > 0 && length <= TEXT_MAX && utf8_is_line(name, length)
           && (!is_setting || utf8_is_name(name, length));
}

/* The name to write; valid until the next call. NULL for 0. */
static const char *writer_name(struct writer *w, enum name_role role, sym symbol) {
    static const char *const roles[NAME_ROLE_MAX] = {
        [NAME_PROJECT] = "project", [NAME_KIND] = "kind",         [NAME_AGENT] = "agent",
        [NAME_LIMITER] = "limiter", [NAME_RESOURCE] = "resource", [NAME_WORKSPACE] = "workspace",
        [NAME_PHASE] = "phase",
    };
    if (symbol == 0)
        return NULL;
    const char *name = symbol_name(w->symbols, symbol);
    if (!w->source->anonymous && name_fits(role, name, strlen(name)))
        return name;
    strbuf_clear(&w->name);
    sym taken;
    do { /* a real name may look like a replacement */
        _cleanup_(strbuf_finish) struct strbuf shorter = STRBUF_INIT;
        strbuf_puts(&shorter, strbuf_text(&w->name));
        strbuf_clear(&w->name);
        if (shorter.length > 0)
            strbuf_printf(&w->name, "~%s", strbuf_text(&shorter));
        else
            strbuf_printf(&w->name, "%s-%" PRIu32, roles[role], symbol);
        taken = symbol_find(w->symbols, w->name.text, w->name.length);
    } while (!w->source->anonymous && taken != 0 && taken <= w->symbol_count);
    return strbuf_text(&w->name);
}

static const char *id_of(struct writer *w, task_id task) {
    strbuf_clear(&w->id);
    if (!w->source->anonymous && w->source->task_name)
        w->source->task_name(w->source->ctx, w->source->core, task, &w->id);
    if (w->id.length == 0 || w->id.length > TEXT_MAX || !utf8_is_line(w->id.text, w->id.length)) {
        strbuf_clear(&w->id);
        strbuf_printf(&w->id, "task-%" PRIu64, task);
    }
    return strbuf_text(&w->id);
}

/* --- members --------------------------------------------------------------------------------- */

static void put_int(struct writer *w, const char *key, int64_t value) {
    json_put_int(&w->json, key, value > NUMBER_MOST ? NUMBER_MOST : value);
}

/* Leaves out 0, the default. */
static void put_some(struct writer *w, const char *key, int64_t value) {
    if (value != 0)
        put_int(w, key, value);
}

static void put_text(struct writer *w, const char *key, const char *text) {
    if (text)
        json_put_string(&w->json, key, text);
}

static void put_name(struct writer *w, const char *key, enum name_role role, sym symbol) {
    put_text(w, key, writer_name(w, role, symbol));
}

static void put_id(struct writer *w, const char *key, task_id task) {
    if (task)
        put_text(w, key, id_of(w, task));
}

static void put_true(struct writer *w, const char *key, bool value) {
    if (value)
        json_put_bool(&w->json, key, true);
}

static void put_bool(struct writer *w, const char *key, bool value) {
    json_put_bool(&w->json, key, value);
}

static void put_decimal(struct writer *w, const char *key, int64_t value, int64_t unit,
                        int decimals) {
    json_put_int(&w->json, key, value / unit);
    if (value % unit)
        strbuf_printf(&w->out, ".%0*" PRId64, decimals, value % unit);
}

static void put_usd(struct writer *w, const char *key, int64_t micro) {
    json_put_int(&w->json, key, 0); /* commas and state; the digits follow */
    w->out.length--;
    money_put_number(&w->out, micro);
}

static void put_words(struct writer *w, const char *key, unsigned bits,
                      const char *(*word)(int number)) {
    if (bits == 0)
        return;
    json_put_array(&w->json, key);
    for (int i = 0; bits >> i; i++)
        if (bits >> i & 1u)
            json_write_string(&w->json, word(i));
    json_write_array_end(&w->json);
}

static void put_resources(struct writer *w, const sym *resources, size_t count) {
    if (count == 0)
        return;
    json_put_array(&w->json, "resources");
    for (size_t i = 0; i < count; i++)
        json_write_string(&w->json, writer_name(w, NAME_RESOURCE, resources[i]));
    json_write_array_end(&w->json);
}

static int flush(struct writer *w, size_t least) {
    if (w->out.length < least)
        return 0;
    int r = w->sink(w->ctx, strbuf_text(&w->out), w->out.length);
    strbuf_clear(&w->out);
    return r < 0 ? r : 0;
}

/* --- settings -------------------------------------------------------------------------------- */

/* "projects.P.weight" and "web" become "projects.web.weight". */
static void print_key(const char *pattern, const char *name, struct strbuf *out) {
    while (*pattern) {
        size_t length = strcspn(pattern, ".");
        bool is_name = name && length == 1 && pattern[0] >= 'A' && pattern[0] <= 'Z';
        if (is_name)
            strbuf_puts(out, name);
        else
            strbuf_add(out, pattern, length);
        pattern += length;
        if (*pattern == '.')
            strbuf_putc(out, *pattern++);
    }
}

static int cannot_write(struct writer *w, const char *pattern, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    print_key(pattern, name, &key);
    return error_prefix(w->err, "the setting '%s' cannot be written to a snapshot",
                        strbuf_text(&key));
}

/* Writes it, and sets it in the configuration that the reader will have. */
static int set_text(struct writer *w, const char *pattern, const char *name, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    print_key(pattern, name, &key);
    if (config_set(w->config, strbuf_text(&key), text, "snapshot", w->err) < 0)
        return cannot_write(w, pattern, name);
    json_put_string(&w->json, strbuf_text(&key), text);
    return 0;
}

static int set_number(struct writer *w, const char *pattern, const char *name, int64_t value) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    setting_print(settings_row(pattern), value, &text);
    return set_text(w, pattern, name, strbuf_text(&text));
}

/* A setting without a field in a spec. */
static int set_if_other(struct writer *w, const char *pattern, const char *name, int64_t value) {
    return config_number(w->config, pattern, name) == value ? 0
                                                            : set_number(w, pattern, name, value);
}

/* Sets and marks what differs. Nothing is written yet: a later setting may change an earlier
 * one. */
static int set_policy(struct writer *w, bool *marks) {
    size_t first, count = settings_of(SECTION_ROOT, &first);
    bool changed = true;
    for (int pass = 0; changed && pass < PASSES; pass++) {
        changed = false;
        for (size_t i = 0; i < count; i++) {
            const struct setting *row = &settings[first + i];
            if (row->size == 0)
                continue;
            int64_t value = setting_load(row, &w->policy);
            if (value == setting_load(row, config_policy(w->config)))
                continue;
            _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
            setting_print(row, value, &text);
            if (config_set(w->config, row->key, strbuf_text(&text), "snapshot", w->err) < 0)
                return cannot_write(w, row->key, NULL);
            marks[i] = true;
            changed = true;
        }
    }
    for (size_t i = 0; i < count; i++) {
        const struct setting *row = &settings[first + i];
        if (row->size > 0
            && setting_load(row, &w->policy) != setting_load(row, config_policy(w->config))) {
            (void)error_set(w->err, -ERANGE, "it depends on others");
            return cannot_write(w, row->key, NULL);
        }
    }
    return 0;
}

static int write_policy(struct writer *w) {
    size_t first, count = settings_of(SECTION_ROOT, &first);
    bool *marks = xcalloc(count + 1, sizeof(*marks));
    int r = set_policy(w, marks);
    for (size_t i = 0; r == 0 && i < count; i++) {
        if (!marks[i])
            continue;
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        setting_print(&settings[first + i], setting_load(&settings[first + i], &w->policy), &text);
        json_put_string(&w->json, settings[first + i].key, strbuf_text(&text));
    }
    free(marks);
    return r;
}

/* `spec`: what the core has; `known`: what the reader would have. */
static int write_rows(struct writer *w, enum setting_section section, const char *name,
                      const void *spec, const void *known) {
    size_t first, count = settings_of(section, &first);
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        const struct setting *row = &settings[first + i];
        if (row->size > 0 && setting_load(row, spec) != setting_load(row, known))
            r = set_number(w, row->key, name, setting_load(row, spec));
    }
    return r;
}

static int write_project_settings(struct writer *w, const struct project_spec *spec,
                                  const char *name) {
    struct project_spec known;
    config_project_spec(w->config, w->source->core, name, &known);
    int r = write_rows(w, SECTION_PROJECTS, name, spec, &known);
    int64_t money = spec->money.is_set ? spec->money.micro : UNLIMITED;
    return r == 0 ? set_if_other(w, "projects.P.budget_usd", name, money) : r;
}

static int write_kind_settings(struct writer *w, const struct kind_spec *spec, const char *name) {
    struct kind_spec known;
    config_kind_spec(w->config, w->source->core, name, &known);
    /* Always, so that the configuration knows it: a task of it may come. */
    int r = set_number(w, "kinds.K.max_running", name, spec->max_running);
    known.max_running = spec->max_running;
    return r == 0 ? write_rows(w, SECTION_KINDS, name, spec, &known) : r;
}

static int write_limiter_settings(struct writer *w, const struct limiter_spec *spec,
                                  const char *name) {
    struct limiter_spec known = *spec;
    config_limiter_spec(w->config, w->source->core, name, &known);
    return write_rows(w, SECTION_LIMITERS, name, spec, &known);
}

/* Only agents that the core knows: others take nothing over. */
static int write_failover(struct writer *w, const struct agent_spec *spec, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf words = STRBUF_INIT, key = STRBUF_INIT;
    struct json_writer json;
    size_t count = 0;
    print_key("agents.A.failover", name, &key);
    json_write_init(&json, &words, false);
    json_write_array_begin(&json);
    for (unsigned i = 0; i < spec->failover_count; i++) {
        if (!core_agent_spec(w->source->core, spec->failover[i], &(struct agent_spec){ 0 }))
            continue;
        json_write_string(&json, writer_name(w, NAME_AGENT, spec->failover[i]));
        count++;
    }
    json_write_array_end(&json);
    const char *const *before;
    if (count == 0 && config_words(w->config, "agents.A.failover", name, &before) == 0)
        return 0;
    if (config_set(w->config, strbuf_text(&key), strbuf_text(&words), "snapshot", w->err) < 0)
        return cannot_write(w, "agents.A.failover", name);
    json_put_array(&w->json, strbuf_text(&key));
    for (unsigned i = 0; i < spec->failover_count; i++)
        if (core_agent_spec(w->source->core, spec->failover[i], &(struct agent_spec){ 0 }))
            json_write_string(&w->json, writer_name(w, NAME_AGENT, spec->failover[i]));
    json_write_array_end(&w->json);
    return 0;
}

static int write_agent_settings(struct writer *w, const struct agent_spec *spec, const char *name) {
    struct agent_spec known = *spec;
    config_agent_spec(w->config, w->source->core, name, &known);
    /* Always, so that the configuration knows it: others may fail over to it. */
    int r = set_number(w, "agents.A.slots", name, spec->slots);
    known.slots = spec->slots;
    if (r == 0)
        r = write_rows(w, SECTION_AGENTS, name, spec, &known);
    const char *limiter = spec->limiter ? writer_name(w, NAME_LIMITER, spec->limiter) : "";
    if (r == 0 && strcmp(config_text(w->config, "agents.A.limiter", name), limiter) != 0)
        r = set_text(w, "agents.A.limiter", name, limiter);
    return r == 0 ? write_failover(w, spec, name) : r;
}

static int write_budget(struct writer *w, const struct fact *fact) {
    int64_t money = fact->money_budget.is_set ? fact->money_budget.micro : UNLIMITED;
    int r = set_if_other(w, "budget", NULL, fact->budget);
    return r == 0 ? set_if_other(w, "budget_usd", NULL, money) : r;
}

static int write_fact_settings(struct writer *w, const struct fact *fact) {
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    switch ((int)fact->kind) {
    case FACT_PROJECT:
        strbuf_puts(&name, writer_name(w, NAME_PROJECT, fact->project.id));
        return write_project_settings(w, &fact->project, strbuf_text(&name));
    case FACT_KIND:
        strbuf_puts(&name, writer_name(w, NAME_KIND, fact->kind_spec.id));
        return write_kind_settings(w, &fact->kind_spec, strbuf_text(&name));
    case FACT_LIMITER:
        strbuf_puts(&name, writer_name(w, NAME_LIMITER, fact->limiter.id));
        return write_limiter_settings(w, &fact->limiter, strbuf_text(&name));
    case FACT_AGENT:
        strbuf_puts(&name, writer_name(w, NAME_AGENT, fact->agent.id));
        return write_agent_settings(w, &fact->agent, strbuf_text(&name));
    case FACT_RESOURCE:
        strbuf_puts(&name, writer_name(w, NAME_RESOURCE, fact->resource.id));
        return set_if_other(w, "limits.resource.N", strbuf_text(&name), fact->resource.cap);
    case FACT_BUDGET:
        return write_budget(w, fact);
    default:
        return 0;
    }
}

static int write_config(struct writer *w) {
    json_put_object(&w->json, "config");
    int r = set_text(w, "preset", NULL, w->source->preset);
    if (r == 0)
        r = write_policy(w);
    for (size_t i = 0; r == 0 && i < w->world_count; i++)
        r = write_fact_settings(w, &w->world[i]);
    json_write_object_end(&w->json);
    return r;
}

/* --- the world ------------------------------------------------------------------------------- */

static const struct fact *find_external(const struct writer *w, sym project, sym limiter) {
    for (size_t i = 0; i < w->world_count; i++) {
        const struct fact *f = &w->world[i];
        if (f->kind == FACT_EXTERNAL && f->external.project == project
            && f->external.limiter == limiter)
            return f;
    }
    return NULL;
}

static void put_external(struct writer *w, sym project, sym limiter) {
    const struct fact *f = find_external(w, project, limiter);
    if (!f)
        return;
    put_some(w, "running", f->external.running);
    put_some(w, "running_roots", f->external.roots);
}

static void write_project(struct writer *w, const struct fact *fact) {
    put_name(w, "id", NAME_PROJECT, fact->project.id);
    put_external(w, fact->project.id, 0);
}

static void write_agent(struct writer *w, const struct fact *fact) {
    const struct agent_spec *a = &fact->agent;
    put_name(w, "id", NAME_AGENT, a->id);
    if (a->roster)
        put_bool(w, "idle", a->idle);
    put_some(w, "launch_failures", a->launch_failures);
    put_some(w, "openings", a->openings);
    put_some(w, "closed_until", a->closed_until);
}

static void write_limiter(struct writer *w, const struct fact *fact) {
    const struct limiter_spec *l = &fact->limiter;
    put_name(w, "id", NAME_LIMITER, l->id);
    put_some(w, "backoff_until", l->backoff_until);
    put_some(w, "hits", l->hits);
    put_true(w, "closed", l->closed);
    put_true(w, "in_backoff", l->in_backoff);
    if (l->in_backoff) {
        put_some(w, "backoff_since", l->backoff_since);
        put_some(w, "last_hit", l->last_hit);
    }
    put_some(w, "ramp_since", l->ramp_since);
    put_external(w, 0, l->id);
}

static void write_usage(struct writer *w, const struct fact *fact) {
    const struct usage_spec *u = &fact->usage;
    put_name(w, "project", NAME_PROJECT, u->project);
    put_int(w, "at", u->at);
    put_some(w, "tokens", u->tokens);
    put_some(w, "unreported", u->unreported);
    if (u->money)
        put_usd(w, "usd", u->money);
    put_some(w, "starts", u->starts);
    put_some(w, "completed", u->completions);
    put_some(w, "reports", u->reports);
    put_some(w, "priced", u->priced);
    put_some(w, "unpriced", u->unpriced);
}

static void write_wait(struct writer *w, const struct fact *fact) {
    put_name(w, "project", NAME_PROJECT, fact->wait.project);
    put_name(w, "limiter", NAME_LIMITER, fact->wait.limiter);
    put_name(w, "agent", NAME_AGENT, fact->wait.agent);
    put_some(w, "lost", fact->wait.lost);
    put_some(w, "closed_since", fact->wait.closed_since);
}

/* A list of all facts of one kind, unless it is empty. */
static void write_list(struct writer *w, const char *key, enum fact_kind kind,
                       void (*each)(struct writer *w, const struct fact *fact)) {
    bool any = false;
    for (size_t i = 0; i < w->world_count; i++) {
        if (w->world[i].kind != kind)
            continue;
        if (!any)
            json_put_array(&w->json, key);
        any = true;
        json_write_object_begin(&w->json);
        each(w, &w->world[i]);
        json_write_object_end(&w->json);
    }
    if (any)
        json_write_array_end(&w->json);
}

static void write_workspaces(struct writer *w) {
    bool any = false;
    for (size_t i = 0; i < w->world_count; i++) {
        const struct fact *f = &w->world[i];
        if (f->kind != FACT_WORKSPACE)
            continue;
        if (!any)
            json_put_object(&w->json, "workspaces");
        any = true;
        const char *name = writer_name(w, NAME_WORKSPACE, f->workspace.id);
        if (f->workspace.locked_by)
            put_id(w, name, f->workspace.locked_by);
        else
            put_true(w, name, true);
    }
    if (any)
        json_write_object_end(&w->json);
}

static void write_pace(struct writer *w, const struct pace_spec *pace) {
    json_put_object(&w->json, "pace");
    put_true(w, "ticking", pace->ticking);
    put_some(w, "tick_began", pace->tick_began);
    put_some(w, "tick_starts", pace->tick_starts);
    if (pace->started)
        put_int(w, "last_start", pace->last_start);
    json_write_object_end(&w->json);
}

static void write_claim(struct writer *w, const struct claim_spec *claim) {
    json_put_object(&w->json, "claim");
    put_id(w, "task", claim->task);
    put_words(w, "leases", claim->leases, schema_lease_word);
    put_resources(w, claim->resources, claim->resource_count);
    json_write_object_end(&w->json);
}

static void write_host(struct writer *w, const struct fact *fact) {
    if (fact->host.disk_free_mb >= 0)
        put_decimal(w, "disk_free_gb", fact->host.disk_free_mb, 1000, 3);
    if (fact->host.memory_free_mb >= 0)
        put_int(w, "memory_free_mb", fact->host.memory_free_mb);
    if (fact->host.load_milli >= 0)
        put_decimal(w, "load", fact->host.load_milli, 1000, 3);
}

static void write_scalars(struct writer *w) {
    for (size_t i = 0; i < w->world_count; i++) {
        const struct fact *f = &w->world[i];
        if (f->kind == FACT_PAUSE)
            put_true(w, "paused", true);
        else if (f->kind == FACT_HOST)
            write_host(w, f);
        else if (f->kind == FACT_PACE)
            write_pace(w, &f->pace);
        else if (f->kind == FACT_CLAIM)
            write_claim(w, &f->claim);
    }
    put_external(w, 0, 0);
}

static int write_world(struct writer *w) {
    json_write_object_begin(&w->json);
    put_bool(w, "live", true);
    for (size_t i = 0; i < w->world_count; i++)
        if (w->world[i].kind == FACT_CLOCK)
            put_int(w, "now", w->world[i].now);
    int r = write_config(w);
    if (r < 0)
        return r;
    w->policy_serial = config_policy(w->config)->serial;
    write_scalars(w);
    write_list(w, "projects", FACT_PROJECT, write_project);
    write_list(w, "limiters", FACT_LIMITER, write_limiter);
    write_list(w, "agents", FACT_AGENT, write_agent);
    write_workspaces(w);
    write_list(w, "usage", FACT_USAGE, write_usage);
    write_list(w, "waits", FACT_WAIT, write_wait);
    strbuf_puts(&w->out, ",\n\"tasks\":[");
    w->in_tasks = true;
    return 0;
}

/* --- tasks ----------------------------------------------------------------------------------- */

static void write_lists(struct writer *w, const struct task_spec *t) {
    if (t->depends_on_count > 0) {
        json_put_array(&w->json, "depends_on");
        for (size_t i = 0; i < t->depends_on_count; i++)
            json_write_string(&w->json, id_of(w, t->depends_on[i]));
        json_write_array_end(&w->json);
    }
    put_resources(w, t->resources, t->resource_count);
}

static void write_run(struct writer *w, const struct task_spec *t) {
    put_text(w, "phase", t->phase == PHASE_WORKING ? NULL : run_phase_name(t->phase));
    put_some(w, "started_at", t->started_at);
    put_text(w, "stop", t->stop == STOP_NONE ? NULL : stop_request_name(t->stop));
    put_name(w, "run_agent", NAME_AGENT, t->run_agent);
    put_name(w, "run_limiter", NAME_LIMITER, t->run_unlimited ? 0 : t->run_limiter);
    put_id(w, "lender", t->lender);
    put_words(w, "borrowed", t->borrowed, schema_lend_word);
}

static void write_counters(struct writer *w, const struct task_spec *t) {
    if (t->iteration != 1)
        put_int(w, "iteration", t->iteration);
    put_some(w, "attempt", t->attempt);
    put_some(w, "failures", t->failures);
    put_some(w, "launch_failures", t->launch_failures);
    put_some(w, "losses", t->losses);
    put_some(w, "restarts", t->restarts);
    put_some(w, "breaker_openings", t->breaker_openings);
    if (t->retry_max >= 0)
        put_int(w, "retry_max", t->retry_max);
}

/* Without the closing bracket: the tokens of its run may follow. */
static void write_task(struct writer *w, const struct task_spec *t) {
    json_write_init(&w->json, &w->out, false);
    strbuf_puts(&w->out, w->task_count++ ? ",\n" : "\n");
    json_write_object_begin(&w->json);
    put_id(w, "id", t->id);
    put_name(w, "project", NAME_PROJECT, t->project);
    put_name(w, "kind", NAME_KIND, t->kind);
    put_text(w, "state", task_state_name(t->state));
    put_text(w, "hold", t->state == TASK_HELD ? hold_name(t->hold) : NULL);
    if (t->priority != 100)
        put_int(w, "priority", t->priority);
    put_name(w, "agent", NAME_AGENT, t->agent);
    put_true(w, "bound", t->bound);
    put_name(w, "limiter", NAME_LIMITER, t->limiter);
    put_name(w, "workspace", NAME_WORKSPACE, t->workspace);
    put_name(w, "serial", NAME_PHASE, t->serial);
    if (t->parallelizable == w->policy_serial)
        put_bool(w, "parallelizable", t->parallelizable);
    if (t->parent) {
        put_id(w, "parent", t->parent);
        put_text(w, "parent_gate", parent_gate_name(t->parent_gate));
        put_some(w, "parent_iteration", t->parent_iteration);
    }
    put_text(w, "until", until_name(t->until));
    put_true(w, "review", t->review);
    if (t->artifact_missing)
        put_bool(w, "artifact_present", false);
    put_int(w, "created_at", t->created_at);
    if (t->state == TASK_READY || t->state == TASK_STARTING) {
        put_some(w, "ready_since", t->ready_since);
        put_some(w, "ready_clock", t->ready_clock);
        put_some(w, "enqueued_at", t->enqueued_at);
    }
    put_some(w, "not_before", t->not_before);
    put_words(w, "keeps", t->keeps, schema_keep_word);
    write_counters(w, t);
    if (task_state_is_live(t->state))
        write_run(w, t);
    write_lists(w, t);
}

static int take_fact(void *ctx, const struct fact *fact) {
    struct writer *w = ctx;
    if (fact->kind == FACT_RUN_TOKENS) {
        if (fact->tokens >= 0)
            put_int(w, "tokens", fact->tokens);
        if (fact->money >= 0)
            put_usd(w, "usd", fact->money);
        return 0;
    }
    if (fact->kind == FACT_TASK_ADDED) {
        int r = w->in_tasks ? flush(w, PIECE) : write_world(w);
        if (r < 0)
            return r;
        if (w->task_count > 0)
            json_write_object_end(&w->json);
        write_task(w, fact->spec);
        return 0;
    }
    if (fact->kind == FACT_POLICY) {
        w->policy = *fact->policy; /* the pointer is valid during the call only */
        return 0;
    }
    w->world = xgrow(w->world, &w->world_capacity, w->world_count + 1, sizeof(*w->world));
    w->world[w->world_count++] = *fact;
    return 0;
}

int snapshot_write(const struct snapshot_source *source, snapshot_sink sink, void *ctx,
                   struct error *err) {
    struct error unread = { 0 };
    struct writer w = {
        .source = source,
        .symbols = core_symbols(source->core),
        .symbol_count = core_symbols(source->core)->count,
        .sink = sink,
        .ctx = ctx,
        .err = err ? err : &unread,
        .config = config_new(),
    };
    json_write_init(&w.json, &w.out, false);
    int r = core_export(source->core, take_fact, &w);
    if (r == 0 && !w.in_tasks)
        r = write_world(&w);
    if (r == 0) {
        if (w.task_count > 0)
            json_write_object_end(&w.json);
        strbuf_puts(&w.out, "\n]}\n");
        r = flush(&w, 0);
    }
    free(w.world);
    strbuf_finish(&w.out);
    strbuf_finish(&w.name);
    strbuf_finish(&w.id);
    config_free(w.config);
    return r;
}
