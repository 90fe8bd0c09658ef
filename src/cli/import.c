/* import.c: see import.h. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "cli/import.h"
#include "cli/request.h"
#include "cli/submit.h"
#include "os/clock.h"
#include "os/outside.h"
#include "os/terminal.h"
#include "yaml/yaml.h"

#define BATCH       100         /* tasks in one request, with --keep-going */
#define BATCH_MAX   10000       /* tasks in one request without it */
#define STATE_BYTES (10u << 20) /* bytes of one request, for the state of another scheduler */

/* `report` prints its members in this order. */
static json_t *add_list(struct import *im, const char *name, json_t *list) {
    json_object_set_new(im->report, name, list);
    return list;
}

void import_init(struct import *im, const struct cmd_call *call) {
    *im = (struct import){
        .call = call, .tasks = json_array(), .sources = json_array(), .report = json_object()
    };
    im->done = add_list(im, "tasks", json_array());
    im->skipped = add_list(im, "skipped", json_array());
    im->refused = add_list(im, "refused", json_array());
    im->deferred = add_list(im, "deferred", json_array());
}

void import_init_counts(struct import *im) {
    im->counts = add_list(im, "counts",
                          json_pack("{s:i, s:i, s:i, s:i}", "updated", 0, "canceled", 0,
                                    "changed_after_start", 0, "not_updated", 0));
    im->places = json_array();
}

void import_finish(struct import *im) {
    json_decref(im->tasks);
    json_decref(im->sources);
    json_decref(im->report);
    json_decref(im->warning);
    json_decref(im->places);
}

static void add_remark(json_t *list, const char *source, const char *member, const char *text) {
    json_array_append_new(
        list, json_pack("{s:o, s:o}", "source", json_text(source), member, json_text(text)));
}

/* State of another scheduler: valid items are added even if others are invalid. */
static bool is_state(const struct import *im) {
    return im->notes != NULL;
}

static bool skips_invalid(const struct import *im) {
    return is_state(im) || cmd_has(im->call, "keep-going");
}

void import_add(struct import *im, const char *source, json_t *task) {
    static const char *const options[] = { "project", "agent", "kind" };
    for (size_t i = 0; i < ARRAY_SIZE(options); i++)
        if (!json_object_get(task, options[i]))
            set_text(task, options[i], cmd_value(im->call, options[i]));
    json_array_append_new(im->tasks, task);
    json_array_append_new(im->sources, json_text(source));
}

void import_skip(struct import *im, const char *source, const char *why) {
    if (!is_state(im)) /* otherwise it is in the report */
        cmd_warn("%s skipped: %s", source, why);
    import_leave_out(im, source, why);
}

void import_leave_out(struct import *im, const char *source, const char *why) {
    add_remark(im->skipped, source, "why", why);
}

int import_refuse(struct import *im, const char *source, const struct error *err) {
    int code = cmd_error(err);
    add_remark(im->refused, source, "error", err->text);
    return skips_invalid(im) ? CMD_OK : code == CMD_OK ? CMD_FAILED : code;
}

void import_progress(size_t done, size_t count) {
    if (count < 500 || !terminal_is(stderr) || (done % 100 != 0 && done != count))
        return;
    (void)fprintf(stderr, "\r%zu of %zu%s", done, count, done == count ? "\n" : "");
}

static json_t *body_of(const struct import *im, size_t from, size_t to) {
    json_t *tasks = json_array(), *body = json_pack("{s:o, s:b}", "tasks", tasks, "partial", 1);
    bool dry = cmd_has(im->call, "dry-run");
    for (size_t i = from; i < to; i++) {
        json_t *task = json_copy(json_array_get(im->tasks, i));
        /* A dry run adds no projects, so the daemon does not know those of these tasks. */
        if (dry && json_object_get(im->new_projects, get_text(task, "project", ""))) {
            json_object_del(task, "project");
            json_object_del(task, "external_id");
        }
        json_array_append_new(tasks, task);
    }
    if (dry)
        json_object_set_new(body, "dry_run", json_true());
    request_take_options(im->call, submit_batch_options, body);
    if (is_state(im)) /* a task may have the prefix of one project and belong to another */
        json_object_set_new(body, "force", json_true());
    return body;
}

static void take_answer(struct import *im, const json_t *answer, size_t from) {
    size_t i;
    json_t *task;
    json_array_foreach(json_object_get(answer, "tasks"), i, task) {
        json_t *source = json_array_get(im->sources, from + i);
        const char *result = get_text(task, "result", "");
        json_t *list = strcmp(result, "deferred") == 0 ? im->deferred : im->done;
        json_object_set(task, "source", source);
        if (strcmp(result, "new") == 0) { /* a dry run; `result` is freed here */
            json_object_set_new(task, "result", json_string("would be added"));
            json_object_set(task, "task", json_array_get(im->tasks, from + i));
        }
        json_array_append(list, task);
    }
    json_decref(im->warning);
    im->warning = json_incref(json_object_get(answer, "warning"));
}

