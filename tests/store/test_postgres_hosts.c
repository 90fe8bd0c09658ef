/* test_postgres_hosts.c: of several hosts in a URL the first usable one is used, however the others fail.
 * Needs SLUICE_TEST_POSTGRES. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "harness/patience.h"
#include "harness/test.h"
#include "kit.h"
#include "store/postgres_internal.h"

/* Asserts that it is refused with this code and a message that contains these words, but no password. */
static void expect_refused(const char *where, int code, const char *words) {
    struct store *store = NULL;
    struct error err = { 0 };
    int r = store_open(&(struct store_options){ .url = where }, &store, NULL, &err);
    store_close(store);
    if (r != code || !strstr(err.text, words) || strstr(err.text, "s3cret"))
        fail_msg("'%s': %d instead of %d, or without '%s', or with the password: %s", where, r,
                 code, words, err.text);
}

/* --- the URL ------------------------------------------------------------------------------------------- */

/* With several hosts, only one that accepts writes is used, however the hosts are written. */
TEST(several_hosts_are_several_by_name_and_by_address) {
    static const struct {
        const char *url;
        bool many;
    } urls[] = {
        { "postgresql://a/x", false },
        { "postgresql://a,b/x", true },
        { "postgresql:///x?host=a,b", true },
        { "postgresql://a/x?hostaddr=127.0.0.1", false },
        { "postgresql:///x?hostaddr=127.0.0.1,127.0.0.2", true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
        struct pg_target target = { 0 };
        assert_int_equal(pg_target_parse(urls[i].url, &target, NULL), 0);
        if ((target.host_count > 1) != urls[i].many)
            fail_msg("'%s' is taken for %s", urls[i].url, urls[i].many ? "one host" : "several");
        pg_target_finish(&target);
    }
}

/* The parameters that libpq gets for one host. */
static void expect_option(const struct pg_host *host, const char *keyword, const char *wanted) {
    const char *is = "";
    PQconninfoOption *options = PQconninfoParse(host->conninfo, NULL);
    assert_non_null(options);
    for (PQconninfoOption *o = options; o->keyword; o++)
        if (strcmp(o->keyword, keyword) == 0 && o->val)
            is = o->val;
    if (strcmp(is, wanted) != 0)
        fail_msg("host '%s' has %s '%s' instead of '%s'", host->shown, keyword, is, wanted);
    PQconninfoFree(options);
}

/* Splits the lists like libpq; all other parameters apply to each host. */
TEST(each_host_has_its_part_of_the_lists) {
    struct pg_target target = { 0 };
    const char *where =
        "postgresql://me:s3%27cr%5Cet@a:7,b,[::1]:9/x?hostaddr=,10.0.0.2,&sslmode=require";
    assert_int_equal(pg_target_parse(where, &target, NULL), 0);
    static const char *const options[][3] = { { "a", "", "7" },
                                              { "b", "10.0.0.2", "" },
                                              { "::1", "", "9" } };
    static const char *const shown[] = { "a:7", "b", "[::1]:9" };
    assert_int_equal(target.host_count, ARRAY_SIZE(shown));
    for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
        expect_option(&target.hosts[i], "host", options[i][0]);
        expect_option(&target.hosts[i], "hostaddr", options[i][1]);
        expect_option(&target.hosts[i], "port", options[i][2]);
        expect_option(&target.hosts[i], "password", "s3'cr\\et");
        expect_option(&target.hosts[i], "sslmode", "require");
        expect_option(&target.hosts[i], "dbname", "x");
        assert_string_equal(target.hosts[i].shown, shown[i]);
    }
    pg_target_finish(&target);
    assert_int_equal(
        pg_target_parse("postgresql:///x?hostaddr=10.0.0.1,10.0.0.2&port=7", &target, NULL), 0);
    assert_string_equal(target.hosts[0].shown, "10.0.0.1:7");
    assert_string_equal(target.hosts[1].shown, "10.0.0.2:7"); /* one port applies to all hosts */
    pg_target_finish(&target);
}

