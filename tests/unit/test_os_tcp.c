/* test_os_tcp.c: addresses as people write them, and whose program is at the other end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "os/tcp.h"

static void an_address_is_numbers_and_a_port(void **state) {
    (void)state;
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
            fail_msg("'%s' is no address and was taken for one", bad[i]);
        assert_non_null(strstr(err.text, "is no address and port"));
    }
}

static struct tcp_address parsed(const char *text) {
    struct tcp_address address;
    assert_int_equal(tcp_parse(text, &address, NULL), 0);
    return address;
}

static void only_two_addresses_are_of_this_machine_alone(void **state) {
    (void)state;
    struct tcp_address v4 = parsed("127.0.0.1:1"), v6 = parsed("[::1]:1");
    struct tcp_address any4 = parsed("0.0.0.0:1"), any6 = parsed("[::]:1");
    struct tcp_address next = parsed("127.0.0.2:1"), mapped = parsed("[::ffff:127.0.0.1]:1");
    assert_true(tcp_is_loopback(&v4) && tcp_is_loopback(&v6));
    assert_false(tcp_is_loopback(&any4) || tcp_is_loopback(&any6) || tcp_is_loopback(&next)
                 || tcp_is_loopback(&mapped));
    assert_true(tcp_is_any(&any4) && tcp_is_any(&any6));
    assert_false(tcp_is_any(&v4) || tcp_is_any(&v6));
}

static void the_kernel_says_whose_program_is_at_the_other_end(void **state) {
    (void)state;
    struct tcp_address address = parsed("127.0.0.1:0");
    int listener = -1;
    uid_t user = (uid_t)-1;
    assert_int_equal(tcp_listen(&address, 1, &listener, NULL), 0);
    assert_int_equal(tcp_local(listener, &address), 0);
    assert_int_not_equal(tcp_port(&address), 0);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, &address.any, address.size), 0);
    /* The handshake is over when connect has returned. */
    int here = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(here >= 0);
    assert_int_equal(tcp_peer_user(here, &user), 0);
    assert_int_equal(user, geteuid());
    close(client);
    close(here);
    struct error err = { 0 };
    int second = -1;
    assert_int_equal(tcp_listen(&address, 1, &second, &err), -EADDRINUSE);
    assert_int_equal(second, -1);
    close(listener);
    assert_true(tcp_peer_user(-1, &user) < 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_numbers_and_a_port),
        cmocka_unit_test(only_two_addresses_are_of_this_machine_alone),
        cmocka_unit_test(the_kernel_says_whose_program_is_at_the_other_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
