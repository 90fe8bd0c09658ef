/* import.c: see import.h. */
#include "cli/import.h"

#include <errno.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/output.h"
#include "cli/sanitize.h"
#include "cli/submit.h"
#include "os/terminal.h"

#define PIECE      100   /* tasks in one question, with --keep-going */
#define WHOLE_MOST 10000 /* tasks in one question without it */

void import_init(struct import *im, const struct cmd_call *call) {
    *im = (struct import){ .call = call,
                           .tasks = json_array(),
                           .sources = json_array(),
                           .done = json_array(),
                           .skipped = json_array(),
                           .refused = json_array(),
                           .deferred = json_array() };
}

void import_finish(struct import *im) {
    json_decref(im->tasks);
    json_decref(im->sources);
    json_decref(im->done);
    json_decref(im->skipped);
    json_decref(im->refused);
    json_decref(im->deferred);
    json_decref(im->warning);
}

void import_add(struct import *im, const char *source, json_t *task) {
    static const char *const options[] = { "project", "agent", "kind" };
    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        const char *value = cmd_value(im->call, options[i]);
        if (value && !json_object_get(task, options[i]))
            json_object_set_new(task, options[i], ask_string(value));
    }
    json_array_append_new(im->tasks, task);
    json_array_append_new(im->sources, ask_string(source));
}

void import_skip(struct import *im, const char *source, const char *why) {
    cmd_warn("%s skipped: %s", source, why);
    json_array_append_new(im->skipped,
                          json_pack("{s:o, s:s}", "source", ask_string(source), "why", why));
}

int import_refuse(struct import *im, const char *source, const struct error *err) {
    int code = cmd_error(err);
    json_array_append_new(im->refused, json_pack("{s:o, s:o}", "source", ask_string(source),
                                                 "error", ask_string(err->text)));
    return cmd_has(im->call, "keep-going") ? CMD_OK : code == CMD_OK ? CMD_FAILED : code;
}

void import_progress(size_t done, size_t count) {
    if (count < 500 || !terminal_is(stderr) || (done % 100 != 0 && done != count))
        return;
    (void)fprintf(stderr, "\r%zu of %zu%s", done, count, done == count ? "\n" : "");
}

/* --- asking ---------------------------------------------------------------------------------- */

static json_t *body_of(const struct import *im, size_t from, size_t to) {
    json_t *tasks = json_array(), *body = json_object();
    for (size_t i = from; i < to; i++)
        json_array_append(tasks, json_array_get(im->tasks, i));
    json_object_set_new(body, "tasks", tasks);
    json_object_set_new(body, "partial", json_true());
    if (cmd_has(im->call, "dry-run"))
        json_object_set_new(body, "dry_run", json_true());
    ask_take_options(im->call, submit_batch_options, body);
    return body;
}

static void take_answer(struct import *im, const json_t *answer, size_t from) {
    size_t i;
    json_t *task;
    json_array_foreach(json_object_get(answer, "tasks"), i, task) {
        json_t *source = json_array_get(im->sources, from + i);
        const char *result = ask_text(task, "result", "");
        json_object_set(task, "source", source);
        if (strcmp(result, "new") == 0) { /* a dry run */
            json_object_set_new(task, "result", json_string("would be added"));
            json_object_set(task, "task", json_array_get(im->tasks, from + i));
        }
        json_array_append(strcmp(result, "deferred") == 0 ? im->deferred : im->done, task);
    }
    json_decref(im->warning);
    im->warning = json_incref(json_object_get(answer, "warning"));
}

/* What was added before is printed later; else the refusal is all there is. */
static int refused(const struct import *im, const struct ask *ask) {
    bool alone = json_array_size(im->done) + json_array_size(im->deferred) == 0;
    return alone ? ask_refused(im->call, ask) : ask_failed(ask);
}

