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
                           .refused = json_array() };
}

void import_finish(struct import *im) {
    json_decref(im->tasks);
    json_decref(im->sources);
    json_decref(im->done);
    json_decref(im->skipped);
    json_decref(im->refused);
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
    ask_take_options(im->call, submit_batch_options, body);
    return body;
}

static void take_answer(struct import *im, const json_t *answer, size_t from) {
    size_t i;
    json_t *task;
    json_array_foreach(json_object_get(answer, "tasks"), i, task) {
        json_object_set(task, "source", json_array_get(im->sources, from + i));
        json_array_append(im->done, task);
    }
    const char *warning = ask_text(answer, "warning", NULL);
    if (warning)
        cmd_warn("%s", warning);
}

static int send_part(struct import *im, struct ask *ask, size_t from, size_t *to) {
    while (from < *to) {
        if (ask_try_post(ask, body_of(im, from, *to), "/v1/tasks") == 0) {
            take_answer(im, ask->answer, from);
            return CMD_OK;
        }
        if (ask->index < 0 || (size_t)ask->index >= *to - from)
            return ask_failed(ask);
        size_t wrong = (size_t)ask->index;
        const char *source = json_string_value(json_array_get(im->sources, from + wrong));
        (void)error_prefix(&ask->err, "%.160s", source);
        /* A name in a task that nobody knows is a mistake in the task. */
        if (ask->err.code == -ENOENT)
            ask->err.code = -EINVAL;
        if (!cmd_has(im->call, "keep-going"))
            return ask_failed(ask);
        (void)import_refuse(im, source, &ask->err);
        json_array_remove(im->tasks, from + wrong);
        json_array_remove(im->sources, from + wrong);
        --*to;
    }
    return CMD_OK;
}

static int send_all(struct import *im) {
    size_t piece = cmd_has(im->call, "keep-going") ? PIECE : WHOLE_MOST;
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

static void pretend(struct import *im) {
    size_t i;
    json_t *task;
    json_array_foreach(im->tasks, i, task) {
        json_array_append_new(im->done,
                              json_pack("{s:O, s:s, s:O}", "source", json_array_get(im->sources, i),
                                        "result", "would be added", "task", task));
    }
}

static void print_text(const struct import *im, struct strbuf *out) {
    size_t i, added = 0, already = 0;
    json_t *item;
    json_array_foreach(im->done, i, item) {
        bool was_there = ask_true(item, "already");
        already += was_there;
        added += !was_there;
        if (json_object_get(item, "id")) {
            sanitize_line(ask_text(item, "id", "?"), out);
            strbuf_putc(out, ' ');
        }
        strbuf_puts(out, ask_text(item, "result", "added"));
        if (was_there)
            strbuf_printf(out, ": %s", ask_text(item, "state", "?"));
        strbuf_puts(out, " (");
        sanitize_line(ask_text(item, "source", ""), out);
        strbuf_puts(out, ")\n");
        output_some(out);
    }
    strbuf_printf(out, "%zu %s, %zu already, %zu skipped, %zu refused\n", added,
                  cmd_has(im->call, "dry-run") ? "would be added" : "added", already,
                  json_array_size(im->skipped), json_array_size(im->refused));
}

int import_send(struct import *im) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    int code = CMD_OK;
    if (cmd_has(im->call, "dry-run"))
        pretend(im);
    else if (json_array_size(im->tasks) > 0)
        code = send_all(im);
    if (code != CMD_OK && json_array_size(im->done) == 0)
        return code;
    if (im->call->json) {
        json_t *all = json_pack("{s:O, s:O, s:O}", "tasks", im->done, "skipped", im->skipped,
                                "refused", im->refused);
        ask_dump(all, &out);
        json_decref(all);
    } else {
        print_text(im, &out);
    }
    output_rest(&out);
    return code != CMD_OK ? code : json_array_size(im->refused) > 0 ? CMD_USAGE : CMD_OK;
}
