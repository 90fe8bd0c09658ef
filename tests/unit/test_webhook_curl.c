/* test_webhook_curl.c: what curl is told, and what is made of its words. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/webhook_curl.h"

static struct webhook_result read_end(struct aside_end end, const char *output) {
    struct webhook_result result;
    end.output = output;
    end.size = strlen(output);
    webhook_curl_read("curl", &end, /* now= */ 0, &result);
    return result;
}

static void options_are_quoted_and_certificates_stay_checked(void **state) {
    struct webhook_message m = { .headers = { (char *)(uintptr_t) "A: \"b\" \\ c" },
                                 .header_count = 1,
                                 .timeout = 10050 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    (void)state;
    assert_int_equal(http_url_parse("https://h.example:8443/p?q=1", &m.url, NULL), 0);
    webhook_curl_print(&m, "/home/of \"sluice\"/x.body", &out);
    http_url_finish(&m.url);
    const char *text = strbuf_text(&out);
    assert_non_null(strstr(text, "url = \"https://h.example:8443/p?q=1\"\n"));
    assert_non_null(strstr(text, "header = \"A: \\\"b\\\" \\\\ c\"\n"));
    assert_non_null(strstr(text, "data-binary = \"@/home/of \\\"sluice\\\"/x.body\"\n"));
    assert_non_null(strstr(text, "max-time = 10.050\n"));
    assert_non_null(strstr(text, "proto = \"=https\"\n"));
    assert_null(strstr(text, "insecure"));
    assert_null(strstr(text, "location")); /* no redirect is followed */
}

static void the_last_line_is_the_status(void **state) {
    (void)state;
    assert_int_equal(read_end((struct aside_end){ 0 }, "\nretry-after:\n204").status, 204);
    assert_int_equal(read_end((struct aside_end){ 0 }, "\n201").status, 201); /* without the mark */
    assert_int_equal(read_end((struct aside_end){ 0 }, "204").status, 204);
    assert_int_equal(read_end((struct aside_end){ 0 }, "").status, 0);
    assert_int_equal(read_end((struct aside_end){ 0 }, "x\n20").status, 0);
    assert_int_equal(read_end((struct aside_end){ 0 }, "x\n2040").status, 0);
    assert_int_equal(read_end((struct aside_end){ .code = 28 }, "\nretry-after:\n000").status, 0);
    assert_int_equal(read_end((struct aside_end){ .timed_out = true }, "\n204").status, 0);
}

static void the_line_before_says_when_to_come_back(void **state) {
    (void)state;
    struct webhook_result r = read_end((struct aside_end){ 0 }, "\nretry-after:30\n503");
    assert_int_equal(r.status, 503);
    assert_int_equal(r.retry_after, SECONDS(30));
    r = read_end((struct aside_end){ 0 }, "\nretry-after:%header{retry-after}\n503");
    assert_int_equal(r.status, 503);
    assert_int_equal(r.retry_after, 0);
}

static void a_certificate_that_is_wrong_is_a_sentence(void **state) {
    (void)state;
    struct webhook_result r =
        read_end((struct aside_end){ .code = 60 },
                 "curl: (60) SSL certificate problem: self-signed certificate\nMore details here: "
                 "somewhere\n\nretry-after:\n000");
    assert_int_equal(r.status, 0);
    assert_string_equal(r.text, "the certificate of the server is not trusted (SSL certificate "
                                "problem: self-signed certificate): for an authority of your own "
                                "set 'notify.https_command' to 'curl --cacert FILE'");
}

static void other_failures_say_what_curl_said(void **state) {
    (void)state;
    struct webhook_result r = read_end((struct aside_end){ .code = 6 },
                                       "curl: (6) Could not resolve host: x\n\nretry-after:\n000");
    assert_string_equal(r.text,
                        "'curl' ended with exit code 6: curl: (6) Could not resolve host: x");
    r = read_end((struct aside_end){ .error = ENOENT }, "");
    assert_non_null(strstr(r.text, "https needs the program 'curl'"));
    r = read_end((struct aside_end){ .timed_out = true }, "");
    assert_non_null(strstr(r.text, "did not end in time"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_quoted_and_certificates_stay_checked),
        cmocka_unit_test(the_last_line_is_the_status),
        cmocka_unit_test(the_line_before_says_when_to_come_back),
        cmocka_unit_test(a_certificate_that_is_wrong_is_a_sentence),
        cmocka_unit_test(other_failures_say_what_curl_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
