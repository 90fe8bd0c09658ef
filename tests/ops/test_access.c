/* test_access.c: which operations the scopes of access tokens permit over TCP, and how tokens are added, expire and
 * are revoked. */

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

#define CONFIG "/v1/config"

/* Advances the clock of the engine by `span` without waiting. */
static void pass(struct ops *o, time_ms span) {
    o->engine->steady_at_start -= span;
}

static char *add_token(struct ops *o, const char *body) {
    struct reply r = ops_ask(o, "POST", "/v1/tokens", body, NULL);
    assert_int_equal(r.status, 200);
    char *token = xstrdup(reply_text(&r, "token"));
    reply_finish(&r);
    return token;
}

/* --- rights ------------------------------------------------------------------------------------ */

static enum access_scope needed(const struct op *op) {
    return op->right == OP_READ    ? ACCESS_READ
           : op->right == OP_ADMIN ? ACCESS_ADMIN
                                   : ACCESS_SUBMIT;
}

static int refused_with;

static void keep_code(struct op_call *call, void *ctx) {
    (void)ctx;
    refused_with = call->err.code;
    op_call_free(call);
}

/* Operations that the scope permits are not run: their parameters are missing. */
TEST(no_scope_reaches_operations_that_need_more) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    size_t tried = 0;
    for (const struct op *const *op = op_table; *op; op++)
        for (enum access_scope scope = ACCESS_NONE; scope < ACCESS_SCOPE_MAX; scope++) {
            if (!(*op)->local && ((*op)->open || scope >= needed(*op)))
                continue;
            struct op_call *call = op_call_new(*op, o.engine, json_object(), NULL);
            call->access = (struct op_access){ .remote = true, .scope = scope };
            call->answered = keep_code;
            refused_with = 0;
            op_submit(call);
            ops_turn(&o);
            if (refused_with != -EACCES)
                fail_msg("'%s' was let in with the scope '%s'", (*op)->name,
                         access_scope_name(scope));
            tried++;
        }
    assert_true(tried > 100);
}

TEST(each_scope_does_what_it_is_for) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    static const char task[] = "{\"tasks\":[{\"project\":\"web\",\"argv\":[\"true\"]}]}";
    reply_expect(ops_ask_by(&o, ACCESS_READ, "/v1/status", NULL, NULL), 200, NULL);
    reply_expect(ops_ask_by(&o, ACCESS_READ, "/v1/tasks", task, NULL), 403,
                 "this token has the scope 'read', and 'task.add' needs 'submit'");
    reply_expect(ops_ask_by(&o, ACCESS_SUBMIT, "/v1/tasks", task, NULL), 200, NULL);
    static const char ended[] =
        "{\"tasks\":[{\"project\":\"web\",\"argv\":[\"true\"],\"state\":\"done\"}]}";
    static const char old[] =
        "{\"tasks\":[{\"project\":\"web\",\"argv\":[\"true\"],\"created_at\":1}]}";
    reply_expect(ops_ask_by(&o, ACCESS_SUBMIT, "/v1/tasks", ended, NULL), 403,
                 "'state' is for the owner");
    reply_expect(ops_ask_by(&o, ACCESS_SUBMIT, "/v1/tasks", old, NULL), 403,
                 "'created_at' is for the owner");
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, "/v1/tasks", ended, NULL), 200, NULL);
    reply_expect(ops_ask_by(&o, ACCESS_SUBMIT, "/v1/pause", "{}", NULL), 403, "needs 'admin'");
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, "/v1/pause", "{}", NULL), 200, NULL);
}

TEST(socket_only_operations_are_refused_for_every_scope) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    free(add_token(&o, "{\"name\":\"phone\"}"));
    reply_expect(
        ops_ask_by(&o, ACCESS_ADMIN, "/v1/tokens", "{\"name\":\"mine\",\"scope\":\"admin\"}", NULL),
        403, "'token.add' is not available over TCP");
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, "/v1/tokens", NULL, NULL), 403, NULL);
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, "/v1/tokens/phone/revoke", "{}", NULL), 403, NULL);
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, "/v1/session/code", "{}", NULL), 403, NULL);
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, "/v1/backup", "{\"path\":\"/tmp/x.db\"}", NULL), 403,
                 NULL);
    assert_int_equal(engine_access_count(o.engine), 1);
}

