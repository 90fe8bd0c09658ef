/* agent.c: which agents are known, and with which words each is started. */
#include "agent/agent.h"

#include <string.h>

#include "agent/reader_internal.h"
#include "base/macros.h"

static const struct agent_adapter *const adapters[] = {
#define ADAPTER_ROW(name_) &agent_##name_,
    AGENT_ADAPTERS(ADAPTER_ROW)
};

static const char *const result_names[] = {
    [AGENT_OK] = "ok",
    [AGENT_DENIED] = "denied",
    [AGENT_LIMITED] = "limited",
    [AGENT_OVERLOADED] = "overloaded",
    [AGENT_AUTH] = "auth",
    [AGENT_BILLING] = "billing",
    [AGENT_CONTEXT_FULL] = "context-full",
    [AGENT_REFUSED] = "refused",
    [AGENT_MAX_TURNS] = "max-turns",
    [AGENT_BUDGET] = "budget",
    [AGENT_CANCELLED] = "cancelled",
    [AGENT_TIMEOUT] = "timeout",
    [AGENT_CRASHED] = "crashed",
    [AGENT_FAILED] = "failed",
};
_Static_assert(ARRAY_SIZE(result_names) == AGENT_RESULT_MAX, "a result has no name");

const char *agent_result_name(enum agent_result result) {
    return result_names[result];
}

const struct agent_adapter *agent_adapter_find(const char *name) {
    for (size_t i = 0; i < ARRAY_SIZE(adapters); i++)
        if (strcmp(adapters[i]->name, name) == 0)
            return adapters[i];
    return NULL;
}

size_t agent_adapter_count(void) {
    return ARRAY_SIZE(adapters);
}

const struct agent_adapter *agent_adapter_at(size_t index) {
    return index < ARRAY_SIZE(adapters) ? adapters[index] : NULL;
}

const char *agent_adapter_name(const struct agent_adapter *adapter) {
    return adapter->name;
}

const char *agent_adapter_stop_signal(const struct agent_adapter *adapter) {
    return adapter->stop_signal;
}

bool agent_adapter_can_resume(const struct agent_adapter *adapter) {
    return adapter->resume != NULL;
}

const char *agent_adapter_client(const struct agent_adapter *adapter) {
    return adapter->client;
}

bool agent_adapter_names_session(const struct agent_adapter *adapter) {
    return adapter->session_option != NULL;
}

bool agent_prompt_is_word(const struct agent_adapter *adapter) {
    return adapter->prompt_is_word;
}

const char *const *agent_environment(const struct agent_adapter *adapter) {
    static const char *const none[] = { NULL };
    return adapter->environment ? adapter->environment : none;
}

const char *agent_allow_option(const struct agent_adapter *adapter) {
    return adapter->allow_option;
}

const char *agent_allow_hint(const struct agent_adapter *adapter) {
    return adapter->allow_hint;
}

bool agent_put_login(const struct agent_adapter *adapter, const char *agent, struct strbuf *out) {
    static const char name[] = "{agent}";
    const char *at = adapter->login, *next;
    if (!at)
        return false;
    for (; (next = strstr(at, name)); at = next + strlen(name)) {
        strbuf_add(out, at, (size_t)(next - at));
        strbuf_puts(out, agent);
    }
    strbuf_puts(out, at);
    return true;
}

const struct agent_mcp *agent_mcp(const struct agent_adapter *adapter) {
    return adapter->mcp;
}

const char *agent_provider(const char *adapter) {
    const struct agent_adapter *found = agent_adapter_find(adapter);
    return found && found->provider ? found->provider : adapter;
}

const char *agent_builtin(size_t index) {
    for (size_t i = 0; i < ARRAY_SIZE(adapters); i++)
        if (adapters[i]->is_builtin && index-- == 0)
            return adapters[i]->name;
    return NULL;
}

bool agent_is_builtin(const char *name) {
    const struct agent_adapter *found = name ? agent_adapter_find(name) : NULL;
    return found && found->is_builtin;
}

static bool is_listed(const struct agent_adapter *adapter, enum agent_list list) {
    return list == AGENT_LIST_ALL
           || (list == AGENT_LIST_MCP ? adapter->mcp != NULL : adapter->is_builtin);
}

const char *agent_names(enum agent_list list, const char *last, struct strbuf *out) {
    size_t count = 0, at = 0;
    for (size_t i = 0; i < ARRAY_SIZE(adapters); i++)
        count += is_listed(adapters[i], list);
    for (size_t i = 0; i < ARRAY_SIZE(adapters); i++) {
        if (!is_listed(adapters[i], list))
            continue;
        if (++at > 1)
            strbuf_puts(out, at == count ? last : ", ");
        strbuf_puts(out, adapters[i]->name);
    }
    return strbuf_text(out);
}

const struct agent_path *agent_session_file(const struct agent_adapter *adapter) {
    return adapter->session_file;
}

