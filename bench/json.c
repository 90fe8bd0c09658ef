/* json.c: compares our parser of request bodies with jansson.
 *
 * ops/json_read.c builds the same tree as the parser of jansson. It is worth its lines only while it is clearly
 * faster for the
 * most frequent large request: many tasks in one batch. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/strbuf.h"
#include "bench.h"
#include "ops/op_internal.h"

#define TASKS  1000
#define ROUNDS 40
#define DEPTH  32

static void print_tasks(struct strbuf *out) {
    strbuf_puts(out, "{\"tasks\":[");
    for (int i = 0; i < TASKS; i++)
        strbuf_printf(
            out,
            "%s{\"project\":\"web\",\"kind\":\"fix\",\"title\":\"Mend the door number %d\","
            "\"command\":[\"sh\",\"-c\",\"make test && echo \\\"done %d\\\"\"],"
            "\"priority\":%d,\"depends_on\":[\"web-%d\",\"web-%d\"],"
            "\"meta\":{\"source\":\"bench\",\"draft\":false}}",
            i ? "," : "", i, i, i % 7, i + 1, i + 2);
    strbuf_puts(out, "]}");
}

void bench_json(void) {
    _cleanup_(strbuf_finish) struct strbuf body = STRBUF_INIT;
    double ours = INFINITY, theirs = INFINITY; /* the fastest round: the machine has other load */
    bool same = true;
    print_tasks(&body);
    for (int i = 0; i < ROUNDS; i++) {
        double begin = bench_seconds();
        json_t *a = json_read(body.text, body.length, DEPTH);
        double middle = bench_seconds();
        json_t *b = json_loadb(body.text, body.length, JSON_REJECT_DUPLICATES, NULL);
        double end = bench_seconds();
        ours = middle - begin < ours ? middle - begin : ours;
        theirs = end - middle < theirs ? end - middle : theirs;
        same = same && json_equal(a, b);
        json_decref(a);
        json_decref(b);
    }
    double mb = (double)body.length / 1e6;
    printf("\nBodies of requests: %d tasks, %zu kB\n", TASKS, body.length / 1000);
    printf("  %-28s %8.0f MB/s of processor time\n", "json_read", mb / ours);
    printf("  %-28s %8.0f MB/s of processor time\n", "jansson", mb / theirs);
    bench_goal(same && theirs > 1.2 * ours,
               "json_read is %.1f times as fast as jansson (1.2 or more)", theirs / ours);
}
