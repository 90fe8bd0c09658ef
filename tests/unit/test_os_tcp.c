/* test_os_tcp.c: parses addresses, and finds the process at the other end of a connection. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "harness/test.h"
#include "os/tcp.h"

TEST(an_address_is_numbers_and_a_port) {
    static const char *const good[] = { "127.0.0.1:7878", "[::1]:0", "0.0.0.0:65535",
                                        "[2001:db8::1]:443" };
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct tcp_address address;
        char text[TCP_TEXT_MAX];
        assert_int_equal(tcp_parse(good[i], &address, NULL), 0);
        assert_string_equal(tcp_print(&address, text), good[i]);
    }
    static const char *const bad[] = { "",
                                       "7878",
                                       "127.0.0.1",
                                       "127.0.0.1:",
                                       "localhost:1",
                                       "127.0.0.1:65536",
                                       "127.0.0.1:-1",
                                       "::1:80",
                                       "[::1]",
                                       "[::1:80",
                                       "127.1:80",
                                       "127.0.0.1:+1",
                                       "127.0.0.1 :1",
                                       "[127.0.0.1]:1",
                                       "*:80" };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct error err = { 0 };
        struct tcp_address address;
        if (tcp_parse(bad[i], &address, &err) != -EINVAL)
            fail_msg("'%s' is not an address and was taken for one", bad[i]);
        assert_non_null(strstr(err.text, "is not an address and port"));
    }
}

static struct tcp_address parsed(const char *text) {
    struct tcp_address address;
    assert_int_equal(tcp_parse(text, &address, NULL), 0);
    return address;
}

TEST(only_two_addresses_are_of_this_machine_alone) {
    struct tcp_address v4 = parsed("127.0.0.1:1"), v6 = parsed("[::1]:1");
    struct tcp_address any4 = parsed("0.0.0.0:1"), any6 = parsed("[::]:1");
    struct tcp_address next = parsed("127.0.0.2:1"), mapped = parsed("[::ffff:127.0.0.1]:1");
    assert_true(tcp_is_loopback(&v4) && tcp_is_loopback(&v6));
    assert_false(tcp_is_loopback(&any4) || tcp_is_loopback(&any6) || tcp_is_loopback(&next)
                 || tcp_is_loopback(&mapped));
    assert_true(tcp_is_any(&any4) && tcp_is_any(&any6));
    assert_false(tcp_is_any(&v4) || tcp_is_any(&v6));
}

TEST(the_kernel_says_whose_program_is_at_the_other_end) {
    struct tcp_address address = parsed("127.0.0.1:0");
    int listener = -1;
    struct tcp_end end = { .user = (uid_t)-1 };
    assert_int_equal(tcp_listen(&address, 1, &listener, NULL), 0);
    assert_int_equal(tcp_local(listener, &address), 0);
    assert_int_not_equal(tcp_port(&address), 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, &address.any, address.size), 0);
    /* The handshake is complete when connect returns. */
    int here = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(here >= 0);
    assert_int_equal(tcp_peer_end(here, &end), 0);
    assert_int_equal(end.user, geteuid());
    assert_true(end.inode > 0);
    close(client);
    close(here);
    struct error err = { 0 };
    int second = -1;
    assert_int_equal(tcp_listen(&address, 1, &second, &err), -EADDRINUSE);
    assert_int_equal(second, -1);
    close(listener);
    assert_true(tcp_peer_end(-1, &end) < 0);
}

/* --- which process --------------------------------------------------------------------------- */

/* A connection whose other end only a child of this test holds. */
struct held {
    int listener, here;
    pid_t child;
    struct tcp_end end;
};

enum hide { HIDE_NOT, HIDE_IN_FLIGHT, HIDE_IN_THREAD };

/* Sends the descriptor to a socket of its own: no process has it open, and it can be received later. */
static void put_in_flight(int fd) {
    int ends[2];
    char byte = 0, space[CMSG_SPACE(sizeof(int))] = { 0 };
    struct iovec part = { &byte, 1 };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)
    };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    *head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
                              .cmsg_level = SOL_SOCKET,
                              .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 || sendmsg(ends[0], &message, 0) != 1)
        _exit(1);
    close(fd);
}

static void *keep_alone(void *ctx) {
    const int *go = ctx;
    char byte;
    if (unshare(CLONE_FILES) < 0 || write(go[1], "", 1) != 1)
        _exit(1);
    for (;;)
        (void)!read(go[2], &byte, 1); /* no byte is ever written */
}

/* Moves it to the descriptor table of a thread: /proc/PID/fd shows that of the main thread. */
static void put_in_thread(int fd) {
    static int go[4];
    pthread_t thread;
    char byte;
    if (pipe2(go, O_CLOEXEC) < 0 || pipe2(go + 2, O_CLOEXEC) < 0
        || pthread_create(&thread, NULL, keep_alone, go) != 0 || read(go[0], &byte, 1) != 1)
        _exit(1);
    close(fd);
}

static void hold(struct held *h, enum hide hide) {
    struct tcp_address address = parsed("127.0.0.1:0");
    int ready[2];
    char byte = 0;
    assert_int_equal(tcp_listen(&address, 1, &h->listener, NULL), 0);
    assert_int_equal(tcp_local(h->listener, &address), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    h->child = fork();
    if (h->child == 0) {
        int client = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(client, &address.any, address.size) < 0)
            _exit(1);
        if (hide == HIDE_IN_FLIGHT)
            put_in_flight(client);
        if (hide == HIDE_IN_THREAD)
            put_in_thread(client);
        (void)!write(ready[1], "", 1);
        for (;;)
            pause();
    }
    assert_true(h->child > 0);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    h->here = accept4(h->listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(h->here >= 0);
    assert_int_equal(tcp_peer_end(h->here, &h->end), 0);
}

static void let_go(const struct held *h) {
    (void)kill(h->child, SIGKILL);
    assert_int_equal(waitpid(h->child, NULL, 0), h->child);
    close(h->here);
    close(h->listener);
}

static bool is_child(void *ctx, pid_t pid) {
    return pid == *(const pid_t *)ctx;
}

static bool matches_none(void *ctx, pid_t pid) {
    (void)ctx;
    (void)pid;
    return false;
}

TEST(the_process_that_holds_a_socket_is_found) {
    struct held h;
    hold(&h, HIDE_NOT);
    assert_int_equal(socket_holder(h.end.inode, h.end.user, is_child, &h.child), SOCKET_BELONGS);
    assert_int_equal(socket_holder(h.end.inode, h.end.user, matches_none, NULL), SOCKET_OF_OTHERS);
    let_go(&h);
}

TEST(a_socket_that_is_hidden_is_of_no_known_process) {
    for (enum hide hide = HIDE_IN_FLIGHT; hide <= HIDE_IN_THREAD; hide++) {
        struct held h;
        hold(&h, hide);
        assert_true(h.end.inode > 0);
        enum socket_holder holder = socket_holder(h.end.inode, h.end.user, is_child, &h.child);
        /* Another process of this user may hide its descriptors, and be taken for the holder. */
        assert_true(holder == SOCKET_LOST || holder == SOCKET_HIDDEN);
        let_go(&h);
    }
}
