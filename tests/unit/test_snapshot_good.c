/* test_snapshot_good.c: the core has the state that a snapshot describes.
 *
 * Each test reads a small file, decides, and inspects the core. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "harness/test.h"
#include "os/files.h"
#include "snapshot/decode.h"
#include "snapshot/snapshot.h"

static struct snapshot *snapshot;

static int tear_down(void **state) {
    (void)state;
    snapshot = snapshot_free(snapshot);
    return 0;
}

static void read_with(const char *text, const struct snapshot_options *options) {
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    struct error err = { 0 };
    int r = snapshot_read(file, "q.json", options, &snapshot, &err);
    (void)fclose(file);
    if (r < 0)
        fail_msg("%s", err.text);
}

static void given(const char *text) {
    read_with(text, NULL);
}

static struct task_view view_of(const char *name) {
    struct task_view view;
    task_id task = snapshot_find(snapshot, name);
    assert_int_not_equal(task, 0);
    assert_true(core_task(snapshot_core(snapshot), task, &view));
    return view;
}

static sym symbol(const char *name) {
    return symbol_find(core_symbols(snapshot_core(snapshot)), name, strlen(name));
}

/* "a, b": the started tasks, in order. */
static void starts(const char *wanted) {
    _cleanup_(strbuf_finish) struct strbuf seen = STRBUF_INIT;
    size_t count;
    const struct order *orders = core_decide(snapshot_core(snapshot), &count);
    for (size_t i = 0; i < count; i++)
        if (orders[i].kind == ORDER_START)
            strbuf_printf(&seen, "%s%s", seen.length ? ", " : "",
                          snapshot_task_name(snapshot, orders[i].task));
    assert_string_equal(strbuf_text(&seen), wanted);
}

/* "lease:runs" */
static void waits(const char *name, const char *wanted) {
    _cleanup_(strbuf_finish) struct strbuf code = STRBUF_INIT;
    struct verdict v;
    assert_true(core_blocked(snapshot_core(snapshot), snapshot_find(snapshot, name), &v));
    verdict_code(&v, core_symbols(snapshot_core(snapshot)), &code);
    assert_string_equal(strbuf_text(&code), wanted);
}

TEST_WITH(an_empty_object_is_a_snapshot, NULL, tear_down) {
    given("{}");
    assert_int_equal(snapshot_task_count(snapshot), 0);
    assert_int_equal(snapshot_now(snapshot), 0);
    assert_int_equal(snapshot_seed(snapshot), 1);
    assert_string_equal(config_preset(snapshot_config(snapshot)), "sluice");
    assert_int_equal(snapshot_find(snapshot, "a"), 0);
    starts("");
}

TEST_WITH(what_is_absent_or_null_has_its_default, NULL, tear_down) {
    static const char *const texts[] = {
        "{\"now\": 60000, \"tasks\": [{\"id\": \"a\"}]}",
        "{\"now\": 60000, \"config\": null, \"paused\": null, \"tokens_used\": null, \"budget\": "
        "null, "
        "\"disk_free_gb\": null, \"projects\": null, \"agents\": null, \"workspaces\": null, "
        "\"limiters\": null, \"sim\": null, \"meta\": null, \"tasks\": [{\"id\": \"a\", "
        "\"project\": "
        "null, \"kind\": null, \"state\": null, \"priority\": null, \"parent\": null, "
        "\"depends_on\": "
        "null, \"created_at\": null, \"iteration\": null, \"workspace\": null, \"serial\": null, "
        "\"parallelizable\": null, \"not_before\": null, \"artifact_present\": null, \"agent\": "
        "null, "
        "\"resources\": null, \"sim\": null, \"meta\": null, \"title\": null}]}",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        given(texts[i]);
        struct task_view v = view_of("a");
        assert_int_equal(v.state, TASK_READY);
        assert_int_equal(v.project, symbol("default"));
        assert_int_equal(v.kind, 0);
        assert_int_equal(v.priority, 100);
        assert_int_equal(v.iteration, 1);
        assert_int_equal(v.attempt, 0);
        assert_int_equal(v.created_at, 60000);
        starts("a");
        snapshot = snapshot_free(snapshot);
    }
}

