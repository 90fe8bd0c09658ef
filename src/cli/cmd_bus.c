/* cmd_bus.c: reads and writes messages of projects and tasks, directly in their files.
 *
 * No daemon is needed, because a run outlives it and must still be able to post. --follow uses
 * inotify instead of polling. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/redact.h"
#include "bus/bus.h"
#include "bus/reader.h"
#include "cli/print_task.h"
#include "cli/request.h"
#include "config/config.h"
#include "os/files.h"
#include "os/home.h"

/* Secrets of the current run (SLUICE_SECRETS) are not written to files that others read. */
#define NAMES_MAX 65u    /* secrets of a run, and its token */
#define FORM_MAX  32768u /* bytes of a secret as JSON */

/* Replaces each of them by `[redacted NAME]`; frees `text`, which may be NULL. */
static char *redact_own_secrets(char *text) {
    struct redact_value values[2 * NAMES_MAX];
    char *forms[NAMES_MAX], *rest = NULL;
    size_t count = 0, form_count = 0;
    struct redact_index index;
    struct strbuf shown = STRBUF_INIT;
    if (!text)
        return NULL;
    const char *secrets = getenv("SLUICE_SECRETS");
    _cleanup_(freep) char *names = xasprintf("SLUICE_TOKEN %s", secrets ? secrets : "");
    for (const char *name = strtok_r(names, " ", &rest); name && form_count < NAMES_MAX;
         name = strtok_r(NULL, " ", &rest)) {
        const char *value = getenv(name);
        size_t size = value ? strlen(value) : 0;
        char *form = forms[form_count++] = xmalloc(FORM_MAX);
        size_t escaped = redact_json_form(value ? value : "", size, form, FORM_MAX);
        values[count] = (struct redact_value){ name, strlen(name), value, size, 0 };
        count += value != NULL;
        values[count] = (struct redact_value){ name, strlen(name), form, escaped, 0 };
        count += escaped > 0;
    }
    redact_index_init(&index, values, count, NULL);
    (void)redact_text(&index, text, strlen(text), &shown);
    while (form_count > 0)
        free(forms[--form_count]);
    free(text);
    return strbuf_take(&shown);
}

/* The file named by --project and --task; inside a run the default is its own task. The daemon is
 * only asked for what neither the call nor the files have. */
struct bus_target {
    struct bus bus;
    char *project, *task; /* task NULL: the project's bus; both NULL: not given */
    struct strbuf path;
    bool own;           /* the task of the current run */
    const char *sender; /* the current task, on its project's bus; else NULL */
};

#define BUS_TARGET_OPTIONS                                                                         \
    { "project", 'p', "NAME", "the bus of this project" }, {                                       \
        "task", 't', "ID", "the bus of this task"                                                  \
    }

/* A run has no SLUICE_HOME; SLUICE_BUS names the bus of its daemon. */
static int find_root(struct bus_target *t) {
    _cleanup_(home_finish) struct home home = { 0 };
    _cleanup_(strbuf_finish) struct strbuf root = STRBUF_INIT;
    struct error err = { 0 };
    const char *named = cmd_env("SLUICE_HOME") ? NULL : cmd_env("SLUICE_BUS");
    if (!named && home_find(&home, &err) < 0)
        return cmd_error(&err);
    if (!named) {
        struct config *config = config_new(); /* unreadable: use the default */
        (void)config_read_file(config, home.config_file, NULL);
        _cleanup_(freep) char *data = config_data_folder(config, home.data);
        config_free(config);
        strbuf_printf(&root, "%s/" BUS_FOLDER, data);
    }
    _cleanup_(freep) char *resolved = file_resolve(named ? named : strbuf_text(&root));
    bus_init(&t->bus, resolved);
    return CMD_OK;
}

