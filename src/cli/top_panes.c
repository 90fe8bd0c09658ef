/* top_panes.c: the tables of the panes.
 *
 * Each pane names its columns; a column takes what its widest cell on the screen needs, up to a most,
 * and the last one takes the rest. What only a wide screen has room for says so. */
#include "cli/top.h"

#include <string.h>

#include "cli/print_task.h"
#include "core/state_look.h"

#define COLUMNS_MAX 10
#define WIDE        120 /* columns of a screen from which the rest is shown */
#define GAP         2
#define BAR         20

struct column {
    const char *title;
    bool right, wide; /* wide: only on a wide screen */
    unsigned most;    /* 0: the rest of the line; only the last one */
    /* The text of a row; `buffer` may be used for it. */
    const char *(*text)(const struct top *top, size_t row, struct strbuf *buffer);
};

static const struct top_task *task_at(const struct top *top, size_t row) {
    return top_list_row(&top->lists[top->pane], row);
}

#define TASK_TEXT(name)                                                                            \
    static const char *text_##name(const struct top *top, size_t row, struct strbuf *buffer) {     \
        (void)buffer;                                                                              \
        return task_at(top, row)->name;                                                            \
    }                                                                                              \
    struct top_needs_a_semicolon_

TASK_TEXT(id);
TASK_TEXT(word);
TASK_TEXT(project);
TASK_TEXT(agent);
TASK_TEXT(gate);
TASK_TEXT(why);
TASK_TEXT(doing);
TASK_TEXT(title);

static const char *text_mark(const struct top *top, size_t row, struct strbuf *buffer) {
    (void)buffer;
    return state_symbol(task_at(top, row)->state, top->unicode);
}

static const char *text_since(const struct top *top, size_t row, struct strbuf *buffer) {
    time_ms since = task_at(top, row)->since;
    strbuf_puts(buffer, since > 0 ? print_span(top->now - since).text : "-");
    return strbuf_text(buffer);
}

static const char *text_opens(const struct top *top, size_t row, struct strbuf *buffer) {
    time_ms at = task_at(top, row)->not_before;
    strbuf_puts(buffer, at > top->now ? print_when(at, top->now).text : "");
    return strbuf_text(buffer);
}

static const char *text_tokens(const struct top *top, size_t row, struct strbuf *buffer) {
    strbuf_puts(buffer, print_short(task_at(top, row)->tokens).text);
    return strbuf_text(buffer);
}

static const char *text_priority(const struct top *top, size_t row, struct strbuf *buffer) {
    strbuf_printf(buffer, "%lld", (long long)task_at(top, row)->priority);
    return strbuf_text(buffer);
}

static const char *text_key(const struct top *top, size_t row, struct strbuf *buffer) {
    (void)buffer;
    return top->model.limits[row].key;
}

static const char *text_used(const struct top *top, size_t row, struct strbuf *buffer) {
    strbuf_puts(buffer, print_short(top->model.limits[row].used).text);
    return strbuf_text(buffer);
}

static const char *text_cap(const struct top *top, size_t row, struct strbuf *buffer) {
    int64_t cap = top->model.limits[row].cap;
    strbuf_puts(buffer, cap < 0 ? "no limit" : print_short(cap).text);
    return strbuf_text(buffer);
}

/* [#####---------------]; nothing for what has no cap. */
static const char *text_bar(const struct top *top, size_t row, struct strbuf *buffer) {
    const struct top_limit *limit = &top->model.limits[row];
    if (limit->cap <= 0 || limit->used < 0)
        return "";
    double part = (double)limit->used / (double)limit->cap;
    unsigned full = part >= 1 ? BAR : (unsigned)(part * BAR);
    full += full == 0 && limit->used > 0;
    strbuf_putc(buffer, '[');
    strbuf_repeat(buffer, "#", full);
    strbuf_repeat(buffer, "-", BAR - full);
    strbuf_putc(buffer, ']');
    return strbuf_text(buffer);
}

