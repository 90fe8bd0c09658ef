/* secrets.c: reads the secrets of a run from their sources. See launch_internal.h. */
#include "engine/launch/launch_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/env_text.h"
#include "engine/redaction.h"
#include "engine/runs/runs_internal.h"
#include "os/files.h"
#include "os/log.h"

#define SOURCE_MAX ((size_t)64 << 10) /* bytes of one source */

/* In this order: later ones take precedence. Both owners have the same three sources. */
enum step {
    AGENT_FILE,
    AGENT_COMMAND,
    AGENT_CREDENTIAL,
    PROJECT_FILE,
    PROJECT_COMMAND,
    PROJECT_CREDENTIAL,
    STEPS,
};

static const char *const patterns[STEPS] = {
    [AGENT_FILE] = "agents.A.env_file",
    [AGENT_COMMAND] = "agents.A.env_command",
    [AGENT_CREDENTIAL] = "agents.A.env_credential",
    [PROJECT_FILE] = "projects.P.env_file",
    [PROJECT_COMMAND] = "projects.P.env_command",
    [PROJECT_CREDENTIAL] = "projects.P.env_credential",
};

struct secrets {
    struct secrets *next;
    struct engine *e;
    struct run_key key;
    char *agent, *project;         /* owners; agent NULL: without the agent's */
    unsigned step;                 /* the next */
    struct helper_process *helper; /* the running command; or NULL */
    bool is_adopted;               /* already running: read only for redaction */
    char *names;                   /* with is_adopted: its names, separated by blanks */
    struct error err;              /* code 0: none */
    LIST(char *) pairs;            /* NAME=VALUE */
    char *token;                   /* the same; NULL: unknown */
    void (*ready)(void *ctx);      /* not of a run: called after a command; or NULL */
    void *ctx;
};

struct all_secrets {
    struct secrets *first; /* of runs that are launched or live */
};

PART_STATE(secrets, struct all_secrets, secrets_of)

static void continue_reading(struct secrets *s);

/* --- life ------------------------------------------------------------------------------------- */

