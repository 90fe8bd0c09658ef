/* message.h: one message, and its text format.
 *
 *     ---
 *     msg_id: MSG-20261115-104052-123000000-PID01234-0001
 *     ts: 2026-11-15T10:40:52.123Z
 *     type: FACT
 *     project_id: web
 *     task_id: web-17
 *     run_id: web-17.2
 *     meta: {"file":"a.c"}
 *     ---
 *     The body, as it was written.
 *     ...
 *
 * The front matter is YAML: one line per key, values plain or JSON. `---` and `...` alone on a line
 * are always marks, so a reader may start at any line, and no body can look like two messages. A
 * line of a body that would be a mark (or begins with one and a blank, after any number of
 * backslashes) gets a backslash in front, which Markdown does not show and readers strip. A message
 * is complete when its `...` is there. The next writer closes an incomplete one with `... # torn`,
 * and readers skip it. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/json_write.h"
#include "base/time_ms.h"

#define BUS_BODY_MAX   65536u /* of a posted message */
#define BUS_TYPE_MAX   32u
#define BUS_ID_MAX     64u
#define BUS_MEMBER_MAX 4096u /* of parents, links, meta */

/* Strings are borrowed. NULL: none. */
struct bus_message {
    const char *id; /* NULL for a new one: assigned on append */
    time_ms at;     /* 0: unknown; for a new one: now */
    const char *type;
    const char *project, *task, *run, *issue;
    bool to_project; /* for a new one: to the bus of its project, although it names a task */
    const char *parents, *links, *meta; /* JSON: two lists and an object */
    const char *body;                   /* without the final newline */
};

/* Its members except time and body, in the order in which they are printed. */
enum bus_kind { BUS_TEXT, BUS_LIST, BUS_OBJECT };
struct bus_key {
    const char *key, *json; /* in the front matter, and in JSON; NULL ends the table */
    enum bus_kind kind;
    size_t offset; /* in struct bus_message */
};
extern const struct bus_key bus_keys[];
const char **bus_member(struct bus_message *message, const struct bus_key *key);

/* Can it be posted? -EINVAL, -EFBIG with a message. */
int bus_message_check(const struct bus_message *message, struct error *err);
/* "FACT", "RUN_START": a letter, then letters, digits, _ - and dots; maximum is BUS_TYPE_MAX. */
bool bus_type_is_valid(const char *type);

/* Its lines in a file; it must have an id and a time. */
void bus_message_print(const struct bus_message *message, struct strbuf *out);
/* {"msg_id","at","type","project","task","run","issue","parents","links","meta","body"} */
void bus_message_print_json(const struct bus_message *message, struct json_writer *w);

/* "2026-11-15T10:40:52.123Z"; 0: invalid. */
time_ms bus_time_parse(const char *text);
/* "MSG-20261115-104052-123000000-" */
void bus_id_begin(time_ms at, struct strbuf *out);

/* --- lines ----------------------------------------------------------------------------------- */

enum bus_mark { BUS_NO_MARK, BUS_MARK_HEAD /* --- */, BUS_MARK_END /* ... */, BUS_MARK_TORN };
enum bus_mark bus_line_mark(const char *line, size_t size);
#define BUS_END_LINE  "...\n"
#define BUS_TORN_LINE "... # torn\n"
/* Does this line of a body need a backslash, or has it an added one? */
bool bus_line_is_like_mark(const char *line, size_t size);
