/* top.h: `sluice top`: its state, input, drawing and requests.
 *
 * Parts, each testable without a terminal except the last:
 *   top_cells.c   a grid of cells, long texts     top_model.c    daemon answers; paged lists
 *   top_layout.c  state → areas of the screen → cells
 *   top_panes.c   the columns of the panes, their drawing and sorting
 *   top_details.c a task, its question, the help as long texts
 *   top_log.c     a log that can be scrolled
 *   top_input.c   a key or click → another state, or a request
 *   top_actions.c what can be done to tasks: keys, confirmations, texts
 *   top_daemon.c  executes requests, events       top_screen.c   cells → terminal
 *
 * The loop in cmd_top.c: keys → top_input → top->request → top_daemon → top_view → top_screen.
 * Private to cli/. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "base/time_ms.h"
#include "cli/client.h"
#include "cli/follow.h"
#include "cli/request.h"
#include "core/model.h"

/* --- top_cells.c ------------------------------------------------------------------------------ */

/* A screen as a grid of cells, before any terminal sees it.
 *
 *     struct top_cells cells = { .unicode = true };
 *     top_cells_size(&cells, 80, 24);                        // blank
 *     top_cells_put(&cells, 0, 0, 80, TOP_BOLD, "sluice");   // line, column, room, style
 *     top_cells_print(&cells, &out);                         // as plain lines
 *     top_cells_finish(&cells);
 *
 * Guarantees: a text never leaves its room. A wide character has two cells or none; combining
 * characters stay with their letter, at most two. Control characters, and characters whose width
 * differs between terminals (joiners, variations, skin tones), are dropped. Without `unicode`
 * everything beyond ASCII is a '?'. Widths come from the C library, which the terminal library
 * uses, too: `unicode` needs a UTF-8 locale. */

/* Meaning of a cell; top_screen.c chooses its look. */
enum top_style {
    TOP_PLAIN,
    TOP_DIM,
    TOP_BOLD,
    TOP_BAR, /* the tab line and column titles */
    TOP_ALERT,
    TOP_STATE, /* + a state: see core/state_style.h */
    TOP_WARNING = TOP_STATE + TASK_HELD,
    TOP_ERROR = TOP_STATE + TASK_FAILED,
    TOP_STYLE_MAX = TOP_STATE + TASK_STATE_MAX,
    TOP_SELECTED = 0x80, /* combined with any of them */
};

struct top_cell {
    char text[16]; /* one character with combining ones; "": second half of a wide one */
    uint8_t style;
};

struct top_cells {
    bool unicode;
    unsigned width, height;
    unsigned stride; /* cells from one line to the next */
    struct top_cell *cells;
};

/* A rectangle of the screen. */
struct top_area {
    unsigned y, x, height, width;
};

/* Resizes and clears. */
void top_cells_size(struct top_cells *cells, unsigned width, unsigned height);
void top_cells_finish(struct top_cells *cells); /* safe on a zeroed struct */

/* A part of the grid as a grid of its own: it shares the cells, and is not finished. */
struct top_cells top_cells_part(const struct top_cells *cells, struct top_area area);

struct top_cell *top_cells_at(const struct top_cells *cells, unsigned y, unsigned x);
/* Puts a text, cut with a mark if `room` is too small. Clipped to the grid. Returns columns. */
unsigned top_cells_put(struct top_cells *cells, unsigned y, unsigned x, unsigned room,
                       unsigned style, const char *text);
/* Styles a part of a line; keeps its text. */
void top_cells_style(struct top_cells *cells, unsigned y, unsigned x, unsigned room,
                     unsigned style);
/* Lines without trailing blanks. */
void top_cells_print(const struct top_cells *cells, struct strbuf *out);

/* Columns that a text needs. */
unsigned top_cells_columns(bool unicode, const char *text);
/* How many of the `size` bytes of `text` fit into `room` columns: with `at_blank`, up to the last
 * blank if there is one. At least one character. */
size_t top_cells_fit(bool unicode, const char *text, size_t size, unsigned room, bool at_blank);

/* --- top_cells.c: long texts ------------------------------------------------------------------ */

