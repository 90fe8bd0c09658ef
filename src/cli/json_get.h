/* json_get.h: reads and builds JSON values. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* --- reading ---------------------------------------------------------------------------------- */

/* Members of an object; `otherwise` if missing, null or of another type. */
const char *get_text(const json_t *object, const char *key, const char *otherwise);
int64_t get_int(const json_t *object, const char *key, int64_t otherwise);
double get_real(const json_t *object, const char *key, double otherwise);
bool get_true(const json_t *object, const char *key);
/* Is the text one of the space-separated words? False if missing. */
bool member_is(const json_t *object, const char *key, const char *words);
bool word_in(const char *word, const char *words);

/* Iterates over a list: EACH_ITEM(task, json_object_get(answer, "tasks")) { … } */
struct item_cursor {
    const json_t *list;
    size_t at;
    bool ended;
};
static inline json_t *item_next(struct item_cursor *cursor) {
    return json_array_get(cursor->list, cursor->at++);
}
#define EACH_ITEM(item, array)                                                                     \
    for (struct item_cursor item##_at = { array, 0, false }; !item##_at.ended;                     \
         item##_at.ended = true)                                                                   \
        for (json_t * item; (item = item_next(&item##_at));)

/* Adds the texts of a list, with `between` between them and what is in `out` already. */
void join_texts(struct strbuf *out, const char *between, const json_t *list);

/* --- building --------------------------------------------------------------------------------- */

/* A JSON string from any bytes: invalid UTF-8 becomes U+FFFD. */
json_t *json_text(const char *text);
/* Sets a member to a text; nothing if it is NULL. */
void set_text(json_t *object, const char *key, const char *text);
/* Copies members, by space-separated names, that are not null and that `to` does not have yet. */
void copy_members(json_t *to, const json_t *from, const char *names);
