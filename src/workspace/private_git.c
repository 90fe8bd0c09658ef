/* private_git.c: see private_git.h. */
#include "workspace/private_git.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "os/files.h"
#include "os/outside.h"

#define REF_MAX    1024u       /* bytes of a branch file */
#define PACKED_MAX (64u << 20) /* of packed-refs */
#define CONFIG_MAX (1u << 20)  /* of config */
#define LINKS_MAX  (64u << 10) /* of the alternates file */
#define REFS_MAX   10000u      /* loose branches and their directories */
#define DEPTH_MAX  16u         /* nesting of these directories */

char *private_git_path(const char *data, const char *task, struct arena *arena) {
    return arena_printf(arena, "%s/worktrees/.private/%s", data, task);
}

bool private_git_is_there(const char *folder) {
    _cleanup_(freep) char *path = xasprintf("%s/begin", folder);
    return access(path, F_OK) == 0;
}

const char *const private_git_shown[] = { "HEAD", "description", "hooks",   "info",
                                          "lfs",  "modules",     "shallow", NULL };

void private_git_each_alternate(const char *common_dir, void (*each)(void *ctx, const char *path),
                                void *ctx) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, path = STRBUF_INIT;
    strbuf_printf(&path, "%s/objects/info/alternates", common_dir);
    if (outside_read(AT_FDCWD, strbuf_text(&path), OUTSIDE_PARENT_LINKS, LINKS_MAX, &text, NULL)
        < 0)
        return;
    for (const char *at = strbuf_text(&text); *at; at += *at == '\n') {
        char full[PATH_MAX];
        size_t length = strcspn(at, "\n");
        strbuf_clear(&path);
        if (*at != '/')
            strbuf_printf(&path, "%s/objects/", common_dir);
        strbuf_add(&path, at, length);
        if (length > 0 && *at != '#' && realpath(strbuf_text(&path), full))
            each(ctx, full);
        at += length;
    }
}

/* --- creating --------------------------------------------------------------------------------- */

struct making {
    const char *from; /* the shared git directory of the repository */
    int to;           /* the new one */
    unsigned left;    /* remaining branches and directories */
    struct error *err;
};

static int make_folder(int dir, const char *name, struct error *err) {
    return mkdirat(dir, name, 0700) == 0 || errno == EEXIST
               ? 0
               : error_set_errno(err, "make the folder", name);
}

/* A missing file is not an error. */
static int copy_file(struct making *m, const char *name, size_t most) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    _cleanup_(freep) char *path = xasprintf("%s/%s", m->from, name);
    int r = outside_read(AT_FDCWD, path, OUTSIDE_PARENT_LINKS, most, &text, m->err);
    if (r == -ENOENT)
        return 0;
    return r < 0 ? r : outside_create_with(m->to, name, text.text, text.length, m->err);
}

static bool ends_with(const char *text, const char *ending) {
    size_t length = strlen(text), tail = strlen(ending);
    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

/* Copies the directory `name` of refs recursively. A branch that is deleted meanwhile is
 * skipped. */
static int copy_refs(struct making *m, const char *name, unsigned depth) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    _cleanup_(outside_list_close) struct outside_list list;
    strbuf_printf(&path, "%s/%s", m->from, name);
    int r = make_folder(m->to, name, m->err);
    if (r == 0 && outside_list_open(&list, strbuf_text(&path), REFS_MAX) < 0)
        return 0;
    for (const char *entry; r == 0 && (entry = outside_list_next(&list));) {
        struct stat st;
        if (ends_with(entry, ".lock"))
            continue;
        if (m->left-- == 0 || depth == 0)
            return error_set(m->err, -E2BIG,
                             "'%.120s/refs' has more than %u branches in files of their own: run "
                             "'git pack-refs --all' there",
                             m->from, REFS_MAX);
        strbuf_clear(&path);
        strbuf_printf(&path, "%s/%s", name, entry);
        _cleanup_(strbuf_finish) struct strbuf full = STRBUF_INIT;
        strbuf_printf(&full, "%s/%s", m->from, strbuf_text(&path));
        if (lstat(strbuf_text(&full), &st) < 0)
            continue;
        r = S_ISDIR(st.st_mode) ? copy_refs(m, strbuf_text(&path), depth - 1)
                                : copy_file(m, strbuf_text(&path), REF_MAX);
    }
    return r;
}

static void add_alternate(void *text, const char *path) {
    strbuf_printf(text, "%s\n", path);
}

/* The hash of a ref in an open git directory, or "". */
static void find_ref(int common, const char *name, char ret[GIT_HASH_MAX]) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, line = STRBUF_INIT;
    ret[0] = '\0';
    if (outside_read(common, name, 0, REF_MAX, &text, NULL) == 0) {
        (void)git_output_hash(strbuf_text(&text), 0, ret);
        return;
    }
    if (outside_read(common, "packed-refs", 0, PACKED_MAX, &text, NULL) < 0)
        return;
    strbuf_printf(&line, " %s\n", name);
    const char *found = strstr(strbuf_text(&text), strbuf_text(&line));
    if (!found)
        return;
    const char *begin = found;
    while (begin > strbuf_text(&text) && begin[-1] != '\n')
        begin--;
    strbuf_clear(&line);
    strbuf_add(&line, begin, (size_t)(found - begin));
    (void)git_hash(strbuf_text(&line), ret);
}