/* Scrollable text: the details of a task, the help, a long message.
 *
 *     top_text_clear(&text);
 *     top_text_add(&text, TOP_BOLD, 0, "web-17");
 *     top_text_add(&text, TOP_PLAIN, 12, "title       fix the login form");
 *     lines = top_text_draw(&text, &cells, 0, 23);   // from line 0, 23 lines
 *
 * Long lines are wrapped at blanks and indented to column `indent`. Copies and sanitizes texts. */

struct top_line {
    const char *text;
    unsigned style, indent;
};

struct top_text {
    struct arena arena;
    struct top_line *lines;
    size_t count, capacity;
    size_t top; /* first visible row */
};

void top_text_clear(struct top_text *text);  /* keeps `top` */
void top_text_finish(struct top_text *text); /* safe on a zeroed struct */
void top_text_add(struct top_text *text, unsigned style, unsigned indent, const char *format, ...)
    _printf_(4, 5);
/* Draws the visible part into `height` lines from `y` on, keeping `top` in range. Returns the
 * number of rows of the complete text at this width. */
size_t top_text_draw(struct top_text *text, struct top_cells *cells, unsigned y, unsigned height);

/* --- top_model.c ------------------------------------------------------------------------------ */

/* The daemon's answers, with sanitized texts on one line.
 *
 *     struct top_model model = { 0 };
 *     top_model_read(&model, answer_of_v1_status);     // again and again
 *     top_model_finish(&model);
 *     top_page_read(page, answer_of_v1_tasks, "web");  // adds the tasks that match to a JSON list */

struct top_model {
    json_t *status; /* NULL: no answer was read */
    /* Limits, limiters and budgets: all runs first, then closed, full, nearly full. Each has key,
     * used, cap (-1: none), state (a text for people), opens_at and urgency. */
    json_t *limits;
    json_t *worst; /* of what waits for a person; NULL: nothing does */
};

void top_model_read(struct top_model *model, const json_t *status);
void top_model_finish(struct top_model *model); /* safe on a zeroed struct */
/* Tasks in these states: "waiting,held". */
int64_t top_model_count(const struct top_model *model, const char *states);
/* Is something shown that changes every second: an elapsed time, a countdown? */
bool top_model_moves(const struct top_model *model, time_ms now);

void top_page_read(json_t *page, const json_t *answer, const char *filter);
/* The same of what waits for a person. A row is its task with `need` (a word for people), `why` and
 * `key`; one about an account or the like has a `name`, and no `id`. */
void top_needs_read(json_t *page, const json_t *answer, const char *filter);
/* `item`: the first of what waits for a person, or NULL. */
void top_model_set_worst(struct top_model *model, const json_t *item);
/* Does the daemon offer this action for the task? */
bool top_offers(const json_t *task, const char *action);
/* Does every word of the filter occur in one of its texts, ignoring case? A word such as gate:NAME
 * or project:NAME matches exactly that member. */
bool top_task_matches(const json_t *task, const char *filter);

/* --- top_model.c: lists ----------------------------------------------------------------------- */

/* A list of any length that keeps only the rows around the visible ones.
 *
 * The list stores the cursor and row count of each page, and the rows of pages around the visible
 * ones: 100,000 tasks need some hundred cursors and a few pages.
 *
 *     top_list_height(&list, lines of the screen);
 *     while (top_list_wants(&list))
 *         if (top_list_load(&list, fetch, ctx, &err) < 0) …
 *     top_list_move(&list, +1); … top_list_row(&list, list.top + i) …
 *     top_list_stale(&list)     // something happened: reload what is visible
 *     top_list_reset(&list)     // another filter or order: start over
 *
 * The selection follows its task while that is in the list, otherwise it keeps its line. */

struct top_list_page {
    char *cursor; /* its start; NULL: the beginning */
    size_t count; /* rows when last loaded */
    bool stale;
    json_t *rows; /* tasks; NULL: not loaded */
};

struct top_list {
    size_t top, selected; /* rows */
    bool to_end;          /* loads until the last row is known */

    /* Private: */
    size_t height; /* visible rows */
    struct top_list_page *pages;
    size_t page_count, page_capacity;
    bool complete; /* no pages follow */
    char *next;    /* cursor after the last known page */
    char *id;      /* of the selected task, or the key of its row */
};

/* Adds the rows after `cursor` (NULL: from the start) to `page`, an empty list; *ret_next: the next
 * cursor, owned by the caller, or NULL at the end. */
typedef int (*top_list_fetch)(void *ctx, const char *cursor, json_t *page, char **ret_next,
                              struct error *err);