/* Resolves a task given by number or without its project. */
static int find_task(struct bus_target *t) {
    _cleanup_(request_finish) struct request req = { 0 };
    int code = request_open(&req, REQUEST_TRY);
    if (code == CMD_OK && request_try_task(&req, t->task) == 0) {
        free(t->task);
        t->task = xstrdup(get_text(req.answer, "id", ""));
        if (!t->project)
            t->project = xstrdup(get_text(req.answer, "project", ""));
        return CMD_OK;
    }
    if (!t->project)
        t->project = bus_find_project(&t->bus, t->task);
    if (t->project)
        return CMD_OK; /* its files exist, whether or not the daemon knows it */
    if (code == CMD_OK && request_was_answered(&req))
        return request_failed(&req);
    cmd_warn("no daemon is running, so the project of '%s' is unknown: give '--project'", t->task);
    return CMD_NO_DAEMON;
}

/* CMD_OK, or the exit code of a printed error. `optional`: no target is required. */
static int bus_target_find(const struct cmd_call *call, bool optional, struct bus_target *t) {
    const char *project = cmd_value(call, "project"), *task = cmd_value(call, "task");
    const char *own_project = cmd_env("SLUICE_PROJECT"), *own_task = cmd_env("SLUICE_TASK");
    if ((project && !*project) || (task && !*task))
        return cmd_usage_error(call->cmd, "the name of a %s is empty", task ? "task" : "project");
    int code = find_root(t);
    if (code != CMD_OK)
        return code;
    if (!project && (!task || (own_task && strcmp(task, own_task) == 0))) {
        task = own_task;
        project = own_project;
        t->own = project != NULL;
    }
    if (project && !task && own_project && strcmp(project, own_project) == 0)
        t->sender = own_task;
    t->project = project ? xstrdup(project) : NULL;
    t->task = task ? xstrdup(task) : NULL;
    if (!project && !task)
        return optional ? CMD_OK
                        : cmd_usage_error(call->cmd, "'--project' or '--task' is required");
    const char *dash = task ? strrchr(task, '-') : NULL;
    if (task && (!project || !dash || dash == task))
        code = find_task(t);
    struct bus_place place = { t->project, t->task };
    struct error err = { 0 };
    if (code == CMD_OK && bus_path(&t->bus, &place, &t->path, &err) < 0)
        code = cmd_usage_error(call->cmd, "%s", err.text);
    return code;
}

/* Before the first message: checks that the project or task exists, if a daemon can be asked. */
static int bus_target_check(const struct bus_target *t) {
    _cleanup_(request_finish) struct request req = { 0 };
    if (t->own || access(strbuf_text(&t->path), F_OK) == 0
        || request_open(&req, REQUEST_TRY) != CMD_OK)
        return CMD_OK;
    if (request_try_named(&req, t->task ? "/v1/tasks/" : "/v1/projects/",
                          t->task ? t->task : t->project, "")
        != 0)
        return request_was_answered(&req) ? request_failed(&req) : CMD_OK;
    const char *project = get_text(req.answer, "project", t->project);
    if (!t->task || strcmp(project, t->project) == 0)
        return CMD_OK;
    cmd_warn("task '%s' belongs to project '%s', not to '%s'", t->task, project, t->project);
    return CMD_FAILED;
}

static void bus_target_finish(struct bus_target *t) {
    bus_finish(&t->bus);
    free(t->project);
    free(t->task);
    strbuf_finish(&t->path);
}

#define TAIL_MAX 1000000

static int read_body(const struct cmd_call *call, struct strbuf *body) {
    char piece[8192];
    size_t n;
    if (strcmp(call->args[0], "-") != 0) {
        strbuf_puts(body, call->args[0]);
    } else {
        while ((n = fread(piece, 1, sizeof(piece), stdin)) > 0 && body->length <= BUS_BODY_MAX)
            strbuf_add(body, piece, n);
        if (ferror(stdin)) {
            cmd_warn("cannot read the message: %s", strerror(errno));
            return CMD_FAILED;
        }
    }
    if (memchr(strbuf_text(body), '\0', body->length)) {
        cmd_warn("the message contains a NUL byte: it is not text");
        return CMD_USAGE;
    }
    while (body->length > 0 && body->text[body->length - 1] == '\n')
        body->text[--body->length] = '\0';
    return CMD_OK;
}