static int fill(struct making *m, const char *shared) {
    static const char *const folders[] = { "objects", "objects/info", "objects/pack",
                                           "logs",    "worktrees",    NULL };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = 0;
    for (const char *const *name = folders; r == 0 && *name; name++)
        r = make_folder(m->to, *name, m->err);
    add_alternate(&text, shared);
    private_git_each_alternate(m->from, add_alternate, &text);
    if (r == 0)
        r = outside_create_with(m->to, "objects/info/alternates", text.text, text.length, m->err);
    if (r == 0)
        r = copy_file(m, "config", CONFIG_MAX);
    if (r == 0)
        r = copy_file(m, "packed-refs", PACKED_MAX);
    return r == 0 ? copy_refs(m, "refs", DEPTH_MAX) : r;
}

int private_git_make(const char *folder, const char *common_dir, const char *branch,
                     struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, begin = STRBUF_INIT;
    struct stat st;
    char hash[GIT_HASH_MAX];
    strbuf_printf(&path, "%s/reftable", common_dir);
    if (stat(strbuf_text(&path), &st) == 0)
        return error_set(
            err, -EOPNOTSUPP,
            "'%.120s' keeps its branches in reftables, which a run in a sandbox cannot "
            "use: migrate them ('git refs migrate --ref-format=files'), or set "
            "'sandbox: none'",
            common_dir);
    strbuf_clear(&path);
    strbuf_add(&path, folder, (size_t)(strrchr(folder, '/') - folder));
    int r = make_folder(AT_FDCWD, strbuf_text(&path), err);
    if (r == 0)
        r = make_folder(AT_FDCWD, folder, err);
    _cleanup_(fd_closep) int dir =
        r == 0 ? outside_open(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, NULL, err) : r;
    if (dir < 0)
        return dir;
    r = make_folder(dir, "common", err);
    if (r == 0)
        r = make_folder(dir, "shared", err);
    _cleanup_(fd_closep) int to =
        r == 0 ? outside_open(dir, "common", O_RDONLY | O_DIRECTORY, NULL, err) : r;
    if (to < 0)
        return to;
    struct making m = { common_dir, to, REFS_MAX, err };
    strbuf_clear(&path);
    strbuf_printf(&path, "%s/shared", folder);
    r = fill(&m, strbuf_text(&path));
    if (r < 0)
        return r;
    _cleanup_(freep) char *ref = xasprintf("refs/heads/%s", branch);
    find_ref(to, ref, hash);
    strbuf_printf(&begin, "%s\n", hash);
    return outside_create_with(dir, "begin", begin.text, begin.length,
                               err); /* last: marks it as complete */
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool is_object_folder(const char *name) {
    return strlen(name) == 2 && isxdigit((unsigned char)name[0])
           && isxdigit((unsigned char)name[1]);
}

/* Does `objects` have a fan-out directory, or `objects/pack` any file? */
static bool has_objects(const char *folder) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct outside_list list;
    bool found = false;
    strbuf_printf(&path, "%s/common/objects", folder);
    if (outside_list_open(&list, strbuf_text(&path), REFS_MAX) < 0)
        return true; /* something else is there instead */
    for (const char *name; !found && (name = outside_list_next(&list));)
        found = is_object_folder(name);
    outside_list_close(&list);
    strbuf_puts(&path, "/pack");
    if (!found && outside_list_open(&list, strbuf_text(&path), 1) == 0) {
        found = outside_list_next(&list) != NULL;
        outside_list_close(&list);
    }
    return found;
}

static void read_head(int common, const char *git_dir, const char *branch,
                      struct private_git_tips *ret) {
    static const char mark[] = "ref: ", heads[] = "refs/heads/";
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    _cleanup_(freep) char *path = xasprintf("%s/HEAD", git_dir);
    if (outside_read(AT_FDCWD, path, OUTSIDE_PARENT_LINKS, REF_MAX, &text, NULL) < 0
        || text.length == 0)
        return;
    char *line = text.text;
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, mark, strlen(mark)) != 0) {
        (void)git_hash(line, ret->head);
        return;
    }
    const char *name = line + strlen(mark);
    ret->is_on_branch =
        strncmp(name, heads, strlen(heads)) == 0 && strcmp(name + strlen(heads), branch) == 0;
    if (strncmp(name, heads, strlen(heads)) == 0 && git_branch_is_valid(name + strlen(heads)))
        find_ref(common, name, ret->head);
}

int private_git_read(const char *folder, const char *git_dir, const char *branch,
                     struct private_git_tips *ret, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, begin = STRBUF_INIT;
    *ret = (struct private_git_tips){ 0 };
    strbuf_printf(&path, "%s/begin", folder);
    int r = outside_read(AT_FDCWD, strbuf_text(&path), 0, REF_MAX, &begin, err);
    if (r < 0)
        return r;
    (void)git_output_hash(strbuf_text(&begin), 0, ret->begin);
    strbuf_clear(&path);
    strbuf_printf(&path, "%s/common", folder);
    _cleanup_(fd_closep) int common =
        outside_open(AT_FDCWD, strbuf_text(&path), O_RDONLY | O_DIRECTORY, NULL, err);
    if (common < 0)
        return common;
    _cleanup_(freep) char *ref = xasprintf("refs/heads/%s", branch);
    find_ref(common, ref, ret->branch);
    read_head(common, git_dir, branch, ret);
    ret->has_objects = has_objects(folder);
    return 0;
}
