/* redact.c: see redact.h. Without heap, except for redact_text. */
#include "base/redact.h"

#include <string.h>

#include "base/json_write.h"

#define FILTER_BITS 16
_Static_assert(sizeof(((struct redact_index *)NULL)->filter) * 8 == 1u << FILTER_BITS,
               "the filter has one bit for each hash");

static uint64_t head_of(const char *bytes) {
    uint64_t head;
    memcpy(&head, bytes, sizeof(head));
    return head;
}
_Static_assert(sizeof(uint64_t) == REDACT_LEAST, "every value has a complete head");

static unsigned hash_of(uint64_t head) {
    return (unsigned)(head * UINT64_C(0x9E3779B97F4A7C15) >> (64 - FILTER_BITS));
}

void redact_index_init(struct redact_index *index, struct redact_value *values, size_t count,
                       const struct redact_shape *shape) {
    *index = (struct redact_index){ .values = values, .count = count, .shape = shape };
    if (shape)
        index->longest = shape->size;
    for (size_t i = 0; i < count; i++) {
        if (values[i].size < REDACT_LEAST)
            continue;
        values[i].head = head_of(values[i].bytes);
        unsigned hash = hash_of(values[i].head);
        index->filter[hash / 64] |= UINT64_C(1) << (hash % 64);
        if (values[i].size > index->longest)
            index->longest = values[i].size;
    }
}

/* --- finding ---------------------------------------------------------------------------------- */

static bool passes_filter(const struct redact_index *index, uint64_t head) {
    unsigned hash = hash_of(head);
    return index->filter[hash / 64] >> (hash % 64) & 1;
}

/* The longest value at the beginning of the text, which has at least REDACT_LEAST bytes; or
 * NULL. */
static const struct redact_value *value_at(const struct redact_index *index, const char *text,
                                           size_t left) {
    uint64_t head = head_of(text);
    const struct redact_value *longest = NULL;
    if (!passes_filter(index, head))
        return NULL;
    for (size_t i = 0; i < index->count; i++) {
        const struct redact_value *value = &index->values[i];
        if (value->head == head && value->size >= REDACT_LEAST && value->size <= left
            && (!longest || value->size > longest->size)
            && memcmp(value->bytes, text, value->size) == 0)
            longest = value;
    }
    return longest;
}

/* Length of the match with the shape; at most the size of the text. */
static size_t shape_length(const struct redact_shape *shape, const char *text, size_t left) {
    size_t length = 0, prefix = strlen(shape->prefix);
    while (length < left && length < prefix && text[length] == shape->prefix[length])
        length++;
    if (length < prefix)
        return length;
    while (length < left && length < shape->size && text[length] != '\0'
           && strchr(shape->alphabet, text[length]))
        length++;
    return length;
}

/* Is there an occurrence at `at`? Returns the longest. */
static bool find_at(const struct redact_index *index, const char *text, size_t size, size_t at,
                    struct redact_hit *ret) {
    const struct redact_shape *shape = index->shape;
    const struct redact_value *value =
        size - at >= REDACT_LEAST ? value_at(index, text + at, size - at) : NULL;
    if (value)
        *ret = (struct redact_hit){ at, at + value->size, value->name, value->name_size };
    if (!shape || text[at] != shape->prefix[0] || (value && value->size >= shape->size)
        || shape_length(shape, text + at, size - at) < shape->size)
        return value != NULL;
    *ret = (struct redact_hit){ at, at + shape->size, shape->name, strlen(shape->name) };
    return true;
}

/* The first position at which something may begin; `size`: nowhere. Every byte of every answer passes
 * here, and often there are no values. */
static size_t skip(const struct redact_index *index, const char *text, size_t size, size_t at) {
    const char *prefix = index->shape ? index->shape->prefix : NULL;
    if (index->count == 0 && prefix) {
        const char *found = memmem(text + at, size - at, prefix, strlen(prefix));
        return found ? (size_t)(found - text) : size;
    }
    for (; at + REDACT_LEAST <= size; at++)
        if (passes_filter(index, head_of(text + at)) || (prefix && text[at] == prefix[0]))
            return at;
    while (at < size && !(prefix && text[at] == prefix[0]))
        at++;
    return at;
}

bool redact_find(const struct redact_index *index, const char *text, size_t size, size_t from,
                 struct redact_hit *ret) {
    struct redact_hit more;
    if (index->longest == 0 || from >= size)
        return false;
    while ((from = skip(index, text, size, from)) < size && !find_at(index, text, size, from, ret))
        from++;
    if (from >= size)
        return false;
    for (size_t at = ret->begin + 1; at < ret->end; at++)
        if (find_at(index, text, size, at, &more) && more.end > ret->end)
            ret->end = more.end;
    return true;
}

static bool is_open_at(const struct redact_index *index, const char *text, size_t left) {
    const struct redact_shape *shape = index->shape;
    if (shape && left < shape->size && shape_length(shape, text, left) == left)
        return true;
    for (size_t i = 0; i < index->count; i++)
        if (index->values[i].size >= REDACT_LEAST && index->values[i].size > left
            && memcmp(index->values[i].bytes, text, left) == 0)
            return true;
    return false;
}

size_t redact_open(const struct redact_index *index, const char *text, size_t size) {
    size_t at = size < index->longest ? 0 : size - index->longest;
    while (at < size && !is_open_at(index, text + at, size - at))
        at++;
    return at;
}

/* --- replacing -------------------------------------------------------------------------------- */

void redact_fill(const struct redact_hit *hit, size_t at, char *out, size_t size) {
    static const char before[] = "[redacted ";
    const size_t name = sizeof(before) - 1, end = name + hit->name_size;
    bool fits = end + 1 <= hit->end - hit->begin;
    for (size_t i = 0; i < size; i++, at++)
        out[i] = (char)(!fits || at > end ? '*'
                        : at == end       ? ']'
                        : at < name       ? before[at]
                                          : hit->name[at - name]);
}

bool redact_in_place(const struct redact_index *index, char *text, size_t size) {
    struct redact_hit hit;
    bool any = false;
    for (size_t from = 0; redact_find(index, text, size, from, &hit); from = hit.end) {
        redact_fill(&hit, 0, text + hit.begin, hit.end - hit.begin);
        any = true;
    }
    return any;
}

bool redact_text(const struct redact_index *index, const char *text, size_t size,
                 struct strbuf *out) {
    struct redact_hit hit;
    size_t from = 0;
    for (; redact_find(index, text, size, from, &hit); from = hit.end) {
        strbuf_add(out, text + from, hit.begin - from);
        strbuf_printf(out, "[redacted %.*s]", (int)hit.name_size, hit.name);
    }
    strbuf_add(out, text + from, size - from);
    return from > 0;
}

/* --- JSON ------------------------------------------------------------------------------------- */

size_t redact_json_form(const char *bytes, size_t size, char *out, size_t room) {
    size_t length = 0;
    for (size_t i = 0; i < size; i++) {
        char form[JSON_ESCAPE_MAX] = { bytes[i] };
        size_t wide = json_escape((unsigned char)bytes[i], form);
        wide = wide ? wide : 1;
        if (wide > room - length)
            return 0;
        memcpy(out + length, form, wide);
        length += wide;
    }
    return length == size ? 0 : length;
}