const char *agent_usage_file_name(const struct agent_adapter *adapter) {
    return adapter->usage_file_name;
}

/* --- words ---------------------------------------------------------------------------------------- */

struct words {
    struct strbuf *out;
    size_t count;
};

static void word_add(struct words *w, const char *word, size_t size) {
    strbuf_add(w->out, word, size);
    strbuf_putc(w->out, '\0');
    w->count++;
}

/* "--model" "opus", or "--model=opus". */
static void option_add(struct words *w, const char *option, const char *value) {
    if (!option || !value)
        return;
    size_t length = strlen(option);
    if (length > 0 && option[length - 1] == '=') {
        strbuf_add(w->out, option, length);
        word_add(w, value, strlen(value));
    } else {
        word_add(w, option, length);
        word_add(w, value, strlen(value));
    }
}

/* "--sandbox", or "--sandbox=…". */
static bool has_option(const char *const *words, const char *option) {
    size_t length = strlen(option);
    for (size_t i = 0; words && words[i]; i++)
        if (strncmp(words[i], option, length) == 0
            && (words[i][length] == '\0' || words[i][length] == '='))
            return true;
    return false;
}

static bool has_one(const char *const *words, const char *const *options) {
    for (; options && *options; options++)
        if (has_option(words, *options))
            return true;
    return false;
}

static void words_add(struct words *w, const char *const *words) {
    for (; words && *words; words++)
        word_add(w, *words, strlen(*words));
}

static void usual_add(struct words *w, const struct agent_adapter *adapter,
                      const struct agent_launch *launch) {
    if (has_one(launch->more, adapter->instead))
        return;
    words_add(w, launch->is_boxed && adapter->usual_boxed ? adapter->usual_boxed : adapter->usual);
    if (!has_one(launch->more, adapter->tools_instead))
        words_add(w, launch->is_sandboxed && adapter->tools_sandboxed ? adapter->tools_sandboxed
                                                                      : adapter->tools);
}

static void template_add(struct words *w, const struct agent_adapter *adapter, const char *word,
                         const struct agent_launch *launch) {
    size_t length = strlen(word), tail = strlen(AGENT_WORD_RESUME);
    if (strcmp(word, AGENT_WORD_MODEL) == 0) {
        option_add(w, adapter->model_option, launch->model);
    } else if (strcmp(word, AGENT_WORD_SESSION) == 0) {
        option_add(w, adapter->session_option, launch->session);
    } else if (strcmp(word, AGENT_WORD_BUDGET) == 0) {
        if (!has_option(launch->more, adapter->budget_option)) /* given twice it is an error */
            option_add(w, adapter->budget_option, launch->budget_usd);
    } else if (strcmp(word, AGENT_WORD_USAGE) == 0) {
        option_add(w, adapter->usage_option, launch->usage_file);
    } else if (strcmp(word, AGENT_WORD_USUAL) == 0) {
        usual_add(w, adapter, launch);
    } else if (strcmp(word, AGENT_WORD_MORE) == 0) {
        for (size_t i = 0; launch->more && launch->more[i]; i++)
            word_add(w, launch->more[i], strlen(launch->more[i]));
        for (size_t i = 0; launch->allow && launch->allow[i]; i++)
            option_add(w, adapter->allow_option, launch->allow[i]);
    } else if (length >= tail && strcmp(word + length - tail, AGENT_WORD_RESUME) == 0) {
        strbuf_add(w->out, word, length - tail);
        const char *id = launch->resume ? launch->resume : "";
        word_add(w, id, strlen(id));
    } else {
        word_add(w, word, length);
    }
}

size_t agent_command(const struct agent_adapter *adapter, const struct agent_launch *launch,
                     struct strbuf *out) {
    bool resumes = launch->resume && adapter->resume;
    const char *const *words = resumes ? adapter->resume : adapter->command;
    struct words w = { out, 0 };
    for (size_t i = 0; words && words[i]; i++) {
        const char *word = i == 0 && launch->program ? launch->program : words[i];
        if (i == 0)
            word_add(&w, word, strlen(word));
        else
            template_add(&w, adapter, word, launch);
    }
    return w.count;
}

/* Nothing for a value that is NULL or "". */
static void setting_add(struct words *w, const char *option, const char *value) {
    if (value && *value)
        option_add(w, option, value);
}

size_t agent_client_command(const struct agent_client *client, struct strbuf *out) {
    struct words w = { out, 0 };
    word_add(&w, client->program, strlen(client->program));
    setting_add(&w, "--permissions=", client->permissions);
    setting_add(&w, "--resume=", client->resume);
    setting_add(&w, "--mode=", client->mode);
    setting_add(&w, "--model=", client->model);
    setting_add(&w, "--auth-method=", client->auth_method);
    word_add(&w, "--", 2);
    for (size_t i = 0; i < client->count; i++)
        word_add(&w, client->words[i], strlen(client->words[i]));
    return w.count;
}
