/* test_cli_sanitize.c: control sequences in the output of an agent never reach the terminal. */
#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/macros.h"
#include "base/safe_text.h"
#include "harness/test.h"

struct row {
    const char *dirty, *clean;
};

static void sanitize(const char *bytes, size_t size, struct strbuf *out) {
    struct sanitizer s = SANITIZER_INIT;
    sanitizer_feed(&s, bytes, size, out);
    sanitizer_finish(&s, out);
}

static void check_rows(const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        sanitize(rows[i].dirty, strlen(rows[i].dirty), &out);
        if (strcmp(strbuf_text(&out), rows[i].clean) != 0)
            fail_msg("row %zu became '%s', expected '%s'", i, strbuf_text(&out), rows[i].clean);
    }
}

TEST(text_comes_through_unchanged) {
    static const char *const texts[] = {
        "",
        "plain text, with ~ and \\",
        "tab\tand\nnewline\n",
        "Gr\xc3\xbcn",
        "日本語 \xf0\x9f\x9a\x80 e\xcc\x81",
        "[31m is only dangerous behind ESC",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct row row = { texts[i], texts[i] };
        check_rows(&row, 1);
    }
}

TEST(escape_sequences_are_removed_completely) {
    static const struct row rows[] = {
        { "a\x1b[31mred\x1b[0m b", "ared b" },
        { "\x1b[2J\x1b[1;1Hhome", "home" },
        { "\x1b[?1049h\x1b[>4;2m\x1b[ qx", "x" },
        { "\x1b]0;evil title\x07shown", "shown" },
        { "\x1b]52;c;cm0gLXJmIC8=\x1b\\shown", "shown" },
        { "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link" },
        { "\x1bP1$r0m\x1b\\shown", "shown" },
        { "\x1b_payload\x1b\\shown", "shown" },
        { "\x1b^private\x1b\\shown", "shown" },
        { "\x1bXstart\x1b\\shown", "shown" },
        { "\x1b(B\x1b)0\x1b#8\x1b%Gx", "x" },
        { "\x1b"
          "c\x1b"
          "7\x1b=x",
          "x" },
        { "\x1b\x1b[31mx", "x" },
        { "\x1b[31\x1b[32mx", "x" },
        { "\x1b[3\x18x\x1b]0;t\x1ay", "xy" },
        { "\x1b]0;\x1b[31mx", "x" }, /* ESC ends a string, whatever follows */
    };
    check_rows(rows, ARRAY_SIZE(rows));
}

TEST(a_newline_ends_every_sequence) {
    static const struct row rows[] = {
        { "\x1b]0;never closed\nnext line", "\nnext line" },
        { "\x1bPnever closed\nnext", "\nnext" },
        { "\x1b[31\nnext", "\nnext" },
        { "\x1b\nnext", "\nnext" },
        { "\x1b(\nnext", "\nnext" },
    };
    check_rows(rows, ARRAY_SIZE(rows));
}

TEST(control_characters_are_taken_out) {
    static const struct row rows[] = {
        { "a\rb\x08\x07\x0b\x0c\x7f"
          "c",
          "abc" },
        { "line\r\n", "line\n" },
        { "a\x9b"
          "31mb",
          "ab" }, /* CSI as a C1 byte */
        { "a\xc2\x9b"
          "31mb",
          "ab" }, /* CSI as UTF-8 */
        { "a\xc2\x9d"
          "0;t\xc2\x9c"
          "b",
          "ab" },
        { "a\xc2\x85\xc2\x8d"
          "b",
          "ab" },
        { "pay \xe2\x80\xae"
          "txt\xe2\x80\xac",
          "pay txt" },
        { "\xe2\x81\xa6x\xe2\x81\xa9\xe2\x80\x8e\xe2\x80\x8f\xd8\x9cy", "xy" },
    };
    check_rows(rows, ARRAY_SIZE(rows));
}

