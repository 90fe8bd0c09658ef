/* proc.c: reads /proc without heap and stdio, except for proc_has_text: the shim uses it, too.
 *
 * Children belong to the thread that created them, so all threads of a process are read. Without
 * the kernel's file `children` all processes are searched instead. */
#include "os/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/number.h"
#include "base/strbuf.h"
#include "os/fd.h"
#include "os/files.h"

#define STAT_BYTES 768
#define LIST_BYTES 1024
#define PATH_BYTES 256
#define PAGE_BYTES 4096

ssize_t proc_file(int dir, const char *path, char *out, size_t size) {
    _cleanup_(fd_closep) int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t got = read(fd, out, size - 1);
    out[got > 0 ? got : 0] = '\0';
    return got;
}

static char *put_text(char *at, const char *end, const char *text) {
    while (*text && at < end)
        *at++ = *text++;
    return at;
}

/* PROC/PID, `rest`, and below it `thread`, if that is not 0, and `last`. */
static const char *proc_path(char path[PATH_BYTES], const char *proc, pid_t pid, const char *rest,
                             pid_t thread, const char *last) {
    char number[NUMBER_TEXT_MAX];
    const char *end = &path[PATH_BYTES - 1];
    char *at = put_text(path, end, proc);
    at = put_text(put_text(at, end, "/"), end, number_text(pid, number));
    at = put_text(at, end, rest);
    if (thread > 0)
        at = put_text(put_text(at, end, number_text(thread, number)), end, last);
    *at = '\0';
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

/* "17 (name) S 1 17 17 …": the name may contain anything, including parentheses. */
static bool parse_stat(const char *text, struct proc_stat *ret) {
    const char *name = strchr(text, '('), *state = strrchr(text, ')');
    const char *parent = state && state[1] == ' ' ? skip_fields(state + 2, 1) : NULL;
    const char *session = skip_fields(parent, 2), *start = skip_fields(session, 16);
    if (!name || !start || state < name || *start < '0' || *start > '9')
        return false;
    size_t length = (size_t)(state - name - 1);
    *ret = (struct proc_stat){ .state = state[2] };
    memcpy(ret->name, name + 1, length < sizeof(ret->name) ? length : sizeof(ret->name) - 1);
    ret->parent = (pid_t)take_number(&parent);
    ret->session = (pid_t)take_number(&session);
    ret->start = take_number(&start);
    return true;
}

int proc_read(const char *proc, pid_t pid, struct proc_stat *ret) {
    char path[PATH_BYTES], text[STAT_BYTES];
    errno = ESRCH; /* an empty file: it ended after it was opened */
    if (proc_file(AT_FDCWD, proc_path(path, proc, pid, "/stat", 0, ""), text, sizeof(text)) <= 0)
        return -errno;
    return parse_stat(text, ret) ? 0 : -EPROTO;
}

bool proc_has_ended(pid_t pid) {
    struct proc_stat stat = { 0 };
    int r = proc_read("/proc", pid, &stat);
    return r < 0 ? r == -ENOENT || r == -ESRCH : stat.state == 'Z' || stat.state == 'X';
}

int64_t proc_memory(pid_t pid) {
    char path[PATH_BYTES], text[128];
    if (proc_file(AT_FDCWD, proc_path(path, "/proc", pid, "/statm", 0, ""), text, sizeof(text))
        <= 0)
        return 0;
    const char *resident = skip_fields(text, 1);
    const char *shared = skip_fields(text, 2);
    if (!resident || !shared)
        return 0;
    uint64_t pages = take_number(&resident), common = take_number(&shared);
    return pages > common ? (int64_t)((pages - common) * PAGE_BYTES) : 0;
}

/* "17 18 20 ": read in chunks; a number may be split at the end of one. */
static bool visit_list(const char *path, pid_t parent, proc_visit visit, void *ctx,
                       unsigned depth) {
    _cleanup_(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
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
            break; /* not a list of numbers */
    }
    return true;
}

/* Calls `each` for every numeric name in a directory. */
static void each_number(const char *path, void (*each)(void *ctx, pid_t number), void *ctx) {
    struct folder folder;
    (void)folder_use(&folder, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (const char *name; (name = folder_next(&folder));) {
        pid_t number = (pid_t)take_number(&name);
        if (number > 0 && *name == '\0')
            each(ctx, number);
    }
    folder_close(&folder);
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
    (void)proc_path(path, "/proc", search->parent, "/task/", thread, "/children");
    if (visit_list(path, search->parent, search->visit, search->ctx, search->depth))
        search->lists = true;
}

static void search_process(void *ctx, pid_t pid) {
    const struct search *search = ctx;
    struct proc_stat stat = { 0 };
    if (proc_read("/proc", pid, &stat) == 0 && stat.parent == search->parent)
        search->visit(search->ctx, search->parent, pid, search->depth);
}

void proc_children(pid_t parent, proc_visit visit, void *ctx, unsigned depth) {
    struct search search = { .parent = parent, .visit = visit, .ctx = ctx, .depth = depth };
    char path[PATH_BYTES];
    each_number(proc_path(path, "/proc", parent, "/task", 0, ""), search_thread, &search);
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

/* --- all processes; not for the shim ---------------------------------------------------------- */

#define TEXT_MAX (4u << 20) /* bytes of an environment or a command line */

bool proc_has_text(pid_t pid, const char *file, const char *text, const char *first) {
    char path[64];
    _cleanup_(strbuf_finish) struct strbuf texts = STRBUF_INIT;
    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    if (file_read(path, TEXT_MAX, &texts, NULL) < 0 || texts.length == 0
        || (first && strcmp(texts.text, first) != 0))
        return false;
    for (size_t at = 0; at < texts.length; at += strlen(texts.text + at) + 1)
        if (strcmp(texts.text + at, text) == 0)
            return true;
    return false;
}

unsigned proc_sweep(bool (*wanted)(void *ctx, pid_t pid), void *ctx, int signal,
                    struct proc_swept *ret) {
    struct folder processes;
    unsigned count = 0;
    (void)folder_use(&processes, open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (const char *name; (name = folder_next(&processes));) {
        pid_t pid = (pid_t)strtol(name, NULL, 10);
        int fd = pid > 1 && pid != getpid() ? proc_open(pid) : -1;
        if (fd < 0)
            continue;
        bool is_swept = wanted(ctx, pid) && proc_signal(fd, signal) == 0;
        count += is_swept;
        if (is_swept && ret && ret->count < ret->max)
            ret->fds[ret->count++] = fd;
        else
            close(fd);
    }
    folder_close(&processes);
    return count;
}
