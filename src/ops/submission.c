/* submission.c: is this object a task?
 *
 * One row per member; what has a type of its own (a command, variables) has a function. A member that is
 * not known is refused, because a misspelt `depends_on` that is quietly left out starts a task too early. */
#include "ops/submission.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/utf8.h"
#include "config/settings.h"
#include "ops/budgets.h"
#include "ops/inside.h"
#include "ops/op_internal.h"

#define TITLE_MAX   500
#define PATH_BYTES  4096
#define SPAN_MAX    DAYS(3650)
#define TOKENS_MOST INT64_C(100000000000000)

enum member_type {
    MEMBER_NAME,  /* a name as projects have them */
    MEMBER_LINE,  /* a text without control characters, at most `max` bytes */
    MEMBER_PATH,  /* an absolute path */
    MEMBER_PLACE, /* a path that leads down from where it begins */
    MEMBER_BODY,  /* any text */
    MEMBER_NUMBER,
    MEMBER_SECONDS, /* kept in ms */
    MEMBER_MONEY,   /* dollars, kept in millionths */
    MEMBER_BOOLEAN,
    MEMBER_CHOICE,
    MEMBER_OTHER, /* `check` looks at it; kept as JSON */
};

struct member {
    const char *name;
    enum member_type type;
    size_t offset;
    int64_t min, max;
    const char *const *choices;
    int (*check)(const char *name, const json_t *value, struct error *err);
    const char *written, *text; /* for the documents */
};

static const char *const untils[] = { "exit", "done", "validate", "external", NULL };
static const char *const parent_gates[] = { "done", "none", NULL };
static const char *const merges[] = { "none", "local", "direct", "mr", NULL };
static const char *const stop_signals[] = { "TERM", "INT", NULL };
static const char *const budget_modes[] = { "hold", "stop", NULL };
static const char *const resumes[] = { "auto", "never", NULL };
static const char *const failovers[] = { "auto", "none", NULL };
static const char *const executors[] = { "local", "slurm", NULL };
static const char *const states[] = { "done", "failed", "canceled", "invalidated", "review", NULL };
static const char *const sandboxes[] = { "auto", "none", "bubblewrap", "podman", NULL };

/* --- members with a form of their own -------------------------------------------------------- */

static int check_words(const char *name, const json_t *value, struct error *err) {
    size_t count = json_array_size(value);
    if (!json_is_array(value) || count == 0)
        return error_set(err, -EINVAL, "'%s' must be a list of words, the program first", name);
    if (count > SUBMISSION_ARGV_MAX)
        return error_set(err, -E2BIG, "'%s' has %zu words; the most are %u", name, count,
                         SUBMISSION_ARGV_MAX);
    for (size_t i = 0; i < count; i++)
        if (!json_is_string(json_array_get(value, i)))
            return error_set(err, -EINVAL, "word %zu of '%s' is no text", i + 1, name);
    if (json_string_length(json_array_get(value, 0)) == 0)
        return error_set(err, -EINVAL, "'%s' names no program: its first word is empty", name);
    return 0;
}

static int check_seconds(const char *name, const json_t *value, int64_t least_ms,
                         struct error *err) {
    double seconds = json_number_value(value);
    if (!json_is_number(value))
        return error_set(err, -EINVAL, "'%s' must be a number of seconds", name);
    if (seconds * 1000.0 < (double)least_ms || seconds * 1000.0 > (double)SPAN_MAX)
        return error_set(err, -ERANGE, "'%s' must be from %g to %" PRId64 " seconds", name,
                         (double)least_ms / 1000.0, SPAN_MAX / 1000);
    return 0;
}

