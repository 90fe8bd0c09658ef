/* import_command.c: imports the JSON lines that a program of the user prints, and keeps the tasks
 * up to date with them.
 *
 * All lines are read and checked first; nothing is imported if the program fails. Open items are
 * added under their id as external id. Of those that are there already and have not started,
 * priority and dependencies are changed where the item differs; a changed title or prompt is only
 * counted, because no operation changes these. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/daemon.h"
#include "cli/import.h"
#include "cli/program.h"
#include "cli/request.h"
#include "os/terminal.h"

#define LINE_MAX_BYTES (1u << 20)
#define ITEMS_MAX      100000u
#define BYTES_MAX      (256u << 20)
#define ONE_REQUEST    (15u << 20) /* the daemon takes 16 MiB */
#define BAD_SHOWN      20u
#define DEPTH_MAX      200 /* of dependencies; beyond it, in the order of the lines */
#define PROGRESS_EVERY 100u

/* Members with a meaning of their own; the others are members of the task. */
#define OWN_MEMBERS "id title body url labels depends_on parent state"

struct command {
    struct import im;
    struct request req;
    const struct cmd_call *call;
    const char *template;
    json_t *items;   /* id → {"line", "item", "why"}; "why": it is not imported */
    json_t *known;   /* of import_known */
    json_t *taken;   /* id → true: it is among the tasks */
    json_t *added;   /* id → answer of the daemon */
    json_t *numbers; /* number of its task → the same */
    size_t line, bytes, bad;
    bool shows_progress;
};

/* --- lines ------------------------------------------------------------------------------------ */

/* An id may be a number. */
static json_t *id_text(const json_t *value) {
    if (json_is_integer(value)) {
        _cleanup_(freep) char *text = xasprintf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return json_string(text);
    }
    return json_is_string(value) && json_string_length(value) > 0
               ? json_string(json_string_value(value))
               : NULL;
}

/* The list with ids as texts; NULL: it is not one. */
static json_t *id_list(const json_t *value) {
    if (!json_is_array(value))
        return NULL;
    json_t *list = json_array();
    EACH_ITEM(entry, value) {
        json_t *id = id_text(entry);
        if (!id) {
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, id);
    }
    return list;
}

/* A member that is null counts as missing. */
static void drop_nulls(json_t *item) {
    json_auto_t *names = json_array();
    EACH_MEMBER(name, value, item) {
        if (json_is_null(value))
            json_array_append_new(names, json_string(name));
    }
    EACH_ITEM(name, names) {
        json_object_del(item, json_string_value(name));
    }
}

static const char *check_texts(const json_t *item) {
    static const char *const texts[][2] = { { "title", "'title' is not a text" },
                                            { "body", "'body' is not a text" },
                                            { "url", "'url' is not a text" },
                                            { "prompt", "'prompt' is not a text" } };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        const json_t *value = json_object_get(item, texts[i][0]);
        if (value && !json_is_string(value))
            return texts[i][1];
    }
    EACH_ITEM(label, json_object_get(item, "labels")) {
        if (!json_is_string(label))
            return "'labels' is not a list of texts";
    }
    return NULL;
}

/* NULL: the item is valid, and its ids are texts. */
static const char *check_item(json_t *item) {
    json_t *id = id_text(json_object_get(item, "id"));
    if (!id)
        return json_object_get(item, "id") ? "'id' is not a text or a whole number"
                                           : "it has no 'id'";
    json_object_set_new(item, "id", id);
    const json_t *needs = json_object_get(item, "depends_on");
    const json_t *parent = json_object_get(item, "parent");
    json_t *list = needs ? id_list(needs) : NULL, *text = parent ? id_text(parent) : NULL;
    if (needs && !list)
        return "'depends_on' is not a list of ids";
    if (list)
        json_object_set_new(item, "depends_on", list);
    if (parent && !text)
        return "'parent' is not an id";
    if (text)
        json_object_set_new(item, "parent", text);
    if (json_object_get(item, "labels") && !json_is_array(json_object_get(item, "labels")))
        return "'labels' is not a list of texts";
    if (json_object_get(item, "state") && !member_is(item, "state", "open closed"))
        return "'state' is not open or closed";
    if (json_object_get(item, "external_id") || json_object_get(item, "name"))
        return "'external_id' and 'name' come from 'id'";
    if (json_object_get(item, "meta") && !json_is_object(json_object_get(item, "meta")))
        return "'meta' is not an object";
    return check_texts(item);
}

