/* test_os_outside.c: opening a file that a hostile process has replaced neither blocks nor follows a link.
 *
 * Each attack first succeeds against a plain open of the same path. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "harness/odd_file.h"
#include "harness/patience.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "os/files.h"
#include "os/outside.h"

#define MAX 4096

static char folder[SCRATCH_PATH], file[SCRATCH_PATH + 32];
static struct error err;

static int set_up(void **state) {
    (void)state;
    scratch_make(folder, "outside");
    (void)snprintf(file, sizeof(file), "%s/file", folder);
    err = (struct error){ 0 };
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    scratch_remove(folder);
    return 0;
}

/* A child that opens the path without precautions. It exits only if open returns. */
static pid_t open_plainly(const char *path, int flags) {
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(path, flags | O_CLOEXEC, 0600);
        _exit(fd < 0);
    }
    return pid;
}

/* True: the process blocks in its open of the FIFO. Only then can the other end be opened, which releases it. */
static bool waits_for_fifo(const char *path, pid_t pid, int other_end) {
    int fd = -1, status = 0;
    for (int ms = 0; fd < 0 && ms < patience_ms(); ms++) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return false;
        fd = open(path, other_end | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            (void)poll(NULL, 0, 1);
    }
    (void)waitpid(pid, &status, 0);
    close(fd);
    return fd >= 0;
}

static bool is_made(enum odd_file kind) {
    odd_file_remove(file);
    int r = odd_file_make(kind, file);
    /* If this user or file system cannot create the kind, a run cannot either. */
    if (kind == ODD_DEVICE && (r == -EPERM || access(file, R_OK) < 0))
        return false;
    assert_int_equal(r, 0);
    return true;
}

static const char *const refusals[] = {
    [ODD_FIFO] = "is a FIFO, not a regular file",
    [ODD_LINK_FIFO] = "is a symbolic link, not a regular file",
    [ODD_LINK_ZERO] = "is a symbolic link, not a regular file",
    [ODD_LINK_FILE] = "is a symbolic link, not a regular file",
    [ODD_SOCKET] = "is a socket, not a regular file",
    [ODD_FOLDER] = "is a directory, not a regular file",
    [ODD_DEVICE] = "is a device, not a regular file",
};

static void assert_refused(int r, const char *path, const char *what) {
    char text[ERROR_TEXT_MAX];
    assert_true(r < 0);
    assert_int_equal(err.code, r);
    (void)snprintf(text, sizeof(text), "'%s' %s", path, what);
    assert_string_equal(err.text, text);
}

/* --- the attacks work on plain open ------------------------------------------------------------ */

#define FIXTURE_TEST(name_) TEST_WITH(name_, set_up, tear_down)

FIXTURE_TEST(a_plain_open_waits_for_a_fifo) {
    assert_true(is_made(ODD_FIFO));
    assert_true(waits_for_fifo(file, open_plainly(file, O_RDONLY), O_WRONLY));
    assert_true(waits_for_fifo(file, open_plainly(file, O_WRONLY | O_CREAT | O_TRUNC), O_RDONLY));
    assert_true(is_made(ODD_LINK_FIFO));
    assert_true(waits_for_fifo(file, open_plainly(file, O_RDONLY), O_WRONLY));
}

FIXTURE_TEST(a_plain_read_of_a_link_reads_something_else) {
    char bytes[16] = "";
    assert_true(is_made(ODD_LINK_FILE));
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, bytes, sizeof(bytes)), 7);
    assert_string_equal(bytes, "secret\n");
    close(fd);
    assert_true(is_made(ODD_LINK_ZERO)); /* which never ends */
    fd = open(file, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, bytes, sizeof(bytes)), sizeof(bytes));
    close(fd);
}

/* --- opening ----------------------------------------------------------------------------------- */

FIXTURE_TEST(only_regular_files_are_opened) {
    static const int flags[] = { O_RDONLY, O_RDWR, O_RDWR | O_CREAT,
                                 O_WRONLY | O_APPEND | O_CREAT };
    for (int kind = 0; kind < ODD_FILES; kind++)
        for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
            if (kind != ODD_SPARSE && is_made((enum odd_file)kind))
                assert_refused(outside_open(AT_FDCWD, file, flags[i], NULL, &err), file,
                               refusals[kind]);
}

