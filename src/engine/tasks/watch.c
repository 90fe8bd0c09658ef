/* watch.c: inotify, the DONE markers, and polling once a minute.
 *
 * A marker that appears while its task waits ends the wait at once, whatever it waits for. While
 * the task runs it is ignored: the end of the run checks it. Events are read again at the beginning
 * of each turn, so a marker that existed before a turn is known before its decision. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "engine/alerts/alerts_internal.h"
#include "engine/runs/runs_internal.h"
#include "engine/tasks/tasks_internal.h"
#include "os/loop.h"
#include "os/outside.h"

/* --- artifacts -------------------------------------------------------------------------------- */

/* Which tasks wait for which artifact, and where it would appear. The folder of the path is
 * watched, or its nearest existing parent. When the missing name appears there, the path is
 * resolved again from the top, so folders may appear one by one, disappear and return. The path is
 * checked once more after the watch is set, so nothing is missed in between. */

#define READ_EACH  256u
#define ITERATION  "{iteration}"
#define FOLDER_SET (IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF)

static struct wanted *wanted_at(const struct watch *w, uint32_t handle) {
    return slab_at(&w->wanted, handle);
}

static struct watched *watched_at(const struct watch *w, uint32_t handle) {
    return slab_at(&w->watched_all, handle);
}

static struct siblings *siblings_at(const struct watch *w, uint32_t handle) {
    return slab_at(&w->siblings_all, handle);
}

static bool same_task(const void *ctx, uint32_t handle, const void *key) {
    return wanted_at(ctx, handle)->task == *(const task_id *)key;
}

static bool same_wd(const void *ctx, uint32_t handle, const void *key) {
    return watched_at(ctx, handle)->wd == *(const int *)key;
}

static bool same_parent(const void *ctx, uint32_t handle, const void *key) {
    return siblings_at(ctx, handle)->parent == *(const task_id *)key;
}

static uint32_t find_wanted(const struct watch *w, task_id task) {
    return id_map_find(&w->by_task, hash_u64(task), &task);
}

static bool watch_has_work(const struct engine *e) {
    const struct watch *w = watch_of(e);
    return w->scan || w->marked.count > 0 || w->found.count > 0
           || (!w->is_querying && w->read < w->unread.count);
}

/* --- paths ----------------------------------------------------------------------------------- */

static void resolve(const struct engine *e, const char *artifact, task_id parent,
                    struct strbuf *out) {
    struct task_view view = { .iteration = 1 };
    char id[ENGINE_ID_MAX];
    if (*artifact == '/') {
        strbuf_puts(out, artifact);
        return;
    }
    (void)core_task(e->core, parent, &view);
    strbuf_printf(out, "%s/tasks/%s/", e->data, engine_task_id(e, parent, id));
    for (const char *at = artifact; *at;) {
        if (strncmp(at, ITERATION, strlen(ITERATION)) == 0) {
            strbuf_printf(out, "%03" PRIu32, view.iteration);
            at += strlen(ITERATION);
        } else {
            strbuf_putc(out, *at++);
        }
    }
}

/* Nothing below the folder of an unfinished task counts. */
static bool is_due(const struct engine *e, task_id parent) {
    enum task_state state = state_of(e, parent);
    return parent == 0 || state == TASK_ABSENT || state == TASK_DONE;
}

static bool exists(const char *path) {
    return access(path, F_OK) == 0;
}

static task_id parent_of(const char *artifact, task_id parent) {
    return *artifact == '/' ? 0 : parent;
}

bool artifact_is_there(const struct engine *e, const char *artifact, task_id parent) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    if (!is_due(e, parent_of(artifact, parent)))
        return false;
    resolve(e, artifact, parent, &path);
    return exists(strbuf_text(&path));
}

bool engine_artifact(const struct engine *e, task_id task, struct strbuf *out) {
    uint32_t handle = find_wanted(watch_of(e), task);
    if (!handle)
        return false;
    const struct wanted *x = wanted_at(watch_of(e), handle);
    resolve(e, x->artifact, x->parent, out);
    return true;
}

/* --- lists ----------------------------------------------------------------------------------- */

static void watched_drop(struct watch *w, uint32_t watched) {
    struct watched *s = watched_at(w, watched);
    id_map_remove(&w->by_wd, hash_u64((uint64_t)s->wd), &s->wd);
    free(s->path);
    slab_free(&w->watched_all, watched);
}

