/* top_input.c: handles keys and clicks.
 *
 * A key changes the state, or sets a request that the loop executes; nothing is sent or drawn
 * here. */
#include "cli/top.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define WHEEL 3 /* rows */

/* clang-format off */
const struct top_pane_row top_panes[TOP_PANE_MAX] = {
    [TOP_PANE_RUNNING] = { "running", "starting,running", { "old", "new" } },
    [TOP_PANE_READY]   = { "ready", "ready", { "queue", "old", "new" } },
    [TOP_PANE_WAITING] = { "waiting", "waiting,held", { "old", "new" } },
    [TOP_PANE_ENDED]   = { "ended", "done,failed,canceled,invalidated", { "new", "old" } },
    [TOP_PANE_LIMITS]  = { "limits" },
    [TOP_PANE_NEEDS]   = { "needs you", NULL, { "worst" } },
};

/* clang-format on */

bool top_is_list(enum top_pane pane) {
    return pane != TOP_PANE_LIMITS;
}

int top_pane_find(const char *name) {
    if (strcmp(name, "needs") == 0 || strcmp(name, "alerts") == 0) /* alerts: its earlier name */
        return TOP_PANE_NEEDS;
    for (int i = 0; i < TOP_PANE_MAX; i++)
        if (strcmp(top_panes[i].name, name) == 0)
            return i;
    return -1;
}

const json_t *top_pane_rows(const struct top *top) {
    return top->pane == TOP_PANE_LIMITS ? top->model.limits : NULL;
}

void top_finish(struct top *top) {
    top_model_finish(&top->model);
    for (size_t i = 0; i < TOP_PANE_MAX; i++)
        top_list_finish(&top->lists[i]);
    top_text_finish(&top->text);
    top_log_finish(&top->log);
    strbuf_finish(&top->filter);
    strbuf_finish(&top->search);
    strbuf_finish(&top->typed);
    strbuf_finish(&top->question);
    strbuf_finish(&top->message);
    strbuf_finish(&top->reply);
    top_text_finish(&top->why);
    json_decref(top->tags);
    json_decref(top->shown);
    json_decref(top->asked);
    free(top->why_id);
    free(top->text_id);
    free(top->target_id);
}

void top_set_message(struct top *top, bool bad, const char *format, ...) {
    va_list args;
    strbuf_clear(&top->message);
    va_start(args, format);
    strbuf_vprintf(&top->message, format, args);
    va_end(args);
    top->message_bad = bad;
}

/* --- searching ------------------------------------------------------------------------------- */

void top_search_log(struct top *top, bool backward) {
    if (top->search.length == 0) {
        top_set_message(top, true, "nothing to look for yet: / asks for it");
        return;
    }
    int found = top_log_search(&top->log, strbuf_text(&top->search), backward);
    if (found == 0)
        top_set_message(top, true, "'%s' is not in what is kept of this log",
                        strbuf_text(&top->search));
    else if (found == 2)
        top_set_message(top, false, "went on from the %s", backward ? "end" : "beginning");
}

/* --- moving ---------------------------------------------------------------------------------- */

/* Rows that a key moves by; 0: not a movement. */
static long movement(const struct top *top, int key) {
    long page = (long)top_view_rows(top);
    switch (key) {
    case TOP_KEY_UP:
    case 'k':
        return -1;
    case TOP_KEY_DOWN:
    case 'j':
        return 1;
    case TOP_KEY_PAGE_UP:
    case 'B' - '@':
        return -(page > 1 ? page - 1 : 1);
    case TOP_KEY_PAGE_DOWN:
    case 'F' - '@':
    case ' ':
        return page > 1 ? page - 1 : 1;
    case TOP_KEY_HOME:
    case 'g':
        return -TOP_FAR;
    case TOP_KEY_END:
    case 'G':
        return TOP_FAR;
    default:
        return 0;
    }
}

static bool take_movement(struct top *top, int key) {
    long by = movement(top, key);
    struct top_list *list = top->mode == TOP_MODE_LIST ? top_list_of(top) : NULL;
    if (by == 0)
        return false;
    if (top->mode == TOP_MODE_LOG) {
        top_log_move(&top->log, by);
    } else if (list) {
        top_list_move(list, by);
    } else if (top->mode == TOP_MODE_TEXT) { /* drawing keeps it in range */
        top->text.top = top_moved(top->text.top, by);
    } else {
        size_t count = json_array_size(top_pane_rows(top));
        size_t row = top_moved(top->rows[top->pane], by);
        top->rows[top->pane] = row < count ? row : count > 0 ? count - 1 : 0;
    }
    return true;
}