/* With --keep-going it is in the report. Otherwise the first ones are printed. */
static int refuse_line(struct command *c, const char *why) {
    struct error err = { 0 };
    _cleanup_(freep) char *source = xasprintf("line %zu", c->line);
    error_set(&err, -EINVAL, "%s: %s", source, why);
    c->bad++;
    if (cmd_has(c->call, "keep-going"))
        (void)import_refuse(&c->im, source, &err);
    else if (c->bad <= BAD_SHOWN)
        cmd_warn("%s", err.text);
    return 0;
}

static void show_progress(const struct command *c, bool at_end) {
    size_t count = json_object_size(c->items);
    if (c->shows_progress && count > 0 && (at_end || count % PROGRESS_EVERY == 0))
        (void)fprintf(stderr, "\r%zu items%s", count, at_end ? "\n" : "");
}

static int take_line(void *ctx, char *text, size_t size, struct error *err) {
    struct command *c = ctx;
    json_error_t problem;
    c->line++;
    c->bytes += size;
    while (size > 0 && (unsigned char)text[size - 1] <= ' ')
        size--;
    if (size == 0)
        return 0;
    if (c->bytes > BYTES_MAX || json_object_size(c->items) >= ITEMS_MAX)
        return error_set(err, -E2BIG, "line %zu: the program prints more than %u items or %u MiB",
                         c->line, ITEMS_MAX, BYTES_MAX >> 20);
    json_auto_t *item = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
    if (!item) {
        _cleanup_(freep) char *why =
            xasprintf("not JSON: %s (column %d)", problem.text, problem.column);
        return refuse_line(c, why);
    }
    if (!json_is_object(item))
        return refuse_line(c, "it is not a JSON object");
    drop_nulls(item);
    const char *why = check_item(item);
    if (why)
        return refuse_line(c, why);
    /* The last line of an id counts: pages of a list may overlap. */
    json_object_set_new(c->items, get_text(item, "id", ""),
                        json_pack("{s:I, s:O}", "line", (json_int_t)c->line, "item", item));
    show_progress(c, false);
    return 0;
}

static int run_program(struct command *c) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, tail = STRBUF_INIT;
    const char **argv = c->call->args;
    const struct program_lines lines = { take_line, c, LINE_MAX_BYTES };
    struct error err = { 0 };
    int status = 0;
    if (strchr(argv[0], '/'))
        strbuf_puts(&path, argv[0]);
    else if (daemon_find_in_path(argv[0], &path) < 0)
        return cmd_usage_error(c->call->cmd, "there is no program '%s' in PATH", argv[0]);
    int r = program_read_lines(strbuf_text(&path), argv, &lines, &tail, &status, &err);
    show_progress(c, true);
    if (r < 0) {
        (void)error_prefix(&err, "nothing was imported");
        return err.code == -E2BIG ? (cmd_warn("%s", err.text), CMD_USAGE) : cmd_error(&err);
    }
    if (status != 0) {
        cmd_warn("nothing was imported: '%s' ended with exit code %d%s%s", argv[0], status,
                 tail.length > 0 ? ": " : "", strbuf_text(&tail));
        return CMD_FAILED;
    }
    if (c->bad > 0 && !cmd_has(c->call, "keep-going")) {
        cmd_warn("nothing was imported: %zu bad %s; use --keep-going to leave %s out", c->bad,
                 c->bad == 1 ? "line" : "lines", c->bad == 1 ? "it" : "them");
        return CMD_USAGE;
    }
    return CMD_OK;
}

/* --- the prompt ------------------------------------------------------------------------------- */

static const char *const placeholders[] = { "title", "body", "url", "id", "labels" };

/* The length of "{name}" at the beginning of the text; 0: it is not one. */
static size_t placeholder_length(const char *text) {
    size_t size = text[0] == '{' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_") : 0;
    return size > 0 && text[size + 1] == '}' ? size + 2 : 0;
}

static const char *placeholder_name(const char *text, size_t length) {
    for (size_t i = 0; i < ARRAY_SIZE(placeholders); i++)
        if (strlen(placeholders[i]) == length - 2
            && strncmp(placeholders[i], text + 1, length - 2) == 0)
            return placeholders[i];
    return NULL;
}

static int check_template(const struct cmd_call *call, const char *template) {
    for (const char *at = template; at && (at = strchr(at, '{')); at++) {
        size_t length = placeholder_length(at);
        if (length > 0 && !placeholder_name(at, length))
            return cmd_usage_error(call->cmd,
                                   "--prompt: there is no '%.*s'; there are {title}, {body}, "
                                   "{url}, {id} and {labels}",
                                   (int)length, at);
    }
    return CMD_OK;
}