static void leave_watched(struct watch *w, uint32_t handle) {
    struct wanted *x = wanted_at(w, handle);
    uint32_t watched = x->watched;
    SLAB_LIST_REMOVE(wanted_at, w, watched_at(w, watched)->first, handle, next, previous);
    x->watched = 0;
    if (watched_at(w, watched)->first)
        return;
    (void)inotify_rm_watch(w->fd, watched_at(w, watched)->wd);
    watched_drop(w, watched);
}

static void leave_siblings(struct watch *w, uint32_t handle) {
    struct wanted *x = wanted_at(w, handle);
    uint32_t siblings = id_map_find(&w->by_parent, hash_u64(x->parent), &x->parent);
    struct siblings *b = siblings_at(w, siblings);
    SLAB_LIST_REMOVE(wanted_at, w, b->first, handle, next, previous);
    x->waits_for_parent = false;
    if (b->first)
        return;
    id_map_remove(&w->by_parent, hash_u64(x->parent), &x->parent);
    slab_free(&w->siblings_all, siblings);
}

static void leave(struct watch *w, uint32_t handle) {
    if (wanted_at(w, handle)->waits_for_parent)
        leave_siblings(w, handle);
    else if (wanted_at(w, handle)->watched)
        leave_watched(w, handle);
}

static void enter_siblings(struct watch *w, uint32_t handle) {
    struct wanted *x = wanted_at(w, handle);
    uint32_t siblings = id_map_find(&w->by_parent, hash_u64(x->parent), &x->parent);
    if (!siblings) {
        siblings = slab_alloc(&w->siblings_all);
        siblings_at(w, siblings)->parent = x->parent;
        id_map_add(&w->by_parent, hash_u64(x->parent), siblings);
    }
    SLAB_LIST_PUSH(wanted_at, w, siblings_at(w, siblings)->first, handle, next, previous);
    x->waits_for_parent = true;
}

/* --- placing --------------------------------------------------------------------------------- */

/* The watch of a folder; 0: the kernel has none, or the folder is watched by another name. */
static uint32_t find_watched(struct watch *w, const char *folder) {
    int wd = w->fd < 0 ? -1 : inotify_add_watch(w->fd, folder, FOLDER_SET | IN_ONLYDIR);
    if (wd < 0)
        return 0;
    uint32_t watched = id_map_find(&w->by_wd, hash_u64((uint64_t)wd), &wd);
    if (watched)
        return strcmp(watched_at(w, watched)->path, folder) == 0 ? watched : 0;
    if (wd == w->done_wd)
        return 0;
    watched = slab_alloc(&w->watched_all);
    *watched_at(w, watched) = (struct watched){ .wd = wd, .path = xstrdup(folder) };
    id_map_add(&w->by_wd, hash_u64((uint64_t)wd), watched);
    return watched;
}

/* Truncates the path to the nearest existing folder; returns the missing name that follows. */
static const char *nearest_folder(char *path) {
    struct stat st;
    for (char *slash = strrchr(path, '/'); slash; slash = strrchr(path, '/')) {
        char *name = slash + 1;
        if (slash == path)
            return name; /* the caller knows that "" is / */
        *slash = '\0';
        if (stat(path, &st) == 0)
            return name;
    }
    return path;
}

static uint32_t hash_name(const char *name) {
    return (uint32_t)hash_bytes(name, strcspn(name, "/"));
}

static void place_by_path(struct watch *w, uint32_t handle, const char *path) {
    struct wanted *x = wanted_at(w, handle);
    for (int tries = 0; tries < 8; tries++) { /* folders may be created one after the other */
        if (exists(path)) {
            if (!x->seen)
                *LIST_ADD(&w->found) = x->task;
            x->seen = true;
            return;
        }
        _cleanup_(freep) char *folder = xstrdup(path);
        const char *name = nearest_folder(folder);
        bool is_root = name == folder + 1;
        _cleanup_(freep) char *missing = xstrndup(name, strcspn(name, "/"));
        if (is_root)
            folder[1] = '\0';
        uint32_t watched = find_watched(w, folder);
        if (!watched)
            break;
        x->watched = watched;
        x->name = hash_name(missing);
        SLAB_LIST_PUSH(wanted_at, w, watched_at(w, watched)->first, handle, next, previous);
        _cleanup_(freep) char *next = xasprintf("%s/%s", folder, missing);
        if (!exists(next))
            return;
        leave_watched(w, handle);
    }
    *LIST_ADD(&w->slow) = x->task;
}

