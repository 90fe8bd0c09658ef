/* bus.c: the files of the bus: names, locking, appending, syncing and removal. */
#include "bus/bus.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/number.h"
#include "bus/reader.h"
#include "os/clock.h"
#include "os/outside.h"

/* A file that was appended to, until bus_sync. */
struct bus_unsynced {
    int fd;
    char *path;
    bool is_new;
};

struct bus_folder {
    char *path;
    uint64_t round; /* sync round that covered it; 0: none */
};

#define SUFFIX       ".md"
#define PROJECTS_MAX 100000u /* examined when searching for a task */

static time_ms read_now(void *ctx) {
    (void)ctx;
    return clock_read();
}

static time_ms read_steady(void *ctx) {
    (void)ctx;
    return clock_read_steady();
}

static bool wait_span(void *ctx, time_ms span) {
    (void)ctx;
    (void)poll(NULL, 0, (int)span);
    return true;
}

void bus_init(struct bus *bus, const char *root) {
    *bus = (struct bus){
        .root = xstrdup(root),
        .limits = { .lock_every = 10,
                    .lock_timeout = SECONDS(10),
                    .retry_delay = 100,
                    .attempts = 3 },
        .clock = { .now = read_now, .steady = read_steady, .wait = wait_span },
        .sync = fsync,
    };
}

void bus_finish(struct bus *bus) {
    if (bus->root)
        bus_counts_flush(bus);
    for (size_t i = 0; i < bus->unsynced_count; i++) {
        close(bus->unsynced[i].fd);
        free(bus->unsynced[i].path);
    }
    for (size_t i = 0; i < bus->folder_count; i++)
        free(bus->folders[i].path);
    free(bus->unsynced);
    free(bus->folders);
    free(bus->root);
    *bus = (struct bus){ 0 };
}

/* --- names ----------------------------------------------------------------------------------- */

static int add_name(const char *what, const char *name, struct strbuf *out, struct error *err) {
    size_t before = out->length;
    if (!name || !*name)
        return error_set(err, -EINVAL, "a message needs the name of a %s", what);
    for (const char *c = name; *c; c++) {
        bool plain =
            *c != '/' && *c != '%' && !iscntrl((unsigned char)*c) && (*c != '.' || c > name);
        if (plain)
            strbuf_putc(out, *c);
        else
            strbuf_printf(out, "%%%02X", (unsigned char)*c);
    }
    if (out->length - before + strlen(SUFFIX) > NAME_MAX)
        return error_set(err, -ENAMETOOLONG, "the name of %s '%.40s…' is too long for a file", what,
                         name);
    return 0;
}

int bus_path(const struct bus *bus, const struct bus_place *place, struct strbuf *out,
             struct error *err) {
    strbuf_printf(out, "%s/", bus->root);
    int r = add_name("project", place->project, out, err);
    if (r == 0 && place->task) {
        strbuf_putc(out, '/');
        r = add_name("task", place->task, out, err);
    }
    strbuf_puts(out, SUFFIX);
    return r;
}

static int make_one(const char *path, struct error *err) {
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return 0;
    return error_set_errno(err, "make folder", path);
}

int bus_make_folder(const struct bus *bus, const struct bus_place *place, struct error *err) {
    int r = make_one(bus->root, err);
    if (r < 0 || !place->task)
        return r;
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/", bus->root);
    r = add_name("project", place->project, &path, err);
    return r < 0 ? r : make_one(strbuf_text(&path), err);
}

/* --- finding --------------------------------------------------------------------------------- */

static char *decode(const char *name) {
    struct strbuf out = STRBUF_INIT;
    for (; *name; name++) {
        int high = *name == '%' ? number_hex_digit(name[1]) : -1;
        int low = high >= 0 ? number_hex_digit(name[2]) : -1;
        strbuf_putc(&out, low >= 0 ? (char)(high << 4 | low) : *name);
        name += low >= 0 ? 2 : 0;
    }
    return strbuf_take(&out);
}

static bool has_task(const struct bus *bus, const char *folder, const char *task) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "%s/%s/", bus->root, folder);
    if (add_name("task", task, &path, NULL) < 0)
        return false;
    strbuf_puts(&path, SUFFIX);
    return access(strbuf_text(&path), F_OK) == 0;
}

