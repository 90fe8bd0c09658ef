/* local.c: starts runs on this host, and stops them.
 *
 * A start is a folder, a locked file and an order to the spawner. From the moment the shim has the lock this process is not
 * needed any more: if it dies then, the run goes on and is found again. */
#include "executor/local.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "executor/spare.h"
#include "executor/spawner.h"
#include "os/files.h"
#include "os/proc.h"
#include "rundir/remove.h"

/* --- secrets --------------------------------------------------------------------------------- */

/* A file without a name that holds the secrets of a run, each with a NUL behind it; the caller closes it.
 * *ret_fd is -1 when there are none. */
static int handover_secrets(const char *const *secrets, int *ret_fd, struct error *err) {
    *ret_fd = -1;
    if (!secrets || !*secrets)
        return 0;
    struct strbuf block = STRBUF_INIT;
    for (; *secrets; secrets++)
        strbuf_add(&block, *secrets, strlen(*secrets) + 1);
    int fd = memfd_create("secrets", MFD_CLOEXEC);
    ssize_t put = fd < 0 ? -1 : write(fd, block.text, block.length);
    bool is_written = put == (ssize_t)block.length;
    int error = put < 0 ? errno : ENOSPC;
    explicit_bzero(block.text, block.length);
    strbuf_finish(&block);
    if (!is_written) {
        fd_closep(&fd);
        return error_set(err, -error, "cannot hand the secrets to the shim: %s", strerror(error));
    }
    *ret_fd = fd;
    return 0;
}

#define LOW_DESCRIPTORS 10 /* ours stay above: the shim's numbers must be free */
#define SPAWNS_MAX      32 /* ordered at once: each has up to five descriptors open */
#define KEY_PAIR_SIZE   (sizeof(TAG_VARIABLE "=") + SHA256_HEX_SIZE)

/* --- the table of runs ----------------------------------------------------------------------- */

struct local_run *local_find(const struct local *ex, struct run_key key) {
    return run_table_find(&ex->runs, key);
}

struct local_run *local_run_new(struct local *ex, struct run_key key, const char *folder) {
    struct local_run *run = xcalloc(1, sizeof(*run));
    run->ex = ex;
    run->key = key;
    run->folder = xstrdup(folder);
    run->pidfd = -1;
    run->lock_watch = -1;
    run->generation = ++ex->generation;
    run->index = run_table_add(&ex->runs, run, key, run->folder);
    ex->base.live++;
    return run;
}

void local_set_key(struct local_run *run, const struct tag_key *key) {
    if (!key)
        return;
    run->tag_bytes = *key;
    run->tag_key = &run->tag_bytes;
}

static void unlink_pending(struct local_run *run) {
    for (struct local_run **at = &run->ex->pending; *at; at = &(*at)->next) {
        if (*at == run) {
            *at = run->next;
            return;
        }
    }
}

void local_run_free(struct local_run *run) {
    struct local *ex = run->ex;
    if (run->state != LOCAL_WATCHED)
        unlink_pending(run);
    run_table_remove(&ex->runs, run->index);
    if (run->lock_watch >= 0)
        (void)inotify_rm_watch(ex->inotify, run->lock_watch);
    loop_unwatch(ex->loop, run->watch);
    fd_closep(&run->pidfd);
    free(run->folder);
    free(run->external_task);
    free(run->old_cgroup);
    strbuf_finish(&run->early);
    explicit_bzero(&run->tag_bytes, sizeof(run->tag_bytes));
    free(run);
    ex->base.live--;
}

/* --- start and stop -------------------------------------------------------------------------- */

/* Nothing ran: what was made for it goes again. */
static void undo_start(struct local_run *run, int error) {
    struct local *ex = run->ex;
    unsigned budget = UINT_MAX;
    (void)remove_tree_at(ex->root, run->folder, &budget);
    run->end = (struct run_end){
        .kind = RUN_END_LAUNCH,
        .code = -1,
        .exec_errno = error,
        .cause = LAUNCH_HOST,
        .ended_at = loop_now(ex->loop),
    };
    (void)snprintf(run->end.message, sizeof(run->end.message), "cannot start the shim '%.200s': %s",
                   ex->shim_path, strerror(error));
    local_tell_end(run);
}

/* Never an argument, which every user can list, nor a file. */
static void print_key(const struct tag_key *key, char ret_pair[KEY_PAIR_SIZE]) {
    char hex[SHA256_HEX_SIZE];
    sha256_hex(key->bytes, hex);
    (void)snprintf(ret_pair, KEY_PAIR_SIZE, TAG_VARIABLE "=%s", hex);
    explicit_bzero(hex, sizeof(hex));
}

