/* cmd_down.c: stops the daemon. What runs goes on: every run has a shim of its own, and the next daemon
 * finds it again.
 *
 * --wait waits for those runs by their locks, which each shim holds until it is gone: after the daemon
 * has ended nothing new starts, so when the last lock is free all is quiet. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/ask.h"
#include "os/outside.h"

#define STOP_DEADLINE 30000 /* ms */
#define RUNS_MAX      1000000

struct down {
    const struct cmd_call *call;
    struct ask ask;
    pid_t pid;
    int pidfd;
    bool is_standby, has_active; /* it is one, and knows another that is active */
    size_t runs;                 /* that live */
    json_t *ids, *locks;
    size_t elsewhere;         /* of these, on other hosts, or not begun by Slurm: no locks */
    char *runs_folder, *host; /* the daemon's */
};

static void down_finish(struct down *d) {
    ask_finish(&d->ask);
    json_decref(d->ids);
    json_decref(d->locks);
    free(d->runs_folder);
    free(d->host);
    if (d->pidfd >= 0)
        close(d->pidfd);
}

static void collect(void *ctx, const json_t *task) {
    struct down *d = ctx;
    json_array_append(d->ids, json_object_get(task, "id"));
}

/* --- what runs ------------------------------------------------------------------------------- */

static int find_runs(struct down *d) {
    d->ids = json_array();
    int code =
        ask_pages(&d->ask, "/v1/tasks?state=starting,running&limit=1000", RUNS_MAX, collect, d);
    d->runs = json_array_size(d->ids);
    return code;
}

/* Its shim makes this link before anything else; a job that Slurm has not started yet holds no lock. */
static bool is_begun(const struct down *d, const char *folder) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct stat st;
    strbuf_printf(&path, "%s/%s/begin", d->runs_folder, folder);
    return lstat(strbuf_text(&path), &st) == 0;
}

/* The locks of the runs that have no end. */
static int find_locks(struct down *d) {
    int code = ask_get(&d->ask, "/v1/status");
    if (code != CMD_OK)
        return code;
    d->runs_folder = xstrdup(ask_text(d->ask.answer, "runs_folder", ""));
    d->host = xstrdup(ask_text(d->ask.answer, "host_name", ""));
    d->locks = json_array();
    ASK_EACH(id, d->ids) {
        if (ask_try_task(&d->ask, json_string_value(id)) != 0)
            continue; /* deleted meanwhile */
        ASK_EACH(run, json_object_get(d->ask.answer, "runs")) {
            const char *folder = ask_text(run, "folder", NULL);
            if (!folder || ask_text(run, "outcome", NULL))
                continue;
            bool slurm = ask_is(run, "executor", "slurm");
            if (slurm ? !is_begun(d, folder)
                      : strcmp(ask_text(run, "host", d->host), d->host) != 0) {
                d->elsewhere++;
                continue;
            }
            _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
            strbuf_printf(&path, "%s/%s/lock", d->runs_folder, folder);
            json_array_append_new(d->locks, json_string(strbuf_text(&path)));
        }
    }
    return CMD_OK;
}

/* Blocks until nobody holds it. */
static void wait_for_lock(const char *path) {
    int fd = outside_open(AT_FDCWD, path, O_RDONLY | OUTSIDE_PARENT_LINKS, NULL, NULL);
    if (fd < 0)
        return; /* it is over and swept away, or no lock */
    while (flock(fd, LOCK_SH) < 0 && errno == EINTR)
        continue;
    close(fd);
}

/* --- stopping -------------------------------------------------------------------------------- */

/* The process is held before it is told to go: a number alone could be another one's by then. */
static int find_process(struct down *d) {
    int code = ask_get(&d->ask, "/healthz");
    if (code != CMD_OK)
        return code;
    d->pid = (pid_t)ask_int(d->ask.answer, "pid", 0);
    d->is_standby = ask_is(d->ask.answer, "role", "standby");
    d->has_active = ask_text(json_object_get(d->ask.answer, "active"), "who", NULL);
    d->pidfd = d->pid > 0 ? (int)syscall(SYS_pidfd_open, d->pid, 0) : -1;
    return CMD_OK;
}

