/* cmd_best.c: compares the candidates of a task that was added with --best-of, and picks one. */
#include <inttypes.h>
#include <string.h>

#include "cli/diff_view.h"
#include "cli/print_task.h"
#include "cli/request.h"

#define MERGE_TIME HOURS(1) /* as `merge`: its checks may run again */

/* --- the table ------------------------------------------------------------------------------- */

static void put_state(struct strbuf *out, const json_t *item, time_ms now) {
    (void)now;
    strbuf_puts(out, print_state(item).text);
    if (get_true(item, "picked"))
        strbuf_puts(out, " (picked)");
}

static void put_tokens(struct strbuf *out, const json_t *item, time_ms now) {
    (void)now;
    strbuf_puts(out, print_short(get_int(item, "tokens", -1)).text);
}

static void put_cost(struct strbuf *out, const json_t *item, time_ms now) {
    (void)now;
    if (json_is_number(json_object_get(item, "usd"))) /* else its agent does not report it */
        strbuf_puts(out, print_usd(get_real(item, "usd", 0)).text);
}

static void put_changes(struct strbuf *out, const json_t *item, time_ms now) {
    (void)now;
    int64_t files = get_int(item, "files", -1);
    if (files >= 0)
        strbuf_printf(out, "%" PRId64 " file%s, +%" PRId64 " -%" PRId64, files,
                      files == 1 ? "" : "s", get_int(item, "insertions", 0),
                      get_int(item, "deletions", 0));
}

static const struct column columns[] = {
    { "CANDIDATE", "id" },
    { "AGENT", "agent" },
    { "STATE", .put = put_state },
    { "CHECKS", "checks" },
    { "TOKENS", .put = put_tokens, .right = true },
    { "COST", .put = put_cost, .right = true },
    { "CHANGES", .put = put_changes },
    { "MESSAGE", "message" },
    { .title = NULL },
};

static void put_candidates(const json_t *best_of, struct strbuf *out) {
    const json_t *all = json_object_get(best_of, "candidates");
    _cleanup_(rows_finish) struct rows rows = rows_new(columns);
    EACH_ITEM(candidate, all) {
        rows_add_item(&rows, candidate, 0);
    }
    rows_print(&rows, out);
    cmd_put_line(out, "total: %s tokens, %s", print_short(get_int(best_of, "tokens", 0)).text,
                 print_usd(get_real(best_of, "usd", 0)).text);
}

static void put_pick(const json_t *best_of, struct strbuf *out) {
    const char *picked = get_text(best_of, "picked", NULL), *by = get_text(best_of, "by", NULL);
    const char *why = get_text(best_of, "reason", NULL);
    const char *refused = get_text(best_of, "refused", NULL);
    if (picked)
        cmd_put_line(out, "picked: %s%s%s%s%s", picked, by ? ", by " : "", by ? by : "",
                     why ? ": " : "", why ? why : "");
    if (refused)
        cmd_put_line(out, "the last pick could not be merged: %s", refused);
}

/* --- best ------------------------------------------------------------------------------------ */

static int put_diff(struct request *req, const char *id, struct strbuf *out) {
    int r = request_try_named(req, "/v1/tasks/", id, "/diff");
    strbuf_putc(out, '\n');
    cmd_put_line(out, "%s:", id);
    if (r < 0)
        cmd_put_line(out, "%s", req->err.text);
    else
        print_patch(get_text(req->answer, "patch", ""), out);
    return r < 0 && !request_was_answered(req) ? request_failed(req) : CMD_OK;
}

static int put_diffs(struct request *req, const json_t *best_of, struct strbuf *out) {
    const json_t *all = json_object_get(best_of, "candidates");
    int code = CMD_OK;
    EACH_ITEM(candidate, all) {
        if (code == CMD_OK && get_true(candidate, "has_diff"))
            code = put_diff(req, get_text(candidate, "id", ""), out);
    }
    return code;
}

static int cmd_best_run(const struct cmd_call *call) {
    _cleanup_(request_finish) struct request req = { 0 };
    int code = request_named(&req, call, NULL, "/v1/tasks/", "/candidates");
    if (code != CMD_OK || call->json)
        return code == CMD_OK ? request_print(&req) : code;
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    json_auto_t *best_of = json_incref(req.answer);
    put_candidates(best_of, &out);
    put_pick(best_of, &out);
    return cmd_has(call, "diff") ? put_diffs(&req, best_of, &out) : CMD_OK;
}

const struct cmd cmd_best = { "best",
                              .options = CMD_OPTIONS(
                                  { "diff", 'd', NULL, "also show the changes of each candidate" }),
                              .min_args = 1, .max_args = 1, .run = cmd_best_run };

/* --- pick ------------------------------------------------------------------------------------ */

static int pick_body(const struct cmd_call *call, json_t *body) {
    if (*call->args[1] == '\0')
        return cmd_usage_error(call->cmd, "the candidate is empty");
    json_object_set_new(body, "candidate", json_text(call->args[1]));
    return CMD_OK;
}

static void print_picked(const struct cmd_call *call, const json_t *answer, struct strbuf *out) {
    (void)call;
    cmd_put_line(out, "%s picked for %s", get_text(answer, "picked", "?"),
                 get_text(answer, "task", "?"));
}

const struct cmd cmd_pick = {
    "pick",
    REQUEST_COMMAND("/v1/tasks/", "/pick", .is_post = true, .mode = REQUEST_RUNNING,
                    .timeout = MERGE_TIME, .body = pick_body, .print = print_picked),
    .options = CMD_OPTIONS(
        { "reason", 'r', "TEXT", "the reason, for events and 'sluice show'", .member = "reason" }),
    .min_args = 2, .max_args = 2
};
