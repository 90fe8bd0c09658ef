/* child_members.c: see child_members.h. */
#include "ops/child_members.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "ops/op_internal.h"

enum {
    BY_TOKEN = 1u << CHILD_OF_TOKEN,
    BY_AGENT = 1u << CHILD_OF_AGENT,
    BY_COMMAND = 1u << CHILD_OF_COMMAND,
    BY_FILE = BY_AGENT | BY_COMMAND,
    BY_ALL = BY_TOKEN | BY_FILE,
    IF_ALLOWED = 1u << 8, /* by all of them, with capability.commands */
};

#define NO_COMMAND  "a run names an agent that is configured, no command (capability.commands)"
#define NOT_WHERE   "where its children work is not for a run to choose"
#define NOT_RUN     "where its children run is not for a run to choose"
#define NOT_KEPT    "what its children are kept from is not for a run to choose"
#define NOT_OF_HOST "the limits of its children are not for a run to choose"

static const struct rule {
    const char *member;
    unsigned by;
    const char *why; /* it is refused */
} rules[] = {
    /* Nothing of these reaches beyond the child itself. */
    { "agent", BY_ALL, NULL },
    { "depends_on", BY_ALL, NULL },
    { "draft", BY_ALL, NULL },
    { "failover", BY_ALL, NULL },
    { "hold", BY_ALL, NULL },
    { "idle_timeout_s", BY_ALL, NULL },
    { "kind", BY_ALL, NULL },
    { "meta", BY_ALL, NULL },
    { "name", BY_ALL, NULL },
    { "not_before", BY_ALL, NULL },
    { "parallelizable", BY_ALL, NULL },
    { "parent", BY_ALL, NULL },
    { "prompt", BY_ALL, NULL },
    { "resources", BY_ALL, NULL },
    { "resume", BY_ALL, NULL },
    { "retries", BY_ALL, NULL },
    { "review", BY_ALL, NULL },
    { "run_tokens", BY_ALL, NULL },
    { "run_usd", BY_ALL, NULL },
    { "serial", BY_ALL, NULL },
    { "timeout_s", BY_ALL, NULL },
    { "title", BY_ALL, NULL },
    { "tokens", BY_ALL, NULL },
    { "usd", BY_ALL, NULL },
    /* Their values are checked as well. */
    { "cwd", BY_ALL, NULL },
    { "parent_gate", BY_ALL, NULL },
    { "priority", BY_ALL, NULL },
    { "project", BY_ALL, NULL },
    { "until", BY_ALL, NULL },
    { "artifact", BY_FILE, NULL },
    { "spawn", BY_FILE, "its children add others by their own tokens" },
    /* Commands. */
    { "argv", BY_COMMAND | IF_ALLOWED, NO_COMMAND },
    { "checks", IF_ALLOWED, NO_COMMAND },
    /* What decides how a command runs, and what with. */
    { "base_branch", BY_COMMAND, NOT_WHERE },
    { "env", BY_COMMAND, "the environment of its children is not for a run to set" },
    { "executor", BY_COMMAND, NOT_RUN },
    { "grace_s", BY_COMMAND, NOT_OF_HOST },
    { "iteration", BY_COMMAND, NULL },
    { "limiter", BY_COMMAND, "which account its children use is not for a run to choose" },
    { "memory_mb", BY_COMMAND, NOT_OF_HOST },
    { "merge", BY_COMMAND, "what becomes of its children's work is not for a run to choose" },
    { "nice", BY_COMMAND, NOT_OF_HOST },
    { "on_budget", BY_COMMAND, "a child that passes its budget is stopped" },
    { "processes", BY_COMMAND, NOT_OF_HOST },
    { "slurm", BY_COMMAND, NOT_RUN },
    { "stdin", BY_COMMAND, "where its children read is not for a run to choose" },
    { "stop_signal", BY_COMMAND, NOT_OF_HOST },
    { "workspace", BY_COMMAND, NOT_WHERE },
    /* A task is older than it is, or has ended without a run: what an import brings over. */
    { "created_at", 0, "when its children were created is not for a run to say" },
    { "state", 0, "whether its children have ended is not for a run to say" },
    /* What keeps a run in. */
    { "inside", 0, NOT_KEPT },
    { "sandbox", 0, NOT_KEPT },
    { "wrap", 0, NO_COMMAND },
};

static bool allows_commands(const struct engine *engine) {
    return config_number(engine_config(engine), "capability.commands", NULL) != 0;
}

static const struct rule *find_rule(const char *member) {
    for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
        if (strcmp(rules[i].member, member) == 0)
            return &rules[i];
    return NULL;
}

enum child_source child_source_of(const struct engine *engine, const json_t *spec,
                                  bool in_sandbox) {
    bool may = json_is_array(json_object_get(spec, "argv")) || allows_commands(engine);
    return may && !in_sandbox ? CHILD_OF_COMMAND : CHILD_OF_AGENT;
}

int child_check_members(const struct engine *engine, enum child_source source, const json_t *task,
                        struct error *err) {
    bool allowed = allows_commands(engine);
    const char *member;
    json_t *value;
    json_object_foreach((json_t *)task, member, value) {
        const struct rule *rule = find_rule(member);
        unsigned by = rule ? rule->by : 0;
        if (json_is_null(value) || (by & 1u << source) || (allowed && (by & IF_ALLOWED)))
            continue;
        return error_set(err, -EACCES, "'%s': %s", op_quote(member).text,
                         rule && rule->why ? rule->why : "a run may not set this of a child");
    }
    return 0;
}

/* Some agents need no configuration; for a run they exist when the owner has named them, or uses them. */
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
