/* sqlite_backup.c: a copy that is made while the store goes on.
 *
 * The connection is the only one there can be (EXCLUSIVE), so the copy is made through it: a few pages at
 * a time, between commits. SQLite writes what a commit changes into the part that is copied already,
 * so the copy is the store as it is when the last page is through, and no writer can keep it from
 * ending.
 *
 * The check of the copy and its sync cannot be cut into pieces. They touch nothing but the copy, which is
 * a file of its own by then, so a thread does them.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "os/thread.h"
#include "store/sqlite_internal.h"

#define PAGES_PER_STEP 256 /* a megabyte: about a millisecond */
#define LOOK_AT_THREAD 10  /* ms */

struct sqlite_backup {
    char *path, *partial;
    sqlite3 *to;          /* NULL: all is copied */
    sqlite3_backup *copy; /* with `to` */
    /* The thread's, while `sealing` and until it sets `over`. */
    bool sealing;
    pthread_t thread;
    atomic_bool over, stop;
    int result;
    struct error err;
};

static void end_copying(struct sqlite_backup *b) {
    if (b->copy)
        (void)sqlite3_backup_finish(b->copy);
    (void)sqlite3_close(b->to);
    b->copy = NULL;
    b->to = NULL;
}

static void backup_free(struct sqlite_store *store) {
    struct sqlite_backup *b = store->backup;
    store->backup = NULL;
    end_copying(b);
    free(b->path);
    free(b->partial);
    free(b);
}

/* Nothing of it stays. */
static void give_up(struct sqlite_store *store) {
    sqlite_copy_remove(store->backup->partial);
    backup_free(store);
}

/* It is not worth anything before its end, so nothing of it is synced or journaled until then. */
static int open_copy(struct sqlite_store *store, struct sqlite_backup *b, struct error *err) {
    int rc =
        sqlite3_open_v2(b->partial, &b->to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(b->to,
                          "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF;"
                          "PRAGMA synchronous = OFF",
                          NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        b->copy = sqlite3_backup_init(b->to, "main", store->db, "main");
    if (rc == SQLITE_OK && !b->copy)
        rc = sqlite3_extended_errcode(b->to);
    return rc == SQLITE_OK ? 0 : sqlite_error(b->to, b->partial, "write", rc, err);
}

int sqlite_backup_begin(struct store *base, const char *path, struct error *err) {
    struct sqlite_store *store = (struct sqlite_store *)base;
    _cleanup_(freep) char *partial = NULL;
    int r = sqlite_copy_prepare(store, path, &partial, err);
    if (r < 0)
        return r;
    struct sqlite_backup *b = store->backup = xcalloc(1, sizeof(*b));
    b->path = xstrdup(path);
    b->partial = TAKE_PTR(partial);
    r = open_copy(store, b, err);
    if (r < 0)
        give_up(store);
    return r;
}

static void *seal(void *ctx) {
    struct sqlite_backup *b = ctx;
    b->result = sqlite_copy_seal(b->partial, 0, &b->stop, &b->err);
    if (b->result >= 0)
        b->result = b->stop ? -ECANCELED : sqlite_copy_put_in_place(b->partial, b->path, &b->err);
    b->over = true;
    return NULL;
}

static int start_thread(struct sqlite_backup *b, struct error *err) {
    int r = thread_start(&b->thread, seal, b);
    if (r < 0)
        return error_set(err, r, "cannot check the copy '%s': %s", b->partial, strerror(-r));
    b->sealing = true;
    return 0;
}

/* The fault may be of either side. */
static int copy_failed(struct sqlite_store *store, int rc, struct error *err) {
    struct sqlite_backup *b = store->backup;
    int primary = rc & 0xff;
    if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB)
        return sqlite_error(store->db, store->place.path, "copy", rc, err);
    return sqlite_error(b->to, b->partial, "write", rc, err);
}

/* 1: there is more. */
static int copy_some(struct sqlite_store *store, struct error *err) {
    struct sqlite_backup *b = store->backup;
    int rc =
        sqlite3_backup_step(b->copy, store->backup_pages ? store->backup_pages : PAGES_PER_STEP);
    if (rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
        return 1;
    if (rc != SQLITE_DONE)
        return copy_failed(store, rc, err);
    rc = sqlite3_backup_finish(b->copy);
    b->copy = NULL;
    if (rc != SQLITE_OK)
        return copy_failed(store, rc, err);
    end_copying(b);
    int r = start_thread(b, err);
    return r < 0 ? r : 1;
}

int sqlite_backup_go_on(struct store *base, time_ms *ret_again, struct error *err) {
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct sqlite_backup *b = store->backup;
    int r = 1;
    if (!b->sealing) {
        r = copy_some(store, err);
    } else if (b->over) {
        pthread_join(b->thread, NULL);
        r = b->result;
        if (r < 0)
            error_set(err, r, "%s", b->err.text);
    }
    *ret_again = b->sealing ? LOOK_AT_THREAD : 0;
    if (r < 0)
        give_up(store);
    else if (r == 0)
        backup_free(store);
    return r;
}

bool sqlite_backup_cancel(struct store *base) {
    struct sqlite_store *store = (struct sqlite_store *)base;
    struct sqlite_backup *b = store->backup;
    bool was_whole = false;
    if (b->sealing) {
        b->stop = true;
        pthread_join(b->thread, NULL);
        was_whole = b->result >= 0;
    }
    give_up(store); /* one that is in place has no such name any more */
    return !was_whole;
}
