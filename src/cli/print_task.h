/* print_task.h: tasks, states and moments as people read them.
 *
 * Whatever comes from outside (titles, names, sentences) is made safe for a terminal here. Short
 * texts are returned by value, so that a row can be written in one expression. */
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
/* "in 27 s", "3 m ago", "now"; "-" for 0, which is no moment. */
struct print_text print_when(time_ms at, time_ms now);
/* "in 2 h, ", "now, " or "": what goes before the text of a forecast. */
struct print_text print_start(const json_t *forecast, time_ms now);
/* As print_when, of what has happened: "3 m ago", "just now". */
struct print_text print_since(time_ms at, time_ms now);
/* " by ann 2 h ago": who paused it and when, as far as `object` has it. */
void print_paused_by(struct strbuf *out, const json_t *object, time_ms now);
/* "12,345"; "-" below 0: unknown. */
struct print_text print_count(int64_t count);
/* 950, 12.3k, 4.5M: at most five letters. */
struct print_text print_short(int64_t count);
/* "$0.12"; of less than ten cents as many digits as it needs, so that only nothing is "$0.00". */
struct print_text print_usd(double usd);
/* "running", "held:review", "running:stopping". */
struct print_text print_state(const json_t *task);
/* "claude", or "codex for claude" while another agent works for it; "-": none. */
struct print_text print_agent(const json_t *task);
/* Of output_style(); "" where none is needed. */
const char *print_state_colour(const char *state);

/* What stops work comes first: closed, full, then the fullest; all runs are on top. The higher the nearer. */
int print_limit_urgency(const char *key, int64_t used, int64_t cap, bool closed);
/* In and out; -1: unknown. */
int64_t print_run_tokens(const json_t *run);
/* "8 of 8 places are taken (opens in 27 s)"; nothing of a gate that is open. */
void print_gate(struct strbuf *out, const json_t *gate, time_ms now);

/* It has succeeded in its worktree, and has changed no file. */
bool print_is_empty(const json_t *task);

/* A text on one line, safe, at most `columns` wide (0: all of it), with a mark where it was cut. */
void print_line(struct strbuf *out, const char *text, size_t columns);
/* A text behind something that ends in column `at`: broken at blanks into at most `lines` lines that begin
 * there too. In a pipe it stays one line. */
void print_wrapped(struct strbuf *out, const char *text, size_t at, unsigned lines);
/* A value as JSON, without a newline. */
void print_value(struct strbuf *out, const json_t *value);
/* How wide a line may be: the terminal, or 0 for a pipe, which gets everything. */
size_t print_width(void);
/* What it was asked to do: its title, else its prompt or its command. NULL: nothing of these. */
const char *print_title(const json_t *task);

/* --- members of an answer ---------------------------------------------------------------------- */

/* A number as it is, reals with up to three decimals; "-" when there is none. */
struct print_text cell_number(const json_t *object, const char *key);
/* 0 … 1 as per cent, rounded. */
struct print_text cell_percent(const json_t *object, const char *key);
/* A number, or "unlimited" when there is none. */
struct print_text cell_cap(const json_t *object, const char *key);
/* A point in time seen from `now`, as print_when: "3 m ago", "in 27 s"; "-" when there is none. */
struct print_text cell_span(const json_t *object, const char *key, time_ms now);
/* A point in time on this machine's clock: 2027-01-31 18:30:05. */
struct print_text cell_time(time_ms at);

/* --- tables -------------------------------------------------------------------------------------- */

/* A small table that is gathered first and printed when it is complete.
 *
 *     struct output_column columns[] = { { "NAME" }, { "USED", true } };
 *     _cleanup_(rows_finish) struct rows rows = { columns, ARRAY_SIZE(columns) };
 *     rows_add(&rows, (const char *[]){ name, used });
 *     rows_print(&rows, &out);
 *
 * Cells are copied, made safe for a terminal. For tables that fit on a few screens; what can be a
 * million lines measures and prints in two passes instead (output_table). */
struct rows {
    struct output_column *columns;
    size_t column_count;
    char **cells;           /* row after row */
    size_t count, capacity; /* of cells */
};

/* One text per column; NULL and "" are shown as "-". */
void rows_add(struct rows *rows, const char *const *cells);
/* Head and rows; nothing when there are none. */
void rows_print(struct rows *rows, struct strbuf *out);
/* What the last column may have on this terminal, at least `least`; 0: any. The others have been measured. */
size_t rows_room(const struct rows *rows, size_t least);
/* The row whose cells begin at `at`, the last one cut to `room`; `colours` as output_row_in. */
void rows_print_cut(const struct rows *rows, size_t at, size_t room, const char *const *colours,
                    struct strbuf *out);
void rows_finish(struct rows *rows); /* usable with _cleanup_ */

/* Tasks, filled and printed in pieces, so that a long list costs no memory; the head comes with the first
 * piece. Zeroed at first; end with print_tasks_finish. */
enum { PRINT_TASKS_COLUMNS = 7 };

struct print_tasks {
    struct output_column columns[PRINT_TASKS_COLUMNS];
    struct rows rows;
    bool headed;
};

void print_tasks_add(struct print_tasks *list, const json_t *task, time_ms now);
void print_tasks_flush(struct print_tasks *list, struct strbuf *out);
void print_tasks_finish(struct print_tasks *list);
