/* workspace.c: who works where, before the launch and after the end. See git_internal.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "engine/git/git_internal.h"
#include "engine/launch/launch_internal.h"
#include "engine/runs/runs_internal.h"
#include "os/log.h"
#include "os/outside.h"
#include "sandbox/sandbox.h"

/* --- other homes ------------------------------------------------------------------------------ */

/* A pool path has one run at a time across all homes. This home knows its own workspaces. Other
 * homes may belong to other users, so a run is recorded where everyone who wants the path must
 * look: in the git folder of a repository, where no status shows it, else in the path itself. The
 * file is locked while a daemon knows of the run, and names the run's folder, whose own lock is
 * held while the run is live. So the claim of a killed daemon is valid exactly until its run ends.
 * It is removed at the end of the run. */

struct workspace_claim {
    const char *path;
    const char *root, *folder; /* the run, as in rundir.h */
};

#define CLAIM_MAX 8192
#define RACES_MAX 5 /* retries if the file was just removed */

/* 1: the git folder of the repository that contains `path`; 0: none. */
static int find_repository(const char *path, struct strbuf *out, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf at = STRBUF_INIT, git = STRBUF_INIT;
    struct stat st;
    strbuf_puts(&at, path);
    while (at.length > 0) {
        strbuf_clear(&git);
        strbuf_printf(&git, "%s/.git", strbuf_text(&at));
        if (stat(strbuf_text(&git), &st) == 0) {
            if (S_ISREG(st.st_mode))
                return worktree_git_dir(strbuf_text(&at), out) == 0;
            if (!S_ISDIR(st.st_mode))
                return outside_refuse(strbuf_text(&git), st.st_mode, err);
            strbuf_puts(out, strbuf_text(&git));
            return 1;
        }
        char *slash = strrchr(at.text, '/');
        at.length = (size_t)(slash - at.text);
        *slash = '\0';
    }
    return 0;
}

/* Resolves links: one name per folder. */
static int find_claim_file(const char *path, struct strbuf *out, struct error *err) {
    char real[PATH_MAX];
    struct stat st;
    if (!realpath(path, real) || stat(real, &st) < 0)
        return error_set_errno(err, "look at", path);
    int r = find_repository(real, out, err);
    if (r < 0)
        return error_prefix(err, "cannot claim workspace '%s'", path);
    if (r > 0)
        strbuf_printf(out, "/sluice-workspace-%016llx.lock",
                      (unsigned long long)hash_mix(st.st_dev, st.st_ino));
    else
        strbuf_printf(out, "%s/.sluice-workspace.lock", real);
    return 0;
}

/* The runs folder and the run of a claim. False: unclaimed. */
static bool read_claim(int fd, char text[CLAIM_MAX], const char **ret_root,
                       const char **ret_folder) {
    ssize_t size = pread(fd, text, CLAIM_MAX - 1, 0);
    text[size > 0 ? size : 0] = '\0';
    char *line = strchr(text, '\n'), *end = line ? strchr(line + 1, '\n') : NULL;
    if (!end)
        return false;
    *line = *end = '\0';
    *ret_root = text;
    *ret_folder = line + 1;
    return true;
}

static int refuse_path(const char *path, int fd, struct error *err) {
    char text[CLAIM_MAX];
    const char *root = "", *folder = "";
    if (!read_claim(fd, text, &root, &folder))
        return error_set(err, -EBUSY, "workspace '%s' is in use by another home", path);
    return error_set(err, -EBUSY,
                     "workspace '%s' is in use by run '%s' in '%s': give each home its own paths",
                     path, folder, root);
}

static int refuse_file(const char *path, const struct error *why, struct error *err) {
    return error_set(err, why->code, "cannot claim workspace '%s': %s", path, why->text);
}

static bool is_same_file(int fd, const char *path) {
    struct stat a, b;
    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev
           && a.st_ino == b.st_ino;
}

static int write_claim(int fd, const struct workspace_claim *claim, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text, "%s\n%s\n", claim->root, claim->folder);
    ssize_t wrote = ftruncate(fd, 0) < 0 ? -1 : pwrite(fd, text.text, text.length, 0);
    if (wrote == (ssize_t)text.length)
        return 0;
    int code = wrote < 0 ? errno : ENOSPC;
    return error_set(err, -code, "cannot claim workspace '%s': %s", claim->path, strerror(code));
}

