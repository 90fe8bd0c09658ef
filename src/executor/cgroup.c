/* cgroup.c: where the runs of this daemon are held together.
 *
 * The folder is made below the daemon's own cgroup (found in /proc/self/mountinfo and
 * /proc/self/cgroup; on hybrid systems cgroup v2 is mounted somewhere beside v1). Killing needs no
 * controller. Limits do: they can be handed down only from a cgroup without processes of its own, so a
 * daemon that is alone in its cgroup moves into a folder of it; one that is not leaves all as it is. */
#include "executor/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sched.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "executor/folder.h"
#include "os/clock.h"
#include "os/files.h"

#define PROC_MAX   (1u << 20)
#define FREE_SLOTS 64 /* kept for the next runs */

struct cgroup_pool {
    char *name;
    char *parent; /* folder of our slots; NULL: no cgroups */
    struct cgroup_facts facts;
    struct cgroup_slot *free, *dirty; /* dirty: somebody was still in it */
    size_t free_count;
    char prefix[32]; /* of the slots that we have made: not those of an earlier daemon */
    uint64_t made;
};

static int write_text(const char *folder, const char *name, const char *text) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = write(fd, text, strlen(text)) < 0 ? -errno : 0;
    close(fd);
    return r;
}

static bool read_text(const char *folder, const char *name, char *out, size_t size) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, out, size - 1);
    close(fd);
    out[got > 0 ? got : 0] = '\0';
    return got >= 0;
}

static bool has_file(const char *folder, const char *name) {
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

void cgroup_kill(const char *path) {
    if (write_text(path, "cgroup.kill", "1") == 0)
        return;
    char pids[4096];
    if (!read_text(path, "cgroup.procs", pids, sizeof(pids)))
        return;
    for (char *at = pids; *at;) {
        char *end;
        long pid = strtol(at, &end, 10);
        if (end == at)
            return;
        if (pid > 1)
            (void)kill((pid_t)pid, SIGKILL);
        at = end + strspn(end, "\n");
    }
}

bool cgroup_is_populated(const char *path) {
    char events[256];
    return read_text(path, "cgroup.events", events, sizeof(events))
           && strstr(events, "populated 1") != NULL;
}

void cgroup_remove(const char *path) {
    (void)rmdir(path);
}

/* --- finding it ------------------------------------------------------------------------------ */

/* "36 35 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw": root and mount point of the first cgroup2. */
static bool find_mount(char *ret_root, char *ret_point, size_t size) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (file_read("/proc/self/mountinfo", PROC_MAX, &text, NULL) < 0)
        return false;
    char *rest = NULL;
    for (char *line = strtok_r(text.text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char root[PATH_MAX], point[PATH_MAX];
        const char *type = strstr(line, " - ");
        if (!type || strncmp(type, " - cgroup2 ", 11) != 0
            || sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) != 2 || strlen(root) >= size
            || strlen(point) >= size)
            continue;
        memcpy(ret_root, root, strlen(root) + 1);
        memcpy(ret_point, point, strlen(point) + 1);
        return true;
    }
    return false;
}

/* The folder of the daemon's own cgroup v2. */
static char *find_own(void) {
    char root[PATH_MAX], point[PATH_MAX];
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (!find_mount(root, point, sizeof(root))
        || file_read("/proc/self/cgroup", PROC_MAX, &text, NULL) < 0)
        return NULL;
    char *line = strncmp(text.text, "0::", 3) == 0 ? text.text : strstr(text.text, "\n0::");
    if (!line)
        return NULL;
    char *path = strchr(line, '/');
    if (!path)
        return NULL;
    path[strcspn(path, "\n")] = '\0';
    /* A mount may show only a part of the hierarchy. */
    size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(path, root, length) != 0)
        return NULL;
    _cleanup_(strbuf_finish) struct strbuf own = STRBUF_INIT;
    strbuf_printf(&own, "%s%s", point, path + length);
    while (own.length > 1 && own.text[own.length - 1] == '/')
        own.text[--own.length] = '\0';
    return strbuf_take(&own);
}

static bool is_alone(const char *own) {
    char pids[64], self[32];
    (void)snprintf(self, sizeof(self), "%d\n", (int)getpid());
    return read_text(own, "cgroup.procs", pids, sizeof(pids)) && strcmp(pids, self) == 0;
}

/* Limits for the slots below `folder`, as far as the kernel allows. */
static void hand_down(const char *folder) {
    (void)write_text(folder, "cgroup.subtree_control", "+memory");
    (void)write_text(folder, "cgroup.subtree_control", "+pids");
}

static bool has_controllers(const char *folder, const char *name) {
    char text[256];
    return read_text(folder, name, text, sizeof(text))
           && (strstr(text, "memory") || strstr(text, "pids"));
}

static void open_limits(const char *own, const char *parent) {
    if (!has_controllers(own, "cgroup.controllers"))
        return;
    hand_down(own);
    if (!has_controllers(own, "cgroup.subtree_control") && is_alone(own)) {
        char aside[PATH_MAX];
        (void)snprintf(aside, sizeof(aside), "%s/daemon", own);
        if ((mkdir(aside, 0755) == 0 || errno == EEXIST)
            && write_text(aside, "cgroup.procs", "0") == 0)
            hand_down(own);
    }
    hand_down(parent);
}

/* --- what works ------------------------------------------------------------------------------ */

static bool can_clone_into(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    struct clone_args arguments = { .flags = CLONE_INTO_CGROUP,
                                    .exit_signal = SIGCHLD,
                                    .cgroup = (uint64_t)fd };
    long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (pid == 0)
        syscall(SYS_exit_group, 0);
    close(fd);
    if (pid < 0)
        return false;
    (void)waitpid((pid_t)pid, NULL, 0);
    return true;
}

