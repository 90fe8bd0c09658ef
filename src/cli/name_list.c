/* name_list.c: see name_list.h. */
#include "cli/name_list.h"

#include "cli/ask.h"
#include "cli/output.h"
#include "os/clock.h"

struct listing {
    const struct name_list *list;
    struct rows rows;
    struct strbuf notes;
    time_ms
        now; /* when the first answer came: who asks may have waited for a daemon that took over */
};

static void add_row(void *ctx, const json_t *item) {
    struct listing *l = ctx;
    if (l->now == 0)
        l->now = clock_read();
    l->list->add(&l->rows, item, l->now);
    if (l->list->note)
        l->list->note(item, &l->notes);
}

static void add_item(void *ctx, const json_t *item) {
    json_array_append(ctx, (json_t *)(uintptr_t)item);
}

/* As the daemon wrote it when one page is all; else the pages as one. */
static int print_json(struct ask *ask, const char *path) {
    int code = ask_get(ask, path);
    if (code != CMD_OK)
        return code;
    if (!ask_text(ask->answer, "next", NULL))
        return ask_print(ask);
    json_t *items = json_array();
    code = ask_pages(ask, path, SIZE_MAX, add_item, items);
    json_t *all = json_pack("{s:o, s:n}", "items", items, "next");
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    ask_dump(all, &out);
    json_decref(all);
    if (code == CMD_OK)
        output_rest(&out);
    return code;
}

static int print_table(struct ask *ask, const char *path, const struct name_list *list) {
    struct listing l = {
        .list = list,
        .rows = { list->columns, list->column_count },
    };
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

int name_list_run(const struct cmd_call *call, const struct name_list *list) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s?limit=1000", list->path);
    int code = ask_open(&ask, ASK_RUNNING);
    if (code != CMD_OK)
        return code;
    return call->json ? print_json(&ask, strbuf_text(&path))
                      : print_table(&ask, strbuf_text(&path), list);
}
