/* top_input.c: handles keys.
 *
 * A key changes the state, or sets a request that the loop executes; nothing is sent or drawn here.
 * Actions that stop work (pause, cancel) need a confirmation; it names the task and applies to that
 * task, even if the selection has moved. */
#include "cli/top.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/print_task.h"

#define TYPED_MOST 200 /* bytes of a filter */

/* clang-format off */
const struct top_pane_row top_panes[TOP_PANE_MAX] = {
    [TOP_PANE_RUNNING] = { "running", "starting,running", { "old", "new" } },
    [TOP_PANE_READY]   = { "ready", "ready", { "queue", "old", "new" } },
    [TOP_PANE_WAITING] = { "waiting", "waiting,held", { "old", "new" } },
    [TOP_PANE_ENDED]   = { "ended", "done,failed,canceled,invalidated", { "new", "old" } },
    [TOP_PANE_LIMITS]  = { "limits" },
    [TOP_PANE_ALERTS]  = { "alerts" },
};

enum { VERB_HOLD, VERB_RELEASE, VERB_PAUSE, VERB_RESUME }; /* the first verbs; they have no key */
static const struct top_verb verbs[] = {
    { 0, "/v1/tasks/hold", NULL, "held", NULL, NULL },
    { 0, "/v1/tasks/release", NULL, "released", NULL, NULL },
    { 0, "/v1/pause", NULL, "paused; what runs goes on", NULL, "pause %s? what runs goes on" },
    { 0, "/v1/resume", NULL, "resumed", NULL, "resume %s?" },
    { 'c', "/v1/tasks/cancel", NULL, "canceled", "is told to stop", "cancel %s?" },
    { 'r', "/v1/tasks/retry", NULL, "retried", NULL, NULL },
    { '+', "/v1/tasks/priority", "front", "goes before all that wait", NULL, NULL },
    { '-', "/v1/tasks/priority", "back", "goes behind all that wait", NULL, NULL },
};
/* clang-format on */

int top_pane_find(const char *name) {
    for (int i = 0; i < TOP_PANE_MAX; i++)
        if (strcmp(top_panes[i].name, name) == 0)
            return i;
    return -1;
}

const json_t *top_pane_rows(const struct top *top) {
    return top->pane == TOP_PANE_LIMITS ? top->model.limits
                                        : json_object_get(top->model.status, "alerts");
}

void top_finish(struct top *top) {
    top_model_finish(&top->model);
    for (size_t i = 0; i < TOP_LISTS; i++)
        top_list_finish(&top->lists[i]);
    top_text_finish(&top->text);
    top_log_finish(&top->log);
    strbuf_finish(&top->filter);
    strbuf_finish(&top->search);
    strbuf_finish(&top->typed);
    strbuf_finish(&top->question);
    strbuf_finish(&top->message);
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

static void set_request(struct top *top, enum top_request what, const char *id) {
    char *copy = id ? xstrdup(id) : NULL;
    free(top->target_id);
    top->target_id = copy;
    top->request = what;
}

/* --- targets --------------------------------------------------------------------------------- */

static struct top_list *list_of(struct top *top) {
    return top->pane < TOP_LISTS ? &top->lists[top->pane] : NULL;
}

static const json_t *selected_task(struct top *top) {
    const struct top_list *list = list_of(top);
    return list ? top_list_selected(list) : NULL;
}

/* The task of the details or log, or the selected one; NULL with a message if nothing is
 * selected. */
static const char *target(struct top *top) {
    if (top->mode == TOP_MODE_LOG)
        return top->log.task;
    if (top->mode == TOP_MODE_TEXT)
        return top->text_id;
    const json_t *task = selected_task(top);
    if (!task)
        top_set_message(top, true, "no task is selected");
    return get_text(task, "id", NULL);
}

/* --- changes --------------------------------------------------------------------------------- */

static void change(struct top *top, const struct top_verb *verb, const char *id) {
    set_request(top, TOP_REQUEST_CHANGE, id);
    top->verb = verb;
    if (!verb->confirm)
        return;
    const json_t *task = selected_task(top);
    const char *rest = strstr(verb->confirm, "%s"), *title = print_title(task);
    strbuf_clear(&top->question);
    strbuf_printf(&top->question, "%.*s%s%s", (int)(rest - verb->confirm), verb->confirm,
                  id ? id : "everything", rest + 2);
    if (verb->key == 'c' && id && strcmp(get_text(task, "id", ""), id) == 0 && title)
        strbuf_printf(&top->question, " %s", title);
    top->prompt = TOP_PROMPT_SURE;
    top->request = TOP_REQUEST_NONE;
}

/* Of all tasks, or of the selected task's project. */
static void pause_or_resume(struct top *top, bool of_project) {
    const json_t *status = top->model.status;
    const char *project = of_project ? get_text(selected_task(top), "project", "") : NULL;
    bool paused = !project && get_true(status, "paused");
    if (project && !*project) {
        top_set_message(top, true, "no task is selected whose project could be paused");
        return;
    }
    EACH_ITEM(one, json_object_get(status, "projects")) {
        if (project && strcmp(get_text(one, "name", ""), project) == 0)
            paused = get_true(one, "paused");
    }
    change(top, &verbs[paused ? VERB_RESUME : VERB_PAUSE], project);
}

static bool take_verb(struct top *top, int key) {
    if (key == 'p' || key == 'P') {
        pause_or_resume(top, key == 'P');
        return true;
    }
    if (key == 'h') {
        const char *id = target(top);
        bool release = top->mode == TOP_MODE_TEXT ? top->text_can_release
                                                  : top_offers(selected_task(top), "release");
        if (id)
            change(top, &verbs[release ? VERB_RELEASE : VERB_HOLD], id);
        return true;
    }
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
        if (verbs[i].key != key)
            continue;
        const char *id = target(top);
        if (id)
            change(top, &verbs[i], id);
        return true;
    }
    return false;
}

