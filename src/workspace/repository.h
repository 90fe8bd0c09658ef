/* repository.h: the git directories of a checkout, read from files only.
 *
 * Git itself would trust what it finds: a `.git` that points elsewhere, a `commondir` with its own
 * config. A run can write both. So the daemon passes the directories to git, and compares these
 * files with its record. Nothing here runs git, follows symlinks instead of such a file, or blocks
 * on one. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"

/* The absolute target of the file FOLDER/.git. 0; -ENOENT: no such file; -ENOTDIR: its target does
 * not exist; -EUCLEAN: not a small file of that form. */
int repository_git_file(const char *folder, struct strbuf *out);
/* The git directory shared by all worktrees: the target of `commondir`, else itself. <0: that file
 * is malformed. */
int repository_common_dir(const char *git_dir, struct strbuf *out);

/* The checkout that contains a directory. 0; -ENOENT: none. */
struct repository_checkout {
    struct strbuf top; /* of the work tree */
    struct strbuf git_dir, common_dir;
};
int repository_find(const char *folder, struct repository_checkout *ret);
void repository_checkout_finish(struct repository_checkout *checkout);

/* The first line of a small regular file. 0; -ENOENT; -EUCLEAN: not such a file. */
int repository_read_line(const char *path, struct strbuf *out);

/* Do both names resolve to the same directory? */
bool repository_is_same(const char *folder, const char *other);
