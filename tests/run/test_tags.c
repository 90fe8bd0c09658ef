/* test_tags.c: a record that was not written with the key of its run is no record. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "harness/test.h"
#include "rundir/rundir.h"

/* That of the folder v3 in the fixtures. */
static struct tag_key right_key(void) {
    struct tag_key key;
    for (unsigned i = 0; i < sizeof(key.bytes); i++)
        key.bytes[i] = (uint8_t)i;
    return key;
}

static struct tag_key other_key(void) {
    struct tag_key key = right_key();
    key.bytes[31] ^= 1;
    return key;
}

TEST(a_tag_is_an_hmac_of_kind_and_text) {
    const struct tag_key key = right_key();
    char tag[SHA256_HEX_SIZE];
    /* printf 'end\0abc' | openssl dgst -sha256 -mac HMAC -macopt hexkey:000102…1f */
    tag_print(&key, TAG_END, "abc", 3, tag);
    assert_string_equal(tag, "d74314a890bce0707e5b675b6ab870175d3d484424eeadbe9c03bcb008ed9dea");
    assert_true(tag_is_right(&key, TAG_END, "abc", 3, tag));
    assert_false(tag_is_right(&key, TAG_SPEC, "abc", 3, tag));
    assert_false(tag_is_right(&key, TAG_END, "abd", 3, tag));
    assert_false(tag_is_right(&key, TAG_END, "ab", 2, tag));
    assert_false(tag_is_right(&key, TAG_END, "abc", 3, ""));
    tag[0] = tag[0] == 'a' ? 'A' : 'a';
    assert_false(tag_is_right(&key, TAG_END, "abc", 3, tag));
}

static int read_all(const char *folder, const struct tag_key *key) {
    struct run_end end;
    struct run_started who;
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    const int results[] = { rundir_read_end(FIXTURES, folder, key, &end, NULL),
                            rundir_read_started(FIXTURES, folder, key, &who, NULL),
                            rundir_read_spec(FIXTURES, folder, key, &read, NULL) };
    assert_int_equal(results[0], results[1]);
    assert_int_equal(results[0], results[2]);
    return results[0];
}

TEST(a_folder_is_read_with_its_key_or_without_any) {
    const struct tag_key right = right_key(), other = other_key();
    assert_int_equal(read_all("v3", &right), 0);
    assert_int_equal(read_all("v3", &other), -EPROTO);
    assert_int_equal(read_all("v3", NULL), 0);
    /* Those of before have no tags: with a key, they are forged. */
    assert_int_equal(read_all("v1", NULL), 0);
    assert_int_equal(read_all("v2", NULL), 0);
    assert_int_equal(read_all("v1", &right), -EPROTO);
    assert_int_equal(read_all("v2", &right), -EPROTO);
}

/* --- every change is noticed --------------------------------------------------------------------- */

struct text {
    char bytes[8192];
    size_t size;
};

static struct text read_text(const char *name, off_t at, size_t most) {
    struct text text = { .size = 0 };
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && most <= sizeof(text.bytes));
    ssize_t got = pread(fd, text.bytes, most, at);
    assert_true(got > 0);
    close(fd);
    text.size = (size_t)got;
    return text;
}

static int parse_end(const struct text *text, const struct tag_key *key) {
    struct run_end end;
    return run_end_parse(text->bytes, text->size, key, &end, NULL);
}

static int parse_spec(const struct text *text, const struct tag_key *key) {
    static struct run_spec_words words;
    struct run_spec spec;
    return run_spec_parse(text->bytes, text->size, key, &words, &spec, NULL);
}

/* The last bytes of a text may say nothing: what is behind them is its end. */
static void check_changes(const struct text *right, size_t ends,
                          int (*parse)(const struct text *, const struct tag_key *)) {
    const struct tag_key key = right_key();
    assert_int_equal(parse(right, &key), 0);
    for (size_t i = 0; i < right->size - ends; i++) {
        struct text changed = *right;
        changed.bytes[i] ^= 1;
        if (parse(&changed, &key) == 0)
            fail_msg("byte %zu may be changed", i);
    }
    for (size_t size = 0; size < right->size - ends; size++) {
        struct text cut = *right;
        cut.size = size;
        if (parse(&cut, &key) == 0)
            fail_msg("%zu bytes are enough", size);
    }
}

TEST(no_byte_of_an_end_can_be_changed) {
    struct text text = read_text(FIXTURES "/v3/end.json", 0, 4096);
    check_changes(&text, 1, parse_end);
    text.size--; /* without its newline, as it comes by the pipe */
    check_changes(&text, 0, parse_end);
}

TEST(nor_one_of_a_spec) {
    struct text text = read_text(FIXTURES "/v3/lock", RUN_LOCK_SPEC, 4096);
    check_changes(&text, 0, parse_spec);
}

TEST(nothing_can_be_put_behind_the_tag_of_a_spec) {
    static const char more[] = "cwd\0/elsewhere", done[] = "done\0";
    const struct tag_key key = right_key();
    struct text text = read_text(FIXTURES "/v3/lock", RUN_LOCK_SPEC, 4096);
    text.size -= sizeof(done);
    assert_memory_equal(text.bytes + text.size, done, sizeof(done));
    memcpy(text.bytes + text.size, more, sizeof(more));
    text.size += sizeof(more);
    memcpy(text.bytes + text.size, done, sizeof(done));
    text.size += sizeof(done);
    assert_int_equal(parse_spec(&text, NULL), 0); /* who has no key would take it */
    assert_int_equal(parse_spec(&text, &key), -EPROTO);
}

TEST(nor_a_record_of_one_kind_be_shown_as_another) {
    const struct tag_key key = right_key();
    struct run_started started = { .version = RUNDIR_VERSION, .boot_id = "b", .shim = 17 };
    char text[RUN_RECORD_MAX], tag[SHA256_HEX_SIZE];
    size_t size = run_started_format(&started, &key, text, sizeof(text));
    size_t before = size - sizeof("tag") - SHA256_HEX_SIZE;
    tag_print(&key, TAG_STARTED, text, before, tag);
    assert_string_equal(text + before + sizeof("tag"), tag);
    assert_false(tag_is_right(&key, TAG_SPEC, text, before, tag));
    assert_false(tag_is_right(&key, TAG_END, text, before, tag));
}