char *bus_find_project(const struct bus *bus, const char *task) {
    struct outside_list root;
    char *found = NULL;
    unsigned count = 0;
    (void)outside_list_open(&root, bus->root, PROJECTS_MAX);
    for (const char *name; (name = outside_list_next(&root));) {
        if (name[0] == '.' || !has_task(bus, name, task))
            continue;
        free(found);
        found = decode(name);
        count++;
    }
    outside_list_close(&root);
    if (count > 1) {
        free(found);
        found = NULL;
    }
    return found;
}

/* --- sync ------------------------------------------------------------------------------------- */

/* Which messages survive a power cut?
 *
 * Those that bus_sync has synced. Appending leaves its file open and unsynced; one call syncs all
 * files, so a batch pays once per file, not per message. The lock is not held meanwhile: other
 * processes append, and readers see messages that are not durable yet.
 *
 * A new file needs its directory synced too, and that the parent. Every writer syncs directories
 * once, because their creator may have died, and again for each new file. */

static bool is_same_file(int a, int b) {
    struct stat x, y;
    return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Takes ownership of the descriptor. */
static void bus_note_unsynced(struct bus *bus, int fd, const char *path, bool is_new) {
    for (size_t i = 0; i < bus->unsynced_count; i++)
        if (is_same_file(bus->unsynced[i].fd, fd)) {
            close(fd);
            return;
        }
    bus->unsynced = xgrow(bus->unsynced, &bus->unsynced_capacity, bus->unsynced_count + 1,
                          sizeof(*bus->unsynced));
    bus->unsynced[bus->unsynced_count++] =
        (struct bus_unsynced){ .fd = fd, .path = xstrdup(path), .is_new = is_new };
}

/* --- folders --------------------------------------------------------------------------------- */

static struct bus_folder *folder_of(struct bus *bus, const char *path) {
    for (size_t i = 0; i < bus->folder_count; i++)
        if (strcmp(bus->folders[i].path, path) == 0)
            return &bus->folders[i];
    bus->folders =
        xgrow(bus->folders, &bus->folder_capacity, bus->folder_count + 1, sizeof(*bus->folders));
    struct bus_folder *folder = &bus->folders[bus->folder_count++];
    *folder = (struct bus_folder){ .path = xstrdup(path) };
    return folder;
}

static int sync_folder(struct bus *bus, const char *path, bool has_new, struct error *err) {
    struct bus_folder *folder = folder_of(bus, path);
    if (folder->round == bus->round || (folder->round > 0 && !has_new))
        return 0;
    _cleanup_(fd_closep) int fd = outside_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, NULL, err);
    if (fd < 0)
        return fd;
    if (bus->sync(fd) < 0)
        return error_set_errno(err, "sync", path);
    folder->round = bus->round;
    return 0;
}

/* From the file's directory up to the parent of the root. */
static int sync_folders(struct bus *bus, const struct bus_unsynced *file, struct error *err) {
    _cleanup_(freep) char *path = xstrdup(file->path);
    size_t root = strlen(bus->root);
    int r = 0;
    for (bool more = true; more && r == 0;) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path)
            break;
        more = (size_t)(slash - path) >= root;
        *slash = '\0';
        r = sync_folder(bus, path, file->is_new, err);
    }
    return r;
}

/* --- all ------------------------------------------------------------------------------------- */

int bus_sync(struct bus *bus, struct error *err) {
    int result = 0;
    bus->round++;
    for (size_t i = 0; i < bus->unsynced_count; i++) {
        struct bus_unsynced *file = &bus->unsynced[i];
        int r = bus->sync(file->fd) < 0 ? error_set_errno(err, "sync", file->path)
                                        : sync_folders(bus, file, err);
        if (r < 0)
            result = r; /* the others are still durable */
        close(file->fd);
        free(file->path);
    }
    bus->unsynced_count = 0;
    return result;
}

/* --- append ----------------------------------------------------------------------------------- */

/* Appends to a file that many processes write at once: one write under the lock. Before it, the end
 * of the file is read: a message that a dead writer left incomplete is closed in the same write, so
 * that it cannot swallow the next one. A write cut short by a full disk is undone while the lock is
 * held. */

#define REOPEN_MAX   8           /* while others keep renaming the file */
#define SEARCH_SLACK MINUTES(10) /* clock difference between writers */

