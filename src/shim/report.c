/* report.c: records the identity of the shim and the end of the run, so that neither is lost.
 *
 * The daemon is offered the end first: its store is durable, and one commit has many ends. Without
 * its answer the shim records the end itself.
 *
 * The file is written in place, then file and directory are fsynced. It is not read before the lock
 * is released, and a partial record is not accepted, so a rename would protect nothing and cost
 * another disk round trip. After a failed fsync the pages count as written although they are not,
 * so the next attempt is a new file, renamed into place, with durable=false. If no file can be
 * created (full disk) the record goes into the lock file, whose block is already allocated. If even
 * that fails the daemon gets it through the pipe, and the shim stays and retries: while it is alive
 * it holds the lock, and its memory is the record. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/proc.h"
#include "rundir/record.h"
#include "shim/shim.h"

#define END_NAME    "end.json"
#define NAME_BYTES  32
#define RETRY_FIRST SECONDS(1)
#define RETRY_MAX   SECONDS(60)
#define OFFER_WAIT  250 /* ms; a commit takes a few */

/* --- to the daemon --------------------------------------------------------------------------- */

/* Writes "HANDLE what\n" atomically. A missing reader is not an error. true: delivered. */
static bool send_to_daemon(const struct shim *s, const char *what, const char *text, size_t size) {
    char line[RUN_RECORD_MAX];
    struct record_out out = { .text = line, .size = sizeof(line) };
    if (!s->handle)
        return false;
    record_puts(&out, s->handle);
    record_puts(&out, " ");
    record_puts(&out, what);
    record_put(&out, text, size);
    if (size == 0 || text[size - 1] != '\n')
        record_puts(&out, "\n");
    /* Never blocks: the daemon set O_NONBLOCK. */
    return !out.full && write(FD_DAEMON, line, out.length) == (ssize_t)out.length;
}

static void write_started(struct shim *s) {
    char text[RUN_RECORD_MAX];
    size_t size = run_started_format(&s->started, s->key, text, sizeof(text));
    (void)!pwrite(FD_LOCK, text, size, 0);
}

void report_self(struct shim *s) {
    const char *boot_id = s->spec.boot_id;
    size_t length = boot_id ? strlen(boot_id) : 0;
    s->started.version = RUNDIR_VERSION;
    s->started.shim = s->self;
    if (length > 0 && length < sizeof(s->started.boot_id)) {
        memcpy(s->started.boot_id, boot_id, length + 1);
    } else { /* an older daemon, or an unreadable spec */
        ssize_t size = proc_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", s->started.boot_id,
                                 sizeof(s->started.boot_id));
        s->started.boot_id[size > 0 ? strcspn(s->started.boot_id, "\n") : 0] = '\0';
    }
    write_started(s);
}

void report_started(struct shim *s) {
    s->started.at = clock_read();
    char buf[NUMBER_TEXT_MAX];
    const char *at = number_text(s->started.at, buf);
    if (s->started.exec_errno == 0)
        (void)send_to_daemon(s, "started ", at, strlen(at));
    write_started(s);
}

void report_validating(struct shim *s) {
    s->started.validating = true;
    write_started(s);
    (void)send_to_daemon(s, "validating", "", 0);
}

/* --- the end --------------------------------------------------------------------------------- */

/* Creates a file with the text. Removed again if it is incomplete, or not durable although
 * required. */
static bool write_file(const struct shim *s, const char *name, const char *text, size_t size) {
    int fd = openat(FD_FOLDER, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool written = fd_write_all(fd, text, size) == 0;
    bool synced = written && fsync(fd) == 0;
    written = close(fd) == 0 && written;
    if (written && (synced || !s->end.durable))
        return true;
    (void)unlinkat(FD_FOLDER, name, 0);
    return false;
}

/* A record with durable=false may be put in place without a sync. */
static bool write_end(const struct shim *s, const char *text, size_t size, unsigned attempt) {
    char name[NAME_BYTES];
    struct record_out out = { .text = name, .size = NAME_BYTES - 1 };
    record_puts(&out, ".end.json.");
    record_put_number(&out, attempt);
    name[out.length] = '\0';
    /* In place only once, and only if the command has created nothing there. */
    bool placed = attempt == 0 && write_file(s, END_NAME, text, size);
    if (!placed) {
        if (!write_file(s, name, text, size))
            return false;
        if (renameat(FD_FOLDER, name, FD_FOLDER, END_NAME) < 0) {
            (void)unlinkat(FD_FOLDER, name, 0);
            return false;
        }
    }
    return fsync(FD_FOLDER) == 0 || !s->end.durable;
}

/* Into the allocated block of the lock file. */
static bool write_end_into_lock(const char *text, size_t size, bool syncs) {
    char record[RUN_RECORD_MAX + 16] = "";
    struct record_out out = { .text = record, .size = sizeof(record) };
    record_put(&out, "end", sizeof("end"));
    record_put(&out, text, size);
    record_put(&out, "", 1);
    if (out.length > RUN_LOCK_SPEC - RUN_LOCK_END
        || pwrite(FD_LOCK, record, out.length, RUN_LOCK_END) != (ssize_t)out.length)
        return false;
    if (syncs)
        (void)!fsync(FD_LOCK); /* it has durable=false */
    return true;
}

/* The commit of the store that has the end is its durable write, one for all ends of a turn. The
 * record in the lock file is for a daemon that is started before that commit. `sluice take` asks for
 * the state of its task when the terminal is disconnected, so the end of such a run is on disk
 * before. */
bool report_offer(struct shim *s) {
    char text[RUN_RECORD_MAX];
    if (!s->offers_end || terminal_is_wanted(s))
        return false;
    watch_signals(s);
    (void)watch_for_signal(SIGUSR2, 0); /* from a process of the run */
    s->end.durable = true;
    size_t size = run_end_format(&s->end, s->key, text, sizeof(text));
    return write_end_into_lock(text, size, false) && send_to_daemon(s, "over ", text, size);
}

bool report_is_stored(void) {
    return watch_for_signal(SIGUSR2, OFFER_WAIT);
}

void report_end(struct shim *s) {
    char text[RUN_RECORD_MAX];
    watch_signals(s); /* a kill meant for the command must not count as the release */
    s->end.durable = true;
    size_t size = run_end_format(&s->end, s->key, text, sizeof(text));
    if (write_end(s, text, size, 0))
        return;
    s->end.durable = false;
    size = run_end_format(&s->end, s->key, text, sizeof(text));
    time_ms wait = RETRY_FIRST;
    for (unsigned attempt = 1;; attempt++) {
        if (write_end(s, text, size, attempt) || write_end_into_lock(text, size, true))
            return;
        struct stat st;
        if (fstat(FD_FOLDER, &st) == 0 && st.st_nlink == 0) /* the directory was deleted */
            return;
        bool is_sent = send_to_daemon(s, "end ", text, size);
        /* SIGUSR1: a daemon that has the record does not need the file. */
        if (watch_for_signal(SIGUSR1, wait) && is_sent)
            return;
        wait = time_min(2 * wait, RETRY_MAX);
    }
}
