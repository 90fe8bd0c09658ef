/* test_explain.c: every task that does not run has a reason, and the first in order is shown.
 *
 * Rows 12, 16, 22, 64, 68, 91, 128, 131 as far as the core answers them: the code of each gate, what it
 * is about and when it opens. */
#include <inttypes.h>
#include <string.h>

#include "harness/test.h"
#include "harness/world.h"

static const char *name_of(const void *ctx, task_id task) {
    return world_name(ctx, task);
}

/* The message of the first closed gate. */
static const char *message(struct world *w, const char *task) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const struct task_names names = { name_of, w };
    struct verdict verdict;
    if (!core_blocked(w->core, world_number(w, task), &verdict))
        fail_msg("'%s' is not blocked", task);
    verdict_message(&verdict, core_symbols(w->core), &names, &text);
    return world_text(w, "%s", strbuf_text(&text));
}

/* When the first closed gate opens, from now; TIME_NEVER: unknown. */
static time_ms opens_in(struct world *w, const char *task) {
    struct verdict verdict;
    if (!core_blocked(w->core, world_number(w, task), &verdict))
        fail_msg("'%s' is not blocked", task);
    return verdict.opens_at == TIME_NEVER ? TIME_NEVER : verdict.opens_at - w->now;
}

/* A closed gate shows which of its conditions failed, with the figures, and what clears it. */
TEST(f128_host_names_the_floor_with_its_figures) {
    WORLD(w, "sluice");
    world_set(w, "host.disk_free_gb", "5");
    world_set(w, "host.memory_free_mb", "1000");
    world_set(w, "host.load", "2");
    world_add(w, "task", (struct given){ 0 });
    struct fact host = { .kind = FACT_HOST };
    host.host.disk_free_mb = 1200;
    host.host.memory_free_mb = 8000;
    host.host.load_milli = 500;
    assert_int_equal(world_apply(w, &host), 0);
    assert_string_equal(message(w, "task"), "1200 MB of disk are free, a start needs 5000 MB; free "
                                            "disk space, or lower host.disk_free_gb");
    host.host.load_milli = 2500;
    assert_int_equal(world_apply(w, &host), 0);
    assert_string_equal(message(w, "task"),
                        "1200 MB of disk are free, a start needs 5000 MB; free disk space, or "
                        "lower host.disk_free_gb; processor time is short too");
    host.host.disk_free_mb = 90000;
    assert_int_equal(world_apply(w, &host), 0);
    assert_string_equal(message(w, "task"),
                        "the load is 2.50, nothing starts above 2.00; it falls by itself, or raise "
                        "host.load");
    host.host.load_milli = -1;
    host.host.memory_free_mb = 999;
    assert_int_equal(world_apply(w, &host), 0);
    assert_string_equal(message(w, "task"), "999 MB of memory are free, a start needs 1000 MB; "
                                            "free memory, or lower host.memory_free_mb");
}

TEST(f128_project_distinguishes_paused_from_inactive) {
    WORLD(w, "sluice");
    world_add(w, "task", (struct given){ .project = "web" });
    world_set(w, "projects.web.paused", "true");
    assert_string_equal(message(w, "task"),
                        "project 'web' is paused by the configuration; go on with: sluice config "
                        "set projects.web.paused=false");
    world_set(w, "projects.web.active", "false");
    assert_string_equal(message(w, "task"),
                        "project 'web' is not active; change it with: sluice project set web "
                        "active=true");
}

/* Everything that can stop a task does. They are opened one after the other. */
static void close_every_gate(struct world *w) {
    world_set(w, "limits.runs", "1");
    world_set(w, "limits.roots", "0");
    world_set(w, "limits.resource.gpu", "0");
    world_set(w, "kinds.plan.max_running", "0");
    world_set(w, "limiters.account.max_running", "1");
    world_set(w, "agents.claude.slots", "0");
    world_set(w, "budget", "100");
    world_set(w, "projects.p.budget", "100");
    world_set(w, "projects.p.max_running", "0");
    world_set(w, "projects.p.workspaces", "0");
    world_set(w, "projects.p.review", "0");
    world_set(w, "projects.p.paused", "true");
    world_usage(w, "p", 100, 1, 0);
    world_workspace(w, "tree", "somebody");
    world_disk(w, 1);
    world_pause(w);
    world_add(w, "calls",
              (struct given){ .project = "q", .limiter = "account", .state = TASK_RUNNING });
    world_add(w, "in phase",
              (struct given){ .project = "p",
                              .kind = "plan",
                              .phase = "one",
                              .parallel = NO,
                              .state = TASK_RUNNING });
    world_add(w, "task",
              (struct given){ .project = "p",
                              .kind = "plan",
                              .agent = "claude",
                              .limiter = "account",
                              .workspace = "tree",
                              .phase = "one",
                              .parallel = NO,
                              .needs = { "gpu" },
                              .review = true,
                              .after = { "first" },
                              .artifact_missing = true });
    world_hold(w, "task", 0);
}

