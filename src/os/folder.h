/* folder.h: the names in a folder, one after the other. Private to executor/.
 *
 * Life: folder_open → folder_next … → folder_close. No heap: a start looks at a folder per task. */
#pragma once

#include <stddef.h>

#define FOLDER_LIST 4096

struct folder {
    int fd; /* -1: not open */
    size_t size, at;
    _Alignas(16) char list[FOLDER_LIST];
};

/* Below `parent` (AT_FDCWD for a path); links are not followed. 0 or a negative errno; the folder may be
 * used in both cases: it is empty then. */
int folder_open(struct folder *folder, int parent, const char *name);
/* Borrowed until the next call; "." and ".." are left out. NULL: that was all. */
const char *folder_next(struct folder *folder);
void folder_close(struct folder *folder);
