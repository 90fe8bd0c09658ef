/* cmd_logs.c: prints or follows the output of a run.
 *
 * --tail requests more and more bytes from the end until there are enough lines, because the daemon
 * counts only bytes. For a transcript, lines are counted first and the leading ones dropped in a
 * second pass: a log line may give no line or many. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/follow.h"
#include "cli/request.h"
#include "os/terminal.h"

#define TAIL_FIRST 16384u
#define TAIL_MOST  (1u << 30)

struct logs {
    const struct cmd_call *call;
    struct follow follow;
    struct request req;
    int64_t attempt; /* 0: the latest */
    int64_t tail;    /* lines; -1: all */
    bool missing;    /* it ran, but the daemon that answered does not have its log */
    struct error err;
};

static void logs_finish(struct logs *l) {
    follow_finish(&l->follow);
    request_finish(&l->req);
}

/* --- the call -------------------------------------------------------------------------------- */

static void add_log(struct logs *l, const char *name, FILE *to) {
    l->follow.logs[l->follow.log_count++] = (struct log_stream){
        .name = name,
        .to = to,
        .raw = cmd_has(l->call, "raw"),
        .text = !cmd_has(l->call, "raw") && !l->call->json,
    };
}

static int read_call(struct logs *l) {
    static const char *const names[] = { "err", "check", "prepare" };
    const struct cmd_call *call = l->call;
    bool both = cmd_has(call, "both");
    int chosen = both;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        chosen += cmd_has(call, names[i]);
    if (chosen > 1)
        return cmd_usage_error(
            call->cmd, "only one of '--err', '--check', '--prepare' and '--both' can be used");
    if (call->json && (cmd_has(call, "follow") || both))
        return cmd_usage_error(call->cmd, "'--json' goes with one log that has an end");
    if (both && cmd_has(call, "tail"))
        return cmd_usage_error(call->cmd, "'--tail' and '--both' exclude each other");
    l->tail = -1;
    int code = cmd_number(call, "attempt", 1, INT64_MAX, &l->attempt);
    if (code == CMD_OK)
        code = cmd_number(call, "tail", 0, INT64_MAX, &l->tail);
    if (both || chosen == 0)
        add_log(l, "out", stdout);
    if (both)
        add_log(l, "err", stderr);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (cmd_has(call, names[i]))
            add_log(l, names[i], stdout);
    return code;
}

/* These logs exist only for runs that wrote to them. */
static bool is_optional(const char *name) {
    return strcmp(name, "check") == 0 || strcmp(name, "prepare") == 0;
}

/* --- the end of a log ------------------------------------------------------------------------ */

/* Start of the last `lines` lines; SIZE_MAX: there are fewer. An incomplete last line counts. */
static size_t find_tail(const struct strbuf *text, int64_t lines) {
    const char *begin = strbuf_text(text);
    size_t at = text->length;
    if (lines == 0)
        return at;
    if (at > 0 && begin[at - 1] == '\n')
        at--;
    while (at > 0) {
        if (begin[at - 1] == '\n' && --lines == 0)
            return at;
        at--;
    }
    return SIZE_MAX;
}

/* Positions the log at the start of its last lines. */
static int seek_tail(struct log_stream *log, int64_t lines, struct error *err) {
    struct log_stream end = { .task = log->task,
                              .attempt = log->attempt,
                              .name = log->name,
                              .raw = true,
                              .text = log->text };
    int r = 0;
    for (uint64_t bytes = TAIL_FIRST;; bytes *= 8) {
        strbuf_clear(&end.kept);
        log_stream_restart(&end);
        end.tail = bytes;
        r = log_stream_begin(&end, err);
        uint64_t begin = end.offset;
        end.only_counts = end.transcript;
        if (r >= 0)
            r = log_stream_drain(&end, err);
        if (r < 0)
            break;
        size_t from = end.transcript ? 0 : find_tail(&end.kept, lines);
        bool few =
            end.transcript ? end.lines < (uint64_t)lines : from == SIZE_MAX && bytes < TAIL_MOST;
        if (few && begin > 0)
            continue;
        log->offset = begin + (from == SIZE_MAX ? 0 : from);
        log->leave = end.lines > (uint64_t)lines ? end.lines - (uint64_t)lines : 0;
        break;
    }
    log_stream_finish(&end);
    return r;
}

