/* test_log.c: a log is sent whole, followed while its run lives, and says what is missing. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api_fixture.h"
#include "fake_ops.h"
#include "harness/test.h"

#define LOG GET("/v1/tasks/1/log")

static void append(struct api *api, const char *name, const char *text, size_t size) {
    char path[192];
    api_log_path(api, name, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, size), size);
    close(fd);
}

static void append_text(struct api *api, const char *name, const char *text) {
    append(api, name, text, strlen(text));
}

/* A chunked answer that comes in pieces. */
struct pieces {
    int fd;
    struct strbuf head, raw, body;
    bool complete;
};

static void pieces_finish(struct pieces *p) {
    strbuf_finish(&p->head);
    strbuf_finish(&p->raw);
    strbuf_finish(&p->body);
}

#define PIECES(name) _cleanup_(pieces_finish) struct pieces name = { .fd = -1 }

/* false: the server has closed. */
static bool read_piece(struct pieces *p) {
    size_t before = p->raw.length;
    api_read_more(p->fd, &p->raw);
    char *at = p->raw.text, *line;
    bool came = p->raw.length > before;
    while (!p->complete
           && (line = memmem(at, p->raw.length - (size_t)(at - p->raw.text), "\r\n", 2))) {
        size_t size = strtoul(at, NULL, 16), used = (size_t)(line + 2 - p->raw.text);
        if (p->raw.length - used < size + 2)
            break;
        strbuf_add(&p->body, line + 2, size);
        at = line + 2 + size + 2;
        p->complete = size == 0;
    }
    size_t rest = p->raw.length - (size_t)(at - p->raw.text);
    memmove(p->raw.text, at, rest);
    p->raw.length = rest;
    p->raw.text[rest] = '\0';
    return came;
}

static void open_log(struct api *api, struct pieces *p, const char *request) {
    p->fd = api_connect(api);
    api_send(p->fd, request);
    while (!strstr(strbuf_text(&p->head), "\r\n\r\n")) /* the head, and not a byte more */
        api_read_exactly(p->fd, &p->head, 1);
    ASSERT_HAS(p->head.text, "HTTP/1.1 200 OK\r\n");
    ASSERT_HAS(p->head.text, "Content-Type: application/");
    ASSERT_HAS(p->head.text, "Transfer-Encoding: chunked\r\n");
}

static void read_body(struct pieces *p, size_t size) {
    while (p->body.length < size)
        if (!read_piece(p))
            fail_msg("the log ended behind %zu bytes of %zu", p->body.length, size);
}

static void read_complete(struct pieces *p) {
    while (!p->complete)
        if (!read_piece(p))
            fail_msg("the connection ended before the log: '%s'", strbuf_text(&p->body));
}

static size_t inotify_count(void) {
    size_t count = 0;
    char target[64];
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
        target[size > 0 ? size : 0] = '\0';
        count += strstr(target, "inotify") != NULL;
    }
    (void)closedir(folder);
    return count;
}

/* --- whole --------------------------------------------------------------------------------------- */

TEST(a_log_is_sent_from_its_offset_to_its_end) {
    API(api);
    ANSWER(answer);
    PIECES(p);
    append_text(api, "out.log", "0123456789 the rest\n");
    api_log(api, "out.log", 11, false);
    open_log(api, &p, LOG);
    ASSERT_HAS(p.head.text, "X-Sluice-Attempt: 2\r\nX-Sluice-Offset: 11\r\n");
    read_complete(&p);
    assert_string_equal(strbuf_text(&p.body), "the rest\n");
    api_ask(p.fd, GET("/v1/echo"), 200, &answer); /* the connection stays open */
    close(p.fd);
}

/* Offsets and sizes are those of the file. */
TEST(secrets_are_replaced_wherever_the_answer_begins) {
    static const char shown[] = "key [redacted KEY]********* end\n";
    (void)state;
    API(api);
    append_text(api, "out.log", "key " FAKE_SECRET " end\n");
    for (size_t offset = 0; offset < 32; offset++) {
        PIECES(p);
        api_log(api, "out.log", offset, false);
        open_log(api, &p, LOG);
        read_complete(&p);
        assert_string_equal(strbuf_text(&p.body), &shown[offset]);
        close(p.fd);
    }
}

