/* hours.c: see hours.h. */
#include "calendar/hours.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DAY         86400
#define DAY_MINUTES 1440
#define EVERY_DAY   0x7F

/* --- parsing --------------------------------------------------------------------------------- */

static const char *const names[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };

/* Cuts off what is before one of `separators`, without blanks around it; NULL: the end. */
static char *next_part(char **text, const char *separators) {
    char *part = *text;
    if (!part)
        return NULL;
    char *end = part + strcspn(part, separators);
    *text = *end ? end + 1 : NULL;
    *end = '\0';
    part += strspn(part, " \t");
    for (end = part + strlen(part); end > part && isspace((unsigned char)end[-1]);)
        *--end = '\0';
    return part;
}

static int parse_day(const char *text, int *ret, struct error *err) {
    for (int i = 0; i < 7; i++)
        if (strcasecmp(text, names[i]) == 0) {
            *ret = i;
            return 0;
        }
    return error_set(err, -EINVAL, "'%s' is not a day: use mon, tue, wed, thu, fri, sat or sun",
                     text);
}

/* "mon-fri,sun"; a range may cross the end of the week. */
static int parse_days(char *text, uint8_t *ret, struct error *err) {
    *ret = 0;
    for (char *item; (item = next_part(&text, ","));) {
        int from = 0, to = 0, r;
        char *last = item;
        char *first = next_part(&last, "-");
        if ((r = parse_day(first, &from, err)) < 0)
            return r;
        to = from;
        if (last && (r = parse_day(last, &to, err)) < 0)
            return r;
        for (int day = from;; day = (day + 1) % 7) {
            *ret |= (uint8_t)(1 << day);
            if (day == to)
                break;
        }
    }
    return 0;
}

static int parse_time(const char *text, int *ret, struct error *err) {
    int hour = 0, minute = 0;
    char rest;
    if (strlen(text) > 5 || !isdigit((unsigned char)text[0])
        || sscanf(text, "%2d:%2d%c", &hour, &minute, &rest) != 2 || hour < 0 || minute < 0
        || minute > 59 || hour * 60 + minute > DAY_MINUTES)
        return error_set(err, -EINVAL, "'%s' is not a time from 00:00 to 24:00", text);
    *ret = hour * 60 + minute;
    return 0;
}

static int parse_times(char *text, struct hours_window *window, struct error *err) {
    int r;
    char *last = text;
    char *first = next_part(&last, "-");
    if (!last)
        return error_set(err, -EINVAL, "'%s' has no end: write 22:00-07:00", first);
    if ((r = parse_time(first, &window->begin, err)) < 0
        || (r = parse_time(last, &window->end, err)) < 0)
        return r;
    if (window->begin == window->end)
        return error_set(err, -EINVAL, "%s-%s is empty: write 00:00-24:00 for all day", first,
                         last);
    if (window->end < window->begin)
        window->end += DAY_MINUTES;
    return 0;
}

static int parse_window(char *text, struct hours_window *window, struct error *err) {
    *window = (struct hours_window){ .weekdays = EVERY_DAY, .end = DAY_MINUTES };
    /* The times begin at the first digit. */
    size_t split = strcspn(text, "0123456789");
    char *times = text + split;
    if (split > 0) {
        char days[64];
        if (split >= sizeof(days))
            return error_set(err, -EINVAL, "'%.60s…' is not a list of days", text);
        (void)snprintf(days, sizeof(days), "%.*s", (int)split, text);
        char *list = days;
        int r = parse_days(next_part(&list, ""), &window->weekdays, err);
        if (r < 0)
            return r;
    }
    return *times ? parse_times(times, window, err) : 0;
}

int hours_parse(const char *text, struct hours *ret, struct error *err) {
    char copy[512];
    char *rest = copy;
    int r = 0;
    *ret = (struct hours){ 0 };
    if (strlen(text) >= sizeof(copy))
        r = error_set(err, -EINVAL, "longer than %zu characters", sizeof(copy) - 1);
    else
        (void)snprintf(copy, sizeof(copy), "%s", text);
    for (char *part; r == 0 && (part = next_part(&rest, ";"));) {
        if (!*part)
            r = error_set(err, -EINVAL, "a window is empty: write mon-fri 22:00-07:00");
        else if (ret->count == HOURS_MAX)
            r = error_set(err, -EINVAL, "more than %d windows", HOURS_MAX);
        else
            r = parse_window(part, &ret->windows[ret->count++], err);
    }
    return r < 0 ? error_prefix(err, "hours '%.80s'", text) : 0;
}

/* --- lookup ---------------------------------------------------------------------------------- */

bool hours_are_open(const struct hours *hours, const struct zone *zone, int64_t utc) {
    struct calendar_time t = calendar_fields(zone_local(zone, utc));
    int minute = t.hour * 60 + t.minute, yesterday = (t.weekday + 6) % 7;
    for (size_t i = 0; i < hours->count; i++) {
        const struct hours_window *w = &hours->windows[i];
        bool today = w->weekdays >> t.weekday & 1 && minute >= w->begin && minute < w->end;
        bool from_yesterday = w->weekdays >> yesterday & 1 && minute + DAY_MINUTES < w->end;
        if (today || from_yesterday)
            return true;
    }
    return false;
}

struct search {
    const struct hours *hours;
    const struct zone *zone;
    int64_t after, best;
    bool open; /* at `after` */
};

static void try_change(struct search *x, int64_t candidate) {
    if (candidate > x->after && candidate < x->best
        && hours_are_open(x->hours, x->zone, candidate) != x->open)
        x->best = candidate;
}

/* The state changes only at a begin or an end of a window, or when clocks change. Every week is the
 * same, so a change is within 8 days, or a clock change away. A day that begins a day after the
 * change that was found has no earlier one, whatever clocks do. */
int64_t hours_next_change(const struct hours *hours, const struct zone *zone, int64_t utc) {
    struct search x = { .hours = hours,
                        .zone = zone,
                        .after = utc,
                        .best = INT64_MAX,
                        .open = hours_are_open(hours, zone, utc) };
    int64_t today = zone_local(zone, utc);
    today -= (today % DAY + DAY) % DAY;
    for (int day = -2; day <= 9; day++) {
        int64_t begin = today + (int64_t)day * DAY;
        if (x.best != INT64_MAX && begin > zone_local(zone, x.best) + DAY)
            break;
        for (size_t i = 0; i < hours->count; i++) {
            const struct hours_window *w = &hours->windows[i];
            int64_t ends[] = { w->begin * 60, w->end * 60 };
            for (size_t k = 0; k < 2; k++) {
                struct zone_moment m = zone_find(zone, begin + ends[k]);
                try_change(&x, m.first);
                try_change(&x, m.second);
            }
        }
    }
    int64_t clocks = zone_next_change(zone, utc);
    for (int i = 0; i < 2 && clocks < x.best; i++, clocks = zone_next_change(zone, clocks))
        try_change(&x, clocks);
    return x.best;
}