/* With --json the refusal is the result, unless something was added: that is printed later. */
static int refused(const struct import *im, const struct request *req) {
    bool alone = json_array_size(im->done) + json_array_size(im->deferred) == 0;
    return alone ? request_refused(im->call, req) : request_failed(req);
}

/* A task was refused: tasks that need it must not start without it. */
static void unlink_refused(struct import *im, const char *name) {
    size_t i, k;
    json_t *task, *need;
    json_array_foreach(im->tasks, i, task) {
        const char *source = json_string_value(json_array_get(im->sources, i));
        if (strcmp(get_text(task, "parent", ""), name) == 0) {
            json_object_del(task, "parent");
            add_remark(im->notes, source, "why", "its parent was refused: it has none now");
        }
        json_t *needs = json_object_get(task, "depends_on");
        json_array_foreach(needs, k, need) {
            if (strcmp(json_string_value(need), name) != 0)
                continue;
            json_array_remove(needs, k);
            if (!json_object_get(task, "state"))
                json_object_set_new(task, "hold", json_true());
            add_remark(im->notes, source, "why", "held: a task that it needs was refused");
            break;
        }
    }
}

static int send_batch(struct import *im, struct request *req, size_t from, size_t *to) {
    while (from < *to) {
        if (request_try_post(req, body_of(im, from, *to), "/v1/tasks") == 0) {
            take_answer(im, req->answer, from);
            return CMD_OK;
        }
        if (req->index < 0 || (size_t)req->index >= *to - from)
            return refused(im, req);
        size_t wrong = (size_t)req->index;
        const char *source = json_string_value(json_array_get(im->sources, from + wrong));
        const char *place = json_string_value(json_array_get(im->places, from + wrong));
        (void)error_prefix(&req->err, place ? "%.160s ('%.160s')" : "%.160s",
                           place ? place : source, source);
        /* An unknown name in a task is an error in the task. */
        if (req->err.code == -ENOENT)
            req->err.code = -EINVAL;
        if (!skips_invalid(im))
            return refused(im, req);
        (void)import_refuse(im, source, &req->err);
        if (is_state(im))
            unlink_refused(im, get_text(json_array_get(im->tasks, from + wrong), "name", ""));
        json_array_remove(im->tasks, from + wrong);
        json_array_remove(im->sources, from + wrong);
        json_array_remove(im->places, from + wrong);
        --*to;
    }
    return CMD_OK;
}

/* An epic and its children refer to each other, so requests are as large as possible. */
static size_t batch_size(const struct import *im, size_t from) {
    size_t count = json_array_size(im->tasks) - from, bytes = 0, n = 0;
    /* Each request of a dry run would see the same free capacity. */
    if (cmd_has(im->call, "dry-run") || !skips_invalid(im))
        return count < BATCH_MAX ? count : BATCH_MAX;
    /* Ids of trackers (17, WEB-17) may look like tasks of here: names of a batch come first. */
    size_t most = is_state(im) || im->places ? BATCH_MAX : BATCH;
    for (; n < count && n < most && bytes < STATE_BYTES; n++)
        bytes += json_dumpb(json_array_get(im->tasks, from + n), NULL, 0, JSON_COMPACT);
    return n;
}

static int send_all(struct import *im) {
    if (!skips_invalid(im) && json_array_size(im->tasks) > BATCH_MAX)
        return cmd_usage_error(im->call->cmd,
                               "%zu are too many to be added whole or not at all (%d); use "
                               "--keep-going",
                               json_array_size(im->tasks), BATCH_MAX);
    _cleanup_(request_finish) struct request req = { 0 };
    int code = request_open(&req, REQUEST_START);
    for (size_t from = 0; code == CMD_OK && from < json_array_size(im->tasks);) {
        size_t to = from + batch_size(im, from);
        code = send_batch(im, &req, from, &to);
        from = to;
        import_progress(from, json_array_size(im->tasks));
    }
    return code;
}

static void print_remarks(const json_t *list, const char *before, struct strbuf *out) {
    EACH_ITEM(item, list) {
        cmd_put_line(out, "%s: %s: %s", before, get_text(item, "source", ""),
                     get_text(item, "why", ""));
        output_some(out);
    }
}

/* For the state of another scheduler, before the summary. */
static void print_state(const struct import *im, struct strbuf *out) {
    bool dry = cmd_has(im->call, "dry-run");
    EACH_MEMBER(key, value, im->new_projects) {
        cmd_put_line(out, "project %s: %s", dry ? "would be added" : "added", key);
    }
    print_remarks(im->notes, "note", out);
    print_remarks(im->skipped, "left out", out);
    bool applied = cmd_has(im->call, "settings") && !dry;
    EACH_MEMBER(key, value, im->settings) {
        cmd_put_line(out, applied ? "set: %s=%s" : "to set: sluice config set '%s=%s'", key,
                     json_string_value(value));
    }
}