/* It has the lock, so it runs whatever becomes of us: who cannot be watched now is looked for later. */
static void shim_spawned(void *ctx, pid_t pid, int error) {
    struct local_run *run = ctx;
    if (error) {
        undo_start(run, error);
        return;
    }
    run->shim = pid;
    run->ex->base.kin_epoch++;
    int pidfd = proc_open(pid);
    if (pidfd < 0 || local_watch_shim(run, pidfd, NULL) < 0)
        local_set_pending(run, LOCAL_HIDDEN);
    local_hear_early(run);
}

/* Nothing of the daemon's but five descriptors and the key of its run. A stop that comes early is kept until the shim asks
 * for it: its signals are blocked. The descriptors become the spawner's. */
static void spawn_shim(struct local_run *run, const struct run_spec *spec,
                       const struct rundir_open *open, int secrets) {
    struct local *ex = run->ex;
    char handle[32], pair[KEY_PAIR_SIZE] = "";
    (void)snprintf(handle, sizeof(handle), "%u.%u", run->index, run->generation);
    if (spec->key)
        print_key(spec->key, pair);
    const char *const argv[] = { "sluice-shim", spec->run, handle, NULL };
    const char *const env[] = { spec->key ? pair : NULL, NULL };
    const struct spawn order = {
        .program = ex->shim_path,
        .argv = argv,
        .env = env,
        .fds = { SPAWN_NULL, SPAWN_NULL, SPAWN_NULL, open->dir, open->lock,
                 fcntl(ex->pipe_out, F_DUPFD_CLOEXEC, LOW_DESCRIPTORS), cgroup_hold(run->slot),
                 secrets },
        .fd_count = 8,
        .is_session = true,
        .blocks = true,
    };
    spawner_start(ex->spawner, &order, shim_spawned, run);
    explicit_bzero(pair, sizeof(pair));
}

static int local_start(struct executor *base, struct run_key key, const char *folder,
                       const struct run_spec *spec, struct error *err) {
    struct local *ex = local_of(base);
    if (local_find(ex, key))
        return error_set(err, -EEXIST, "run '%s' is already there", spec->run);
    int r = rundir_check(folder, spec, err); /* before a folder is taken for it */
    if (r < 0)
        return r;
    int secrets = -1;
    r = handover_secrets(spec->secrets, &secrets, err);
    if (r < 0)
        return r;
    struct run_spec full = *spec;
    struct cgroup_slot *slot = cgroup_take(ex->cgroups);
    full.cgroup = slot ? slot->path : NULL;
    full.boot_id = base->boot_id;
    if (slot)
        slot->spoiled = spec->memory_max > 0 || spec->processes_max > 0;
    struct rundir_open open;
    r = spare_take(ex->spare, folder) ? rundir_fill_at(ex->root, folder, &full, &open, err)
                                      : rundir_create_at(ex->root, folder, &full, &open, err);
    if (r < 0) {
        fd_closep(&secrets);
        cgroup_give_back(ex->cgroups, slot);
        return r;
    }
    struct local_run *run = local_run_new(ex, key, folder);
    run->slot = slot;
    run->state = LOCAL_SPAWNING;
    local_set_key(run, spec->key);
    spawn_shim(run, spec, &open, secrets);
    return 0;
}

static bool local_is_busy(const struct executor *base) {
    return spawner_pending(((const struct local *)base)->spawner) >= SPAWNS_MAX;
}

static int local_stop(struct executor *base, struct run_key key, enum stop_how how) {
    struct local_run *run = local_find(local_of(base), key);
    if (!run || run->state == LOCAL_OVER || run->state == LOCAL_DYING)
        return -ENOENT;
    local_signal(run, how);
    return 0;
}

/* The start of our own child is read when somebody asks: its number is its own until it is reaped. */
static struct executor_shim local_shim(struct executor *base, struct run_key key) {
    struct local *ex = local_of(base);
    struct local_run *run = local_find(ex, key);
    struct proc_stat process = { 0 };
    if (run && run->shim_start == 0 && run->pidfd >= 0
        && proc_read("/proc", run->shim, &process) == 0)
        run->shim_start = process.start;
    if (!run || run->shim_start == 0)
        return (struct executor_shim){ 0 };
    return (struct executor_shim){ .pid = run->shim,
                                   .start = run->shim_start,
                                   .space = ex->pid_space,
                                   .cgroup = run->slot ? run->slot->path : run->old_cgroup };
}

static void local_forget(struct executor *base, const char *task) {
    struct local *ex = local_of(base);
    if (!run_table_has_task(&ex->runs, task)) /* else the sweep of the next start takes it */
        (void)trash_throw(ex->trash, task);
}

static void local_forget_folder(struct executor *base, const char *folder) {
    (void)trash_throw(local_of(base)->trash, folder);
}

/* --- life ------------------------------------------------------------------------------------ */