/* Repeated options as JSON: {"k":"v"}, [{"msg_id":…}], ["…"]; NULL if none. */
static int read_lists(const struct cmd_call *call, json_t *meta, json_t *parents, json_t *links) {
    const char *value;
    for (size_t i = 0; (value = cmd_value_at(call, "meta", i)); i++) {
        int code = request_add_pair(call, value, meta);
        if (code != CMD_OK)
            return code;
    }
    for (size_t i = 0; (value = cmd_value_at(call, "parent", i)); i++)
        json_array_append_new(parents, json_pack("{s:o}", "msg_id", json_text(value)));
    for (size_t i = 0; (value = cmd_value_at(call, "link", i)); i++)
        json_array_append_new(links, json_text(value));
    return CMD_OK;
}

static char *dump(json_t *value /* taken */) {
    bool empty = json_object_size(value) + json_array_size(value) == 0;
    char *text = empty ? NULL : json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(15));
    json_decref(value);
    return redact_own_secrets(text);
}

static int post_run(const struct cmd_call *call) {
    _cleanup_(bus_target_finish) struct bus_target target = { 0 };
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    json_t *meta = json_object(), *parents = json_array(), *links = json_array();
    int code = read_lists(call, meta, parents, links);
    _cleanup_(freep) char *meta_text = dump(meta), *parents_text = dump(parents),
                          *links_text = dump(links);
    if (code == CMD_OK)
        code = bus_target_find(call, false, &target);
    if (code == CMD_OK)
        code = read_body(call, &body);
    if (code != CMD_OK)
        return code;
    _cleanup_(freep) char *shown = redact_own_secrets(strbuf_take(&body));
    struct bus_message message = {
        .type = cmd_has(call, "type") ? cmd_value(call, "type") : "INFO",
        .issue = cmd_value(call, "issue"),
        .parents = parents_text,
        .links = links_text,
        .meta = meta_text,
        .body = shown,
        .project = target.project,
        .task = target.task ? target.task : target.sender,
        .run = target.own || target.sender ? getenv("SLUICE_RUN") : NULL,
        .to_project = !target.task,
    };
    struct error err = { 0 };
    char id[BUS_ID_MAX];
    if (bus_message_check(&message, &err) < 0) {
        cmd_warn("%s", err.text);
        return CMD_USAGE;
    }
    code = bus_target_check(&target);
    if (code != CMD_OK)
        return code;
    if (bus_append(&target.bus, &message, false, id, &err) < 0 || bus_sync(&target.bus, &err) < 0)
        return cmd_fail(&err);
    return call->json ? output_json(json_pack("{s:s}", "msg_id", id)) : cmd_print_line("%s", id);
}

struct reading {
    const struct cmd_call *call;
    struct bus_target target;
    struct bus_reader reader;
    const char *type, *since;
    int64_t tail; /* -1: all */
    bool follow;
    size_t count;
    struct strbuf out;
    struct error err;
};

static void reading_finish(struct reading *r) {
    bus_reader_finish(&r->reader);
    bus_target_finish(&r->target);
    strbuf_finish(&r->out);
}

static bool is_wanted(void *ctx, const struct bus_message *message) {
    const struct reading *r = ctx;
    return !r->type || (message->type && strcmp(message->type, r->type) == 0);
}

static const char *colour_of(const char *type) {
    const struct output_style *style = output_style();
    if (strcmp(type, "ERROR") == 0 || strcmp(type, "RUN_CRASH") == 0)
        return style->red;
    if (strcmp(type, "WARNING") == 0 || strcmp(type, "QUESTION") == 0)
        return style->yellow;
    return strcmp(type, "FACT") == 0 ? style->green : "";
}

/* Sanitizes agents' text for the terminal. */
static void print_text(struct reading *r, const struct bus_message *m) {
    _cleanup_(strbuf_finish) struct strbuf type = STRBUF_INIT, from = STRBUF_INIT,
                                           body = STRBUF_INIT;
    struct sanitizer sanitizer = SANITIZER_INIT;
    sanitize_line(m->type ? m->type : "-", &type);
    sanitize_line(m->run ? m->run : m->task ? m->task : "-", &from);
    sanitizer_feed(&sanitizer, m->body, strlen(m->body), &body);
    sanitizer_finish(&sanitizer, &body);
    strbuf_printf(&r->out, "%s  %s%-9s%s  %s  ", cell_time(m->at).text,
                  colour_of(strbuf_text(&type)), strbuf_text(&type), output_style()->reset,
                  strbuf_text(&from));
    for (const char *line = strbuf_text(&body); *line;) {
        size_t size = strcspn(line, "\n");
        strbuf_add(&r->out, line, size);
        line += size + (line[size] == '\n');
        strbuf_puts(&r->out, *line ? "\n    " : "");
    }
    strbuf_putc(&r->out, '\n');
}

