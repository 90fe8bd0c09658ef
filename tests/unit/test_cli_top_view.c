/* test_cli_top_view.c: how answers of the daemon are drawn, and what the keys do. Needs no terminal. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/top.h"
#include "core/state_style.h"
#include "harness/test.h"

#define NOW INT64_C(1800000000000)

static const char status[] =
    "{\"version\":\"1.0\",\"preset\":\"sluice\",\"started_at\":1799996400000,\"paused\":false,"
    "\"counts\":{\"running\":1,\"starting\":1,\"ready\":2,\"held\":1,\"waiting\":3,\"done\":12045},"
    "\"waiting_by_gate\":[{\"gate\":\"dependency\",\"count\":3},{\"gate\":\"lease:runs\","
    "\"count\":2}],\"alerts\":[],\"limits\":[{\"key\":\"roots\",\"used\":1,\"cap\":null},"
    "{\"key\":\"project:web\",\"used\":3,\"cap\":3},{\"key\":\"runs\",\"used\":2,\"cap\":8}],"
    "\"limiters\":[{\"name\":\"anthropic\",\"used\":0,\"cap\":10,\"state\":\"backoff\","
    "\"opens_at\":1800000027000,\"hits\":3}],\"budgets\":[{\"key\":\"global\",\"used\":1200000,"
    "\"reserved\":80000,\"cap\":5000000}],\"projects\":[{\"name\":\"web\",\"paused\":true}],"
    "\"host\":{\"disk_free_mb\":42000,\"memory_free_mb\":8192,\"load\":0.5},"
    "\"store\":{\"full\":false}}";

/* --- fixture --------------------------------------------------------------------------------- */

struct pages {
    const char *json;
};

static int fetch(void *ctx, const char *cursor, json_t *page, char **ret_next, struct error *err) {
    const struct pages *pages = ctx;
    (void)cursor;
    (void)ret_next;
    (void)err;
    json_t *answer = json_loads(pages->json, 0, NULL);
    assert_non_null(answer);
    top_page_read(page, answer, "");
    json_decref(answer);
    return 0;
}

static void read_status(struct top *top, const char *json) {
    json_t *answer = json_loads(json, 0, NULL);
    assert_non_null(answer);
    top_model_read(&top->model, answer);
    json_decref(answer);
}

static void begin(struct top *top, unsigned width, unsigned height) {
    *top = (struct top){ .unicode = true, .width = width, .height = height, .now = NOW };
    read_status(top, status);
}

static void fill(struct top *top, const char *items) {
    struct pages pages = { items };
    struct top_list *list = &top->lists[top->pane];
    top_list_reset(list);
    while (top_list_wants(list))
        assert_int_equal(top_list_load(list, fetch, &pages, NULL), 0);
}

static void draw(struct top *top, struct strbuf *out) {
    struct top_cells cells = { 0 };
    top_view(top, &cells);
    top_cells_print(&cells, out);
    top_cells_finish(&cells);
}

static void check_has(struct top *top, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    draw(top, &out);
    if (!strstr(strbuf_text(&out), text))
        fail_msg("'%s' is not on the screen:\n%s", text, strbuf_text(&out));
}

static void check_lacks(struct top *top, const char *text) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    draw(top, &out);
    if (strstr(strbuf_text(&out), text))
        fail_msg("'%s' is on the screen:\n%s", text, strbuf_text(&out));
}

#define RUNNING                                                                                    \
    "{\"items\":[{\"id\":\"web-17\",\"project\":\"web\",\"agent\":\"claude\",\"state\":"           \
    "\"running\",\"title\":\"fix the login form\",\"run\":{\"phase\":\"working\",\"started_at\":"  \
    "1799999460000,\"tokens_in\":100000,\"tokens_out\":12345}},{\"id\":\"api-4\",\"project\":"     \
    "\"api\",\"state\":\"starting\",\"title\":\"日本語 port\",\"changed_at\":1799999999000}],"  \
    "\"next\":null}"

/* --- drawing --------------------------------------------------------------------------------- */

TEST(the_screen_shows_runs_and_what_tasks_wait_for) {
    struct top top;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    begin(&top, 80, 12);
    fill(&top, RUNNING);
    draw(&top, &out);
    assert_string_equal(
        strbuf_text(&out),
        "sluice 1.0  load 0.5  memory 8.0 GB free  disk 41 GB free  up 60 m\n"
        "runs 2/8  limiter:anthropic 0/10 backoff, 3 hits, opens in 27 s\n"
        "wait for: 3 dependency  2 lease:runs\n"
        "[running 2] ready 2  waiting 4  ended 12,045  limits  needs you 0\n"
        "   ID      PROJECT  AGENT   FOR  TOKENS  TITLE\n"
        "▶  web-17  web      claude  9 m    112k  fix the login form\n"
        "◐  api-4   api              1 s       -  日本語 port\n"
        "\n\n\n\n"
        "q quit  ? help  tab panes  enter why  l log  / filter  t tag  s order  < > sort\n");
    top_finish(&top);
}