void top_list_finish(struct top_list *list); /* safe on a zeroed struct */
void top_list_reset(struct top_list *list);
void top_list_stale(struct top_list *list);

/* Is a visible page missing or stale? */
bool top_list_wants(const struct top_list *list);
/* Loads one page. On failure nothing changes, and the page is still wanted. */
int top_list_load(struct top_list *list, top_list_fetch fetch, void *ctx, struct error *err);

/* The daemon refused it: nothing is wanted until the list is stale or reset. */
void top_list_refuse(struct top_list *list);

/* Known rows; `complete`: there are no others. */
size_t top_list_known(const struct top_list *list);
/* NULL: no such row, or not loaded. */
const json_t *top_list_row(const struct top_list *list, size_t row);
const json_t *top_list_selected(const struct top_list *list);
/* Sets the number of visible rows; the selection stays visible. */
void top_list_height(struct top_list *list, size_t height);
/* Moves the selection; -TOP_FAR: to the first row; TOP_FAR: to the last one. */
#define TOP_FAR (1L << 30)
void top_list_move(struct top_list *list, long by);
size_t top_moved(size_t row, long by); /* not below 0 */
/* Scrolls by rows; the selection moves only to stay visible. */
void top_list_scroll(struct top_list *list, long by);
/* Selects a row that is known. */
void top_list_select(struct top_list *list, size_t row);

/* --- top_log.c -------------------------------------------------------------------------------- */

/* The output of a run, as screen rows that can be scrolled and searched.
 *
 *     top_log_open(&log, "web-17", "out");
 *     top_log_size(&log, 80, 22, unicode); // rewraps all lines if the width changes
 *     top_log_feed(&log, bytes, size);     // already sanitized
 *     top_log_draw(&log, &cells, 1, 22);
 *
 * Long lines continue in the next row. Only the last megabytes of a long log are kept
 * (TOP_LOG_MOST); then `cut` is set. While `follow` is set, the end is visible. */

#define TOP_LOG_MOST ((size_t)4 * 1024 * 1024)

struct top_log_row {
    uint32_t at, size; /* bytes of the text, without the newline */
};

struct top_log {
    char *task;         /* its id; NULL: no log is open */
    const char *stream; /* "out", "err", "check", "prepare" */
    bool follow;
    bool ended; /* the run has ended, or there is no such log */
    bool cut;   /* the beginning was dropped */
    size_t top; /* first visible row */

    /* Private: */
    size_t height;
    struct strbuf text;
    struct top_log_row *rows;
    size_t count, capacity;
    unsigned width;
    bool unicode;
    size_t column; /* of the incomplete line, for tabs */
    size_t match, match_size;
};

void top_log_open(struct top_log *log, const char *task, const char *stream);
void top_log_finish(struct top_log *log); /* safe on a zeroed struct */
/* Sets its size. The top row stays, and so does a visible match. */
void top_log_size(struct top_log *log, unsigned width, size_t height, bool unicode);
void top_log_feed(struct top_log *log, const char *bytes, size_t size);
/* Scrolls by rows, or ±TOP_FAR; scrolling up stops following, reaching the end resumes it. */
void top_log_move(struct top_log *log, long by);

/* Shows the next match, ignoring case, after or before the last one. 1: found. 2: found after
 * wrapping around. 0: not found. */
int top_log_search(struct top_log *log, const char *text, bool backward);

void top_log_draw(const struct top_log *log, struct top_cells *cells, unsigned y, unsigned height);

/* --- the state -------------------------------------------------------------------------------- */

enum top_pane {
    TOP_PANE_RUNNING,
    TOP_PANE_READY,
    TOP_PANE_WAITING,
    TOP_PANE_ENDED,
    TOP_PANE_LIMITS,
    TOP_PANE_NEEDS, /* what waits for a person: the daemon's list, also of what is not a task */
    TOP_PANE_MAX,
};
/* A list of tasks: it is loaded in pages, sorted and tagged. */
bool top_is_list(enum top_pane pane);

/* States of a list's tasks, and the daemon's sort orders for them; the first is the default. */
struct top_pane_row {
    const char *name, *states, *orders[3];
};
extern const struct top_pane_row top_panes[TOP_PANE_MAX];

