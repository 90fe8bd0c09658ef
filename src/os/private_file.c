/* private_file.c: see private_file.h. All operations are relative to the opened directory, so that
 * concurrent changes of the path have no effect. */
#include "os/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "os/files.h"

static int open_folder(const char *folder) {
    return open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int make_folder(const char *folder, int *ret_fd, struct error *err) {
    struct stat st;
    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        return error_set_errno(err, "make", folder);
    int fd = open_folder(folder);
    if (fd < 0)
        return error_set_errno(err, "open", folder);
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0) {
        *ret_fd = fd;
        return 0;
    }
    close(fd);
    return error_set(err, -EPERM, "'%s' is not private: it must be yours, with mode 0700", folder);
}

int private_file_make(const char *folder, const char *name, const void *bytes, size_t size,
                      struct error *err) {
    _cleanup_(fd_closep) int at = -1, fd = -1;
    int r = make_folder(folder, &at, err);
    if (r < 0)
        return r;
    fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set_errno(err, "make", name);
    ssize_t put = write(fd, bytes, size);
    if (put >= 0 && (size_t)put == size && fchmod(fd, 0600) == 0)
        return 0;
    r = put >= 0 ? error_set(err, -ENOSPC, "cannot write '%s' completely", name)
                 : error_set_errno(err, "write", name);
    (void)unlinkat(at, name, 0);
    return r;
}

int private_file_prepare(const char *path, struct error *err) {
    struct stat st;
    _cleanup_(fd_closep) int fd =
        open(path, O_RDONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_set_errno(err, "write", path);
    if (!S_ISREG(st.st_mode) || (st.st_mode & 077) == 0)
        return 0;
    return fchmod(fd, st.st_mode & 0700) < 0 ? error_set_errno(err, "make private", path) : 0;
}

void private_file_remove(const char *folder, const char *name) {
    _cleanup_(fd_closep) int at = open_folder(folder);
    if (at >= 0)
        (void)unlinkat(at, name, 0);
}

void private_folder_clear(const char *folder) {
    struct folder names;
    (void)folder_use(&names, open_folder(folder));
    for (const char *name; (name = folder_next(&names));)
        (void)unlinkat(names.fd, name, 0); /* a folder is refused */
    folder_close(&names);
}