/* "changed_after_start": 2 as ", 2 changed after start". */
static void print_counts(const struct import *im, struct strbuf *out) {
    bool dry = cmd_has(im->call, "dry-run");
    EACH_MEMBER(what, count, im->counts) {
        if (json_integer_value(count) == 0)
            continue;
        strbuf_printf(out, ", %" JSON_INTEGER_FORMAT " %s", json_integer_value(count),
                      dry && word_in(what, "updated canceled") ? "would be " : "");
        for (const char *at = what; *at; at++)
            strbuf_putc(out, *at == '_' ? ' ' : *at);
    }
}

static void print_text(const struct import *im, struct strbuf *out) {
    size_t added = 0, already = 0;
    bool dry = cmd_has(im->call, "dry-run");
    EACH_ITEM(item, im->done) {
        bool was_there = get_true(item, "already");
        already += was_there;
        added += !was_there;
        const char *id = get_text(item, "id", NULL), *state = NULL;
        const json_t *meta = json_object_get(json_object_get(item, "task"), "meta");
        if (was_there)
            state = get_text(item, "state", "?");
        else if (is_state(im) && dry)
            state = get_text(json_object_get(meta, "import"), "state", "?");
        cmd_put_line(out, "%s%s%s%s%s (%s)", id ? id : "", id ? " " : "",
                     get_text(item, "result", "added"), state ? ": " : "", state ? state : "",
                     get_text(item, "source", ""));
        output_some(out);
    }
    EACH_ITEM(item, im->deferred) {
        cmd_put_line(out, "%s (%s)", dry ? "would be deferred" : "deferred",
                     get_text(item, "source", ""));
        output_some(out);
    }
    if (is_state(im))
        print_state(im, out);
    strbuf_printf(out, "%zu %s, %zu already, %zu skipped, %zu refused", added,
                  dry ? "would be added" : "added", already, json_array_size(im->skipped),
                  json_array_size(im->refused));
    if (json_array_size(im->deferred) > 0)
        strbuf_printf(out, ", %zu deferred", json_array_size(im->deferred));
    print_counts(im, out);
    strbuf_putc(out, '\n');
}

int import_submit(struct import *im) {
    return json_array_size(im->tasks) > 0 ? send_all(im) : CMD_OK;
}

int import_send(struct import *im) {
    return import_report(im, import_submit(im));
}

const json_t *import_known(struct request *req, json_t *cache, const char *project,
                           const char *id) {
    const json_t *known = json_object_get(cache, id);
    if (!known) {
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        strbuf_puts(&path, "/v1/tasks?state=all&limit=1");
        client_query(&path, "external_id", id);
        client_query(&path, "project", project);
        json_t *found = json_null();
        if (request_try_get(req, strbuf_text(&path)) == 0) {
            const json_t *task = json_array_get(json_object_get(req->answer, "items"), 0);
            const char *name = get_text(task, "id", NULL), *dash = name ? strrchr(name, '-') : NULL;
            if (name)
                found = json_pack("{s:s, s:s+, s:s, s:I}", "id", name, "ref", "#",
                                  dash ? dash + 1 : name, "state", get_text(task, "state", ""),
                                  "attempt", (json_int_t)get_int(task, "attempt", 0));
        }
        json_object_set_new(cache, id, found);
        known = json_object_get(cache, id);
    }
    return json_is_object(known) ? known : NULL;
}

int import_report(struct import *im, int code) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    if (code != CMD_OK && json_array_size(im->done) + json_array_size(im->deferred) == 0)
        return code;
    if (im->call->json) {
        (void)output_json(json_incref(im->report));
    } else {
        print_text(im, &out);
        output_rest(&out);
    }
    size_t deferred = json_array_size(im->deferred);
    if (deferred > 0)
        cmd_warn("%zu %s: the queue is full (queue.hard); import again later to continue", deferred,
                 cmd_has(im->call, "dry-run") ? "would be deferred" : "deferred");
    else if (json_is_string(im->warning))
        cmd_warn("%s", json_string_value(im->warning));
    if (code == CMD_OK && (im->damaged || json_array_size(im->refused) > 0))
        return CMD_USAGE;
    return code == CMD_OK && deferred > 0 ? CMD_REFUSED : code;
}

#define TITLE_BYTES 400u
#define NAME_BYTES  128u

const struct cmd_option state_options[] = { STATE_OPTIONS, { NULL } };

