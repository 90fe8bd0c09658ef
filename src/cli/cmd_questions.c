/* cmd_questions.c: a run asks a person, and the person answers.
 *
 * `ask` runs inside a run and never starts a daemon: a run must not become its parent. With --wait
 * the daemon delays its answer, for at most an hour, so a longer wait needs several requests. The
 * same question asked again is the same question, so a request can be repeated after a restart of
 * the daemon. It is repeated with the same key: if the answer was marked as used but never arrived,
 * the daemon sends it again. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/daemon.h"
#include "cli/request.h"
#include "os/clock.h"

#define DEADLINE_MAX (365 * 24 * 3600)
#define WAIT_MAX     (30 * 24 * 3600)
#define REQUEST_MAX  MINUTES(60)
#define ANSWER_GRACE SECONDS(60) /* how late an answer may be */
#define RESTART_TIME SECONDS(30) /* a daemon that was killed is started again */

/* --- ask ------------------------------------------------------------------------------------- */

struct asking {
    const struct cmd_call *call;
    struct request req;
    json_t *body;
    time_ms deadline;          /* steady clock: when it stops waiting; 0: does not wait */
    time_ms span;              /* how long the current request waits */
    char key[CLIENT_KEY_SIZE]; /* of the current request; "": the next one is a new one */
    time_ms lost_at;           /* when it stops waiting for a daemon */
    struct daemon_lost lost;
};

static int take_choices(const struct cmd_call *call, json_t *body) {
    const char *choice;
    json_t *choices = json_array();
    for (size_t i = 0; (choice = cmd_value_at(call, "choice", i)); i++)
        json_array_append_new(choices, json_text(choice));
    if (json_array_size(choices) > 0)
        json_object_set(body, "choices", choices);
    json_decref(choices);
    return CMD_OK;
}

static int make_body(const struct cmd_call *call, json_t *body, int64_t *ret_wait) {
    int64_t deadline = 0;
    if (call->args[0][strspn(call->args[0], " \t\r\n")] == '\0')
        return cmd_usage_error(call->cmd, "the question is empty");
    int code = cmd_seconds(call, "deadline", DEADLINE_MAX, &deadline);
    if (code == CMD_OK)
        code = cmd_seconds(call, "wait", WAIT_MAX, ret_wait);
    if (code != CMD_OK)
        return code;
    if (cmd_has(call, "default") && !cmd_has(call, "deadline"))
        return cmd_usage_error(call->cmd, "'--default' needs '--deadline', after which it is used");
    if (cmd_has(call, "deadline") && deadline == 0)
        return cmd_usage_error(call->cmd, "option '--deadline': expected at least 1 s");
    json_object_set_new(body, "question", json_text(call->args[0]));
    if (cmd_has(call, "default"))
        json_object_set_new(body, "default", json_text(cmd_value(call, "default")));
    if (deadline > 0)
        json_object_set_new(body, "deadline_s", json_integer(deadline));
    return take_choices(call, body);
}

/* The attempt is behind the last dot of SLUICE_RUN ("web-17.2"). */
static int check_run(const struct cmd_call *call, json_t *body) {
    static const char *const names[] = { "SLUICE_TASK", "SLUICE_RUN", "SLUICE_SOCKET" };
    int64_t attempt;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (!cmd_env(names[i]))
            return cmd_usage_error(call->cmd, "not inside a run: %s is not set", names[i]);
    const char *point = strrchr(cmd_env("SLUICE_RUN"), '.');
    if (point && number_parse_int(point + 1, &attempt, NULL) == 0 && attempt > 0)
        json_object_set_new(body, "attempt", json_integer(attempt));
    return CMD_OK;
}

/* One request. 0, or as request_try_post. */
static int post_question(struct asking *a) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    request_path(&path, "/v1/tasks/", cmd_env("SLUICE_TASK"), "/question");
    if (!a->req.client) {
        int r = client_open(cmd_env("SLUICE_SOCKET"), NULL, &a->req.client, &a->req.err);
        if (r < 0)
            return r;
    }
    if (!a->key[0]) { /* a request that is repeated must not change */
        client_make_key(a->key);
        a->span = time_min(REQUEST_MAX, time_max(0, a->deadline - clock_read_steady()));
    }
    client_set_key(a->req.client, a->key);
    json_t *body = json_copy(a->body);
    if (a->deadline > 0) {
        client_set_timeout(a->req.client, a->span + ANSWER_GRACE);
        json_object_set_new(body, "wait_s", json_integer((json_int_t)((a->span + 999) / 1000)));
    }
    return request_try_post(&a->req, body, strbuf_text(&path));
}

