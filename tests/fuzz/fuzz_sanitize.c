/* fuzz_sanitize.c: arbitrary bytes as the output of an agent.
 *
 * The first byte selects where the rest is split in two. The result is UTF-8 without control characters,
 * it is the same for one piece and for two, and sanitizing it again changes nothing. */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/safe_text.h"
#include "base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Decodes the character at `text`; asserts that it is well formed. */
static uint32_t next_character(const unsigned char *text, const unsigned char *end, size_t *ret) {
    size_t count = *text < 0x80 ? 1 : *text < 0xe0 ? 2 : *text < 0xf0 ? 3 : 4;
    assert(count <= (size_t)(end - text) && (*text < 0x80 || *text >= 0xc2));
    uint32_t c = count == 1 ? *text : *text & (0x7fu >> count);
    for (size_t i = 1; i < count; i++) {
        assert((text[i] & 0xc0) == 0x80);
        c = c << 6 | (text[i] & 0x3f);
    }
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    assert(c >= least[count] && c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff));
    *ret = count;
    return c;
}

static void check(const struct strbuf *text) {
    const unsigned char *at = (const unsigned char *)strbuf_text(text), *end = at + text->length;
    while (at < end) {
        size_t count;
        uint32_t c = next_character(at, end, &count);
        at += count;
        assert(c >= 0x20 || c == '\n' || c == '\t');
        assert(!(c >= 0x7f && c <= 0x9f));
        assert(c != 0x061c && c != 0x200e && c != 0x200f);
        assert(!(c >= 0x202a && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    const char *bytes = (const char *)data + 1;
    size--;
    size_t cut = size > 0 ? data[0] % (size + 1) : 0;
    _cleanup_(strbuf_finish) struct strbuf whole = STRBUF_INIT, halves = STRBUF_INIT,
                                           again = STRBUF_INIT;
    struct sanitizer s = SANITIZER_INIT;
    sanitizer_feed(&s, bytes, size, &whole);
    sanitizer_finish(&s, &whole);
    check(&whole);
    sanitizer_feed(&s, bytes, cut, &halves);
    sanitizer_feed(&s, bytes + cut, size - cut, &halves);
    sanitizer_finish(&s, &halves);
    assert(halves.length == whole.length
           && memcmp(strbuf_text(&halves), strbuf_text(&whole), whole.length) == 0);
    sanitizer_feed(&s, strbuf_text(&whole), whole.length, &again);
    sanitizer_finish(&s, &again);
    assert(again.length == whole.length
           && memcmp(strbuf_text(&again), strbuf_text(&whole), whole.length) == 0);
    return 0;
}
