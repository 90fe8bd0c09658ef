/* fd.h: closes descriptors, and reads and writes completely. Without heap: the shim uses it, too. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* For _cleanup_: closes it unless it is negative. */
void fd_closep(const int *fd);

/* Writes all bytes. 0 or a negative errno. */
int fd_write_all(int fd, const void *bytes, size_t size);

/* Returns the bytes read; less than `size` only at the end of the file. Or a negative errno. */
ssize_t fd_pread_all(int fd, void *out, size_t size, off_t offset);
