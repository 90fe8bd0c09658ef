/* test_part_schedules.c: cursors, skips and wake-ups of schedules, without the rest of the engine. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/schedules.h"
#include "harness/test.h"
#include "part_kit.h"
#include "snapshot/coming.h"

#define BEGIN HOURS(480000) /* 2024-10-04 00:00 UTC */

static struct firings {
    struct part_kit *kit;
    unsigned count;
    char last[160];
    bool refuse;
} firings;

static int fire(void *ctx, struct engine *e, const struct engine_firing *firing,
                struct error *err) {
    (void)ctx;
    if (firings.refuse)
        return error_set(err, -ENOENT, "there is no project 'web'");
    if (firing->check_only) { /* two tasks, the second after the first */
        struct task_spec specs[2] = { { .id = e->last_task + 1 }, { .id = e->last_task + 2 } };
        specs[1].depends_on = &specs[0].id;
        specs[1].depends_on_count = 1;
        for (size_t i = 0; i < 2; i++)
            firing->sample(firing->sample_ctx, &specs[i]);
        return 0;
    }
    (void)snprintf(firings.last, sizeof(firings.last), "%s", firing->external_id);
    part_kit_add_task(firings.kit, ++firings.count, 0);
    *firing->ret_first = firings.count;
    *firing->ret_count = 1;
    return 0;
}

static void take_config(struct part_kit *kit) {
    struct error err = { 0 };
    int r = schedules_part.try[TRY_CHECK_CONFIG](&kit->engine, &err);
    if (r < 0)
        fail_msg("%s", err.text);
    assert_int_equal(schedules_part.try[TRY_TAKE_CONFIG](&kit->engine, &err), 0);
}

static void turn_at(struct part_kit *kit, time_ms wall) {
    part_log.wall = wall;
    part_kit_step(kit, STEP_BEFORE_DECIDE);
}

/* A schedule "s" with this setting. */
static void begin(struct part_kit *kit, const char *setting, const char *value) {
    firings = (struct firings){ .kit = kit };
    part_kit_new(kit, &schedules_part, PART_schedules);
    kit->engine.fire = fire;
    part_kit_set(kit, setting, value);
    part_kit_set(kit, "schedules.s.task", "{\"argv\": [\"true\"]}");
    take_config(kit);
    turn_at(kit, BEGIN);
}

/* The next daemon: only the configuration and the last note are left. */
static void restart(struct part_kit *kit) {
    part_kit_step(kit, STEP_UNLOAD);
    part_kit_load_note(kit);
    take_config(kit);
}

static struct engine_schedule shown(struct part_kit *kit) {
    struct engine_schedule s;
    assert_true(engine_find_schedule(&kit->engine, "s", &s));
    return s;
}

TEST(a_new_schedule_begins_at_the_present) {
    struct part_kit kit;
    begin(&kit, "schedules.s.every", "1h");
    assert_int_equal(firings.count, 0);
    assert_int_equal(part_log.notes, 1);
    assert_int_equal(shown(&kit).next_due, BEGIN + HOURS(1));
    kit.engine.now = DAYS(3); /* the clock of the turn may differ */
    assert_int_equal(schedules_part.next_wakeup(&kit.engine), DAYS(3) + HOURS(1));
    turn_at(&kit, BEGIN + HOURS(1) - 1);
    assert_int_equal(firings.count, 0);
    turn_at(&kit, BEGIN + HOURS(1));
    assert_int_equal(firings.count, 1);
    assert_string_equal(firings.last, "s@2024-10-04T01:00:00Z");
    assert_string_equal(part_log.event_kind, "schedule.fired");
    assert_int_equal(part_log.event_task, 1);
    assert_int_equal(part_log.notes, 2);
    part_kit_free(&kit);
}

TEST(after_a_crash_nothing_is_fired_twice) {
    struct part_kit kit;
    begin(&kit, "schedules.s.every", "1h");
    turn_at(&kit, BEGIN + HOURS(1));
    (void)part_kit_apply(&kit, FACT_CANCEL, 1);
    restart(&kit);
    turn_at(&kit, BEGIN + HOURS(1) + SECONDS(5));
    assert_int_equal(firings.count, 1);
    restart(&kit);
    turn_at(&kit, BEGIN + HOURS(4) + SECONDS(5)); /* 2 and 3 were missed */
    assert_int_equal(firings.count, 2);
    assert_string_equal(firings.last, "s@2024-10-04T04:00:00Z");
    struct engine_schedule s = shown(&kit);
    assert_int_equal(s.fired, 2);
    assert_int_equal(s.skipped, 2);
    assert_int_equal(s.skip_count, 1);
    assert_int_equal(s.skips[0].first, BEGIN + HOURS(2));
    assert_int_equal(s.skips[0].last, BEGIN + HOURS(3));
    assert_string_equal(s.skips[0].reason, "missed");
    part_kit_free(&kit);
}

