/* capability.c: whose token it is, and how far it reaches. See capability.h.
 *
 * What a run may not see and what is not there get the same answer: else a run could find out, by
 * asking, what others do. */
#include "ops/capability.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/redaction.h"
#include "engine/run_token.h"
#include "ops/call_internal.h"

static const char *id_of(struct op_call *call, task_id task) {
    char id[ENGINE_ID_MAX];
    return arena_strdup(op_arena(call), engine_task_id(call->engine, task, id));
}

/* --- what is below --------------------------------------------------------------------------- */

static bool is_below_or_same(const struct engine *engine, task_id top, task_id task) {
    struct task_view view;
    while (task != top && core_task(engine_core(engine), task, &view))
        task = view.parent;
    return task == top;
}

bool capability_sees(const struct op_call *call, task_id task) {
    return !call->run.token[0] || (task && is_below_or_same(call->engine, call->run.task, task));
}

bool op_run_sees(const struct engine *engine, const struct op_run *run, task_id task) {
    uint32_t attempt;
    if (!run->token[0])
        return true;
    task_id own = engine_find_token(engine, run->token, &attempt);
    return own && task && is_below_or_same(engine, own, task);
}

/* --- how far it reaches ---------------------------------------------------------------------- */

static int refuse_task(struct op_call *call, const char *id) {
    return op_fail(call, -EACCES,
                   "'%s' is not below '%s': a run sees itself and what is below it, nothing else",
                   op_quote(id).text, id_of(call, call->run.task));
}

static int check_seen(struct op_call *call, const char *id) {
    if (!id)
        return 0;
    task_id task = op_find_task(call, call->engine, id, &(struct error){ 0 });
    return capability_sees(call, task) ? 0 : refuse_task(call, id);
}

static int check_self(struct op_call *call) {
    const char *id = op_text(call, "task");
    if (!id || op_find_task(call, call->engine, id, &(struct error){ 0 }) == call->run.task)
        return 0;
    return op_fail(call, -EACCES, "run '%s' reports of itself, not of '%s'", call->caller,
                   op_quote(id).text);
}

static int check_below(struct op_call *call) {
    const json_t *list = op_json(call, "tasks");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *id = json_string_value(json_array_get(list, i));
        call->index = (int64_t)i;
        int r = check_seen(call, id);
        if (r < 0)
            return r;
        if (op_find_task(call, call->engine, id, &(struct error){ 0 }) == call->run.task)
            return op_fail(call, -EACCES,
                           "'%s' is the run's own task: it may do this to what is below it",
                           id_of(call, call->run.task));
    }
    call->index = -1;
    return 0;
}

static int check_project(struct op_call *call) {
    struct task_view view = { 0 };
    const char *name = op_text(call, "name");
    (void)core_task(engine_core(call->engine), call->run.task, &view);
    const char *own = op_name_of(call->engine, view.project);
    if (own && strcmp(own, name) == 0)
        return 0;
    return op_fail(call, -EACCES, "run '%s' belongs to project '%s', not to '%s'", call->caller,
                   own ? own : "", op_quote(name).text);
}

static int check_reach(struct op_call *call) {
    int r;
    switch (call->op->reach) {
    case OP_REACH_ALL:
    case OP_REACH_CHILDREN: /* capability_complete and capability_admit */
        return 0;
    case OP_REACH_SELF:
        return check_self(call);
    case OP_REACH_SUBTREE:
        return check_seen(call, op_text(call, "id"));
    case OP_REACH_LIST:
        r = check_seen(call, op_text(call, "parent"));
        return r < 0 ? r : check_seen(call, op_text(call, "task"));
    case OP_REACH_BELOW:
        return check_below(call);
    case OP_REACH_PROJECT:
        return check_project(call);
    case OP_REACH_NONE:
    case OP_REACH_MAX:
        break;
    }
    return op_fail(call, -EACCES,
                   "'%s' is not for runs: a run may report, post, look at itself and below it, and "
                   "add and cancel there",
                   call->op->name);
}

/* --- the first step -------------------------------------------------------------------------- */

/* Two runs, or a run and its owner, may choose the same key; neither gets the answer of the
 * other. */
static void scope_key(struct op_call *call) {
    struct strbuf key = STRBUF_INIT;
    strbuf_printf(&key, "%s/%s", call->caller, call->key);
    call->key = arena_strdup(op_arena(call), strbuf_text(&key));
    strbuf_finish(&key);
}

/* A run may have secrets; what it says is kept, and others see it. */
static void redact(const struct engine *engine, json_t *value) {
    _cleanup_(strbuf_finish) struct strbuf shown = STRBUF_INIT;
    const char *name;
    size_t index;
    json_t *member;
    if (json_is_string(value)
        && engine_redact(engine, json_string_value(value), json_string_length(value), &shown))
        (void)json_string_setn_nocheck(value, strbuf_text(&shown), shown.length);
    json_object_foreach(value, name, member) redact(engine, member);
    json_array_foreach(value, index, member) redact(engine, member);
}

int capability_begin(struct op_call *call) {
    struct op_run *run = &call->run;
    struct strbuf name = STRBUF_INIT;
    char id[ENGINE_ID_MAX];
    run->task = engine_find_token(call->engine, run->token, &run->attempt);
    if (!run->task)
        return op_fail(call, -EACCES,
                       "this token is of no run that lives: it has ended with its run");
    free(call->caller); /* who it is says the token, and no header */
    strbuf_printf(&name, "%s.%u", engine_task_id(call->engine, run->task, id), run->attempt);
    call->caller = strbuf_take(&name);
    redact(call->engine, call->params);
    int r = check_reach(call);
    if (r < 0)
        return r;
    if (call->key)
        scope_key(call);
    call->own->step = call->key ? keys_begin : call->op->run;
    return CALL_GO_ON;
}
