/* redaction.c: see redaction.h. The index over all values is rebuilt on first use after a change:
 * launches come in groups. */
#include "engine/redaction.h"

#include <stdlib.h>
#include <string.h>

#include "engine/access.h"
#include "engine/engine_internal.h"

#define KEPT_MAX 256u /* values without a live run */

static const struct redact_shape token_shape = {
    .name = "API token",
    .prefix = "sl_",
    .alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-",
    .size = ACCESS_TOKEN_SIZE - 1,
};

/* One value, and its JSON form. */
struct known {
    char *pair; /* NAME=VALUE */
    size_t name;
    char *json; /* NULL: the same */
    size_t json_size;
    unsigned users; /* live runs that have it */
};

struct redaction {
    LIST(struct known) all; /* most recently needed last */
    struct redact_value *values;
    struct redact_index index;
    bool is_indexed; /* `index` has all values */
};

PART_STATE(redaction, struct redaction, redaction_of)

static void wipe(char *text, size_t size) {
    if (text)
        explicit_bzero(text, size);
    free(text);
}

static void known_finish(struct known *one) {
    wipe(one->pair, strlen(one->pair));
    wipe(one->json, one->json_size);
}

static void redaction_free(struct engine *e) {
    struct redaction *r = redaction_of(e);
    for (size_t i = 0; i < r->all.count; i++)
        known_finish(&r->all.items[i]);
    free(r->all.items);
    free(r->values);
}

/* --- values ---------------------------------------------------------------------------------- */

static void remove_at(struct redaction *r, size_t index) {
    memmove(&r->all.items[index], &r->all.items[index + 1],
            (r->all.count - index - 1) * sizeof(*r->all.items));
    r->all.count--;
    r->is_indexed = false;
}

static struct known *find_value(struct redaction *r, const char *pair) {
    for (size_t i = 0; i < r->all.count; i++)
        if (strcmp(r->all.items[i].pair, pair) == 0)
            return &r->all.items[i];
    return NULL;
}

static char *json_form(const char *value, size_t *ret_size) {
    char *form = xmalloc(REDACT_FILE_LONGEST);
    size_t size = redact_json_form(value, strlen(value), form, REDACT_FILE_LONGEST);
    char *copy = size > 0 ? memcpy(xmalloc(size), form, size) : NULL;
    *ret_size = size;
    wipe(form, size);
    return copy;
}

void redaction_add(struct engine *e, const char *pair) {
    struct redaction *r = redaction_of(e);
    struct known *one = find_value(r, pair);
    if (strlen(strchr(pair, '=') + 1) < REDACT_LEAST)
        return;
    struct known moved = one ? *one : (struct known){ xstrdup(pair), strcspn(pair, "="), 0 };
    if (!one)
        moved.json = json_form(pair + moved.name + 1, &moved.json_size);
    moved.users++;
    if (one)
        remove_at(r, (size_t)(one - r->all.items));
    *LIST_ADD(&r->all) = moved;
    r->is_indexed = false;
}

static void drop_at(struct redaction *r, size_t index) {
    known_finish(&r->all.items[index]);
    remove_at(r, index);
}

void redaction_release(struct engine *e, const char *pair, bool is_worthless) {
    struct redaction *r = redaction_of(e);
    struct known *one = find_value(r, pair);
    size_t kept = 0;
    if (!one || one->users == 0 || --one->users > 0)
        return;
    if (is_worthless)
        drop_at(r, (size_t)(one - r->all.items));
    for (size_t i = r->all.count; i-- > 0;) {
        kept += r->all.items[i].users == 0;
        if (r->all.items[i].users == 0 && kept > KEPT_MAX)
            drop_at(r, i);
    }
}

/* --- replacing ------------------------------------------------------------------------------- */

static const struct redact_index *index_of(const struct engine *e) {
    struct redaction *r = redaction_of(e);
    size_t count = 0;
    if (r->is_indexed)
        return &r->index;
    free(r->values);
    r->values = xcalloc(2 * r->all.count + 1, sizeof(*r->values));
    for (size_t i = 0; i < r->all.count; i++) {
        const struct known *one = &r->all.items[i];
        const char *value = one->pair + one->name + 1;
        r->values[count++] = (struct redact_value){ one->pair, one->name, value, strlen(value), 0 };
        if (one->json)
            r->values[count++] =
                (struct redact_value){ one->pair, one->name, one->json, one->json_size, 0 };
    }
    redact_index_init(&r->index, r->values, count, &token_shape);
    r->is_indexed = true;
    return &r->index;
}

bool engine_redact(const struct engine *e, const char *text, size_t size, struct strbuf *out) {
    const struct redact_index *index = index_of(e);
    struct redact_hit hit;
    return redact_find(index, text, size, 0, &hit) && redact_text(index, text, size, out);
}

ssize_t engine_read_log(const struct engine *e, int fd, const struct redact_range *range,
                        char *space, const char **ret_bytes) {
    return redact_pread(index_of(e), fd, range, space, ret_bytes);
}

char *redaction_turn_text(struct engine *e, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    bool is_replaced = text && engine_redact(e, text, strlen(text), &out);
    return turn_text(e, is_replaced ? strbuf_text(&out) : text);
}

void engine_redact_in_place(const struct engine *e, char *text) {
    (void)redact_in_place(index_of(e), text, strlen(text));
}

const struct engine_part redaction_part = {
    .state_size = sizeof(struct redaction),
    .at = { [STEP_FREE] = redaction_free },
};