/* Keys that are not characters. */
enum top_key {
    TOP_KEY_UP = 0x110000,
    TOP_KEY_DOWN,
    TOP_KEY_LEFT,
    TOP_KEY_RIGHT,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
    TOP_KEY_TAB,
    TOP_KEY_BACK_TAB,
    TOP_KEY_ENTER,
    TOP_KEY_ESCAPE,
    TOP_KEY_BACKSPACE,
    TOP_KEY_CLICK, /* the mouse, at top->mouse_y and mouse_x */
    TOP_KEY_WHEEL_UP,
    TOP_KEY_WHEEL_DOWN,
};

/* Combined with a key: it was pasted. Pasted text is only typed into prompts. */
#define TOP_PASTED (1 << 24)

enum top_mode {
    TOP_MODE_LIST,
    TOP_MODE_TEXT, /* details, help */
    TOP_MODE_LOG,
};

enum top_prompt {
    TOP_PROMPT_NONE,
    TOP_PROMPT_FILTER,
    TOP_PROMPT_SEARCH, /* in a log */
    TOP_PROMPT_SURE,   /* y or n */
    TOP_PROMPT_REASON, /* text of an action */
    TOP_PROMPT_ANSWER, /* to the question of a task */
};

/* What a key requests from the loop. */
enum top_request {
    TOP_REQUEST_NONE,
    TOP_REQUEST_QUIT,
    TOP_REQUEST_DETAILS, /* of `target_id`, into `text` */
    TOP_REQUEST_LOG,     /* start the stream of `log` */
    TOP_REQUEST_CLOSE_LOG,
    TOP_REQUEST_CHANGE,   /* `verb` to `target_id`, or to the tags */
    TOP_REQUEST_QUESTION, /* of `target_id`: top_ask */
    TOP_REQUEST_ANSWER,   /* `reply` to `target_id` */
    TOP_REQUEST_TAG_ALL,  /* tag all tasks of the list */
    TOP_REQUEST_MOUSE,    /* `mouse` has changed */
    TOP_REQUEST_REDRAW,   /* redraw everything */
};

/* An action of the daemon. */
struct top_verb {
    int key;
    const char *action;  /* as the daemon offers it with a task */
    const char *label;   /* in the line of keys */
    const char *path;    /* of the POST */
    const char *to;      /* member "to" of the body; or NULL */
    const char *did;     /* "web-3 canceled" */
    const char *pending; /* instead of `did` while it is still running; or NULL */
    const char *confirm; /* confirmation with one %s; NULL: none */
    const char *asks;    /* prompt with one %s for the member "reason"; NULL: none */
    bool is_slow;        /* it may wait for a merge: the screen stays live meanwhile */
};
extern const struct top_verb top_verbs[]; /* ends with a path of NULL */

/* The order of a list: a column, or one of the daemon's orders. */
struct top_sort {
    unsigned order;  /* of top_panes */
    unsigned column; /* of its pane; 0: the daemon's order */
    bool reverse;
};

#define TOP_COLUMNS_MAX 12

/* Where everything is. top_layout computes it from the size; the view adds what depends on texts. */
struct top_layout {
    bool is_wide;         /* the selected task and its log are beside the list */
    unsigned tabs_y;      /* the line of the panes' names */
    struct top_area list; /* titles and rows */
    struct top_area why;  /* the selected task: a title and text */
    struct top_area log;  /* its log: a title and rows */
    unsigned tab_ends[TOP_PANE_MAX];
    struct top_column_span {
        unsigned x, end; /* end 0: not shown */
    } columns[TOP_COLUMNS_MAX];
};

struct top {
    struct top_model model;
    struct top_list lists[TOP_PANE_MAX];
    struct top_sort sorts[TOP_PANE_MAX];
    bool sort_cut; /* there are more tasks than are sorted by a column */
    enum top_pane pane;
    size_t rows[TOP_PANE_MAX]; /* selection of the panes that are not lists */
    struct strbuf filter;
    json_t *tags; /* ids of tagged tasks as members; NULL: none */

    enum top_mode mode;
    struct top_text text;
    char *text_id; /* task of the details; NULL: none */
    json_t *shown; /* that task, as the daemon gives it; or NULL */
    struct top_log log;
    struct strbuf search;

    struct top_text why; /* of the wide layout */
    char *why_id;        /* its task; NULL: none */
    int64_t log_attempt; /* the run whose log is beside it */