static void place(struct engine *e, uint32_t handle) {
    struct watch *w = watch_of(e);
    const struct wanted *x = wanted_at(w, handle);
    if (!is_due(e, x->parent)) {
        enter_siblings(w, handle);
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    resolve(e, x->artifact, x->parent, &path);
    place_by_path(w, handle, strbuf_text(&path));
}

static void watch_again(struct engine *e, uint32_t handle) {
    leave(watch_of(e), handle);
    if (!wanted_at(watch_of(e), handle)->seen)
        place(e, handle);
}

void artifact_want(struct engine *e, task_id task, const char *artifact, task_id parent) {
    struct watch *w = watch_of(e);
    if (find_wanted(w, task))
        return;
    uint32_t handle = slab_alloc(&w->wanted);
    *wanted_at(w, handle) = (struct wanted){ .task = task,
                                             .parent = parent_of(artifact, parent),
                                             .artifact = xstrdup(artifact),
                                             .position = (uint32_t)w->all.count };
    *LIST_ADD(&w->all) = handle;
    id_map_add(&w->by_task, hash_u64(task), handle);
    place(e, handle);
}

static void drop(struct watch *w, uint32_t handle) {
    struct wanted *x = wanted_at(w, handle);
    leave(w, handle);
    id_map_remove(&w->by_task, hash_u64(x->task), &x->task);
    uint32_t last = w->all.items[--w->all.count];
    w->all.items[x->position] = last;
    wanted_at(w, last)->position = x->position;
    if (w->slow.count > 0 && w->slow.items[w->slow.count - 1] == x->task)
        w->slow.count--; /* the usual case: no longer polled */
    free(x->artifact);
    slab_free(&w->wanted, handle);
}

static void drop_all(struct watch *w) {
    while (w->all.count > 0)
        drop(w, w->all.items[w->all.count - 1]);
}

static void artifact_forget(struct engine *e, task_id task) {
    uint32_t handle = find_wanted(watch_of(e), task);
    if (handle)
        drop(watch_of(e), handle);
}

/* --- what happens ---------------------------------------------------------------------------- */

/* A new file with a single link: its creator has it open and will close it. Else polling finds
 * it. */
static bool is_being_written(const struct engine *e, const struct wanted *x) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct stat st;
    resolve(e, x->artifact, x->parent, &path);
    return lstat(strbuf_text(&path), &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1;
}

/* `unfinished`: just created, perhaps still being written. */
static void artifact_appeared(struct engine *e, int wd, const char *name, bool unfinished) {
    struct watch *w = watch_of(e);
    uint32_t watched = id_map_find(&w->by_wd, hash_u64((uint64_t)wd), &wd), hash = hash_name(name);
    for (uint32_t h = watched ? watched_at(w, watched)->first : 0, next; h; h = next) {
        const struct wanted *x = wanted_at(w, h);
        next = x->next;
        if (x->name != hash)
            continue;
        if (unfinished && is_being_written(e, x))
            *LIST_ADD(&w->slow) = x->task;
        else
            watch_again(e, h);
    }
}

static void artifacts_folder_removed(struct engine *e, int wd, bool ignored) {
    struct watch *w = watch_of(e);
    uint32_t watched = id_map_find(&w->by_wd, hash_u64((uint64_t)wd), &wd);
    if (!watched)
        return;
    LIST(uint32_t) left = { 0 };
    while (watched_at(w, watched)->first) {
        uint32_t handle = watched_at(w, watched)->first;
        SLAB_LIST_REMOVE(wanted_at, w, watched_at(w, watched)->first, handle, next, previous);
        wanted_at(w, handle)->watched = 0;
        *LIST_ADD(&left) = handle;
    }
    if (!ignored)
        (void)inotify_rm_watch(w->fd, wd);
    watched_drop(w, watched);
    for (size_t i = 0; i < left.count; i++)
        watch_again(e, left.items[i]);
    free(left.items);
}

static void artifacts_check_polled(struct engine *e) {
    struct watch *w = watch_of(e);
    size_t count = w->slow.count;
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        uint32_t handle = find_wanted(w, w->slow.items[i]);
        if (handle)
            watch_again(e, handle); /* it may be moved to the end again */
    }
    memmove(w->slow.items, w->slow.items + count, (w->slow.count - count) * sizeof(task_id));
    w->slow.count -= count;
}

