/* test_run_socket.c: two sockets: runs need a token, the owner must not send one, and neither uses the
 * other's. */
#include "api_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_ops.h"
#include "harness/test.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define WITH(path, value)                                                                          \
    "GET " path " HTTP/1.1\r\nHost: sluice\r\nAuthorization: " value "\r\n\r\n"

static void listen_for_runs(struct api *api, void *arg) {
    struct api *runs = arg;
    struct error err = { 0 };
    if (server_listen_runs(api->server, runs->path, &err) < 0)
        fail_msg("%s", err.text);
}

/* The same server, seen through the other socket. */
static struct api socket_of_runs(struct api *api) {
    struct api runs = *api;
    (void)snprintf(runs.path, sizeof(runs.path), "%s/run.sock", api->folder);
    api_do(api, listen_for_runs, &runs);
    return runs;
}

/* Of the last echo. */
static void copy_token(struct api *api, void *arg) {
    (void)api;
    memcpy(arg, fake.token, sizeof(fake.token));
}

TEST(a_run_is_known_by_its_token) {
    API(api);
    ANSWER(answer);
    struct api runs = socket_of_runs(api);
    struct stat st;
    char token[sizeof(fake.token)];
    assert_int_equal(stat(runs.path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    api_once(&runs, WITH("/v1/echo", "Bearer " TOKEN), 200, &answer);
    api_do(api, copy_token, token);
    assert_string_equal(token, TOKEN);
    api_once(api, GET("/v1/echo"), 200, &answer);
    api_do(api, copy_token, token);
    assert_string_equal(token, "");
}

TEST(the_socket_of_runs_refuses_requests_without_a_token) {
    API(api);
    struct api runs = socket_of_runs(api);
    static const char *const bad[] = {
        GET("/v1/echo"),
        WITH("/v1/echo", "Basic " TOKEN),
        WITH("/v1/echo", "Bearer"),
        WITH("/v1/echo", "Bearer " TOKEN TOKEN),
        WITH("/v1/shutdown", "bearer:" TOKEN),
        ("POST /v1/shutdown HTTP/1.1\r\nHost: sluice\r\nX-Sluice-Run: web-1.1\r\n"
         "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"),
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        ANSWER(answer);
        api_once(&runs, bad[i], 403, &answer);
        ASSERT_HAS(strbuf_text(&answer.body), "SLUICE_TOKEN");
    }
    assert_false(api_stop_asked(api));
}

TEST(the_owners_socket_takes_no_token) {
    API(api);
    ANSWER(answer);
    api_once(api, WITH("/v1/echo", "Bearer " TOKEN), 403, &answer);
    ASSERT_HAS(strbuf_text(&answer.body), "a run asks at SLUICE_SOCKET");
}

/* What this process is taken for. Changed from inside the loop alone. */
static struct {
    enum server_peer peer;
    uint64_t times;
} identity;

static enum server_peer identify(void *ctx, pid_t pid) {
    (void)ctx;
    return pid == getpid() ? identity.peer : SERVER_PEER_OWNER;
}

static uint64_t identities(void *ctx) {
    (void)ctx;
    return identity.times;
}

static void become_run(struct api *api, void *arg) {
    (void)api;
    (void)arg;
    identity.peer = SERVER_PEER_RUN;
}

static void raise_identities(struct api *api, void *arg) {
    (void)api;
    (void)arg;
    identity.times++;
}

TEST(nor_a_process_of_a_run) {
    identity.peer = SERVER_PEER_RUN;
    API(api, .identify = identify);
    ANSWER(answer);
    struct api runs = socket_of_runs(api);
    int fd = api_connect(api);
    api_read_answer(fd, &answer);
    assert_int_equal(answer.status, 403);
    ASSERT_HAS(strbuf_text(&answer.body), "a run asks at SLUICE_SOCKET");
    close(fd);
    ANSWER(other);
    api_once(&runs, WITH("/v1/echo", "Bearer " TOKEN), 200, &other);
}

TEST(nor_one_that_cannot_be_identified) {
    identity.peer = SERVER_PEER_UNKNOWN;
    API(api, .identify = identify);
    ANSWER(answer);
    int fd = api_connect(api);
    api_read_answer(fd, &answer);
    assert_int_equal(answer.status, 403);
    ASSERT_HAS(strbuf_text(&answer.body), "cannot be seen");
    close(fd);
}

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* Can this kernel report whether the process that has connected is alive? */
static bool knows_peers(void) {
    int pair[2], pidfd = -1;
    socklen_t size = sizeof(pidfd);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    bool knows = getsockopt(pair[0], SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0;
    close(pair[0]);
    close(pair[1]);
    if (knows)
        close(pidfd);
    return knows;
}

struct handed {
    int fd;    /* connected by another process */
    bool ends; /* before the server sees it */
    pid_t pid;
};

/* From inside the loop, so the server accepts afterwards. */
static void connect_in_child(struct api *api, void *arg) {
    struct handed *handed = arg;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int go[2];
    char byte = 0;
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", api->path);
    handed->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    handed->pid = fork();
    assert_true(handed->pid >= 0);
    if (handed->pid == 0) {
        int r = connect(handed->fd, (const struct sockaddr *)&address, sizeof(address));
        (void)!write(go[1], &byte, 1);
        if (r == 0 && !handed->ends)
            (void)pause();
        _exit(0);
    }
    assert_int_equal(read(go[0], &byte, 1), 1);
    close(go[0]);
    close(go[1]);
    if (handed->ends)
        assert_int_equal(waitpid(handed->pid, NULL, 0), handed->pid);
}

/* Its number may be that of another process by now, which `identify` takes for the owner here. */
TEST(a_process_that_has_ended_is_not_taken_for_another_one) {
    identity.peer = SERVER_PEER_OWNER;
    API(api, .identify = identify);
    ANSWER(answer);
    struct handed lives = { .ends = false }, ended = { .ends = true };
    api_do(api, connect_in_child, &lives);
    api_ask(lives.fd, GET("/v1/echo"), 200, &answer);
    close(lives.fd);
    assert_int_equal(kill(lives.pid, SIGKILL), 0);
    assert_int_equal(waitpid(lives.pid, NULL, 0), lives.pid);
    ANSWER(other);
    api_do(api, connect_in_child, &ended);
    if (!knows_peers())
        api_send(ended.fd, GET("/v1/echo"));
    api_read_answer(ended.fd, &other);
    assert_int_equal(other.status, knows_peers() ? 403 : 200);
    close(ended.fd);
}

/* Once per connection, and again when anything has changed that it depends on. */
TEST(who_asks_is_looked_at_again_when_that_may_have_changed) {
    identity.peer = SERVER_PEER_OWNER;
    API(api, .identify = identify, .identities = identities);
    int fd = api_connect(api);
    ANSWER(first);
    api_ask(fd, GET("/v1/echo"), 200, &first);
    api_do(api, become_run, NULL);
    ANSWER(second);
    api_ask(fd, GET("/v1/echo"), 200, &second); /* identify was not called again */
    api_do(api, raise_identities, NULL);
    ANSWER(third);
    api_ask(fd, GET("/v1/echo"), 403, &third);
    ASSERT_HAS(strbuf_text(&third.body), "a run asks at SLUICE_SOCKET");
    api_expect_closed(fd);
    close(fd);
}

TEST(runs_leave_room_for_the_owner) {
    API(api, .connections_max = 4);
    struct api runs = socket_of_runs(api);
    int open[3];
    for (size_t i = 0; i < ARRAY_SIZE(open); i++)
        open[i] = api_connect(&runs);
    ANSWER(full);
    api_read_answer(open[2], &full);
    assert_int_equal(full.status, 503);
    ANSWER(answer);
    api_once(api, GET("/v1/echo"), 200, &answer);
    for (size_t i = 0; i < ARRAY_SIZE(open); i++)
        close(open[i]);
}

TEST(a_stream_of_events_shows_a_run_its_own) {
    API(api);
    struct api runs = socket_of_runs(api);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = api_connect(&runs);
    api_send(fd, "GET /v1/events HTTP/1.1\r\nHost: sluice\r\nAccept: text/event-stream\r\n"
                 "Authorization: Bearer " TOKEN "\r\n\r\n");
    api_read_until(fd, &text, ":\n\n");
    api_event(api, 2, "of a stranger");
    api_event(api, 1, "of itself"); /* what the fake operations let a run see */
    api_read_until(fd, &text, "of itself");
    ASSERT_HAS_NOT(strbuf_text(&text), "of a stranger");
    close(fd);
}
