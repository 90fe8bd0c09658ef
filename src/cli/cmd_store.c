/* cmd_store.c: where the history is kept: what is in a store, and how it comes into another one.
 *
 * The command line does not know the database: sluiced does the work, tells on stderr how far it is or why
 * not, and prints one JSON value. A daemon that has one of the stores open keeps everybody else out. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/daemon.h"
#include "cli/program.h"

/* CMD_OK and the answer, which the caller gives back, or the exit code: sluiced has said why. */
static int ask_sluiced(const char *const *argv, json_t **ret_answer) {
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf program = STRBUF_INIT, told = STRBUF_INIT;
    int status;
    if (daemon_find_program("sluiced", &program, &err) < 0
        || program_run(strbuf_text(&program), argv, PROGRAM_TAKE_OUTPUT, &told, &status, &err) < 0)
        return cmd_fail(&err);
    if (status == CMD_USAGE || status == CMD_REFUSED)
        return status;
    json_t *answer = status == 0 ? json_loadb(strbuf_text(&told), told.length, 0, NULL) : NULL;
    if (status == 0 && !answer)
        cmd_warn("'%s' has printed no result: is it of another version?", strbuf_text(&program));
    if (!answer)
        return CMD_FAILED;
    *ret_answer = answer;
    return CMD_OK;
}

/* As JSON, or as `print` writes it. */
static int ask_and_print(const struct cmd_call *call, const char *const *argv,
                         void (*print)(const json_t *answer, struct strbuf *out)) {
    json_t *answer = NULL;
    int code = ask_sluiced(argv, &answer);
    if (code != CMD_OK)
        return code;
    if (call->json)
        return ask_print_json(answer);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    print(answer, &out);
    output_rest(&out);
    json_decref(answer);
    return CMD_OK;
}

static int64_t rows_of(const json_t *answer, const char *table) {
    return ask_int(json_object_get(answer, "rows"), table, 0);
}

/* --- copy ------------------------------------------------------------------------------------------ */

static void print_copied(const json_t *answer, struct strbuf *out) {
    strbuf_printf(out,
                  "%s: %" PRId64 " tasks, %" PRId64 " runs, %" PRId64 " events; %" PRId64
                  " rows written in %.1f s, both compared: the same\nfrom  ",
                  ask_true(answer, "resumed") ? "copied to the end" : "copied",
                  rows_of(answer, "tasks"), rows_of(answer, "runs"), rows_of(answer, "events"),
                  ask_int(answer, "written", 0), (double)ask_int(answer, "took_ms", 0) / 1000);
    sanitize_line(ask_text(answer, "from", ""), out);
    strbuf_puts(out, "\nto    ");
    sanitize_line(ask_text(answer, "to", ""), out);
    strbuf_putc(out, '\n');
    if (ask_true(answer, "is_current"))
        return;
    strbuf_puts(out, "next  sluice config set store.url=");
    sanitize_line(ask_text(answer, "to", ""), out);
    strbuf_puts(out, " && sluice up\n");
}

static int copy_run(const struct cmd_call *call) {
    const char *const argv[] = { "sluiced", "--store-copy", call->args[0], call->args[1], NULL };
    return ask_and_print(call, argv, print_copied);
}

/* --- show ------------------------------------------------------------------------------------------ */

static void print_line(struct strbuf *out, const char *name, const char *text) {
    strbuf_printf(out, "%-12s ", name);
    sanitize_line(text, out);
    strbuf_putc(out, '\n');
}

static void print_count(struct strbuf *out, const char *name, int64_t count) {
    strbuf_printf(out, "%-12s %" PRId64 "\n", name, count);
}

static void print_head(const json_t *answer, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (json_object_get(answer, "store"))
        print_line(out, "store", ask_text(answer, "store", ""));
    strbuf_printf(&text, "%s%sversion %" PRId64, ask_text(answer, "backend", ""),
                  json_object_get(answer, "backend") ? ", " : "", ask_int(answer, "version", 0));
    print_line(out, "kind", strbuf_text(&text));
    int64_t bytes = ask_int(answer, "bytes", -1);
    if (bytes >= 0)
        strbuf_printf(out, "%-12s %.1f MB\n", "size", (double)bytes / 1e6);
    if (json_object_get(answer, "epoch"))
        print_count(out, "epoch", ask_int(answer, "epoch", 0));
    print_line(out, "left",
               ask_true(answer, "was_unclean") ? "not closed by its last daemon"
                                               : "closed properly");
}

static void print_shown(const json_t *answer, struct strbuf *out) {
    const json_t *rows = json_object_get(answer, "rows");
    if (!ask_true(answer, "there")) {
        strbuf_puts(out, "nothing is stored at '");
        sanitize_line(ask_text(answer, "store", "?"), out);
        strbuf_puts(out, "'\n");
        return;
    }
    print_head(answer, out);
    if (ask_true(answer, "unfinished_copy"))
        print_line(out, "copy", "not finished: 'sluice store copy' with the same words goes on");
    print_count(out, "tasks", ask_int(answer, "tasks", 0));
    if (!rows) {
        print_count(out, "last event", ask_int(answer, "last_event", 0));
        return;
    }
    print_count(out, "runs", rows_of(answer, "runs"));
    print_count(out, "  live", ask_int(answer, "live_runs", 0));
    print_count(out, "events", rows_of(answer, "events"));
    print_count(out, "last event", ask_int(answer, "last_event", 0));
    static const char *const others[] = { "projects", "groups", "agents", "limiters",
                                          "keys",     "usage",  "waits",  "notes" };
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        print_count(out, others[i], rows_of(answer, others[i]));
    print_count(out, "sums", rows_of(answer, "spent_hours") + rows_of(answer, "spent_days"));
}

static int show_run(const struct cmd_call *call) {
    const char *store = call->arg_count > 0 ? call->args[0] : "current";
    const char *const argv[] = { "sluiced", "--store-show", store, NULL };
    return ask_and_print(call, argv, print_shown);
}

/* --- the command ----------------------------------------------------------------------------------- */

static const struct cmd store_copy = { "store copy", .min_args = 2, .max_args = 2,
                                       .run = copy_run };
static const struct cmd store_show = { "store show", .max_args = 1, .run = show_run };
const struct cmd cmd_store = { "store", .subs = CMD_LIST(&store_copy, &store_show) };
