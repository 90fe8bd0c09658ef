/* launch.c: what a run gets: its command, its checks, its environment and its limits. All from the
 * task's spec as submitted; the submitter's environment is not needed. The environment is built
 * from an allow-list, never inherited. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/env_text.h"
#include "base/money.h"
#include "engine/agents.h"
#include "engine/agents/agents_internal.h"
#include "engine/budget/budget_internal.h"
#include "engine/descendants.h"
#include "engine/escalation.h"
#include "engine/git/git_internal.h"
#include "engine/launch/launch_internal.h"
#include "engine/probes/probes_internal.h"
#include "engine/questions.h"
#include "engine/runs/runs_internal.h"
#include "engine/slurm/slurm_internal.h"
#include "engine/takeover.h"
#include "engine/tasks/tasks_internal.h"
#include "os/clock.h"

/* --- the context of a slung task -------------------------------------------------------------- */

/* The submission never changes. The context is a separate JSON object with only what the slinger
 * set, merged here into a copy of the submission, so that the rest need not know about slinging:
 *   agent, limiter        informational; already in the core
 *   merge, base_branch    replace those of the task
 *   args                  text appended to the prompt
 *   steps                 numbers of the tasks that do the work, or true: it runs nothing itself
 *   meta                  merged with the task's
 *   allow                 permission rules, added by retries; a submission has none */

static void append_args(json_t *spec, const char *args) {
    const char *prompt = json_string_value(json_object_get(spec, "prompt"));
    if (!prompt)
        return;
    struct strbuf text = STRBUF_INIT;
    size_t size = strlen(prompt);
    strbuf_puts(&text, prompt);
    strbuf_puts(&text, size > 0 && prompt[size - 1] == '\n' ? "\n" : "\n\n");
    strbuf_puts(&text, args);
    json_object_set_new(spec, "prompt", json_string(strbuf_text(&text)));
    strbuf_finish(&text);
}

/* `context` NULL: no change. */
static void context_apply(json_t *spec, const char *context) {
    static const char *const plain[] = { "merge", "base_branch" };
    json_t *change = context ? json_loads(context, 0, NULL) : NULL;
    for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
        if (json_object_get(change, plain[i]))
            json_object_set(spec, plain[i], json_object_get(change, plain[i]));
    const char *args = json_string_value(json_object_get(change, "args"));
    if (args)
        append_args(spec, args);
    const json_t *steps = json_object_get(change, "steps");
    if (json_is_true(steps)
        || json_array_size(steps) > 0) { /* they did the work: it runs nothing */
        json_object_del(spec, "prompt");
        json_object_del(spec, "stdin");
        json_object_set_new(spec, "argv", json_pack("[s]", "true"));
        json_object_set_new(spec, "merge", json_string("none"));
    }
    json_object_del(spec, "allow"); /* only a person may allow that */
    if (json_is_array(json_object_get(change, "allow")))
        json_object_set(spec, "allow", json_object_get(change, "allow"));
    json_t *meta = json_object_get(change, "meta");
    if (json_is_object(meta) && json_object_update(json_object_get(spec, "meta"), meta) < 0)
        json_object_set(spec, "meta", meta); /* it has none */
    json_decref(change);
}

/* --- preparing a worktree --------------------------------------------------------------------- */

/* A new worktree is prepared as part of its first run. The project configures the command. The shim
 * runs it before the task's command, in the project's folder of the worktree. It is repeated until
 * a run has reported its success (workspace_finish), so one that was killed halfway starts over.
 *
 * The task's command starts only after it, so the launch deadline is extended by its timeout. That
 * is looked up in the spec of the run when the deadline passes, so a daemon that was started
 * meanwhile knows it, too. */

/* In a new worktree: the command that prepares it. Texts are in the arena. */
static void launch_prepare(struct engine *e, struct live_run *run, struct arena *arena,
                           struct run_spec *spec) {
    const struct workspace_place *place = workspace_find(e, run->task);
    const struct engine_project *project = project_of_task(e, run->task);
    const char *const *words = NULL;
    run->prepares = false;
    if (!place || !place->is_new || !project)
        return;
    if (config_words(e->config, "projects.P.prepare", project->name, &words) == 0)
        return;
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    (void)workspace_folder(e, run, NULL, &folder);
    spec->prepare.argv = words;
    spec->prepare.timeout = config_number(e->config, "projects.P.prepare_timeout_s", project->name);
    spec->prepare_cwd = arena_strdup(arena, strbuf_text(&folder));
    run->prepares = true;
}

time_ms launch_prepare_time(const struct engine *e, const struct live_run *run) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    if (run_read_spec(e, run, &read, NULL) < 0 || !read->spec.prepare.argv)
        return 0;
    return read->spec.prepare.timeout > 0 ? time_add(read->spec.prepare.timeout, read->spec.grace)
                                          : TIME_NEVER;
}

/* --- the spec of a run ------------------------------------------------------------------------ */

/* Put before the complete prompt: it is unknown whether the session got that before the cut. */
#define RESUME_PROMPT                                                                              \
    "You were interrupted. Go on where you stopped: what is done stays done. The task was:\n\n"

#define ALLOWED_PROMPT                                                                             \
    "What was not permitted before is permitted now: do it now, in the same way as before.\n"

#define SESSION_WORD "{session}" /* in a configured command: the id of the session */

/* One command while it is built. Texts are in the arena. */
struct launch {
    struct engine *e;
    struct live_run *run;
    const struct engine_project *project;
    const struct agent_adapter *adapter; /* that made the command; NULL: none */
    json_t *json;
    struct arena arena;
    struct run_spec spec;
    char id[ENGINE_ID_MAX];
    LIST(const char *) env;
    LIST(const char *) argv;
    struct run_command checks[RUN_CHECKS_MAX];
    struct launch_box box;
    const struct engine_taken *taken; /* by a person, at a terminal; NULL: unattended */
    bool
        only_checks; /* its work is done, and a check had no result: the command is not run again */
};

