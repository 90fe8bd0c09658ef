/* top.h: the state of `sluice top`: what is shown, what was typed, what is wished.
 *
 * Parts, each testable without a terminal except the last:
 *   top_model.c   what the daemon said            top_list.c    the pages around the selection
 *   top_view.c    state → cells (top_panes.c: the lists)        top_text.c, top_log.c: long texts
 *   top_input.c   a key → another state, or a wish              top_details.c: one task in words
 *   top_daemon.c  carries wishes out, asks, listens             top_screen.c: cells → terminal
 *
 * The loop in cmd_top.c: keys → top_input → top->wish → top_daemon → top_view → top_screen.
 * Private to cli/. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/time_ms.h"
#include "cli/top_list.h"
#include "cli/top_log.h"
#include "cli/top_model.h"
#include "cli/top_text.h"

enum top_pane {
    TOP_PANE_RUNNING,
    TOP_PANE_READY,
    TOP_PANE_WAITING,
    TOP_PANE_ENDED,
    TOP_PANE_LIMITS,
    TOP_PANE_ALERTS,
    TOP_PANE_MAX,
};
#define TOP_LISTS TOP_PANE_LIMITS /* so many panes are lists of tasks, the first ones */

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
enum top_wish {
    TOP_WISH_NONE,
    TOP_WISH_QUIT,
    TOP_WISH_DETAILS, /* of `wish_id`, into `text` */
    TOP_WISH_LOG,     /* `log` was opened: begin its stream */
    TOP_WISH_CLOSE_LOG,
    TOP_WISH_CHANGE, /* `verb` to `wish_id` */
    TOP_WISH_REDRAW, /* everything, whatever is there */
};

/* Something that can be asked of the daemon. */
struct top_verb {
    int key;
    const char *path;    /* of the POST */
    const char *to;      /* member "to" of the body; or NULL */
    const char *did;     /* "web-3 canceled" */
    const char *pending; /* said instead when it lives on for a moment; or NULL */
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

    enum top_wish wish;
    char *wish_id; /* a task or a project; NULL: everything */
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

/* --- top_panes.c ----------------------------------------------------------------------------- */

/* The table of the pane: titles in line `y`, rows below, up to `height` lines in all. */
void top_panes_draw(struct top *top, struct top_cells *cells, unsigned y, unsigned height);

/* --- top_details.c --------------------------------------------------------------------------- */

/* One task in words: the answers of GET /v1/tasks/ID and of .../why, which may be NULL. */
void top_details_fill(struct top_text *text, const json_t *task, const json_t *why, time_ms now,
                      bool unicode);
/* What the keys do. */
void top_help_fill(struct top_text *text, bool unicode);
