/* write_config.c: the settings that a core was told, as the configuration of a snapshot.
 *
 * They are read from the core's own specs through the rows of the settings table, and not from the daemon's
 * configuration: what the core decides by is what is written, whatever a reload or a default did to it. A setting is
 * written when the reader would have another value without it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "snapshot/write_internal.h"

#define PASSES                                                                                     \
    3 /* one setting may change what another means: max_wait_s puts `overdue` into the order */

/* --- one setting ----------------------------------------------------------------------------- */

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

/* In the configuration the reader will have, and in the file. */
static int put_text(struct writer *w, const char *pattern, const char *name, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    print_key(pattern, name, &key);
    if (config_set(w->config, strbuf_text(&key), text, "snapshot", w->err) < 0)
        return cannot_write(w, pattern, name);
    json_put_string(&w->json, strbuf_text(&key), text);
    return 0;
}

static int put_number(struct writer *w, const char *pattern, const char *name, int64_t value) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    setting_print(settings_row(pattern), value, &text);
    return put_text(w, pattern, name, strbuf_text(&text));
}

/* A setting without a field in a spec. */
static int put_if_other(struct writer *w, const char *pattern, const char *name, int64_t value) {
    return config_number(w->config, pattern, name) == value ? 0
                                                            : put_number(w, pattern, name, value);
}

/* --- the policy ------------------------------------------------------------------------------ */

/* Sets what differs, and marks it; nothing is printed yet: a later setting may change an earlier one. */
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

/* --- what has a name ------------------------------------------------------------------------- */

/* `spec`: what the core has; `known`: what the reader would have. */
static int write_rows(struct writer *w, enum setting_section section, const char *name,
                      const void *spec, const void *known) {
    size_t first, count = settings_of(section, &first);
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        const struct setting *row = &settings[first + i];
        if (row->size > 0 && setting_load(row, spec) != setting_load(row, known))
            r = put_number(w, row->key, name, setting_load(row, spec));
    }
    return r;
}

static int write_project(struct writer *w, const struct project_spec *spec, const char *name) {
    struct project_spec known;
    config_project_spec(w->config, w->source->core, name, &known);
    int r = write_rows(w, SECTION_PROJECTS, name, spec, &known);
    int64_t money = spec->money.is_set ? spec->money.micro : UNLIMITED;
    return r == 0 ? put_if_other(w, "projects.P.budget_usd", name, money) : r;
}

static int write_kind(struct writer *w, const struct kind_spec *spec, const char *name) {
    struct kind_spec known;
    config_kind_spec(w->config, w->source->core, name, &known);
    /* Always, so that the configuration knows it: a task of it may come. */
    int r = put_number(w, "kinds.K.max_running", name, spec->max_running);
    known.max_running = spec->max_running;
    return r == 0 ? write_rows(w, SECTION_KINDS, name, spec, &known) : r;
}

static int write_limiter(struct writer *w, const struct limiter_spec *spec, const char *name) {
    struct limiter_spec known = *spec;
    config_limiter_spec(w->config, w->source->core, name, &known);
    return write_rows(w, SECTION_LIMITERS, name, spec, &known);
}

/* Those that take over, as far as there are such: an agent that is not known takes nothing over. */
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

static int write_agent(struct writer *w, const struct agent_spec *spec, const char *name) {
    struct agent_spec known = *spec;
    config_agent_spec(w->config, w->source->core, name, &known);
    /* Always, so that the configuration knows it: others may fail over to it. */
    int r = put_number(w, "agents.A.slots", name, spec->slots);
    known.slots = spec->slots;
    if (r == 0)
        r = write_rows(w, SECTION_AGENTS, name, spec, &known);
    const char *limiter = spec->limiter ? writer_name(w, NAME_LIMITER, spec->limiter) : "";
    if (r == 0 && strcmp(config_text(w->config, "agents.A.limiter", name), limiter) != 0)
        r = put_text(w, "agents.A.limiter", name, limiter);
    return r == 0 ? write_failover(w, spec, name) : r;
}

static int write_budget(struct writer *w, const struct fact *fact) {
    int64_t money = fact->money_budget.is_set ? fact->money_budget.micro : UNLIMITED;
    int r = put_if_other(w, "budget", NULL, fact->budget);
    return r == 0 ? put_if_other(w, "budget_usd", NULL, money) : r;
}

static int write_fact(struct writer *w, const struct fact *fact) {
    _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
    if (fact->kind == FACT_PROJECT) {
        strbuf_puts(&name, writer_name(w, NAME_PROJECT, fact->project.id));
        return write_project(w, &fact->project, strbuf_text(&name));
    }
    if (fact->kind == FACT_KIND) {
        strbuf_puts(&name, writer_name(w, NAME_KIND, fact->kind_spec.id));
        return write_kind(w, &fact->kind_spec, strbuf_text(&name));
    }
    if (fact->kind == FACT_LIMITER) {
        strbuf_puts(&name, writer_name(w, NAME_LIMITER, fact->limiter.id));
        return write_limiter(w, &fact->limiter, strbuf_text(&name));
    }
    if (fact->kind == FACT_AGENT) {
        strbuf_puts(&name, writer_name(w, NAME_AGENT, fact->agent.id));
        return write_agent(w, &fact->agent, strbuf_text(&name));
    }
    if (fact->kind == FACT_RESOURCE) {
        strbuf_puts(&name, writer_name(w, NAME_RESOURCE, fact->resource.id));
        return put_if_other(w, "limits.resource.N", strbuf_text(&name), fact->resource.cap);
    }
    return fact->kind == FACT_BUDGET ? write_budget(w, fact) : 0;
}

int write_config(struct writer *w) {
    json_put_object(&w->json, "config");
    int r = put_text(w, "preset", NULL, w->source->preset);
    if (r == 0)
        r = write_policy(w);
    for (size_t i = 0; r == 0 && i < w->world_count; i++)
        r = write_fact(w, &w->world[i]);
    json_write_object_end(&w->json);
    return r;
}
