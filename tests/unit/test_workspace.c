/* test_workspace.c: git command lines and their output, and the file beside a worktree. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "os/files.h"
#include "workspace/delivery.h"
#include "workspace/diff_record.h"
#include "workspace/git.h"
#include "workspace/worktree.h"

TEST(branches_are_checked_as_git_does) {
    static const char *const good[] = { "main", "feature/a.b", "release-1.0", "ä", "a@b", "x/y/z" };
    static const char *const bad[] = {
        "",   "-f",   "--all", "a b",    "a..b",     "a~1", "a^",   "a:b",  "/a",   "a/",  "a//b",
        ".a", "a/.b", "a.",    "a.lock", "x.lock/y", "@",   "a@{1", "a\\b", "HEAD", "a\nb"
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (!git_branch_is_valid(good[i]))
            fail_msg("'%s' is a branch", good[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (git_branch_is_valid(bad[i]))
            fail_msg("'%s' is no branch", bad[i]);
}

TEST(changes_are_read_as_git_says_them) {
    static const struct {
        const char *output;
        bool known;
        int64_t files, insertions, deletions;
    } rows[] = {
        { "", true, 0, 0, 0 },
        { " 1 file changed, 1 insertion(+)\n", true, 1, 1, 0 },
        { " 3 files changed, 10 insertions(+), 2 deletions(-)\n", true, 3, 10, 2 },
        { " 2 files changed, 7 deletions(-)", true, 2, 0, 7 },
        { " 1 file changed, 0 insertions(+), 0 deletions(-)\n", true, 1, 0, 0 },
        { "fatal: bad object\n", false, 0, 0, 0 },
        { " -1 files changed\n", false, 0, 0, 0 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct delivery_changes changes = { 0 };
        changes.known = delivery_take_stat(rows[i].output, &changes);
        assert_int_equal(changes.known, rows[i].known);
        if (!changes.known)
            continue;
        assert_int_equal(changes.files, rows[i].files);
        assert_int_equal(changes.insertions, rows[i].insertions);
        assert_int_equal(changes.deletions, rows[i].deletions);
        assert_int_equal(delivery_is_empty(&changes), rows[i].files == 0);
    }
}

TEST(no_line_runs_hooks) {
    struct git_line line;
    GIT_LINE(&line, "-C", "/x", "status");
    bool found = false;
    for (size_t i = 1; i < line.count; i++)
        found |= strcmp(line.argv[i], "core.hooksPath=/dev/null") == 0
                 && strcmp(line.argv[i - 1], "-c") == 0;
    assert_true(found);
    assert_string_equal(line.argv[0], "git");
    assert_string_equal(line.argv[line.count - 1], "status");
    assert_null(line.argv[line.count]);
}

static void expect_message(const char *output, const char *expected) {
    struct strbuf out = STRBUF_INIT;
    git_error_message(output, &out);
    assert_string_equal(strbuf_text(&out), expected);
    strbuf_finish(&out);
}

TEST(the_error_message_of_git_is_found) {
    expect_message("Preparing worktree (new branch 'x')\nfatal: invalid reference: nope\n",
                   "invalid reference: nope");
    expect_message("hint: a\nerror: could not apply 12ab\nhint: b\n", "could not apply 12ab");
    expect_message("one\ntwo\n\n", "two");
    expect_message("", "");
    expect_message("fatal: \x1b[31mred\x1b[0m\n", " [31mred [0m");
}

TEST(a_status_with_only_deleted_files_is_recognized) {
    assert_true(git_status_only_lacks_files(" D a\n D b c\n"));
    assert_false(git_status_only_lacks_files(""));
    assert_false(git_status_only_lacks_files(" D a\n?? b\n"));
    assert_false(git_status_only_lacks_files("D  a\n"));
    assert_false(git_status_only_lacks_files(" M a\n"));
}

TEST(hashes_are_whole) {
    char hash[GIT_HASH_MAX];
    assert_true(git_hash("0123456789012345678901234567890123456789\n", hash));
    assert_string_equal(hash, "0123456789012345678901234567890123456789");
    assert_false(git_hash("0123456789\n", hash));
    assert_false(git_hash("", hash));
    assert_false(git_hash("0123456789012345678901234567890123456789 x\n", hash));
    assert_true(git_output_hash("x\n^0123456789012345678901234567890123456789\n", 1, hash));
    assert_string_equal(hash, "0123456789012345678901234567890123456789");
    assert_false(git_output_hash("x\n--\n", 1, hash));
    assert_false(git_output_hash("x\n", 1, hash));
}

TEST(the_checkout_of_a_branch_is_found) {
    static const char list[] = "worktree /repo\nHEAD 11\nbranch refs/heads/main\n\n"
                               "worktree /w/web-1\nHEAD 22\nbranch refs/heads/sluice/web-1\n\n"
                               "worktree /w/x\nHEAD 22\ndetached\n\n";
    struct strbuf path = STRBUF_INIT;
    assert_true(git_find_checkout(list, "main", &path));
    assert_string_equal(strbuf_text(&path), "/repo");
    strbuf_clear(&path);
    assert_false(git_find_checkout(list, "mai", &path));
    assert_false(git_find_checkout(list, "main2", &path));
    assert_true(git_find_checkout(list, "sluice/web-1", &path));
    assert_string_equal(strbuf_text(&path), "/w/web-1");
    strbuf_finish(&path);
}

TEST(names_are_joined) {
    struct strbuf out = STRBUF_INIT;
    assert_int_equal(git_names("a\nb\nc\nd\n", 2, &out), 4);
    assert_string_equal(strbuf_text(&out), "a, b and 2 more");
    strbuf_clear(&out);
    assert_int_equal(git_names("", 2, &out), 0);
    strbuf_finish(&out);
}

TEST(what_is_in_the_way_is_named) {
    struct strbuf out = STRBUF_INIT;
    assert_int_equal(git_blockers("error: Your local changes to the following files would be "
                                  "overwritten by merge:\n\ta b\n\tc\nPlease commit your changes\n",
                                  5, &out),
                     2);
    assert_string_equal(strbuf_text(&out), "a b, c");
    strbuf_finish(&out);
}

TEST(lines_are_counted_from_none) {
    struct strbuf out = STRBUF_INIT;
    assert_true(git_output_line("/repo/.git\nsub/\n", 1, &out));
    assert_string_equal(strbuf_text(&out), "sub/");
    strbuf_clear(&out);
    assert_true(git_output_line("/repo/.git\n\n", 1, &out));
    assert_string_equal(strbuf_text(&out), "");
    assert_false(git_output_line("/repo/.git\n", 1, &out));
    strbuf_finish(&out);
}

TEST(words_of_people_are_filled) {
    const struct git_variable variables[] = { { "branch", "sluice/web-1" },
                                              { "id", "web-1" },
                                              { NULL, NULL } };
    struct strbuf out = STRBUF_INIT;
    git_fill("--head={branch} {id}{id} {other} {", variables, &out);
    assert_string_equal(strbuf_text(&out), "--head=sluice/web-1 web-1web-1 {other} {");
    strbuf_finish(&out);
}

static void expect_mapped(const char *cwd, const char *expected) {
    struct strbuf out = STRBUF_INIT;
    worktree_map_folder(cwd, "/src/web", "/w/web-1", &out);
    assert_string_equal(strbuf_text(&out), expected);
    strbuf_finish(&out);
}

TEST(a_folder_of_the_project_is_the_same_in_the_workspace) {
    expect_mapped("/src/web/api/v1", "/w/web-1/api/v1");
    expect_mapped("/src/web", "/w/web-1");
    expect_mapped("/src/website", "/w/web-1");
    expect_mapped("/home/me", "/w/web-1");
    expect_mapped("/src/web/../secret", "/w/web-1");
    expect_mapped(NULL, "/w/web-1");
}

static void note_task(void *ctx, const char *task) {
    struct strbuf *out = ctx;
    strbuf_printf(out, "%s ", task);
}

TEST(a_record_comes_back_as_it_was) {
    char home[SCRATCH_PATH], folder[100];
    scratch_make(home, "tree");
    struct worktree_record none = { 0 }, back = { 0 };
    assert_int_equal(worktree_record_read(home, "web-1", &none, NULL), -ENOENT);
    struct worktree_record record = { .repository = (char *)"/r ö",
                                      .base = (char *)"main",
                                      .prefix = (char *)"sub/",
                                      .git_dir = (char *)"/r/.git/worktrees/x",
                                      .common_dir = (char *)"/r/.git",
                                      .made = true };
    assert_int_equal(worktree_record_write(home, "web-1", &record, NULL), 0);
    assert_int_equal(worktree_record_read(home, "web-1", &back, NULL), 0);
    assert_string_equal(back.repository, "/r ö");
    assert_string_equal(back.base, "main");
    assert_string_equal(back.prefix, "sub/");
    assert_string_equal(back.git_dir, "/r/.git/worktrees/x");
    assert_string_equal(back.common_dir, "/r/.git");
    assert_true(back.made);
    assert_false(back.rebasing);
    assert_false(back.prepared);
    worktree_record_finish(&back);
    record.prepared = true;
    assert_int_equal(worktree_record_write(home, "web-1", &record, NULL), 0);
    assert_int_equal(worktree_record_read(home, "web-1", &back, NULL), 0);
    assert_true(back.prepared);
    worktree_record_finish(&back);
    struct strbuf names = STRBUF_INIT;
    worktree_for_each(home, note_task, &names);
    assert_string_equal(strbuf_text(&names), "web-1 ");
    strbuf_finish(&names);
    worktree_record_remove(home, "web-1");
    assert_int_equal(worktree_record_read(home, "web-1", &none, NULL), -ENOENT);
    (void)snprintf(folder, sizeof(folder), "%s/worktrees", home);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(rmdir(home), 0);
}

TEST(a_folder_without_git_is_half_made) {
    char home[SCRATCH_PATH], path[100], text[100];
    scratch_make(home, "tree");
    struct strbuf dir = STRBUF_INIT;
    (void)snprintf(path, sizeof(path), "%s/none", home);
    assert_int_equal(worktree_git_dir(path, &dir), -ENOENT);
    assert_int_equal(worktree_git_dir(home, &dir), -EUCLEAN);
    (void)snprintf(path, sizeof(path), "%s/.git", home);
    assert_int_equal(file_write(path, "gitdir: /nowhere/at/all\n", 24, NULL), 0);
    assert_int_equal(worktree_git_dir(home, &dir), -EUCLEAN);
    int length = snprintf(text, sizeof(text), "gitdir: %s\n", home);
    assert_int_equal(file_write(path, text, (size_t)length, NULL), 0);
    assert_int_equal(worktree_git_dir(home, &dir), 0);
    assert_string_equal(strbuf_text(&dir), home);
    strbuf_finish(&dir);
    scratch_remove(home);
}

static void write_text(const char *folder, const char *name, const char *text) {
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
}

/* Two worktrees with one git folder would share an index and a checked-out branch. */
TEST(a_copy_is_not_the_worktree) {
    char home[SCRATCH_PATH], git[80], tree[80], copy[80], text[128];
    struct strbuf dir = STRBUF_INIT;
    scratch_make(home, "tree");
    (void)snprintf(git, sizeof(git), "%s/git", home);
    (void)snprintf(tree, sizeof(tree), "%s/tree", home);
    (void)snprintf(copy, sizeof(copy), "%s/copy", home);
    assert_int_equal(mkdir(git, 0700) + mkdir(tree, 0700) + mkdir(copy, 0700), 0);
    (void)snprintf(text, sizeof(text), "gitdir: %s\n", git);
    write_text(tree, ".git", text);
    write_text(copy, ".git", text);
    (void)snprintf(text, sizeof(text), "%s/.git\n", tree);
    write_text(git, "gitdir", text);
    assert_int_equal(worktree_git_dir(tree, &dir), 0);
    assert_int_equal(worktree_git_dir(copy, &dir), -EXDEV);
    (void)snprintf(text, sizeof(text), "%s/.git", tree);
    assert_int_equal(unlink(text) + rmdir(tree), 0);
    assert_int_equal(worktree_git_dir(copy, &dir), 0); /* then it was moved */
    strbuf_finish(&dir);
    scratch_remove(home);
}

