/* fault_vfs.c: see fault_vfs.h.
 *
 * Writes go to the real file at once, so that reads need no special handling. The overwritten bytes
 * are kept until the next sync of that file; a power cut undoes some of the writes at random.
 */
#include "fault_vfs.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/macros.h"

#define PIECE 512

/* A change of a file that is not synced yet. */
struct pending {
    sqlite3_int64 offset, old_size; /* old_size: size of the file before the change */
    int size;                       /* of the write; -1: truncated to `offset` */
    unsigned char *old, *new;       /* old: previous bytes from `offset` up to old_size */
};

/* Bytes whose sync failed. Reads return the new bytes, and no later sync writes them: only another write of the same
 * bytes does. */
struct lost {
    struct lost *next;
    sqlite3_int64 offset;
    int size;
    unsigned char *old; /* on the disk; 0 behind its end */
    bool *is_rewritten; /* for each byte */
};

struct tracked {
    struct tracked *next;
    char *path;
    bool made;    /* and not synced yet */
    bool deleted; /* and may come back */
    bool removed; /* for good */
    struct pending *pending;
    size_t count, capacity;
    struct lost *lost;
    unsigned char *last; /* of a deleted file: its bytes */
    size_t last_size;
};

struct fault_file {
    sqlite3_file base;
    struct tracked *tracked; /* NULL: a temporary file */
    sqlite3_file *real;
};

static sqlite3_vfs *real_vfs;
static struct tracked *all_tracked;
static struct {
    enum fault_plan plan;
    uint64_t at, count;
    struct rng rng;
    bool happened;
    void (*before)(void *ctx);
    void *ctx;
} fault;

const char *fault_plan_name(enum fault_plan plan) {
    static const char *const names[] = {
        [FAULT_NONE] = "nothing",
        [FAULT_KILL] = "kill",
        [FAULT_KILL_TORN] = "kill in a write",
        [FAULT_POWER] = "power cut",
        [FAULT_EIO] = "EIO once",
        [FAULT_EIO_ALWAYS] = "EIO from then on",
        [FAULT_FULL] = "full once",
        [FAULT_FULL_ALWAYS] = "full from then on",
    };
    _Static_assert(ARRAY_SIZE(names) == FAULT_PLANS, "a plan has no name");
    return names[plan];
}

/* --- the power cut ------------------------------------------------------------------------------- */

static void pending_clear(struct tracked *t) {
    for (size_t i = 0; i < t->count; i++) {
        free(t->pending[i].old);
        free(t->pending[i].new);
    }
    t->count = 0;
}

static void lost_free(struct lost *lost) {
    free(lost->old);
    free(lost->is_rewritten);
    free(lost);
}

/* The writes since the last sync are lost. Truncations stay pending. */
static void lose(struct tracked *t) {
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++) {
        struct pending *p = &t->pending[i];
        if (p->size < 0) {
            t->pending[kept++] = *p;
            continue;
        }
        struct lost *lost = xcalloc(1, sizeof(*lost));
        sqlite3_int64 known = p->old ? p->old_size - p->offset : 0;
        *lost = (struct lost){ .next = t->lost,
                               .offset = p->offset,
                               .size = p->size,
                               .old = xcalloc(1, (size_t)p->size),
                               .is_rewritten = xcalloc((size_t)p->size, sizeof(bool)) };
        if (known > 0)
            memcpy(lost->old, p->old, (size_t)(known < p->size ? known : p->size));
        t->lost = lost;
        free(p->old);
        free(p->new);
    }
    t->count = kept;
}

/* These bytes are written once more, or cut off. `ret_old` not NULL: receives those on the disk, latest loss first. */
static void rewrite(struct tracked *t, sqlite3_int64 offset, sqlite3_int64 end,
                    unsigned char *ret_old) {
    for (struct lost *lost = t->lost; lost; lost = lost->next)
        for (int i = 0; i < lost->size; i++) {
            sqlite3_int64 at = lost->offset + i;
            if (at < offset || at >= end || lost->is_rewritten[i])
                continue;
            lost->is_rewritten[i] = true;
            if (ret_old)
                ret_old[at - offset] = lost->old[i];
        }
}