/* --- running --------------------------------------------------------------------------------- */

static int wait_for_attempt(struct logs *l, int64_t *ret_attempt) {
    bool follows = cmd_has(l->call, "follow");
    if (follows && follow_connect(&l->follow, &l->err) < 0) {
        l->req.err = l->err;
        return request_failed(&l->req);
    }
    for (;;) {
        if (request_try_task(&l->req, l->call->args[0]) != 0)
            return request_failed(&l->req);
        /* A run that is ordered but not running yet has nothing to show. */
        int64_t last = get_int(l->req.answer, "attempt", 0)
                       - (int64_t)member_is(l->req.answer, "state", "starting");
        int64_t wanted = l->attempt > 0 ? l->attempt : last;
        if (wanted > 0 && wanted <= last) {
            *ret_attempt = wanted;
            return CMD_OK;
        }
        if (!follows && l->attempt > 0)
            cmd_warn("'%s' has no attempt %" PRId64, l->call->args[0], l->attempt);
        else if (!follows)
            cmd_warn("'%s' has not run yet; --follow waits for it", l->call->args[0]);
        if (!follows)
            return CMD_FAILED;
        int r = follow_wait(&l->follow, &l->err);
        if (r < 0)
            return cmd_fail(&l->err);
        if (r & FOLLOW_UNREAD)
            return CMD_OK; /* no attempt */
    }
}

static int print_logs(struct logs *l, int64_t attempt) {
    struct follow *f = &l->follow;
    for (size_t i = 0; i < f->log_count; i++) {
        struct log_stream *log = &f->logs[i];
        log->task = l->call->args[0];
        log->attempt = (uint32_t)attempt;
        log->follow = cmd_has(l->call, "follow");
        int r = l->tail >= 0 ? seek_tail(log, l->tail, &l->err) : 0;
        if (r >= 0)
            r = log_stream_begin(log, &l->err);
        if (r >= 0 && !log->follow)
            r = log_stream_drain(log, &l->err);
        if (r < 0 && r != -ENODATA) {
            cmd_warn("%s", l->err.text);
            return client_is_absent(r) ? CMD_NO_DAEMON : CMD_FAILED;
        }
        l->missing |= r == -ENODATA && !is_optional(log->name);
    }
    f->attempt = (uint32_t)attempt;
    f->logs_open = true;
    return CMD_OK;
}

static int follow_logs(struct logs *l) {
    for (;;) {
        int r = follow_wait(&l->follow, &l->err);
        if (r < 0)
            return cmd_fail(&l->err);
        if (r & (FOLLOW_ENDED | FOLLOW_UNREAD))
            return CMD_OK;
    }
}

static const char *message_of(struct logs *l, int64_t attempt) {
    if (request_try_task(&l->req, l->call->args[0]) != 0)
        return NULL;
    EACH_ITEM(run, json_object_get(l->req.answer, "runs")) {
        if (get_int(run, "attempt", 0) == attempt)
            return get_text(run, "message", NULL);
    }
    return NULL;
}

/* A log that is missing here is not an empty one. */
static int explain_missing(struct logs *l, int64_t attempt) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    request_path(&path, "/v1/tasks/", l->call->args[0], "/log");
    strbuf_printf(&path, "?attempt=%" PRId64, attempt);
    if (request_try_get(&l->req, strbuf_text(&path)) != 0
        && strstr(l->req.err.text, "retention.iterations")) /* the setting that deleted it */
        return cmd_fail(&l->req.err);
    const char *message = message_of(l, attempt);
    cmd_warn("there is no log of attempt %" PRId64 " of '%s' here%s%s", attempt, l->call->args[0],
             message ? ": " : "; it was removed, or is with the host that ran it",
             message ? message : "");
    return CMD_FAILED;
}