TEST(a_failed_commit_fires_the_same_time_again) {
    struct part_kit kit;
    struct part_log before;
    begin(&kit, "schedules.s.every", "1h");
    before = part_log;
    turn_at(&kit, BEGIN + HOURS(1));
    assert_int_equal(firings.count, 1);
    (void)part_kit_apply(&kit, FACT_CANCEL, 1);
    part_log = before; /* the store has the old note */
    restart(&kit);
    turn_at(&kit, BEGIN + HOURS(1) + 100);
    assert_int_equal(firings.count, 2);
    assert_string_equal(firings.last, "s@2024-10-04T01:00:00Z");
    part_kit_free(&kit);
}

TEST(skips_of_the_same_reason_are_one_record) {
    struct part_kit kit;
    begin(&kit, "schedules.s.every", "1h");
    turn_at(&kit, BEGIN + HOURS(1));
    unsigned events = part_log.events;
    for (int i = 2; i <= 5; i++) {
        turn_at(&kit, BEGIN + HOURS(i));
        if (i == 3)
            restart(&kit);
    }
    assert_int_equal(part_log.events, events + 1); /* when it began */
    struct engine_schedule s = shown(&kit);
    assert_int_equal(s.skip_count, 1);
    assert_int_equal(s.skips[0].count, 4);
    assert_string_equal(s.skips[0].reason, "overlap");
    assert_true(s.open);
    (void)part_kit_apply(&kit, FACT_CANCEL, 1);
    turn_at(&kit, BEGIN + HOURS(6));
    assert_int_equal(part_log.events, events + 3); /* fired, and the final count */
    assert_string_equal(part_log.event_kind, "schedule.skipped");
    assert_non_null(strstr(part_log.event_data, "\"count\":4"));
    assert_int_equal(firings.count, 2);
    turn_at(&kit, BEGIN + HOURS(7));
    assert_int_equal(shown(&kit).skip_count, 2);
    part_kit_free(&kit);
}

TEST(replace_cancels_the_unfinished_task) {
    struct part_kit kit;
    begin(&kit, "schedules.s.every", "1h");
    part_kit_set(&kit, "schedules.s.overlap", "replace");
    take_config(&kit);
    turn_at(&kit, BEGIN + HOURS(1));
    turn_at(&kit, BEGIN + HOURS(2));
    assert_int_equal(firings.count, 2);
    assert_int_equal(part_kit_state(&kit, 1), TASK_CANCELED);
    assert_int_not_equal(part_kit_state(&kit, 2), TASK_CANCELED);
    part_kit_free(&kit);
}

TEST(a_clock_that_is_set_back_or_forward_fires_nothing_twice) {
    struct part_kit kit;
    begin(&kit, "schedules.s.every", "1h");
    part_kit_set(&kit, "schedules.s.overlap", "queue");
    take_config(&kit);
    turn_at(&kit, BEGIN + HOURS(1));
    turn_at(&kit, BEGIN - DAYS(1));
    for (int i = 0; i <= 25; i++)
        turn_at(&kit, BEGIN - DAYS(1) + HOURS(i));
    assert_int_equal(firings.count, 1);
    turn_at(&kit, BEGIN + HOURS(26));
    assert_int_equal(firings.count, 2);
    assert_int_equal(shown(&kit).skipped, 24);
    part_kit_free(&kit);
}

TEST(a_pause_is_recorded_when_it_ends) {
    struct part_kit kit;
    begin(&kit, "schedules.s.every", "1h");
    part_kit_set(&kit, "schedules.s.paused", "true");
    take_config(&kit);
    turn_at(&kit, BEGIN + MINUTES(1));
    assert_true(schedules_part.next_wakeup(&kit.engine) == TIME_NEVER);
    part_kit_set(&kit, "schedules.s.paused", "false");
    restart(&kit); /* the configuration was changed while no daemon was running */
    turn_at(&kit, BEGIN + HOURS(3) + MINUTES(1));
    assert_int_equal(firings.count, 0);
    assert_int_equal(shown(&kit).skips[0].count, 3);
    assert_string_equal(shown(&kit).skips[0].reason, "paused");
    turn_at(&kit, BEGIN + HOURS(4));
    assert_int_equal(firings.count, 1);
    part_kit_free(&kit);
}

