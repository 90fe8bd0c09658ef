/* test_engine_rows.c: what counts as a change of a task that users see. */
#include <string.h>

#include "base/macros.h"
#include "engine/engine_internal.h"
#include "harness/test.h"

struct member {
    const char *name;
    size_t at, size;
};
#define MEMBER(name)                                                                               \
    { #name, offsetof(struct task_spec, name), sizeof(((struct task_spec *)NULL)->name) }

/* A second list, independent of columns.h, so that visible columns do not change by accident. */
static const struct member seen[] = {
    MEMBER(kind),   MEMBER(agent),     MEMBER(limiter), MEMBER(workspace),  MEMBER(serial),
    MEMBER(state),  MEMBER(reason),    MEMBER(hold),    MEMBER(not_before), MEMBER(priority),
    MEMBER(parent), MEMBER(retry_max), MEMBER(group),   MEMBER(iteration),  MEMBER(attempt),
};
static const struct member unseen[] = {
    MEMBER(project),
    MEMBER(parent_iteration),
    MEMBER(created_at),
    MEMBER(ready_since),
    MEMBER(enqueued_at),
    MEMBER(phase),
    MEMBER(started_at),
    MEMBER(until),
    MEMBER(parent_gate),
    MEMBER(parallelizable),
    MEMBER(review),
    MEMBER(artifact_missing),
    MEMBER(probe_closed),
    MEMBER(bound),
    MEMBER(keeps),
    MEMBER(failures),
    MEMBER(launch_failures),
    MEMBER(losses),
    MEMBER(restarts),
    MEMBER(breaker_openings),
    MEMBER(stop),
    MEMBER(run_agent),
    MEMBER(run_limiter),
    MEMBER(run_unlimited),
    MEMBER(lender),
    MEMBER(borrowed),
    MEMBER(ready_clock),
    MEMBER(escalation), /* a step changes the state as well */
    MEMBER(depends_on),
    MEMBER(depends_on_count),
    MEMBER(resources),
    MEMBER(resource_count),
    MEMBER(tag),
    MEMBER(id),
};

static uint64_t digest_with(const struct member *member, unsigned char value) {
    struct task_spec spec;
    memset(&spec, 0, sizeof(spec));
    *((unsigned char *)&spec + member->at) = value;
    return rows_digest(&spec);
}

TEST(a_change_that_users_see_has_another_digest) {
    for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
        if (digest_with(&seen[i], 1) == digest_with(&seen[i], 0))
            fail_msg("%s changes, but its digest is the same", seen[i].name);
}

TEST(two_changes_do_not_cancel_each_other) {
    struct task_spec a = { .iteration = 1, .attempt = 2 }, b = { .iteration = 2, .attempt = 1 };
    assert_int_not_equal(rows_digest(&a), rows_digest(&b));
}

TEST(what_the_core_keeps_for_itself_does_not_change_the_digest) {
    for (size_t i = 0; i < ARRAY_SIZE(unseen); i++)
        if (digest_with(&unseen[i], 1) != digest_with(&unseen[i], 0))
            fail_msg("%s changes, and users see it", unseen[i].name);
}

/* A member that is new is in one of the lists above. */
TEST(every_member_is_seen_or_not) {
    size_t bytes = 0;
    for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
        bytes += seen[i].size;
    for (size_t i = 0; i < ARRAY_SIZE(unseen); i++)
        bytes += unseen[i].size;
    assert_in_range(sizeof(struct task_spec) - bytes, 0, 24); /* what alignment leaves */
}