/* With a reader at the other end even a non-blocking open for writing succeeds. */
FIXTURE_TEST(a_fifo_that_is_read_is_refused) {
    assert_true(is_made(ODD_FIFO));
    int reader = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    int plain = open(file, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(plain >= 0);
    close(plain);
    assert_refused(outside_open(AT_FDCWD, file, O_WRONLY, NULL, &err), file, refusals[ODD_FIFO]);
    close(reader);
}

FIXTURE_TEST(links_of_the_owner_are_followed_to_files_alone) {
    assert_true(is_made(ODD_LINK_FILE));
    int fd = outside_open(AT_FDCWD, file, O_RDONLY | OUTSIDE_LINKS, NULL, &err);
    assert_true(fd >= 0);
    close(fd);
    assert_true(is_made(ODD_LINK_FIFO));
    assert_refused(outside_open(AT_FDCWD, file, O_RDONLY | OUTSIDE_LINKS, NULL, &err), file,
                   refusals[ODD_FIFO]);
    assert_true(is_made(ODD_LINK_ZERO));
    assert_refused(outside_open(AT_FDCWD, file, O_RDONLY | OUTSIDE_LINKS, NULL, &err), file,
                   refusals[ODD_DEVICE]);
}

/* The holder of a lease is asked to release it, and has 45 seconds. */
FIXTURE_TEST(a_lease_is_not_waited_for) {
    int ready[2];
    assert_int_equal(odd_make_file(file, 0, "x"), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t holder = fork();
    if (holder == 0) {
        (void)signal(SIGIO, SIG_IGN);
        int fd = open(file, O_RDWR | O_CLOEXEC);
        if (fd < 0 || fcntl(fd, F_SETLEASE, F_WRLCK) < 0 || write(ready[1], "x", 1) != 1)
            _exit(errno == EINVAL ? 0 : 1);
        (void)pause();
        _exit(0);
    }
    close(ready[1]);
    char byte;
    bool is_leased = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    if (!is_leased) { /* this attack needs a file system with leases */
        int status = 1;
        (void)waitpid(holder, &status, 0);
        assert_int_equal(status, 0);
        return;
    }
    int r = outside_open(AT_FDCWD, file, O_RDONLY, NULL, &err);
    int plain = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* without the flag it would block */
    int why = errno;
    (void)kill(holder, SIGKILL);
    (void)waitpid(holder, NULL, 0);
    assert_int_equal(plain, -1);
    assert_int_equal(why, EWOULDBLOCK);
    assert_int_equal(r, -EAGAIN);
    assert_non_null(strstr(err.text, "another process has a lease on it"));
}

FIXTURE_TEST(no_part_of_the_path_may_be_a_link) {
    char real[SCRATCH_PATH + 32], link[SCRATCH_PATH + 32], inside[SCRATCH_PATH + 64];
    (void)snprintf(real, sizeof(real), "%s/real", folder);
    (void)snprintf(link, sizeof(link), "%s/link", folder);
    (void)snprintf(inside, sizeof(inside), "%s/link/file", folder);
    assert_int_equal(mkdir(real, 0700), 0);
    assert_int_equal(symlink("real", link), 0);
    assert_int_equal(odd_make_file(inside, 0, "x"), 0);
    int fd = open(inside, O_RDONLY | O_NOFOLLOW | O_CLOEXEC); /* this flag alone is not enough */
    assert_true(fd >= 0);
    close(fd);
    assert_refused(outside_open(AT_FDCWD, inside, O_RDONLY, NULL, &err), inside,
                   "leads through a symbolic link");
    assert_int_equal(outside_write(inside, 0600, "x", 1, &err), -ELOOP);
    assert_int_equal(outside_create(AT_FDCWD, inside, &err), -ELOOP);
    assert_int_equal(outside_open_by_steps(AT_FDCWD, inside, O_RDONLY, 0), -ELOOP);
    fd = outside_open(AT_FDCWD, inside, O_RDONLY | OUTSIDE_PARENT_LINKS, NULL, &err);
    assert_true(fd >= 0);
    close(fd);
}

FIXTURE_TEST(a_path_below_a_folder_cannot_leave_it) {
    static const char *const ways[] = { "../file", "/etc/hostname", "below/../../file", "out",
                                        "out/file" };
    char below[SCRATCH_PATH + 32], out[SCRATCH_PATH + 64];
    (void)snprintf(below, sizeof(below), "%s/dir", folder);
    (void)snprintf(out, sizeof(out), "%s/dir/out", folder);
    assert_int_equal(odd_make_file(file, 0, "x"), 0);
    assert_int_equal(mkdir(below, 0700), 0);
    assert_int_equal(symlink("..", out), 0);
    int dir = outside_open(AT_FDCWD, below, O_RDONLY | O_DIRECTORY, NULL, &err);
    assert_true(dir >= 0);
    assert_int_equal(mkdirat(dir, "below", 0700), 0);
    int plain = openat(dir, "out/file", O_RDONLY | O_CLOEXEC);
    assert_true(plain >= 0);
    close(plain);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        assert_true(outside_open(dir, ways[i], O_RDONLY, NULL, &err) < 0);
        assert_true(outside_open_by_steps(dir, ways[i], O_RDONLY, 0) < 0);
    }
    int fd = outside_open(dir, "below/new", O_RDWR | O_CREAT, NULL, &err);
    assert_true(fd >= 0);
    close(fd);
    close(dir);
}

/* The fallback without openat2 gives the same results. */
FIXTURE_TEST(step_by_step_is_the_same) {
    char long_name[400] = "";
    memset(long_name, 'x', sizeof(long_name) - 1);
    assert_int_equal(odd_make_file(file, 0, "x"), 0);
    int fd = outside_open_by_steps(AT_FDCWD, file, O_RDONLY | O_CLOEXEC, 0);
    assert_true(fd >= 0);
    close(fd);
    fd = outside_open_by_steps(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    assert_true(fd >= 0);
    int root = fd;
    fd = outside_open_by_steps(root, file + 1, O_RDONLY | O_CLOEXEC, 0);
    assert_true(fd >= 0);
    close(fd);
    close(root);
    assert_int_equal(outside_open_by_steps(AT_FDCWD, long_name, O_RDONLY, 0), -ENAMETOOLONG);
    assert_int_equal(outside_open_by_steps(AT_FDCWD, "/no/such/file", O_RDONLY, 0), -ENOENT);
    assert_true(is_made(ODD_LINK_FILE));
    assert_int_equal(outside_open_by_steps(AT_FDCWD, file, O_RDONLY, 0), -ELOOP);
}

FIXTURE_TEST(new_files_are_private_unless_they_are_shared) {
    struct stat st;
    mode_t mask = umask(0);
    int fd = outside_open(AT_FDCWD, file, O_RDWR | O_CREAT, NULL, &err);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    close(fd);
    assert_int_equal(unlink(file), 0);
    fd = outside_open(AT_FDCWD, file, O_RDWR | O_CREAT | OUTSIDE_SHARED, NULL, &err);
    umask(mask);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644);
    close(fd);
}

/* --- reading ----------------------------------------------------------------------------------- */

FIXTURE_TEST(a_file_is_read_up_to_its_limit) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_puts(&text, "before ");
    assert_int_equal(odd_make_file(file, 0, "12345678"), 0);
    assert_int_equal(outside_read(AT_FDCWD, file, 0, 8, &text, &err), 0);
    assert_string_equal(strbuf_text(&text), "before 12345678");
    assert_int_equal(outside_read(AT_FDCWD, file, 0, 7, &text, &err), -EFBIG);
    assert_string_equal(strbuf_text(&text), "before 12345678");
    /* Files in /proc have size 0. */
    strbuf_clear(&text);
    assert_int_equal(file_read("/proc/self/stat", MAX, &text, &err), 0);
    assert_true(text.length > 0);
    assert_int_equal(file_read("/proc/self/stat", 3, &text, &err), -EFBIG);
}

