/* test_remove.c: whatever a run has left is deleted, and nothing else. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/scratch.h"
#include "harness/test.h"
#include "rundir/remove.h"

static char root[SCRATCH_PATH];
static int top = -1;

static int set_up(void **state) {
    (void)state;
    scratch_make(root, "remove");
    top = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return top < 0 || chdir(root) < 0 ? -1 : 0;
}

static int tear_down(void **state) {
    (void)state;
    close(top);
    return chdir("/") == 0 && rmdir(root) == 0 ? 0 : -1; /* every test has left nothing */
}

static void make_file(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static void remove_whole(const char *name) {
    unsigned budget = UINT_MAX;
    assert_int_equal(remove_tree_at(top, name, &budget), 0);
    assert_int_equal(access(name, F_OK), -1);
}

TEST_GROUP(set_up, tear_down)

TEST(a_missing_folder_counts_as_deleted) {
    remove_whole("nothing");
    make_file("file");
    remove_whole("file");
    assert_int_equal(mkdir("empty", 0700), 0);
    remove_whole("empty");
}

TEST(links_are_not_followed) {
    assert_int_equal(mkdir("outside", 0700), 0);
    make_file("outside/kept");
    assert_int_equal(mkdir("tree", 0700), 0);
    assert_int_equal(symlink("../outside", "tree/link"), 0);
    assert_int_equal(symlink("/", "tree/root"), 0);
    remove_whole("tree");
    assert_int_equal(symlink("outside", "tree"), 0); /* the tree itself is one */
    remove_whole("tree");
    assert_int_equal(access("outside/kept", F_OK), 0);
    remove_whole("outside");
}

TEST(depth_needs_no_stack) {
    assert_int_equal(mkdir("tree", 0700), 0);
    int fd = open("tree", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 3000; i++) { /* far deeper than PATH_MAX can name */
        assert_int_equal(mkdirat(fd, "d", 0700), 0);
        int file = openat(fd, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        close(file);
        int next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(fd);
        fd = next;
    }
    close(fd);
    remove_whole("tree");
}

TEST(width_needs_no_memory) {
    char path[64];
    assert_int_equal(mkdir("tree", 0700), 0);
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(path, sizeof(path), "tree/a long name to fill a list, number %d", i);
        if (i % 3)
            make_file(path);
        else
            assert_int_equal(mkdir(path, 0700), 0);
    }
    remove_whole("tree");
}

TEST(folders_without_rights_are_opened) {
    assert_int_equal(mkdir("tree", 0700), 0);
    assert_int_equal(mkdir("tree/shut", 0700), 0);
    assert_int_equal(mkdir("tree/shut/inner", 0700), 0);
    make_file("tree/shut/inner/file");
    assert_int_equal(chmod("tree/shut/inner", 0), 0);
    assert_int_equal(chmod("tree/shut", 0), 0);
    assert_int_equal(chmod("tree", 0500), 0);
    remove_whole("tree");
}

TEST(a_budget_is_kept) {
    char path[64];
    assert_int_equal(mkdir("tree", 0700), 0);
    for (int i = 0; i < 100; i++) {
        (void)snprintf(path, sizeof(path), "tree/%d", i);
        make_file(path);
    }
    int calls = 0, r;
    do {
        unsigned budget = 7;
        r = remove_tree_at(top, "tree", &budget);
        calls++;
        assert_true(r == 0 || (r == 1 && budget == 0));
    } while (r == 1);
    assert_int_equal(calls, 100 / 7 + 1);
    assert_int_equal(access("tree", F_OK), -1);
    unsigned none = 0;
    assert_int_equal(mkdir("tree", 0700), 0);
    assert_int_equal(remove_tree_at(top, "tree", &none), 1);
    remove_whole("tree");
}