TEST(without_utf8_there_are_ascii_marks) {
    struct top top;
    begin(&top, 80, 12);
    top.unicode = false;
    fill(&top, RUNNING);
    check_has(&top, ">  web-17  web      claude  9 m    112k  fix the login form\n");
    check_has(&top, ")  api-4   api              1 s       -  ??? port\n");
    top_finish(&top);
}

TEST(every_symbol_of_a_state_takes_one_column) {
    for (int unicode = 0; unicode < 2; unicode++)
        for (int a = TASK_ABSENT; a < TASK_STATE_MAX; a++) {
            const char *symbol = state_symbol((enum task_state)a, unicode);
            assert_int_equal(top_cells_columns(unicode, symbol), 1);
        }
}

TEST(a_wide_screen_has_more_columns) {
    struct top top;
    begin(&top, 130, 60);
    top.pane = TOP_PANE_READY;
    fill(&top, "{\"items\":[{\"id\":\"web-1\",\"project\":\"web\",\"state\":\"ready\",\"title\":"
               "\"t\",\"gate\":\"lease:runs\",\"why\":\"all 8 places are taken\"}]}");
    check_has(&top, "lease:runs  all 8 places are taken  t\n");
    top.width = 80;
    check_lacks(&top, "all 8 places");
    top_finish(&top);
}

TEST(limits_come_by_urgency_with_a_bar) {
    struct top top;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    begin(&top, 80, 14);
    top.pane = TOP_PANE_LIMITS;
    draw(&top, &out);
    const char *table = strstr(strbuf_text(&out), "LIMIT");
    assert_non_null(table);
    static const char want[] =
        "LIMIT              USED       CAP                          STATE\n"
        "runs                  2         8  [#####---------------]\n"
        "limiter:anthropic     0        10  [--------------------]  backoff, 3 hits, ope…\n"
        "project:web           3         3  [####################]  full\n"
        "budget:global      1.2M      5.0M  [####----------------]  80.0k reserved\n"
        "roots                 1  no limit\n";
    assert_memory_equal(table, want, strlen(want));
    top_finish(&top);
}

TEST(any_size_is_drawn) {
    struct top top;
    begin(&top, 1, 1);
    fill(&top, RUNNING);
    for (unsigned width = 0; width < 90; width += 7)
        for (unsigned height = 0; height < 30; height++)
            for (int pane = 0; pane < TOP_PANE_MAX; pane++) {
                _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
                top.pane = (enum top_pane)pane;
                top.width = width;
                top.height = height;
                draw(&top, &out);
            }
    top.pane = TOP_PANE_RUNNING;
    top.width = 80;
    top.height = 24;
    check_has(&top, "fix the login form");
    top_finish(&top);
}

TEST(what_stops_everything_is_shown_first) {
    struct top top;
    begin(&top, 80, 24);
    read_status(&top, "{\"version\":\"1.0\",\"paused\":true,\"paused_by\":\"ann\",\"paused_at\":"
                      "1799999820000,\"store\":{\"full\":true},\"blocked_dependencies\":2,"
                      "\"attention\":2}");
    check_has(&top, "sluice 1.0  PAUSED by ann 3 m ago  DISK FULL: new tasks are refused\n");
    top_finish(&top);
}

TEST(hostile_texts_are_harmless) {
    struct top top;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    begin(&top, 80, 12);
    fill(&top, "{\"items\":[{\"id\":\"web-1\",\"project\":\"web\",\"state\":\"running\",\"title\":"
               "\"\\u001b]0;owned\\u0007a\\u202eb\\u001b[2Jc\\nd\"}]}");
    draw(&top, &out);
    assert_null(strchr(strbuf_text(&out), 0x1b));
    check_has(&top, "▶  web-1");
    top_finish(&top);
}

TEST(times_on_the_screen_move_only_while_there_are_some) {
    struct top top;
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    begin(&top, 80, 12);
    draw(&top, &out);
    assert_true(top.moves);
    read_status(&top, "{\"counts\":{\"ready\":5}}");
    draw(&top, &out);
    assert_false(top.moves);
    top.pane = TOP_PANE_WAITING;
    fill(&top, "{\"items\":[{\"id\":\"w-1\",\"state\":\"held\",\"not_before\":1800000030000}]}");
    draw(&top, &out);
    assert_true(top.moves);
    check_has(&top, "in 30 s");
    top_finish(&top);
}

