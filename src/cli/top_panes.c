/* top_panes.c: the tables of the panes: their columns, drawing and sorting.
 *
 * A column is as wide as its widest visible cell, up to `most`, and the last one takes the rest.
 * Sorting compares what the columns show; it decides nothing. */
#include "cli/top.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/print_task.h"
#include "core/state_style.h"

#define WIDE 120 /* columns: from this on all table columns are shown */
#define GAP  2
#define BAR  20

/* --- columns ---------------------------------------------------------------------------------- */

struct view_column {
    struct column cell;
    unsigned most; /* 0: the rest of the line; only for the last column */
    bool wide;     /* only on a wide screen */
    bool mark;     /* symbol of the task's state */
    bool optional; /* only if a visible row has a value */
    /* Sorts by this number, not by the text; NAN: no value. */
    double (*number)(const json_t *item, time_ms now);
};

static void put_doing(struct strbuf *out, const json_t *task, time_ms now) {
    const json_t *run = json_object_get(task, "run");
    (void)now;
    strbuf_puts(out, get_text(run, "doing", get_text(run, "last_line", "")));
}

static void put_title(struct strbuf *out, const json_t *task, time_ms now) {
    const char *title = print_title(task);
    (void)now;
    strbuf_puts(out, title ? title : "");
}

static void put_not_before(struct strbuf *out, const json_t *task, time_ms now) {
    time_ms at = get_int(task, "not_before", 0);
    strbuf_puts(out, at > now ? print_when(at, now).text : "");
}

static void put_cost(struct strbuf *out, const json_t *task, time_ms now) {
    double usd = get_real(task, "cost_usd", -1);
    (void)now;
    strbuf_puts(out, usd >= 0 ? print_usd(usd).text : "");
}

/* Of a held task what it is held for, which says more than "held". */
static void put_gate(struct strbuf *out, const json_t *task, time_ms now) {
    (void)now;
    if (member_is(task, "state", "held"))
        strbuf_puts(out, print_state(task).text);
    else
        strbuf_puts(out, get_text(task, "gate", ""));
}

static void put_used(struct strbuf *out, const json_t *limit, time_ms now) {
    (void)now;
    strbuf_puts(out, print_short(get_int(limit, "used", -1)).text);
}

static void put_cap(struct strbuf *out, const json_t *limit, time_ms now) {
    int64_t cap = get_int(limit, "cap", -1);
    (void)now;
    strbuf_puts(out, cap < 0 ? "no limit" : print_short(cap).text);
}

/* [#####---------------]; nothing without a cap. */
static void put_bar(struct strbuf *out, const json_t *limit, time_ms now) {
    int64_t used = get_int(limit, "used", -1), cap = get_int(limit, "cap", -1);
    (void)now;
    if (cap <= 0 || used < 0)
        return;
    double part = (double)used / (double)cap;
    unsigned full = part >= 1 ? BAR : (unsigned)(part * BAR);
    full += full == 0 && used > 0;
    strbuf_putc(out, '[');
    strbuf_repeat(out, "#", full);
    strbuf_repeat(out, "-", BAR - full);
    strbuf_putc(out, ']');
}

static void put_limit_state(struct strbuf *out, const json_t *limit, time_ms now) {
    time_ms opens_at = get_int(limit, "opens_at", 0);
    strbuf_puts(out, get_text(limit, "state", ""));
    if (opens_at > now)
        strbuf_printf(out, "%sopens %s", out->length > 0 ? ", " : "",
                      print_when(opens_at, now).text);
    if (json_array_size(json_object_get(limit, "windows")) > 0 && out->length > 0)
        strbuf_puts(out, "; ");
    print_windows(out, limit, now);
}

/* --- what columns are sorted by ---------------------------------------------------------------- */

static double number_or_none(int64_t number) {
    return number >= 0 ? (double)number : NAN;
}

static double cost_of(const json_t *task, time_ms now) {
    double usd = get_real(task, "cost_usd", -1);
    (void)now;
    return usd >= 0 ? usd : NAN;
}

static double tokens_of(const json_t *task, time_ms now) {
    (void)now;
    return number_or_none(print_run_tokens(json_object_get(task, "run")));
}

static double priority_of(const json_t *task, time_ms now) {
    (void)now;
    return (double)get_int(task, "priority", 0);
}

static double not_before_of(const json_t *task, time_ms now) {
    time_ms at = get_int(task, "not_before", 0);
    return at > now ? (double)at : NAN;
}

