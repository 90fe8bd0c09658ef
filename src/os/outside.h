/* outside.h: opens files that a run, or another user, may have replaced.
 *
 * A FIFO, a device or a file with a lease in the place of a file would block the open, and with it
 * the event loop. A symbolic link would make the daemon read or write a file that the run itself
 * cannot reach. So an open here never waits, returns regular files only, and follows no link in any
 * part of the path, unless the caller allows it. Everything that the daemon opens outside of its
 * store goes through this file (scripts/check-opens).
 *
 * A path is absolute, with links at most in the path of a trusted folder (outside_trust), or it is
 * relative to a folder that is open, and cannot leave that folder. */
#pragma once

#include <fcntl.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "os/folder.h"

/* Beside the flags of open(2). */
#define OUTSIDE_PARENT_LINKS (1 << 28) /* the owner's folder: links in it count, not at the end */
#define OUTSIDE_LINKS        (1 << 29) /* the owner's own file, however it is reached */
#define OUTSIDE_SHARED       (1 << 30) /* a new file can be read by other users */

/* Links in the path of this folder are the owner's: they are resolved now, and paths that begin
 * with this one lead there. Of a folder that does not exist nothing happens. For the thread that
 * starts the program; the later one of two that contain each other counts first. */
void outside_trust(const char *folder);

/* `dir`: AT_FDCWD, or a folder. With O_DIRECTORY a folder is opened instead of a file. *ret_size,
 * unless NULL, is the size of the file. Returns a descriptor; errors name the path and what is
 * there. */
int outside_open(int dir, const char *path, int flags, off_t *ret_size, struct error *err);

/* A new, empty file in the place of whatever has that name; only a folder is refused. */
int outside_create(int dir, const char *path, struct error *err);

/* The file's bytes behind what `out` holds already. `flags` as above; -EFBIG if there are more than
 * `max`, with `out` as it was. */
int outside_read(int dir, const char *path, int flags, size_t max, struct strbuf *out,
                 struct error *err);

/* After a crash there is the old file or the new one, never a part: written beside it, fsynced,
 * renamed, and the folder fsynced. Replaces whatever has that name; only a folder is refused. */
#define OUTSIDE_USUAL_MODE ((mode_t)-1) /* as the umask says */
int outside_write(const char *path, mode_t mode, const void *bytes, size_t size, struct error *err);

/* "'PATH' is a FIFO, not a regular file", for what a mode says; a negative errno. */
int outside_refuse(const char *path, mode_t mode, struct error *err);

/* folder_use of a folder that is opened like this. */
int outside_folder(struct folder *folder, int dir, const char *path);

/* The names in a folder, without "." and "..", and no more than `max` of them: a run can make
 * millions. */
struct outside_list {
    struct folder folder;
    unsigned left;
};

int outside_list_open(struct outside_list *list, const char *path, unsigned max);
const char *outside_list_next(struct outside_list *list); /* NULL: no more */
void outside_list_close(struct outside_list *list);       /* safe if the open failed */

/* The same without openat2, for kernels and system call filters that do not have it. Only for
 * tests: outside_open falls back by itself. `flags` of open(2) alone. */
int outside_open_by_steps(int dir, const char *path, int flags, mode_t mode);