/* 0: locked, and ours. -EAGAIN: it was just removed. */
static int check_claim(int fd, const char *file, const struct workspace_claim *claim,
                       struct error *err) {
    char text[CLAIM_MAX];
    const char *root = NULL, *folder = NULL;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? refuse_path(claim->path, fd, err)
                                    : error_set_errno(err, "lock", file);
    if (!is_same_file(fd, file))
        return -EAGAIN;
    if (!read_claim(fd, text, &root, &folder)
        || (strcmp(root, claim->root) == 0 && strcmp(folder, claim->folder) == 0))
        return 0;
    int locked = rundir_is_locked(root, folder);
    bool may_live =
        locked > 0 || locked == -EACCES; /* without access we cannot know that it ended */
    return may_live ? refuse_path(claim->path, fd, err) : 0;
}

/* A file of another user is at best readable; then the path stays unclaimed. */
static int try_claim(const char *file, const struct workspace_claim *claim, int *ret_fd,
                     struct error *err) {
    struct error why = { 0 };
    int fd = outside_open(AT_FDCWD, file, O_RDWR | O_CREAT | OUTSIDE_PARENT_LINKS | OUTSIDE_SHARED,
                          NULL, &why);
    bool is_ours = fd >= 0;
    if (!is_ours && fd != -EROFS && fd != -EACCES && fd != -EPERM)
        return refuse_file(claim->path, &why, err);
    if (!is_ours)
        fd = outside_open(AT_FDCWD, file, O_RDONLY | OUTSIDE_PARENT_LINKS, NULL, &why);
    if (fd == -ENOENT || fd == -EACCES) {
        *ret_fd = -1; /* missing, or readable by its owner only */
        return 0;
    }
    if (fd < 0)
        return refuse_file(claim->path, &why, err);
    int r = check_claim(fd, file, claim, err);
    if (r == 0 && is_ours)
        r = write_claim(fd, claim, err);
    if (r == 0)
        *ret_fd = is_ours ? fd : -1;
    if (r < 0 || !is_ours)
        close(fd);
    return r;
}

/* 0 and a descriptor to keep (-1: the path is not writable for us). -EBUSY: a run of another home
 * is there, or the same folder has another name here. */
static int workspace_claim(const struct engine *e, const struct live_run *run, const char *path,
                           int *ret_fd, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf file = STRBUF_INIT, folder = STRBUF_INIT;
    char id[ENGINE_ID_MAX];
    int r = find_claim_file(path, &file, err);
    if (r < 0)
        return r;
    rundir_name(&folder, engine_task_id(e, run->task, id), run->view.attempt);
    const struct workspace_claim claim = { path, e->runs_folder, strbuf_text(&folder) };
    for (int i = 0; i < RACES_MAX; i++) {
        r = try_claim(strbuf_text(&file), &claim, ret_fd, err);
        if (r != -EAGAIN)
            return r;
    }
    return error_set(err, -EBUSY, "workspace '%s' is in use by another home", path);
}

static void workspace_unclaim(const char *path, int fd) {
    _cleanup_(strbuf_finish) struct strbuf file = STRBUF_INIT;
    if (fd >= 0 && find_claim_file(path, &file, NULL) == 0 && is_same_file(fd, strbuf_text(&file)))
        (void)unlink(strbuf_text(&file));
    fd_closep(&fd);
}

/* --- who works where -------------------------------------------------------------------------- */

static void workspace_place_finish(struct workspace_place *place) {
    fd_closep(&place->claim);
    free(place->path);
    free(place->prefix);
    free(place->branch);
    free(place->base);
}

struct workspace_place *workspace_find(const struct engine *e, task_id task) {
    for (size_t i = 0; i < workspaces_of(e)->places.count; i++)
        if (workspaces_of(e)->places.items[i].task == task)
            return &workspaces_of(e)->places.items[i];
    return NULL;
}

static struct workspace_place *workspace_take(struct engine *e, struct run_key key,
                                              const char *path) {
    workspace_release(e, key.task);
    struct workspace_place *place = LIST_ADD(&workspaces_of(e)->places);
    *place = (struct workspace_place){
        .task = key.task, .attempt = key.attempt, .path = xstrdup(path), .claim = -1
    };
    return place;
}

/* `task` 0: the path is free. */
static void workspace_apply_lock(struct engine *e, const char *path, task_id task) {
    struct fact fact = { .kind = FACT_WORKSPACE };
    fact.workspace.id = symbol_of(e, path);
    fact.workspace.locked_by = task;
    (void)core_apply(e->core, &fact, NULL);
}

void workspace_release(struct engine *e, task_id task) {
    struct workspace_place *place = workspace_find(e, task);
    if (!place)
        return;
    if (place->has_lock)
        workspace_apply_lock(e, place->path, 0);
    workspace_unclaim(place->path, place->claim);
    place->claim = -1;
    workspace_place_finish(place);
    *place = workspaces_of(e)->places.items[--workspaces_of(e)->places.count];
}

