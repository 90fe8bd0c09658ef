/* names.c: see names.h. */
#include "cli/names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/ask.h"
#include "cli/print_task.h"
#include "os/clock.h"

/* --- lists ----------------------------------------------------------------------------------- */

struct listing {
    const struct name_list *list;
    struct rows rows;
    struct strbuf notes;
    time_ms now; /* of the first answer: the command may have waited for a daemon that took over */
};

static void put_cell(const struct name_column *column, const json_t *item, time_ms now,
                     struct strbuf *out) {
    if (column->put)
        column->put(item, out);
    else if (column->kind == NAME_NUMBER)
        strbuf_puts(out, cell_number(item, column->key).text);
    else if (column->kind == NAME_PERCENT)
        strbuf_puts(out, cell_percent(item, column->key).text);
    else if (column->kind == NAME_CAP)
        strbuf_puts(out, cell_cap(item, column->key).text);
    else if (column->kind == NAME_SPAN)
        strbuf_puts(out, cell_span(item, column->key, now).text);
    else
        strbuf_puts(out, ask_text(item, column->key, ""));
}

static void add_row(void *ctx, const json_t *item) {
    struct listing *l = ctx;
    struct strbuf texts[ARRAY_SIZE(l->list->columns)] = { 0 };
    const char *cells[ARRAY_SIZE(texts)];
    if (l->now == 0)
        l->now = clock_read();
    for (size_t i = 0; i < l->rows.column_count; i++) {
        put_cell(&l->list->columns[i], item, l->now, &texts[i]);
        cells[i] = strbuf_text(&texts[i]);
    }
    rows_add(&l->rows, cells);
    for (size_t i = 0; i < l->rows.column_count; i++)
        strbuf_finish(&texts[i]);
    if (l->list->note)
        l->list->note(item, &l->notes);
}

/* As the daemon wrote it when one page is all; else the pages as one. */
static int print_json(struct ask *ask, const char *path) {
    int code = ask_get(ask, path);
    if (code != CMD_OK)
        return code;
    if (!ask_text(ask->answer, "next", NULL))
        return ask_print(ask);
    json_t *all = json_pack("{s:[], s:n}", "items", "next");
    code = ask_pages(ask, path, SIZE_MAX, ask_append, json_object_get(all, "items"));
    if (code == CMD_OK)
        return ask_print_json(all);
    json_decref(all);
    return code;
}

static int print_table(struct ask *ask, const char *path, const struct name_list *list) {
    struct output_column columns[ARRAY_SIZE(list->columns)] = { 0 };
    struct listing l = { .list = list, .rows = { columns } };
    for (size_t i = 0; i < ARRAY_SIZE(columns) && list->columns[i].title; i++)
        columns[l.rows.column_count++] =
            (struct output_column){ list->columns[i].title,
                                    .right = list->columns[i].kind >= NAME_NUMBER };
    int code = ask_pages(ask, path, SIZE_MAX, add_row, &l);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    if (l.rows.count == 0)
        strbuf_puts(&out, list->none);
    rows_print(&l.rows, &out);
    strbuf_add(&out, strbuf_text(&l.notes), l.notes.length);
    strbuf_finish(&l.notes);
    if (code == CMD_OK)
        output_rest(&out);
    rows_finish(&l.rows);
    return code;
}

int name_list_run(const struct cmd_call *call) {
    const struct name_list *list = call->cmd->data;
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s?limit=1000", list->path);
    int code = ask_open(&ask, ASK_RUNNING);
    if (code != CMD_OK)
        return code;
    return call->json ? print_json(&ask, strbuf_text(&path))
                      : print_table(&ask, strbuf_text(&path), list);
}

/* --- verbs ----------------------------------------------------------------------------------- */

/* What was printed for people, or the answers. */
static void print_answers(const struct cmd_call *call, const json_t *answers, struct strbuf *out) {
    if (call->json) {
        strbuf_clear(out);
        if (json_array_size(answers) > 0)
            ask_dump(call->arg_count > 1 ? answers : json_array_get(answers, 0), out);
    }
    output_rest(out);
}

int name_verb_run(const struct cmd_call *call) {
    const struct name_verb *verb = call->cmd->data;
    for (size_t i = 0; i < call->arg_count; i++)
        if (ask_name(call, call->args[i]) != CMD_OK)
            return CMD_USAGE;
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    _cleanup_(client_answer_freep) json_t *answers = json_array();
    int code = CMD_OK;
    for (size_t i = 0; i < call->arg_count && code == CMD_OK; i++) {
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        ask_path(&path, verb->before, call->args[i], verb->after);
        code = ask_open_post(&ask, NULL, strbuf_text(&path));
        if (code != CMD_OK)
            break;
        json_array_append(answers, ask.answer);
        sanitize_line(call->args[i], &out);
        strbuf_printf(&out, " %s\n", ask_true(ask.answer, "already") ? verb->already : verb->did);
    }
    print_answers(call, answers, &out);
    return code;
}

/* --- pause and resume ------------------------------------------------------------------------ */

static void say(struct strbuf *out, const char *project, bool pause, const json_t *answer) {
    bool already = ask_true(answer, "already");
    if (project)
        strbuf_printf(out, "%s ", project);
    else if (already)
        strbuf_puts(out, "the queue ");
    if (!pause) {
        strbuf_puts(out, already ? "is not paused\n" : "resumed\n");
    } else if (!already) {
        strbuf_puts(out, "paused; what runs goes on, nothing new starts\n");
    } else {
        strbuf_puts(out, "is paused already,");
        print_paused_by(out, answer, clock_read());
        strbuf_putc(out, '\n');
    }
}

/* From inside a run, who paused it is that run and not its user. NULL: no run, or no name of one. */
static const char *run_that_asks(void) {
    const char *run = getenv("SLUICE_RUN");
    for (const char *c = run; c && *c; c++)
        if (!isgraph((unsigned char)*c))
            return NULL;
    return run && *run ? run : NULL;
}

/* One project, or everything. */
static int pause_one(struct ask *ask, const char *project, bool pause) {
    json_t *body = json_object();
    if (project)
        json_object_set_new(body, "project", ask_string(project));
    return ask_post(ask, body, pause ? "/v1/pause" : "/v1/resume");
}

int pause_run(const struct cmd_call *call) {
    bool pause = strcmp(cmd_name(call->cmd), "pause") == 0;
    for (size_t i = 0; i < call->arg_count; i++)
        if (!*call->args[i])
            return cmd_usage_error(call->cmd, "the name of a project is empty");
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    _cleanup_(client_answer_freep) json_t *answers = json_array();
    int code = ask_open(&ask, ASK_START);
    if (code == CMD_OK)
        client_set_run(ask.client, run_that_asks());
    size_t count = call->arg_count > 0 ? call->arg_count : 1;
    for (size_t i = 0; i < count && code == CMD_OK; i++) {
        const char *project = call->arg_count > 0 ? call->args[i] : NULL;
        code = pause_one(&ask, project, pause);
        if (code != CMD_OK)
            break;
        json_array_append(answers, ask.answer);
        say(&out, project, pause, ask.answer);
    }
    print_answers(call, answers, &out);
    return code;
}

const struct cmd cmd_pause = { "pause", .max_args = CMD_ANY_ARGS, .run = pause_run };
const struct cmd cmd_resume = { "resume", .max_args = CMD_ANY_ARGS, .run = pause_run };
