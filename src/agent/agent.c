/* agent.c: the table of agents, how to start each, and what it needs. */
#include "agent/agent.h"

#include <ctype.h>
#include <string.h>

#include "agent/reader_internal.h"
#include "base/macros.h"

#define ADAPTER_ROW(name_) &agent_##name_,
const struct agent_adapter *const agent_adapters[] = { AGENT_ADAPTERS(ADAPTER_ROW) NULL };

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
    [AGENT_CANCELED] = "cancelled",
    [AGENT_TIMEOUT] = "timeout",
    [AGENT_CRASHED] = "crashed",
    [AGENT_FAILED] = "failed",
};
_Static_assert(ARRAY_SIZE(result_names) == AGENT_RESULT_MAX, "a result has no name");

const char *agent_result_name(enum agent_result result) {
    return result_names[result];
}

const struct agent_adapter *agent_adapter_find(const char *name) {
    const struct agent_adapter *const *at = agent_adapters;
    while (*at && strcmp((*at)->name, name) != 0)
        at++;
    return *at;
}

bool agent_print_login(const struct agent_adapter *adapter, const char *agent, struct strbuf *out) {
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

const struct agent_preflight *agent_preflight(const struct agent_adapter *adapter) {
    return adapter ? adapter->preflight : NULL;
}

const char *agent_provider(const char *adapter) {
    const struct agent_adapter *found = agent_adapter_find(adapter);
    return found && found->provider ? found->provider : adapter;
}

const char *agent_builtin(size_t index) {
    for (const struct agent_adapter *const *at = agent_adapters; *at; at++)
        if ((*at)->is_builtin && index-- == 0)
            return (*at)->name;
    return NULL;
}

bool agent_has_builtin(const char *name) {
    const struct agent_adapter *found = name ? agent_adapter_find(name) : NULL;
    return found && found->is_builtin;
}

static bool is_listed(const struct agent_adapter *adapter, enum agent_list list) {
    return list == AGENT_LIST_ALL
           || (list == AGENT_LIST_MCP ? adapter->mcp != NULL : adapter->is_builtin);
}

const char *agent_print_names(enum agent_list list, const char *last, struct strbuf *out) {
    size_t left = 0;
    for (const struct agent_adapter *const *at = agent_adapters; *at; at++)
        left += is_listed(*at, list);
    for (const struct agent_adapter *const *at = agent_adapters; *at; at++)
        if (is_listed(*at, list)) {
            strbuf_puts(out, (*at)->name);
            left--;
            strbuf_puts(out, left > 1 ? ", " : left == 1 ? last : "");
        }
    return strbuf_text(out);
}

/* --- words ------------------------------------------------------------------------------------ */

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
    if (length > 0 && option[length - 1] == '=')
        strbuf_add(w->out, option, length);
    else
        word_add(w, option, length);
    word_add(w, value, strlen(value));
}

/* "--sandbox", or "--sandbox=…"; `length` of the option's name. */
static bool is_option(const char *word, const char *option, size_t length) {
    return strncmp(word, option, length) == 0 && (word[length] == '\0' || word[length] == '=');
}