static struct bus_place place_of(const struct bus_message *message) {
    return (struct bus_place){ message->project, message->to_project ? NULL : message->task };
}

/* 0: acquired. */
static int acquire_lock(struct bus *bus, int fd, const char *path, struct error *err) {
    time_ms begin = bus->clock.steady(bus->clock.ctx);
    bool waited = false;
    for (;;) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return error_set_errno(err, "lock", path);
        bus->counts.waits += !waited;
        waited = true;
        if (bus->clock.steady(bus->clock.ctx) - begin >= bus->limits.lock_timeout) {
            bus->counts.timeouts++;
            return error_set(err, -ETIMEDOUT,
                             "'%s' has been locked by another process for more than %" PRId64 " ms",
                             path, bus->limits.lock_timeout);
        }
        if (!bus->clock.wait(bus->clock.ctx, bus->limits.lock_every))
            return error_set(err, -ECANCELED, "'%s' is locked, and the wait was canceled", path);
    }
}

/* Does the path still name the open file? */
static bool is_in_place(int fd, const char *path) {
    struct stat ours, there;
    return fstat(fd, &ours) == 0 && stat(path, &there) == 0 && ours.st_dev == there.st_dev
           && ours.st_ino == there.st_ino;
}

/* The descriptor, or <0. */
static int open_file(struct bus *bus, const struct bus_place *place, const char *path, bool make,
                     struct error *err) {
    const int flags = O_RDWR | O_APPEND | (make ? O_CREAT : 0);
    int fd = outside_open(AT_FDCWD, path, flags, NULL, err);
    if (fd != -ENOENT || !make)
        return fd;
    int r = bus_make_folder(bus, place, err);
    return r < 0 ? r : outside_open(AT_FDCWD, path, flags, NULL, err);
}

/* Opens and locks the file that currently has the name. `make`: creates it if missing; else
 * -ENOENT. */
static int bus_open_locked(struct bus *bus, const struct bus_place *place, const char *path,
                           bool make, int *ret_fd, struct error *err) {
    for (unsigned n = 0; n < REOPEN_MAX; n++) {
        int fd = open_file(bus, place, path, make, err);
        if (fd < 0)
            return fd;
        int r = acquire_lock(bus, fd, path, err);
        if (r == 0 && is_in_place(fd, path)) {
            *ret_fd = fd;
            return 0;
        }
        close(fd);
        if (r < 0)
            return r;
    }
    return error_set(err, -EAGAIN, "'%s' keeps being moved", path);
}

/* --- the write ------------------------------------------------------------------------------- */

/* Text needed before the next message to close an incomplete one. */
static int close_torn(int fd, off_t size, const char *path, struct strbuf *out, struct error *err) {
    const char end[] = "\n" BUS_END_LINE;
    char last[sizeof(end) - 1] = { 0 };
    if (size == 0)
        return 0;
    size_t want = size < (off_t)sizeof(last) ? (size_t)size : sizeof(last);
    ssize_t n = pread(fd, last, want, size - (off_t)want);
    if (n < 0)
        return error_set_errno(err, "read", path);
    if ((size_t)n == sizeof(last) && memcmp(last, end, sizeof(last)) == 0)
        return 0;
    strbuf_puts(out, n > 0 && last[n - 1] != '\n' ? "\n" BUS_TORN_LINE : BUS_TORN_LINE);
    return 0;
}

static int write_all_or_nothing(int fd, off_t size, const char *path, const struct strbuf *bytes,
                                struct error *err) {
    ssize_t n;
    do
        n = write(fd, strbuf_text(bytes), bytes->length);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)bytes->length)
        return 0;
    int code = n < 0 ? errno : ENOSPC;
    if (n > 0 && ftruncate(fd, size) < 0)
        code = errno; /* the next writer closes it */
    errno = code;
    return error_set_errno(err, "write", path);
}

/* 1: already there. */
static int find_message(int fd, const struct bus_message *message, struct error *err) {
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    reader.gap_max = BUS_GAP_MAX;
    bus_reader_borrow(&reader, fd);
    return bus_reader_seek_after(&reader, message->id, message->at - SEARCH_SLACK, err);
}

static void make_id(struct bus *bus, time_ms now, char ret_id[BUS_ID_MAX]) {
    _cleanup_(strbuf_finish) struct strbuf id = STRBUF_INIT;
    bus_id_begin(now, &id);
    snprintf(ret_id, BUS_ID_MAX, "%sPID%05d-%04" PRIu64, strbuf_text(&id), (int)getpid(),
             ++bus->serial);
}