FIXTURE_TEST(nothing_odd_is_read) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    for (int kind = 0; kind < ODD_FILES; kind++) {
        if (!is_made((enum odd_file)kind))
            continue;
        int r = outside_read(AT_FDCWD, file, 0, MAX, &text, &err);
        if (kind == ODD_SPARSE)
            assert_int_equal(r, -EFBIG);
        else
            assert_refused(r, file, refusals[kind]);
        assert_non_null(strstr(err.text, file));
        r = file_read(file, MAX, &text, &err);
        assert_int_equal(r == 0, kind == ODD_LINK_FILE);
        text.length = 0;
    }
}

/* --- writing ----------------------------------------------------------------------------------- */

static void assert_holds(const char *path, const char *wanted) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    assert_int_equal(outside_read(AT_FDCWD, path, 0, MAX, &text, &err), 0);
    assert_string_equal(strbuf_text(&text), wanted);
}

/* The target of the link is not changed. */
static void assert_secret_kept(enum odd_file kind) {
    char other[SCRATCH_PATH + 64];
    (void)snprintf(other, sizeof(other), "%s.file", file);
    if (kind == ODD_LINK_FILE)
        assert_holds(other, "secret\n");
}

FIXTURE_TEST(a_write_replaces_whatever_is_there) {
    for (int kind = 0; kind < ODD_FILES; kind++) {
        if (!is_made((enum odd_file)kind))
            continue;
        int r = outside_write(file, 0600, "new", 3, &err);
        if (kind == ODD_FOLDER) {
            assert_int_equal(r, -EISDIR);
            assert_non_null(strstr(err.text, file));
            continue;
        }
        assert_int_equal(r, 0);
        assert_holds(file, "new");
        assert_secret_kept((enum odd_file)kind);
    }
}

