/* folder.h: iterates over the names in a directory.
 *
 * Life: folder_use → folder_next … → folder_close. No heap: at start the daemon reads a directory
 * per task. */
#pragma once

#include <stddef.h>

#define FOLDER_LIST 1024

struct folder {
    int fd; /* -1: not open */
    size_t size, at;
    _Alignas(16) char list[FOLDER_LIST];
};

/* Takes a directory descriptor, or the negative errno of a failed open, which is returned. The
 * folder is usable in both cases: it is then empty. */
int folder_use(struct folder *folder, int fd);
/* Borrowed until the next call; skips "." and "..". NULL: no more. */
const char *folder_next(struct folder *folder);
void folder_close(struct folder *folder);