TEST(invalid_utf8_is_replaced) {
    static const struct row rows[] = {
        { "a\xff"
          "b",
          "a\xef\xbf\xbd"
          "b" },
        { "a\xc3", "a\xef\xbf\xbd" },
        { "a\xc3z", "a\xef\xbf\xbdz" },
        { "\xe2\x82", "\xef\xbf\xbd" },
        { "\xc2\x1b[31m\x9bm", "\xef\xbf\xbd" }, /* removed bytes must not join to a CSI */
        { "\xc0\x9bx", "\xef\xbf\xbd" },         /* nor an overlong encoding be one */
        { "\xed\xa0\xbdx", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx" }, /* surrogate */
        { "\xf4\xb0\xa0\xa0", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
    };
    check_rows(rows, ARRAY_SIZE(rows));
}

TEST(a_line_has_no_breaks) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    strbuf_puts(&out, "kept\n");
    sanitize_line("one\ntwo\tthree\x1b[2J", &out);
    assert_string_equal(strbuf_text(&out), "kept\none two three");
}

/* --- any bytes ------------------------------------------------------------------------------- */

/* Bytes that random texts should contain often. */
static char some_byte(struct rng *rng) {
    static const char often[] =
        "\x1b\x1b[]P_^X\\;m\x07\n\t\r\x18\x9b\x9c\x9d\xc2\xc2\xe2\x80\xae a0";
    if (rng_below(rng, 4) > 0)
        return often[rng_below(rng, sizeof(often) - 1)];
    return (char)rng_below(rng, 256);
}

static bool is_dangerous(const struct strbuf *text, size_t i) {
    unsigned char c = (unsigned char)text->text[i];
    unsigned char next = (unsigned char)text->text[i + 1]; /* the NUL at the end */
    if (c < 0x20)
        return c != '\n' && c != '\t';
    if (c == 0xc2)
        return next >= 0x80 && next <= 0x9f;
    return c == 0x7f;
}

static void check_clean(uint64_t seed, const struct strbuf *text) {
    for (size_t i = 0; i < text->length; i++)
        if (is_dangerous(text, i))
            fail_msg("seed %llu: byte 0x%02x came through", (unsigned long long)seed,
                     (unsigned char)text->text[i]);
}

TEST(random_bytes_never_leave_a_control) {
    for (uint64_t seed = 1; seed <= 20000; seed++) {
        struct rng rng = { seed };
        char bytes[64];
        size_t size = rng_below(&rng, sizeof(bytes));
        for (size_t i = 0; i < size; i++)
            bytes[i] = some_byte(&rng);
        _cleanup_(strbuf_finish) struct strbuf whole = STRBUF_INIT, pieces = STRBUF_INIT,
                                               twice = STRBUF_INIT;
        sanitize(bytes, size, &whole);
        check_clean(seed, &whole);

        struct sanitizer s = SANITIZER_INIT;
        for (size_t at = 0; at < size;) {
            size_t piece = 1 + rng_below(&rng, size - at);
            sanitizer_feed(&s, bytes + at, piece, &pieces);
            at += piece;
        }
        sanitizer_finish(&s, &pieces);
        if (strcmp(strbuf_text(&whole), strbuf_text(&pieces)) != 0)
            fail_msg("seed %llu: the pieces matter", (unsigned long long)seed);

        sanitize(strbuf_text(&whole), whole.length, &twice);
        if (strcmp(strbuf_text(&whole), strbuf_text(&twice)) != 0)
            fail_msg("seed %llu: what is clean was changed", (unsigned long long)seed);
    }
}

TEST(every_newline_comes_through) {
    for (uint64_t seed = 1; seed <= 5000; seed++) {
        struct rng rng = { seed };
        char bytes[64];
        size_t size = rng_below(&rng, sizeof(bytes)), in = 0, found = 0;
        for (size_t i = 0; i < size; i++)
            in += (bytes[i] = some_byte(&rng)) == '\n';
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        sanitize(bytes, size, &out);
        for (size_t i = 0; i < out.length; i++)
            found += out.text[i] == '\n';
        if (in != found)
            fail_msg("seed %llu: %zu lines became %zu", (unsigned long long)seed, in, found);
    }
}
