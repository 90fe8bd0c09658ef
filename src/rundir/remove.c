/* remove.c: deletes a tree through descriptors, without heap and without resolving a name twice.
 *
 * Recursion has a fixed depth; deeper directories are first moved up to the top of the tree, so ten
 * thousand nested directories cost one rename each instead of a deep stack. A directory is read
 * again until a complete pass deletes nothing: readdir may skip entries while others are
 * deleted. */
#include "rundir/remove.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.h"
#include "rundir/record.h"

#define DEPTH_MAX  16
#define NAME_BYTES 64

struct removal {
    int top; /* top of the tree; -1: not open */
    dev_t device;
    mode_t mode; /* of the directory opened last */
    unsigned *budget;
    bool deleted; /* in this pass */
    int error;    /* the first one; 0: none */
};

static void note_error(struct removal *removal, int error) {
    if (removal->error == 0)
        removal->error = -error;
}

/* Opens a directory on the same file system, or -1. */
static int open_folder(int parent, const char *name, struct removal *removal) {
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES) { /* permissions are missing; never for root */
        (void)fchmodat(parent, name, 0700, 0);
        fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    struct stat st = { 0 };
    int error = fd < 0 || fstat(fd, &st) < 0                        ? errno
                : removal->top >= 0 && st.st_dev != removal->device ? EXDEV
                                                                    : 0;
    if (error == 0) {
        removal->device = st.st_dev;
        removal->mode = st.st_mode;
        return fd;
    }
    note_error(removal, error);
    fd_closep(&fd);
    return -1;
}

/* Too deep: moves it to the top under a unique name. */
static void move_up(int parent, const char *name, uint64_t inode, struct removal *removal) {
    char above[NAME_BYTES];
    struct record_out out = { .text = above, .size = sizeof(above) - 1 };
    record_puts(&out, "deep-");
    record_put_number(&out, (int64_t)(inode & INT64_MAX));
    above[out.length] = '\0';
    if (renameat(parent, name, removal->top, above) < 0)
        note_error(removal, errno);
    else
        removal->deleted = true;
}

static void remove_inside(int dir, unsigned depth, struct removal *removal);

static void remove_entry(int dir, const char *name, uint64_t inode, unsigned depth,
                         struct removal *removal) {
    int flags = 0;
    for (int tries = 0; tries < 3; tries++) {
        if (unlinkat(dir, name, flags) == 0 || errno == ENOENT) {
            removal->deleted = true;
            (*removal->budget)--;
            return;
        }
        if (errno == EISDIR || (errno == EPERM && flags == 0))
            flags = AT_REMOVEDIR;
        else if (errno == EACCES)
            (void)fchmod(dir, 0700);
        else
            break;
    }
    if (errno != ENOTEMPTY && errno != EEXIST) {
        note_error(removal, errno);
        return;
    }
    if (depth == DEPTH_MAX) {
        move_up(dir, name, inode, removal);
        return;
    }
    int fd = open_folder(dir, name, removal);
    if (fd < 0)
        return;
    remove_inside(fd, depth + 1, removal);
    close(fd);
    if (*removal->budget == 0 || unlinkat(dir, name, AT_REMOVEDIR) < 0)
        return;
    removal->deleted = true;
    (*removal->budget)--;
}

static void remove_inside(int dir, unsigned depth, struct removal *removal) {
    struct folder list; /* not closed: the caller owns `dir` */
    (void)folder_use(&list, dir);
    for (const char *name; *removal->budget > 0 && (name = folder_next(&list));)
        remove_entry(dir, name, list.inode, depth, removal);
}

/* Passes until one deletes nothing. 0: the directory is empty. */
static int empty_folder(struct removal *removal) {
    for (;;) {
        removal->deleted = false;
        removal->error = 0;
        remove_inside(removal->top, 1, removal);
        if (!removal->deleted || *removal->budget == 0)
            break;
        (void)lseek(removal->top, 0, SEEK_SET);
    }
    return removal->error;
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is counted down through the struct
int remove_tree_at(int parent, const char *name, unsigned *budget) {
    struct removal removal = { .top = -1, .budget = budget };
    if (*budget == 0)
        return 1;
    /* Common case: an empty directory. */
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    if (errno == ENOTDIR)
        return unlinkat(parent, name, 0) == 0 || errno == ENOENT ? 0 : -errno;
    removal.top = open_folder(parent, name, &removal);
    if (removal.top < 0)
        return removal.error == -ENOENT ? 0 : removal.error;
    int r = empty_folder(&removal);
    close(removal.top);
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
        return 0;
    return *budget == 0 ? 1 : (r != 0 ? r : -errno);
}

int remove_inside_at(int parent, const char *name) {
    unsigned no_limit = UINT_MAX;
    struct removal removal = { .top = -1, .budget = &no_limit };
    removal.top = open_folder(parent, name, &removal);
    if (removal.top < 0)
        return removal.error;
    bool is_ours = (removal.mode & 07777) == 0700; /* setting it again would write its inode */
    int r = !is_ours && fchmod(removal.top, 0700) < 0 ? -errno : empty_folder(&removal);
    close(removal.top);
    return r;
}