TEST_WITH(the_order_of_the_keys_does_not_matter, NULL, tear_down) {
    given("{\"tasks\": [{\"project\": \"p\", \"depends_on\": [\"b\"], \"id\": \"a\"}, {\"id\": "
          "\"b\", "
          "\"kind\": \"ralph\", \"project\": \"p\"}], \"projects\": [{\"weight\": 2.5, \"id\": "
          "\"p\"}], \"config\": {\"limits\": {\"runs\": 7}, \"preset\": \"loopr\"}, \"now\": 5}");
    assert_string_equal(config_preset(snapshot_config(snapshot)), "loopr");
    assert_int_equal(config_policy(snapshot_config(snapshot))->runs, 7);
    starts("b");
    waits("a", "dependency");
}

TEST_WITH(listed_tasks_are_numbered_first, NULL, tear_down) {
    given("{\"workspaces\": {\"w\": \"z\"}, \"tasks\": [{\"id\": \"a\", \"depends_on\": [\"x\", "
          "\"c\", "
          "\"x\"]}, {\"id\": \"b\", \"parent\": \"y\"}, {\"id\": \"c\"}]}");
    static const char *const names[] = { "a", "b", "c", "z", "x", "y" };
    assert_int_equal(snapshot_task_count(snapshot), 3);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        assert_string_equal(snapshot_task_name(snapshot, i + 1), names[i]);
        assert_int_equal(snapshot_find(snapshot, names[i]), i + 1);
    }
    assert_string_equal(snapshot_task_name(snapshot, 7), "?");
    starts("c");
    waits("a", "dependency");
    waits("b", "parent");
    struct verdict v;
    assert_true(core_blocked(snapshot_core(snapshot), 1, &v));
    assert_int_equal(v.count, 2); /* x, which was named twice, and c */
}

TEST_WITH(overrides_come_after_the_file, NULL, tear_down) {
    const char *text =
        "{\"config\": {\"preset\": \"loopr\", \"limits\": {\"runs\": 7, \"roots\": 3}}}";
    const char *runs[] = { "limits.runs=9", "limits.runs=10" };
    read_with(text, &(struct snapshot_options){ runs, 2 });
    assert_int_equal(config_policy(snapshot_config(snapshot))->runs, 10);
    snapshot = snapshot_free(snapshot);
    /* Another preset does not change what the file sets explicitly. */
    const char *preset[] = { "limits.runs=9", "preset=agency" };
    read_with(text, &(struct snapshot_options){ preset, 2 });
    assert_string_equal(config_preset(snapshot_config(snapshot)), "agency");
    assert_int_equal(config_policy(snapshot_config(snapshot))->runs, 9);
    assert_int_equal(config_policy(snapshot_config(snapshot))->roots, 3);
}

TEST_WITH(lists_of_the_configuration_become_text, NULL, tear_down) {
    given(
        "{\"config\": {\"order\": [\"score\", \"created_at\"], \"limits.runs\": \"unlimited\","
        " \"agents\": {\"a\": {\"command\": [\"sh\", \"it's \\\"x y\\\", z\", \"\", 5, true]}}}}");
    const struct policy *policy = config_policy(snapshot_config(snapshot));
    const char *const *words;
    assert_int_equal(policy->order, ORDER_BY_SCORE | ORDER_BY_CREATED);
    assert_int_equal(policy->runs, UNLIMITED);
    assert_int_equal(config_words(snapshot_config(snapshot), "agents.A.command", "a", &words), 5);
    assert_string_equal(words[1], "it's \"x y\", z");
    assert_string_equal(words[2], "");
    assert_string_equal(words[3], "5");
    assert_string_equal(words[4], "true");
}

TEST_WITH(held_tasks_are_held_by_a_person_or_until_a_time, NULL, tear_down) {
    given("{\"now\": 1000, \"tasks\": [{\"id\": \"person\", \"state\": \"held\"}, {\"id\": "
          "\"later\", "
          "\"state\": \"held\", \"not_before\": 1001}, {\"id\": \"due\", \"state\": \"held\", "
          "\"not_before\": 1000}, {\"id\": \"wait\", \"not_before\": 5000}, {\"id\": \"past\", "
          "\"not_before\": 999}]}");
    assert_int_equal(view_of("person").hold, HOLD_PERSON);
    assert_int_equal(view_of("later").hold, HOLD_BACKOFF);
    starts("due, past");
    waits("wait", "held");
    assert_int_equal(core_next_wakeup(snapshot_core(snapshot)), 1001);
}