    enum top_prompt prompt;
    struct strbuf typed;
    struct strbuf question; /* of the prompt */
    json_t *asked;          /* the question of the task that is being answered */
    struct strbuf reply;    /* a reason or an answer */

    struct strbuf message; /* in the last line, until the next key */
    bool message_bad;
    bool unreachable; /* the daemon is unreachable */
    bool moves;       /* something drawn changes every second */

    enum top_request request;
    char *target_id; /* task or project; NULL: all, or the tags */
    const struct top_verb *verb;

    struct top_layout layout;
    bool no_mouse; /* the terminal keeps its own selection */
    bool no_sides; /* the list has all columns of a wide screen */
    unsigned mouse_y, mouse_x;

    bool unicode, plain; /* plain: for --once, without the key line */
    unsigned width, height;
    time_ms now;
};

void top_finish(struct top *top); /* safe on a zeroed struct */

/* -1: unknown pane. */
int top_pane_find(const char *name);
/* The rows of a pane that is not a list: the limits. */
const json_t *top_pane_rows(const struct top *top);

/* Shows a message in the last line. */
void top_set_message(struct top *top, bool bad, const char *format, ...) _printf_(3, 4);

/* --- top_input.c ----------------------------------------------------------------------------- */

/* Handles one key: changes the state, and sets top->request for what only the loop can do. */
void top_input(struct top *top, int key);
/* Shows the next match of `search`, or says that it is not there. */
void top_search_log(struct top *top, bool backward);

/* --- top_actions.c ---------------------------------------------------------------------------- */

/* What can be done to tasks. The daemon says with each task which actions fit; a key of another one
 * is sent all the same, so that its refusal explains itself. With tagged tasks, a key in the list
 * means all of them. */

/* The action of a key now: for the tags, or the task that is shown or selected. NULL: none has it. */
const struct top_verb *top_verb_of(const struct top *top, int key);
/* Is it the key of an action? Then it is taken: a prompt begins, or a request is set. */
bool top_take_action(struct top *top, int key);
/* A key while a prompt is open. */
void top_take_prompt(struct top *top, int key);
void top_begin_prompt(struct top *top, enum top_prompt prompt, const char *old);

/* Asks for the answer to the question of the task, an answer of GET /v1/tasks/ID. */
void top_ask(struct top *top, const json_t *task);

size_t top_tag_count(const struct top *top);
bool top_is_tagged(const struct top *top, const char *id);
void top_tag(struct top *top, const char *id, bool on);
void top_untag_all(struct top *top);

/* The task of the details or log, or the selected one; NULL with a message if nothing is
 * selected. */
const char *top_target(struct top *top);
void top_set_request(struct top *top, enum top_request what, const char *id);
/* The list of the pane, and its selected task; or NULL. */
struct top_list *top_list_of(struct top *top);
const json_t *top_selected(const struct top *top);

/* --- top_layout.c ----------------------------------------------------------------------------- */

/* Draws everything; resizes `cells`, and sets the height of the lists. */
void top_view(struct top *top, struct top_cells *cells);
/* The areas for the size and mode of now. */
void top_layout(struct top *top);
/* Lines of the screen for the rows of a list, text or log. */
size_t top_view_rows(const struct top *top);
/* Gives the log the size of its area. */
void top_fit_log(struct top *top);

/* --- top_panes.c ------------------------------------------------------------------------------ */

/* Draws titles and rows of the pane into layout.list. */
void top_pane_draw(struct top *top, const struct top_cells *cells);
/* Sorts a page by a column; tasks without a value come last. */
void top_pane_sort(const struct top *top, enum top_pane pane, json_t *page);
/* The next column (+1, -1) that can be sorted by; 0: the daemon's order. */
unsigned top_pane_next_column(const struct top *top, int by);
/* For messages: "COST". */
const char *top_pane_column(enum top_pane pane, unsigned column);

/* --- top_details.c ---------------------------------------------------------------------------- */

/* Details of a task, from GET /v1/tasks/ID and .../why, which may be NULL. */
struct top_details {
    bool unicode;
    bool is_brief; /* open gates on one line */
};
void top_details_fill(struct top_text *text, const json_t *task, const json_t *why, time_ms now,
                      const struct top_details *how);
