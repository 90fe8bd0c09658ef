/* rights.c: authorization of calls. See rights.h.
 *
 * A run gets the same answer for a task that it may not see and one that does not exist, so it
 * cannot probe for other tasks. */
#include "ops/rights.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/settings.h"
#include "engine/external_ids.h"
#include "engine/imports.h"
#include "engine/redaction.h"
#include "engine/run_token.h"
#include "engine/schedules.h"
#include "os/tcp.h"

/* The scope that a right needs. A client may report for a run. */
static const enum access_scope scope_needed[OP_RIGHT_MAX] = {
    [OP_READ] = ACCESS_READ,
    [OP_SUBMIT] = ACCESS_SUBMIT,
    [OP_ADMIN] = ACCESS_ADMIN,
    [OP_RUN] = ACCESS_SUBMIT,
};

int access_begin(struct op_call *call) {
    const struct op *op = call->op;
    if (op->local)
        return op_fail(call, -EACCES,
                       "'%s' is not available over TCP: use the command line on that machine",
                       op->name);
    enum access_scope needed = scope_needed[op->right];
    if (!op->open && call->access.scope < needed)
        return op_fail(
            call, -EACCES,
            "this token has the scope '%s', and '%s' needs '%s': see 'sluice token add --help'",
            access_scope_name(call->access.scope), op->name, access_scope_name(needed));
    free(call->caller); /* an untrusted header */
    call->caller = NULL;
    char owner[sizeof("token:") + ACCESS_ID_SIZE];
    (void)snprintf(owner, sizeof(owner), "token:%s", call->access.id);
    return op_authorized(call, owner);
}

bool access_hides(const struct op_call *call, const char *key) {
    struct setting_key found = settings_match(key, NULL);
    return call->access.remote && call->access.scope < ACCESS_ADMIN && found.match == MATCH_SETTING
           && (found.setting->type == SETTING_TEXT || found.setting->type == SETTING_WORDS);
}

/* The scope `admin` may add any task, so it may also add one at due times. The file of a schedule is
 * read later, as the owner: it may be removed, but not set. */
static bool may_change(const struct config_change *item) {
    static const char schedules[] = "schedules.";
    struct setting_key key = settings_match(item->key, NULL);
    if (!item->value && strncmp(item->key, schedules, strlen(schedules)) == 0)
        return true;
    return key.match == MATCH_SETTING
           && (setting_is_symbol(key.setting) ? key.setting->flags & SETTING_REMOTE
                                              : !(key.setting->flags & SETTING_LOCAL));
}

int access_check_changes(struct op_call *call, const struct config_change *items, size_t count) {
    for (size_t i = 0; call->access.remote && i < count; i++) {
        if (may_change(&items[i]))
            continue;
        return op_fail(call, -EACCES,
                       "'%s' cannot be changed over TCP, because it may decide which program runs "
                       "or who has access: use 'sluice config set' on that machine",
                       utf8_quote(items[i].key).text);
    }
    return 0;
}

int access_check_listen(struct op_call *call, const struct config *config) {
    const char *text = config_text(config, "http.listen", NULL);
    struct tcp_address address;
    if (!*text)
        return 0;
    int r = tcp_parse(text, &address, &call->err);
    if (r < 0)
        return error_prefix(&call->err, "http.listen");
    if (tcp_is_loopback(&address) || *config_text(config, "http.tls_cert", NULL))
        return 0;
    return op_fail(call, -EINVAL,
                   "http.listen: '%s' can be reached from other machines: set 'http.tls_cert' and "
                   "'http.tls_key' too, or use 127.0.0.1",
                   text);
}

static bool is_in_subtree(const struct engine *engine, task_id top, task_id task) {
    struct task_view view;
    while (task != top && core_task(engine_core(engine), task, &view))
        task = view.parent;
    return task == top;
}

bool capability_sees(const struct op_call *call, task_id task) {
    return !call->run.token[0] || (task && is_in_subtree(call->engine, call->run.task, task));
}

/* Its external id is NAME@TIME. */
static bool is_scheduled(const struct engine *engine, const char *external_id) {
    struct engine_schedule schedule;
    const char *at = strrchr(external_id, '@');
    char *name = at ? xasprintf("%.*s", (int)(at - external_id), external_id) : NULL;
    bool found = name && engine_find_schedule(engine, name, &schedule);
    free(name);
    return found;
}

bool capability_imports(const struct op_call *call, task_id task) {
    struct task_view view;
    const struct engine *engine = call->engine;
    if (!call->run.token[0] || !engine_import_projects(engine, call->run.task)
        || !core_task(engine_core(engine), task, &view))
        return false;
    const char *id = engine_external_id(engine, task), *project = op_name_of(engine, view.project);
    return id && project && engine_may_import(engine, call->run.task, project)
           && !engine_import_projects(engine, task) && !is_scheduled(engine, id);
}

bool capability_finds(const struct op_call *call, task_id task) {
    return capability_sees(call, task) || (call->op->imports && capability_imports(call, task));
}

bool op_run_sees(const struct engine *engine, const struct op_run *run, task_id task) {
    uint32_t attempt;
    if (!run->token[0])
        return true;
    task_id own = engine_find_token(engine, run->token, &attempt);
    return own && task && is_in_subtree(engine, own, task);
}