int state_open(struct state *s, const struct cmd_call *call, bool file) {
    struct error err = { 0 };
    struct stat st;
    const char *path = call->args[0];
    import_init(&s->im, call);
    s->im.notes = add_list(&s->im, "notes", json_array());
    s->im.settings = add_list(&s->im, "settings", json_object());
    s->im.new_projects = add_list(&s->im, "projects", json_object());
    s->owned = json_array();
    s->items = state_own(s, json_object());
    s->workers = state_own(s, json_object());
    s->ignored = state_own(s, json_object());
    s->now = clock_read();
    s->folder = -1;
    s->root = realpath(path, NULL);
    if (!s->root || stat(s->root, &st) < 0) {
        error_set(&err, -errno, "cannot read '%.200s': %s", path, strerror(errno));
        return cmd_error(&err);
    }
    if (!S_ISDIR(st.st_mode))
        return file ? CMD_OK : cmd_usage_error(call->cmd, "'%s' is not a directory", path);
    s->folder = outside_open(AT_FDCWD, s->root, O_RDONLY | O_DIRECTORY, NULL, &err);
    return s->folder < 0 ? cmd_error(&err) : CMD_OK;
}

void state_finish(struct state *s) {
    if (s->owned && s->folder >= 0)
        (void)close(s->folder);
    import_finish(&s->im);
    json_decref(s->owned);
    free(s->root);
}

json_t *state_own(struct state *s, json_t *value) {
    json_array_append_new(s->owned, value);
    return value;
}

json_t *state_find(const struct state *s, const char *project, const char *id) {
    _cleanup_(freep) char *key = xasprintf("%s/%s", project, id);
    return json_object_get(s->items, key);
}

json_t *state_item(struct state *s, const char *project, const char *id, bool *ret_new) {
    _cleanup_(freep) char *key = xasprintf("%s/%s", project, id);
    json_t *item = json_object_get(s->items, key);
    if (ret_new)
        *ret_new = !item;
    if (item)
        return item;
    (void)state_project(s, project);
    item = json_pack("{s:o, s:o, s:s, s:{s:o, s:o, s:{s:{}}}, s:[]}", "key", json_text(key), "id",
                     json_text(id), "is", "waiting", "task", "external_id", json_text(id),
                     "project", json_text(project), "meta", "import", "needs");
    json_object_set_new(s->items, key, item);
    return item;
}

json_t *state_task(const json_t *item) {
    return json_object_get(item, "task");
}

const char *state_id(const json_t *item) {
    return get_text(item, "id", "");
}

void state_set_title(json_t *item, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT, title = STRBUF_INIT;
    text += strspn(text, " \t\r\n");
    strbuf_add(&line, text, strcspn(text, "\r\n"));
    sanitize_line(strbuf_text(&line), &title);
    size_t size = title.length;
    const char *clean = strbuf_text(&title);
    if (size > TITLE_BYTES) {
        size = TITLE_BYTES;
        while (size > 0 && ((unsigned char)clean[size] & 0xc0u) == 0x80)
            size--;
    }
    if (size > 0)
        state_put(item, "title", json_stringn(clean, size));
}

void state_put(json_t *item, const char *name, json_t *value) {
    json_object_set_new(state_task(item), name, value);
}

void state_put_text(json_t *item, const char *name, const char *text) {
    set_text(state_task(item), name, text && *text ? text : NULL);
}

void state_put_meta(json_t *item, const char *name, json_t *value) {
    json_t *meta = json_object_get(state_task(item), "meta");
    json_object_set_new(json_object_get(meta, "import"), name, value);
}

void state_put_meta_members(json_t *item, const json_t *record, const char *names) {
    copy_members(json_object_get(json_object_get(state_task(item), "meta"), "import"), record,
                 names);
}

void state_add_need(json_t *item, const char *project, const char *id) {
    _cleanup_(freep) char *key = xasprintf("%s/%s", project, id);
    json_t *needs = json_object_get(item, "needs");
    EACH_ITEM(need, needs) {
        if (strcmp(json_string_value(need), key) == 0)
            return;
    }
    json_array_append_new(needs, json_text(key));
}

void state_set_parent(json_t *item, const char *project, const char *id, bool waits) {
    _cleanup_(freep) char *key = xasprintf("%s/%s", project, id);
    json_object_set_new(item, "parent", json_text(key));
    state_put(item, "parent_gate", json_string(waits ? "done" : "none"));
}

bool state_is(const json_t *item, const char *is) {
    return member_is(item, "is", is);
}

static bool is_ended(const json_t *item) {
    return !state_is(item, "waiting running held draft");
}

void state_set(struct state *s, json_t *item, const char *is) {
    json_object_set_new(item, "is", json_string(is));
    if (strcmp(is, "running") == 0)
        state_note(
            s, state_id(item),
            "it was running there and starts again: stop it there, or the work is done twice");
}