TEST(a_changed_time_begins_at_the_present) {
    struct part_kit kit;
    begin(&kit, "schedules.s.every", "1d");
    part_kit_set(&kit, "schedules.s.every", "1h");
    take_config(&kit);
    turn_at(&kit, BEGIN + HOURS(12) + MINUTES(1));
    assert_int_equal(firings.count, 0);
    assert_int_equal(shown(&kit).skipped, 0);
    assert_int_equal(shown(&kit).next_due, BEGIN + HOURS(13));
    part_kit_free(&kit);
}

TEST(a_refusal_is_a_skip_and_an_alert) {
    struct part_kit kit;
    begin(&kit, "schedules.s.every", "1h");
    firings.refuse = true;
    turn_at(&kit, BEGIN + HOURS(1));
    assert_int_equal(part_log.alerts, 1);
    assert_string_equal(part_log.alert_key, "schedule:s");
    struct engine_schedule s = shown(&kit);
    assert_string_equal(s.skips[0].reason, "refused");
    assert_non_null(strstr(s.error, "there is no project"));
    firings.refuse = false;
    turn_at(&kit, BEGIN + HOURS(2));
    assert_int_equal(firings.count, 1);
    assert_null(shown(&kit).error);
    part_kit_free(&kit);
}

TEST(a_removed_schedule_loses_its_note) {
    struct part_kit kit;
    begin(&kit, "schedules.s.every", "1h");
    part_kit_step(&kit, STEP_UNLOAD);
    part_kit_load_note(&kit);
    config_free(kit.engine.config);
    kit.engine.config = config_new();
    take_config(&kit);
    turn_at(&kit, BEGIN + HOURS(1));
    assert_string_equal(part_log.note_name, "schedule:s");
    assert_string_equal(part_log.note_text, "");
    assert_int_equal(engine_schedule_count(&kit.engine), 0);
    part_kit_free(&kit);
}

TEST(a_removed_schedule_announces_its_last_record) {
    struct part_kit kit;
    begin(&kit, "schedules.s.every", "1h");
    for (int i = 1; i <= 4; i++)
        turn_at(&kit, BEGIN + HOURS(i)); /* the first is fired and stays open */
    unsigned events = part_log.events;
    part_kit_step(&kit, STEP_UNLOAD);
    part_kit_load_note(&kit);
    config_free(kit.engine.config);
    kit.engine.config = config_new();
    take_config(&kit);
    turn_at(&kit, BEGIN + HOURS(5));
    assert_int_equal(part_log.events, events + 1);
    assert_string_equal(part_log.event_kind, "schedule.skipped");
    assert_non_null(strstr(part_log.event_data, "\"count\":3"));
    part_kit_free(&kit);
}

TEST(ten_thousand_schedules_sleep_until_the_first_is_due) {
    struct part_kit kit;
    begin(&kit, "schedules.s.every", "1h");
    for (int i = 0; i < 10000; i++) {
        char key[64], value[32];
        (void)snprintf(key, sizeof(key), "schedules.n%d.cron", i);
        (void)snprintf(value, sizeof(value), "%d %d * * *", i % 60, 2 + i / 60 % 20);
        struct error err = { 0 };
        assert_int_equal(config_set(kit.engine.config, key, value, "test", &err), 0);
        (void)snprintf(key, sizeof(key), "schedules.n%d.task", i);
        assert_int_equal(config_set(kit.engine.config, key, "{}", "test", &err), 0);
    }
    take_config(&kit);
    turn_at(&kit, BEGIN + 1);
    assert_int_equal(part_log.notes, 10001);
    kit.engine.now = 1000;
    assert_int_equal(schedules_part.next_wakeup(&kit.engine), 1000 + HOURS(1) - 1);
    assert_false(schedules_part.has_work(&kit.engine));
    turn_at(&kit, BEGIN + HOURS(1) - 1); /* a turn for another reason costs nothing */
    assert_int_equal(part_log.notes, 10001);
    assert_int_equal(firings.count, 0);
    turn_at(&kit, BEGIN + HOURS(1));
    assert_int_equal(firings.count, 1);
    part_kit_free(&kit);
}

