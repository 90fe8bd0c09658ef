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

/* "27 s", "3 m", "2 h", "4 d". */
struct print_text print_span(time_ms span);
/* "in 27 s", "3 m ago", "now"; "-" for 0. */
struct print_text print_when(time_ms at, time_ms now);
/* "in 2 h, ", "now, " or "": prefix of a forecast's text. */
struct print_text print_start(const json_t *forecast, time_ms now);
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
/* "claude", or "codex for claude" during a failover; "-": none. */
struct print_text print_agent(const json_t *task);
/* Of output_style(); "": none. */
const char *print_state_colour(const char *state);

/* Sort key of a limit, highest first: all runs, closed, full, then the fullest. */
int print_limit_urgency(const char *key, int64_t used, int64_t cap, bool closed);
/* Input and output; -1: unknown. */
int64_t print_run_tokens(const json_t *run);
/* "the limit of runs is reached (opens in 27 s)"; nothing if the gate is open. */
void print_gate(struct strbuf *out, const json_t *gate, time_ms now);

/* It succeeded in its worktree without changing a file. */
bool print_is_empty(const json_t *task);

/* A sanitized text on one line, at most `columns` wide (0: unlimited), with a mark if cut. */
void print_line(struct strbuf *out, const char *text, size_t columns);
/* Wraps a text from column `at` on: at most `lines` lines, indented by `at`. One line in a pipe. */
void print_wrapped(struct strbuf *out, const char *text, size_t at, unsigned lines);
/* JSON without a newline. */
void print_value(struct strbuf *out, const json_t *value);
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
struct print_text cell_span(const json_t *object, const char *key, time_ms now);
/* Local time: 2027-01-31 18:30:05. */
struct print_text cell_time(time_ms at);

/* --- tables ----------------------------------------------------------------------------------- */

/* A small table that is collected first and printed when it is complete.
 *
 *     struct output_column columns[] = { { "NAME" }, { "USED", true } };
 *     _cleanup_(rows_finish) struct rows rows = { columns, ARRAY_SIZE(columns) };
 *     rows_add(&rows, (const char *[]){ name, used });
 *     rows_print(&rows, &out);
 *
 * Cells are copied and sanitized. For tables of a few screens; those with up to a million lines use
 * two passes instead (output_table). */
struct rows {
    struct output_column *columns;
    size_t column_count;
    char **cells;           /* row after row */
    size_t count, capacity; /* of cells */
};

/* One text per column; NULL and "" are shown as "-". */
void rows_add(struct rows *rows, const char *const *cells);
/* Head and rows; nothing if there are none. */
void rows_print(struct rows *rows, struct strbuf *out);
/* The width available for the last column, at least `least`; 0: unlimited. Measure first. */
size_t rows_room(const struct rows *rows, size_t least);
/* The row whose cells start at `at`, the last one cut to `room`; `colours` as output_row_in. */
void rows_print_cut(const struct rows *rows, size_t at, size_t room, const char *const *colours,
                    struct strbuf *out);
void rows_finish(struct rows *rows); /* usable with _cleanup_ */

/* Tasks, filled and printed in chunks, so that a long list needs no memory; the head precedes the
 * first chunk. Zero-initialize; end with print_tasks_finish. */
enum { PRINT_TASKS_COLUMNS = 7 };

struct print_tasks {
    struct output_column columns[PRINT_TASKS_COLUMNS];
    struct rows rows;
    bool headed;
};

void print_tasks_add(struct print_tasks *list, const json_t *task, time_ms now);
void print_tasks_flush(struct print_tasks *list, struct strbuf *out);
void print_tasks_finish(struct print_tasks *list);