TEST_WITH(live_tasks_hold_their_slots, NULL, tear_down) {
    given(
        "{\"config\": {\"limits\": {\"runs\": 3, \"resource\": {\"gpu\": 1}}}, \"projects\": "
        "[{\"id\": "
        "\"p\", \"running\": 1}], \"tasks\": [{\"id\": \"a\", \"project\": \"p\", \"state\": "
        "\"running\", \"resources\": [\"gpu\", \"gpu\"], \"attempt\": 4, \"tokens\": 77}, {\"id\": "
        "\"b\", \"project\": \"p\", \"resources\": [\"gpu\"]}, {\"id\": \"c\", \"project\": \"p\", "
        "\"resources\": [\"net\"]}, {\"id\": \"d\", \"project\": \"p\"}]}");
    assert_int_equal(view_of("a").attempt, 4);
    amount used, cap;
    assert_true(core_lease(snapshot_core(snapshot), LEASE_RUNS, 0, &used, &cap));
    assert_int_equal(used, 2);
    assert_int_equal(cap, 3);
    starts("c");
    waits("b", "lease:resource:gpu");
    waits("d", "lease:runs");
}

TEST_WITH(a_task_uses_its_limiter_or_its_agents_or_the_only_one, NULL, tear_down) {
    given(
        "{\"now\": 5, \"limiters\": [{\"id\": \"one\", \"backoff_until\": 9000, \"hits\": 1}], "
        "\"agents\": [{\"id\": \"x\", \"limiter\": \"other\"}, {\"id\": \"y\"}, {\"id\": \"z\"}], "
        "\"tasks\": [{\"id\": \"only\"}, {\"id\": \"own\", \"limiter\": \"mine\", \"priority\": "
        "200}, {\"id\": "
        "\"agents\", \"agent\": \"x\"}, {\"id\": \"neither\", \"agent\": \"y\"}]}");
    assert_int_equal(view_of("only").limiter, symbol("one"));
    assert_int_equal(view_of("own").limiter, symbol("mine"));
    assert_int_equal(view_of("agents").limiter, symbol("other"));
    assert_int_equal(view_of("neither").limiter, symbol("one"));
    starts("agents, own");
    waits("only", "limiter");
}

TEST_WITH(two_limiters_are_no_default, NULL, tear_down) {
    given("{\"limiters\": [{\"id\": \"one\", \"closed\": true}, {\"id\": \"two\"}], \"tasks\": "
          "[{\"id\": \"a\"}, {\"id\": \"b\", \"limiter\": \"one\"}]}");
    starts("a");
    waits("b", "limiter");
}

TEST_WITH(users_of_a_limiter_count, NULL, tear_down) {
    given("{\"config\": {\"limiters\": {\"l\": {\"max_running\": 2}}}, \"limiters\": [{\"id\": "
          "\"l\", "
          "\"running\": 1}], \"tasks\": [{\"id\": \"a\"}, {\"id\": \"b\"}]}");
    starts("a");
    waits("b", "lease:limiter:l");
}

TEST_WITH(agents_take_tasks_in_their_order, NULL, tear_down) {
    given("{\"config\": {\"agents\": {\"second\": {\"slots\": 5}}}, \"agents\": [{\"id\": "
          "\"first\"}, "
          "{\"id\": \"busy\", \"idle\": false}, {\"id\": \"second\"}], \"tasks\": [{\"id\": \"a\", "
          "\"agent\": \"second\"}, {\"id\": \"b\"}, {\"id\": \"c\", \"agent\": \"elsewhere\"}]}");
    size_t count;
    const struct order *orders = core_decide(snapshot_core(snapshot), &count);
    assert_int_equal(count, 2);
    assert_int_equal(orders[0].agent, symbol("first"));
    assert_string_equal(snapshot_task_name(snapshot, orders[0].task), "b");
    assert_int_equal(orders[1].agent, symbol("second"));
    assert_string_equal(snapshot_task_name(snapshot, orders[1].task), "a");
}

TEST_WITH(an_empty_list_of_agents_is_not_none, NULL, tear_down) {
    given("{\"agents\": [], \"tasks\": [{\"id\": \"a\"}]}");
    starts("");
    waits("a", "lease:agents");
}

