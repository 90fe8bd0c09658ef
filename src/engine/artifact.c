/* artifact.c: who waits for which artifact, and where it would appear.
 *
 * The folder of the path is watched, or the nearest one above it that exists. What appears there under
 * the missing name is looked at again from the top, so folders may come one by one, go and come back.
 * Every placing looks once more after the watch is there: nothing can slip in between. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "engine/watch_internal.h"

#define READ_EACH  256u
#define ITERATION  "{iteration}"
#define FOLDER_SET (IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF)

static struct wanted *wanted_at(const struct watch *w, uint32_t handle) {
    return slab_at(&w->wanted, handle);
}

static struct spot *spot_at(const struct watch *w, uint32_t handle) {
    return slab_at(&w->spots, handle);
}

static bool same_task(const void *ctx, uint32_t handle, const void *key) {
    return wanted_at(ctx, handle)->task == *(const task_id *)key;
}

static bool same_wd(const void *ctx, uint32_t handle, const void *key) {
    return spot_at(ctx, handle)->wd == *(const int *)key;
}

static bool same_parent(const void *ctx, uint32_t handle, const void *key) {
    const struct watch *w = ctx;
    return ((const struct brood *)slab_at(&w->broods, handle))->parent == *(const task_id *)key;
}

void artifacts_init(struct watch *w) {
    slab_init(&w->wanted, sizeof(struct wanted));
    slab_init(&w->spots, sizeof(struct spot));
    slab_init(&w->broods, sizeof(struct brood));
    id_map_init(&w->by_task, same_task, w);
    id_map_init(&w->by_wd, same_wd, w);
    id_map_init(&w->by_parent, same_parent, w);
}

static uint32_t find_wanted(const struct watch *w, task_id task) {
    return id_map_find(&w->by_task, hash_u64(task), &task);
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

/* Below the folder of a task that is not done there is nothing that counts. */
static bool is_due(const struct engine *e, task_id parent) {
    struct task_view view;
    return parent == 0 || !core_task(e->core, parent, &view) || view.state == TASK_DONE;
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

static void push(struct watch *w, uint32_t *first, uint32_t handle) {
    struct wanted *x = wanted_at(w, handle);
    x->previous = 0;
    x->next = *first;
    if (*first)
        wanted_at(w, *first)->previous = handle;
    *first = handle;
}

static void cut(struct watch *w, uint32_t *first, uint32_t handle) {
    struct wanted *x = wanted_at(w, handle);
    if (x->previous)
        wanted_at(w, x->previous)->next = x->next;
    else
        *first = x->next;
    if (x->next)
        wanted_at(w, x->next)->previous = x->previous;
    x->next = x->previous = 0;
}

static void spot_drop(struct watch *w, uint32_t spot) {
    struct spot *s = spot_at(w, spot);
    id_map_remove(&w->by_wd, hash_u64((uint64_t)s->wd), &s->wd);
    free(s->path);
    slab_free(&w->spots, spot);
}

static void leave_spot(struct watch *w, uint32_t handle) {
    struct wanted *x = wanted_at(w, handle);
    uint32_t spot = x->spot;
    cut(w, &spot_at(w, spot)->first, handle);
    x->spot = 0;
    if (spot_at(w, spot)->first)
        return;
    (void)inotify_rm_watch(w->fd, spot_at(w, spot)->wd);
    spot_drop(w, spot);
}

static void leave_brood(struct watch *w, uint32_t handle) {
    struct wanted *x = wanted_at(w, handle);
    uint32_t brood = id_map_find(&w->by_parent, hash_u64(x->parent), &x->parent);
    struct brood *b = slab_at(&w->broods, brood);
    cut(w, &b->first, handle);
    x->waits_for_parent = false;
    if (b->first)
        return;
    id_map_remove(&w->by_parent, hash_u64(x->parent), &x->parent);
    slab_free(&w->broods, brood);
}

static void leave(struct watch *w, uint32_t handle) {
    const struct wanted *x = wanted_at(w, handle);
    if (x->waits_for_parent)
        leave_brood(w, handle);
    else if (x->spot)
        leave_spot(w, handle);
}

static void enter_brood(struct watch *w, uint32_t handle) {
    struct wanted *x = wanted_at(w, handle);
    uint32_t brood = id_map_find(&w->by_parent, hash_u64(x->parent), &x->parent);
    if (!brood) {
        brood = slab_alloc(&w->broods);
        ((struct brood *)slab_at(&w->broods, brood))->parent = x->parent;
        id_map_add(&w->by_parent, hash_u64(x->parent), brood);
    }
    push(w, &((struct brood *)slab_at(&w->broods, brood))->first, handle);
    x->waits_for_parent = true;
}

/* --- placing --------------------------------------------------------------------------------- */

static void note_found(struct watch *w, uint32_t handle) {
    struct wanted *x = wanted_at(w, handle);
    if (!x->seen)
        *LIST_ADD(&w->found) = x->task;
    x->seen = true;
}

/* The watch of a folder; 0: the kernel gives none. Two names of one folder: the second has none. */
static uint32_t find_spot(struct watch *w, const char *folder) {
    int wd = w->fd < 0 ? -1 : inotify_add_watch(w->fd, folder, FOLDER_SET | IN_ONLYDIR);
    if (wd < 0)
        return 0;
    uint32_t spot = id_map_find(&w->by_wd, hash_u64((uint64_t)wd), &wd);
    if (spot)
        return strcmp(spot_at(w, spot)->path, folder) == 0 ? spot : 0;
    if (wd == w->done_wd)
        return 0;
    spot = slab_alloc(&w->spots);
    *spot_at(w, spot) = (struct spot){ .wd = wd, .path = xstrdup(folder) };
    id_map_add(&w->by_wd, hash_u64((uint64_t)wd), spot);
    return spot;
}

/* Cuts the path off at the nearest folder that exists; what follows is the name that is missing. */
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
    for (int tries = 0; tries < 8; tries++) { /* somebody makes one folder after the other */
        if (exists(path)) {
            note_found(w, handle);
            return;
        }
        _cleanup_(freep) char *folder = xstrdup(path);
        const char *name = nearest_folder(folder);
        bool is_root = name == folder + 1;
        _cleanup_(freep) char *missing = xstrndup(name, strcspn(name, "/"));
        if (is_root)
            folder[1] = '\0';
        uint32_t spot = find_spot(w, folder);
        if (!spot)
            break;
        x->spot = spot;
        x->name = hash_name(missing);
        push(w, &spot_at(w, spot)->first, handle);
        _cleanup_(strbuf_finish) struct strbuf next = STRBUF_INIT;
        strbuf_printf(&next, "%s/%s", folder, missing);
        if (!exists(strbuf_text(&next)))
            return;
        leave_spot(w, handle);
    }
    *LIST_ADD(&w->slow) = x->task;
}