static const char *text_of(const struct launch *l, const char *member) {
    return json_string_value(json_object_get(l->json, member));
}

static time_ms seconds_of(const struct launch *l, const char *member, time_ms otherwise) {
    const json_t *value = json_object_get(l->json, member);
    if (!json_is_number(value))
        return otherwise == TIME_NEVER ? 0 : otherwise;
    return (time_ms)(json_number_value(value) * 1000.0);
}

static int64_t number_of(const struct launch *l, const char *member, int64_t otherwise) {
    const json_t *value = json_object_get(l->json, member);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

/* --- environment ----------------------------------------------------------------------------- */

/* A formatted text in the arena of the launch. */
#define format(launch_, ...) arena_printf(&(launch_)->arena, __VA_ARGS__)

/* A later value replaces an earlier one of the same name. */
static void put_env(struct launch *l, const char *pair) {
    size_t name = strcspn(pair, "=") + 1;
    for (size_t i = 0; i < l->env.count; i++)
        if (strncmp(l->env.items[i], pair, name) == 0) {
            l->env.items[i] = pair;
            return;
        }
    *LIST_ADD(&l->env) = pair;
}

static void put_iteration_env(struct launch *l) {
    const struct engine *e = l->e;
    const char *spawn = text_of(l, "spawn");
    uint32_t iteration = l->run->iteration;
    _cleanup_(freep) char *artifacts = iteration_path(e, l->id, iteration, ITERATION_ARTIFACTS);
    put_env(l, format(l, "SLUICE_ARTIFACTS=%s", artifacts));
    if (iteration_has_feedback(e, l->id, iteration)) {
        _cleanup_(freep) char *path = iteration_path(e, l->id, iteration, ITERATION_FEEDBACK);
        put_env(l, format(l, "SLUICE_FEEDBACK=%s", path));
    }
    if (spawn) {
        _cleanup_(freep) char *path = iteration_spawn_path(e, l->id, iteration, spawn);
        put_env(l, format(l, "SLUICE_SPAWN=%s", path));
    }
}

static void put_workspace_env(struct launch *l) {
    const struct workspace_place *place = workspace_find(l->e, l->run->task);
    if (place)
        put_env(l, format(l, "SLUICE_WORKSPACE=%s", place->path));
    if (place && place->branch) {
        put_env(l, format(l, "SLUICE_BRANCH=%s", place->branch));
        put_env(l, format(l, "SLUICE_BASE=%s", place->base));
    }
}

/* For programs of the run that show or store what others read. */
static void put_secret_names(struct launch *l) {
    _cleanup_(strbuf_finish) struct strbuf names = STRBUF_INIT;
    for (const char *const *pair = l->spec.secrets; pair && *pair; pair++)
        strbuf_printf(&names, "%s%.*s", names.length > 0 ? " " : "", (int)strcspn(*pair, "="),
                      *pair);
    if (names.length > 0)
        put_env(l, format(l, "SLUICE_SECRETS=%s", strbuf_text(&names)));
}

static void put_own_env(struct launch *l) {
    const struct engine *e = l->e;
    _cleanup_(freep) char *marker = launch_marker_path(e, l->run->task);
    put_env(l, format(l, "SLUICE_TASK=%s", l->id));
    put_env(l, format(l, "SLUICE_RUN=%s", l->spec.run));
    put_env(l, format(l, "SLUICE_PROJECT=%s", l->project->name));
    if (l->run->agent) /* the one it names, or the worker that took it */
        put_env(l, format(l, "SLUICE_AGENT=%s", l->run->agent));
    put_env(l, format(l, "SLUICE_ITERATION=%" PRIu32, l->run->iteration));
    put_env(l, format(l, "SLUICE_ATTEMPT=%" PRIu32, l->run->view.attempt));
    put_env(l, format(l, "SLUICE_DONE=%s", marker));
    put_env(l, format(l, "SLUICE_SOCKET=%s", launch_box_socket(&l->box)));
    put_env(l, format(l, "SLUICE_TOKEN=%s", l->run->token.text));
    const char *peers = launch_box_peers(&l->box);
    if (peers)
        put_env(l, format(l, "SLUICE_PEERS=%s", peers));
    if (launch_ca(e, l->run))
        put_env(l, format(l, "SLUICE_CA=%s", launch_ca(e, l->run)));
    put_env(l, format(l, "SLUICE_BUS=%s/bus", e->data));
    put_env(l, format(l, "TMPDIR=%s/%s/tmp", e->runs_folder, l->run->view.folder));
    if (question_answer(e, l->run)) /* for a command without a prompt */
        put_env(l, format(l, "SLUICE_ANSWER=%s", question_answer(e, l->run)));
    put_iteration_env(l);
    put_workspace_env(l);
    put_secret_names(l);
    if (l->taken && l->taken->term)
        put_env(l, format(l, "TERM=%s", l->taken->term));
    if (l->adapter) {  /* stored with the shim, so that a later daemon knows it, too */
        if (!l->taken) /* what it draws on a terminal is not read */
            put_env(l, format(l, "SLUICE_ADAPTER=%s", l->adapter->name));
        if (l->run->session)
            put_env(l, format(l, "SLUICE_SESSION=%s", l->run->session));
        if (l->run->resumes)
            put_env(l, "SLUICE_RESUMES=1");
    }
    if (l->box.kind != SANDBOX_NONE)
        put_env(l, format(l, "SLUICE_SANDBOX=%s", sandbox_kind_name(l->box.kind)));
}

/* In order of precedence: telemetry has the lowest. */
static void build_env(struct launch *l) {
    const char *const *words = NULL, *own = NULL;
    _cleanup_(strbuf_finish) struct strbuf pairs = STRBUF_INIT;
    telemetry_variables(l->e, l->run, l->spec.run, l->adapter ? l->adapter->name : NULL, &pairs);
    for (size_t at = 0; at < pairs.length; at += strlen(pairs.text + at) + 1)
        put_env(l, arena_strdup(&l->arena, pairs.text + at));
    size_t count = config_words(l->e->config, "tasks.env", NULL, &words);
    for (size_t i = 0; i < count; i++)
        if (env_pick(daemon_env(l->e), &words[i], 1, &own) > 0)
            put_env(l, own);
    for (const char *const *pair = l->adapter ? l->adapter->environment : NULL; pair && *pair;
         pair++)
        put_env(l, *pair);
    count = l->run->agent ? config_words(l->e->config, "agents.A.env", l->run->agent, &words) : 0;
    for (size_t i = 0; i < count; i++)
        if (strchr(words[i], '='))
            put_env(l, words[i]);
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(l->json, "env"), name, value) if (json_is_string(value))
        put_env(l, format(l, "%s=%s", name, json_string_value(value)));
    put_own_env(l);
    *LIST_ADD(&l->env) = NULL;
    l->spec.env = l->env.items;
}