static int check_one_check(const json_t *check, struct error *err) {
    if (json_is_array(check))
        return check_words("checks", check, err);
    const char *key;
    json_t *value;
    if (!json_is_object(check))
        return error_set(err, -EINVAL,
                         "an entry of 'checks' must be a command: a list of words, or an object "
                         "with 'argv' and 'timeout_s'");
    json_object_foreach((json_t *)check, key, value) {
        int r = 0;
        if (strcmp(key, "timeout_s") == 0)
            r = check_seconds("timeout_s", value, 100, err);
        else if (strcmp(key, "argv") != 0)
            r = error_set(err, -EINVAL,
                          "unknown member '%s' of a check; it has 'argv' and "
                          "'timeout_s'",
                          op_quote(key).text);
        if (r < 0)
            return r;
    }
    return check_words("checks", json_object_get(check, "argv"), err);
}

static int check_checks(const char *name, const json_t *value, struct error *err) {
    size_t count = json_array_size(value);
    if (!json_is_array(value))
        return error_set(err, -EINVAL, "'%s' must be a list of commands", name);
    if (count > SUBMISSION_CHECKS_MAX)
        return error_set(err, -E2BIG, "'%s' has %zu commands; the most are %u", name, count,
                         SUBMISSION_CHECKS_MAX);
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = check_one_check(json_array_get(value, i), err);
    return r;
}

static bool is_variable(const char *name) {
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    size_t letters = strspn(name, first);
    return letters > 0
           && name[letters
                   + strspn(name + letters, "abcdefghijklmnopqrstuvwxyz"
                                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                            "0123456789")]
                  == '\0';
}

static int check_env(const char *name, const json_t *value, struct error *err) {
    if (!json_is_object(value))
        return error_set(err, -EINVAL, "'%s' must be an object of texts", name);
    size_t bytes = 0;
    const char *key;
    json_t *text;
    json_object_foreach((json_t *)value, key, text) {
        if (!is_variable(key))
            return error_set(err, -EINVAL, "'%s' is no name of a variable: letters, digits and _",
                             op_quote(key).text);
        if (strncmp(key, "SLUICE_", strlen("SLUICE_")) == 0)
            return error_set(err, -EINVAL,
                             "'%s': names that begin with SLUICE_ are set for the run",
                             op_quote(key).text);
        if (!json_is_string(text))
            return error_set(err, -EINVAL, "variable '%s' must be a text", op_quote(key).text);
        bytes += strlen(key) + json_string_length(text) + 2;
    }
    if (bytes > SUBMISSION_ENV_MAX)
        return error_set(err, -E2BIG, "'%s' has %zu bytes; the most are %u", name, bytes,
                         SUBMISSION_ENV_MAX);
    return 0;
}

static int check_list(const char *name, const json_t *value, struct error *err) {
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!json_is_string(json_array_get(value, i)))
            return error_set(err, -EINVAL, "entry %zu of '%s' is no text", i + 1, name);
    if (!json_is_array(value) && !json_is_string(value))
        return error_set(err, -EINVAL, "'%s' must be a list of texts, or one text with commas",
                         name);
    return 0;
}

static int check_object(const char *name, const json_t *value, struct error *err) {
    return json_is_object(value) ? 0 : error_set(err, -EINVAL, "'%s' must be an object", name);
}

/* --- the members ----------------------------------------------------------------------------- */

#define AT(field) .offset = offsetof(struct submission, field)