/* --- other keys ------------------------------------------------------------------------------ */

static void open_log(struct top *top, const char *stream) {
    const char *id = top_target(top);
    if (!id)
        return;
    top_log_open(&top->log, id, stream);
    top->mode = TOP_MODE_LOG;
    top_fit_log(top);
    top_set_request(top, TOP_REQUEST_LOG, top->log.task);
}

static const char *next_stream(const char *stream) {
    static const char *const streams[] = { "out", "err", "check", "prepare" };
    size_t i = 0;
    while (i < ARRAY_SIZE(streams) - 1 && strcmp(streams[i], stream) != 0)
        i++;
    return streams[(i + 1) % ARRAY_SIZE(streams)];
}

static void forget_text(struct top *top) {
    free(TAKE_PTR(top->text_id));
    json_decref(TAKE_PTR(top->shown));
}

static void close_mode(struct top *top) {
    if (top->mode == TOP_MODE_LOG) {
        top_set_request(top, TOP_REQUEST_CLOSE_LOG, NULL);
        top_log_finish(&top->log);
    }
    /* Back from a log to the task's details, if they were open. */
    top->mode = top->mode == TOP_MODE_LOG && top->text_id ? TOP_MODE_TEXT : TOP_MODE_LIST;
    if (top->mode == TOP_MODE_LIST)
        forget_text(top);
}

static void show_text(struct top *top) {
    forget_text(top);
    top->text.top = 0;
    top->mode = TOP_MODE_TEXT;
}

/* Enter: shows the details of the selected row. */
static void open_row(struct top *top) {
    const json_t *row = top_selected(top);
    const char *id = get_text(row, "id", NULL);
    if (row && !id) { /* about an account, a budget, the disk */
        show_text(top);
        top_text_clear(&top->text);
        top_text_add(&top->text, TOP_BOLD, 0, "%s", get_text(row, "key", ""));
        top_text_add(&top->text, TOP_PLAIN, 0, "%s", get_text(row, "why", ""));
        return;
    }
    if (!id)
        return;
    top_set_request(top, TOP_REQUEST_DETAILS, id);
    show_text(top);
    top->text_id = xstrdup(id);
}

/* --- order ----------------------------------------------------------------------------------- */

static void say_order(struct top *top) {
    static const char *const words[][2] = { { "queue", "as they will start" },
                                            { "old", "oldest first" },
                                            { "new", "newest first" },
                                            { "worst", "worst first" } };
    const struct top_sort *sort = &top->sorts[top->pane];
    const char *order = top_panes[top->pane].orders[sort->order];
    if (sort->column > 0) {
        top_set_message(top, false, "sorted by %s%s", top_pane_column(top->pane, sort->column),
                        sort->reverse ? ", reversed" : "");
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(words[i][0], order) == 0)
            top_set_message(top, false, "%s", words[i][1]);
}

static void set_sort(struct top *top, struct top_sort sort) {
    top->sorts[top->pane] = sort;
    top_list_reset(&top->lists[top->pane]);
    say_order(top);
}

static void change_order(struct top *top) {
    const char *const *orders = top_panes[top->pane].orders;
    unsigned next = top->sorts[top->pane].order + 1;
    bool has = next < ARRAY_SIZE(top_panes[0].orders) && orders[next];
    set_sort(top, (struct top_sort){ .order = has ? next : 0 });
}

/* Of a column the other direction; of the daemon's orders the opposite one, if it has one. */
static void reverse_order(struct top *top) {
    struct top_sort sort = top->sorts[top->pane];
    const char *const *orders = top_panes[top->pane].orders;
    const char *opposite = strcmp(orders[sort.order], "new") == 0 ? "old" : "new";
    if (sort.column > 0) {
        sort.reverse = !sort.reverse;
    } else if (strcmp(orders[sort.order], "queue") == 0) {
        top_set_message(top, true, "the order of the queue cannot be reversed: s or < > first");
        return;
    } else if (strcmp(orders[sort.order], "worst") == 0) {
        top_set_message(top, true, "this order cannot be reversed: < > first");
        return;
    }
    for (unsigned i = 0; sort.column == 0 && i < ARRAY_SIZE(top_panes[0].orders) && orders[i]; i++)
        if (strcmp(orders[i], opposite) == 0) {
            sort.order = i;
            break;
        }
    set_sort(top, sort);
}

