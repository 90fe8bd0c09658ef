/* test_page_links.c: links to the dashboard: the one-time code, its file, and the page token that it is exchanged
 * for. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "engine/access.h"
#include "engine/engine_internal.h"
#include "fixture.h"
#include "harness/patience.h"
#include "harness/test.h"
#include "os/files.h"

/* Advances the clock of the engine by `span` without waiting. */
static void pass(struct ops *o, time_ms span) {
    o->engine->steady_at_start -= span;
}

static const char *listener_url(void *ctx) {
    return *(bool *)ctx ? "http://127.0.0.1:7878" : NULL;
}

static int listener_open(void *ctx, unsigned port, struct error *err) {
    if (port == 1)
        return error_set(err, -EBUSY, "port 1 is taken");
    *(bool *)ctx = true;
    return 0;
}

static bool listening;

static void open_with_store(struct ops *o, enum ops_store store) {
    listening = false;
    ops_open(o, store, NULL);
    engine_set_tcp_listener(o->engine, &(struct engine_tcp_listener){ .url = listener_url,
                                                                      .open = listener_open,
                                                                      .ctx = &listening });
}

static void open_with_listener(struct ops *o) {
    open_with_store(o, OPS_MEMORY);
}

/* Requests a link with this body; returns its code. */
static char *code_of(struct ops *o, const char *body) {
    struct reply r = ops_ask(o, "POST", "/v1/session/code", body, NULL);
    assert_int_equal(r.status, 200);
    char *code = xstrdup(reply_text(&r, "code"));
    reply_finish(&r);
    return code;
}

static struct reply swap(struct ops *o, const char *code) {
    char body[128];
    (void)snprintf(body, sizeof(body), "{\"code\":\"%s\"}", code);
    return ops_ask_by(o, ACCESS_NONE, "/v1/session", body, NULL);
}

#define POINT                                                                                      \
    "04"                                                                                           \
    "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"                             \
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"

TEST(a_page_with_a_key_gets_no_token) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char body[512];
    open_with_listener(&o);
    char *code = code_of(&o, "{}");
    (void)snprintf(body, sizeof(body), "{\"code\":\"%s\",\"key\":\"%s\"}", code, POINT);
    struct reply r = ops_ask_by(&o, ACCESS_NONE, "/v1/session", body, NULL);
    assert_int_equal(r.status, 200);
    assert_true(json_is_null(json_object_get(r.json, "token")));
    assert_string_equal(reply_text(&r, "boot"), engine_boot(o.engine));
    const struct engine_access *page = engine_find_page(o.engine, reply_text(&r, "id"));
    assert_non_null(page);
    assert_true(page->session && page->has_key && page->key[0] == 4);
    assert_int_equal(page->expires_at, reply_int(&r, "expires_at"));
    reply_finish(&r);
    free(code);
}

TEST(a_key_that_is_not_one_leaves_the_link_unused) {
    _cleanup_(ops_close) struct ops o = { 0 };
    static const char *const bad[] = { "x", "04", "046B17", "056b17" };
    char body[512];
    open_with_listener(&o);
    char *code = code_of(&o, "{}");
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        (void)snprintf(body, sizeof(body), "{\"code\":\"%s\",\"key\":\"%s\"}", code, bad[i]);
        reply_expect(ops_ask_by(&o, ACCESS_NONE, "/v1/session", body, NULL), 400, "'key'");
    }
    reply_expect(swap(&o, code), 200, "\"token\":\"sl_");
    free(code);
}

TEST(the_port_of_the_pages_is_remembered) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_with_store(&o, OPS_SQLITE);
    assert_int_equal(engine_remembered_port(o.engine), 0);
    assert_false(engine_has_pages(o.engine));
    char *code = code_of(&o, "{}");
    reply_expect(swap(&o, code), 200, NULL);
    assert_true(engine_has_pages(o.engine));
    unsigned port = engine_remembered_port(o.engine);
    assert_int_not_equal(port, 0);
    ops_restart(&o);
    assert_int_equal(engine_remembered_port(o.engine), port);
    assert_true(engine_has_pages(o.engine));
    free(code);
}

TEST(a_link_opens_a_page_once) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_with_listener(&o);
    char *code = code_of(&o, "{\"scope\":\"submit\"}");
    struct reply r = swap(&o, code);
    assert_int_equal(r.status, 200);
    assert_string_equal(reply_text(&r, "scope"), "submit");
    const struct engine_access *found = engine_find_access(o.engine, reply_text(&r, "token"));
    assert_non_null(found);
    assert_true(found->session);
    assert_int_equal(found->expires_at, reply_int(&r, "expires_at"));
    reply_finish(&r);
    reply_expect(swap(&o, code), 401, "this link was used already");
    assert_int_equal(engine_access_count(o.engine), 1);
    free(code);
}

TEST(a_link_is_good_for_a_minute) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_with_listener(&o);
    char *early = code_of(&o, "{}"), *late = code_of(&o, "{}");
    pass(&o, SECONDS(58));
    reply_expect(swap(&o, early), 200, "\"scope\":\"submit\"");
    pass(&o, SECONDS(3));
    reply_expect(swap(&o, late), 401, "older than a minute");
    reply_expect(swap(&o, "guess"), 401, NULL);
    free(early);
    free(late);
}

/* Requests a link with this body and exchanges its code as this peer. */
static void swap_from(struct ops *o, enum op_peer peer, const char *body, int status) {
    char *code = code_of(o, body);
    ops_peer = peer;
    reply_expect(swap(o, code), status, NULL);
    ops_peer = OP_PEER_PROGRAM;
    if (status != 200)
        reply_expect(swap(o, code), 401, "this link was used already");
    free(code);
}