/* clang-format off */
static const struct member members[] = { /* by name */
    { "agent", MEMBER_NAME, AT(agent), .written = "name",
      .text = "who runs it; a prompt needs one that has a command, or a roster whose workers take it" },
    { "argv", MEMBER_OTHER, AT(argv), .check = check_words, .written = "[word, …]",
      .text = "the command; this or `prompt`" },
    { "artifact", MEMBER_PLACE, AT(artifact), .written = "path",
      .text = "a file that must exist before it may start; `iterations/{iteration}/artifacts/…` or "
              "`iterations/002/artifacts/…` is below the folder of its parent" },
    { "base_branch", MEMBER_NAME, AT(base_branch), .written = "text",
      .text = "the branch its worktree comes from; else that of its project" },
    { "checks", MEMBER_OTHER, AT(checks), .check = check_checks,
      .written = "[[word, …] or {\"argv\", \"timeout_s\"}, …]",
      .text = "commands that must succeed after it, in order" },
    { "created_at", MEMBER_NUMBER, AT(created_at), .min = 1, .max = INT64_C(253402300799999),
      .written = "ms since the epoch", .text = "when it was created elsewhere; for the owner alone" },
    { "cwd", MEMBER_PATH, AT(cwd), .written = "path",
      .text = "the folder it runs in; else that of its project" },
    { "depends_on", MEMBER_OTHER, AT(depends_json), .check = check_list,
      .written = "[id or name, …] or \"a, b\"",
      .text = "tasks that must be done first: ids, or names of this batch" },
    { "draft", MEMBER_BOOLEAN, AT(draft), .written = "boolean",
      .text = "known, but not scheduled until it is slung; `hold` and `not_before` count from then on" },
    { "env", MEMBER_OTHER, AT(env), .check = check_env, .written = "{NAME: text, …}",
      .text = "variables of its environment" },
    { "executor", MEMBER_CHOICE, AT(executor), .choices = executors, .written = "local, slurm",
      .text = "whether its runs are on this machine or jobs of Slurm; else as its project, its agent or "
              "`tasks.executor` says when it is added" },
    { "external_id", MEMBER_NAME, AT(external_id), .written = "text",
      .text = "its name elsewhere; a second task with the same one in the project is not added" },
    { "failover", MEMBER_CHOICE, AT(failover), .choices = failovers, .written = "auto, none",
      .text = "whether other agents take it over while its own is limited: as its agent says, or not" },
    { "grace_s", MEMBER_SECONDS, AT(grace_ms), .min = 0, .written = "seconds",
      .text = "between the stop signal and KILL" },
    { "hold", MEMBER_BOOLEAN, AT(hold), .written = "boolean", .text = "held until it is released" },
    { "idle_timeout_s", MEMBER_SECONDS, AT(idle_timeout_ms), .min = 100, .written = "seconds",
      .text = "stopped when it prints nothing for so long" },
    { "inside", MEMBER_OTHER, AT(inside), .check = inside_check, .written = "{\"sandbox\", \"root\"}",
      .text = "set for a task that a run in a sandbox added: the task gets a sandbox, too, and works in that folder" },
    { "iteration", MEMBER_NUMBER, AT(iteration), .min = 1, .max = 1000000, .written = "number",
      .text = "where it begins to count; 1 when not given" },
    { "kind", MEMBER_NAME, AT(kind), .written = "name", .text = "its kind, known to the configuration" },
    { "limiter", MEMBER_NAME, AT(limiter), .written = "name",
      .text = "the provider account it uses, if not that of its agent" },
    { "memory_mb", MEMBER_NUMBER, AT(memory_mb), .min = 1, .max = 1000000000, .written = "number",
      .text = "most memory of all its processes" },
    { "merge", MEMBER_CHOICE, AT(merge), .choices = merges, .written = "none, local, direct, mr",
      .text = "what is done with its work in a worktree; else what its project says" },
    { "meta", MEMBER_OTHER, AT(meta), .check = check_object, .written = "object",
      .text = "anything; kept and shown, not looked at" },
    { "name", MEMBER_NAME, AT(name), .written = "text",
      .text = "what the others of this batch call it" },
    { "nice", MEMBER_NUMBER, AT(nice), .min = 0, .max = 19, .written = "number",
      .text = "how far it stands back for the processor" },
    { "not_before", MEMBER_NUMBER, AT(not_before), .min = 0, .max = INT64_C(253402300799999),
      .written = "ms since the epoch", .text = "held until then" },
    { "on_budget", MEMBER_CHOICE, AT(on_budget), .choices = budget_modes, .written = "hold, stop",
      .text = "a run that passes a budget goes on to its end, or is stopped; then the task is held" },
    { "parallelizable", MEMBER_BOOLEAN, AT(parallelizable), .written = "boolean",
      .text = "may run beside others of its project, phase and kind" },
    { "parent", MEMBER_NAME, AT(parent), .written = "id or name",
      .text = "the task it belongs to: an id, or a name of this batch" },
    { "parent_gate", MEMBER_CHOICE, AT(parent_gate), .choices = parent_gates,
      .written = "done, none", .text = "whether it waits until its parent is done" },
    { "priority", MEMBER_NUMBER, AT(priority), .min = -1000000, .max = 1000000,
      .written = "number", .text = "lower starts first; 100 when not given" },
    { "processes", MEMBER_NUMBER, AT(processes), .min = 1, .max = 1000000000, .written = "number",
      .text = "most processes and threads at once" },
    { "project", MEMBER_NAME, AT(project), .written = "name", .text = "`default` when not given" },
    { "prompt", MEMBER_BODY, AT(prompt), .written = "text", .text = "what its agent is told; this or `argv`" },
    { "resources", MEMBER_OTHER, AT(resources_json), .check = check_list, .written = "[name, …]",
      .text = "limited things of which it needs one each" },
    { "resume", MEMBER_CHOICE, AT(resume), .choices = resumes, .written = "auto, never",
      .text = "whether its next attempt goes on with the session of its agent after a limit, a crash or "
              "a restart; else as its agent says" },
    { "retries", MEMBER_NUMBER, AT(retries), .min = -1, .max = 60000, .written = "number",
      .text = "attempts after a failed first one; -1: as the configuration says" },
    { "review", MEMBER_BOOLEAN, AT(review), .written = "boolean",
      .text = "waits for approval when it has finished" },
    { "run_tokens", MEMBER_NUMBER, AT(run_tokens), .min = 0, .max = TOKENS_MOST,
      .written = "number", .text = "how many one of its runs may use" },
    { "run_usd", MEMBER_MONEY, AT(run_usd), .written = "dollars",
      .text = "what one of its runs may cost" },
    { "sandbox", MEMBER_CHOICE, AT(sandbox), .choices = sandboxes,
      .written = "auto, none, bubblewrap, podman",
      .text = "the sandbox of its runs; if not given, that of its project, its agent or `tasks.sandbox`" },
    { "serial", MEMBER_NAME, AT(serial), .written = "text",
      .text = "its phase, of which one runs at a time unless parallelizable" },
    { "slurm", MEMBER_OTHER, AT(slurm), .check = submission_check_slurm,
      .written = "{NAME: text, …}",
      .text = "what Slurm is asked for: `partition`, `account`, `qos`, `gres`, `constraint`, `cpus`, "
              "`options`; its memory and time are `memory_mb` and `timeout_s`" },
    { "spawn", MEMBER_PLACE, AT(spawn), .written = "path",
      .text = "a file of tasks that it writes, absolute or below its artifacts: they become its "
              "children when it has succeeded" },
    { "state", MEMBER_CHOICE, AT(state), .choices = states,
      .written = "done, failed, canceled, invalidated, review",
      .text = "how it ended elsewhere; it does not run, unless retried. review: it waits for approval; for the owner alone" },
    { "stdin", MEMBER_PATH, AT(stdin_path), .written = "path",
      .text = "a file for its standard input" },
    { "stop_signal", MEMBER_CHOICE, AT(stop_signal), .choices = stop_signals,
      .written = "TERM, INT", .text = "how it is asked to stop" },
    { "timeout_s", MEMBER_SECONDS, AT(timeout_ms), .min = 100, .written = "seconds",
      .text = "stopped, and failed, after so long" },
    { "title", MEMBER_LINE, AT(title), .max = TITLE_MAX, .written = "text",
      .text = "what lists show" },
    { "tokens", MEMBER_NUMBER, AT(tokens), .min = 0, .max = TOKENS_MOST,
      .written = "number",
      .text = "how many all its runs, and the children that they add, may use" },
    { "until", MEMBER_CHOICE, AT(until), .choices = untils,
      .written = "exit, done, validate, external", .text = "when it is finished" },
    { "usd", MEMBER_MONEY, AT(usd), .written = "dollars",
      .text = "what all its runs, and the children that they add, may cost" },
    { "workspace", MEMBER_NAME, AT(workspace), .written = "text",
      .text = "the workspace it wants; it waits while that is taken" },
    { "wrap", MEMBER_OTHER, AT(wrap), .check = check_words, .written = "[word, …]",
      .text = "another sandbox program: its command line, as in `tasks.wrap`" },
};
/* clang-format on */