static int wait_for_end(const struct down *d) {
    if (d->pidfd < 0)
        return CMD_OK;
    struct pollfd end = { .fd = d->pidfd, .events = POLLIN };
    int r;
    do
        r = poll(&end, 1, STOP_DEADLINE);
    while (r < 0 && errno == EINTR);
    if (r > 0)
        return CMD_OK;
    cmd_warn("the daemon (pid %d) was told to stop and has not after %d s", (int)d->pid,
             STOP_DEADLINE / 1000);
    return CMD_FAILED;
}

static int stop(struct down *d) {
    int code = find_process(d);
    if (code == CMD_OK && !d->is_standby) /* it has none */
        code = find_runs(d);
    if (code == CMD_OK && !d->is_standby && cmd_has(d->call, "wait"))
        code = find_locks(d);
    if (code == CMD_OK)
        code = ask_post(&d->ask, NULL, "/v1/shutdown");
    if (code != CMD_OK)
        return code;
    d->ask.client =
        client_close(d->ask.client); /* it waits for nobody but those who are connected */
    return wait_for_end(d);
}

/* --- telling --------------------------------------------------------------------------------- */

static void tell(const struct down *d, bool was_running, bool waited) {
    if (d->call->json) {
        json_t *answer =
            json_pack("{s:b, s:b, s:I}", "stopped", was_running, "already", !was_running, "runs",
                      (json_int_t)(waited ? d->elsewhere : d->runs));
        if (was_running)
            json_object_set_new(answer, "role", json_string(d->is_standby ? "standby" : "active"));
        (void)ask_print_json(answer);
    } else if (!was_running) {
        cmd_warn("no daemon runs");
    } else if (d->is_standby) {
        cmd_warn("the standby has stopped; %s",
                 d->has_active ? "the active daemon goes on" : "it knew of no active daemon");
    } else if (d->runs == 0) {
        cmd_warn("the daemon has stopped; nothing runs%s", d->elsewhere > 0 ? " here" : "");
    } else if (waited) {
        cmd_warn("%zu run%s ended; 'sluice up' takes note of %s", d->runs, d->runs == 1 ? "" : "s",
                 d->runs == 1 ? "it" : "them");
    } else {
        cmd_warn("the daemon has stopped; %zu run%s on", d->runs, d->runs == 1 ? " goes" : "s go");
    }
}

static int cmd_down_run(const struct cmd_call *call) {
    _cleanup_(down_finish) struct down d = { .call = call, .pidfd = -1 };
    bool waits = cmd_has(call, "wait");
    int code = ask_open(&d.ask, ASK_HOME);
    if (code == CMD_NO_DAEMON) {
        tell(&d, false, false);
        return CMD_OK;
    }
    if (code == CMD_OK)
        code = stop(&d);
    if (code != CMD_OK)
        return code;
    if (d.elsewhere > 0)
        cmd_warn("%zu run%s on other hosts, or not begun by Slurm, %s not waited for", d.elsewhere,
                 d.elsewhere == 1 ? "" : "s", d.elsewhere == 1 ? "is" : "are");
    d.runs -= d.elsewhere;
    if (waits && d.runs > 0 && !call->json)
        cmd_warn("the daemon has stopped; waiting for %zu run%s", d.runs, d.runs == 1 ? "" : "s");
    ASK_EACH(path, d.locks) {
        wait_for_lock(json_string_value(path));
    }
    tell(&d, true, waits);
    return CMD_OK;
}

static const struct cmd_option down_options[] = {
    { "wait", 'w', NULL, "return when the runs have ended too" },
    { NULL },
};

const struct cmd cmd_down = { "down", .options = down_options, .run = cmd_down_run };