/* A question with its choices, numbered. */
void top_question_fill(struct top_text *text, const char *id, const json_t *question, time_ms now);
void top_help_fill(struct top_text *text, bool unicode);

/* --- top_daemon.c ----------------------------------------------------------------------------- */

/* The connections of `sluice top` to the daemon.
 *
 *     struct top_daemon d = { 0 };
 *     if (top_daemon_open(&d, &err) < 0) …        // once: one must be running at the start
 *     … poll d.events and d.log … top_daemon_listen(&d, top, ready) …
 *     top_daemon_refresh(&d, top); top_daemon_load(&d, top); top_daemon_do(&d, top);
 *     top_daemon_close(&d);
 *
 * Nothing here ends the program: if the daemon does not answer, top->unreachable is set and the screen
 * stays until top_daemon_listen has reconnected. */

struct top_daemon {
    struct request req;
    struct client *events; /* NULL: not connected */
    struct client *late;   /* waits for the answer to a slow action; or NULL */
    char *late_id;         /* its task; NULL: several */
    const struct top_verb *late_verb;
    struct log_stream log;
    bool news;            /* something happened since the last refresh */
    time_ms received;     /* steady clock: last data of the event stream */
    time_ms reconnected;  /* steady clock: last attempt to reconnect */
    time_ms refreshed;    /* steady clock: last refresh */
    time_ms refresh_time; /* duration of that refresh */
};

/* As daemon_connect, without starting one. */
int top_daemon_open(struct top_daemon *d, struct error *err);
void top_daemon_close(struct top_daemon *d);

/* Processes events. `ready`: the event stream is readable. */
void top_daemon_listen(struct top_daemon *d, struct top *top, bool ready);
/* Reads log bytes. True: something came, or it ended. */
bool top_daemon_pump_log(struct top_daemon *d, struct top *top);

/* How long nothing needs to be done; 0: refresh. */
time_ms top_daemon_pause(const struct top_daemon *d, const struct top *top, time_ms steady);
/* Reloads the status and the visible details; marks lists stale. */
void top_daemon_refresh(struct top_daemon *d, struct top *top);
/* Loads one wanted page. True: loaded. */
bool top_daemon_load(struct top_daemon *d, struct top *top);
void top_daemon_do(struct top_daemon *d, struct top *top);
/* Shows the selected task and its log beside the list. True: something was requested. */
bool top_daemon_look(struct top_daemon *d, struct top *top);
/* Does it show another task or run than the selected one? */
bool top_daemon_wants_look(const struct top *top);
/* `ready`: the answer to a slow action can be read. */
void top_daemon_take_late(struct top_daemon *d, struct top *top, bool ready);

/* For --json: status, and the first page of each list. A new object, or NULL. */
json_t *top_daemon_all(struct top_daemon *d, struct top *top);

/* --- top_screen.c ----------------------------------------------------------------------------- */

/* The terminal. The only file that uses the terminal library.
 *
 *     if (top_screen_open(&err) < 0) …            // a message: no terminal, unknown TERM
 *     top_screen_resize(&width, &height);
 *     top_screen_show(&cells);
 *     while ((key = top_screen_key()) >= 0) …     // until nothing is left to read
 *     top_screen_close();
 *
 * One at a time. Between open and close the terminal is in raw mode without echo. close restores
 * it, and so does a crash (SIGSEGV, SIGABRT …). The caller handles other signals (Ctrl-C, Ctrl-Z,
 * resize). */

/* -ENOTTY: stdin or stdout is not a terminal. -EINVAL: TERM is unknown or too limited. */
int top_screen_open(struct error *err);
void top_screen_close(void);

/* Reads the size, after SIGWINCH and top_screen_suspend; the next drawing is complete. */
void top_screen_resize(unsigned *ret_width, unsigned *ret_height);
/* The next top_screen_show redraws everything. */
void top_screen_redraw(void);
/* Sends only differences from the last one. */
void top_screen_show(const struct top_cells *cells);
/* A character, an enum top_key, with TOP_PASTED or not, 0: unknown; or -1: none now; -2: the terminal was closed. Of a click or the
 * wheel also the place. */
int top_screen_key(unsigned *ret_y, unsigned *ret_x);
/* Off, the terminal selects text with the mouse again. */
void top_screen_mouse(bool on);

/* Ctrl-Z: restores the terminal, stops, and continues when the shell resumes it. */
void top_screen_suspend(void);