static void print_message(struct reading *r, const struct bus_message *message) {
    if (!is_wanted(r, message))
        return;
    if (r->call->json) {
        struct json_writer w;
        if (!r->follow)
            strbuf_puts(&r->out, r->count ? "," : "");
        json_write_init(&w, &r->out, false);
        bus_message_print_json(message, &w);
        strbuf_puts(&r->out, r->follow ? "\n" : "");
    } else {
        print_text(r, message);
    }
    r->count++;
}

static int print_all(struct reading *r) {
    const struct bus_message *message;
    int got;
    while ((got = bus_reader_next(&r->reader, &message, &r->err)) > 0) {
        print_message(r, message);
        output_some(&r->out);
    }
    return got;
}

static int read_call(struct reading *r) {
    const struct cmd_call *call = r->call;
    r->follow = cmd_has(call, "follow");
    r->type = cmd_value(call, "type");
    r->since = cmd_value(call, "since");
    r->tail = -1;
    int code = cmd_number(call, "tail", 0, TAIL_MAX, &r->tail);
    if (code != CMD_OK)
        return code;
    if (r->since && cmd_has(call, "tail"))
        return cmd_usage_error(call->cmd, "'--since' and '--tail' cannot be used together");
    if (r->type && !bus_type_is_valid(r->type))
        return cmd_usage_error(call->cmd, "'%.40s' is not a message type (example: FACT)", r->type);
    return bus_target_find(call, false, &r->target);
}

static int seek(struct reading *r) {
    int got = 0;
    if (r->since) {
        got = bus_reader_seek_after(&r->reader, r->since, 0, &r->err);
        if (got == 0)
            return error_set(&r->err, -ENXIO, "there is no message '%.80s' in '%s'", r->since,
                             strbuf_text(&r->target.path));
    } else if (r->tail >= 0) {
        got = bus_reader_seek_tail(&r->reader, (size_t)r->tail, 0, is_wanted, r, &r->err);
    }
    r->reader.damaged = 0; /* the tail search counted the same ones */
    return got < 0 ? got : 0;
}

/* Has the file not been replaced? */
static bool is_in_place(const struct reading *r) {
    struct stat ours, there;
    if (stat(strbuf_text(&r->target.path), &there) < 0)
        return true; /* renamed, and no new one yet */
    return r->reader.fd >= 0 && fstat(r->reader.fd, &ours) == 0 && ours.st_ino == there.st_ino
           && ours.st_dev == there.st_dev;
}

static int watch_folder(struct reading *r) {
    struct bus_place place = { r->target.project, r->target.task };
    int fault = bus_make_folder(&r->target.bus, &place, &r->err);
    if (fault < 0)
        return fault;
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    const char *path = strbuf_text(&r->target.path);
    strbuf_add(&folder, path, (size_t)(strrchr(path, '/') - path));
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0
        || inotify_add_watch(fd, strbuf_text(&folder), IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0) {
        fault = error_set_errno(&r->err, "watch", strbuf_text(&folder));
        if (fd >= 0)
            close(fd);
        return fault;
    }
    return fd;
}

/* Until stdout is closed. */
static int follow(struct reading *r, int watch) {
    _Alignas(struct inotify_event) char events[4096];
    for (;;) {
        int got = print_all(r);
        if (got == 0 && !is_in_place(r)) {
            bus_reader_finish(&r->reader);
            got = bus_reader_open(&r->reader, strbuf_text(&r->target.path), &r->err);
            if (got == 0)
                continue;
        }
        if (got < 0)
            return got;
        output_rest(&r->out);
        if (output_flush() < 0)
            return 0; /* cmd_main reports it */
        struct pollfd fds[] = { { .fd = watch, .events = POLLIN }, { .fd = STDOUT_FILENO } };
        if (poll(fds, ARRAY_SIZE(fds), -1) > 0 && fds[1].revents)
            return 0;
        while (read(watch, events, sizeof(events)) > 0)
            continue; /* any event: read the file again */
    }
}