static void workspaces_apply_locks(struct engine *e) {
    for (size_t i = 0; i < workspaces_of(e)->places.count; i++) {
        const struct workspace_place *place = &workspaces_of(e)->places.items[i];
        if (place->has_lock)
            workspace_apply_lock(e, place->path, place->task);
    }
}

/* Where a run works, from its shim's spec. The key of an ended run is deleted. */
static char *workspace_of_run(const struct engine *e, const char *id, uint32_t attempt) {
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    const struct live_run *run = run_find(e, engine_task_of_id(e, id, NULL));
    bool is_live = run && run->view.attempt == attempt;
    rundir_name(&folder, id, attempt);
    if (attempt == 0
        || rundir_read_spec(e->runs_folder, strbuf_text(&folder),
                            is_live ? run_proof_key(&run->proof) : NULL, &read, NULL)
               < 0)
        return NULL;
    return xstrdup(read->spec.cwd);
}

/* --- the pool --------------------------------------------------------------------------------- */

/* Which path of a pool a run gets. The core counts slots and keeps requests apart; the path of a
 * run without a request is chosen here, at its launch, and applied to the core as a lock, so that
 * tasks that request it wait. At the end the path becomes the request of its task: its unfinished
 * work is there, so its next attempt waits for that path even if others are free. After a restart
 * the run folders show where unfinished tasks work. */

struct pool {
    const char *const *paths;
    size_t count;
};

static struct pool pool_of(const struct engine *e, const struct engine_project *project) {
    struct pool pool = { 0 };
    if (project && !workspace_makes_worktrees(e, project))
        pool.count =
            config_words(e->config, "projects.P.workspace_paths", project->name, &pool.paths);
    return pool;
}

static bool pool_has(const struct pool *pool, const char *path) {
    for (size_t i = 0; i < pool->count; i++)
        if (strcmp(pool->paths[i], path) == 0)
            return true;
    return false;
}

/* The path of the pool that contains a folder; NULL: none. */
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

/* The path that the core keeps for the task; NULL: none. */
static const char *requested_path(const struct engine *e, task_id task) {
    struct task_spec spec;
    if (!core_task_spec(e->core, task, &spec) || !spec.workspace)
        return NULL;
    return name_of(e, spec.workspace);
}

/* --- choosing --------------------------------------------------------------------------------- */

static bool path_is_free(const struct engine *e, const char *path) {
    sym symbol = symbol_known(e, path);
    amount used = 0, cap = 0;
    return engine_workspace_holder(e, path) == 0
           && (!symbol || !core_lease(e->core, LEASE_WORKSPACE, symbol, &used, &cap) || used == 0);
}

static struct pool_user *last_user_find(const struct engine *e, const char *path) {
    for (size_t i = 0; i < workspaces_of(e)->pool_users.count; i++)
        if (strcmp(workspaces_of(e)->pool_users.items[i].path, path) == 0)
            return &workspaces_of(e)->pool_users.items[i];
    return NULL;
}

static void set_last_user(struct engine *e, const char *path, task_id task) {
    struct pool_user *user = last_user_find(e, path);
    if (!user) {
        user = LIST_ADD(&workspaces_of(e)->pool_users);
        *user = (struct pool_user){ .path = xstrdup(path) };
    }
    user->task = task;
}

/* An unfinished task used it last and will return. */
static bool is_wanted_back(const struct engine *e, const char *path) {
    const struct pool_user *user = last_user_find(e, path);
    enum task_state state = user ? state_of(e, user->task) : TASK_ABSENT;
    return state != TASK_ABSENT && !task_state_is_final(state);
}

/* --- taking it -------------------------------------------------------------------------------- */

static void pool_take(struct engine *e, const struct live_run *run, const char *path, int fd) {
    const char *wanted = requested_path(e, run->task);
    struct workspace_place *place = workspace_take(e, run_key_of(run), path);
    place->claim = fd;
    place->has_lock = !wanted || strcmp(wanted, path) != 0;
    if (place->has_lock)
        workspace_apply_lock(e, path, run->task);
}

static int try_path(struct engine *e, const struct live_run *run, const char *path,
                    struct error *err) {
    struct stat st;
    int fd = -1;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return error_set(err, -ENOTDIR, "workspace '%s' is not a directory", path);
    int r = workspace_claim(e, run, path, &fd, err);
    if (r == 0)
        pool_take(e, run, path, fd);
    return r;
}

/* Prefers paths that no task wants back. Skips those that another home uses or that are missing; if
 * none is left, that is the error. */
