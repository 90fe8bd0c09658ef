/* test_os_redact_file.c: a secret is found wherever the end of a read or of a window over the file splits it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "os/files.h"
#include "os/redact_file.h"

#define VALUE(name, text)                                                                          \
    { name, sizeof(name) - 1, text, sizeof(text) - 1 }

static struct redact_value values[] = { VALUE("KEY", "hunter2-hunter2"),
                                        VALUE("B", "nter2-xyzabc") };

static struct redact_index index_;

static char home[SCRATCH_PATH];

static int file_with(const char *text, size_t size) {
    char path[SCRATCH_PATH + 8];
    (void)snprintf(path, sizeof(path), "%s/file", home);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), size);
    return fd;
}

static ssize_t read_range(const struct redact_index *index, int fd, struct redact_range range,
                          char *space, const char **ret_bytes) {
    return redact_pread(index, fd, &range, space, ret_bytes);
}

TEST(reads_are_replaced_wherever_they_are_cut) {
    static const char text[] = "a hunter2-hunter2 b hunter2-hunter2-xyzabc c";
    /* Replacement names that do not fit, so that every byte is replaced by the same one. */
    static struct redact_value nameless[] = {
        VALUE("A_NAME_THAT_IS_TOO_LONG", "hunter2-hunter2"),
        VALUE("ANOTHER_NAME_THAT_IS_TOO_LONG", "nter2-xyzabc"),
    };
    static struct redact_index plain;
    char expected[sizeof(text)];
    char *space = xmalloc(REDACT_FILE_SPACE(sizeof(text)));
    _cleanup_(fd_closep) int fd = file_with(text, sizeof(text) - 1);
    memcpy(expected, text, sizeof(text));
    redact_index_init(&plain, nameless, ARRAY_SIZE(nameless), NULL);
    (void)redact_in_place(&plain, expected, sizeof(text) - 1);
    assert_string_equal(expected, "a *************** b ********************** c");
    for (size_t begin = 0; begin < sizeof(text); begin++)
        for (size_t size = 1; size < sizeof(text); size++) {
            const char *bytes;
            ssize_t got = read_range(&plain, fd, (struct redact_range){ (off_t)begin, size, false },
                                     space, &bytes);
            size_t left = sizeof(text) - 1 - begin;
            assert_int_equal(got, size < left ? size : left);
            assert_memory_equal(bytes, expected + begin, (size_t)got);
        }
    free(space);
}

/* A log that grows, read to its end after each byte. */
TEST(the_beginning_of_a_value_is_left_for_the_next_read) {
    static const char text[] = "one hunter2-hunter2 two hunter3\nhunter2-hunter";
    char *space = xmalloc(REDACT_FILE_SPACE(sizeof(text)));
    _cleanup_(strbuf_finish) struct strbuf shown = STRBUF_INIT;
    _cleanup_(fd_closep) int fd = file_with("", 0);
    const char *bytes;
    ssize_t got;
    for (size_t i = 0; i + 1 < sizeof(text); i++) {
        assert_int_equal(write(fd, text + i, 1), 1);
        got = read_range(&index_, fd,
                         (struct redact_range){ (off_t)shown.length, sizeof(text), true }, space,
                         &bytes);
        assert_true(got >= 0);
        strbuf_add(&shown, bytes, (size_t)got);
        assert_null(strstr(strbuf_text(&shown), "hunter2"));
    }
    assert_string_equal(strbuf_text(&shown), "one [redacted KEY]* two hunter3\n");
    got = read_range(&index_, fd, (struct redact_range){ (off_t)shown.length, sizeof(text), false },
                     space, &bytes);
    assert_int_equal(got, strlen("hunter2-hunter")); /* no more bytes came: it was not the value */
    free(space);
}

