/* fd.c: see fd.h. */
#include "os/fd.h"

#include <errno.h>
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
