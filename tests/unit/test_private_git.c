/* test_private_git.c: the private git folder of a sandboxed run: what is copied into it, and which of its contents
 * are trusted afterwards. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/scratch.h"
#include "harness/test.h"
#include "os/files.h"
#include "workspace/private_git.h"

#define ONE    "1111111111111111111111111111111111111111"
#define TWO    "2222222222222222222222222222222222222222"
#define THREE  "3333333333333333333333333333333333333333"
#define BRANCH "sluice/web-1"

/* SCRATCH/common belongs to the repository, SCRATCH/own to the worktree, SCRATCH/data/web-1 is private. */
static char scratch[SCRATCH_PATH];

static const char *at(const char *path) {
    static char paths[4][SCRATCH_PATH + 128];
    static unsigned next;
    char *full = paths[next++ % 4];
    (void)snprintf(full, sizeof(paths[0]), "%s/%s", scratch, path);
    return full;
}

static void put(const char *path, const char *text) {
    const char *full = at(path);
    char folder[SCRATCH_PATH + 128];
    (void)snprintf(folder, sizeof(folder), "%s", full);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(folders_make(folder, strlen(scratch), NULL), 0);
    assert_int_equal(file_write(full, text, strlen(text), NULL), 0);
}

static void expect(const char *path, const char *text) {
    struct strbuf found = STRBUF_INIT;
    assert_int_equal(file_read(at(path), 4096, &found, NULL), 0);
    assert_string_equal(strbuf_text(&found), text);
    strbuf_finish(&found);
}

static int begin(void **state) {
    (void)state;
    scratch_make(scratch, "private-git");
    put("common/config", "[core]\n");
    put("common/packed-refs", "# pack-refs with: peeled fully-peeled sorted \n" ONE
                              " refs/heads/main\n" TWO " refs/heads/" BRANCH "\n^" ONE "\n");
    put("common/refs/heads/feature/a", THREE "\n");
    put("common/refs/remotes/origin/HEAD", "ref: refs/remotes/origin/main\n");
    put("common/refs/heads/feature/a.lock", "");
    put("own/HEAD", "ref: refs/heads/" BRANCH "\n");
    assert_int_equal(mkdir(at("data"), 0700), 0);
    return 0;
}

static int end(void **state) {
    (void)state;
    scratch_remove(scratch);
    return 0;
}

static int make(struct error *err) {
    return private_git_make(at("data/web-1"), at("common"), BRANCH, err);
}

static struct private_git_tips inspect(void) {
    struct private_git_tips tips;
    assert_int_equal(private_git_read(at("data/web-1"), at("own"), BRANCH, &tips, NULL), 0);
    return tips;
}

#define FIXTURE_TEST(name_) TEST_WITH(name_, begin, end)

FIXTURE_TEST(branches_and_settings_are_copied_and_objects_are_borrowed) {
    put("common/objects/info/alternates", "../../other\n# a comment\n/does/not/exist\n");
    put("other/x", "");
    assert_false(private_git_is_there(at("data/web-1")));
    assert_int_equal(make(NULL), 0);
    assert_true(private_git_is_there(at("data/web-1")));
    expect("data/web-1/common/config", "[core]\n");
    expect("data/web-1/common/refs/heads/feature/a", THREE "\n");
    expect("data/web-1/common/refs/remotes/origin/HEAD", "ref: refs/remotes/origin/main\n");
    assert_int_equal(access(at("data/web-1/common/refs/heads/feature/a.lock"), F_OK), -1);
    char lines[2 * SCRATCH_PATH + 64];
    (void)snprintf(lines, sizeof(lines), "%s/data/web-1/shared\n%s/other\n", scratch, scratch);
    expect("data/web-1/common/objects/info/alternates", lines);
}

FIXTURE_TEST(a_run_that_does_nothing_leaves_nothing) {
    assert_int_equal(make(NULL), 0);
    struct private_git_tips tips = inspect();
    assert_string_equal(tips.begin, TWO);
    assert_string_equal(tips.branch, TWO);
    assert_string_equal(tips.head, TWO);
    assert_true(tips.is_on_branch);
    assert_false(tips.has_objects);
}