/* Row 10 of the break-ins: a setting that names an executable. */
TEST(r10_nothing_by_tcp_changes_what_program_runs) {
    _cleanup_(ops_close) struct ops o = { 0 };
    _cleanup_(strbuf_finish) struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
    ops_open(&o, OPS_MEMORY, NULL);
    assert_int_equal(file_read(o.config_file, 1 << 20, &before, NULL), 0);
    static const char *const bad[] = {
        "{\"set\":{\"agents.claude.command\":\"sh -c evil\"}}",
        "{\"set\":{\"agents.claude.args\":\"--evil\"}}",
        "{\"set\":{\"agents.claude.env\":\"LD_PRELOAD=/evil.so\"}}",
        "{\"set\":{\"agents.claude.adapter\":\"codex\"}}",
        "{\"set\":{\"notify.command\":\"evil\"}}",
        "{\"set\":{\"notify.https_command\":\"evil\"}}",
        "{\"set\":{\"notify.webhook\":\"http://evil.example\"}}",
        "{\"set\":{\"alerts.notify\":\"evil\"}}",
        "{\"set\":{\"groups.notify\":\"evil\"}}",
        "{\"set\":{\"projects.web.mr_command\":\"evil\"}}",
        "{\"set\":{\"projects.web.path\":\"/evil\"}}",
        "{\"set\":{\"projects.web.prepare\":\"evil\"}}",
        "{\"set\":{\"projects.web.copy\":\".env\"}}",
        "{\"set\":{\"otel.endpoint\":\"http://evil.example\"}}",
        "{\"set\":{\"otel.headers_file\":\"/etc/shadow\"}}",
        "{\"set\":{\"store.url\":\"/tmp/evil.db\"}}",
        "{\"set\":{\"tasks.env\":\"PATH SECRET\"}}",
        "{\"set\":{\"http.listen\":\"127.0.0.1:1\"}}",
        "{\"set\":{\"http.hosts\":\"evil.example\"}}",
        "{\"set\":{\"http.session_h\":\"87600\"}}",
        "{\"set\":{\"capability.commands\":true}}",
        "{\"set\":{\"tasks.sandbox\":\"none\"}}",
        "{\"set\":{\"agents.claude.sandbox_network\":\"on\"}}",
        "{\"set\":{\"limits.runs\":3,\"notify.command\":\"evil\"}}",
        "{\"unset\":[\"agents.claude.command\"]}",
        "{\"unset\":[\"agents.claude\"]}",
        "{\"unset\":[\"agents\"]}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        reply_expect(ops_ask_by(&o, ACCESS_ADMIN, CONFIG, bad[i], NULL), 403,
                     "cannot be changed over TCP");
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, "/v1/projects/web/set", "{\"path\":\"/tmp\"}", NULL),
                 403, "cannot be changed over TCP");
    assert_int_equal(file_read(o.config_file, 1 << 20, &after, NULL), 0);
    assert_string_equal(strbuf_text(&before), strbuf_text(&after));
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, CONFIG, "{\"set\":{\"limits.runs\":5}}", NULL), 200,
                 NULL);
    reply_expect(
        ops_ask_by(&o, ACCESS_ADMIN, CONFIG, "{\"set\":{\"projects.web.weight\":3}}", NULL), 200,
        NULL);
    reply_expect(ops_ask(&o, "POST", CONFIG, "{\"set\":{\"notify.command\":\"mine\"}}", NULL), 200,
                 NULL);
}

TEST(texts_of_settings_are_shown_to_admins_alone) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, "notify: {webhook: 'https://hooks.example/SECRET'}\n");
    struct reply r = ops_ask_by(&o, ACCESS_SUBMIT, CONFIG "?all=true", NULL, NULL);
    assert_int_equal(r.status, 200);
    assert_null(strstr(r.text, "SECRET"));
    assert_non_null(strstr(r.text, "\"limits.runs\",\"value\":2"));
    reply_finish(&r);
    reply_expect(ops_ask_by(&o, ACCESS_READ, CONFIG "/notify.webhook", NULL, NULL), 200,
                 "\"value\":\"***\"");
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, CONFIG "/notify.webhook", NULL, NULL), 200, "SECRET");
    reply_expect(ops_ask(&o, "GET", CONFIG "/notify.webhook", NULL, NULL), 200, "SECRET");
}