static int take_any_path(struct engine *e, const struct live_run *run, const struct pool *pool,
                         struct error *err) {
    int r = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < pool->count; i++) {
            const char *path = pool->paths[i];
            if (!path_is_free(e, path) || is_wanted_back(e, path) != (pass == 1))
                continue;
            r = try_path(e, run, path, err);
            if (r == 0) {
                set_last_user(e, path, run->task);
                return 0;
            }
        }
    return r < 0 ? r
                 : error_set(err, -EBUSY, "no workspace of project '%s' is free",
                             project_of_task(e, run->task)->name);
}

static int pool_prepare(struct engine *e, const struct live_run *run, const char *asked,
                        struct error *err) {
    const struct engine_project *project = project_of_task(e, run->task);
    struct pool pool = pool_of(e, project);
    const char *wanted = requested_path(e, run->task);
    if (wanted && !asked && !pool_has(&pool, wanted))
        wanted = NULL; /* its previous path no longer exists */
    if (pool.count == 0 && (!wanted || wanted[0] != '/'))
        return 0; /* a bare name is a lock, not a folder */
    if (pool.count > 0 && wanted && !pool_has(&pool, wanted))
        return error_set(err, -ENOENT, "workspace '%s' is none of project '%s' any more", wanted,
                         project->name);
    if (!wanted)
        return take_any_path(e, run, &pool, err);
    int r = try_path(e, run, wanted, err);
    if (r == 0 && pool.count > 0)
        set_last_user(e, wanted, run->task);
    return r;
}

/* The path it was launched in, even if released: a failed commit makes the end apply again. After a
 * restart: that of its spec. NULL: not in a pool. */
static const char *pool_path_of_run(const struct engine *e, const struct live_run *run) {
    const struct workspace_place *place = workspace_find(e, run->task);
    struct pool pool = pool_of(e, project_of_task(e, run->task));
    char id[ENGINE_ID_MAX];
    if (pool.count == 0 || place)
        return pool_find(&pool, place ? place->path : NULL);
    _cleanup_(freep) char *folder =
        workspace_of_run(e, engine_task_id(e, run->task, id), run->view.attempt);
    return pool_find(&pool, folder);
}

sym pool_path_to_request(const struct engine *e, const struct live_run *run) {
    const char *path = pool_path_of_run(e, run);
    const char *wanted = requested_path(e, run->task);
    if (!path || (wanted && strcmp(wanted, path) == 0))
        return 0;
    return symbol_of(e, path);
}

/* --- daemon start ----------------------------------------------------------------------------- */

/* It works or worked there; its end was not applied yet. */
static void pool_adopt(struct engine *e, const struct live_run *run) {
    const char *path = pool_path_of_run(e, run);
    char id[ENGINE_ID_MAX];
    struct error err = { 0 };
    int fd = -1;
    if (!path)
        return;
    if (!run->is_unreachable && workspace_claim(e, run, path, &fd, &err) < 0)
        log_warning("task '%s' runs in a workspace that is not its own any more: %s",
                    engine_task_id(e, run->task, id), err.text);
    pool_take(e, run, path, fd);
    set_last_user(e, path, run->task);
}

/* --- before the launch and after the end ------------------------------------------------------ */

#define EXPIRE_EVERY    MINUTES(10)
#define MAKE_ROOM_EVERY MINUTES(10) /* work may have been merged or committed */

/* Stops running jobs; the next daemon starts them over. */
static void workspaces_free(struct engine *e) {
    struct workspaces *all = workspaces_of(e);
    for (const struct job *job = all->jobs; job; job = job->next)
        if (job->helper)
            helper_stop(job->helper); /* all at once: each is waited for below */
    while (all->jobs) {
        struct job *job = all->jobs;
        all->jobs = job->next;
        job_free(job);
    }
    for (size_t i = 0; i < all->places.count; i++)
        workspace_place_finish(&all->places.items[i]);
    for (size_t i = 0; i < all->pool_users.count; i++)
        free(all->pool_users.items[i].path);
    for (size_t i = 0; i < all->leftovers.count; i++) {
        free(all->leftovers.items[i].path);
        free(all->leftovers.items[i].why);
    }
    free(all->places.items);
    free(all->pool_users.items);
    free(all->leftovers.items);
}

static bool workspaces_are_preparing(const struct engine *e) {
    for (const struct job *job = workspaces_of(e)->jobs; job; job = job->next)
        if (job->kind == JOB_MAKE)
            return true;
    return false;
}

/* --- worktrees -------------------------------------------------------------------------------- */

