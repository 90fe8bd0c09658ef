/* config_spec.c: what the core is told of the configuration.
 *
 * The rows of a section know their field, so a spec is filled by walking over them. */
#include <stddef.h>
#include <string.h>

#include "base/macros.h"
#include "config/config_internal.h"

static void fill(const struct config *config, enum setting_section section, const char *name,
                 void *spec) {
    const struct section *rows = &config->sections[section];
    for (size_t i = 0; i < rows->row_count; i++) {
        const struct setting *setting = &settings[rows->first_row + i];
        setting_store(setting, config_effective(config, setting, name, NULL), spec);
    }
}

static sym intern(struct core *core, const char *name) {
    return symbol_intern(core_symbols(core), name, strlen(name));
}

size_t config_project_count(const struct config *config) {
    return config_name_count(config, SECTION_PROJECTS);
}

const char *config_project_name(const struct config *config, size_t index) {
    return config_name(config, SECTION_PROJECTS, index);
}

void config_project_spec(const struct config *config, struct core *core, const char *name,
                         struct project_spec *ret) {
    *ret = (struct project_spec){ .id = intern(core, name) };
    fill(config, SECTION_PROJECTS, name, ret);
}

void config_kind_spec(const struct config *config, struct core *core, const char *name,
                      struct kind_spec *ret) {
    *ret = (struct kind_spec){ .id = intern(core, name) };
    fill(config, SECTION_KINDS, name, ret);
}

void config_limiter_spec(const struct config *config, struct core *core, const char *name,
                         struct limiter_spec *ret) {
    *ret = (struct limiter_spec){ .id = intern(core, name) };
    fill(config, SECTION_LIMITERS, name, ret);
}

void config_agent_spec(const struct config *config, struct core *core, const char *name,
                       struct agent_spec *ret) {
    *ret = (struct agent_spec){ .id = intern(core, name), .idle = true };
    fill(config, SECTION_AGENTS, name, ret);
    const struct setting *limiter = settings_row("agents.A.limiter");
    sym text = (sym)config_effective(config, limiter, name, NULL);
    if (text != 0)
        ret->limiter = intern(core, symbol_name(&config->texts, text));
}

enum until config_until(const struct config *config, const char *kind) {
    return (enum until)config_effective(config, settings_row("kinds.K.until"), kind, NULL);
}

amount config_budget(const struct config *config) {
    return config_effective(config, settings_row("budget"), NULL, NULL);
}

/* --- telling --------------------------------------------------------------------------------- */

static void describe(const struct config *config, struct core *core, enum setting_section section,
                     const char *name, struct fact *ret) {
    switch (section) {
    case SECTION_RESOURCES:
        ret->kind = FACT_RESOURCE;
        ret->resource.id = intern(core, name);
        ret->resource.cap = config_effective(config, settings_row("limits.resource.N"), name, NULL);
        break;
    case SECTION_KINDS:
        ret->kind = FACT_KIND;
        config_kind_spec(config, core, name, &ret->kind_spec);
        break;
    case SECTION_LIMITERS:
        ret->kind = FACT_LIMITER;
        config_limiter_spec(config, core, name, &ret->limiter);
        break;
    case SECTION_AGENTS:
        ret->kind = FACT_AGENT;
        config_agent_spec(config, core, name, &ret->agent);
        break;
    case SECTION_PROJECTS:
        ret->kind = FACT_PROJECT;
        config_project_spec(config, core, name, &ret->project);
        break;
    case SECTION_ROOT:
    case SECTION_MAX:
        break;
    }
}

int config_tell(const struct config *config, struct core *core, struct error *err) {
    struct fact policy = { .kind = FACT_POLICY, .policy = &config->policy };
    struct fact budget = { .kind = FACT_BUDGET, .budget = config_budget(config) };
    int r = core_apply(core, &policy, err);
    if (r >= 0)
        r = core_apply(core, &budget, err);
    for (int section = SECTION_RESOURCES; r >= 0 && section < SECTION_MAX; section++)
        for (size_t i = 0; r >= 0 && i < config->sections[section].count; i++) {
            struct fact fact = { 0 };
            const char *name = config_name(config, (enum setting_section)section, i);
            describe(config, core, (enum setting_section)section, name, &fact);
            r = core_apply(core, &fact, err);
            if (r < 0)
                (void)error_prefix(err, "'%s'", config_quote(name).text);
        }
    return r < 0 ? r : 0;
}
