/* slurm_folder.c: the folder of a run that lives somewhere else.
 *
 * It must be whole before sbatch is called: from then on nobody needs this process, and whoever comes later
 * finds in it what to submit, under which token, and who has begun. On a file system of this host changes
 * are heard of at once (inotify); on a shared one they are seen when Slurm's list tells of a change. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "executor/slurm_internal.h"
#include "os/files.h"
#include "os/inotify.h"
#include "os/outside.h"
#include "rundir/remove.h"

#define ORDER_NAME   "slurm"
#define JOB_NAME     "job"
#define REFRESH_NAME ".look"

static int write_file(int dir, const char *name, const char *text, size_t size) {
    _cleanup_(fd_closep) int fd = outside_create(dir, name, NULL);
    if (fd < 0)
        return fd;
    ssize_t put = write(fd, text, size);
    if (put < 0)
        return -errno;
    return (size_t)put == size ? 0 : -ENOSPC;
}

static ssize_t read_file(int dir, const char *name, char *out, size_t size) {
    _cleanup_(fd_closep) int fd = outside_open(dir, name, O_RDONLY, NULL, NULL);
    if (fd < 0)
        return fd;
    ssize_t got = read(fd, out, size);
    return got < 0 ? -errno : got;
}

/* --- what is in it --------------------------------------------------------------------------- */

int slurm_folder_create(struct slurm *ex, const char *folder, const struct run_spec *spec,
                        const struct slurm_order *order, struct error *err) {
    struct rundir_open open;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int r = rundir_create_at(ex->root, folder, spec, &open, err);
    if (r < 0)
        return r;
    slurm_order_format(order, &text);
    r = write_file(open.dir, ORDER_NAME, text.text, text.length);
    close(open.lock);
    close(open.dir);
    if (r == 0)
        return 0;
    unsigned budget = UINT_MAX;
    (void)remove_tree_at(ex->root, folder, &budget); /* not left as a part */
    return error_set(err, r, "cannot write into folder '%s': %s", folder, strerror(-r));
}

int slurm_folder_open(const struct slurm_run *run, int *ret_dir) {
    return rundir_open_at(run->ex->root, run->folder, ret_dir, NULL);
}

int slurm_folder_read_order(int dir, struct slurm_order *ret) {
    _cleanup_(freep) char *text = xmalloc(SLURM_ORDER_MAX);
    ssize_t size = read_file(dir, ORDER_NAME, text, SLURM_ORDER_MAX);
    return size < 0 ? (int)size : slurm_order_parse(text, (size_t)size, ret);
}

/* For people, and for a start that finds it at once: it can always be found by the token. */
void slurm_folder_write_job(const struct slurm_run *run) {
    char text[32];
    _cleanup_(fd_closep) int dir = -1;
    (void)snprintf(text, sizeof(text), "%" PRIu64 "\n", run->job);
    if (slurm_folder_open(run, &dir) == 0)
        (void)write_file(dir, JOB_NAME, text, strlen(text));
}

uint64_t slurm_folder_read_job(int dir) {
    char text[32] = "";
    ssize_t size = read_file(dir, JOB_NAME, text, sizeof(text) - 1);
    return size > 1 && text[size - 1] == '\n' ? strtoull(text, NULL, 10) : 0;
}

int slurm_folder_begun(int dir, uint64_t *ret_job, char ret_node[SLURM_NODE_MAX]) {
    char who[RUN_BEGIN_MAX], node[SLURM_NODE_MAX] = "";
    uint64_t job = 0;
    int r = rundir_read_begin_at(dir, who);
    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return r;
    if (strcmp(who, RUN_BEGIN_CLOSED) == 0)
        return 2;
    if (sscanf(who, "job %" SCNu64 " %63s", &job, node) != 2)
        return -EPROTO;
    *ret_job = job;
    memcpy(ret_node, node, sizeof(node));
    return 1;
}

/* A name that was not there may be remembered as missing for a minute. A change that is made here makes the
 * client ask its server again. */
void slurm_folder_refresh(int dir) {
    (void)write_file(dir, REFRESH_NAME, "", 0);
    (void)unlinkat(dir, REFRESH_NAME, 0);
}

/* --- hearing of changes ---------------------------------------------------------------------- */

/* Its lock file was written, or one of the two names that tell something is there. */
static bool is_news(const struct inotify_event *event) {
    return event->len == 0
               ? (event->mask & IN_MODIFY) != 0
               : strcmp(event->name, "begin") == 0 || strcmp(event->name, "end.json") == 0;
}

static void folder_heard(void *ctx, const struct inotify_event *event) {
    struct slurm *ex = ctx;
    if (event->mask & IN_Q_OVERFLOW) /* some were not told: look everywhere */
        loop_timer_set(ex->loop, ex->look_timer, loop_now_steady(ex->loop));
    uint32_t index = id_map_find(&ex->by_watch, hash_u64((uint64_t)event->wd), &event->wd);
    if (index && is_news(event))
        slurm_look(slurm_at(ex, index));
}

static void folder_changed(void *ctx, int fd, unsigned events) {
    (void)events;
    inotify_read(fd, folder_heard, ctx);
}

static bool open_inotify(struct slurm *ex) {
    if (ex->inotify < 0)
        ex->inotify = inotify_open(ex->loop, folder_changed, ex, &ex->inotify_watch);
    return ex->inotify >= 0;
}

static int add_watch(struct slurm_run *run, const char *file, uint32_t mask) {
    struct slurm *ex = run->ex;
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/%s%s", ex->root_path, run->folder, file);
    return inotify_add_watch(ex->inotify, path.text, mask);
}

/* The command's logs are in the folder, too: what is only written to is not told. */
void slurm_folder_watch(struct slurm_run *run) {
    struct slurm *ex = run->ex;
    if (run->watch >= 0 || !open_inotify(ex))
        return;
    run->watch = add_watch(run, "", IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR);
    run->lock_watch = add_watch(run, "/lock", IN_MODIFY);
    if (run->watch >= 0)
        id_map_add(&ex->by_watch, hash_u64((uint64_t)run->watch), run->index);
    if (run->lock_watch >= 0)
        id_map_add(&ex->by_watch, hash_u64((uint64_t)run->lock_watch), run->index);
}

static void remove_watch(struct slurm *ex, int *watch) {
    if (*watch < 0)
        return;
    id_map_remove(&ex->by_watch, hash_u64((uint64_t)*watch), watch);
    (void)inotify_rm_watch(ex->inotify, *watch);
    *watch = -1;
}

void slurm_folder_unwatch(struct slurm_run *run) {
    remove_watch(run->ex, &run->watch);
    remove_watch(run->ex, &run->lock_watch);
}
