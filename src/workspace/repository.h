/* repository.h: where git keeps what belongs to a folder, read from files alone.
 *
 * Git itself would believe what it finds: a `.git` that leads elsewhere, a `commondir` with settings of its own. A run
 * can write both. So the daemon tells git which folders to use, and compares these files with what it has noted.
 * Nothing here runs git, follows a link in place of such a file, or waits for one. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"

/* What the file FOLDER/.git leads to, absolute. 0; -ENOENT: there is no such file; -ENOTDIR: what it names is not there;
 * -EUCLEAN: it is something else than a small file of that form. */
int repository_git_file(const char *folder, struct strbuf *out);
/* The git folder that all worktrees share with this one: what its file `commondir` names, else itself. <0: that file is
 * not as git writes it. */
int repository_common_dir(const char *git_dir, struct strbuf *out);

/* The checkout that a folder is in. 0; -ENOENT: in none. */
struct repository_checkout {
    struct strbuf top; /* of the files */
    struct strbuf git_dir, common_dir;
};
int repository_find(const char *folder, struct repository_checkout *ret);
void repository_checkout_finish(struct repository_checkout *checkout);

/* The first line of a small regular file. 0; -ENOENT; -EUCLEAN: it is something else. */
int repository_read_line(const char *path, struct strbuf *out);

/* Do both names lead to the same folder? */
bool repository_is_same(const char *folder, const char *other);
