/* top_view.c: the state as a screen.
 *
 * From the top: who it is and how the host does; the limits that matter most; what a person should
 * look at, else what the others wait for; the panes; the rows; and one line that answers, asks, or
 * tells the keys. A small screen loses the second and third of these first. */
#include "cli/top.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/print_task.h"

#define SMALL 12 /* lines: below this the head is one line */

/* Pieces of a line from the left, the important ones first; one that does not fit is left out. */
struct pieces {
    struct top_cells *cells;
    unsigned y, x;
};

static bool put_piece(struct pieces *p, unsigned style, const char *format, ...) _printf_(3, 4);

static bool put_piece(struct pieces *p, unsigned style, const char *format, ...) {
    _cleanup_(strbuf_finish) struct strbuf piece = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&piece, format, args);
    va_end(args);
    unsigned gap = p->x > 0 ? 2 : 0;
    unsigned columns = top_cells_columns(p->cells->unicode, strbuf_text(&piece));
    if (p->x + gap + columns > p->cells->width)
        return false;
    p->x += gap;
    p->x += top_cells_put(p->cells, p->y, p->x, columns, style, strbuf_text(&piece));
    return true;
}

/* --- the head -------------------------------------------------------------------------------- */

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
        (void)put_piece(&p, TOP_WARNING, "%lld wait%s for what failed", (long long)m->stuck,
                        m->stuck == 1 ? "s" : "");
    if (m->load >= 0)
        (void)put_piece(&p, TOP_PLAIN, "load %.1f", m->load);
    if (m->memory_free_mb >= 0)
        (void)put_piece(&p, TOP_PLAIN, "memory %.1f GB free", (double)m->memory_free_mb / 1024);
    if (m->disk_free_mb >= 0)
        (void)put_piece(&p, TOP_PLAIN, "disk %lld GB free", (long long)(m->disk_free_mb / 1024));
    if (m->started_at > 0)
        (void)put_piece(&p, TOP_PLAIN, "up %s", print_span(top->now - m->started_at).text);
    if (*m->preset)
        (void)put_piece(&p, TOP_PLAIN, "preset %s", m->preset);
}

/* As many as fit: they come in the order of their urgency. */
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
        const char *blank = *limit->state ? " " : "";
        if (limit->opens_at > top->now)
            (void)put_piece(&p, TOP_WARNING, "%s %s%s%s%s, opens %s", limit->key,
                            print_short(limit->used).text, strbuf_text(&cap), blank, limit->state,
                            print_when(limit->opens_at, top->now).text);
        else
            (void)put_piece(&p, closed ? TOP_WARNING : TOP_PLAIN, "%s %s%s%s%s", limit->key,
                            print_short(limit->used).text, strbuf_text(&cap), blank, limit->state);
    }
}

static void draw_alert(const struct top *top, struct top_cells *cells) {
    const struct top_alert *alert = &top->model.alerts[0];
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    strbuf_printf(&line, "! %s", alert->text);
    if (top->model.alert_count > 1) {
        strbuf_clear(&line);
        strbuf_printf(&line, "! %zu alerts: %s", top->model.alert_count, alert->text);
    }
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

/* --- the panes ------------------------------------------------------------------------------- */

/* How many a pane has, by what the daemon said last; -1: that is not told. */
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
        char tab[96];
        int64_t count = count_of(top, (enum top_pane)i);
        bool chosen = top->pane == (enum top_pane)i;
        (void)snprintf(tab, sizeof(tab), "%s%s%s%s%s", chosen ? "[" : " ",
                       top_pane_name((enum top_pane)i), count >= 0 ? " " : "",
                       count >= 0 ? print_count(count).text : "", chosen ? "]" : " ");
        unsigned style = chosen ? (unsigned)TOP_BOLD | TOP_SELECTED : TOP_BAR;
        x += top_cells_put(cells, y, x, cells->width - x, style, tab);
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
    } else if (top->away) {
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

/* --- all of it ------------------------------------------------------------------------------- */

size_t top_view_rows(const struct top *top) {
    /* A log and a text have a title and the last line; a list has titles and the panes, too. */
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
    char more[64];
    (void)snprintf(more, sizeof(more), "-- %zu of %zu lines --", top->text.top + height, rows);
    (void)top_cells_put(cells, height, 0, cells->width, TOP_DIM, more);
}

static void draw_list(struct top *top, struct top_cells *cells) {
    unsigned y = head_lines(top);
    draw_first(top, cells);
    if (!is_small(top)) {
        draw_limits(top, cells);
        /* Who looks at what waits wants to know what for; the tab still counts the alerts. */
        bool waits = top->pane == TOP_PANE_READY || top->pane == TOP_PANE_WAITING;
        if (top->model.alert_count > 0 && !(waits && top->model.gate_count > 0))
            draw_alert(top, cells);
        else
            draw_gates(top, cells);
    }
    draw_tabs(top, cells, y);
    top_panes_draw(top, cells, y + 1, (unsigned)top_view_rows(top) + 1);
}

/* A countdown of a row that is seen counts as well. */
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