TEST_WITH(the_budget_looks_at_the_top, NULL, tear_down) {
    static const struct {
        const char *top;
        bool open;
    } rows[] = {
        { "", false },                     /* the sum: 100 */
        { "\"tokens_used\": 99, ", true }, /* less than the sum */
        { "\"tokens_used\": 100, ", false },
        { "\"tokens_used\": 500, ", false },
        { "\"tokens_used\": 0, ", true },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        strbuf_printf(
            &text,
            "{%s\"config\": {\"preset\": \"agent-queue\"}, \"budget\": 100, \"projects\": "
            "[{\"id\": \"p\", \"tokens_used\": 60, \"completed\": 3}, {\"id\": \"q\", "
            "\"tokens_used\": 40}], \"tasks\": [{\"id\": \"a\", \"project\": \"p\"}]}",
            rows[i].top);
        given(strbuf_text(&text));
        struct share_view share;
        assert_true(core_share(snapshot_core(snapshot), symbol("p"), &share));
        assert_int_equal(share.tokens, 60);
        assert_int_equal(share.completions, 3);
        assert_int_equal(share.starts, 3);
        starts(rows[i].open ? "a" : "");
        snapshot = snapshot_free(snapshot);
    }
}

TEST_WITH(fields_win_over_the_configuration, NULL, tear_down) {
    given(
        "{\"config\": {\"budget\": 5, \"projects\": {\"z\": {\"max_running\": 1}, \"p\": "
        "{\"max_running\": 1}}}, \"budget\": \"unlimited\", \"tokens_used\": 10, \"projects\": "
        "[{\"id\": \"p\", \"max_running\": 2}], \"tasks\": [{\"id\": \"a\", \"project\": \"p\"}, "
        "{\"id\": \"b\", \"project\": \"p\"}, {\"id\": \"c\", \"project\": \"z\"}, {\"id\": \"d\", "
        "\"project\": \"z\"}]}");
    amount used, cap;
    assert_true(core_lease(snapshot_core(snapshot), LEASE_PROJECT, symbol("p"), &used, &cap));
    assert_int_equal(cap, 2);
    assert_true(core_lease(snapshot_core(snapshot), LEASE_PROJECT, symbol("z"), &used, &cap));
    assert_int_equal(cap, 1);
    size_t count;
    (void)core_decide(snapshot_core(snapshot), &count);
    assert_int_equal(count, 3);
}

TEST_WITH(the_index_in_the_list_is_the_position, NULL, tear_down) {
    given(
        "{\"config\": {\"preset\": \"agent-queue\", \"projects\": {\"z\": {\"weight\": 1}, \"b\": "
        "{\"weight\": 1}, \"a\": {\"weight\": 1}}}, \"projects\": [{\"id\": \"a\"}, {\"id\": "
        "\"b\"}], "
        "\"tasks\": [{\"id\": \"z-1\", \"project\": \"z\"}, {\"id\": \"b-1\", \"project\": \"b\"}, "
        "{\"id\": \"a-1\", \"project\": \"a\"}]}");
    starts("a-1, b-1, z-1");
}

TEST_WITH(projects_may_go_without_a_list, NULL, tear_down) {
    given("{\"tasks\": [{\"id\": \"a\", \"project\": \"web\"}, {\"id\": \"b\"}]}");
    assert_int_equal(view_of("a").project, symbol("web"));
    assert_int_equal(view_of("b").project, symbol("default"));
}

TEST_WITH(free_workspaces_are_beside_those_in_use, NULL, tear_down) {
    given("{\"projects\": [{\"id\": \"p\", \"free_workspaces\": 1}, {\"id\": \"q\"}], \"tasks\": "
          "[{\"id\": \"run\", \"project\": \"p\", \"state\": \"running\"}, {\"id\": \"a\", "
          "\"project\": "
          "\"p\"}, {\"id\": \"b\", \"project\": \"p\"}, {\"id\": \"c\", \"project\": \"q\"}]}");
    starts("c, a");
    waits("b", "lease:workspaces:p");
}

