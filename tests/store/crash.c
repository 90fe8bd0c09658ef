/* crash.c: see crash.h. */
#include "crash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "store/sqlite_internal.h"

#define RESTART_STEPS 3

struct answer {
    bool came;
    enum store_outcome outcome;
    struct error err;
};

static void keep_answer(void *ctx, enum store_outcome outcome, const struct error *err) {
    struct answer *answer = ctx;
    answer->came = true;
    answer->outcome = outcome;
    if (err)
        answer->err = *err;
}

void crash_init(struct crash *crash, uint64_t seed) {
    *crash = (struct crash){ .seed = seed, .folder = kit_folder() };
    crash->path = kit_path(crash->folder, "store.db");
    crash->report = mmap(NULL, sizeof(*crash->report), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(crash->report != MAP_FAILED);
    struct store *reference = kit_open("memory:", NULL);
    struct store_batch *batch = store_batch_new();
    struct history history = history_begin(seed, true);
    for (unsigned i = 0; i <= CRASH_STEPS; i++) {
        struct strbuf text = STRBUF_INIT;
        kit_dump(reference, &text);
        crash->expected[i] = strbuf_take(&text);
        history_next(&history, batch);
        (void)kit_try(reference, batch, NULL);
    }
    store_batch_free(batch);
    store_close(reference);
}

void crash_finish(struct crash *crash) {
    for (unsigned i = 0; i <= CRASH_STEPS; i++)
        free(crash->expected[i]);
    (void)munmap(crash->report, sizeof(*crash->report));
    kit_remove_folder(crash->folder);
    free(crash->folder);
    free(crash->path);
}

/* --- inside the process ------------------------------------------------------------------------------ */

static struct store *open_store(const char *path, struct error *err) {
    struct store_options options = { .url = path, .reserve_bytes = -1 };
    struct store *store = NULL;
    return store_open(&options, &store, NULL, err) < 0 ? NULL : store;
}

static _Noreturn void complain(struct crash *crash, const char *what, const char *text) {
    (void)snprintf(crash->report->complaint, sizeof(crash->report->complaint), "%s: %s", what,
                   text);
    _exit(1);
}

/* One batch of the history. A full disk is freed, and the batch tried again. */
static bool play_batch(struct crash *crash, struct store *store, struct history *history) {
    struct store_batch *batch = store_batch_new();
    struct answer answer = { 0 };
    struct history before = *history;
    history_next(history, batch);
    store_commit(store, batch, keep_answer, &answer);
    if (!answer.came)
        complain(crash, "a commit", "no answer came");
    if (answer.outcome == STORE_FAILED && answer.err.code == -ENOSPC) {
        _cleanup_(strbuf_finish) struct strbuf now = STRBUF_INIT;
        crash->report->refused++;
        fault_set(FAULT_NONE, 0, 0);
        kit_dump(store, &now);
        if (strcmp(strbuf_text(&now), crash->expected[crash->report->steps]) != 0)
            complain(crash, "after a full disk the store holds", strbuf_text(&now));
        *history = before;
        store_batch_free(batch);
        return play_batch(crash, store, history);
    }
    store_batch_free(batch);
    if (answer.outcome == STORE_UNKNOWN) {
        crash->report->unknown = true;
        return false;
    }
    crash->report->steps++;
    return true;
}

/* What a daemon does between writes. */
static struct store *maintain(struct crash *crash, struct store *store, unsigned step) {
    struct error err = { 0 };
    if (step % 9 == 4)
        (void)store_maintain(store, SECONDS(31)); /* truncates the log */
    if (step % 9 == 7) /* checkpoints the log, and the next commit restarts it */
        (void)sqlite3_wal_checkpoint_v2(((struct sqlite_store *)store)->db, NULL,
                                        SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    if (step % 13 == 12) {
        store_close(store);
        store = open_store(crash->path, &err);
        crash->report->open_failed = !store;
    }
    return store;
}

static bool has_log(const struct crash *crash) {
    _cleanup_(freep) char *log = kit_path(crash->folder, "store.db-wal");
    return access(log, F_OK) == 0;
}

/* The next daemon: what it finds counts as answered from then on. `before`: the history at the step that `steps` names. */
static _Noreturn void restart_and_cut(struct crash *crash, struct store *store,
                                      struct history before) {
    struct error err = { 0 };
    _cleanup_(strbuf_finish) struct strbuf found = STRBUF_INIT;
    store_close(store);
    fault_set(FAULT_NONE, 0, 0);
    store = open_store(crash->path, &err);
    if (!store)
        complain(crash, "the restart", err.text);
    kit_dump(store, &found);
    if (strcmp(strbuf_text(&found), crash->expected[crash->report->steps]) != 0) {
        struct store_batch *batch = store_batch_new();
        history_next(&before, batch);
        store_batch_free(batch);
        crash->report->steps++;
    }
    for (unsigned i = 0; i < RESTART_STEPS && crash->report->steps < CRASH_STEPS; i++)
        if (!play_batch(crash, store, &before))
            complain(crash, "after the restart", "a commit fails");
    fault_set(FAULT_POWER, 1, crash->report->steps);
    store_close(store); /* its first operation ends the process */
    complain(crash, "the close", "the power did not fail");
}

static void play(struct crash *crash) {
    struct error err = { 0 };
    struct history history = history_begin(crash->seed, true), before = history;
    struct store *store = open_store(crash->path, &err);
    crash->report->open_failed = !store;
    for (unsigned step = 0; store && step < CRASH_STEPS; step++) {
        before = history;
        if (!play_batch(crash, store, &history))
            break;
        before = history;
        store = maintain(crash, store, step);
    }
    if (crash->restarts && (!store || crash->report->unknown))
        restart_and_cut(crash, store, before);
    if (store && crash->report->unknown) {
        struct store_info info;
        store_info(store, &info);
        if (!info.broken)
            complain(crash, "after an unknown outcome", "the store is not broken");
        if (fault_count() % 2) /* a daemon may also end without a close */
            _exit(0);
    }
    bool had_log = has_log(crash);
    store_close(store);
    if (crash->report->unknown && had_log && !has_log(crash))
        complain(crash, "after an unknown outcome", "the close has removed the log");
    crash->report->finished = store && !crash->report->unknown;
    crash->report->operations = fault_count();
}

/* --- outside ----------------------------------------------------------------------------------------- */

static int wait_for(pid_t pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return status;
}

static void check_status(const struct crash *crash, enum fault_plan plan, uint64_t at, int status) {
    if (crash->report->complaint[0])
        fail_msg("%s at operation %u: %s", fault_plan_name(plan), (unsigned)at,
                 crash->report->complaint);
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != FAULT_EXIT))
        fail_msg("%s at operation %u: the process ended with status %#x", fault_plan_name(plan),
                 (unsigned)at, (unsigned)status);
}

