/* strbuf.c: a growing string.
 *
 * The buffer always has room for the final NUL, so the text can be passed to any C library
 * function. */
#include "base/strbuf.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define CAPACITY_FIRST 64u

/* Room for `more` bytes and the NUL. */
static void strbuf_reserve(struct strbuf *buf, size_t more) {
    if (buf->capacity - buf->length > more)
        return;
    size_t need;
    bool too_large = __builtin_add_overflow(buf->length + 1, more, &need);
    assert(!too_large);
    (void)too_large;
    bool first = !buf->text;
    if (first && need < CAPACITY_FIRST)
        need = CAPACITY_FIRST;
    buf->text = xgrow(buf->text, &buf->capacity, need, 1);
    if (first)
        buf->text[0] = '\0';
}

void strbuf_finish(struct strbuf *buf) {
    free(buf->text);
    *buf = (struct strbuf)STRBUF_INIT;
}

void strbuf_clear(struct strbuf *buf) {
    buf->length = 0;
    strbuf_reserve(buf, 0);
    buf->text[0] = '\0';
}

void strbuf_cut(struct strbuf *buf, size_t length) {
    if (length >= buf->length)
        return;
    buf->length = length;
    buf->text[length] = '\0';
}

void strbuf_add(struct strbuf *buf, const char *bytes, size_t size) {
    strbuf_reserve(buf, size);
    if (size > 0)
        memcpy(buf->text + buf->length, bytes, size);
    buf->length += size;
    buf->text[buf->length] = '\0';
}

void strbuf_puts(struct strbuf *buf, const char *text) {
    strbuf_add(buf, text, strlen(text));
}

void strbuf_putc(struct strbuf *buf, char c) {
    strbuf_reserve(buf, 1);
    buf->text[buf->length++] = c;
    buf->text[buf->length] = '\0';
}

void strbuf_printf(struct strbuf *buf, const char *format, ...) {
    va_list args;
    va_start(args, format);
    strbuf_vprintf(buf, format, args);
    va_end(args);
}

void strbuf_vprintf(struct strbuf *buf, const char *format, va_list args) {
    strbuf_reserve(buf, 0);
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(buf->text + buf->length, buf->capacity - buf->length, format, args);
    assert(size >= 0);
    if ((size_t)size >= buf->capacity - buf->length) {
        strbuf_reserve(buf, (size_t)size);
        (void)vsnprintf(buf->text + buf->length, (size_t)size + 1, format, again);
    }
    va_end(again);
    buf->length += (size_t)size;
}

void strbuf_repeat(struct strbuf *buf, const char *text, size_t times) {
    size_t size = strlen(text);
    for (size_t i = 0; i < times; i++)
        strbuf_add(buf, text, size);
}

const char *strbuf_text(const struct strbuf *buf) {
    return buf->text ? buf->text : "";
}

char *strbuf_take(struct strbuf *buf) {
    strbuf_reserve(buf, 0);
    char *text = buf->text;
    *buf = (struct strbuf)STRBUF_INIT;
    return text;
}

char *xasprintf(const char *format, ...) {
    struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    return strbuf_take(&text);
}
