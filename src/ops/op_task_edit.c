/* op_task_edit.c: changes what a task that does not run was submitted with.
 *
 * The stored submission is read, changed, checked as a new one is, and replaced. A client that has
 * shown it to a person sends the version that it has read: the edit is refused if the task was
 * edited or started since. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "engine/agents.h"
#include "engine/best_of.h"
#include "engine/edits.h"
#include "engine/redaction.h"
#include "ops/print.h"
#include "ops/task_batch.h"

/* Members of the submission that the core does not know: replacing them needs no fact. */
static const char *const members[] = { "prompt",    "argv",           "title",
                                       "timeout_s", "idle_timeout_s", "checks" };

#define REDACTED "[redacted " /* and the name of the secret */

struct editing {
    task_id task;
    uint64_t version; /* when the submission was asked for */
    json_t *spec;
};

static void editing_finish(void *state) {
    struct editing *s = state;
    json_decref(s->spec);
}

static struct editing *editing_of(struct op_call *call) {
    return op_state(call, sizeof(struct editing), editing_finish);
}

bool task_is_editable(const struct task_view *t) {
    return !task_state_is_final(t->state) && !task_state_is_live(t->state);
}

static int check_state(struct op_call *call, const struct task_view *t) {
    const char *id = op_id(call, t->id);
    if (t->state == TASK_INVALIDATED)
        return op_fail(call, -EBUSY, "task '%s' is invalidated: add a new task", id);
    if (task_state_is_final(t->state))
        return op_fail(call, -EBUSY,
                       "task '%s' is %s: 'sluice again -m TEXT %s' continues it with a message", id,
                       task_state_name(t->state), id);
    if (task_state_is_live(t->state))
        return op_fail(call, -EBUSY,
                       "task '%s' is %s: only what waits, is held or is a draft can be edited", id,
                       task_state_name(t->state));
    if (engine_best_of(call->engine, t->id))
        return op_fail(call, -EBUSY,
                       "task '%s' has candidates: edit those that have not started, or cancel it "
                       "and add another",
                       id);
    if (op_json(call, "checks") && t->state == TASK_HELD && t->hold == HOLD_CHECK)
        return op_fail(call, -EBUSY,
                       "task '%s' waits for the result of a check: 'checks' can be changed when "
                       "there is one",
                       id);
    return 0;
}

static int check_version(struct op_call *call, const struct editing *s) {
    const json_t *given = op_json(call, "version");
    if (!given || (uint64_t)json_integer_value(given) == s->version)
        return 0;
    return op_fail(call, -EBUSY,
                   "task '%s' was edited or started since version %" PRId64
                   " was read: nothing was "
                   "changed; read it again (version %" PRIu64 ")",
                   op_id(call, s->task), (int64_t)json_integer_value(given), s->version);
}

/* A task keeps its way of running. */
static int check_way(struct op_call *call, const struct editing *s) {
    bool is_command = json_object_get(s->spec, "argv") != NULL;
    if (is_command && op_json(call, "prompt"))
        return op_fail(call, -EINVAL, "task '%s' is a command: it has an 'argv' and no 'prompt'",
                       op_id(call, s->task));
    if (!is_command && op_json(call, "argv"))
        return op_fail(call, -EINVAL, "task '%s' has a 'prompt' and no 'argv'",
                       op_id(call, s->task));
    return 0;
}

/* What is shown of a secret must not replace it. */
static int check_redacted(struct op_call *call, const struct editing *s) {
    const char *old = json_string_value(json_object_get(s->spec, "prompt"));
    const char *prompt = op_text(call, "prompt");
    _cleanup_(strbuf_finish) struct strbuf shown = STRBUF_INIT;
    if (!old || !prompt || !engine_redact(call->engine, old, strlen(old), &shown)
        || !strstr(prompt, REDACTED))
        return 0;
    return op_fail(call, -EINVAL,
                   "the prompt of task '%s' has a secret, which is shown as '[redacted NAME]': "
                   "give the complete prompt",
                   op_id(call, s->task));
}

/* Sets the given members that differ; `changed` has room for all. */
static size_t take_members(struct op_call *call, json_t *spec, const char **changed) {
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        const json_t *value = op_json(call, members[i]);
        const json_t *old = json_object_get(spec, members[i]);
        if (!value || (old && json_equal(old, value)))
            continue;
        if (strcmp(members[i], "checks") == 0 && json_array_size(value) == 0)
            json_object_del(spec, members[i]);
        else
            json_object_set_new(spec, members[i], json_deep_copy(value));
        changed[count++] = members[i];
    }
    return count;
}