/* --- command --------------------------------------------------------------------------------- */

static int take_words(struct launch *l, const json_t *words, const char *what, struct error *err) {
    size_t index;
    json_t *word;
    if (json_array_size(words) == 0)
        return error_set(err, -EINVAL, "%s has no words", what);
    if (json_array_size(words) > RUN_ARGS_MAX)
        return error_set(err, -E2BIG, "%s has more than %d words", what, RUN_ARGS_MAX);
    json_array_foreach(words, index, word) {
        if (!json_is_string(word))
            return error_set(err, -EINVAL, "word %zu of %s is not text", index + 1, what);
        *LIST_ADD(&l->argv) = json_string_value(word);
    }
    *LIST_ADD(&l->argv) = NULL;
    return 0;
}

/* Whether this attempt resumes the last session, if there is one. */
static bool may_resume(const struct launch *l) {
    const char *task = text_of(l, "resume");
    const char *way = task ? task : config_text(l->e->config, "agents.A.resume", l->run->agent);
    return strcmp(way, "never") != 0;
}

/* The maximum cost of this run; NULL: unlimited. */
static const char *budget_text(struct launch *l) {
    int64_t micro = budget_for_run(l->e, l->run->task);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (micro <= 0)
        return NULL;
    money_put_number(&text, micro);
    return arena_strdup(&l->arena, strbuf_text(&text));
}

/* The prompt as an argument at index `at` of these: never as an option. */
static int add_prompt(struct launch *l, const char *const *words, size_t count, size_t at,
                      const char *prompt, struct error *err) {
    const char *agent = l->run->agent ? l->run->agent : "";
    _cleanup_(strbuf_finish) struct strbuf word = STRBUF_INIT;
    int r = *prompt == '-' ? agents_dashes(l->e, agent, words, count, at, err) : 0;
    if (r < 0)
        return r;
    if (at < count)
        agent_word_put_prompt(words[at], prompt, &word);
    if (r > 0)
        *LIST_ADD(&l->argv) = "--";
    *LIST_ADD(&l->argv) = at < count ? arena_strdup(&l->arena, strbuf_text(&word)) : prompt;
    return 0;
}

/* The prompt goes to standard input, or into the file that a word names. */
static void set_prompt(struct launch *l, const char *prompt) {
    l->spec.prompt = prompt;
    l->spec.prompt_size = strlen(prompt);
}

/* Copies words that are NUL-terminated in one text. */
static void add_words(struct launch *l, const struct strbuf *words, size_t count) {
    const char *word = strbuf_text(words);
    for (size_t i = 0; i < count; i++, word += strlen(word) + 1)
        *LIST_ADD(&l->argv) = arena_strdup(&l->arena, word);
}

/* The list is complete. `setting`: where its words come from. */
static int end_words(struct launch *l, const char *setting, struct error *err) {
    *LIST_ADD(&l->argv) = NULL;
    return l->argv.count <= RUN_ARGS_MAX + 1
               ? 0
               : error_set(err, -E2BIG, "agents.%.60s.%s has more than %d words", l->run->agent,
                           setting, RUN_ARGS_MAX);
}

/* The prompt of this attempt. A session that is resumed has the task: it gets the message of a
 * follow-up; if it asked a question, the answer; if its result was not accepted, the feedback. A new
 * session gets the task, with feedback and what was asked before. */
static const char *session_prompt(struct launch *l, const char *prompt, bool is_allowed) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (l->run->resumes && is_allowed)
        strbuf_puts(&text, ALLOWED_PROMPT);
    if (l->run->resumes && iteration_message_prompt(l->e, l->run, &text))
        return arena_strdup(&l->arena, strbuf_text(&text));
    if (!l->run->resumes || !question_prompt(l->e, l->run, &text)) {
        if (!l->run->gets_feedback || !iteration_feedback_prompt(l->e, l->run, &text)) {
            if (l->run->resumes)
                strbuf_puts(&text, RESUME_PROMPT);
            strbuf_puts(&text, prompt);
        }
        question_context(l->e, l->run, l->run->resumes, &text);
    }
    return arena_strdup(&l->arena, strbuf_text(&text));
}