void crash_play(struct crash *crash, enum fault_plan plan, uint64_t at, uint64_t seed) {
    kit_remove_files(crash->folder);
    memset(crash->report, 0, sizeof(*crash->report));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        fault_set(plan, at, seed);
        play(crash);
        _exit(0);
    }
    check_status(crash, plan, at, wait_for(pid));
}

/* --- a fork at each operation -------------------------------------------------------------------------- */

/* The process that writes the history. */
struct leader {
    struct crash *crash;
    struct crash_report own, *shared; /* its own progress; that of a child, which the test reads */
    enum fault_plan plan;
    uint64_t stride, seed;
    const char *moved; /* its files while a child uses their folder */
    int points, go;
};

struct point {
    uint64_t at;
    int status; /* of the child */
};

/* Replaces every open file in the folder `moved` by its copy. */
static void open_copies(const struct leader *leader) {
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    size_t length = strlen(leader->moved);
    if (!dir)
        abort();
    while ((entry = readdir(dir))) {
        char target[PATH_MAX];
        ssize_t size = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
        if (size < 0)
            continue;
        target[size] = '\0';
        if (strncmp(target, leader->moved, length) != 0 || target[length] != '/')
            continue;
        int old = (int)strtol(entry->d_name, NULL, 10);
        _cleanup_(freep) char *path = kit_path(leader->crash->folder, target + length + 1);
        int copy = open(path, (fcntl(old, F_GETFL) & O_ACCMODE) | O_CLOEXEC);
        if (copy < 0 || dup3(copy, old, O_CLOEXEC) < 0)
            abort();
        (void)close(copy);
    }
    (void)closedir(dir);
}

static void swap_in_copies(const struct leader *leader) {
    const char *folder = leader->crash->folder;
    if (rename(folder, leader->moved) < 0 || mkdir(folder, 0700) < 0)
        abort();
    kit_copy_folder(leader->moved, folder);
}

