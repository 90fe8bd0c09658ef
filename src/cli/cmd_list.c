/* cmd_list.c: lists tasks, newest first by default.
 *
 * The list is fetched in pages until the limit is reached, and each page is printed at once, so a
 * list of a million tasks starts immediately and needs no memory. */
#include <errno.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/ask.h"
#include "cli/print_task.h"
#include "core/model.h"
#include "os/clock.h"

#define LIMIT_STANDARD 50
#define PAGE_MAX       1000

struct listing {
    const struct cmd_call *call;
    struct ask ask;
    size_t left; /* remaining rows */
    size_t listed;
    time_ms now;
    struct strbuf out;
    struct print_tasks table;
    struct strbuf next;    /* cursor after the last one; "": no more */
    struct strbuf project; /* --by-project: project of the current table */
};

static void listing_finish(struct listing *l) {
    ask_finish(&l->ask);
    strbuf_finish(&l->out);
    strbuf_finish(&l->next);
    strbuf_finish(&l->project);
    print_tasks_finish(&l->table);
}

/* --- the request ----------------------------------------------------------------------------- */

static bool is_state(const char *word, size_t length) {
    static const char *const more[] = { "open", "all" };
    for (size_t i = 0; i < ARRAY_SIZE(more); i++)
        if (strlen(more[i]) == length && strncmp(word, more[i], length) == 0)
            return true;
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++) {
        const char *name = task_state_name((enum task_state)s);
        if (strlen(name) == length && strncmp(word, name, length) == 0)
            return true;
    }
    return false;
}

/* Checks every word of a comma-separated list. */
static int check_states(const struct cmd_call *call, const char *states) {
    while (states) {
        size_t length = strcspn(states, ",");
        if (!is_state(states, length)) {
            char word[32];
            (void)snprintf(word, sizeof(word), "%.*s", (int)length, states);
            struct nearest nearest = nearest_to(word);
            for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
                nearest_offer(&nearest, task_state_name((enum task_state)s));
            if (nearest.best)
                return cmd_usage_error(call->cmd, "there is no state '%s'; did you mean '%s'?",
                                       word, nearest.best);
            return cmd_usage_error(call->cmd, "there is no state '%s'", word);
        }
        states = states[length] ? states + length + 1 : NULL;
    }
    return CMD_OK;
}

static int read_limit(struct listing *l) {
    int64_t limit = LIMIT_STANDARD;
    int code = cmd_number(l->call, "limit", 1, INT64_MAX, &limit);
    bool endless = cmd_has(l->call, "all") && !cmd_has(l->call, "limit");
    l->left = endless ? SIZE_MAX : (size_t)limit;
    return code;
}

static void build_path(const struct listing *l, struct strbuf *path) {
    strbuf_printf(path, "/v1/tasks?limit=%zu", l->left < PAGE_MAX ? l->left : PAGE_MAX);
    const char *states = cmd_value(l->call, "state");
    if (!states && cmd_has(l->call, "all"))
        states = "all";
    client_query(path, "state", states);
    for (const struct cmd_option *o = l->call->cmd->options; o->name; o++)
        if (o->member)
            client_query(path, o->member, cmd_value(l->call, o->name));
    if (l->next.length > 0)
        client_query(path, "cursor", strbuf_text(&l->next));
}

/* --- the answer ------------------------------------------------------------------------------ */

static void begin_project(struct listing *l, const char *project) {
    if (l->project.length > 0 && strcmp(strbuf_text(&l->project), project) == 0)
        return;
    print_tasks_flush(&l->table, &l->out);
    strbuf_clear(&l->project);
    strbuf_puts(&l->project, project);
    const struct output_style *style = output_style();
    strbuf_printf(&l->out, "%s%s", l->table.headed ? "\n" : "", style->bold);
    print_line(&l->out, project, 0);
    strbuf_printf(&l->out, "%s\n", style->reset);
    l->table.headed = false;
}

static void take(struct listing *l, const json_t *task) {
    if (l->call->json) {
        strbuf_puts(&l->out, l->listed > 0 ? ",\n" : "\n");
        print_value(&l->out, task);
    } else if (cmd_has(l->call, "ids")) {
        print_line(&l->out, ask_text(task, "id", "?"), 0);
        strbuf_putc(&l->out, '\n');
    } else {
        if (cmd_has(l->call, "by-project"))
            begin_project(l, ask_text(task, "project", "-"));
        print_tasks_add(&l->table, task, l->now);
    }
    l->listed++;
    l->left--;
}