bool submission_member(size_t index, const char **ret_name, const char **ret_type,
                       const char **ret_text) {
    if (index >= ARRAY_SIZE(members))
        return false;
    *ret_name = members[index].name;
    *ret_type = members[index].written;
    *ret_text = members[index].text;
    return true;
}

static int compare_member(const void *name, const void *member) {
    return strcmp(name, ((const struct member *)member)->name);
}

static int refuse_unknown(const char *name, struct error *err) {
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        nearest_offer(&nearest, members[i].name);
    if (nearest.best)
        return error_set(err, -EINVAL, "a task has no '%s'; did you mean '%s'?",
                         op_quote(name).text, nearest.best);
    return error_set(err, -EINVAL, "a task has no '%s'; what it may have is in docs/api.md",
                     op_quote(name).text);
}

static int refuse_text(const struct member *m, struct error *err) {
    return error_set(err, -EINVAL, "'%s' must be a text", m->name);
}

static bool leads_up(const char *path) {
    for (;;) {
        size_t length = strcspn(path, "/");
        if (length == 2 && path[0] == '.' && path[1] == '.')
            return true;
        if (path[length] == '\0')
            return false;
        path += length + 1;
    }
}

static int check_text(const struct member *m, const json_t *value, struct error *err) {
    const char *text = json_string_value(value);
    size_t size = json_string_length(value);
    if (!text)
        return refuse_text(m, err);
    if (m->type == MEMBER_BODY)
        return size > 0 ? 0 : error_set(err, -EINVAL, "'%s' is empty", m->name);
    if (m->type == MEMBER_NAME && !setting_name_is_valid(text, size))
        return error_set(err, -EINVAL,
                         "'%s' must have 1 to %d bytes, no control characters, no blank at the "
                         "ends",
                         m->name, SETTING_NAME_MAX);
    if (m->type == MEMBER_LINE && (int64_t)size > m->max)
        return error_set(err, -E2BIG, "'%s' has %zu bytes; the most are %" PRId64, m->name, size,
                         m->max);
    if (m->type == MEMBER_PLACE && (size == 0 || size > PATH_BYTES || leads_up(text)))
        return error_set(err, -EINVAL, "'%s' must be a path of at most %d bytes without '..'",
                         m->name, PATH_BYTES);
    if (m->type == MEMBER_PATH && (text[0] != '/' || size > PATH_BYTES))
        return error_set(err, -EINVAL, "'%s' must be an absolute path of at most %d bytes", m->name,
                         PATH_BYTES);
    if (!utf8_is_line(text, size))
        return error_set(err, -EINVAL, "'%s' has a control character in it", m->name);
    return 0;
}

