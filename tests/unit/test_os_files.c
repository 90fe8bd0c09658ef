/* test_os_files.c: files are read completely or not at all, and written atomically. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/terminal.h"

static char folder[SCRATCH_PATH];

static int set_up(void **state) {
    (void)state;
    scratch_make(folder, "files");
    return chdir(folder);
}

static int tear_down(void **state) {
    (void)state;
    (void)unlink("a");
    (void)unlink("link");
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1; /* no temporary file is left */
}

TEST_GROUP(set_up, tear_down)

TEST(a_file_is_written_and_read) {
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    assert_int_equal(file_write("a", "one\0two", 7, &err), 0);
    strbuf_puts(&text, "before ");
    assert_int_equal(file_read("a", 7, &text, &err), 0);
    assert_int_equal(text.length, 14);
    assert_memory_equal(text.text, "before one\0two", 14);
}

TEST(a_file_keeps_its_mode) {
    struct error err = { 0 };
    struct stat st;
    assert_int_equal(file_write("a", "1", 1, &err), 0);
    assert_int_equal(chmod("a", 0640), 0);
    assert_int_equal(file_write("a", "22", 2, &err), 0);
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(st.st_size, 2);
}

static unsigned umask_calls;

/* Replaces umask of the C library. */
mode_t umask(mode_t mask) {
    umask_calls++;
    return (mode_t)syscall(SYS_umask, mask);
}

/* The umask belongs to all threads: files that they create meanwhile would get another mode. */
TEST(a_new_file_has_the_usual_mode_and_the_umask_stays) {
    struct error err = { 0 };
    struct stat st;
    mode_t mask = umask(027);
    umask_calls = 0;
    assert_int_equal(file_write("a", "x", 1, &err), 0);
    assert_int_equal(umask_calls, 0);
    umask(mask);
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_int_equal(chmod("a", 0), 0);
    assert_int_equal(file_write("a", "x", 1, &err), 0);
    assert_int_equal(stat("a", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0);
    assert_int_equal(unlink("a"), 0);
}

TEST(a_file_that_is_too_large_is_refused) {
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    assert_int_equal(file_write("a", "12345678", 8, &err), 0);
    strbuf_puts(&text, "kept");
    assert_int_equal(file_read("a", 7, &text, &err), -EFBIG);
    assert_string_equal(err.text, "file 'a' is larger than 7 bytes");
    assert_string_equal(strbuf_text(&text), "kept");
}

TEST(errors_name_the_file) {
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    FILE *file;
    assert_int_equal(file_read("missing", 10, &text, &err), -ENOENT);
    assert_string_equal(err.text, "cannot open 'missing': No such file or directory");
    assert_int_equal(file_write("no/such/place", "", 0, &err), -ENOENT);
    assert_string_equal(err.text, "cannot write 'no/such/place': No such file or directory");
    assert_int_equal(file_open(".", &file, &err), -EISDIR);
    assert_string_equal(err.text, "cannot read '.': it is a directory");
    assert_int_equal(file_open("missing", &file, &err), -ENOENT);
}

/* A user may direct a command to a device or a pipe; no other code writes there. */
TEST(a_device_is_written_for_commands_alone) {
    struct error err = { 0 };
    struct stat st;
    assert_int_equal(file_write_any("/dev/null", "x", 1, &err), 0);
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    if (access("/dev/full", W_OK) == 0)
        assert_int_equal(file_write_any("/dev/full", "x", 1, &err), -ENOSPC);
    assert_int_equal(file_write("/dev/null", "x", 1, &err), -EINVAL);
    assert_string_equal(err.text, "'/dev/null' is a device, not a regular file");
    assert_int_equal(file_write_any("a", "file", 4, &err), 0);
}

TEST(a_pipe_is_read_for_commands_alone) {
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    char path[32];
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
    assert_int_equal(write(ends[1], "words", 5), 5);
    close(ends[1]);
    assert_int_equal(file_read(path, 10, &text, &err), -EINVAL);
    assert_int_equal(file_read_any(path, 4, &text, &err), -EFBIG);
    assert_int_equal(text.length, 0);
    close(ends[0]);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    (void)snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
    assert_int_equal(write(ends[1], "words", 5), 5);
    close(ends[1]);
    assert_int_equal(file_read_any(path, 5, &text, &err), 0);
    assert_string_equal(strbuf_text(&text), "words");
    close(ends[0]);
}

TEST(a_link_leads_to_the_file) {
    struct error err = { 0 };
    struct stat st;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    assert_int_equal(file_write("a", "old", 3, &err), 0);
    assert_int_equal(symlink("a", "link"), 0);
    assert_int_equal(file_write("link", "new", 3, &err), 0);
    assert_int_equal(lstat("link", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(file_read("a", 10, &text, &err), 0);
    assert_string_equal(strbuf_text(&text), "new");
}

TEST(clocks_run_forward) {
    time_ms before = clock_read_steady();
    assert_true(clock_read_steady() >= before);
    assert_true(clock_read() > DAYS(19000)); /* it is later than 2022 */
}

TEST(a_pipe_is_no_terminal) {
    FILE *file = tmpfile();
    assert_non_null(file);
    (void)setenv("COLUMNS", "123", 1);
    assert_false(terminal_is(file));
    assert_false(terminal_has_colour(file));
    assert_int_equal(terminal_width(file), 123);
    (void)setenv("COLUMNS", "wide", 1);
    assert_int_equal(terminal_width(file), 80);
    (void)fclose(file);
}
