/* strbuf.h: a growing string. Always NUL-terminated; init with STRBUF_INIT, end with
 * strbuf_finish. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

#include "base/macros.h"

struct strbuf {
    char *text; /* never NULL after the first strbuf_* call; use strbuf_text for reading */
    size_t length;
    size_t capacity;
};

#define STRBUF_INIT                                                                                \
    { NULL, 0, 0 }

void strbuf_finish(struct strbuf *buf); /* safe on a zeroed buffer; usable with _cleanup_ */
void strbuf_clear(struct strbuf *buf);  /* keeps the memory */
void strbuf_cut(struct strbuf *buf, size_t length); /* keeps this many bytes, if it has more */
void strbuf_add(struct strbuf *buf, const char *bytes, size_t size);
void strbuf_puts(struct strbuf *buf, const char *text);
void strbuf_putc(struct strbuf *buf, char c);
void strbuf_printf(struct strbuf *buf, const char *format, ...) _printf_(2, 3);
void strbuf_vprintf(struct strbuf *buf, const char *format, va_list args) _printf_(2, 0);
void strbuf_repeat(struct strbuf *buf, const char *text, size_t times);
const char *strbuf_text(const struct strbuf *buf); /* "" when empty; borrowed */
char *strbuf_take(struct strbuf *buf);             /* the caller frees; the buffer is empty */
/* A formatted string without a buffer; the caller frees. */
char *xasprintf(const char *format, ...) _printf_(1, 2);