static struct cgroup_slot *make_slot(struct cgroup_pool *pool) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    do {
        strbuf_clear(&path);
        strbuf_printf(&path, "%s/%s%" PRIu64, pool->parent, pool->prefix, ++pool->made);
    } while (mkdir(path.text, 0700) < 0 && errno == EEXIST);
    if (access(path.text, F_OK) < 0)
        return NULL;
    struct cgroup_slot *slot = xcalloc(1, sizeof(*slot));
    slot->path = strbuf_take(&path);
    return slot;
}

static void free_slot(struct cgroup_slot *slot) {
    (void)rmdir(slot->path);
    free(slot->path);
    free(slot);
}

struct cgroup_pool *cgroup_pool_new(const char *name, bool use) {
    struct cgroup_pool *pool = xcalloc(1, sizeof(*pool));
    pool->name = xstrdup(name);
    _cleanup_(freep) char *own = use ? find_own() : NULL;
    if (!own)
        return pool;
    _cleanup_(strbuf_finish) struct strbuf parent = STRBUF_INIT;
    strbuf_printf(&parent, "%s/%s", own, name);
    if (mkdir(parent.text, 0700) < 0 && errno != EEXIST)
        return pool;
    open_limits(own, parent.text);
    (void)snprintf(pool->prefix, sizeof(pool->prefix), "%" PRId64 ".", (int64_t)clock_read());
    pool->parent = strbuf_take(&parent);
    struct cgroup_slot *slot = make_slot(pool);
    if (!slot) {
        free(TAKE_PTR(pool->parent));
        return pool;
    }
    pool->facts = (struct cgroup_facts){
        .there = true,
        .kill = has_file(slot->path, "cgroup.kill"),
        .memory = has_file(slot->path, "memory.max"),
        .pids = has_file(slot->path, "pids.max"),
        .clone = can_clone_into(slot->path),
    };
    cgroup_give_back(pool, slot);
    return pool;
}

struct cgroup_pool *cgroup_pool_free(struct cgroup_pool *pool) {
    if (!pool)
        return NULL;
    struct cgroup_slot **lists[] = { &pool->free, &pool->dirty };
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        while (*lists[i]) {
            struct cgroup_slot *slot = *lists[i];
            *lists[i] = slot->next;
            free_slot(slot);
        }
    }
    if (pool->parent)
        (void)rmdir(pool->parent); /* fails while a run lives in it */
    free(pool->parent);
    free(pool->name);
    free(pool);
    return NULL;
}

const struct cgroup_facts *cgroup_pool_facts(const struct cgroup_pool *pool) {
    return &pool->facts;
}

/* What was handed down to find out is taken back, unless it was so before. */
static void take_back(const char *own, const char *before) {
    static const char *const controllers[] = { "memory", "pids" };
    for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
        char word[16];
        (void)snprintf(word, sizeof(word), "-%s", controllers[i]);
        if (!strstr(before, controllers[i]))
            (void)write_text(own, "cgroup.subtree_control", word);
    }
}

void cgroup_probe(struct cgroup_facts *ret) {
    char before[256] = "", name[48];
    _cleanup_(freep) char *own = find_own();
    bool known = own && read_text(own, "cgroup.subtree_control", before, sizeof(before));
    (void)snprintf(name, sizeof(name), "sluice-probe-%d", (int)getpid());
    struct cgroup_pool *pool = cgroup_pool_new(name, own != NULL);
    *ret = pool->facts;
    cgroup_pool_free(pool);
    if (known)
        take_back(own, before);
}

bool cgroup_is_ours(const struct cgroup_pool *pool, const char *path) {
    const char *slot = strrchr(path, '/');
    size_t length = strlen(pool->name);
    return *path == '/' && slot && slot - path > (ptrdiff_t)length && !strstr(path, "/../")
           && strncmp(slot - length, pool->name, length) == 0 && slot[-(ptrdiff_t)length - 1] == '/'
           && slot[1] >= '0' && slot[1] <= '9';
}

struct cgroup_slot *cgroup_take(struct cgroup_pool *pool) {
    if (!pool->parent)
        return NULL;
    struct cgroup_slot *slot = pool->free;
    if (!slot)
        return make_slot(pool);
    pool->free = slot->next;
    pool->free_count--;
    slot->next = NULL;
    return slot;
}

void cgroup_give_back(struct cgroup_pool *pool, struct cgroup_slot *slot) {
    if (!slot)
        return;
    if (cgroup_is_populated(slot->path)) {
        slot->next = pool->dirty;
        pool->dirty = slot;
    } else if (slot->spoiled || pool->free_count >= FREE_SLOTS) {
        free_slot(slot);
    } else {
        slot->next = pool->free;
        pool->free = slot;
        pool->free_count++;
    }
}

/* What an earlier daemon has made. rmdir refuses a folder with somebody in it. */
static void remove_old(struct cgroup_pool *pool, cgroup_used used, void *ctx) {
    struct folder folder;
    (void)folder_open(&folder, AT_FDCWD, pool->parent);
    for (const char *name; (name = folder_next(&folder));) {
        char path[PATH_MAX];
        if (name[0] < '0' || name[0] > '9'
            || strncmp(name, pool->prefix, strlen(pool->prefix)) == 0)
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", pool->parent, name);
        if (!used(ctx, path))
            (void)rmdir(path);
    }
    folder_close(&folder);
}

void cgroup_sweep(struct cgroup_pool *pool, cgroup_used used, void *ctx) {
    struct cgroup_slot *slots = TAKE_PTR(pool->dirty);
    while (slots) {
        struct cgroup_slot *slot = slots;
        slots = slot->next;
        cgroup_give_back(pool, slot);
    }
    if (pool->parent)
        remove_old(pool, used, ctx);
}
