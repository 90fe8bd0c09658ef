/* proc.c: reads /proc without heap and without stdio.
 *
 * Children hang on the thread that made them, so all threads of a process are asked. A kernel
 * without the file `children` gets a search through all processes instead. */
#include "shim/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rundir/record.h"

#define STAT_BYTES 768
#define LIST_BYTES 1024
#define PATH_BYTES 96
#define PAGE_BYTES 4096

/* As the kernel fills it. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

ssize_t proc_file(int dir, const char *path, char *out, size_t size) {
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t got = read(fd, out, size - 1);
    close(fd);
    out[got > 0 ? got : 0] = '\0';
    return got;
}

/* "/proc/PID" and what follows it */
static const char *proc_path(char path[PATH_BYTES], pid_t pid, const char *rest, pid_t thread,
                             const char *last) {
    struct record_out out = { .text = path, .size = PATH_BYTES - 1 };
    record_puts(&out, "/proc/");
    record_put_number(&out, pid);
    record_puts(&out, rest);
    if (thread > 0)
        record_put_number(&out, thread);
    record_puts(&out, last);
    path[out.length] = '\0';
    return path;
}

static const char *skip_fields(const char *at, int count) {
    for (; at && count > 0; count--) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at;
}

static uint64_t take_number(const char **at) {
    uint64_t number = 0;
    while (**at >= '0' && **at <= '9')
        number = number * 10 + (uint64_t)(*(*at)++ - '0');
    return number;
}

bool proc_read(pid_t pid, struct proc_stat *ret) {
    char path[PATH_BYTES], text[STAT_BYTES];
    if (proc_file(AT_FDCWD, proc_path(path, pid, "/stat", 0, ""), text, sizeof(text)) <= 0)
        return false;
    /* The name is in parentheses and may hold anything, also parentheses. */
    const char *state = strrchr(text, ')');
    if (!state || state[1] != ' ' || state[2] == '\0')
        return false;
    const char *parent = skip_fields(state + 2, 1);
    if (!parent)
        return false;
    ret->state = state[2];
    ret->parent = (pid_t)take_number(&parent);
    return true;
}

int64_t proc_memory(pid_t pid) {
    char path[PATH_BYTES], text[128];
    if (proc_file(AT_FDCWD, proc_path(path, pid, "/statm", 0, ""), text, sizeof(text)) <= 0)
        return 0;
    const char *resident = skip_fields(text, 1);
    const char *shared = skip_fields(text, 2);
    if (!resident || !shared)
        return 0;
    uint64_t pages = take_number(&resident), common = take_number(&shared);
    return pages > common ? (int64_t)((pages - common) * PAGE_BYTES) : 0;
}

/* "17 18 20 ": read in pieces; a number may be cut at the end of one. */
static bool visit_list(const char *path, pid_t parent, proc_visit visit, void *ctx,
                       unsigned depth) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    char text[LIST_BYTES];
    size_t kept = 0;
    ssize_t got;
    while ((got = read(fd, text + kept, sizeof(text) - kept)) > 0) {
        size_t size = kept + (size_t)got, at = 0;
        for (size_t space = 0; space < size; space++) {
            if (text[space] != ' ')
                continue;
            const char *number = text + at;
            visit(ctx, parent, (pid_t)take_number(&number), depth);
            at = space + 1;
        }
        kept = size - at;
        memmove(text, text + at, kept);
        if (kept == sizeof(text))
            break; /* no list of numbers */
    }
    close(fd);
    return true;
}

/* Calls `each` for every entry of a folder whose name is a number. */
static void each_number(const char *folder, void (*each)(void *ctx, pid_t number), void *ctx) {
    _Alignas(struct entry) char list[LIST_BYTES];
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long size;
    while (fd >= 0 && (size = syscall(SYS_getdents64, fd, list, sizeof(list))) > 0) {
        for (long at = 0; at < size;) {
            const struct entry *entry = (const struct entry *)(list + at);
            const char *name = entry->name;
            pid_t number = (pid_t)take_number(&name);
            if (number > 0 && *name == '\0')
                each(ctx, number);
            at += entry->size;
        }
    }
    if (fd >= 0)
        close(fd);
}

struct search {
    pid_t parent;
    proc_visit visit;
    void *ctx;
    unsigned depth;
    bool lists; /* the kernel has the file `children` */
};

static void search_thread(void *ctx, pid_t thread) {
    struct search *search = ctx;
    char path[PATH_BYTES];
    (void)proc_path(path, search->parent, "/task/", thread, "/children");
    if (visit_list(path, search->parent, search->visit, search->ctx, search->depth))
        search->lists = true;
}

static void search_process(void *ctx, pid_t pid) {
    const struct search *search = ctx;
    struct proc_stat stat;
    if (proc_read(pid, &stat) && stat.parent == search->parent)
        search->visit(search->ctx, search->parent, pid, search->depth);
}

void proc_children(pid_t parent, proc_visit visit, void *ctx, unsigned depth) {
    struct search search = { .parent = parent, .visit = visit, .ctx = ctx, .depth = depth };
    char path[PATH_BYTES];
    each_number(proc_path(path, parent, "/task", 0, ""), search_thread, &search);
    if (!search.lists && access("/proc/self/task", F_OK) == 0
        && access("/proc/thread-self/children", F_OK) < 0)
        each_number("/proc", search_process, &search);
}

int proc_open(pid_t pid) {
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int proc_signal(int pidfd, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}
