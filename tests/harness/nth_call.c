/* nth_call.c: loaded with LD_PRELOAD, makes the n-th call of one function fail, or that one and all that follow.
 *
 * SLUICE_TEST_CALL is "NAME NUMBER ERRNO [always]": call NUMBER of the group NAME (see `groups`) fails; NUMBER 0: none. "always": later ones, too,
 * as on a broken or full disk: calls about files and folders, but not about standard error. SLUICE_TEST_CALLS names a file with a struct nth_calls,
 * which is kept when the process is killed. Only the first process that loads it counts: the variables are removed from the environment. */
/* Without it, open() would be defined under the name of open64(). */
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "nth_call.h"

enum group { WRITE, SYNC, OPEN, SPAWN, PIPE, RENAME, MKDIR, THREAD, MEMORY, GROUPS };

static const char *const groups[GROUPS] = {
    [WRITE] = "write", [SYNC] = "fsync",    [OPEN] = "open",
    [SPAWN] = "spawn", [PIPE] = "pipe",     [RENAME] = "rename",
    [MKDIR] = "mkdir", [THREAD] = "thread", [MEMORY] = "malloc",
};

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static struct nth_calls none, *calls = &none;
static uint64_t chosen;
static int error;
static bool always;
static enum group group = GROUPS; /* none, until the environment was read */

__attribute__((constructor)) static void read_environment(void) {
    const char *text = getenv("SLUICE_TEST_CALL"), *path = getenv("SLUICE_TEST_CALLS");
    char name[16], more[16] = "";
    unsigned long long number;
    enum group found = GROUPS;
    if (!text || !path || sscanf(text, "%15s %llu %d %15s", name, &number, &error, more) < 3)
        return;
    for (int i = 0; i < GROUPS; i++)
        if (strcmp(groups[i], name) == 0)
            found = (enum group)i;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *shared = fd >= 0 && ftruncate(fd, sizeof(*calls)) == 0
                       ? mmap(NULL, sizeof(*calls), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                       : MAP_FAILED;
    if (shared == MAP_FAILED || found == GROUPS)
        _exit(99);
    (void)close(fd);
    (void)unsetenv("LD_PRELOAD");
    (void)unsetenv("SLUICE_TEST_CALL");
    (void)unsetenv("SLUICE_TEST_CALLS");
    calls = shared;
    chosen = number;
    always = strcmp(more, "always") == 0;
    group = found;
}

static bool is_chosen(enum group of) {
    if (of != group)
        return false;
    uint64_t number = atomic_fetch_add(&calls->count, 1) + 1;
    return always ? chosen > 0 && number >= chosen : number == chosen;
}

static int fails(enum group of) {
    if (!is_chosen(of))
        return 0;
    errno = error;
    return 1;
}

static bool is_on_disk(int fd) {
    struct stat st;
    return fd != STDERR_FILENO && fstat(fd, &st) == 0
           && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

/* The file of the descriptor, as /proc names it; "": unknown. */
static void read_name(int fd, char ret[static 512]) {
    char link[32];
    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, ret, 511);
    ret[size > 0 ? size : 0] = '\0';
}

/* The write that wakes a loop (eventfd) has no disk behind it: it cannot fail. */
static int fails_at(enum group of, int fd) {
    char name[512];
    if (of != group)
        return 0;
    read_name(fd, name);
    if (strncmp(name, "anon_inode:", strlen("anon_inode:")) == 0 || !is_chosen(of)
        || (always && !is_on_disk(fd)))
        return 0;
    const char *base = strrchr(name, '/');
    if (base && (strcmp(base, "/sluice.db") == 0 || strcmp(base, "/sluice.db-wal") == 0))
        atomic_store(&calls->store_failed, true);
    errno = error;
    return 1;
}

/* Answers come from the thread of the loop alone. */
static void keep_answer(const struct iovec *parts, size_t count) {
    static const char success[] = "HTTP/1.1 2";
    if (!atomic_load(&calls->store_failed) || count == 0 || parts[0].iov_len < strlen(success)
        || memcmp(parts[0].iov_base, success, strlen(success)) != 0)
        return;
    uint32_t at = atomic_load(&calls->answers_size);
    for (size_t i = 0; i < count && parts[i].iov_len <= NTH_CALL_ANSWERS - at; i++) {
        memcpy(calls->answers + at, parts[i].iov_base, parts[i].iov_len);
        at += (uint32_t)parts[i].iov_len;
    }
    atomic_store(&calls->answers_size, at);
}

/* The next function of this name. */
#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

#define WRAP(of, failed, type, name, parameters, ...)                                              \
    type name parameters {                                                                         \
        return fails(of) ? (failed) : NEXT(name)(__VA_ARGS__);                                     \
    }

#define WRAP_FD(of, failed, type, name, parameters, ...)                                           \
    type name parameters {                                                                         \
        return fails_at(of, fd) ? (failed) : NEXT(name)(__VA_ARGS__);                              \
    }

WRAP_FD(WRITE, -1, ssize_t, write, (int fd, const void *bytes, size_t size), fd, bytes, size)
WRAP_FD(WRITE, -1, ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t at), fd, bytes,
        size, at)