static bool has_option(const char *const *words, const char *option) {
    size_t length = strlen(option);
    for (size_t i = 0; words && words[i]; i++)
        if (is_option(words[i], option, length))
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

/* Configured words. At a terminal, without the options that need an unattended run. */
static void more_add(struct words *w, const struct agent_adapter *adapter,
                     const struct agent_launch *launch) {
    for (const char *const *word = launch->more; word && *word; word++) {
        const char *const *option = launch->is_interactive ? adapter->unattended : NULL;
        size_t length = 0;
        for (; option && *option; option++) {
            length = strcspn(*option, "=");
            if (is_option(*word, *option, length))
                break;
        }
        if (!option || !*option)
            word_add(w, *word, strlen(*word));
        else if ((*option)[length] == '=' && (*word)[length] == '\0' && word[1])
            word++;
    }
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

/* Replaces AGENT_WORD_RESUME at the end of a word by the id. */
static void resume_add(struct words *w, const char *word, const char *id) {
    size_t length = strlen(word), tail = strlen(AGENT_WORD_RESUME);
    bool has_id = length >= tail && strcmp(word + length - tail, AGENT_WORD_RESUME) == 0;
    strbuf_add(w->out, word, has_id ? length - tail : length);
    word_add(w, id, has_id ? strlen(id) : 0);
}

static void template_add(struct words *w, const struct agent_adapter *adapter, const char *word,
                         const struct agent_launch *launch) {
    bool resumes = launch->resume && adapter->resume;
    if (strcmp(word, AGENT_WORD_MODEL) == 0) {
        option_add(w, adapter->model_option, launch->model);
    } else if (strcmp(word, AGENT_WORD_SESSION) == 0) {
        if (!resumes)
            option_add(w, adapter->session_option, launch->session);
        for (size_t i = 0; resumes && adapter->resume[i]; i++)
            resume_add(w, adapter->resume[i], launch->resume);
    } else if (strncmp(word, AGENT_WORD_NEW, strlen(AGENT_WORD_NEW)) == 0) {
        word += strlen(AGENT_WORD_NEW);
        if (!resumes)
            word_add(w, word, strlen(word));
    } else if (strcmp(word, AGENT_WORD_BUDGET) == 0) {
        if (!has_option(launch->more, adapter->budget_option)) /* a duplicate is an error */
            option_add(w, adapter->budget_option, launch->budget_usd);
    } else if (strcmp(word, AGENT_WORD_USAGE) == 0) {
        option_add(w, adapter->usage_option, launch->usage_file);
    } else if (strcmp(word, AGENT_WORD_USUAL) == 0) {
        usual_add(w, adapter, launch);
    } else if (strcmp(word, AGENT_WORD_MORE) == 0) {
        more_add(w, adapter, launch);
        for (size_t i = 0; launch->allow && launch->allow[i]; i++)
            option_add(w, adapter->allow_option, launch->allow[i]);
    } else {
        word_add(w, word, strlen(word));
    }
}

size_t agent_command(const struct agent_adapter *adapter, const struct agent_launch *launch,
                     struct strbuf *out) {
    struct words w = { out, 0 };
    const char *const *words = launch->is_interactive ? adapter->interactive : adapter->command;
    if (!words)
        return 0;
    const char *program = launch->program ? launch->program : words[0];
    word_add(&w, program, strlen(program));
    for (const char *const *word = words + 1; *word; word++)
        template_add(&w, adapter, *word, launch);
    return w.count;
}

/* Adds nothing if the value is NULL or "". */
static void setting_add(struct words *w, const char *option, const char *value) {
    if (value && *value)
        option_add(w, option, value);
}

size_t agent_client_command(const struct agent_client *client, struct strbuf *out) {
    struct words w = { out, 0 };
    word_add(&w, client->program, strlen(client->program));
    setting_add(&w, "--permissions=", client->permissions);
    setting_add(&w, "--ask-wait=", client->ask_wait);
    setting_add(&w, "--ask-deadline=", client->ask_deadline);
    setting_add(&w, "--resume=", client->resume);
    setting_add(&w, "--mode=", client->mode);
    setting_add(&w, "--model=", client->model);
    setting_add(&w, "--auth-method=", client->auth_method);
    word_add(&w, "--", 2);
    for (size_t i = 0; i < client->count; i++)
        word_add(&w, client->words[i], strlen(client->words[i]));
    return w.count;
}

enum agent_permission agent_permission(const struct agent_adapter *adapter, const char *const *more,
                                       bool is_sandboxed) {
    const struct agent_preflight *row = adapter ? adapter->preflight : NULL;
    if (!row || has_one(more, adapter->instead) || has_one(more, adapter->tools_instead))
        return AGENT_MAY_AS_SET;
    return is_sandboxed ? row->may_sandboxed : row->may;
}

/* --- the prompt on a command line ------------------------------------------------------------- */

/* The author of a prompt must not be able to choose options: `--dangerously-skip-permissions` as
 * the prompt of a child would be one. Programs that support `--` take everything after it as
 * operands; how others treat such a word is unknown. */
#define END_OF_OPTIONS "--"
#define PROMPT         "{prompt}"

/* The value of an option: "--message={prompt}" cannot become another option. */
static bool is_value(const char *word) {
    size_t length = strlen(word), tail = strlen("=" PROMPT);
    return word[0] == '-' && length > tail && strcmp(word + length - tail, "=" PROMPT) == 0;
}

bool agent_word_has_prompt(const char *word) {
    return strcmp(word, PROMPT) == 0 || is_value(word);
}

void agent_word_put_prompt(const char *word, const char *prompt, struct strbuf *out) {
    strbuf_add(out, word, strlen(word) - strlen(PROMPT));
    strbuf_puts(out, prompt);
}

/* Is the word after this one an operand? Options may take values, except the adapter's flags. */
static bool ends_before_operand(const struct agent_adapter *adapter, const char *word) {
    if (word[0] != '-' || strchr(word, '='))
        return true;
    for (size_t i = 0; adapter->flags[i]; i++)
        if (strcmp(adapter->flags[i], word) == 0)
            return true;
    return false;
}

enum agent_dashes agent_prompt_dashes(const struct agent_adapter *adapter, const char *const *words,
                                      size_t count, size_t at) {
    if ((at < count && is_value(words[at]))
        || (at > 0 && strcmp(words[at - 1], END_OF_OPTIONS) == 0))
        return AGENT_DASHES_NOT_NEEDED;
    if (!adapter || !adapter->flags || (at > 1 && !ends_before_operand(adapter, words[at - 1])))
        return AGENT_DASHES_UNKNOWN;
    for (size_t i = at + 1; i < count; i++) /* it would no longer be an option */
        if (words[i][0] == '-')
            return AGENT_DASHES_UNKNOWN;
    return AGENT_DASHES_NEEDED;
}

/* --- paths in the home directory -------------------------------------------------------------- */

#define CWD     "{cwd}"
#define CWD_MAX 200 /* the agent shortens longer paths in its own way */

const struct agent_path *agent_paths(const struct agent_adapter *adapter) {
    static const struct agent_path none[] = { { NULL, AGENT_PATH_READ } };
    return adapter && adapter->paths ? adapter->paths : none;
}

/* Matches the start of a file or package name: …/bin/codex-acp, @scope/codex-acp@1.0. */
const struct agent_adapter *agent_adapter_of_command(const char *const *words) {
    for (; *words; words++) {
        const char *slash = strrchr(*words, '/'), *name = slash ? slash + 1 : *words;
        for (const struct agent_adapter *const *at = agent_adapters; *at; at++) {
            size_t length = strlen((*at)->name);
            if ((*at)->paths && strncmp(name, (*at)->name, length) == 0
                && (name[length] == '\0' || name[length] == '-' || name[length] == '@'))
                return *at;
        }
    }
    return NULL;
}

void agent_path_resolve(const struct agent_adapter *adapter, const struct agent_path *path,
                        const struct agent_path_context *place, struct strbuf *out) {
    const char *home = place->home, *cwd = place->cwd;
    const char *rest = path->path, *name = adapter->settings_variable;
    const char *folder = adapter->settings_folder;
    size_t length = folder ? strlen(folder) : 0;
    const char *other = name ? place->variable(place->ctx, name) : NULL;
    if (other && *other == '/' && folder && strncmp(rest, folder, length) == 0) {
        home = other;
        rest += rest[length] == '/' ? length + 1 : 0; /* ".claude.json" is inside such a folder */
    }
    strbuf_printf(out, "%s/", home);
    const char *at = strstr(rest, CWD);
    if (!at) {
        strbuf_puts(out, rest);
    } else if (strlen(cwd) > CWD_MAX) {
        strbuf_add(out, rest, (size_t)(at - rest) - 1); /* the parent folder of all sessions */
    } else {
        strbuf_add(out, rest, (size_t)(at - rest));
        for (; *cwd; cwd++) /* /home/me/my.web → -home-me-my-web */
            strbuf_putc(out, isalnum((unsigned char)*cwd) ? *cwd : '-');
        strbuf_puts(out, at + strlen(CWD));
    }
}