static bool is_lost(const struct request *req) {
    int code = req->err.code;
    return !request_was_answered(req)
               ? client_is_absent(code) || code == -ECONNRESET || code == -EPIPE
               : code == -ESHUTDOWN || code == -ECONNREFUSED;
}

/* A call that waits outlives the daemon. Any other one only outlives a restart: a longer wait would leave the agent
 * waiting. */
static int ask(struct asking *a) {
    for (;;) {
        if (post_question(a) == 0) {
            a->lost.since = 0;
            a->key[0] = '\0';
            bool is_open = member_is(a->req.answer, "state", "open");
            if (!is_open || clock_read_steady() >= a->deadline)
                return CMD_OK;
            continue;
        }
        if (!is_lost(&a->req))
            return request_failed(&a->req);
        if (daemon_lost_retry(&a->lost, a->deadline ? "the question stays open" : NULL)
            >= a->lost_at) {
            cmd_warn("%s", a->req.err.text);
            return CMD_NO_DAEMON;
        }
        a->req.client = client_close(a->req.client);
        (void)poll(NULL, 0, DAEMON_RETRY_MS);
    }
}

static void print_lines(const char *text, struct strbuf *out) {
    struct sanitizer s = SANITIZER_INIT;
    sanitizer_feed(&s, text, strlen(text), out);
    sanitizer_finish(&s, out);
    strbuf_putc(out, '\n');
}

static int cmd_ask_run(const struct cmd_call *call) {
    json_auto_t *body = json_object();
    int64_t wait = 0;
    int code = make_body(call, body, &wait);
    if (code == CMD_OK)
        code = check_run(call, body);
    if (code != CMD_OK)
        return code;
    struct asking a = { .call = call, .body = body };
    if (wait > 0)
        a.deadline = time_add(clock_read_steady(), SECONDS(wait));
    a.lost_at = wait > 0 ? a.deadline : time_add(clock_read_steady(), RESTART_TIME);
    code = ask(&a);
    if (code == CMD_OK && call->json)
        (void)request_print(&a.req);
    else if (code == CMD_OK) {
        _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
        print_lines(get_text(a.req.answer, "text", ""), &out);
    }
    if (code == CMD_OK && wait > 0 && !get_text(a.req.answer, "answer", NULL))
        code = CMD_TIMED_OUT;
    request_finish(&a.req);
    return code;
}

const struct cmd cmd_ask = {
    "ask",
    .options = CMD_OPTIONS(
        { "choice", 'c', "TEXT", "an allowed answer; repeatable; default: any text" },
        { "default", 'd', "TEXT", "the answer to use if there is none before the deadline" },
        { "deadline", 0, "SPAN",
          "when the default is used (30m, 8h); without a default the task fails then" },
        { "wait", 'w', "SPAN", "wait this long for the answer, and print it" }),
    .min_args = 1, .max_args = 1, .run = cmd_ask_run
};

/* --- answer ---------------------------------------------------------------------------------- */

static int answer_body(const struct cmd_call *call, json_t *body) {
    if (call->args[1][strspn(call->args[1], " \t\r\n")] == '\0')
        return cmd_usage_error(call->cmd, "the answer is empty");
    json_object_set_new(body, "text", json_text(call->args[1]));
    return CMD_OK;
}

static void print_answered(const struct cmd_call *call, const json_t *answer, struct strbuf *out) {
    (void)call;
    cmd_put_line(out, "%s answered", get_text(answer, "task", "?"));
}

const struct cmd cmd_answer = { "answer",
                                REQUEST_COMMAND("/v1/tasks/", "/answer", .is_post = true,
                                                .body = answer_body, .print = print_answered),
                                .min_args = 2, .max_args = 2 };
