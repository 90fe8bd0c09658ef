/* foreign_names.c: see foreign_names.h. Only names that Sluice does not have itself;
 * tests/unit/test_foreign_names.c checks that. */
#include "base/foreign_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

struct foreign {
    const char *typed, *here;
};

static const struct foreign commands[] = {
    { "at", "add --not-before WHEN" },
    { "atq", "list" },
    { "atrm", "cancel" },
    { "attach", "take" },
    { "batch", "add" },
    { "clean", "delete" },
    { "create", "add" },
    { "cron", "schedule" },
    { "crontab", "schedule" },
    { "daemon", "up" },
    { "dashboard", "dash" },
    { "describe", "show" },
    { "enqueue", "add" },
    { "follow", "logs --follow" },
    { "history", "list --all" },
    { "info", "show" },
    { "inspect", "show" },
    { "jobs", "list" },
    { "kill", "cancel" },
    { "log", "logs" },
    { "ls", "list" },
    { "monitor", "top" },
    { "new", "add" },
    { "parallel", "config set limits.runs=N" },
    { "ps", "list" },
    { "queue", "add' or 'list" },
    { "remove", "delete" },
    { "restart", "retry' or 'again" },
    { "rm", "delete" },
    { "sacct", "list --all" },
    { "sbatch", "add" },
    { "scancel", "cancel" },
    { "scontrol", "show' or 'edit" },
    { "serve", "up" },
    { "set", "config set" },
    { "settings", "config" },
    { "setup", "init" },
    { "shutdown", "down" },
    { "sinfo", "status" },
    { "squeue", "list" },
    { "srun", "run" },
    { "start", "up' or 'resume" },
    { "stash", "hold" },
    { "stop", "cancel' or 'down" },
    { "submit", "add" },
    { "switch", "promote" },
    { "tail", "logs --follow" },
    { "unhold", "release" },
    { "unpause", "resume" },
    { "usage", "status' or 'budget" },
    { "watch", "top' or 'status --watch" },
};

static const struct foreign options[] = {
    { "array", "::: INPUT..." },
    { "at", "--not-before" },
    { "attempts", "--retries" },
    { "begin", "--not-before" },
    { "budget", "--usd' or '--tokens" },
    { "chdir", "--cwd" },
    { "cmd", "-- COMMAND" },
    { "command", "-- COMMAND" },
    { "cost", "--usd" },
    { "cpus-per-task", "--slurm cpus=N" },
    { "cron", "sluice schedule add --cron" },
    { "delay", "--in" },
    { "dependency", "--after" },
    { "depends", "--after" },
    { "depends-on", "--after" },
    { "dir", "--cwd" },
    { "directory", "--cwd" },
    { "enqueued", "--hold" },
    { "every", "sluice schedule add --every" },
    { "gres", "--slurm gres=GRES" },
    { "job-name", "--title" },
    { "jobs", "sluice config set limits.runs=N" },
    { "label", "--title" },
    { "max-cost", "--usd" },
    { "max-retries", "--retries" },
    { "mem", "--memory" },
    { "message", "--prompt" },
    { "name", "--title" },
    { "needs", "--after" },
    { "partition", "--slurm partition=NAME" },
    { "schedule", "sluice schedule add" },
    { "stashed", "--hold" },
    { "time", "--timeout" },
    { "tries", "--retries" },
    { "wait-for", "--after" },
    { "workdir", "--cwd" },
    { "working-directory", "--cwd" },
};

static const struct foreign members[] = {
    { "args", "argv" },
    { "at", "not_before" },
    { "attempts", "retries" },
    { "begin", "not_before" },
    { "budget", "usd' or 'tokens" },
    { "cmd", "argv' or 'run" },
    { "command", "argv' or 'run" },
    { "cost", "usd" },
    { "cron", "sluice schedule add --cron" },
    { "delay", "not_before" },
    { "dependencies", "depends_on" },
    { "dependency", "depends_on" },
    { "depends", "depends_on" },
    { "dir", "cwd" },
    { "directory", "cwd" },
    { "environment", "env" },
    { "instructions", "prompt" },
    { "label", "title" },
    { "max_attempts", "retries" },
    { "max_retries", "retries" },
    { "mem", "memory" },
    { "partition", "slurm" },
    { "requires", "depends_on" },
    { "retry", "retries" },
    { "schedule", "sluice schedule add" },
    { "script", "argv' or 'run" },
    { "shell", "run" },
    { "tags", "meta" },
    { "test", "checks" },
    { "tests", "checks" },
    { "time", "timeout" },
    { "time_limit", "timeout" },
    { "type", "kind" },
    { "validation", "checks" },
    { "workdir", "cwd" },
    { "working_directory", "cwd" },
};

static const struct foreign settings[] = {
    { "concurrency", "limits.runs" },
    { "database", "store.url" },
    { "db", "store.url" },
    { "default_parallel_tasks", "limits.runs" },
    { "env", "tasks.env" },
    { "jobs", "limits.runs" },
    { "listen", "http.listen" },
    { "log_level", "log.level" },
    { "max_concurrency", "limits.runs" },
    { "max_jobs", "limits.runs" },
    { "max_parallel", "limits.runs" },
    { "max_retries", "retry.failed.max" },
    { "max_running", "limits.runs" },
    { "parallel", "limits.runs" },
    { "port", "http.listen" },
    { "retries", "retry.failed.max" },
    { "sandbox", "tasks.sandbox" },
    { "slots", "limits.runs' or 'agents.A.slots" },
    { "timeout", "tasks.timeout_s" },
    { "webhook", "notify.webhook" },
    { "workers", "limits.runs" },
};

static const struct {
    const struct foreign *rows;
    size_t count;
} tables[] = {
    [FOREIGN_COMMAND] = { commands, ARRAY_SIZE(commands) },
    [FOREIGN_OPTION] = { options, ARRAY_SIZE(options) },
    [FOREIGN_MEMBER] = { members, ARRAY_SIZE(members) },
    [FOREIGN_SETTING] = { settings, ARRAY_SIZE(settings) },
};

static int folded(char c) {
    return c == '_' ? '-' : tolower((unsigned char)c);
}

static bool is_same(const char *a, const char *b) {
    for (; *a && folded(*a) == folded(*b); a++)
        b++;
    return !*a && !*b;
}

const char *foreign_name(enum foreign_scope scope, const char *typed) {
    for (size_t i = 0; i < tables[scope].count; i++)
        if (is_same(tables[scope].rows[i].typed, typed))
            return tables[scope].rows[i].here;
    return NULL;
}