static void sort_by(struct top *top, unsigned column) {
    struct top_sort sort = top->sorts[top->pane];
    sort.reverse = column > 0 && sort.column == column && !sort.reverse;
    sort.column = column;
    set_sort(top, sort);
}

static bool take_order(struct top *top, int key) {
    if (!strchr("s<>R", key) || key >= 0x80 || !top_is_list(top->pane))
        return false;
    if (key == 's')
        change_order(top);
    else if (key == 'R')
        reverse_order(top);
    else
        sort_by(top, top_pane_next_column(top, key == '>' ? 1 : -1));
    return true;
}

/* --- the mouse ------------------------------------------------------------------------------- */

static bool is_inside(const struct top *top, const struct top_area *area) {
    return top->mouse_y >= area->y && top->mouse_y < area->y + area->height
           && top->mouse_x >= area->x && top->mouse_x < area->x + area->width;
}

static void click_tab(struct top *top) {
    for (int i = 0; i < TOP_PANE_MAX; i++)
        if (top->mouse_x < top->layout.tab_ends[i]) {
            top->pane = (enum top_pane)i;
            return;
        }
}

static void click_heading(struct top *top) {
    for (unsigned i = 1; i < TOP_COLUMNS_MAX && top_is_list(top->pane); i++) {
        const struct top_column_span *span = &top->layout.columns[i];
        if (top->mouse_x >= span->x && top->mouse_x < span->end) {
            sort_by(top, i);
            return;
        }
    }
}

static void click_row(struct top *top) {
    struct top_list *list = top_list_of(top);
    size_t row = top->mouse_y - top->layout.list.y - 1, height = top_view_rows(top);
    size_t selected = top->rows[top->pane];
    if (list)
        top_list_select(list, list->top + row);
    else /* drawing keeps it in range */
        top->rows[top->pane] = row + (selected >= height ? selected - height + 1 : 0);
}

static void click(struct top *top) {
    if (top->mode != TOP_MODE_LIST)
        return;
    if (top->mouse_y == top->layout.tabs_y)
        click_tab(top);
    else if (is_inside(top, &top->layout.list) && top->mouse_y == top->layout.list.y)
        click_heading(top);
    else if (is_inside(top, &top->layout.list))
        click_row(top);
}

/* Scrolls what is below the pointer. */
static void wheel(struct top *top, long by) {
    bool in_list = top->mode == TOP_MODE_LIST, wide = in_list && top->layout.is_wide;
    if (top->mode == TOP_MODE_LOG || (wide && is_inside(top, &top->layout.log)))
        top_log_move(&top->log, by);
    else if (top->mode == TOP_MODE_TEXT)
        top->text.top = top_moved(top->text.top, by);
    else if (wide && is_inside(top, &top->layout.why))
        top->why.top = top_moved(top->why.top, by);
    else if (top_list_of(top))
        top_list_scroll(top_list_of(top), by);
}

static bool take_mouse(struct top *top, int key) {
    if (key == TOP_KEY_CLICK)
        click(top);
    else if (key == TOP_KEY_WHEEL_UP || key == TOP_KEY_WHEEL_DOWN)
        wheel(top, key == TOP_KEY_WHEEL_UP ? -WHEEL : WHEEL);
    else
        return false;
    return true;
}

/* --- what is shown --------------------------------------------------------------------------- */

static void switch_mouse(struct top *top) {
    top->no_mouse = !top->no_mouse;
    top->request = TOP_REQUEST_MOUSE;
    top_set_message(top, false,
                    top->no_mouse ? "mouse off: the terminal selects text" : "mouse on");
}

static void switch_sides(struct top *top) {
    top->no_sides = !top->no_sides;
    top_layout(top);
    if (!top->no_sides && !top->layout.is_wide)
        top_set_message(top, false,
                        "the task and its log are shown from 140 columns and 20 lines on");
}

/* --- tags ------------------------------------------------------------------------------------ */

static void tag_selected(struct top *top) {
    const char *id = top_target(top);
    if (!id)
        return;
    top_tag(top, id, !top_is_tagged(top, id));
    top_list_move(top_list_of(top), 1);
}

/* --- keys ------------------------------------------------------------------------------------ */

