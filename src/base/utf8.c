/* utf8.c: strict UTF-8 validation. */
#include "base/utf8.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/number.h"

size_t utf8_length(const char *text, size_t left) {
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < 0x80)
        return 1;
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc0 || at[0] >= 0xf8 || length > left)
        return 0;
    uint32_t value = at[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (at[i] & 0x3fu);
    }
    bool surrogate = value >= 0xd800 && value < 0xe000;
    return value < smallest[length] || value > 0x10ffff || surrogate ? 0 : length;
}

bool utf8_is_control(const char *text, size_t length) {
    const unsigned char *at = (const unsigned char *)text;
    if (length == 1)
        return at[0] < 0x20 || at[0] == 0x7f;
    if (length == 2) /* U+0080 … U+009F, U+061C */
        return (at[0] == 0xc2 && at[1] < 0xa0) || (at[0] == 0xd8 && at[1] == 0x9c);
    if (length != 3 || at[0] != 0xe2)
        return false;
    if (at[1] == 0x80) /* U+200E, U+200F, U+2028 … U+202E */
        return at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xa8 && at[2] <= 0xae);
    return at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9; /* U+2066 … U+2069 */
}

bool utf8_is_line(const char *text, size_t size) {
    for (size_t i = 0; i < size;) {
        if (text[i] >= ' ' && text[i] < 0x7f) { /* nearly every byte of an id or a title */
            i++;
            continue;
        }
        size_t length = utf8_length(text + i, size - i);
        if (length == 0 || utf8_is_control(text + i, length))
            return false;
        i += length;
    }
    return true;
}

/* Eight bytes of ASCII, none of them NUL. */
static bool is_plain(const char *text) {
    static const uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
    uint64_t word;
    memcpy(&word, text, sizeof(word));
    return ((word | (word - ones)) & tops) == 0;
}

bool utf8_is_clean(const char *text, size_t size) {
    for (size_t i = 0; i < size;) {
        if (size - i >= sizeof(uint64_t) && is_plain(text + i)) {
            i += sizeof(uint64_t);
            continue;
        }
        size_t length = text[i] ? utf8_length(text + i, size - i) : 0;
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

void utf8_clean(const char *text, size_t size, struct strbuf *out) {
    for (size_t i = 0; i < size;) {
        size_t length = text[i] ? utf8_length(text + i, size - i) : 0;
        strbuf_add(out, length ? text + i : "\xef\xbf\xbd", length ? length : 3);
        i += length ? length : 1;
    }
}

int utf8_decode_percent(const char *text, size_t size, bool plus, struct strbuf *out) {
    strbuf_clear(out);
    for (size_t i = 0; i < size; i++) {
        char c = plus && text[i] == '+' ? ' ' : text[i];
        if (c == '%') {
            int high = i + 2 < size ? number_hex_digit(text[i + 1]) : -1;
            int low = high >= 0 ? number_hex_digit(text[i + 2]) : -1;
            if (low < 0)
                return -EINVAL;
            c = (char)(high * 16 + low);
            i += 2;
        }
        strbuf_putc(out, c);
    }
    return utf8_is_clean(strbuf_text(out), out->length) ? 0 : -EINVAL;
}

struct utf8_quoted utf8_quote(const char *text) {
    struct utf8_quoted quoted = { "" };
    const size_t max = sizeof(quoted.text) - sizeof("...");
    size_t at = 0;
    for (size_t left = strlen(text), size; left > 0; text += size, left -= size) {
        size = utf8_length(text, left);
        bool plain = size > 0 && !utf8_is_control(text, size);
        size = size ? size : 1;
        if (at + (plain ? size : 1) > max) {
            memcpy(quoted.text + at, "...", sizeof("..."));
            break;
        }
        memcpy(quoted.text + at, plain ? text : "?", plain ? size : 1);
        at += plain ? size : 1;
    }
    return quoted;
}

bool utf8_is_name(const char *text, size_t size) {
    return size > 0 && size <= NAME_BYTES_MAX && text[0] != ' ' && text[size - 1] != ' '
           && utf8_is_line(text, size);
}
