/* cmd_report.c: reports from inside a run.
 *
 * The environment identifies the run. A run outlives the daemon: without one, the DONE marker is
 * created here for the next daemon; the numbers are lost, and the exit code shows it. This command
 * never starts a daemon: a run must not become its parent. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "cli/request.h"
#include "os/outside.h"

#define TOKENS_MAX  1000000000000
#define SECONDS_MAX 31536000
#define COST_MAX    1000000.0

/* Digits with at most one point: no sign, exponent or locale. */
static int add_cost(const struct cmd_call *call, json_t *body) {
    const char *text = cmd_value(call, "cost");
    if (!text)
        return CMD_OK;
    text += *text == '$';
    const char *point = strchr(text, '.');
    bool good = strspn(text, "0123456789.") == strlen(text) && strcmp(text, ".") != 0
                && (!point || !strchr(point + 1, '.')) && *text && strlen(text) <= 32;
    double value = good ? strtod(text, NULL) : -1;
    if (!good || value > COST_MAX)
        return cmd_usage_error(call->cmd,
                               "option '--cost': expected dollars such as 0.42, at most %.0f, got "
                               "'%s'",
                               COST_MAX, text);
    json_object_set_new(body, "cost_usd", json_real(value));
    return CMD_OK;
}

static int make_body(const struct cmd_call *call, json_t *body) {
    int64_t seconds = 0, tokens = 0;
    request_take_members(call, body);
    for (const struct cmd_option *o = call->cmd->options; o->name; o++) {
        if (!o->member || !o->argument || !cmd_has(call, o->name))
            continue;
        int code = cmd_number(call, o->name, 0, TOKENS_MAX, &tokens);
        if (code != CMD_OK)
            return code;
        json_object_set_new(body, o->member, json_integer(tokens));
    }
    int code = cmd_seconds(call, "rate-limited", SECONDS_MAX, &seconds);
    if (code == CMD_OK && cmd_has(call, "rate-limited"))
        json_object_set_new(body, "rate_limited_s", json_integer(seconds));
    if (code == CMD_OK)
        code = add_cost(call, body);
    if (code != CMD_OK)
        return code;
    if (cmd_has(call, "tokens") && cmd_has(call, "tokens-out"))
        return cmd_usage_error(
            call->cmd, "'--tokens' is the total: give it, or '--tokens-in' and '--tokens-out'");
    return json_object_size(body) > 0
               ? CMD_OK
               : cmd_usage_error(call->cmd, "nothing to report: give at least one option");
}

/* The task, and the attempt after the last dot of SLUICE_RUN ("web-17.2"), so that a report of an
 * old attempt is recognized. */
static int add_who(const struct cmd_call *call, json_t *body) {
    const char *task = cmd_env("SLUICE_TASK"), *run = cmd_env("SLUICE_RUN");
    if (!task || !run || !cmd_env("SLUICE_SOCKET"))
        return cmd_usage_error(call->cmd, "not inside a run: %s is not set",
                               !task  ? "SLUICE_TASK"
                               : !run ? "SLUICE_RUN"
                                      : "SLUICE_SOCKET");
    json_object_set_new(body, "task", json_text(task));
    const char *point = strrchr(run, '.');
    int64_t attempt;
    if (point && number_parse_int(point + 1, &attempt, NULL) == 0 && attempt > 0)
        json_object_set_new(body, "attempt", json_integer(attempt));
    return CMD_OK;
}

static bool mark_done(void) {
    const char *path = cmd_env("SLUICE_DONE");
    int fd =
        path ? outside_open(AT_FDCWD, path,
                            O_WRONLY | O_CREAT | OUTSIDE_PARENT_LINKS | OUTSIDE_SHARED, NULL, NULL)
             : -1;
    if (fd < 0)
        return false;
    (void)close(fd);
    return true;
}

/* Without a daemon, only a report with nothing but --done is complete. */
static int report_alone(const struct cmd_call *call, const json_t *body, const struct error *err) {
    bool marked = cmd_has(call, "done") && mark_done();
    size_t who = json_object_get(body, "attempt") ? 2 : 1;
    if (marked && json_object_size(body) == who + 1) {
        cmd_warn("no daemon is running: created the DONE marker, which the next one will find");
        return CMD_OK;
    }
    cmd_warn("%s%s", err->text,
             marked ? "; the DONE marker was created, but the numbers are lost" : "");
    return CMD_NO_DAEMON;
}

static int cmd_report_run(const struct cmd_call *call) {
    json_auto_t *body = json_object();
    int code = make_body(call, body);
    if (code == CMD_OK)
        code = add_who(call, body);
    if (code != CMD_OK)
        return code;
    _cleanup_(request_finish) struct request req = { 0 };
    int r = client_open(getenv("SLUICE_SOCKET"), NULL, &req.client, &req.err);
    if (r >= 0)
        r = request_try_post(&req, json_incref(body), "/v1/report") == 0 ? 0 : req.err.code;
    if (r < 0 && client_is_absent(r) && !request_was_answered(&req))
        return report_alone(call, body, &req.err);
    if (r < 0)
        return request_failed(&req);
    const char *refused = get_text(req.answer, "refused", NULL);
    if (refused)
        cmd_warn("%s", refused);
    code = call->json ? request_print(&req) : CMD_OK;
    return refused ? CMD_REFUSED : code;
}

const struct cmd cmd_report = {
    "report", cmd_report_run, 0, 0,
    CMD_OPTIONS({ "tokens", 't', "N", "tokens used so far, input and output together", "tokens" },
                { "tokens-in", 0, "N", "input tokens so far", "tokens_in" },
                { "tokens-out", 0, "N", "output tokens so far", "tokens_out" },
                { "cost", 'c', "USD", "cost so far, in dollars" },
                { "done", 'd', NULL, "the task is finished: create its DONE marker", "done" },
                { "rate-limited", 0, "SECS",
                  "the account is rate limited; how long to wait (300, 5m), 0 if unknown" })
};
