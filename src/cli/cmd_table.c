/* cmd_table.c: every command of `sluice`, by name. */
#include "cli/cmd.h"

#include <string.h>

#include "base/nearest.h"

extern const struct cmd cmd_add;
extern const struct cmd cmd_again;
extern const struct cmd cmd_agent;
extern const struct cmd cmd_approve;
extern const struct cmd cmd_backup;
extern const struct cmd cmd_budget;
extern const struct cmd cmd_bus;
extern const struct cmd cmd_cancel;
extern const struct cmd cmd_clear;
extern const struct cmd cmd_close;
extern const struct cmd cmd_completion;
extern const struct cmd cmd_config;
extern const struct cmd cmd_dash;
extern const struct cmd cmd_debug;
extern const struct cmd cmd_delete;
extern const struct cmd cmd_demote;
extern const struct cmd cmd_depend;
extern const struct cmd cmd_diff;
extern const struct cmd cmd_digest;
extern const struct cmd cmd_doctor;
extern const struct cmd cmd_down;
extern const struct cmd cmd_events;
extern const struct cmd cmd_formula;
extern const struct cmd cmd_graph;
extern const struct cmd cmd_group;
extern const struct cmd cmd_help;
extern const struct cmd cmd_hold;
extern const struct cmd cmd_host;
extern const struct cmd cmd_import;
extern const struct cmd cmd_init;
extern const struct cmd cmd_limiter;
extern const struct cmd cmd_list;
extern const struct cmd cmd_logs;
extern const struct cmd cmd_mcp;
extern const struct cmd cmd_merge;
extern const struct cmd cmd_notify;
extern const struct cmd cmd_pause;
extern const struct cmd cmd_plan;
extern const struct cmd cmd_project;
extern const struct cmd cmd_promote;
extern const struct cmd cmd_reject;
extern const struct cmd cmd_release;
extern const struct cmd cmd_report;
extern const struct cmd cmd_restore;
extern const struct cmd cmd_resume;
extern const struct cmd cmd_retry;
extern const struct cmd cmd_run;
extern const struct cmd cmd_service;
extern const struct cmd cmd_show;
extern const struct cmd cmd_sim;
extern const struct cmd cmd_sling;
extern const struct cmd cmd_snapshot;
extern const struct cmd cmd_status;
extern const struct cmd cmd_store;
extern const struct cmd cmd_tick;
extern const struct cmd cmd_token;
extern const struct cmd cmd_top;
extern const struct cmd cmd_up;
extern const struct cmd cmd_version;
extern const struct cmd cmd_wait;
extern const struct cmd cmd_why;

/* clang-format off */
const struct cmd *const cmd_table[] = {
    &cmd_add,
    &cmd_again,
    &cmd_agent,
    &cmd_approve,
    &cmd_backup,
    &cmd_budget,
    &cmd_bus,
    &cmd_cancel,
    &cmd_clear,
    &cmd_close,
    &cmd_completion,
    &cmd_config,
    &cmd_dash,
    &cmd_debug,
    &cmd_delete,
    &cmd_demote,
    &cmd_depend,
    &cmd_diff,
    &cmd_digest,
    &cmd_doctor,
    &cmd_down,
    &cmd_events,
    &cmd_formula,
    &cmd_graph,
    &cmd_group,
    &cmd_help,
    &cmd_hold,
    &cmd_host,
    &cmd_import,
    &cmd_init,
    &cmd_limiter,
    &cmd_list,
    &cmd_logs,
    &cmd_mcp,
    &cmd_merge,
    &cmd_notify,
    &cmd_pause,
    &cmd_plan,
    &cmd_project,
    &cmd_promote,
    &cmd_reject,
    &cmd_release,
    &cmd_report,
    &cmd_restore,
    &cmd_resume,
    &cmd_retry,
    &cmd_run,
    &cmd_service,
    &cmd_show,
    &cmd_sim,
    &cmd_sling,
    &cmd_snapshot,
    &cmd_status,
    &cmd_store,
    &cmd_tick,
    &cmd_token,
    &cmd_top,
    &cmd_up,
    &cmd_version,
    &cmd_wait,
    &cmd_why,
    NULL,
};
/* clang-format on */

const struct cmd *cmd_find(const struct cmd *const *table, const char *name) {
    for (; *table; table++)
        if (strcmp((*table)->name, name) == 0)
            return *table;
    return NULL;
}

const char *cmd_nearest(const struct cmd *const *table, const char *name) {
    struct nearest nearest = nearest_to(name);
    for (; *table; table++)
        nearest_offer(&nearest, (*table)->name);
    return nearest.best;
}