TEST(health_without_a_token_says_ok_and_no_more) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    struct reply r = ops_ask_by(&o, ACCESS_NONE, "/healthz", NULL, NULL);
    assert_string_equal(r.text, "{\"ok\":true}");
    reply_finish(&r);
    reply_expect(ops_ask_by(&o, ACCESS_READ, "/healthz", NULL, NULL), 200, "\"version\"");
}

TEST(an_idempotency_key_belongs_to_its_token) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    static const char body[] = "{\"tasks\":[{\"project\":\"web\",\"argv\":[\"true\"]}]}";
    struct reply mine = ops_ask(&o, "POST", "/v1/tasks", body, "same-key-1");
    struct reply theirs = ops_ask_by(&o, ACCESS_SUBMIT, "/v1/tasks", body, "same-key-1");
    struct reply again = ops_ask_by(&o, ACCESS_SUBMIT, "/v1/tasks", body, "same-key-1");
    assert_false(theirs.replayed);
    assert_true(again.replayed);
    assert_string_not_equal(reply_text(&mine, "tasks.0.id"), reply_text(&theirs, "tasks.0.id"));
    assert_string_equal(reply_text(&theirs, "tasks.0.id"), reply_text(&again, "tasks.0.id"));
    reply_finish(&mine);
    reply_finish(&theirs);
    reply_finish(&again);
}

/* --- tokens ------------------------------------------------------------------------------------ */

TEST(a_token_is_known_by_all_of_its_letters) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    char *token = add_token(&o, "{\"name\":\"phone\",\"scope\":\"submit\"}");
    const struct engine_access *found = engine_find_access(o.engine, token);
    assert_non_null(found);
    assert_string_equal(found->name, "phone");
    assert_int_equal(found->scope, ACCESS_SUBMIT);
    for (size_t i = 0; token[i]; i++) {
        char letter = token[i];
        token[i] = letter == 'a' ? 'b' : 'a';
        if (engine_find_access(o.engine, token))
            fail_msg("letter %zu does not matter", i);
        token[i] = letter;
    }
    char longer[ACCESS_TOKEN_SIZE + 1];
    (void)snprintf(longer, sizeof(longer), "%s0", token);
    assert_null(engine_find_access(o.engine, longer));
    assert_null(engine_find_access(o.engine, ""));
    assert_null(engine_find_access(o.engine, "sl_"));
    free(token);
}

TEST(two_tokens_have_nothing_in_common) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    char *a = add_token(&o, "{\"name\":\"a\"}"), *b = add_token(&o, "{\"name\":\"b\"}");
    /* The id of one token with the secret of the other. */
    char mixed[ACCESS_TOKEN_SIZE];
    (void)snprintf(mixed, sizeof(mixed), "%.13s%s", a, b + 13);
    assert_null(engine_find_access(o.engine, mixed));
    free(a);
    free(b);
}

TEST(a_token_outlives_the_daemon_and_its_secret_is_nowhere) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    struct reply r = ops_ask(&o, "POST", "/v1/tokens", "{\"name\":\"phone\",\"expires_s\":3600}",
                             "the-key-of-it");
    char *token = xstrdup(reply_text(&r, "token"));
    reply_finish(&r);
    engine_use_access(o.engine, engine_find_access(o.engine, token)->id);
    ops_turn(&o);
    ops_restart(&o);
    const struct engine_access *found = engine_find_access(o.engine, token);
    assert_non_null(found);
    assert_int_equal(found->scope, ACCESS_READ);
    assert_true(found->used_at > 0 && found->expires_at > found->created_at);
    /* A retry with the same key cannot repeat the answer: the secret is not stored. */
    reply_expect(ops_ask(&o, "POST", "/v1/tokens", "{\"name\":\"phone\",\"expires_s\":3600}",
                         "the-key-of-it"),
                 409, "its answer, which had the secret, is gone");
    assert_int_equal(engine_access_count(o.engine), 1);
    char command[512];
    (void)snprintf(command, sizeof(command), "grep -rqF -e '%s' '%s'", token + 14, o.home);
    assert_int_not_equal(system(command), 0); /* NOLINT: a command of the test */
    free(token);
}

