/* top_layout.c: the areas of the screen, and what is outside the tables.
 *
 * From the top: daemon, money and host; the most important limits; the worst of what waits for a
 * person, or else why tasks wait;
 * the tabs; the rows; and a line for messages, prompts or keys. Small screens drop the second and
 * third. A wide screen has the selected task below its list, and its log beside both. */
#include "cli/top.h"

#include <inttypes.h>
#include <string.h>

#include "cli/print_task.h"

#define SMALL       12  /* lines: below this the header is one line */
#define SIDES_WIDTH 140 /* columns: from this on the task and its log are shown */
#define SIDES_LINES 20

/* --- pieces of a line ------------------------------------------------------------------------- */

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

/* Of the window of the global budget, as the daemon counts it; live runs are reserved. */
static void draw_money(struct pieces *p, const json_t *status) {
    EACH_ITEM(budget, json_object_get(status, "budgets")) {
        double used = get_real(budget, "usd_used", 0),
               reserved = get_real(budget, "usd_reserved", 0);
        double cap = get_real(budget, "usd_cap", -1);
        if (strcmp(get_text(budget, "key", ""), "global") != 0
            || (used <= 0 && reserved <= 0 && cap < 0))
            continue;
        (void)put_piece(p, TOP_BOLD, "%s%s%s%s%s", print_usd(used).text, cap >= 0 ? " of " : "",
                        cap >= 0 ? print_usd(cap).text : " spent", reserved > 0 ? " + " : "",
                        reserved > 0 ? print_format("%s live", print_usd(reserved).text).text : "");
    }
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
        (void)put_piece(&p, TOP_ALERT, "DISK FULL: new tasks are refused");
    int64_t stuck = get_int(status, "blocked_dependencies", 0); /* they wait for a failed task */
    if (stuck > 0)
        (void)put_piece(&p, TOP_WARNING, "%" PRId64 " wait%s for failed tasks", stuck,
                        stuck == 1 ? "s" : "");
    draw_money(&p, status);
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

/* The worst of what waits for a person, and how many there are. */
static void draw_needs(const struct top *top, struct top_cells *cells) {
    const json_t *worst = top->model.worst;
    const char *title = print_title(worst), *why = get_text(worst, "why", title ? title : "");
    int64_t count = get_int(top->model.status, "attention", 1);
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT, subject = STRBUF_INIT;
    print_need_subject(&subject, worst, top->now);
    strbuf_printf(&line, "! %s need%s you: ", print_count(count).text, count == 1 ? "s" : "");
    strbuf_printf(&line, "%s%s%s: %s", strbuf_text(&subject), subject.length > 0 ? " " : "",
                  get_text(worst, "need", ""), why);
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
    if (pane == TOP_PANE_NEEDS)
        return get_int(top->model.status, "attention", 0);
    return top_is_list(pane) ? top_model_count(&top->model, top_panes[pane].states) : -1;
}

static void draw_tabs(struct top *top, struct top_cells *cells) {
    unsigned x = 0, y = top->layout.tabs_y;
    top_cells_style(cells, y, 0, cells->width, TOP_BAR);
    for (int i = 0; i < TOP_PANE_MAX; i++) {
        int64_t count = count_of(top, (enum top_pane)i);
        bool chosen = top->pane == (enum top_pane)i;
        unsigned style = chosen ? (unsigned)TOP_BOLD | TOP_SELECTED : TOP_BAR;
        struct print_text tab =
            print_format("%s%s%s%s%s", chosen ? "[" : " ", top_panes[i].name, count >= 0 ? " " : "",
                         count >= 0 ? print_count(count).text : "", chosen ? "]" : " ");
        x += top_cells_put(cells, y, x, cells->width - x, style, tab.text);
        top->layout.tab_ends[i] = x;
    }
}

/* --- the last line --------------------------------------------------------------------------- */

/* Of tagged tasks the daemon says of each whether it fits. */
static bool is_offered(const struct top *top, const struct top_verb *verb) {
    if (top->mode == TOP_MODE_LIST && top_tag_count(top) > 0)
        return verb == top_verb_of(top, verb->key) || verb->to;
    return top_offers(top->mode == TOP_MODE_LIST ? top_selected(top) : top->shown, verb->action);
}

/* Whether its question can be answered: it is held for it, or its run waits. */
static bool has_question(const struct top *top) {
    const json_t *task = top->mode == TOP_MODE_LIST ? top_selected(top) : top->shown;
    return member_is(task, "hold", "question")
           || member_is(json_object_get(task, "question"), "state", "open");
}

static void draw_actions(const struct top *top, struct pieces *p) {
    bool tags = top->mode == TOP_MODE_LIST && top_tag_count(top) > 0;
    if (!tags && has_question(top))
        (void)put_piece(p, TOP_BOLD, "a answer");
    int drawn = 0; /* a key has one action of those that share it */
    for (const struct top_verb *verb = top_verbs; verb->path; verb++) {
        if (verb->key == 0 || verb->key == drawn || !is_offered(top, verb))
            continue;
        (void)put_piece(p, tags ? TOP_BOLD : TOP_PLAIN, "%c %s", verb->key, verb->label);
        drawn = verb->key;
    }
}

/* The keys that matter here: first how to leave and help, then what fits the task. */
static void draw_keys(const struct top *top, struct top_cells *cells) {
    static const char *const of_list[] = { "/ filter", "t tag",   "s order", "< > sort",
                                           "p pause",  "m mouse", "w wide" };
    struct pieces p = { cells, cells->height - 1, 0 };
    if (top->mode == TOP_MODE_LOG) {
        (void)put_piece(&p, TOP_DIM, "%s",
                        "q back  / search  n N next  e other stream  f follow  ? help");
        return;
    }
    if (top->mode == TOP_MODE_TEXT) {
        (void)put_piece(&p, TOP_DIM, "%s", top->text_id ? "q back  ? help  l log" : "q back");
        if (top->text_id)
            draw_actions(top, &p);
        return;
    }
    (void)put_piece(&p, TOP_DIM, "%s", "q quit  ? help  tab panes  enter why  l log");
    draw_actions(top, &p);
    for (size_t i = 0; i < ARRAY_SIZE(of_list); i++)
        (void)put_piece(&p, TOP_DIM, "%s", of_list[i]);
}

/* What is typed; of a long text the end. */
static void draw_typed(const struct top *top, struct top_cells *cells) {
    const char *label = top->prompt == TOP_PROMPT_SEARCH   ? "search"
                        : top->prompt == TOP_PROMPT_FILTER ? "filter (esc leaves it)"
                                                           : strbuf_text(&top->question);
    struct pieces p = { cells, cells->height - 1, 0 };
    const char *typed = strbuf_text(&top->typed);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    unsigned room = cells->width > 2 ? cells->width - 2 : 0, used = top_cells_columns(true, label);
    if (used + 20 > room) { /* a narrow screen: the text matters more */
        label = "";
        used = 0;
    }
    for (room -= used; *typed && top_cells_columns(top->unicode, typed) > room;) {
        typed++;
        while (((unsigned char)*typed & 0xc0) == 0x80)
            typed++;
    }
    strbuf_printf(&text, "%s%s%s_", label, *label ? ": " : "", typed);
    (void)put_piece(&p, TOP_BOLD, "%s", strbuf_text(&text));
}

/* 0: nothing but keys. */
static unsigned put_notice(const struct top *top, struct strbuf *line) {
    size_t tags = top->mode == TOP_MODE_LIST ? top_tag_count(top) : 0;
    if (top->prompt == TOP_PROMPT_SURE) {
        strbuf_printf(line, "[y/n] %s", strbuf_text(&top->question));
        return TOP_ALERT;
    }
    if (top->message.length > 0) {
        strbuf_puts(line, strbuf_text(&top->message));
        return top->message_bad ? TOP_ALERT : TOP_BOLD;
    }
    if (top->unreachable) {
        strbuf_puts(line, "the daemon is away, trying again; 'sluice up' starts it");
        return TOP_ALERT;
    }
    if (tags > 0) {
        strbuf_printf(line, "%zu tagged:", tags);
        return TOP_WARNING;
    }
    if (top->mode == TOP_MODE_LIST && top->filter.length > 0) {
        strbuf_printf(line, "filter: %s  (esc removes it)", strbuf_text(&top->filter));
        return TOP_WARNING;
    }
    return 0;
}

static void draw_last(const struct top *top, struct top_cells *cells) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    unsigned y = cells->height - 1;
    if (top->prompt != TOP_PROMPT_NONE && top->prompt != TOP_PROMPT_SURE) {
        draw_typed(top, cells);
        return;
    }
    unsigned style = put_notice(top, &line);
    unsigned x = top_cells_put(cells, y, 0, cells->width, style, strbuf_text(&line));
    if (top->plain)
        return;
    if (style == 0) {
        draw_keys(top, cells);
    } else if (style == TOP_WARNING && top->mode == TOP_MODE_LIST && top_tag_count(top) > 0) {
        struct pieces p = { cells, y, x };
        draw_actions(top, &p);
        (void)put_piece(&p, TOP_DIM, "t T tag  esc untags");
    }
}

