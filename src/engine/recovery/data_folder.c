/* data_folder.c: whether runs, markers, messages and worktrees may be stored in this directory.
 *
 * What no row knows is swept out of it, so a directory with other contents would lose what looks
 * like a run, and two stores in one directory would sweep each other's. A configured one must
 * therefore be empty at first; then it is marked with the name of the store (recovery_internal.h),
 * and later starts check the mark. The home is ours by its location. */
#include "engine/data_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "engine/note.h"
#include "engine/recovery/recovery_internal.h"
#include "engine/runs/runs_internal.h"
#include "os/log.h"
#include "os/outside.h"
#include "os/random.h"
#include "rundir/rundir.h"

/* --- the name of the store -------------------------------------------------------------------- */

/* The first commit after a load writes it, so nothing outside is named before the rows have the
 * name. If that commit fails, the name is kept and written with the next. */

/* Notes that may have it; later ones take precedence. Older versions had two names, one on the mark
 * of the data folder, one in the tokens of jobs. A store that has both continues with that of its
 * jobs, which cannot be changed, and accepts the other on its folder. The old notes stay. */
#define NOTE_OF_FOLDER "data.store"
static const char *const notes[] = { NOTE_OF_FOLDER, "slurm.store", "store.name" };

struct store_name {
    char text[STORE_NAME_SIZE];   /* "": rows not read yet */
    char folder[STORE_NAME_SIZE]; /* alternative name on the data folder, or "" */
    unsigned rank;                /* index of its note; 0: none */
};

PART_STATE(store_name, struct store_name, store_name_of)

const char *store_name(const struct engine *e) {
    return store_name_of(e)->text;
}

static bool is_name(const char *known, const char *name, size_t length) {
    return length > 0 && strlen(known) == length && memcmp(known, name, length) == 0;
}

static void store_name_loading(struct engine *e) {
    store_name_of(e)->rank = 0;
}

static void store_name_load(struct engine *e, const struct note_row *row) {
    struct store_name *name = store_name_of(e);
    if (!row->text)
        return;
    if (strcmp(row->name, NOTE_OF_FOLDER) == 0)
        (void)snprintf(name->folder, sizeof(name->folder), "%s", row->text);
    for (unsigned i = name->rank; i < ARRAY_SIZE(notes); i++)
        if (strcmp(row->name, notes[i]) == 0) {
            (void)snprintf(name->text, sizeof(name->text), "%s", row->text);
            name->rank = i + 1;
        }
}

static void store_name_loaded(struct engine *e) {
    struct store_name *name = store_name_of(e);
    uint64_t number;
    if (name->rank == ARRAY_SIZE(notes))
        return;
    if (!name->text[0]) {
        random_bytes(&number, sizeof(number));
        (void)snprintf(name->text, sizeof(name->text), "%016" PRIx64, number);
    }
    name->rank = ARRAY_SIZE(notes);
    note_put(e, notes[name->rank - 1], "", name->text);
}

const struct engine_part store_name_part = {
    .state_size = sizeof(struct store_name),
    .at = { [STEP_UNLOAD] = store_name_loading, [STEP_LOADED] = store_name_loaded },
    .load_note = store_name_load,
};

/* --- location of the runs --------------------------------------------------------------------- */

/* Whether unfinished runs are where this daemon looks for them. A missing folder means that a run
 * was never started or is lost, and its work is done again. But the folder may be elsewhere: two
 * daemons of one machine or cluster share a store but not the runs folder, or its file system is
 * not mounted. So the store has a note per host with the folder that its daemon last used, and a
 * daemon that misses a run which must be elsewhere does not start. A local run can be looked up
 * there, since it is the same machine; for one in Slurm only the path is compared. A moved folder
 * is no longer there. */

#define NOTE "data.runs:"

struct data_place {
    struct data_place *next;
    char *host, *runs; /* its folder */
};

struct data_places {
    struct data_place *first;
};

PART_STATE(data_place, struct data_places, data_places_of)

static void data_place_loading(struct engine *e) {
    while (data_places_of(e)->first) {
        struct data_place *place = data_places_of(e)->first;
        data_places_of(e)->first = place->next;
        free(place->host);
        free(place->runs);
        free(place);
    }
}

static void data_place_load(struct engine *e, const struct note_row *row) {
    const char *host = note_key(row, NOTE);
    if (!host)
        return;
    struct data_place *place = xcalloc(1, sizeof(*place));
    place->host = xstrdup(host);
    place->runs = xstrdup(row->text);
    place->next = data_places_of(e)->first;
    data_places_of(e)->first = place;
}

static const char *place_of(const struct engine *e, const char *host) {
    for (const struct data_place *place = data_places_of(e)->first; place; place = place->next)
        if (strcmp(place->host, host) == 0)
            return place->runs;
    return NULL;
}

static void data_place_load_run(struct engine *e, struct live_run *run, const struct run_row *row) {
    const char *host = row->host && *row->host ? row->host : executor_host(e->executor);
    run->place = place_of(e, host);
}

