/* safe_text.c: a terminal state machine that executes nothing.
 *
 * Bytes become characters (strict UTF-8: no overlong forms, no surrogates), then characters drive
 * the states of a terminal, so that complete sequences are removed. An invalid byte becomes U+FFFD,
 * except 0x80 … 0x9f: a terminal that is not set to UTF-8 treats these as C1 controls, so they are
 * handled as such. */
#include "base/safe_text.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

#define ESC         0x1b
#define REPLACEMENT "\xef\xbf\xbd"

/* The state after ESC and this letter, or the equivalent C1 control. */
static enum sanitizer_state after_introducer(uint32_t letter) {
    if (letter == '[')
        return SANITIZER_CSI;
    return letter > 0 && letter < 0x80 && strchr("]PX^_", (int)letter) ? SANITIZER_STRING
                                                                       : SANITIZER_TEXT;
}

/* A control character ends or begins sequences in any state; true: handled. */
static bool take_control(struct sanitizer *s, uint32_t c, struct strbuf *out) {
    if (c == '\n') {
        strbuf_putc(out, '\n');
        s->state = SANITIZER_TEXT;
    } else if (c == ESC) {
        s->state = SANITIZER_ESCAPE;
    } else if (c >= 0x80 && c <= 0x9f) {
        s->state = after_introducer(c - 0x40);
    } else if (c == '\t' && s->state == SANITIZER_TEXT) {
        strbuf_putc(out, '\t');
    } else if (c < 0x20 || c == 0x7f) {
        /* CAN, SUB and BEL end a sequence; the others do not affect it */
        if (c == 0x18 || c == 0x1a || (c == 0x07 && s->state == SANITIZER_STRING))
            s->state = SANITIZER_TEXT;
    } else {
        return false;
    }
    return true;
}

/* One character; `bytes` is its encoding. */
static void take_character(struct sanitizer *s, uint32_t c, const char *bytes, size_t size,
                           struct strbuf *out) {
    if (take_control(s, c, out))
        return;
    if (c >= 0x80 && s->state != SANITIZER_STRING)
        s->state = SANITIZER_TEXT; /* not valid in any sequence */
    switch (s->state) {
    case SANITIZER_TEXT:
        if (c < 0x80 || !utf8_is_control(bytes, size)) /* ASCII was already handled */
            strbuf_add(out, bytes, size);
        break;
    case SANITIZER_ESCAPE:
        s->state = c < 0x30 ? SANITIZER_INTERMEDIATE : after_introducer(c);
        break;
    case SANITIZER_INTERMEDIATE:
        if (c >= 0x30)
            s->state = SANITIZER_TEXT;
        break;
    case SANITIZER_CSI:
        if (c >= 0x40)
            s->state = SANITIZER_TEXT;
        break;
    case SANITIZER_STRING:
        break;
    }
}

/* The pending bytes cannot become a character. */
static void drop_pending(struct sanitizer *s, struct strbuf *out) {
    if (s->pending_count > 0)
        take_character(s, 0xfffd, REPLACEMENT, strlen(REPLACEMENT), out);
    s->pending_count = 0;
}

/* Number of bytes of a character with this first byte; 0: invalid. */
static unsigned length_of(unsigned char lead) {
    if (lead < 0xc2 || lead > 0xf4)
        return 0;
    return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
}

/* May `byte` follow `lead`? Excludes overlong forms, surrogates, and code points above U+10FFFF. */
static bool may_follow(unsigned char lead, unsigned char byte) {
    unsigned char low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    unsigned char high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    return byte >= low && byte <= high;
}

static void take_first(struct sanitizer *s, unsigned char byte, struct strbuf *out) {
    char text = (char)byte;
    if (length_of(byte) > 0) {
        s->wanted = length_of(byte);
        s->pending[0] = byte;
        s->pending_count = 1;
    } else if (byte <= 0x9f) { /* 0x80 and above: a control, always removed */
        take_character(s, byte, &text, 1, out);
    } else {
        take_character(s, 0xfffd, REPLACEMENT, strlen(REPLACEMENT), out);
    }
}

static uint32_t decode(const unsigned char *bytes, unsigned count) {
    uint32_t c = bytes[0] & (0x7fu >> count);
    for (unsigned i = 1; i < count; i++)
        c = c << 6 | (bytes[i] & 0x3f);
    return c;
}

static void take_byte(struct sanitizer *s, unsigned char byte, struct strbuf *out) {
    if (s->pending_count > 0) {
        bool fits = s->pending_count == 1 ? may_follow(s->pending[0], byte) : (byte & 0xc0) == 0x80;
        if (fits) {
            s->pending[s->pending_count++] = byte;
            if (s->pending_count < s->wanted)
                return;
            s->pending_count = 0;
            take_character(s, decode(s->pending, s->wanted), (const char *)s->pending, s->wanted,
                           out);
            return;
        }
        drop_pending(s, out);
    }
    take_first(s, byte, out);
}

void sanitizer_feed(struct sanitizer *s, const char *bytes, size_t size, struct strbuf *out) {
    size_t i = 0;
    while (i < size) {
        /* Fast path for runs of plain characters. */
        size_t begin = i;
        if (s->state == SANITIZER_TEXT && s->pending_count == 0)
            while (i < size && bytes[i] >= 0x20 && bytes[i] < 0x7f)
                i++;
        if (i > begin)
            strbuf_add(out, bytes + begin, i - begin);
        else
            take_byte(s, (unsigned char)bytes[i++], out);
    }
}

void sanitizer_finish(struct sanitizer *s, struct strbuf *out) {
    drop_pending(s, out);
    s->state = SANITIZER_TEXT;
}

void sanitize_line(const char *text, struct strbuf *out) {
    struct sanitizer s = SANITIZER_INIT;
    size_t begin = out->length;
    sanitizer_feed(&s, text, strlen(text), out);
    sanitizer_finish(&s, out);
    for (size_t i = begin; i < out->length; i++)
        if (out->text[i] == '\n' || out->text[i] == '\t')
            out->text[i] = ' ';
}