/* --- typing ---------------------------------------------------------------------------------- */

static void search_on(struct top *top, bool backward) {
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

static void end_typing(struct top *top) {
    bool searches = top->prompt == TOP_PROMPT_SEARCH;
    struct strbuf *to = searches ? &top->search : &top->filter;
    if (!searches || top->typed.length > 0) { /* an empty search repeats the last one */
        strbuf_clear(to);
        strbuf_puts(to, strbuf_text(&top->typed));
    }
    top->prompt = TOP_PROMPT_NONE;
    if (searches)
        search_on(top, false);
    for (size_t i = 0; !searches && i < TOP_LISTS; i++)
        top_list_reset(&top->lists[i]);
}

static void add_typed(struct top *top, unsigned c) {
    char bytes[4];
    size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (c < 0x20 || c == 0x7f || c >= 0x110000 || top->typed.length + size > TYPED_MOST)
        return;
    static const unsigned char leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = size; i-- > 1; c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    bytes[0] = (char)(leads[size] | c);
    strbuf_add(&top->typed, bytes, size);
}

/* Removes the last character, of any number of bytes. */
static void drop_last(struct strbuf *typed) {
    while (typed->length > 0 && ((unsigned char)typed->text[typed->length - 1] & 0xc0) == 0x80)
        typed->length--;
    if (typed->length > 0)
        typed->text[--typed->length] = '\0';
}

static void take_typed(struct top *top, int key) {
    struct strbuf *typed = &top->typed;
    switch (key) {
    case TOP_KEY_ENTER:
        end_typing(top);
        break;
    case TOP_KEY_ESCAPE:
        top->prompt = TOP_PROMPT_NONE;
        break;
    case TOP_KEY_BACKSPACE:
        drop_last(typed);
        break;
    case 'U' - '@': /* Ctrl-U */
        strbuf_clear(typed);
        break;
    default:
        add_typed(top, (unsigned)key);
        break;
    }
}

static void begin_typing(struct top *top, enum top_prompt prompt, const char *old) {
    strbuf_clear(&top->typed);
    strbuf_puts(&top->typed, old);
    top->prompt = prompt;
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
    struct top_list *list = top->mode == TOP_MODE_LIST ? list_of(top) : NULL;
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
    const char *id = target(top);
    if (!id)
        return;
    top_log_open(&top->log, id, stream);
    top->mode = TOP_MODE_LOG;
    top_log_size(&top->log, top->width, top_view_rows(top), top->unicode);
    set_request(top, TOP_REQUEST_LOG, top->log.task);
}

static const char *next_stream(const char *stream) {
    static const char *const streams[] = { "out", "err", "check", "prepare" };
    size_t i = 0;
    while (i < ARRAY_SIZE(streams) - 1 && strcmp(streams[i], stream) != 0)
        i++;
    return streams[(i + 1) % ARRAY_SIZE(streams)];
}

static void close_mode(struct top *top) {
    if (top->mode == TOP_MODE_LOG) {
        set_request(top, TOP_REQUEST_CLOSE_LOG, NULL);
        top_log_finish(&top->log);
    }
    /* Back from a log to the task's details, if they were open. */
    top->mode = top->mode == TOP_MODE_LOG && top->text_id ? TOP_MODE_TEXT : TOP_MODE_LIST;
    if (top->mode == TOP_MODE_LIST)
        free(TAKE_PTR(top->text_id));
}

static void show_text(struct top *top) {
    free(TAKE_PTR(top->text_id));
    top->text.top = 0;
    top->mode = TOP_MODE_TEXT;
}

/* Enter: shows the details of the selected row. */
static void open_row(struct top *top) {
    const json_t *alert = top->pane == TOP_PANE_ALERTS
                              ? json_array_get(top_pane_rows(top), top->rows[top->pane])
                              : NULL;
    if (alert) {
        show_text(top);
        top_text_clear(&top->text);
        top_text_add(&top->text, TOP_BOLD, 0, "%s", get_text(alert, "key", ""));
        top_text_add(&top->text, TOP_PLAIN, 0, "%s", get_text(alert, "text", ""));
        return;
    }
    const char *id = get_text(selected_task(top), "id", NULL);
    if (!id)
        return;
    set_request(top, TOP_REQUEST_DETAILS, id);
    show_text(top);
    top->text_id = xstrdup(id);
}

static void change_order(struct top *top) {
    if (top->pane >= TOP_LISTS)
        return;
    const char *const *orders = top_panes[top->pane].orders;
    unsigned next = top->orders[top->pane] + 1;
    bool has = next < ARRAY_SIZE(top_panes[0].orders) && orders[next];
    top->orders[top->pane] = has ? next : 0;
    top_list_reset(&top->lists[top->pane]);
    static const char *const words[][2] = { { "queue", "as they will start" },
                                            { "old", "oldest first" },
                                            { "new", "newest first" } };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(words[i][0], orders[top->orders[top->pane]]) == 0)
            top_set_message(top, false, "%s", words[i][1]);
}

