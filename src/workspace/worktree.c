/* worktree.c: the files around a worktree. See worktree.h. */
#include "workspace/worktree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/outside.h"
#include "workspace/json_record.h"
#include "workspace/repository.h"

#define ENDING     ".json"
#define LISTED_MAX 1000000u /* bound, because a run can create any number */

/* The members of a record; the JSON members have the same names. */
#define TEXTS(X)                                                                                   \
    X(repository) X(base) X(prefix) X(merge) X(title) X(git_dir) X(common_dir) X(conflict)
#define FLAGS(X) X(made) X(rebasing) X(removing) X(prepared) X(implied) X(repairing) X(iterates)

void worktree_record_finish(struct worktree_record *record) {
#define FREE(name) free(record->name);
    TEXTS(FREE)
    *record = (struct worktree_record){ 0 };
}

char *worktree_path(const char *home, const char *task) {
    return xasprintf("%s/worktrees/%s", home, task);
}

char *worktree_record_path(const char *home, const char *task) {
    return xasprintf("%s/worktrees/%s" ENDING, home, task);
}

int worktree_record_read(const char *home, const char *task, struct worktree_record *ret,
                         struct error *err) {
    _cleanup_(freep) char *path = worktree_record_path(home, task);
    json_t *json = NULL;
    int r = json_record_read(path, &json, err);
    if (r < 0)
        return r;
#define READ_TEXT(name) .name = json_record_text(json, #name),
#define READ_FLAG(name) .name = json_record_flag(json, #name),
    *ret = (struct worktree_record){ TEXTS(READ_TEXT) FLAGS(READ_FLAG) };
    json_decref(json);
    return 0;
}

int worktree_record_write(const char *home, const char *task, const struct worktree_record *record,
                          struct error *err) {
    _cleanup_(freep) char *folder = xasprintf("%s/worktrees", home);
    _cleanup_(freep) char *path = worktree_record_path(home, task);
    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        return error_set_errno(err, "make", folder);
#define WRITE_TEXT(name) , #name, record->name ? record->name : ""
#define WRITE_FLAG(name) , #name, (int)record->name
    json_t *json = json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:b,s:b,s:b,s:b,s:b,s:b,s:b}" TEXTS(
        WRITE_TEXT) FLAGS(WRITE_FLAG));
    int r = json_record_write(path, json, err);
    if (r == -EILSEQ)
        return error_set(err, r, "'%s' is not UTF-8, which paths of projects must be",
                         record->repository);
    return r;
}

void worktree_record_remove(const char *home, const char *task) {
    _cleanup_(freep) char *path = worktree_record_path(home, task);
    (void)unlink(path);
}

/* The git directory records the path of its worktree. A worktree that was moved leaves no old one
 * behind. */
static bool is_copy(const char *git_dir, const char *git_file) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct stat here, there;
    _cleanup_(freep) char *note = xasprintf("%s/gitdir", git_dir);
    if (repository_read_line(note, &text) < 0 || text.length == 0)
        return false;
    return text.text[0] == '/' && stat(text.text, &there) == 0 && stat(git_file, &here) == 0
           && (here.st_ino != there.st_ino || here.st_dev != there.st_dev);
}

int worktree_git_dir(const char *path, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf dir = STRBUF_INIT;
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return -ENOENT;
    if (repository_git_file(path, &dir) < 0)
        return -EUCLEAN;
    _cleanup_(freep) char *file = xasprintf("%s/.git", path);
    if (is_copy(strbuf_text(&dir), file))
        return -EXDEV;
    strbuf_puts(out, strbuf_text(&dir));
    return 0;
}

/* The shared git directory of a record's worktree, from the record or its repository. */
static int expected_common(const struct worktree_record *record, struct strbuf *out) {
    if (record->common_dir && *record->common_dir) {
        strbuf_puts(out, record->common_dir);
        return 0;
    }
    struct repository_checkout checkout;
    if (repository_find(record->repository, &checkout) < 0)
        return -EUCLEAN; /* the repository does not exist any more */
    strbuf_puts(out, strbuf_text(&checkout.common_dir));
    repository_checkout_finish(&checkout);
    return 0;
}

static void set_text(char **text, const char *value) {
    free(*text);
    *text = xstrdup(value);
}