/* The adapter's arguments: unattended, output as events, the prompt where it belongs. */
static int take_adapter_command(struct launch *l, const char *prompt, struct error *err) {
    struct engine *e = l->e;
    assert(l->adapter);
    const char *model = escalation_model(e, l->run->task, l->run->agent);
    const char *usage = l->adapter->usage_file_name;
    struct agent_launch launch = { .model = *model ? model : NULL };
    _cleanup_(strbuf_finish) struct strbuf words = STRBUF_INIT;
    session_prepare(e, l->run, may_resume(l) && l->adapter->resume,
                    l->adapter->session_option != NULL);
    if (l->run->resumes)
        launch.resume = l->run->session;
    else
        launch.session = l->run->session;
    (void)config_words(e->config, "agents.A.args", l->run->agent, &launch.more);
    launch.allow = json_words(json_object_get(l->json, "allow"), &l->arena);
    launch.budget_usd = budget_text(l);
    if (usage && l->box.kind == SANDBOX_NONE)
        launch.usage_file = format(l, "%s/%s/%s", e->runs_folder, l->run->view.folder, usage);
    else if (usage) /* where it can write: launch_sandbox.c */
        launch.usage_file = format(l, "%s/done/%s", e->data, usage);
    launch.is_sandboxed = l->box.kind != SANDBOX_NONE;
    launch.is_boxed = launch.is_sandboxed && geteuid() == 0;
    launch.is_interactive = l->taken != NULL;
    add_words(l, &words, agent_command(l->adapter, &launch, &words));
    set_prompt(l, session_prompt(l, prompt, launch.allow != NULL));
    return end_words(l, "args", err);
}

static const char *replaced(struct launch *l, const char *word, const char *what,
                            const char *with) {
    const char *at = strstr(word, what);
    if (!at || !with || !*with)
        return word;
    return format(l, "%.*s%s%s", (int)(at - word), word, with, at + strlen(what));
}

/* {session} and {model}; unchanged without an id or a model. */
static const char *with_names(struct launch *l, const char *word) {
    const char *model = escalation_model(l->e, l->run->task, l->run->agent);
    return replaced(l, replaced(l, word, SESSION_WORD, l->run->session), MODEL_WORD, model);
}

static bool names_session(const char *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strstr(words[i], SESSION_WORD))
            return true;
    return false;
}

/* The configured command of an agent, or the one that resumes its session. 0: none. */
static size_t choose_words(struct launch *l, const char *agent, const char *const **ret_words) {
    const char *const *again = NULL;
    size_t count = config_words(l->e->config, "agents.A.command", agent, ret_words);
    size_t more = config_words(l->e->config, "agents.A.resume_command", agent, &again);
    if (count == 0 || !l->adapter) /* without a reader there is no session */
        return count;
    session_prepare(l->e, l->run, more > 0 && may_resume(l), names_session(*ret_words, count));
    if (!l->run->resumes)
        return count;
    *ret_words = again;
    return more;
}

/* For a program on this machine that a sandbox shows as it is. */
static int check_installed(const struct launch *l, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf program = STRBUF_INIT, found = STRBUF_INIT;
    if (l->run->executor != EXECUTOR_LOCAL || l->box.kind == SANDBOX_PODMAN)
        return 0;
    engine_agent_program(l->e, l->run->agent, &program, &found);
    const char *name = strbuf_text(&program);
    if (found.length > 0 || (*name != '/' && strchr(name, '/')))
        return 0;
    return error_set(err, -ENOENT, "cannot run '%.120s': %s", name, strerror(ENOENT));
}

/* A setting of the agent, in seconds: at least one, and no more than a question may take. */
static const char *agent_seconds(struct launch *l, const char *key) {
    time_ms span = config_number(l->e->config, key, l->run->agent);
    span = time_min(time_max(span, SECONDS(1)), DAYS(365));
    return format(l, "%" PRId64, span / SECONDS(1));
}

/* An agent that speaks a protocol is run by our client, which is installed beside the shim. The
 * client is part of the run: it is in the sandbox, outlives the daemon, and is killed with the run.
 * Fails if the agent is not installed: the client would only exit early. */
static int take_client_command(struct launch *l, const char *prompt, struct error *err) {
    const struct config *config = l->e->config;
    const char *agent = l->run->agent, *there = config_text(config, "slurm.shim", NULL);
    const char *shim = l->run->executor != EXECUTOR_LOCAL && *there ? there : l->e->shim_path;
    const char *slash = strrchr(shim, '/');
    _cleanup_(strbuf_finish) struct strbuf words = STRBUF_INIT;
    session_prepare(l->e, l->run, may_resume(l), false);
    int r = check_installed(l, err);
    if (r < 0)
        return r;
    struct agent_client client = {
        .program =
            format(l, "%.*s%s", slash ? (int)(slash - shim) + 1 : 0, shim, l->adapter->client),
        .permissions = config_text(config, "agents.A.permissions", agent),
        .resume = l->run->resumes ? l->run->session : NULL,
        .mode = config_text(config, "agents.A.mode", agent),
        .model = escalation_model(l->e, l->run->task, agent),
        .auth_method = config_text(config, "agents.A.auth_method", agent),
    };
    if (strcmp(client.permissions, "ask") == 0) {
        client.ask_wait = agent_seconds(l, "agents.A.ask_wait_s");
        client.ask_deadline = agent_seconds(l, "agents.A.ask_deadline_s");
    }
    if (strcmp(client.permissions, "auto") == 0) /* in a sandbox everything may be permitted */
        client.permissions = l->box.kind == SANDBOX_NONE ? "edits" : "allow";
    client.count = config_words(config, "agents.A.command", agent, &client.words);
    size_t count = agent_client_command(&client, &words);
    add_words(l, &words, count);
    set_prompt(l, session_prompt(l, prompt, false));
    return end_words(l, "command", err);
}