TEST(a_run_gets_no_token_for_a_code) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_with_listener(&o);
    swap_from(&o, OP_PEER_PROGRAM, "{}", 200);
    swap_from(&o, OP_PEER_ELSEWHERE, "{}", 200);
    swap_from(&o, OP_PEER_RUN, "{}", 403);
    swap_from(&o, OP_PEER_UNKNOWN, "{}", 403);
    swap_from(&o, OP_PEER_PROGRAM, "{\"file\":true}", 200);
    swap_from(&o, OP_PEER_ELSEWHERE, "{\"file\":true}", 403);
    swap_from(&o, OP_PEER_RUN, "{\"file\":true}", 403);
    assert_int_equal(engine_access_count(o.engine), 3);
}

/* The code in the file at this path; NULL: the file does not exist. */
static char *code_in(const char *path) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (file_read(path, 4096, &text, NULL) < 0)
        return NULL;
    const char *code = strstr(strbuf_text(&text), "url=http://127.0.0.1:7878/#t=");
    assert_non_null(code);
    code += strlen("url=http://127.0.0.1:7878/#t=");
    return xstrndup(code, strcspn(code, "\""));
}

static char *path_of_file(struct ops *o) {
    struct reply r = ops_ask(o, "POST", "/v1/session/code", "{\"file\":true}", NULL);
    assert_int_equal(r.status, 200);
    char *path = xstrdup(reply_text(&r, "file"));
    reply_finish(&r);
    return path;
}

struct removal {
    struct ops *o;
    struct loop_timer *again;
    const char *path;
    time_ms deadline;
};

static void check_removal(void *ctx) {
    struct removal *r = ctx;
    time_ms now = loop_now_steady(r->o->loop);
    if (access(r->path, F_OK) < 0 || now >= r->deadline)
        loop_stop(r->o->loop);
    loop_timer_set(r->o->loop, r->again, now + 1);
}

static void await_removal(struct ops *o, const char *path) {
    struct removal r = { .o = o,
                         .path = path,
                         .deadline = loop_now_steady(o->loop) + patience_ms() };
    r.again = loop_timer_new(o->loop, check_removal, &r);
    loop_timer_set(o->loop, r.again, loop_now_steady(o->loop));
    (void)loop_run(o->loop, NULL);
    loop_timer_free(o->loop, r.again);
    if (access(path, F_OK) == 0)
        fail_msg("'%s' is still there after %d s", path, patience_s());
}

TEST(the_file_of_a_link_is_private_and_goes_with_its_code) {
    _cleanup_(ops_close) struct ops o = { 0 };
    struct stat st;
    open_with_listener(&o);
    reply_expect(ops_ask(&o, "POST", "/v1/session/code", "{}", NULL), 200, "\"file\":null");
    char *path = path_of_file(&o), *late = path_of_file(&o);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    char *code = code_in(path);
    reply_expect(swap(&o, code), 200, NULL);
    assert_int_equal(access(path, F_OK), -1);
    *strrchr(path, '/') = '\0';
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(access(late, F_OK), 0);
    pass(&o, PAGE_CODE_LIFE - 1);
    free(code_of(&o, "{}")); /* sets the timer again, by the current clock */
    await_removal(&o, late);
    free(code);
    free(path);
    free(late);
}

TEST(a_folder_that_is_not_private_gets_no_link) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char path[96];
    open_with_listener(&o);
    (void)snprintf(path, sizeof(path), "%s/dash", o.home);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0755), 0);
    reply_expect(ops_ask(&o, "POST", "/v1/session/code", "{\"file\":true}", NULL), 200,
                 "\"file\":null");
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink(o.home, path), 0);
    reply_expect(ops_ask(&o, "POST", "/v1/session/code", "{\"file\":true}", NULL), 200,
                 "\"file\":null");
}

TEST(requesting_a_link_opens_the_tcp_listener) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_with_listener(&o);
    reply_expect(ops_ask(&o, "POST", "/v1/session/code", "{\"port\":1}", NULL), 409,
                 "port 1 is taken");
    assert_false(listening);
    reply_expect(ops_ask(&o, "POST", "/v1/session/code", "{}", NULL), 200, "\"opened\":true");
    reply_expect(ops_ask(&o, "POST", "/v1/session/code", "{\"port\":1}", NULL), 200,
                 "\"opened\":false");
    reply_expect(ops_ask(&o, "GET", "/v1/status", NULL, NULL), 200,
                 "\"http\":{\"url\":\"http://127.0.0.1:7878\",\"problem\":null}");
    engine_set_tcp_listener(o.engine, &(struct engine_tcp_listener){ 0 });
    reply_expect(ops_ask(&o, "POST", "/v1/session/code", "{}", NULL), 501, NULL);
}

TEST(the_longest_idle_page_ends_when_there_are_too_many) {
    _cleanup_(ops_close) struct ops o = { 0 };
    open_with_listener(&o);
    char *first = NULL;
    for (unsigned i = 0; i <= ACCESS_SESSIONS_MAX; i++) {
        char *code = code_of(&o, "{}");
        struct reply r = swap(&o, code);
        assert_int_equal(r.status, 200);
        if (!first)
            first = xstrdup(reply_text(&r, "token"));
        reply_finish(&r);
        free(code);
        pass(&o, SECONDS(1));
    }
    assert_int_equal(engine_access_count(o.engine), ACCESS_SESSIONS_MAX);
    assert_null(engine_find_access(o.engine, first));
    free(first);
}
