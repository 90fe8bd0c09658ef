/* cmd_wait.c: waits until tasks have ended, and prints the results.
 *
 * The daemon delays its answer until then, for at most an hour, so a longer wait needs several
 * requests. If the daemon stops, the request is repeated when it is back, because runs continue
 * without it. Inside a run, waiting lends the run's slots to its children. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "cli/daemon.h"
#include "cli/print_task.h"
#include "cli/request.h"
#include "os/clock.h"

#define TASKS_MAX    256u
#define QUESTION_MAX MINUTES(60)
#define ANSWER_GRACE SECONDS(60) /* how late an answer may be */
#define TIMEOUT_MAX  (365 * 24 * 3600)

struct waiting {
    const struct cmd_call *call;
    struct request req;
    time_ms deadline; /* steady clock; TIME_NEVER: none */
    struct daemon_lost lost;
};

/* Is there no daemon, or no longer? */
static bool is_lost(const struct request *req) {
    int code = req->err.code;
    return !request_was_answered(req)
               ? client_is_absent(code) || code == -ECONNRESET || code == -EPIPE
               : code == -ESHUTDOWN || code == -ECONNREFUSED; /* only standbys */
}

/* One request, repeated after a daemon restart. */
static int wait_once(struct waiting *w) {
    for (;;) {
        time_ms left = w->deadline == TIME_NEVER ? QUESTION_MAX : w->deadline - clock_read_steady();
        time_ms span = time_min(QUESTION_MAX, time_max(0, left));
        int code = request_open(&w->req, w->lost.since ? REQUEST_TRY : REQUEST_RUNNING);
        if (code != CMD_OK && (code != CMD_NO_DAEMON || !w->lost.since))
            return code; /* already reported: no daemon at the start */
        if (code == CMD_OK) {
            client_set_timeout(w->req.client, span + ANSWER_GRACE);
            json_t *body = json_pack(
                "{s:o, s:b, s:b, s:I}", "tasks", request_args(w->call, 0, w->call->arg_count),
                "any", cmd_has(w->call, "any"), "patient", cmd_has(w->call, "keep-waiting"),
                "timeout_s", (json_int_t)((span + 999) / 1000));
            if (request_try_post(&w->req, body, "/v1/wait") == 0) {
                w->lost.since = 0;
                return CMD_OK;
            }
            if (!is_lost(&w->req))
                return request_failed(&w->req);
            w->req.client = client_close(w->req.client);
        }
        if (daemon_lost_retry(&w->lost, "the tasks go on") >= w->deadline) {
            cmd_warn("the time is over, and no daemon answers");
            return CMD_NO_DAEMON;
        }
        (void)poll(NULL, 0, DAEMON_RETRY_MS);
    }
}

/* --- the answer ------------------------------------------------------------------------------ */

static void print_one(const json_t *task, struct strbuf *out) {
    const json_t *run = json_object_get(task, "run");
    const char *state = get_text(task, "state", "?"), *message = get_text(run, "message", NULL);
    int64_t code = get_int(run, "exit_code", -1), signal = get_int(run, "signal", 0);
    print_line(out, get_text(task, "id", "?"), 0);
    strbuf_printf(out, " is %s", state);
    if (get_true(task, "needs_person")) {
        strbuf_puts(out, ": it needs a person: ");
        print_line(out, get_text(task, "why", "sluice why says what for"), 0);
    } else if (strcmp(state, "failed") == 0 && signal > 0)
        strbuf_printf(out, ": signal %lld", (long long)signal);
    else if (strcmp(state, "failed") == 0 && message)
        strbuf_printf(out, ": %s", message);
    else if (strcmp(state, "failed") == 0 && code > 0)
        strbuf_printf(out, ": exit code %lld", (long long)code);
    strbuf_putc(out, '\n');
}

/* With --any only ended tasks count, and one success is enough. */
static int exit_code(const struct waiting *w) {
    size_t good = 0, bad = 0, person = 0;
    if (get_true(w->req.answer, "timed_out"))
        return CMD_TIMED_OUT;
    EACH_ITEM(task, json_object_get(w->req.answer, "tasks")) {
        bool is_done = member_is(task, "state", "done");
        good += is_done;
        bad += get_true(task, "finished") && !is_done;
        person += get_true(task, "needs_person");
    }
    if (cmd_has(w->call, "any") ? good > 0 : bad + person == 0)
        return CMD_OK;
    return bad > 0 ? CMD_FAILED : CMD_NEEDS_PERSON;
}

static int cmd_wait_run(const struct cmd_call *call) {
    int64_t seconds = -1;
    int code = cmd_seconds(call, "timeout", TIMEOUT_MAX, &seconds);
    if (code != CMD_OK)
        return code;
    if (call->arg_count > TASKS_MAX)
        return cmd_usage_error(call->cmd, "%u tasks at the most, got %zu", TASKS_MAX,
                               call->arg_count);
    code = request_check_names(call, "an ID is empty");
    if (code != CMD_OK)
        return code;
    struct waiting w = { .call = call, .deadline = TIME_NEVER };
    if (seconds >= 0)
        w.deadline = time_add(clock_read_steady(), SECONDS(seconds));
    do
        code = wait_once(&w);
    while (code == CMD_OK && get_true(w.req.answer, "timed_out")
           && clock_read_steady() < w.deadline);
    if (code == CMD_OK) {
        _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
        if (call->json)
            (void)request_print(&w.req);
        else
            EACH_ITEM(task, json_object_get(w.req.answer, "tasks")) {
                print_one(task, &out);
            }
        code = exit_code(&w);
    }
    request_finish(&w.req);
    return code;
}

const struct cmd cmd_wait = {
    "wait",
    .options = CMD_OPTIONS(
        { "any", 0, NULL, "until one of them has ended, instead of all" },
        { "keep-waiting", 0, NULL, "go on waiting for a task that needs a person" },
        { "timeout", 't', "S", "how long to wait (600, 10m); 0 only looks; without it: for ever" }),
    .min_args = 1, .max_args = CMD_ANY_ARGS, .run = cmd_wait_run
};
