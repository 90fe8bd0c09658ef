/* test_part_hosts.c: runs on unreachable hosts, without the rest of the engine. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/hosts.h"
#include "harness/test.h"
#include "part_kit.h"

static struct live_run *load_run(struct part_kit *kit, task_id task, const char *host) {
    struct live_run *run = &kit->runs[kit->run_count++];
    *run = (struct live_run){ .task = task, .view = { .attempt = 1 } };
    struct run_row row = { .task = task, .attempt = 1, .host = host };
    unreachable_hosts_part.load_run(&kit->engine, run, &row);
    return run;
}

/* The test owns what the part has put into its runs. */
static void end(struct part_kit *kit, struct live_run *const *runs) {
    for (; *runs; runs++)
        free((*runs)->host);
    part_kit_free(kit);
}

TEST(a_local_run_of_another_host_is_unreachable) {
    struct part_kit kit;
    part_kit_new(&kit, &unreachable_hosts_part, PART_unreachable_hosts);
    struct live_run *ours = load_run(&kit, 1, "here"), *theirs = load_run(&kit, 2, "there");
    assert_false(ours->is_unreachable);
    assert_true(theirs->is_unreachable);
    part_kit_step(&kit, STEP_LOADED);
    assert_string_equal(part_log.note_name, "host:there");
    assert_int_equal(engine_unreachable_count(&kit.engine), 1);
    struct engine_host_state host;
    assert_false(engine_unreachable_run(&kit.engine, 1, &host));
    assert_true(engine_unreachable_run(&kit.engine, 2, &host));
    assert_string_equal(host.name, "there");
    assert_int_equal(engine_host_count(&kit.engine), 2);
    assert_true(engine_host_at(&kit.engine, 0).is_ours);
    end(&kit, (struct live_run *[]){ ours, theirs, NULL });
}

TEST(only_another_host_that_is_known_can_be_forgotten) {
    struct part_kit kit;
    uint32_t runs = 0;
    part_kit_new(&kit, &unreachable_hosts_part, PART_unreachable_hosts);
    assert_int_equal(engine_forget_host(&kit.engine, "here", "ada", &runs, NULL), -EBUSY);
    assert_int_equal(engine_forget_host(&kit.engine, "there", "ada", &runs, NULL), -ENOENT);
    assert_int_equal(part_log.events, 0);
    part_kit_free(&kit);
}
