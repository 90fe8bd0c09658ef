/* schedule.h: when a schedule is due, and what is due since its cursor. Pure.
 *
 * A schedule has due times: those of a cron expression, the multiples of a span since the epoch, or
 * one moment. Its cursor is the last due time that was handled: fired, or recorded as skipped. The
 * caller stores the cursor with what it did, so each due time is handled once, whatever the clock
 * does: after it was set back, nothing is due until it has passed the cursor again.
 *
 * Times are UTC seconds. */
#pragma once

#include "calendar/cron.h"

enum schedule_kind { SCHEDULE_CRON, SCHEDULE_EVERY, SCHEDULE_AT };
/* What happens if the task of the last firing is not finished. */
enum schedule_overlap { OVERLAP_SKIP, OVERLAP_QUEUE, OVERLAP_REPLACE };
/* Which due times are fired that passed while nothing could fire them. */
enum schedule_catch_up { CATCH_UP_LAST, CATCH_UP_ALL, CATCH_UP_NONE };

/* CATCH_UP_NONE fires a due time up to this age: a daemon may be busy for a moment. */
#define SCHEDULE_GRACE 60

struct schedule {
    enum schedule_kind kind;
    struct cron cron;
    const struct zone *zone; /* of the cron expression */
    int64_t every, at;
    enum schedule_overlap overlap;
    enum schedule_catch_up catch_up;
    int64_t catch_up_max; /* maximum age of a due time that is fired; INT64_MAX: any */
    int64_t jitter;       /* each firing is delayed by 0 to this many seconds, */
    uint64_t seed;        /* which this and the due time determine */
};

enum schedule_skip {
    SKIP_MISSED,  /* the next due time had come, too, or catch_up is `none` */
    SKIP_TOO_OLD, /* older than catch_up_max */
    SKIP_OVERLAP, /* the task of the last firing was not finished */
    SKIP_PAUSED,
    SKIP_REFUSED, /* the task could not be added */
    SKIP_MAX,
};
extern const char *const schedule_skip_names[SKIP_MAX];

enum schedule_action { SCHEDULE_WAIT, SCHEDULE_FIRE, SCHEDULE_SKIP };

struct schedule_step {
    enum schedule_action action;
    int64_t wake;        /* WAIT: nothing happens before; INT64_MAX: never */
    int64_t first, last; /* FIRE: the due time, twice. SKIP: the range */
    uint64_t count;      /* due times in the range */
    enum schedule_skip reason;
};

/* "2026-12-24 22:00", with T for the blank, optional seconds, and Z or an offset such as +01:00;
 * without one in the zone. Of a time that occurs twice the first; of one that is skipped the moment
 * of the jump. */
int schedule_parse_at(const char *text, const struct zone *zone, int64_t *ret, struct error *err);

/* The first due time after `after`; INT64_MAX: none. */
int64_t schedule_next(const struct schedule *s, int64_t after);
/* When a due time fires: the due time and its jitter. */
int64_t schedule_fires_at(const struct schedule *s, int64_t due);

/* The next step; after FIRE and SKIP the cursor is `last`, and there may be more steps. `open`: the
 * task of the last firing is not finished. A step walks over a bounded number of due times. */
struct schedule_step schedule_decide(const struct schedule *s, int64_t cursor, int64_t now,
                                     bool open);
/* The due times up to `now` as a skip with this reason, for a schedule that was paused. */
struct schedule_step schedule_skip_all(const struct schedule *s, int64_t cursor, int64_t now,
                                       enum schedule_skip reason);