TEST(coming_firings_have_new_numbers_in_the_order_of_their_times) {
    struct part_kit kit;
    struct coming coming = { 0 };
    begin(&kit, "schedules.s.every", "2h");
    part_kit_set(&kit, "schedules.t.cron", "30 1 * * *");
    part_kit_set(&kit, "schedules.t.timezone", "UTC");
    part_kit_set(&kit, "schedules.t.task", "{\"argv\": [\"true\"]}");
    part_kit_set(&kit, "schedules.t.overlap", "queue");
    part_kit_set(&kit, "schedules.paused.every", "1h");
    part_kit_set(&kit, "schedules.paused.task", "{\"argv\": [\"true\"]}");
    part_kit_set(&kit, "schedules.paused.paused", "true");
    take_config(&kit);
    turn_at(&kit, BEGIN + MINUTES(1));
    kit.engine.last_task = 7;
    kit.engine.now = DAYS(3); /* its clock differs */
    schedules_add_coming(&kit.engine, HOURS(5), &coming);
    static const time_ms times[] = { MINUTES(90), HOURS(2), HOURS(4) };
    assert_int_equal(coming.task_count, 6);
    for (size_t i = 0; i < coming.task_count; i++) {
        assert_int_equal(coming.tasks[i].at, DAYS(3) + times[i / 2] - MINUTES(1));
        assert_int_equal(coming.tasks[i].spec.id, 8 + i);
        assert_int_equal(coming.tasks[i].spec.depends_on_count, i % 2);
        if (i % 2)
            assert_int_equal(coming.tasks[i].spec.depends_on[0], 7 + i);
    }
    coming_finish(&coming);
    firings.refuse = true;
    schedules_add_coming(&kit.engine, HOURS(5), &coming);
    assert_int_equal(coming.task_count, 0);
    coming_finish(&coming);
    part_kit_free(&kit);
}

/* --- backups ---------------------------------------------------------------------------------- */

static struct {
    unsigned begun;
    char path[256];
    store_copied done;
    void *ctx;
} backups;

void engine_backup(struct engine *e, const char *path, store_copied done, void *ctx) {
    (void)e;
    backups.begun++;
    (void)snprintf(backups.path, sizeof(backups.path), "%s", path);
    backups.done = done;
    backups.ctx = ctx;
}

/* The store has written the file, or failed. */
static void end_backup(int code, const char *text) {
    struct error err = { 0 };
    FILE *file = code < 0 ? NULL : fopen(backups.path, "we");
    if (file)
        (void)fclose(file);
    if (code < 0)
        error_set(&err, code, "%s", text);
    backups.done(backups.ctx, code < 0 ? &err : NULL);
}

static char folder[64];

static size_t files(void) {
    size_t count = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    (void)closedir(dir);
    return count;
}

static void begin_backups(struct part_kit *kit) {
    (void)snprintf(folder, sizeof(folder), "%s/backupsXXXXXX", getenv("TMPDIR") ?: "/tmp");
    assert_non_null(mkdtemp(folder));
    memset(&backups, 0, sizeof(backups));
    firings = (struct firings){ .kit = kit };
    part_kit_new(kit, &schedules_part, PART_schedules);
    kit->engine.fire = fire;
    part_kit_set(kit, "schedules.s.every", "1h");
    part_kit_set(kit, "schedules.s.backup", folder);
    part_kit_set(kit, "schedules.s.keep", "2");
    take_config(kit);
    turn_at(kit, BEGIN);
}

static void finish_backups(struct part_kit *kit) {
    DIR *dir = opendir(folder);
    for (struct dirent *entry; (entry = readdir(dir));)
        (void)unlinkat(dirfd(dir), entry->d_name, 0);
    (void)closedir(dir);
    assert_int_equal(rmdir(folder), 0);
    part_kit_free(kit);
}

