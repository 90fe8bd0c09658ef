/* test_sim_report.c: the text, JSON and SVG reports of a simulation. */
#include <ctype.h>
#include <stdlib.h>

#include "harness/test.h"
#include "sim/chart.h"
#include "sim/sim_report.h"
#include "sim/text.h"
#include "test_sim_fixture.h"

static const struct gantt_style plain = { .width = 50 };
static const struct gantt_style blocks = { .width = 50, .unicode = true };

/* b fails once and is retried ten seconds later; c depends on a. */
static const char tiny[] =
    "{\"now\": 0, \"config\": {\"limits\": {\"runs\": 2}, \"retry\": {\"failed\": {\"max\": 1,"
    "\"delay_s\": 20, \"jitter\": 0}}},"
    "\"tasks\": [{\"id\": \"a\", \"kind\": \"plan\", \"priority\": 1, \"sim\": {\"duration_s\": "
    "60}},"
    "{\"id\": \"b\", \"sim\": {\"duration_s\": 60, \"failure_rate\": 1}},"
    "{\"id\": \"c\", \"sim\": {\"duration_s\": 40}},"
    "{\"id\": \"d\", \"depends_on\": [\"b\"]}]}";

/* --- text ------------------------------------------------------------------------------------ */

TEST(durations_have_their_two_largest_units) {
    static const struct {
        time_ms span;
        const char *text;
    } cases[] = {
        { 0, "0 s" },
        { 250, "250 ms" },
        { 1500, "1.5 s" },
        { SECONDS(42), "42 s" },
        { SECONDS(60), "1 min" },
        { SECONDS(725), "12 min 5 s" },
        { HOURS(4) + MINUTES(12), "4 h 12 min" },
        { MINUTES(59) + SECONDS(59) + 900, "1 h" },
        { HOURS(23) + MINUTES(59) + SECONDS(40), "1 d" },
        { DAYS(2) + HOURS(3) + MINUTES(29), "2 d 3 h" },
        { -SECONDS(90), "-1 min 30 s" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        text_duration(&out, cases[i].span);
        assert_string_equal(strbuf_text(&out), cases[i].text);
    }
}

TEST(counts_and_parts_are_readable) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    text_count(&out, 1234567);
    strbuf_putc(&out, ' ');
    text_count(&out, -1000);
    strbuf_putc(&out, ' ');
    text_count(&out, 7);
    strbuf_putc(&out, ' ');
    text_percent(&out, 0.5);
    strbuf_putc(&out, ' ');
    text_percent(&out, 0.0123);
    strbuf_putc(&out, ' ');
    text_percent(&out, 0.996);
    assert_string_equal(strbuf_text(&out), "1,234,567 -1,000 7 50 % 1.2 % 100 %");
}

TEST(names_are_cut_and_cannot_move_the_cursor) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    assert_int_equal(text_name(&out, "a\x1b[2Jb\x7f\xc2\x9b\xff", 20, true), 9);
    assert_string_equal(strbuf_text(&out), "a?[2Jb???");
    strbuf_clear(&out);
    assert_int_equal(text_name(&out, "längerer Name", 8, true), 8);
    assert_string_equal(strbuf_text(&out), "längere…");
    strbuf_clear(&out);
    assert_int_equal(text_name(&out, "漢字漢字", 6, false), 5);
    assert_string_equal(strbuf_text(&out), "漢字~");
}

TEST(an_axis_has_round_marks_and_not_too_many) {
    for (time_ms span = 1; span < DAYS(4000); span = span * 3 / 2 + 1) {
        struct axis axis = axis_choose(span, 10);
        assert_true(axis.span / axis.step <= 10);
        assert_true(axis.step == 1 || axis.span / axis.step >= 2);
    }
    struct axis hours = axis_choose(HOURS(4), 10);
    assert_int_equal(hours.step, MINUTES(30));
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    axis_label(&hours, MINUTES(90), &out);
    assert_string_equal(strbuf_text(&out), "1:30");
    assert_string_equal(axis_unit(&hours), "h:mm");
}

/* --- chart ----------------------------------------------------------------------------------- */