WRAP_FD(WRITE, -1, ssize_t, pwrite64, (int fd, const void *bytes, size_t size, off64_t at), fd,
        bytes, size, at)
WRAP_FD(WRITE, -1, int, ftruncate64, (int fd, off64_t size), fd, size)
WRAP_FD(SYNC, -1, int, fsync, (int fd), fd)
WRAP_FD(SYNC, -1, int, fdatasync, (int fd), fd)
WRAP(PIPE, -1, int, pipe2, (int fds[2], int flags), fds, flags)
WRAP(PIPE, -1, int, socketpair, (int domain, int type, int protocol, int fds[2]), domain, type,
     protocol, fds)
WRAP(PIPE, -1, int, accept4,
     (int fd, struct sockaddr *restrict address, socklen_t *restrict size, int flags), fd, address,
     size, flags)
WRAP(RENAME, -1, int, rename, (const char *from, const char *to), from, to)
WRAP(RENAME, -1, int, renameat, (int at, const char *from, int to_at, const char *to), at, from,
     to_at, to)
WRAP(MKDIR, -1, int, mkdir, (const char *path, mode_t mode), path, mode)
WRAP(MKDIR, -1, int, mkdirat, (int at, const char *path, mode_t mode), at, path, mode)
WRAP(SPAWN, error, int, posix_spawn,
     (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,
      const posix_spawnattr_t *attributes, char *const argv[], char *const env[]),
     pid, path, actions, attributes, argv, env)
WRAP(SPAWN, error, int, posix_spawnp,
     (pid_t * pid, const char *path, const posix_spawn_file_actions_t *actions,
      const posix_spawnattr_t *attributes, char *const argv[], char *const env[]),
     pid, path, actions, attributes, argv, env)
WRAP(SPAWN, -1, pid_t, fork, (void), )
/* The daemon starts shims with it, and passes no more than these. */
int clone(int (*routine)(void *ctx), void *stack, int flags, void *ctx, ...) {
    return fails(SPAWN) ? -1 : NEXT(clone)(routine, stack, flags, ctx);
}

WRAP(THREAD, error, int, pthread_create,
     (pthread_t * thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *ctx),
     thread, attributes, routine, ctx)

ssize_t send(int fd, const void *bytes, size_t size, int flags) {
    keep_answer(&(struct iovec){ .iov_base = (void *)bytes, .iov_len = size }, 1);
    return NEXT(send)(fd, bytes, size, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    keep_answer(message->msg_iov, message->msg_iovlen);
    return NEXT(sendmsg)(fd, message, flags);
}

static mode_t mode_of(int flags, va_list args) {
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
}

#define WRAP_OPEN(name)                                                                            \
    int name(const char *path, int flags, ...) {                                                   \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = mode_of(flags, args);                                                        \
        va_end(args);                                                                              \
        return fails(OPEN) ? -1 : NEXT(name)(path, flags, mode);                                   \
    }

#define WRAP_OPENAT(name)                                                                          \
    int name(int at, const char *path, int flags, ...) {                                           \
        va_list args;                                                                              \
        va_start(args, flags);                                                                     \
        mode_t mode = mode_of(flags, args);                                                        \
        va_end(args);                                                                              \
        return fails(OPEN) ? -1 : NEXT(name)(at, path, flags, mode);                               \
    }

WRAP_OPEN(open)
WRAP_OPEN(open64)
WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)

/* glibc has these under a second name: dlsym itself allocates. */
void *malloc(size_t size) {
    return fails(MEMORY) ? NULL : __libc_malloc(size);
}

void *calloc(size_t members, size_t size) {
    return fails(MEMORY) ? NULL : __libc_calloc(members, size);
}

void *realloc(void *memory, size_t size) {
    return fails(MEMORY) ? NULL : __libc_realloc(memory, size);
}