static void put_member(const json_t *item, const char *name, struct strbuf *out) {
    if (strcmp(name, "labels") == 0) {
        _cleanup_(strbuf_finish) struct strbuf list = STRBUF_INIT;
        join_texts(&list, ", ", json_object_get(item, "labels"));
        strbuf_puts(out, strbuf_text(&list));
    } else {
        strbuf_puts(out, get_text(item, name, ""));
    }
}

/* In one pass: braces in the text of an item are text. */
static void make_prompt(const struct command *c, const json_t *item, struct strbuf *out) {
    static const char *const parts[] = { "title", "body", "url" };
    if (!c->template) {
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
            const char *part = get_text(item, parts[i], "");
            if (*part)
                strbuf_printf(out, "%s%s", out->length > 0 ? "\n\n" : "", part);
        }
        return;
    }
    for (const char *at = c->template; *at;) {
        size_t length = placeholder_length(at);
        if (length > 0) {
            put_member(item, placeholder_name(at, length), out);
            at += length;
        } else {
            strbuf_putc(out, *at++);
        }
    }
}

/* --- which items ------------------------------------------------------------------------------ */

static const char *id_of(const json_t *item) {
    return get_text(item, "id", "");
}

static bool is_closed(const json_t *item) {
    return member_is(item, "state", "closed");
}

static bool has_labels(const struct command *c, const json_t *item) {
    const char *wanted;
    for (size_t n = 0; (wanted = cmd_value_at(c->call, "label", n)); n++) {
        bool found = false;
        EACH_ITEM(label, json_object_get(item, "labels")) {
            found = found || strcmp(json_string_value(label), wanted) == 0;
        }
        if (!found)
            return false;
    }
    return true;
}

static const char *project_of(const struct command *c, const json_t *item) {
    return get_text(item, "project", cmd_value(c->call, "project"));
}

static const json_t *known(struct command *c, const json_t *item, const char *id) {
    return import_known(&c->req, c->known, project_of(c, item), id);
}

/* An open item that is not imported, and is not here from an earlier import. */
static const char *missing_need(struct command *c, const json_t *item) {
    EACH_ITEM(need, json_object_get(item, "depends_on")) {
        const char *id = json_string_value(need);
        const json_t *other = json_object_get(c->items, id);
        if (other && json_object_get(other, "why") && !is_closed(json_object_get(other, "item"))
            && !known(c, item, id))
            return id;
    }
    return NULL;
}

static void set_why(json_t *record, const char *why) {
    json_object_set_new(record, "why", json_text(why));
}

/* Decided before the first one is added, because items refer to each other. */
static void decide(struct command *c) {
    EACH_MEMBER(id, record, c->items) {
        const json_t *item = json_object_get(record, "item");
        if (!has_labels(c, item))
            set_why(record, "it does not have the labels");
        else if (is_closed(item))
            set_why(record, "it is closed");
    }
    for (bool changed = true; changed;) {
        changed = false;
        EACH_MEMBER(id, record, c->items) {
            const json_t *item = json_object_get(record, "item");
            const char *need = json_object_get(record, "why") ? NULL : missing_need(c, item);
            if (!need)
                continue;
            _cleanup_(freep) char *why =
                xasprintf("it depends on '%s', which is not imported", need);
            set_why(record, why);
            cmd_warn("%s skipped: %s", id, why);
            changed = true;
        }
    }
}

/* --- tasks ------------------------------------------------------------------------------------ */

/* Another item as a reference; NULL: it is neither imported nor here. */
static const char *reference(struct command *c, const json_t *item, const char *id) {
    const json_t *other = json_object_get(c->items, id);
    if (other && !json_object_get(other, "why"))
        return id;
    return get_text(known(c, item, id), "ref", NULL);
}

static void add_links(struct command *c, const json_t *item, json_t *task) {
    json_auto_t *needs = json_array();
    EACH_ITEM(need, json_object_get(item, "depends_on")) {
        const char *id = json_string_value(need), *named = reference(c, item, id);
        const json_t *other = json_object_get(c->items, id);
        if (named)
            json_array_append_new(needs, json_text(named));
        else if (!other)
            cmd_warn("%s: '%s', which it depends on, is neither imported nor known here; left out",
                     id_of(item), id);
    }
    if (json_array_size(needs) > 0)
        json_object_set(task, "depends_on", needs);
    const char *parent = get_text(item, "parent", NULL);
    const char *named = parent ? reference(c, item, parent) : NULL;
    if (parent && !named)
        cmd_warn("%s: its parent '%s' is neither imported nor known here; left out", id_of(item),
                 parent);
    if (!named)
        return;
    json_object_set_new(task, "parent", json_text(named));
    if (!json_object_get(task, "parent_gate")) /* it contains, but does not block */
        json_object_set_new(task, "parent_gate", json_string("none"));
}