/* --- recognizing our worktree ----------------------------------------------------------------- */

struct place {
    char home[SCRATCH_PATH], repo[100], git[100], common[100], tree[100], file[110];
    struct worktree_record record;
};

/* What `git init repo; git worktree add tree` creates. */
static void given_worktree(struct place *p) {
    char path[200];
    *p = (struct place){ 0 };
    scratch_make(p->home, "tree");
    (void)snprintf(p->repo, sizeof(p->repo), "%s/repo", p->home);
    (void)snprintf(p->common, sizeof(p->common), "%s/repo/.git", p->home);
    (void)snprintf(p->git, sizeof(p->git), "%s/repo/.git/worktrees/x", p->home);
    (void)snprintf(p->tree, sizeof(p->tree), "%s/tree", p->home);
    (void)snprintf(p->file, sizeof(p->file), "%s/tree/.git", p->home);
    static const char *const folders[] = { "repo",           "repo/sub",
                                           "repo/.git",      "repo/.git/objects",
                                           "repo/.git/refs", "repo/.git/worktrees",
                                           "tree",           "repo/.git/worktrees/x" };
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", p->home, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    write_text(p->common, "HEAD", "ref: refs/heads/main\n");
    write_text(p->git, "commondir", "../..\n");
    (void)snprintf(path, sizeof(path), "%s\n", p->file);
    write_text(p->git, "gitdir", path);
    (void)snprintf(path, sizeof(path), "gitdir: %s\n", p->git);
    write_text(p->tree, ".git", path);
    (void)snprintf(path, sizeof(path), "%s/sub", p->repo);
    p->record = (struct worktree_record){ .repository = xstrdup(path), .made = true };
}