static void worktree_made(struct job *job) {
    struct engine *e = job->e;
    struct live_run *run = run_find_attempt(e, job->key);
    if (!run)
        return;
    if (job->err.code < 0) {
        run->launch_cause = LAUNCH_WORKSPACE;
        run_end_unlaunched(e, run, RUN_END_LAUNCH, &job->err);
        return;
    }
    struct workspace_place *place = workspace_take(e, job->key, job->path);
    place->prefix = xstrdup(job->record.prefix);
    place->branch = xstrdup(job->branch);
    place->base = xstrdup(job->record.base);
    place->is_new = !job->record.prepared;
    launch_set_deadline(e, run);
    launch_later(e, run->task);
    turn_wake(e);
}

static const char *text_member(const json_t *spec, const char *name) {
    return json_string_value(json_object_get(spec, name));
}

static const char *merge_of(const struct engine *e, const struct engine_project *project,
                            const json_t *spec) {
    const char *merge = text_member(spec, "merge");
    if (json_is_true(json_object_get(spec, "no_merge")))
        return "none";
    return merge ? merge : engine_project_merge(e->config, project->name);
}

/* Whether a conflict begins the next iteration. */
static bool conflict_iterates(const struct engine *e, const struct engine_project *project,
                              const json_t *spec) {
    const char *way = text_member(spec, "on_conflict");
    if (!way)
        way = config_text(e->config, "projects.P.on_conflict", project->name);
    return strcmp(way, "iterate") == 0;
}

static int prepare_worktree(struct engine *e, const struct live_run *run, const json_t *spec,
                            const char *title, struct error *err) {
    const struct engine_project *project = project_of_task(e, run->task);
    const char *base = text_member(spec, "base_branch");
    if (!base)
        base = config_text(e->config, "projects.P.base_branch", project->name);
    if (*base && !git_branch_is_valid(base))
        return error_set(err, -EINVAL, "'%s' is not a name of a branch", base);
    if (!project->path)
        return error_set(err, -EINVAL,
                         "project '%s' makes worktrees but has no repository: set projects.%s.path",
                         project->name, project->name);
    char id[ENGINE_ID_MAX];
    struct job *job =
        job_new(e, JOB_MAKE, engine_task_id(e, run->task, id), worktree_make_begin, worktree_made);
    job->key = run_key_of(run);
    job->doing = "waits until others have their worktrees";
    job->record = (struct worktree_record){
        .repository = xstrdup(project->path),
        .base = xstrdup(base),
        .prefix = xstrdup(""),
        .merge = xstrdup(merge_of(e, project, spec)),
        /* The owner did not configure it, so its failures are reported but fail nothing. */
        .implied = !text_member(spec, "merge") && !json_is_true(json_object_get(spec, "no_merge"))
                   && !config_is_set(e->config, "projects.P.merge", project->name),
        .title = xstrndup(title ? title : id, strcspn(title ? title : id, "\n")),
        .git_dir = xstrdup(""),
        .common_dir = xstrdup(""),
        .iterates = conflict_iterates(e, project, spec),
    };
    job_set_lane(job, "worktrees", project->path);
    job_begin(job);
    return 1;
}

/* --- before the launch ------------------------------------------------------------------------ */

bool workspace_makes_worktrees(const struct engine *e, const struct engine_project *project) {
    return strcmp(config_text(e->config, "projects.P.workspace_mode", project->name), "worktree")
           == 0;
}

int workspace_prepare(struct engine *e, struct live_run *run, const json_t *spec, const char *title,
                      struct error *err) {
    const struct engine_project *project = project_of_task(e, run->task);
    const struct workspace_place *place = workspace_find(e, run->task);
    if (place && place->attempt == run->view.attempt)
        return 0;
    const char *merge = merge_of(e, project, spec);
    const char *const *words = NULL;
    if (!workspace_makes_worktrees(e, project)) {
        if (strcmp(merge, "none") != 0)
            return error_set(err, -EINVAL,
                             "merge '%s' needs a branch to merge: set "
                             "projects.%s.workspace_mode to worktree",
                             merge, project->name);
        if (engine_check_worktrees(e, project->name, err) < 0)
            return err->code;
        return pool_prepare(e, run, text_member(spec, "workspace"), err);
    }
    if (strcmp(merge, "mr") == 0
        && config_words(e->config, "projects.P.mr_command", project->name, &words) == 0)
        return error_set(err, -EINVAL, "merge 'mr' needs projects.%s.mr_command", project->name);
    if (job_find(e, JOB_MAKE, run->task) || job_find(e, JOB_MERGE, run->task))
        return 1;
    return prepare_worktree(e, run, spec, title, err);
}

