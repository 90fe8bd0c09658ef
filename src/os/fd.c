/* fd.c: see fd.h. */
#include "os/fd.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void fd_closep(const int *fd) {
    if (*fd >= 0)
        close(*fd);
}

int fd_write_all(int fd, const void *bytes, size_t size) {
    const char *at = bytes;
    while (size > 0) {
        ssize_t put = write(fd, at, size);
        if (put < 0 && errno != EINTR)
            return -errno;
        at += put > 0 ? put : 0;
        size -= put > 0 ? (size_t)put : 0;
    }
    return 0;
}

ssize_t fd_pread_all(int fd, void *out, size_t size, off_t offset) {
    size_t length = 0;
    while (length < size) {
        ssize_t got = pread(fd, (char *)out + length, size - length, offset + (off_t)length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        length += (size_t)got;
    }
    return (ssize_t)length;
}

/* --- the names in a directory ----------------------------------------------------------------- */

/* Kernel ABI. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

int folder_use(struct folder *folder, int fd) {
    folder->size = folder->at = 0;
    folder->fd = fd < 0 ? -1 : fd;
    return fd < 0 ? fd : 0;
}

const char *folder_next(struct folder *folder) {
    for (;;) {
        if (folder->at >= folder->size) {
            long size = folder->fd < 0 ? 0
                                       : syscall(SYS_getdents64, folder->fd, folder->list,
                                                 sizeof(folder->list));
            if (size <= 0)
                return NULL;
            folder->size = (size_t)size;
            folder->at = 0;
        }
        const struct entry *entry = (const struct entry *)(folder->list + folder->at);
        folder->at += entry->size;
        folder->inode = entry->inode;
        if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0)
            return entry->name;
    }
}

void folder_close(struct folder *folder) {
    if (folder->fd >= 0)
        close(folder->fd);
    folder->fd = -1;
}
