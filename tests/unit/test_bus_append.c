/* test_bus_append.c: appends to a bus file: one lock and one write each, and retries when the lock is held. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "bus/bus.h"
#include "bus/reader.h"
#include "harness/scratch.h"
#include "harness/test.h"

static char home[SCRATCH_PATH], root[80], web[96];

/* A clock that only waiting advances. Records the waits. */
struct fake {
    time_ms steady;
    time_ms waits[4096];
    unsigned count;
    int unlock;         /* descriptor whose lock is released during this wait; -1: none */
    unsigned unlock_at; /* after this many waits */
    unsigned refuse_at; /* number of the wait that fails, from 1; 0: none */
};
static struct fake fake;

static time_ms fake_now(void *ctx) {
    (void)ctx;
    return 1731667252123;
}

static time_ms fake_steady(void *ctx) {
    return ((struct fake *)ctx)->steady;
}

static bool fake_wait(void *ctx, time_ms span) {
    struct fake *f = ctx;
    assert_true(f->count < ARRAY_SIZE(f->waits));
    f->waits[f->count++] = span;
    f->steady += span;
    if (f->unlock >= 0 && f->count == f->unlock_at)
        assert_int_equal(flock(f->unlock, LOCK_UN), 0);
    return f->count != f->refuse_at;
}

static int open_home(void **state) {
    (void)state;
    scratch_make(home, "bus");
    snprintf(root, sizeof(root), "%s/bus", home);
    snprintf(web, sizeof(web), "%s/web.md", root);
    fake = (struct fake){ .unlock = -1 };
    return 0;
}

static int close_home(void **state) {
    (void)state;
    scratch_remove(home);
    return 0;
}

static struct bus fake_bus(void) {
    struct bus bus;
    bus_init(&bus, root);
    bus.clock = (struct bus_clock){ fake_now, fake_steady, fake_wait, &fake };
    return bus;
}

static int post_as(struct bus *bus, const char *id, const char *body, struct error *err) {
    struct bus_message message = { .id = id, .type = "FACT", .project = "web", .body = body };
    message.at = id ? 1731667252000 : 0;
    return bus_append(bus, &message, id != NULL, NULL, err);
}

static int post(struct bus *bus, const char *body, struct error *err) {
    return post_as(bus, NULL, body, err);
}

/* The bodies in the file, separated by spaces. */
static const char *bodies(void) {
    static char text[4096];
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    const struct bus_message *message;
    assert_int_equal(bus_reader_open(&reader, web, NULL), 0);
    text[0] = '\0';
    while (bus_reader_next(&reader, &message, NULL) > 0) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof(text) - used, "%s%s", used ? " " : "", message->body);
    }
    return text;
}