/* One letter of a value is an ordinary letter. */
TEST(a_single_read_leaves_out_no_more_than_it_must) {
    static const char text[] = "at noon hunter2-hunter";
    char *space = xmalloc(REDACT_FILE_SPACE(sizeof(text)));
    const char *bytes;
    for (size_t hidden = 0; hidden <= strlen("hunter2-hunter"); hidden++) {
        size_t size = strlen("at noon ") + hidden;
        _cleanup_(fd_closep) int fd = file_with(text, size);
        const struct redact_range range = { 0, sizeof(text), .grows = true, .once = true };
        ssize_t got = read_range(&index_, fd, range, space, &bytes);
        assert_int_equal(got, hidden < REDACT_LEAST / 2 ? size : strlen("at noon "));
    }
    free(space);
}

/* Values at every offset around the window boundaries, and chains of values across them. */
/* Without its NUL. */
static void put(char *at, const char *word) {
    while (*word)
        *at++ = *word++;
}

TEST(a_file_is_replaced_in_place) {
    size_t space_size = REDACT_FILE_SPACE(1), size = 3 * space_size;
    char *space = xmalloc(space_size), *text = xmalloc(size + 1);
    for (size_t shift = 0; shift < 40; shift++) {
        struct stat st;
        memset(text, '.', size);
        for (size_t at = shift; at + 100 < size; at += space_size / 2 - 7) {
            put(text + at, "hunter2-hunter2-xyzabc");
            put(text + at + 50, "hunter2-hunter2");
        }
        _cleanup_(fd_closep) int fd = file_with(text, size);
        assert_int_equal(redact_file(&index_, fd, space, space_size), 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_size, size);
        char *after = xmalloc(size + 1);
        assert_int_equal(pread(fd, after, size, 0), size);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(text[i] == '.', after[i] == '.');
        after[size] = '\0';
        assert_null(strstr(after, "hunter2"));
        assert_null(strstr(after, "xyz"));
        free(after);
    }
    free(space);
    free(text);
}

TEST(holes_stay_holes) {
    size_t space_size = REDACT_FILE_SPACE(1);
    char *space = xmalloc(space_size), shown[64];
    struct stat before, after;
    _cleanup_(fd_closep) int fd = file_with("hunter2-hunter2\n", 16);
    assert_int_equal(pwrite(fd, "hunter2-hunter2\n", 16, 64 << 20), 16);
    assert_int_equal(fstat(fd, &before), 0);
    assert_int_equal(redact_file(&index_, fd, space, space_size), 0);
    assert_int_equal(fstat(fd, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    assert_true(after.st_blocks <= before.st_blocks + 16);
    assert_int_equal(pread(fd, shown, 16, 0), 16);
    assert_memory_equal(shown, "[redacted KEY]*\n", 16);
    assert_int_equal(pread(fd, shown, 16, 64 << 20), 16);
    assert_memory_equal(shown, "[redacted KEY]*\n", 16);
    free(space);
}

TEST(nothing_to_find_changes_nothing) {
    static struct redact_index none;
    char space[64];
    const char *bytes;
    redact_index_init(&none, NULL, 0, NULL);
    _cleanup_(fd_closep) int fd = file_with("hunter2-hunter2", 15);
    assert_int_equal(read_range(&none, fd, (struct redact_range){ 3, 10, true }, space, &bytes),
                     10);
    assert_memory_equal(bytes, "ter2-hunte", 10);
    assert_int_equal(redact_file(&none, fd, space, sizeof(space)), 0);
    assert_int_equal(read_range(&none, fd, (struct redact_range){ 15, 10, true }, space, &bytes),
                     0);
    assert_int_equal(read_range(&none, -1, (struct redact_range){ 0, 10, true }, space, &bytes),
                     -1);
    assert_int_equal(errno, EBADF);
}

int main(void) {
    redact_index_init(&index_, values, ARRAY_SIZE(values), NULL);
    scratch_make(home, "redact");
    int failed = tests_run();
    scratch_remove(home);
    return failed;
}