static void wipe(char *text) {
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

static void secrets_finish(struct secrets *s) {
    helper_kill(s->helper);
    for (size_t i = 0; i < s->pairs.count; i++) {
        redaction_release(s->e, s->pairs.items[i], false);
        wipe(s->pairs.items[i]);
    }
    if (s->token)
        redaction_release(s->e, s->token, true);
    wipe(s->token);
    free(s->pairs.items);
    free(s->agent);
    free(s->project);
    free(s->names);
    free(s);
}

static struct secrets *find_task(const struct engine *e, task_id task) {
    struct secrets *s = secrets_of(e)->first;
    while (s && s->key.task != task)
        s = s->next;
    return s;
}

static struct secrets *find_run(const struct engine *e, struct run_key key) {
    struct secrets *s = find_task(e, key.task);
    return s && s->key.attempt == key.attempt ? s : NULL;
}

void secrets_release(struct engine *e, task_id task) {
    for (struct secrets **at = &secrets_of(e)->first; *at; at = &(*at)->next)
        if ((*at)->key.task == task) {
            struct secrets *s = *at;
            *at = s->next;
            secrets_finish(s);
            return;
        }
}

static void secrets_free(struct engine *e) {
    while (secrets_of(e)->first)
        secrets_release(e, secrets_of(e)->first->key.task);
}

static struct secrets *secrets_new(struct engine *e, const struct live_run *run) {
    secrets_release(e, run->task);
    struct secrets *s = xcalloc(1, sizeof(*s));
    *s = (struct secrets){ .next = secrets_of(e)->first, .e = e, .key = run_key_of(run) };
    s->agent = run->agent ? xstrdup(run->agent) : NULL;
    s->project = xstrdup(project_of_task(e, run->task)->name);
    return secrets_of(e)->first = s;
}

/* --- one source ------------------------------------------------------------------------------- */

static const char *owner_of(const struct secrets *s, enum step step) {
    return step < PROJECT_FILE ? s->agent : s->project;
}

/* "agents.claude.env_file" */
static void fail(struct secrets *s, enum step step) {
    const char *pattern = patterns[step];
    (void)error_prefix(&s->err, "%.*s.%s%s", (int)strcspn(pattern, "."), pattern, owner_of(s, step),
                       strrchr(pattern, '.'));
}

/* Whether the name of this pair is in the blank-separated list. */
static bool is_named(const char *names, const char *pair) {
    size_t length = strcspn(pair, "=");
    for (const char *at = names; at && *at; at += *at == ' ') {
        size_t size = strcspn(at, " ");
        if (size == length && strncmp(at, pair, length) == 0)
            return true;
        at += size;
    }
    return false;
}

static int check_pair(const char *pair, size_t name, struct error *err) {
    static const char own[] = "SLUICE_";
    if (strncmp(pair, own, sizeof(own) - 1) == 0 || strncmp(pair, "TMPDIR=", name + 1) == 0)
        return error_set(err, -EINVAL, "it sets '%.*s', which Sluice sets itself", (int)name, pair);
    if (strlen(pair) >= RUN_SECRET_BYTES)
        return error_set(err, -E2BIG, "'%.*s' has more than %u bytes", (int)name, pair,
                         RUN_SECRET_BYTES);
    return 0;
}

/* A later one replaces an earlier one of the same name. */
static int put_pair(struct secrets *s, const char *pair) {
    size_t name = strcspn(pair, "="), at = 0;
    int r = check_pair(pair, name, &s->err);
    if (r < 0 || (s->is_adopted && !is_named(s->names, pair)))
        return r;
    while (at < s->pairs.count && strncmp(s->pairs.items[at], pair, name + 1) != 0)
        at++;
    redaction_add(s->e, pair);
    if (at < s->pairs.count) {
        redaction_release(s->e, s->pairs.items[at], false);
        wipe(s->pairs.items[at]);
        s->pairs.items[at] = xstrdup(pair);
    } else {
        *LIST_ADD(&s->pairs) = xstrdup(pair);
    }
    return 0;
}

static int take_lines(struct secrets *s, const char *text, size_t size) {
    struct strbuf pairs = STRBUF_INIT;
    int r = env_text_parse(text, size, &pairs, &s->err);
    for (size_t at = 0; r == 0 && at < pairs.length; at += strlen(pairs.text + at) + 1)
        r = put_pair(s, pairs.text + at);
    if (pairs.text)
        explicit_bzero(pairs.text, pairs.length);
    strbuf_finish(&pairs);
    return r;
}

static int read_file(struct secrets *s, enum step step) {
    const char *path = config_text(s->e->config, patterns[step], owner_of(s, step));
    struct strbuf text = STRBUF_INIT;
    if (!*path)
        return 0;
    int r = file_read(path, SOURCE_MAX, &text, &s->err);
    if (r == 0)
        r = take_lines(s, strbuf_text(&text), text.length);
    if (text.text)
        explicit_bzero(text.text, text.length);
    strbuf_finish(&text);
    return r;
}

/* `word`: NAME=CREDENTIAL. The value is the file without its final newline. */
static int read_credential(struct secrets *s, const char *folder, const char *word) {
    const char *credential = strchr(word, '=') + 1;
    struct strbuf pair = STRBUF_INIT;
    _cleanup_(freep) char *path = xasprintf("%s/%s", folder, credential);
    strbuf_add(&pair, word, (size_t)(credential - word));
    size_t name = pair.length;
    int r = file_read(path, SOURCE_MAX, &pair, &s->err);
    if (r == 0 && pair.length > name && pair.text[pair.length - 1] == '\n')
        pair.text[--pair.length] = '\0';
    if (r == 0 && strlen(pair.text) != pair.length)
        r = error_set(&s->err, -EINVAL, "there is a NUL in '%s'", credential);
    if (r == 0)
        r = put_pair(s, strbuf_text(&pair));
    explicit_bzero(pair.text, pair.length);
    strbuf_finish(&pair);
    return r;
}

static int read_credentials(struct secrets *s, enum step step) {
    const char *const *words = NULL;
    const char *folder = env_find(daemon_env(s->e), "CREDENTIALS_DIRECTORY");
    size_t count = config_words(s->e->config, patterns[step], owner_of(s, step), &words);
    int r = 0;
    if (count > 0 && !folder)
        return error_set(&s->err, -ENOENT,
                         "the daemon has no credentials: CREDENTIALS_DIRECTORY is not set; a "
                         "service of systemd with LoadCredential= has it");
    for (size_t i = 0; r == 0 && i < count; i++)
        r = read_credential(s, folder, words[i]);
    return r;
}

/* --- commands --------------------------------------------------------------------------------- */

/* Its output is not shown: it may be part of a secret. */
static int check_end(struct secrets *s, const struct helper_end *end) {
    if (end->error)
        return error_set(&s->err, -end->error, "it cannot be run: %s", strerror(end->error));
    if (end->timed_out)
        return error_set(&s->err, -ETIMEDOUT, "it took longer than tasks.env_command_timeout_s");
    if (end->cut)
        return error_set(&s->err, -EFBIG, "it printed more than %zu bytes", SOURCE_MAX);
    if (end->signal)
        return error_set(&s->err, -EIO, "signal %d ended it", end->signal);
    if (end->code != 0)
        return error_set(&s->err, -EIO, "it failed with exit code %d", end->code);
    return take_lines(s, end->output, end->size);
}

static void command_ended(void *ctx, const struct helper_end *end) {
    struct secrets *s = ctx;
    s->helper = NULL;
    if (turn_is_over(s->e)) /* the next daemon launches it */
        return;
    if (check_end(s, end) < 0)
        fail(s, (enum step)(s->step - 1));
    if (end->size > 0)
        explicit_bzero((char *)(uintptr_t)end->output, end->size);
    continue_reading(s);
}

/* The daemon's environment, which secret tools need, and our mark, so that the next daemon kills
 * what this one has left. */
static const char *const *command_env(const struct engine *e, struct arena *arena) {
    _cleanup_(strbuf_finish) struct strbuf mark = STRBUF_INIT;
    size_t count = 0;
    while (e->options.environment && e->options.environment[count])
        count++;
    const char **env = arena_alloc(arena, (count + 2) * sizeof(*env));
    for (size_t i = 0; i < count; i++)
        env[i] = e->options.environment[i];
    helper_mark(e->data, &mark);
    env[count] = arena_strdup(arena, strbuf_text(&mark));
    return env;
}

static int run_command(struct secrets *s, enum step step) {
    const char *const *words = NULL;
    struct engine *e = s->e;
    _cleanup_(arena_finish) struct arena arena = ARENA_INIT;
    if (config_words(e->config, patterns[step], owner_of(s, step), &words) == 0)
        return 0;
    struct helper_spec spec = {
        .argv = words,
        .cwd = e->home,
        .env = command_env(e, &arena),
        .timeout = config_number(e->config, "tasks.env_command_timeout_s", NULL),
        .output_max = SOURCE_MAX,
        .reads = true,
    };
    return helper_start(e->loop, &spec, command_ended, s, &s->helper, &s->err);
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Until the end, the first failure, or a command that must be waited for. */
static void read_sources(struct secrets *s) {
    static int (*const readers[])(struct secrets * s, enum step step) = { read_file, run_command,
                                                                          read_credentials };
    while (s->err.code == 0 && !s->helper && s->step < STEPS) {
        enum step step = (enum step)s->step++;
        if (owner_of(s, step) && readers[step % ARRAY_SIZE(readers)](s, step) < 0)
            fail(s, step);
    }
}

/* A command has ended. */
static void continue_reading(struct secrets *s) {
    read_sources(s);
    if (s->helper)
        return;
    if (s->ready) {
        s->ready(s->ctx);
        return;
    }
    struct live_run *run = run_find(s->e, s->key.task);
    char id[ENGINE_ID_MAX];
    if (!run || run->view.attempt != s->key.attempt)
        return;
    if (s->is_adopted && s->err.code < 0)
        log_warning("task '%s' runs, and its secrets cannot be read again: they may be shown in "
                    "its logs until it ends: %s",
                    engine_task_id(s->e, s->key.task, id), s->err.text);
    if (s->is_adopted)
        return;
    launch_set_deadline(s->e, run);
    launch_later(s->e, run->task);
    turn_wake(s->e);
}

static bool has_source(const struct secrets *s) {
    const char *const *words = NULL;
    for (enum step step = 0; step < STEPS; step++) {
        const struct config *config = s->e->config;
        const char *owner = owner_of(s, step);
        bool is_file = step == AGENT_FILE || step == PROJECT_FILE;
        if (owner
            && (is_file ? *config_text(config, patterns[step], owner) != '\0'
                        : config_words(config, patterns[step], owner, &words) > 0))
            return true;
    }
    return false;
}

/* A task's own command may come from a run, which could choose an agent for its secrets. */
static struct secrets *begin_reading(struct engine *e, const struct live_run *run,
                                     const json_t *task) {
    struct secrets *s = secrets_new(e, run);
    if (json_object_get(task, "argv")) {
        free(s->agent);
        s->agent = NULL;
    }
    if (!has_source(s)) {
        s->step = STEPS;
    } else if (run->executor == EXECUTOR_SLURM) {
        (void)error_set(&s->err, -ENOTSUP,
                        "it has secrets (env_file, env_command or env_credential), and there is no "
                        "safe way to hand them to a run in Slurm");
    } else {
        read_sources(s);
    }
    return s;
}

int secrets_prepare(struct engine *e, struct live_run *run, const json_t *task, struct error *err) {
    struct secrets *s = find_run(e, run_key_of(run));
    if (!s)
        s = begin_reading(e, run, task);
    if (s->helper)
        return 1;
    if (s->err.code < 0) {
        *err = s->err;
        run->launch_cause = s->step > PROJECT_FILE ? LAUNCH_PROJECT : LAUNCH_PROGRAM;
    }
    return s->err.code;
}

/* --- of a project alone ------------------------------------------------------------------------ */

static bool is_set_in(const char *const *env, const char *pair) {
    size_t name = strcspn(pair, "=") + 1;
    for (; *env; env++)
        if (strncmp(*env, pair, name) == 0)
            return true;
    return false;
}

struct secrets *secrets_of_project(struct engine *e, const char *project, void (*ready)(void *ctx),
                                   void *ctx) {
    struct secrets *s = xcalloc(1, sizeof(*s));
    *s = (struct secrets){ .e = e, .project = xstrdup(project), .ready = ready, .ctx = ctx };
    if (!has_source(s)) {
        secrets_finish(s);
        return NULL;
    }
    read_sources(s);
    return s;
}

bool secrets_are_complete(const struct secrets *s) {
    return !s->helper;
}

int secrets_add_to(const struct secrets *s, const char *const *env, struct arena *arena,
                   const char *const **ret_env, struct error *err) {
    size_t count = 0, n = 0;
    if (s->err.code < 0) {
        *err = s->err;
        return err->code;
    }
    while (env[count])
        count++;
    const char **all = arena_alloc(arena, (count + s->pairs.count + 1) * sizeof(*all));
    for (size_t i = 0; i < s->pairs.count; i++) /* what the task sets takes precedence */
        if (!is_set_in(env, s->pairs.items[i]))
            all[n++] = s->pairs.items[i];
    for (size_t i = 0; i < count; i++)
        all[n++] = env[i];
    *ret_env = all;
    return 0;
}

struct secrets *secrets_free_project(struct secrets *s) {
    if (s)
        secrets_finish(s);
    return NULL;
}

/* --- recipients ------------------------------------------------------------------------------- */

static bool is_set_by(const json_t *task, const char *pair) {
    char name[256];
    size_t length = strcspn(pair, "=");
    if (length >= sizeof(name))
        return false;
    memcpy(name, pair, length);
    name[length] = '\0';
    return json_is_string(json_object_get(json_object_get(task, "env"), name));
}

const char *const *secrets_list(const struct engine *e, struct run_key key, const json_t *task,
                                struct arena *arena) {
    const struct secrets *s = find_run(e, key);
    size_t count = 0;
    if (!s || s->pairs.count == 0)
        return NULL;
    const char **list = arena_alloc(arena, (s->pairs.count + 1) * sizeof(*list));
    for (size_t i = 0; i < s->pairs.count; i++)
        if (!is_set_by(task, s->pairs.items[i]))
            list[count++] = s->pairs.items[i];
    return list;
}

static void set_token(struct secrets *s, const char *token) {
    s->token = xasprintf("SLUICE_TOKEN=%s", token);
    redaction_add(s->e, s->token);
}

void secrets_note_token(struct engine *e, const struct live_run *run) {
    struct secrets *s = find_run(e, run_key_of(run));
    if (s && !s->token)
        set_token(s, run->token.text);
}

const char *const *secrets_check_env(const struct engine *e, struct run_key key,
                                     const struct run_spec *spec, struct arena *arena) {
    const struct secrets *s = find_run(e, key);
    const char *names = s ? spec->secret_names : NULL;
    size_t count = 0, n = 0, secrets = names ? s->pairs.count : 0;
    while (spec->env[count])
        count++;
    const char **env = arena_alloc(arena, (count + secrets + 1) * sizeof(*env));
    for (size_t i = 0; i < count; i++)
        if (!is_named(names, spec->env[i]) && !is_named("TMPDIR", spec->env[i]))
            env[n++] = spec->env[i];
    for (size_t i = 0; i < secrets; i++)
        if (is_named(names, s->pairs.items[i]))
            env[n++] = s->pairs.items[i];
    return env;
}

/* --- queries ---------------------------------------------------------------------------------- */

static bool secrets_are_being_read(const struct engine *e) {
    for (const struct secrets *s = secrets_of(e)->first; s; s = s->next)
        if (s->helper && !s->is_adopted)
            return true;
    return false;
}

bool secrets_are_read_for(const struct engine *e, task_id task) {
    const struct secrets *s = find_task(e, task);
    return s && s->helper && !s->is_adopted;
}

void secrets_stop(struct engine *e, task_id task) {
    struct secrets *s = find_task(e, task);
    if (!s || !s->helper || s->is_adopted)
        return;
    s->helper = helper_kill(s->helper);
    s->step = STEPS;
    launch_later(e, task);
    turn_wake(e);
}

/* --- the start -------------------------------------------------------------------------------- */

/* Reads the secrets of an adopted run again, by its shim's spec. */
static void read_adopted(struct engine *e, const struct live_run *run) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    if (run->is_unreachable || run_read_spec(e, run, &read, NULL) < 0)
        return;
    struct secrets *s = secrets_new(e, run);
    s->is_adopted = true;
    const char *token = run_spec_variable(&read->spec, "SLUICE_TOKEN");
    if (token)
        set_token(s, token);
    if (!read->spec.secret_names)
        return;
    s->names = xstrdup(read->spec.secret_names);
    continue_reading(s);
}

static bool has_command(const struct config *config) {
    const char *const *words = NULL;
    bool has = false;
    for (size_t i = 0; !has && i < config_agent_count(config); i++)
        has =
            config_words(config, patterns[AGENT_COMMAND], config_agent_name(config, i), &words) > 0;
    for (size_t i = 0; !has && i < config_project_count(config); i++)
        has =
            config_words(config, patterns[PROJECT_COMMAND], config_project_name(config, i), &words)
            > 0;
    return has;
}

static void secrets_start(struct engine *e) {
    if (has_command(e->config))
        (void)helper_sweep(e->data); /* those that an earlier daemon has left */
    for (size_t i = 0; i < run_count(e); i++)
        read_adopted(e, run_live_at(e, i));
}

const struct engine_part secrets_part = {
    .state_size = sizeof(struct all_secrets),
    .at = { [STEP_START] = secrets_start, [STEP_FREE] = secrets_free },
    .is_launching = secrets_are_being_read,
};
