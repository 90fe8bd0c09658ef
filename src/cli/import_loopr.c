/* import_loopr.c: imports the loops of loopr.
 *
 * loops.jsonl is append-only: of several records with one id, the highest updated_at counts. Two
 * generations of the record are known (docs/reference/import-formats.md). */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "cli/import.h"
#include "cli/request.h"

struct loopr {
    struct state *s;
    const char *folder;  /* of this project, relative to the root; "": the root */
    const char *project; /* its name */
    json_t *loops;       /* ID: the winning record */
};

static const char members[] =
    "id loop_type type parent_loop parent_id triggered_by input_artifact status "
    "output_artifacts conversation_id iteration max_iterations progress prompt_path "
    "validation_command worktree context created_at updated_at";

static bool is_second(const json_t *loop) {
    return json_object_get(loop, "parent_id") || json_object_get(loop, "input_artifact");
}

static const char *parent_of(const json_t *loop) {
    return get_text(loop, "parent_loop", get_text(loop, "parent_id", NULL));
}

static const char *type_of(const json_t *loop) {
    const char *type = get_text(loop, "loop_type", get_text(loop, "type", "ralph"));
    return strcmp(type, "code") == 0 ? "ralph" : type;
}

static void take_line(struct state *s, json_t *loop, const char *source, void *ctx) {
    struct loopr *l = ctx;
    const char *id = get_text(loop, "id", "");
    if (!*id) {
        state_damaged(s, source, "the record has no id");
        return;
    }
    const json_t *other = json_object_get(l->loops, id);
    if (!other || get_real(loop, "updated_at", 0) >= get_real(other, "updated_at", 0))
        json_object_set(l->loops, id, loop);
}

/* The iteration in "…iterations/NNN/…"; -1: none. */
static long iteration_in(const char *path) {
    const char *at = path ? strstr(path, "iterations/") : NULL;
    char *end = NULL;
    long number = at ? strtol(at + 11, &end, 10) : -1;
    return at && end != at + 11 ? number : -1;
}

static const char *artifact_of(const json_t *loop) {
    return get_text(loop, "triggered_by", get_text(loop, "input_artifact", NULL));
}

/* The first missing ancestor, or NULL. */
static const char *missing_above(const struct loopr *l, const json_t *loop) {
    for (unsigned depth = 0; loop && depth < 1000; depth++) {
        const char *parent = parent_of(loop);
        loop = parent ? json_object_get(l->loops, parent) : NULL;
        if (parent && !loop)
            return parent;
    }
    return NULL;
}

/* The state for a loop that loopr would not run: a parent is missing or has moved on; or NULL. */
static const char *lost_state(const struct loopr *l, const json_t *loop, struct strbuf *why) {
    const char *missing = missing_above(l, loop);
    if (missing) {
        strbuf_printf(why, "its parent '%s' does not exist%s", missing,
                      strcmp(missing, parent_of(loop)) == 0 ? "" : ", further up");
        return "failed";
    }
    for (unsigned depth = 0; parent_of(loop) && depth < 1000; depth++) {
        const char *parent = parent_of(loop);
        const json_t *above = json_object_get(l->loops, parent);
        long from = iteration_in(artifact_of(loop));
        if (member_is(loop, "status", "pending") && from >= 0
            && from != (long)get_real(above, "iteration", 0)) {
            strbuf_printf(why, "it comes from iteration %ld of '%s', which has gone on", from,
                          parent);
            return "invalidated";
        }
        if (member_is(above, "status", "invalidated")) {
            strbuf_printf(why, "its parent '%s' was invalidated", parent);
            return "invalidated";
        }
        loop = above;
    }
    return NULL;
}

static void set_state(struct loopr *l, json_t *item, const json_t *loop) {
    static const char *const pairs[][2] = { { "pending", "waiting" },
                                            { "running", "running" },
                                            { "paused", "held" },
                                            { "complete", "done" },
                                            { "failed", "failed" },
                                            { "invalidated", "invalidated" },
                                            { NULL } };
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    const char *status = get_text(loop, "status", "");
    const char *lost =
        word_in(status, "complete failed invalidated") ? NULL : lost_state(l, loop, &why);
    if (lost) {
        state_set(l->s, item, lost);
        state_note(l->s, state_id(item), "%s: %s", lost, strbuf_text(&why));
        return;
    }
    if (is_second(loop) && strcmp(status, "rebasing") == 0)
        status = "running";
    if (!state_set_from(l->s, item, status, pairs))
        state_hold(l->s, item, "'%s' is not a state that is known", status);
    else if (strcmp(status, "paused") == 0)
        state_note(l->s, state_id(item), "held: it is paused there");
}

