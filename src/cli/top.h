/* top.h: `sluice top`: what is shown, what was typed, what the loop has to do.
 *
 * Parts, each testable without a terminal except the last:
 *   top_cells.c   a grid of cells, long texts     top_model.c   answers of the daemon; lists by pages
 *   top_view.c    state → cells                   top_log.c     a log that can be scrolled
 *   top_input.c   a key → another state, or a wish
 *   top_daemon.c  carries wishes out, asks, listens             top_screen.c: cells → terminal
 *
 * The loop in cmd_top.c: keys → top_input → top->wish → top_daemon → top_view → top_screen.
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
#include "cli/ask.h"
#include "cli/client.h"
#include "cli/follow.h"
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
 * Promises: a text never leaves its room, whatever is in it. A wide character has two cells or none;
 * combining characters stay with their letter, at most two of them. What a terminal could obey, or
 * what has no width that all terminals agree on (joiners, variations, skin tones), is left out.
 * Without `unicode` everything beyond ASCII is a '?'.
 * Widths are those of the C library, which the terminal library uses too: with `unicode` the
 * process needs a UTF-8 locale. */

/* What a cell means; top_screen.c decides how that looks. */
enum top_style {
    TOP_PLAIN,
    TOP_DIM,
    TOP_BOLD,
    TOP_BAR, /* the line of the panes, the titles of columns */
    TOP_ALERT,
    TOP_STATE, /* + a state: as core/state_look.h has it */
    TOP_WARNING = TOP_STATE + TASK_HELD,
    TOP_ERROR = TOP_STATE + TASK_FAILED,
    TOP_STYLE_MAX = TOP_STATE + TASK_STATE_MAX,
    TOP_SELECTED = 0x80, /* with any of them */
};

struct top_cell {
    char text[16]; /* one character and what combines with it; "" = the second half of a wide one */
    uint8_t style;
};

struct top_cells {
    bool unicode;
    unsigned width, height;
    struct top_cell *cells;
};

/* Makes it so large, and blank. */
void top_cells_size(struct top_cells *cells, unsigned width, unsigned height);
void top_cells_finish(struct top_cells *cells); /* safe on a zeroed one */

struct top_cell *top_cells_at(const struct top_cells *cells, unsigned y, unsigned x);
/* Puts a text, cut with a mark at its end when `room` is too small. Outside of the grid: nothing.
 * Returns the columns it took. */
unsigned top_cells_put(struct top_cells *cells, unsigned y, unsigned x, unsigned room,
                       unsigned style, const char *text);
/* Gives a part of a line a style; the texts stay. */
void top_cells_style(struct top_cells *cells, unsigned y, unsigned x, unsigned room,
                     unsigned style);
/* The lines without the blanks at their ends. */
void top_cells_print(const struct top_cells *cells, struct strbuf *out);

/* How many columns a text takes when it is put. */
unsigned top_cells_columns(bool unicode, const char *text);
/* How many bytes of `text`, of which there are `size`, fit into `room` columns: up to the last blank
 * with `at_blank`, if there is one. At least one character. */
size_t top_cells_fit(bool unicode, const char *text, size_t size, unsigned room, bool at_blank);

/* --- top_cells.c: long texts ------------------------------------------------------------------ */

/* Lines to read: the details of a task, the help, a long message.
 *
 *     top_text_clear(&text);
 *     top_text_add(&text, TOP_BOLD, 0, "web-17");
 *     top_text_add(&text, TOP_PLAIN, 12, "title       fix the login form");
 *     lines = top_text_draw(&text, &cells, 0, 23);   // from line 0, 23 lines
 *
 * Lines that are too long are broken at blanks; what follows stands under column `indent`. Texts are
 * copied and made safe for a terminal. */

struct top_line {
    const char *text;
    unsigned style, indent;
};

struct top_text {
    struct arena arena;
    struct top_line *lines;
    size_t count, capacity;
    size_t top; /* the first row that is seen */
};

void top_text_clear(struct top_text *text);  /* keeps `top` */
void top_text_finish(struct top_text *text); /* safe on a zeroed one */
void top_text_add(struct top_text *text, unsigned style, unsigned indent, const char *format, ...)
    _printf_(4, 5);
