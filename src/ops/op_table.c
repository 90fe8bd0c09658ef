/* op_table.c: every operation, by name. */
#include "ops/op.h"

#include <stddef.h>

extern const struct op op_agent_clear;
extern const struct op op_agent_list;
extern const struct op op_config_get;
extern const struct op op_config_list;
extern const struct op op_config_reload;
extern const struct op op_config_set;
extern const struct op op_daemon_backup;
extern const struct op op_daemon_doctor;
extern const struct op op_daemon_health;
extern const struct op op_daemon_metrics;
extern const struct op op_daemon_pause;
extern const struct op op_daemon_resume;
extern const struct op op_daemon_show;
extern const struct op op_daemon_status;
extern const struct op op_daemon_stop;
extern const struct op op_daemon_tick;
extern const struct op op_event_list;
extern const struct op op_group_add;
extern const struct op op_group_close;
extern const struct op op_group_list;
extern const struct op op_group_show;
extern const struct op op_host_forget;
extern const struct op op_host_list;
extern const struct op op_limiter_clear;
extern const struct op op_limiter_list;
extern const struct op op_notify_test;
extern const struct op op_plan_snapshot;
extern const struct op op_plan_whatif;
extern const struct op op_project_add;
extern const struct op op_project_delete;
extern const struct op op_project_list;
extern const struct op op_project_messages;
extern const struct op op_project_post;
extern const struct op op_project_set;
extern const struct op op_project_show;
extern const struct op op_run_correct;
extern const struct op op_run_list;
extern const struct op op_run_report;
extern const struct op op_session_code;
extern const struct op op_session_open;
extern const struct op op_task_add;
extern const struct op op_task_again;
extern const struct op op_task_approve;
extern const struct op op_task_budget;
extern const struct op op_task_cancel;
extern const struct op op_task_clear;
extern const struct op op_task_close;
extern const struct op op_task_delete;
extern const struct op op_task_depends;
extern const struct op op_task_diff;
extern const struct op op_task_events;
extern const struct op op_task_graph;
extern const struct op op_task_hold;
extern const struct op op_task_list;
extern const struct op op_task_log;
extern const struct op op_task_merge;
extern const struct op op_task_messages;
extern const struct op op_task_post;
extern const struct op op_task_priority;
extern const struct op op_task_reject;
extern const struct op op_task_release;
extern const struct op op_task_retry;
extern const struct op op_task_runs;
extern const struct op op_task_show;
extern const struct op op_task_sling;
extern const struct op op_task_wait;
extern const struct op op_task_why;
extern const struct op op_token_add;
extern const struct op op_token_list;
extern const struct op op_token_revoke;
extern const struct op op_usage_list;

/* One line each. */
/* clang-format off */
const struct op *const op_table[] = {
    &op_agent_clear,
    &op_agent_list,
    &op_config_get,
    &op_config_list,
    &op_config_reload,
    &op_config_set,
    &op_daemon_backup,
    &op_daemon_doctor,
    &op_daemon_health,
    &op_daemon_metrics,
    &op_daemon_pause,
    &op_daemon_resume,
    &op_daemon_show,
    &op_daemon_status,
    &op_daemon_stop,
    &op_daemon_tick,
    &op_event_list,
    &op_group_add,
    &op_group_close,
    &op_group_list,
    &op_group_show,
    &op_host_forget,
    &op_host_list,
    &op_limiter_clear,
    &op_limiter_list,
    &op_notify_test,
    &op_plan_snapshot,
    &op_plan_whatif,
    &op_project_add,
    &op_project_delete,
    &op_project_list,
    &op_project_messages,
    &op_project_post,
    &op_project_set,
    &op_project_show,
    &op_run_correct,
    &op_run_list,
    &op_run_report,
    &op_session_code,
    &op_session_open,
    &op_task_add,
    &op_task_again,
    &op_task_approve,
    &op_task_budget,
    &op_task_cancel,
    &op_task_clear,
    &op_task_close,
    &op_task_delete,
    &op_task_depends,
    &op_task_diff,
    &op_task_events,
    &op_task_graph,
    &op_task_hold,
    &op_task_list,
    &op_task_log,
    &op_task_merge,
    &op_task_messages,
    &op_task_post,
    &op_task_priority,
    &op_task_reject,
    &op_task_release,
    &op_task_retry,
    &op_task_runs,
    &op_task_show,
    &op_task_sling,
    &op_task_wait,
    &op_task_why,
    &op_token_add,
    &op_token_list,
    &op_token_revoke,
    &op_usage_list,
    NULL,
};
/* clang-format on */
