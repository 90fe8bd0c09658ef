/* agents.c: which agents exist, and what is known of the running ones.
 *
 * Agents that need no configuration become known when a task first names one. From then on they and
 * their account are among the configured names, so lists, gates and `limiter clear` know them; a
 * restart finds them in the rows of their tasks. */
#include "engine/agents.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/env_text.h"
#include "engine/agents/agents_internal.h"
#include "engine/runs/runs_internal.h"

int engine_know_agent(struct engine *e, const char *name, struct error *err) {
    int r = 0;
    struct agent_spec known;
    if (core_agent_spec(e->core, symbol_of(e, name), &known) || !config_has_agent(e->config, name))
        return 0;
    config_add_builtin_agent(e->config, name);
    const char *limiter = config_text(e->config, "agents.A.limiter", name);
    if (*limiter && !core_limiter(e->core, symbol_of(e, limiter), &(struct limiter_view){ 0 }))
        r = config_apply_name(e->config, e->core, FACT_LIMITER, limiter, err);
    return r == 0 ? config_apply_name(e->config, e->core, FACT_AGENT, name, err) : r;
}

/* Those that the configuration names. */
static void agents_know_all(struct engine *e) {
    for (size_t i = 0; i < config_agent_count(e->config); i++) {
        const char *const *others = NULL;
        const char *name = config_agent_name(e->config, i);
        size_t count = config_words(e->config, "agents.A.failover", name, &others);
        config_add_builtin_agent(e->config, name);
        for (size_t k = 0; k < count; k++)
            config_add_builtin_agent(e->config, others[k]); /* one that needs no configuration */
        count = config_words(e->config, "agents.A.escalate", name, &others);
        for (size_t k = 0; k < count; k++) {
            char *agent = xstrndup(others[k], escalation_step_read(others[k]).agent_length);
            if (*agent)
                config_add_builtin_agent(e->config, agent);
            free(agent);
        }
    }
}

/* Agents that may take over accept a prompt. */
static int agents_check(struct engine *e, struct error *err) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < config_agent_count(e->config); i++) {
        const char *const *others = NULL;
        const char *name = config_agent_name(e->config, i);
        size_t count = config_words(e->config, "agents.A.failover", name, &others);
        for (size_t k = 0; r == 0 && k < count; k++)
            r = engine_check_agent(e, others[k], err);
        if (r < 0)
            (void)error_prefix(err, "agents.%.60s.failover", name);
    }
    return r;
}

/* Agents of the old configuration stay known. */
static void agents_config_replaced(struct engine *e, const struct config *old) {
    for (size_t i = 0; i < config_agent_count(old); i++)
        config_add_builtin_agent(e->config, config_agent_name(old, i));
    agents_know_all(e);
}

int engine_check_agent(const struct engine *e, const char *agent, struct error *err) {
    const char *const *words = NULL;
    if (!agent)
        agent = "";
    const char *name = config_text(e->config, "agents.A.adapter", agent);
    const struct agent_adapter *adapter = agent_adapter_find(name);
    if (!adapter)
        return error_set(err, -EINVAL,
                         "agent '%.60s' has the adapter '%.60s', and there is none of that name: "
                         "sluice config set agents.%.60s.adapter=plain, or claude, codex …",
                         agent, name, agent);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    struct agent_launch launch = { .program = NULL };
    if (adapter->client && strcmp(config_text(e->config, "agents.A.prompt", agent), "stdin") != 0)
        return error_set(err, -EINVAL,
                         "agent '%.60s' gets its prompt through the protocol of its adapter "
                         "'%.60s': remove agents.%.60s.prompt",
                         agent, name, agent);
    size_t count = config_words(e->config, "agents.A.command", agent, &words);
    const char *model = config_text(e->config, "agents.A.model", agent);
    for (size_t i = 0; !adapter->client && !*model && i < count; i++)
        if (strstr(words[i], MODEL_WORD))
            return error_set(err, -EINVAL,
                             "the command of agent '%.60s' has the word {model}: set the model of "
                             "tasks that name none with agents.%.60s.model",
                             agent, agent);
    if (count > 0 || agent_command(adapter, &launch, &out) > 0)
        return 0;
    return error_set(
        err, -EINVAL,
        "agent '%.60s' has no command to be told a prompt: set agents.%.60s.command, or "
        "give an 'argv'",
        agent, agent);
}

