/* test_os_copy_files.c: copies the configured files into a new worktree, and never the target of a link. Each attack
 * first succeeds against cp. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/strbuf.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "os/copy_files.h"
#include "os/files.h"

/* Has the folders from, to and secret. No copy may read or write the last one. */
static char home[64];

static char *path_of(const char *name) {
    static char paths[4][200];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof(paths[0]), "%s/%s", home, name);
    return path;
}

static void put(const char *name, const char *text) {
    assert_int_equal(file_write(path_of(name), text, strlen(text), NULL), 0);
}

static void folder(const char *name) {
    assert_int_equal(mkdir(path_of(name), 0755), 0);
}

static void link_to(const char *target, const char *name) {
    assert_int_equal(symlink(target, path_of(name)), 0);
}

static bool is_there(const char *name) {
    struct stat st;
    return lstat(path_of(name), &st) == 0;
}

static void has(const char *name, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf got = STRBUF_INIT;
    assert_int_equal(file_read(path_of(name), 1 << 20, &got, NULL), 0);
    assert_string_equal(strbuf_text(&got), text);
}

static int set_up(void **state) {
    (void)state;
    scratch_make(home, "copy");
    folder("from");
    folder("from/config");
    folder("to");
    folder("secret");
    put("secret/key", "secret");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    scratch_remove(home);
    return 0;
}

static int copy_in(const char *subdir, const char *pattern, struct error *err) {
    char from[200], to[200];
    (void)snprintf(from, sizeof(from), "%s/from", home);
    (void)snprintf(to, sizeof(to), "%s/to", home);
    struct copy_files what = { from, to, subdir, &pattern, 1 };
    return copy_files(&what, err);
}

static void copies(int count, const char *pattern) {
    struct error err = { 0 };
    int r = copy_in("", pattern, &err);
    if (r != count)
        fail_msg("%s: %d, %s", pattern, r, err.text);
}

static void refuses(const char *pattern, const char *name, const char *part) {
    struct error err = { 0 };
    int r = copy_in("", pattern, &err);
    if (r >= 0 || !strstr(err.text, part) || !strstr(err.text, name))
        fail_msg("%s: %d, '%s'", pattern, r, err.text);
}

/* The same with cp, which follows the link: the attack works. */
static void cp(const char *from, const char *to) {
    char command[500];
    (void)snprintf(command, sizeof(command), "cp '%s/%s' '%s/%s'", home, from, home, to);
    assert_int_equal(system(command), 0);
}

#define COPY_TEST(name_) TEST_WITH(name_, set_up, tear_down)