/* --- areas ----------------------------------------------------------------------------------- */

static bool has_sides(const struct top *top) {
    return !top->plain && !top->no_sides && top_is_list(top->pane) && top->width >= SIDES_WIDTH
           && top->height >= SIDES_LINES;
}

void top_layout(struct top *top) {
    struct top_layout *l = &top->layout;
    unsigned y = head_lines(top) + 1, left = top->width * 11 / 20;
    unsigned lines = top->height > y + 1 ? top->height - y - 1 : 1;
    l->tabs_y = y - 1;
    l->is_wide = has_sides(top);
    l->list = (struct top_area){ y, 0, lines, l->is_wide ? left : top->width };
    l->why = l->log = (struct top_area){ 0 };
    if (!l->is_wide)
        return;
    l->list.height = lines * 11 / 20;
    l->why = (struct top_area){ y + l->list.height, 0, lines - l->list.height, left };
    l->log = (struct top_area){ y, left + 1, lines, top->width - left - 1 };
}

size_t top_view_rows(const struct top *top) {
    if (top->mode == TOP_MODE_LIST)
        return top->layout.list.height > 1 ? top->layout.list.height - 1 : 1;
    return top->height > 2 ? top->height - 2 : 1; /* a title and the last line */
}

void top_fit_log(struct top *top) {
    const struct top_area *beside = &top->layout.log;
    bool is_beside = top->mode == TOP_MODE_LIST && top->layout.is_wide;
    top_log_size(&top->log, is_beside ? beside->width : top->width,
                 is_beside         ? beside->height - 1
                 : top->height > 2 ? top->height - 2
                                   : 1,
                 top->unicode);
}