/* Between two reads of the file, too. */
TEST(secrets_are_replaced_in_large_logs) {
    API(api);
    PIECES(p);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    for (unsigned i = 0; text.length < 200000; i++)
        strbuf_printf(&text, "%u " FAKE_SECRET "\n", i);
    append(api, "out.log", text.text, text.length);
    api_log(api, "out.log", 0, false);
    open_log(api, &p, LOG);
    read_complete(&p);
    assert_int_equal(p.body.length, text.length);
    assert_null(strstr(p.body.text, "hunter2"));
    close(p.fd);
}

TEST(empty_missing_and_short_logs_are_empty_answers) {
    API(api);
    append_text(api, "out.log", "short");
    append_text(api, "empty.log", "");
    static const char *const names[] = { "out.log", "empty.log", "missing.log" };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        PIECES(p);
        api_log(api, names[i], 100, false);
        open_log(api, &p, LOG);
        read_complete(&p);
        assert_int_equal(p.body.length, 0);
        close(p.fd);
    }
}

TEST(a_large_log_comes_as_its_reader_takes_it) {
    API(api,
        .write_timeout = 1000); /* it holds for the last bytes, when all is read: be quick then */
    PIECES(p);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    for (unsigned i = 0; text.length < 5000000; i++)
        strbuf_printf(&text, "line %u\n", i);
    append(api, "out.log", text.text, text.length);
    api_log(api, "out.log", 0, false);
    open_log(api, &p, LOG);
    (void)api_wakeups_within(api, 1200); /* a reader may pause longer than any other client */
    read_complete(&p);
    assert_int_equal(p.body.length, text.length);
    assert_memory_equal(p.body.text, text.text, text.length);
    close(p.fd);
}

