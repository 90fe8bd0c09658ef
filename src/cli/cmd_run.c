/* cmd_run.c: adds a task and waits for it, with its output and exit code.
 *
 * The daemon owns the task once it is added. It is independent of this process, the terminal and
 * daemon restarts; only Ctrl-C requests its cancellation. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/daemon.h"
#include "cli/follow.h"
#include "cli/request.h"
#include "cli/submit.h"
#include "os/terminal.h"

#define NEEDS_PERSON 123
#define OWN_FAILURE  125 /* not an exit code of the command */
#define INTERRUPTED  (128 + SIGINT)

struct run {
    const struct cmd_call *call;
    struct request req; /* its answer is the latest state of the task */
    char *id;
    struct follow follow;
    unsigned interrupts;
    struct error err;
};

static void run_finish(struct run *run) {
    if (run->follow.signal_fd >= 0)
        close(run->follow.signal_fd);
    follow_finish(&run->follow);
    request_finish(&run->req);
    freep(&run->id);
}

static int fail(const struct error *err) {
    cmd_warn("%s", err->text);
    return OWN_FAILURE;
}

/* --- adding ---------------------------------------------------------------------------------- */

static int add(struct run *run, json_t *task) {
    json_t *body = json_pack("{s:[o]}", "tasks", task);
    set_text(body, "group", cmd_value(run->call, "group"));
    /* One command, one result: a preset's loop or retries would keep this process waiting. */
    if (!json_object_get(task, "retries"))
        json_object_set_new(task, "retries", json_integer(0));
    if (!json_object_get(task, "until"))
        json_object_set_new(task, "until", json_string("exit"));
    _cleanup_(request_finish) struct request req = { 0 };
    if (request_open(&req, REQUEST_START) != CMD_OK) {
        json_decref(body);
        return OWN_FAILURE;
    }
    json_t *agents = agent_warning_names(json_object_get(body, "tasks"));
    if (request_post(&req, body, "/v1/tasks") != CMD_OK) {
        json_decref(agents);
        return OWN_FAILURE;
    }
    const json_t *added = json_array_get(json_object_get(req.answer, "tasks"), 0);
    run->id = xstrdup(get_text(added, "id", "?"));
    int64_t position = get_int(added, "queue_position", 0);
    if (member_is(added, "result", "queued") && position > 0)
        cmd_warn("%s queued, position %" PRId64, run->id, position);
    else if (!member_is(added, "result", "started"))
        cmd_warn("%s %s", run->id, get_text(added, "result", ""));
    const char *warning = get_text(req.answer, "warning", NULL);
    if (warning)
        cmd_warn("%s", warning);
    agent_warning_print(&req, agents);
    return CMD_OK;
}

/* --- reading the task ------------------------------------------------------------------------ */

/* Reads the task: 1. 0: no daemon answers; an event follows when one does. */
static int read_task(struct run *run) {
    int r = 0;
    if (!run->req.client)
        r = daemon_connect(false, &run->req.client, &run->req.err);
    if (r >= 0 && request_try_task(&run->req, run->id) == 0)
        return 1;
    r = run->req.err.code;
    bool unanswered = !run->req.client || !request_was_answered(&run->req);
    run->req.client = client_close(run->req.client);
    if (unanswered && (client_is_absent(r) || r == -ECONNRESET))
        return 0;
    return r == -ESHUTDOWN ? 0 : r;
}

/* Its own or its agent's breaker. */
static bool is_behind_breaker(const json_t *task) {
    return member_is(task, "gate", "breaker");
}

/* It waits for a person; a task held by a person is left alone. */
static bool needs_person(const struct run *run, const json_t *task) {
    return !cmd_has(run->call, "keep-waiting") && get_true(task, "needs_person")
           && !member_is(task, "hold", "person");
}

static const json_t *last_run(const json_t *task) {
    const json_t *last = NULL;
    EACH_ITEM(run, json_object_get(task, "runs")) {
        if (!last || get_int(run, "attempt", 0) > get_int(last, "attempt", 0))
            last = run;
    }
    return last;
}

/* --- Ctrl-C ---------------------------------------------------------------------------------- */

/* True: the daemon was asked to. `req` has the answer or the error. */
static bool cancel(const struct run *run, struct request *req) {
    if (daemon_connect(false, &req->client, &req->err) < 0) {
        req->client = NULL;
        return false;
    }
    (void)request_try_post(req, json_pack("{s:[s]}", "tasks", run->id), "/v1/tasks/cancel");
    return true;
}

