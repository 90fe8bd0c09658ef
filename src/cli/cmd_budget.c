/* cmd_budget.c: shows and raises a task's budgets. */
#include <inttypes.h>
#include <string.h>

#include "base/money.h"
#include "base/number.h"
#include "cli/print_task.h"
#include "cli/request.h"
#include "os/clock.h"

static void put_amount(struct strbuf *out, const json_t *part, const char *member, bool money) {
    const json_t *value = json_object_get(part, member);
    if (money && json_is_number(value))
        money_put(out, (int64_t)(json_number_value(value) * (double)MONEY_DOLLAR + 0.5));
    else if (money)
        strbuf_putc(out, '-');
    else
        strbuf_puts(out, print_count(json_is_integer(value) ? json_integer_value(value) : -1).text);
}

/* `is_least`: the used amount is a lower bound. */
static void add_row(struct rows *rows, const char *what, const json_t *part, bool money,
                    bool is_least, const char *note) {
    _cleanup_(strbuf_finish) struct strbuf used = STRBUF_INIT, budget = STRBUF_INIT;
    const json_t *amounts = json_object_get(part, money ? "usd" : "tokens");
    if (is_least && json_number_value(json_object_get(amounts, "used")) <= 0) {
        strbuf_puts(&used, "unknown");
    } else {
        strbuf_puts(&used, is_least ? "at least " : "");
        put_amount(&used, amounts, "used", money);
    }
    if (json_is_number(json_object_get(amounts, "budget")))
        put_amount(&budget, amounts, "budget", money);
    else
        strbuf_puts(&budget, "unlimited");
    rows_add(rows, (const char *[]){ what, money ? "usd" : "tokens", strbuf_text(&used),
                                     strbuf_text(&budget), note });
}

static void add_both(struct rows *rows, const char *what, const json_t *part, int64_t unknown) {
    _cleanup_(strbuf_finish) struct strbuf note = STRBUF_INIT;
    time_ms opens_at = get_int(part, "opens_at", 0);
    if (opens_at > 0)
        strbuf_printf(&note, "closed, opens %s", print_when(opens_at, clock_read()).text);
    add_row(rows, what, part, false, false, strbuf_text(&note));
    if (unknown > 0)
        strbuf_printf(&note, "%s%" PRId64 " run%s of unknown cost", note.length > 0 ? "; " : "",
                      unknown, unknown == 1 ? "" : "s");
    add_row(rows, what, part, true, unknown > 0, strbuf_text(&note));
}

static void print_budget(const json_t *task) {
    static const struct column columns[] = {
        { "OF" },   { "UNIT" }, { "USED", .right = true }, { "BUDGET", .right = true },
        { "NOTE" }, { NULL },
    };
    _cleanup_(rows_finish) struct rows rows = rows_new(columns);
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    const json_t *budget = json_object_get(task, "budget");
    const json_t *project = json_object_get(budget, "project"),
                 *all = json_object_get(budget, "all");
    const char *why = get_text(task, "why", NULL);
    cmd_put_line(&out, "%s %s; a run that exceeds its budget %s", get_text(task, "id", "?"),
                 print_state(task).text,
                 member_is(budget, "on_budget", "stop") ? "is stopped" : "continues to its end");
    add_both(&rows, "run", json_object_get(budget, "run"), 0);
    add_both(&rows, "task", json_object_get(budget, "task"),
             get_int(budget, "unknown_cost_runs", 0));
    add_both(&rows, "project", project, get_int(project, "unknown_cost_runs", 0));
    add_both(&rows, "all projects", all, get_int(all, "unknown_cost_runs", 0));
    rows_print(&rows, &out);
    if (why && member_is(task, "hold", "budget"))
        cmd_put_line(&out, "%s", why);
}

static int show(const struct cmd_call *call) {
    _cleanup_(request_finish) struct request req = { 0 };
    int code = request_named(&req, call, NULL, "/v1/tasks/", "");
    if (code != CMD_OK)
        return code;
    if (!call->json) {
        print_budget(req.answer);
        return CMD_OK;
    }
    json_t *budget = json_incref(json_object_get(req.answer, "budget"));
    json_object_set_new(budget, "id", json_incref(json_object_get(req.answer, "id")));
    return output_json(budget);
}