TEST(nothing_is_asked_while_nothing_happens) {
    struct top top;
    struct top_daemon d = { .refreshed = SECONDS(100), .refresh_time = 10 };
    begin(&top, 80, 24);
    read_status(&top, "{\"counts\":{\"ready\":5}}");
    assert_true(top_daemon_pause(&d, &top, SECONDS(130)) >= SECONDS(30));
    d.news = true; /* at once, but not repeatedly */
    assert_int_equal(top_daemon_pause(&d, &top, SECONDS(101)), 0);
    assert_in_range(top_daemon_pause(&d, &top, SECONDS(100) + 100), 1, 500);
    d.refresh_time = SECONDS(1); /* a slow answer is not requested again meanwhile */
    assert_true(top_daemon_pause(&d, &top, SECONDS(101)) >= SECONDS(5));
    d.news = false;
    d.refresh_time = 10;
    read_status(&top, status); /* a run is live: its token count changes without events */
    assert_in_range(top_daemon_pause(&d, &top, SECONDS(101)), SECONDS(1), SECONDS(10));
    top.unreachable = true;
    d.reconnected = SECONDS(101);
    assert_in_range(top_daemon_pause(&d, &top, SECONDS(101)), 1, SECONDS(2));
    top_finish(&top);
}

/* --- keys ------------------------------------------------------------------------------------ */

static void type(struct top *top, const char *keys) {
    for (; *keys; keys++)
        top_input(top, *keys == '\n' ? (int)TOP_KEY_ENTER : *keys);
}

TEST(canceling_asks_first_and_means_the_task_it_named) {
    struct top top;
    begin(&top, 80, 12);
    fill(&top, RUNNING);
    top_input(&top, 'c');
    assert_int_equal(top.request, TOP_REQUEST_NONE);
    check_has(&top, "[y/n] cancel web-17? fix the login form\n");
    top_input(&top, 'n');
    assert_int_equal(top.request, TOP_REQUEST_NONE);
    check_has(&top, "nothing was changed\n");
    top_input(&top, 'c');
    fill(&top, "{\"items\":[{\"id\":\"api-9\",\"state\":\"running\"}]}"); /* meanwhile */
    top_input(&top, 'y');
    assert_int_equal(top.request, TOP_REQUEST_CHANGE);
    assert_string_equal(top.target_id, "web-17");
    assert_string_equal(top.verb->path, "/v1/tasks/cancel");
    top_finish(&top);
}

TEST(pausing_asks_and_a_paused_project_is_resumed) {
    struct top top;
    begin(&top, 80, 12);
    fill(&top, RUNNING);
    top_input(&top, 'p');
    check_has(&top, "[y/n] pause everything? running tasks continue\n");
    top_input(&top, 'y');
    assert_null(top.target_id);
    assert_string_equal(top.verb->path, "/v1/pause");
    top_input(&top, 'P');
    check_has(&top, "[y/n] resume web?\n");
    top_input(&top, TOP_KEY_ESCAPE);
    assert_int_equal(top.request, TOP_REQUEST_NONE);
    top_input(&top, TOP_KEY_DOWN);
    top_input(&top, 'P');
    check_has(&top, "[y/n] pause api? running tasks continue\n");
    top_finish(&top);
}

TEST(other_changes_are_made_at_once) {
    static const struct {
        char key;
        const char *path, *to;
    } rows[] = {
        { 'r', "/v1/tasks/retry", NULL },
        { 'h', "/v1/tasks/hold", NULL },
        { '+', "/v1/tasks/priority", "front" },
        { '-', "/v1/tasks/priority", "back" },
    };
    struct top top;
    begin(&top, 80, 12);
    fill(&top, RUNNING);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        top_input(&top, rows[i].key);
        assert_int_equal(top.request, TOP_REQUEST_CHANGE);
        assert_string_equal(top.verb->path, rows[i].path);
        assert_true(rows[i].to ? strcmp(rows[i].to, top.verb->to) == 0 : !top.verb->to);
    }
    top.pane = TOP_PANE_WAITING;
    fill(&top, "{\"items\":[{\"id\":\"web-3\",\"state\":\"held\",\"actions\":[\"release\"]}]}");
    top_input(&top, 'h');
    assert_string_equal(top.verb->path, "/v1/tasks/release");
    top_finish(&top);
}

TEST(without_a_task_no_action_is_requested) {
    struct top top;
    begin(&top, 80, 12);
    for (const char *key = "crh+-lP"; *key; key++) {
        top_input(&top, *key);
        assert_int_equal(top.request, TOP_REQUEST_NONE);
        assert_int_equal(top.prompt, TOP_PROMPT_NONE);
        assert_true(top.message_bad);
    }
    top_finish(&top);
}

