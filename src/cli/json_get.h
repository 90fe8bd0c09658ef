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

/* Iterates over an object: EACH_MEMBER(key, value, object) { … } */
struct member_cursor {
    json_t *object;
    void *at;
    bool begun, ended;
};
static inline json_t *member_next(struct member_cursor *cursor, const char **ret_key) {
    cursor->at = cursor->begun ? json_object_iter_next(cursor->object, cursor->at)
                               : json_object_iter(cursor->object);
    cursor->begun = true;
    *ret_key = json_object_iter_key(cursor->at);
    return json_object_iter_value(cursor->at);
}
#define EACH_MEMBER(key, value, of)                                                                \
    for (struct member_cursor value##_at = { (json_t *)(uintptr_t)(of), NULL, false, false };      \
         !value##_at.ended; value##_at.ended = true)                                               \
        for (const char *key = NULL; !value##_at.ended; value##_at.ended = true)                   \
            for (json_t * value; (value = member_next(&value##_at, &key));)

/* Adds the texts of a list, with `between` between them and what is in `out` already. */
void join_texts(struct strbuf *out, const char *between, const json_t *list);

/* --- building --------------------------------------------------------------------------------- */

/* A JSON string from any bytes: invalid UTF-8 becomes U+FFFD. */
json_t *json_text(const char *text);
/* Sets a member to a text; nothing if it is NULL. */
void set_text(json_t *object, const char *key, const char *text);
/* Copies members, by space-separated names, that are not null and that `to` does not have yet. */
void copy_members(json_t *to, const json_t *from, const char *names);