TEST(a_due_time_has_one_backup_and_is_recorded_when_it_is_there) {
    struct part_kit kit;
    begin_backups(&kit);
    turn_at(&kit, BEGIN + HOURS(1));
    assert_int_equal(backups.begun, 1);
    assert_non_null(strstr(backups.path, "/s-20241004T010000Z.db"));
    assert_int_equal(shown(&kit).fired, 0);
    turn_at(&kit, BEGIN + HOURS(1) + MINUTES(5)); /* it takes its time */
    assert_int_equal(backups.begun, 1);
    assert_false(schedules_part.has_work(&kit.engine));
    end_backup(0, NULL);
    assert_true(schedules_part.has_work(&kit.engine));
    turn_at(&kit, BEGIN + HOURS(1) + MINUTES(6));
    struct engine_schedule s = shown(&kit);
    assert_int_equal(s.fired, 1);
    assert_int_equal(s.last_due, BEGIN + HOURS(1));
    assert_int_equal(s.next_due, BEGIN + HOURS(2));
    assert_string_equal(part_log.event_kind, "schedule.fired");
    assert_non_null(strstr(part_log.event_data, "s-20241004T010000Z.db"));
    assert_int_equal(firings.count, 0); /* no task */
    assert_false(schedules_part.has_work(&kit.engine));
    for (int i = 2; i <= 5; i++) {
        turn_at(&kit, BEGIN + HOURS(i));
        end_backup(0, NULL);
        turn_at(&kit, BEGIN + HOURS(i) + 1);
    }
    assert_int_equal(shown(&kit).fired, 5);
    assert_int_equal(files(), 2); /* keep */
    finish_backups(&kit);
}

TEST(a_backup_that_a_crash_has_interrupted_is_made_again) {
    struct part_kit kit;
    begin_backups(&kit);
    turn_at(&kit, BEGIN + HOURS(1));
    struct error shutdown = { 0 };
    error_set(&shutdown, -ESHUTDOWN, "the backup was interrupted");
    backups.done(backups.ctx, &shutdown);
    restart(&kit);
    turn_at(&kit, BEGIN + HOURS(1) + MINUTES(1));
    assert_int_equal(backups.begun, 2);
    end_backup(0, NULL);
    restart(&kit); /* it is there, but the commit that records it has failed */
    turn_at(&kit, BEGIN + HOURS(1) + MINUTES(2));
    assert_int_equal(backups.begun, 2);
    assert_int_equal(shown(&kit).fired, 1);
    finish_backups(&kit);
}

TEST(a_backup_that_fails_is_a_skip_and_an_alert) {
    struct part_kit kit;
    begin_backups(&kit);
    turn_at(&kit, BEGIN + HOURS(1));
    end_backup(-ENOSPC, "no space left");
    turn_at(&kit, BEGIN + HOURS(1) + 1);
    struct engine_schedule s = shown(&kit);
    assert_int_equal(s.fired, 0);
    assert_int_equal(s.skipped, 1);
    assert_string_equal(s.skips[0].reason, "refused");
    assert_string_equal(s.error, "no space left");
    assert_string_equal(part_log.alert_key, "schedule:s");
    turn_at(&kit, BEGIN + HOURS(2));
    end_backup(-EBUSY, "another backup is being made"); /* a person has asked for one */
    turn_at(&kit, BEGIN + HOURS(2) + 1);
    assert_int_equal(shown(&kit).skipped, 1);
    assert_int_equal(backups.begun, 2);
    turn_at(&kit, BEGIN + HOURS(2) + SECONDS(11));
    assert_int_equal(backups.begun, 3);
    end_backup(0, NULL);
    turn_at(&kit, BEGIN + HOURS(2) + SECONDS(12));
    assert_int_equal(shown(&kit).fired, 1);
    assert_null(shown(&kit).error);
    finish_backups(&kit);
}

TEST(two_schedules_make_their_backups_one_after_the_other) {
    struct part_kit kit;
    struct engine_schedule s;
    begin_backups(&kit);
    part_kit_set(&kit, "schedules.t.every", "1h");
    part_kit_set(&kit, "schedules.t.backup", folder);
    take_config(&kit);
    turn_at(&kit, BEGIN + 1);
    turn_at(&kit, BEGIN + HOURS(1));
    assert_int_equal(backups.begun, 1);
    end_backup(0, NULL);
    turn_at(&kit, BEGIN + HOURS(1) + 1);
    assert_int_equal(backups.begun, 2);
    end_backup(0, NULL);
    turn_at(&kit, BEGIN + HOURS(1) + 2);
    assert_int_equal(backups.begun, 2);
    assert_true(engine_find_schedule(&kit.engine, "t", &s));
    assert_int_equal(s.fired + shown(&kit).fired, 2);
    finish_backups(&kit);
}

TEST(a_schedule_does_one_thing) {
    struct part_kit kit;
    struct error err = { 0 };
    begin_backups(&kit);
    part_kit_set(&kit, "schedules.s.task", "{}");
    assert_true(schedules_part.try[TRY_CHECK_CONFIG](&kit.engine, &err) < 0);
    assert_non_null(strstr(err.text, "'task' and 'backup' cannot be used together"));
    finish_backups(&kit);
}
