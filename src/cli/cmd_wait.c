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
    json_t *ids;    /* tasks of the current request */
    json_t *answer; /* all answers as one; NULL: none yet */
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
                "{s:O, s:b, s:b, s:I}", "tasks", w->ids, "any", cmd_has(w->call, "any"), "patient",
                cmd_has(w->call, "keep-waiting"), "timeout_s", (json_int_t)((span + 999) / 1000));
            if (request_try_post(&w->req, body, "/v1/wait") == 0) {
                w->lost.since = 0;
                return CMD_OK;
            }
            if (!is_lost(&w->req))
                return request_failed(&w->req);
            w->req.client = client_close(w->req.client);
        }
        if (daemon_lost_retry(&w->lost, "the tasks continue") >= w->deadline) {
            cmd_warn("timed out, and no daemon answers");
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
        print_line(out, get_text(task, "why", "see sluice why"), 0);
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
    if (get_true(w->answer, "timed_out"))
        return CMD_TIMED_OUT;
    EACH_ITEM(task, json_object_get(w->answer, "tasks")) {
        bool is_done = member_is(task, "state", "done");
        good += is_done;
        bad += get_true(task, "finished") && !is_done;
        person += get_true(task, "needs_person");
    }
    if (cmd_has(w->call, "any") ? good > 0 : bad + person == 0)
        return CMD_OK;
    return bad > 0 ? CMD_FAILED : CMD_NEEDS_PERSON;
}

/* The tasks of several requests as one answer. */
static void take_answer(struct waiting *w) {
    const json_t *answer = w->req.answer;
    if (!w->answer) {
        w->answer = json_deep_copy(answer);
        return;
    }
    int64_t waited = get_int(w->answer, "waited_ms", 0) + get_int(answer, "waited_ms", 0);
    bool timed_out = get_true(w->answer, "timed_out") || get_true(answer, "timed_out");
    json_array_extend(json_object_get(w->answer, "tasks"), json_object_get(answer, "tasks"));
    json_object_set_new(w->answer, "timed_out", json_boolean(timed_out));
    json_object_set_new(w->answer, "waited_ms", json_integer(waited));
}

/* Tasks of `ids` from `from` on, as many as a request can have. */
static int wait_for_some(struct waiting *w, const json_t *ids, size_t from) {
    int code;
    json_auto_t *some = json_array();
    for (size_t i = from; i < json_array_size(ids) && i - from < TASKS_MAX; i++)
        json_array_append(some, json_array_get(ids, i));
    w->ids = some;
    do
        code = wait_once(w);
    while (code == CMD_OK && get_true(w->req.answer, "timed_out")
           && clock_read_steady() < w->deadline);
    if (code == CMD_OK)
        take_answer(w);
    return code;
}

/* Waiting for all is waiting for one part after the other. */
static int wait_for_all(struct waiting *w, const json_t *ids) {
    int code = CMD_OK;
    for (size_t at = 0; code == CMD_OK && at < json_array_size(ids); at += TASKS_MAX)
        code = wait_for_some(w, ids, at);
    return code;
}

static int find_group(struct waiting *w, const char *group, json_t *ids) {
    json_auto_t *tasks = json_array();
    int code = request_group(&w->req, group, tasks);
    EACH_ITEM(task, tasks) {
        json_array_append(ids, json_object_get(task, "id"));
    }
    if (code == CMD_OK && cmd_has(w->call, "any") && json_array_size(ids) > TASKS_MAX)
        return cmd_usage_error(w->call->cmd,
                               "group '%s' has %zu tasks; with '--any' the maximum is %u", group,
                               json_array_size(ids), TASKS_MAX);
    if (code == CMD_OK && json_array_size(ids) == 0) {
        cmd_warn("group '%s' has no tasks", group);
        return CMD_FAILED;
    }
    return code;
}

static int check_call(const struct cmd_call *call) {
    const char *group = cmd_value(call, "group");
    if (group && call->arg_count > 0)
        return cmd_usage_error(call->cmd, "'%s' and '--group' cannot be used together",
                               call->args[0]);
    if (group)
        return request_check_name(call, group);
    if (call->arg_count == 0)
        return cmd_usage_error(call->cmd, "'wait' needs at least 1 argument, or --group NAME");
    if (call->arg_count > TASKS_MAX)
        return cmd_usage_error(call->cmd, "too many tasks; maximum is %u, got %zu", TASKS_MAX,
                               call->arg_count);
    return request_check_names(call, "an ID is empty");
}

static int print_answer(struct waiting *w) {
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    if (w->call->json)
        (void)output_json(json_incref(w->answer));
    else
        EACH_ITEM(task, json_object_get(w->answer, "tasks")) {
            print_one(task, &out);
        }
    return exit_code(w);
}

static int cmd_wait_run(const struct cmd_call *call) {
    int64_t seconds = -1;
    int code = cmd_seconds(call, "timeout", TIMEOUT_MAX, &seconds);
    if (code == CMD_OK)
        code = check_call(call);
    if (code != CMD_OK)
        return code;
    const char *group = cmd_value(call, "group");
    struct waiting w = { .call = call, .deadline = TIME_NEVER };
    json_auto_t *ids = request_args(call, 0, call->arg_count);
    if (seconds >= 0)
        w.deadline = time_add(clock_read_steady(), SECONDS(seconds));
    if (group)
        code = find_group(&w, group, ids);
    if (code == CMD_OK)
        code = wait_for_all(&w, ids);
    if (code == CMD_OK)
        code = print_answer(&w);
    json_decref(w.answer);
    request_finish(&w.req);
    return code;
}

const struct cmd cmd_wait = {
    "wait",
    .options = CMD_OPTIONS(
        { "group", 'g', "NAME", "the tasks that are in this group now" },
        { "any", 0, NULL, "wait until one of them has ended, instead of all" },
        { "keep-waiting", 0, NULL, "keep waiting for a task that needs a person" },
        { "timeout", 't', "S", "how long to wait (600, 10m); 0 only checks; default: forever" }),
    .max_args = CMD_ANY_ARGS, .run = cmd_wait_run
};