static json_t *parse_amount(bool money, const char *text) {
    int64_t number;
    if (money)
        return money_parse(text, &number, NULL) < 0
                   ? NULL
                   : json_real((double)number / (double)MONEY_DOLLAR);
    return number_parse_int(text, &number, NULL) < 0 ? NULL : json_integer(number);
}

/* Budgets go to `body`, corrections of a run's booked usage to `used`. */
static int take_amounts(const struct cmd_call *call, json_t *body, json_t *used) {
    for (size_t i = 0; i < call->given_count; i++) {
        const struct cmd_option *o = call->given[i].option;
        const char *text = call->given[i].value;
        if (!o->member)
            continue;
        bool is_budget = strncmp(o->name, "booked-", strlen("booked-")) != 0;
        bool money = strstr(o->name, "usd");
        json_t *value = is_budget && strcmp(text, "unlimited") == 0 ? json_string(text)
                                                                    : parse_amount(money, text);
        if (!value)
            return cmd_usage_error(call->cmd, "option '--%s': expected %s%s, got '%s'", o->name,
                                   money ? "dollars like 2.50" : "a whole number",
                                   is_budget ? " or unlimited" : "", text);
        json_object_set_new(is_budget ? body : used, o->member, value);
    }
    return CMD_OK;
}

static int cmd_budget_run(const struct cmd_call *call) {
    _cleanup_(request_finish) struct request req = { 0 };
    json_auto_t *body = json_object(), *used = json_object();
    int64_t attempt = 0;
    int code = request_check_name(call, call->args[0]);
    set_text(body, "on_budget", cmd_value(call, "on-budget"));
    if (code == CMD_OK)
        code = take_amounts(call, body, used);
    if (code == CMD_OK)
        code = cmd_number(call, "attempt", 1, UINT32_MAX, &attempt);
    if (code == CMD_OK && attempt > 0 && json_object_size(used) == 0)
        return cmd_usage_error(call->cmd,
                               "--attempt needs --booked-tokens or --booked-usd: what it has used");
    if (attempt > 0)
        json_object_set_new(used, "attempt", json_integer(attempt));
    bool changes = json_object_size(body) > 0, corrects = json_object_size(used) > 0;
    if (code == CMD_OK && corrects && changes)
        return cmd_usage_error(call->cmd,
                               "--booked-tokens and --booked-usd cannot be used together "
                               "with a change of the budget");
    if (code != CMD_OK || (!changes && !corrects))
        return code == CMD_OK ? show(call) : code;
    code = request_named(&req, call, json_incref(corrects ? used : body), "/v1/tasks/",
                         corrects ? "/usage" : "/budget");
    if (request_ended(call, &req, &code))
        return code;
    if (corrects)
        return cmd_print_line("%s attempt %" PRId64 " corrected", get_text(req.answer, "id", "?"),
                              get_int(req.answer, "attempt", 0));
    return cmd_print_line("%s budget changed: %s", get_text(req.answer, "id", "?"),
                          print_state(req.answer).text);
}

const struct cmd cmd_budget = {
    "budget", cmd_budget_run, 1, 1,
    CMD_OPTIONS(
        { "tokens", 't', "N", "maximum number of tokens of all its runs; unlimited", "tokens" },
        { "usd", 'u', "X", "maximum cost in dollars of all its runs; unlimited", "usd" },
        { "run-tokens", 0, "N", "maximum number of tokens of one of its runs; unlimited",
          "run_tokens" },
        { "run-usd", 0, "X", "maximum cost in dollars of one of its runs; unlimited", "run_usd" },
        { "on-budget", 0, "HOW",
          "a run that passes its budget: hold (it continues to its end) or stop" },
        { "booked-tokens", 0, "N", "correct the tokens that a run has booked", "tokens" },
        { "booked-usd", 0, "X", "correct the dollars that a run has booked", "cost_usd" },
        { "attempt", 0, "N", "the run to correct; the last ended run if not given" })
};
