/* top_view.c: draws the state.
 *
 * From the top: daemon and host; the most important limits; alerts, or else why tasks wait; the
 * tabs; the rows; and a line for messages, prompts or keys. Small screens drop the second and
 * third. */
#include "cli/top.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "cli/print_task.h"
#include "core/state_look.h"

#define SMALL       12 /* lines: below this the header is one line */
#define COLUMNS_MAX 10
#define WIDE        120 /* columns: from this on all table columns are shown */
#define GAP         2
#define BAR         20
#define LABEL       12 /* columns of a name */

/* --- tables ----------------------------------------------------------------------------------- */

/* Each pane names its columns; a column is as wide as its widest visible cell, up to `most`, and
 * the last one takes the rest. A cell is a member of the row's struct, formatted by `kind`. */
enum view_kind {
    VIEW_PLAIN,  /* a text */
    VIEW_STATUS, /* a text in the color of the task's state */
    VIEW_MARK,   /* symbol of the task's state */
    VIEW_SINCE,  /* elapsed time */
    VIEW_AT,     /* a time: "3 m ago" */
    VIEW_OPENS,  /* a time in the future, or nothing */
    VIEW_SHORT,  /* 12.3k */
    VIEW_FULL,   /* 12345 */
    VIEW_LIMIT,  /* a cap, or "no limit" */
    VIEW_BAR,    /* [#####---------------]; nothing without a cap */
    VIEW_CLOSED, /* the state of a limit, and when it opens */
};

struct view_column {
    const char *title;
    unsigned most; /* 0: the rest of the line; only for the last column */
    enum view_kind kind;
    size_t offset; /* of the member: a text, an int64_t or a time_ms */
    bool right;
    bool wide; /* only on a wide screen */
};

static const struct top_task *task_at(const struct top *top, size_t row) {
    return top_list_row(&top->lists[top->pane], row);
}

/* The text of a cell; may use `buffer`. */
static const char *cell_text(const struct top *top, const struct view_column *column, size_t row,
                             struct strbuf *buffer) {
    const struct top_limit *limit = top->pane == TOP_PANE_LIMITS ? &top->model.limits[row] : NULL;
    const void *item = limit;
    if (!limit)
        item = top->pane < TOP_LISTS ? (const void *)task_at(top, row)
                                     : (const void *)&top->model.alerts[row];
    const char *member = (const char *)item + column->offset;
    bool is_text = column->kind <= VIEW_STATUS || column->kind == VIEW_CLOSED;
    const char *text = is_text ? *(const char *const *)(const void *)member : "";
    int64_t number = is_text || column->kind == VIEW_MARK || column->kind == VIEW_BAR
                         ? 0
                         : *(const int64_t *)(const void *)member;
    switch (column->kind) {
    case VIEW_PLAIN:
    case VIEW_STATUS:
        return text;
    case VIEW_MARK:
        return state_symbol(task_at(top, row)->state, top->unicode);
    case VIEW_SINCE:
        strbuf_puts(buffer, number > 0 ? print_span(top->now - number).text : "-");
        break;
    case VIEW_AT:
        strbuf_puts(buffer, print_when(number, top->now).text);
        break;
    case VIEW_OPENS:
        strbuf_puts(buffer, number > top->now ? print_when(number, top->now).text : "");
        break;
    case VIEW_SHORT:
        strbuf_puts(buffer, print_short(number).text);
        break;
    case VIEW_FULL:
        strbuf_printf(buffer, "%" PRId64, number);
        break;
    case VIEW_LIMIT:
        strbuf_puts(buffer, number < 0 ? "no limit" : print_short(number).text);
        break;
    case VIEW_BAR:
        if (limit->cap > 0 && limit->used >= 0) {
            double part = (double)limit->used / (double)limit->cap;
            unsigned full = part >= 1 ? BAR : (unsigned)(part * BAR);
            full += full == 0 && limit->used > 0;
            strbuf_putc(buffer, '[');
            strbuf_repeat(buffer, "#", full);
            strbuf_repeat(buffer, "-", BAR - full);
            strbuf_putc(buffer, ']');
        }
        break;
    case VIEW_CLOSED:
        strbuf_puts(buffer, text);
        if (limit->opens_at > top->now)
            strbuf_printf(buffer, "%sopens %s", *text ? ", " : "",
                          print_when(limit->opens_at, top->now).text);
        break;
    }
    return strbuf_text(buffer);
}

