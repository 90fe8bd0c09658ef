/* run_settings.c: see run_settings.h. */
#include "config/run_settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/number.h"

#define LEVELS  3
#define KEY_MAX 48

/* The levels at which a key may be set, highest precedence first. */
struct levels {
    struct {
        const char *prefix, *name;
        bool is_there;
    } at[LEVELS];
};

static struct levels levels_of(const char *project, const char *agent) {
    return (struct levels){ {
        { "projects.P", project, project != NULL },
        { "agents.A", agent, agent != NULL },
        { "tasks", NULL, true },
    } };
}

static const char *key_of(const struct levels *levels, size_t index, const char *member,
                          char key[KEY_MAX]) {
    (void)snprintf(key, KEY_MAX, "%s.%s", levels->at[index].prefix, member);
    return key;
}

/* From the first level that sets it; else from `tasks`. */
static const char *text_of(const struct config *config, const char *member, const char *project,
                           const char *agent) {
    struct levels levels = levels_of(project, agent);
    char key[KEY_MAX];
    size_t i = 0;
    while (i + 1 < LEVELS
           && !(levels.at[i].is_there
                && config_is_set(config, key_of(&levels, i, member, key), levels.at[i].name)))
        i++;
    return config_text(config, key_of(&levels, i, member, key), levels.at[i].name);
}

static size_t words_of(const struct config *config, const struct levels *levels, size_t index,
                       const char *member, const char *const **ret_words) {
    char key[KEY_MAX];
    return levels->at[index].is_there ? config_words(config, key_of(levels, index, member, key),
                                                     levels->at[index].name, ret_words)
                                      : 0;
}

/* --- the sandbox ------------------------------------------------------------------------------ */

const char *config_sandbox(const struct config *config, const char *project, const char *agent,
                           const char *const **ret_wrap) {
    struct levels levels = levels_of(project, agent);
    char key[KEY_MAX];
    *ret_wrap = NULL;
    for (size_t i = 0; i < LEVELS; i++) {
        const char *name = levels.at[i].name;
        if (words_of(config, &levels, i, "wrap", ret_wrap) > 0)
            return "wrap";
        *ret_wrap = NULL;
        if (levels.at[i].is_there
            && (!name || config_is_set(config, key_of(&levels, i, "sandbox", key), name)))
            return config_text(config, key_of(&levels, i, "sandbox", key), name);
    }
    return "none"; /* not reached: `tasks` always has a value */
}

bool config_sandbox_network(const struct config *config, const char *project, const char *agent) {
    return strcmp(text_of(config, "sandbox_network", project, agent), "on") == 0;
}

const char *config_sandbox_image(const struct config *config, const char *project,
                                 const char *agent) {
    return text_of(config, "sandbox_image", project, agent);
}

void config_sandbox_paths(const struct config *config, const char *list, const char *project,
                          const char *agent, config_each_path each, void *ctx) {
    struct levels levels = levels_of(project, agent);
    char member[16];
    (void)snprintf(member, sizeof(member), "sandbox_%s", list);
    for (size_t i = 0; i < LEVELS; i++) {
        const char *const *words = NULL;
        size_t count = words_of(config, &levels, i, member, &words);
        for (size_t k = 0; k < count; k++)
            each(ctx, words[k]);
    }
}

/* --- the executor ----------------------------------------------------------------------------- */

const char *config_executor(const struct config *config, const char *project, const char *agent) {
    return text_of(config, "executor", project, agent);
}

bool config_uses_slurm(const struct config *config) {
    bool uses = strcmp(config_executor(config, NULL, NULL), "slurm") == 0;
    for (size_t i = 0; !uses && i < config_project_count(config); i++)
        uses = strcmp(config_executor(config, config_project_name(config, i), NULL), "slurm") == 0;
    for (size_t i = 0; !uses && i < config_agent_count(config); i++)
        uses = strcmp(config_executor(config, NULL, config_agent_name(config, i)), "slurm") == 0;
    return uses;
}

/* --- Slurm ------------------------------------------------------------------------------------ */