static const char *text_state(const struct top *top, size_t row, struct strbuf *buffer) {
    const struct top_limit *limit = &top->model.limits[row];
    strbuf_puts(buffer, limit->state);
    if (limit->opens_at > top->now)
        strbuf_printf(buffer, "%sopens %s", buffer->length > 0 ? ", " : "",
                      print_when(limit->opens_at, top->now).text);
    return strbuf_text(buffer);
}

static const char *text_alert_since(const struct top *top, size_t row, struct strbuf *buffer) {
    strbuf_puts(buffer, print_when(top->model.alerts[row].since, top->now).text);
    return strbuf_text(buffer);
}

static const char *text_alert_key(const struct top *top, size_t row, struct strbuf *buffer) {
    (void)buffer;
    return top->model.alerts[row].key;
}

static const char *text_alert(const struct top *top, size_t row, struct strbuf *buffer) {
    (void)buffer;
    return top->model.alerts[row].text;
}

/* clang-format off */
static const struct column panes[TOP_PANE_MAX][COLUMNS_MAX] = {
    [TOP_PANE_RUNNING] = {
        { "", false, false, 1, text_mark }, { "ID", false, false, 16, text_id },
        { "PROJECT", false, false, 12, text_project }, { "AGENT", false, false, 10, text_agent },
        { "FOR", true, false, 6, text_since }, { "TOKENS", true, false, 6, text_tokens },
        { "STATE", false, true, 20, text_word }, { "DOING", false, true, 50, text_doing },
        { "TITLE", false, false, 0, text_title },
    },
    [TOP_PANE_READY] = {
        { "", false, false, 1, text_mark }, { "ID", false, false, 16, text_id },
        { "PROJECT", false, false, 12, text_project }, { "AGENT", false, true, 10, text_agent },
        { "PRIO", true, false, 6, text_priority }, { "SINCE", true, false, 6, text_since },
        { "GATE", false, false, 20, text_gate }, { "WHY", false, true, 60, text_why },
        { "TITLE", false, false, 0, text_title },
    },
    [TOP_PANE_WAITING] = {
        { "", false, false, 1, text_mark }, { "ID", false, false, 16, text_id },
        { "STATE", false, true, 16, text_word }, { "PROJECT", false, false, 12, text_project },
        { "SINCE", true, false, 6, text_since }, { "GATE", false, false, 20, text_gate },
        { "OPENS", true, false, 8, text_opens }, { "WHY", false, true, 60, text_why },
        { "TITLE", false, false, 0, text_title },
    },
    [TOP_PANE_ENDED] = {
        { "", false, false, 1, text_mark }, { "ID", false, false, 16, text_id },
        { "STATE", false, false, 11, text_word }, { "PROJECT", false, false, 12, text_project },
        { "AGENT", false, true, 10, text_agent }, { "SINCE", true, false, 6, text_since },
        { "WHY", false, true, 60, text_why }, { "TITLE", false, false, 0, text_title },
    },
    [TOP_PANE_LIMITS] = {
        { "LIMIT", false, false, 30, text_key }, { "USED", true, false, 8, text_used },
        { "CAP", true, false, 8, text_cap }, { "", false, false, BAR + 2, text_bar },
        { "STATE", false, false, 0, text_state },
    },
    [TOP_PANE_ALERTS] = {
        { "SINCE", true, false, 10, text_alert_since }, { "ALERT", false, false, 24, text_alert_key },
        { "WHAT", false, false, 0, text_alert },
    },
};

static const char *const nothing[TOP_PANE_MAX] = {
    "nothing runs", "nothing is ready to start", "nothing waits", "nothing has ended",
    "no limits are known", "no alerts",
};
/* clang-format on */

/* --- drawing --------------------------------------------------------------------------------- */

struct table {
    struct top *top;
    struct top_cells *cells;
    const struct column *columns;
    unsigned widths[COLUMNS_MAX];
    size_t first, count; /* rows that are seen */
    size_t selected;
};

static bool is_shown(const struct table *t, const struct column *column) {
    return !column->wide || t->cells->width >= WIDE;
}

static bool is_loaded(const struct table *t, size_t row) {
    return t->top->pane >= TOP_LISTS || task_at(t->top, row);
}

