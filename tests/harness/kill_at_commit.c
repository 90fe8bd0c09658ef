/* kill_at_commit.c: linked into a copy of the daemon (--wrap=store_commit), kills it at a commit that the test chooses.
 *
 * SLUICE_TEST_COMMITS names a file with the number of commits so far, over all daemons of the test. SLUICE_TEST_KILL_AT is "N before" or "N
 * after": commit N is not on disk, or it is on disk and nothing was answered, started or stopped yet. FILE.killed appears then. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/store.h"

void __real_store_commit(struct store *store, struct store_batch *batch, store_committed done,
                         void *ctx);
void __wrap_store_commit(struct store *store, struct store_batch *batch, store_committed done,
                         void *ctx);

static struct {
    store_committed done;
    void *ctx;
    bool is_last;
} pending; /* one at a time */

static long count_commit(void) {
    const char *path = getenv("SLUICE_TEST_COMMITS");
    char text[24] = "";
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return 0;
    long number = pread(fd, text, sizeof(text) - 1, 0) > 0 ? strtol(text, NULL, 10) + 1 : 1;
    int length = snprintf(text, sizeof(text), "%ld\n", number);
    if (pwrite(fd, text, (size_t)length, 0) != length)
        abort();
    (void)close(fd);
    return number;
}

static void die(void) {
    char path[512];
    (void)snprintf(path, sizeof(path), "%s.killed", getenv("SLUICE_TEST_COMMITS"));
    if (open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) < 0)
        abort();
    (void)kill(getpid(), SIGKILL);
}

static void finish(void *ctx, enum store_outcome outcome, const struct error *err) {
    (void)ctx;
    if (pending.is_last)
        die();
    pending.done(pending.ctx, outcome, err);
}

void __wrap_store_commit(struct store *store, struct store_batch *batch, store_committed done,
                         void *ctx) {
    if (store_batch_count(batch) == 0) {
        __real_store_commit(store, batch, done, ctx);
        return;
    }
    const char *chosen = getenv("SLUICE_TEST_KILL_AT");
    bool is_last = count_commit() == (chosen ? strtol(chosen, NULL, 10) : -1);
    if (is_last && !strstr(chosen, "after"))
        die();
    pending.done = done;
    pending.ctx = ctx;
    pending.is_last = is_last;
    __real_store_commit(store, batch, finish, NULL);
}