/* Draws what is seen into `height` lines from `y` on, keeping `top` inside. Returns how many rows the
 * whole text has at this width. */
size_t top_text_draw(struct top_text *text, struct top_cells *cells, unsigned y, unsigned height);

/* --- top_model.c ------------------------------------------------------------------------------ */

/* Answers of the daemon as plain values that can be drawn.
 *
 *     struct top_model model = { 0 };
 *     top_model_read(&model, answer_of_v1_status);     // again and again
 *     top_model_finish(&model);
 *     struct top_page page = { 0 };
 *     top_page_read(&page, answer_of_v1_tasks, "web"); // adds the tasks that match
 *     top_page_finish(&page);
 *
 * Every text is safe for a terminal and on one line when it is here. What an answer does not have is
 * "", 0, or -1 for an unknown number. Texts live as long as their model or page. */

struct top_task {
    const char *id, *project, *kind, *agent, *group, *title;
    const char *word;      /* its state as people read it: "held:review" */
    const char *gate;      /* the first one that stops it */
    const char *why;       /* what that means */
    const char *doing;     /* what its run does besides working, or the last line that it printed */
    enum task_state state; /* TASK_ABSENT: one that this program does not know */
    bool can_release;
    time_ms since; /* the run, or the state */
    time_ms not_before;
    int64_t tokens, priority, attempt;
};

struct top_gate {
    const char *gate;
    int64_t count;
};

struct top_limit {
    const char *key, *state;
    int64_t used, cap; /* cap -1: none */
    time_ms opens_at;
    int urgency; /* the higher the nearer to the top */
};

struct top_project {
    const char *name;
    bool paused;
};

struct top_alert {
    const char *key, *text;
    time_ms since;
};

struct top_model {
    struct arena arena;
    const char *version, *preset, *paused_by;
    time_ms started_at, paused_at;
    bool known; /* an answer was read at all */
    bool paused, store_full;
    int64_t counts[TASK_STATE_MAX];
    int64_t stuck;                        /* wait for one that failed */
    int64_t disk_free_mb, memory_free_mb; /* -1: unknown */
    double load;                          /* <0: unknown */
    struct top_gate *gates;
    size_t gate_count;
    struct top_limit *limits; /* all runs first, then what is closed, full, nearly full */
    size_t limit_count;
    struct top_alert *alerts;
    size_t alert_count;
    struct top_project *projects;
    size_t project_count;
};

void top_model_read(struct top_model *model, const json_t *status);
void top_model_finish(struct top_model *model); /* safe on a zeroed one */
bool top_model_is_paused(const struct top_model *model, const char *project);
/* Is something shown that changes with every second: an elapsed time, a countdown? */
bool top_model_moves(const struct top_model *model, time_ms now);

struct top_page {
    struct arena arena;
    struct top_task *tasks;
    size_t count, capacity;
};

/* Adds the tasks of an answer that match, at most `most` of them in the page. Returns how many items
 * of the answer were looked at. */
size_t top_page_read(struct top_page *page, const json_t *answer, const char *filter, size_t most);
void top_page_finish(struct top_page *page); /* safe on a zeroed one */
/* Does the daemon offer this for the task? */
bool top_offers(const json_t *task, const char *action);
/* Does every word of the filter occur in one of its texts? Letters of ASCII in any case. A word
 * gate:NAME is the gate that stops it, whole. */
bool top_task_matches(const struct top_task *task, const char *filter);

/* --- top_model.c: lists ----------------------------------------------------------------------- */

/* A list of any length of which only what is seen is kept.
 *
 * The daemon gives pages. The list remembers where each one began and how many rows it had, and
 * keeps the rows of those around the visible ones: 100,000 tasks cost some hundred
 * cursors and a few pages.
 *
 *     top_list_height(&list, lines of the screen);
 *     while (top_list_wants(&list))
 *         if (top_list_load(&list, fetch, ctx, &err) < 0) …
 *     top_list_move(&list, +1); … top_list_row(&list, list.top + i) …
 *     top_list_stale(&list)     // something happened: what is seen is asked for again
 *     top_list_reset(&list)     // another filter or order: from the beginning
 *
 * The selection stays with its task while that is in the list, and else with its line. */

