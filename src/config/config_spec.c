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

static struct money_budget money_of(int64_t micro) {
    return (struct money_budget){ .is_set = micro != UNLIMITED,
                                  .micro = micro != UNLIMITED ? micro : 0 };
}

void config_project_spec(const struct config *config, struct core *core, const char *name,
                         struct project_spec *ret) {
    const char *const *paths;
    *ret = (struct project_spec){ .id = intern(core, name) };
    fill(config, SECTION_PROJECTS, name, ret);
    ret->money = money_of(config_number(config, "projects.P.budget_usd", name));
    /* A pool has as many places as paths, if it has any. */
    size_t count = config_words(config, "projects.P.workspace_paths", name, &paths);
    if (!ret->workspaces_kept && count > 0 && ret->workspaces > (amount)count)
        ret->workspaces = (amount)count;
}

void config_kind_spec(const struct config *config, struct core *core, const char *name,
                      struct kind_spec *ret) {
    *ret = (struct kind_spec){ .id = intern(core, name) };
    fill(config, SECTION_KINDS, name, ret);
}

void config_limiter_spec(const struct config *config, struct core *core, const char *name,
                         struct limiter_spec *ret) {
    struct limiter_spec known;
    *ret = (struct limiter_spec){ .id = intern(core, name) };
    if (core_limiter_spec(core, ret->id, &known))
        *ret = known;
    fill(config, SECTION_LIMITERS, name, ret);
}

void config_agent_spec(const struct config *config, struct core *core, const char *name,
                       struct agent_spec *ret) {
    struct agent_spec known;
    *ret = (struct agent_spec){ .id = intern(core, name), .idle = true };
    if (core_agent_spec(core, ret->id, &known))
        *ret = known;
    fill(config, SECTION_AGENTS, name, ret);
    ret->limiter = intern(core, config_text(config, "agents.A.limiter", name));
    const char *const *others = NULL;
    size_t count = config_words(config, "agents.A.failover", name, &others);
    ret->failover_count = 0;
    for (size_t i = 0; i < count && i < FAILOVER_MAX; i++)
        ret->failover[ret->failover_count++] = intern(core, others[i]);
}

enum until config_until(const struct config *config, const char *kind) {
    return (enum until)config_number(config, "kinds.K.until", kind);
}

amount config_budget(const struct config *config) {
    return config_number(config, "budget", NULL);
}

/* --- telling --------------------------------------------------------------------------------- */

static void describe(const struct config *config, struct core *core, enum setting_section section,
                     const char *name, struct fact *ret) {
    switch (section) {
    case SECTION_RESOURCES:
        ret->kind = FACT_RESOURCE;
        ret->resource.id = intern(core, name);
        ret->resource.cap = config_number(config, "limits.resource.N", name);
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
    case SECTION_PRICES: /* of models the core knows nothing */
    case SECTION_MAX:
        break;
    }
}

/* An agent may name an account of which nothing else is said: it has the defaults of `limiter`. */
static int tell_named_limiters(const struct config *config, struct core *core, struct error *err) {
    int r = 0;
    for (size_t i = 0; r >= 0 && i < config_agent_count(config); i++) {
        const char *name = config_text(config, "agents.A.limiter", config_agent_name(config, i));
        if (*name == '\0' || config_has_limiter(config, name))
            continue;
        struct fact fact = { .kind = FACT_LIMITER };
        config_limiter_spec(config, core, name, &fact.limiter);
        r = core_apply(core, &fact, err);
    }
    return r;
}

int config_tell(const struct config *config, struct core *core, struct error *err) {
    struct fact policy = { .kind = FACT_POLICY, .policy = &config->policy };
    struct fact budget = { .kind = FACT_BUDGET,
                           .budget = config_budget(config),
                           .money_budget = money_of(config_number(config, "budget_usd", NULL)) };
    int r = config_check_failover(config, err);
    if (r >= 0)
        r = core_apply(core, &policy, err);
    if (r >= 0)
        r = core_apply(core, &budget, err);
    if (r >= 0)
        r = tell_named_limiters(config, core, err);
    for (int section = SECTION_RESOURCES; r >= 0 && section < SECTION_PRICES; section++)
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