bool workspace_folder(const struct engine *e, const struct live_run *run, const char *cwd,
                      struct strbuf *out) {
    const struct workspace_place *place = workspace_find(e, run->task);
    const struct engine_project *project = project_of_task(e, run->task);
    if (!place)
        return false;
    _cleanup_(strbuf_finish) struct strbuf top = STRBUF_INIT;
    strbuf_puts(&top, place->path);
    if (place->prefix && *place->prefix)
        strbuf_printf(&top, "/%s", place->prefix);
    worktree_map_folder(cwd, project->path ? project->path : place->path, strbuf_text(&top), out);
    while (out->length > 1 && out->text[out->length - 1] == '/')
        out->text[--out->length] = '\0';
    return true;
}

/* --- after the end ---------------------------------------------------------------------------- */

static void work_delivered(struct job *job) {
    delivery_keep(job);
    const struct end_delivery delivery = { .end = &job->end,
                                           .is_failed = job->is_forced,
                                           .outcome = job->outcome,
                                           .note = job->note,
                                           .changed_nothing = delivery_is_empty(&job->changes),
                                           .conflict = job->conflict_text,
                                           .conflict_iterates =
                                               job->has_conflict && job->record.iterates };
    run_end_continue(job->e, job->key, END_DELIVERY, &(struct end_result){ .delivery = &delivery });
}

/* The task may have had a worktree before, and this run worked elsewhere. */
static bool ran_in(const struct engine *e, const char *id, uint32_t attempt, const char *path) {
    _cleanup_(freep) char *folder = workspace_of_run(e, id, attempt);
    _cleanup_(freep) char *real = realpath(path, NULL); /* runs in a sandbox get this one */
    return folder && (sandbox_is_inside(path, folder) || (real && sandbox_is_inside(real, folder)));
}

bool workspace_has_run_in(const struct engine *e, const char *id, uint32_t before,
                          const char *path) {
    for (uint32_t attempt = before; attempt-- > 1;)
        if (ran_in(e, id, attempt, path))
            return true;
    return false;
}

/* Whether the run has prepared its worktree. Its shim reports that at the end. For a lost run its
 * command shows it, which does not start before. */
static bool has_prepared(const struct engine *e, const struct live_run *run,
                         const struct run_end *end) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    if (strstr(end->applied, "prepared"))
        return true;
    return (run->view.started_at || end->started_at) && run_read_spec(e, run, &read, NULL) == 0
           && read->spec.prepare.argv;
}

/* Whether the ending run worked in this worktree. Without a sandbox it can have changed its shim's
 * spec: then the daemon that launched it knows, and any other assumes that it did. */
static bool has_worked_in(const struct engine *e, const struct live_run *run, const char *id,
                          const char *path) {
    const struct workspace_place *place = workspace_find(e, run->task);
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    if (place && place->attempt == run->view.attempt)
        return strcmp(place->path, path) == 0;
    return ran_in(e, id, run->view.attempt, path) || run_read_spec(e, run, &read, NULL) < 0;
}

bool workspace_has_work(const struct engine *e, const struct live_run *run,
                        struct worktree_record *ret_record) {
    char id[ENGINE_ID_MAX];
    if (worktree_record_read(e->data, engine_task_id(e, run->task, id), ret_record, NULL) < 0)
        return false;
    _cleanup_(freep) char *path = worktree_path(e->data, id);
    if (has_worked_in(e, run, id, path))
        return true;
    worktree_record_finish(ret_record);
    return false;
}

bool workspace_finish(struct engine *e, const struct live_run *run,
                      const struct worktree_record *record, const struct end_delivery *so_far) {
    char id[ENGINE_ID_MAX];
    struct job *job = job_new(e, JOB_FINISH, engine_task_id(e, run->task, id), worktree_end_begin,
                              work_delivered);
    job->key = run_key_of(run);
    job->record = *record;
    job->end = *so_far->end;
    job->outcome = so_far->outcome;
    job->is_forced = so_far->is_failed;
    if (!record->prepared && has_prepared(e, run, so_far->end)) {
        job->record.prepared = true;
        /* If this fails it is prepared once more. */
        (void)worktree_record_write(e->data, id, &job->record, NULL);
    }
    bool delivers = job->outcome == OUTCOME_OK && strcmp(record->merge, "none") != 0;
    if (delivers && strcmp(record->merge, "direct") == 0
        && !merge_waits_for_person(e, run->task, record->merge)) {
        job_set_lane(job, "merges", record->repository);
        job->doing = "waits for another merge in this repository";
        job->can_stop = true;
    }
    job_begin(job);
    return delivers;
}