struct top_list_page {
    char *cursor; /* where it begins; NULL: at the beginning */
    size_t count; /* rows, when it was loaded last */
    bool loaded, stale;
    struct top_page page;
};

struct top_list {
    size_t top, selected; /* rows */
    bool to_end;          /* goes on until the last row is known */

    /* Its own. */
    size_t height; /* rows that are seen */
    struct top_list_page *pages;
    size_t page_count, page_capacity;
    bool complete; /* nothing follows the last page */
    char *next;    /* where the page behind the last known one begins */
    char *id;      /* of the selected task */
};

/* Fills `page` (which is empty) with what follows `cursor` (NULL: from the beginning); *ret_next: where
 * the next page begins, for the caller to free, or NULL at the end. */
typedef int (*top_list_fetch)(void *ctx, const char *cursor, struct top_page *page, char **ret_next,
                              struct error *err);

void top_list_finish(struct top_list *list); /* safe on a zeroed one */
void top_list_reset(struct top_list *list);
void top_list_stale(struct top_list *list);

/* Is a page missing, or old, of those that are seen? */
bool top_list_wants(const struct top_list *list);
/* Loads one page. On failure everything stays, and it is wanted still. */
int top_list_load(struct top_list *list, top_list_fetch fetch, void *ctx, struct error *err);

/* The daemon refuses it: nothing more is wanted until the list is stale or reset. */
void top_list_refuse(struct top_list *list);

/* Rows that are known so far; `complete`: there are no others. */
size_t top_list_known(const struct top_list *list);
/* NULL: no such row, or it is not loaded. */
const struct top_task *top_list_row(const struct top_list *list, size_t row);
const struct top_task *top_list_selected(const struct top_list *list);
/* The number of visible rows; the selection stays among them. */
void top_list_height(struct top_list *list, size_t height);
/* Moves the selection by rows; the visible part follows. */
void top_list_move(struct top_list *list, long by);
void top_list_first(struct top_list *list);
void top_list_last(struct top_list *list);

/* --- top_log.c -------------------------------------------------------------------------------- */

/* What a run has printed, as rows of the screen that can be scrolled and searched.
 *
 *     top_log_open(&log, "web-17", "out");
 *     top_log_size(&log, 80, 22, unicode); // wraps all lines again when the width changes
 *     top_log_feed(&log, bytes, size);     // safe for a terminal already (cli/sanitize.h)
 *     top_log_draw(&log, &cells, 1, 22);
 *
 * A line that is longer than the screen goes on in the next row. Of a long log the last megabytes are
 * kept (TOP_LOG_MOST); `cut`: there was more. While `follow` is set the end is seen. */

#define TOP_LOG_MOST ((size_t)4 * 1024 * 1024)

struct top_log_row {
    uint32_t at, size; /* bytes of the text, without the newline */
};

struct top_log {
    char *task;         /* its id; NULL: no log is open */
    const char *stream; /* "out", "err", "check", "prepare" */
    bool follow;
    bool ended; /* the run has, or there is no such log */
    bool cut;   /* the beginning is not here */
    size_t top; /* the first row that is seen */

    /* Its own. */
    size_t height;
    struct strbuf text;
    struct top_log_row *rows;
    size_t count, capacity;
    unsigned width;
    bool unicode;
    size_t column; /* of the line that is not ended, for tabs */
    size_t match, match_size;
};

void top_log_open(struct top_log *log, const char *task, const char *stream);
void top_log_finish(struct top_log *log); /* safe on a zeroed one */
/* The rows of the screen that it has. What was at the top stays there; what was found and seen stays
 * in sight. */
void top_log_size(struct top_log *log, unsigned width, size_t height, bool unicode);
void top_log_feed(struct top_log *log, const char *bytes, size_t size);
/* Forgets what it has, to be fed from the beginning of another run. */
void top_log_clear(struct top_log *log);

