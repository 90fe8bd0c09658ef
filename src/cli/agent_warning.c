/* agent_warning.c: looks at the agents of a submission as doctor does. */
#include "cli/agent_warning.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/daemon.h"
#include "cli/preflight.h"
#include "os/home.h"

DEFINE_FREEP(struct config, config_free);

json_t *agent_warning_names(const json_t *tasks) {
    json_t *names = json_object(), *task;
    size_t i;
    json_array_foreach(tasks, i, task) {
        const char *agent = ask_text(task, "agent", NULL), *box = ask_text(task, "sandbox", NULL);
        if (agent && !json_object_get(names, agent))
            json_object_set_new(names, agent, box ? ask_string(box) : json_null());
    }
    return names;
}

static bool box_works(struct ask *ask) {
    if (ask_try_get(ask, "/v1/status") != 0)
        return true;
    const json_t *box = json_object_get(ask->answer, "sandbox");
    return strcmp(ask_text(box, "auto", "none"), "none") != 0;
}

static void put_sandbox(struct config *config, const char *agent, const char *kind) {
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    strbuf_printf(&key, "agents.%s.sandbox", agent);
    if (kind)
        (void)config_set(config, strbuf_text(&key), kind, "sandbox", NULL);
}

/* Of an agent that the daemon does not know nothing is said: it has refused the task. */
static void look_at(const struct home *home, const json_t *items, bool box, const char *agent,
                    const char *sandbox) {
    _cleanup_(config_freep) struct config *config = config_new();
    _cleanup_(strbuf_finish) struct strbuf problem = STRBUF_INIT, fix = STRBUF_INIT;
    const json_t *found = NULL;
    struct preflight p;
    size_t i;
    json_t *item;
    (void)config_read_file(config, home->config_file, NULL);
    put_sandbox(config, agent, sandbox);
    json_array_foreach(items, i, item) {
        if (strcmp(ask_text(item, "name", ""), agent) == 0)
            found = item;
    }
    preflight_look(&p, agent, config, found, box);
    if (found && preflight_problem(&p, &problem, &fix))
        cmd_warn("agent '%s': %s; %s", agent, strbuf_text(&problem), strbuf_text(&fix));
    preflight_finish(&p);
}

void agent_warning_print(struct ask *ask, json_t *names) {
    _cleanup_(home_finish) struct home home = { 0 };
    const char *agent;
    json_t *sandbox;
    bool silent = json_object_size(names) == 0 || getenv("SLUICE_TASK") || daemon_has_peers()
                  || home_find(&home, NULL) < 0;
    bool box = !silent && box_works(ask);
    if (!silent && ask_try_get(ask, "/v1/agents") == 0)
        json_object_foreach(names, agent, sandbox)
            look_at(&home, ask_items(ask), box, agent, json_string_value(sandbox));
    json_decref(names);
}