static void add_part(struct strbuf *out, const char *head, const char *text) {
    if (!*text)
        return;
    strbuf_printf(out, "%s%s%s", out->length > 0 ? "\n\n" : "", head, text);
}

static void set_prompt(json_t *item, const json_t *loop) {
    static const char *const parts[] = { "spec_description", "phase_goal", "plan_content",
                                         "spec_content", "phase_content" };
    _cleanup_(strbuf_finish) struct strbuf prompt = STRBUF_INIT, fallback = STRBUF_INIT;
    const json_t *context = json_object_get(loop, "context");
    const char *type = type_of(loop);
    const char *name = strcmp(type, "spec") == 0 ? "spec_name" : "phase_name";
    const char *title = get_text(context, "task", get_text(context, name, ""));
    if (!*title) {
        strbuf_printf(&fallback, "%s %s", type, state_id(item));
        title = strbuf_text(&fallback);
    }
    state_set_title(item, title);
    add_part(&prompt, "", title);
    for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
        add_part(&prompt, "", get_text(context, parts[i], ""));
    add_part(&prompt, "Feedback of the iterations so far:\n", get_text(loop, "progress", ""));
    state_put(item, "prompt", json_text(strbuf_text(&prompt)));
}

static void set_artifact(const struct loopr *l, json_t *item, const json_t *loop) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    const char *artifact = artifact_of(loop), *parent = get_text(loop, "parent_loop", NULL);
    if (!artifact || !state_is(item, "waiting running"))
        return;
    strbuf_printf(&path, "%s/%s%s", l->s->root, l->folder, *l->folder ? "/" : "");
    if (get_text(loop, "triggered_by", NULL) && parent)
        strbuf_printf(&path, "loops/%s/", parent);
    strbuf_puts(&path, artifact);
    state_put(item, "artifact", json_text(strbuf_text(&path)));
    struct stat st;
    if (stat(strbuf_text(&path), &st) < 0)
        state_note(l->s, state_id(item), "it waits for the file '%s'", strbuf_text(&path));
}

static void take_loop(struct loopr *l, const char *id, const json_t *loop) {
    json_t *item = state_item(l->s, l->project, id, NULL);
    const char *type = type_of(loop), *check = get_text(loop, "validation_command", NULL);
    char digits[11] = "";
    double created = get_real(loop, "created_at", 0);
    long iteration = (long)get_real(loop, "iteration", 0) + (is_second(loop) ? 1 : 0);
    state_note_unknown(l->s, loop, members);
    set_state(l, item, loop);
    set_prompt(item, loop);
    (void)snprintf(digits, sizeof(digits), "%.10s", id);
    state_set_created(l->s, item,
                      created > 0 ? (time_ms)created : strtoll(digits, NULL, 10) * 1000);
    if (word_in(type, "plan spec phase ralph"))
        state_put(item, "kind", json_string(type));
    else
        state_hold(l->s, item, "'%s' is not a type that is known", type);
    state_put(item, "iteration", json_integer(iteration > 0 ? iteration : 1));
    if (parent_of(loop))
        state_set_parent(item, l->project, parent_of(loop), true);
    set_artifact(l, item, loop);
    if (check) {
        state_put(item, "checks", json_pack("[[s,s,o]]", "sh", "-c", json_text(check)));
        state_put(item, "until", json_string("validate"));
    }
    state_put_meta_members(
        item, loop,
        "conversation_id max_iterations iteration triggered_by prompt_path input_artifact");
}

static void take_project(struct loopr *l, const char *folder, const char *project) {
    static const char *const others[] = { "signals", "tool_jobs", "events" };
    struct error err = { 0 };
    const char *slash = *folder ? "/" : "";
    _cleanup_(strbuf_finish) struct strbuf loops = STRBUF_INIT;
    strbuf_printf(&loops, "%s%s.taskstore/loops.jsonl", folder, slash);
    l->folder = folder;
    l->project = project;
    l->loops = state_own(l->s, json_object());
    if (state_lines(l->s, strbuf_text(&loops), take_line, l, &err) < 0)
        state_damaged(l->s, strbuf_text(&loops), "%s", err.text);
    EACH_MEMBER(id, loop, l->loops) {
        take_loop(l, id, loop);
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        _cleanup_(freep) char *path =
            xasprintf("%s%s.taskstore/%s.jsonl", folder, slash, others[i]);
        if (state_mode(l->s, "%s", path))
            state_note(l->s, path, "it has no work in it, and is not brought over");
    }
}

