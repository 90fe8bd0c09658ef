/* cmd_daemon.c: commands that control the daemon: up, down, tick, notify, dash.
 *
 * Runs continue without a daemon: each has its own shim, and the next daemon adopts it. `down
 * --wait` waits for the locks that shims hold until they exit. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/daemon.h"
#include "cli/print_task.h"
#include "cli/program.h"
#include "cli/request.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/home.h"
#include "os/outside.h"

static int cmd_up_run(const struct cmd_call *call) {
    struct error err = { 0 };
    if (cmd_has(call, "foreground")) {
        if (cmd_has(call, "detach"))
            return cmd_usage_error(call->cmd,
                                   "'--foreground' and '--detach' cannot be used together");
        (void)daemon_exec(&err);
        return cmd_fail(&err);
    }
    _cleanup_(home_finish) struct home home = { 0 };
    struct daemon_found found;
    if (home_find(&home, &err) < 0 || daemon_start(&found, &err) < 0)
        return cmd_fail(&err);
    if (call->json)
        return output_json(json_pack("{s:i, s:b, s:s, s:s, s:s, s:s}", "pid", (int)found.pid,
                                     "already", found.already, "role",
                                     found.standby ? "standby" : "active", "home", home.data,
                                     "socket", home.socket, "log", home.log));
    const char *as = found.standby ? ", as a standby" : "";
    if (found.already)
        cmd_warn("the daemon is already running (pid %d)%s", (int)found.pid, as);
    else
        cmd_warn("the daemon is running (pid %d) in '%s'%s", (int)found.pid, home.data, as);
    return CMD_OK;
}

const struct cmd cmd_up = {
    "up", cmd_up_run, 0, 0,
    CMD_OPTIONS({ "detach", 'd', NULL, "start in the background (the default)" },
                { "foreground", 'F', NULL, "stay in the foreground, for service managers" })
};

#define STOP_DEADLINE 30000 /* ms */
#define RUNS_MAX      1000000

struct down {
    const struct cmd_call *call;
    struct request req;
    pid_t pid;
    int pidfd;
    bool is_standby, has_active; /* it is a standby, and knows an active daemon */
    size_t runs;                 /* live runs */
    json_t *tasks, *locks;
    size_t elsewhere;         /* of these, on other hosts or not yet started by Slurm: no locks */
    char *runs_folder, *host; /* the daemon's */
};

static void down_finish(struct down *d) {
    request_finish(&d->req);
    json_decref(d->tasks);
    json_decref(d->locks);
    free(d->runs_folder);
    free(d->host);
    if (d->pidfd >= 0)
        close(d->pidfd);
}

/* The shim creates this link first; a job that Slurm has not started yet holds no lock. */
static bool has_begun(const struct down *d, const char *folder) {
    struct stat st;
    _cleanup_(freep) char *path = xasprintf("%s/%s/begin", d->runs_folder, folder);
    return lstat(path, &st) == 0;
}

/* Opens the locks of runs without an end. */
static int find_locks(struct down *d) {
    int code = request_get(&d->req, "/v1/status");
    if (code != CMD_OK)
        return code;
    d->runs_folder = xstrdup(get_text(d->req.answer, "runs_folder", ""));
    d->host = xstrdup(get_text(d->req.answer, "host_name", ""));
    d->locks = json_array();
    EACH_ITEM(task, d->tasks) {
        if (request_try_task(&d->req, get_text(task, "id", "")) != 0)
            continue; /* deleted meanwhile */
        EACH_ITEM(run, json_object_get(d->req.answer, "runs")) {
            const char *folder = get_text(run, "folder", NULL);
            if (!folder || get_text(run, "outcome", NULL))
                continue;
            bool slurm = member_is(run, "executor", "slurm");
            if (slurm ? !has_begun(d, folder)
                      : strcmp(get_text(run, "host", d->host), d->host) != 0) {
                d->elsewhere++;
                continue;
            }
            _cleanup_(freep) char *path = xasprintf("%s/%s/lock", d->runs_folder, folder);
            json_array_append_new(d->locks, json_string(path));
        }
    }
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
    cmd_warn("the daemon (pid %d) was asked to stop and has not stopped after %d s", (int)d->pid,
             STOP_DEADLINE / 1000);
    return CMD_FAILED;
}