/* Requires the lock. */
static int append_locked(struct bus *bus, int fd, const char *path, struct bus_message *message,
                         char ret_id[BUS_ID_MAX], struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf bytes = STRBUF_INIT;
    struct stat st;
    char id[BUS_ID_MAX];
    if (fstat(fd, &st) < 0)
        return error_set_errno(err, "look at", path);
    if (message->at == 0)
        message->at = bus->clock.now(bus->clock.ctx);
    bool is_new = !message->id;
    if (is_new) { /* under the lock: ids are in file order */
        make_id(bus, message->at, id);
        message->id = id;
    }
    int r = close_torn(fd, st.st_size, path, &bytes, err);
    if (r == 0) {
        bus_message_print(message, &bytes);
        r = write_all_or_nothing(fd, st.st_size, path, &bytes, err);
    }
    if (r == 0 && ret_id)
        snprintf(ret_id, BUS_ID_MAX, "%s", message->id);
    if (is_new)
        message->id = NULL;
    return r;
}

static int append_once(struct bus *bus, const char *path, const struct bus_message *message,
                       bool once, char ret_id[BUS_ID_MAX], struct error *err) {
    struct bus_place place = place_of(message);
    struct bus_message copy = *message;
    struct stat st;
    int fd = -1;
    bus->counts.attempts++;
    int r = bus_open_locked(bus, &place, path, true, &fd, err);
    if (r < 0)
        return r;
    bool is_new = fstat(fd, &st) == 0 && st.st_size == 0;
    r = once ? find_message(fd, message, err) : 0;
    if (r == 0)
        r = append_locked(bus, fd, path, &copy, ret_id, err);
    if (r < 0) {
        close(fd); /* and releases the lock */
        return r;
    }
    (void)flock(fd, LOCK_UN);
    /* Also for a message that was already there: its writer may have died before the sync. */
    bus_note_unsynced(bus, fd, path, is_new);
    return r;
}

int bus_append(struct bus *bus, const struct bus_message *message, bool once,
               char ret_id[BUS_ID_MAX], struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct bus_place place = place_of(message);
    int r = bus_path(bus, &place, &path, err);
    if (r < 0)
        return r;
    time_ms delay = bus->limits.retry_delay;
    for (unsigned n = 1;; n++, delay *= 2) {
        r = append_once(bus, strbuf_text(&path), message, once, ret_id, err);
        bus->counts.messages += r == 0;
        if (r != -ETIMEDOUT || n >= bus->limits.attempts)
            break;
        if (!bus->clock.wait(bus->clock.ctx, delay))
            return error_set(err, -ECANCELED, "the wait for '%s' was canceled", strbuf_text(&path));
        bus->counts.retries++;
    }
    if (r == -ETIMEDOUT && err)
        (void)error_prefix(err, "could not post after %u attempts", bus->limits.attempts);
    return r;
}

/* --- counts ----------------------------------------------------------------------------------- */

/* Lock contention, summed over all processes.
 *
 * One small file with its own lock, held briefly: a process that does not get it keeps its counts
 * and adds them next time. Counting never delays a message. */

#define FILE_NAME ".contention" /* files of projects never begin with a dot */
#define TRIES     100
#define FORM                                                                                       \
    "messages %20" PRIu64 "\nattempts %20" PRIu64 "\nretries %20" PRIu64 "\ntimeouts %20" PRIu64   \
    "\nwaits %20" PRIu64 "\n"
#define SCAN                                                                                       \
    "messages %" SCNu64 " attempts %" SCNu64 " retries %" SCNu64 " timeouts %" SCNu64              \
    " waits %" SCNu64

static void read_from(int fd, struct bus_counts *ret) {
    char text[256];
    struct bus_counts c;
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    *ret = (struct bus_counts){ 0 };
    if (n <= 0)
        return;
    text[n] = '\0';
    if (sscanf(text, SCAN, &c.messages, &c.attempts, &c.retries, &c.timeouts, &c.waits) == 5)
        *ret = c;
}

static int open_counts(const struct bus *bus, int flags) {
    _cleanup_(freep) char *path = xasprintf("%s/" FILE_NAME, bus->root);
    return outside_open(AT_FDCWD, path, flags, NULL, NULL);
}

