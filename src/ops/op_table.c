/* op_table.c: every operation by name, and routing.
 *
 * A path is matched part by part. A part in braces matches any text, which is decoded; a literal
 * part takes precedence, so POST /v1/tasks/cancel is never a task called "cancel". The table has
 * about seventy rows, so a linear search is fast enough. */
#include <string.h>

#include "ops/op.h"
#include "ops/op_internal.h"

/* clang-format off */
#define OPERATIONS(OP) \
    OP(agent_clear) \
    OP(agent_list) \
    OP(attention_dismiss) \
    OP(attention_list) \
    OP(config_get) \
    OP(config_list) \
    OP(config_reload) \
    OP(config_set) \
    OP(daemon_backup) \
    OP(daemon_doctor) \
    OP(daemon_health) \
    OP(daemon_metrics) \
    OP(daemon_pause) \
    OP(daemon_resume) \
    OP(daemon_show) \
    OP(daemon_status) \
    OP(daemon_stop) \
    OP(daemon_tick) \
    OP(event_list) \
    OP(group_add) \
    OP(group_close) \
    OP(group_list) \
    OP(group_show) \
    OP(host_forget) \
    OP(host_list) \
    OP(limiter_clear) \
    OP(limiter_list) \
    OP(limiter_show) \
    OP(link_answer) \
    OP(link_show) \
    OP(notify_test) \
    OP(plan_forecast) \
    OP(plan_snapshot) \
    OP(plan_whatif) \
    OP(project_add) \
    OP(project_delete) \
    OP(project_list) \
    OP(project_messages) \
    OP(project_post) \
    OP(project_set) \
    OP(project_show) \
    OP(question_list) \
    OP(run_correct) \
    OP(run_list) \
    OP(run_report) \
    OP(schedule_add) \
    OP(schedule_list) \
    OP(schedule_next) \
    OP(schedule_pause) \
    OP(schedule_remove) \
    OP(schedule_resume) \
    OP(schedule_run) \
    OP(schedule_set) \
    OP(schedule_show) \
    OP(session_code) \
    OP(session_open) \
    OP(task_add) \
    OP(task_again) \
    OP(task_answer) \
    OP(task_approve) \
    OP(task_ask) \
    OP(task_budget) \
    OP(task_cancel) \
    OP(task_candidates) \
    OP(task_clear) \
    OP(task_close) \
    OP(task_delete) \
    OP(task_depends) \
    OP(task_diff) \
    OP(task_edit) \
    OP(task_events) \
    OP(task_graph) \
    OP(task_hold) \
    OP(task_list) \
    OP(task_log) \
    OP(task_merge) \
    OP(task_messages) \
    OP(task_pick) \
    OP(task_post) \
    OP(task_priority) \
    OP(task_reject) \
    OP(task_release) \
    OP(task_retry) \
    OP(task_runs) \
    OP(task_select) \
    OP(task_show) \
    OP(task_sling) \
    OP(task_take) \
    OP(task_wait) \
    OP(task_why) \
    OP(token_add) \
    OP(token_list) \
    OP(token_revoke) \
    OP(usage_list) \
    OP(usage_tasks)
/* clang-format on */

#define DECLARE(name_) extern const struct op op_##name_;
OPERATIONS(DECLARE)

#define POINT_TO(name_) &op_##name_,
const struct op *const op_table[] = { OPERATIONS(POINT_TO) NULL };

const struct op *op_find(const char *name) {
    for (const struct op *const *op = op_table; *op; op++)
        if (strcmp((*op)->name, name) == 0)
            return *op;
    return NULL;
}

static size_t part_size(const char *at) {
    return strcspn(at, "/");
}

/* 0: no match, 1: with a part in braces, 2: literal. */
static int match(const char *pattern, const char *path) {
    int result = 2;
    for (;;) {
        if (*pattern == '{') {
            result = 1;
            if (*path == '/' || *path == '\0')
                return 0;
            while (*pattern++ != '}')
                ;
            while (*path && *path != '/')
                path++;
        }
        if (*pattern != *path)
            return 0;
        if (*pattern == '\0')
            return result;
        pattern++;
        path++;
    }
}

/* Decodes the parts in braces. -EINVAL: not valid text. */
static int take_parts(const char *pattern, const char *path, json_t *params) {
    for (;;) {
        size_t wanted = part_size(pattern), given = part_size(path);
        if (pattern[0] == '{') {
            _cleanup_(strbuf_finish) struct strbuf value = STRBUF_INIT;
            char name[32];
            int r = utf8_decode_percent(path, given, false, &value);
            if (r < 0)
                return r;
            memcpy(name, pattern + 1, wanted - 2);
            name[wanted - 2] = '\0';
            json_object_set_new(params, name, json_stringn_nocheck(value.text, value.length));
        }
        pattern += wanted;
        path += given;
        if (*pattern == '\0')
            return 0;
        pattern++;
        path++;
    }
}

const struct op *op_route(const char *method, const char *path, json_t **ret_params,
                          const char **ret_allowed) {
    const struct op *found = NULL;
    const char *allowed = NULL;
    int best = 0;
    for (const struct op *const *op = op_table; *op; op++) {
        int how = match((*op)->path, path);
        if (how == 0)
            continue;
        if (strcmp((*op)->method, method) != 0) {
            allowed = allowed ? allowed : (*op)->method;
        } else if (how > best) {
            best = how;
            found = *op;
        }
    }
    *ret_allowed = found ? NULL : allowed;
    if (!found)
        return NULL;
    json_t *params = json_object();
    if (take_parts(found->path, path, params) < 0) {
        json_decref(params);
        return NULL;
    }
    *ret_params = params;
    return found;
}