TEST_WITH(a_locked_workspace_is_free_for_its_holder, NULL, tear_down) {
    given(
        "{\"workspaces\": {\"w1\": null, \"w2\": \"b\", \"w3\": \"nobody\"}, \"tasks\": [{\"id\": "
        "\"a\", \"workspace\": \"w1\"}, {\"id\": \"b\", \"workspace\": \"w2\"}, {\"id\": \"c\", "
        "\"workspace\": \"w3\"}, {\"id\": \"d\", \"workspace\": \"w2\"}, {\"id\": \"e\", "
        "\"workspace\": \"new\"}]}");
    starts("a, b, e");
    waits("c", "lease:workspace:w3");
    waits("d", "lease:workspace:w2");
}

TEST_WITH(children_may_stand_before_their_parents, NULL, tear_down) {
    given("{\"tasks\": [{\"id\": \"c\", \"parent\": \"b\"}, {\"id\": \"b\", \"parent\": \"a\"}, "
          "{\"id\": "
          "\"a\"}]}");
    assert_int_equal(view_of("c").depth, 2);
    assert_int_equal(view_of("b").depth, 1);
    assert_int_equal(view_of("a").depth, 0);
    starts("a");
}

TEST_WITH(hints_come_from_the_task_its_kind_or_the_star, NULL, tear_down) {
    given("{\"sim\": {\"seed\": 42, \"kinds\": {\"review\": {\"duration_s\": [1.5, 3], \"tokens\": "
          "-1}, "
          "\"*\": {\"tokens\": 7, \"failure_rate\": 0.25}, \"gone\": null}}, \"tasks\": [{\"id\": "
          "\"a\", \"kind\": \"review\", \"sim\": {\"limited_rate\": 1}}, {\"id\": \"b\", \"sim\": "
          "{\"tokens\": [1, 2]}}, {\"id\": \"c\"}]}");
    struct sim_hint hint;
    snapshot_hint(snapshot, 1, &hint);
    assert_int_equal(hint.duration_min, 1500);
    assert_int_equal(hint.duration_max, 3000);
    assert_int_equal(hint.tokens_min, -1);
    assert_int_equal(hint.failure_milli, 250);
    assert_int_equal(hint.limited_milli, 1000);
    snapshot_hint(snapshot, 2, &hint);
    assert_int_equal(hint.duration_min, MINUTES(5));
    assert_int_equal(hint.tokens_min, 1);
    assert_int_equal(hint.tokens_max, 2);
    snapshot_hint(snapshot, 3, &hint);
    assert_int_equal(hint.tokens_max, 7);
    assert_int_equal(hint.limited_milli, 0);
    assert_int_equal(snapshot_seed(snapshot), 42);
}

TEST_WITH(meta_may_be_anything, NULL, tear_down) {
    given("{\"meta\": {\"a\": [1, {\"a\": null, \"a\": \"\\u0000\"}], \"a\": 1e400}, \"tasks\": "
          "[{\"id\": "
          "\"t\", \"title\": [], \"meta\": [[[]]]}]}");
    starts("t");
}

TEST_WITH(ids_are_any_text, NULL, tear_down) {
    given(
        "{\"tasks\": [{\"id\": \"\\u00e4 \\\"b\\\" \\ud83d\\ude00\"}, {\"id\": \"a/b:c -> d\"}]}");
    assert_string_equal(snapshot_task_name(snapshot, 1), "\xc3\xa4 \"b\" \xf0\x9f\x98\x80");
    assert_int_equal(snapshot_find(snapshot, "a/b:c -> d"), 2);
}

TEST(every_key_is_in_the_manual) {
    _cleanup_(strbuf_finish) struct strbuf page = STRBUF_INIT;
    struct error err = { 0 };
    assert_int_equal(file_read(SOURCE_ROOT "/docs/reference/snapshot.md", 1 << 20, &page, &err), 0);
    const char *key, *noun;
    int missing = 0;
    for (size_t object = 0; schema_key(object, 0, &noun); object++)
        for (size_t i = 0; (key = schema_key(object, i, &noun)); i++) {
            _cleanup_(strbuf_finish) struct strbuf quoted = STRBUF_INIT;
            strbuf_printf(&quoted, "`%s`", key);
            if (strstr(strbuf_text(&page), strbuf_text(&quoted)))
                continue;
            print_error("docs/reference/snapshot.md does not name `%s` of %s\n", key, noun);
            missing++;
        }
    assert_int_equal(missing, 0);
}