static void take_in_log(struct top *top, int key) {
    switch (key) {
    case '/':
        begin_typing(top, TOP_PROMPT_SEARCH, "");
        break;
    case 'n':
    case 'N':
        search_on(top, key == 'N');
        break;
    case 'f':
        top_log_move(&top->log, TOP_FAR);
        break;
    case TOP_KEY_TAB:
    case 'e':
        open_log(top, next_stream(top->log.stream));
        break;
    default:
        (void)(key == 'c' && take_verb(top, key));
        break;
    }
}

static bool closes_mode(const struct top *top, int key) {
    return top->mode != TOP_MODE_LIST
           && (key == 'q' || key == TOP_KEY_ESCAPE || key == TOP_KEY_LEFT
               || (key == TOP_KEY_ENTER && top->mode == TOP_MODE_TEXT));
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
        begin_typing(top, TOP_PROMPT_FILTER, strbuf_text(&top->filter));
        break;
    case TOP_KEY_ESCAPE: /* clears the filter */
        strbuf_clear(&top->typed);
        top->prompt = TOP_PROMPT_FILTER;
        if (top->filter.length > 0)
            end_typing(top);
        top->prompt = TOP_PROMPT_NONE;
        break;
    case 's':
        change_order(top);
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
        else
            (void)take_verb(top, key);
        break;
    }
}

void top_input(struct top *top, int key) {
    top->request = TOP_REQUEST_NONE;
    strbuf_clear(&top->message);
    if (key == 'L' - '@') { /* Ctrl-L */
        top->request = TOP_REQUEST_REDRAW;
    } else if (top->prompt == TOP_PROMPT_SURE) {
        top->prompt = TOP_PROMPT_NONE;
        if (key == 'y' || key == 'Y')
            top->request = TOP_REQUEST_CHANGE;
        else
            top_set_message(top, false, "nothing was changed");
    } else if (top->prompt != TOP_PROMPT_NONE) {
        take_typed(top, key);
    } else if (key == '?') {
        if (top->mode == TOP_MODE_LOG)
            close_mode(top);
        show_text(top);
        top_text_clear(&top->text);
        top_help_fill(&top->text, top->unicode);
    } else if (take_movement(top, key)) {
        return;
    } else if (closes_mode(top, key)) {
        close_mode(top);
    } else if (top->mode == TOP_MODE_LOG) {
        take_in_log(top, key);
    } else if (top->text_id && key == 'l') { /* text_id is NULL in a list, and in the help */
        open_log(top, "out");
    } else if (top->mode == TOP_MODE_TEXT) {
        (void)(top->text_id && take_verb(top, key));
    } else {
        take_in_list(top, key);
    }
}