/* --- from the store -------------------------------------------------------------------------- */

struct artifact_question {
    struct engine *e;
    uint32_t generation;
};

static void take_spec(struct engine *e, const struct spec_row *row) {
    struct task_spec spec;
    json_t *json = json_loadb(row->json, row->json_size, 0, NULL);
    const char *artifact = json_string_value(json_object_get(json, "artifact"));
    if (artifact && core_task_spec(e->core, row->id, &spec) && spec.artifact_missing)
        artifact_want(e, row->id, artifact, spec.parent);
    json_decref(json);
}

static void specs_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct artifact_question *q = ctx;
    struct engine *e = q->e;
    if (err)
        turn_break(e, err);
    if (!err && q->generation == watch_of(e)->generation) {
        watch_of(e)->is_querying = false;
        for (size_t i = 0; i < answer->count; i++)
            take_spec(e, &answer->specs[i]);
        if (watch_has_work(e))
            turn_wake(e);
    }
    free(q);
}

static void artifacts_read_some(struct engine *e) {
    struct watch *w = watch_of(e);
    size_t left = w->unread.count - w->read;
    if (left == 0 || w->is_querying)
        return;
    struct artifact_question *q = xcalloc(1, sizeof(*q));
    *q = (struct artifact_question){ .e = e, .generation = w->generation };
    struct store_query question = { .kind = QUERY_SPECS,
                                    .tasks = w->unread.items + w->read,
                                    .task_count = left < READ_EACH ? left : READ_EACH };
    w->read += question.task_count;
    w->is_querying = true;
    store_query(e->store, &question, specs_answered, q);
}

#define POLL_EVERY  MINUTES(1)
#define MARKERS_MAX 1000000u /* a run can create any number */
#define APPEARED    (IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE)

/* --- markers --------------------------------------------------------------------------------- */

enum marker marker_read(const struct engine *e, task_id task) {
    char id[ENGINE_ID_MAX];
    engine_task_id(e, task, id);
    _cleanup_(freep) char *path = launch_marker_path(e, task);
    _cleanup_(freep) char *own = xasprintf("%s/tasks/%s/" ITERATION_OWN "/%s", e->data, id, id);
    struct stat st;
    if (stat(path, &st) < 0 && lstat(own, &st) < 0)
        return MARKER_NONE;
    return S_ISREG(st.st_mode) ? MARKER_FILE : MARKER_NO_FILE;
}

int marker_error(const struct engine *e, task_id task, struct error *err) {
    _cleanup_(freep) char *path = launch_marker_path(e, task);
    return error_set(err, -EISDIR, "the DONE marker '%s' is not a file; remove it", path);
}

int engine_mark_done(struct engine *e, task_id task, struct error *err) {
    _cleanup_(freep) char *path = launch_marker_path(e, task);
    struct error why = { 0 };
    int fd = outside_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL, NULL, &why);
    if (fd == -EEXIST)
        return marker_read(e, task) == MARKER_FILE ? 1 : marker_error(e, task, err);
    if (fd < 0)
        return error_set(err, fd, "cannot make the DONE marker: %s", why.text);
    close(fd);
    return 0;
}

bool marker_is_held(const struct task_spec *t) {
    return t->state == TASK_HELD && t->hold == HOLD_MARKER;
}

/* A person's hold and a verdict take precedence: when they let it continue, it is checked then. */
static bool may_be_held(const struct task_view *t) {
    if (t->state == TASK_HELD)
        return t->hold == HOLD_BACKOFF || t->hold == HOLD_RESTART || t->hold == HOLD_BREAKER;
    return t->state == TASK_WAITING || t->state == TASK_READY;
}