/* The agent's own command, with the prompt where it belongs. */
static int take_agent_command(struct launch *l, const char *prompt, struct error *err) {
    const char *agent = l->run->agent ? l->run->agent : "";
    const char *const *words = NULL;
    int r = engine_check_agent(l->e, agent, err);
    if (r < 0)
        return r;
    l->adapter = listen_adapter(l->e, agent);
    if (l->adapter && l->adapter->client)
        return take_client_command(l, prompt, err);
    size_t count = choose_words(l, agent, &words);
    if (count == 0)
        return take_adapter_command(l, prompt, err);
    prompt = session_prompt(l, prompt, false);
    const char *way = config_text(l->e->config, "agents.A.prompt", agent);
    const char *inserted = prompt;
    if (strcmp(way, "file") == 0)
        inserted = format(l, "%s/%s/prompt", l->e->runs_folder, l->run->view.folder);
    bool placed = false;
    for (size_t i = 0; r == 0 && i < count; i++) {
        bool here = agent_word_has_prompt(words[i]);
        placed = placed || here;
        if (here)
            r = add_prompt(l, words, count, i, inserted, err);
        else
            *LIST_ADD(&l->argv) = with_names(l, words[i]);
    }
    if (r == 0 && strcmp(way, "argument") == 0 && !placed)
        r = add_prompt(l, words, count, count, prompt, err);
    if (r < 0)
        return r;
    *LIST_ADD(&l->argv) = NULL;
    if (strcmp(way, "argument") != 0)
        set_prompt(l, prompt);
    return 0;
}

/* --- for a person at a terminal --------------------------------------------------------------- */

static int no_interactive_command(const struct launch *l, struct error *err) {
    return error_set(err, -EOPNOTSUPP,
                     "it is not known how agent '%.60s' is opened at a terminal: set "
                     "agents.%.60s.take_command",
                     l->run->agent, l->run->agent);
}

/* The configured command, or that of the adapter, with the settings of an unattended run. */
static int take_agent_terminal(struct launch *l, struct error *err) {
    const char *agent = l->run->agent, *const *words = NULL, *const *command = NULL;
    int r = engine_check_agent(l->e, agent, err);
    if (r < 0)
        return r;
    l->adapter = listen_adapter(l->e, agent);
    size_t count = config_words(l->e->config, "agents.A.take_command", agent, &words);
    bool is_own = config_words(l->e->config, "agents.A.command", agent, &command) > 0;
    if (count > 0) {
        bool has_session = names_session(words, count);
        session_prepare(l->e, l->run, l->adapter && has_session && may_resume(l), has_session);
        for (size_t i = 0; i < count; i++)
            *LIST_ADD(&l->argv) = with_names(l, words[i]);
        return end_words(l, "take_command", err);
    }
    return l->adapter && !l->adapter->client && !is_own && l->adapter->interactive
               ? take_adapter_command(l, "", err)
               : no_interactive_command(l, err);
}

/* A task with a command of its own, or without an agent, is opened with a shell. */
static int build_terminal(struct launch *l, struct error *err) {
    int r = 0;
    if (l->run->executor != EXECUTOR_LOCAL || l->box.kind == SANDBOX_PODMAN)
        return error_set(err, -EOPNOTSUPP, "%s cannot be opened at a terminal",
                         l->box.kind == SANDBOX_PODMAN ? "a sandbox of podman" : "a run elsewhere");
    if (json_object_get(l->json, "argv") || !l->run->agent) {
        *LIST_ADD(&l->argv) = l->taken->shell ? l->taken->shell : "/bin/sh";
        *LIST_ADD(&l->argv) = NULL;
    } else
        r = take_agent_terminal(l, err);
    l->spec.prompt = NULL;
    l->spec.stdin_path = NULL;
    l->spec.terminal = l->taken->terminal;
    l->spec.command.argv = l->argv.items;
    return r;
}

static int build_command(struct launch *l, struct error *err) {
    const char *prompt = text_of(l, "prompt");
    const json_t *argv = json_object_get(l->json, "argv");
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (l->taken)
        return build_terminal(l, err);
    if (l->only_checks) {
        *LIST_ADD(&l->argv) = "true";
        *LIST_ADD(&l->argv) = NULL;
        l->spec.command.argv = l->argv.items;
        return 0;
    }
    int r = prompt ? iteration_prompt(l->e, l->run, prompt, &text, err) : 0;
    if (r < 0)
        return r;
    if (prompt) /* of this iteration */
        prompt = arena_strndup(&l->arena, strbuf_text(&text), text.length);
    r = argv ? take_words(l, argv, "the command", err)
             : take_agent_command(l, prompt ? prompt : "", err);
    if (r == 0 && argv && prompt)
        set_prompt(l, session_prompt(l, prompt, false));
    l->spec.command.argv = l->argv.items;
    return r;
}

/* Checks follow the command in one array of words; pointers are taken when it no longer moves. */
static int build_checks(struct launch *l, struct error *err) {
    const json_t *checks = json_object_get(l->json, "checks");
    size_t starts[RUN_CHECKS_MAX] = { 0 }, index;
    json_t *check;
    if (json_array_size(checks) > RUN_CHECKS_MAX)
        return error_set(err, -E2BIG, "more than %d checks", RUN_CHECKS_MAX);
    json_array_foreach(checks, index, check) {
        const json_t *words = json_is_object(check) ? json_object_get(check, "argv") : check;
        const json_t *timeout = json_is_object(check) ? json_object_get(check, "timeout_s") : NULL;
        starts[index] = l->argv.count;
        l->checks[index].timeout =
            json_is_number(timeout) ? (time_ms)(json_number_value(timeout) * 1000.0) : 0;
        int r = take_words(l, words, "a check", err);
        if (r < 0)
            return r;
    }
    l->spec.command.argv = l->argv.items;
    for (size_t i = 0; i < json_array_size(checks); i++)
        l->checks[i].argv = l->argv.items + starts[i];
    l->spec.checks = l->checks;
    l->spec.check_count = json_array_size(checks);
    return 0;
}

/* A timeout of the task. A task added by a run is capped by the configuration, which may have
 * changed since, and so may its agent. */
static time_ms span_of(const struct launch *l, const char *member, time_ms configured) {
    time_ms span = seconds_of(l, member, configured);
    return configured != TIME_NEVER && is_added_by_run(l->e->core, l->run->task)
               ? time_min(span, configured)
               : span;
}