static void local_free(struct executor *base) {
    struct local *ex = local_of(base);
    ex->spawner = spawner_free(ex->spawner); /* what was ordered runs then */
    for (size_t i = 1; i < ex->runs.count; i++) {
        struct local_run *run = local_at(ex, i);
        if (run && run->slot) { /* its run goes on in it */
            free(run->slot->path);
            free(run->slot);
        }
        if (run)
            local_run_free(run);
    }
    loop_unwatch(ex->loop, ex->pipe_watch);
    loop_unwatch(ex->loop, ex->inotify_watch);
    loop_timer_free(ex->loop, ex->pending_timer);
    (void)trash_free(ex->trash);
    (void)spare_free(ex->spare);
    fd_closep(&ex->pipe_in); /* before it: see there */
    (void)cgroup_pool_free(ex->cgroups);
    const int fds[] = { ex->root, ex->pipe_in, ex->pipe_out, ex->inotify };
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        fd_closep(&fds[i]);
    run_table_finish(&ex->runs);
    free(ex->root_path);
    free(ex->root_given);
    free(ex->shim_path);
    free(ex);
}

static size_t local_clean(struct executor *base, size_t *ret_kept) {
    return cgroup_clean(local_of(base)->cgroups, ret_kept);
}

static const struct executor_backend local_backend = {
    .start = local_start,
    .is_busy = local_is_busy,
    .stop = local_stop,
    .adopt = local_adopt,
    .shim = local_shim,
    .sweep = local_sweep,
    .forget = local_forget,
    .forget_folder = local_forget_folder,
    .clean = local_clean,
    .slot_take = local_slot_take,
    .slot_give_back = local_slot_give_back,
    .free = local_free,
};

static int open_high(const char *path, int flags, int *ret_fd, struct error *err) {
    _cleanup_(fd_closep) int fd = open(path, flags | O_CLOEXEC);
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, LOW_DESCRIPTORS);
    if (high < 0)
        return error_set_errno(err, "open", path);
    *ret_fd = high;
    return 0;
}

static int open_root(struct local *ex, const char *root, struct error *err) {
    if (mkdir(root, 0700) < 0 && errno != EEXIST)
        return error_set_errno(err, "make folder", root);
    ex->root_path = realpath(root, NULL);
    if (!ex->root_path)
        return error_set_errno(err, "open", root);
    return open_high(ex->root_path, O_RDONLY | O_DIRECTORY, &ex->root, err);
}

static int read_identity(struct local *ex, const char *host, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = file_read("/proc/sys/kernel/random/boot_id", 256, &text, err);
    if (r < 0)
        return r;
    (void)snprintf(ex->base.boot_id, sizeof(ex->base.boot_id), "%.*s",
                   (int)strcspn(strbuf_text(&text), "\n"), strbuf_text(&text));
    struct stat st;
    if (stat("/proc/self/ns/pid", &st) == 0)
        ex->pid_space = st.st_ino;
    executor_set_host(&ex->base, host);
    return 0;
}

static int check_shim(const char *path, struct error *err) {
    if (access(path, X_OK) == 0)
        return 0;
    return error_set(err, -errno, "cannot run the shim '%s': %s; install it beside the daemon",
                     path, strerror(errno));
}

int executor_local_new(struct loop *loop, const struct executor_options *options,
                       const struct executor_events *events, struct executor **ret,
                       struct error *err) {
    assert(loop && options->root && options->shim_path && events->started && events->validating
           && events->ended);
    struct local *ex = xcalloc(1, sizeof(*ex));
    ex->base.backend = &local_backend;
    ex->base.events = *events;
    ex->loop = loop;
    ex->root = ex->pipe_in = ex->pipe_out = ex->inotify = -1;
    ex->root_given = xstrdup(options->root);
    ex->shim_path = xstrdup(options->shim_path);
    run_table_init(&ex->runs);
    ex->pending_timer = loop_timer_new(loop, local_pending_due, ex);
    int r = check_shim(ex->shim_path, err);
    if (r >= 0)
        r = open_root(ex, options->root, err);
    if (r >= 0)
        r = read_identity(ex, options->host, err);
    if (r >= 0)
        r = local_open_pipe(ex, err);
    if (r >= 0)
        r = spawner_new(loop, &ex->spawner, err);
    if (r >= 0) {
        char name[32];
        (void)snprintf(name, sizeof(name), CGROUP_NAME,
                       (uint32_t)hash_bytes(ex->root_path, strlen(ex->root_path)));
        ex->cgroups = cgroup_pool_new(name, options->use_cgroup);
        ex->trash = trash_new(loop, ex->root, &ex->base.live);
        ex->spare = spare_new(ex->root);
        r = features_probe(ex, err);
    }
    if (r < 0) {
        local_free(&ex->base);
        return r;
    }
    *ret = &ex->base;
    return 0;
}