TEST(a_token_ends_when_it_expires) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    char *token = add_token(&o, "{\"name\":\"phone\",\"expires_s\":60}");
    pass(&o, SECONDS(58));
    assert_non_null(engine_find_access(o.engine, token));
    pass(&o, SECONDS(3));
    assert_null(engine_find_access(o.engine, token));
    free(
        add_token(&o, "{\"name\":\"phone\"}")); /* its name is free again, and its row is deleted */
    assert_int_equal(engine_access_count(o.engine), 1);
    free(token);
}

TEST(a_revoked_token_is_rejected_and_the_events_say_who_revoked_it) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_SQLITE, NULL);
    char *token = add_token(&o, "{\"name\":\"phone\"}");
    ops_expect(&o, 200, "POST", "/v1/tokens/phone/revoke", "{}");
    assert_null(engine_find_access(o.engine, token));
    ops_refused(&o, 404, "/v1/tokens/phone/revoke", "{}",
                "there is no token 'phone': 'sluice token list' shows those that there are");
    reply_expect(ops_ask(&o, "GET", "/v1/events?limit=100", NULL, NULL), 200,
                 "\"kind\":\"token.ended\",\"task\":null");
    reply_expect(ops_ask(&o, "GET", "/v1/events?limit=100", NULL, NULL), 200, "\"by\":\"ann\"");
    ops_restart(&o);
    assert_null(engine_find_access(o.engine, token));
    free(token);
}

TEST(names_are_plain_and_taken_once) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    free(add_token(&o, "{\"name\":\"phone\"}"));
    ops_refused(&o, 409, "/v1/tokens", "{\"name\":\"phone\"}",
                "there is a token 'phone' already: choose another name, or revoke it");
    ops_refused(&o, 400, "/v1/tokens", "{\"name\":\"a b\"}",
                "'a b' is not a name of a token: use 1 to 64 letters, digits, dots, hyphens and "
                "underscores");
    ops_expect(&o, 400, "POST", "/v1/tokens", "{\"name\":\"x\",\"scope\":\"owner\"}");
    ops_expect(&o, 400, "POST", "/v1/tokens", "{\"name\":\"x\",\"expires_s\":0}");
}

TEST(the_number_of_tokens_is_limited) {
    _cleanup_(ops_close) struct ops o = { 0 };
    char body[64];
    ops_open(&o, OPS_MEMORY, NULL);
    for (unsigned i = 0; i < ACCESS_MAX; i++) {
        (void)snprintf(body, sizeof(body), "{\"name\":\"t%u\"}", i);
        free(add_token(&o, body));
    }
    ops_expect(&o, 507, "POST", "/v1/tokens", "{\"name\":\"one-more\"}");
}

TEST(last_use_is_written_at_most_once_a_minute) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    char *token = add_token(&o, "{\"name\":\"phone\"}");
    char id[ACCESS_ID_SIZE];
    struct store_info before, after;
    memcpy(id, engine_find_access(o.engine, token)->id, sizeof(id));
    engine_use_access(o.engine, id);
    ops_turn(&o);
    store_info(engine_store(o.engine), &before);
    for (int i = 0; i < 10; i++) {
        engine_use_access(o.engine, id);
        ops_turn(&o);
    }
    store_info(engine_store(o.engine), &after);
    assert_int_equal(before.rows, after.rows);
    pass(&o, SECONDS(61));
    engine_use_access(o.engine, id);
    ops_turn(&o);
    store_info(engine_store(o.engine), &after);
    assert_true(after.rows > before.rows);
    free(token);
}

TEST(an_address_for_everybody_needs_tls) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    ops_refused(&o, 400, CONFIG, "{\"set\":{\"http.listen\":\"0.0.0.0:7878\"}}",
                "http.listen: '0.0.0.0:7878' can be reached from other machines: set "
                "'http.tls_cert' and 'http.tls_key' too, or use 127.0.0.1");
    ops_expect(&o, 400, "POST", CONFIG, "{\"set\":{\"http.listen\":\"everywhere:1\"}}");
    ops_expect(&o, 400, "POST", CONFIG, "{\"set\":{\"http.hosts\":\"*\"}}");
    ops_expect(&o, 200, "POST", CONFIG, "{\"set\":{\"http.listen\":\"[::1]:7878\"}}");
    ops_expect(&o, 200, "POST", CONFIG,
               "{\"set\":{\"http.listen\":\"0.0.0.0:7878\",\"http.tls_cert\":\"/etc/c.pem\"}}");
}
