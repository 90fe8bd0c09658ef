/* test_server_limits.c: who may come in, how many, and how long may they take?
 *
 * Times are options of the server, so the tests set them to a few milliseconds and wait for what must
 * happen then. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api_fixture.h"
#include "harness/patience.h"
#include "harness/scratch.h"
#include "harness/test.h"
#include "os/clock.h"
#include "os/loop.h"

/* ms. LATER where a test must do something before it. A machine may be slower than that at any time: then
 * ask_in_time asks again. */
#define SOON  30
#define LATER 400

static bool is_closed(int fd) {
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN);
}

static bool is_taken(struct api *api, uint64_t before) {
    return api_stats(api).requests > before || api_waiting(api) > 0;
}

/* A connection over which the server has taken the request before it closed it as idle. */
static int ask_in_time(struct api *api, const char *text) {
    uint64_t before = api_stats(api).requests;
    time_ms deadline = clock_read_steady() + patience_ms();
    while (clock_read_steady() < deadline) {
        int fd = api_connect(api);
        if (send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text)) {
            while (!is_taken(api, before) && !is_closed(fd))
                continue;
            if (is_taken(api, before))
                return fd;
        }
        close(fd);
    }
    fail_msg("the server closes every connection before it reads");
    return -1;
}

/* --- deadlines ----------------------------------------------------------------------------------- */

TEST(a_connection_that_asks_nothing_is_closed) {
    API(api, .idle_timeout = LATER);
    ANSWER(answer);
    int fd = api_connect(api);
    api_expect_closed(fd);
    close(fd);
    fd = ask_in_time(api, GET("/v1/echo"));
    api_read_answer(fd, &answer);
    assert_int_equal(answer.status, 200);
    api_expect_closed(fd);
    close(fd);
    assert_int_equal(api_stats(api).timeouts, 0); /* no client waited */
}

TEST(a_call_that_takes_long_is_no_idle_connection) {
    API(api, .idle_timeout = LATER, .head_timeout = LATER, .write_timeout = LATER);
    ANSWER(answer);
    int fd = ask_in_time(api, GET("/v1/wait"));
    api_wait_for_calls(api, 1);
    assert_int_equal(api_wakeups_within(api, 2 * LATER), 0); /* no timer runs meanwhile */
    api_release(api);
    api_read_answer(fd, &answer);
    assert_int_equal(answer.status, 200);
    close(fd);
}

/* Sends a byte whenever a little time has passed without an answer. */
static void drip(int fd, const char *text) {
    struct pollfd poller = { .fd = fd, .events = POLLIN };
    for (size_t i = 0; text[i] && poll(&poller, 1, SOON / 10) == 0; i++)
        if (send(fd, &text[i], 1, MSG_NOSIGNAL) != 1)
            return;
}

TEST(a_head_must_come_in_time_however_it_drips) {
    API(api, .head_timeout = SOON);
    ANSWER(answer);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = api_connect(api);
    strbuf_puts(&text, "GET / HTTP/1.1\r\nHost: ");
    strbuf_repeat(&text, "x", 1000);
    drip(fd, text.text);
    api_read_answer(fd, &answer);
    assert_int_equal(answer.status, 408);
    ASSERT_HAS(answer.body.text, "\"code\":\"timeout\"");
    api_expect_closed(fd);
    close(fd);
    API_WAIT_STAT(api, timeouts, 1);
}