static void place_finish(struct place *p) {
    worktree_record_finish(&p->record);
    scratch_remove(p->home);
}

TEST(a_record_without_git_folders_gets_those_of_its_repository) {
    struct place p;
    (void)state;
    given_worktree(&p);
    assert_int_equal(worktree_find(p.tree, &p.record), 0);
    assert_string_equal(p.record.git_dir, p.git);
    assert_string_equal(p.record.common_dir, p.common);
    assert_int_equal(worktree_find(p.tree, &p.record), 0);
    assert_false(worktree_is_locked(&p.record));
    write_text(p.git, "locked", "");
    assert_true(worktree_is_locked(&p.record));
    place_finish(&p);
}

/* A git folder forged by an attacker, identical to one that git creates. */
static void given_other(const struct place *p, char ret_git[160]) {
    char path[200];
    static const char *const folders[] = { "evil", "evil/objects", "evil/refs", "evil/worktrees",
                                           "evil/worktrees/x" };
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", p->home, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    (void)snprintf(path, sizeof(path), "%s/evil", p->home);
    write_text(path, "HEAD", "ref: refs/heads/main\n");
    (void)snprintf(ret_git, 160, "%s/evil/worktrees/x", p->home);
    write_text(ret_git, "commondir", "../..\n");
    (void)snprintf(path, sizeof(path), "%s\n", p->file);
    write_text(ret_git, "gitdir", path);
}

