/* import.c: see import.h. */
#include <errno.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/import.h"
#include "cli/submit.h"
#include "os/terminal.h"

#define PIECE       100         /* tasks in one question, with --keep-going */
#define WHOLE_MOST  10000       /* tasks in one question without it */
#define STATE_BYTES (10u << 20) /* of one question, of the state of another system */

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
    json_decref(im->notes);
    json_decref(im->settings);
    json_decref(im->new_projects);
}

void import_note(struct import *im, const char *source, const char *why) {
    json_array_append_new(
        im->notes, json_pack("{s:o, s:o}", "source", ask_string(source), "why", ask_string(why)));
}

/* The state of another system: what can be added is added, whatever is wrong with the others. */
static bool is_state(const struct import *im) {
    return im->notes != NULL;
}

static bool goes_on(const struct import *im) {
    return is_state(im) || cmd_has(im->call, "keep-going");
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
    if (!is_state(im)) /* else it is in the report */
        cmd_warn("%s skipped: %s", source, why);
    json_array_append_new(im->skipped,
                          json_pack("{s:o, s:s}", "source", ask_string(source), "why", why));
}

int import_refuse(struct import *im, const char *source, const struct error *err) {
    int code = cmd_error(err);
    json_array_append_new(im->refused, json_pack("{s:o, s:o}", "source", ask_string(source),
                                                 "error", ask_string(err->text)));
    return goes_on(im) ? CMD_OK : code == CMD_OK ? CMD_FAILED : code;
}

void import_progress(size_t done, size_t count) {
    if (count < 500 || !terminal_is(stderr) || (done % 100 != 0 && done != count))
        return;
    (void)fprintf(stderr, "\r%zu of %zu%s", done, count, done == count ? "\n" : "");
}

/* --- asking ---------------------------------------------------------------------------------- */

/* A dry run does not add projects, so that the daemon cannot know those of these tasks. */
static json_t *task_to_send(const struct import *im, size_t index) {
    json_t *task = json_array_get(im->tasks, index);
    const char *project = ask_text(task, "project", "");
    if (!cmd_has(im->call, "dry-run") || !json_object_get(im->new_projects, project))
        return json_incref(task);
    json_t *copy = json_copy(task);
    json_object_del(copy, "project");
    json_object_del(copy, "external_id");
    return copy;
}

static json_t *body_of(const struct import *im, size_t from, size_t to) {
    json_t *tasks = json_array(), *body = json_object();
    for (size_t i = from; i < to; i++)
        json_array_append_new(tasks, task_to_send(im, i));
    json_object_set_new(body, "tasks", tasks);
    json_object_set_new(body, "partial", json_true());
    if (cmd_has(im->call, "dry-run"))
        json_object_set_new(body, "dry_run", json_true());
    ask_take_options(im->call, submit_batch_options, body);
    if (is_state(im)) /* a task may have the prefix of one project and belong to another */
        json_object_set_new(body, "force", json_true());
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

/* A task was refused: those that need it must not start without it. */
static void unlink_from(struct import *im, const char *name) {
    size_t i, k;
    json_t *task, *need;
    json_array_foreach(im->tasks, i, task) {
        const char *source = json_string_value(json_array_get(im->sources, i));
        if (strcmp(ask_text(task, "parent", ""), name) == 0) {
            json_object_del(task, "parent");
            import_note(im, source, "its parent was refused: it has none now");
        }
        json_t *needs = json_object_get(task, "depends_on");
        json_array_foreach(needs, k, need) {
            if (strcmp(json_string_value(need), name) != 0)
                continue;
            json_array_remove(needs, k);
            if (!json_object_get(task, "state"))
                json_object_set_new(task, "hold", json_true());
            import_note(im, source, "held: a task that it needs was refused");
            break;
        }
    }
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
        if (!goes_on(im))
            return refused(im, ask);
        (void)import_refuse(im, source, &ask->err);
        if (is_state(im))
            unlink_from(im, ask_text(json_array_get(im->tasks, from + wrong), "name", ""));
        json_array_remove(im->tasks, from + wrong);
        json_array_remove(im->sources, from + wrong);
        --*to;
    }
    return CMD_OK;
}