TEST(a_body_must_come_in_time_however_it_drips) {
    API(api, .body_timeout = SOON);
    ANSWER(answer);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = api_connect(api);
    api_send(fd, "POST /v1/tasks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                 "Content-Length: 1000\r\n\r\n");
    strbuf_repeat(&text, " ", 999);
    drip(fd, text.text); /* 1 KiB per second is the least: 1 ms more for each byte */
    api_read_answer(fd, &answer);
    assert_int_equal(answer.status, 408);
    close(fd);
}

TEST(a_body_that_comes_quickly_gets_more_time) {
    /* 100 KiB came: that is worth 100 s. */
    API(api, .body_timeout = SOON);
    ANSWER(answer);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = api_connect(api);
    strbuf_puts(&text, "POST /v1/tasks HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
                       "Content-Length: 102414\r\n\r\n{\"tasks\":[1]");
    strbuf_repeat(&text, " ", 102400);
    api_send(fd, text.text);
    (void)api_wakeups_within(api, 3 * SOON);
    api_ask(fd, " }", 200, &answer);
    close(fd);
}

TEST(a_client_that_does_not_take_its_answer_is_dropped) {
    API(api, .write_timeout = SOON);
    int fd = api_connect(api);
    api_send(fd, GET("/v1/big?size=8000000"));
    API_WAIT_STAT(api, timeouts, 1);
    API_WAIT_STAT(api, connections, 0);
    close(fd);
}

TEST(a_refused_client_is_waited_for_only_so_long) {
    API(api, .linger_timeout = SOON);
    ANSWER(answer);
    int fd = api_connect(api);
    api_ask(fd, "junk\r\n\r\n", 400, &answer);
    API_WAIT_STAT(api, connections, 0); /* although this side is still open */
    close(fd);
}

TEST(an_idle_server_does_not_wake_up) {
    API(api, .idle_timeout = LATER, .comment_every = 5, .head_timeout = LATER);
    ANSWER(answer);
    assert_int_equal(api_wakeups_within(api, SOON), 0);
    int fd = ask_in_time(api, GET("/v1/echo"));
    api_read_answer(fd, &answer);
    assert_int_equal(answer.status, 200);
    close(fd);
    API_WAIT_STAT(api, connections, 0);
    assert_int_equal(api_wakeups_within(api, 2 * LATER), 0);
}

/* --- who and how many ---------------------------------------------------------------------------- */

TEST(one_connection_too_many_gets_503) {
    API(api, .connections_max = 3);
    ANSWER(answer);
    int fds[3];
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        fds[i] = api_connect(api);
        api_ask(fds[i], GET("/v1/echo"), 200, &answer);
    }
    int fd = api_connect(api);
    api_read_answer(fd, &answer); /* without asking */
    assert_int_equal(answer.status, 503);
    ASSERT_HAS(answer.body.text, "too many connections");
    api_expect_closed(fd);
    close(fd);
    close(fds[0]);
    API_WAIT_STAT(api, connections, 2);
    api_once(api, GET("/v1/echo"), 200, &answer);
    assert_int_equal(api_stats(api).refused, 1);
    close(fds[1]);
    close(fds[2]);
}

