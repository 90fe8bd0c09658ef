/* record.c: encoding of the files between daemon and shim.
 *
 * No printf: without stdio the shim is a few dozen kilobytes, and its output is parsed byte for
 * byte. */
#include "rundir/record.h"

#include <string.h>

#include "base/number.h"
#include "base/utf8.h"

void record_put(struct record_out *out, const char *bytes, size_t size) {
    size_t room = out->size - out->length;
    if (size > room) {
        out->full = true;
        size = room;
    }
    memcpy(out->text + out->length, bytes, size);
    out->length += size;
}

void record_puts(struct record_out *out, const char *text) {
    record_put(out, text, strlen(text));
}

void record_put_number(struct record_out *out, int64_t number) {
    char buf[NUMBER_TEXT_MAX];
    record_puts(out, number_text(number, buf));
}

void record_put_json(struct record_out *out, const char *text) {
    static const char digits[] = "0123456789abcdef";
    size_t left = strlen(text);
    record_puts(out, "\"");
    while (left > 0) {
        size_t length = utf8_length(text, left);
        unsigned char c = (unsigned char)*text;
        if (length == 0) {
            record_puts(out, "?");
            length = 1;
        } else if (c < 0x20 || c == 0x7f) {
            const char escaped[] = { '\\', 'u', '0', '0', digits[c >> 4], digits[c & 15] };
            record_put(out, escaped, sizeof(escaped));
        } else {
            if (c == '"' || c == '\\')
                record_puts(out, "\\");
            record_put(out, text, length);
        }
        text += length;
        left -= length;
    }
    record_puts(out, "\"");
}

void record_add(struct record_out *out, const char *name, const char *value) {
    record_put(out, name, strlen(name) + 1);
    record_put(out, value, strlen(value) + 1);
}

void record_add_number(struct record_out *out, const char *name, int64_t number) {
    char buf[NUMBER_TEXT_MAX];
    record_add(out, name, number_text(number, buf));
}

static const char *next_text(struct record_in *in) {
    const char *text = in->at;
    const char *nul = memchr(text, '\0', (size_t)(in->end - text));
    if (!nul)
        return NULL;
    in->at = nul + 1;
    return text;
}

bool record_next(struct record_in *in, const char **ret_name, const char **ret_value) {
    const char *name = next_text(in);
    const char *value = name ? next_text(in) : NULL;
    if (!value)
        return false;
    *ret_name = name;
    *ret_value = value;
    return true;
}

bool record_number(const char *value, int64_t min, int64_t max, int64_t *ret_number) {
    int64_t number = 0;
    if (number_parse_int(value, &number, NULL) < 0 || number < min || number > max)
        return false;
    *ret_number = number;
    return true;
}