static void open_gates_before_the_leases(struct world *w) {
    world_decide(w);
    ASSERT_BLOCKED(w, "task", "paused");
    world_resume(w);
    ASSERT_BLOCKED(w, "task", "project");
    world_set(w, "projects.p.paused", "false");
    ASSERT_BLOCKED(w, "task", "held");
    world_apply_kind(w, FACT_RELEASE, "task");
    ASSERT_BLOCKED(w, "task", "dependency");
    world_depend(w, "task", NULL);
    ASSERT_BLOCKED(w, "task", "artifact");
    world_artifact(w, "task", true);
    struct fact limited = { .kind = FACT_RUN_LIMITED, .task = world_number(w, "calls") };
    limited.limited.retry_after = MINUTES(1);
    assert_int_equal(world_apply(w, &limited), 0);
    ASSERT_BLOCKED(w, "task", "limiter");
    struct fact clear = { .kind = FACT_LIMITER_CLEAR, .limiter_clear = world_sym(w, "account") };
    assert_int_equal(world_apply(w, &clear), 0);
    ASSERT_BLOCKED(w, "task", "host");
    world_disk(w, 100000);
    ASSERT_BLOCKED(w, "task", "budget");
    world_set(w, "budget", "unlimited");
    ASSERT_BLOCKED(w, "task", "project-budget");
    world_set(w, "projects.p.budget", "unlimited");
}

static void open_leases(struct world *w) {
    ASSERT_BLOCKED(w, "task", "lease:serial:p/one/plan");
    world_end(w, "in phase", OUTCOME_OK, -1);
    ASSERT_BLOCKED(w, "task", "lease:workspace:tree");
    world_workspace(w, "tree", NULL);
    ASSERT_BLOCKED(w, "task", "lease:workspaces:p");
    world_set(w, "projects.p.workspaces", "1");
    ASSERT_BLOCKED(w, "task", "lease:project:p");
    world_set(w, "projects.p.max_running", "1");
    ASSERT_BLOCKED(w, "task", "lease:kind:plan");
    world_set(w, "kinds.plan.max_running", "1");
    ASSERT_BLOCKED(w, "task", "lease:agent:claude");
    world_set(w, "agents.claude.slots", "1");
    ASSERT_BLOCKED(w, "task", "lease:limiter:account");
    world_set(w, "limiters.account.max_running", "2");
    ASSERT_BLOCKED(w, "task", "lease:resource:gpu");
    world_set(w, "limits.resource.gpu", "1");
    ASSERT_BLOCKED(w, "task", "lease:review:p");
    world_set(w, "projects.p.review", "1");
    ASSERT_BLOCKED(w, "task", "lease:roots");
    world_set(w, "limits.roots", "2");
    ASSERT_BLOCKED(w, "task", "lease:runs");
}

TEST(f091_first_closed_gate_is_shown_in_the_order_of_the_gates) {
    WORLD(w, "sluice");
    close_every_gate(w);
    open_gates_before_the_leases(w);
    open_leases(w);
    world_decide(w);
    ASSERT_NONE_STARTED(w);
    world_ends(w, "calls", OUTCOME_OK);
    ASSERT_STARTED(w, "task");
}

TEST(f091_explain_lists_every_gate_closed_or_not) {
    WORLD(w, "sluice");
    close_every_gate(w);
    struct verdict all[VERDICT_MAX];
    size_t count = core_explain(w->core, world_number(w, "task"), all), closed = 0;
    for (size_t i = 0; i < count; i++) {
        closed += !all[i].open;
        assert_true(i == 0 || all[i - 1].gate <= all[i].gate);
        assert_true(i == 0 || all[i].gate != GATE_LEASE || all[i - 1].gate != GATE_LEASE
                    || all[i - 1].lease < all[i].lease);
    }
    /* 5 of the state and its prerequisites, host, 2 budgets, 11 leases; not: parent, breaker,
     * limiter, pace, and the task's own lease */
    assert_int_equal(closed, 5 + 1 + 2 + 11);
}

TEST(f128_reasons_name_the_thing_and_what_clears_it) {
    WORLD(w, "loopr");
    world_set(w, "kinds.plan.max_running", "1");
    world_add(w, "running", (struct given){ .kind = "plan", .state = TASK_RUNNING, .attempt = 1 });
    world_add(w, "second", (struct given){ .kind = "plan" });
    world_add(w, "child", (struct given){ .kind = "spec", .parent = "running" });
    world_add(w, "after", (struct given){ .kind = "ralph", .after = { "second", "child" } });
    world_add(w, "held", (struct given){ .kind = "ralph", .state = TASK_HELD });
    world_decide(w);
    assert_string_equal(message(w, "second"), "kind 'plan' is at its limit (1 of 1 in use)");
    assert_string_equal(message(w, "child"), "waits for its parent 'running', which is running");
    assert_string_equal(message(w, "after"), "waits for 'second', which is ready (and 1 more)");
    assert_string_equal(message(w, "held"), "held; release it to let it go on");
}