/* True: exit. */
static bool interrupted(struct run *run) {
    struct signalfd_siginfo info;
    while (read(run->follow.signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        _cleanup_(request_finish) struct request req = { 0 };
        if (++run->interrupts > 1)
            continue;
        if (!cancel(run, &req))
            cmd_warn("%s; %s continues; press Ctrl-C again to detach", req.err.text, run->id);
        else if (req.err.code == 0)
            cmd_warn("canceling %s; press Ctrl-C again to detach", run->id);
        else
            cmd_warn("%s", req.err.text);
    }
    if (run->interrupts < 2)
        return false;
    cmd_warn("detached; 'sluice show %s' shows its state", run->id);
    return true;
}

/* --- the end --------------------------------------------------------------------------------- */

static int report_failure(const struct run *run, const json_t *task, const json_t *last) {
    const char *message = get_text(last, "message", NULL), *reason = get_text(task, "reason", NULL);
    const char *state = get_text(task, "state", "?");
    if (strcmp(state, "canceled") == 0)
        cmd_warn("%s was canceled", run->id);
    else if (message && *message)
        cmd_warn("%s: %s", run->id, message);
    else if (is_behind_breaker(task))
        cmd_warn("%s: %s", run->id, get_text(task, "why", "it cannot be launched"));
    else
        cmd_warn("%s %s%s%s", run->id, state, reason ? ": " : "", reason ? reason : "");
    return strcmp(state, "canceled") == 0 && run->interrupts > 0 ? INTERRUPTED : OWN_FAILURE;
}

/* The command's exit code, or a substitute. */
static int exit_code_of(const struct run *run, const json_t *task) {
    const json_t *last = last_run(task);
    const char *state = get_text(task, "state", "?"), *hold = get_text(task, "hold", "");
    int64_t code = get_int(last, "exit_code", -1), signal = get_int(last, "signal", 0);
    if (strcmp(state, "done") == 0)
        return 0;
    if (word_in(hold, "review external")) {
        cmd_warn("%s is held: %s", run->id, get_text(task, "why", hold));
        return code > 0 ? (int)code : 0;
    }
    if (needs_person(run, task)) {
        cmd_warn("%s needs a person and stays in the queue: %s", run->id,
                 get_text(task, "why", hold));
        return NEEDS_PERSON;
    }
    if (member_is(last, "how", "timeout"))
        cmd_warn("%s: %s", run->id, get_text(last, "message", "the run took too long"));
    if (signal > 0)
        return 128 + (int)signal;
    return code > 0 ? (int)code : report_failure(run, task, last);
}

/* --- the loop -------------------------------------------------------------------------------- */

/* Opens the next logs to show. False: none, and nothing more will come. */
static bool go_on(struct run *run, int *ret_result) {
    const json_t *task = run->req.answer;
    int64_t attempt = get_int(task, "attempt", 0);
    bool starting = member_is(task, "state", "starting");
    int64_t shown = run->follow.attempt;
    *ret_result = 0;
    if (shown < attempt - (starting ? 1 : 0)) {
        *ret_result = follow_attempt(&run->follow, (uint32_t)shown + 1, &run->err);
        return true;
    }
    /* Nothing more happens to it without a person. */
    return !member_is(task, "state", "done failed canceled invalidated")
           && !member_is(task, "hold", "review external") && !is_behind_breaker(task)
           && !needs_person(run, task);
}

static int stay(struct run *run) {
    int r = follow_connect(&run->follow, &run->err);
    bool news = true;
    if (client_is_absent(r))
        r = 0; /* it just stopped: follow_wait waits for the next */
    while (r >= 0) {
        if (news && !follow_has_logs(&run->follow)) {
            news = false;
            r = read_task(run);
            if (r < 0)
                return fail(&run->req.err);
            if (r > 0 && !go_on(run, &r))
                return CMD_OK;
            if (r < 0)
                break;
        }
        r = follow_wait(&run->follow, &run->err);
        if (r > 0 && (r & FOLLOW_SIGNAL) && interrupted(run))
            return INTERRUPTED;
        news |= r > 0 && (r & (FOLLOW_NEWS | FOLLOW_ENDED));
    }
    return fail(&run->err);
}

static void prepare_logs(struct run *run) {
    static const char *const names[] = { "out", "err" };
    FILE *files[] = { stdout, stderr };
    follow_init(&run->follow, run->id);
    run->follow.signal_fd = cmd_watch_interrupts();
    /* A pipe gets raw bytes, a terminal sanitized text; for an agent both get the transcript. */
    for (size_t i = 0; i < ARRAY_SIZE(names) && !run->call->json; i++)
        run->follow.logs[run->follow.log_count++] = (struct log_stream){
            .name = names[i],
            .to = files[i],
            .raw = cmd_has(run->call, "raw") || !terminal_is(files[i]),
            .text = !cmd_has(run->call, "raw"),
        };
}

static int cmd_run_run(const struct cmd_call *call) {
    _cleanup_(run_finish) struct run run = { .call = call, .follow.signal_fd = -1 };
    json_t *task = NULL;
    if (submit_has_lists(call))
        return cmd_usage_error(call->cmd,
                               "'run' follows one task; use 'sluice add' for lists of inputs "
                               "(:::). For a command that contains ::: itself, use sh -c");
    if (submit_task(call, &task, &run.err) < 0) {
        if (run.err.code == -EINVAL)
            return cmd_usage_error(call->cmd, "%s", run.err.text);
        return fail(&run.err);
    }
    int code = add(&run, task);
    if (code != CMD_OK)
        return code;
    prepare_logs(&run);
    code = stay(&run);
    if (code != CMD_OK)
        return code;
    code = exit_code_of(&run, run.req.answer);
    if (call->json)
        (void)request_print(&run.req);
    /* A command that cannot be launched is retried much later; do not wait for that. */
    _cleanup_(request_finish) struct request req = { 0 };
    if (is_behind_breaker(run.req.answer))
        (void)cancel(&run, &req);
    return code;
}

static const struct cmd_option run_options[] = {
#define SECTION(title)                               CMD_HEADING(title),
#define OPTION(member, name, letter, argument, text) { name, letter, argument, text, #member },
#include "taskfile/task_members.inc"
    CMD_HEADING("How it is followed"),
    { "group", 'g', "NAME", "add it to this group" },
    { "keep-waiting", 0, NULL,
      "keep waiting when the task needs a person: its agent must log in, or was denied" },
    { "raw", 0, NULL, "unchanged bytes: the agent's own events, terminal escapes" },
    { NULL },
};

const struct cmd cmd_run = { "run", .options = run_options, .max_args = CMD_ANY_ARGS,
                             .run = cmd_run_run };