/* A second open file description: its lock conflicts even within one process. */
static int hold_lock(void) {
    int fd = open(web, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    return fd;
}

/* --- paths ----------------------------------------------------------------------------------- */

#define APPEND_TEST(name_) TEST_WITH(name_, open_home, close_home)

APPEND_TEST(messages_go_to_the_file_of_their_project_or_task) {
    _cleanup_(bus_finish) struct bus bus = fake_bus();
    struct bus_message message = { .type = "FACT", .project = "web", .body = "x" };
    char id[BUS_ID_MAX], path[128];
    assert_int_equal(bus_append(&bus, &message, false, id, NULL), 0);
    assert_int_equal(strncmp(id, "MSG-20241115-104052-123000000-PID", 33), 0);
    message.task = "web-17";
    assert_int_equal(bus_append(&bus, &message, false, NULL, NULL), 0);
    struct stat st;
    snprintf(path, sizeof(path), "%s/bus/web/web-17.md", home);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    _cleanup_(freep) char *project = bus_find_project(&bus, "web-17");
    assert_string_equal(project, "web");
    assert_null(bus_find_project(&bus, "web-18"));
}

APPEND_TEST(no_name_leads_out_of_the_folder) {
    _cleanup_(bus_finish) struct bus bus = fake_bus();
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct bus_place place = { "..", "../../x" };
    assert_int_equal(bus_path(&bus, &place, &path, NULL), 0);
    char want[128];
    snprintf(want, sizeof(want), "%s/bus/%%2E./%%2E.%%2F..%%2Fx.md", home);
    assert_string_equal(strbuf_text(&path), want);
    char name[400];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    place = (struct bus_place){ name, NULL };
    assert_int_equal(bus_path(&bus, &place, &path, NULL), -ENAMETOOLONG);
    place = (struct bus_place){ "", NULL };
    assert_int_equal(bus_path(&bus, &place, &path, NULL), -EINVAL);
}

APPEND_TEST(a_link_or_a_pipe_instead_of_a_file_is_refused) {
    _cleanup_(bus_finish) struct bus bus = fake_bus();
    char folder[80];
    snprintf(folder, sizeof(folder), "%s/bus", home);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(symlink("/etc/passwd", web), 0);
    assert_int_equal(post(&bus, "x", NULL), -ELOOP);
    assert_int_equal(unlink(web), 0);
    assert_int_equal(mkfifo(web, 0600), 0);
    assert_true(post(&bus, "x", NULL) < 0);
}

/* --- the lock -------------------------------------------------------------------------------- */

APPEND_TEST(f117_the_lock_is_tried_every_10_ms_and_then_appended_once) {
    _cleanup_(bus_finish) struct bus bus = fake_bus();
    assert_int_equal(post(&bus, "one", NULL), 0);
    assert_int_equal(fake.count, 0);
    int held = hold_lock();
    fake.unlock = held;
    fake.unlock_at = 7;
    assert_int_equal(post(&bus, "two", NULL), 0);
    assert_int_equal(fake.count, 7);
    for (unsigned i = 0; i < fake.count; i++)
        assert_int_equal(fake.waits[i], 10);
    close(held);
    assert_string_equal(bodies(), "one two");
    /* The lock is held for one append, then released. */
    close(hold_lock());
}

APPEND_TEST(f117_f118_after_10_s_it_times_out_and_is_tried_three_times) {
    _cleanup_(bus_finish) struct bus bus = fake_bus();
    struct error err = { 0 };
    assert_int_equal(post(&bus, "one", NULL), 0);
    int held = hold_lock();
    assert_int_equal(post(&bus, "two", &err), -ETIMEDOUT);
    char want[256];
    snprintf(want, sizeof(want),
             "could not post after 3 attempts: '%s' has been locked by another process for more "
             "than 10000 ms",
             web);
    assert_string_equal(err.text, want);
    /* 1000 waits of 10 ms, then 100 ms, the same, then 200 ms, the same. */
    assert_int_equal(fake.count, 3 * 1000 + 2);
    assert_int_equal(fake.waits[999], 10);
    assert_int_equal(fake.waits[1000], 100);
    assert_int_equal(fake.waits[2001], 200);
    assert_int_equal(fake.steady, 30000 + 300);
    close(held);
    assert_string_equal(bodies(), "one");
}

APPEND_TEST(f118_other_errors_are_reported_at_once) {
    _cleanup_(bus_finish) struct bus bus = fake_bus();
    int file = open(bus.root, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(file >= 0); /* a file instead of the folder */
    close(file);
    assert_int_equal(post(&bus, "x", NULL), -ENOTDIR);
    assert_int_equal(fake.count, 0);
    assert_int_equal(bus.counts.attempts, 1);
    assert_int_equal(bus.counts.retries, 0);
}

APPEND_TEST(f133_attempts_and_retries_are_counted_over_all_processes) {
    struct bus bus = fake_bus();
    assert_int_equal(post(&bus, "one", NULL), 0);
    int held = hold_lock();
    assert_int_equal(post(&bus, "two", NULL), -ETIMEDOUT);
    fake.unlock = held;
    fake.unlock_at = fake.count + 3;
    assert_int_equal(post(&bus, "three", NULL), 0);
    close(held);
    bus_finish(&bus);
    bus = fake_bus();
    assert_int_equal(post(&bus, "four", NULL), 0);
    struct bus_counts counts;
    bus_counts_read(&bus, &counts);
    bus_finish(&bus);
    assert_int_equal(counts.messages, 3);
    assert_int_equal(counts.attempts, 6);
    assert_int_equal(counts.retries, 2);
    assert_int_equal(counts.timeouts, 3);
    assert_int_equal(counts.waits, 4);
}

APPEND_TEST(f119_the_lock_is_advisory_readers_never_wait_for_it) {
    _cleanup_(bus_finish) struct bus bus = fake_bus();
    assert_int_equal(post(&bus, "one", NULL), 0);
    int held = hold_lock();
    assert_string_equal(bodies(), "one");
    close(held);
}

APPEND_TEST(a_canceled_writer_does_not_wait) {
    _cleanup_(bus_finish) struct bus bus = fake_bus();
    assert_int_equal(post(&bus, "one", NULL), 0);
    int held = hold_lock();
    fake.refuse_at = 5;
    assert_int_equal(post(&bus, "two", NULL), -ECANCELED);
    assert_int_equal(fake.count, 5);
    close(held);
}

APPEND_TEST(a_file_that_was_moved_while_waiting_is_not_written) {
    _cleanup_(bus_finish) struct bus bus = fake_bus();
    char old[96];
    snprintf(old, sizeof(old), "%s/old.md", home);
    assert_int_equal(post(&bus, "one", NULL), 0);
    int held = hold_lock();
    struct stat before, after;
    assert_int_equal(stat(web, &before), 0);
    /* The file is removed while a writer that has opened it waits for the lock. */
    fake.unlock = held;
    fake.unlock_at = 1;
    assert_int_equal(rename(web, old), 0);
    assert_int_equal(post(&bus, "two", NULL), 0);
    close(held);
    assert_string_equal(bodies(), "two");
    assert_int_equal(stat(old, &after), 0);
    assert_int_equal(after.st_size, before.st_size);
}

/* --- duplicates ------------------------------------------------------------------------------ */

APPEND_TEST(an_existing_message_is_not_posted_again) {
    _cleanup_(bus_finish) struct bus bus = fake_bus();
    assert_int_equal(post_as(&bus, "E1", "one", NULL), 0);
    assert_int_equal(post_as(&bus, "E2", "two", NULL), 0);
    assert_int_equal(post_as(&bus, "E1", "one", NULL), 1);
    assert_int_equal(post_as(&bus, "E2", "two", NULL), 1);
    assert_int_equal(post_as(&bus, "E3", "three", NULL), 0);
    assert_string_equal(bodies(), "one two three");
    assert_int_equal(bus.counts.messages, 3);
}

/* --- crashes --------------------------------------------------------------------------------- */

static void put(const char *text) {
    int fd = open(web, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

APPEND_TEST(a_torn_message_hides_no_later_one) {
    _cleanup_(bus_finish) struct bus bus = fake_bus();
    assert_int_equal(post(&bus, "one", NULL), 0);
    put("---\nmsg_id: T1\nty");
    assert_int_equal(post(&bus, "two", NULL), 0);
    put("---\nmsg_id: T2\n---\nbody\n");
    assert_int_equal(post(&bus, "three", NULL), 0);
    put("x");
    assert_int_equal(post(&bus, "four", NULL), 0);
    assert_string_equal(bodies(), "one two three four");
}

/* A partial write, as on a full disk. */
APPEND_TEST(a_partial_write_is_undone) {
    _cleanup_(bus_finish) struct bus bus = fake_bus();
    struct error err = { 0 };
    struct stat before, after;
    assert_int_equal(post(&bus, "one", NULL), 0);
    assert_int_equal(stat(web, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){ (rlim_t)before.st_size + 20, old.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int r = post(&bus, "two", &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(r, -ENOSPC);
    assert_int_equal(stat(web, &after), 0);
    assert_int_equal(after.st_size, before.st_size);
    assert_int_equal(post(&bus, "three", NULL), 0);
    assert_string_equal(bodies(), "one three");
}

/* --- many writers ---------------------------------------------------------------------------- */

#define WRITERS 50
#define EACH    200
#define LONGEST 2000

static void write_many(unsigned writer) {
    struct bus bus;
    char body[LONGEST + 64];
    bus_init(&bus, root);
    bus.limits.lock_timeout = MINUTES(5);
    bus.limits.lock_every = 1;
    for (unsigned i = 0; i < EACH; i++) {
        int n = snprintf(body, sizeof(body), "%u.%u\n---\n...\n", writer, i);
        memset(body + n, 'a' + (int)(writer % 26), (writer * 37 + i * 11) % LONGEST);
        body[(size_t)n + (writer * 37 + i * 11) % LONGEST] = '\0';
        struct bus_message message = { .type = "FACT", .project = "web", .body = body };
        if (bus_append(&bus, &message, false, NULL, NULL) != 0)
            _exit(1);
    }
    bus_finish(&bus);
    _exit(0);
}

APPEND_TEST(f117_fifty_writers_lose_nothing_and_mix_nothing) {
    pid_t pids[WRITERS];
    for (unsigned w = 0; w < WRITERS; w++)
        if ((pids[w] = fork()) == 0)
            write_many(w);
    for (unsigned w = 0; w < WRITERS; w++) {
        int status;
        assert_int_equal(waitpid(pids[w], &status, 0), pids[w]);
        assert_int_equal(status, 0);
    }
    unsigned next[WRITERS] = { 0 }, count = 0;
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    const struct bus_message *message;
    assert_int_equal(bus_reader_open(&reader, web, NULL), 0);
    while (bus_reader_next(&reader, &message, NULL) > 0) {
        unsigned w, i;
        assert_int_equal(sscanf(message->body, "%u.%u\n", &w, &i), 2);
        assert_true(w < WRITERS);
        assert_int_equal(i, next[w]++); /* in the order of each writer */
        size_t tail = strlen(strstr(message->body, "\n...") + 4);
        assert_int_equal(tail > 0 ? tail - 1 : 0, (w * 37 + i * 11) % LONGEST);
        count++;
    }
    assert_int_equal(count, WRITERS * EACH);
    assert_int_equal(reader.damaged, 0);
    struct bus bus = fake_bus();
    struct bus_counts counts;
    bus_counts_read(&bus, &counts);
    bus_finish(&bus);
    assert_int_equal(counts.messages, WRITERS * EACH);
}

APPEND_TEST(writers_that_are_killed_tear_nothing_of_others) {
    for (unsigned round = 0; round < 10; round++) {
        pid_t victims[3];
        for (unsigned w = 0; w < 3; w++)
            if ((victims[w] = fork()) == 0)
                write_many(w);
        /* While they work: some of their messages have been written. */
        struct stat st = { 0 };
        while (stat(web, &st) < 0 || st.st_size < (off_t)(round + 1) * 20000)
            if (waitpid(victims[0], NULL, WNOHANG) == victims[0])
                break;
        for (unsigned w = 0; w < 3; w++) {
            kill(victims[w], SIGKILL);
            (void)waitpid(victims[w], NULL, 0);
        }
        struct bus bus;
        bus_init(&bus, root);
        assert_int_equal(post(&bus, "9.0\n---\n...", NULL), 0);
        bus_finish(&bus);
    }
    unsigned ours = 0;
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    const struct bus_message *message;
    assert_int_equal(bus_reader_open(&reader, web, NULL), 0);
    while (bus_reader_next(&reader, &message, NULL) > 0) {
        unsigned w, i;
        assert_int_equal(sscanf(message->body, "%u.%u\n", &w, &i), 2);
        size_t tail = strlen(strstr(message->body, "\n...") + 4);
        assert_int_equal(tail > 0 ? tail - 1 : 0, w == 9 ? 0 : (w * 37 + i * 11) % LONGEST);
        ours += w == 9;
    }
    assert_int_equal(ours, 10);
}