COPY_TEST(named_files_are_copied_with_their_mode) {
    put("from/.env", "A=1\n");
    put("from/config/run.sh", "x");
    assert_int_equal(chmod(path_of("from/.env"), 0600), 0);
    assert_int_equal(chmod(path_of("from/config/run.sh"), 04755), 0);
    copies(1, ".env");
    copies(1, "config/run.sh");
    has("to/.env", "A=1\n");
    has("to/config/run.sh", "x");
    struct stat st;
    assert_int_equal(stat(path_of("to/.env"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(stat(path_of("to/config/run.sh"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755); /* never setuid */
}

COPY_TEST(wildcards_find_what_is_there) {
    folder("from/config/a.local"); /* folders are not copied */
    put("from/config/b.local", "b");
    put("from/config/c.local", "c");
    put("from/config/.d.local", "d");
    put("from/config/e.txt", "e");
    copies(2, "config/*.local");
    has("to/config/b.local", "b");
    has("to/config/c.local", "c");
    assert_false(is_there("to/config/a.local"));
    assert_false(is_there("to/config/.d.local"));
    copies(1, "c*/.d.loc[a]l");
    copies(0, "*.nothing");
    copies(0, "*/nothing");
    copies(0, "*/*/nothing");
}

COPY_TEST(it_goes_below_a_folder_of_the_target) {
    struct error err = { 0 };
    put("from/.env", "A=1\n");
    assert_int_equal(copy_in("sub/dir/", ".env", &err), 1);
    has("to/sub/dir/.env", "A=1\n");
}

COPY_TEST(what_is_missing_is_named) {
    refuses(".env", "'.env'", "there is no such file");
    refuses("config/.env", "'config/.env'", "there is no such file");
    refuses("gone/.env", "'gone'", "there is no such folder");
    struct error err = { 0 };
    const char *pattern = ".env";
    struct copy_files what = { "/nonexistent", home, "", &pattern, 1 };
    assert_int_equal(copy_files(&what, &err), -ENOENT);
}

COPY_TEST(a_file_that_exists_stays) {
    put("from/.env", "new");
    put("to/.env", "old");
    copies(0, ".env");
    has("to/.env", "old");
}

COPY_TEST(no_link_is_read) {
    link_to("../secret/key", "from/.env");
    link_to("../secret", "from/keys");
    cp("from/.env", "to/proof");
    has("to/proof", "secret");
    refuses(".env", "'.env'", "symbolic link");
    refuses(".en?", "'.env'", "symbolic link");
    refuses("keys/key", "'keys'", "symbolic link");
    copies(0, "k*/key");
    assert_false(is_there("to/.env"));
    assert_false(is_there("to/keys"));
}

COPY_TEST(no_link_is_written) {
    put("from/config/x", "evil");
    put("from/y", "evil");
    put("from/z", "evil");
    link_to("../secret", "to/config");
    link_to("../secret/key", "to/y");
    link_to("../secret/new", "to/z");
    cp("from/config/x", "to/config/proof");
    has("secret/proof", "evil");
    refuses("config/x", "'config/x'", "symbolic link");
    copies(0, "y");
    copies(0, "z");
    has("secret/key", "secret");
    assert_false(is_there("secret/x"));
    assert_false(is_there("secret/new"));
    struct error err = { 0 };
    put("from/key", "evil");
    assert_true(copy_in("config/", "key", &err) < 0); /* a subfolder that is a link */
    has("secret/key", "secret");
}

COPY_TEST(a_special_file_never_blocks) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/from/sock", home);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    assert_int_equal(mkfifo(path_of("from/pipe"), 0600), 0);
    refuses("pipe", "'pipe'", "not a regular file");
    refuses("p*", "'pipe'", "not a regular file");
    refuses("sock", "'sock'", "not a regular file");
    refuses("config", "'config'", "not a regular file");
    put("from/file", "x");
    refuses("file/x", "'file'", "not a directory");
    close(fd);
}

COPY_TEST(sizes_and_numbers_are_bounded) {
    put("from/large", "");
    assert_int_equal(truncate(path_of("from/large"), COPY_FILE_MAX), 0);
    copies(1, "large");
    assert_int_equal(truncate(path_of("from/large"), (off_t)COPY_FILE_MAX + 1), 0);
    assert_int_equal(unlink(path_of("to/large")), 0);
    refuses("large", "'large'", "larger than 4 MB");
    folder("from/many");
    char name[40];
    for (unsigned i = 0; i <= COPY_COUNT_MAX; i++) {
        (void)snprintf(name, sizeof(name), "from/many/%u", i);
        int fd = open(path_of(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    refuses("many/*", "'many/", "more than 500");
    folder("from/all");
    for (unsigned i = 0; i < 5; i++) {
        (void)snprintf(name, sizeof(name), "from/all/%u", i);
        put(name, "");
        assert_int_equal(truncate(path_of(name), COPY_FILE_MAX), 0);
    }
    refuses("all/*", "'all/", "larger than 16 MB");
}

COPY_TEST(git_is_left_alone) {
    folder("from/.git");
    put("from/.git/config", "x");
    put("from/.gitenv", "x");
    copies(1, ".git*");
    copies(0, ".g*/config");
    assert_false(is_there("to/.git"));
    static const char *const bad[] = { "",       "/etc/passwd", "..",     "../secret/key",
                                       "a/../b", "./a",         "a//b",   "a/",
                                       ".git",   "a/.git",      ".git/b", "a/." };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        if (copy_pattern_is_valid(bad[i]))
            fail_msg("'%s' is accepted as a pattern", bad[i]);
        refuses(bad[i], "cannot copy", "not a path");
    }
    static const char *const good[] = { ".env", "config/*.local", "a..b", ".github/x", "..." };
    for (size_t i = 0; i < ARRAY_SIZE(good); i++)
        assert_true(copy_pattern_is_valid(good[i]));
}