static void build_limits(struct launch *l) {
    const struct config *config = l->e->config;
    time_ms timeout = l->run->agent ? config_number(config, "agents.A.timeout_s", l->run->agent)
                                    : config_number(config, "tasks.timeout_s", NULL);
    l->spec.command.timeout = span_of(l, "timeout_s", timeout);
    l->spec.idle_timeout =
        span_of(l, "idle_timeout_s", config_number(config, "tasks.idle_timeout_s", NULL));
    if (l->taken) /* a person decides when it is over */
        l->spec.command.timeout = l->spec.idle_timeout = 0;
    l->spec.grace = seconds_of(l, "grace_s", config_number(config, "tasks.grace_s", NULL));
    const char *signal_name = text_of(l, "stop_signal");
    if (!signal_name && l->adapter && !config_is_set(config, "agents.A.stop_signal", l->run->agent))
        signal_name = l->adapter->stop_signal;
    if (!signal_name)
        signal_name = config_text(config, "agents.A.stop_signal", l->run->agent);
    l->spec.stop_signal = strcmp(signal_name, "INT") == 0 ? SIGINT : SIGTERM;
    l->spec.log_head = (uint64_t)config_number(config, "logs.head_mb", NULL) << 20;
    l->spec.log_tail = (uint64_t)config_number(config, "logs.tail_mb", NULL) << 20;
    l->spec.memory_max = number_of(l, "memory_mb", config_number(config, "tasks.memory_mb", NULL))
                         << 20;
    l->spec.processes_max =
        number_of(l, "processes", config_number(config, "tasks.processes", NULL));
    l->spec.nice = (int)number_of(l, "nice", config_number(config, "tasks.nice", NULL));
    l->spec.open_files = l->e->options.open_files;
    l->spec.oom_score_adj = 500; /* the kernel kills an agent before the daemon */
}

static int prepare_one(struct launch *l, struct error *err) {
    l->run->launch_cause = LAUNCH_HOST;
    int r = iteration_prepare(l->e, l->id, l->run->iteration, err);
    if (r < 0)
        return r;
    l->run->launch_cause = LAUNCH_SANDBOX;
    r = launch_box_choose(&l->box, err);
    if (r < 0)
        return r;
    l->run->launch_cause = l->run->own_command ? LAUNCH_TASK : LAUNCH_PROGRAM;
    r = build_command(l, err);
    if (r < 0)
        return r;
    l->run->launch_cause = LAUNCH_TASK;
    return build_checks(l, err);
}

static int launch_one(struct launch *l, struct error *err) {
    l->spec.run = format(l, "%s.%" PRIu32, l->id, l->run->view.attempt);
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    l->spec.cwd = text_of(l, "cwd");
    if (workspace_folder(l->e, l->run, l->spec.cwd, &folder))
        l->spec.cwd = format(l, "%s", strbuf_text(&folder));
    else if (!l->spec.cwd)
        l->spec.cwd = l->project->path ? l->project->path : l->e->data;
    l->spec.stdin_path = text_of(l, "stdin");
    l->only_checks = !l->taken && probe_skips_command(l->e, l->run->task, l->run->iteration);
    l->run->own_command = l->only_checks || json_object_get(l->json, "argv") != NULL;
    int r = prepare_one(l, err);
    if (r < 0)
        return r;
    if (!l->run->token.text[0]) /* forgotten with a turn that could not be stored */
        run_token_make(&l->run->token);
    l->spec.secrets = secrets_list(l->e, run_key_of(l->run), l->json, &l->arena);
    secrets_note_token(l->e, l->run);
    build_env(l);
    build_limits(l);
    launch_prepare(l->e, l->run, &l->arena, &l->spec);
    l->spec.key = run_proof_key(&l->run->proof);
    slurm_fill_spec(l->e, l->run, l->json, &l->arena, &l->spec);
    l->box.adapter = l->adapter;
    r = launch_box_build(&l->box, &l->spec, err);
    if (r == 0)
        l->run->launch_cause = LAUNCH_HOST;
    if (r == 0)
        r = executors_launch(l->e, l->run, &l->spec, err);
    run_token_forget(&l->run->token);
    l->run->adapter_known = true;
    if (r == 0) {
        free(l->run->cwd);
        l->run->cwd = xstrdup(l->spec.cwd);
        listen_begin(l->e, l->run, l->taken ? NULL : l->adapter);
    }
    return r;
}

/* Starts it by its task's spec; `row` NULL: the store has none. 1: its workspace is being prepared,
 * and this is called again. */
static int launch_spec(struct engine *e, struct live_run *run, const struct spec_row *row,
                       struct error *err) {
    json_error_t problem;
    run->launch_cause = LAUNCH_HOST;
    if (!row)
        return error_set(err, -ENOENT, "the store has no command for this task");
    struct launch l = { .e = e, .run = run, .project = project_of_task(e, run->task) };
    engine_task_id(e, run->task, l.id);
    l.taken = takeover_is_run(e, run) ? engine_taken(e, run->task) : NULL;
    if (takeover_is_run(e, run) && (!l.taken || !l.taken->terminal))
        return error_set(err, -ENOENT, "the terminal of the person who takes it over is not known");
    l.json = json_loadb(row->json, row->json_size, 0, &problem);
    if (l.json)
        context_apply(l.json, row->context);
    spawning_launched(run, row->json, row->json_size, text_of(&l, "spawn") != NULL);
    run->launch_cause = l.json ? LAUNCH_WORKSPACE : LAUNCH_HOST;
    int r = l.json ? workspace_prepare(e, run, l.json, row->title, err)
                   : error_set(err, -EUCLEAN, "the stored task cannot be read: %s", problem.text);
    l.box = (struct launch_box){ .e = e,
                                 .run = run,
                                 .task = l.json,
                                 .id = l.id,
                                 .project = l.project->name,
                                 .arena = &l.arena };
    if (r == 0)
        r = secrets_prepare(e, run, l.json, err);
    if (r == 0) /* else it cannot, or something is being prepared: then this is called again */
        r = launch_one(&l, err);
    sandbox_plan_finish(&l.box.plan);
    json_decref(l.json);
    arena_finish(&l.arena);
    free((void *)l.env.items);
    free((void *)l.argv.items);
    return r;
}