bool state_set_from(struct state *s, json_t *item, const char *status,
                    const char *const (*pairs)[2]) {
    while ((*pairs)[0] && strcmp((*pairs)[0], status) != 0)
        pairs++;
    if ((*pairs)[0])
        state_set(s, item, (*pairs)[1]);
    return (*pairs)[0];
}

void state_hold(struct state *s, json_t *item, const char *format, ...) {
    CMD_PRINT_ARGS(why, format);
    bool held = !is_ended(item) && !state_is(item, "draft");
    if (held)
        json_object_set_new(item, "is", json_string("held"));
    state_note(s, state_id(item), "%s%s", held ? "held: " : "", strbuf_text(&why));
}

void state_set_rank(json_t *item, double rank) {
    json_object_set_new(item, "rank", json_real(rank));
}

void state_set_created(const struct state *s, json_t *item, time_ms at) {
    if (at > 0)
        state_put(item, "created_at", json_integer(time_min(at, s->now)));
}

void state_report(struct state *s, enum state_report what, const char *source, const char *format,
                  ...) {
    CMD_PRINT_ARGS(why, format);
    add_remark(what == STATE_NOTE ? s->im.notes : s->im.skipped, source, "why", strbuf_text(&why));
    s->im.damaged |= what == STATE_DAMAGED;
}

void state_note_unknown(struct state *s, const json_t *object, const char *known) {
    EACH_MEMBER(key, value, object) {
        if (word_in(key, known) || json_object_get(s->ignored, key))
            continue;
        json_object_set_new(s->ignored, key, json_true());
        state_note(s, key, "this member of the records is not known and was not read");
    }
}

void state_setting(struct state *s, const char *key, const json_t *value) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (json_is_string(value))
        strbuf_puts(&text, json_string_value(value));
    else if (json_is_real(value))
        strbuf_printf(&text, "%g", json_real_value(value));
    else if (json_is_integer(value) || json_is_boolean(value))
        output_put_json(value, &text);
    while (text.length > 0 && text.text[text.length - 1] == '\n')
        text.text[--text.length] = '\0';
    if (text.length > 0)
        json_object_set_new(s->im.settings, key, json_text(strbuf_text(&text)));
}

json_t *state_project(struct state *s, const char *name) {
    json_t *settings = json_object_get(s->im.new_projects, name);
    if (!settings) {
        settings = json_object();
        json_object_set_new(s->im.new_projects, name, settings);
    }
    return settings;
}

/* Holds items that need something that does not exist. */
static void check_links(struct state *s, json_t *item) {
    json_t *needs = json_object_get(item, "needs");
    for (size_t i = 0; i < json_array_size(needs);) {
        const char *key = json_string_value(json_array_get(needs, i));
        const json_t *other = json_object_get(s->items, key);
        if (other && state_is(other, "failed canceled") && !is_ended(item))
            state_note(s, state_id(item),
                       "it needs '%s', which has %s: it waits until you retry that",
                       state_id(other), state_is(other, "failed") ? "failed" : "been canceled");
        if (other) {
            i++;
            continue;
        }
        state_hold(s, item, "it needs '%s', which does not exist", strchr(key, '/') + 1);
        state_put_meta(item, "missing", json_text(strchr(key, '/') + 1));
        json_array_remove(needs, i);
    }
    const char *parent = get_text(item, "parent", NULL);
    if (!parent || json_object_get(s->items, parent))
        return;
    state_note(s, state_id(item), "its parent '%s' does not exist", strchr(parent, '/') + 1);
    json_object_del(item, "parent");
    json_object_del(state_task(item), "parent_gate");
}

struct sorting {
    struct state *state;
    json_t **sorted;
    size_t count;
    json_t **path; /* from the first item to this one */
    size_t depth;
};

/* The items of the path from `first` on form a cycle. */
static void break_cycle(struct sorting *sort, const json_t *first) {
    _cleanup_(strbuf_finish) struct strbuf cycle = STRBUF_INIT;
    size_t from = sort->depth;
    do
        from--;
    while (sort->path[from] != first);
    for (size_t i = from; i < sort->depth; i++)
        strbuf_printf(&cycle, "%s -> ", state_id(sort->path[i]));
    strbuf_puts(&cycle, state_id(first));
    for (size_t i = from; i < sort->depth; i++) {
        json_t *item = sort->path[i], *needs = json_object_get(item, "needs");
        const char *next = get_text(i + 1 < sort->depth ? sort->path[i + 1] : first, "key", "");
        for (size_t k = json_array_size(needs); k-- > 0;)
            if (strcmp(json_string_value(json_array_get(needs, k)), next) == 0)
                json_array_remove(needs, k);
        if (strcmp(get_text(item, "parent", ""), next) == 0)
            json_object_del(item, "parent");
        state_put_meta(item, "cycle", json_text(strbuf_text(&cycle)));
        state_hold(sort->state, item, "they need each other: %s", strbuf_text(&cycle));
    }
}