/* Groups tasks by project; otherwise keeps the daemon's order. */
static void take_by_project(struct listing *l, const json_t *items) {
    size_t count = json_array_size(items);
    json_t *seen = json_object();
    for (size_t i = 0; i < count; i++) {
        const char *project = ask_text(json_array_get(items, i), "project", "-");
        if (json_object_get(seen, project))
            continue;
        json_object_set_new(seen, project, json_true());
        ASK_EACH(task, items) {
            if (strcmp(ask_text(task, "project", "-"), project) == 0)
                take(l, task);
        }
    }
    json_decref(seen);
}

static void take_page(struct listing *l) {
    const json_t *items = json_object_get(l->ask.answer, "items");
    if (!l->call->json && cmd_has(l->call, "by-project"))
        take_by_project(l, items);
    else
        ASK_EACH(task, items) {
            take(l, task);
        }
    print_tasks_flush(&l->table, &l->out);
    strbuf_clear(&l->next);
    strbuf_puts(&l->next, ask_text(l->ask.answer, "next", ""));
    if (!l->call->json)
        output_some(&l->out); /* JSON is one value: complete or, after an error, nothing */
}

static int list_all(struct listing *l) {
    do {
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        build_path(l, &path);
        int code = ask_get(&l->ask, strbuf_text(&path));
        if (code != CMD_OK)
            return code;
        take_page(l);
    } while (l->left > 0 && l->next.length > 0);
    return CMD_OK;
}

static void print_end(struct listing *l) {
    if (l->call->json) {
        strbuf_puts(&l->out, l->listed > 0 ? "\n],\n\"next\":" : "],\n\"next\":");
        json_t *next = l->next.length > 0 ? json_string(strbuf_text(&l->next)) : json_null();
        print_value(&l->out, next);
        json_decref(next);
        strbuf_puts(&l->out, "}\n");
    } else if (cmd_has(l->call, "ids")) {
        return;
    } else if (l->listed == 0) {
        strbuf_puts(&l->out, "no tasks\n");
    } else if (l->next.length > 0) {
        strbuf_printf(&l->out, "  ... and more; %s shows them\n",
                      cmd_has(l->call, "all") ? "a larger --limit" : "--limit N or --all");
    }
    ASK_EACH(id, json_object_get(l->ask.answer, "external")) {
        if (!l->call->json)
            strbuf_printf(&l->out, "  %s runs, but is not this daemon's; it holds a place\n",
                          json_string_value(id));
    }
}

static int cmd_list_run(const struct cmd_call *call) {
    _cleanup_(listing_finish) struct listing l = { .call = call, .now = clock_read() };
    int code = check_states(call, cmd_value(call, "state"));
    if (code == CMD_OK)
        code = read_limit(&l);
    if (code == CMD_OK)
        code = ask_open(&l.ask, ASK_RUNNING);
    if (code != CMD_OK)
        return code;
    if (call->json)
        strbuf_puts(&l.out, "{\"items\":[");
    code = list_all(&l);
    if (code == CMD_OK)
        print_end(&l);
    if (code == CMD_OK || !call->json)
        output_rest(&l.out);
    return code;
}

static const struct cmd_option list_options[] = {
    { "state", 's', "STATE", "only in this state; a list with commas, open, or all" },
    { "project", 'p', "NAME", "only of this project", "project" },
    { "kind", 'k', "KIND", "only of this kind", "kind" },
    { "agent", 'a', "NAME", "only for this agent", "agent" },
    { "group", 'g', "NAME", "only of this group", "group" },
    { "parent", 0, "ID", "only the children of this task", "parent" },
    { "external-id", 0, "TEXT", "only those with this name elsewhere", "external_id" },
    { "order", 'o', "ORDER", "new (first), old or queue: as they would start", "order" },
    { "limit", 'n', "N", "at most so many; 50 if not given" },
    { "all", 0, NULL, "every one, finished ones too" },
    { "by-project", 'b', NULL, "those of a project together, under its name" },
    { "ids", 'q', NULL, "only the ids, one per line" },
    { NULL },
};

const struct cmd cmd_list = { "list", .options = list_options, .run = cmd_list_run };
