/* test_spare.c: folders are made ahead, and a TMPDIR is used again only when it is as good as new. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "executor/spare.h"
#include "harness/test.h"
#include "run/stage.h"

static void spare_path(const struct stage *stage, const char *name, char out[STAGE_PATH]) {
    (void)snprintf(out, STAGE_PATH, "%.180s/.spare/%s", stage->root, name);
}

static bool is_full(struct stage *stage, void *ctx) {
    (void)ctx;
    char path[STAGE_PATH];
    spare_path(stage, "31/1/tmp", path);
    return access(path, F_OK) == 0;
}

static ino_t inode_of(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 ? st.st_ino : 0;
}

/* The way of the loop and of the thread must not depend on each other. */
ONE_WAY(a_run_gets_a_folder_that_was_there_before) {
    struct stage *stage = STAGE(state);
    stage_await(stage, is_full, NULL, "32 folders made ahead");
    char path[STAGE_PATH];
    ino_t spares[32];
    for (unsigned i = 0; i < 32; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "%u/1", i);
        spare_path(stage, name, path);
        spares[i] = inode_of(path);
    }
    struct run_spec spec = stage_spec(stage, HOSTILE("exit", "0"));
    assert_int_equal(stage_run(stage, 1, &spec)->code, 0);
    stage_path(stage, 1, "", path);
    bool found = false;
    for (unsigned i = 0; i < 32; i++)
        found = found || spares[i] == inode_of(path);
    if (!found)
        fail_msg("the folder of the run was not one of those made ahead: look at spare_take");
    stage_free(stage);
}

/* One rename must not hide what is there: an attempt is started at most once. */
ONE_WAY(a_place_that_is_taken_is_refused) {
    struct stage *stage = STAGE(state);
    stage_await(stage, is_full, NULL, "32 folders made ahead");
    char path[STAGE_PATH];
    (void)snprintf(path, sizeof(path), "%.200s/test-9", stage->root);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%.200s/test-9/1", stage->root);
    assert_int_equal(mkdir(path, 0700), 0);
    int root = open(stage->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct spare *spare = spare_new(root);
    assert_false(spare_take(spare, "test-9/1"));
    assert_false(spare_take(spare, "test-9"));
    assert_false(spare_take(spare, "../test-9/2"));
    assert_false(spare_take(spare, "missing/2"));
    spare = spare_free(spare);
    close(root);
    stage_free(stage);
}

struct kept {
    ino_t inode;
    const char *name;
};

/* Is the folder with this inode among those that are kept? */
static bool is_kept(struct stage *stage, void *ctx) {
    const struct kept *kept = ctx;
    for (unsigned i = 0; i < 32; i++) {
        char name[32], path[STAGE_PATH];
        (void)snprintf(name, sizeof(name), "%.8s%u", kept->name, i);
        spare_path(stage, name, path);
        if (inode_of(path) == kept->inode)
            return true;
    }
    return false;
}

ONE_WAY(an_emptied_tmp_is_kept) {
    struct stage *stage = STAGE(state);
    char tmp[STAGE_PATH], variable[STAGE_PATH + 8];
    stage_await(stage, is_full, NULL, "32 folders made ahead");
    stage_path(stage, 1, "tmp", tmp);
    (void)snprintf(variable, sizeof(variable), "TMPDIR=%s", tmp);
    struct run_spec spec = stage_spec(stage, HOSTILE("litter", stage->home));
    spec.env = ARGV(variable);
    stage_start(stage, 1, &spec);
    struct kept kept = { inode_of(tmp), "tmp-" };
    assert_int_equal(stage_await_end(stage, 1)->code, 0);
    assert_int_equal(access(tmp, F_OK), -1);
    assert_true(is_kept(stage, &kept));
    stage_free(stage);
}

/* A link in the place of TMPDIR would lead the next run, and its cleaning, somewhere else. */
ONE_WAY(what_is_no_folder_any_more_is_left_where_it_is) {
    struct stage *stage = STAGE(state);
    char tmp[STAGE_PATH], left[STAGE_PATH], kept[STAGE_PATH];
    stage_path(stage, 1, "tmp", tmp);
    stage_path(stage, 1, "tmp.left", left);
    (void)snprintf(kept, sizeof(kept), "%.200s/kept", stage->home);
    assert_int_equal(mkdir(kept, 0700), 0);
    struct run_spec spec = stage_spec(
        stage, ARGV("/bin/sh", "-c", "rmdir \"$0\" && ln -s \"$1\" \"$0\"", tmp, stage->home));
    spec.env = ARGV("PATH=/usr/bin:/bin");
    assert_int_equal(stage_run(stage, 1, &spec)->code, 0);
    assert_int_equal(access(tmp, F_OK), -1);
    assert_int_not_equal(inode_of(left), 0);
    assert_int_equal(access(kept, F_OK), 0);
    stage_free(stage);
}
