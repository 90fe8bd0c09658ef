/* workspace_pool.c: which path of a pool a run gets.
 *
 * The core counts places and keeps wishes apart; which path a run without a wish gets is decided here, at
 * its launch, and told to the core as a lock, so that a task that wishes for that path waits. With its end
 * the path becomes the wish of its task: what it has begun lies there, and its next attempt waits for it,
 * though others are free. After a restart the run folders say where the unfinished are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "engine/workspace_internal.h"
#include "os/log.h"

struct pool {
    const char *const *paths;
    size_t count;
};

static struct pool pool_of(const struct engine *e, const struct project *project) {
    struct pool pool = { 0 };
    if (project && !workspace_makes_worktrees(e, project))
        pool.count =
            config_words(e->config, "projects.P.workspace_paths", project->view.name, &pool.paths);
    return pool;
}

static bool pool_has(const struct pool *pool, const char *path) {
    for (size_t i = 0; i < pool->count; i++)
        if (strcmp(pool->paths[i], path) == 0)
            return true;
    return false;
}

/* The path of the pool that a folder is in; NULL: in none. */
static const char *pool_find(const struct pool *pool, const char *folder) {
    const char *best = NULL;
    size_t best_length = 0;
    for (size_t i = 0; folder && i < pool->count; i++) {
        size_t length = strlen(pool->paths[i]);
        while (length > 1 && pool->paths[i][length - 1] == '/')
            length--;
        if (strncmp(folder, pool->paths[i], length) == 0
            && (folder[length] == '\0' || folder[length] == '/') && length > best_length) {
            best = pool->paths[i];
            best_length = length;
        }
    }
    return best;
}

/* What the core keeps for the task; NULL: nothing. */
static const char *wish_of(const struct engine *e, task_id task) {
    struct task_spec told;
    if (!core_task_spec(e->core, task, &told) || !told.workspace)
        return NULL;
    return symbol_name(core_symbols(e->core), told.workspace);
}

/* --- which one -------------------------------------------------------------------------------- */

static bool path_is_free(const struct engine *e, const char *path) {
    for (size_t i = 0; i < workspaces_of(e)->places.count; i++)
        if (strcmp(workspaces_of(e)->places.items[i].path, path) == 0)
            return false;
    sym symbol = symbol_find(core_symbols(e->core), path, strlen(path));
    amount used = 0, cap = 0;
    return !symbol || !core_lease(e->core, LEASE_WORKSPACE, symbol, &used, &cap) || used == 0;
}

static struct habit *habit_find(const struct engine *e, const char *path) {
    for (size_t i = 0; i < workspaces_of(e)->habits.count; i++)
        if (strcmp(workspaces_of(e)->habits.items[i].path, path) == 0)
            return &workspaces_of(e)->habits.items[i];
    return NULL;
}

static void note_habit(struct engine *e, const char *path, task_id task) {
    struct habit *habit = habit_find(e, path);
    if (!habit) {
        habit = LIST_ADD(&workspaces_of(e)->habits);
        *habit = (struct habit){ .path = xstrdup(path) };
    }
    habit->task = task;
}

/* Somebody who is not finished was there last, and will be there again. */
static bool is_wanted_back(const struct engine *e, const char *path) {
    const struct habit *habit = habit_find(e, path);
    struct task_view view;
    return habit && core_task(e->core, habit->task, &view) && !task_state_is_final(view.state);
}

/* --- taking it -------------------------------------------------------------------------------- */

static int claim(struct engine *e, const struct live_run *run, const char *path, int *ret_fd,
                 struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    char id[ENGINE_ID_MAX];
    rundir_name(&folder, engine_task_id(e, run->task, id), run->view.attempt);
    struct workspace_claim wanted = { path, e->runs_folder, strbuf_text(&folder) };
    return workspace_claim(&wanted, ret_fd, err);
}

static void take(struct engine *e, const struct live_run *run, const char *path, int fd) {
    const char *wish = wish_of(e, run->task);
    bool is_wished = wish && strcmp(wish, path) == 0;
    struct run_key key = { .task = run->task, .attempt = run->view.attempt };
    struct workspace_place *place = workspace_take(e, key, path);
    place->claim = fd;
    place->is_told = !is_wished;
    if (place->is_told)
        workspace_tell_lock(e, path, run->task);
}