static void read_settings(struct loopr *l, const char *path) {
    static const struct {
        const char *section, *under, *member, *key;
        int64_t standard;
    } map[] = {
        { "concurrency", NULL, "max_loops", "limits.runs", -1 },
        { "concurrency", NULL, "max_api_calls", "limiter.max_running", -1 },
        { "concurrency", "per_type", "plan", "kinds.plan.max_running", -1 },
        { "concurrency", "per_type", "spec", "kinds.spec.max_running", -1 },
        { "concurrency", "per_type", "phase", "kinds.phase.max_running", -1 },
        { "concurrency", "per_type", "ralph", "kinds.ralph.max_running", -1 },
        { "scheduler", "priority", "plan", "kinds.plan.base", 40 },
        { "scheduler", "priority", "spec", "kinds.spec.base", 60 },
        { "scheduler", "priority", "phase", "kinds.phase.base", 80 },
        { "scheduler", "priority", "ralph", "kinds.ralph.base", 100 },
        { "scheduler", "priority", "age_boost_per_minute", "score.age_per_minute", 1 },
        { "scheduler", "priority", "age_boost_max", "score.age_max", 50 },
        { "scheduler", "priority", "depth_boost_per_level", "score.per_depth", 10 },
        { "scheduler", "priority", "retry_penalty_per_iteration", "score.per_retry", 5 },
        { "scheduler", "priority", "retry_penalty_max", "score.retry_max", 30 },
        { "rate_limit", NULL, "initial_backoff_secs", "limiter.initial_s", -1 },
        { "rate_limit", NULL, "max_backoff_secs", "limiter.max_s", -1 },
        { "rate_limit", NULL, "recovery_period_secs", "limiter.recovery_s", -1 },
        { "rate_limit", NULL, "max_concurrent_api_calls", "limiter.max_running", -1 },
    };
    json_auto_t *config = state_yaml(l->s, NULL, "%s", path);
    for (size_t i = 0; i < ARRAY_SIZE(map); i++) {
        const json_t *section = json_object_get(config, map[i].section);
        if (map[i].under)
            section = json_object_get(section, map[i].under);
        const json_t *value = json_object_get(section, map[i].member);
        if (json_is_number(value) && json_integer_value(value) != map[i].standard)
            state_setting(l->s, map[i].key, value);
    }
}

static int set_path(struct loopr *l, const char *project) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct error err = { 0 };
    const char *given = cmd_value(l->s->im.call, "path");
    if (!given)
        state_note(l->s, project,
                   "the folder of the repository is not in the state: give --path, or set "
                   "projects.%s.path",
                   project);
    if (given && cmd_absolute_path(given, &path, &err) < 0)
        return cmd_error(&err);
    if (given)
        json_object_set_new(state_project(l->s, project), "path", json_text(strbuf_text(&path)));
    return CMD_OK;
}

static int take_all(struct loopr *l) {
    const char *given = cmd_value(l->s->im.call, "project"), *slash = strrchr(l->s->root, '/');
    read_settings(l, "loopr.yml");
    read_settings(l, ".loopr.yml");
    if (S_ISDIR(state_mode(l->s, ".taskstore"))) {
        const char *name = given ? given : slash + 1;
        take_project(l, "", name);
        return set_path(l, name);
    }
    json_auto_t *names = state_list(l->s, ".");
    size_t found = 0;
    int code = CMD_OK;
    EACH_ITEM(name, names) {
        if (!S_ISDIR(state_mode(l->s, "%s/.taskstore", json_string_value(name))))
            continue;
        found++;
        const char *project = given ? given : json_string_value(name);
        size_t before = json_object_size(l->s->items);
        take_project(l, json_string_value(name), project);
        if (code == CMD_OK && json_object_size(l->s->items) > before)
            code = set_path(l, project);
    }
    return found > 0 ? code : state_usage_error(l->s, "no .taskstore");
}

static int loopr_run(const struct cmd_call *call) {
    _cleanup_(state_finish) struct state s = { 0 };
    struct loopr l = { .s = &s };
    int code = state_open(&s, call, false);
    if (code == CMD_OK)
        code = take_all(&l);
    if (code != CMD_OK)
        return code;
    state_note(
        &s, call->args[0],
        "taskstore.db, worktrees and conversations are not brought over; the limit of "
        "iterations is kept as meta.import.max_iterations, retry.unfinished.max sets one for all");
    return state_send(&s);
}

static const struct cmd_option options[] = {
    STATE_OPTIONS,
    { "path", 0, "FOLDER", "the repository of the project" },
    { NULL },
};

const struct cmd import_loopr = { "import loopr", loopr_run, 1, 1, options };