/* Values become arguments of sbatch, after the = of an option, so none can be read as another
 * option. `options` are complete arguments (a separate word would be taken for the script), and
 * must not override what a run needs: one job per attempt, with its token. sbatch accepts
 * abbreviated options; so does this. */

#define LETTERS   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS    "0123456789"
#define NAME_MAX_ 64
#define TEXT_MAX_ 1024
#define CPUS_MAX  100000
#define NAME_RULE "one name: letters, digits, '.', '_' and '-'"

/* Set by Sluice itself, or they would keep it from following the job. */
static const char *const own_options[] = {
    "array",    "clusters", "comment",   "error", "help",    "input", "job-name", "output",
    "parsable", "requeue",  "test-only", "usage", "version", "wait",  "wrap",
};

static bool is_name(const char *text) {
    size_t length = strlen(text);
    return length > 0 && length <= NAME_MAX_ && *text != '-'
           && strspn(text, LETTERS DIGITS "._-") == length;
}

static bool is_value_text(const char *text) {
    size_t length = strlen(text);
    for (const char *c = text; *c; c++)
        if (*c <= ' ' || *c > '~')
            return false;
    return length > 0 && length <= TEXT_MAX_;
}

static bool is_count(const char *text) {
    int64_t number = 0;
    return strspn(text, DIGITS) == strlen(text) && number_parse_int(text, &number, NULL) == 0
           && number >= 1 && number <= CPUS_MAX;
}

static bool is_own(const char *name, size_t length) {
    for (size_t i = 0; i < ARRAY_SIZE(own_options); i++)
        if (strncmp(own_options[i], name, length) == 0)
            return true;
    return false;
}

static bool are_options(const char *text) {
    size_t length = strlen(text);
    if (length == 0 || length > TEXT_MAX_)
        return false;
    while (*text) {
        size_t word = strcspn(text, " ");
        size_t name = strcspn(text, "= ");
        for (size_t i = 0; i < word; i++)
            if (text[i] < ' ' || text[i] > '~')
                return false;
        if (word > 0 && (name < 3 || strncmp(text, "--", 2) != 0 || is_own(text + 2, name - 2)))
            return false;
        text += word + strspn(text + word, " ");
    }
    return true;
}

static const struct {
    const char *key;
    bool (*fits)(const char *value);
    const char *what;
} keys[] = {
    { "partition", is_name, NAME_RULE },
    { "account", is_name, NAME_RULE },
    { "qos", is_name, NAME_RULE },
    { "gres", is_value_text, "a text without blanks, like gpu:2" },
    { "constraint", is_value_text, "a text without blanks, like 'rack1|rack2'" },
    { "cpus", is_count, "a whole number from 1 to 100000" },
    { "options", are_options,
      "long options of sbatch with their values behind '=', like '--exclusive --mail-type=END'; "
      "none of "
      "array, clusters, comment, error, help, input, job-name, output, parsable, requeue, "
      "test-only, usage, version, wait, wrap" },
};

int slurm_value_check(const char *key, const char *value, struct error *err) {
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        if (strcmp(keys[i].key, key) != 0)
            continue;
        if (keys[i].fits(value))
            return 0;
        return error_set(err, -EINVAL, "'%s' of 'slurm' must be %s", key, keys[i].what);
    }
    return error_set(
        err, -EINVAL,
        "'slurm' has no '%.60s'; it has partition, account, qos, gres, constraint, cpus and "
        "options",
        key);
}

static const char *value_in(const char *word, const char *key) {
    size_t length = strlen(key);
    return strncmp(word, key, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

bool slurm_word_is_valid(const char *word) {
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const char *value = value_in(word, keys[i].key);
        if (value)
            return keys[i].fits(value);
    }
    return false;
}

/* The last one counts. */
const char *config_slurm_value(const struct config *config, const char *key, const char *project,
                               const char *agent) {
    struct levels levels = levels_of(project, agent);
    const char *value = NULL;
    for (size_t i = 0; !value && i < LEVELS; i++) {
        const char *const *words = NULL;
        size_t count = words_of(config, &levels, i, "slurm", &words);
        for (size_t k = 0; k < count; k++) {
            const char *here = value_in(words[k], key);
            value = here ? here : value;
        }
    }
    return value;
}