TEST(lists_that_do_not_fit_are_refused) {
    expect_refused("postgresql://me:s3cret@a,b/x?port=1,2,3", -ECONNREFUSED,
                   "3 port numbers to 2 hosts");
    expect_refused("postgresql://me:s3cret@a,b/x?hostaddr=127.0.0.1", -ECONNREFUSED,
                   "2 host names to 1 hostaddr");
}

/* --- the hosts ----------------------------------------------------------------------------------------- */

/* The frozen host accepts connections and sends nothing: each host has its own timeout. The second connection goes to the
 * host of the first one, and does not wait for the frozen host again. */
TEST(a_frozen_host_is_left_for_the_next_one) {
    char frozen[32], where[256];
    int fd = kit_postgres_frozen(frozen);
    kit_postgres_second(0, frozen, where);
    struct pg_store *store = (struct pg_store *)kit_open(where, NULL);
    assert_string_equal(PQport(store->reader.pg), PQport(store->writer.pg));
    int tried = kit_postgres_tried(fd);
    close(fd);
    store_close(&store->base);
    assert_int_equal(tried, 1);
}

TEST(when_no_host_can_be_used_the_last_one_is_reported) {
    char frozen[32], where[256], words[128];
    int fd = kit_postgres_frozen(frozen);
    (void)snprintf(where, sizeof(where),
                   "postgresql://me:s3cret@%s,127.0.0.1:1/x?connect_timeout=2", frozen);
    expect_refused(where, -ECONNREFUSED,
                   "2 hosts were tried, the last one was '127.0.0.1:1': cannot reach");
    (void)snprintf(where, sizeof(where),
                   "postgresql://me:s3cret@127.0.0.1:1,%s/x?connect_timeout=2", frozen);
    (void)snprintf(words, sizeof(words), "2 hosts were tried, the last one was '%s'", frozen);
    expect_refused(where, -ETIMEDOUT, words);
    close(fd);
}

/* The server accepts logins but is read-only, like a replica; libpq is configured to require a writable one. */
static int answer_as_standby(int frozen) {
    static const char words[] = "R\0\0\0\x08\0\0\0\0"
                                "S\0\0\0\x18server_version\0"
                                "15.1\0"
                                "S\0\0\0\x16in_hot_standby\0on\0"
                                "S\0\0\0\x26"
                                "default_transaction_read_only\0off\0"
                                "Z\0\0\0\x05I";
    int fd = accept4(frozen, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, words, sizeof(words) - 1), sizeof(words) - 1);
    return fd;
}

/* This may be temporary: the primary comes back, or the replica is promoted. So a client that can wait waits. */
TEST(hosts_without_a_primary_count_as_unreachable) {
    char host[32], where[256];
    struct pg_target target = { 0 };
    struct pg_link link = { 0 };
    struct error err = { 0 };
    int fd = kit_postgres_frozen(host);
    (void)snprintf(where, sizeof(where),
                   "postgresql://me:s3cret@127.0.0.1:1,%s/x?sslmode=disable&gssencmode=disable",
                   host);
    assert_int_equal(pg_target_parse(where, &target, NULL), 0);
    link.host = 1;
    unsigned events = LOOP_WRITE;
    int r = pg_link_begin(&link, &target, "", &err), answered = -1;
    while (r >= 0) {
        struct pollfd poller = { .fd = PQsocket(link.pg),
                                 .events = events == LOOP_WRITE ? POLLOUT : POLLIN };
        if (events == LOOP_READ && answered < 0)
            answered = answer_as_standby(fd);
        assert_int_equal(poll(&poller, 1, patience_ms()), 1);
        r = pg_link_go_on(&link, &events, &err);
        assert_int_not_equal(r, 0);
    }
    close(answered);
    close(fd);
    assert_int_equal(r, -ECONNREFUSED);
    assert_non_null(strstr(err.text, "is a standby server"));
    assert_false(pg_link_next(&link, &err));
    assert_non_null(strstr(err.text, "2 hosts were tried"));
    pg_link_close(&link);
    pg_target_finish(&target);
}

int main(void) {
    if (!kit_postgres())
        return 77; /* skipped: no server */
    int failed = tests_run();
    kit_postgres_finish();
    return failed;
}