static double since_of(const json_t *need, time_ms now) {
    (void)now;
    return number_or_none(get_int(need, "since", -1));
}

/* The span that print_elapsed shows. */
static double elapsed_of(const json_t *task, time_ms now) {
    time_ms started = get_int(json_object_get(task, "run"), "started_at", 0);
    time_ms since = started > 0 ? started : get_int(task, "changed_at", 0);
    return since > 0 ? (double)(now - since) : NAN;
}

/* clang-format off */
static const struct view_column panes[TOP_PANE_MAX][TOP_COLUMNS_MAX] = {
    [TOP_PANE_RUNNING] = {
        { { "" }, 1, .mark = true },
        { { "ID", "id" }, 16 },
        { { "PROJECT", "project" }, 12 },
        { { "AGENT", "agent" }, 10 },
        { { "FOR", .put = print_elapsed, .right = true }, 6, .number = elapsed_of },
        { { "TOKENS", .put = print_tokens, .right = true }, 6, .number = tokens_of },
        { { "COST", .put = put_cost, .right = true }, 8, .optional = true, .number = cost_of },
        { { "STATE", .put = print_task_state, .is_state = true }, 20, .wide = true },
        { { "DOING", .put = put_doing }, 50, .wide = true },
        { { "TITLE", .put = put_title } },
    },
    [TOP_PANE_READY] = {
        { { "" }, 1, .mark = true },
        { { "ID", "id" }, 16 },
        { { "PROJECT", "project" }, 12 },
        { { "AGENT", "agent" }, 10, .wide = true },
        { { "PRIO", "priority", CELL_NUMBER, .right = true }, 6, .number = priority_of },
        { { "SINCE", .put = print_elapsed, .right = true }, 6, .number = elapsed_of },
        { { "GATE", "gate" }, 20 },
        { { "WHY", "why" }, 60, .wide = true },
        { { "TITLE", .put = put_title } },
    },
    [TOP_PANE_WAITING] = {
        { { "" }, 1, .mark = true },
        { { "ID", "id" }, 16 },
        { { "STATE", .put = print_task_state, .is_state = true }, 16, .wide = true },
        { { "PROJECT", "project" }, 12 },
        { { "SINCE", .put = print_elapsed, .right = true }, 6, .number = elapsed_of },
        { { "GATE", .put = put_gate }, 20 },
        { { "OPENS", .put = put_not_before, .right = true }, 8, .optional = true, .number = not_before_of },
        { { "COST", .put = put_cost, .right = true }, 8, .optional = true, .number = cost_of },
        { { "WHY", "why" }, 60, .wide = true },
        { { "TITLE", .put = put_title } },
    },
    [TOP_PANE_ENDED] = {
        { { "" }, 1, .mark = true },
        { { "ID", "id" }, 16 },
        { { "STATE", .put = print_task_state, .is_state = true }, 11 },
        { { "PROJECT", "project" }, 12 },
        { { "AGENT", "agent" }, 10, .wide = true },
        { { "SINCE", .put = print_elapsed, .right = true }, 6, .number = elapsed_of },
        { { "COST", .put = put_cost, .right = true }, 8, .optional = true, .number = cost_of },
        { { "WHY", "why" }, 60, .wide = true },
        { { "TITLE", .put = put_title } },
    },
    [TOP_PANE_LIMITS] = {
        { { "LIMIT", "key" }, 30 },
        { { "USED", .put = put_used, .right = true }, 8 },
        { { "CAP", .put = put_cap, .right = true }, 8 },
        { { "", .put = put_bar }, BAR + 2 },
        { { "STATE", .put = put_limit_state } },
    },
    [TOP_PANE_NEEDS] = {
        { { "" }, 1, .mark = true },
        { { "ID", .put = print_need_subject }, 16 },
        { { "NEED", "need" }, 17 },
        { { "PROJECT", "project" }, 12, .wide = true },
        { { "SINCE", "since", CELL_WHEN, .right = true }, 10, .number = since_of },
        { { "COST", .put = put_cost, .right = true }, 8, .wide = true, .optional = true, .number = cost_of },
        { { "TITLE", .put = put_title }, 24 },
        { { "WHY", "why" } },
    },
};

static const char *const nothing[TOP_PANE_MAX] = {
    "nothing runs", "nothing is ready to start", "nothing waits", "nothing has ended",
    "no limits are known", "nothing needs you",
};
/* clang-format on */

/* --- sorting ---------------------------------------------------------------------------------- */

