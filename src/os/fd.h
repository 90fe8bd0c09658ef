/* fd.h: descriptors: closing, complete reads and writes, and the names in a directory. Without heap:
 * the shim uses it, too. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* For _cleanup_: closes it unless it is negative. */
void fd_closep(const int *fd);

/* Writes all bytes. 0 or a negative errno. */
int fd_write_all(int fd, const void *bytes, size_t size);

/* Returns the bytes read; less than `size` only at the end of the file. Or a negative errno. */
ssize_t fd_pread_all(int fd, void *out, size_t size, off_t offset);

/* --- the names in a directory ----------------------------------------------------------------- */

/* Life: folder_use → folder_next … → folder_close. Without readdir, which would allocate and free
 * 32 kB for each directory: at start the daemon reads one per task. */

#define FOLDER_LIST 1024

struct folder {
    int fd; /* -1: not open */
    size_t size, at;
    uint64_t inode; /* of the last name */
    _Alignas(16) char list[FOLDER_LIST];
};

/* Takes a directory descriptor, or the negative errno of a failed open, which is returned. The
 * folder is usable in both cases: it is then empty. */
int folder_use(struct folder *folder, int fd);
/* Borrowed until the next call; skips "." and "..". NULL: no more. */
const char *folder_next(struct folder *folder);
void folder_close(struct folder *folder);