FIXTURE_TEST(a_branch_is_found_in_its_file_and_among_the_packed_ones) {
    assert_int_equal(make(NULL), 0);
    put("data/web-1/common/refs/heads/" BRANCH, THREE "\n");
    put("data/web-1/common/objects/ab/cdef", "x");
    struct private_git_tips tips = inspect();
    assert_string_equal(tips.begin, TWO);
    assert_string_equal(tips.branch, THREE);
    assert_true(tips.has_objects);
    assert_int_equal(unlink(at("data/web-1/common/refs/heads/" BRANCH)), 0);
    put("data/web-1/common/packed-refs",
        TWO " refs/heads/x/" BRANCH "\n" ONE " refs/heads/" BRANCH "\n");
    assert_string_equal(inspect().branch, ONE);
    put("data/web-1/common/packed-refs", "");
    assert_string_equal(inspect().branch, "");
}

FIXTURE_TEST(packs_are_objects_too) {
    assert_int_equal(make(NULL), 0);
    put("data/web-1/common/objects/pack/pack-1.pack", "x");
    assert_true(inspect().has_objects);
}

FIXTURE_TEST(another_branch_and_no_branch_are_distinguished) {
    assert_int_equal(make(NULL), 0);
    put("own/HEAD", "ref: refs/heads/feature/a\n");
    assert_string_equal(inspect().head, THREE);
    assert_false(inspect().is_on_branch);
    put("own/HEAD", ONE "\n");
    assert_string_equal(inspect().head, ONE);
    assert_false(inspect().is_on_branch);
}

/* None of these may be followed, block, or be taken for a commit. */
FIXTURE_TEST(what_a_run_puts_in_place_of_a_branch_is_not_believed) {
    static const char *const heads[] = { "ref: refs/heads/../../../outside\n",
                                         "ref: /etc/passwd\n",
                                         "ref: refs/tags/x\n",
                                         "ref: \n",
                                         "",
                                         "-x\n",
                                         (ONE ONE "\n") };
    const char *file = "data/web-1/common/refs/heads/" BRANCH;
    put("outside", ONE "\n");
    assert_int_equal(make(NULL), 0);
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        put("own/HEAD", heads[i]);
        assert_string_equal(inspect().head, "");
    }
    put(file, "--upload-pack=evil\n");
    assert_string_equal(inspect().branch, "");
    assert_int_equal(unlink(at(file)), 0);
    assert_int_equal(symlink(at("outside"), at(file)), 0);
    assert_string_not_equal(inspect().branch, ONE);
    assert_int_equal(unlink(at(file)), 0);
    assert_int_equal(mkfifo(at(file), 0600), 0);
    assert_string_equal(inspect().branch, TWO); /* the packed ref */
    struct private_git_tips tips;
    assert_int_equal(unlink(at(file)), 0);
    assert_int_equal(rename(at("data/web-1/common"), at("data/web-1/moved")), 0);
    assert_int_equal(symlink(at("data/web-1/moved"), at("data/web-1/common")), 0);
    assert_true(private_git_read(at("data/web-1"), at("own"), BRANCH, &tips, NULL) < 0);
}

FIXTURE_TEST(what_cannot_be_copied_is_refused_in_words) {
    struct error err = { 0 };
    char path[64];
    assert_int_equal(mkdir(at("common/reftable"), 0700), 0);
    assert_int_equal(make(&err), -EOPNOTSUPP);
    assert_non_null(strstr(err.text, "git refs migrate"));
    assert_int_equal(rmdir(at("common/reftable")), 0);
    (void)snprintf(path, sizeof(path), "common/refs/heads");
    for (int depth = 0; depth < 20; depth++) {
        (void)strncat(path, "/d", sizeof(path) - strlen(path) - 1);
        if (strlen(path) + 3 < sizeof(path))
            (void)mkdir(at(path), 0700);
    }
    assert_int_equal(make(&err), -E2BIG);
    assert_non_null(strstr(err.text, "git pack-refs --all"));
    assert_false(private_git_is_there(at("data/web-1")));
}
