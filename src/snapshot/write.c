/* write.c: writes a core as a live snapshot. See write.h.
 *
 * The core exports its state as facts (core/core.h). Facts about the world are few. They are kept
 * until the first task arrives, because a project in the file needs several of them; from then on
 * each task is printed as it arrives.
 *
 * Settings are read from the core's own specs through the rows of the settings table, not from the
 * daemon's configuration: the core may still use a value that a reload or a default has replaced.
 * A setting is written if the reader would have another value without it. */
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
#include "os/zoneinfo.h"
#include "snapshot/coming.h"
#include "snapshot/decode.h"

#define PIECE ((size_t)64 * 1024)
/* One setting may change another: max_wait_s puts `overdue` into the order. */
#define PASSES 3

struct writer {
    const struct snapshot_source *source;
    const struct symbol_table *symbols;
    sym symbol_count; /* names of the core; the writer interns others after them */
    struct json_writer json;
    struct strbuf out, name, id;
    snapshot_sink sink;
    void *ctx;
    struct error *err;

    /* Facts about the world, in their order. */
    struct fact *world;
    size_t world_count, world_capacity;
    struct policy policy;
    size_t task_count;
    bool in_tasks;

    struct config *config; /* as the reader will have it: what differs from it is written */
};

/* --- names ----------------------------------------------------------------------------------- */

