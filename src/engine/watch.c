/* watch.c: inotify, the DONE markers, and the look once a minute.
 *
 * A marker that appears while its task waits ends the wait at once, whatever it waits for. While it runs
 * nobody cares: the end of the run looks. Events are read once more at the beginning of each turn, so a
 * marker that was there before a turn is known before that turn decides. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/alert_internal.h"
#include "engine/iteration.h"
#include "engine/watch_internal.h"
#include "os/inotify.h"
#include "os/outside.h"

#define LOOK_EVERY  MINUTES(1)
#define MARKERS_MAX 1000000u /* a run can make as many as it likes */
#define APPEARED    (IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE)

/* --- markers --------------------------------------------------------------------------------- */

enum marker marker_look(const struct engine *e, task_id task) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct stat st;
    launch_marker_path(e, task, &path);
    if (stat(strbuf_text(&path), &st) < 0) {
        char id[ENGINE_ID_MAX];
        engine_task_id(e, task, id);
        strbuf_clear(&path);
        strbuf_printf(&path, "%s/tasks/%s/" ITERATION_OWN "/%s", e->data, id, id);
        if (lstat(strbuf_text(&path), &st) < 0)
            return MARKER_NONE;
    }
    return S_ISREG(st.st_mode) ? MARKER_FILE : MARKER_NO_FILE;
}

int marker_complain(const struct engine *e, task_id task, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    launch_marker_path(e, task, &path);
    return error_set(err, -EISDIR, "the DONE marker '%s' is not a file; remove it",
                     strbuf_text(&path));
}

static bool is_held_by_marker(const struct engine *e, task_id task) {
    struct task_view t;
    return core_task(e->core, task, &t) && t.state == TASK_HELD && t.hold == HOLD_MARKER;
}

/* A person's hold and a verdict come first: what they let go on is looked at then. */
static bool may_be_held(const struct task_view *t) {
    if (t->state == TASK_HELD)
        return t->hold == HOLD_BACKOFF || t->hold == HOLD_RESTART || t->hold == HOLD_BREAKER;
    return t->state == TASK_WAITING || t->state == TASK_READY;
}

void marker_hold(struct engine *e, task_id task) {
    struct task_view t;
    if (!core_task(e->core, task, &t) || t.until != UNTIL_DONE || !may_be_held(&t)
        || marker_look(e, task) != MARKER_NO_FILE)
        return;
    struct fact fact = { .kind = FACT_HOLD, .task = task, .marker = true };
    if (engine_tell(e, &fact, NULL) != 0)
        return;
    char id[ENGINE_ID_MAX];
    struct error why = { 0 };
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT;
    (void)marker_complain(e, task, &why);
    strbuf_printf(&key, "marker:%s", engine_task_id(e, task, id));
    alert_raise(e, strbuf_text(&key), task, 0, "'%s' is held: %s, and it goes on", id, why.text);
}

bool marker_alert_is_over(const struct engine *e, const struct alert *alert) {
    return !is_held_by_marker(e, alert->view.task);
}

void marker_see_fact(struct engine *e, const struct fact *fact) {
    char id[ENGINE_ID_MAX];
    /* The marker was of work that is to be done again. Before the commit: a crash must not leave it, and
     * of a task in these states nobody asks for it. */
    if (fact->kind == FACT_AGAIN || fact->kind == FACT_RETRY || fact->kind == FACT_REJECT)
        launch_remove_marker(e, engine_task_id(e, fact->task, id));
    if (fact->kind == FACT_AGAIN || fact->kind == FACT_RETRY || fact->kind == FACT_REJECT
        || fact->kind == FACT_RELEASE || fact->kind == FACT_SLING)
        marker_hold(e, fact->task);
}

static bool waits_for_marker(const struct engine *e, task_id task) {
    struct task_view t;
    return core_task(e->core, task, &t) && t.until == UNTIL_DONE
           && (t.state == TASK_WAITING || t.state == TASK_READY || t.state == TASK_HELD);
}

void watch_note_marker(struct engine *e, task_id task) {
    marker_hold(e, task); /* at once: its next attempt may be due in this turn */
    if (waits_for_marker(e, task) && marker_look(e, task) == MARKER_FILE)
        *LIST_ADD(&watch_of(e)->marked) = task;
}

static void note_marker(struct engine *e, const char *name) {
    task_id task = *name == '.' ? 0 : engine_task_of_id(e, name, NULL);
    if (task && waits_for_marker(e, task))
        *LIST_ADD(&watch_of(e)->marked) = task;
}

static void scan_markers(struct engine *e) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    watch_of(e)->scan = false;
    strbuf_printf(&path, "%s/done", e->data);
    struct outside_list folder;
    (void)outside_list_open(&folder, strbuf_text(&path), MARKERS_MAX);
    for (const char *name; (name = outside_list_next(&folder));)
        note_marker(e, name);
    outside_list_close(&folder);
}

static void tell_marked(struct engine *e) {
    struct watch *w = watch_of(e);
    for (size_t i = 0; i < w->marked.count; i++) {
        struct fact fact = { .kind = FACT_MARKED, .task = w->marked.items[i] };
        enum marker marker = marker_look(e, fact.task);
        if (marker == MARKER_NO_FILE)
            marker_hold(e, fact.task);
        else if (marker == MARKER_NONE && is_held_by_marker(e, fact.task))
            fact.kind = FACT_RELEASE; /* it was removed */
        if (marker == MARKER_FILE || fact.kind == FACT_RELEASE)
            (void)engine_tell(e, &fact, NULL);
    }
    w->marked.count = 0;
}