void marker_hold(struct engine *e, task_id task) {
    struct task_view t;
    if (!core_task(e->core, task, &t) || t.until != UNTIL_DONE || !may_be_held(&t)
        || marker_read(e, task) != MARKER_NO_FILE)
        return;
    struct fact fact = { .kind = FACT_HOLD, .task = task, .marker = true };
    if (engine_apply(e, &fact, NULL) != 0)
        return;
    char id[ENGINE_ID_MAX];
    struct error why = { 0 };
    (void)marker_error(e, task, &why);
    _cleanup_(freep) char *key = xasprintf("marker:%s", engine_task_id(e, task, id));
    alert_raise(e, key, task, 0, "'%s' is held: %s, and it goes on", id, why.text);
}

static void watch_applied(struct engine *e, const struct fact *fact) {
    char id[ENGINE_ID_MAX];
    if (fact->kind == FACT_DELETE || fact->kind == FACT_FORGET)
        artifact_forget(e, fact->task);
    /* The marker belongs to work that is done again. Removed before the commit: a crash must not
     * leave it, and in these states a task does not need it. */
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
    if (waits_for_marker(e, task) && marker_read(e, task) == MARKER_FILE)
        *LIST_ADD(&watch_of(e)->marked) = task;
}

static void note_marker(struct engine *e, const char *name) {
    task_id task = *name == '.' ? 0 : engine_task_of_id(e, name, NULL);
    if (task && waits_for_marker(e, task))
        *LIST_ADD(&watch_of(e)->marked) = task;
}

static void scan_markers(struct engine *e) {
    watch_of(e)->scan = false;
    _cleanup_(freep) char *path = xasprintf("%s/done", e->data);
    struct outside_list folder;
    (void)outside_list_open(&folder, path, MARKERS_MAX);
    for (const char *name; (name = outside_list_next(&folder));)
        note_marker(e, name);
    outside_list_close(&folder);
}

static void apply_marked(struct engine *e) {
    struct watch *w = watch_of(e);
    for (size_t i = 0; i < w->marked.count; i++) {
        struct fact fact = { .kind = FACT_MARKED, .task = w->marked.items[i] };
        struct task_spec spec;
        enum marker marker = marker_read(e, fact.task);
        if (marker == MARKER_NO_FILE)
            marker_hold(e, fact.task);
        else if (marker == MARKER_NONE && core_task_spec(e->core, fact.task, &spec)
                 && marker_is_held(&spec))
            fact.kind = FACT_RELEASE; /* it was removed */
        if (marker == MARKER_FILE || fact.kind == FACT_RELEASE)
            (void)engine_apply(e, &fact, NULL);
    }
    w->marked.count = 0;
}

/* --- the kernel ------------------------------------------------------------------------------ */