FIXTURE_TEST(a_new_file_replaces_whatever_is_there) {
    for (int kind = 0; kind < ODD_FILES; kind++) {
        if (!is_made((enum odd_file)kind))
            continue;
        int fd = outside_create(AT_FDCWD, file, &err);
        if (kind == ODD_FOLDER) {
            assert_refused(fd, file, refusals[ODD_FOLDER]);
            continue;
        }
        assert_true(fd >= 0);
        assert_int_equal(write(fd, "new", 3), 3);
        close(fd);
        assert_holds(file, "new");
        assert_secret_kept((enum odd_file)kind);
    }
}

/* The owner's file may be a link; its replacement is always a regular file. */
FIXTURE_TEST(the_owners_file_stays_what_it_is) {
    char other[SCRATCH_PATH + 64];
    struct stat st;
    (void)snprintf(other, sizeof(other), "%s.file", file);
    assert_true(is_made(ODD_LINK_FILE));
    assert_int_equal(file_write(file, "new", 3, &err), 0);
    assert_int_equal(lstat(file, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_holds(other, "new");
    assert_true(is_made(ODD_FIFO));
    assert_refused(file_write(file, "new", 3, &err), file, refusals[ODD_FIFO]);
    assert_true(is_made(ODD_LINK_ZERO));
    assert_refused(file_write(file, "new", 3, &err), file, refusals[ODD_DEVICE]);
}

/* --- folders ----------------------------------------------------------------------------------- */

FIXTURE_TEST(a_list_ends) {
    struct outside_list list;
    unsigned count = 0;
    for (int name = 'a'; name <= 'z'; name++) {
        char path[SCRATCH_PATH + 32];
        (void)snprintf(path, sizeof(path), "%s/.%c", folder, name);
        assert_int_equal(odd_make_file(path, 0, ""), 0);
    }
    assert_int_equal(outside_list_open(&list, folder, 10), 0);
    while (outside_list_next(&list))
        count++;
    outside_list_close(&list);
    assert_int_equal(count, 10);
    assert_true(is_made(ODD_FIFO));
    assert_int_equal(outside_list_open(&list, file, 10), -ENOTDIR);
    assert_null(outside_list_next(&list));
    outside_list_close(&list);
    assert_true(is_made(ODD_LINK_FILE));
    assert_int_equal(outside_list_open(&list, file, 10), -ELOOP);
}