static void data_place_loaded(struct engine *e) {
    const char *host = executor_host(e->executor), *noted = place_of(e, host);
    if (noted && strcmp(noted, e->runs_folder) == 0)
        return;
    note_put(e, NOTE, host, e->runs_folder);
}

static bool has_folder(const char *root, const char *folder) {
    _cleanup_(freep) char *path = xasprintf("%s/%s", root, folder);
    return access(path, F_OK) == 0;
}

static bool is_same(const char *one, const char *other) {
    struct stat a, b;
    return strcmp(one, other) == 0
           || (stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev
               && a.st_ino == b.st_ino);
}

/* It is in the folder of the daemon that started it. */
static bool is_elsewhere(const struct live_run *run, const char *here) {
    const char *there = run->place, *folder = run->view.folder;
    if (!there || is_same(there, here))
        return false;
    if (run->executor == EXECUTOR_SLURM && !has_folder(here, folder))
        return true;
    /* If there is a copy here, it matters whether the run is live. */
    return has_folder(there, folder)
           && (!has_folder(here, folder) || rundir_is_locked(there, folder) > 0);
}

static int data_place_check(const struct engine *e, struct error *err) {
    for (size_t i = 0; i < run_count(e); i++) {
        const struct live_run *run = run_live_at(e, i);
        if (!run->is_unreachable && is_elsewhere(run, e->runs_folder))
            return error_set(err, -EINVAL,
                             "the run '%s' has not ended, and is in '%s', not in '%s': daemons of "
                             "one host, and those that use Slurm, need one 'data.folder'",
                             run->view.folder, run->place, e->runs_folder);
    }
    return 0;
}

/* An unfinished run that was started in this folder and is not there; NULL: none. */
static const char *data_place_missing(const struct engine *e) {
    for (size_t i = 0; i < run_count(e); i++) {
        const struct live_run *run = run_live_at(e, i);
        if (!run->is_unreachable && run->place && is_same(run->place, e->runs_folder)
            && !has_folder(e->runs_folder, run->view.folder))
            return run->view.folder;
    }
    return NULL;
}

const struct engine_part data_place_part = {
    .state_size = sizeof(struct data_places),
    .at = { [STEP_UNLOAD] = data_place_loading,
            [STEP_LOADED] = data_place_loaded,
            [STEP_FREE] = data_place_loading },
    .load_run = data_place_load_run,
    .load_note = data_place_load,
};

/* --- the folder itself ------------------------------------------------------------------------ */

#define MARK       ".sluice-data"
#define LOCK_TRIED ".sluice-lock"
#define MARK_MAX   256

const char *engine_data(const struct engine *e) {
    return e->data;
}

const char *engine_runs_folder(const struct engine *e) {
    return e->runs_folder;
}

struct data_folder {
    bool mark_is_due; /* the folder is new: mark it as ours after the next commit */
};

PART_STATE(data_folder, struct data_folder, data_folder_of)

static int make_data_folder(const char *path, struct error *err) {
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return 0;
    return error_set(
        err, -errno,
        "cannot make the folder '%s' of 'data.folder': %s; is its file system mounted?", path,
        strerror(errno));
}

static int check_owner(const char *path, int dir, struct error *err) {
    struct stat st;
    if (fstat(dir, &st) < 0)
        return error_set_errno(err, "look at", path);
    if (st.st_uid != geteuid())
        return error_set(
            err, -EPERM,
            "the folder '%s' of 'data.folder' belongs to another user; name one of yours", path);
    if (st.st_mode & 077)
        return error_set(err, -EPERM,
                         "others may look into '%s' of 'data.folder', where prompts and logs are; "
                         "run: chmod 700 '%s'",
                         path, path);
    return 0;
}

static int is_empty(const char *path, struct error *err) {
    struct outside_list list;
    int r = outside_list_open(&list, path, 2);
    if (r < 0)
        return error_set(err, r, "cannot read the folder '%s': %s", path, strerror(-r));
    int empty = 1;
    for (const char *name; empty && (name = outside_list_next(&list));)
        empty = strcmp(name, LOCK_TRIED) == 0;
    outside_list_close(&list);
    return empty;
}

/* data_folder_start checks the store's name, once that is loaded. */
static int check_mark(const char *path, int dir, struct error *err) {
    if (faccessat(dir, MARK, F_OK, 0) == 0)
        return 0;
    int r = is_empty(path, err);
    if (r < 0)
        return r;
    if (r == 0)
        return error_set(
            err, -ENOTEMPTY,
            "'%s' of 'data.folder' holds something else; name an empty folder (if these "
            "are runs of this store, run: touch '%s/" MARK "')",
            path, path);
    _cleanup_(fd_closep) int fd = outside_open(dir, MARK, O_WRONLY | O_CREAT, NULL, err);
    if (fd < 0)
        return error_prefix(err, "'%s' of 'data.folder'", path);
    return fsync(fd) < 0 || fsync(dir) < 0 ? error_set_errno(err, "write a file into", path) : 0;
}

