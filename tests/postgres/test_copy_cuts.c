/* test_copy_cuts.c: a copy into PostgreSQL whose connection breaks around any COMMIT can be continued and completed.
 *
 *   test_copy_cuts      needs SLUICE_TEST_POSTGRES=postgresql://… (run it by `make test-postgres`) */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cutter.h"
#include "harness/patience.h"
#include "harness/test.h"
#include "store/copy_kit.h"

#define ROWS 40 /* per commit */

static struct cutter *cutter;

/* Number of COMMITs of a complete copy, with those of its opening and its end. */
static uint64_t count_commits(struct copy_kit *f, const char *from) {
    struct store_copy_report report;
    cutter_set(cutter, CUT_NONE, 0, false);
    assert_int_equal(copy_kit_try(f, from, copy_kit_place(f, POSTGRES), ROWS, NULL, &report), 0);
    f->url_count--;
    return cutter_counts(cutter).commits;
}

static void cut_at(struct copy_kit *f, const char *from, enum cut cut, uint64_t nth) {
    const char *to = copy_kit_place(f, POSTGRES);
    struct store_copy_report report;
    cutter_set(cutter, cut, nth, nth % 2 == 0);
    int r = copy_kit_try(f, from, to, ROWS, NULL, &report);
    assert_true(cutter_wait(cutter, patience_ms()));
    /* After the last COMMIT there is nothing left to cut. */
    if (r >= 0 && cut != CUT_BEHIND)
        fail_msg("cut %s at commit %d: nobody has noticed", cut_name(cut), (int)nth);
    cutter_set(cutter, CUT_NONE, 0, false);
    /* If the last answer was lost, the copy may be complete without the caller knowing: then it is not empty. */
    if (r < 0) {
        r = copy_kit_try(f, from, to, ROWS, NULL, &report);
        if (r < 0 && f->err.code != -ENOTEMPTY)
            fail_msg("cut %s at commit %d: it does not go on: %s", cut_name(cut), (int)nth,
                     f->err.text);
    }
    copy_kit_expect_same(from, to);
    f->url_count--;
}

TEST_WITH(a_copy_cut_off_around_any_commit_is_resumed, copy_kit_begin, copy_kit_end) {
    struct copy_kit *f = *state;
    static const enum cut cuts[] = { CUT_BEFORE, CUT_IN_REQUEST, CUT_AFTER, CUT_IN_ANSWER,
                                     CUT_BEHIND };
    const char *from = copy_kit_place(f, SQLITE);
    copy_kit_make_rich(f, from);
    uint64_t commits = count_commits(f, from);
    assert_true(commits > 4);
    for (uint64_t nth = 1; nth <= commits; nth++)
        cut_at(f, from, cuts[nth % ARRAY_SIZE(cuts)], nth);
}

int main(void) {
    const char *server = getenv("SLUICE_TEST_POSTGRES");
    if (!server) {
        (void)fprintf(stderr, "SLUICE_TEST_POSTGRES is not set: run it by make test-postgres\n");
        return 2;
    }
    cutter = cutter_new(server);
    setenv("SLUICE_TEST_POSTGRES", cutter_url(cutter), 1);
    int failed = tests_run();
    cutter = cutter_free(cutter);
    return failed;
}
