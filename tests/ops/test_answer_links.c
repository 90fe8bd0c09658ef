/* test_answer_links.c: links that answer a question without a login, and what attackers try with them. */

#include <stdio.h>
#include <string.h>

#include "engine/questions.h"
#include "fake_executor.h"
#include "fixture.h"
#include "harness/test.h"

#define ON "notify: {answer_links: true}\n"

static void some_turns(struct ops *o) {
    for (int i = 0; i < 4; i++)
        ops_turn(o);
}

/* A task that runs and asks; `body` is that of its question. */
static task_id given_question(struct ops *o, const char *body) {
    char path[64];
    task_id task = ops_add(o, "\"project\":\"web\",");
    some_turns(o);
    fake_run_starts(task);
    some_turns(o);
    (void)snprintf(path, sizeof(path), "/v1/tasks/web-%u/question", (unsigned)task);
    reply_expect(ops_ask_as(o, fake_run_find(task)->token, "POST", path, body), 200, NULL);
    return task;
}

struct making {
    struct engine_request request; /* first: cast back from it */
    task_id task;
    bool is_made, is_over;
    char path[sizeof(OP_LINK_PATH) + QUESTION_LINK_SIZE];
};

static int make(struct engine *engine, struct engine_request *request) {
    struct making *m = (struct making *)request;
    const struct engine_question *q = engine_question(engine, m->task);
    char code[QUESTION_LINK_SIZE];
    m->is_made = q && engine_add_link(engine, m->task, q->asked_at, code);
    (void)snprintf(m->path, sizeof(m->path), OP_LINK_PATH "%s", m->is_made ? code : "");
    return 0;
}

static void made(struct engine *engine, struct engine_request *request, enum store_outcome outcome,
                 const struct error *err) {
    (void)engine;
    (void)err;
    ((struct making *)request)->is_over = outcome == STORE_OK;
}

static struct making given_link(struct ops *o, task_id task) {
    struct making m = { .request = { .run = make, .done = made }, .task = task };
    engine_request(o->engine, &m.request);
    some_turns(o);
    assert_true(m.is_over);
    assert_true(m.is_made);
    return m;
}

static struct reply post(struct ops *o, const struct making *link, const char *answer) {
    char body[128];
    (void)snprintf(body, sizeof(body), "{\"text\":\"%s\"}", answer);
    return ops_ask_by(o, ACCESS_NONE, link->path, body, NULL);
}

static struct reply get(struct ops *o, const struct making *link) {
    return ops_ask_by(o, ACCESS_NONE, link->path, NULL, NULL);
}

static enum question_state state_of(struct ops *o, task_id task) {
    return engine_question(o->engine, task)->state;
}

TEST(a_link_shows_its_question_and_answers_it_once) {
    _cleanup_(ops_close) struct ops o = { 0 };
    struct ops_trace before, after;
    ops_open(&o, OPS_SQLITE, ON);
    task_id task = given_question(&o, "{\"question\":\"Which one?\"}");
    struct making link = given_link(&o, task);
    ops_restart(&o);
    ops_trace(&o, &before);
    for (int i = 0; i < 3; i++) /* previews of chat programs, proxies, the person */
        reply_expect(get(&o, &link), 200, "<pre>Which one?</pre>");
    ops_trace(&o, &after);
    assert_memory_equal(&before, &after, sizeof(after));
    assert_int_equal(state_of(&o, task), QUESTION_OPEN);
    reply_expect(post(&o, &link, "blue"), 200, "web-1 is answered");
    const struct engine_question *q = engine_question(o.engine, task);
    assert_string_equal(q->answer, "blue");
    assert_string_equal(q->by, "link");
    reply_expect(ops_ask(&o, "GET", "/v1/events?limit=100", NULL, NULL), 200, "\"by\":\"link\"");
    reply_expect(post(&o, &link, "red"), 404, "not valid");
    reply_expect(get(&o, &link), 404, "not valid");
    assert_string_equal(engine_question(o.engine, task)->answer, "blue");
}

TEST(a_link_is_for_one_question_of_one_task) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, ON);
    task_id first = given_question(&o, "{\"question\":\"Which one?\"}");
    task_id second = given_question(&o, "{\"question\":\"And when?\"}");
    struct making link = given_link(&o, first), other = given_link(&o, second);
    reply_expect(post(&o, &link, "blue"), 200, NULL);
    assert_int_equal(state_of(&o, second), QUESTION_OPEN);
    reply_expect(get(&o, &other), 200, "And when?");
    /* The next question of the first task. */
    reply_expect(ops_ask_as(&o, fake_run_find(first)->token, "POST", "/v1/tasks/web-1/question",
                            "{\"question\":\"Which one?\"}"),
                 200, "\"answer\":\"blue\"");
    reply_expect(ops_ask_as(&o, fake_run_find(first)->token, "POST", "/v1/tasks/web-1/question",
                            "{\"question\":\"Delete all?\"}"),
                 200, NULL);
    reply_expect(post(&o, &link, "yes"), 404, "not valid");
    assert_int_equal(state_of(&o, first), QUESTION_OPEN);
    ops_expect(&o, 200, "POST", "/v1/tasks/cancel", "{\"tasks\":[\"web-2\"]}");
    fake_run_ends(second, 0);
    some_turns(&o);
    reply_expect(post(&o, &other, "now"), 404, "not valid");
}

