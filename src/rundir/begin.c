/* begin.c: who has a run: the shim that began it, or the daemon that gave it up?
 *
 * Where a lock cannot be asked (the shim is on another host), both make the same symbolic link, and the
 * file system says who was first: making one is a single step that fails when the name is there, on
 * network file systems too, and what it points to tells by whom it was made. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "rundir/rundir.h"

#define BEGIN_NAME "begin"

int rundir_begin_at(int dir, const char *who) {
    char there[RUN_BEGIN_MAX];
    if (symlinkat(who, dir, BEGIN_NAME) == 0)
        return 0;
    if (errno != EEXIST)
        return -errno;
    /* A server that is asked twice, because its answer was lost, refuses the second time. */
    int r = rundir_read_begin_at(dir, there);
    if (r < 0)
        return r;
    return strcmp(there, who) == 0 ? 0 : -EEXIST;
}

int rundir_read_begin_at(int dir, char ret_who[RUN_BEGIN_MAX]) {
    char text[RUN_BEGIN_MAX];
    ssize_t size = readlinkat(dir, BEGIN_NAME, text, sizeof(text) - 1);
    if (size < 0)
        return errno == EINVAL ? -EPROTO : -errno;
    text[size] = '\0';
    memcpy(ret_who, text, (size_t)size + 1);
    return 0;
}
