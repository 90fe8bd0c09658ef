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
/* The same of what has happened: "3 m ago", "just now". */
/* "in 2 h, ", "now, " or "": what goes before the text of a forecast. */
struct print_text print_start(const json_t *forecast, time_ms now);
struct print_text print_since(time_ms at, time_ms now);
/* " by ann 2 h ago": who paused it and when, as far as `object` says so. */
void print_paused_by(struct strbuf *out, const json_t *object, time_ms now);
/* "12,345"; "-" below 0: nobody said. */
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

/* It has succeeded in its worktree, and has changed no file. */
bool print_is_empty(const json_t *task);

/* A text on one line, safe, at most `columns` wide (0: all of it), with a mark where it was cut. */
void print_line(struct strbuf *out, const char *text, size_t columns);
/* A text behind something that ends in column `at`: broken at blanks into at most `lines` lines that begin
 * there too. In a pipe it stays one line. */
void print_wrapped(struct strbuf *out, const char *text, size_t at, unsigned lines);
/* A value as JSON, without a newline. */
void print_value(struct strbuf *out, const json_t *value);
/* How wide a line may be: the terminal, or 0 when nobody looks and all is wanted. */
size_t print_width(void);
/* What it was asked to do: its title, else its prompt or its command. NULL: nothing of these. */
const char *print_title(const json_t *task);

/* --- a table of tasks ------------------------------------------------------------------------ */

/* Filled and printed in pieces, so that a long list costs no memory; the head comes with the first
 * piece. Zeroed at first; end with print_tasks_finish. */
enum { PRINT_TASKS_COLUMNS = 7 };

struct print_tasks {
    struct output_column columns[PRINT_TASKS_COLUMNS];
    char **cells; /* row after row */
    size_t count, capacity;
    bool headed;
};

void print_tasks_add(struct print_tasks *list, const json_t *task, time_ms now);
void print_tasks_flush(struct print_tasks *list, struct strbuf *out);
void print_tasks_finish(struct print_tasks *list);
