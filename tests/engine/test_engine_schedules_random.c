/* Random histories of schedules: I30 of docs/internals/invariants.md.
 *
 * Each due time has exactly one task or is in exactly one recorded skip, although the daemon dies at any commit, commits fail,
 * a standby with another clock takes over, the wall clock is set back and forward by up to a day, the machine is suspended for a week,
 * and schedules are changed, paused, resumed, removed and added, by a live daemon or while none is running.
 *
 * The model knows nothing of src/calendar. It finds due times by reading the C library's clock every minute, and what was done
 * from the events and tasks in the store. A failing seed is printed with its step; SEED=N runs it alone, SEEDS=N runs more. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "engine/external_ids.h"
#include "engine/schedules.h"
#include "engine_kit.h"
#include "harness/no_waits.h"
#include "harness/test.h"
#include "late_store.h"
#include "os/clock.h"

#define SEEDS     60
#define STEPS     70
#define SCHEDULES 4u
#define ERAS_MAX  512u
#define DUE_MAX   60000u
#define DAY       86400
#define BEFORE    (40 * DAY)
#define AFTER     (230 * DAY)

static struct kit kit;
static uint64_t seed, dice;
static int step;
static bool refuses; /* a firing is refused */

static unsigned roll(unsigned sides) {
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(dice >> 33) % sides;
}

static void broken(const char *rule, const char *name, int64_t due) {
    fail_msg("I30: %s: %s@%" PRId64 " (seed %" PRIu64 ", step %d)", rule, name, due, seed, step);
}

static int64_t wall(void) {
    return clock_read() / 1000;
}

/* --- due times, a second time ------------------------------------------------------------------ */

static bool daily(const struct tm *t) {
    return t->tm_hour == 2 && t->tm_min == 30;
}
static bool quarters(const struct tm *t) {
    return t->tm_min % 15 == 0;
}
static bool weekdays(const struct tm *t) {
    return t->tm_hour == 2 && t->tm_min == 0 && t->tm_wday >= 1 && t->tm_wday <= 5;
}
static bool leap_day(const struct tm *t) {
    return t->tm_hour == 3 && t->tm_min == 0 && t->tm_mon == 1 && t->tm_mday == 29;
}
static bool noon_or_friday(const struct tm *t) {
    return t->tm_min == 0 && t->tm_hour % 12 == 0 && (t->tm_mday % 7 == 1 || t->tm_wday == 5);
}

