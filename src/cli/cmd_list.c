/* cmd_list.c: lists tasks, newest first by default.
 *
 * The list is fetched in pages until the limit is reached, and each page is printed at once, so a
 * list of a million tasks starts immediately and needs no memory. Its columns are the table
 * task_list_columns in print_task.c. */
#include <string.h>

#include "base/nearest.h"
#include "cli/print_task.h"
#include "cli/request.h"
#include "core/model.h"
#include "os/clock.h"

#define LIMIT_STANDARD 50
#define PAGE_MAX       1000

struct listing {
    const struct cmd_call *call;
    struct request req;
    size_t left; /* remaining rows */
    size_t listed;
    time_ms now;
    struct strbuf out;
    struct rows table;
    struct strbuf next;    /* cursor after the last one; "": no more */
    struct strbuf project; /* --by-project: project of the current table */
};

static void listing_finish(struct listing *l) {
    request_finish(&l->req);
    strbuf_finish(&l->out);
    strbuf_finish(&l->next);
    strbuf_finish(&l->project);
    rows_finish(&l->table);
}

/* --- the request ----------------------------------------------------------------------------- */

/* Checks every word of a comma-separated list of states. */
static int check_states(const struct cmd_call *call, const char *states) {
    while (states) {
        struct print_text word = print_format("%.*s", (int)strcspn(states, ","), states);
        bool known = strcmp(word.text, "open") == 0 || strcmp(word.text, "all") == 0;
        struct nearest nearest = nearest_to(word.text);
        for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++) {
            nearest_offer(&nearest, task_state_name((enum task_state)s));
            known |= strcmp(word.text, task_state_name((enum task_state)s)) == 0;
        }
        if (!known)
            return cmd_usage_error(call->cmd, "there is no state '%.31s'%s%s%s", word.text,
                                   nearest.best ? "; did you mean '" : "",
                                   nearest.best ? nearest.best : "", nearest.best ? "'?" : "");
        states = strchr(states, ',');
        states += states != NULL;
    }
    return CMD_OK;
}

static void build_path(const struct listing *l, struct strbuf *path) {
    const char *states = cmd_value(l->call, "state");
    strbuf_printf(path, "/v1/tasks?limit=%zu", l->left < PAGE_MAX ? l->left : PAGE_MAX);
    client_query(path, "state", !states && cmd_has(l->call, "all") ? "all" : states);
    for (const struct cmd_option *o = l->call->cmd->options; o->name; o++)
        if (o->member)
            client_query(path, o->member, cmd_value(l->call, o->name));
    client_query(path, "cursor", l->next.length > 0 ? strbuf_text(&l->next) : NULL);
}

/* --- the answer ------------------------------------------------------------------------------ */

static void begin_project(struct listing *l, const char *project) {
    if (l->project.length > 0 && strcmp(strbuf_text(&l->project), project) == 0)
        return;
    rows_flush(&l->table, &l->out);
    strbuf_clear(&l->project);
    strbuf_puts(&l->project, project);
    const struct output_style *style = output_style();
    strbuf_printf(&l->out, "%s%s", l->table.headed ? "\n" : "", style->bold);
    print_line(&l->out, project, 0);
    strbuf_printf(&l->out, "%s\n", style->reset);
    l->table.headed = false;
}

static void print_task(struct listing *l, const json_t *task) {
    if (l->call->json) {
        strbuf_puts(&l->out, l->listed > 0 ? ",\n" : "\n");
        output_add_json(task, &l->out);
    } else if (cmd_has(l->call, "ids")) {
        print_line(&l->out, get_text(task, "id", "?"), 0);
        strbuf_putc(&l->out, '\n');
    } else {
        if (cmd_has(l->call, "by-project"))
            begin_project(l, get_text(task, "project", "-"));
        rows_add_item(&l->table, task, l->now);
    }
    l->listed++;
    l->left--;
}