static void forget_lost(struct tracked *t) {
    for (struct lost *lost; (lost = t->lost);) {
        t->lost = lost->next;
        lost_free(lost);
    }
}

static void put(int fd, const void *bytes, size_t size, sqlite3_int64 offset) {
    if (size > 0 && pwrite(fd, bytes, size, offset) != (ssize_t)size)
        abort();
}

static void take_back(int fd, const struct pending *p) {
    sqlite3_int64 kept = p->old_size - p->offset;
    if (p->size >= 0 && kept > p->size)
        kept = p->size;
    if (kept > 0)
        put(fd, p->old, (size_t)kept, p->offset);
    if (ftruncate(fd, p->old_size) < 0)
        abort();
}

static void deal_out(int fd, const struct pending *p) {
    if (p->size < 0) {
        if (rng_below(&fault.rng, 2) && ftruncate(fd, p->offset) < 0)
            abort();
        return;
    }
    unsigned whole = (unsigned)rng_below(&fault.rng, 4); /* often everything or nothing */
    for (int from = 0; from < p->size;) {
        int to = from + PIECE - (int)((p->offset + from) % PIECE);
        if (to > p->size)
            to = p->size;
        unsigned dice = (unsigned)rng_below(&fault.rng, 8);
        if (whole == 0 || (whole > 1 && dice < 4)) {
            put(fd, p->new + from, (size_t)(to - from), p->offset + from);
        } else if (whole > 1 && dice == 7) {
            unsigned char junk[PIECE];
            memset(junk, (int)rng_below(&fault.rng, 256), sizeof(junk));
            put(fd, junk, (size_t)(to - from), p->offset + from);
        }
        from = to;
    }
}

static void cut_file(struct tracked *t) {
    if (t->removed)
        return;
    if (t->deleted) {
        if (rng_below(&fault.rng, 2))
            return; /* stays deleted */
        int fd = open(t->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0)
            abort();
        put(fd, t->last, t->last_size, 0);
        close(fd);
    }
    if (t->made && rng_below(&fault.rng, 2)) {
        (void)unlink(t->path);
        return;
    }
    int fd = open(t->path, O_RDWR | O_CLOEXEC);
    if (fd < 0) /* renamed, which is not tracked here */
        return;
    for (size_t i = t->count; i > 0; i--)
        take_back(fd, &t->pending[i - 1]);
    for (size_t i = 0; i < t->count; i++)
        deal_out(fd, &t->pending[i]);
    for (const struct lost *lost = t->lost; lost; lost = lost->next) /* the latest first */
        for (int i = 0; i < lost->size; i++)
            if (!lost->is_rewritten[i])
                put(fd, &lost->old[i], 1, lost->offset + i);
    close(fd);
}

/* --- counting -------------------------------------------------------------------------------------- */

static _Noreturn void die(void) {
    _exit(FAULT_EXIT);
}

/* The error that the operation returns instead of being done; SQLITE_OK: do it. `full`: a full disk
 * may refuse it. */
static int operation(int io_error, bool full) {
    fault.count++;
    if (fault.before)
        fault.before(fault.ctx);
    bool here = fault.count == fault.at;
    bool after = fault.at > 0 && fault.count >= fault.at;
    switch (fault.plan) {
    case FAULT_KILL:
        if (here)
            die();
        return SQLITE_OK;
    case FAULT_KILL_TORN:
        if (here && !full)
            die();
        return SQLITE_OK; /* the write itself handles it */
    case FAULT_POWER:
        if (here) {
            for (struct tracked *t = all_tracked; t; t = t->next)
                cut_file(t);
            die();
        }
        return SQLITE_OK;
    case FAULT_EIO:
    case FAULT_EIO_ALWAYS:
        if (fault.plan == FAULT_EIO ? !here : !after)
            return SQLITE_OK;
        fault.happened = true;
        return io_error;
    case FAULT_FULL:
    case FAULT_FULL_ALWAYS:
        if (!full || (fault.plan == FAULT_FULL ? !here : !after))
            return SQLITE_OK;
        fault.happened = true;
        return SQLITE_FULL;
    case FAULT_NONE:
    case FAULT_PLANS:
        break;
    }
    return SQLITE_OK;
}

