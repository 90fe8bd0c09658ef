/* folder.c: reads directories with getdents64. readdir would allocate and free 32 kB for each,
 * which dominates with a hundred thousand of them. */
#include "os/folder.h"

#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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
        if (strcmp(entry->name, ".") != 0 && strcmp(entry->name, "..") != 0)
            return entry->name;
    }
}

void folder_close(struct folder *folder) {
    if (folder->fd >= 0)
        close(folder->fd);
    folder->fd = -1;
}
