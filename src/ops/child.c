/* child.c: see child.h. */
#include "ops/child.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "engine/run_token.h"
#include "engine/sandboxes.h"
#include "ops/op_internal.h"
#include "taskfile/task_member.h"

/* --- members --------------------------------------------------------------------------------- */

static bool allows_commands(const struct engine *engine) {
    return config_number(engine_config(engine), "capability.commands", NULL) != 0;
}

unsigned child_source_of(const struct engine *engine, const json_t *spec, bool in_sandbox) {
    bool may = json_is_array(json_object_get(spec, "argv")) || allows_commands(engine);
    return may && !in_sandbox ? CHILD_COMMAND : CHILD_AGENT;
}

int child_check_members(const struct engine *engine, unsigned source, const json_t *task,
                        struct error *err) {
    bool allowed = allows_commands(engine);
    const char *member;
    json_t *value;
    json_object_foreach((json_t *)task, member, value) {
        const struct task_member *m = task_member_find(member);
        unsigned by = m ? m->child : 0;
        if (json_is_null(value) || (by & source) || (allowed && (by & CHILD_IF_ALLOWED)))
            continue;
        return error_set(err, -EACCES, "'%s': %s", op_quote(member).text,
                         m && m->why ? m->why : "a run may not set this of a child");
    }
    return 0;
}

/* Some agents need no configuration; for a run they exist when the owner has named them, or uses
 * them. */
int child_check_agent(const struct engine *engine, const char *own, const json_t *task,
                      struct error *err) {
    const char *agent = json_string_value(json_object_get(task, "agent"));
    if (!agent || op_knows(engine, op_agent_at, agent) || (own && strcmp(own, agent) == 0))
        return 0;
    return error_set(err, -EACCES, "'agent': '%s' is none of those that are configured",
                     op_quote(agent).text);
}

static bool goes_up(const char *path) {
    for (const char *at = path; (at = strstr(at, "..")); at += 2)
        if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
            return true;
    return false;
}

bool child_path_is_inside(const char *folder, const char *path) {
    size_t length = strlen(folder);
    while (length > 0 && folder[length - 1] == '/')
        length--;
    return strncmp(folder, path, length) == 0 && (path[length] == '/' || path[length] == '\0')
           && !goes_up(path);
}

/* --- time ------------------------------------------------------------------------------------ */

/* None is longer than any. */
static time_ms span_of(time_ms span) {
    return span == 0 ? TIME_NEVER : span;
}

static time_ms configured_timeout(const struct engine *engine, const char *agent) {
    const struct config *config = engine_config(engine);
    return agent ? config_number(config, "agents.A.timeout_s", agent)
                 : config_number(config, "tasks.timeout_s", NULL);
}

static time_ms configured_idle(const struct engine *engine) {
    return config_number(engine_config(engine), "tasks.idle_timeout_s", NULL);
}

struct child_spans child_spans_of(const struct engine *engine, task_id parent) {
    struct child_spans own = { 0 };
    struct task_spec told = { 0 };
    if (!engine_run_spans_of(engine, parent, &own.timeout, &own.idle))
        return own;
    (void)core_task_spec(engine_core(engine), parent, &told);
    const char *agent = op_name_of(engine, told.run_agent ? told.run_agent : told.agent);
    if (span_of(own.timeout) >= configured_timeout(engine, agent))
        own.timeout = 0;
    if (span_of(own.idle) >= configured_idle(engine))
        own.idle = 0;
    return own;
}

static int bound(json_t *task, const char *member, time_ms of_agent, time_ms of_parent,
                 struct error *err) {
    const json_t *given = json_object_get(task, member);
    time_ms most = time_min(of_agent, span_of(of_parent));
    if (most == TIME_NEVER)
        return 0;
    if (!json_is_number(given)) {
        if (most < of_agent)
            json_object_set_new(task, member, json_real((double)most / 1000.0));
        return 0;
    }
    if (json_number_value(given) * 1000.0 <= (double)most)
        return 0;
    return error_set(err, -EACCES, "'%s': a child may have %g s at most, as its %s has", member,
                     (double)most / 1000.0, most < of_agent ? "parent" : "agent");
}

int child_spans_bound(const struct engine *engine, const struct child_spans *parent, json_t *task,
                      struct error *err) {
    const char *agent = json_string_value(json_object_get(task, "agent"));
    int r = bound(task, "timeout_s", configured_timeout(engine, agent), parent->timeout, err);
    return r < 0 ? r : bound(task, "idle_timeout_s", configured_idle(engine), parent->idle, err);
}

/* --- the sandbox ----------------------------------------------------------------------------- */

json_t *child_inside_of(struct engine *engine, task_id task) {
    const char *root = NULL, *sandbox = engine_run_sandbox(engine, task, &root);
    struct engine_sandboxes here;
    if (!sandbox) { /* not known: as if it were the usual one */
        engine_sandboxes(engine, &here);
        sandbox = here.automatic;
    }
    if (strcmp(sandbox, "none") == 0)
        return NULL;
    json_t *inside = json_pack("{s:s}", "sandbox", sandbox);
    if (root)
        json_object_set_new(inside, "root", json_string(root));
    return inside;
}

int child_check_inside(const json_t *value, struct error *err) {
    static const char *const kinds[] = { "bubblewrap", "podman", "wrap" };
    const char *kind = json_string_value(json_object_get(value, "sandbox")), *member;
    const char *root = json_string_value(json_object_get(value, "root"));
    json_t *one;
    bool known = false;
    for (size_t i = 0; kind && i < ARRAY_SIZE(kinds); i++)
        known = known || strcmp(kinds[i], kind) == 0;
    json_object_foreach((json_t *)(uintptr_t)value, member, one) known =
        known && (strcmp(member, "sandbox") == 0 || strcmp(member, "root") == 0);
    if (known && (!json_object_get(value, "root") || (root && *root == '/')))
        return 0;
    return error_set(err, -EINVAL, "'inside' must be an object with 'sandbox' and 'root'");
}