/* --- orders ----------------------------------------------------------------------------------- */

/* Turns committed start orders into processes, and delivers stop orders. A few at a time, since
 * each creates files: a round has a time limit, so that everything else is served in between. A
 * stop before the launch finds no process; the launch sees it and does nothing. */

#define LAUNCHES_EACH 8    /* per round of the loop; */
#define LAUNCHES_US   4000 /* no launch begins after this */

struct order_launch {
    LIST(task_id) tasks; /* committed start orders, */
    size_t done;         /* how many of these are carried out */
    size_t questions;    /* pending store queries about others */
    time_ms check_at;    /* no launch is late before */
};

PART_STATE(launch, struct order_launch, launch_of)

/* --- the DONE marker ------------------------------------------------------------------------- */

void launch_remove_marker(const struct engine *e, const char *id) {
    _cleanup_(freep) char *path = xasprintf("%s/done/%s", e->data, id);
    _cleanup_(freep) char *own = xasprintf("%s/tasks/%s/" ITERATION_OWN "/%s", e->data, id, id);
    (void)unlink(path); /* most have none */
    (void)unlink(own);
}

char *launch_marker_path(const struct engine *e, task_id task) {
    char id[ENGINE_ID_MAX];
    return xasprintf("%s/done/%s", e->data, engine_task_id(e, task, id));
}

/* No new attempt once its marker exists (marker_hold handles other types). True: not launched. */
static bool is_ended_by_marker(struct engine *e, struct live_run *run) {
    struct error err = { 0 };
    struct task_view view = { .until = UNTIL_EXIT };
    (void)core_task(e->core, run->task, &view);
    if (view.until != UNTIL_DONE || marker_read(e, run->task) != MARKER_FILE)
        return false;
    error_set(&err, -EALREADY, "its DONE marker was there before it was launched");
    run_end_unlaunched(e, run, RUN_END_EXIT, &err);
    return true;
}

/* --- starts ---------------------------------------------------------------------------------- */

/* A failed launch is applied like any other end, in the next turn. */
static void launch_task(struct engine *e, task_id task, const struct spec_row *row) {
    struct error err = { 0 };
    struct live_run *run = run_find(e, task);
    struct task_spec spec;
    if (!run || !core_task_spec(e->core, task, &spec))
        return;
    if (spec.stop != STOP_NONE) {
        error_set(&err, -ECANCELED, "it was stopped before it was launched");
        run_end_unlaunched(e, run, RUN_END_STOPPED, &err);
    } else if ((takeover_is_run(e, run) || !is_ended_by_marker(e, run))
               && launch_spec(e, run, row, &err) < 0) {
        run_end_unlaunched(e, run, RUN_END_LAUNCH, &err);
    }
}

/* The query for a few starts; the store answers now or later. */
struct launch_question {
    struct engine *e;
    size_t count;
    task_id tasks[LAUNCHES_EACH];
};

/* Makes them the next ones again. */
static void put_back(struct engine *e, const task_id *tasks, size_t count) {
    struct order_launch *l = launch_of(e);
    size_t left = l->tasks.count - l->done;
    for (size_t i = 0; i < count; i++)
        *LIST_ADD(&l->tasks) = 0; /* reserves space */
    task_id *begin = l->tasks.items + l->done;
    memmove(begin + count, begin, left * sizeof(*begin));
    memcpy(begin, tasks, count * sizeof(*begin));
    turn_wake(e);
}

static void specs_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct launch_question *q = ctx;
    launch_of(q->e)->questions--;
    if (err)
        turn_break(q->e, err); /* a store that cannot be read stops scheduling loudly */
    int64_t began = clock_read_steady_us();
    for (size_t i = 0, k = 0; !turn_is_over(q->e) && i < q->count; i++) {
        if (i > 0 && clock_read_steady_us() - began > LAUNCHES_US) {
            put_back(q->e, q->tasks + i, q->count - i);
            break;
        }
        bool there = k < answer->count && answer->specs[k].id == q->tasks[i];
        launch_task(q->e, q->tasks[i], there ? &answer->specs[k] : NULL);
        k += there;
    }
    free(q);
}

void launch_later(struct engine *e, task_id task) {
    *LIST_ADD(&launch_of(e)->tasks) = task;
}

static void launch_some(struct engine *e) {
    size_t left = launch_of(e)->tasks.count - launch_of(e)->done;
    if (left == 0 || turn_is_over(e) || executor_is_busy(e->executor))
        return; /* each start that is done begins a turn */
    struct launch_question *q = xcalloc(1, sizeof(*q));
    q->e = e;
    q->count = left < LAUNCHES_EACH ? left : LAUNCHES_EACH;
    memcpy(q->tasks, launch_of(e)->tasks.items + launch_of(e)->done, q->count * sizeof(*q->tasks));
    launch_of(e)->done += q->count;
    if (launch_of(e)->done == launch_of(e)->tasks.count)
        launch_of(e)->done = launch_of(e)->tasks.count = 0;
    else
        turn_wake(e);
    struct store_query question = { .kind = QUERY_SPECS,
                                    .tasks = q->tasks,
                                    .task_count = q->count };
    launch_of(e)->questions++;
    store_query(e->store, &question, specs_answered, q);
}

/* --- stops ----------------------------------------------------------------------------------- */

