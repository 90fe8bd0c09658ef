/* features.c: what this kernel, this file system and these rights let us do.
 *
 * Asked once at the start. Only what no run can do without is an error; everything else has
 * something that is done instead, and a sentence for the person who could change it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "executor/local.h"
#include "os/outside.h"
#include "os/proc.h"

struct list {
    struct executor_feature *items; /* EXECUTOR_FEATURES_MAX */
    size_t count;
};

static void add(struct list *list, const struct executor_feature *feature) {
    if (list->count < EXECUTOR_FEATURES_MAX)
        list->items[list->count++] = *feature;
}

static bool has_pidfd(void) {
    int fd = proc_open(getpid());
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Asked of the file system that the logs are on. */
static bool can_punch(int root) {
    int fd = openat(root, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        fd = outside_create(root, ".probe", NULL);
        (void)unlinkat(root, ".probe", 0);
    }
    if (fd < 0)
        return false;
    static const char block[8192];
    bool good = write(fd, block, sizeof(block)) == (ssize_t)sizeof(block)
                && fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0;
    close(fd);
    return good;
}

static bool has_close_range(void) {
    /* An empty range beyond every descriptor. */
    return syscall(SYS_close_range, ~0u - 1, ~0u - 1, 0) == 0;
}

static bool has_subreaper(void) {
    int value = 0;
    return prctl(PR_GET_CHILD_SUBREAPER, &value, 0, 0, 0) == 0;
}

static bool has_inotify(void) {
    int fd = inotify_init1(IN_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

#define FIX_PIDFD "use Linux 5.4 or newer (in a container: allow it in the seccomp profile)"
#define FIX_CGROUP                                                                                 \
    "run the daemon as root, or as a systemd service with Delegate=yes, on a host with cgroup v2"
#define FIX_CONTROLLER                                                                             \
    "run the daemon as a systemd service with Delegate=yes; hybrid hosts: boot with "              \
    "systemd.unified_cgroup_hierarchy=1"

static void add_cgroups(struct list *list, const struct cgroup_facts *facts) {
    const struct executor_feature features[] = {
        { "cgroup", facts->there, "the processes of a run are found through their parents",
          FIX_CGROUP },
        { "cgroup.kill", facts->kill, "processes are stopped and killed one by one",
          facts->there ? "use Linux 5.14 or newer" : FIX_CGROUP },
        { "clone into cgroup", facts->clone, "the command joins its cgroup before it starts",
          facts->there ? "use Linux 5.7 or newer" : FIX_CGROUP },
        { "memory.max", facts->memory, "memory is looked at twice a second", FIX_CONTROLLER },
        { "pids.max", facts->pids, "processes are counted twice a second", FIX_CONTROLLER },
    };
    for (size_t i = 0; i < ARRAY_SIZE(features); i++)
        add(list, &features[i]);
}

/* `root`: a folder on the file system of the runs; -1: there is none yet. */
static void fill(struct list *list, const struct cgroup_facts *facts, int root) {
    add(list, &(struct executor_feature){ "pidfd", has_pidfd(), "nothing: no run can be started",
                                          FIX_PIDFD });
    add_cgroups(list, facts);
    const struct executor_feature features[] = {
        { "hole punching", root >= 0 && can_punch(root),
          "a run ends when a log grows 64 MB beyond its limit",
          "put the data folder on ext4, xfs, btrfs or tmpfs" },
        { "inotify", has_inotify(), "logs are looked at many times a second",
          "raise fs.inotify.max_user_instances" },
        { "close_range", has_close_range(), "descriptors are closed one by one",
          "use Linux 5.11 or newer" },
        { "subreaper", has_subreaper(), "processes that leave their parent may outlive a run",
          "use Linux 3.4 or newer" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(features); i++)
        add(list, &features[i]);
}

int features_probe(struct local *ex, struct error *err) {
    if (!has_pidfd())
        return error_set(err, -ENOSYS, "this kernel has no pidfd_open: " FIX_PIDFD);
    struct list list = { ex->base.features, 0 };
    fill(&list, cgroup_pool_facts(ex->cgroups), ex->root);
    ex->base.feature_count = list.count;
    return 0;
}

/* The folder, or the nearest above it that is there. */
static int open_near(const char *folder) {
    _cleanup_(freep) char *path = xstrdup(folder);
    for (;;) {
        int fd = outside_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | OUTSIDE_LINKS, NULL, NULL);
        char *slash = strrchr(path, '/');
        if (fd >= 0 || !slash || slash == path)
            return fd;
        *slash = '\0';
    }
}

size_t executor_probe(const char *folder, const struct executor_feature **ret) {
    static struct executor_feature items[EXECUTOR_FEATURES_MAX];
    struct list list = { items, 0 };
    struct cgroup_facts facts;
    cgroup_probe(&facts);
    int root = open_near(folder);
    fill(&list, &facts, root);
    if (root >= 0)
        close(root);
    *ret = items;
    return list.count;
}