static json_t *make_meta(const json_t *item) {
    json_t *meta =
        json_object_get(item, "meta") ? json_copy(json_object_get(item, "meta")) : json_object();
    copy_members(meta, item, "url labels");
    return meta;
}

static json_t *make_task(struct command *c, const json_t *item) {
    _cleanup_(strbuf_finish) struct strbuf title = STRBUF_INIT, prompt = STRBUF_INIT;
    json_t *task = json_object(), *meta = make_meta(item);
    EACH_MEMBER(name, value, item) {
        if (!word_in(name, OWN_MEMBERS))
            json_object_set(task, name, value);
    }
    json_object_set_new(task, "name", json_text(id_of(item)));
    json_object_set_new(task, "external_id", json_text(id_of(item)));
    sanitize_line(get_text(item, "title", ""), &title);
    if (title.length > 0)
        json_object_set_new(task, "title", json_text(strbuf_text(&title)));
    if (!json_object_get(task, "prompt") && !json_object_get(task, "argv")
        && !json_object_get(task, "run")) {
        make_prompt(c, item, &prompt);
        json_object_set_new(task, "prompt", json_text(strbuf_text(&prompt)));
    }
    if (json_object_size(meta) > 0)
        json_object_set(task, "meta", meta);
    json_decref(meta);
    add_links(c, item, task);
    return task;
}

static void take_item(struct command *c, const char *id, unsigned depth) {
    const json_t *record = json_object_get(c->items, id), *item = json_object_get(record, "item");
    if (!record || json_object_get(record, "why") || json_object_get(c->taken, id))
        return;
    json_object_set_new(c->taken, id, json_true());
    /* Dependencies come first: with --keep-going items are added in batches. */
    if (depth < DEPTH_MAX && json_object_get(item, "parent"))
        take_item(c, get_text(item, "parent", ""), depth + 1);
    EACH_ITEM(need, json_object_get(item, "depends_on")) {
        if (depth < DEPTH_MAX)
            take_item(c, json_string_value(need), depth + 1);
    }
    _cleanup_(freep) char *place =
        xasprintf("line %" JSON_INTEGER_FORMAT, (json_int_t)get_int(record, "line", 0));
    json_array_append_new(c->im.places, json_string(place));
    import_add(&c->im, id, make_task(c, item));
}

static int check_size(const struct command *c) {
    if (cmd_has(c->call, "keep-going") && !cmd_has(c->call, "dry-run"))
        return CMD_OK;
    size_t bytes = json_dumpb(c->im.tasks, NULL, 0, JSON_COMPACT);
    if (bytes <= ONE_REQUEST)
        return CMD_OK;
    cmd_warn("nothing was imported: the items have %zu MiB, too much to be added whole or not at "
             "all (maximum is %u); use --keep-going",
             bytes >> 20, ONE_REQUEST >> 20);
    return CMD_USAGE;
}

/* --- changes ---------------------------------------------------------------------------------- */

static void count(struct command *c, const char *what) {
    json_object_set_new(c->im.counts, what, json_integer(get_int(c->im.counts, what, 0) + 1));
}

static bool is_final(const char *state) {
    return word_in(state, "done failed canceled invalidated");
}

static bool has_started(const json_t *task) {
    return get_int(task, "attempt", 0) > 0 || member_is(task, "state", "starting running")
           || is_final(get_text(task, "state", ""));
}

/* The number of a task, whatever its prefix: "web-17" and "#17" are the same. */
static const char *number_of(const char *id) {
    size_t at = strlen(id);
    while (at > 0 && id[at - 1] >= '0' && id[at - 1] <= '9')
        at--;
    return id + at;
}

/* The task of an item of this import, or of an earlier one: {"id", "state"}. */
static const json_t *task_of(struct command *c, const json_t *item, const char *id) {
    const json_t *added = json_object_get(c->added, id);
    return added ? added : known(c, item, id);
}