/* How many of the tasks from `from` on go into one question. An epic and its children refer to each other, so as
 * many as possible. */
static size_t piece_of(const struct import *im, size_t from) {
    size_t count = json_array_size(im->tasks) - from, bytes = 0, n = 0;
    if (cmd_has(im->call, "dry-run")
        || !goes_on(im)) /* each question of a dry run finds the same room */
        return count < WHOLE_MOST ? count : WHOLE_MOST;
    if (!is_state(im))
        return count < PIECE ? count : PIECE;
    for (; n < count && n < WHOLE_MOST && bytes < STATE_BYTES; n++)
        bytes += json_dumpb(json_array_get(im->tasks, from + n), NULL, 0, JSON_COMPACT);
    return n;
}

static int send_all(struct import *im) {
    if (!goes_on(im) && json_array_size(im->tasks) > WHOLE_MOST)
        return cmd_usage_error(im->call->cmd,
                               "%zu are too many to be added whole or not at all (%d); use "
                               "--keep-going",
                               json_array_size(im->tasks), WHOLE_MOST);
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open(&ask, ASK_START);
    for (size_t from = 0; code == CMD_OK && from < json_array_size(im->tasks);) {
        size_t to = from + piece_of(im, from);
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

static void print_why(const json_t *list, const char *before, struct strbuf *out) {
    ASK_EACH(item, list) {
        strbuf_puts(out, before);
        sanitize_line(ask_text(item, "source", ""), out);
        strbuf_puts(out, ": ");
        sanitize_line(ask_text(item, "why", ""), out);
        strbuf_putc(out, '\n');
        output_some(out);
    }
}

/* Before the summary of an import of a complete state. */
static void print_state(const struct import *im, struct strbuf *out) {
    const char *key;
    json_t *value;
    bool dry = cmd_has(im->call, "dry-run");
    json_object_foreach(im->new_projects, key, value) {
        strbuf_puts(out, dry ? "project would be added: " : "project added: ");
        sanitize_line(key, out);
        strbuf_putc(out, '\n');
    }
    print_why(im->notes, "note: ", out);
    print_why(im->skipped, "left out: ", out);
    bool applied = cmd_has(im->call, "settings") && !dry;
    json_object_foreach(im->settings, key, value) {
        strbuf_puts(out, applied ? "set: " : "to set: sluice config set '");
        sanitize_line(key, out);
        strbuf_putc(out, '=');
        sanitize_line(json_string_value(value), out);
        strbuf_puts(out, applied ? "\n" : "'\n");
    }
}

/* What it is in the other system. */
static const char *state_there(const json_t *item) {
    const json_t *meta = json_object_get(json_object_get(item, "task"), "meta");
    return ask_text(json_object_get(meta, "import"), "state", "?");
}

static void print_text(const struct import *im, struct strbuf *out) {
    size_t added = 0, already = 0;
    ASK_EACH(item, im->done) {
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
        else if (is_state(im) && cmd_has(im->call, "dry-run"))
            strbuf_printf(out, ": %s", state_there(item));
        print_source(item, out);
    }
    ASK_EACH(item, im->deferred) {
        strbuf_puts(out, cmd_has(im->call, "dry-run") ? "would be deferred" : "deferred");
        print_source(item, out);
    }
    if (is_state(im))
        print_state(im, out);
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
        if (is_state(im)) {
            json_object_set(all, "notes", im->notes);
            json_object_set(all, "settings", im->settings);
            json_object_set(all, "projects", im->new_projects);
        }
        (void)ask_print_json(all);
    } else {
        print_text(im, &out);
        output_rest(&out);
    }
    warn(im);
    if (code == CMD_OK && (im->damaged || json_array_size(im->refused) > 0))
        return CMD_USAGE;
    return code == CMD_OK && json_array_size(im->deferred) > 0 ? CMD_REFUSED : code;
}

const struct cmd cmd_import = {
    "import", .subs = CMD_LIST(&import_agency, &import_agent_queue, &import_beads, &import_cards,
                               &import_conductor, &import_gastown, &import_loopr)
};
