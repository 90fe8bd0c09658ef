/* config_spec.c: the configuration as specs and facts for the core.
 *
 * The rows of a section have the offset of their field, so a spec is filled by iterating over
 * them. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "agent/agent.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "config/config_internal.h"
#include "core/task_graph.h"

#define ESCALATE "agents.A.escalate"

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
    /* A pool has at most as many workspaces as paths. */
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
    ret->hours = *config_text(config, "agents.A.hours", name) != '\0';
    const char *const *others = NULL;
    size_t count = config_words(config, "agents.A.failover", name, &others);
    ret->failover_count = 0;
    for (size_t i = 0; i < count && i < FAILOVER_MAX; i++)
        ret->failover[ret->failover_count++] = intern(core, others[i]);
    count = config_words(config, ESCALATE, name, &others);
    ret->escalate_count = 0;
    for (size_t i = 0; i < count && i < ESCALATE_MAX; i++) {
        struct escalation_step step = escalation_step_read(others[i]);
        ret->escalate[ret->escalate_count++] =
            step.agent_length > 0 ? symbol_intern(core_symbols(core), others[i], step.agent_length)
                                  : 0;
    }
}

enum until config_until(const struct config *config, const char *kind) {
    return (enum until)config_number(config, "kinds.K.until", kind);
}

amount config_budget(const struct config *config) {
    return config_number(config, "budget", NULL);
}

/* --- failover --------------------------------------------------------------------------------- */

/* Checked after everything is read: an agent may name one that is configured later. Failover takes
 * one step only, so a cycle would do no harm; but a user who writes one expects the lists to be
 * followed, and should get the error early. */

#define FAILOVER "agents.A.failover"

static int refuse_agent_key(const struct config *config, const char *key, const char *agent,
                            struct error *err) {
    size_t item = config_item(config, SECTION_AGENTS, agent);
    const struct entry *entry = config_entry(config, settings_row(key), item);
    const char *origin = symbol_name(&config->texts, entry->origin);
    return error_prefix(err, "%.100s: key 'agents.%s.%s'", origin, utf8_quote(agent).text,
                        strrchr(key, '.') + 1);
}

static int check_names(const struct config *config, const char *agent, struct error *err) {
    const char *const *words = NULL;
    _cleanup_(strbuf_finish) struct strbuf known = STRBUF_INIT;
    size_t count = config_words(config, FAILOVER, agent, &words);
    if (count > FAILOVER_MAX)
        return error_set(err, -EINVAL, "it names %zu agents; maximum is %d", count, FAILOVER_MAX);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], agent) == 0)
            return error_set(err, -EINVAL, "an agent cannot take over from itself; name others");
        if (!config_has_agent(config, words[i]))
            return error_set(
                err, -EINVAL, "there is no agent '%s'; describe it below 'agents', or name %s",
                utf8_quote(words[i]).text, agent_print_names(AGENT_LIST_BUILTIN, " or ", &known));
        for (size_t k = 0; k < i; k++)
            if (strcmp(words[i], words[k]) == 0)
                return error_set(err, -EINVAL, "it names '%s' twice", utf8_quote(words[i]).text);
    }
    return 0;
}

static int check_cycles(const struct config *config, const char **ret_agent, struct error *err) {
    size_t count = config_agent_count(config), edges = 0, length;
    const char *const *words = NULL;
    for (size_t i = 0; i < count; i++)
        edges += config_words(config, FAILOVER, config_agent_name(config, i), &words);
    _cleanup_(freep) uint32_t *starts = xcalloc(count + 1, sizeof(*starts));
    _cleanup_(freep) uint32_t *targets = xcalloc(edges + 1, sizeof(*targets));
    _cleanup_(freep) uint32_t *path = NULL;
    edges = 0;
    for (size_t i = 0; i < count; i++) {
        size_t others = config_words(config, FAILOVER, config_agent_name(config, i), &words);
        starts[i] = (uint32_t)edges;
        for (size_t k = 0; k < others; k++)
            targets[edges++] = (uint32_t)config_item(config, SECTION_AGENTS, words[k]);
    }
    starts[count] = (uint32_t)edges;
    if (!cycle_find(starts, targets, (uint32_t)count, &path, &length))
        return 0;
    *ret_agent = config_agent_name(config, path[length - 1]);
    return error_set(err, -EINVAL,
                     "'%s' leads back to '%s', which is a circle; give one of them a second "
                     "name without a list, with the same adapter and limiter",
                     utf8_quote(config_agent_name(config, path[0])).text,
                     utf8_quote(*ret_agent).text);
}

int config_check_failover(const struct config *config, struct error *err) {
    struct error unread = { 0 };
    const char *agent = NULL;
    bool any = false;
    int r = 0;
    if (!err)
        err = &unread;
    for (size_t i = 0; r == 0 && i < config_agent_count(config); i++) {
        agent = config_agent_name(config, i);
        if (!config_is_set(config, FAILOVER, agent))
            continue;
        any = true;
        r = check_names(config, agent, err);
    }
    if (r == 0 && any)
        r = check_cycles(config, &agent, err);
    return r < 0 ? refuse_agent_key(config, FAILOVER, agent, err) : 0;
}

/* --- escalation ------------------------------------------------------------------------------- */

struct escalation_step escalation_step_read(const char *text) {
    size_t length = strcspn(text, ":");
    return (struct escalation_step){ length, text[length] == ':' ? text + length + 1 : NULL };
}

