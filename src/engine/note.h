/* note.h: what a part writes in a turn: events with data, and notes. Private to engine/. */
#pragma once

#include <jansson.h>

#include "base/json_write.h"
#include "engine/engine_internal.h"

/* An event with a JSON object: event_begin, json_put_… with its result, event_end. */
struct event_data {
    struct strbuf text;
    struct json_writer json;
};
struct json_writer *event_begin(struct event_data *data);
void event_end(struct engine *e, struct event_data *data, const char *kind, task_id task,
               uint32_t attempt);
/* A member that is omitted without a text. */
void put_text(struct json_writer *w, const char *key, const char *text);

/* A note is a small named value that a part keeps in the store. Its name is the part's prefix
 * ("alert:") and a key; a part with a single note has no key. Notes are written with the turn and
 * loaded one by one at the start; each part takes its own. */

/* `text` NULL: deletes the note. */
void note_put(struct engine *e, const char *prefix, const char *key, const char *text);
void note_put_number(struct engine *e, const char *prefix, const char *key, int64_t number);
void note_put_task(struct engine *e, const char *prefix, task_id task, const char *text);
/* A note with a JSON object: event_begin, json_put_… with its result, note_end. */
void note_end(struct engine *e, struct event_data *data, const char *prefix, const char *key);
void note_end_task(struct engine *e, struct event_data *data, const char *prefix, task_id task);
/* A copy of a text of a note that is a JSON object; NULL: it has none. */
char *note_text(const json_t *note, const char *key);

/* The key of a note with this prefix; NULL: another part's, or without text. */
const char *note_key(const struct note_row *row, const char *prefix);
/* The same for a number; NULL also if it is not one. */
const char *note_number(const struct note_row *row, const char *prefix, int64_t *ret);