static int check_choice(const struct member *m, const json_t *value, struct error *err) {
    const char *text = json_string_value(value);
    for (const char *const *c = m->choices; text && *c; c++)
        if (strcmp(*c, text) == 0)
            return 0;
    return error_set(err, -EINVAL, "'%s' must be one of %s", m->name, m->written);
}

static int check_number(const struct member *m, const json_t *value, struct error *err) {
    if (!json_is_integer(value))
        return error_set(err, -EINVAL, "'%s' must be a whole number", m->name);
    if (json_integer_value(value) < m->min || json_integer_value(value) > m->max)
        return error_set(err, -ERANGE, "'%s' must be from %" PRId64 " to %" PRId64, m->name, m->min,
                         m->max);
    return 0;
}

static int take_member(const struct member *m, const json_t *value, struct submission *ret,
                       struct error *err) {
    char *field = (char *)ret + m->offset;
    int r = 0;
    switch (m->type) {
    case MEMBER_NAME:
    case MEMBER_LINE:
    case MEMBER_PATH:
    case MEMBER_PLACE:
    case MEMBER_BODY:
        r = check_text(m, value, err);
        *(const char **)field = json_string_value(value);
        break;
    case MEMBER_CHOICE:
        r = check_choice(m, value, err);
        *(const char **)field = json_string_value(value);
        break;
    case MEMBER_NUMBER:
        r = check_number(m, value, err);
        *(int64_t *)field = json_integer_value(value);
        break;
    case MEMBER_SECONDS:
        r = check_seconds(m->name, value, m->min, err);
        *(int64_t *)field = (int64_t)(json_number_value(value) * 1000.0);
        break;
    case MEMBER_MONEY:
        r = op_money(m->name, value, (int64_t *)field, err);
        break;
    case MEMBER_BOOLEAN:
        if (!json_is_boolean(value))
            r = error_set(err, -EINVAL, "'%s' must be true or false", m->name);
        *(int64_t *)field = json_is_true(value);
        break;
    case MEMBER_OTHER:
        r = m->check(m->name, value, err);
        *(const json_t **)field = value;
        break;
    }
    return r;
}

