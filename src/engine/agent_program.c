/* agent_program.c: which program is an agent, and is it there?
 *
 * Looked for as a shim would: in the PATH that a run of this agent gets. A path that is relative is in the folder of the
 * run, of which nobody knows yet. */
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "engine/agents.h"
#include "engine/engine_internal.h"

#define STANDARD_PATH                                                                              \
    "/usr/local/bin:/usr/bin:/bin" /* of a run without a PATH, as its shim has it */

/* The value of PATH in a list of pairs, or NULL. */
static const char *path_in(const char *const *pairs) {
    for (; pairs && *pairs; pairs++)
        if (strncmp(*pairs, "PATH=", 5) == 0)
            return *pairs + 5;
    return NULL;
}

static const char *path_of(const struct engine *e, const char *agent) {
    const char *const *words = NULL;
    const char *path =
        config_words(e->config, "agents.A.env", agent, &words) > 0 ? path_in(words) : NULL;
    bool passed = false;
    size_t count = config_words(e->config, "tasks.env", NULL, &words);
    for (size_t i = 0; i < count; i++)
        passed |= strcmp(words[i], "PATH") == 0;
    if (!path && passed)
        path = path_in((const char *const *)e->options.environment);
    return path ? path : STANDARD_PATH;
}

static bool is_program(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool engine_find_in_path(const char *path, const char *program, struct strbuf *out) {
    for (const char *at = path; *at; at += *at == ':') {
        size_t length = strcspn(at, ":");
        strbuf_clear(out);
        if (length > 0)
            strbuf_printf(out, "%.*s/%s", (int)length, at, program);
        if (length > 0 && length < PATH_MAX && is_program(strbuf_text(out)))
            return true;
        at += length;
    }
    strbuf_clear(out);
    return false;
}

void engine_agent_program(const struct engine *e, const char *agent, struct strbuf *program,
                          struct strbuf *found) {
    const char *const *words = NULL;
    _cleanup_(strbuf_finish) struct strbuf command = STRBUF_INIT;
    const struct agent_adapter *adapter =
        agent_adapter_find(config_text(e->config, "agents.A.adapter", agent));
    if (config_words(e->config, "agents.A.command", agent, &words) > 0)
        strbuf_puts(program, words[0]);
    else if (adapter && agent_command(adapter, &(struct agent_launch){ 0 }, &command) > 0)
        strbuf_puts(program, strbuf_text(&command)); /* its first word */
    const char *name = strbuf_text(program);
    if (*name == '/' && is_program(name))
        strbuf_puts(found, name);
    else if (*name && !strchr(name, '/'))
        (void)engine_find_in_path(path_of(e, agent), name, found);
}