/* clang-format off */
#define TASK(member)  offsetof(struct top_task, member)
#define LIMIT(member) offsetof(struct top_limit, member)
#define ALERT(member) offsetof(struct top_alert, member)

static const struct view_column panes[TOP_PANE_MAX][COLUMNS_MAX] = {
    [TOP_PANE_RUNNING] = {
        { "", 1, VIEW_MARK },
        { "ID", 16, VIEW_PLAIN, TASK(id) },
        { "PROJECT", 12, VIEW_PLAIN, TASK(project) },
        { "AGENT", 10, VIEW_PLAIN, TASK(agent) },
        { "FOR", 6, VIEW_SINCE, TASK(since), .right = true },
        { "TOKENS", 6, VIEW_SHORT, TASK(tokens), .right = true },
        { "STATE", 20, VIEW_STATUS, TASK(word), .wide = true },
        { "DOING", 50, VIEW_PLAIN, TASK(doing), .wide = true },
        { "TITLE", 0, VIEW_PLAIN, TASK(title) },
    },
    [TOP_PANE_READY] = {
        { "", 1, VIEW_MARK },
        { "ID", 16, VIEW_PLAIN, TASK(id) },
        { "PROJECT", 12, VIEW_PLAIN, TASK(project) },
        { "AGENT", 10, VIEW_PLAIN, TASK(agent), .wide = true },
        { "PRIO", 6, VIEW_FULL, TASK(priority), .right = true },
        { "SINCE", 6, VIEW_SINCE, TASK(since), .right = true },
        { "GATE", 20, VIEW_PLAIN, TASK(gate) },
        { "WHY", 60, VIEW_PLAIN, TASK(why), .wide = true },
        { "TITLE", 0, VIEW_PLAIN, TASK(title) },
    },
    [TOP_PANE_WAITING] = {
        { "", 1, VIEW_MARK },
        { "ID", 16, VIEW_PLAIN, TASK(id) },
        { "STATE", 16, VIEW_STATUS, TASK(word), .wide = true },
        { "PROJECT", 12, VIEW_PLAIN, TASK(project) },
        { "SINCE", 6, VIEW_SINCE, TASK(since), .right = true },
        { "GATE", 20, VIEW_PLAIN, TASK(gate) },
        { "OPENS", 8, VIEW_OPENS, TASK(not_before), .right = true },
        { "WHY", 60, VIEW_PLAIN, TASK(why), .wide = true },
        { "TITLE", 0, VIEW_PLAIN, TASK(title) },
    },
    [TOP_PANE_ENDED] = {
        { "", 1, VIEW_MARK },
        { "ID", 16, VIEW_PLAIN, TASK(id) },
        { "STATE", 11, VIEW_STATUS, TASK(word) },
        { "PROJECT", 12, VIEW_PLAIN, TASK(project) },
        { "AGENT", 10, VIEW_PLAIN, TASK(agent), .wide = true },
        { "SINCE", 6, VIEW_SINCE, TASK(since), .right = true },
        { "WHY", 60, VIEW_PLAIN, TASK(why), .wide = true },
        { "TITLE", 0, VIEW_PLAIN, TASK(title) },
    },
    [TOP_PANE_LIMITS] = {
        { "LIMIT", 30, VIEW_PLAIN, LIMIT(key) },
        { "USED", 8, VIEW_SHORT, LIMIT(used), .right = true },
        { "CAP", 8, VIEW_LIMIT, LIMIT(cap), .right = true },
        { "", BAR + 2, VIEW_BAR },
        { "STATE", 0, VIEW_CLOSED, LIMIT(state) },
    },
    [TOP_PANE_ALERTS] = {
        { "SINCE", 10, VIEW_AT, ALERT(since), .right = true },
        { "ALERT", 24, VIEW_PLAIN, ALERT(key) },
        { "WHAT", 0, VIEW_PLAIN, ALERT(text) },
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
    const struct view_column *columns;
    unsigned widths[COLUMNS_MAX];
    size_t first, count; /* visible rows */
    size_t selected;
};

static bool is_loaded(const struct table *t, size_t row) {
    return t->top->pane >= TOP_LISTS || task_at(t->top, row);
}

static void measure(struct table *t) {
    for (size_t i = 0; i < COLUMNS_MAX && t->columns[i].title; i++) {
        const struct view_column *column = &t->columns[i];
        unsigned width = (unsigned)strlen(column->title);
        for (size_t r = t->first; r < t->first + t->count; r++) {
            if (!is_loaded(t, r))
                continue;
            _cleanup_(strbuf_finish) struct strbuf buffer = STRBUF_INIT;
            unsigned need =
                top_cells_columns(t->cells->unicode, cell_text(t->top, column, r, &buffer));
            width = need > width ? need : width;
        }
        t->widths[i] = column->most > 0 && width > column->most ? column->most : width;
    }
}

/* The titles, or a row. */
static void draw_line(const struct table *t, unsigned y, size_t row, bool titles) {
    unsigned x = 0, width = t->cells->width;
    const struct top_task *task = t->top->pane < TOP_LISTS ? task_at(t->top, row) : NULL;
    for (size_t i = 0; i < COLUMNS_MAX && t->columns[i].title && x < width; i++) {
        const struct view_column *column = &t->columns[i];
        _cleanup_(strbuf_finish) struct strbuf buffer = STRBUF_INIT;
        if (column->wide && width < WIDE)
            continue;
        const char *text = titles ? column->title : cell_text(t->top, column, row, &buffer);
        unsigned room = column->most > 0 ? t->widths[i] : width - x;
        unsigned columns = top_cells_columns(t->cells->unicode, text);
        unsigned at = column->right && columns < room ? x + room - columns : x;
        bool of_state =
            task && !titles && (column->kind == VIEW_MARK || column->kind == VIEW_STATUS);
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

/* Chooses the visible rows. A list has its own position; other panes follow their selection. */
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

static void draw_pane(struct top *top, struct top_cells *cells, unsigned y, unsigned height) {
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

/* --- the screen ------------------------------------------------------------------------------- */

/* Adds parts from the left, important ones first; skips those that do not fit. */
struct pieces {
    struct top_cells *cells;
    unsigned y, x;
};

_printf_(3, 4) static bool put_piece(struct pieces *p, unsigned style, const char *format, ...) {
    CMD_PRINT_ARGS(piece, format);
    unsigned gap = p->x > 0 ? 2 : 0;
    unsigned columns = top_cells_columns(p->cells->unicode, strbuf_text(&piece));
    if (p->x + gap + columns > p->cells->width)
        return false;
    p->x += gap;
    p->x += top_cells_put(p->cells, p->y, p->x, columns, style, strbuf_text(&piece));
    return true;
}

/* --- the header ------------------------------------------------------------------------------ */

static bool is_small(const struct top *top) {
    return top->height < SMALL;
}

static unsigned head_lines(const struct top *top) {
    return is_small(top) ? 1 : 3;
}

static void draw_paused(const struct top *top, struct pieces *p) {
    const struct top_model *m = &top->model;
    bool who = *m->paused_by && m->paused_at > 0;
    if (!who
        || !put_piece(p, TOP_ALERT, "PAUSED by %s %s", m->paused_by,
                      print_since(m->paused_at, top->now).text))
        (void)put_piece(p, TOP_ALERT, "PAUSED");
}

static void draw_first(const struct top *top, struct top_cells *cells) {
    struct pieces p = { cells, 0, 0 };
    const struct top_model *m = &top->model;
    if (!m->known) {
        (void)put_piece(&p, TOP_BOLD, "sluice");
        return;
    }
    (void)put_piece(&p, TOP_BOLD, "sluice %s", m->version);
    if (m->paused)
        draw_paused(top, &p);
    if (m->store_full)
        (void)put_piece(&p, TOP_ALERT, "DISK FULL: nothing new is taken");
    if (m->stuck > 0)
        (void)put_piece(&p, TOP_WARNING, "%" PRId64 " wait%s for what failed", m->stuck,
                        m->stuck == 1 ? "s" : "");
    if (m->load >= 0)
        (void)put_piece(&p, TOP_PLAIN, "load %.1f", m->load);
    if (m->memory_free_mb >= 0)
        (void)put_piece(&p, TOP_PLAIN, "memory %.1f GB free", (double)m->memory_free_mb / 1024);
    if (m->disk_free_mb >= 0)
        (void)put_piece(&p, TOP_PLAIN, "disk %" PRId64 " GB free", (m->disk_free_mb / 1024));
    if (m->started_at > 0)
        (void)put_piece(&p, TOP_PLAIN, "up %s", print_span(top->now - m->started_at).text);
    if (*m->preset)
        (void)put_piece(&p, TOP_PLAIN, "preset %s", m->preset);
}

/* As many as fit, by urgency. */
static void draw_limits(const struct top *top, struct top_cells *cells) {
    struct pieces p = { cells, 1, 0 };
    for (size_t i = 0; i < top->model.limit_count; i++) {
        const struct top_limit *limit = &top->model.limits[i];
        _cleanup_(strbuf_finish) struct strbuf cap = STRBUF_INIT;
        bool closed = limit->urgency >= 500 && limit->urgency < 1000;
        if (limit->cap < 0 && !closed && i > 0)
            continue;
        if (limit->cap >= 0)
            strbuf_printf(&cap, "/%s", print_short(limit->cap).text);
        bool opens = limit->opens_at > top->now;
        (void)put_piece(&p, opens || closed ? TOP_WARNING : TOP_PLAIN, "%s %s%s%s%s%s%s",
                        limit->key, print_short(limit->used).text, strbuf_text(&cap),
                        *limit->state ? " " : "", limit->state, opens ? ", opens " : "",
                        opens ? print_when(limit->opens_at, top->now).text : "");
    }
}

static void draw_alert(const struct top *top, struct top_cells *cells) {
    const struct top_alert *alert = &top->model.alerts[0];
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    if (top->model.alert_count > 1)
        strbuf_printf(&line, "! %zu alerts: %s", top->model.alert_count, alert->text);
    else
        strbuf_printf(&line, "! %s", alert->text);
    (void)top_cells_put(cells, 2, 0, cells->width, TOP_ALERT, strbuf_text(&line));
}

static void draw_gates(const struct top *top, struct top_cells *cells) {
    struct pieces p = { cells, 2, 0 };
    for (size_t i = 0; i < top->model.gate_count; i++) {
        const struct top_gate *gate = &top->model.gates[i];
        if (!put_piece(&p, i == 0 ? TOP_PLAIN : TOP_DIM, "%s%s %s", i == 0 ? "wait for: " : "",
                       print_count(gate->count).text, gate->gate))
            break;
    }
}

/* --- the tabs -------------------------------------------------------------------------------- */

/* Rows of a pane in the daemon's last answer; -1: unknown. */
static int64_t count_of(const struct top *top, enum top_pane pane) {
    const int64_t *counts = top->model.counts;
    switch (pane) {
    case TOP_PANE_RUNNING:
        return counts[TASK_RUNNING] + counts[TASK_STARTING];
    case TOP_PANE_READY:
        return counts[TASK_READY];
    case TOP_PANE_WAITING:
        return counts[TASK_WAITING] + counts[TASK_HELD];
    case TOP_PANE_ENDED:
        return counts[TASK_DONE] + counts[TASK_FAILED] + counts[TASK_CANCELED]
               + counts[TASK_INVALIDATED];
    case TOP_PANE_ALERTS:
        return (int64_t)top->model.alert_count;
    case TOP_PANE_LIMITS:
    case TOP_PANE_MAX:
        break;
    }
    return -1;
}

static void draw_tabs(const struct top *top, struct top_cells *cells, unsigned y) {
    unsigned x = 0;
    top_cells_style(cells, y, 0, cells->width, TOP_BAR);
    for (int i = 0; i < TOP_PANE_MAX; i++) {
        int64_t count = count_of(top, (enum top_pane)i);
        bool chosen = top->pane == (enum top_pane)i;
        unsigned style = chosen ? (unsigned)TOP_BOLD | TOP_SELECTED : TOP_BAR;
        struct print_text tab = print_format(
            "%s%s%s%s%s", chosen ? "[" : " ", top_pane_name((enum top_pane)i),
            count >= 0 ? " " : "", count >= 0 ? print_count(count).text : "", chosen ? "]" : " ");
        x += top_cells_put(cells, y, x, cells->width - x, style, tab.text);
    }
}

/* --- the last line --------------------------------------------------------------------------- */

static const char *keys_of(const struct top *top) {
    if (top->mode == TOP_MODE_LOG)
        return "q back  / search  n N next  e other stream  f follow  ? help";
    if (top->mode == TOP_MODE_TEXT)
        return top->text_id ? "q back  l log  c cancel  r retry  h hold  + - priority  ? help"
                            : "q back";
    return "q quit  tab panes  enter why  l log  / filter  c cancel  p pause  ? help";
}

static void draw_last(const struct top *top, struct top_cells *cells) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    unsigned style = TOP_DIM, y = cells->height - 1;
    if (top->prompt == TOP_PROMPT_SURE) {
        strbuf_printf(&line, "[y/n] %s", strbuf_text(&top->question));
        style = TOP_ALERT;
    } else if (top->prompt != TOP_PROMPT_NONE) {
        strbuf_printf(&line, "%s: %s_",
                      top->prompt == TOP_PROMPT_SEARCH ? "search" : "filter (esc leaves it)",
                      strbuf_text(&top->typed));
        style = TOP_BOLD;
    } else if (top->message.length > 0) {
        strbuf_puts(&line, strbuf_text(&top->message));
        style = top->message_bad ? TOP_ALERT : TOP_BOLD;
    } else if (top->unreachable) {
        strbuf_puts(&line, "the daemon is away, trying again; 'sluice up' starts it");
        style = TOP_ALERT;
    } else if (top->mode == TOP_MODE_LIST && top->filter.length > 0) {
        strbuf_printf(&line, "filter: %s  (esc removes it)", strbuf_text(&top->filter));
        style = TOP_WARNING;
    } else if (!top->plain) {
        strbuf_puts(&line, keys_of(top));
    }
    (void)top_cells_put(cells, y, 0, cells->width, style, strbuf_text(&line));
}

/* --- the screen ------------------------------------------------------------------------------ */

size_t top_view_rows(const struct top *top) {
    /* A log or text has a title and the last line; a list also has column titles and tabs. */
    unsigned others = top->mode == TOP_MODE_LIST ? head_lines(top) + 3 : 2;
    return top->height > others ? top->height - others : 1;
}

static void draw_log(struct top *top, struct top_cells *cells) {
    struct top_log *log = &top->log;
    struct pieces p = { cells, 0, 0 };
    top_log_size(log, cells->width, top_view_rows(top), cells->unicode);
    top_cells_style(cells, 0, 0, cells->width, TOP_BAR);
    (void)put_piece(&p, TOP_BOLD, "%s", log->task ? log->task : "");
    (void)put_piece(&p, TOP_BAR, "%s",
                    strcmp(log->stream, "out") == 0     ? "output"
                    : strcmp(log->stream, "err") == 0   ? "errors"
                    : strcmp(log->stream, "check") == 0 ? "checks"
                                                        : "preparation");
    (void)put_piece(&p, TOP_BAR, "%s",
                    log->ended    ? "(ended)"
                    : log->follow ? "(following)"
                                  : "(f follows)");
    if (log->count > 0)
        (void)put_piece(&p, TOP_BAR, "line %zu of %zu%s", log->top + 1, log->count,
                        log->cut ? "; 'sluice logs' has the beginning" : "");
    if (log->count == 0)
        (void)top_cells_put(cells, 1, 0, cells->width, TOP_DIM,
                            log->ended ? "nothing was printed" : "nothing was printed yet");
    top_log_draw(log, cells, 1, (unsigned)log->height);
}

static void draw_text(struct top *top, struct top_cells *cells) {
    unsigned height = (unsigned)top_view_rows(top);
    size_t rows = top_text_draw(&top->text, cells, 0, height);
    if (rows <= height)
        return;
    (void)top_cells_put(cells, height, 0, cells->width, TOP_DIM,
                        print_format("-- %zu of %zu lines --", top->text.top + height, rows).text);
}

static void draw_list(struct top *top, struct top_cells *cells) {
    unsigned y = head_lines(top);
    draw_first(top, cells);
    if (!is_small(top)) {
        draw_limits(top, cells);
        /* Panes of waiting tasks show why they wait; the tab still counts alerts. */
        bool waits = top->pane == TOP_PANE_READY || top->pane == TOP_PANE_WAITING;
        if (top->model.alert_count > 0 && !(waits && top->model.gate_count > 0))
            draw_alert(top, cells);
        else
            draw_gates(top, cells);
    }
    draw_tabs(top, cells, y);
    draw_pane(top, cells, y + 1, (unsigned)top_view_rows(top) + 1);
}

/* Includes the countdown of a visible row. */
static bool is_moving(const struct top *top) {
    bool moves = top_model_moves(&top->model, top->now);
    if (top->mode != TOP_MODE_LIST || top->pane >= TOP_LISTS)
        return moves;
    const struct top_list *list = &top->lists[top->pane];
    for (size_t i = 0; i < top_view_rows(top) && !moves; i++) {
        const struct top_task *task = top_list_row(list, list->top + i);
        moves = task && task->not_before > top->now;
    }
    return moves;
}

void top_view(struct top *top, struct top_cells *cells) {
    cells->unicode = top->unicode;
    top_cells_size(cells, top->width, top->height);
    if (top->width == 0 || top->height == 0)
        return;
    if (top->mode == TOP_MODE_LOG)
        draw_log(top, cells);
    else if (top->mode == TOP_MODE_TEXT)
        draw_text(top, cells);
    else
        draw_list(top, cells);
    draw_last(top, cells);
    top->moves = is_moving(top);
}

/* --- task details ----------------------------------------------------------------------------- */

/* Details of one task: first why it is not running, the most frequent question, with every gate in
 * the order they are checked. Then its members, and how its last runs ended. */

static void add_value(struct top_text *text, const char *name, const char *value) {
    if (value && *value)
        top_text_add(text, TOP_PLAIN, LABEL, "%-*s %s", LABEL - 1, name, value);
}

/* --- why ------------------------------------------------------------------------------------- */

static void add_gate(struct top_text *text, const json_t *gate, time_ms now, bool unicode) {
    bool open = get_true(gate, "open");
    _cleanup_(strbuf_finish) struct strbuf reason = STRBUF_INIT;
    print_gate(&reason, gate, now);
    top_text_add(text, open ? TOP_DIM : TOP_WARNING, 4, "  %s %s %s%s",
                 state_symbol(open ? TASK_DONE : TASK_FAILED, unicode), get_text(gate, "gate", "?"),
                 open ? "open" : "closed: ", strbuf_text(&reason));
}

static void add_forecast(struct top_text *text, const json_t *why, time_ms now) {
    int64_t position = get_int(why, "queue_position", 0);
    const json_t *forecast = json_object_get(why, "forecast");
    if (position > 0)
        top_text_add(text, TOP_PLAIN, 2, "  position %" PRId64 " in the queue", position);
    if (!json_is_object(forecast))
        return;
    top_text_add(text, TOP_PLAIN, 2, "  should start %s%s", print_start(forecast, now).text,
                 get_text(forecast, "text", "when its gate opens"));
}

static void add_why(struct top_text *text, const json_t *why, time_ms now, bool unicode) {
    if (!why)
        return;
    top_text_add(text, TOP_BOLD, LABEL, "%-*s%s", LABEL, "why",
                 get_text(why, "summary", "nothing is known"));
    EACH_ITEM(gate, json_object_get(why, "gates")) {
        add_gate(text, gate, now, unicode);
    }
    add_forecast(text, why, now);
}

/* --- members --------------------------------------------------------------------------------- */

static void add_words(struct top_text *text, const char *name, const json_t *list) {
    _cleanup_(strbuf_finish) struct strbuf words = STRBUF_INIT;
    join_texts(&words, " ", list);
    add_value(text, name, strbuf_text(&words));
}

static void add_what(struct top_text *text, const json_t *task, time_ms now) {
    static const char *const names[] = { "project", "kind", "agent", "group", "parent" };
    const json_t *spec = json_object_get(task, "spec");
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        add_value(text, names[i], get_text(task, names[i], NULL));
    add_value(text, "priority", cell_number(task, "priority").text);
    add_value(text, "iteration", cell_number(task, "iteration").text);
    add_value(text, "created", cell_when(task, "created_at", now).text);
    add_value(text, "changed", cell_when(task, "changed_at", now).text);
    if (get_int(task, "not_before", 0) > now)
        add_value(text, "not before", cell_when(task, "not_before", now).text);
    add_words(text, "needs", json_object_get(task, "depends_on"));
    add_words(text, "command", json_object_get(spec, "argv"));
    add_value(text, "prompt", get_text(spec, "prompt", NULL));
    add_value(text, "last line", get_text(json_object_get(task, "run"), "last_line", NULL));
    add_value(text, "works in", get_text(task, "works_in", get_text(spec, "cwd", NULL)));
}

/* --- runs ------------------------------------------------------------------------------------ */

static void add_run(struct top_text *text, const json_t *run, time_ms now) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    time_ms started = get_int(run, "started_at", get_int(run, "ordered_at", 0));
    time_ms ended = get_int(run, "ended_at", 0);
    const char *outcome = get_text(run, "outcome", get_text(run, "phase", "?"));
    int64_t in = get_int(run, "tokens_in", -1), out = get_int(run, "tokens_out", -1);
    strbuf_printf(&line, "  run %" PRId64 "  %s", get_int(run, "attempt", 0), outcome);
    if (json_is_integer(json_object_get(run, "exit_code")))
        strbuf_printf(&line, "  exit %" PRId64, get_int(run, "exit_code", 0));
    if (get_int(run, "signal", 0) > 0)
        strbuf_printf(&line, "  signal %" PRId64, get_int(run, "signal", 0));
    if (started > 0)
        strbuf_printf(&line, "  %s", print_span((ended > 0 ? ended : now) - started).text);
    if (ended > 0)
        strbuf_printf(&line, "  ended %s", print_since(ended, now).text);
    if (in >= 0 || out >= 0)
        strbuf_printf(&line, "  tokens %s in, %s out", print_short(in).text, print_short(out).text);
    top_text_add(text, strcmp(outcome, "failed") == 0 ? TOP_ERROR : TOP_PLAIN, 4, "%s",
                 strbuf_text(&line));
    const char *message = get_text(run, "message", "");
    if (*message)
        top_text_add(text, TOP_DIM, 4, "    %s", message);
}

void top_details_fill(struct top_text *text, const json_t *task, const json_t *why, time_ms now,
                      bool unicode) {
    struct print_text state = print_state(task);
    enum task_state known = task_state_find(get_text(task, "state", ""));
    const char *title = print_title(task);
    top_text_clear(text);
    bool is_plain = known == TASK_ABSENT || known == TASK_WAITING;
    top_text_add(text, is_plain ? TOP_BOLD : TOP_STATE + known, 0, "%s %s  %s",
                 state_symbol(known, unicode), get_text(task, "id", "?"), state.text);
    top_text_add(text, TOP_BOLD, 0, "%s", title ? title : "");
    top_text_add(text, TOP_PLAIN, 0, "%s", "");
    add_why(text, why, now, unicode);
    top_text_add(text, TOP_PLAIN, 0, "%s", "");
    add_what(text, task, now);
    const json_t *runs = json_object_get(task, "runs");
    if (json_array_size(runs) > 0)
        top_text_add(text, TOP_PLAIN, 0, "%s", "");
    EACH_ITEM(run, runs) {
        add_run(text, run, now);
    }
}

/* --- help ------------------------------------------------------------------------------------ */

void top_help_fill(struct top_text *text, bool unicode) {
    static const char *const keys[][2] = {
        { "tab, 1 to 6", "the panes: running, ready, waiting, ended, limits, alerts" },
        { "arrows, j k", "up and down; page up, page down, home, end" },
        { "enter", "everything about a task, with all the gates that stop it" },
        { "l", "its log: / searches, n and N go on, e shows the other stream, f follows" },
        { "/", "only rows with these words: id, title, project, agent, state, gate; "
               "gate:dependency is that gate alone; project:web, "
               "agent:, kind: and group: are asked of the daemon; esc removes the filter" },
        { "s", "another order: as they will start, oldest first, newest first" },
        { "c", "cancel the task; asks first" },
        { "p, P", "pause everything, or the project of the task, and resume; asks first" },
        { "r", "retry a task that failed or was canceled, or do its next attempt now" },
        { "h", "hold a task that waits, or release it" },
        { "+ -", "to the front of the queue, to its end" },
        { "Ctrl-L", "draw the screen anew" },
        { "q", "back, and at last out; Ctrl-C ends it at once" },
    };
    top_text_add(text, TOP_BOLD, 0, "keys");
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        top_text_add(text, TOP_PLAIN, 14, "%-14s%s", keys[i][0], keys[i][1]);
    top_text_add(text, TOP_PLAIN, 0, "%s", "");
    top_text_add(text, TOP_BOLD, 0, "marks");
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        top_text_add(text, TOP_STATE + (unsigned)s, 0, "  %s %s",
                     state_symbol((enum task_state)s, unicode),
                     task_state_name((enum task_state)s));
}
