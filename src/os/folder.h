/* folder.h: the names in a folder, one after the other.
 *
 * Life: folder_use → folder_next … → folder_close. No heap: a start of the daemon looks at a folder
 * per task. */
#pragma once

#include <stddef.h>

#define FOLDER_LIST 1024

struct folder {
    int fd; /* -1: not open */
    size_t size, at;
    _Alignas(16) char list[FOLDER_LIST];
};

/* Takes a descriptor of a folder, or the negative errno of an attempt to open one, which is
 * returned. The folder may be used in both cases: it is empty then. */
int folder_use(struct folder *folder, int fd);
/* Borrowed until the next call; "." and ".." are left out. NULL: that was all. */
const char *folder_next(struct folder *folder);
void folder_close(struct folder *folder);