/* *ret_is: it is a task that the run may import, and the operation is for those. */
static int check_imported(struct op_call *call, task_id task, bool *ret_is) {
    struct task_view view;
    *ret_is = call->op->imports && !capability_sees(call, task) && capability_imports(call, task);
    if (!*ret_is || !call->op->writes)
        return 0;
    (void)core_task(engine_core(call->engine), task, &view);
    if (view.attempt == 0 && !task_state_is_live(view.state))
        return 0;
    return op_fail(call, -EACCES,
                   "task '%s' has started: run '%s' may change what it has imported before that",
                   op_id(call, task), call->caller);
}

static int check_seen(struct op_call *call, const char *id) {
    bool imported = false;
    if (!id)
        return 0;
    task_id task = op_find_task(call, call->engine, id, &(struct error){ 0 });
    int r = check_imported(call, task, &imported);
    return r < 0 || imported || capability_sees(call, task)
               ? r
               : (op_fail(
                   call, -EACCES,
                   "'%s' is not below '%s': a run sees itself and what is below it, nothing else",
                   utf8_quote(id).text, op_id(call, call->run.task)));
}

static int check_descendants(struct op_call *call) {
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
                           op_id(call, call->run.task));
    }
    call->index = -1;
    return 0;
}

/* An operation that is the owner's, and that of a run only for tasks that it may import. */
static int check_owned(struct op_call *call) {
    const json_t *list = op_json(call, "tasks");
    const char *id = op_text(call, "id");
    bool imported = false;
    int r = 0;
    id = id ? id : op_text(call, "task");
    size_t count = id ? 1 : json_array_size(list);
    for (size_t i = 0; r == 0 && i < count; i++) {
        const char *one = id ? id : json_string_value(json_array_get(list, i));
        task_id task = op_find_task(call, call->engine, one, &(struct error){ 0 });
        r = check_imported(call, task, &imported);
        if (r == 0 && !imported)
            r = op_fail(call, -EACCES, "'%s' is not a task that run '%s' may import",
                        utf8_quote(one).text, call->caller);
        if (r < 0 && !id)
            call->index = (int64_t)i;
    }
    return r;
}

static int check_reach(struct op_call *call) {
    struct task_view view = { 0 };
    const char *id = op_text(call, "task"), *name = op_text(call, "name"), *own;
    int r;
    switch (call->op->reach) {
    case OP_REACH_ALL:
    case OP_REACH_CHILDREN: /* children_complete and children_admit */
        return 0;
    case OP_REACH_SELF:
        id = id ? id : op_text(call, "id");
        if (!id || op_find_task(call, call->engine, id, &(struct error){ 0 }) == call->run.task)
            return 0;
        return op_fail(call, -EACCES, "run '%s' reports of itself, not of '%s'", call->caller,
                       utf8_quote(id).text);
    case OP_REACH_SUBTREE:
        return check_seen(call, op_text(call, "id"));
    case OP_REACH_LIST:
        r = check_seen(call, op_text(call, "parent"));
        return r < 0 ? r : check_seen(call, id);
    case OP_REACH_DESCENDANTS:
        return check_descendants(call);
    case OP_REACH_PROJECT:
        (void)core_task(engine_core(call->engine), call->run.task, &view);
        own = op_name_of(call->engine, view.project);
        if (own && strcmp(own, name) == 0)
            return 0;
        return op_fail(call, -EACCES, "run '%s' belongs to project '%s', not to '%s'", call->caller,
                       own ? own : "", utf8_quote(name).text);
    case OP_REACH_NONE:
        if (call->op->imports && engine_import_projects(call->engine, call->run.task))
            return check_owned(call);
        break;
    case OP_REACH_MAX:
        break;
    }
    return op_fail(call, -EACCES,
                   "'%s' is not for runs: a run may report, post, look at itself and below it, and "
                   "add and cancel there",
                   call->op->name);
}

/* A run may have secrets, and its reports are stored and shown. */
static void redact(const struct engine *engine, json_t *value) {
    _cleanup_(strbuf_finish) struct strbuf shown = STRBUF_INIT;
    const char *name;
    size_t index;
    json_t *member;
    if (json_is_string(value)
        && engine_redact(engine, json_string_value(value), json_string_length(value), &shown))
        (void)json_string_setn_nocheck(value, strbuf_text(&shown), shown.length);
    json_object_foreach(value, name, member) {
        redact(engine, member);
    }
    json_array_foreach(value, index, member) {
        redact(engine, member);
    }
}

int capability_begin(struct op_call *call) {
    struct op_run *run = &call->run;
    char id[ENGINE_ID_MAX];
    run->task = engine_find_token(call->engine, run->token, &run->attempt);
    if (!run->task)
        return op_fail(call, -EACCES, "this token belongs to no live run");
    free(call->caller); /* the token identifies the run, not a header */
    call->caller = xasprintf("%s.%u", engine_task_id(call->engine, run->task, id), run->attempt);
    redact(call->engine, call->params);
    int r = check_reach(call);
    return r < 0 ? r : op_authorized(call, call->caller);
}
