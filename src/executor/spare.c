/* spare.c: directories in `.spare` have never been used, so a crash cannot damage them: what an
 * earlier daemon left there is completed and used.
 *
 *   .spare/7/1/    a task's directory with that of its first run, prepared by rundir_prepare_at. A
 *                  first run takes both with one rename, a later one takes only the inner one
 *   .spare/tmp-7   TMPDIR of an ended run. The shim has checked that it is a directory, empty and
 *                  0700; otherwise it was renamed and is not called tmp any more */
#include "executor/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "os/fd.h"
#include "os/outside.h"
#include "os/worker.h"
#include "rundir/rundir.h"

#define SPARE_NAME ".spare"
#define SPARES     32u /* directories of each kind */
#define NAME_BYTES 64  /* bytes of a name below .spare */

enum slot_state {
    SLOT_EMPTY,  /* owned by the thread: to be created */
    SLOT_READY,  /* may be taken */
    SLOT_BUSY,   /* the loop is taking it */
    SLOT_FAILED, /* could not be created; retried on demand */
};

struct spare {
    int root, folder; /* folder: .spare */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t mutex; /* protects everything that follows */
    pthread_cond_t wake;
    bool stop;
    enum slot_state slots[SPARES];
    bool tmps[SPARES]; /* .spare/tmp-N is there */
};

/* --- the thread ------------------------------------------------------------------------------ */

/* -1: none. */
static int find_slot(const struct spare *spare, enum slot_state state) {
    for (unsigned i = 0; i < SPARES; i++)
        if (spare->slots[i] == state)
            return (int)i;
    return -1;
}

static int find_tmp(const struct spare *spare, bool there) {
    for (unsigned i = 0; i < SPARES; i++)
        if (spare->tmps[i] == there)
            return (int)i;
    return -1;
}

static bool make_slot(const struct spare *spare, unsigned slot, int tmp) {
    char outer[NAME_BYTES], inner[NAME_BYTES], kept[NAME_BYTES];
    (void)snprintf(outer, sizeof(outer), "%u", slot);
    (void)snprintf(inner, sizeof(inner), "%u/1", slot);
    (void)snprintf(kept, sizeof(kept), "tmp-%d", tmp);
    if (mkdirat(spare->folder, outer, 0700) < 0 && errno != EEXIST)
        return false;
    return rundir_prepare_at(spare->folder, inner, tmp >= 0 ? kept : NULL) == 0;
}

static void *make_slots(void *ctx) {
    struct spare *spare = ctx;
    pthread_mutex_lock(&spare->mutex);
    while (!spare->stop) {
        int slot = find_slot(spare, SLOT_EMPTY);
        if (slot < 0) {
            pthread_cond_wait(&spare->wake, &spare->mutex);
            continue;
        }
        int tmp = find_tmp(spare, true);
        pthread_mutex_unlock(&spare->mutex);
        bool made = make_slot(spare, (unsigned)slot, tmp);
        pthread_mutex_lock(&spare->mutex);
        if (tmp >= 0)
            spare->tmps[tmp] = false;
        spare->slots[slot] = made ? SLOT_READY : SLOT_FAILED;
    }
    pthread_mutex_unlock(&spare->mutex);
    return NULL;
}

/* --- the loop -------------------------------------------------------------------------------- */

/* Returns the slot; the thread refills it when there is enough work to wake it up. */
static void give_back(struct spare *spare, unsigned slot, enum slot_state state) {
    pthread_mutex_lock(&spare->mutex);
    spare->slots[slot] = state;
    unsigned empty = 0;
    for (unsigned i = 0; i < SPARES; i++)
        empty += spare->slots[i] == SLOT_EMPTY;
    if (empty >= SPARES / 4)
        pthread_cond_signal(&spare->wake);
    pthread_mutex_unlock(&spare->mutex);
}

/* Takes a ready slot; -1: none. Slots that could not be created are retried. */
static int borrow(struct spare *spare) {
    pthread_mutex_lock(&spare->mutex);
    int slot = find_slot(spare, SLOT_READY);
    if (slot >= 0)
        spare->slots[slot] = SLOT_BUSY;
    else
        for (unsigned i = 0; i < SPARES; i++)
            if (spare->slots[i] == SLOT_FAILED) {
                spare->slots[i] = SLOT_EMPTY;
                pthread_cond_signal(&spare->wake);
            }
    pthread_mutex_unlock(&spare->mutex);
    return slot;
}

static bool put_there(const struct spare *spare, unsigned slot, const char *folder) {
    char outer[NAME_BYTES], inner[NAME_BYTES], task[256];
    const char *slash = strchr(folder, '/');
    if (!slash || strchr(slash + 1, '/') || folder[0] == '.'
        || snprintf(task, sizeof(task), "%.*s", (int)(slash - folder), folder) >= (int)sizeof(task))
        return false;
    (void)snprintf(outer, sizeof(outer), "%u", slot);
    (void)snprintf(inner, sizeof(inner), "%u/1", slot);
    if (strcmp(slash, "/1") == 0
        && renameat2(spare->folder, outer, spare->root, task, RENAME_NOREPLACE) == 0)
        return true;
    return renameat2(spare->folder, inner, spare->root, folder, RENAME_NOREPLACE) == 0;
}

bool spare_take(struct spare *spare, const char *folder) {
    int slot = borrow(spare);
    if (slot < 0)
        return false;
    bool there = put_there(spare, (unsigned)slot, folder);
    give_back(spare, (unsigned)slot, there ? SLOT_EMPTY : SLOT_READY);
    return there;
}

void spare_keep_tmp(struct spare *spare, int dir) {
    char name[NAME_BYTES];
    bool kept = false;
    pthread_mutex_lock(&spare->mutex);
    int tmp = find_tmp(spare, false);
    (void)snprintf(name, sizeof(name), "tmp-%d", tmp);
    if (tmp >= 0)
        kept = spare->tmps[tmp] = renameat(dir, "tmp", spare->folder, name) == 0;
    pthread_mutex_unlock(&spare->mutex);
    if (!kept)
        (void)unlinkat(dir, "tmp", AT_REMOVEDIR);
}

/* --- life ------------------------------------------------------------------------------------ */

struct spare *spare_new(int root) {
    struct spare *spare = xcalloc(1, sizeof(*spare));
    spare->root = root;
    (void)mkdirat(root, SPARE_NAME, 0700);
    spare->folder = outside_open(root, SPARE_NAME, O_RDONLY | O_DIRECTORY, NULL, NULL);
    pthread_mutex_init(&spare->mutex, NULL);
    pthread_cond_init(&spare->wake, NULL);
    for (unsigned i = 0; i < SPARES; i++) {
        char name[NAME_BYTES];
        (void)snprintf(name, sizeof(name), "tmp-%u", i);
        spare->tmps[i] = faccessat(spare->folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    }
    /* Without the thread or the directory none is ever ready, and each start creates its own. */
    spare->has_thread = spare->folder >= 0 && thread_start(&spare->thread, make_slots, spare) == 0;
    return spare;
}

struct spare *spare_free(struct spare *spare) {
    if (!spare)
        return NULL;
    pthread_mutex_lock(&spare->mutex);
    spare->stop = true;
    pthread_cond_signal(&spare->wake);
    pthread_mutex_unlock(&spare->mutex);
    if (spare->has_thread)
        pthread_join(spare->thread, NULL);
    pthread_cond_destroy(&spare->wake);
    pthread_mutex_destroy(&spare->mutex);
    fd_closep(&spare->folder);
    free(spare);
    return NULL;
}