void fault_set(enum fault_plan plan, uint64_t at, uint64_t seed) {
    fault.plan = plan;
    fault.at = at;
    fault.count = 0;
    fault.happened = false;
    fault.rng.state = seed;
}

void fault_watch(void (*before)(void *ctx), void *ctx) {
    fault.before = before;
    fault.ctx = ctx;
}

void fault_now(enum fault_plan plan, uint64_t seed) {
    fault.plan = plan;
    fault.at = fault.count;
    fault.rng.state = seed;
    fault_watch(NULL, NULL);
}

uint64_t fault_count(void) {
    return fault.count;
}

bool fault_happened(void) {
    return fault.happened;
}

/* --- files ------------------------------------------------------------------------------------------ */

static sqlite3_file *real_of(sqlite3_file *file) {
    return ((struct fault_file *)file)->real;
}

static struct pending *remember(struct fault_file *file, sqlite3_int64 offset, int size) {
    struct tracked *t = file->tracked;
    if (!t)
        return NULL;
    t->pending = xgrow(t->pending, &t->capacity, t->count + 1, sizeof(*t->pending));
    struct pending *p = &t->pending[t->count++];
    *p = (struct pending){ .offset = offset, .size = size };
    if (file->real->pMethods->xFileSize(file->real, &p->old_size) != SQLITE_OK)
        abort();
    sqlite3_int64 kept = p->old_size - offset;
    if (size >= 0 && kept > size)
        kept = size;
    if (kept > 0) {
        p->old = xmalloc((size_t)kept);
        if (file->real->pMethods->xRead(file->real, p->old, (int)kept, offset) != SQLITE_OK)
            abort();
        rewrite(t, offset, offset + kept, size >= 0 ? p->old : NULL);
    }
    return p;
}

static int file_close(sqlite3_file *file) {
    struct fault_file *own = (struct fault_file *)file;
    int rc = own->real->pMethods ? own->real->pMethods->xClose(own->real) : SQLITE_OK;
    free(own->real);
    return rc;
}

static int file_read(sqlite3_file *file, void *bytes, int size, sqlite3_int64 offset) {
    return real_of(file)->pMethods->xRead(real_of(file), bytes, size, offset);
}