static int try_to_take(struct engine *e, const struct live_run *run, const char *path,
                       struct error *err) {
    struct stat st;
    int fd = -1;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return error_set(err, -ENOTDIR, "workspace '%s' is no folder", path);
    int r = claim(e, run, path, &fd, err);
    if (r == 0)
        take(e, run, path, fd);
    return r;
}

/* One that nobody will want back is better. One that another home uses, or that is gone, is passed over;
 * if there is no other, that is what is said. */
static int take_any(struct engine *e, const struct live_run *run, const struct pool *pool,
                    struct error *err) {
    int r = 0;
    for (int wanted = 0; wanted < 2; wanted++)
        for (size_t i = 0; i < pool->count; i++) {
            const char *path = pool->paths[i];
            if (!path_is_free(e, path) || is_wanted_back(e, path) != (wanted == 1))
                continue;
            r = try_to_take(e, run, path, err);
            if (r == 0) {
                note_habit(e, path, run->task);
                return 0;
            }
        }
    return r < 0 ? r
                 : error_set(err, -EBUSY, "no workspace of project '%s' is free",
                             workspace_project(e, run->task)->view.name);
}

int pool_prepare(struct engine *e, const struct live_run *run, const char *asked,
                 struct error *err) {
    const struct project *project = workspace_project(e, run->task);
    struct pool pool = pool_of(e, project);
    const char *wish = wish_of(e, run->task);
    if (wish && !asked && !pool_has(&pool, wish))
        wish = NULL; /* where it was before is no more */
    if (pool.count == 0 && (!wish || wish[0] != '/'))
        return 0; /* a name alone is a lock, and no folder */
    if (pool.count > 0 && wish && !pool_has(&pool, wish))
        return error_set(err, -ENOENT, "workspace '%s' is none of project '%s' any more", wish,
                         project->view.name);
    if (!wish)
        return take_any(e, run, &pool, err);
    int r = try_to_take(e, run, wish, err);
    if (r == 0 && pool.count > 0)
        note_habit(e, wish, run->task);
    return r;
}

/* The path it was launched in, though its place may be given back: an end is told again after a commit that
 * failed. */
static const char *path_of_run(const struct engine *e, const struct live_run *run,
                               const struct pool *pool) {
    const struct workspace_place *place = workspace_find(e, run->task);
    char id[ENGINE_ID_MAX];
    if (place)
        return pool_find(pool, place->path);
    _cleanup_(freep) char *folder =
        workspace_of_run(e, engine_task_id(e, run->task, id), run->view.attempt);
    return pool_find(pool, folder);
}

sym pool_left_in(const struct engine *e, const struct live_run *run) {
    struct pool pool = pool_of(e, workspace_project(e, run->task));
    const char *path = pool.count > 0 ? path_of_run(e, run, &pool) : NULL;
    const char *wish = wish_of(e, run->task);
    if (!path || (wish && strcmp(wish, path) == 0))
        return 0;
    return symbol_intern(core_symbols(e->core), path, strlen(path));
}

/* --- the start -------------------------------------------------------------------------------- */

/* It is, or was, where its shim was told to begin; its end is not told yet. */
void pool_adopt(struct engine *e, const struct live_run *run) {
    struct pool pool = pool_of(e, workspace_project(e, run->task));
    char id[ENGINE_ID_MAX];
    struct error err = { 0 };
    int fd = -1;
    if (pool.count == 0)
        return;
    _cleanup_(freep) char *folder =
        workspace_of_run(e, engine_task_id(e, run->task, id), run->view.attempt);
    const char *path = pool_find(&pool, folder);
    if (!path)
        return;
    if (!run->is_away && claim(e, run, path, &fd, &err) < 0)
        log_warning("task '%s' runs in a workspace that is not its own any more: %s", id, err.text);
    take(e, run, path, fd);
    note_habit(e, path, run->task);
}