/* --- the kernel ------------------------------------------------------------------------------ */

static void handle(void *ctx, const struct inotify_event *event) {
    struct engine *e = ctx;
    struct watch *w = watch_of(e);
    const char *name = event->len > 0 ? event->name : "";
    if (event->mask & IN_Q_OVERFLOW) { /* we have missed something: look at everything */
        w->scan = true;
        artifacts_look_at_all(e);
    } else if (event->wd == w->done_wd) {
        if (event->mask & (APPEARED | IN_DELETE | IN_MOVED_FROM))
            note_marker(e, name);
        if (event->mask & IN_IGNORED)
            w->done_wd = -1;
    } else if (event->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) {
        artifacts_folder_gone(e, event->wd, (event->mask & IN_IGNORED) != 0);
    } else if (event->mask & APPEARED) {
        /* A file that is being written counts when it is closed. */
        bool written = (event->mask & IN_CREATE) != 0 && !(event->mask & IN_ISDIR);
        artifact_appeared(e, event->wd, name, written);
    }
}

static void on_ready(void *ctx, int fd, unsigned events) {
    struct engine *e = ctx;
    (void)fd;
    (void)events;
    inotify_read(watch_of(e)->fd, handle, e);
    if (watch_has_work(e))
        turn_wake(e);
}

static void watch_done_folder(struct engine *e) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/done", e->data);
    if (watch_of(e)->fd >= 0 && watch_of(e)->done_wd < 0)
        watch_of(e)->done_wd =
            inotify_add_watch(watch_of(e)->fd, strbuf_text(&path),
                              IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR);
}

static void watch_init(struct engine *e) {
    struct watch *w = watch_of(e);
    w->done_wd = -1;
    w->look_at = TIME_NEVER;
    artifacts_init(w);
    w->fd = inotify_open(e->loop, on_ready, e, &w->ready);
}

static void watch_free(struct engine *e) {
    struct watch *w = watch_of(e);
    loop_unwatch(e->loop, w->ready);
    artifacts_finish(w);
    free(w->marked.items);
    if (w->fd >= 0)
        close(w->fd);
}

/* --- in the turn ----------------------------------------------------------------------------- */

/* A new core is being told the rows: everything is to be looked at again. */
static void watch_loading(struct engine *e) {
    struct watch *w = watch_of(e);
    artifacts_clear(e);
    w->marked.count = 0;
    w->scan = true;
    w->look_at = TIME_NEVER;
    watch_done_folder(e);
}

void watch_loaded_marker(struct engine *e, task_id task) {
    *LIST_ADD(&watch_of(e)->marked) = task;
}

void watch_loaded_task(struct engine *e, task_id task) {
    *LIST_ADD(&watch_of(e)->unread) = task;
}

bool watch_has_work(const struct engine *e) {
    const struct watch *w = watch_of(e);
    return w->scan || w->marked.count > 0 || w->found.count > 0
           || (!w->asking && w->read < w->unread.count);
}

/* Who could be marked: more than those whom a marker ends, but nobody when nobody waits. */
static bool somebody_waits(const struct engine *e) {
    struct core_counts counts;
    core_count(e->core, &counts);
    return counts.by_state[TASK_WAITING] + counts.by_state[TASK_READY] + counts.by_state[TASK_HELD]
           > 0;
}

/* Asked after every turn, whatever that has brought. */
static time_ms watch_next(const struct engine *e) {
    struct watch *w = watch_of(e);
    bool needed = w->slow.count > 0 || (w->done_wd < 0 && somebody_waits(e));
    if (!needed)
        w->look_at = TIME_NEVER;
    else if (w->look_at == TIME_NEVER)
        w->look_at = time_add(e->now, LOOK_EVERY);
    return w->look_at;
}

static void look_again(struct engine *e) {
    struct watch *w = watch_of(e);
    if (w->look_at > e->now)
        return;
    w->look_at = TIME_NEVER;
    watch_done_folder(e);
    w->scan = true;
    artifacts_look_at_slow(e);
}

static void tell_found(struct engine *e) {
    struct watch *w = watch_of(e);
    for (size_t i = 0; i < w->found.count; i++) {
        struct fact fact = { .kind = FACT_ARTIFACT, .task = w->found.items[i] };
        fact.artifact_present = true;
        (void)engine_tell(e, &fact, NULL);
        artifact_forget(e, fact.task);
    }
    w->found.count = 0;
}

/* Tells the core what was seen. Before the requests of a turn. */
static void watch_tell(struct engine *e) {
    inotify_read(watch_of(e)->fd, handle, e);
    artifacts_read_some(e);
    look_again(e);
    if (watch_of(e)->scan)
        scan_markers(e);
    tell_marked(e);
    tell_found(e);
}

void watch_state_changed(struct engine *e, const struct order *order) {
    if (order->to == TASK_DONE)
        artifacts_parent_done(e, order->task);
    if (watch_has_work(e))
        turn_wake(e);
}

const struct engine_part watch_part = {
    .name = "watch",
    .state_size = sizeof(struct watch),
    .at = { [STEP_INIT] = watch_init,
            [STEP_UNLOAD] = watch_loading,
            [STEP_FACTS] = watch_tell,
            [STEP_FREE] = watch_free },
    .has_work = watch_has_work,
    .next_wakeup = watch_next,
};
