/* debug_live.c: the same table as for a snapshot, from what the daemon says of each task. */
#include "cli/debug_live.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/ask.h"
#include "cli/cell.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "os/clock.h"

#define CANDIDATES_MOST 2000000

const char *debug_short_reason(const char *gate) {
    static const char *const words[][2] = {
        { "paused", "paused" },
        { "project", "project inactive" },
        { "held", "held" },
        { "dependency", "dependency incomplete" },
        { "parent", "parent incomplete" },
        { "artifact", "artifact missing" },
        { "breaker", "breaker open" },
        { "limiter", "rate limited" },
        { "host", "host short" },
        { "budget", "budget used up" },
        { "project-budget", "project budget used up" },
        { "pace", "paced" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (strcmp(words[i][0], gate) == 0)
            return words[i][1];
    return gate;
}

static void collect(void *ctx, const json_t *item) {
    json_array_append(ctx, (json_t *)(uintptr_t)item);
}

static int compare(const void *left, const void *right) {
    const json_t *a = *(json_t *const *)left, *b = *(json_t *const *)right;
    int64_t scores[] = { ask_int(a, "score", 0), ask_int(b, "score", 0) };
    if (scores[0] != scores[1])
        return scores[0] > scores[1] ? -1 : 1;
    int64_t times[] = { ask_int(a, "created_at", 0), ask_int(b, "created_at", 0) };
    return times[0] < times[1] ? -1 : times[0] > times[1];
}

static void print_json(json_t *const *items, size_t count, time_ms now, struct strbuf *out) {
    strbuf_puts(out, "{\"tasks\":[");
    for (size_t i = 0; i < count; i++) {
        const char *gate = ask_text(items[i], "gate", NULL);
        json_t *row = json_pack(
            "{s:s?, s:s?, s:I, s:I, s:O?, s:O?, s:b, s:s?}", "id", ask_text(items[i], "id", NULL),
            "type", ask_text(items[i], "kind", NULL), "priority",
            (json_int_t)ask_int(items[i], "score", 0), "age_ms",
            (json_int_t)(now - ask_int(items[i], "created_at", now)), "depth",
            json_object_get(items[i], "depth"), "iteration", json_object_get(items[i], "iteration"),
            "runnable", gate == NULL, "reason", gate ? debug_short_reason(gate) : NULL);
        strbuf_puts(out, i ? ",\n" : "\n");
        ask_dump(row, out);
        out->text[--out->length] = '\0'; /* the newline: it goes behind the comma */
        json_decref(row);
        output_some(out);
    }
    strbuf_puts(out, "]}\n");
}

static void print_table(json_t *const *items, size_t count, time_ms now, struct strbuf *out) {
    struct output_column columns[] = { { "ID" },    { "TYPE" }, { "PRIORITY" }, { "AGE" },
                                       { "DEPTH" }, { "ITER" }, { "RUNNABLE" } };
    _cleanup_(rows_finish) struct rows rows = { columns, ARRAY_SIZE(columns) };
    _cleanup_(strbuf_finish) struct strbuf runnable = STRBUF_INIT;
    for (size_t i = 0; i < count; i++) {
        const char *gate = ask_text(items[i], "gate", NULL);
        strbuf_clear(&runnable);
        if (gate)
            strbuf_printf(&runnable, "no (%s)", debug_short_reason(gate));
        else
            strbuf_puts(&runnable, "yes");
        rows_add(&rows, (const char *[]){
                            ask_text(items[i], "id", NULL),
                            ask_text(items[i], "kind", NULL),
                            cell_number(items[i], "score").text,
                            output_span(now - ask_int(items[i], "created_at", now)).text,
                            cell_number(items[i], "depth").text,
                            cell_number(items[i], "iteration").text,
                            strbuf_text(&runnable),
                        });
    }
    if (count == 0)
        output_head(columns, ARRAY_SIZE(columns), out);
    rows_print(&rows, out);
}

int debug_live_run(const struct cmd_call *call) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(client_answer_freep) json_t *found = json_array();
    int code = ask_open(&ask, ASK_RUNNING);
    if (code == CMD_OK)
        code = ask_pages(&ask, "/v1/tasks?state=waiting,ready,held&limit=1000", CANDIDATES_MOST,
                         collect, found);
    if (code != CMD_OK)
        return code;
    size_t count = json_array_size(found);
    _cleanup_(freep) json_t **items = xcalloc(count + 1, sizeof(json_t *));
    for (size_t i = 0; i < count; i++)
        items[i] = json_array_get(found, i);
    qsort(items, count, sizeof(json_t *), compare);
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    time_ms now = clock_read();
    if (call->json)
        print_json(items, count, now, &out);
    else
        print_table(items, count, now, &out);
    output_rest(&out);
    return CMD_OK;
}
