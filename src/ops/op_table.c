/* op_table.c: every operation, by name. */
#include "ops/op.h"

#include <stddef.h>

/* One line each. */
/* clang-format off */
#define OPERATIONS(OP) \
    OP(agent_clear) \
    OP(agent_list) \
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
    OP(notify_test) \
    OP(plan_snapshot) \
    OP(plan_whatif) \
    OP(project_add) \
    OP(project_delete) \
    OP(project_list) \
    OP(project_messages) \
    OP(project_post) \
    OP(project_set) \
    OP(project_show) \
    OP(run_correct) \
    OP(run_list) \
    OP(run_report) \
    OP(session_code) \
    OP(session_open) \
    OP(task_add) \
    OP(task_again) \
    OP(task_approve) \
    OP(task_budget) \
    OP(task_cancel) \
    OP(task_clear) \
    OP(task_close) \
    OP(task_delete) \
    OP(task_depends) \
    OP(task_diff) \
    OP(task_events) \
    OP(task_graph) \
    OP(task_hold) \
    OP(task_list) \
    OP(task_log) \
    OP(task_merge) \
    OP(task_messages) \
    OP(task_post) \
    OP(task_priority) \
    OP(task_reject) \
    OP(task_release) \
    OP(task_retry) \
    OP(task_runs) \
    OP(task_show) \
    OP(task_sling) \
    OP(task_wait) \
    OP(task_why) \
    OP(token_add) \
    OP(token_list) \
    OP(token_revoke) \
    OP(usage_list)
/* clang-format on */

#define DECLARE(name_) extern const struct op op_##name_;
OPERATIONS(DECLARE)

#define POINT_TO(name_) &op_##name_,
const struct op *const op_table[] = { OPERATIONS(POINT_TO) NULL };