static void swap_back(const struct leader *leader) {
    kit_remove_files(leader->crash->folder);
    if (rename(leader->moved, leader->crash->folder) < 0)
        abort();
}

static void fork_here(void *ctx) {
    struct leader *leader = ctx;
    struct point point = { .at = fault_count() };
    char byte;
    if (point.at % leader->stride != 1 % leader->stride)
        return;
    swap_in_copies(leader);
    pid_t pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0) {
        *leader->shared = leader->own;
        leader->crash->report = leader->shared;
        open_copies(leader);
        fault_now(leader->plan, leader->seed + point.at);
        return; /* and continues */
    }
    point.status = wait_for(pid);
    if (write(leader->points, &point, sizeof(point)) != sizeof(point)
        || read(leader->go, &byte, 1) != 1)
        _exit(1); /* the test has failed */
    swap_back(leader);
}

static _Noreturn void lead(struct leader *leader) {
    leader->shared = leader->crash->report;
    leader->crash->report = &leader->own;
    fault_set(FAULT_NONE, 0, 0);
    fault_watch(fork_here, leader);
    play(leader->crash);
    _exit(0);
}

static void pipe_make(int ret[2]) {
    assert_int_equal(pipe2(ret, O_CLOEXEC), 0);
}

void crash_play_each(struct crash *crash, enum fault_plan plan, uint64_t stride, uint64_t seed,
                     void (*each)(struct crash *crash, uint64_t at, void *ctx), void *ctx) {
    int points[2], go[2];
    struct point point;
    struct leader leader = { .crash = crash, .plan = plan, .stride = stride, .seed = seed };
    _cleanup_(strbuf_finish) struct strbuf moved = STRBUF_INIT;
    strbuf_printf(&moved, "%s-moved", crash->folder);
    leader.moved = strbuf_text(&moved);
    kit_remove_files(crash->folder);
    pipe_make(points);
    pipe_make(go);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        leader.points = points[1];
        leader.go = go[0];
        (void)close(points[0]);
        (void)close(go[1]);
        lead(&leader);
    }
    (void)close(points[1]);
    (void)close(go[0]);
    while (read(points[0], &point, sizeof(point)) == sizeof(point)) {
        check_status(crash, plan, point.at, point.status);
        each(crash, point.at, ctx);
        assert_int_equal(write(go[1], "", 1), 1);
    }
    (void)close(points[0]);
    (void)close(go[1]);
    assert_int_equal(wait_for(pid), 0);
}

bool crash_recover(struct crash *crash, const char *path, enum fault_plan plan, uint64_t at) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct error err = { 0 };
        fault_set(plan, at, at);
        struct store *store = open_store(path, &err);
        if (!store)
            complain(crash, "a second start", err.text);
        store_close(store);
        _exit(0);
    }
    int status = wait_for(pid);
    if (crash->report->complaint[0])
        fail_msg("%s in recovery at operation %u: %s", fault_plan_name(plan), (unsigned)at,
                 crash->report->complaint);
    if (!WIFEXITED(status))
        fail_msg("%s in recovery at operation %u: status %#x", fault_plan_name(plan), (unsigned)at,
                 (unsigned)status);
    return WEXITSTATUS(status) == 0;
}

void crash_check(const struct crash *crash, const char *path, const char *what, uint64_t at) {
    const struct crash_report *report = crash->report;
    struct error err = { 0 };
    fault_set(FAULT_NONE, 0, 0);
    struct store *store = open_store(path, &err); /* checks the complete file: it was not closed */
    if (!store)
        fail_msg("%s at operation %u: the next start fails: %s", what, (unsigned)at, err.text);
    _cleanup_(strbuf_finish) struct strbuf now = STRBUF_INIT;
    kit_dump(store, &now);
    const char *text = strbuf_text(&now);
    bool as_answered = strcmp(text, crash->expected[report->steps]) == 0;
    /* A batch without an answer may be there or not. */
    bool one_more =
        report->steps < CRASH_STEPS && strcmp(text, crash->expected[report->steps + 1]) == 0;
    if (!as_answered && !one_more)
        fail_msg("%s at operation %u: after %u answered steps the store holds\n%s\ninstead of\n%s",
                 what, (unsigned)at, report->steps, text, crash->expected[report->steps]);
    store_close(store);
}