TEST(only_the_owner_and_root_are_let_in) {
    if (geteuid() != 0) {
        print_message("needs root to become somebody else; not tested\n");
        return;
    }
    API(api);
    char folder[128];
    (void)snprintf(folder, sizeof(folder), "%s/s", api->folder);
    /* The folders and the socket were opened up by mistake. */
    assert_int_equal(chmod(api->folder, 0755) | chmod(folder, 0755) | chmod(api->path, 0666), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char text[512] = "";
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        /* From there, because folders above it may be closed to others. */
        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s",
                       strrchr(api->path, '/') + 1);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct pollfd poller = { .fd = fd, .events = POLLIN };
        if (chdir(folder) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
            _exit(77);
        bool refused = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0
                       && poll(&poller, 1, patience_ms()) == 1
                       && recv(fd, text, sizeof(text) - 1, 0) > 0
                       && strncmp(text, "HTTP/1.1 403 ", 13) == 0;
        _exit(refused ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        print_message("this root cannot become somebody else; not tested\n");
        return;
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    API_WAIT_STAT(api, refused, 1);
    assert_int_equal(api_stats(api).requests, 0);
}

TEST(without_descriptors_clients_wait_and_are_served_later) {
    API(api, .accept_pause = SOON);
    ANSWER(answer);
    struct rlimit old, none;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", api->path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    none = (struct rlimit){ (rlim_t)fd + 1, old.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    api_send(fd, GET("/v1/echo"));
    struct pollfd poller = { .fd = fd, .events = POLLIN };
    int served = poll(&poller, 1, SOON / 2);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(served, 0);
    api_read_answer(fd, &answer);
    assert_int_equal(answer.status, 200);
    close(fd);
}

/* --- the socket ---------------------------------------------------------------------------------- */

TEST(folder_and_socket_are_the_owners_alone) {
    API(api);
    struct stat st;
    char folder[128];
    (void)snprintf(folder, sizeof(folder), "%s/s", api->folder);
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(stat(api->path, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 07777, 0600);
}

/* Listens in `folder`/`name` with a loop of its own. */
static int listen_at(const char *path, struct error *err) {
    struct loop *loop;
    assert_int_equal(loop_new(&loop, err), 0);
    struct server *server = server_new(loop, NULL, NULL);
    int r = server_listen_unix(server, path, err);
    server_free(server);
    loop_free(loop);
    return r;
}

struct maker {
    char folder[SCRATCH_PATH + 8];
    atomic_bool stop;
    unsigned odd; /* folders with another mode than was asked for */
};

static void *make_folders(void *ctx) {
    struct maker *maker = ctx;
    struct stat st;
    while (!atomic_load(&maker->stop)) {
        if (mkdir(maker->folder, 0700) == 0 && stat(maker->folder, &st) == 0)
            maker->odd += (st.st_mode & 07777) != 0700;
        (void)rmdir(maker->folder);
    }
    return NULL;
}

/* The daemon's threads make folders at any time, and the umask is that of all of them. */
TEST(what_other_threads_make_has_the_mode_they_ask_for) {
    struct error err = { 0 };
    struct maker maker = { 0 };
    char folder[SCRATCH_PATH], path[SCRATCH_PATH + 8];
    pthread_t thread;
    scratch_make(folder, "api");
    (void)snprintf(maker.folder, sizeof(maker.folder), "%s/made", folder);
    (void)snprintf(path, sizeof(path), "%s/socket", folder);
    assert_int_equal(pthread_create(&thread, NULL, make_folders, &maker), 0);
    for (int i = 0; i < 500; i++)
        assert_int_equal(listen_at(path, &err), 0);
    atomic_store(&maker.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(maker.odd, 0);
    scratch_remove(folder);
}

TEST(a_socket_that_cannot_be_is_explained) {
    struct error err = { 0 };
    char folder[SCRATCH_PATH], path[300];
    scratch_make(folder, "api");
    (void)snprintf(path, sizeof(path), "%s/%0200d", folder, 1);
    assert_int_equal(listen_at(path, &err), -ENAMETOOLONG);
    ASSERT_HAS(err.text, "more than 107 bytes: use a shorter folder");

    (void)snprintf(path, sizeof(path), "%s/file", folder);
    FILE *file = fopen(path, "we");
    assert_true(file && fclose(file) == 0);
    assert_int_equal(listen_at(path, &err), -EEXIST);
    ASSERT_HAS(err.text, "is not a socket: move it away");
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(unlink(path), 0);

    (void)snprintf(path, sizeof(path), "%s/no/such/sock", folder);
    assert_int_equal(listen_at(path, &err), -ENOENT);
    ASSERT_HAS(err.text, "cannot make the folder");

    (void)snprintf(path, sizeof(path), "%s/sock", folder);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(listen_at(path, &err), -EPERM);
    ASSERT_HAS(err.text, "chmod go-w");
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(listen_at(path, &err), 0);
    assert_int_equal(access(path, F_OK), -1); /* it takes its socket away again */
    assert_int_equal(rmdir(folder), 0);
}

TEST(the_socket_of_a_dead_daemon_is_replaced_and_anothers_is_left_alone) {
    struct error err = { 0 };
    struct loop *loop;
    char folder[SCRATCH_PATH], path[SCRATCH_PATH + 16];
    scratch_make(folder, "api");
    (void)snprintf(path, sizeof(path), "%s/sock", folder);
    assert_int_equal(loop_new(&loop, &err), 0);
    struct server *old = server_new(loop, NULL, NULL), *new = server_new(loop, NULL, NULL);
    assert_int_equal(server_listen_unix(old, path, &err), 0);
    assert_int_equal(server_listen_unix(new, path, &err), 0);
    server_free(old);
    assert_int_equal(access(path, F_OK), 0); /* it is the new one's */
    server_free(new);
    assert_int_equal(access(path, F_OK), -1);
    loop_free(loop);
    assert_int_equal(rmdir(folder), 0);
}

/* --- the end ------------------------------------------------------------------------------------- */

TEST(a_server_that_stops_answers_what_it_was_asked) {
    API(api);
    ANSWER(answer);
    int busy = api_connect(api), idle = api_connect(api), half = api_connect(api);
    api_ask(idle, GET("/v1/echo"), 200, &answer);
    api_send(half, "GET /v1/echo HTTP/1.1\r\n");
    api_send(busy, GET("/v1/wait"));
    api_wait_for_calls(api, 1);
    api_stop_accepting(api);
    assert_int_equal(access(api->path, F_OK), -1);
    api_expect_closed(idle);
    api_expect_closed(half);
    assert_int_equal(api_stats(api).connections, 1);
    api_send(busy, GET("/v1/echo")); /* too late */
    api_release(api);
    api_read_answer(busy, &answer);
    assert_int_equal(answer.status, 200);
    api_expect_closed(busy);
    API_WAIT_STAT(api, connections, 0);
    assert_int_equal(api_stats(api).requests, 2);
    close(busy);
    close(idle);
    close(half);
}