TEST(the_chart_of_few_tasks_has_a_row_for_each) {
    struct sim_test t;
    sim_test_play(&t, tiny, NULL, NULL);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    gantt_print(&t.world, &t.play, 0, &plain, &out);
    assert_string_equal(strbuf_text(&out), "a plan ###################\n"
                                           "b      ------------------x.....------------------x\n"
                                           "c      ..................#############\n"
                                           "d\n"
                                           "       +--------+--------+--------+--------+------\n"
                                           "m:ss   0:00     0:30     1:00     1:30     2:00\n"
                                           "       # running   . waiting   -x failed attempt\n");
    strbuf_clear(&out);
    gantt_print(&t.world, &t.play, SECONDS(280), &blocks, &out);
    assert_string_equal(strbuf_text(&out), "a plan ▇▇▇▇▇▇▇▇▇▇\n"
                                           "b      ▒▒▒▒▒▒▒▒▒x··▒▒▒▒▒▒▒▒▒x\n"
                                           "c      ·········▇▇▇▇▇▇▇\n"
                                           "d\n"
                                           "       └────────┴────────┴────────┴────────┴──────\n"
                                           "h:mm   0:00     0:01     0:02     0:03     0:04\n"
                                           "       ▇ running   · waiting   ▒x failed attempt\n");
    sim_test_finish(&t);
}

static char *many_tasks(unsigned count) {
    struct strbuf out = STRBUF_INIT;
    strbuf_puts(&out, "{\"now\": 0, \"config\": {\"limits\": {\"runs\": 4}},"
                      "\"sim\": {\"kinds\": {\"*\": {\"duration_s\": 60, \"tokens\": -1}}},"
                      "\"tasks\": [");
    for (unsigned i = 0; i < count; i++)
        strbuf_printf(&out, "%s{\"id\": \"t%u\", \"project\": \"%s\"}", i ? "," : "", i,
                      i < count / 2 ? "one" : "two");
    strbuf_puts(&out, "]}");
    return strbuf_take(&out);
}

TEST(the_chart_of_many_tasks_has_a_lane_per_project) {
    struct sim_test t;
    char *json = many_tasks(48);
    sim_test_play(&t, json, NULL, NULL);
    assert_int_equal(t.result.makespan, MINUTES(12));
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    gantt_print(&t.world, &t.play, 0, &plain, &out);
    const char *text = strbuf_text(&out);
    assert_non_null(strstr(text, "one"));
    assert_non_null(strstr(text, "two"));
    assert_non_null(strstr(text, "  peak 2 ######"));
    assert_non_null(strstr(text, "height: runs at once"));
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 60);
    sim_test_finish(&t);
    free(json);
}

TEST(a_play_without_runs_has_no_chart) {
    struct sim_test t;
    sim_test_play(&t, "{\"now\": 0, \"paused\": true, \"tasks\": [{\"id\": \"a\"}]}", NULL, NULL);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    report_print(&t.c, &plain, &out);
    svg_print(&t.c, NULL, &out);
    report_json(&t.c, NULL, NULL, &out);
    assert_non_null(strstr(strbuf_text(&out), "nothing ran"));
    assert_string_equal(t.result.left[0].code, "paused");
    sim_test_finish(&t);
}

/* --- reports --------------------------------------------------------------------------------- */

TEST(the_report_says_what_happened) {
    struct sim_test t;
    sim_test_play(&t, tiny, NULL, NULL);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    report_print(&t.c, &plain, &out);
    const char *text = strbuf_text(&out);
    assert_non_null(
        strstr(text, "makespan     2 min 20 s, tasks are left that nothing will start"));
    assert_non_null(strstr(text, "tasks        2 done, 1 failed, 1 left"));
    assert_non_null(strstr(text, "attempts     4, 2 failed, 0 rate limited, 1 retries"));
    assert_non_null(strstr(text, "dependency"));
    sim_test_finish(&t);
}

TEST(two_plays_are_compared_side_by_side) {
    static const char queue[] =
        "{\"now\": 0, \"config\": {\"limits\": {\"runs\": 1}},"
        "\"sim\": {\"kinds\": {\"*\": {\"duration_s\": 60, \"tokens\": 1000}}},"
        "\"tasks\": [{\"id\": \"a\"}, {\"id\": \"b\"}]}";
    struct sim_test now, with;
    sim_test_play(&now, queue, NULL, NULL);
    sim_test_play(&with, queue, "limits.runs=2", NULL);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    report_compare(&now.c, &with.c, &plain, &out);
    const char *text = strbuf_text(&out);
    assert_non_null(strstr(text, "now  limits.runs=2"));
    assert_non_null(strstr(text, "2 min          1 min   -1 min (-50 %)"));
    assert_non_null(strstr(text, "waiting, longest"));
    assert_non_null(strstr(text, "default: share"));
    /* both charts have the same scale: half the time is half the width */
    assert_non_null(strstr(text, "\na    #######################\n"));
    assert_non_null(strstr(text, "\nb    #######################\n"));

    strbuf_clear(&out);
    const char *const overrides[] = { "limits.runs=2", NULL };
    report_json(&now.c, &with.c, overrides, &out);
    text = strbuf_text(&out);
    assert_non_null(strstr(text, "\"overrides\":[\"limits.runs=2\"]"));
    assert_non_null(strstr(text, "\"change\":{\"makespan_ms\":-60000,"));
    assert_non_null(strstr(text, "\"with\":{\"makespan_ms\":60000,"));
    sim_test_finish(&with);
    sim_test_finish(&now);
}