TEST(another_repository_is_refused) {
    struct place p;
    char git[160], text[200];
    (void)state;
    for (int is_noted = 0; is_noted < 2; is_noted++) {
        given_worktree(&p);
        if (is_noted)
            assert_int_equal(worktree_find(p.tree, &p.record), 0);
        given_other(&p, git);
        (void)snprintf(text, sizeof(text), "gitdir: %s\n", git);
        write_text(p.tree, ".git", text);
        assert_int_equal(worktree_find(p.tree, &p.record), -EPERM);
        place_finish(&p);
    }
}

TEST(so_is_a_worktree_that_shares_another_one) {
    struct place p;
    char git[160], text[200];
    (void)state;
    for (int is_noted = 0; is_noted < 2; is_noted++) {
        given_worktree(&p);
        if (is_noted)
            assert_int_equal(worktree_find(p.tree, &p.record), 0);
        given_other(&p, git);
        (void)snprintf(text, sizeof(text), "%s/evil\n", p.home);
        write_text(p.git, "commondir", text);
        assert_int_equal(worktree_find(p.tree, &p.record), -EPERM);
        place_finish(&p);
    }
}

TEST(so_is_what_is_no_file) {
    struct place p;
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        given_worktree(&p);
        assert_int_equal(worktree_find(p.tree, &p.record), 0);
        assert_int_equal(unlink(p.file), 0);
        if (kind == 0)
            assert_int_equal(mkfifo(p.file, 0600), 0); /* nothing waits for it */
        else if (kind == 1)
            assert_int_equal(mkdir(p.file, 0700), 0);
        else if (kind == 2)
            assert_int_equal(symlink(p.git, p.file), 0);
        else {
            write_text(p.tree, ".git", "gitdir: ");
            assert_int_equal(truncate(p.file, 1 << 20), 0);
        }
        assert_int_equal(worktree_find(p.tree, &p.record), -EPERM);
        p.record.made = false; /* one that git has not finished may contain anything */
        assert_int_equal(worktree_find(p.tree, &p.record), -EUCLEAN);
        place_finish(&p);
    }
}

TEST(a_worktree_without_git_is_not_finished) {
    struct place p;
    (void)state;
    given_worktree(&p);
    assert_int_equal(unlink(p.file), 0);
    assert_int_equal(worktree_find(p.tree, &p.record), -EUCLEAN);
    assert_int_equal(rmdir(p.tree), 0);
    assert_int_equal(worktree_find(p.tree, &p.record), -ENOENT);
    place_finish(&p);
}

TEST(files_of_a_diff_are_read_one_by_one) {
    static const char text[] = "1\t2\ta\nb\0"
                               "-\t-\tbin\0"
                               "0\t0\t\0old\0new\0"
                               "7\t0\tcut";
    const char *at = text, *end = text + sizeof(text) - 1;
    struct diff_file file = { 0 };
    assert_true(diff_next_file(&at, end, &file));
    assert_string_equal(file.path, "a\nb");
    assert_null(file.old_path);
    assert_int_equal(file.added * 10 + file.removed, 12);
    assert_true(diff_next_file(&at, end, &file));
    assert_true(file.binary);
    assert_true(diff_next_file(&at, end, &file));
    assert_string_equal(file.old_path, "old");
    assert_string_equal(file.path, "new");
    assert_false(diff_next_file(&at, end, &file)); /* half an entry is not a file */
}