static const struct timing {
    const char *setting, *value;
    bool (*fits)(const struct tm *local); /* NULL: every `span` seconds; 0: once, after 9 days */
    bool follows_clock;                   /* its hour is a star */
    int64_t span;
} timings[] = {
    { "every", "1h", NULL, false, 3600 },
    { "every", "7m", NULL, false, 420 },
    { "every", "2d", NULL, false, 172800 },
    { "at", NULL, NULL, false, 0 },
    { "cron", "30 2 * * *", daily, false, 0 },
    { "cron", "*/15 * * * *", quarters, true, 0 },
    { "cron", "0 2 * * mon-fri", weekdays, false, 0 },
    { "cron", "0 3 29 2 *", leap_day, false, 0 },
    { "cron", "0 0,12 1,8,15,22,29 * 5", noon_or_friday, false, 0 },
};
static const char *const zones[] = { "Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                                     "America/Santiago", "Pacific/Auckland" };

/* Both clock changes of each zone are within the 230 days after one of these; so is a leap day. */
static const struct {
    int year, month, day;
} begins[] = { { 2026, 10, 20 }, { 2027, 3, 10 }, { 2028, 2, 20 }, { 2026, 9, 20 } };

static int64_t begin; /* of this history */

static bool jumped_over(const struct timing *t, int64_t from, int64_t until) {
    for (int64_t local = from; local < until; local += 60) {
        struct tm tm;
        time_t at = (time_t)local;
        if (t->fits(gmtime_r(&at, &tm)))
            return true;
    }
    return false;
}

static size_t read_clock(const struct timing *t, int64_t *ret) {
    size_t count = 0;
    int64_t newest = INT64_MIN;
    for (int64_t utc = (begin - BEFORE) / 60 * 60; utc < begin + AFTER; utc += 60) {
        struct tm tm;
        time_t at = (time_t)utc;
        assert_non_null(localtime_r(&at, &tm));
        int64_t local = utc + tm.tm_gmtoff;
        bool due = t->fits(&tm) && (t->follows_clock || local > newest);
        if (!due && !t->follows_clock && newest != INT64_MIN && local > newest + 60)
            due = jumped_over(t, newest + 60, local);
        if (due)
            ret[count++] = utc;
        newest = local > newest ? local : newest;
        assert_true(count < DUE_MAX);
    }
    return count;
}

static size_t find_due(const struct timing *t, const char *zone, int64_t *ret) {
    size_t count = 0;
    if (t->fits) {
        setenv("TZ", zone, 1);
        tzset();
        count = read_clock(t, ret);
        unsetenv("TZ");
        tzset();
        return count;
    }
    if (t->span == 0) {
        ret[0] = begin + 9 * DAY;
        return 1;
    }
    int64_t first = (begin - BEFORE + t->span - 1) / t->span * t->span;
    for (int64_t utc = first; utc < begin + AFTER; utc += t->span)
        ret[count++] = utc;
    return count;
}

/* --- what the schedules are, and what was done --------------------------------------------------- */

static struct definition {
    bool exists, paused;
    unsigned timing, zone, overlap, catch_up;
    int64_t jitter;
} defs[SCHEDULES];

struct record {
    int64_t first, last;
    uint64_t count, announced; /* `announced`: the count of its last event */
    char reason[16];
};

/* The time in which a schedule has the same due times. */
static struct era {
    unsigned schedule;
    int64_t from, settled; /* it began between these */
    int64_t handled_to;    /* all due times up to here are handled; INT64_MIN: none must be */
    int64_t pause_begin, pause_end; /* it was paused between these; pause_begin 0: it is not */
    int64_t *due;
    size_t due_count;
    int64_t *fired;
    size_t fired_count;
    struct record *records;
    size_t record_count;
} eras[ERAS_MAX];
static size_t era_count;
static struct era *current[SCHEDULES]; /* NULL: the schedule does not exist */
static int64_t latest;                 /* the latest wall-clock time */
static uint64_t last_seq;
static char settings[4096];

static const char *name_of(unsigned schedule) {
    static const char *const names[SCHEDULES] = { "s0", "s1", "s2", "s3" };
    return names[schedule];
}

static void write_config(void) {
    static const char *const overlaps[] = { "skip", "queue", "replace" };
    static const char *const catches[] = { "last", "all", "none" };
    size_t used =
        (size_t)snprintf(settings, sizeof(settings), "%s",
                         KIT_CALM "limits: {runs: 0}\nretention: {days: never}\nprojects: {web: }\n"
                                  "queue: {soft: 1000000, hard: 1000000}\nschedules:\n");
    for (unsigned i = 0; i < SCHEDULES; i++) {
        const struct definition *d = &defs[i];
        const struct timing *t = &timings[d->timing];
        char at[40];
        struct tm tm;
        time_t moment = (time_t)(begin + 9 * DAY);
        (void)strftime(at, sizeof(at), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&moment, &tm));
        if (d->exists)
            used += (size_t)snprintf(
                settings + used, sizeof(settings) - used,
                "  %s: {%s: '%s', timezone: '%s', overlap: %s, catch_up: %s, jitter_s: %" PRId64
                ", paused: %s, task: '{}'}\n",
                name_of(i), t->setting, t->value ? t->value : at, zones[d->zone],
                overlaps[d->overlap], catches[d->catch_up], d->jitter,
                d->paused ? "true" : "false");
    }
}

static void begin_era(unsigned schedule) {
    assert_true(era_count < ERAS_MAX);
    struct era *era = &eras[era_count++];
    static int64_t due[DUE_MAX];
    *era = (struct era){
        .schedule = schedule, .from = wall(), .settled = INT64_MAX, .handled_to = INT64_MIN
    };
    era->due_count = find_due(&timings[defs[schedule].timing], zones[defs[schedule].zone], due);
    era->due = calloc(era->due_count + 1, sizeof(*due));
    memcpy(era->due, due, era->due_count * sizeof(*due));
    current[schedule] = era;
}