/* Columns that are too wide for this screen are passed over. */
static bool can_sort(const struct top *top, unsigned column) {
    const struct view_column *c = &panes[top->pane][column];
    return !c->wide || top->layout.list.width >= WIDE;
}

unsigned top_pane_next_column(const struct top *top, int by) {
    unsigned column = top->sorts[top->pane].column, count = 1;
    while (count < TOP_COLUMNS_MAX && panes[top->pane][count].cell.title)
        count++;
    do {
        column = (column + count + (unsigned)by) % count;
    } while (!can_sort(top, column));
    return column;
}

const char *top_pane_column(enum top_pane pane, unsigned column) {
    return panes[pane][column].cell.title;
}

struct sorted {
    json_t *task;
    double number; /* NAN: none */
    char *text;    /* NULL: sorted by the number */
    size_t at;     /* before sorting: equal ones keep their order */
    bool reverse;
};

static bool has_value(const struct sorted *s) {
    return s->text ? *s->text != '\0' : !isnan(s->number);
}

static int compare_values(const struct sorted *x, const struct sorted *y) {
    if (x->text) /* web-9 before web-10 */
        return strverscmp(x->text, y->text);
    return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_tasks(const void *a, const void *b) {
    const struct sorted *x = a, *y = b;
    int order = has_value(y) - has_value(x);
    if (order == 0 && has_value(x))
        order = x->reverse ? compare_values(y, x) : compare_values(x, y);
    return order != 0 ? order : x->at < y->at ? -1 : x->at > y->at;
}

void top_pane_sort(const struct top *top, enum top_pane pane, json_t *page) {
    const struct top_sort *sort = &top->sorts[pane];
    const struct view_column *column = &panes[pane][sort->column];
    size_t count = json_array_size(page);
    struct sorted *all = xcalloc(count > 0 ? count : 1, sizeof(*all));
    for (size_t i = 0; i < count; i++) {
        json_t *task = json_array_get(page, i);
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        if (!column->number)
            print_cell(&column->cell, task, top->now, &text);
        all[i] = (struct sorted){
            .task = json_incref(task),
            .number = column->number ? column->number(task, top->now) : 0,
            .text = column->number ? NULL : xstrdup(strbuf_text(&text)),
            .at = i,
            .reverse = sort->reverse,
        };
    }
    qsort(all, count, sizeof(*all), compare_tasks);
    json_array_clear(page);
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(page, all[i].task);
        free(all[i].text);
    }
    free(all);
}

/* --- drawing --------------------------------------------------------------------------------- */

struct table {
    struct top *top;
    struct top_cells *cells;
    const struct view_column *columns;
    unsigned widths[TOP_COLUMNS_MAX]; /* 0: not shown */
    size_t first, count;              /* visible rows */
    size_t selected;
};

/* NULL: not loaded. */
static const json_t *item_at(const struct top *top, size_t row) {
    return top_is_list(top->pane) ? top_list_row(&top->lists[top->pane], row)
                                  : json_array_get(top_pane_rows(top), row);
}

static enum task_state state_of(const json_t *task) {
    return task_state_find(get_text(task, "state", ""));
}

static void put_cell(const struct top *top, const struct view_column *column, const json_t *item,
                     struct strbuf *out) {
    if (column->mark && !get_text(item, "state", NULL)) /* not a task */
        strbuf_puts(out, "!");
    else if (column->mark)
        strbuf_puts(out, state_symbol(state_of(item), top->unicode));
    else
        print_cell(&column->cell, item, top->now, out);
}

/* The title, with an arrow at the column that the rows are sorted by. */
static void put_heading(const struct top *top, size_t column, struct strbuf *out) {
    const struct top_sort *sort = top_is_list(top->pane) ? &top->sorts[top->pane] : NULL;
    strbuf_puts(out, panes[top->pane][column].cell.title);
    if (sort && sort->column > 0 && sort->column == column)
        strbuf_puts(out, top->unicode ? (sort->reverse ? "▼" : "▲") : sort->reverse ? "v" : "^");
}

static unsigned columns_of(const struct table *t, const struct strbuf *text) {
    return top_cells_columns(t->cells->unicode, strbuf_text(text));
}

