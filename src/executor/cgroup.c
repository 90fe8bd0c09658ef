/* cgroup.c: a cgroup for each run of this daemon.
 *
 * The directory is created below the daemon's own cgroup (found in /proc/self/mountinfo and
 * /proc/self/cgroup; hybrid systems mount cgroup v2 beside v1). Killing needs no controller. Limits
 * do, and controllers can be delegated only from a cgroup without processes of its own. So a daemon
 * that is alone in its cgroup moves into a child of it; otherwise nothing is changed. */
#include "executor/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sched.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "base/strbuf.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/outside.h"

#define PROC_MAX       (1u << 20)
#define FREE_SLOTS     64 /* kept for later runs */
#define NAME_BEGIN     "sluice-"
#define NAME_DIGITS    8   /* suffix of CGROUP_NAME */
#define CLEAN_MOST     512 /* directories of other daemons that are examined */
#define PARENT_TRIES   100
#define PARENT_WAIT_MS 10
#define LOCK_TRIES     1000 /* 1 ms each */

struct cgroup_pool {
    char *name;
    char *parent; /* directory of our slots; NULL: no cgroups */
    int lock;     /* lock on `parent`; -1: none */
    struct cgroup_facts facts;
    struct cgroup_slot *free, *dirty; /* dirty: still had processes */
    struct cgroup_slot *left;         /* of runs that continue without this pool */
    size_t free_count;
    char prefix[32]; /* of slots that we created, not of an earlier daemon's */
    uint64_t made;
};

static int open_in(const char *folder, const char *name, int flags) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
        return -1;
    return open(path, flags | O_CLOEXEC);
}

static bool write_text(const char *folder, const char *name, const char *text) {
    _cleanup_(fd_closep) int fd = open_in(folder, name, O_WRONLY);
    return fd >= 0 && write(fd, text, strlen(text)) >= 0;
}

static bool read_text(const char *folder, const char *name, char *out, size_t size) {
    _cleanup_(fd_closep) int fd = open_in(folder, name, O_RDONLY);
    ssize_t got = fd < 0 ? -1 : read(fd, out, size - 1);
    out[got > 0 ? got : 0] = '\0';
    return got >= 0;
}