TEST(old_clients_and_head_get_theirs) {
    API(api);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    append_text(api, "out.log", "bytes");
    api_log(api, "out.log", 0, false);
    int fd = api_connect(api);
    api_send(fd, "GET /v1/tasks/1/log HTTP/1.0\r\n\r\n");
    api_read_all(fd, &text);
    ASSERT_HAS_NOT(text.text, "chunked");
    assert_string_equal(strstr(text.text, "\r\n\r\n"), "\r\n\r\nbytes");
    close(fd);
    strbuf_clear(&text);
    fd = api_connect(api);
    api_send(fd, "HEAD /v1/tasks/1/log HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    api_read_all(fd, &text);
    ASSERT_HAS(text.text, "X-Sluice-Offset: 0\r\n");
    assert_string_equal(strstr(text.text, "\r\n\r\n"), "\r\n\r\n");
    close(fd);
}

TEST(what_is_no_file_and_who_is_no_task_are_refused) {
    API(api);
    ANSWER(answer);
    char path[192];
    api_log_path(api, "pipe", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    api_log(api, "pipe", 0, false); /* would block for ever */
    api_once(api, LOG, 500, &answer);
    api_log(api, "s", 0, false); /* a folder */
    api_once(api, LOG, 500, &answer);
    api_log_path(api, "link", path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    api_log(api, "link", 0, false);
    api_once(api, LOG, 500, &answer);
    api_once(api, GET("/v1/tasks/2/log"), 404, &answer);
}

/* --- holes --------------------------------------------------------------------------------------- */

TEST(a_hole_is_one_line_that_says_how_much_is_missing) {
    API(api);
    PIECES(p);
    char path[192], expected[200];
    api_log_path(api, "out.log", path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "begin\n", 6, 0), 6);
    assert_int_equal(pwrite(fd, "end\n", 4, 1000000), 4); /* inside a block: NULs before it */
    close(fd);
    api_log(api, "out.log", 0, false);
    open_log(api, &p, LOG);
    read_complete(&p);
    (void)snprintf(expected, sizeof(expected), "begin\n\n[... %d bytes were cut here ...]\nend\n",
                   1000000 - 6);
    assert_string_equal(strbuf_text(&p.body), expected);
    close(p.fd);
}

TEST(a_hole_at_the_end_and_one_at_the_beginning_are_reported_too) {
    API(api);
    PIECES(p);
    char path[192];
    api_log_path(api, "out.log", path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "middle", 6, 65536), 6);
    assert_int_equal(ftruncate(fd, 1000000), 0);
    close(fd);
    api_log(api, "out.log", 0, false);
    open_log(api, &p, LOG);
    read_complete(&p);
    assert_string_equal(strbuf_text(&p.body), "\n[... 65536 bytes were cut here ...]\nmiddle"
                                              "\n[... 934458 bytes were cut here ...]\n");
    close(p.fd);
}

TEST(nul_bytes_that_are_no_hole_are_bytes) {
    API(api);
    PIECES(p);
    append(api, "out.log", "a\0\0b\0", 5);
    api_log(api, "out.log", 0, false);
    open_log(api, &p, LOG);
    read_complete(&p);
    assert_int_equal(p.body.length, 5);
    assert_memory_equal(p.body.text, "a\0\0b\0", 5);
    close(p.fd);
}

/* --- output and errors ---------------------------------------------------------------------------- */

static void read_merged(struct api *api, enum op_log_format format, uint64_t tail,
                        const char *expected) {
    PIECES(p);
    api_log_merged(api, format, tail, false);
    open_log(api, &p, LOG);
    read_complete(&p);
    assert_string_equal(strbuf_text(&p.body), expected);
    close(p.fd);
}

/* Each line of `order` is a moment at which the command went from its errors back to its output. */
TEST(two_streams_are_merged_in_the_order_in_which_they_were_written) {
    API(api);
    append_text(api, "out.log", "one\nthree\nfive\n");
    append_text(api, "err.log", "two\nfour\nsix\n");
    append_text(api, "order", "4 4\n10 9\n");
    read_merged(api, OP_LOG_RAW, 0, "one\ntwo\nthree\nfour\nfive\nsix\n");
    read_merged(api, OP_LOG_RAW, 14, "four\nfive\nsix\n");
    read_merged(api, OP_LOG_RAW, 12, "ur\nfive\nsix\n");
}

TEST(a_run_without_an_order_has_its_output_first) {
    API(api);
    append_text(api, "out.log", "one\nthree\n");
    append_text(api, "err.log", "two\n");
    read_merged(api, OP_LOG_RAW, 0, "one\nthree\ntwo\n");
    read_merged(api, OP_LOG_RAW, 6, "e\ntwo\n");
}

/* The run can write it. */
TEST(a_forged_order_hides_nothing) {
    API(api);
    static const char *const forged[] = { "99999999 0\n", "4 4\n0 0\n", "-1 x\n", "4 9999\n8 1\n",
                                          "4" };
    append_text(api, "out.log", "one\nthree\n");
    append_text(api, "err.log", "two\n");
    for (size_t i = 0; i < ARRAY_SIZE(forged); i++) {
        PIECES(p);
        char path[192];
        api_log_path(api, "order", path);
        (void)unlink(path);
        append_text(api, "order", forged[i]);
        api_log_merged(api, OP_LOG_RAW, 0, false);
        open_log(api, &p, LOG);
        read_complete(&p);
        assert_int_equal(p.body.length, strlen("one\nthree\ntwo\n"));
        ASSERT_HAS(p.body.text, "three\n");
        close(p.fd);
    }
}

TEST(pieces_say_whose_they_are_and_where_to_go_on) {
    API(api);
    append(api, "out.log", "a\0\x1b[31m\xff\n", 9);
    append_text(api, "err.log", "no\n");
    read_merged(
        api, OP_LOG_PIECES, 0,
        "{\"stream\":\"out\",\"offset\":9,\"text\":\"a\xe2\x90\x80\\u001b[31m\xef\xbf\xbd\\n\"}\n"
        "{\"stream\":\"err\",\"offset\":3,\"text\":\"no\\n\"}\n");
}

TEST(merged_streams_are_followed) {
    API(api);
    PIECES(p);
    append_text(api, "out.log", "one\n");
    api_log_merged(api, OP_LOG_RAW, 0, true);
    open_log(api, &p, LOG);
    read_body(&p, 4);
    append_text(api, "err.log", "two\n");
    read_body(&p, 8);
    append_text(api, "out.log", "three\n");
    read_body(&p, 14);
    append_text(api, "err.log", "last\n");
    api_run_ended(api, 1, 2);
    read_complete(&p);
    assert_string_equal(strbuf_text(&p.body), "one\ntwo\nthree\nlast\n");
    assert_int_equal(inotify_count(), 0);
    close(p.fd);
}

/* A character is sent when it is complete. */
TEST(a_character_that_comes_in_two_parts_is_one) {
    API(api);
    PIECES(p);
    append_text(api, "out.log", "a\xc3");
    api_log_merged(api, OP_LOG_PIECES, 0, true);
    open_log(api, &p, LOG);
    append_text(api, "err.log", "b");
    while (!strstr(strbuf_text(&p.body), "err"))
        assert_true(read_piece(&p));
    append_text(api, "out.log", "\xa4\n");
    api_run_ended(api, 1, 2);
    read_complete(&p);
    ASSERT_HAS(p.body.text, "{\"stream\":\"out\",\"offset\":1,\"text\":\"a\"}\n");
    ASSERT_HAS(p.body.text, "{\"stream\":\"out\",\"offset\":4,\"text\":\"\xc3\xa4\\n\"}\n");
    close(p.fd);
}

/* --- following ----------------------------------------------------------------------------------- */

TEST(a_log_is_followed_until_its_run_has_ended) {
    API(api);
    ANSWER(answer);
    PIECES(p);
    append_text(api, "out.log", "one\n");
    api_log(api, "out.log", 0, true);
    open_log(api, &p, LOG);
    read_body(&p, 4);
    append_text(api, "out.log", "two\n");
    read_body(&p, 8);
    api_run_ended(api, 1, 1); /* of another attempt, of another task: nothing ends */
    api_run_ended(api, 2, 2);
    append_text(api, "out.log", "three\n");
    read_body(&p, 14);
    assert_false(p.complete);
    append_text(api, "out.log", "last words\n");
    api_run_ended(api, 1, 2);
    read_complete(&p);
    assert_string_equal(strbuf_text(&p.body), "one\ntwo\nthree\nlast words\n");
    api_ask(p.fd, GET("/v1/echo"), 200, &answer);
    assert_int_equal(inotify_count(), 0);
    close(p.fd);
}

TEST(a_log_that_is_not_there_yet_is_waited_for) {
    API(api);
    PIECES(p);
    api_log(api, "out.log", 0, true);
    open_log(api, &p, LOG);
    append_text(api, "err.log", "not this one");
    append_text(api, "out.log", "here");
    read_body(&p, 4);
    append_text(api, "out.log", " and more");
    read_body(&p, 13);
    api_run_ended(api, 1, 2);
    read_complete(&p);
    assert_string_equal(strbuf_text(&p.body), "here and more");
    close(p.fd);
}

/* The first half of a secret waits for the second, or for the end of the run. */
TEST(a_secret_that_comes_in_two_parts_is_replaced) {
    API(api);
    PIECES(p);
    append_text(api, "out.log", "one hunter2-hun");
    api_log(api, "out.log", 0, true);
    open_log(api, &p, LOG);
    read_body(&p, 4);
    append_text(api, "out.log", "ter2-hunter2 two hunter2-");
    read_body(&p, 4 + strlen(FAKE_SECRET " two "));
    assert_string_equal(strbuf_text(&p.body), "one [redacted KEY]********* two ");
    api_run_ended(api, 1, 2);
    read_complete(&p);
    assert_string_equal(strbuf_text(&p.body), "one [redacted KEY]********* two hunter2-");
    close(p.fd);
}

TEST(a_run_that_never_wrote_ends_its_followers_too) {
    API(api);
    PIECES(p);
    api_log(api, "out.log", 0, true);
    open_log(api, &p, LOG);
    api_run_ended(api, 1, 2);
    read_complete(&p);
    assert_int_equal(p.body.length, 0);
    close(p.fd);
}

static void end_in_turn(struct api *api, void *arg) {
    (void)api;
    (void)arg;
    fake.ends_in_turn = true;
}

TEST(a_run_that_ends_in_the_turn_of_the_question_is_not_followed_for_ever) {
    API(api);
    PIECES(p);
    append_text(api, "out.log", "all of it");
    api_log(api, "out.log", 0, true);
    api_do(api, end_in_turn, NULL); /* it is published before there is a follower */
    open_log(api, &p, LOG);
    read_complete(&p);
    assert_string_equal(strbuf_text(&p.body), "all of it");
    close(p.fd);
}

static void set_dead(struct api *api, void *arg) {
    (void)api;
    (void)arg;
    fake.run_lives = false;
}

TEST(a_run_that_ended_long_ago_is_not_followed) {
    API(api);
    PIECES(p);
    append_text(api, "out.log", "old");
    api_log(api, "out.log", 0, true);
    api_do(api, set_dead, NULL);
    open_log(api, &p, LOG);
    read_complete(&p);
    assert_string_equal(strbuf_text(&p.body), "old");
    close(p.fd);
}

TEST(many_follow_one_file_and_leave_one_by_one) {
    API(api);
    enum { COUNT = 5 };
    struct pieces followers[COUNT];
    append_text(api, "out.log", "x");
    api_log(api, "out.log", 0, true);
    for (size_t i = 0; i < COUNT; i++) {
        followers[i] = (struct pieces){ .fd = -1 };
        open_log(api, &followers[i], LOG);
        read_body(&followers[i], 1);
    }
    assert_int_equal(inotify_count(), 1);
    for (size_t i = 0; i < COUNT; i++) {
        append_text(api, "out.log", "y");
        for (size_t k = i; k < COUNT; k++)
            read_body(&followers[k], i + 2);
        close(followers[i].fd);
        pieces_finish(&followers[i]);
        API_WAIT_STAT(api, log_streams, COUNT - 1 - i);
    }
    assert_int_equal(inotify_count(), 0);
    assert_int_equal(api_wakeups_within(api, 30), 0);
}

static void put_in_slurm(struct api *api, void *arg) {
    (void)api;
    (void)arg;
    fake.in_slurm = true;
}

/* inotify reports only what is written on this machine, and the log of a run in Slurm is written on another machine. */
TEST(the_log_of_a_run_in_slurm_is_looked_at) {
    API(api);
    PIECES(p);
    append_text(api, "out.log", "one\n");
    api_log(api, "out.log", 0, true);
    api_do(api, put_in_slurm, NULL);
    p.fd = api_connect(api);
    api_send(p.fd, LOG);
    API_WAIT_STAT(api, log_streams, 1);
    assert_int_equal(inotify_count(), 0);
    append_text(api, "out.log", "two\n");
    api_read_until(p.fd, &p.head, "two\n");
    close(p.fd);
}

TEST(without_inotify_a_followed_log_is_looked_at) {
    API(api);
    PIECES(p);
    struct rlimit old;
    append_text(api, "out.log", "one\n");
    api_log(api, "out.log", 0, true);
    p.fd = api_connect(api);
    API_WAIT_STAT(api, connections, 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    int next = fcntl(p.fd, F_DUPFD_CLOEXEC, 0); /* the one descriptor that is left, for the log */
    close(next);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){ (rlim_t)next + 1, old.rlim_max }),
                     0);
    api_send(p.fd, LOG);
    API_WAIT_STAT(api, log_streams, 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(inotify_count(), 0);
    append_text(api, "out.log", "two\n");
    api_read_until(p.fd, &p.head, "two\n");
    close(p.fd);
}

TEST(followers_break_and_readers_finish_when_the_server_stops) {
    API(api);
    PIECES(follower);
    PIECES(reader);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_repeat(&text, "0123456789", 200000);
    append(api, "out.log", text.text, text.length);
    api_log(api, "out.log", 1999990, true);
    open_log(api, &follower, LOG);
    read_body(&follower, 10);
    api_log(api, "out.log", 0, false);
    open_log(api, &reader, LOG);
    api_stop_accepting(api);
    api_read_all(follower.fd, &follower.raw);
    assert_string_equal(strbuf_text(&follower.raw), ""); /* no last chunk: it was not all */
    read_complete(&reader);
    assert_int_equal(reader.body.length, text.length);
    api_expect_closed(reader.fd);
    close(follower.fd);
    close(reader.fd);
}