static void measure(struct table *t) {
    for (size_t i = 0; i < COLUMNS_MAX && t->columns[i].text; i++) {
        const struct column *column = &t->columns[i];
        unsigned width = (unsigned)strlen(column->title);
        for (size_t r = t->first; r < t->first + t->count; r++) {
            if (!is_loaded(t, r))
                continue;
            _cleanup_(strbuf_finish) struct strbuf buffer = STRBUF_INIT;
            unsigned need = top_cells_columns(t->cells->unicode, column->text(t->top, r, &buffer));
            width = need > width ? need : width;
        }
        t->widths[i] = column->most > 0 && width > column->most ? column->most : width;
    }
}

/* One line: the titles, or the row. */
static void draw_line(const struct table *t, unsigned y, size_t row, bool titles) {
    unsigned x = 0, width = t->cells->width;
    const struct top_task *task = t->top->pane < TOP_LISTS ? task_at(t->top, row) : NULL;
    for (size_t i = 0; i < COLUMNS_MAX && t->columns[i].text && x < width; i++) {
        const struct column *column = &t->columns[i];
        _cleanup_(strbuf_finish) struct strbuf buffer = STRBUF_INIT;
        if (!is_shown(t, column))
            continue;
        const char *text = titles ? column->title : column->text(t->top, row, &buffer);
        unsigned room = column->most > 0 ? t->widths[i] : width - x;
        unsigned columns = top_cells_columns(t->cells->unicode, text);
        unsigned at = column->right && columns < room ? x + room - columns : x;
        bool of_state = task && !titles && (column->text == text_mark || column->text == text_word);
        unsigned style = titles ? TOP_DIM : of_state ? TOP_STATE + task->state : TOP_PLAIN;
        (void)top_cells_put(t->cells, y, at, room - (at - x), style, text);
        x += room + GAP;
    }
}

static void draw_rows(const struct table *t, unsigned y) {
    for (size_t i = 0; i < t->count; i++) {
        size_t row = t->first + i;
        unsigned line = y + (unsigned)i;
        if (is_loaded(t, row))
            draw_line(t, line, row, false);
        else
            (void)top_cells_put(t->cells, line, 0, t->cells->width, TOP_DIM, "...");
        if (row != t->selected || t->top->plain || line >= t->cells->height)
            continue;
        for (unsigned x = 0; x < t->cells->width; x++)
            top_cells_at(t->cells, line, x)->style |= TOP_SELECTED;
    }
}

/* Which rows are seen. A list knows by itself; the others follow their selection. */
static void choose_rows(struct table *t, size_t height) {
    struct top *top = t->top;
    size_t total;
    if (top->pane < TOP_LISTS) {
        struct top_list *list = &top->lists[top->pane];
        top_list_height(list, height);
        total = top_list_known(list);
        t->first = list->top;
        t->selected = list->selected;
    } else {
        total = top->pane == TOP_PANE_LIMITS ? top->model.limit_count : top->model.alert_count;
        size_t *row = &top->rows[top->pane];
        *row = *row < total ? *row : total > 0 ? total - 1 : 0;
        t->selected = *row;
        t->first = *row >= height ? *row - height + 1 : 0;
    }
    t->count = total - t->first < height ? total - t->first : height;
}

void top_panes_draw(struct top *top, struct top_cells *cells, unsigned y, unsigned height) {
    struct table t = { .top = top, .cells = cells, .columns = panes[top->pane] };
    choose_rows(&t, height > 1 ? height - 1 : 1);
    measure(&t);
    draw_line(&t, y, 0, true);
    draw_rows(&t, y + 1);
    if (t.count > 0)
        return;
    bool looking = top->pane < TOP_LISTS && top_list_wants(&top->lists[top->pane]);
    (void)top_cells_put(cells, y + 1, 0, cells->width, TOP_DIM,
                        !top->model.known        ? ""
                        : looking                ? "looking ..."
                        : top->filter.length > 0 ? "nothing matches the filter; esc removes it"
                                                 : nothing[top->pane]);
}