static bool has_name(const char *const *names, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static int store_edit(struct op_call *call, struct editing *s, struct engine_edit *edit) {
    struct batch batch = { .engine = call->engine, .arena = op_arena(call), .keeps_links = true };
    json_t *list = json_pack("[O]", s->spec);
    int r = batch_read(&batch, list, NULL, &call->err);
    if (r == 0)
        r = batch_check_edit(&batch, &call->err);
    if (r == 0) {
        edit->title = batch.entries[0].title;
        edit->json = batch.entries[0].stored;
        engine_edit_task(call->engine, s->task, edit);
        if (has_name(edit->members, edit->member_count, "prompt"))
            engine_restart_session(call->engine, s->task);
    }
    batch_finish(&batch);
    json_decref(list);
    return r;
}

static int print(struct op_call *call, const struct editing *s, bool changed) {
    struct task_view t;
    (void)core_task(engine_core(call->engine), s->task, &t);
    struct json_writer w = op_begin(call);
    print_id(&w, "id", call->engine, s->task);
    json_put_string(&w, "state", task_state_name(t.state));
    json_put_int(&w, "version", (int64_t)engine_task_version(call->engine, s->task));
    json_put_bool(&w, "already", !changed);
    return op_end(&w);
}

static bool set_priority(struct op_call *call, const struct task_view *t) {
    struct fact fact = { .kind = FACT_PRIORITY,
                         .task = t->id,
                         .priority = (int32_t)op_number(call, "priority", t->priority) };
    return fact.priority != t->priority && engine_apply(call->engine, &fact, NULL) == 0;
}

static int query(struct op_call *call);

static int edit(struct op_call *call) {
    struct editing *s = editing_of(call);
    const char *changed[ARRAY_SIZE(members)];
    struct task_view t;
    if (!core_task(engine_core(call->engine), s->task, &t))
        return op_fail(call, -ENOENT, "task '%s' was deleted meanwhile", op_text(call, "id"));
    if (engine_task_version(call->engine, s->task) != s->version)
        return query(call); /* what was read is old */
    int r = check_state(call, &t);
    if (r == 0)
        r = check_version(call, s);
    if (r == 0 && !s->spec)
        r = op_fail(call, -EUCLEAN, "the stored task cannot be read");
    if (r == 0)
        r = check_way(call, s);
    if (r == 0)
        r = check_redacted(call, s);
    if (r < 0)
        return r;
    struct engine_edit edit = { .members = changed, .by = op_actor(call) };
    edit.member_count = take_members(call, s->spec, changed);
    if (edit.member_count > 0)
        r = store_edit(call, s, &edit);
    if (r < 0)
        return r;
    bool moved = set_priority(call, &t);
    return print(call, s, edit.member_count > 0 || moved);
}

static void take_spec(struct op_call *call, const struct store_answer *answer) {
    struct editing *s = editing_of(call);
    const struct spec_row *row = answer->count > 0 ? &answer->specs[0] : NULL;
    json_decref(s->spec);
    s->spec = row && row->json ? json_loadb(row->json, row->json_size, 0, NULL) : NULL;
}

static int query(struct op_call *call) {
    struct editing *s = editing_of(call);
    if (engine_is_edited_now(call->engine, s->task))
        return op_yield(call, query);
    s->version = engine_task_version(call->engine, s->task);
    struct store_query question = {
        .kind = QUERY_SPECS, .tasks = &s->task, .task_count = 1, .limit = 1
    };
    return op_query(call, &question, take_spec, edit);
}

/* A run that imports keeps title and prompt up to date, and sets no command. */
static int check_run(struct op_call *call) {
    static const char *const refused[] = { "argv", "checks", "timeout_s", "idle_timeout_s",
                                           "priority" };
    for (size_t i = 0; call->run.token[0] && i < ARRAY_SIZE(refused); i++)
        if (op_json(call, refused[i]))
            return op_fail(call, -EACCES, "'%s': a run that imports edits 'title' and 'prompt'",
                           refused[i]);
    return 0;
}

static int run(struct op_call *call) {
    struct editing *s = editing_of(call);
    bool given = op_json(call, "priority") != NULL;
    s->task = op_task(call);
    if (!s->task)
        return call->err.code;
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        given = given || op_json(call, members[i]);
    if (!given)
        return op_fail(call, -EINVAL,
                       "give at least one of 'prompt', 'argv', 'title', 'priority', 'timeout_s', "
                       "'idle_timeout_s', 'checks'");
    int r = check_run(call);
    return r < 0 ? r : query(call);
}

const struct op op_task_edit = {
    OP("task.edit", "POST", "/v1/tasks/{id}/edit", "change a task that does not run"),
    .text =
        "For a task that waits, is held or is a draft; its next attempt uses the new values. What "
        "is not given stays as it is. With `version` the edit is refused (409) if the task was "
        "edited or started since that version was read. An attempt after a new prompt begins a new "
        "session. The event is `task.edited`, with the names of what has changed. Runs can edit "
        "what they may "
        "[import](../guide/capabilities.md#importing).",
    .params = PARAMS(
        OP_PARAM_ID,
        PARAM(NUMBER, BODY, "version", .text = "`version` of task.show, as it was read",
              .max = INT64_MAX),
        PARAM(TEXT, BODY, "prompt",
              .text = "what its agent should do; only for a task with a prompt", .min = 1,
              .max = SUBMISSION_SPEC_MAX, .lines = true),
        PARAM(LIST, BODY, "argv", .text = "its command; only for a task with a command", .min = 1,
              .max = 1000),
        PARAM(TEXT, BODY, "title", .text = "what lists show; empty: the beginning of the prompt",
              .max = 500),
        PARAM(NUMBER, BODY, "priority", .text = "lower starts first", .min = -1000000,
              .max = 1000000),
        PARAM(VALUE, BODY, "timeout_s", .text = "how long a run may take: seconds, or `30m`"),
        PARAM(VALUE, BODY, "idle_timeout_s",
              .text = "how long a run may print nothing: seconds, or `10m`"),
        PARAM(LIST, BODY, "checks",
              .text = "shell commands that must succeed after it, instead of its checks; an empty "
                      "list: none",
              .max = 100)),
    .answers = ANSWERS({ "id", T_ID, "the task" }, { "state", T_WORD, "its state", &words_state },
                       { "version", T_INT, "its version now" },
                       { "already", T_BOOL, "nothing had to be changed" }),
    OP_WRITES(SUBMIT, NONE, run),
    .imports = true,
};