static bool has_file(const char *folder, const char *name) {
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

void cgroup_kill(const char *path) {
    if (write_text(path, "cgroup.kill", "1"))
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

/* Root and mount point of the first cgroup2: "36 35 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2
 * rw". */
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

char *cgroup_read_path(const char *file) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (file_read(file, PROC_MAX, &text, NULL) < 0 || text.length == 0)
        return NULL;
    const char *line = strncmp(text.text, "0::", 3) == 0 ? text.text : strstr(text.text, "\n0::");
    const char *path = line ? strchr(line, '/') : NULL;
    return path ? xstrndup(path, strcspn(path, "\n")) : NULL;
}

/* Directory of the daemon's own cgroup v2. */
static char *find_own(void) {
    char root[PATH_MAX], point[PATH_MAX];
    _cleanup_(freep) char *path = cgroup_read_path("/proc/self/cgroup");
    if (!path || !find_mount(root, point, sizeof(root)))
        return NULL;
    /* A mount may expose only a part of the hierarchy. */
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

/* Delegates controllers to the slots below `folder`, as far as the kernel allows. */
static void delegate(const char *folder) {
    (void)write_text(folder, "cgroup.subtree_control", "+memory");
    (void)write_text(folder, "cgroup.subtree_control", "+pids");
}

static bool has_controllers(const char *folder, const char *name) {
    char text[256];
    return read_text(folder, name, text, sizeof(text))
           && (strstr(text, "memory") || strstr(text, "pids"));
}

static void delegate_controllers(const char *own, const char *parent) {
    if (!has_controllers(own, "cgroup.controllers"))
        return;
    delegate(own);
    if (!has_controllers(own, "cgroup.subtree_control") && is_alone(own)) {
        char child[PATH_MAX];
        (void)snprintf(child, sizeof(child), "%s/daemon", own);
        if ((mkdir(child, 0755) == 0 || errno == EEXIST) && write_text(child, "cgroup.procs", "0"))
            delegate(own);
    }
    delegate(parent);
}

/* --- ownership -------------------------------------------------------------------------------- */

static int open_folder(const char *path) {
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool is_still(int fd, const char *path) {
    struct stat open, named;
    return fstat(fd, &open) == 0 && stat(path, &named) == 0 && open.st_ino == named.st_ino;
}

/* Creates the directory of the slots and takes a shared lock on it. Another daemon may be removing
 * the old directory. A process of the same user could hold the lock indefinitely: after a second we
 * go on without it, which is safe while that process holds it. Returns the descriptor. */
static int open_parent(const char *path) {
    for (int tries = 0; tries < PARENT_TRIES; tries++) {
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            return -1;
        int fd = open_folder(path);
        if (fd < 0 && errno != ENOENT)
            return -1;
        bool is_last = tries == PARENT_TRIES - 1;
        bool is_locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0;
        if (fd >= 0 && (is_locked || is_last) && is_still(fd, path))
            return fd;
        if (fd >= 0)
            close(fd);
        if (fd >= 0 && !is_locked)
            (void)poll(NULL, 0, PARENT_WAIT_MS);
    }
    return -1;
}

/* Takes an exclusive lock on a directory that is unlocked and was not re-created meanwhile; else
 * -1. */
static int lock_left(const char *path) {
    int fd = open_folder(path);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_still(fd, path))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bool cgroup_is_held(const char *path) {
    _cleanup_(fd_closep) int fd = open_folder(path);
    return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* lock_left, but waits for shims that are removing something there (lock_soon in shim/limits.c). Not
 * for another daemon with our name, which holds a shared lock. */
static int lock_soon(const char *path) {
    for (int tries = 0; tries < LOCK_TRIES; tries++) {
        int fd = lock_left(path);
        if (fd >= 0)
            return fd;
        fd = open_folder(path);
        if (fd < 0)
            return -1;
        bool is_shared = flock(fd, LOCK_SH | LOCK_NB) == 0;
        if (is_shared && flock(fd, LOCK_EX | LOCK_NB) == 0 && is_still(fd, path))
            return fd;
        close(fd);
        if (is_shared)
            return -1;
        (void)poll(NULL, 0, 1);
    }
    return -1;
}

/* rmdir refuses a cgroup that has processes. */
static void remove_slot(const char *path) {
    _cleanup_(fd_closep) int fd = lock_left(path);
    if (fd >= 0)
        (void)rmdir(path);
}

static bool is_slot(const char *name) {
    return name[0] >= '0' && name[0] <= '9';
}

enum left { LEFT_REMOVED, LEFT_KEPT, LEFT_TO_OTHERS };

/* `lock` comes from lock_left and is closed. It keeps a daemon with this name from starting
 * meanwhile. */
static enum left remove_left(const char *path, int lock) {
    if (lock < 0)
        return LEFT_TO_OTHERS;
    struct folder folder;
    (void)outside_folder(&folder, AT_FDCWD, path);
    for (const char *name; (name = folder_next(&folder));) {
        char slot[PATH_MAX];
        if (is_slot(name) && snprintf(slot, sizeof(slot), "%s/%s", path, name) < (int)sizeof(slot))
            remove_slot(slot);
    }
    folder_close(&folder);
    enum left left = rmdir(path) == 0 ? LEFT_REMOVED : LEFT_KEPT;
    close(lock);
    return left;
}

size_t cgroup_clean(const struct cgroup_pool *pool, size_t *ret_kept) {
    size_t looked = 0, count[LEFT_TO_OTHERS + 1] = { 0 };
    *ret_kept = 0;
    if (!pool->parent)
        return 0;
    _cleanup_(freep) char *own = xstrdup(pool->parent);
    *strrchr(own, '/') = '\0';
    struct folder folder;
    (void)outside_folder(&folder, AT_FDCWD, own);
    for (const char *name; looked < CLEAN_MOST && (name = folder_next(&folder));) {
        char path[PATH_MAX];
        if (strncmp(name, NAME_BEGIN, strlen(NAME_BEGIN)) != 0 || strcmp(name, pool->name) == 0
            || snprintf(path, sizeof(path), "%s/%s", own, name) >= (int)sizeof(path))
            continue;
        looked++;
        count[remove_left(path, lock_left(path))]++;
    }
    folder_close(&folder);
    *ret_kept = count[LEFT_KEPT];
    return count[LEFT_REMOVED];
}

/* --- probing --------------------------------------------------------------------------------- */

static bool can_clone_into(const char *path) {
    _cleanup_(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    struct clone_args arguments = { .flags = CLONE_INTO_CGROUP,
                                    .exit_signal = SIGCHLD,
                                    .cgroup = (uint64_t)fd };
    long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
    if (pid == 0)
        syscall(SYS_exit_group, 0);
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

void cgroup_leave(struct cgroup_pool *pool, struct cgroup_slot *slot) {
    if (!slot)
        return;
    slot->next = pool->left;
    pool->left = slot;
}

static void forget_slot(struct cgroup_slot *slot) {
    free(slot->path);
    free(slot);
}

static void free_slot(struct cgroup_slot *slot) {
    (void)rmdir(slot->path);
    forget_slot(slot);
}

struct cgroup_pool *cgroup_pool_new(const char *name, bool use) {
    _cleanup_(freep) char *own = use ? find_own() : NULL;
    return cgroup_pool_new_in(own, name);
}

struct cgroup_pool *cgroup_pool_new_in(const char *own, const char *name) {
    struct cgroup_pool *pool = xcalloc(1, sizeof(*pool));
    pool->name = xstrdup(name);
    pool->lock = -1;
    if (!own)
        return pool;
    _cleanup_(strbuf_finish) struct strbuf parent = STRBUF_INIT;
    strbuf_printf(&parent, "%s/%s", own, name);
    pool->lock = open_parent(parent.text);
    if (pool->lock < 0)
        return pool;
    delegate_controllers(own, parent.text);
    (void)snprintf(pool->prefix, sizeof(pool->prefix), "%" PRId64 ".", (int64_t)clock_read());
    pool->parent = strbuf_take(&parent);
    struct cgroup_slot *slot = make_slot(pool);
    if (!slot) {
        (void)rmdir(pool->parent);
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
    size_t kept;
    (void)cgroup_clean(pool, &kept);
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
    /* Runs that end from now on remove their own slots; the locks show which have just ended. */
    while (pool->left) {
        struct cgroup_slot *slot = pool->left;
        pool->left = slot->next;
        remove_slot(slot->path);
        forget_slot(slot);
    }
    if (pool->lock >= 0)
        close(pool->lock);
    if (pool->parent)
        (void)remove_left(pool->parent, lock_soon(pool->parent));
    free(pool->parent);
    free(pool->name);
    free(pool);
    return NULL;
}

const struct cgroup_facts *cgroup_pool_facts(const struct cgroup_pool *pool) {
    return &pool->facts;
}

/* Reverts the delegation made for probing, unless it existed before. */
static void revert_delegation(const char *own, const char *before) {
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
    (void)snprintf(name, sizeof(name), NAME_BEGIN "probe-%d", (int)getpid());
    struct cgroup_pool *pool = cgroup_pool_new(name, own != NULL);
    *ret = pool->facts;
    cgroup_pool_free(pool);
    if (known)
        revert_delegation(own, before);
}

bool cgroup_is_ours(const struct cgroup_pool *pool, const char *path) {
    const char *slot = strrchr(path, '/');
    size_t length = strlen(pool->name);
    return *path == '/' && slot && slot - path > (ptrdiff_t)length && !strstr(path, "/../")
           && strncmp(slot - length, pool->name, length) == 0 && slot[-(ptrdiff_t)length - 1] == '/'
           && slot[1] >= '0' && slot[1] <= '9';
}

/* End of the slot path that starts at `at`, "/sluice-0123abcd/1700000000000.1"; NULL: not a
 * slot. */
static const char *slot_end(const char *at) {
    static const char begin[] = "/" NAME_BEGIN;
    size_t length = sizeof(begin) - 1;
    if (strncmp(at, begin, length) != 0 || strspn(at + length, "0123456789abcdef") != NAME_DIGITS
        || at[length + NAME_DIGITS] != '/' || !is_slot(at + length + NAME_DIGITS + 1))
        return NULL;
    const char *slot = at + length + NAME_DIGITS + 1;
    return slot + strcspn(slot, "/");
}

static bool is_in_folder(const char *path, const char *folder, size_t length) {
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

bool cgroup_is_in_slot(const char *path, const char *own) {
    for (const char *at = path; (at = strchr(at, '/')); at++) {
        const char *end = slot_end(at);
        if (end && !is_in_folder(own, path, (size_t)(end - path)))
            return true;
    }
    return false;
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
    slot->is_empty = false;
    return slot;
}

int cgroup_hold(const struct cgroup_slot *slot) {
    int fd = slot ? open_folder(slot->path) : -1;
    if (fd >= 0)
        (void)flock(fd, LOCK_SH | LOCK_NB); /* never block the daemon */
    return fd;
}

void cgroup_give_back(struct cgroup_pool *pool, struct cgroup_slot *slot) {
    if (!slot)
        return;
    if (!slot->is_empty && cgroup_is_populated(slot->path)) {
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

void cgroup_sweep(struct cgroup_pool *pool, cgroup_used used, void *ctx) {
    struct cgroup_slot *slots = TAKE_PTR(pool->dirty);
    while (slots) {
        struct cgroup_slot *slot = slots;
        slots = slot->next;
        cgroup_give_back(pool, slot);
    }
    if (!pool->parent)
        return;
    struct folder folder;
    (void)outside_folder(&folder, AT_FDCWD, pool->parent);
    for (const char *name; (name = folder_next(&folder));) {
        char path[PATH_MAX];
        if (!is_slot(name) || strncmp(name, pool->prefix, strlen(pool->prefix)) == 0)
            continue; /* not of an earlier daemon */
        (void)snprintf(path, sizeof(path), "%s/%s", pool->parent, name);
        if (!used(ctx, path))
            remove_slot(path);
    }
    folder_close(&folder);
}
