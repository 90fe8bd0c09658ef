/* top_view.c: draws the state.
 *
 * From the top: daemon and host; the most important limits; alerts, or else why tasks wait; the
 * tabs; the rows; and a line for messages, prompts or keys. Small screens drop the second and
 * third. */
#include "cli/top.h"

#include <inttypes.h>
#include <string.h>

#include "cli/print_task.h"
#include "core/state_style.h"

#define SMALL       12 /* lines: below this the header is one line */
#define COLUMNS_MAX 10
#define WIDE        120 /* columns: from this on all table columns are shown */
#define GAP         2
#define BAR         20
#define LABEL       12 /* columns of a name */

/* --- tables ----------------------------------------------------------------------------------- */

/* Each pane names its columns; a column is as wide as its widest visible cell, up to `most`, and
 * the last one takes the rest. */
struct view_column {
    struct column cell;
    unsigned most; /* 0: the rest of the line; only for the last column */
    bool wide;     /* only on a wide screen */
    bool mark;     /* symbol of the task's state */
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

/* clang-format off */
static const struct view_column panes[TOP_PANE_MAX][COLUMNS_MAX] = {
    [TOP_PANE_RUNNING] = {
        { { "" }, 1, .mark = true },
        { { "ID", "id" }, 16 },
        { { "PROJECT", "project" }, 12 },
        { { "AGENT", "agent" }, 10 },
        { { "FOR", .put = print_elapsed, .right = true }, 6 },
        { { "TOKENS", .put = print_tokens, .right = true }, 6 },
        { { "STATE", .put = print_task_state, .is_state = true }, 20, .wide = true },
        { { "DOING", .put = put_doing }, 50, .wide = true },
        { { "TITLE", .put = put_title } },
    },
    [TOP_PANE_READY] = {
        { { "" }, 1, .mark = true },
        { { "ID", "id" }, 16 },
        { { "PROJECT", "project" }, 12 },
        { { "AGENT", "agent" }, 10, .wide = true },
        { { "PRIO", "priority", CELL_NUMBER, .right = true }, 6 },
        { { "SINCE", .put = print_elapsed, .right = true }, 6 },
        { { "GATE", "gate" }, 20 },
        { { "WHY", "why" }, 60, .wide = true },
        { { "TITLE", .put = put_title } },
    },
    [TOP_PANE_WAITING] = {
        { { "" }, 1, .mark = true },
        { { "ID", "id" }, 16 },
        { { "STATE", .put = print_task_state, .is_state = true }, 16, .wide = true },
        { { "PROJECT", "project" }, 12 },
        { { "SINCE", .put = print_elapsed, .right = true }, 6 },
        { { "GATE", "gate" }, 20 },
        { { "OPENS", .put = put_not_before, .right = true }, 8 },
        { { "WHY", "why" }, 60, .wide = true },
        { { "TITLE", .put = put_title } },
    },
    [TOP_PANE_ENDED] = {
        { { "" }, 1, .mark = true },
        { { "ID", "id" }, 16 },
        { { "STATE", .put = print_task_state, .is_state = true }, 11 },
        { { "PROJECT", "project" }, 12 },
        { { "AGENT", "agent" }, 10, .wide = true },
        { { "SINCE", .put = print_elapsed, .right = true }, 6 },
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
    [TOP_PANE_ALERTS] = {
        { { "SINCE", "since", CELL_WHEN, .right = true }, 10 },
        { { "ALERT", "key" }, 24 },
        { { "WHAT", "text" } },
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

/* NULL: not loaded. */
static const json_t *item_at(const struct top *top, size_t row) {
    return top->pane < TOP_LISTS ? top_list_row(&top->lists[top->pane], row)
                                 : json_array_get(top_pane_rows(top), row);
}

static enum task_state state_of(const json_t *task) {
    return task_state_find(get_text(task, "state", ""));
}

static void put_cell(const struct top *top, const struct view_column *column, const json_t *item,
                     struct strbuf *out) {
    if (column->mark)
        strbuf_puts(out, state_symbol(state_of(item), top->unicode));
    else
        print_cell(&column->cell, item, top->now, out);
}

static void measure(struct table *t) {
    for (size_t i = 0; i < COLUMNS_MAX && t->columns[i].cell.title; i++) {
        const struct view_column *column = &t->columns[i];
        unsigned width = (unsigned)strlen(column->cell.title);
        for (size_t r = t->first; r < t->first + t->count; r++) {
            const json_t *item = item_at(t->top, r);
            _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
            if (item)
                put_cell(t->top, column, item, &text);
            unsigned need = top_cells_columns(t->cells->unicode, strbuf_text(&text));
            width = need > width ? need : width;
        }
        t->widths[i] = column->most > 0 && width > column->most ? column->most : width;
    }
}

/* A row; without an item the titles. */
static void draw_line(const struct table *t, unsigned y, const json_t *item) {
    unsigned x = 0, width = t->cells->width;
    for (size_t i = 0; i < COLUMNS_MAX && t->columns[i].cell.title && x < width; i++) {
        const struct view_column *column = &t->columns[i];
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        if (column->wide && width < WIDE)
            continue;
        if (item)
            put_cell(t->top, column, item, &text);
        else
            strbuf_puts(&text, column->cell.title);
        unsigned room = column->most > 0 ? t->widths[i] : width - x;
        unsigned columns = top_cells_columns(t->cells->unicode, strbuf_text(&text));
        unsigned at = column->cell.right && columns < room ? x + room - columns : x;
        bool of_state = column->mark || column->cell.is_state;
        unsigned style = !item      ? TOP_DIM
                         : of_state ? TOP_STATE + (unsigned)state_of(item)
                                    : TOP_PLAIN;
        (void)top_cells_put(t->cells, y, at, room - (at - x), style, strbuf_text(&text));
        x += room + GAP;
    }
}

static void draw_rows(const struct table *t, unsigned y) {
    for (size_t i = 0; i < t->count; i++) {
        size_t row = t->first + i;
        unsigned line = y + (unsigned)i;
        const json_t *item = item_at(t->top, row);
        if (item)
            draw_line(t, line, item);
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
        total = json_array_size(top_pane_rows(top));
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
    draw_line(&t, y, NULL);
    draw_rows(&t, y + 1);
    if (t.count > 0)
        return;
    bool looking = top->pane < TOP_LISTS && top_list_wants(&top->lists[top->pane]);
    (void)top_cells_put(cells, y + 1, 0, cells->width, TOP_DIM,
                        !top->model.status       ? ""
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

static void draw_first(const struct top *top, struct top_cells *cells) {
    struct pieces p = { cells, 0, 0 };
    const json_t *status = top->model.status, *host = json_object_get(status, "host");
    if (!status) {
        (void)put_piece(&p, TOP_BOLD, "sluice");
        return;
    }
    (void)put_piece(&p, TOP_BOLD, "sluice %s", get_text(status, "version", ""));
    if (get_true(status, "paused")) {
        _cleanup_(strbuf_finish) struct strbuf by = STRBUF_INIT;
        print_paused_by(&by, status, top->now);
        if (!put_piece(&p, TOP_ALERT, "PAUSED%s", strbuf_text(&by)))
            (void)put_piece(&p, TOP_ALERT, "PAUSED");
    }
    if (get_true(json_object_get(status, "store"), "full"))
        (void)put_piece(&p, TOP_ALERT, "DISK FULL: nothing new is taken");
    int64_t stuck = get_int(status, "blocked_dependencies", 0); /* they wait for a failed task */
    if (stuck > 0)
        (void)put_piece(&p, TOP_WARNING, "%" PRId64 " wait%s for what failed", stuck,
                        stuck == 1 ? "s" : "");
    double load = get_real(host, "load", -1);
    int64_t memory = get_int(host, "memory_free_mb", -1), disk = get_int(host, "disk_free_mb", -1);
    if (load >= 0)
        (void)put_piece(&p, TOP_PLAIN, "load %.1f", load);
    if (memory >= 0)
        (void)put_piece(&p, TOP_PLAIN, "memory %.1f GB free", (double)memory / 1024);
    if (disk >= 0)
        (void)put_piece(&p, TOP_PLAIN, "disk %" PRId64 " GB free", disk / 1024);
    time_ms started_at = get_int(status, "started_at", 0);
    if (started_at > 0)
        (void)put_piece(&p, TOP_PLAIN, "up %s", print_span(top->now - started_at).text);
    const char *preset = get_text(status, "preset", "");
    if (*preset)
        (void)put_piece(&p, TOP_PLAIN, "preset %s", preset);
}

/* As many as fit, by urgency. */
static void draw_limits(const struct top *top, struct top_cells *cells) {
    struct pieces p = { cells, 1, 0 };
    EACH_ITEM(limit, top->model.limits) {
        const char *state = get_text(limit, "state", "");
        int64_t cap = get_int(limit, "cap", -1), urgency = get_int(limit, "urgency", 0);
        time_ms opens_at = get_int(limit, "opens_at", 0);
        bool closed = urgency >= 500 && urgency<1000, opens = opens_at> top->now;
        if (cap < 0 && !closed && limit != json_array_get(top->model.limits, 0))
            continue;
        (void)put_piece(&p, opens || closed ? TOP_WARNING : TOP_PLAIN, "%s %s%s%s%s%s%s%s",
                        get_text(limit, "key", ""), print_short(get_int(limit, "used", -1)).text,
                        cap >= 0 ? "/" : "", cap >= 0 ? print_short(cap).text : "",
                        *state ? " " : "", state, opens ? ", opens " : "",
                        opens ? print_when(opens_at, top->now).text : "");
    }
}

static void draw_alert(struct top_cells *cells, const json_t *alerts) {
    const char *text = get_text(json_array_get(alerts, 0), "text", "");
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    if (json_array_size(alerts) > 1)
        strbuf_printf(&line, "! %zu alerts: %s", json_array_size(alerts), text);
    else
        strbuf_printf(&line, "! %s", text);
    (void)top_cells_put(cells, 2, 0, cells->width, TOP_ALERT, strbuf_text(&line));
}

static void draw_gates(struct top_cells *cells, const json_t *gates) {
    struct pieces p = { cells, 2, 0 };
    EACH_ITEM(gate, gates) {
        if (!put_piece(&p, p.x == 0 ? TOP_PLAIN : TOP_DIM, "%s%s %s", p.x == 0 ? "wait for: " : "",
                       print_count(get_int(gate, "count", 0)).text, get_text(gate, "gate", "")))
            break;
    }
}

/* --- the tabs -------------------------------------------------------------------------------- */

/* Rows of a pane in the daemon's last answer; -1: unknown. */
static int64_t count_of(const struct top *top, enum top_pane pane) {
    if (pane < TOP_LISTS)
        return top_model_count(&top->model, top_panes[pane].states);
    return pane == TOP_PANE_ALERTS
               ? (int64_t)json_array_size(json_object_get(top->model.status, "alerts"))
               : -1;
}

static void draw_tabs(const struct top *top, struct top_cells *cells, unsigned y) {
    unsigned x = 0;
    top_cells_style(cells, y, 0, cells->width, TOP_BAR);
    for (int i = 0; i < TOP_PANE_MAX; i++) {
        int64_t count = count_of(top, (enum top_pane)i);
        bool chosen = top->pane == (enum top_pane)i;
        unsigned style = chosen ? (unsigned)TOP_BOLD | TOP_SELECTED : TOP_BAR;
        struct print_text tab =
            print_format("%s%s%s%s%s", chosen ? "[" : " ", top_panes[i].name, count >= 0 ? " " : "",
                         count >= 0 ? print_count(count).text : "", chosen ? "]" : " ");
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
        const json_t *alerts = json_object_get(top->model.status, "alerts");
        const json_t *gates = json_object_get(top->model.status, "waiting_by_gate");
        if (json_array_size(alerts) > 0 && !(waits && json_array_size(gates) > 0))
            draw_alert(cells, alerts);
        else
            draw_gates(cells, gates);
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
        moves = get_int(top_list_row(list, list->top + i), "not_before", 0) > top->now;
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
    enum task_state known = state_of(task);
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