TEST(guesses_are_refused) {
    static const char *const codes[] = {
        "x", "sl_aaaaaaaaaa_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "%00", "..%2f..", "web-1",
    };
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, ON);
    task_id task = given_question(&o, "{\"question\":\"Which one?\"}");
    struct making link = given_link(&o, task);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        char path[256];
        (void)snprintf(path, sizeof(path), OP_LINK_PATH "%s", codes[i]);
        struct reply shown = ops_ask_by(&o, ACCESS_NONE, path, NULL, NULL);
        struct reply sent = ops_ask_by(&o, ACCESS_NONE, path, "{\"text\":\"x\"}", NULL);
        assert_true(shown.status >= 400 && shown.status < 500);
        assert_true(sent.status >= 400 && sent.status < 500);
        reply_finish(&shown);
        reply_finish(&sent);
    }
    /* Every character counts. */
    for (size_t i = strlen(OP_LINK_PATH); link.path[i]; i++) {
        struct making wrong = link;
        wrong.path[i] = wrong.path[i] == 'x' ? 'y' : 'x';
        reply_expect(post(&o, &wrong, "blue"), 404, NULL);
    }
    link.path[strlen(link.path) - 1] = '\0';
    reply_expect(post(&o, &link, "blue"), 404, NULL);
    assert_int_equal(state_of(&o, task), QUESTION_OPEN);
}

TEST(links_work_only_while_they_are_enabled) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, NULL);
    task_id task = given_question(&o, "{\"question\":\"Which one?\"}");
    struct making link = given_link(&o, task);
    reply_expect(get(&o, &link), 404, "not valid");
    reply_expect(post(&o, &link, "blue"), 404, "not valid");
    assert_int_equal(state_of(&o, task), QUESTION_OPEN);
    reply_expect(ops_ask_by(&o, ACCESS_ADMIN, "/v1/config",
                            "{\"set\":{\"notify.answer_links\":true}}", NULL),
                 403, "cannot be changed over TCP");
}

/* However it found the link. */
TEST(a_process_of_a_run_cannot_use_a_link_and_it_is_invalid_then) {
    static const enum op_peer peers[] = { OP_PEER_RUN, OP_PEER_UNKNOWN };
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, ON);
    task_id task = given_question(&o, "{\"question\":\"Which one?\"}");
    for (size_t i = 0; i < 2; i++) {
        struct making link = given_link(&o, task);
        ops_peer = peers[i];
        reply_expect(post(&o, &link, "blue"), 403, "this link is used up");
        ops_peer = OP_PEER_PROGRAM;
        reply_expect(post(&o, &link, "blue"), 404, "not valid");
        assert_int_equal(state_of(&o, task), QUESTION_OPEN);
    }
    struct making link = given_link(&o, task);
    reply_expect(ops_ask_as(&o, fake_run_find(task)->token, "POST", link.path, "{\"text\":\"x\"}"),
                 403, "is not for runs");
    reply_expect(ops_ask_as(&o, fake_run_find(task)->token, "GET", link.path, NULL), 403, NULL);
    ops_peer = OP_PEER_ELSEWHERE;
    reply_expect(post(&o, &link, "blue"), 200, NULL);
    ops_peer = OP_PEER_PROGRAM;
}

TEST(an_answer_by_link_is_checked_like_any_other) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, ON);
    task_id task = given_question(&o, "{\"question\":\"Delete?\",\"choices\":[\"yes\",\"no\"]}");
    struct making link = given_link(&o, task);
    reply_expect(get(&o, &link), 200, "<button name=\"text\" value=\"no\">no</button>");
    reply_expect(post(&o, &link, "perhaps"), 400, "is not one of the choices");
    reply_expect(post(&o, &link, " "), 400, "'text' is empty");
    reply_expect(ops_ask_by(&o, ACCESS_NONE, link.path, "{}", NULL), 400, "text");
    reply_expect(
        ops_ask_by(&o, ACCESS_NONE, link.path, "{\"text\":\"yes\",\"task\":\"web-2\"}", NULL), 400,
        "task");
    reply_expect(post(&o, &link, "no"), 200, NULL); /* a refused answer does not use it up */
}

TEST(a_page_shows_hostile_text_as_text) {
    _cleanup_(ops_close) struct ops o = { 0 };
    ops_open(&o, OPS_MEMORY, ON);
    task_id task = given_question(&o, "{\"question\":\"</pre><script>alert('1')</script>\\u202e&"
                                      "\\u001b[2K\",\"choices\":[\"\\\"><b>\"]}");
    struct making link = given_link(&o, task);
    struct reply r = get(&o, &link);
    assert_int_equal(r.status, 200);
    assert_null(strstr(r.text, "<script"));
    assert_null(strstr(r.text, "\xe2\x80\xae"));
    assert_null(strchr(r.text, 0x1b));
    assert_non_null(strstr(r.text, "&lt;script&gt;alert(&#39;1&#39;)"));
    assert_non_null(strstr(r.text, "&#x27e8;202E&#x27e9;&amp;&#x27e8;001B&#x27e9;[2K"));
    assert_non_null(strstr(r.text, "value=\"&quot;&gt;&lt;b&gt;\""));
    assert_null(strstr(r.text, link.path + strlen(OP_LINK_PATH))); /* nor does it repeat the code */
    reply_finish(&r);
}

TEST(a_form_is_read_like_json) {
    const struct op *op = op_find("link.answer");
    json_t *params = json_object();
    static const char body[] = "text=two+words%0D%0Aand+%C3%A9";
    assert_int_equal(op_take_form(op, body, strlen(body), params, NULL), 0);
    assert_string_equal(json_string_value(json_object_get(params, "text")),
                        "two words\r\nand \xc3\xa9");
    static const char *const bad[] = { "text=a&text=b", "other=1", "code=x", "text=%ff", "text=" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct error err = { 0 };
        json_object_clear(params);
        assert_true(op_take_form(op, bad[i], strlen(bad[i]), params, &err) < 0);
        assert_true(err.text[0] != '\0');
    }
    json_decref(params);
}