int config_check_step(const struct config *config, const char *text, struct error *err) {
    struct escalation_step step = escalation_step_read(text);
    _cleanup_(strbuf_finish) struct strbuf known = STRBUF_INIT;
    char *agent = xstrndup(text, step.agent_length);
    int r = 0;
    if (step.agent_length == 0 && !(step.model && *step.model))
        r = error_set(err, -EINVAL, "'%s' is not a step: write AGENT, AGENT:MODEL or :MODEL",
                      utf8_quote(text).text);
    else if (step.agent_length > 0 && !config_has_agent(config, agent))
        r = error_set(
            err, -EINVAL, "there is no agent '%s'; describe it below 'agents', or name %s",
            utf8_quote(agent).text, agent_print_names(AGENT_LIST_BUILTIN, " or ", &known));
    else if (step.model)
        r = config_check_model(step.model, err);
    free(agent);
    return r;
}

int config_check_model(const char *model, struct error *err) {
    if (*model == '-')
        return error_set(err, -EINVAL,
                         "model '%s' begins with '-', and would be an option of the agent's "
                         "program; give the name of a model",
                         utf8_quote(model).text);
    if (!utf8_is_name(model, strlen(model)))
        return error_set(err, -EINVAL,
                         "'%s' is not a model; give a name of 1 to 127 bytes without control "
                         "characters",
                         utf8_quote(model).text);
    return 0;
}

int config_check_escalation(const struct config *config, struct error *err) {
    for (size_t i = 0; i < config_agent_count(config); i++) {
        const char *agent = config_agent_name(config, i), *const *words = NULL;
        size_t count = config_words(config, ESCALATE, agent, &words);
        const char *model = config_text(config, "agents.A.model", agent);
        const char *key = ESCALATE;
        int r = 0;
        if (count > ESCALATE_MAX)
            r = error_set(err, -EINVAL, "it has %zu steps, the maximum is %d", count, ESCALATE_MAX);
        for (size_t k = 0; r == 0 && k < count; k++)
            r = config_check_step(config, words[k], err);
        if (r == 0 && *model) {
            key = "agents.A.model";
            r = config_check_model(model, err);
        }
        if (r < 0)
            return refuse_agent_key(config, key, agent, err);
    }
    return 0;
}

/* --- facts ------------------------------------------------------------------------------------ */

int config_apply_name(const struct config *config, struct core *core, enum fact_kind kind,
                      const char *name, struct error *err) {
    struct fact fact = { .kind = kind };
    if (kind == FACT_KIND)
        config_kind_spec(config, core, name, &fact.kind_spec);
    else if (kind == FACT_LIMITER)
        config_limiter_spec(config, core, name, &fact.limiter);
    else if (kind == FACT_AGENT)
        config_agent_spec(config, core, name, &fact.agent);
    else if (kind == FACT_PROJECT)
        config_project_spec(config, core, name, &fact.project);
    else {
        fact.resource.id = intern(core, name);
        fact.resource.cap = config_number(config, "limits.resource.N", name);
    }
    int r = core_apply(core, &fact, err);
    return r < 0 ? r : 0;
}

/* All names of `from` in the sections up to `last`. */
static int apply_sections(const struct config *config, const struct config *from,
                          enum setting_section last, struct core *core, struct error *err) {
    static const enum fact_kind kinds[] = {
        [SECTION_RESOURCES] = FACT_RESOURCE, [SECTION_KINDS] = FACT_KIND,
        [SECTION_LIMITERS] = FACT_LIMITER,   [SECTION_AGENTS] = FACT_AGENT,
        [SECTION_PROJECTS] = FACT_PROJECT,
    };
    int r = 0;
    for (int section = SECTION_RESOURCES; r >= 0 && section <= (int)last; section++)
        for (size_t i = 0; r >= 0 && i < from->sections[section].count; i++) {
            const char *name = config_name(from, (enum setting_section)section, i);
            r = config_apply_name(config, core, kinds[section], name, err);
            if (r < 0)
                (void)error_prefix(err, "'%s'", utf8_quote(name).text);
        }
    return r;
}

int config_apply_removed(const struct config *config, const struct config *old, struct core *core,
                         struct error *err) {
    return apply_sections(config, old, SECTION_AGENTS, core, err);
}

/* An agent may name an account without a section: it gets the defaults of `limiter`. */
static int apply_named_limiters(const struct config *config, struct core *core, struct error *err) {
    int r = 0;
    for (size_t i = 0; r >= 0 && i < config_agent_count(config); i++) {
        const char *name = config_text(config, "agents.A.limiter", config_agent_name(config, i));
        if (*name == '\0' || config_has_limiter(config, name))
            continue;
        r = config_apply_name(config, core, FACT_LIMITER, name, err);
    }
    return r;
}

int config_apply(const struct config *config, struct core *core, struct error *err) {
    struct fact policy = { .kind = FACT_POLICY, .policy = &config->policy };
    struct fact budget = { .kind = FACT_BUDGET,
                           .budget = config_budget(config),
                           .money_budget = money_of(config_number(config, "budget_usd", NULL)) };
    int r = config_check_failover(config, err);
    if (r >= 0)
        r = config_check_escalation(config, err);
    if (r >= 0)
        r = core_apply(core, &policy, err);
    if (r >= 0)
        r = core_apply(core, &budget, err);
    if (r >= 0)
        r = apply_named_limiters(config, core, err);
    return r < 0 ? r : apply_sections(config, config, SECTION_PROJECTS, core, err);
}