/* --- lists ----------------------------------------------------------------------------------- */

struct names {
    const char **items;
    size_t count, most;
    const char *what;
    struct arena *arena;
};

static int add_name(struct names *names, const char *text, size_t size, struct error *err) {
    while (size > 0 && (text[0] == ' ' || text[0] == '\t')) {
        text++;
        size--;
    }
    while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\t'))
        size--;
    if (size == 0)
        return 0; /* "a,,b" */
    if (!setting_name_is_valid(text, size))
        return error_set(err, -EINVAL,
                         "an entry of '%s' must have 1 to %d bytes, no control "
                         "characters",
                         names->what, SETTING_NAME_MAX);
    for (size_t i = 0; i < names->count; i++)
        if (strlen(names->items[i]) == size && memcmp(names->items[i], text, size) == 0)
            return 0;
    if (names->count == names->most)
        return error_set(err, -E2BIG, "'%s' has more than %zu entries", names->what, names->most);
    names->items[names->count++] = arena_strndup(names->arena, text, size);
    return 0;
}

static int split_names(struct names *names, const char *text, struct error *err) {
    int r = 0;
    for (;;) {
        size_t size = strcspn(text, ",");
        r = add_name(names, text, size, err);
        if (r < 0 || text[size] == '\0')
            return r;
        text += size + 1;
    }
}

/* No more names than this can be in it. */
static size_t names_in(const json_t *value, size_t most) {
    size_t count = json_array_size(value) + json_is_string(value), entries = count;
    for (size_t i = 0; i < entries && count < most; i++) {
        const char *text =
            json_string_value(json_is_string(value) ? value : json_array_get(value, i));
        for (; *text; text++)
            count += *text == ',';
    }
    return count < most ? count : most;
}

/* A list, or one text: trimmed, split at commas, each name once. */
static int take_names(const json_t *value, struct names *names, struct error *err) {
    if (!value)
        return 0;
    size_t room = names_in(value, names->most);
    names->items = arena_alloc(names->arena, (room + 1) * sizeof(*names->items));
    if (json_is_string(value))
        return split_names(names, json_string_value(value), err);
    int r = 0;
    for (size_t i = 0; r == 0 && i < json_array_size(value); i++)
        r = split_names(names, json_string_value(json_array_get(value, i)), err);
    return r;
}

static int take_lists(struct submission *s, struct arena *arena, struct error *err) {
    struct names depends = { .most = SUBMISSION_DEPENDS_MAX, .what = "depends_on", .arena = arena };
    struct names resources = { .most = SUBMISSION_RESOURCES_MAX,
                               .what = "resources",
                               .arena = arena };
    int r = take_names(s->depends_json, &depends, err);
    if (r == 0)
        r = take_names(s->resources_json, &resources, err);
    s->depends_on = depends.items;
    s->depends_on_count = depends.count;
    s->resources = resources.items;
    s->resource_count = resources.count;
    return r;
}

/* --- the whole ------------------------------------------------------------------------------- */

