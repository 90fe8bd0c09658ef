/* json_span.c: see json_span.h. */
#include "ops/json_span.h"

#include <stdbool.h>
#include <string.h>

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static const char *skip_blanks(const char *at) {
    while (is_blank(*at))
        at++;
    return at;
}

/* `at` is the opening quote; returns what follows the closing one. */
static const char *skip_text(const char *at) {
    for (at++; *at != '"'; at++)
        at += *at == '\\';
    return at + 1;
}

static const char *skip_value(const char *at) {
    size_t depth = 0;
    do {
        switch (*at) {
        case '"':
            at = skip_text(at);
            break;
        case '{':
        case '[':
            depth++;
            at++;
            break;
        case '}':
        case ']':
            depth--;
            at++;
            break;
        default: /* numbers and words end at the same characters as everything else */
            at += depth > 0 ? strcspn(at, "\"{}[]") : strcspn(at, ",]} \t\r\n");
            break;
        }
    } while (depth > 0);
    return at;
}

const char *json_span_member(const char *text, const char *name) {
    const char *at = skip_blanks(text) + 1;
    size_t size = strlen(name);
    for (;;) {
        at = skip_blanks(at);
        if (*at == '}' || *at == '\0')
            return NULL;
        const char *key = at + 1;
        at = skip_text(at);
        bool found = (size_t)(at - 1 - key) == size && memcmp(key, name, size) == 0;
        at = skip_blanks(skip_blanks(at) + 1); /* the colon */
        if (found)
            return at;
        at = skip_blanks(skip_value(at));
        at += *at == ',';
    }
}

bool json_span_next(const char *list, const char **at, struct json_span *ret) {
    const char *from = skip_blanks(*at ? *at : list);
    if (*from == ']')
        return false;
    from = skip_blanks(from + 1); /* the bracket, or the comma */
    if (*from == ']')
        return false;
    *at = skip_value(from);
    *ret = (struct json_span){ .from = from, .size = (size_t)(*at - from) };
    return true;
}

static size_t put(const char *from, size_t size, char *out, size_t max, size_t length) {
    if (length + size <= max)
        memcpy(out + length, from, size);
    return length + size;
}

size_t json_span_copy(const struct json_span *span, char *out, size_t max) {
    const char *at = span->from, *end = at + span->size;
    size_t length = 0;
    while (at < end) {
        const char *from = at;
        while (at < end && !is_blank(*at))
            at = *at == '"' ? skip_text(at) : at + 1;
        length = put(from, (size_t)(at - from), out, max, length);
        while (at < end && is_blank(*at))
            at++;
    }
    return length;
}