static void take_in_log(struct top *top, int key) {
    switch (key) {
    case '/':
        top_begin_prompt(top, TOP_PROMPT_SEARCH, "");
        break;
    case 'n':
    case 'N':
        top_search_log(top, key == 'N');
        break;
    case 'f':
        top_log_move(&top->log, TOP_FAR);
        break;
    case TOP_KEY_TAB:
    case 'e':
        open_log(top, next_stream(top->log.stream));
        break;
    default:
        (void)(key == 'c' && top_take_action(top, key));
        break;
    }
}

static bool closes_mode(const struct top *top, int key) {
    return top->mode != TOP_MODE_LIST
           && (key == 'q' || key == TOP_KEY_ESCAPE || key == TOP_KEY_LEFT
               || (key == TOP_KEY_ENTER && top->mode == TOP_MODE_TEXT));
}

/* Removes the tags, or else the filter. */
static void take_escape(struct top *top) {
    if (top_tag_count(top) > 0) {
        top_untag_all(top);
    } else if (top->filter.length > 0) {
        strbuf_clear(&top->filter);
        for (size_t i = 0; i < TOP_PANE_MAX; i++)
            top_list_reset(&top->lists[i]);
    }
}

static void take_in_list(struct top *top, int key) {
    switch (key) {
    case TOP_KEY_TAB:
    case TOP_KEY_RIGHT:
        top->pane = (top->pane + 1) % TOP_PANE_MAX;
        break;
    case TOP_KEY_BACK_TAB:
    case TOP_KEY_LEFT:
        top->pane = (top->pane + TOP_PANE_MAX - 1) % TOP_PANE_MAX;
        break;
    case '/':
        top_begin_prompt(top, TOP_PROMPT_FILTER, strbuf_text(&top->filter));
        break;
    case TOP_KEY_ESCAPE:
        take_escape(top);
        break;
    case 't':
        tag_selected(top);
        break;
    case 'T':
        if (top_is_list(top->pane))
            top_set_request(top, TOP_REQUEST_TAG_ALL, NULL);
        break;
    case 'J':
    case 'K':
        if (top->layout.is_wide)
            top_log_move(&top->log, (key == 'J' ? 1 : -1) * (long)(top->layout.log.height / 2));
        break;
    case 'm':
        switch_mouse(top);
        break;
    case 'w':
        switch_sides(top);
        break;
    case 'l':
        open_log(top, "out");
        break;
    case TOP_KEY_ENTER:
        open_row(top);
        break;
    case 'q':
        top->request = TOP_REQUEST_QUIT;
        break;
    default:
        if (key >= '1' && key < '1' + TOP_PANE_MAX)
            top->pane = (enum top_pane)(key - '1');
        else if (!take_order(top, key))
            (void)top_take_action(top, key);
        break;
    }
}

/* Pasted text neither acts nor confirms, and its line breaks do not send it. */
static void take_pasted(struct top *top, int key) {
    bool is_blank = key == TOP_KEY_ENTER || key == TOP_KEY_TAB;
    if (top->prompt == TOP_PROMPT_NONE || top->prompt == TOP_PROMPT_SURE)
        top_set_message(top, true, "pasted text is not taken as keys");
    else if (is_blank || key < TOP_KEY_UP)
        top_take_prompt(top, is_blank ? ' ' : key);
}

void top_input(struct top *top, int key) {
    top->request = TOP_REQUEST_NONE;
    if (key & TOP_PASTED) {
        take_pasted(top, key & ~TOP_PASTED);
        return;
    }
    strbuf_clear(&top->message);
    if (key == 'L' - '@') { /* Ctrl-L */
        top->request = TOP_REQUEST_REDRAW;
    } else if (top->prompt != TOP_PROMPT_NONE) {
        top_take_prompt(top, key);
    } else if (take_mouse(top, key) || take_movement(top, key)) {
        return;
    } else if (key == '?') {
        if (top->mode == TOP_MODE_LOG)
            close_mode(top);
        show_text(top);
        top_text_clear(&top->text);
        top_help_fill(&top->text, top->unicode);
    } else if (closes_mode(top, key)) {
        close_mode(top);
    } else if (top->mode == TOP_MODE_LOG) {
        take_in_log(top, key);
    } else if (top->text_id && key == 'l') { /* text_id is NULL in a list, and in the help */
        open_log(top, "out");
    } else if (top->mode == TOP_MODE_TEXT) {
        (void)(top->text_id && top_take_action(top, key));
    } else {
        take_in_list(top, key);
    }
}
