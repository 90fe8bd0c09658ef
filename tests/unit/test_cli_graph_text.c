/* test_cli_graph_text.c: any graph is drawn, however long, tangled or invalid, with each task once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "cli/graph_view.h"
#include "harness/test.h"

static void print(const json_t *answer, const struct graph_text *how, struct strbuf *out) {
    _cleanup_(graph_view_finish) struct graph_view view = { 0 };
    graph_view_read(answer, &view);
    graph_print_text(&view, how, out);
}

static json_t *node(const char *id, int level, bool critical) {
    return json_pack("{s:s,s:s,s:s,s:i,s:b}", "id", id, "title", "a title that is rather long",
                     "state", "waiting", "level", level, "critical", critical);
}

static json_t *edge(const char *from, const char *to) {
    return json_pack("{s:s,s:s,s:s}", "from", from, "to", to, "type", "dependency");
}

TEST(lines_are_cut_to_the_width) {
    json_t *answer = json_pack("{s:[o,o],s:[o],s:i}", "nodes", node("a", 0, true),
                               node("b", 1, true), "edges", edge("a", "b"), "critical_ms", 60000);
    static const struct {
        size_t width;
        const char *text;
    } rows[] = {
        { 0, ". a waiting  a title that is rather long *\n"
             "`- . b waiting  a title that is rather long *\n* the longest chain: about 1 min\n" },
        { 30, ". a waiting  a title that i~ *\n`- . b waiting  a title tha~ *\n"
              "* the longest chain: about 1 min\n" },
        { 10, ". a waiting *\n`- . b waiting *\n* the longest chain: about 1 min\n" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        print(answer, &(struct graph_text){ .width = rows[i].width }, &out);
        char *mark = strstr(out.text, "…"); /* if the locale is available */
        for (; mark; mark = strstr(out.text, "…")) {
            *mark = '~';
            memmove(mark + 1, mark + strlen("…"), strlen(mark + strlen("…")) + 1);
        }
        assert_string_equal(out.text, rows[i].text);
    }
    json_decref(answer);
}

/* Each id occurs on one line, once, in every format. */
static void expect_lines(const json_t *answer, size_t count) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    print(answer, &(struct graph_text){ .width = 80, .unicode = true }, &out);
    size_t lines = 0;
    for (const char *at = strbuf_text(&out); (at = strstr(at, " waiting")); at++)
        lines++;
    assert_int_equal(lines, count);
}

TEST(a_chain_of_twenty_thousand_is_drawn) {
    json_t *nodes = json_array(), *edges = json_array();
    enum { LENGTH = 20000 };
    for (int i = 0; i < LENGTH; i++) {
        char id[16], before[16];
        (void)snprintf(id, sizeof(id), "t-%d", i);
        (void)snprintf(before, sizeof(before), "t-%d", i - 1);
        json_array_append_new(nodes, node(id, i, false));
        if (i > 0)
            json_array_append_new(edges, edge(before, id));
    }
    json_t *answer = json_pack("{s:o,s:o}", "nodes", nodes, "edges", edges);
    expect_lines(answer, LENGTH);
    _cleanup_(graph_view_finish) struct graph_view view = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    graph_view_read(answer, &view);
    assert_int_equal(view.line_count, LENGTH - 1);
    graph_print_svg(&view, &out);
    assert_non_null(strstr(out.text, ">t-19999<") ? out.text : strstr(out.text, " t-19999</text>"));
    json_decref(answer);
}

TEST(cycles_and_dangling_edges_are_harmless) {
    json_t *answer =
        json_pack("{s:[o,o,o,o],s:[o,o,o,o,o]}", "nodes", node("a", 0, false), node("b", 0, false),
                  node("b", 0, false), node("c", 1, false), "edges", edge("a", "b"), edge("b", "a"),
                  edge("a", "a"), edge("x", "c"), edge("a", "c"));
    expect_lines(answer, 3);
    _cleanup_(graph_view_finish) struct graph_view view = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    graph_view_read(answer, &view);
    graph_print_svg(&view, &out);
    graph_print_dot(&view, &out);
    graph_print_mermaid(&view, &out);
    assert_non_null(strstr(out.text, "</svg>"));
    json_decref(answer);
    answer = json_object();
    expect_lines(answer, 0);
    json_decref(answer);
}

/* In numeric order the edges of every pair on a level cross; sorted, none do. */
TEST(boxes_stand_beside_their_neighbours) {
    json_t *answer = json_pack("{s:[o,o,o,o],s:[o,o]}", "nodes", node("a", 0, false),
                               node("b", 0, false), node("c", 1, false), node("d", 1, false),
                               "edges", edge("a", "d"), edge("b", "c"));
    _cleanup_(graph_view_finish) struct graph_view view = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    graph_view_read(answer, &view);
    graph_print_svg(&view, &out);
    int from_y, to_y, lines = 0;
    for (const char *at = out.text; (at = strstr(at, "d=\"M")); at++) {
        int x1, x2, ignored;
        if (sscanf(at, "d=\"M%d %dC%d %d %d %d %d %d\"", &x1, &from_y, &ignored, &ignored, &ignored,
                   &ignored, &x2, &to_y)
            != 8)
            continue;
        assert_int_equal(from_y, to_y);
        assert_true(x2 > x1);
        lines++;
    }
    assert_int_equal(lines, 2);
    json_decref(answer);
}