static void send_stop(struct engine *e, const struct order *order) {
    struct live_run *run = run_find(e, order->task);
    if (!run || run->view.attempt != order->attempt || run->is_unreachable || turn_is_over(e))
        return;
    if (executors_stop(e, run_key_of(run), run->stop_now ? STOP_IMMEDIATELY : STOP_GRACEFULLY) == 0)
        stopping_sent(e, run);
    workspace_stop(e, order->task);
    secrets_stop(e, order->task);
}

static void launch_send_stops(struct engine *e) {
    for (size_t i = 0; i < e->turn.stops.count; i++)
        send_stop(e, &e->turn.stops.items[i]);
}

void engine_stop_at_once(struct engine *e, task_id task) {
    struct live_run *run = run_find(e, task);
    struct task_spec spec;
    if (!run || !core_task_spec(e->core, task, &spec))
        return;
    run->stop_now = true;
    if (spec.stop != STOP_NONE) { /* the core orders a stop once; this one is ours */
        *LIST_ADD(&e->turn.stops) =
            (struct order){ .kind = ORDER_STOP, .task = task, .attempt = run->view.attempt };
        rows_write_run(e, run);
    }
}

/* --- deadlines ------------------------------------------------------------------------------- */

/* How long a command may take to be seen. On this machine a shim starts at once, or something is
 * wrong. Its command starts when its worktree is prepared, which has a timeout of its own. In Slurm
 * a run may be queued for days: its executor knows when it can no longer start. */
void launch_set_deadline(struct engine *e, struct live_run *run) {
    if (run->executor != EXECUTOR_LOCAL)
        return;
    run->launch_deadline = time_add(e->now, config_number(e->config, "tasks.launch_s", NULL));
    launch_of(e)->check_at = time_min(launch_of(e)->check_at, run->launch_deadline);
}

/* True: its worktree is being prepared, which extends the deadline by the timeout of that. */
static bool move_deadline(const struct engine *e, struct live_run *run) {
    time_ms more = run->deadline_moved ? 0 : launch_prepare_time(e, run);
    if (more == 0)
        return false;
    run->prepares = run->deadline_moved = true;
    run->launch_deadline = time_add(e->now, more);
    return true;
}

/* Checks the runs only when the earliest of these deadlines has passed. */
static void launch_check_deadlines(struct engine *e) {
    if (launch_of(e)->check_at > e->now)
        return;
    launch_of(e)->check_at = TIME_NEVER;
    for (size_t i = 0; i < run_count(e); i++) {
        struct live_run *run = run_live_at(e, i);
        if (run->launch_deadline <= e->now && !move_deadline(e, run)) {
            run->launch_deadline = TIME_NEVER;
            (void)executors_stop(e, run_key_of(run), STOP_IMMEDIATELY); /* see outcome_of_stop */
        }
        launch_of(e)->check_at = time_min(launch_of(e)->check_at, run->launch_deadline);
    }
}

/* --- the part -------------------------------------------------------------------------------- */

static void launch_reset(struct engine *e) {
    launch_of(e)->check_at = TIME_NEVER;
}

/* The row of the run is in the commit of its order: no run is started without one. */
static void make_run(struct engine *e, const struct order *o) {
    struct live_run *run = run_add(e, o->task, o->attempt);
    struct strbuf folder = STRBUF_INIT;
    char id[ENGINE_ID_MAX];
    rundir_name(&folder, engine_task_id(e, o->task, id), o->attempt);
    run->view.folder = strbuf_take(&folder);
    run->view.ordered_at = e->now;
    run->iteration = o->iteration;
    run->agent = o->agent ? xstrdup(name_of(e, o->agent)) : NULL;
    executors_order(e, run);
    run_token_make(&run->token);
    launch_set_deadline(e, run);
    rows_write_run(e, run);
}

static void launch_ordered(struct engine *e, const struct order *o, size_t count) {
    (void)count;
    if (o->kind == ORDER_START)
        make_run(e, o);
    struct live_run *run = o->kind == ORDER_STOP ? run_find(e, o->task) : NULL;
    if (run && run->view.attempt == o->attempt) {
        run->phase = PHASE_STOPPING;
        rows_write_run(e, run);
    }
}

static void launch_starts(struct engine *e) {
    for (size_t i = 0; i < e->turn.starts.count; i++)
        launch_later(e, e->turn.starts.items[i].task);
}

static void launch_load_run(struct engine *e, struct live_run *run, const struct run_row *row) {
    if (row->started_at == 0 && !run->is_unreachable)
        launch_set_deadline(e, run);
}

/* The next iteration must not get feedback of a request whose commit failed. */
static void launch_applied(struct engine *e, const struct fact *fact) {
    if (fact->kind == FACT_AGAIN || fact->kind == FACT_REJECT)
        engine_give_feedback(e, fact->task, NULL);
}

static time_ms launch_next_wakeup(const struct engine *e) {
    return launch_of(e)->check_at;
}

static bool launch_is_busy(const struct engine *e) {
    return launch_of(e)->tasks.count > 0 || launch_of(e)->questions > 0;
}

static void launch_free(struct engine *e) {
    free(launch_of(e)->tasks.items);
}

const struct engine_part launch_part = {
    .state_size = sizeof(struct order_launch),
    .at = { [STEP_INIT] = launch_reset,
            [STEP_UNLOAD] = launch_reset,
            [STEP_FACTS] = launch_check_deadlines,
            [STEP_STOP] = launch_send_stops,
            [STEP_CARRY_OUT] = launch_starts,
            [STEP_ROUND_END] = launch_some,
            [STEP_FREE] = launch_free },
    .applied = launch_applied,
    .ordered = launch_ordered,
    .load_run = launch_load_run,
    .next_wakeup = launch_next_wakeup,
    .is_launching = launch_is_busy,
};