/* Depth first: dependencies come first. */
static void visit(struct sorting *sort, json_t *item) {
    int64_t mark = get_int(item, "visited", 0);
    if (mark == 1)
        break_cycle(sort, item);
    if (mark != 0)
        return;
    json_object_set_new(item, "visited", json_integer(1));
    sort->path[sort->depth++] = item;
    json_auto_t *needs = json_copy(json_object_get(item, "needs"));
    json_t *parent = json_object_get(sort->state->items, get_text(item, "parent", ""));
    if (parent && member_is(state_task(item), "parent_gate", "done"))
        json_array_append(needs, json_object_get(item, "parent"));
    EACH_ITEM(need, needs) {
        json_t *other = json_object_get(sort->state->items, json_string_value(need));
        if (other)
            visit(sort, other);
    }
    sort->depth--;
    json_object_set_new(item, "visited", json_integer(2));
    sort->sorted[sort->count++] = item;
}

static int class_of(const json_t *item) {
    return is_ended(item) ? 0 : state_is(item, "running") ? 1 : state_is(item, "waiting") ? 2 : 3;
}

/* Ended, running, waiting by rank, held; then by creation time and id. */
static int compare_items(const void *a, const void *b) {
    json_t *x = *(json_t *const *)a, *y = *(json_t *const *)b;
    double rank_x = get_real(x, "rank", HUGE_VAL), rank_y = get_real(y, "rank", HUGE_VAL);
    int64_t at_x = get_int(state_task(x), "created_at", 0);
    int64_t at_y = get_int(state_task(y), "created_at", 0);
    if (class_of(x) != class_of(y))
        return class_of(x) - class_of(y);
    if (!is_ended(x) && (rank_x < rank_y || rank_x > rank_y))
        return rank_x < rank_y ? -1 : 1;
    if (at_x != at_y)
        return at_x < at_y ? -1 : 1;
    return strverscmp(state_id(x), state_id(y));
}

static bool reaches(const struct state *s, const json_t *item, const char *key, json_t *seen) {
    EACH_ITEM(need, json_object_get(item, "needs")) {
        const char *next = json_string_value(need);
        if (strcmp(next, key) == 0)
            return true;
        if (json_object_get(seen, next))
            continue;
        json_object_set_new(seen, next, json_true());
        if (reaches(s, json_object_get(s->items, next), key, seen))
            return true;
    }
    return false;
}

/* The name for references within the batch: its id, unless another project has the same one. */
static void set_names(json_t *const *sorted, size_t count) {
    json_auto_t *seen = json_object();
    for (size_t i = 0; i < count; i++) {
        const char *id = state_id(sorted[i]), *key = get_text(sorted[i], "key", "");
        const char *name = json_object_get(seen, id) ? key : id;
        json_object_set_new(seen, id, json_true());
        json_object_set_new(state_task(sorted[i]), "name", json_text(name));
    }
}

static json_t *name_of(const struct state *s, const char *key) {
    return json_incref(json_object_get(state_task(json_object_get(s->items, key)), "name"));
}

static void add_worker(void *ctx, const json_t *agent) {
    if (get_true(agent, "roster"))
        json_object_set_new(ctx, get_text(agent, "name", ""), json_true());
}

/* An agent that is not on the roster takes no work: then any worker does, as there. */
static void set_agent(struct state *s, json_t *item) {
    json_t *task = state_task(item);
    const char *agent = get_text(task, "agent", NULL), *given = cmd_value(s->im.call, "agent");
    bool has_roster = json_object_size(s->workers) > 0;
    if (json_object_get(task, "argv"))
        return;
    if (agent && has_roster && !json_object_get(s->workers, agent)) {
        state_put_meta(item, "agent", json_text(agent));
        json_object_del(task, "agent");
        agent = NULL;
    }
    if (!agent && (given || !has_roster))
        json_object_set_new(task, "agent", json_text(given ? given : "claude"));
}

static void finish_task(struct state *s, json_t *item) {
    const json_t *needs = json_object_get(item, "needs");
    const char *is = get_text(item, "is", ""), *parent = get_text(item, "parent", NULL);
    if (json_array_size(needs) > 0) {
        json_t *names = json_array();
        EACH_ITEM(need, needs) {
            json_array_append_new(names, name_of(s, json_string_value(need)));
        }
        state_put(item, "depends_on", names);
    }
    if (parent)
        state_put(item, "parent", name_of(s, parent));
    if (is_ended(item))
        state_put(item, "state", json_string(is));
    else if (strcmp(is, "held") == 0)
        state_put(item, "hold", json_true());
    else if (strcmp(is, "draft") == 0)
        state_put(item, "draft", json_true());
    set_agent(s, item);
    state_put_meta(item, "from", json_string(cmd_name(s->im.call->cmd)));
    state_put_meta(item, "state", json_string(is));
}