static void add(struct bus_counts *to, const struct bus_counts *more) {
    to->messages += more->messages;
    to->attempts += more->attempts;
    to->retries += more->retries;
    to->timeouts += more->timeouts;
    to->waits += more->waits;
}

void bus_counts_read(const struct bus *bus, struct bus_counts *ret) {
    _cleanup_(fd_closep) int fd = open_counts(bus, O_RDONLY);
    *ret = (struct bus_counts){ 0 };
    if (fd >= 0)
        read_from(fd, ret);
    add(ret, &bus->counts);
}

static bool try_lock(struct bus *bus, int fd) {
    for (int n = 0; n < TRIES; n++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        if ((errno != EWOULDBLOCK && errno != EINTR) || !bus->clock.wait(bus->clock.ctx, 2))
            return false;
    }
    return false;
}

void bus_counts_flush(struct bus *bus) {
    if (bus->counts.attempts == 0)
        return;
    _cleanup_(fd_closep) int fd = open_counts(bus, O_RDWR | O_CREAT);
    if (fd < 0 || !try_lock(bus, fd))
        return;
    struct bus_counts all;
    char text[256];
    read_from(fd, &all);
    add(&all, &bus->counts);
    int size = snprintf(text, sizeof(text), FORM, all.messages, all.attempts, all.retries,
                        all.timeouts, all.waits);
    if (pwrite(fd, text, (size_t)size, 0) == size)
        bus->counts = (struct bus_counts){ 0 };
}

/* --- retire ----------------------------------------------------------------------------------- */

/* Retention. The file of a task is deleted with its task. The file of a project is moved to
 * BUS_OLD_FOLDER when its first message reaches the retention time, and replaces the file moved
 * before: so every message is kept for that time, and at most twice as long. Files are never
 * truncated, because readers keep offsets.
 *
 * Both are done under the lock: a writer that waited for it notices that the file was renamed or
 * deleted, and creates a new one. */

int bus_remove(struct bus *bus, const struct bus_place *place, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    _cleanup_(fd_closep) int fd = -1;
    int r = bus_path(bus, place, &path, err);
    if (r == 0)
        r = bus_open_locked(bus, place, strbuf_text(&path), false, &fd, err);
    if (r == -ENOENT)
        return 0;
    if (r == 0 && unlink(strbuf_text(&path)) < 0 && errno != ENOENT)
        r = error_set_errno(err, "remove", strbuf_text(&path));
    return r;
}

/* Time of its first message; 0: none. */
static int first_time(int fd, time_ms *ret_at, struct error *err) {
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    const struct bus_message *message = NULL;
    reader.gap_max = BUS_GAP_MAX;
    bus_reader_borrow(&reader, fd);
    int r = bus_reader_next(&reader, &message, err);
    *ret_at = r > 0 ? message->at : 0;
    return r < 0 ? r : 0;
}

static int move_to(const char *path, char *old, struct error *err) {
    char *slash = strrchr(old, '/');
    *slash = '\0';
    (void)mkdir(old, 0700); /* on failure the rename reports it */
    *slash = '/';
    return rename(path, old) == 0 ? 1 : error_set_errno(err, "move aside", path);
}

int bus_retire(struct bus *bus, const char *project, time_ms before, struct error *err) {
    const struct bus_place place = { .project = project };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, old = STRBUF_INIT;
    _cleanup_(fd_closep) int fd = -1;
    struct stat st;
    time_ms first = 0;
    int r = bus_path(bus, &place, &path, err);
    if (r < 0)
        return r;
    strbuf_printf(&old, "%s/" BUS_OLD_FOLDER "%s", bus->root, strrchr(strbuf_text(&path), '/'));
    /* A file that was moved long ago, also if nothing is posted any more. */
    if (stat(strbuf_text(&old), &st) == 0 && (time_ms)st.st_mtim.tv_sec * 1000 < before)
        (void)unlink(strbuf_text(&old));
    r = bus_open_locked(bus, &place, strbuf_text(&path), false, &fd, err);
    if (r == -ENOENT)
        return 0;
    if (r == 0)
        r = first_time(fd, &first, err);
    if (r < 0 || first == 0 || first >= before)
        return r;
    return move_to(strbuf_text(&path), old.text, err);
}