static int print_json(struct logs *l, int64_t attempt) {
    struct log_stream *log = &l->follow.logs[0];
    log->to = NULL;
    int code = print_logs(l, attempt);
    if (code != CMD_OK || l->missing)
        return code != CMD_OK ? code : explain_missing(l, attempt);
    _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT;
    const char *text = strbuf_text(&log->kept);
    json_t *value = json_stringn(text, log->kept.length);
    if (!value) { /* JSON is UTF-8, whatever was requested */
        struct sanitizer sanitizer = SANITIZER_INIT;
        sanitizer_feed(&sanitizer, text, log->kept.length, &safe);
        sanitizer_finish(&sanitizer, &safe);
        value = json_stringn(strbuf_text(&safe), safe.length);
    }
    return output_json(json_pack("{s:s, s:I, s:s, s:I, s:o}", "task", l->call->args[0], "attempt",
                                 (json_int_t)attempt, "stream", log->name, "end",
                                 (json_int_t)log->offset, "text", value));
}

static bool has_bytes(const struct logs *l, int64_t attempt, const char *name) {
    struct log_stream end = {
        .task = l->call->args[0], .attempt = (uint32_t)attempt, .name = name, .raw = true, .tail = 1
    };
    struct error err = { 0 };
    bool some =
        log_stream_begin(&end, &err) >= 0 && log_stream_drain(&end, &err) >= 0 && end.received > 0;
    log_stream_finish(&end);
    return some;
}

/* Empty output looks like an error: usually the other log has the output, or it never ran. */
static bool explain_nothing(struct logs *l, int64_t attempt, bool over) {
    const struct log_stream *log = &l->follow.logs[0];
    const char *id = l->call->args[0];
    if (l->follow.log_count != 1 || log->received > 0 || l->tail == 0)
        return true;
    bool errors = strcmp(log->name, "err") == 0, checks = strcmp(log->name, "check") == 0;
    bool optional = is_optional(log->name);
    const char *to = checks     ? "in its checks"
                     : optional ? "while its worktree was prepared"
                     : errors   ? "to stderr"
                                : "to stdout";
    if (!optional && has_bytes(l, attempt, errors ? "out" : "err")) {
        cmd_warn("attempt %" PRId64 " of '%s' wrote nothing %s; 'sluice logs %s%s' shows its %s",
                 attempt, id, to, errors ? "" : "--err ", id, errors ? "stdout" : "stderr");
        return true;
    }
    const char *message = over ? message_of(l, attempt) : NULL;
    if (message)
        cmd_warn("attempt %" PRId64 " of '%s' wrote nothing %s: %s", attempt, id, to, message);
    else if (over && terminal_is(stdout))
        cmd_warn("attempt %" PRId64 " of '%s' wrote nothing %s", attempt, id, to);
    return false;
}

static int cmd_logs_run(const struct cmd_call *call) {
    _cleanup_(logs_finish) struct logs l = { .call = call };
    follow_init(&l.follow, call->args[0]);
    l.follow.reader_fd = STDOUT_FILENO;
    int64_t attempt = 0;
    int code = read_call(&l);
    if (code == CMD_OK)
        code = request_check_name(call, call->args[0]);
    if (code == CMD_OK)
        code = request_open(&l.req, REQUEST_RUNNING);
    if (code == CMD_OK)
        code = wait_for_attempt(&l, &attempt);
    if (code != CMD_OK || attempt == 0)
        return code;
    if (call->json)
        return print_json(&l, attempt);
    code = print_logs(&l, attempt);
    if (code != CMD_OK || l.missing)
        return code != CMD_OK ? code : explain_missing(&l, attempt);
    bool follows = cmd_has(call, "follow"), explained = explain_nothing(&l, attempt, !follows);
    if (follows)
        code = follow_logs(&l);
    if (follows && code == CMD_OK && !explained)
        (void)explain_nothing(&l, attempt, true);
    return code;
}

const struct cmd cmd_logs = {
    "logs",
    .options =
        CMD_OPTIONS({ "follow", 'f', NULL, "wait for its start, and go on until its end" },
                    { "err", 'e', NULL, "what it wrote on its standard error" },
                    { "check", 'c', NULL, "what its check commands wrote" },
                    { "prepare", 'p', NULL, "output of the command that prepares its worktree" },
                    { "both", 'b', NULL, "standard output and error, each to its own" },
                    { "attempt", 'n', "N", "of this attempt; of the last one if not given" },
                    { "tail", 't', "N", "only the last N lines" },
                    { "raw", 0, NULL, "byte by byte: an agent's own events, terminal escapes" }),
    .min_args = 1, .max_args = 1, .run = cmd_logs_run
};