/* Locks show whether a run is live. A second descriptor must be refused. */
static int check_locks(const char *path, int dir, struct error *err) {
    _cleanup_(fd_closep) int first = outside_open(dir, LOCK_TRIED, O_RDWR | O_CREAT, NULL, err);
    _cleanup_(fd_closep) int second =
        first < 0 ? first : outside_open(dir, LOCK_TRIED, O_RDWR, NULL, err);
    if (first < 0 || second < 0)
        return error_prefix(err, "'%s' of 'data.folder'", path);
    if (flock(first, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK /* another daemon does the same: it works */
                   ? 0
                   : error_set(err, -errno,
                               "files in '%s' of 'data.folder' cannot be locked (%s); use a file "
                               "system that can",
                               path, strerror(errno));
    if (flock(second, LOCK_EX | LOCK_NB) == 0)
        return error_set(err, -ENOLCK,
                         "locks in '%s' of 'data.folder' do not exclude other processes; use a "
                         "file system with working locks",
                         path);
    return 0;
}

/* The home, or a parent of it, would be swept. */
static int check_place(const char *path, const char *home, struct error *err) {
    _cleanup_(freep) char *real = realpath(path, NULL), *real_home = realpath(home, NULL);
    size_t length = real ? strlen(real) : 0;
    if (real && real_home && strncmp(real, real_home, length) == 0
        && (real_home[length] == '/' || real_home[length] == '\0' || length == 1))
        return error_set(err, -EINVAL, "'%s' of 'data.folder' holds the home '%s'; name another",
                         path, home);
    return 0;
}

/* The owner may have moved it, or one of its folders, with a symlink. */
static void trust_folders(const char *path) {
    static const char *const folders[] = { "", "/runs", "/tasks", "/done", "/bus", "/worktrees" };
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        _cleanup_(freep) char *folder = xasprintf("%s%s", path, folders[i]);
        outside_trust(folder);
    }
}

int data_folder_check(const struct config *config, const char *home, struct error *err) {
    _cleanup_(freep) char *path = config_data_folder(config, home);
    trust_folders(home);
    if (strcmp(path, home) == 0) /* the home needs no mark */
        return 0;
    int r = make_data_folder(path, err);
    if (r == 0)
        r = check_place(path, home, err);
    if (r < 0)
        return r;
    trust_folders(path);
    _cleanup_(fd_closep) int dir = outside_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, NULL, err);
    if (dir < 0)
        return dir;
    r = check_owner(path, dir, err);
    if (r == 0)
        r = check_locks(path, dir, err);
    return r == 0 ? check_mark(path, dir, err) : r;
}

/* --- owner ----------------------------------------------------------------------------------- */

static int check_store(struct engine *e, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf mark = STRBUF_INIT;
    if (strcmp(e->data, e->home) == 0) /* the home needs no mark */
        return 0;
    _cleanup_(freep) char *path = xasprintf("%s/" MARK, e->data);
    int r = outside_read(AT_FDCWD, path, 0, MARK_MAX, &mark, err);
    if (r < 0)
        return r;
    const char *name = strbuf_text(&mark);
    size_t length = strcspn(name, "\n");
    bool is_ours = is_name(store_name_of(e)->text, name, length) /* its name, or its former one */
                   || is_name(store_name_of(e)->folder, name, length);
    if (length > 0 && !is_ours)
        return error_set(err, -EEXIST,
                         "'%s' of 'data.folder' belongs to another store; name an empty folder "
                         "(if it is this store's, empty the file '%s')",
                         e->data, path);
    const char *missing = length == 0 ? data_place_missing(e) : NULL;
    if (missing)
        return error_set(
            err, -EINVAL,
            "the run '%s' has not ended, and '%s' of 'data.folder' is new; is its file "
            "system mounted? (if what was there is gone for good, run: echo %s >'%s')",
            missing, e->data, store_name(e), path);
    data_folder_of(e)->mark_is_due = length == 0;
    return 0;
}

/* After loading the rows, before any sweep: refuses the directory of another store, and a directory
 * that does not have our unfinished runs. */
static int data_folder_start(struct engine *e, struct error *err) {
    int r = check_store(e, err);
    return r == 0 ? data_place_check(e, err) : r;
}

static int data_folder_open(struct engine *e, struct error *err) {
    return data_folder_check(e->config, e->home, err);
}

/* Not earlier: a mark with a name that no row has would look like another store's. */
static void data_folder_stored(struct engine *e) {
    _cleanup_(strbuf_finish) struct strbuf mark = STRBUF_INIT;
    struct error err = { 0 };
    if (!data_folder_of(e)->mark_is_due)
        return;
    data_folder_of(e)->mark_is_due = false;
    _cleanup_(freep) char *path = xasprintf("%s/" MARK, e->data);
    strbuf_printf(&mark, "%s\n", store_name(e));
    if (outside_write(path, 0600, mark.text, mark.length, &err) < 0)
        log_warning("the data folder has no mark yet; the next start tries again: %s", err.text);
}

const struct engine_part data_folder_part = {
    .state_size = sizeof(struct data_folder),
    .at = { [STEP_STORED] = data_folder_stored },
    .try = { [TRY_OPEN] = data_folder_open, [TRY_START] = data_folder_start },
};