void workspace_stop(struct engine *e, task_id task) {
    struct job *make = job_find(e, JOB_MAKE, task);
    if (make && !make->running)
        job_end(make); /* its launch follows, and sees the stop */
    struct job *job = job_find(e, JOB_FINISH, task);
    if (!job || !job->can_stop)
        return;
    loop_timer_free(e->loop, TAKE_PTR(job->timer));
    job->end.kind = RUN_END_STOPPED;
    job->end.message[0] = '\0';
    if (job->running || job->paused)
        job_stop(job);
    else
        job_end(job);
}

/* --- cleaning --------------------------------------------------------------------------------- */

static void worktree_cleaned(struct job *job) {
    struct workspaces *all = workspaces_of(job->e);
    for (size_t i = 0; job->is_orphan && i < all->leftovers.count; i++)
        if (strcmp(all->leftovers.items[i].path, job->path) == 0) { /* reported before */
            free(all->leftovers.items[i].path);
            free(all->leftovers.items[i].why);
            all->leftovers.items[i] = all->leftovers.items[--all->leftovers.count];
            break;
        }
    if (!job->is_orphan || job->kept.length == 0)
        return;
    *LIST_ADD(&all->leftovers) =
        (struct leftover){ .path = xstrdup(job->path), .why = xstrdup(strbuf_text(&job->kept)) };
    log_warning("worktree '%s' belongs to no task and is kept: %s", job->path,
                strbuf_text(&job->kept));
}

static void clean(struct engine *e, const char *id, task_id task, bool is_orphan) {
    struct worktree_record record = { 0 };
    _cleanup_(freep) char *path = worktree_path(e->data, id);
    const struct job *make = task ? job_find(e, JOB_MAKE, task) : NULL;
    if ((make && make->merging) || (task && job_find(e, JOB_MERGE, task)))
        return; /* a person merges it; it is checked after that */
    for (struct job *job = workspaces_of(e)->jobs; job; job = job->next)
        if (job->kind == JOB_CLEAN && strcmp(job->id, id) == 0) {
            job->is_orphan |= is_orphan; /* its task was deleted meanwhile: report what is kept */
            return;
        }
    bool has_record = worktree_record_read(e->data, id, &record, NULL) == 0;
    if (!has_record && access(path, F_OK) != 0)
        return; /* most have none */
    struct job *job = job_new(e, JOB_CLEAN, id, worktree_clean_begin, worktree_cleaned);
    job->key.task = task;
    job->has_record = has_record;
    job->record = record;
    job->is_orphan = is_orphan;
    job_set_lane(job, "worktrees", has_record ? record.repository : path);
    job_begin(job);
}

void workspace_task_final(struct engine *e, task_id task) {
    char id[ENGINE_ID_MAX];
    clean(e, engine_task_id(e, task, id), task, false);
}

static void clean_final_tasks(struct engine *e) {
    for (size_t i = 0; i < e->turn.finals.count; i++)
        workspace_task_final(e, e->turn.finals.items[i]);
}

void workspace_forget(struct engine *e, const char *id) {
    clean(e, id, 0, true);
}

static void clean_if_final(void *ctx, const char *id) {
    struct engine *e = ctx;
    task_id task = engine_task_of_id(e, id, NULL); /* 0: the core has no such task */
    if (task == 0)
        clean(e, id, 0, true);
    else if (task_state_is_final(state_of(e, task)))
        clean(e, id, task, false);
}

/* Finished work past its retention. */
static void clean_if_old(void *ctx, const char *id) {
    const struct engine *e = ctx;
    task_id task = engine_task_of_id(e, id, NULL);
    if (task_state_is_final(state_of(e, task))
        && (delivery_is_old(e, task, "retention.worktree_days")
            || delivery_is_old(e, task, "retention.merged_days")))
        clean(ctx, id, task, false);
}

void workspaces_expire(struct engine *e) {
    bool are_kept = config_number(e->config, "retention.merged_days", NULL) > 0
                    || config_number(e->config, "retention.worktree_days", NULL) != TIME_NEVER;
    if (!are_kept || workspaces_of(e)->expire_at > e->now)
        return;
    workspaces_of(e)->expire_at = time_add(e->now, EXPIRE_EVERY);
    worktree_for_each(e->data, clean_if_old, e);
}

void workspaces_make_room(struct engine *e) {
    if (workspaces_of(e)->room_at > e->now)
        return;
    workspaces_of(e)->room_at = time_add(e->now, MAKE_ROOM_EVERY);
    worktree_for_each(e->data, clean_if_final, e);
}

/* --- daemon start ----------------------------------------------------------------------------- */