static void take_event(void *ctx, const struct inotify_event *event) {
    struct engine *e = ctx;
    struct watch *w = watch_of(e);
    const char *name = event->len > 0 ? event->name : "";
    if (event->mask & IN_Q_OVERFLOW) { /* events were lost: check everything */
        w->scan = true;
        for (size_t i = 0; i < w->all.count; i++)
            watch_again(e, w->all.items[i]);
    } else if (event->wd == w->done_wd) {
        if (event->mask & (APPEARED | IN_DELETE | IN_MOVED_FROM))
            note_marker(e, name);
        if (event->mask & IN_IGNORED)
            w->done_wd = -1;
    } else if (event->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) {
        artifacts_folder_removed(e, event->wd, (event->mask & IN_IGNORED) != 0);
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
    inotify_read(watch_of(e)->fd, take_event, e);
    if (watch_has_work(e))
        turn_wake(e);
}

static void watch_done_folder(struct engine *e) {
    _cleanup_(freep) char *path = xasprintf("%s/done", e->data);
    if (watch_of(e)->fd >= 0 && watch_of(e)->done_wd < 0)
        watch_of(e)->done_wd =
            inotify_add_watch(watch_of(e)->fd, path,
                              IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR);
}

static void watch_init(struct engine *e) {
    struct watch *w = watch_of(e);
    w->done_wd = -1;
    w->poll_at = TIME_NEVER;
    slab_init(&w->wanted, sizeof(struct wanted));
    slab_init(&w->watched_all, sizeof(struct watched));
    slab_init(&w->siblings_all, sizeof(struct siblings));
    id_map_init(&w->by_task, same_task, w);
    id_map_init(&w->by_wd, same_wd, w);
    id_map_init(&w->by_parent, same_parent, w);
    w->fd = inotify_open(e->loop, on_ready, e, &w->ready);
}

static void watch_free(struct engine *e) {
    struct watch *w = watch_of(e);
    loop_unwatch(e->loop, w->ready);
    drop_all(w);
    slab_finish(&w->wanted);
    slab_finish(&w->watched_all);
    slab_finish(&w->siblings_all);
    id_map_finish(&w->by_task);
    id_map_finish(&w->by_wd);
    id_map_finish(&w->by_parent);
    free(w->all.items);
    free(w->found.items);
    free(w->slow.items);
    free(w->unread.items);
    free(w->marked.items);
    if (w->fd >= 0)
        close(w->fd);
}

/* --- in the turn ----------------------------------------------------------------------------- */

/* A new core is being loaded: everything is checked again. */
static void watch_loading(struct engine *e) {
    struct watch *w = watch_of(e);
    drop_all(w);
    w->found.count = w->slow.count = w->unread.count = w->read = 0;
    w->is_querying = false;
    w->generation++;
    w->marked.count = 0;
    w->scan = true;
    w->poll_at = TIME_NEVER;
    watch_done_folder(e);
}

/* Of an artifact, only the store knows the path. A marker that was not a file when the daemon
 * stopped may have been removed since. */
static void watch_load_task(struct engine *e, struct task_spec *spec) {
    if (spec->artifact_missing && spec->state != TASK_DONE && spec->state != TASK_INVALIDATED)
        *LIST_ADD(&watch_of(e)->unread) = spec->id;
    if (marker_is_held(spec))
        *LIST_ADD(&watch_of(e)->marked) = spec->id;
}

/* Called after every turn. */
static time_ms watch_next(const struct engine *e) {
    struct watch *w = watch_of(e);
    struct core_counts counts = { 0 };
    if (w->done_wd < 0) /* any waiting task could be marked */
        core_count(e->core, &counts);
    if (w->slow.count == 0 && counts.by_state[TASK_WAITING] == 0 && counts.by_state[TASK_READY] == 0
        && counts.by_state[TASK_HELD] == 0)
        w->poll_at = TIME_NEVER;
    else if (w->poll_at == TIME_NEVER)
        w->poll_at = time_add(e->now, POLL_EVERY);
    return w->poll_at;
}

static void poll_again(struct engine *e) {
    struct watch *w = watch_of(e);
    if (w->poll_at > e->now)
        return;
    w->poll_at = TIME_NEVER;
    watch_done_folder(e);
    w->scan = true;
    artifacts_check_polled(e);
}

static void apply_found(struct engine *e) {
    struct watch *w = watch_of(e);
    for (size_t i = 0; i < w->found.count; i++) {
        struct fact fact = { .kind = FACT_ARTIFACT, .task = w->found.items[i] };
        fact.artifact_present = true;
        (void)engine_apply(e, &fact, NULL);
        artifact_forget(e, fact.task);
    }
    w->found.count = 0;
}

/* Applies what was seen to the core. Before the requests of a turn. */
static void watch_apply(struct engine *e) {
    inotify_read(watch_of(e)->fd, take_event, e);
    artifacts_read_some(e);
    poll_again(e);
    if (watch_of(e)->scan)
        scan_markers(e);
    apply_marked(e);
    apply_found(e);
}

/* A finished task: checks the tasks that wait for its artifacts; the next turn applies it. */
static void watch_ordered(struct engine *e, const struct order *order, size_t count) {
    struct watch *w = watch_of(e);
    uint32_t siblings;
    (void)count;
    if (order->kind != ORDER_CHANGE)
        return;
    while (order->to == TASK_DONE
           && (siblings = id_map_find(&w->by_parent, hash_u64(order->task), &order->task)))
        watch_again(e, siblings_at(w, siblings)->first);
    if (watch_has_work(e))
        turn_wake(e);
}

const struct engine_part watch_part = {
    .state_size = sizeof(struct watch),
    .at = { [STEP_INIT] = watch_init,
            [STEP_UNLOAD] = watch_loading,
            [STEP_FACTS] = watch_apply,
            [STEP_FREE] = watch_free },
    .applied = watch_applied,
    .ordered = watch_ordered,
    .load_task = watch_load_task,
    .has_work = watch_has_work,
    .next_wakeup = watch_next,
};