/* --- the screen ------------------------------------------------------------------------------ */

static const char *stream_name(const char *stream) {
    return strcmp(stream, "out") == 0     ? "output"
           : strcmp(stream, "err") == 0   ? "errors"
           : strcmp(stream, "check") == 0 ? "checks"
                                          : "preparation";
}

/* Into all of `cells`: a title and rows. */
static void draw_log(struct top *top, struct top_cells *cells) {
    struct top_log *log = &top->log;
    struct pieces p = { cells, 0, 0 };
    bool has_run = top->mode != TOP_MODE_LIST || top->log_attempt > 0;
    top_cells_style(cells, 0, 0, cells->width, TOP_BAR);
    if (!log->task)
        return;
    top_fit_log(top);
    (void)put_piece(&p, TOP_BOLD, "%s", log->task);
    (void)put_piece(&p, TOP_BAR, "%s", stream_name(log->stream));
    (void)put_piece(&p, TOP_BAR, "%s",
                    !has_run      ? ""
                    : log->ended  ? "(ended)"
                    : log->follow ? "(following)"
                                  : "(f follows)");
    if (log->count > 0)
        (void)put_piece(&p, TOP_BAR, "line %zu of %zu%s", log->top + 1, log->count,
                        log->cut ? "; 'sluice logs' has the beginning" : "");
    if (log->count == 0)
        (void)top_cells_put(cells, 1, 0, cells->width, TOP_DIM,
                            !has_run     ? "it has not run yet"
                            : log->ended ? "nothing was printed"
                                         : "nothing was printed yet");
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

/* Right of the tabs: not everything is sorted. */
static void draw_cut(const struct top *top, struct top_cells *cells) {
    static const char text[] = "only the first 2,000 are sorted";
    unsigned x = top->layout.tab_ends[TOP_PANE_MAX - 1], room = (unsigned)strlen(text);
    if (x + room + 2 <= cells->width)
        (void)top_cells_put(cells, top->layout.tabs_y, cells->width - room, room, TOP_WARNING,
                            text);
}

/* The selected task below its list, its log beside both. */
static void draw_sides(struct top *top, struct top_cells *cells) {
    const struct top_layout *l = &top->layout;
    struct top_cells why = top_cells_part(cells, l->why), log = top_cells_part(cells, l->log);
    struct pieces p = { &why, 0, 0 };
    top_cells_style(&why, 0, 0, why.width, TOP_BAR);
    (void)put_piece(&p, TOP_BOLD, "%s", top->why_id ? top->why_id : "no task");
    (void)put_piece(&p, TOP_BAR, "%s", "why, and its runs");
    (void)top_text_draw(&top->why, &why, 1, why.height > 1 ? why.height - 1 : 0);
    for (unsigned y = l->log.y; y < l->log.y + l->log.height; y++)
        (void)top_cells_put(cells, y, l->log.x - 1, 1, TOP_DIM, cells->unicode ? "│" : "|");
    draw_log(top, &log);
}

static void draw_list(struct top *top, struct top_cells *cells) {
    draw_first(top, cells);
    if (!is_small(top)) {
        draw_limits(top, cells);
        /* Panes of waiting tasks show why they wait; the tab still counts what needs a person. */
        bool waits = top->pane == TOP_PANE_READY || top->pane == TOP_PANE_WAITING;
        const json_t *gates = json_object_get(top->model.status, "waiting_by_gate");
        if (top->model.worst && !(waits && json_array_size(gates) > 0))
            draw_needs(top, cells);
        else
            draw_gates(cells, gates);
    }
    draw_tabs(top, cells);
    top_pane_draw(top, cells);
    if (top->sort_cut && top_is_list(top->pane) && top->sorts[top->pane].column > 0)
        draw_cut(top, cells);
    if (top->layout.is_wide)
        draw_sides(top, cells);
}

/* Includes the countdown of a visible row. */
static bool is_moving(const struct top *top) {
    bool moves = top_model_moves(&top->model, top->now);
    if (top->mode != TOP_MODE_LIST || !top_is_list(top->pane))
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
    top_layout(top);
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