static void place(struct engine *e, uint32_t handle) {
    struct watch *w = watch_of(e);
    const struct wanted *x = wanted_at(w, handle);
    if (!is_due(e, x->parent)) {
        enter_brood(w, handle);
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    resolve(e, x->artifact, x->parent, &path);
    place_by_path(w, handle, strbuf_text(&path));
}

static void place_again(struct engine *e, uint32_t handle) {
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
        w->slow.count--; /* the usual case: nobody need look for it any more */
    free(x->artifact);
    slab_free(&w->wanted, handle);
}

void artifact_forget(struct engine *e, task_id task) {
    uint32_t handle = find_wanted(watch_of(e), task);
    if (handle)
        drop(watch_of(e), handle);
}

void artifacts_clear(struct engine *e) {
    struct watch *w = watch_of(e);
    while (w->all.count > 0)
        drop(w, w->all.items[w->all.count - 1]);
    w->found.count = w->slow.count = w->unread.count = w->read = 0;
    w->asking = false;
    w->generation++;
}

void artifacts_finish(struct watch *w) {
    while (w->all.count > 0)
        drop(w, w->all.items[w->all.count - 1]);
    slab_finish(&w->wanted);
    slab_finish(&w->spots);
    slab_finish(&w->broods);
    id_map_finish(&w->by_task);
    id_map_finish(&w->by_wd);
    id_map_finish(&w->by_parent);
    free(w->all.items);
    free(w->found.items);
    free(w->slow.items);
    free(w->unread.items);
}

/* --- what happens ---------------------------------------------------------------------------- */

/* A new file of one name only: who made it has it open, and will close it. Should that not be so, the
 * slow look finds it. */
static bool is_being_written(const struct engine *e, const struct wanted *x) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct stat st;
    resolve(e, x->artifact, x->parent, &path);
    return lstat(strbuf_text(&path), &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1;
}

void artifact_appeared(struct engine *e, int wd, const char *name, bool unfinished) {
    struct watch *w = watch_of(e);
    uint32_t spot = id_map_find(&w->by_wd, hash_u64((uint64_t)wd), &wd), hash = hash_name(name);
    for (uint32_t h = spot ? spot_at(w, spot)->first : 0, next; h; h = next) {
        const struct wanted *x = wanted_at(w, h);
        next = x->next;
        if (x->name != hash)
            continue;
        if (unfinished && is_being_written(e, x))
            *LIST_ADD(&w->slow) = x->task;
        else
            place_again(e, h);
    }
}

void artifacts_folder_gone(struct engine *e, int wd, bool ignored) {
    struct watch *w = watch_of(e);
    uint32_t spot = id_map_find(&w->by_wd, hash_u64((uint64_t)wd), &wd);
    if (!spot)
        return;
    LIST(uint32_t) left = { 0 };
    while (spot_at(w, spot)->first) {
        uint32_t handle = spot_at(w, spot)->first;
        cut(w, &spot_at(w, spot)->first, handle);
        wanted_at(w, handle)->spot = 0;
        *LIST_ADD(&left) = handle;
    }
    if (!ignored)
        (void)inotify_rm_watch(w->fd, wd);
    spot_drop(w, spot);
    for (size_t i = 0; i < left.count; i++)
        place_again(e, left.items[i]);
    free(left.items);
}

void artifacts_look_at_all(struct engine *e) {
    for (size_t i = 0; i < watch_of(e)->all.count; i++)
        place_again(e, watch_of(e)->all.items[i]);
}

void artifacts_look_at_slow(struct engine *e) {
    struct watch *w = watch_of(e);
    size_t count = w->slow.count;
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        uint32_t handle = find_wanted(w, w->slow.items[i]);
        if (handle)
            place_again(e, handle); /* it may be put behind the others again */
    }
    memmove(w->slow.items, w->slow.items + count, (w->slow.count - count) * sizeof(task_id));
    w->slow.count -= count;
}