static int file_write(sqlite3_file *file, const void *bytes, int size, sqlite3_int64 offset) {
    struct fault_file *own = (struct fault_file *)file;
    int rc = operation(SQLITE_IOERR_WRITE, true);
    if (rc != SQLITE_OK)
        return rc;
    struct pending *p = remember(own, offset, size);
    if (p) {
        p->new = xmalloc((size_t)size);
        memcpy(p->new, bytes, (size_t)size);
    }
    if (fault.plan == FAULT_KILL_TORN && fault.count == fault.at) {
        (void)own->real->pMethods->xWrite(own->real, bytes, size / 2, offset);
        die();
    }
    return own->real->pMethods->xWrite(own->real, bytes, size, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    struct fault_file *own = (struct fault_file *)file;
    int rc = operation(SQLITE_IOERR_TRUNCATE, false);
    if (rc != SQLITE_OK)
        return rc;
    (void)remember(own, size, -1);
    return own->real->pMethods->xTruncate(own->real, size);
}

static int file_sync(sqlite3_file *file, int flags) {
    struct fault_file *own = (struct fault_file *)file;
    int rc = operation(SQLITE_IOERR_FSYNC, false);
    if (rc != SQLITE_OK && own->tracked)
        lose(own->tracked);
    if (rc != SQLITE_OK)
        return rc;
    rc = own->real->pMethods->xSync(own->real, flags);
    if (rc != SQLITE_OK || !own->tracked)
        return rc;
    pending_clear(own->tracked);
    if (own->tracked->made) { /* "unix" syncs the directory with the first sync of a new file */
        own->tracked->made = false;
        for (struct tracked *t = all_tracked; t; t = t->next) {
            if (!t->deleted)
                continue;
            pending_clear(t);
            t->removed = true;
            t->deleted = false;
        }
    }
    return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static int file_lock(sqlite3_file *file, int level) {
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level) {
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int file_check_lock(sqlite3_file *file, int *out) {
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}

static int file_control(sqlite3_file *file, int what, void *arg) {
    return real_of(file)->pMethods->xFileControl(real_of(file), what, arg);
}

static int file_sector(sqlite3_file *file) {
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int file_traits(sqlite3_file *file) {
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

/* No shared memory: a connection that is not EXCLUSIVE cannot use the log, and fails. */
static const sqlite3_io_methods methods = {
    .iVersion = 1,
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
};

/* --- the VFS ----------------------------------------------------------------------------------------- */

static struct tracked *track(const char *path) {
    for (struct tracked *t = all_tracked; t; t = t->next)
        if (strcmp(t->path, path) == 0)
            return t;
    struct tracked *t = xcalloc(1, sizeof(*t));
    t->path = xstrdup(path);
    t->next = all_tracked;
    all_tracked = t;
    return t;
}

static int vfs_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags,
                    int *out_flags) {
    (void)vfs;
    struct fault_file *own = (struct fault_file *)file;
    *own = (struct fault_file){ 0 };
    struct stat st;
    bool makes = name && (flags & SQLITE_OPEN_CREATE) && stat(name, &st) < 0;
    int rc = makes ? operation(SQLITE_CANTOPEN, false) : SQLITE_OK;
    if (rc != SQLITE_OK)
        return rc;
    own->real = xcalloc(1, (size_t)real_vfs->szOsFile);
    rc = real_vfs->xOpen(real_vfs, name, own->real, flags, out_flags);
    if (rc != SQLITE_OK) {
        free(own->real);
        return rc;
    }
    own->base.pMethods = &methods;
    if (name && !(flags & SQLITE_OPEN_DELETEONCLOSE)) {
        own->tracked = track(name);
        own->tracked->removed = own->tracked->deleted = false;
        if (makes) {
            pending_clear(own->tracked);
            own->tracked->made = true;
        }
    }
    return SQLITE_OK;
}

/* Saves the bytes of a file before it is deleted. Changes that are not synced stay pending. */
static void keep_last(struct tracked *t) {
    struct stat st;
    int fd = open(t->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        abort();
    free(t->last);
    t->last_size = fstat(fd, &st) == 0 ? (size_t)st.st_size : 0;
    t->last = xmalloc(t->last_size + 1);
    t->deleted = pread(fd, t->last, t->last_size, 0) == (ssize_t)t->last_size;
    close(fd);
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync) {
    (void)vfs;
    int rc = operation(SQLITE_IOERR_DELETE, false);
    if (rc != SQLITE_OK)
        return rc;
    struct tracked *t = track(name);
    if (!sync && access(name, F_OK) == 0) {
        keep_last(t);
    } else if (!t->deleted) {
        pending_clear(t);
        t->made = false;
    }
    t->removed = !t->deleted;
    forget_lost(t);
    return real_vfs->xDelete(real_vfs, name, sync);
}

/* In the place of the C library's: the store replaces its log by a synced file. */
int rename(const char *from, const char *to) {
    int r = renameat(AT_FDCWD, from, AT_FDCWD, to);
    for (struct tracked *t = all_tracked; t && r == 0; t = t->next)
        if (strcmp(t->path, to) == 0) {
            pending_clear(t);
            forget_lost(t);
            t->made = false;
        }
    return r;
}

void fault_install(void) {
    static sqlite3_vfs vfs;
    real_vfs = sqlite3_vfs_find("unix");
    if (!real_vfs || vfs.zName)
        abort();
    vfs = *real_vfs;
    vfs.szOsFile = sizeof(struct fault_file);
    vfs.zName = "fault";
    vfs.pNext = NULL;
    vfs.pAppData = real_vfs->pAppData;
    vfs.xOpen = vfs_open;
    vfs.xDelete = vfs_delete;
    if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK)
        abort();
}
