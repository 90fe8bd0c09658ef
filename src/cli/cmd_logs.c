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
#include "cli/logs_follow.h"
#include "cli/request.h"
#include "os/terminal.h"

#define TAIL_FIRST 16384u
#define TAIL_MOST  (1u << 30)

struct logs {
    const struct cmd_call *call;
    const char *task; /* its id; borrowed */
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
        .to = l->call->json ? NULL : to,
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
        return cmd_usage_error(call->cmd,
                               "'--json' cannot be used when following a log or with several logs");
    if (both && cmd_has(call, "tail"))
        return cmd_usage_error(call->cmd, "'--tail' and '--both' cannot be used together");
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

/* A run that is ordered but not running yet has nothing to show. */
static int64_t last_attempt(const json_t *task) {
    return get_int(task, "attempt", 0) - (int64_t)member_is(task, "state", "starting");
}

static int wait_for_attempt(struct logs *l, int64_t *ret_attempt) {
    bool follows = cmd_has(l->call, "follow");
    if (follows && follow_connect(&l->follow, &l->err) < 0) {
        l->req.err = l->err;
        return request_failed(&l->req);
    }
    for (;;) {
        if (request_try_task(&l->req, l->task) != 0)
            return request_failed(&l->req);
        int64_t last = last_attempt(l->req.answer);
        int64_t wanted = l->attempt > 0 ? l->attempt : last;
        if (wanted > 0 && wanted <= last) {
            *ret_attempt = wanted;
            return CMD_OK;
        }
        if (!follows && l->attempt > 0)
            cmd_warn("'%s' has no attempt %" PRId64, l->task, l->attempt);
        else if (!follows)
            cmd_warn("'%s' has not run yet; --follow waits for it", l->task);
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
        log->task = l->task;
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
    if (request_try_task(&l->req, l->task) != 0)
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
    request_path(&path, "/v1/tasks/", l->task, "/log");
    strbuf_printf(&path, "?attempt=%" PRId64, attempt);
    if (request_try_get(&l->req, strbuf_text(&path)) != 0
        && strstr(l->req.err.text, "retention.iterations")) /* the setting that deleted it */
        return cmd_fail(&l->req.err);
    const char *message = message_of(l, attempt);
    cmd_warn("there is no log of attempt %" PRId64 " of '%s' here%s%s", attempt, l->task,
             message ? ": " : "; it was removed, or is with the host that ran it",
             message ? message : "");
    return CMD_FAILED;
}

static json_t *text_of(const struct log_stream *log) {
    _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT;
    const char *text = strbuf_text(&log->kept);
    json_t *value = json_stringn(text, log->kept.length);
    if (!value) { /* JSON is UTF-8, whatever was requested */
        struct sanitizer sanitizer = SANITIZER_INIT;
        sanitizer_feed(&sanitizer, text, log->kept.length, &safe);
        sanitizer_finish(&sanitizer, &safe);
        value = json_stringn(strbuf_text(&safe), safe.length);
    }
    return value;
}

static int print_json(struct logs *l, int64_t attempt) {
    const struct log_stream *log = &l->follow.logs[0];
    int code = print_logs(l, attempt);
    if (code != CMD_OK || l->missing)
        return code != CMD_OK ? code : explain_missing(l, attempt);
    return output_json(json_pack("{s:s, s:I, s:s, s:I, s:o}", "task", l->task, "attempt",
                                 (json_int_t)attempt, "stream", log->name, "end",
                                 (json_int_t)log->offset, "text", text_of(log)));
}

static bool has_bytes(const struct logs *l, int64_t attempt, const char *name) {
    struct log_stream end = {
        .task = l->task, .attempt = (uint32_t)attempt, .name = name, .raw = true, .tail = 1
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
    const char *id = l->task;
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

static int print_task(struct logs *l) {
    const struct cmd_call *call = l->call;
    int64_t attempt = 0;
    int code = wait_for_attempt(l, &attempt);
    if (code != CMD_OK || attempt == 0)
        return code;
    if (call->json)
        return print_json(l, attempt);
    code = print_logs(l, attempt);
    if (code != CMD_OK || l->missing)
        return code != CMD_OK ? code : explain_missing(l, attempt);
    bool follows = cmd_has(call, "follow"), explained = explain_nothing(l, attempt, !follows);
    if (follows)
        code = follow_logs(l);
    if (follows && code == CMD_OK && !explained)
        (void)explain_nothing(l, attempt, true);
    return code;
}

/* --- the tasks of a group --------------------------------------------------------------------- */

/* "==> web-3 title <==", with the state of a task that is not done: its log may be incomplete. */
static void print_header(const json_t *task, bool first, struct strbuf *out) {
    const char *state = get_text(task, "state", "?");
    bool is_done = strcmp(state, "done") == 0;
    if (!first)
        strbuf_putc(out, '\n');
    cmd_put_line(out, "==> %s %s%s%s%s <==", get_text(task, "id", "?"), get_text(task, "title", ""),
                 is_done ? "" : " (", is_done ? "" : state, is_done ? "" : ")");
}

/* Prepares the streams for another task. */
static void restart_logs(struct logs *l, const json_t *task) {
    l->task = get_text(task, "id", "?");
    l->missing = false;
    for (size_t i = 0; i < l->follow.log_count; i++) {
        struct log_stream *log = &l->follow.logs[i];
        log_stream_restart(log);
        strbuf_clear(&log->kept);
        log->leave = 0;
        log->last = '\n';
    }
}

static int print_member(struct logs *l, const json_t *task, bool first) {
    struct strbuf out = STRBUF_INIT;
    int64_t attempt = last_attempt(task);
    restart_logs(l, task);
    print_header(task, first, &out);
    output_finish(&out);
    int code = attempt > 0 ? print_logs(l, attempt) : CMD_OK;
    if (l->follow.logs[0].last != '\n')
        (void)putc('\n', stdout);
    return code == CMD_OK && l->missing ? explain_missing(l, attempt) : code;
}

static int add_member(struct logs *l, const json_t *task, json_t *all) {
    const struct log_stream *log = &l->follow.logs[0];
    int64_t attempt = last_attempt(task);
    restart_logs(l, task);
    int code = attempt > 0 ? print_logs(l, attempt) : CMD_OK;
    bool is_there = code == CMD_OK && attempt > 0 && !l->missing;
    json_t *entry = json_pack("{s:s, s:O*, s:O*, s:s}", "task", l->task, "title",
                              json_object_get(task, "title"), "state",
                              json_object_get(task, "state"), "stream", log->name);
    json_object_set_new(entry, "attempt", attempt > 0 ? json_integer(attempt) : json_null());
    json_object_set_new(entry, "end",
                        is_there ? json_integer((json_int_t)log->offset) : json_null());
    json_object_set_new(entry, "text", is_there ? text_of(log) : json_null());
    json_array_append_new(all, entry);
    return code == CMD_OK && l->missing ? explain_missing(l, attempt) : code;
}

static int print_group(struct logs *l, const char *group) {
    json_auto_t *tasks = json_array(), *all = json_array();
    int result = request_group(&l->req, group, tasks);
    bool first = true;
    if (result != CMD_OK)
        return result;
    EACH_ITEM(task, tasks) {
        int code = l->call->json ? add_member(l, task, all) : print_member(l, task, first);
        if (code == CMD_NO_DAEMON)
            return code;
        result = code != CMD_OK ? code : result; /* the others are printed all the same */
        first = false;
    }
    if (l->call->json)
        (void)output_json(json_pack("{s:s, s:O}", "group", group, "logs", all));
    else if (first)
        cmd_warn("group '%s' has no tasks", group);
    return result;
}

static int check_source(const struct logs *l) {
    const struct cmd_call *call = l->call;
    bool by_group = cmd_has(call, "group");
    if (by_group && call->arg_count > 0)
        return cmd_usage_error(call->cmd, "'%s' and '--group' cannot be used together",
                               call->args[0]);
    if (!by_group && call->arg_count == 0)
        return cmd_usage_error(call->cmd, "'logs' needs the ID of a task, or --group NAME");
    if (by_group && cmd_has(call, "attempt"))
        return cmd_usage_error(call->cmd, "'--attempt' and '--group' cannot be used together");
    if (by_group && cmd_has(call, "follow") && (cmd_has(call, "tail") || cmd_has(call, "both")))
        return cmd_usage_error(call->cmd, "'--%s' cannot be used with '--follow' and '--group'",
                               cmd_has(call, "tail") ? "tail" : "both");
    return request_check_name(call, by_group ? cmd_value(call, "group") : call->args[0]);
}

static int cmd_logs_run(const struct cmd_call *call) {
    const char *group = cmd_value(call, "group");
    _cleanup_(logs_finish) struct logs l = { .call = call, .task = group ? "" : call->args[0] };
    follow_init(&l.follow, l.task);
    l.follow.reader_fd = STDOUT_FILENO;
    int code = check_source(&l);
    if (code == CMD_OK)
        code = read_call(&l);
    if (code == CMD_OK)
        code = request_open(&l.req, REQUEST_RUNNING);
    if (code != CMD_OK || !group)
        return code != CMD_OK ? code : print_task(&l);
    return cmd_has(call, "follow") ? logs_follow_group(group, &l.follow.logs[0])
                                   : print_group(&l, group);
}

const struct cmd cmd_logs = {
    "logs",
    .options = CMD_OPTIONS(
        { "group", 'g', "NAME", "the logs of all tasks of this group, in order" },
        { "follow", 'f', NULL, "wait for its start, and follow it until its end" },
        { "err", 'e', NULL, "its standard error" },
        { "check", 'c', NULL, "the output of its check commands" },
        { "prepare", 'p', NULL, "the output of the command that prepares its worktree" },
        { "both", 'b', NULL, "standard output to stdout, and standard error to stderr" },
        { "attempt", 'n', "N", "the log of this attempt; default: the last one" },
        { "tail", 't', "N", "only the last N lines" },
        { "raw", 0, NULL, "unchanged bytes: the agent's own events, terminal escapes" }),
    .max_args = 1, .run = cmd_logs_run
};