void artifacts_parent_done(struct engine *e, task_id parent) {
    struct watch *w = watch_of(e);
    uint32_t brood;
    while ((brood = id_map_find(&w->by_parent, hash_u64(parent), &parent)))
        place_again(e, ((struct brood *)slab_at(&w->broods, brood))->first);
}

/* --- from the store -------------------------------------------------------------------------- */

struct artifact_question {
    struct engine *e;
    uint32_t generation;
};

static void take_spec(struct engine *e, const struct spec_row *row) {
    struct task_spec told;
    json_t *json = json_loadb(row->json, row->json_size, 0, NULL);
    const char *artifact = json_string_value(json_object_get(json, "artifact"));
    if (artifact && core_task_spec(e->core, row->id, &told) && told.artifact_missing)
        artifact_want(e, row->id, artifact, told.parent);
    json_decref(json);
}

static void specs_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct artifact_question *q = ctx;
    struct engine *e = q->e;
    if (err)
        turn_break(e, err);
    if (!err && q->generation == watch_of(e)->generation) {
        watch_of(e)->asking = false;
        for (size_t i = 0; i < answer->count; i++)
            take_spec(e, &answer->specs[i]);
        if (watch_has_work(e))
            turn_wake(e);
    }
    free(q);
}

void artifacts_read_some(struct engine *e) {
    struct watch *w = watch_of(e);
    size_t left = w->unread.count - w->read;
    if (left == 0 || w->asking)
        return;
    struct artifact_question *q = xcalloc(1, sizeof(*q));
    *q = (struct artifact_question){ .e = e, .generation = w->generation };
    struct store_question question = { .kind = ASK_SPECS,
                                       .tasks = w->unread.items + w->read,
                                       .task_count = left < READ_EACH ? left : READ_EACH };
    w->read += question.task_count;
    w->asking = true;
    store_ask(e->store, &question, specs_answered, q);
}