TEST(a_filter_is_typed_shown_and_removed) {
    struct top top;
    begin(&top, 100, 12);
    type(&top, "/weq");
    check_has(&top, "filter (esc leaves it): weq_\n");
    top_input(&top, TOP_KEY_BACKSPACE);
    top_input(&top, 0xe9); /* é: two bytes, one character */
    top_input(&top, TOP_KEY_BACKSPACE);
    type(&top, "b\n");
    check_has(&top, "filter: web  (esc removes it)\n");
    top_input(&top, TOP_KEY_ESCAPE);
    assert_int_equal(top.filter.length, 0);
    top_finish(&top);
}

TEST(every_word_of_a_filter_must_occur) {
    json_auto_t *task = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "id", "web-17", "project",
                                  "web", "agent", "claude", "title", "Fix the login form", "state",
                                  "held", "hold", "review", "gate", "held");
    assert_true(top_task_matches(task, ""));
    assert_true(top_task_matches(task, " fix  CLAUDE "));
    assert_true(top_task_matches(task, "review"));
    assert_false(top_task_matches(task, "fix codex"));
    assert_true(top_task_matches(task, "gate:held fix"));
    assert_false(top_task_matches(task, "gate:hel"));
    assert_false(top_task_matches(task, "gate:"));
}

TEST(panes_change_by_tab_and_number) {
    struct top top;
    begin(&top, 80, 12);
    for (int i = 1; i <= TOP_PANE_MAX; i++) {
        top_input(&top, TOP_KEY_TAB);
        assert_int_equal(top.pane, i % TOP_PANE_MAX);
    }
    top_input(&top, TOP_KEY_BACK_TAB);
    assert_int_equal(top.pane, TOP_PANE_NEEDS);
    top_input(&top, '3');
    assert_int_equal(top.pane, TOP_PANE_WAITING);
    for (int i = 0; i < TOP_PANE_MAX; i++)
        assert_int_equal(top_pane_find(top_panes[i].name), i);
    assert_int_equal(top_pane_find("needs"), TOP_PANE_NEEDS);
    assert_int_equal(top_pane_find("alerts"), TOP_PANE_NEEDS); /* its earlier name */
    assert_int_equal(top_pane_find("nothing"), -1);
    top_finish(&top);
}

TEST(details_show_every_gate) {
    struct top top;
    begin(&top, 60, 20);
    json_t *task = json_loads("{\"id\":\"web-2\",\"state\":\"ready\",\"title\":\"t\",\"project\":"
                              "\"web\",\"priority\":100,"
                              "\"depends_on\":[\"web-1\"],\"runs\":[{\"attempt\":1,\"outcome\":"
                              "\"failed\",\"exit_code\":3,"
                              "\"started_at\":1799999940000,\"ended_at\":1799999970000,\"message\":"
                              "\"no \\u001b[1mway\"}]}",
                              0, NULL);
    json_t *why = json_loads(
        "{\"summary\":\"all 8 places are taken\",\"gates\":[{\"gate\":\"paused\",\"open\":true},"
        "{\"gate\":\"lease:runs\",\"open\":false,\"reason\":\"all 8 places are taken\","
        "\"opens_at\":1800000009000}],\"queue_position\":3}",
        0, NULL);
    assert_true(task && why);
    top.mode = TOP_MODE_TEXT;
    top_details_fill(&top.text, task, why, NOW, &(struct top_details){ .unicode = true });
    check_has(&top, "◉ web-2  ready\nt\n");
    check_has(&top, "  ✓ paused open\n");
    check_has(&top, "  ✗ lease:runs closed: all 8 places are taken (opens in 9 s)\n");
    check_has(&top, "position 3 in the queue\n");
    check_has(&top, "  run 1  failed  exit 3  30 s  ended 30 s ago\n    no way\n");
    json_decref(task);
    json_decref(why);
    top_finish(&top);
}

TEST(a_log_is_opened_searched_and_left) {
    struct top top;
    begin(&top, 60, 6);
    fill(&top, RUNNING);
    top_input(&top, 'l');
    assert_int_equal(top.request, TOP_REQUEST_LOG);
    assert_string_equal(top.log.task, "web-17");
    check_has(&top, "web-17  output  (following)\nnothing was printed yet\n");
    static const char printed[] = "1\n2\nthe error\n4\n5\n6\n";
    top_log_feed(&top.log, printed, strlen(printed));
    type(&top, "/error\n");
    check_has(&top, "web-17  output  (f follows)  line 3 of 6\nthe error\n4\n");
    type(&top, "/nowhere\n");
    check_has(&top, "'nowhere' is not in what is kept of this log\n");
    type(&top, "f");
    check_has(&top, "(following)");
    type(&top, "e");
    assert_int_equal(top.request, TOP_REQUEST_LOG);
    assert_string_equal(top.log.stream, "err");
    type(&top, "q");
    assert_int_equal(top.request, TOP_REQUEST_CLOSE_LOG);
    assert_int_equal(top.mode, TOP_MODE_LIST);
    type(&top, "q");
    assert_int_equal(top.request, TOP_REQUEST_QUIT);
    top_finish(&top);
}