static int read_run(const struct cmd_call *call) {
    _cleanup_(reading_finish) struct reading r = { .call = call, .reader = BUS_READER_INIT };
    int code = read_call(&r);
    if (code != CMD_OK)
        return code;
    bool list = call->json && !r.follow;
    if (list)
        strbuf_puts(&r.out, "{\"items\":[");
    int watch = r.follow ? watch_folder(&r) : -1; /* before reading, so that no message is missed */
    int got = watch < 0 && r.follow
                  ? watch
                  : bus_reader_open(&r.reader, strbuf_text(&r.target.path), &r.err);
    if (got == 0)
        got = seek(&r);
    if (got == 0)
        got = r.follow ? follow(&r, watch) : print_all(&r);
    if (watch >= 0)
        close(watch);
    if (got < 0)
        return cmd_fail(&r.err);
    if (list)
        strbuf_puts(&r.out, "]}\n");
    output_rest(&r.out);
    if (r.reader.damaged > 0)
        cmd_warn("skipped %" PRIu64 " damaged or foreign messages in '%s'", r.reader.damaged,
                 strbuf_text(&r.target.path));
    return CMD_OK;
}

static int stats_run(const struct cmd_call *call) {
    _cleanup_(bus_target_finish) struct bus_target target = { 0 };
    struct bus_counts counts;
    struct stat st = { 0 };
    int code = bus_target_find(call, true, &target);
    if (code != CMD_OK)
        return code;
    bus_counts_read(&target.bus, &counts);
    bool named = target.path.length > 0;
    if (named)
        (void)stat(strbuf_text(&target.path), &st);
    const struct {
        const char *key, *text;
        uint64_t value;
    } rows[] = {
        { "messages", "messages appended", counts.messages },
        { "attempts", "attempts to append one", counts.attempts },
        { "waits", "of these, had to wait for the lock", counts.waits },
        { "timeouts", "of these, timed out waiting for the lock", counts.timeouts },
        { "retries", "of these, retried after that", counts.retries },
        { "bytes", "bytes in its file", (uint64_t)st.st_size },
    };
    json_t *values = json_object();
    for (size_t i = 0; i < ARRAY_SIZE(rows) - !named; i++) {
        json_object_set_new(values, rows[i].key, json_integer((json_int_t)rows[i].value));
        if (!call->json)
            (void)cmd_print_line("%10" PRIu64 "  %s", rows[i].value, rows[i].text);
    }
    if (call->json)
        return output_json(values);
    json_decref(values);
    return CMD_OK;
}

static const struct cmd bus_post_cmd = {
    "bus post", post_run, 1, 1,
    CMD_OPTIONS(BUS_TARGET_OPTIONS,
                { "type", 'y', "TYPE",
                  "FACT, PROGRESS, INFO, WARNING, ERROR, QUESTION, or any word; INFO" },
                { "meta", 'm', "KEY=VALUE", "additional data; repeatable" },
                { "issue", 0, "ID", "the issue it belongs to" },
                { "parent", 0, "MSG_ID", "a message that it answers; repeatable" },
                { "link", 0, "TEXT", "a file or link it refers to; repeatable" })
};
static const struct cmd bus_read_cmd = {
    "bus read", read_run, 0, 0,
    CMD_OPTIONS(BUS_TARGET_OPTIONS, { "follow", 'f', NULL, "keep running and print new messages" },
                { "tail", 'n', "N", "only the last N" },
                { "type", 'y', "TYPE", "only messages of this type" },
                { "since", 's', "MSG_ID", "only messages after this one" })
};
static const struct cmd bus_stats_cmd = { "bus stats", stats_run, 0, 0,
                                          CMD_OPTIONS(BUS_TARGET_OPTIONS) };
const struct cmd cmd_bus = { "bus",
                             .subs = CMD_LIST(&bus_post_cmd, &bus_read_cmd, &bus_stats_cmd) };