static int stop_daemon(struct down *d) {
    int code = request_get(&d->req, "/healthz");
    if (code != CMD_OK)
        return code;
    d->pid = (pid_t)get_int(d->req.answer, "pid", 0);
    d->is_standby = member_is(d->req.answer, "role", "standby");
    d->has_active = get_text(json_object_get(d->req.answer, "active"), "who", NULL);
    /* Open it before asking the daemon to stop: later the pid could have been reused. */
    d->pidfd = d->pid > 0 ? (int)syscall(SYS_pidfd_open, d->pid, 0) : -1;
    d->tasks = json_array();
    if (!d->is_standby) /* a standby has no runs */
        code = request_pages(&d->req, "/v1/tasks?state=starting,running&limit=1000", RUNS_MAX,
                             request_append, d->tasks);
    d->runs = json_array_size(d->tasks);
    if (code == CMD_OK && !d->is_standby && cmd_has(d->call, "wait"))
        code = find_locks(d);
    if (code == CMD_OK)
        code = request_post(&d->req, NULL, "/v1/shutdown");
    if (code != CMD_OK)
        return code;
    d->req.client = client_close(d->req.client); /* the daemon waits for open connections */
    return wait_for_end(d);
}

static void report_stop(const struct down *d, bool was_running, bool waited) {
    if (d->call->json) {
        json_t *answer =
            json_pack("{s:b, s:b, s:I}", "stopped", was_running, "already", !was_running, "runs",
                      (json_int_t)(waited ? d->elsewhere : d->runs));
        if (was_running)
            json_object_set_new(answer, "role", json_string(d->is_standby ? "standby" : "active"));
        (void)output_json(answer);
    } else if (!was_running) {
        cmd_warn("no daemon is running");
    } else if (d->is_standby) {
        cmd_warn("the standby has stopped; %s",
                 d->has_active ? "the active daemon keeps running" : "it knew of no active daemon");
    } else if (d->runs == 0) {
        cmd_warn("the daemon has stopped; no task is running%s", d->elsewhere > 0 ? " here" : "");
    } else if (waited) {
        cmd_warn("%zu run%s ended; 'sluice up' records %s", d->runs, d->runs == 1 ? "" : "s",
                 d->runs == 1 ? "it" : "them");
    } else {
        cmd_warn("the daemon has stopped; %zu run%s on", d->runs, d->runs == 1 ? " goes" : "s go");
    }
}

static int cmd_down_run(const struct cmd_call *call) {
    _cleanup_(down_finish) struct down d = { .call = call, .pidfd = -1 };
    bool waits = cmd_has(call, "wait");
    int code = request_open(&d.req, REQUEST_HOME);
    if (code == CMD_NO_DAEMON) {
        report_stop(&d, false, false);
        return CMD_OK;
    }
    if (code == CMD_OK)
        code = stop_daemon(&d);
    if (code != CMD_OK)
        return code;
    if (d.elsewhere > 0)
        cmd_warn("%zu run%s on other hosts, or not begun by Slurm, %s not waited for", d.elsewhere,
                 d.elsewhere == 1 ? "" : "s", d.elsewhere == 1 ? "is" : "are");
    d.runs -= d.elsewhere;
    if (waits && d.runs > 0 && !call->json)
        cmd_warn("the daemon has stopped; waiting for %zu run%s", d.runs, d.runs == 1 ? "" : "s");
    EACH_ITEM(path, d.locks) {
        _cleanup_(fd_closep) int fd = outside_open(AT_FDCWD, json_string_value(path),
                                                   O_RDONLY | OUTSIDE_PARENT_LINKS, NULL, NULL);
        /* No file: the run has ended and its folder is deleted. */
        while (fd >= 0 && flock(fd, LOCK_SH) < 0 && errno == EINTR)
            continue;
    }
    report_stop(&d, true, waits);
    return CMD_OK;
}

const struct cmd cmd_down = {
    "down", cmd_down_run, 0, 0, CMD_OPTIONS({ "wait", 'w', NULL, "wait until all runs have ended" })
};

static void put_start(struct strbuf *out, const json_t *item, time_ms now) {
    time_ms at = get_int(item, "at", 0);
    strbuf_puts(out, at > now ? print_when(at, now).text : "now");
}

static void print_starts(const struct cmd_call *call, const json_t *answer, struct strbuf *out) {
    static const struct column columns[] = {
        { "#", "number", CELL_NUMBER },
        { "TASK", "id" },
        { "PROJECT", "project" },
        { "AGENT", "agent" },
        { "SCORE", "score", CELL_NUMBER },
        { "WHEN", .put = put_start },
        { NULL },
    };
    _cleanup_(rows_finish) struct rows rows = rows_new(columns);
    bool dry = cmd_has(call, "dry-run");
    json_int_t count = 0;
    EACH_ITEM(item, json_object_get(answer, "start")) {
        json_object_set_new(item, "number", json_integer(++count));
        rows_add_item(&rows, item, clock_read());
    }
    if (count == 0)
        strbuf_printf(out, "nothing %s start; 'sluice status' shows why\n", dry ? "would" : "to");
    else
        strbuf_puts(out, dry ? "would start\n" : "started\n");
    rows_print(&rows, out);
}