/* The name to write; valid until the next call. NULL for 0. */
static const char *writer_name(struct writer *w, enum name_role role, sym symbol) {
    static const char *const roles[NAME_ROLE_MAX] = {
        [NAME_PROJECT] = "project", [NAME_KIND] = "kind",         [NAME_AGENT] = "agent",
        [NAME_LIMITER] = "limiter", [NAME_RESOURCE] = "resource", [NAME_WORKSPACE] = "workspace",
        [NAME_PHASE] = "phase",     [NAME_SCHEDULE] = "schedule",
    };
    if (symbol == 0)
        return NULL;
    const char *name = symbol_name(w->symbols, symbol);
    size_t length = strlen(name);
    /* it is part of a setting's key */
    bool is_setting = role <= NAME_RESOURCE || role == NAME_SCHEDULE;
    if (!w->source->anonymous && length > 0 && length <= TEXT_MAX && utf8_is_line(name, length)
        && (!is_setting || utf8_is_name(name, length)))
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

static void put_milli(struct writer *w, const char *key, int64_t milli) {
    json_put_int(&w->json, key, milli / 1000);
    if (milli % 1000)
        strbuf_printf(&w->out, ".%03" PRId64, milli % 1000);
}

static void put_resources(struct writer *w, const sym *resources, size_t count) {
    if (count == 0)
        return;
    json_put_array(&w->json, "resources");
    for (size_t i = 0; i < count; i++)
        json_write_string(&w->json, writer_name(w, NAME_RESOURCE, resources[i]));
    json_write_array_end(&w->json);
}

static void put_steps(struct writer *w, const struct escalation_spec *steps) {
    if (steps->count == 0)
        return;
    json_put_array(&w->json, "escalate");
    for (unsigned i = 0; i < steps->count; i++)
        json_write_string(&w->json,
                          steps->agents[i] ? writer_name(w, NAME_AGENT, steps->agents[i]) : ":");
    json_write_array_end(&w->json);
}

/* The value of a scalar member of a record. */
static int64_t load_member(const struct field *f, const void *record) {
    const void *at = (const char *)record + f->offset;
    switch ((int)f->type) {
    case FIELD_BOOL:
        return *(const bool *)at;
    case FIELD_SWITCH:
        return *(const int8_t *)at;
    case FIELD_UINT16:
        return *(const uint16_t *)at;
    case FIELD_INT32:
    case FIELD_WORD:
        return *(const int32_t *)at;
    case FIELD_UINT32:
    case FIELD_SYMBOL:
    case FIELD_WORDS:
        return *(const uint32_t *)at;
    case FIELD_INT64:
    case FIELD_ID:
    case FIELD_USD:
        return *(const int64_t *)at;
    default:
        return 0;
    }
}

/* Writes the scalar members of the record that do not have their initial value. */
static void put_members(struct writer *w, const struct object *object, const void *record) {
    for (const struct field *f = object->fields; f < object->fields + object->count; f++) {
        int64_t value = load_member(f, record);
        if (value == load_member(f, object->initial))
            continue;
        switch ((int)f->type) {
        case FIELD_BOOL:
        case FIELD_SWITCH:
            json_put_bool(&w->json, f->name, value);
            break;
        case FIELD_WORD:
            json_put_string(&w->json, f->name, f->word((int)value));
            break;
        case FIELD_WORDS:
            json_put_array(&w->json, f->name);
            for (int i = 0; value >> i; i++)
                if (value >> i & 1)
                    json_write_string(&w->json, f->word(i));
            json_write_array_end(&w->json);
            break;
        case FIELD_SYMBOL:
            json_put_string(&w->json, f->name, writer_name(w, f->role, (sym)value));
            break;
        case FIELD_ID:
            json_put_string(&w->json, f->name, id_of(w, (task_id)value));
            break;
        case FIELD_USD:
            json_put_int(&w->json, f->name, 0); /* for commas and state: the digits follow */
            w->out.length--;
            money_put_number(&w->out, value);
            break;
        default:
            json_put_int(&w->json, f->name, value > NUMBER_MOST ? NUMBER_MOST : value);
            break;
        }
    }
}

static int flush(struct writer *w, size_t least) {
    if (w->out.length < least)
        return 0;
    int r = w->sink(w->ctx, strbuf_text(&w->out), w->out.length);
    strbuf_clear(&w->out);
    return r < 0 ? r : 0;
}

/* --- settings -------------------------------------------------------------------------------- */

static int cannot_write(struct writer *w, const char *pattern, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    setting_print_key(settings_row(pattern), name, &key);
    return error_prefix(w->err, "the setting '%s' cannot be written to a snapshot",
                        strbuf_text(&key));
}

/* Writes it, and sets it in the configuration that the reader will have. */
static int set_text(struct writer *w, const char *pattern, const char *name, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    setting_print_key(settings_row(pattern), name, &key);
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

/* For a setting that is not a member of a spec. */
static int set_if_other(struct writer *w, const char *pattern, const char *name, int64_t value) {
    return config_number(w->config, pattern, name) == value ? 0
                                                            : set_number(w, pattern, name, value);
}

/* Sets the rows that differ, and writes them when none does: a later setting may change an earlier
 * one. */
static int write_policy(struct writer *w) {
    size_t first, count = settings_of(SECTION_ROOT, &first);
    bool changed = true;
    for (int pass = 0; changed; pass++) {
        changed = false;
        for (const struct setting *row = &settings[first]; row < &settings[first + count]; row++) {
            int64_t value = row->size > 0 ? setting_load(row, &w->policy) : 0;
            if (row->size == 0 || value == setting_load(row, config_policy(w->config)))
                continue;
            _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
            setting_print(row, value, &text);
            int r = pass < PASSES
                        ? config_set(w->config, row->key, strbuf_text(&text), "snapshot", w->err)
                        : error_set(w->err, -ERANGE, "it depends on others");
            if (r < 0)
                return cannot_write(w, row->key, NULL);
            changed = true;
        }
    }
    for (const struct setting *row = &settings[first]; row < &settings[first + count]; row++) {
        if (row->size == 0 || !config_is_chosen(w->config, row->key))
            continue;
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        setting_print(row, setting_load(row, &w->policy), &text);
        json_put_string(&w->json, row->key, strbuf_text(&text));
    }
    return 0;
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
    /* Always written, so that the configuration knows the kind: a task may name it later. */
    int r = set_number(w, "kinds.K.max_running", name, spec->max_running);
    known.max_running = spec->max_running;
    return r == 0 ? write_rows(w, SECTION_KINDS, name, spec, &known) : r;
}

/* Models are not in the core, and no decision depends on them. */
#define ANOTHER_MODEL ":another"

/* Lists only agents that the core knows: others cannot take over tasks. `agents[i]` 0: the same
 * agent with another model. */
static int write_agents(struct writer *w, const char *setting, const char *name, const sym *agents,
                        unsigned agent_count) {
    _cleanup_(strbuf_finish) struct strbuf words = STRBUF_INIT, key = STRBUF_INIT;
    struct json_writer json;
    size_t count = 0;
    setting_print_key(settings_row(setting), name, &key);
    json_write_init(&json, &words, false);
    json_write_array_begin(&json);
    for (unsigned i = 0; i < agent_count; i++) {
        if (agents[i] && !core_agent_spec(w->source->core, agents[i], &(struct agent_spec){ 0 }))
            continue;
        json_write_string(&json, agents[i] ? writer_name(w, NAME_AGENT, agents[i]) : ANOTHER_MODEL);
        count++;
    }
    json_write_array_end(&json);
    const char *const *before;
    if (count == 0 && config_words(w->config, setting, name, &before) == 0)
        return 0;
    if (config_set(w->config, strbuf_text(&key), strbuf_text(&words), "snapshot", w->err) < 0)
        return cannot_write(w, setting, name);
    json_put_null(&w->json, strbuf_text(&key)); /* for commas and state: the list follows */
    w->out.length -= strlen("null");
    strbuf_puts(&w->out, strbuf_text(&words));
    return 0;
}

static int write_agent_settings(struct writer *w, const struct agent_spec *spec, const char *name) {
    struct agent_spec known;
    config_agent_spec(w->config, w->source->core, name, &known);
    /* Always written, so that the configuration knows the agent: others may fail over to it. */
    int r = set_number(w, "agents.A.slots", name, spec->slots);
    known.slots = spec->slots;
    if (r == 0)
        r = write_rows(w, SECTION_AGENTS, name, spec, &known);
    const char *limiter = spec->limiter ? writer_name(w, NAME_LIMITER, spec->limiter) : "";
    if (r == 0 && strcmp(config_text(w->config, "agents.A.limiter", name), limiter) != 0)
        r = set_text(w, "agents.A.limiter", name, limiter);
    if (r == 0)
        r = write_agents(w, "agents.A.failover", name, spec->failover, spec->failover_count);
    if (r == 0)
        r = write_agents(w, "agents.A.escalate", name, spec->escalate, spec->escalate_count);
    return r;
}

static int write_fact_settings(struct writer *w, const struct fact *fact) {
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT; /* writer_name reuses its buffer */
    struct limiter_spec known;
    int r;
    switch ((int)fact->kind) {
    case FACT_PROJECT:
        strbuf_puts(&name, writer_name(w, NAME_PROJECT, fact->project.id));
        return write_project_settings(w, &fact->project, strbuf_text(&name));
    case FACT_KIND:
        strbuf_puts(&name, writer_name(w, NAME_KIND, fact->kind_spec.id));
        return write_kind_settings(w, &fact->kind_spec, strbuf_text(&name));
    case FACT_LIMITER:
        strbuf_puts(&name, writer_name(w, NAME_LIMITER, fact->limiter.id));
        config_limiter_spec(w->config, w->source->core, strbuf_text(&name), &known);
        return write_rows(w, SECTION_LIMITERS, strbuf_text(&name), &fact->limiter, &known);
    case FACT_AGENT:
        strbuf_puts(&name, writer_name(w, NAME_AGENT, fact->agent.id));
        return write_agent_settings(w, &fact->agent, strbuf_text(&name));
    case FACT_RESOURCE:
        strbuf_puts(&name, writer_name(w, NAME_RESOURCE, fact->resource.id));
        return set_if_other(w, "limits.resource.N", strbuf_text(&name), fact->resource.cap);
    case FACT_BUDGET:
        r = set_if_other(w, "budget", NULL, fact->budget);
        return r < 0
                   ? r
                   : set_if_other(w, "budget_usd", NULL,
                                  fact->money_budget.is_set ? fact->money_budget.micro : UNLIMITED);
    default:
        return 0;
    }
}

static int write_hours(struct writer *w, const struct opening *one) {
    static const struct {
        enum name_role role;
        const char *hours, *timezone;
    } scopes[] = {
        [LEASE_PROJECT] = { NAME_PROJECT, "projects.P.hours", "projects.P.timezone" },
        [LEASE_AGENT] = { NAME_AGENT, "agents.A.hours", "agents.A.timezone" },
        [LEASE_LIMITER] = { NAME_LIMITER, "limiters.L.hours", "limiters.L.timezone" },
    };
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT, own = STRBUF_INIT;
    sym symbol = symbol_find(w->symbols, one->name, strlen(one->name));
    if (!symbol)
        return 0;
    strbuf_puts(&name, writer_name(w, scopes[one->scope].role, symbol));
    int r = set_text(w, scopes[one->scope].hours, strbuf_text(&name), one->text);
    if (!*one->zone_name)
        (void)zoneinfo_own_name(&own);
    const char *zone = *one->zone_name ? one->zone_name : strbuf_text(&own);
    return r == 0 && *zone ? set_text(w, scopes[one->scope].timezone, strbuf_text(&name), zone) : r;
}

static int write_coming_settings(struct writer *w) {
    const struct coming *coming = w->source->coming;
    static const char *const words[] = {
        [OVERLAP_SKIP] = "skip", [OVERLAP_QUEUE] = "queue", [OVERLAP_REPLACE] = "replace"
    };
    int r = 0;
    for (size_t i = 0; r == 0 && coming && i < coming->hours.count; i++)
        r = write_hours(w, &coming->hours.items[i]);
    for (size_t i = 0; r == 0 && coming && i < coming->overlap_count; i++) {
        _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
        strbuf_puts(&name, writer_name(w, NAME_SCHEDULE, coming->overlaps[i].schedule));
        r = set_text(w, "schedules.S.overlap", strbuf_text(&name),
                     words[coming->overlaps[i].overlap]);
    }
    return r;
}

static int write_config(struct writer *w) {
    json_put_object(&w->json, "config");
    int r = set_text(w, "preset", NULL, w->source->preset);
    if (r == 0)
        r = write_policy(w);
    for (size_t i = 0; r == 0 && i < w->world_count; i++)
        r = write_fact_settings(w, &w->world[i]);
    if (r == 0)
        r = write_coming_settings(w);
    json_write_object_end(&w->json);
    return r;
}

/* --- the world ------------------------------------------------------------------------------- */

static void find_external(const struct writer *w, sym project, sym limiter, uint32_t *ret_running,
                          uint32_t *ret_roots) {
    for (size_t i = 0; i < w->world_count; i++) {
        const struct fact *f = &w->world[i];
        if (f->kind != FACT_EXTERNAL || f->external.project != project
            || f->external.limiter != limiter)
            continue;
        *ret_running = f->external.running;
        *ret_roots = f->external.roots;
    }
}

static void write_object(struct writer *w, const struct fact *fact) {
    struct project_record project = project_initial;
    struct agent_record agent = { .spec = fact->agent };
    struct limiter_record limiter = { .spec = fact->limiter };
    uint32_t no_roots = 0;
    switch ((int)fact->kind) {
    case FACT_PROJECT:
        project.id = fact->project.id;
        project.hours_until = fact->project.hours_until;
        find_external(w, project.id, 0, &project.running, &project.running_roots);
        put_members(w, &object_project, &project);
        break;
    case FACT_AGENT:
        agent.spec.limiter = 0; /* a setting */
        agent.idle = (int8_t)(agent.spec.roster ? agent.spec.idle : ABSENT);
        put_members(w, &object_agent, &agent);
        break;
    case FACT_LIMITER:
        if (!limiter.spec.in_backoff)
            limiter.spec.backoff_since = limiter.spec.last_hit = 0;
        find_external(w, 0, limiter.spec.id, &limiter.running, &no_roots);
        put_members(w, &object_limiter, &limiter);
        break;
    case FACT_USAGE:
        put_members(w, &object_usage, &fact->usage);
        break;
    case FACT_WAIT:
        put_members(w, &object_wait, &fact->wait);
        break;
    default:
        break;
    }
}

/* A list of all facts of one kind, unless it is empty. */
static void write_list(struct writer *w, const char *key, enum fact_kind kind) {
    bool any = false;
    for (size_t i = 0; i < w->world_count; i++) {
        if (w->world[i].kind != kind)
            continue;
        if (!any)
            json_put_array(&w->json, key);
        any = true;
        json_write_object_begin(&w->json);
        write_object(w, &w->world[i]);
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
            json_put_string(&w->json, name, id_of(w, f->workspace.locked_by));
        else
            json_put_bool(&w->json, name, true);
    }
    if (any)
        json_write_object_end(&w->json);
}

static void write_scalar(struct writer *w, const struct fact *f) {
    struct top_record top = top_initial;
    if (f->kind == FACT_PAUSE) {
        json_put_bool(&w->json, "paused", true);
    } else if (f->kind == FACT_HOST) {
        if (f->host.disk_free_mb >= 0)
            put_milli(w, "disk_free_gb", f->host.disk_free_mb);
        if (f->host.memory_free_mb >= 0)
            json_put_int(&w->json, "memory_free_mb", f->host.memory_free_mb);
        if (f->host.load_milli >= 0)
            put_milli(w, "load", f->host.load_milli);
    } else if (f->kind == FACT_PACE) {
        top.pace = f->pace;
        if (!f->pace.started)
            top.pace.last_start = ABSENT_TIME;
        json_put_object(&w->json, "pace");
        put_members(w, &object_pace, &top);
        json_write_object_end(&w->json);
    } else if (f->kind == FACT_CLAIM) {
        top.claim = f->claim;
        json_put_object(&w->json, "claim");
        put_members(w, &object_claim, &top);
        put_resources(w, f->claim.resources, f->claim.resource_count);
        json_write_object_end(&w->json);
    }
}

static int write_world(struct writer *w) {
    json_write_object_begin(&w->json);
    json_put_bool(&w->json, "live", true);
    for (size_t i = 0; i < w->world_count; i++)
        if (w->world[i].kind == FACT_CLOCK)
            json_put_int(&w->json, "now", w->world[i].now);
    if (w->source->coming && w->source->coming->offset)
        json_put_int(&w->json, "clock_offset", w->source->coming->offset);
    int r = write_config(w);
    if (r < 0)
        return r;
    for (size_t i = 0; i < w->world_count; i++)
        write_scalar(w, &w->world[i]);
    uint32_t running = 0, roots = 0;
    find_external(w, 0, 0, &running, &roots);
    if (running)
        json_put_int(&w->json, "running", running);
    if (roots)
        json_put_int(&w->json, "running_roots", roots);
    write_list(w, "projects", FACT_PROJECT);
    write_list(w, "limiters", FACT_LIMITER);
    write_list(w, "agents", FACT_AGENT);
    write_workspaces(w);
    write_list(w, "usage", FACT_USAGE);
    write_list(w, "waits", FACT_WAIT);
    strbuf_puts(&w->out, ",\n\"tasks\":[");
    w->in_tasks = true;
    return 0;
}

/* --- tasks ----------------------------------------------------------------------------------- */

/* Does not write the closing bracket: what its run has reported may follow. */
static void write_task(struct writer *w, const struct task_spec *spec, time_ms arrives_at,
                       sym schedule) {
    struct task_record task = { .spec = *spec,
                                .tokens = ABSENT,
                                .usd = ABSENT,
                                .expected_usd = ABSENT,
                                .arrives_at = arrives_at,
                                .schedule = schedule };
    bool serial = config_policy(w->config)->serial;
    task.parallelizable = (int8_t)(spec->parallelizable == serial ? spec->parallelizable : ABSENT);
    task.artifact_present = !spec->artifact_missing;
    if (!spec->parent) {
        task.spec.parent_gate = PARENT_GATE_MAX;
        task.spec.parent_iteration = 0;
    }
    if (!spec->ready_since)
        task.spec.ready_since = ABSENT_TIME;
    if (!spec->ready_clock)
        task.spec.ready_clock = ABSENT_TIME;
    if (!spec->attempt)
        task.spec.attempt = ABSENT_ATTEMPT;
    json_write_init(&w->json, &w->out, false);
    strbuf_puts(&w->out, w->task_count++ ? ",\n" : "\n");
    json_write_object_begin(&w->json);
    put_members(w, &object_task, &task);
    if (spec->depends_on_count > 0) {
        json_put_array(&w->json, "depends_on");
        for (size_t i = 0; i < spec->depends_on_count; i++)
            json_write_string(&w->json, id_of(w, spec->depends_on[i]));
        json_write_array_end(&w->json);
    }
    put_resources(w, spec->resources, spec->resource_count);
    put_steps(w, &spec->escalation);
}

static int take_fact(void *ctx, const struct fact *fact) {
    struct writer *w = ctx;
    if (fact->kind == FACT_RUN_TOKENS) {
        struct task_record task = task_initial;
        task.tokens = fact->tokens;
        task.usd = fact->money;
        task.expected_usd = fact->expected > 0 ? fact->expected : ABSENT;
        put_members(w, &object_task, &task);
        return 0;
    }
    if (fact->kind == FACT_TASK_ADDED) {
        int r = w->in_tasks ? flush(w, PIECE) : write_world(w);
        if (r < 0)
            return r;
        if (w->task_count > 0)
            json_write_object_end(&w->json);
        const struct coming *coming = w->source->coming;
        write_task(w, fact->spec, 0, coming ? coming_schedule_of(coming, fact->spec->id) : 0);
        return 0;
    }
    if (fact->kind == FACT_POLICY) {
        w->policy = *fact->policy; /* the pointer is valid only during the call */
        return 0;
    }
    w->world = xgrow(w->world, &w->world_capacity, w->world_count + 1, sizeof(*w->world));
    w->world[w->world_count++] = *fact;
    return 0;
}

static int write_coming_tasks(struct writer *w) {
    const struct coming *coming = w->source->coming;
    int r = 0;
    for (size_t i = 0; r == 0 && coming && i < coming->task_count; i++) {
        if (w->task_count > 0)
            json_write_object_end(&w->json);
        write_task(w, &coming->tasks[i].spec, coming->tasks[i].at, coming->tasks[i].schedule);
        r = flush(w, PIECE);
    }
    return r;
}

int snapshot_write(const struct snapshot_source *source, snapshot_sink sink, void *ctx,
                   struct error *err) {
    struct writer w = {
        .source = source,
        .symbols = core_symbols(source->core),
        .symbol_count = core_symbols(source->core)->count,
        .sink = sink,
        .ctx = ctx,
        .err = err,
        .config = config_new(),
    };
    json_write_init(&w.json, &w.out, false);
    int r = core_export(source->core, take_fact, &w);
    if (r == 0 && !w.in_tasks)
        r = write_world(&w);
    if (r == 0)
        r = write_coming_tasks(&w);
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