/* --- prompts that begin with '-' -------------------------------------------------------------- */

int agents_dashes(const struct engine *e, const char *agent, const char *const *words, size_t count,
                  size_t at, struct error *err) {
    const char *name = config_text(e->config, "agents.A.adapter", agent);
    enum agent_dashes dashes = agent_prompt_dashes(agent_adapter_find(name), words, count, at);
    if (dashes != AGENT_DASHES_UNKNOWN)
        return dashes == AGENT_DASHES_NEEDED;
    return error_set(err, -EINVAL,
                     "the prompt begins with '-', and would be an option of agent '%.60s': put "
                     "\"--\" before \"{prompt}\" in agents.%.60s.command, or write the option and "
                     "the prompt as one word, \"--option={prompt}\", or set "
                     "agents.%.60s.prompt=stdin",
                     agent, agent, agent);
}

/* The arguments of a first attempt; those of a later one begin with words of our own. */
static int check_words(const struct engine *e, const char *agent, const char *prompt,
                       struct error *err) {
    const char *const *words = NULL;
    size_t count = config_words(e->config, "agents.A.command", agent, &words);
    const char *way = config_text(e->config, "agents.A.prompt", agent);
    bool placed = false;
    int r = 0;
    if (count == 0 || strcmp(way, "file") == 0 || *prompt != '-')
        return 0;
    for (size_t i = 0; r >= 0 && i < count; i++) {
        if (!agent_word_has_prompt(words[i]))
            continue;
        placed = true;
        r = agents_dashes(e, agent, words, count, i, err);
    }
    if (r >= 0 && !placed && strcmp(way, "argument") == 0)
        r = agents_dashes(e, agent, words, count, count, err);
    return r < 0 ? r : 0;
}

int engine_check_prompt(const struct engine *e, const char *agent, const char *prompt,
                        bool failover, struct error *err) {
    const char *const *others = NULL;
    int r = check_words(e, agent ? agent : "", prompt, err);
    size_t count =
        agent && failover ? config_words(e->config, "agents.A.failover", agent, &others) : 0;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = check_words(e, others[i], prompt, err);
    return r;
}

/* --- the roster ------------------------------------------------------------------------------ */

static bool is_worker(const struct engine *e, const char *agent) {
    return config_number(e->config, "agents.A.roster", agent) != 0;
}

bool engine_has_roster(const struct engine *e) {
    for (size_t i = 0; i < config_agent_count(e->config); i++)
        if (is_worker(e, config_agent_name(e->config, i)))
            return true;
    return false;
}

int engine_check_roster(const struct engine *e, const char *prompt, struct error *err) {
    if (!engine_has_roster(e))
        return error_set(err, -EINVAL,
                         "a 'prompt' needs an 'agent', or a roster of workers that take it: "
                         "agents.NAME.roster");
    int r = 0;
    for (size_t i = 0; r == 0 && i < config_agent_count(e->config); i++) {
        const char *agent = config_agent_name(e->config, i);
        if (!is_worker(e, agent))
            continue;
        r = engine_check_agent(e, agent, err);
        if (r == 0)
            r = check_words(e, agent, prompt, err);
    }
    return r;
}

/* --- programs --------------------------------------------------------------------------------- */

/* Which program an agent is, and whether it is installed. Searched as a shim would: in the PATH
 * that a run of this agent gets. A relative path is relative to the folder of the run, which is not
 * known yet. */

#define STANDARD_PATH "/usr/local/bin:/usr/bin:/bin" /* of a run without a PATH, as in its shim */

static const char *path_of(const struct engine *e, const char *agent) {
    const char *const *words = NULL;
    const char *path =
        config_words(e->config, "agents.A.env", agent, &words) > 0 ? env_find(words, "PATH") : NULL;
    bool passed = false;
    size_t count = config_words(e->config, "tasks.env", NULL, &words);
    for (size_t i = 0; i < count; i++)
        passed |= strcmp(words[i], "PATH") == 0;
    if (!path && passed)
        path = env_find(daemon_env(e), "PATH");
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

const struct engine_part agents_part = {
    .at = { [STEP_UNLOAD] = agents_know_all },
    .try = { [TRY_CHECK_CONFIG] = agents_check },
    .config_replaced = agents_config_replaced,
};