#define ITERATIONS "iterations/"

uint32_t submission_artifact_iteration(const char *artifact) {
    if (strncmp(artifact, ITERATIONS, strlen(ITERATIONS)) != 0)
        return 0;
    const char *digits = artifact + strlen(ITERATIONS);
    size_t length = strspn(digits, "0123456789");
    return length > 0 && length < 9 && digits[length] == '/' ? (uint32_t)strtoul(digits, NULL, 10)
                                                             : 0;
}

/* Below the folder of the parent only what its iterations leave is meant. */
static int check_artifact(const struct submission *s, struct error *err) {
    const char *path = s->artifact;
    if (!path || *path == '/')
        return 0;
    bool current = strncmp(path, ITERATIONS "{iteration}/", strlen(ITERATIONS "{iteration}/")) == 0;
    if (!current && submission_artifact_iteration(path) == 0)
        return error_set(err, -EINVAL,
                         "'artifact' must be an absolute path, or one of the parent's: "
                         "iterations/{iteration}/artifacts/NAME");
    if (!s->parent)
        return error_set(err, -EINVAL, "'artifact' is one of the parent's: that needs a 'parent'");
    if (s->parent_gate && strcmp(s->parent_gate, "none") == 0)
        return error_set(err, -EINVAL,
                         "'artifact' is one of the parent's, which counts when that is done: leave "
                         "out 'parent_gate'");
    return 0;
}

/* What one member says of another. */
static int check_together(const struct submission *s, struct error *err) {
    if (s->prompt && s->argv)
        return error_set(err, -EINVAL, "a task has a 'prompt' or an 'argv', not both");
    if (!s->prompt && !s->argv)
        return error_set(err, -EINVAL, "a task needs an 'argv', or a 'prompt' for its agent");
    if (s->prompt && s->stdin_path)
        return error_set(err, -EINVAL, "'stdin' goes with 'argv': an agent gets its prompt there");
    if (s->until && strcmp(s->until, "validate") == 0 && json_array_size(s->checks) == 0)
        return error_set(err, -EINVAL, "'until' is validate: that needs 'checks'");
    return check_artifact(s, err);
}

int submission_read(const json_t *json, struct arena *arena, struct submission *ret,
                    struct error *err) {
    *ret = (struct submission){
        .json = json,
        .priority = SUBMISSION_NOT_GIVEN,
        .retries = SUBMISSION_NOT_GIVEN,
        .not_before = SUBMISSION_NOT_GIVEN,
        .created_at = SUBMISSION_NOT_GIVEN,
        .iteration = SUBMISSION_NOT_GIVEN,
        .memory_mb = SUBMISSION_NOT_GIVEN,
        .processes = SUBMISSION_NOT_GIVEN,
        .nice = SUBMISSION_NOT_GIVEN,
        .tokens = SUBMISSION_NOT_GIVEN,
        .usd = SUBMISSION_NOT_GIVEN,
        .run_tokens = SUBMISSION_NOT_GIVEN,
        .run_usd = SUBMISSION_NOT_GIVEN,
        .timeout_ms = SUBMISSION_NOT_GIVEN,
        .idle_timeout_ms = SUBMISSION_NOT_GIVEN,
        .grace_ms = SUBMISSION_NOT_GIVEN,
        .parallelizable = SUBMISSION_NOT_GIVEN,
        .review = SUBMISSION_NOT_GIVEN,
        .hold = SUBMISSION_NOT_GIVEN,
        .draft = SUBMISSION_NOT_GIVEN,
    };
    if (!json_is_object(json))
        return error_set(err, -EINVAL, "a task must be an object");
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)json, name, value) {
        const struct member *m =
            bsearch(name, members, ARRAY_SIZE(members), sizeof(*members), compare_member);
        if (!m)
            return refuse_unknown(name, err);
        int r = json_is_null(value) ? 0 : take_member(m, value, ret, err);
        if (r < 0)
            return r;
    }
    int r = take_lists(ret, arena, err);
    return r < 0 ? r : check_together(ret, err);
}