/* Moves by rows; going up ends the following, coming to the end begins it. */
void top_log_move(struct top_log *log, long by);
void top_log_first(struct top_log *log);
void top_log_last(struct top_log *log);

/* Shows the next match of this text (letters of ASCII in any case), behind the last one or before it.
 * 1: found. 2: found after wrapping around. 0: nowhere. */
int top_log_search(struct top_log *log, const char *text, bool backward);

void top_log_draw(const struct top_log *log, struct top_cells *cells, unsigned y, unsigned height);

/* --- the state -------------------------------------------------------------------------------- */

enum top_pane {
    TOP_PANE_RUNNING,
    TOP_PANE_READY,
    TOP_PANE_WAITING,
    TOP_PANE_ENDED,
    TOP_PANE_LIMITS,
    TOP_PANE_ALERTS,
    TOP_PANE_MAX,
};
#define TOP_LISTS TOP_PANE_LIMITS /* the panes before it are lists of tasks */

/* Keys that are no character; characters are themselves. */
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
    TOP_KEY_REDRAW,
};

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
};

/* What the loop is to do, as a result of a key. */
enum top_request {
    TOP_REQUEST_NONE,
    TOP_REQUEST_QUIT,
    TOP_REQUEST_DETAILS, /* of `target_id`, into `text` */
    TOP_REQUEST_LOG,     /* `log` was opened: begin its stream */
    TOP_REQUEST_CLOSE_LOG,
    TOP_REQUEST_CHANGE, /* `verb` to `target_id` */
    TOP_REQUEST_REDRAW, /* everything, whatever is there */
};

/* Something that can be asked of the daemon. */
struct top_verb {
    int key;
    const char *path;    /* of the POST */
    const char *to;      /* member "to" of the body; or NULL */
    const char *did;     /* "web-3 canceled" */
    const char *pending; /* shown instead while it is still running; or NULL */
    const char *ask;     /* with one %s: the question before; or NULL: none */
};

struct top {
    struct top_model model;
    struct top_list lists[TOP_LISTS];
    unsigned orders[TOP_LISTS]; /* see top_order */
    enum top_pane pane;
    size_t rows[TOP_PANE_MAX]; /* selection of the panes that are no lists */
    struct strbuf filter;

    enum top_mode mode;
    struct top_text text;
    char *text_id; /* whose details it is; NULL: of none */
    bool text_can_release;
    struct top_log log;
    struct strbuf search;

    enum top_prompt prompt;
    struct strbuf typed;
    struct strbuf question;

    struct strbuf message; /* in the last line until the next key */
    bool message_bad;
    bool away;  /* the daemon */
    bool moves; /* what was drawn has times that change with every second */

    enum top_request wish;
    char *target_id; /* a task or a project; NULL: everything */
    const struct top_verb *verb;

    bool unicode, plain; /* plain: for --once, without the line of keys */
    unsigned width, height;
    time_ms now;
};

void top_finish(struct top *top); /* safe on a zeroed one */

/* The names of the panes, for the option and the tabs. */
const char *top_pane_name(enum top_pane pane);
/* -1: there is no such pane. */
int top_pane_find(const char *name);
/* Which states a pane of tasks shows, and in which order it asks for them. */
const char *top_pane_states(enum top_pane pane);
const char *top_order(const struct top *top, enum top_pane pane);

/* In the last line. */
void top_say(struct top *top, bool bad, const char *format, ...) _printf_(3, 4);

/* --- top_input.c ----------------------------------------------------------------------------- */

/* One key: changes the state; what only the loop can do is in top->wish afterwards. */
void top_input(struct top *top, int key);

/* --- top_view.c ------------------------------------------------------------------------------ */

/* Draws everything; `cells` gets the size of `top`. Tells the lists how many rows are seen. */
void top_view(struct top *top, struct top_cells *cells);
/* How many lines of the screen the rows of a list have. */
size_t top_view_rows(const struct top *top);

/* One task in words: the answers of GET /v1/tasks/ID and of .../why, which may be NULL. */
void top_details_fill(struct top_text *text, const json_t *task, const json_t *why, time_ms now,
                      bool unicode);
