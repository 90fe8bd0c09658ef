/* test_sqlite_lock.c: a store locked by a live process is refused at once; a lock left by a dead process is waited for. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/test.h"
#include "kit.h"
#include "store/await.h"
#include "store/sqlite_internal.h"

static struct sqlite_file holder; /* the first wait kills it */
static int waits;

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout) {
    (void)fds;
    (void)count;
    (void)timeout;
    waits++;
    sqlite_file_finish(&holder);
    return 0;
}

static long ended_process(void) {
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return child;
}

/* `pid` 0: the holder is not recorded. */
static int lock_beside(struct kit_file *f, long pid) {
    struct sqlite_file second = SQLITE_FILE_INIT;
    char who[STORE_WHO_MAX];
    (void)snprintf(who, sizeof(who), "a/b/%ld unix:/x/1/sluice.sock", pid);
    assert_int_equal(sqlite_file_find(f->path, &holder, &f->err), 0);
    assert_int_equal(sqlite_file_lock(&holder, &f->err), 0);
    sqlite_file_set_holder(&holder, pid > 0 ? who : NULL);
    assert_int_equal(sqlite_file_find(f->path, &second, &f->err), 0);
    waits = 0;
    int r = sqlite_file_lock(&second, &f->err);
    sqlite_file_finish(&second);
    sqlite_file_finish(&holder);
    return r;
}

#define FIXTURE_TEST(name_) TEST_WITH(name_, kit_file_open, kit_file_close)

FIXTURE_TEST(a_living_holder_is_not_waited_for) {
    assert_int_equal(lock_beside(*state, getpid()), -EBUSY);
    assert_int_equal(waits, 0);
}

FIXTURE_TEST(what_a_dead_one_has_left_is_waited_for) {
    assert_int_equal(lock_beside(*state, ended_process()), 0);
    assert_int_equal(waits, 1);
}

FIXTURE_TEST(a_holder_without_a_name_is_waited_for) {
    assert_int_equal(lock_beside(*state, 0), 0);
    assert_int_equal(waits, 1);
}