/* What it depends on now: NUMBER: ID, without tasks that are done. */
static json_t *current_needs(struct command *c, const json_t *task) {
    json_t *needs = json_object();
    EACH_ITEM(need, json_object_get(task, "depends_on")) {
        const char *number = number_of(json_string_value(need));
        if (!member_is(json_object_get(c->numbers, number), "state", "done"))
            json_object_set(needs, number, need);
    }
    return needs;
}

/* The same as the item wants it: dependencies on tasks of this import are those of the item, and
 * others stay. */
static json_t *wanted_needs(struct command *c, const json_t *item, const json_t *now) {
    json_t *needs = json_object();
    EACH_MEMBER(number, need, now) {
        if (!json_object_get(c->numbers, number))
            json_object_set(needs, number, need);
    }
    EACH_ITEM(need, json_object_get(item, "depends_on")) {
        const json_t *other = task_of(c, item, json_string_value(need));
        const char *id = get_text(other, "id", NULL);
        if (id && !member_is(other, "state", "done"))
            json_object_set_new(needs, number_of(id), json_text(id));
    }
    return needs;
}

static bool same_keys(const json_t *a, const json_t *b) {
    EACH_MEMBER(key, value, a) {
        if (!json_object_get(b, key))
            return false;
    }
    return json_object_size(a) == json_object_size(b);
}

/* One change by an operation of the daemon. A refusal is a warning: the others go on. */
static bool change(struct command *c, const char *id, const char *path, json_t *body) {
    if (cmd_has(c->call, "dry-run")) {
        json_decref(body);
        return true;
    }
    if (request_try_post(&c->req, body, path) == 0)
        return true;
    cmd_warn("%s: %s", id, c->req.err.text);
    return false;
}

/* Title and prompt that differ from those of the task. */
static void compare_texts(const json_t *wanted, const json_t *spec, json_t *ret_names) {
    static const char *const names[] = { "title", "prompt" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(get_text(wanted, names[i], ""), get_text(spec, names[i], "")) != 0)
            json_array_append_new(ret_names, json_string(names[i]));
}

struct update {
    const json_t *item, *wanted; /* `wanted`: its submission */
    json_t *answer;              /* of the daemon, in the report */
    json_t *task;                /* now */
    json_t *changed, *left;      /* names of members */
};

static void update_priority(struct command *c, const struct update *u) {
    const json_t *priority = json_object_get(u->wanted, "priority");
    const char *id = get_text(u->answer, "id", "");
    if (!json_is_integer(priority)
        || json_integer_value(priority) == get_int(u->task, "priority", 0))
        return;
    if (change(c, id, "/v1/tasks/priority",
               json_pack("{s:[s], s:O}", "tasks", id, "priority", priority)))
        json_array_append_new(u->changed, json_string("priority"));
}

static void update_needs(struct command *c, const struct update *u) {
    const char *id = get_text(u->answer, "id", "");
    if (!json_object_get(u->item, "depends_on"))
        return;
    json_auto_t *now = current_needs(c, u->task), *wanted = wanted_needs(c, u->item, now);
    if (same_keys(now, wanted))
        return;
    json_t *list = json_array();
    EACH_MEMBER(number, need, wanted) {
        json_array_append(list, need);
    }
    if (change(c, id, "/v1/tasks/depends", json_pack("{s:s, s:o}", "task", id, "depends_on", list)))
        json_array_append_new(u->changed, json_string("depends_on"));
}

/* In one edit, of the version that was compared: a task that starts meanwhile keeps its texts. */
static void update_texts(struct command *c, const struct update *u) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    const char *id = get_text(u->answer, "id", "");
    if (json_array_size(u->left) == 0)
        return;
    json_t *body = json_pack("{s:I}", "version", get_int(u->task, "version", 0));
    EACH_ITEM(name, u->left) {
        json_object_set(body, json_string_value(name),
                        json_object_get(u->wanted, json_string_value(name)));
    }
    request_path(&path, "/v1/tasks/", id, "/edit");
    if (!change(c, id, strbuf_text(&path), body))
        return;
    json_array_extend(u->changed, u->left);
    json_array_clear(u->left);
}

static void update_task(struct command *c, struct update *u) {
    compare_texts(u->wanted, json_object_get(u->task, "spec"), u->left);
    if (has_started(u->task)) {
        if (json_array_size(u->left) > 0)
            count(c, "changed_after_start");
    } else {
        update_texts(c, u);
        update_priority(c, u);
        update_needs(c, u);
        if (json_array_size(u->left) > 0)
            count(c, "not_updated");
    }
    if (json_array_size(u->changed) > 0) {
        count(c, "updated");
        json_object_set_new(
            u->answer, "result",
            json_string(cmd_has(c->call, "dry-run") ? "would be updated" : "updated"));
        json_object_set(u->answer, "changed", u->changed);
    }
    if (json_array_size(u->left) > 0)
        json_object_set(u->answer, "not_updated", u->left);
}