/* What the keys do. */
void top_help_fill(struct top_text *text, bool unicode);

/* --- top_daemon.c ----------------------------------------------------------------------------- */

/* What `sluice top` asks the daemon, and how it hears of news.
 *
 *     struct top_daemon d = { 0 };
 *     if (top_daemon_open(&d, &err) < 0) …        // once: there must be one at the beginning
 *     … poll top_daemon_events_fd, top_daemon_log_fd … top_daemon_listen(&d, top, ready) …
 *     top_daemon_refresh(&d, top); top_daemon_load(&d, top); top_daemon_do(&d, top);
 *     top_daemon_close(&d);
 *
 * Nothing here ends the program: when the daemon does not answer, top->away is set and everything
 * stays on the screen until top_daemon_listen has found one again. */

struct top_daemon {
    struct ask ask;
    struct client *events; /* NULL: not connected */
    struct log_stream log;
    bool log_open;   /* a log is shown */
    bool news;       /* something has happened since the last refresh */
    time_ms heard;   /* steady: when the stream of events last sent anything */
    time_ms tried;   /* steady: when an absent daemon was looked for */
    time_ms asked;   /* steady: the last refresh */
    time_ms lasting; /* how long that took */
};

/* As daemon_connect, without starting one. */
int top_daemon_open(struct top_daemon *d, struct error *err);
void top_daemon_close(struct top_daemon *d);

/* -1: there is no such connection right now. */
int top_daemon_events_fd(const struct top_daemon *d);
int top_daemon_log_fd(const struct top_daemon *d);

/* Takes what has come. `ready`: the stream of events had something. */
void top_daemon_listen(struct top_daemon *d, struct top *top, bool ready);
/* Bytes of the log. True: something came, or it ended. */
bool top_daemon_pump_log(struct top_daemon *d, struct top *top);

/* How long nothing has to be done, from now on; 0: refresh. */
time_ms top_daemon_pause(const struct top_daemon *d, const struct top *top, time_ms steady);
/* Asks for the state of everything, and for the details that are seen; lists become stale. */
void top_daemon_refresh(struct top_daemon *d, struct top *top);
/* Loads one page, if one is wanted. True: it did. */
bool top_daemon_load(struct top_daemon *d, struct top *top);
/* Carries top->wish out. */
void top_daemon_do(struct top_daemon *d, struct top *top);

/* For --json: status, and the first page of each list. Returns a new object, or NULL. */
json_t *top_daemon_all(struct top_daemon *d, struct top *top);

/* --- top_screen.c ----------------------------------------------------------------------------- */

/* The terminal, and the only file that knows the terminal library.
 *
 *     if (top_screen_open(&err) < 0) …            // a message: no terminal, unknown TERM
 *     top_screen_size(&width, &height);
 *     top_screen_show(&cells);
 *     while ((key = top_screen_key()) >= 0) …     // until nothing is left to read
 *     top_screen_close();
 *
 * One at a time. Between open and close the terminal is ours: keys come one by one, nothing is echoed.
 * It is put back by close, and by a crash of the program (SIGSEGV, SIGABRT …) too. Signals that ask
 * for something (Ctrl-C, Ctrl-Z, another size) are the caller's. */

/* -ENOTTY: stdin or stdout is not a terminal. -EINVAL: TERM is unknown, or such a terminal cannot
 * place its cursor. */
int top_screen_open(struct error *err);
void top_screen_close(void);

/* Asks the terminal, after SIGWINCH and when the program goes on; the next drawing is complete. */
void top_screen_resize(void);
void top_screen_size(unsigned *ret_width, unsigned *ret_height);
/* The next top_screen_show draws everything, whatever others have written meanwhile. */
void top_screen_redraw(void);
/* Only what differs from the last one is sent. */
void top_screen_show(const struct top_cells *cells);
/* A character, one of enum top_key, or -1: there is none now; -2: the terminal was closed. */
int top_screen_key(void);

/* Ctrl-Z: gives the terminal back, stops, and continues when the shell resumes it. */
void top_screen_suspend(void);
