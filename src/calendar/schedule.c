/* schedule.c: see schedule.h. */
#include "calendar/schedule.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"

#define STEP_DUE_TIMES 10000u /* that one step walks over: about 10 ms with a cron expression */

const char *const schedule_skip_names[SKIP_MAX] = { "missed", "too_old", "overlap", "paused",
                                                    "refused" };

/* --- one moment ------------------------------------------------------------------------------- */

/* Exactly `digits` digits. */
static bool take_digits(const char **text, int digits, int min, int max, int *ret) {
    int value = 0;
    for (int i = 0; i < digits; i++, ++*text) {
        if (**text < '0' || **text > '9')
            return false;
        value = value * 10 + **text - '0';
    }
    *ret = value;
    return value >= min && value <= max;
}

static bool take(const char **text, const char *one_of) {
    if (!**text || !strchr(one_of, **text))
        return false;
    ++*text;
    return true;
}

static bool take_moment(const char **text, int64_t *ret) {
    int year, month, day, hour, minute, second = 0;
    if (!take_digits(text, 4, 1970, 9999, &year) || !take(text, "-")
        || !take_digits(text, 2, 1, 12, &month) || !take(text, "-")
        || !take_digits(text, 2, 1, calendar_days_in(year, month), &day) || !take(text, " T")
        || !take_digits(text, 2, 0, 23, &hour) || !take(text, ":")
        || !take_digits(text, 2, 0, 59, &minute))
        return false;
    if (take(text, ":") && !take_digits(text, 2, 0, 59, &second))
        return false;
    *ret = calendar_local(year, month, day) + (int64_t)hour * 3600 + (int64_t)minute * 60 + second;
    return true;
}

int schedule_parse_at(const char *text, const struct zone *zone, int64_t *ret, struct error *err) {
    const char *at = text;
    int64_t local;
    int hours, minutes;
    if (take_moment(&at, &local)) {
        if (!*at) {
            *ret = zone_find(zone, local).first;
            return 0;
        }
        if (strcmp(at, "Z") == 0) {
            *ret = local;
            return 0;
        }
        bool west = *at == '-';
        if (take(&at, "+-") && take_digits(&at, 2, 0, 23, &hours) && take(&at, ":")
            && take_digits(&at, 2, 0, 59, &minutes) && !*at) {
            int64_t offset = (int64_t)hours * 3600 + (int64_t)minutes * 60;
            *ret = west ? local + offset : local - offset;
            return 0;
        }
    }
    return error_set(err, -EINVAL,
                     "at '%.80s' is not a time: use YYYY-MM-DD HH:MM, optionally with Z or an "
                     "offset such as +01:00",
                     text);
}

/* --- due times -------------------------------------------------------------------------------- */

int64_t schedule_next(const struct schedule *s, int64_t after) {
    if (s->kind == SCHEDULE_CRON)
        return cron_next(&s->cron, s->zone, after);
    if (s->kind == SCHEDULE_AT)
        return s->at > after ? s->at : INT64_MAX;
    int64_t steps = after / s->every - (after % s->every < 0);
    return after > INT64_MAX / 2 ? INT64_MAX : (steps + 1) * s->every;
}

int64_t schedule_fires_at(const struct schedule *s, int64_t due) {
    if (s->jitter <= 0 || due == INT64_MAX)
        return due;
    uint64_t delay = hash_mix(s->seed, (uint64_t)due) % ((uint64_t)s->jitter + 1);
    return due + (int64_t)delay;
}

/* --- what is due since the cursor ------------------------------------------------------------- */

static bool is_due(const struct schedule *s, int64_t due, int64_t now) {
    return due != INT64_MAX && schedule_fires_at(s, due) <= now;
}

/* Whether this due time, which has come, is skipped for another reason than an overlap. `next`: the
 * one after it. */
static bool is_late(const struct schedule *s, int64_t due, int64_t next, int64_t now,
                    enum schedule_skip *ret_reason) {
    if (s->catch_up != CATCH_UP_ALL && is_due(s, next, now)) {
        *ret_reason = SKIP_MISSED;
        return true;
    }
    int64_t age = now - schedule_fires_at(s, due);
    if (s->catch_up == CATCH_UP_NONE && age > SCHEDULE_GRACE) {
        *ret_reason = SKIP_MISSED;
        return true;
    }
    *ret_reason = SKIP_TOO_OLD;
    return age > s->catch_up_max;
}

static struct schedule_step skip_range(int64_t first, enum schedule_skip reason) {
    return (struct schedule_step){
        .action = SCHEDULE_SKIP, .first = first, .last = first, .count = 1, .reason = reason
    };
}

struct schedule_step schedule_decide(const struct schedule *s, int64_t cursor, int64_t now,
                                     bool open) {
    int64_t due = schedule_next(s, cursor), next;
    enum schedule_skip reason;
    if (!is_due(s, due, now))
        return (struct schedule_step){ .action = SCHEDULE_WAIT, .wake = schedule_fires_at(s, due) };
    next = schedule_next(s, due);
    bool skips_open = open && s->overlap == OVERLAP_SKIP;
    if (!is_late(s, due, next, now, &reason)) {
        if (!skips_open)
            return (struct schedule_step){
                .action = SCHEDULE_FIRE, .first = due, .last = due, .count = 1
            };
        reason = SKIP_OVERLAP;
    }
    struct schedule_step step = skip_range(due, reason);
    while (step.count < STEP_DUE_TIMES && is_due(s, next, now)) {
        int64_t second = schedule_next(s, next);
        enum schedule_skip its = SKIP_OVERLAP;
        if (!is_late(s, next, second, now, &its)) {
            if (!skips_open)
                break;
            its = SKIP_OVERLAP;
        }
        if (its != reason)
            break;
        step.last = next;
        step.count++;
        next = second;
    }
    return step;
}

struct schedule_step schedule_skip_all(const struct schedule *s, int64_t cursor, int64_t now,
                                       enum schedule_skip reason) {
    int64_t due = schedule_next(s, cursor);
    if (due > now)
        return (struct schedule_step){ .action = SCHEDULE_WAIT, .wake = schedule_fires_at(s, due) };
    struct schedule_step step = skip_range(due, reason);
    while (step.count < STEP_DUE_TIMES && (due = schedule_next(s, step.last)) <= now) {
        step.last = due;
        step.count++;
    }
    return step;
}