static unsigned times_handled(const struct era *era, int64_t due) {
    unsigned times = 0;
    for (size_t i = 0; i < era->fired_count; i++)
        times += era->fired[i] == due;
    for (size_t i = 0; i < era->record_count; i++)
        times += era->records[i].first <= due && due <= era->records[i].last;
    return times;
}

static void check_records(const struct era *era) {
    const char *name = name_of(era->schedule);
    uint64_t counted = 0, covered = 0;
    for (size_t i = 0; i < era->record_count; i++)
        counted += era->records[i].count;
    for (size_t i = 0; i < era->due_count && era->due[i] <= latest; i++) {
        if (era->due[i] <= era->from)
            continue;
        unsigned times = times_handled(era, era->due[i]);
        if (times > 1)
            broken("a due time is handled twice", name, era->due[i]);
        if (times == 0 && era->due[i] > era->settled && era->due[i] <= era->handled_to)
            broken("a due time is not handled", name, era->due[i]);
        covered += times;
    }
    if (covered != era->fired_count + counted)
        broken("something was done for a time that was not due", name, 0);
    for (size_t i = 1; i < era->record_count; i++) {
        const struct record *a = &era->records[i - 1], *b = &era->records[i];
        bool fired_between = false;
        for (size_t k = 0; k < era->fired_count; k++)
            fired_between = fired_between || (era->fired[k] > a->last && era->fired[k] < b->first);
        if (strcmp(a->reason, b->reason) == 0 && !fired_between)
            broken("consecutive skips are two records", name, b->first);
    }
}

/* What was due during a pause is skipped because of it, also if the next daemon ends the pause. */
static void see_pause(struct era *era, bool is_paused) {
    if (is_paused) {
        era->pause_begin = era->pause_begin ? era->pause_begin : latest;
        era->pause_end = latest;
        return;
    }
    for (size_t i = 0; era->pause_begin && i < era->due_count; i++) {
        /* a clock that was set back shows the others again */
        bool found =
            era->due[i] <= era->pause_begin || era->due[i] > era->pause_end || era->due[i] > wall();
        for (size_t k = 0; !found && k < era->record_count; k++)
            found = era->records[k].first <= era->due[i] && era->due[i] <= era->records[k].last
                    && strcmp(era->records[k].reason, "paused") == 0;
        if (!found)
            broken("a pause is not recorded", name_of(era->schedule), era->due[i]);
    }
    era->pause_begin = 0;
}

/* A record that has grown replaces the one with the same begin. */
static void add_record(struct era *era, const struct record *record) {
    for (size_t i = 0; i < era->record_count; i++)
        if (era->records[i].first == record->first) {
            uint64_t announced = era->records[i].announced;
            era->records[i] = *record;
            if (record->announced == 0)
                era->records[i].announced = announced;
            return;
        }
    era->records = realloc(era->records, (era->record_count + 1) * sizeof(*record));
    era->records[era->record_count++] = *record;
}

/* The last record of an earlier era ends when the era does, and is shown until there is another one. A
 * clock that was set back makes it later than the begin of the current era. */
static struct era *era_of_record(unsigned schedule, int64_t first) {
    for (struct era *era = &eras[era_count]; era-- > eras;)
        for (size_t i = 0; era->schedule == schedule && i < era->record_count; i++)
            if (era->records[i].first == first)
                return era;
    return current[schedule];
}

static int64_t parse_id(const char *id) {
    struct tm tm = { 0 };
    const char *time = strchr(id, '@');
    assert_non_null(time);
    const char *end = strptime(time + 1, "%Y-%m-%dT%H:%M:%SZ", &tm);
    assert_true(end && *end == '\0');
    return (int64_t)timegm(&tm);
}

