/* cmd_store.c: backup, restore, snapshot, and copies of the store.
 *
 * This program does not open the database. The daemon writes backups and snapshots; `sluiced`
 * restores, copies and describes stores, and refuses while a daemon has the store open. */
#include <errno.h>
#include <inttypes.h>

#include "cli/daemon.h"
#include "cli/request.h"
#include "os/files.h"

#define BACKUP_TIMEOUT HOURS(1) /* many gigabytes on a slow disk */

static int add_backup_path(const struct cmd_call *call, json_t *body) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct error err = { 0 };
    if (cmd_absolute_path(call->args[0], &path, &err) < 0)
        return cmd_error(&err);
    set_text(body, "path", strbuf_text(&path));
    return CMD_OK;
}

static void print_backup(const struct cmd_call *call, const json_t *answer, struct strbuf *out) {
    cmd_put_line(out, "%s written: %" PRId64 " bytes in %" PRId64 " ms",
                 get_text(answer, "path", call->args[0]), get_int(answer, "bytes", 0),
                 get_int(answer, "took_ms", 0));
}

/* Adds a schedule. */
static int schedule_backup(const struct cmd_call *call) {
    static const char *const settings[][2] = { { "every", "every" }, { "keep", "keep" }, { NULL } };
    _cleanup_(request_finish) struct request req = { 0 };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    json_auto_t *body = json_object();
    const char *name = cmd_value(call, "name") ? cmd_value(call, "name") : "backup";
    struct error err = { 0 };
    if (cmd_absolute_path(call->args[0], &path, &err) < 0)
        return cmd_error(&err);
    set_text(body, "name", name);
    set_text(body, "backup", strbuf_text(&path));
    request_take_options(call, settings, body);
    int code = request_check_name(call, name);
    if (code == CMD_OK)
        code = request_post(&req, json_incref(body), "/v1/schedules");
    if (request_ended(call, &req, &code))
        return code;
    return cmd_print_line("schedule %s added: every %s to %s, %" PRId64 " are kept", name,
                          cmd_value(call, "every"), strbuf_text(&path),
                          get_int(req.answer, "keep", 0));
}

static const struct request_command backup_now = {
    "/v1/backup",          .is_post = true, .timeout = BACKUP_TIMEOUT, .body = add_backup_path,
    .print = print_backup,
};

static int backup_run(const struct cmd_call *call) {
    if (cmd_has(call, "every"))
        return schedule_backup(call);
    if (cmd_has(call, "keep") || cmd_has(call, "name"))
        return cmd_usage_error(call->cmd, "option '--%s' needs --every",
                               cmd_has(call, "keep") ? "keep" : "name");
    return request_run(call);
}

const struct cmd cmd_backup = {
    "backup",
    backup_run,
    1,
    1,
    .data = &backup_now,
    .options =
        CMD_OPTIONS({ "every", 0, "SPAN", "write a backup to this directory regularly: 1d, 6h" },
                    { "keep", 0, "N", "with --every: number of backups to keep; default 7" },
                    { "name", 0, "NAME", "with --every: name of the schedule; default backup" }),
};

static int cmd_restore_run(const struct cmd_call *call) {
    if (!cmd_has(call, "yes"))
        return cmd_usage_error(
            call->cmd, "'restore' replaces all tasks with those of the backup: confirm with --yes");
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, out = STRBUF_INIT;
    FILE *file;
    if (cmd_absolute_path(call->args[0], &path, &err) < 0
        || file_open(strbuf_text(&path), &file, &err) < 0)
        return cmd_error(&err);
    file_close(file);
    _cleanup_(request_finish) struct request req = { 0 };
    int status, code = request_open(&req, REQUEST_TRY);
    if (code == CMD_OK) {
        cmd_warn("a daemon is running: stop it with 'sluice down' (its runs continue)");
        return CMD_REFUSED;
    }
    if (code != CMD_NO_DAEMON)
        return code;
    const char *const argv[] = { "sluiced", "--restore", strbuf_text(&path), NULL };
    enum program_take take = call->json ? PROGRAM_TAKE_OUTPUT : PROGRAM_TAKE_NOTHING;
    if (daemon_run_program(argv, take, &out, &status, &err) < 0)
        return cmd_fail(&err);
    if (status != 0) /* it has printed why; CMD_REFUSED if another daemon uses the home */
        return status == CMD_REFUSED ? CMD_REFUSED : CMD_FAILED;
    if (call->json) /* otherwise sluiced has printed it */
        return output_json(json_pack("{s:o}", "restored", json_text(strbuf_text(&path))));
    return CMD_OK;
}

const struct cmd cmd_restore = { "restore", cmd_restore_run, 1, 1,
                                 CMD_OPTIONS({ "yes", 'y', NULL,
                                               "confirm that the current state is replaced" }) };

static int take_bytes(void *ctx, const char *bytes, size_t size) {
    strbuf_add(ctx, bytes, size);
    output_some(ctx);
    return 0;
}

static int cmd_snapshot_run(const struct cmd_call *call) {
    _cleanup_(request_finish) struct request req = { 0 };
    int code = request_open(&req, REQUEST_RUNNING);
    if (code != CMD_OK)
        return code;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    int status = client_stream_bytes(
        req.client, cmd_has(call, "anonymous") ? "/v1/snapshot?anonymous=true" : "/v1/snapshot",
        take_bytes, &out, &req.err);
    if (status != 200) {
        if (req.err.code >= 0)
            error_set(&req.err, -EIO, "the daemon answered with status %d", status);
        return request_failed(&req);
    }
    output_rest(&out);
    return CMD_OK;
}