static void remove_known(void *ctx, const json_t *project) {
    json_object_del(ctx, get_text(project, "name", ""));
}

/* Only projects with items, and unknown to the daemon. */
static int add_projects(struct state *s, json_t *const *sorted, size_t count, struct request *req) {
    json_t *all = json_object();
    for (size_t i = 0; i < count; i++) {
        const char *name = get_text(state_task(sorted[i]), "project", "");
        json_object_set(all, name, state_project(s, name));
    }
    s->im.new_projects = add_list(&s->im, "projects", all);
    int code = request_pages(req, "/v1/projects?limit=1000", 1000000, remove_known, all);
    if (code != CMD_OK || cmd_has(s->im.call, "dry-run"))
        return code;
    EACH_MEMBER(name, settings, all) {
        json_auto_t *body = json_copy(settings);
        json_object_set_new(body, "name", json_text(name));
        if (request_try_post(req, json_incref(body), "/v1/projects") == 0)
            continue;
        state_note(s, name, "the project has neither prefix nor path of there: %s", req->err.text);
        json_object_del(body, "prefix");
        json_object_del(body, "path");
        code = request_post(req, json_incref(body), "/v1/projects");
        if (code != CMD_OK)
            break;
    }
    return code;
}

/* Dispatch was paused there. Only on the first import: the user may have resumed since. */
static int keep_paused(struct state *s, const json_t *item, struct request *req) {
    state_note(
        s, s->im.call->args[0],
        "dispatch was paused there: the first import pauses it here; 'sluice resume' ends that");
    if (!item || cmd_has(s->im.call, "dry-run") || request_try_task(req, state_id(item)) == 0)
        return CMD_OK;
    return request_post(req, NULL, "/v1/pause");
}

int state_send(struct state *s) {
    size_t count = json_object_size(s->items), at = 0;
    json_t **list = xcalloc(count + 1, sizeof(json_t *));
    struct sorting sort = { .state = s,
                            .sorted = xcalloc(count + 1, sizeof(json_t *)),
                            .path = xcalloc(count + 1, sizeof(json_t *)) };
    EACH_MEMBER(key, item, s->items) {
        check_links(s, item);
        list[at++] = item;
    }
    qsort(list, count, sizeof(*list), compare_items);
    for (size_t i = 0; i < count; i++)
        visit(&sort, list[i]);
    set_names(sort.sorted, count);
    _cleanup_(request_finish) struct request req = { 0 };
    int code = request_open(&req, REQUEST_START);
    if (code == CMD_OK)
        code = request_pages(&req, "/v1/agents?limit=1000", 1000000, add_worker, s->workers);
    for (size_t i = 0; i < count; i++) {
        json_t *item = sort.sorted[i];
        /* A parent ends after the children that do not wait for it. A child that needs its parent
         * in another way waits for it; otherwise they would wait for each other. */
        const char *parent = get_text(item, "parent", NULL);
        json_auto_t *seen = json_object();
        if (parent && reaches(s, item, parent, seen))
            state_put(item, "parent_gate", json_string("done"));
        finish_task(s, item);
        import_add(&s->im, state_id(item), json_incref(state_task(item)));
    }
    if (code == CMD_OK && cmd_has(s->im.call, "settings") && !cmd_has(s->im.call, "dry-run")
        && json_object_size(s->im.settings) > 0)
        code = request_post(&req, json_pack("{s:O}", "set", s->im.settings), "/v1/config");
    if (code == CMD_OK)
        code = add_projects(s, sort.sorted, count, &req);
    if (code == CMD_OK && s->paused)
        code = keep_paused(s, count > 0 ? sort.sorted[0] : NULL, &req);
    free(list);
    free(sort.sorted);
    free(sort.path);
    return code == CMD_OK ? import_send(&s->im) : code;
}

#define NAMES_MAX 100000u

static const struct yaml_limits yaml_limits = { STATE_FILE_MAX, 32, 2000000 };

static int read_bytes(const struct state *s, const char *path, struct strbuf *out,
                      struct error *err) {
    bool is_file = s->folder < 0;
    return outside_read(is_file ? AT_FDCWD : s->folder, is_file ? s->root : path, 0, STATE_FILE_MAX,
                        out, err);
}

static int read_text(const struct state *s, const char *path, struct strbuf *out,
                     struct error *err) {
    int r = read_bytes(s, path, out, err);
    if (r == 0 && !utf8_is_clean(strbuf_text(out), out->length))
        r = error_set(err, -EINVAL, "'%.200s' is not text", path);
    return r;
}

int state_read(const struct state *s, struct strbuf *out, struct error *err, const char *format,
               ...) {
    CMD_PRINT_ARGS(path, format);
    return read_text(s, strbuf_text(&path), out, err);
}

