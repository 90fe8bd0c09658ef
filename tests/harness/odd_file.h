/* odd_file.h: hostile replacements for a file that a program is about to read.
 *
 * Each kind blocks, floods or misleads a program that opens the path and reads it. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

enum odd_file {
    ODD_FIFO,
    ODD_LINK_FIFO, /* a symbolic link to PATH.fifo */
    ODD_LINK_ZERO, /* to /dev/zero */
    ODD_LINK_FILE, /* to PATH.file, a regular file with a secret */
    ODD_SOCKET,
    ODD_FOLDER, /* with a file in it, so that no rmdir removes it */
    ODD_SPARSE, /* 64 GiB, sparse: no block is allocated */
    ODD_DEVICE, /* a device node; only root can create one */
    ODD_FILES
};

static const char *const odd_file_names[] = { "fifo",   "link-fifo", "link-zero", "link-file",
                                              "socket", "folder",    "sparse",    "device" };

#define ODD_SPARSE_SIZE ((off_t)64 << 30)

static inline int odd_socket(const char *path) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* Bound by its base name from within its folder: the full path may be too long for sun_path. */
    const char *slash = strrchr(path, '/');
    int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char folder[4096];
    (void)snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 1,
                   slash ? path : ".");
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", slash ? slash + 1 : path);
    int r = chdir(folder) < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno
                                                                                            : 0;
    (void)!fchdir(here);
    close(here);
    close(fd);
    return r;
}

static inline int odd_make_file(const char *path, off_t size, const char *text) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text)
                && (size == 0 || ftruncate(fd, size) == 0);
    int r = good ? 0 : -errno;
    if (fd >= 0)
        close(fd);
    return r;
}

/* Replaces the file at `path`. 0, or a negative errno; -EPERM: this user cannot create the kind. */
static inline int odd_file_make(enum odd_file kind, const char *path) {
    char other[4096];
    (void)unlink(path);
    switch (kind) {
    case ODD_FIFO:
        return mkfifo(path, 0600) < 0 ? -errno : 0;
    case ODD_LINK_FIFO:
        (void)snprintf(other, sizeof(other), "%s.fifo", path);
        return (mkfifo(other, 0600) < 0 && errno != EEXIST) || symlink(other, path) < 0 ? -errno
                                                                                        : 0;
    case ODD_LINK_ZERO:
        return symlink("/dev/zero", path) < 0 ? -errno : 0;
    case ODD_LINK_FILE:
        (void)snprintf(other, sizeof(other), "%s.file", path);
        if (odd_make_file(other, 0, "secret\n") < 0)
            return -errno;
        return symlink(other, path) < 0 ? -errno : 0;
    case ODD_SOCKET:
        return odd_socket(path);
    case ODD_FOLDER:
        (void)snprintf(other, sizeof(other), "%s/inside", path);
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            return -errno;
        return odd_make_file(other, 0, "");
    case ODD_SPARSE:
        return odd_make_file(path, ODD_SPARSE_SIZE, "");
    case ODD_DEVICE:
        return mknod(path, S_IFCHR | 0600, makedev(1, 5)) < 0 ? -errno : 0;
    case ODD_FILES:
        break;
    }
    return -EINVAL;
}

/* Removes the file and its link target. */
static inline void odd_file_remove(const char *path) {
    static const char *const endings[] = { ".fifo", ".file", "/inside", "" };
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        char name[4096];
        (void)snprintf(name, sizeof(name), "%s%s", path, endings[i]);
        (void)unlink(name);
    }
    (void)rmdir(path);
}