const struct cmd cmd_snapshot = { "snapshot", cmd_snapshot_run, 0, 0,
                                  CMD_OPTIONS({ "anonymous", 'a', NULL,
                                                "replace names and ids with neutral ones" }) };

/* Prints sluiced's answer as JSON, or with `print`. */
static int run_sluiced(const struct cmd_call *call, const char *const *argv,
                       void (*print)(const json_t *answer, struct strbuf *out)) {
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf program = STRBUF_INIT, text = STRBUF_INIT;
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    int status;
    if (daemon_find_program("sluiced", &program, &err) < 0
        || program_run(strbuf_text(&program), argv, PROGRAM_TAKE_OUTPUT, &text, &status, &err) < 0)
        return cmd_fail(&err);
    if (status != 0) /* it has printed why */
        return status == CMD_USAGE || status == CMD_REFUSED ? status : CMD_FAILED;
    json_t *answer = json_loadb(strbuf_text(&text), text.length, 0, NULL);
    if (!answer) {
        cmd_warn("'%s' printed no result: is it another version?", strbuf_text(&program));
        return CMD_FAILED;
    }
    if (call->json)
        return output_json(answer);
    print(answer, &out);
    json_decref(answer);
    return CMD_OK;
}

static int64_t rows_of(const json_t *answer, const char *table) {
    return get_int(json_object_get(answer, "rows"), table, 0);
}

static void print_copied(const json_t *answer, struct strbuf *out) {
    cmd_put_line(out,
                 "%s: %" PRId64 " tasks, %" PRId64 " runs, %" PRId64 " events; %" PRId64
                 " rows written in %.1f s, verified",
                 get_true(answer, "resumed") ? "copied to the end" : "copied",
                 rows_of(answer, "tasks"), rows_of(answer, "runs"), rows_of(answer, "events"),
                 get_int(answer, "written", 0), (double)get_int(answer, "took_ms", 0) / 1000);
    cmd_put_line(out, "from  %s", get_text(answer, "from", ""));
    cmd_put_line(out, "to    %s", get_text(answer, "to", ""));
    if (!get_true(answer, "is_current"))
        cmd_put_line(out, "next  sluice config set store.url=%s && sluice up",
                     get_text(answer, "to", ""));
}

static int copy_run(const struct cmd_call *call) {
    const char *const argv[] = { "sluiced", "--store-copy", call->args[0], call->args[1], NULL };
    return run_sluiced(call, argv, print_copied);
}

static void print_count(struct strbuf *out, const char *name, int64_t count) {
    strbuf_printf(out, "%-12s %" PRId64 "\n", name, count);
}

static void print_shown(const json_t *answer, struct strbuf *out) {
    const json_t *rows = json_object_get(answer, "rows");
    if (!get_true(answer, "there")) {
        cmd_put_line(out, "nothing is stored at '%s'", get_text(answer, "store", "?"));
        return;
    }
    if (json_object_get(answer, "store"))
        cmd_put_line(out, "%-12s %s", "store", get_text(answer, "store", ""));
    cmd_put_line(out, "%-12s %s%sversion %" PRId64, "kind", get_text(answer, "backend", ""),
                 json_object_get(answer, "backend") ? ", " : "", get_int(answer, "version", 0));
    int64_t bytes = get_int(answer, "bytes", -1);
    if (bytes >= 0)
        cmd_put_line(out, "%-12s %.1f MB", "size", (double)bytes / 1e6);
    if (json_object_get(answer, "epoch"))
        print_count(out, "epoch", get_int(answer, "epoch", 0));
    cmd_put_line(out, "%-12s %s", "left",
                 get_true(answer, "was_unclean") ? "not closed by its last daemon"
                                                 : "closed properly");
    if (get_true(answer, "unfinished_copy"))
        cmd_put_line(
            out, "%-12s %s", "copy",
            "not finished: repeat 'sluice store copy' with the same arguments to continue");
    print_count(out, "tasks", get_int(answer, "tasks", 0));
    if (!rows) {
        print_count(out, "last event", get_int(answer, "last_event", 0));
        return;
    }
    print_count(out, "runs", rows_of(answer, "runs"));
    print_count(out, "  live", get_int(answer, "live_runs", 0));
    print_count(out, "events", rows_of(answer, "events"));
    print_count(out, "last event", get_int(answer, "last_event", 0));
    static const char *const others[] = { "projects", "groups", "agents", "limiters",
                                          "keys",     "usage",  "waits",  "notes" };
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        print_count(out, others[i], rows_of(answer, others[i]));
    print_count(out, "sums", rows_of(answer, "spent_hours") + rows_of(answer, "spent_days"));
}

static int show_run(const struct cmd_call *call) {
    const char *store = call->arg_count > 0 ? call->args[0] : "current";
    const char *const argv[] = { "sluiced", "--store-show", store, NULL };
    return run_sluiced(call, argv, print_shown);
}

const struct cmd cmd_store = { "store", .subs = CMD_LIST(CMD_SUB("store copy", copy_run, 2, 2),
                                                         CMD_SUB("store show", show_run, 0, 1)) };
