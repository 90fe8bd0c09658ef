/* small_disk.c: see small_disk.h. The disk is mounted in a private mount namespace, so that no mount remains however
 * the
 * test ends. Unless we are root, a user namespace is created first. */
#include "small_disk.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

static bool write_text(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}

static bool own_namespace(void) {
    char user[64], group[64];
    snprintf(user, sizeof(user), "%u %u 1", (unsigned)getuid(), (unsigned)getuid());
    snprintf(group, sizeof(group), "%u %u 1", (unsigned)getgid(), (unsigned)getgid());
    if (unshare(CLONE_NEWNS) == 0)
        return true;
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_text("/proc/self/setgroups", "deny")
           && write_text("/proc/self/uid_map", user) && write_text("/proc/self/gid_map", group);
}

static bool try_mount(const char *folder, const char *size) {
    return own_namespace() && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0
           && mount("tmpfs", folder, "tmpfs", 0, size) == 0;
}

/* A child tries it first: if only the first of the two steps succeeded, this process would be stuck in a useless
 * namespace. */
bool small_disk_mount(const char *folder, int megabytes) {
    char size[32];
    int status = 1;
    snprintf(size, sizeof(size), "size=%dm,mode=700", megabytes);
    pid_t child = fork();
    if (child == 0)
        _exit(try_mount(folder, size) ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0
           && try_mount(folder, size);
}

bool small_disk_resize(const char *folder, int megabytes) {
    char size[32];
    snprintf(size, sizeof(size), "size=%dm", megabytes);
    return mount(NULL, folder, NULL, MS_REMOUNT, size) == 0;
}

void small_disk_unmount(const char *folder) {
    (void)umount2(folder, MNT_DETACH);
}

long long small_disk_free_bytes(const char *folder) {
    struct statvfs fs;
    return statvfs(folder, &fs) == 0 ? (long long)fs.f_bavail * (long long)fs.f_frsize : -1;
}

void small_disk_fill(const char *folder, const char *name) {
    static const char piece[4096];
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    (void)posix_fallocate(fd, 0, small_disk_free_bytes(folder));
    while (write(fd, piece, sizeof(piece)) > 0)
        continue;
    close(fd);
}
