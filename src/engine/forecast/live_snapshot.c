/* live_snapshot.c: see outlook.h. The loop waits only for the copy: 0.1 s for a million
 * tasks, up to 0.5 s on a busy machine. The thread sorts, prints and writes; it uses only the copy,
 * the id prefixes and its file. */
#include "engine/outlook.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine_internal.h"
#include "os/files.h"
#include "os/outside.h"
#include "os/private_file.h"
#include "os/worker.h"
#include "snapshot/coming.h"
#include "snapshot/write.h"

#define COMING_HORIZON DAYS(30)          /* the default of `sim` */
#define COPY_MAX       ((size_t)1 << 30) /* bytes of a core: about 3 million tasks */

struct live_snapshot {
    struct worker_job job;
    struct worker *worker;
    bool running;
    unsigned number; /* of files so far */
    live_snapshot_ready ready;
    void *ctx;
    /* Owned by the thread while it runs. */
    struct core *copy;
    struct coming coming;
    char **prefixes; /* of ids, by the symbol of their project; NULL: none */
    size_t prefix_count;
    char *preset, *path;
    bool anonymous;
    int fd;
    struct error err;
};

PART_STATE(live_snapshot, struct live_snapshot, live_snapshot_of)

static char *folder_of(const struct engine *e) {
    return xasprintf("%s/snapshots", e->home);
}

static void clear(struct live_snapshot *s) {
    core_free(s->copy);
    for (size_t i = 0; i < s->prefix_count; i++)
        free(s->prefixes[i]);
    free(s->prefixes);
    coming_finish(&s->coming);
    free(TAKE_PTR(s->preset));
    free(TAKE_PTR(s->path));
    s->copy = NULL;
    s->prefixes = NULL;
    s->prefix_count = 0;
}

/* --- writing --------------------------------------------------------------------------------- */

static int write_piece(void *ctx, const char *bytes, size_t size) {
    struct live_snapshot *s = ctx;
    while (size > 0) {
        ssize_t n = write(s->fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set(&s->err, n < 0 ? -errno : -EIO, "cannot write '%s': %s", s->path,
                             strerror(n < 0 ? errno : EIO));
        bytes += n;
        size -= (size_t)n;
    }
    return 0;
}

/* "nightly@1794970800#3": it has no id yet. */
static void print_coming_id(const struct live_snapshot *s, task_id task, struct strbuf *out) {
    const struct coming_task *one = &s->coming.tasks[task - s->coming.tasks[0].spec.id];
    strbuf_printf(out, "%s@%" PRId64 "#%" PRIu64, symbol_name(core_symbols(s->copy), one->schedule),
                  one->at / 1000, task);
}

/* As engine_task_id. */
static void print_id(const void *ctx, const struct core *core, task_id task, struct strbuf *out) {
    const struct live_snapshot *s = ctx;
    struct task_view view;
    if (s->coming.task_count > 0 && task >= s->coming.tasks[0].spec.id) {
        print_coming_id(s, task, out);
        return;
    }
    const char *prefix = NULL;
    if (core_task(core, task, &view) && view.project < s->prefix_count)
        prefix = s->prefixes[view.project];
    if (prefix)
        strbuf_printf(out, "%s-%" PRIu64, prefix, task);
    else
        strbuf_printf(out, "#%" PRIu64, task);
}

static void write_snapshot(void *ctx, struct worker_job *job) {
    struct live_snapshot *s = (struct live_snapshot *)job;
    (void)ctx;
    struct snapshot_source source = { .core = s->copy,
                                      .preset = s->preset,
                                      .anonymous = s->anonymous,
                                      .task_name = print_id,
                                      .ctx = s,
                                      .coming = &s->coming };
    s->fd = outside_create(AT_FDCWD, s->path, &s->err);
    if (s->fd >= 0) {
        (void)snapshot_write(&source, write_piece, s, &s->err);
        close(s->fd);
    }
}

static void written(void *ctx, struct worker_job *job, bool was_run) {
    struct live_snapshot *s = (struct live_snapshot *)job;
    (void)ctx;
    (void)was_run;
    s->running = false;
    _cleanup_(freep) char *path = TAKE_PTR(s->path);
    clear(s);
    if (!s->worker)
        error_set(&s->err, -ESHUTDOWN, "the daemon is stopping");
    if (s->err.code)
        unlink(path);
    s->ready(s->ctx, s->err.code ? NULL : path, &s->err);
}

/* --- life ------------------------------------------------------------------------------------ */

static void live_snapshot_init(struct engine *e) {
    static const struct worker_calls calls = { .run = write_snapshot, .done = written };
    live_snapshot_of(e)->worker = worker_new(e->loop, &calls, NULL);
    _cleanup_(freep) char *folder = folder_of(e);
    private_folder_clear(folder);
}

static void live_snapshot_free(struct engine *e) {
    worker_free(TAKE_PTR(live_snapshot_of(e)->worker), WORKER_DROP, 0);
}

/* --- starting -------------------------------------------------------------------------------- */

static void take_prefixes(struct engine *e, struct live_snapshot *s) {
    s->prefix_count = (size_t)core_symbols(e->core)->count + 1;
    s->prefixes = xcalloc(s->prefix_count, sizeof(*s->prefixes));
    for (size_t i = 0; i < engine_project_count(e); i++) {
        const struct engine_project *project = engine_project_at(e, i);
        if (project->symbol < s->prefix_count && !s->prefixes[project->symbol])
            s->prefixes[project->symbol] = xstrdup(project->prefix);
    }
}

int engine_snapshot(struct engine *e, bool anonymous, live_snapshot_ready ready, void *ctx,
                    struct error *err) {
    struct live_snapshot *s = live_snapshot_of(e);
    struct core_counts counts;
    core_count(e->core, &counts);
    if (s->running)
        return error_set(err, -EBUSY, "another snapshot is being written: ask again");
    if (counts.bytes > COPY_MAX)
        return error_set(err, -EFBIG,
                         "the queue is too large for a snapshot (%zu MB; maximum is "
                         "%zu MB)",
                         counts.bytes >> 20, COPY_MAX >> 20);
    _cleanup_(freep) char *folder = folder_of(e);
    int r = folders_make(folder, strlen(e->home), err);
    if (r < 0)
        return r;
    s->path = xasprintf("%s/%u.json", folder, ++s->number);
    s->preset = xstrdup(config_preset(e->config));
    s->anonymous = anonymous;
    s->err = (struct error){ 0 };
    take_prefixes(e, s);
    r = engine_coming(e, e->config, COMING_HORIZON, &s->coming, err);
    if (r < 0) {
        clear(s);
        return r;
    }
    s->copy = core_copy(e->core);
    r = worker_submit(s->worker, &s->job);
    if (r < 0) {
        clear(s);
        return error_set(err, r, "cannot start a thread: %s", strerror(-r));
    }
    s->running = true;
    s->ready = ready;
    s->ctx = ctx;
    return 0;
}

const struct engine_part live_snapshot_part = {
    .state_size = sizeof(struct live_snapshot),
    .at = { [STEP_INIT] = live_snapshot_init, [STEP_FREE] = live_snapshot_free },
};
