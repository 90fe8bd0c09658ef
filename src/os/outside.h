/* outside.h: opens files that a run, or another user, may have replaced.
 *
 * A FIFO, a device or a file with a lease would block the open, and with it the event loop. A
 * symlink would make the daemon access a file that the run itself cannot reach. So an open here
 * never blocks, returns only regular files, and follows no links in any path component, unless the
 * caller allows it. Everything that the daemon opens outside its store goes through this file
 * (scripts/check-opens).
 *
 * A path is absolute, with links only in the path of a trusted directory (outside_trust), or
 * relative to an open directory, which it cannot leave. */
#pragma once

#include <fcntl.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "os/fd.h"

/* In addition to the flags of open(2). */
/* the owner's directory: follow links in it, not at the end */
#define OUTSIDE_PARENT_LINKS (1 << 28)
#define OUTSIDE_LINKS        (1 << 29) /* the owner's own file: follow all links */
#define OUTSIDE_SHARED       (1 << 30) /* a new file is readable by other users */

/* Links in the path of this directory are trusted: they are resolved now, and paths with this
 * prefix use the result. No effect if it does not exist. Call only from the initial thread; of two
 * nested ones the later takes precedence. */
void outside_trust(const char *folder);

/* `dir`: AT_FDCWD, or a directory. With O_DIRECTORY a directory is opened instead of a file.
 * *ret_size, unless NULL, is the size of the file. Returns a descriptor; errors name the path and
 * what was found. */
int outside_open(int dir, const char *path, int flags, off_t *ret_size, struct error *err);

/* Creates an empty file, replacing anything but a directory. Returns a descriptor. */
int outside_create(int dir, const char *path, struct error *err);
/* Same with content. 0; not atomic. */
int outside_create_with(int dir, const char *path, const void *bytes, size_t size,
                        struct error *err);

/* Appends the file's bytes to `out`. `flags` as in outside_open; -EFBIG if there are more than
 * `max`, with `out` unchanged. */
int outside_read(int dir, const char *path, int flags, size_t max, struct strbuf *out,
                 struct error *err);

/* Atomic and durable: written to a temporary file, fsynced, renamed, and the directory fsynced.
 * Replaces anything but a directory. */
#define OUTSIDE_USUAL_MODE ((mode_t)-1) /* as the umask says */
int outside_write(const char *path, mode_t mode, const void *bytes, size_t size, struct error *err);

/* "'PATH' is a FIFO, not a regular file", from a mode; a negative errno. */
int outside_refuse(const char *path, mode_t mode, struct error *err);

/* folder_use of a directory opened this way. */
int outside_folder(struct folder *folder, int dir, const char *path);

/* The names in a directory, without "." and "..", at most `max`: a run can create millions. */
struct outside_list {
    struct folder folder;
    unsigned left;
};

int outside_list_open(struct outside_list *list, const char *path, unsigned max);
const char *outside_list_next(struct outside_list *list); /* NULL: no more */
void outside_list_close(struct outside_list *list);       /* safe if the open failed */

/* Same without openat2, for kernels and seccomp filters that lack it. Only for tests: outside_open
 * falls back by itself. Only `flags` of open(2). */
int outside_open_by_steps(int dir, const char *path, int flags, mode_t mode);
