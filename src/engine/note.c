#include "engine/note.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"

struct json_writer *event_begin(struct event_data *data) {
    data->text = (struct strbuf)STRBUF_INIT;
    json_write_init(&data->json, &data->text, false);
    json_write_object_begin(&data->json);
    return &data->json;
}

void event_end(struct engine *e, struct event_data *data, const char *kind, task_id task,
               uint32_t attempt) {
    json_write_object_end(&data->json);
    engine_event(e, kind, task, attempt, strbuf_text(&data->text));
    strbuf_finish(&data->text);
}

void put_text(struct json_writer *w, const char *key, const char *text) {
    if (text)
        json_put_string(w, key, text);
}

void note_put(struct engine *e, const char *prefix, const char *key, const char *text) {
    _cleanup_(freep) char *name = xasprintf("%s%s", prefix, key);
    store_put_note(e->turn.batch, &(struct note_row){ .name = name, .text = text });
}

void note_put_number(struct engine *e, const char *prefix, const char *key, int64_t number) {
    char text[24];
    (void)snprintf(text, sizeof(text), "%" PRId64, number);
    note_put(e, prefix, key, text);
}

void note_put_task(struct engine *e, const char *prefix, task_id task, const char *text) {
    char key[24];
    (void)snprintf(key, sizeof(key), "%" PRIu64, task);
    note_put(e, prefix, key, text);
}

void note_end(struct engine *e, struct event_data *data, const char *prefix, const char *key) {
    json_write_object_end(&data->json);
    note_put(e, prefix, key, strbuf_text(&data->text));
    strbuf_finish(&data->text);
}

void note_end_task(struct engine *e, struct event_data *data, const char *prefix, task_id task) {
    char key[24];
    (void)snprintf(key, sizeof(key), "%" PRIu64, task);
    note_end(e, data, prefix, key);
}

char *note_text(const json_t *note, const char *key) {
    const char *text = json_string_value(json_object_get(note, key));
    return text ? xstrdup(text) : NULL;
}

const char *note_key(const struct note_row *row, const char *prefix) {
    size_t size = strlen(prefix);
    return row->text && strncmp(row->name, prefix, size) == 0 ? row->name + size : NULL;
}

const char *note_number(const struct note_row *row, const char *prefix, int64_t *ret) {
    const char *key = note_key(row, prefix);
    return key && number_parse_int(row->text, ret, NULL) == 0 ? key : NULL;
}
