/* denied.c: permissions that agents were denied; see agents.h. */
#include "engine/agents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "engine/agents/agents_internal.h"
#include "engine/alerts/alerts_internal.h"

/* --- messages ---------------------------------------------------------------------------------- */

static void put_denial(const struct agent_denial *denial, struct strbuf *out) {
    if (denial->tool[0] && denial->argument[0])
        strbuf_printf(out, "%s (%s)", denial->tool, denial->argument);
    else
        strbuf_puts(out, denial->tool[0] ? denial->tool : "a tool");
    if (denial->count > 1)
        strbuf_printf(out, " and %" PRIu32 " more", denial->count - 1);
}

void denied_message(const struct agent_denial *denial, struct strbuf *out) {
    strbuf_puts(out, "not permitted: ");
    put_denial(denial, out);
}

/* --- fixes ----------------------------------------------------------------------------------- */

/* NULL: no adapter, or a command of its own that no client of ours drives. */
static const struct agent_adapter *own_adapter(const struct engine *e, const char *agent) {
    const char *const *words = NULL;
    const struct agent_adapter *adapter = listen_adapter(e, agent);
    bool is_driven = adapter && adapter->client;
    return is_driven || config_words(e->config, "agents.A.command", agent, &words) == 0 ? adapter
                                                                                        : NULL;
}

/* In quotes of the shell and of YAML. */
static bool can_be_quoted(const char *rule) {
    return *rule && !strchr(rule, '\'');
}

static void put_advice(const struct engine *e, task_id task, const char *agent,
                       const struct agent_denial *denial, struct strbuf *out) {
    const struct agent_adapter *adapter = own_adapter(e, agent);
    const char *option = adapter ? adapter->allow_option : NULL;
    const char *hint = adapter ? adapter->allow_hint : NULL;
    char id[ENGINE_ID_MAX];
    engine_task_id(e, task, id);
    if (option && can_be_quoted(denial->rule))
        strbuf_printf(out,
                      "; to allow it for this task and go on in the same session: sluice retry %s "
                      "--allow '%s'; for every task, add to agents.%s.args: [%s, '%s']",
                      id, denial->rule, agent, option, denial->rule);
    else if (option)
        strbuf_printf(out,
                      "; to allow it for this task and go on in the same session: sluice retry %s "
                      "--allow RULE; for every task, add to agents.%s.args: [%s, RULE]",
                      id, agent, option);
    else if (hint)
        strbuf_printf(out, "; %s; then go on in the same session with: sluice retry %s", hint, id);
    else
        strbuf_printf(
            out, "; change agents.%s.%s so that it is allowed, then go on with: sluice retry %s",
            agent, adapter ? "args" : "command", id);
}

bool denied_is_held(const struct task_spec *t) {
    return t->state == TASK_HELD && t->hold == HOLD_DENIED;
}

bool engine_denial(const struct engine *e, task_id task, struct engine_denial *ret) {
    struct task_spec spec;
    const char *agent = NULL;
    const struct agent_denial *denial = session_denial(e, task, &agent);
    if (!core_task_spec(e->core, task, &spec) || !denied_is_held(&spec) || !denial || !agent)
        return false;
    const struct agent_adapter *adapter = own_adapter(e, agent);
    *ret = (struct engine_denial){ .agent = agent, .what = denial };
    ret->has_option = adapter && adapter->allow_option && can_be_quoted(denial->rule);
    return true;
}

bool engine_explain_denied_hold(const struct engine *e, task_id task, struct strbuf *out) {
    struct engine_denial d;
    if (!engine_denial(e, task, &d))
        return false;
    strbuf_printf(out, "agent '%s' was not permitted to use ", d.agent);
    put_denial(d.what, out);
    put_advice(e, task, d.agent, d.what, out);
    return true;
}

int engine_check_allow(const struct engine *e, task_id task, struct error *err) {
    struct task_spec spec;
    char id[ENGINE_ID_MAX];
    const char *agent = NULL;
    (void)session_denial(e, task, &agent);
    if (!agent && core_task_spec(e->core, task, &spec) && spec.agent)
        agent = name_of(e, spec.agent);
    if (!agent)
        return error_set(err, -EINVAL, "task '%s' has no agent to allow something to",
                         engine_task_id(e, task, id));
    const struct agent_adapter *adapter = own_adapter(e, agent);
    if (adapter && adapter->allow_option)
        return 0;
    return error_set(err, -EINVAL,
                     "agent '%.60s' has no option that allows one tool for one task: change "
                     "agents.%.60s.%s, then retry without --allow",
                     agent, agent, adapter ? "args" : "command");
}

/* --- alerts ---------------------------------------------------------------------------------- */

void denied_check_task(struct engine *e, const struct task_spec *t) {
    char id[ENGINE_ID_MAX];
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    if (!denied_is_held(t) || !engine_explain_denied_hold(e, t->id, &why))
        return;
    _cleanup_(freep) char *key = xasprintf("denied:%s", engine_task_id(e, t->id, id));
    alert_raise(e, key, t->id, t->attempt, "'%s' is held: %s", id, strbuf_text(&why));
}