/* --- actions --------------------------------------------------------------------------------- */

#define HELD                                                                                       \
    "{\"items\":["                                                                                 \
    "{\"id\":\"web-1\",\"attempt\":1,\"state\":\"held\",\"hold\":\"review\",\"title\":\"parser\"," \
    "\"actions\":[\"approve\",\"reject\",\"cancel\"],\"cost_usd\":0.25},"                          \
    "{\"id\":\"web-2\",\"state\":\"held\",\"hold\":\"question\",\"title\":\"tests\","              \
    "\"actions\":[\"cancel\",\"release\"],\"cost_usd\":1.5},"                                      \
    "{\"id\":\"web-10\",\"state\":\"waiting\",\"gate\":\"dependency\",\"title\":\"ast\","          \
    "\"actions\":[\"hold\",\"priority\",\"cancel\"],\"cost_usd\":null}]}"

static void begin_held(struct top *top, unsigned width, unsigned height) {
    begin(top, width, height);
    top->pane = TOP_PANE_WAITING;
    fill(top, HELD);
}

TEST(the_keys_are_those_of_the_actions_that_the_daemon_offers) {
    struct top top;
    begin_held(&top, 120, 12);
    check_has(&top, "l log  a approve  x reject  c cancel  / filter");
    top_input(&top, TOP_KEY_DOWN);
    check_has(&top, "l log  a answer  c cancel  h release  / filter");
    top_input(&top, TOP_KEY_DOWN);
    check_has(&top, "l log  c cancel  h hold  + front  - back  / filter");
    top_finish(&top);
}

TEST(approving_asks_first_and_waits_for_the_merge) {
    struct top top;
    begin_held(&top, 100, 12);
    top_input(&top, 'a');
    check_has(&top, "[y/n] approve web-1? parser\n");
    top_input(&top, 'y');
    assert_int_equal(top.request, TOP_REQUEST_CHANGE);
    assert_string_equal(top.target_id, "web-1");
    assert_string_equal(top.verb->path, "/v1/tasks/approve");
    assert_true(top.verb->is_slow);
    top_finish(&top);
}

TEST(a_rejection_has_a_reason_and_can_be_left) {
    struct top top;
    begin_held(&top, 100, 12);
    type(&top, "xno tests");
    check_has(&top, "reject web-1: what is wrong: no tests_\n");
    top_input(&top, TOP_KEY_ESCAPE);
    assert_int_equal(top.request, TOP_REQUEST_NONE);
    type(&top, "xno tests\n");
    assert_int_equal(top.request, TOP_REQUEST_CHANGE);
    assert_string_equal(top.verb->path, "/v1/tasks/reject");
    assert_string_equal(strbuf_text(&top.reply), "no tests");
    top_finish(&top);
}

static const char asking[] =
    "{\"id\":\"web-2\",\"question\":{\"state\":\"open\",\"question\":\"Which database?\\nIt "
    "stays.\",\"choices\":[\"sqlite\",\"2\"],\"default\":\"sqlite\",\"deadline\":1800003600000}}";