static void see_fired(struct era *era, const struct event_row *event, const json_t *data) {
    const char *id = engine_external_id(kit.engine, event->task);
    int64_t due = json_integer_value(json_object_get(data, "due_at")) / 1000;
    if (!id)
        broken("a firing has no task", name_of(era->schedule), due);
    if (strncmp(strchr(id, '@'), "@run-", 5) == 0)
        return; /* a person asked for it */
    if (parse_id(id) != due)
        broken("a task has the name of another due time", id, due);
    for (int64_t i = 1; i < json_integer_value(json_object_get(data, "tasks")); i++)
        if (kit_state(&kit, event->task + (task_id)i) == TASK_ABSENT)
            broken("a task of a firing is missing", id, due);
    era->fired = realloc(era->fired, (era->fired_count + 1) * sizeof(due));
    era->fired[era->fired_count++] = due;
}

static void see_event(const struct event_row *event) {
    bool fired = strcmp(event->kind, "schedule.fired") == 0;
    if (!fired && strcmp(event->kind, "schedule.skipped") != 0)
        return;
    json_t *data = json_loads(event->data, 0, NULL);
    const char *name = json_string_value(json_object_get(data, "schedule"));
    struct era *era = current[name[1] - '0'];
    int64_t first = json_integer_value(json_object_get(data, "first")) / 1000;
    if (!fired)
        era = era_of_record((unsigned)(name[1] - '0'), first);
    if (!era)
        broken("an event of a schedule that does not exist", name, first);
    struct record record = { .first = first,
                             .last = json_integer_value(json_object_get(data, "last")) / 1000,
                             .count =
                                 (uint64_t)json_integer_value(json_object_get(data, "count")) };
    if (fired) {
        see_fired(era, event, data);
    } else {
        record.announced = record.count;
        snprintf(record.reason, sizeof(record.reason), "%s",
                 json_string_value(json_object_get(data, "reason")));
        add_record(era, &record);
    }
    json_decref(data);
}

static void take_events(void *ctx, const struct store_answer *answer, const struct error *err) {
    assert_null(err);
    *(size_t *)ctx = answer->count;
    for (size_t i = 0; i < answer->count; i++) {
        see_event(&answer->events[i]);
        last_seq = answer->events[i].seq;
    }
}

static void see_events(void) {
    size_t count = 0;
    do {
        struct store_query query = { .kind = QUERY_EVENTS, .after = last_seq };
        store_query(kit.store, &query, take_events, &count);
    } while (count > 0);
}

static void see_schedule(unsigned i) {
    struct era *era = current[i];
    struct engine_schedule now;
    if (!engine_find_schedule(kit.engine, name_of(i), &now)) {
        assert_null(era);
        return;
    }
    struct era *owner = now.skip_count > 0 ? era_of_record(i, now.skips[0].first / 1000) : NULL;
    if (owner && (owner != era || now.skips[0].first / 1000 > era->from)) {
        struct record record = { .first = now.skips[0].first / 1000,
                                 .last = now.skips[0].last / 1000,
                                 .count = now.skips[0].count };
        snprintf(record.reason, sizeof(record.reason), "%s", now.skips[0].reason);
        add_record(owner, &record);
    }
    see_pause(era, defs[i].paused);
    if (era->settled == INT64_MAX)
        era->settled = wall();
    int64_t limit = wall() - defs[i].jitter;
    if (!defs[i].paused && limit > era->handled_to)
        era->handled_to = limit;
}

static void observe(void) {
    latest = wall() > latest ? wall() : latest;
    see_events();
    for (unsigned i = 0; i < SCHEDULES; i++)
        see_schedule(i);
    for (unsigned i = 0; i < SCHEDULES; i++)
        if (current[i])
            check_records(current[i]);
}

/* --- the daemon ---------------------------------------------------------------------------------- */

static int fire(void *ctx, struct engine *e, const struct engine_firing *firing,
                struct error *err) {
    (void)ctx;
    if (refuses)
        return error_set(err, -ENOENT, "there is no project 'web'");
    *firing->ret_first = engine_find_external(e, "web", firing->external_id);
    *firing->ret_count = 1;
    if (*firing->ret_first)
        return 0; /* as ops/scheduled.c does */
    struct kit_ask ask = kit_ask_add(&kit, "web", "{\"argv\":[\"true\"]}");
    struct submission tasks[2] = { ask.draft, ask.draft };
    size_t count = 1 + (strlen(firing->external_id) + (size_t)step) % 2;
    char second[128];
    snprintf(second, sizeof(second), "%s#2", firing->external_id);
    tasks[0].external_id = firing->external_id;
    tasks[1].external_id = second;
    int r = engine_add_tasks(e, tasks, count, err);
    *firing->ret_first = tasks[0].spec.id;
    *firing->ret_count = count;
    return r;
}