static void measure_column(struct table *t, size_t i) {
    const struct view_column *column = &t->columns[i];
    _cleanup_(strbuf_finish) struct strbuf heading = STRBUF_INIT;
    put_heading(t->top, i, &heading);
    unsigned title = columns_of(t, &heading), width = 0;
    for (size_t r = t->first; r < t->first + t->count; r++) {
        const json_t *item = item_at(t->top, r);
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        if (item)
            put_cell(t->top, column, item, &text);
        unsigned need = columns_of(t, &text);
        width = need > width ? need : width;
    }
    bool is_shown = !(column->wide && t->cells->width < WIDE) && !(column->optional && width == 0);
    width = title > width ? title : width;
    t->widths[i] = column->most > 0 && width > column->most ? column->most : width;
    t->widths[i] = is_shown && t->widths[i] == 0 ? 1 : is_shown ? t->widths[i] : 0;
}

/* Where each column is: the mouse finds it there. */
static void place_columns(struct table *t) {
    unsigned x = 0, width = t->cells->width;
    struct top_column_span *spans = t->top->layout.columns;
    memset(spans, 0, sizeof(t->top->layout.columns));
    for (size_t i = 0; i < TOP_COLUMNS_MAX && t->columns[i].cell.title; i++) {
        measure_column(t, i);
        if (t->widths[i] == 0 || x >= width)
            continue;
        unsigned room = t->columns[i].most > 0 ? t->widths[i] : width - x;
        spans[i] = (struct top_column_span){ x, x + room };
        x += room + GAP;
    }
}

/* A row; without an item the titles. */
static void draw_line(const struct table *t, unsigned y, const json_t *item) {
    for (size_t i = 0; i < TOP_COLUMNS_MAX; i++) {
        const struct view_column *column = &t->columns[i];
        const struct top_column_span *span = &t->top->layout.columns[i];
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        if (span->end == 0)
            continue;
        if (item)
            put_cell(t->top, column, item, &text);
        else
            put_heading(t->top, i, &text);
        unsigned room = span->end - span->x, columns = columns_of(t, &text);
        unsigned at = column->cell.right && columns < room ? span->end - columns : span->x;
        bool of_state = column->mark || column->cell.is_state;
        unsigned style = !item      ? TOP_DIM
                         : of_state ? TOP_STATE + (unsigned)state_of(item)
                                    : TOP_PLAIN;
        (void)top_cells_put(t->cells, y, at, span->end - at, style, strbuf_text(&text));
    }
}

/* A tag stands in the gap after the mark. */
static void draw_row(const struct table *t, unsigned line, size_t row) {
    const json_t *item = item_at(t->top, row);
    if (item)
        draw_line(t, line, item);
    else
        (void)top_cells_put(t->cells, line, 0, t->cells->width, TOP_DIM, "...");
    if (item && top_is_list(t->top->pane) && top_is_tagged(t->top, get_text(item, "id", "")))
        (void)top_cells_put(t->cells, line, 1, 1, TOP_BOLD, "*");
    for (unsigned x = 0; row == t->selected && !t->top->plain && x < t->cells->width; x++)
        top_cells_at(t->cells, line, x)->style |= TOP_SELECTED;
}

/* Chooses the visible rows. A list has its own position; other panes follow their selection. */
static void choose_rows(struct table *t, size_t height) {
    struct top *top = t->top;
    size_t total;
    if (top_is_list(top->pane)) {
        struct top_list *list = &top->lists[top->pane];
        top_list_height(list, height);
        total = top_list_known(list);
        t->first = list->top;
        t->selected = list->selected;
    } else {
        total = json_array_size(top_pane_rows(top));
        size_t *row = &top->rows[top->pane];
        *row = *row < total ? *row : total > 0 ? total - 1 : 0;
        t->selected = *row;
        t->first = *row >= height ? *row - height + 1 : 0;
    }
    t->count = total - t->first < height ? total - t->first : height;
}

static void draw_empty(const struct table *t) {
    const struct top *top = t->top;
    bool looking = top_is_list(top->pane) && top_list_wants(&top->lists[top->pane]);
    (void)top_cells_put(t->cells, 1, 0, t->cells->width, TOP_DIM,
                        !top->model.status       ? ""
                        : looking                ? "looking ..."
                        : top->filter.length > 0 ? "nothing matches the filter; esc removes it"
                                                 : nothing[top->pane]);
}

void top_pane_draw(struct top *top, const struct top_cells *cells) {
    struct top_cells part = top_cells_part(cells, top->layout.list);
    struct table t = { .top = top, .cells = &part, .columns = panes[top->pane] };
    choose_rows(&t, part.height > 1 ? part.height - 1 : 1);
    place_columns(&t);
    draw_line(&t, 0, NULL);
    for (size_t i = 0; i < t.count && i + 1 < part.height; i++)
        draw_row(&t, 1 + (unsigned)i, t.first + i);
    if (t.count == 0)
        draw_empty(&t);
}
