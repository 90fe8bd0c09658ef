/* files.c: whole files, in and out.
 *
 * Short reads and writes, EINTR and full disks are handled here, so that callers see one error
 * with a path in it. */
#include "os/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#define READ_CHUNK 65536

void fd_closep(const int *fd) {
    if (*fd >= 0)
        close(*fd);
}

int file_read(const char *path, size_t max, struct strbuf *out, struct error *err) {
    _cleanup_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, "open", path);
    char chunk[READ_CHUNK];
    size_t before = out->length;
    for (;;) {
        ssize_t got = read(fd, chunk, sizeof(chunk));
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            return 0;
        int r = 0;
        if (got < 0)
            r = error_set_errno(err, "read", path);
        else if (out->length - before + (size_t)got > max)
            r = error_set(err, -EFBIG, "file '%s' is larger than %zu bytes", path, max);
        if (r < 0) {
            if (out->text)
                out->text[out->length = before] = '\0';
            return r;
        }
        strbuf_add(out, chunk, (size_t)got);
    }
}

static int write_all(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t put = write(fd, bytes, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        bytes += put;
        size -= (size_t)put;
    }
    return 0;
}

/* The rename itself must survive a power cut. Some file systems cannot sync folders: no error. */
static void sync_folder(const char *path) {
    _cleanup_(freep) char *folder = xstrdup(path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    _cleanup_(fd_closep) int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        (void)fsync(fd);
}

static int write_in_place(const char *path, const void *bytes, size_t size, struct error *err) {
    _cleanup_(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write_all(fd, bytes, size) < 0)
        return error_set_errno(err, "write", path);
    return 0;
}

/* A rename would put a file in the place of a symbolic link; what it points at is meant. */
static char *real_path(const char *path) {
    char *real = realpath(path, NULL);
    return real ? real : xstrdup(path);
}

static int write_beside(const char *path, mode_t mode, const void *bytes, size_t size,
                        struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf temp = STRBUF_INIT;
    strbuf_printf(&temp, "%s.XXXXXX", path);
    _cleanup_(fd_closep) int fd = mkostemp(temp.text, O_CLOEXEC);
    if (fd < 0)
        return error_set_errno(err, "write", path);
    int r = 0;
    if (fchmod(fd, mode) < 0 || write_all(fd, bytes, size) < 0 || fsync(fd) < 0
        || rename(temp.text, path) < 0) {
        r = error_set_errno(err, "write", path);
        (void)unlink(temp.text);
        return r;
    }
    sync_folder(path);
    return 0;
}

int file_write(const char *path, const void *bytes, size_t size, struct error *err) {
    struct stat st;
    bool there = stat(path, &st) == 0;
    if (there && !S_ISREG(st.st_mode))
        return write_in_place(path, bytes, size, err);
    mode_t mask = umask(0);
    umask(mask);
    _cleanup_(freep) char *real = real_path(path);
    return write_beside(real, there ? st.st_mode & 0777 : 0666 & ~mask, bytes, size, err);
}

int file_open(const char *path, FILE **ret_file, struct error *err) {
    if (strcmp(path, "-") == 0) {
        *ret_file = stdin;
        return 0;
    }
    FILE *file = fopen(path, "re");
    if (!file)
        return error_set_errno(err, "open", path);
    struct stat st;
    if (fstat(fileno(file), &st) == 0 && S_ISDIR(st.st_mode)) {
        (void)fclose(file);
        return error_set(err, -EISDIR, "cannot read '%s': it is a directory", path);
    }
    *ret_file = file;
    return 0;
}

void file_close(FILE *file) {
    if (file && file != stdin)
        (void)fclose(file);
}