static void set_firing(struct kit *k) {
    engine_set_firing(k->engine, fire, NULL);
}

static bool some_rounds(struct kit *k, void *ctx) {
    int *rounds = ctx;
    loop_again(k->loop);
    return --*rounds <= 0 || engine_is_broken(k->engine);
}

/* A daemon that has died is started again; each start may be the next victim. */
static void settle(void) {
    uint64_t failed = 0;
    bool is_over = false;
    for (int i = 0; i < 20 && !is_over; i++) {
        int rounds = 12;
        kit_wait(&kit, some_rounds, &rounds, "a few rounds");
        if (engine_is_broken(kit.engine)) {
            kit.config_text = settings;
            kit_restart(&kit);
            failed = 0;
        } else if (kit_stats(&kit).failed_commits > failed) {
            failed = kit_stats(&kit).failed_commits;
            clock_skip(2000); /* it tries again */
        } else {
            is_over = true;
        }
    }
    assert_true(is_over);
    observe();
}

static int set_config(struct engine *e, struct kit_ask *ask) {
    struct config *config = config_new();
    int r = config_read_text(config, "test", settings, strlen(settings), &ask->err);
    if (r == 0)
        r = engine_set_config(e, config, &ask->err);
    if (r < 0)
        fail_msg("configuration: %s", ask->err.text);
    return r;
}

static bool is_answered(struct kit *k, void *ctx) {
    return ((struct kit_ask *)ctx)->answered || engine_is_broken(k->engine);
}

static void request(struct kit_ask *ask) {
    kit_send(&kit, ask);
    kit_wait(&kit, is_answered, ask, "the answer of a request");
}

/* The configuration file has changed: a live daemon reads it, or the next one does. */
static void reconfigure(void) {
    write_config();
    kit.config_text = settings;
    if (roll(3) == 0) {
        kit_restart(&kit);
        return;
    }
    struct kit_ask ask = { .run = set_config };
    request(&ask);
}

/* --- what happens -------------------------------------------------------------------------------- */

static void redefine(unsigned i) {
    defs[i].timing = roll(ARRAY_SIZE(timings));
    defs[i].zone = roll(ARRAY_SIZE(zones));
}

static void change_schedule(void) {
    unsigned i = roll(SCHEDULES);
    struct definition *d = &defs[i], old = *d;
    bool begins_anew = false;
    switch (roll(8)) {
    case 0:
        d->exists = !d->exists;
        begins_anew = true;
        break;
    case 1:
        redefine(i);
        begins_anew = old.timing != d->timing || old.zone != d->zone;
        break;
    case 2:
        d->overlap = roll(3);
        break;
    case 3:
        d->catch_up = roll(3);
        break;
    case 4:
        d->jitter = roll(2) ? 0 : roll(600);
        break;
    default:
        d->paused = !d->paused;
        break;
    }
    if (begins_anew && d->exists)
        begin_era(i);
    else if (begins_anew)
        current[i] = NULL;
    reconfigure();
}

static void end_tasks(void) {
    for (task_id task = engine_last_task(kit.engine), n = 0; task > 0 && n < 40; task--, n++) {
        enum task_state state = kit_state(&kit, task);
        if (state == TASK_ABSENT || task_state_is_final(state) || roll(3) == 0)
            continue;
        struct kit_ask ask = kit_ask_apply(FACT_CANCEL, task);
        request(&ask);
        if (engine_is_broken(kit.engine))
            return;
    }
}

static int run_now(struct engine *e, struct kit_ask *ask) {
    task_id first = 0;
    (void)engine_run_schedule(e, ask->text, &first, &ask->err);
    return 0;
}