TEST(a_question_is_answered_by_the_number_or_the_text_of_a_choice) {
    static const char *const rows[][2] = {
        { "1", "sqlite" }, { "sqlite", "sqlite" }, { "2", "2" }, { "9", "9" }, { "mysql", "mysql" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct top top;
        begin_held(&top, 60, 14);
        top_input(&top, TOP_KEY_DOWN);
        top_input(&top, 'a'); /* it offers no approval: the daemon is asked what it wants */
        assert_int_equal(top.request, TOP_REQUEST_QUESTION);
        assert_string_equal(top.target_id, "web-2");
        json_auto_t *task = json_loads(asking, 0, NULL);
        top_ask(&top, task);
        check_has(&top, "web-2 asks\n\nWhich database?\nIt stays.\n\n   1  sqlite\n   2  2\n");
        check_has(&top, "without an answer in 60 m: sqlite\n");
        check_has(&top, "answer, 1 to 2: _\n");
        type(&top, rows[i][0]);
        type(&top, "\n");
        assert_int_equal(top.request, TOP_REQUEST_ANSWER);
        assert_string_equal(strbuf_text(&top.reply), rows[i][1]);
        assert_int_equal(top.mode, TOP_MODE_LIST);
        top_finish(&top);
    }
}

TEST(a_task_that_wants_nothing_is_not_answered) {
    struct top top;
    begin_held(&top, 100, 12);
    type(&top, "jja");
    json_auto_t *task = json_pack("{s:s}", "id", "web-10");
    top_ask(&top, task);
    check_has(&top, "web-10 neither waits for review nor asks anything\n");
    assert_int_equal(top.mode, TOP_MODE_LIST);
    type(&top, "ka");
    json_auto_t *question = json_loads(asking, 0, NULL);
    top_ask(&top, question);
    type(&top, " \n");
    assert_int_equal(top.request, TOP_REQUEST_NONE);
    check_has(&top, "nothing was answered\n");
    top_finish(&top);
}

TEST(tagged_tasks_are_changed_together) {
    struct top top;
    begin_held(&top, 100, 12);
    type(&top, "tjt");
    check_has(&top, "‖* web-1 ");
    check_has(&top, "‖  web-2 ");
    check_has(&top, "○* web-10 ");
    check_has(&top, "2 tagged:  a approve  x reject  c cancel");
    type(&top, "c");
    check_has(&top, "[y/n] cancel 2 tasks?\n");
    type(&top, "y");
    assert_int_equal(top.request, TOP_REQUEST_CHANGE);
    assert_null(top.target_id);
    assert_true(top_is_tagged(&top, "web-1") && top_is_tagged(&top, "web-10"));
    top_input(&top, TOP_KEY_ESCAPE);
    assert_int_equal(top_tag_count(&top), 0);
    type(&top, "T");
    assert_int_equal(top.request, TOP_REQUEST_TAG_ALL);
    top_finish(&top);
}

/* --- order ----------------------------------------------------------------------------------- */

static void check_order(struct top *top, const char *first, const char *second, const char *third) {
    json_auto_t *page = json_array(), *answer = json_loads(HELD, 0, NULL);
    const char *const want[] = { first, second, third };
    top_page_read(page, answer, "");
    top_pane_sort(top, TOP_PANE_WAITING, page);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(get_text(json_array_get(page, i), "id", ""), want[i]);
}

static void sort_by(struct top *top, const char *title) {
    for (unsigned i = 0; i < TOP_COLUMNS_MAX; i++) {
        top_input(top, '>');
        unsigned column = top->sorts[top->pane].column;
        if (column > 0 && strcmp(top_pane_column(top->pane, column), title) == 0)
            return;
    }
    fail_msg("there is no column %s", title);
}

TEST(a_column_sorts_by_what_it_shows_and_back) {
    struct top top;
    begin_held(&top, 100, 12);
    sort_by(&top, "ID");
    check_order(&top, "web-1", "web-2", "web-10"); /* by number, not by letter */
    type(&top, "R");
    check_order(&top, "web-10", "web-2", "web-1");
    sort_by(&top, "COST");
    fill(&top, HELD);
    check_has(&top, "COST▲");
    check_order(&top, "web-1", "web-2", "web-10"); /* an unknown cost comes last */
    type(&top, "R");
    fill(&top, HELD);
    check_has(&top, "COST▼");
    check_order(&top, "web-2", "web-1", "web-10");
    type(&top, "s"); /* an order of the daemon again */
    assert_int_equal(top.sorts[top.pane].column, 0);
    check_lacks(&top, "▼");
    type(&top, "<");
    assert_string_equal(top_pane_column(top.pane, top.sorts[top.pane].column), "TITLE");
    top.pane = TOP_PANE_READY;
    type(&top, "R");
    check_has(&top, "the order of the queue cannot be reversed");
    top_finish(&top);
}

/* --- what waits for a person ----------------------------------------------------------------- */

#define NEEDS                                                                                      \
    "{\"total\":2,\"items\":[{\"key\":\"account:codex\",\"kind\":\"account\",\"label\":"           \
    "\"account closed\",\"name\":\"codex\",\"text\":\"not logged in\",\"since\":1799999820000,"    \
    "\"task\":null},{\"key\":\"review:web-7\",\"kind\":\"review\",\"label\":\"review\",\"text\":"  \
    "\"All "                                                                                       \
    "green.\",\"since\":1799999940000,\"task\":{\"id\":\"web-7\",\"project\":\"web\",\"state\":"   \
    "\"held\",\"hold\":\"review\",\"title\":\"fix it\",\"actions\":[\"approve\",\"reject\"]}}]}"

static int fetch_needs(void *ctx, const char *cursor, json_t *page, char **ret_next,
                       struct error *err) {
    json_auto_t *answer = json_loads(NEEDS, 0, NULL);
    (void)cursor;
    (void)ret_next;
    (void)err;
    top_needs_read(page, answer, ctx);
    return 0;
}

static void fill_needs(struct top *top, const char *filter) {
    char *copy = strdup(filter);
    json_auto_t *answer = json_loads(NEEDS, 0, NULL);
    assert_non_null(answer);
    top_model_set_worst(&top->model, json_array_get(json_object_get(answer, "items"), 0));
    top->pane = TOP_PANE_NEEDS;
    top_list_reset(&top->lists[top->pane]);
    assert_int_equal(top_list_load(&top->lists[top->pane], fetch_needs, copy, NULL), 0);
    free(copy);
}

TEST(what_waits_for_a_person_can_be_worked_off) {
    struct top top;
    begin(&top, 80, 24);
    read_status(&top, "{\"version\":\"1.0\",\"counts\":{},\"attention\":2}");
    fill_needs(&top, "");
    check_has(&top, "! 2 need you: codex account closed: not logged in\n");
    check_has(&top, "[needs you 2]");
    check_has(&top, "!  codex  account closed  3 m ago          not logged in\n");
    check_has(&top, "‖  web-7  review          1 m ago  fix it  All green.\n");
    top_input(&top, TOP_KEY_ENTER); /* what is not a task has only its text */
    check_has(&top, "account:codex\nnot logged in\n");
    top_input(&top, TOP_KEY_ESCAPE);
    type(&top, "t");
    check_has(&top, "this is not a task");
    type(&top, "ja");
    check_has(&top, "approve web-7?");
    type(&top, "y");
    assert_int_equal(top.request, TOP_REQUEST_CHANGE);
    assert_string_equal(top.target_id, "web-7");
    type(&top, "R");
    check_has(&top, "this order cannot be reversed");
    fill_needs(&top, "project:web");
    assert_int_equal(top_list_known(&top.lists[TOP_PANE_NEEDS]), 1);
    top_finish(&top);
}

/* --- money ----------------------------------------------------------------------------------- */

TEST(money_is_shown_as_the_daemon_gives_it) {
    struct top top;
    begin_held(&top, 100, 12);
    check_has(&top, "$0.25  parser\n");
    check_has(&top, "$1.50  tests\n");
    check_lacks(&top, "spent");
    read_status(&top, "{\"version\":\"1.0\",\"budgets\":[{\"key\":\"global\",\"used\":1,"
                      "\"usd_used\":4.2,\"usd_reserved\":0.3,\"usd_cap\":25}]}");
    check_has(&top, "sluice 1.0  $4.20 of $25.00 + $0.30 live\n");
    read_status(&top, "{\"version\":\"1.0\",\"budgets\":[{\"key\":\"global\",\"used\":1,"
                      "\"usd_used\":4.2,\"usd_reserved\":0,\"usd_cap\":null}]}");
    check_has(&top, "sluice 1.0  $4.20 spent\n");
    top.pane = TOP_PANE_RUNNING;
    fill(&top, RUNNING); /* no cost is known: there is no column for it */
    check_lacks(&top, "COST");
    top_finish(&top);
}

/* --- the wide layout ------------------------------------------------------------------------- */

TEST(a_wide_screen_has_the_task_and_its_log_beside_the_list) {
    struct top top;
    begin_held(&top, 160, 40);
    check_has(&top, "│"); /* the layout is known from here on */
    assert_true(top_daemon_wants_look(&top));
    top.why_id = xstrdup("web-1");
    top.log_attempt = 1;
    top_text_add(&top.why, TOP_PLAIN, 0, "finished and waits for review");
    top_log_open(&top.log, "web-1", "out");
    top_fit_log(&top);
    top_log_feed(&top.log, "all green\n", 10);
    assert_false(top_daemon_wants_look(&top));
    check_has(&top, "│web-1  output  (following)");
    check_has(&top, "finished and waits for review");
    top_input(&top, TOP_KEY_DOWN);
    assert_true(top_daemon_wants_look(&top));
    top_input(&top, TOP_KEY_UP);
    assert_false(top_daemon_wants_look(&top));
    top.log_attempt = 0; /* another run has begun since */
    assert_true(top_daemon_wants_look(&top));
    top_input(&top, 'w');
    check_lacks(&top, "│");
    top_input(&top, 'w');
    check_has(&top, "│");
    top.width = 139;
    check_lacks(&top, "│");
    top.width = 160;
    top.pane = TOP_PANE_LIMITS;
    check_lacks(&top, "│");
    top_finish(&top);
}

/* --- the mouse ------------------------------------------------------------------------------- */

static void point(struct top *top, int key, unsigned y, unsigned x) {
    top->mouse_y = y;
    top->mouse_x = x;
    top_input(top, key);
}

TEST(a_click_selects_a_row_a_pane_or_a_column) {
    struct top top;
    begin_held(&top, 100, 12);
    check_has(&top, "web-10");
    point(&top, TOP_KEY_CLICK, 6, 30);
    assert_string_equal(get_text(top_selected(&top), "id", ""), "web-2");
    point(&top, TOP_KEY_CLICK, 11, 0); /* the last line */
    point(&top, TOP_KEY_CLICK, 9, 0);  /* below the last row */
    assert_string_equal(get_text(top_selected(&top), "id", ""), "web-2");
    point(&top, TOP_KEY_CLICK, 4, 4);
    assert_string_equal(top_pane_column(top.pane, top.sorts[top.pane].column), "ID");
    assert_false(top.sorts[top.pane].reverse);
    point(&top, TOP_KEY_CLICK, 4, 4);
    assert_true(top.sorts[top.pane].reverse);
    point(&top, TOP_KEY_CLICK, 3, 0);
    assert_int_equal(top.pane, TOP_PANE_RUNNING);
    top_finish(&top);
}

TEST(the_mouse_does_not_confirm_anything) {
    struct top top;
    begin_held(&top, 100, 12);
    check_has(&top, "web-10");
    type(&top, "c");
    point(&top, TOP_KEY_CLICK, 6, 30);
    point(&top, TOP_KEY_WHEEL_DOWN, 6, 30);
    assert_int_equal(top.prompt, TOP_PROMPT_SURE);
    assert_int_equal(top.request, TOP_REQUEST_NONE);
    top_finish(&top);
}

TEST(pasted_text_is_typed_but_never_acts) {
    struct top top;
    begin_held(&top, 100, 12);
    for (const char *c = "cyq"; *c; c++) {
        top_input(&top, *c | TOP_PASTED);
        assert_int_equal(top.request, TOP_REQUEST_NONE);
        assert_int_equal(top.prompt, TOP_PROMPT_NONE);
    }
    type(&top, "c");
    top_input(&top, 'y' | TOP_PASTED);
    assert_int_equal(top.prompt, TOP_PROMPT_SURE);
    type(&top, "nx");
    for (const char *c = "two\nlines\033"; *c; c++)
        top_input(&top, (*c == '\n'     ? (int)TOP_KEY_ENTER
                         : *c == '\033' ? (int)TOP_KEY_ESCAPE
                                        : *c)
                            | TOP_PASTED);
    check_has(&top, "what is wrong: two lines_\n");
    assert_int_equal(top.request, TOP_REQUEST_NONE);
    top_finish(&top);
}

TEST(the_wheel_scrolls_what_is_below_it) {
    struct top top;
    begin_held(&top, 160, 30);
    check_has(&top, "web-10");
    top_log_open(&top.log, "web-1", "out");
    top_fit_log(&top);
    for (int i = 0; i < 100; i++)
        top_log_feed(&top.log, "line\n", 5);
    for (int i = 0; i < 60; i++)
        top_text_add(&top.why, TOP_PLAIN, 0, "gate %d", i);
    size_t end = top.log.top;
    point(&top, TOP_KEY_WHEEL_UP, 10, 120);
    assert_int_equal(top.log.top, end - 3);
    point(&top, TOP_KEY_WHEEL_DOWN, 25, 10);
    assert_int_equal(top.why.top, 3);
    check_lacks(&top, "gate 2\n");
    top_finish(&top);
}

TEST(scrolling_a_list_keeps_the_selection_in_sight) {
    struct top top;
    _cleanup_(strbuf_finish) struct strbuf items = STRBUF_INIT;
    begin(&top, 80, 16); /* ten rows */
    for (int i = 1; i <= 100; i++)
        strbuf_printf(&items, "%s{\"id\":\"w-%d\",\"state\":\"running\"}", i > 1 ? "," : "", i);
    _cleanup_(freep) char *json = xasprintf("{\"items\":[%s]}", strbuf_text(&items));
    fill(&top, json);
    check_has(&top, "w-10");
    point(&top, TOP_KEY_WHEEL_DOWN, 8, 10);
    assert_string_equal(get_text(top_selected(&top), "id", ""), "w-4");
    check_lacks(&top, "w-3 ");
    for (int i = 0; i < 100; i++)
        point(&top, TOP_KEY_WHEEL_DOWN, 8, 10);
    check_has(&top, "w-100");
    point(&top, TOP_KEY_WHEEL_UP, 8, 10);
    assert_string_equal(get_text(top_selected(&top), "id", ""), "w-91");
    top_finish(&top);
}

TEST(help_names_every_key_and_mark) {
    struct top top;
    begin(&top, 100, 60);
    top_input(&top, '?');
    for (int s = TASK_DRAFT; s < TASK_STATE_MAX; s++)
        check_has(&top, task_state_name((enum task_state)s));
    check_has(&top, "cancel the task; asks first");
    type(&top, "q");
    assert_int_equal(top.mode, TOP_MODE_LIST);
    top_finish(&top);
}

int main(void) {
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 77; /* skipped: the widths depend on the C library */
    return tests_run();
}