const struct cmd cmd_tick = {
    "tick", REQUEST_COMMAND("/v1/tick", .is_post = true, .print = print_starts),
    .options =
        CMD_OPTIONS({ "dry-run", 'n', NULL,
                      "show what the next tick would start, without starting it", "dry_run" })
};

#define TEST_TIMEOUT MINUTES(10) /* longer than the default timeout of any channel */

static void print_channels(const struct cmd_call *call, const json_t *answer, struct strbuf *out) {
    const struct output_style *style = output_style();
    (void)call;
    EACH_ITEM(channel, json_object_get(answer, "ways")) {
        bool ok = get_true(channel, "ok");
        strbuf_printf(out, "%s%s%s  ", ok ? style->green : style->red, ok ? "ok    " : "failed",
                      style->reset);
        cmd_put_line(out, "%s: %s", get_text(channel, "way", "?"), get_text(channel, "text", ""));
    }
}

static int notify_exit_code(const json_t *answer) {
    const json_t *channels = json_object_get(answer, "ways");
    int code = CMD_OK;
    EACH_ITEM(channel, channels) {
        code = get_true(channel, "ok") ? code : CMD_FAILED;
    }
    if (json_array_size(channels) > 0)
        return code;
    cmd_warn("no notifications are configured: set 'notify.webhook', 'notify.command' or "
             "'notify.desktop'");
    return CMD_REFUSED;
}

static const struct cmd notify_test = {
    "notify test", REQUEST_COMMAND("/v1/notify/test", .is_post = true, .timeout = TEST_TIMEOUT,
                                   .print = print_channels, .exit_code = notify_exit_code)
};
const struct cmd cmd_notify = { "notify", .subs = CMD_LIST(&notify_test) };

/* The link has a one-time code, and every process of this user, including runs, can read arguments.
 * So the browser gets a private file of the daemon (docs/guide/security.md). */
#define OPENER "xdg-open"

static void warn_of_listener(const struct cmd_call *call, const struct request *req) {
    const char *url = get_text(req->answer, "url", "");
    const char *port = cmd_value(call, "port"), *colon = strrchr(url, ':');
    if (get_true(req->answer, "opened"))
        cmd_warn("the daemon now listens at %s; to use another address: sluice config set "
                 "http.listen=ADDRESS",
                 url);
    else if (port && colon && strcmp(colon + 1, port) != 0)
        cmd_warn("the daemon already listens at %s: --port was ignored", url);
}

static int dash_run(const struct cmd_call *call) {
    _cleanup_(request_finish) struct request req = { 0 };
    _cleanup_(strbuf_finish) struct strbuf opener = STRBUF_INIT;
    const char *scope = cmd_value(call, "scope");
    int64_t port = 0;
    int code = cmd_number(call, "port", 0, 65535, &port);
    if (code != CMD_OK)
        return code;
    if (cmd_has(call, "admin") && scope && strcmp(scope, "admin") != 0)
        return cmd_usage_error(call->cmd, "--admin and --scope %s cannot be used together", scope);
    if (cmd_has(call, "admin"))
        scope = "admin";
    bool has_display = cmd_env("DISPLAY") || cmd_env("WAYLAND_DISPLAY");
    bool opens = !call->json && !cmd_has(call, "print") && has_display
                 && daemon_find_program(OPENER, &opener, NULL) == 0;
    json_t *body = json_pack("{s:I, s:b}", "port", (json_int_t)port, "file", opens);
    set_text(body, "scope", scope);
    code = request_post(&req, body, "/v1/session/code");
    if (code != CMD_OK)
        return code;
    warn_of_listener(call, &req);
    if (call->json)
        return request_print(&req);
    const char *file = get_text(req.answer, "file", "");
    const char *const argv[] = { OPENER, file, NULL };
    if (opens && *file && program_leave(strbuf_text(&opener), argv, NULL) == 0)
        return cmd_print_line("opened %s in the browser", get_text(req.answer, "url", ""));
    return cmd_print_line("%s", get_text(req.answer, "link", ""));
}

const struct cmd cmd_dash = {
    "dash", dash_run, 0, 0,
    CMD_OPTIONS(
        { "print", 0, NULL, "print the link instead of opening a browser" },
        { "scope", 0, "SCOPE", "the rights of the page: read, submit (the default) or admin" },
        { "admin", 0, NULL, "also allow pausing and changing settings; same as --scope admin" },
        { "port", 0, "PORT",
          "port for the daemon if it does not listen yet; default: any free port" })
};