static void happen(void) {
    struct kit_ask run = { .run = run_now, .text = name_of(roll(SCHEDULES)) };
    refuses = roll(12) == 0;
    /* One roll in each statement: compilers differ in the order of operands. */
    if (roll(3) == 0) {
        unsigned commits = 1 + roll(3);
        late_crash_commit(commits, roll(2));
    }
    if (roll(5) == 0)
        late_fail_commit(1 + roll(2));
    switch (roll(14)) {
    case 0:
    case 1:
        change_schedule();
        break;
    case 2:
        end_tasks();
        break;
    case 3:
        clock_shift_wall(-(long long)roll(DAY * 1000u));
        break;
    case 4:
        clock_shift_wall(roll(DAY * 1000u));
        break;
    case 5:
        clock_skip(roll(4) ? 0 : 7LL * DAY * 1000);
        break;
    case 6: /* a standby takes over, after a while; its clock differs */
        late_lose_store();
        clock_skip(roll(120000));
        clock_shift_wall((long long)roll(600000) - 300000);
        kit_restart(&kit);
        break;
    case 7: /* downtime */
        kit_stop(&kit);
        clock_skip(roll(3 * DAY) * 1000LL);
        kit_start(&kit);
        break;
    case 8:
        request(&run);
        break;
    default:
        clock_skip(roll(3) ? roll(7200000) : roll(DAY * 1000u));
        break;
    }
    settle();
}

/* The events alone are a complete history of what has ended. */
static void check_announced(const struct era *era) {
    for (size_t i = 0; current[era->schedule] != era && i < era->record_count; i++)
        if (era->records[i].announced != era->records[i].count)
            broken("the event of a record has another count", name_of(era->schedule),
                   era->records[i].first);
}

static void check_tasks(void) {
    for (task_id task = 1; task <= engine_last_task(kit.engine); task++) {
        const char *id = engine_external_id(kit.engine, task);
        task_id same[2];
        if (!id || engine_external_tasks(kit.engine, id, same, 2) != 1)
            broken("a due time has two tasks", id ? id : "?", 0);
    }
}

static void begin_history(void) {
    dice = seed * UINT64_C(0x9e3779b97f4a7c15);
    step = 0;
    era_count = 0;
    last_seq = 0;
    refuses = false;
    struct tm day = { .tm_mday = begins[seed % ARRAY_SIZE(begins)].day,
                      .tm_mon = begins[seed % ARRAY_SIZE(begins)].month - 1,
                      .tm_year = begins[seed % ARRAY_SIZE(begins)].year - 1900 };
    begin = latest = (int64_t)timegm(&day);
    clock_shift_wall((begin - wall()) * 1000);
    for (unsigned i = 0; i < SCHEDULES; i++) {
        defs[i] = (struct definition){ .exists = i < 3 };
        defs[i].overlap = roll(3);
        defs[i].catch_up = roll(3);
        current[i] = NULL;
        redefine(i);
        if (defs[i].exists)
            begin_era(i);
    }
    write_config();
    kit_open_late(&kit, settings);
    kit.before_start = set_firing;
    set_firing(&kit);
    settle();
}

static void end_history(void) {
    refuses = false;
    late_crash_commit(0, false);
    late_fail_commit(0);
    for (unsigned i = 0; i < SCHEDULES; i++)
        defs[i].paused = false;
    write_config();
    kit.config_text = settings;
    kit_restart(&kit);
    settle();
    clock_shift_wall((latest - wall()) * 1000);
    clock_skip(3 * DAY * 1000LL);
    settle();
    for (size_t i = 0; i < era_count; i++) {
        check_records(&eras[i]);
        check_announced(&eras[i]);
    }
    check_tasks();
    kit_close(&kit);
    for (size_t i = 0; i < era_count; i++) {
        free(eras[i].due);
        free(eras[i].fired);
        free(eras[i].records);
    }
}

TEST(each_due_time_has_one_task_or_is_in_one_recorded_skip) {
    const char *from = getenv("SEED"), *count = getenv("SEEDS");
    uint64_t first = from ? strtoull(from, NULL, 10) : 1;
    uint64_t last = first + (count ? strtoull(count, NULL, 10) : from ? 1 : SEEDS) - 1;
    for (seed = first; seed <= last; seed++) {
        begin_history();
        for (step = 1; step <= STEPS; step++)
            happen();
        end_history();
    }
}