int worktree_find(const char *path, struct worktree_record *record) {
    _cleanup_(strbuf_finish) struct strbuf git_dir = STRBUF_INIT, common = STRBUF_INIT,
                                           shared = STRBUF_INIT, odd = STRBUF_INIT;
    int r = worktree_git_dir(path, &git_dir);
    if (r == -EUCLEAN && record->made && repository_git_file(path, &odd) == -EUCLEAN)
        return -EPERM; /* something else is there instead of `.git` */
    if (r == 0)
        r = expected_common(record, &common);
    if (r < 0)
        return r;
    bool is_noted = record->git_dir && *record->git_dir;
    _cleanup_(freep) char *above = xasprintf("%s/../..", strbuf_text(&git_dir));
    bool is_its = is_noted ? repository_is_same(strbuf_text(&git_dir), record->git_dir)
                           : repository_is_same(above, strbuf_text(&common));
    const char *own = is_noted ? record->git_dir : strbuf_text(&git_dir);
    if (!is_its || repository_common_dir(own, &shared) < 0
        || !repository_is_same(strbuf_text(&shared), strbuf_text(&common)))
        return -EPERM;
    if (!is_noted)
        set_text(&record->git_dir, strbuf_text(&git_dir));
    set_text(&record->common_dir, strbuf_text(&common));
    return 0;
}

static bool has_file(const char *git_dir, const char *name) {
    _cleanup_(freep) char *path = xasprintf("%s/%s", git_dir, name);
    return access(path, F_OK) == 0;
}

const char *worktree_in_progress(const char *git_dir) {
    static const struct {
        const char *file, *what;
    } signs[] = {
        { "rebase-merge", "rebase" }, { "rebase-apply", "rebase" },
        { "MERGE_HEAD", "merge" },    { "CHERRY_PICK_HEAD", "cherry-pick" },
        { "REVERT_HEAD", "revert" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
        if (has_file(git_dir, signs[i].file))
            return signs[i].what;
    return NULL;
}

bool worktree_is_locked(const struct worktree_record *record) {
    return has_file(record->git_dir, "locked");
}

static void remove_lock(const char *folder, const char *name) {
    _cleanup_(freep) char *path = xasprintf("%s/%s.lock", folder, name);
    (void)unlink(path);
}

void worktree_break_locks(const struct worktree_record *record, const char *branch) {
    static const char *const names[] = { "index",       "HEAD",
                                         "ORIG_HEAD",   "CHERRY_PICK_HEAD",
                                         "REBASE_HEAD", "REVERT_HEAD",
                                         "MERGE_HEAD",  "AUTO_MERGE" };
    _cleanup_(freep) char *ref = xasprintf("refs/heads/%s", branch);
    remove_lock(record->common_dir, ref);
    for (size_t i = 0; *record->git_dir && i < ARRAY_SIZE(names); i++)
        remove_lock(record->git_dir, names[i]);
}

void worktree_map_folder(const char *cwd, const char *from, const char *to, struct strbuf *out) {
    size_t length = strlen(from);
    while (length > 1 && from[length - 1] == '/')
        length--;
    strbuf_puts(out, to);
    if (!cwd || strncmp(cwd, from, length) != 0 || cwd[length] != '/' || strstr(cwd, "/../"))
        return;
    while (out->length > 1 && out->text[out->length - 1] == '/')
        out->text[--out->length] = '\0';
    strbuf_puts(out, cwd + length);
}

void worktree_for_each(const char *home, void (*each)(void *ctx, const char *task), void *ctx) {
    _cleanup_(freep) char *path = xasprintf("%s/worktrees", home);
    struct outside_list list;
    (void)outside_list_open(&list, path, LISTED_MAX);
    for (const char *name; (name = outside_list_next(&list));) {
        size_t length = strlen(name);
        if (name[0] == '.')
            continue;
        if (length <= strlen(ENDING) || strcmp(name + length - strlen(ENDING), ENDING) != 0) {
            _cleanup_(freep) char *record = worktree_record_path(home, name);
            if (access(record, F_OK) != 0) /* else it is listed by its record */
                each(ctx, name);
            continue;
        }
        _cleanup_(freep) char *task = xstrndup(name, length - strlen(ENDING));
        each(ctx, task);
    }
    outside_list_close(&list);
}
