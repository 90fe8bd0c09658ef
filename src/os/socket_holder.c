/* socket_holder.c: see socket_holder.h. */
#include "os/socket_holder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/proc.h"

enum held { HELD_NO, HELD_YES, HELD_HIDDEN };

struct search {
    DIR *proc;
    char link[40]; /* what a descriptor of the socket points to */
    uid_t user;
};

/* 0: this entry is not a process. */
static pid_t pid_of(const char *name) {
    return strspn(name, "0123456789") == strlen(name) ? (pid_t)strtol(name, NULL, 10) : 0;
}

/* Does the process run as this user, by any of its four ids? A setuid program has more than one. */
static bool runs_as(const struct search *s, const char *pid) {
    char path[64], text[2048];
    unsigned ids[4] = { 0 };
    (void)snprintf(path, sizeof(path), "%.20s/status", pid);
    int fd = openat(dirfd(s->proc), path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (size <= 0)
        return false;
    text[size] = '\0';
    const char *line = strstr(text, "\nUid:");
    if (!line || sscanf(line, "\nUid: %u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) != 4)
        return true;
    for (size_t i = 0; i < 4; i++)
        if (ids[i] == s->user)
            return true;
    return false;
}

static enum held holds(const struct search *s, const char *pid) {
    char path[64], target[64];
    (void)snprintf(path, sizeof(path), "%.20s/fd", pid);
    int folder = openat(dirfd(s->proc), path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        return errno == ENOENT || errno == ESRCH ? HELD_NO : HELD_HIDDEN;
    DIR *fds = fdopendir(folder);
    if (!fds) {
        close(folder);
        return HELD_HIDDEN;
    }
    enum held held = HELD_NO;
    const struct dirent *entry;
    while (held == HELD_NO && (entry = readdir(fds))) {
        ssize_t size = readlinkat(dirfd(fds), entry->d_name, target, sizeof(target) - 1);
        if (size < 0)
            continue;
        target[size] = '\0';
        held = strcmp(target, s->link) == 0 ? HELD_YES : HELD_NO;
    }
    (void)closedir(fds);
    return held;
}

enum socket_holder socket_holder(uint64_t inode, uid_t user, bool (*belongs)(void *ctx, pid_t pid),
                                 void *ctx) {
    struct search s = { .proc = opendir("/proc"), .user = user };
    enum socket_holder answer = SOCKET_LOST;
    bool suspect = false, hidden = false;
    const struct dirent *entry;
    (void)snprintf(s.link, sizeof(s.link), "socket:[%llu]", (unsigned long long)inode);
    while (s.proc && answer != SOCKET_BELONGS && (entry = readdir(s.proc))) {
        pid_t pid = pid_of(entry->d_name);
        enum held held = pid > 0 && runs_as(&s, entry->d_name) ? holds(&s, entry->d_name) : HELD_NO;
        if (held == HELD_YES)
            answer = belongs(ctx, pid) ? SOCKET_BELONGS : SOCKET_OF_OTHERS;
        if (held != HELD_HIDDEN)
            continue;
        hidden = true;
        /* One that ends while it is looked at was not the holder: the connection is still there. */
        suspect = suspect || (belongs(ctx, pid) && !proc_has_ended(pid));
    }
    if (s.proc)
        (void)closedir(s.proc);
    return answer == SOCKET_LOST && hidden && !suspect ? SOCKET_HIDDEN : answer;
}