TEST(f022_f091_reason_shows_when_it_opens) {
    WORLD(w, "gastown");
    world_set(w, "limits.runs", "5");
    world_add(w, "goes", (struct given){ 0 });
    world_add(w, "next tick", (struct given){ 0 });
    world_add(w, "held", (struct given){ 0 });
    world_hold(w, "held", MINUTES(9));
    world_add(w, "depends", (struct given){ .after = { "goes" } });
    world_decide(w);
    assert_int_equal(opens_in(w, "next tick"), MINUTES(3));
    assert_int_equal(opens_in(w, "held"), MINUTES(9));
    assert_int_equal(opens_in(w, "depends"), TIME_NEVER); /* an event, not a time */
}

TEST(f131_limiter_shows_hits_and_until_when) {
    WORLD(w, "loopr");
    world_add(w, "one", (struct given){ .kind = "ralph", .limiter = "account" });
    world_decide(w);
    world_end_as(
        w, "one",
        (struct ending){ .outcome = OUTCOME_LIMITED, .tokens = -1, .retry_after = SECONDS(45) });
    assert_int_equal(world_limiter(w, "account").hits, 1);
    assert_int_equal(world_limiter(w, "account").backoff_until, w->now + SECONDS(45));
    assert_int_equal(opens_in(w, "one"), SECONDS(45));
    assert_string_equal(message(w, "one"), "account 'account' is rate limited");
}

TEST(f128_task_that_runs_or_is_final_is_not_blocked) {
    WORLD(w, "loopr");
    struct verdict verdict;
    static const enum task_state states[] = { TASK_RUNNING, TASK_DONE, TASK_FAILED, TASK_CANCELED,
                                              TASK_INVALIDATED };
    world_pause(w);
    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        const char *name = task_state_name(states[i]);
        world_add(w, name, (struct given){ .kind = "ralph", .state = states[i] });
        assert_false(core_blocked(w->core, world_number(w, name), &verdict));
    }
    assert_false(core_blocked(w->core, 4711, &verdict)); /* nor one that is not there */
}

/* Tasks that differ in everything a gate may look at. */
static void add_many_sorts(struct world *w) {
    world_set(w, "limits.runs", "3");
    world_set(w, "limits.resource.gpu", "1");
    world_workspace(w, "tree", "somebody");
    for (int i = 0; i < 60; i++)
        world_add(w, world_text(w, "task%d", i),
                  (struct given){ .project = i % 2 ? "a" : "b",
                                  .kind = i % 3 ? "plan" : "implement",
                                  .limiter = i % 5 ? NULL : "account",
                                  .workspace = i % 7 ? NULL : "tree",
                                  .needs = { i % 4 ? NULL : "gpu" },
                                  .parallel = i % 6 ? AS_CONFIGURED : NO });
}

TEST(f128_every_ready_task_that_is_not_started_has_a_reason) {
    static const char *const presets[] = { "sluice",  "loopr",  "conductor",
                                           "gastown", "agency", "agent-queue" };
    for (size_t p = 0; p < ARRAY_SIZE(presets); p++) {
        WORLD(w, presets[p]);
        add_many_sorts(w);
        world_decide(w);
        assert_int_equal(w->started, strcmp(presets[p], "gastown") == 0 ? 1 : 3);
        for (int i = 0; i < 60; i++) {
            const char *name = world_text(w, "task%d", i);
            struct verdict verdict;
            bool blocked = core_blocked(w->core, world_number(w, name), &verdict);
            assert_int_equal(blocked, world_view(w, name).state == TASK_READY);
        }
    }
}

TEST(f128_cap_of_zero_is_reported_with_what_clears_it) {
    WORLD(w, "loopr");
    world_set(w, "limits.resource.gpu", "0");
    world_set(w, "agents.claude.slots", "0");
    world_add(w, "renders", (struct given){ .needs = { "gpu" } });
    world_add(w, "writes", (struct given){ .agent = "claude" });
    world_decide(w);
    assert_string_equal(message(w, "renders"),
                        "the cap of resource gpu is 0; raise it to let it start");
    assert_string_equal(message(w, "writes"),
                        "agent 'claude' takes no work: it has no slots, or is not listed");
    world_set(w, "limits.runs", "0");
    world_add(w, "plain", (struct given){ 0 });
    world_decide(w);
    assert_string_equal(message(w, "plain"), "the cap of runs is 0; raise it to let it start");
}