static int send_part(struct import *im, struct ask *ask, size_t from, size_t *to) {
    while (from < *to) {
        if (ask_try_post(ask, body_of(im, from, *to), "/v1/tasks") == 0) {
            take_answer(im, ask->answer, from);
            return CMD_OK;
        }
        if (ask->index < 0 || (size_t)ask->index >= *to - from)
            return refused(im, ask);
        size_t wrong = (size_t)ask->index;
        const char *source = json_string_value(json_array_get(im->sources, from + wrong));
        (void)error_prefix(&ask->err, "%.160s", source);
        /* A name in a task that nobody knows is a mistake in the task. */
        if (ask->err.code == -ENOENT)
            ask->err.code = -EINVAL;
        if (!cmd_has(im->call, "keep-going"))
            return refused(im, ask);
        (void)import_refuse(im, source, &ask->err);
        json_array_remove(im->tasks, from + wrong);
        json_array_remove(im->sources, from + wrong);
        --*to;
    }
    return CMD_OK;
}

static int send_all(struct import *im) {
    /* In one question where possible: each question of a dry run finds the same room. */
    bool dry = cmd_has(im->call, "dry-run");
    size_t piece = cmd_has(im->call, "keep-going") && !dry ? PIECE : WHOLE_MOST;
    if (!cmd_has(im->call, "keep-going") && json_array_size(im->tasks) > WHOLE_MOST)
        return cmd_usage_error(im->call->cmd,
                               "%zu are too many to be added whole or not at all (%d); use "
                               "--keep-going",
                               json_array_size(im->tasks), WHOLE_MOST);
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open(&ask, ASK_START);
    for (size_t from = 0; code == CMD_OK && from < json_array_size(im->tasks);) {
        size_t to =
            from + piece < json_array_size(im->tasks) ? from + piece : json_array_size(im->tasks);
        code = send_part(im, &ask, from, &to);
        from = to;
        import_progress(from, json_array_size(im->tasks));
    }
    return code;
}

/* --- telling --------------------------------------------------------------------------------- */

static void print_source(const json_t *item, struct strbuf *out) {
    strbuf_puts(out, " (");
    sanitize_line(ask_text(item, "source", ""), out);
    strbuf_puts(out, ")\n");
    output_some(out);
}

static void print_text(const struct import *im, struct strbuf *out) {
    size_t i, added = 0, already = 0;
    json_t *item;
    json_array_foreach(im->done, i, item) {
        bool was_there = ask_true(item, "already");
        already += was_there;
        added += !was_there;
        if (ask_text(item, "id", NULL)) {
            sanitize_line(ask_text(item, "id", "?"), out);
            strbuf_putc(out, ' ');
        }
        strbuf_puts(out, ask_text(item, "result", "added"));
        if (was_there)
            strbuf_printf(out, ": %s", ask_text(item, "state", "?"));
        print_source(item, out);
    }
    json_array_foreach(im->deferred, i, item) {
        strbuf_puts(out, cmd_has(im->call, "dry-run") ? "would be deferred" : "deferred");
        print_source(item, out);
    }
    strbuf_printf(out, "%zu %s, %zu already, %zu skipped, %zu refused", added,
                  cmd_has(im->call, "dry-run") ? "would be added" : "added", already,
                  json_array_size(im->skipped), json_array_size(im->refused));
    if (json_array_size(im->deferred) > 0)
        strbuf_printf(out, ", %zu deferred", json_array_size(im->deferred));
    strbuf_putc(out, '\n');
}

static void warn(const struct import *im) {
    size_t deferred = json_array_size(im->deferred);
    const char *warning = json_string_value(im->warning);
    if (deferred > 0)
        cmd_warn("%zu %s: the queue is full (queue.hard); import again later to continue", deferred,
                 cmd_has(im->call, "dry-run") ? "would be deferred" : "deferred");
    else if (warning)
        cmd_warn("%s", warning);
}

int import_send(struct import *im) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    int code = CMD_OK;
    if (json_array_size(im->tasks) > 0)
        code = send_all(im);
    if (code != CMD_OK && json_array_size(im->done) + json_array_size(im->deferred) == 0)
        return code;
    if (im->call->json) {
        json_t *all = json_pack("{s:O, s:O, s:O, s:O}", "tasks", im->done, "skipped", im->skipped,
                                "refused", im->refused, "deferred", im->deferred);
        ask_dump(all, &out);
        json_decref(all);
    } else {
        print_text(im, &out);
    }
    output_rest(&out);
    warn(im);
    if (code == CMD_OK && json_array_size(im->refused) > 0)
        return CMD_USAGE;
    return code == CMD_OK && json_array_size(im->deferred) > 0 ? CMD_REFUSED : code;
}
