/* print_task.h: formats tasks, states and times for people.
 *
 * All outside text (titles, names, messages) is sanitized for a terminal here. Short texts are
 * returned by value, so that a row can be written in one expression. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/time_ms.h"
#include "cli/output.h"

struct print_text {
    char text[64];
};
/* Cut if it is too long. */
struct print_text print_format(const char *format, ...) _printf_(1, 2);

/* "27 s", "3 m", "2 h", "4 d". */
struct print_text print_span(time_ms span);
/* "in 27 s", "3 m ago", "now"; "-" for 0. */
struct print_text print_when(time_ms at, time_ms now);
/* Use of an account's windows: "5-hour 82 %, 20 % reserved, resets in 3 h; weekly 41 %, …"; nothing
 * without windows. */
void print_windows(struct strbuf *out, const json_t *limiter, time_ms now);
/* "in 2 h, ", "now, " or "": prefix of a forecast's text. */
struct print_text print_start(const json_t *forecast, time_ms now);
/* Of an object `hours`: "open, closes in 3 h", "closed, opens in 9 h". */
void print_hours_state(struct strbuf *out, const json_t *hours, time_ms now);
/* "off hours, opens in 9 h"; false: the item is inside its hours, or has none. */
bool print_off_hours(struct strbuf *out, const json_t *item, const char *opens, time_ms now);
/* As print_when, for the past: "3 m ago", "just now". */
struct print_text print_since(time_ms at, time_ms now);
/* " by ann 2 h ago": who paused it and when, if known. */
void print_paused_by(struct strbuf *out, const json_t *object, time_ms now);
/* "12,345"; "-" below 0: unknown. */
struct print_text print_count(int64_t count);
/* 950, 12.3k, 4.5M: at most five characters. */
struct print_text print_short(int64_t count);
/* "$0.12"; below ten cents with more digits, so that only zero is "$0.00". */
struct print_text print_usd(double usd);
/* "running", "held:review", "running:stopping". */
struct print_text print_state(const json_t *task);
/* Of output_style(); "": none. */
const char *print_state_colour(const char *state);

/* Sort key of a limit, highest first: all runs, closed, full, then the fullest. */
int print_limit_urgency(const char *key, int64_t used, int64_t cap, bool closed);
/* Adds the limit, which is taken, before those that are less urgent. */
void print_add_limit(json_t *limits, json_t *limit, int urgency);
/* Input and output; -1: unknown. */
int64_t print_run_tokens(const json_t *run);
/* "the limit of runs is reached (opens in 27 s)"; nothing if the gate is open. */
void print_gate(struct strbuf *out, const json_t *gate, time_ms now);

/* Something that waits for a person as a row: the members of its task, if it has one, with `key`,
 * `need` (its label), `kind_of_need`, `why`, `since`, `blocks` and `name`. Owned by the caller. */
json_t *print_need(const json_t *item);
/* Its task, or the name of the account or the like; of other alerts the key. */
void print_need_subject(struct strbuf *out, const json_t *need, time_ms now);

/* It succeeded in its worktree without changing a file. */
bool print_is_empty(const json_t *task);

/* A sanitized text on one line, at most `columns` wide (0: unlimited), with a mark if cut. */
void print_line(struct strbuf *out, const char *text, size_t columns);
/* Wraps a text from column `at` on: at most `lines` lines, indented by `at`. One line in a pipe. */
void print_wrapped(struct strbuf *out, const char *text, size_t at, unsigned lines);
/* The width of the terminal; 0 for a pipe, which gets everything. */
size_t print_width(void);
/* Its title, else its prompt or command; NULL: none. */
const char *print_title(const json_t *task);

/* --- members of an answer --------------------------------------------------------------------- */

/* A number, reals with up to three decimals; "-" if missing. */
struct print_text cell_number(const json_t *object, const char *key);
/* 0 … 1 as a rounded percentage. */
struct print_text cell_percent(const json_t *object, const char *key);
/* A number, or "unlimited" if missing. */
struct print_text cell_cap(const json_t *object, const char *key);
/* A time relative to `now`, as print_when: "3 m ago", "in 27 s"; "-" if missing. */
struct print_text cell_when(const json_t *object, const char *key, time_ms now);
/* Local time: 2027-01-31 18:30:05. */
struct print_text cell_time(time_ms at);

/* --- tables ----------------------------------------------------------------------------------- */

/* A column of a table of JSON objects: the member `key` of each, formatted by `kind`; or the text
 * that `put` adds to `out`. Tables that are filled with rows_add need only titles. */
enum cell_kind { CELL_TEXT, CELL_WHEN, CELL_BOOL, CELL_WORDS, CELL_NUMBER, CELL_PERCENT, CELL_CAP };
struct column {
    const char *title; /* NULL ends a list */
    const char *key;
    enum cell_kind kind; /* right-aligned from CELL_NUMBER on */
    void (*put)(struct strbuf *out, const json_t *item, time_ms now);
    bool right;           /* right-aligned, whatever its kind */
    bool is_state;        /* "held:review": rows_flush shows it in the color of the state */
    const char *yes, *no; /* of CELL_BOOL */
};

/* A small table that is collected first and printed when it is complete.
 *
 *     static const struct column columns[] = { { "NAME", "name" }, { "USED", .put = put_used }, … };
 *     _cleanup_(rows_finish) struct rows rows = rows_new(columns);
 *     rows_add_item(&rows, item, now); … rows_print(&rows, &out);
 *
 * Cells are copied and sanitized. For tables of a few screens; those with up to a million lines use
 * two passes instead (output_table), or rows_flush now and then. */
#define ROWS_COLUMNS_MAX 10
struct rows {
    const struct column *source;
    struct output_column columns[ROWS_COLUMNS_MAX];
    size_t column_count;
    char **cells;           /* row after row */
    size_t count, capacity; /* of cells */
    bool headed;            /* rows_flush has printed the titles */
};

struct rows rows_new(const struct column *columns);
void rows_add_item(struct rows *rows, const json_t *item, time_ms now);
/* One text per column; NULL and "" are shown as "-". */
void rows_add(struct rows *rows, const char *const *cells);
/* Titles and rows; nothing if there are no rows. */
void rows_print(struct rows *rows, struct strbuf *out);
/* Prints and forgets the rows; titles precede the first ones. Cuts the last column to the width of
 * the terminal. */
void rows_flush(struct rows *rows, struct strbuf *out);
/* The width available for the last column, at least `least`; 0: unlimited. Measure first. */
size_t rows_room(const struct rows *rows, size_t least);
/* The row whose cells start at `at`, the last one cut to `room`; `colours` as output_row_in. */
void rows_print_cut(const struct rows *rows, size_t at, size_t room, const char *const *colours,
                    struct strbuf *out);
void rows_finish(struct rows *rows); /* usable with _cleanup_ */

void print_cell(const struct column *column, const json_t *item, time_ms now, struct strbuf *out);

/* --- columns of tasks ------------------------------------------------------------------------- */

/* For `put`: its state; how long it runs, or is in its state; the tokens of its run. */
void print_task_state(struct strbuf *out, const json_t *task, time_ms now);
void print_elapsed(struct strbuf *out, const json_t *task, time_ms now);
void print_tokens(struct strbuf *out, const json_t *task, time_ms now);

/* The columns of `sluice list`. */
extern const struct column task_list_columns[];

/* Prints a command as it is typed into a shell. */
void print_argv(struct strbuf *out, const json_t *argv);