TEST(the_json_has_the_documented_keys) {
    static const char *const keys[] = {
        "seed",
        "result",
        "makespan_ms",
        "end",
        "utilisation",
        "peak",
        "runs_cap",
        "busy_ms",
        "wait_ms",
        "mean",
        "p50",
        "p95",
        "max",
        "count",
        "tasks",
        "total",
        "done",
        "attempts",
        "retries",
        "failed_attempts",
        "limited",
        "stopped",
        "tokens",
        "steps",
        "projects",
        "project",
        "weight",
        "share",
        "target_share",
        "contested_share",
        "contested_target",
        "mean_run_ms",
        "mean_wait_ms",
        "kinds",
        "kind",
        "left",
        "gate",
        "example",
        "reason",
        "runs",
        "task",
        "attempt",
        "start_ms",
        "end_ms",
        "outcome",
    };
    struct sim_test t;
    sim_test_play(&t, tiny, NULL, NULL);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    report_json(&t.c, NULL, NULL, &out);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        char quoted[64];
        (void)snprintf(quoted, sizeof(quoted), "\"%s\":", keys[i]);
        if (!strstr(strbuf_text(&out), quoted))
            fail_msg("no key '%s'", keys[i]);
    }
    assert_null(strstr(strbuf_text(&out), "\"with\""));
    sim_test_finish(&t);
}

/* --- svg ------------------------------------------------------------------------------------- */

#define OPEN_MAX 32

/* A minimal XML check: tags are closed in order, attributes are quoted and text is escaped. */
static void assert_well_formed(const char *at) {
    char open[OPEN_MAX][32];
    size_t depth = 0;
    if (strncmp(at, "<?xml", 5) == 0)
        at = strstr(at, "?>") + 2;
    for (; *at; at++) {
        assert_true(*at != '>');
        if (*at == '&')
            assert_true(strncmp(at, "&amp;", 5) == 0 || strncmp(at, "&lt;", 4) == 0
                        || strncmp(at, "&gt;", 4) == 0 || strncmp(at, "&quot;", 6) == 0);
        if (*at != '<')
            continue;
        bool closing = at[1] == '/';
        const char *name = at + 1 + closing;
        size_t length = strcspn(name, " />\n");
        assert_true(length > 0 && length < sizeof(open[0]));
        for (at = name + length; *at != '>' && !(*at == '/' && at[1] == '>'); at++) {
            assert_true(*at && *at != '<');
            if (*at == '"') {
                at += 1 + strcspn(at + 1, "\"<");
                assert_true(*at == '"');
            }
        }
        if (closing) {
            assert_true(depth > 0);
            depth--;
            assert_int_equal(strlen(open[depth]), length);
            assert_memory_equal(open[depth], name, length);
        } else if (*at == '>') {
            assert_true(depth < OPEN_MAX);
            memcpy(open[depth], name, length);
            open[depth++][length] = '\0';
        } else {
            at++;
        }
    }
    assert_int_equal(depth, 0);
}

TEST(the_svg_is_well_formed_and_escapes_names) {
    struct sim_test t;
    sim_test_play(&t,
                  "{\"now\": 0, \"tasks\": [{\"id\": \"a<b>&\\\"c\", \"project\": \"<p>\","
                  "\"kind\": \"k&k\"}, {\"id\": \"bell\", \"project\": \"<p>\","
                  "\"sim\": {\"duration_s\": 600, \"failure_rate\": 0.5}}]}",
                  NULL, NULL);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    svg_print(&t.c, NULL, &out);
    assert_well_formed(strbuf_text(&out));
    assert_non_null(strstr(strbuf_text(&out), "a&lt;b&gt;&amp;&quot;c"));
    assert_non_null(strstr(strbuf_text(&out), "prefers-color-scheme:dark"));
    strbuf_clear(&out);
    t.c.title = "bell\x07 and \xff\xed\xa0\x80";
    svg_print(&t.c, NULL, &out);
    assert_well_formed(strbuf_text(&out));
    assert_null(strchr(strbuf_text(&out), '\x07'));
    assert_null(strchr(strbuf_text(&out), '\xff'));
    sim_test_finish(&t);
}

TEST(the_svg_of_any_size_is_well_formed) {
    static const unsigned sizes[] = { 1, 60, 61, 2900, 4000 };
    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct sim_test t;
        char *json = many_tasks(sizes[i]);
        sim_test_play(&t, json, NULL, NULL);
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        svg_print(&t.c, &t.c, &out);
        assert_well_formed(strbuf_text(&out));
        assert_true(out.length < 3000000);
        sim_test_finish(&t);
        free(json);
    }
}