unsigned state_mode(const struct state *s, const char *format, ...) {
    CMD_PRINT_ARGS(path, format);
    struct stat st;
    if (s->folder < 0 || fstatat(s->folder, strbuf_text(&path), &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    return st.st_mode;
}

static int by_version(const void *a, const void *b) {
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

json_t *state_list(const struct state *s, const char *format, ...) {
    CMD_PRINT_ARGS(path, format);
    json_t *names = json_array();
    _cleanup_(folder_close) struct folder folder;
    (void)outside_folder(&folder, s->folder, path.length > 0 ? strbuf_text(&path) : ".");
    char **list = NULL;
    size_t count = 0, capacity = 0;
    for (const char *name; count < NAMES_MAX && (name = folder_next(&folder));) {
        if (name[0] == '.')
            continue;
        list = xgrow(list, &capacity, count + 1, sizeof(*list));
        list[count++] = xstrdup(name);
    }
    if (count > 0)
        qsort(list, count, sizeof(*list), by_version);
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(names, json_text(list[i]));
        free(list[i]);
    }
    free(list);
    return names;
}

json_t *state_yaml(struct state *s, struct error *err, const char *format, ...) {
    CMD_PRINT_ARGS(path, format);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    _cleanup_(yaml_finish) struct yaml yaml = { 0 };
    struct error own = { 0 };
    const char *name = strbuf_text(&path);
    int r = read_text(s, name, &text, err ? err : &own);
    if (r == 0)
        r = yaml_parse(name, strbuf_text(&text), text.length, &yaml_limits, &yaml,
                       err ? err : &own);
    if (r < 0 && r != -ENOENT && !err)
        state_damaged(s, name, "%s", own.text);
    json_t *value = NULL;
    if (r == 0)
        (void)yaml_json(NULL, yaml.root, true, &value, NULL);
    return value;
}

json_t *state_json(struct state *s, const char *path) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    json_error_t problem;
    struct error err = { 0 };
    int r = read_text(s, path, &text, &err);
    json_t *value =
        r == 0 ? json_loadb(strbuf_text(&text), text.length, JSON_DECODE_ANY, &problem) : NULL;
    if (r < 0 && r != -ENOENT)
        state_damaged(s, path, "%s", err.text);
    else if (r == 0 && !value)
        state_damaged(s, path, "%.200s:%d: not JSON: %s", path, problem.line, problem.text);
    return value;
}

int state_lines(struct state *s, const char *path, state_each each, void *ctx, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, source = STRBUF_INIT;
    int r = read_bytes(s, path, &text, err); /* an invalid line must not invalidate the file */
    if (r < 0)
        return r;
    const char *at = strbuf_text(&text), *end = at + text.length;
    for (unsigned number = 1; at < end; number++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline : end;
        size_t size = (size_t)(stop - at);
        while (size > 0 && strchr(" \t\r", at[size - 1]))
            size--;
        json_auto_t *record = size > 0 ? json_loadb(at, size, 0, NULL) : NULL;
        strbuf_clear(&source);
        strbuf_printf(&source, "%s:%u", path, number);
        if (json_is_object(record))
            each(s, record, strbuf_text(&source), ctx);
        else if (size > 0)
            state_damaged(s, strbuf_text(&source), "the line is not a JSON object");
        at = newline ? newline + 1 : end;
    }
    return 0;
}

time_ms state_time(const char *text) {
    struct tm tm = { 0 };
    int length = 0, zone_h = 0, zone_m = 0;
    if (!text || sscanf(text, "%4d-%2d-%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &length) != 3
        || tm.tm_year < 1970)
        return 0;
    text += length;
    length = 0;
    if (*text == 'T' || *text == ' ')
        if (sscanf(text + 1, "%2d:%2d:%2d%n", &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &length) != 3)
            return 0;
    text += length > 0 ? length + 1 : 0;
    time_ms ms = 0, unit = 100;
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10)
            ms += (*text - '0') * unit;
    int sign = *text == '+' ? -1 : *text == '-' ? 1 : 0;
    if (sign != 0 && sscanf(text + 1, "%2d:%2d", &zone_h, &zone_m) == 2) {
        tm.tm_hour += sign * zone_h;
        tm.tm_min += sign * zone_m;
    }
    tm.tm_year -= 1900;
    tm.tm_mon--;
    return (time_ms)timegm(&tm) * 1000 + ms;
}

int state_usage_error(const struct state *s, const char *what) {
    return cmd_usage_error(s->im.call->cmd, "there is %s in '%s'", what, s->im.call->args[0]);
}

const struct cmd cmd_import = {
    "import", .subs = CMD_LIST(&import_agency, &import_agent_queue, &import_beads, &import_cards,
                               &import_command, &import_conductor, &import_gastown, &import_loopr)
};