/* When the runs are adopted: finds who works where, then removes what is not needed. */
static void workspaces_start(struct engine *e) {
    for (size_t i = 0; i < run_count(e); i++)
        pool_adopt(e, run_live_at(e, i));
    _cleanup_(freep) char *folder = xasprintf("%s/worktrees", e->data);
    if (access(folder, F_OK) != 0)
        return;
    (void)helper_sweep(e->data); /* two gits must not work there at once */
    worktree_for_each(e->data, clean_if_final, e);
}

const struct engine_part workspaces_part = {
    .state_size = sizeof(struct workspaces),
    .at = { [STEP_LOADED] = workspaces_apply_locks,
            [STEP_START] = workspaces_start,
            [STEP_CARRY_OUT] = clean_final_tasks,
            [STEP_FREE] = workspaces_free },
    .is_launching = workspaces_are_preparing,
};

/* --- queries ---------------------------------------------------------------------------------- */

const char *engine_run_doing(const struct engine *e, task_id task) {
    for (const struct job *job = workspaces_of(e)->jobs; job; job = job->next)
        if (job->key.task == task && job->kind != JOB_CLEAN && job->kind != JOB_DIFF)
            return job->doing;
    if (secrets_are_read_for(e, task))
        return "reads its secrets";
    const struct live_run *run = run_find(e, task);
    if (run && run->prepares && !run->view.started_at)
        return "prepares its worktree";
    return run_end_doing(e, task);
}

void engine_workspace(const struct engine *e, task_id task, struct engine_workspace *ret) {
    const struct workspace_place *place = workspace_find(e, task);
    char id[ENGINE_ID_MAX];
    *ret = (struct engine_workspace){ 0 };
    struct worktree_record record = { 0 };
    if (worktree_record_read(e->data, engine_task_id(e, task, id), &record, NULL) == 0) {
        ret->path = worktree_path(e->data, id);
        ret->branch = git_branch_of_task(id);
        ret->base = xstrdup(record.base);
        ret->merge = xstrdup(record.merge);
        ret->conflict = conflict_is_known(&record) ? xstrdup(record.conflict) : NULL;
        ret->iterates = record.iterates;
        worktree_record_finish(&record);
    } else if (place) {
        ret->path = xstrdup(place->path);
    }
}

const char *engine_project_merge(const struct config *config, const char *project) {
    const char *mode = config_text(config, "projects.P.workspace_mode", project);
    bool is_set = config_is_set(config, "projects.P.merge", project);
    return is_set || strcmp(mode, "worktree") == 0
               ? config_text(config, "projects.P.merge", project)
               : "none";
}

int engine_check_worktrees(const struct engine *e, const char *project, struct error *err) {
    static const char *const patterns[] = { "projects.P.prepare", "projects.P.copy" };
    const char *mode = config_text(e->config, "projects.P.workspace_mode", project);
    const char *const *words = NULL;
    for (size_t i = 0; strcmp(mode, "worktree") != 0 && i < ARRAY_SIZE(patterns); i++)
        if (config_words(e->config, patterns[i], project, &words) > 0)
            return error_set(err, -EINVAL,
                             "projects.%s.%s is for worktrees: set projects.%s.workspace_mode to "
                             "worktree, or unset it",
                             project, strrchr(patterns[i], '.') + 1, project);
    return 0;
}

void engine_workspace_finish(struct engine_workspace *workspace) {
    free(workspace->path);
    free(workspace->branch);
    free(workspace->base);
    free(workspace->merge);
    free(workspace->conflict);
    *workspace = (struct engine_workspace){ 0 };
}

task_id engine_workspace_holder(const struct engine *e, const char *path) {
    for (size_t i = 0; i < workspaces_of(e)->places.count; i++)
        if (strcmp(workspaces_of(e)->places.items[i].path, path) == 0)
            return workspaces_of(e)->places.items[i].task;
    return 0;
}

struct kept {
    const struct engine *e;
    size_t count;
};

static void count_kept(void *ctx, const char *id) {
    struct kept *kept = ctx;
    _cleanup_(freep) char *path = worktree_path(kept->e->data, id);
    task_id task = engine_task_of_id(kept->e, id, NULL);
    kept->count += task_state_is_final(state_of(kept->e, task)) && access(path, F_OK) == 0;
}

size_t engine_kept_worktrees(const struct engine *e) {
    struct kept kept = { .e = e };
    worktree_for_each(e->data, count_kept, &kept);
    return kept.count;
}

size_t engine_leftover_count(const struct engine *e) {
    return workspaces_of(e)->leftovers.count;
}

const char *engine_leftover_at(const struct engine *e, size_t index, const char **ret_why) {
    *ret_why = workspaces_of(e)->leftovers.items[index].why;
    return workspaces_of(e)->leftovers.items[index].path;
}