/* Groups tasks by project; otherwise keeps the daemon's order. */
static void print_by_project(struct listing *l, const json_t *items) {
    json_auto_t *seen = json_object();
    EACH_ITEM(first, items) {
        const char *project = get_text(first, "project", "-");
        if (json_object_get(seen, project))
            continue;
        json_object_set_new(seen, project, json_true());
        EACH_ITEM(task, items) {
            if (strcmp(get_text(task, "project", "-"), project) == 0)
                print_task(l, task);
        }
    }
}

static void print_page(struct listing *l) {
    const json_t *items = json_object_get(l->req.answer, "items");
    if (!l->call->json && cmd_has(l->call, "by-project"))
        print_by_project(l, items);
    else
        EACH_ITEM(task, items) {
            print_task(l, task);
        }
    rows_flush(&l->table, &l->out);
    strbuf_clear(&l->next);
    strbuf_puts(&l->next, get_text(l->req.answer, "next", ""));
    if (!l->call->json)
        output_some(&l->out); /* JSON is one value: complete or, after an error, nothing */
}

static int list_all(struct listing *l) {
    do {
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        build_path(l, &path);
        int code = request_get(&l->req, strbuf_text(&path));
        if (code != CMD_OK)
            return code;
        print_page(l);
    } while (l->left > 0 && l->next.length > 0);
    return CMD_OK;
}

static void print_end(struct listing *l) {
    if (l->call->json) {
        strbuf_puts(&l->out, l->listed > 0 ? "\n],\n\"next\":" : "],\n\"next\":");
        json_auto_t *next = l->next.length > 0 ? json_string(strbuf_text(&l->next)) : json_null();
        output_add_json(next, &l->out);
        strbuf_puts(&l->out, "}\n");
    } else if (cmd_has(l->call, "ids")) {
        return;
    } else if (l->listed == 0) {
        strbuf_puts(&l->out, "no tasks\n");
    } else if (l->next.length > 0) {
        strbuf_printf(&l->out, "  ... and more; use %s to show them\n",
                      cmd_has(l->call, "all") ? "a larger --limit" : "--limit N or --all");
    }
    EACH_ITEM(id, json_object_get(l->req.answer, "external")) {
        if (!l->call->json)
            strbuf_printf(&l->out,
                          "  %s runs, but was not started by this daemon; it holds a slot\n",
                          json_string_value(id));
    }
}

static int cmd_list_run(const struct cmd_call *call) {
    _cleanup_(listing_finish) struct listing l = { .call = call,
                                                   .now = clock_read(),
                                                   .table = rows_new(task_list_columns) };
    int64_t limit = LIMIT_STANDARD;
    int code = check_states(call, cmd_value(call, "state"));
    if (code == CMD_OK)
        code = cmd_number(call, "limit", 1, INT64_MAX, &limit);
    if (code != CMD_OK)
        return code;
    l.left = cmd_has(call, "all") && !cmd_has(call, "limit") ? SIZE_MAX : (size_t)limit;
    if (call->json)
        strbuf_puts(&l.out, "{\"items\":[");
    code = list_all(&l);
    if (code == CMD_OK)
        print_end(&l);
    if (code == CMD_OK || !call->json)
        output_rest(&l.out);
    return code;
}

const struct cmd cmd_list = {
    "list", cmd_list_run, 0, 0,
    CMD_OPTIONS(
        { "state", 's', "STATE", "only in these states, separated by commas; or open, or all" },
        { "project", 'p', "NAME", "only tasks of this project", "project" },
        { "kind", 'k', "KIND", "only tasks of this kind", "kind" },
        { "agent", 'a', "NAME", "only tasks for this agent", "agent" },
        { "group", 'g', "NAME", "only tasks of this group", "group" },
        { "parent", 0, "ID", "only children of this task", "parent" },
        { "external-id", 0, "TEXT", "only tasks with this external id", "external_id" },
        { "schedule", 0, "NAME", "only tasks added by this schedule", "schedule" },
        { "order", 'o', "ORDER", "new (newest first), old, or queue (the order of starts)",
          "order" },
        { "limit", 'n', "N", "maximum number of tasks; default 50" },
        { "all", 0, NULL, "all tasks, including finished ones" },
        { "by-project", 'b', NULL, "group the tasks by project" },
        { "ids", 'q', NULL, "print only ids, one per line" })
};