/* Every task that was here before and has not ended. */
static int update_tasks(struct command *c) {
    json_auto_t *wanted = json_object();
    EACH_ITEM(task, c->im.tasks) {
        json_object_set(wanted, get_text(task, "external_id", ""), task);
    }
    EACH_ITEM(answer, c->im.done) {
        json_object_set(c->added, get_text(answer, "source", ""), answer);
        json_object_set(c->numbers, number_of(get_text(answer, "id", "")), answer);
    }
    EACH_ITEM(answer, c->im.done) {
        const char *id = get_text(answer, "source", "");
        if (!get_true(answer, "already") || is_final(get_text(answer, "state", "")))
            continue;
        if (request_try_task(&c->req, get_text(answer, "id", "")) < 0)
            return request_failed(&c->req);
        json_auto_t *task = json_incref(c->req.answer), *changed = json_array();
        json_auto_t *left = json_array();
        struct update update = {
            .item = json_object_get(json_object_get(c->items, id), "item"),
            .wanted = json_object_get(wanted, id),
            .answer = answer,
            .task = task,
            .changed = changed,
            .left = left,
        };
        update_task(c, &update);
    }
    return CMD_OK;
}

/* --- closed items ----------------------------------------------------------------------------- */

static const char *close_item(struct command *c, const json_t *item) {
    const json_t *task = known(c, item, id_of(item));
    const char *id = get_text(task, "id", "");
    if (!task || is_final(get_text(task, "state", "")))
        return "it is closed";
    if (has_started(task))
        return "it is closed; its task has started and goes on";
    if (!cmd_has(c->call, "cancel-closed"))
        return "it is closed; --cancel-closed cancels its task, which has not started";
    if (!change(c, id, "/v1/tasks/cancel", json_pack("{s:[s]}", "tasks", id)))
        return "it is closed; its task was not canceled";
    count(c, "canceled");
    return cmd_has(c->call, "dry-run") ? "it is closed: its task would be canceled"
                                       : "it is closed: its task was canceled";
}

static void report_left_out(struct command *c) {
    EACH_MEMBER(id, record, c->items) {
        const json_t *item = json_object_get(record, "item");
        const char *why = get_text(record, "why", NULL);
        if (why)
            import_leave_out(&c->im, id,
                             is_closed(item) && has_labels(c, item) ? close_item(c, item) : why);
    }
}

/* --- the command ------------------------------------------------------------------------------ */

static int import_items(struct command *c) {
    int code = request_open(&c->req, REQUEST_START);
    if (code != CMD_OK)
        return code;
    decide(c);
    EACH_MEMBER(id, record, c->items) {
        take_item(c, id, 0);
    }
    code = check_size(c);
    if (code != CMD_OK)
        return code;
    code = import_submit(&c->im);
    if (code == CMD_OK)
        code = update_tasks(c);
    if (code == CMD_OK)
        report_left_out(c);
    return import_report(&c->im, code);
}

static int command_run(const struct cmd_call *call) {
    struct command c = { .call = call, .template = cmd_value(call, "prompt") };
    int code = check_template(call, c.template);
    if (code != CMD_OK)
        return code;
    c.items = json_object();
    c.known = json_object();
    c.taken = json_object();
    c.added = json_object();
    c.numbers = json_object();
    c.shows_progress = terminal_is(stderr);
    import_init(&c.im, call);
    import_init_counts(&c.im);
    code = run_program(&c);
    if (code == CMD_OK)
        code = import_items(&c);
    request_finish(&c.req);
    import_finish(&c.im);
    json_decref(c.items);
    json_decref(c.known);
    json_decref(c.taken);
    json_decref(c.added);
    json_decref(c.numbers);
    return code;
}

static const struct cmd_option options[] = {
    IMPORT_OPTIONS,
    { "prompt", 0, "TEMPLATE", "the prompt, with {title}, {body}, {url}, {id} and {labels}" },
    { "label", 0, "LABEL", "only items with this label; repeatable, then with all of them" },
    { "cancel-closed", 0, NULL, "cancel tasks that have not started and are closed there" },
    { NULL }
};

const struct cmd import_command = { "import command", command_run, 1, CMD_ANY_ARGS, options };
