/* message.h: one message, and how it stands in its file.
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
 * Front matter is YAML: one line per key, values plain or in the form of JSON. `---` and `...` alone on a
 * line are marks, always: nothing else in a file looks like one, so a reader may begin at any line, and no
 * body can pretend to be two messages. Therefore a line of a body that would be one (or begins with one
 * and a blank, with any number of backslashes in front) gets a backslash in front, which Markdown shows as
 * nothing and readers take off again.
 * A message is whole when its `...` is there. One that never got it is closed by whoever writes next with
 * `... # torn`, and readers leave it out. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/json_write.h"
#include "base/time_ms.h"

#define BUS_BODY_MAX   65536u /* of a message that is posted */
#define BUS_TYPE_MAX   32u
#define BUS_ID_MAX     64u
#define BUS_MEMBER_MAX 4096u /* of parents, links, meta */

/* Texts are borrowed. NULL: none. */
struct bus_message {
    const char *id; /* of a new one NULL: it gets one when it is appended */
    time_ms at;     /* 0: unknown; of a new one: now */
    const char *type;
    const char *project, *task, *run, *issue;
    bool to_project; /* of a new one: to the bus of its project, though it names a task */
    const char *parents, *links, *meta; /* JSON: two lists and an object */
    const char *body;                   /* without the newline at its end */
};

/* Can it be posted? -EINVAL, -EFBIG with a sentence. */
int bus_message_check(const struct bus_message *message, struct error *err);
/* "FACT", "RUN_START": a letter, then letters, digits, _ - and points; BUS_TYPE_MAX at the most. */
bool bus_type_is_valid(const char *type);

/* Its lines in a file; it has an id and a time. */
void bus_message_print(const struct bus_message *message, struct strbuf *out);
/* {"msg_id","at","type","project","task","run","issue","parents","links","meta","body"} */
void bus_message_print_json(const struct bus_message *message, struct json_writer *w);

/* "2026-11-15T10:40:52.123Z", and back: 0 if it is no such text. */
void bus_time_print(time_ms at, struct strbuf *out);
time_ms bus_time_parse(const char *text);
/* "MSG-20261115-104052-123000000-" */
void bus_id_begin(time_ms at, struct strbuf *out);

/* --- lines ----------------------------------------------------------------------------------- */

enum bus_mark { BUS_NO_MARK, BUS_MARK_HEAD /* --- */, BUS_MARK_END /* ... */, BUS_MARK_TORN };
enum bus_mark bus_line_mark(const char *line, size_t size);
#define BUS_END_LINE  "...\n"
#define BUS_TORN_LINE "... # torn\n"
/* Does this line of a body need a backslash, or has it one that is not its own? */
bool bus_line_is_like_mark(const char *line, size_t size);
