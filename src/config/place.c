/* place.c: see place.h.
 *
 * Values become words of sbatch, behind the = of an option, so none of them can be read as another option. `options` are
 * such words themselves: they must be whole ones (a word of its own would be taken for the script), and must not take away
 * what a run needs: one job for one attempt, which carries its token. sbatch takes the beginning of a name for the name;
 * so does this. */
#include "config/place.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "base/number.h"

#define LETTERS   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS    "0123456789"
#define NAME_MAX_ 64
#define TEXT_MAX_ 1024
#define CPUS_MAX  100000

/* Sluice says these itself, or could not follow the job. */
static const char *const own_options[] = {
    "array",    "clusters", "comment",   "error", "help",    "input", "job-name", "output",
    "parsable", "requeue",  "test-only", "usage", "version", "wait",  "wrap",
};

static bool is_name(const char *text) {
    size_t length = strlen(text);
    return length > 0 && length <= NAME_MAX_ && *text != '-'
           && strspn(text, LETTERS DIGITS "._-") == length;
}

static bool is_wish(const char *text) {
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
    { "partition", is_name, "one name: letters, digits, '.', '_' and '-'" },
    { "account", is_name, "one name: letters, digits, '.', '_' and '-'" },
    { "qos", is_name, "one name: letters, digits, '.', '_' and '-'" },
    { "gres", is_wish, "a text without blanks, like gpu:2" },
    { "constraint", is_wish, "a text without blanks, like 'rack1|rack2'" },
    { "cpus", is_count, "a whole number from 1 to 100000" },
    { "options", are_options,
      "long options of sbatch with their values behind '=', like '--exclusive --mail-type=END'; "
      "none of "
      "array, clusters, comment, error, help, input, job-name, output, parsable, requeue, "
      "test-only, usage, version, wait, wrap" },
};

const char *place_key(size_t index) {
    return index < ARRAY_SIZE(keys) ? keys[index].key : NULL;
}

int place_check(const char *key, const char *value, struct error *err) {
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

bool place_takes_word(const char *word) {
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const char *value = value_in(word, keys[i].key);
        if (value)
            return keys[i].fits(value);
    }
    return false;
}

/* The last one counts, as with any list that somebody added to. */
static const char *value_of(const struct config *config, const char *pattern, const char *name,
                            const char *key) {
    const char *const *words = NULL, *value = NULL;
    size_t count = config_words(config, pattern, name, &words);
    for (size_t i = 0; i < count; i++) {
        const char *here = value_in(words[i], key);
        value = here ? here : value;
    }
    return value;
}

const char *config_place(const struct config *config, const char *key, const char *project,
                         const char *agent) {
    const char *value = project ? value_of(config, "projects.P.slurm", project, key) : NULL;
    if (!value && agent)
        value = value_of(config, "agents.A.slurm", agent, key);
    return value ? value : value_of(config, "tasks.slurm", NULL, key);
}

const char *config_executor(const struct config *config, const char *project, const char *agent) {
    if (project && config_is_set(config, "projects.P.executor", project))
        return config_text(config, "projects.P.executor", project);
    if (agent && config_is_set(config, "agents.A.executor", agent))
        return config_text(config, "agents.A.executor", agent);
    return config_text(config, "tasks.executor", NULL);
}

bool config_uses_slurm(const struct config *config) {
    bool uses = strcmp(config_executor(config, NULL, NULL), "slurm") == 0;
    for (size_t i = 0; !uses && i < config_project_count(config); i++)
        uses = strcmp(config_executor(config, config_project_name(config, i), NULL), "slurm") == 0;
    for (size_t i = 0; !uses && i < config_agent_count(config); i++)
        uses = strcmp(config_executor(config, NULL, config_agent_name(config, i)), "slurm") == 0;
    return uses;
}
