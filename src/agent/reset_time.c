/* reset_time.c: parses the end of a limit from a text for people.
 *
 * Parsed after "reset", "try again", "retry", "available" or "wait":
 *   a point      4am · 4:28am · 16:28 · Nov 20, 4am · Nov 20th, 2026 4:31 AM · Monday at 9am ·
 *                tomorrow at 4am · 2026-11-20T04:00:00Z; "UTC", "GMT" or "UTC+2" may follow
 *   a span       in 1.5s · in 2h 13m · after 33013ms · in 3 days, 4 hours and 5 minutes
 * and the seconds since the epoch of "limit reached|1749924000".
 * A time of day without a date is the next one; one that passed a few minutes ago is that one.
 *
 * Agents print such texts in local time, often without the day. A guess that is too early costs one
 * probe run; too late may cost a night. So a time of day that has just passed does not mean
 * tomorrow, and unknown formats are ignored.
 *
 * Zones other than UTC count as local, because the text was printed on this machine. */
#include <ctype.h>
#include <string.h>

#include "agent/reader_internal.h"
#include "base/macros.h"

#define JUST_PASSED MINUTES(15)
#define SPAN_MOST   DAYS(400)
#define EPOCH_LEAST INT64_C(1000000000) /* seconds: 2001; smaller numbers are not times */
#define EPOCH_MOST  INT64_C(9999999999)

struct date {
    int year; /* 0: unknown */
    int month, day;
    int weekday; /* 0: Sunday; -1: unknown */
    bool has_day, is_tomorrow;
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return isalpha((unsigned char)c);
}

/* The end of the complete word at `at`, ignoring case; else NULL. */
static const char *word_here(const char *at, const char *word) {
    size_t length = strlen(word);
    return strncasecmp(at, word, length) == 0 && !is_letter(at[length]) ? at + length : NULL;
}

static const char *one_word_here(const char *at, const char *const *words, size_t count,
                                 size_t *ret_which) {
    for (size_t i = 0; i < count; i++) {
        const char *after = word_here(at, words[i]);
        if (after) {
            *ret_which = i;
            return after;
        }
    }
    return NULL;
}

static const char *number_here(const char *at, size_t most, int64_t *ret_number) {
    int64_t number = 0;
    size_t digits = 0;
    for (; is_digit(at[digits]); digits++) {
        if (digits == most)
            return NULL;
        number = number * 10 + (at[digits] - '0');
    }
    if (digits == 0)
        return NULL;
    *ret_number = number;
    return at + digits;
}

static const char *skip(const char *at, const char *bytes) {
    return at + strspn(at, bytes);
}

/* Days since the epoch; Gregorian calendar. */
static int64_t days_of(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    int64_t era = year / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int year_of(int64_t days) {
    int64_t year = 1970 + days / 366;
    while (days_of(year + 1, 1, 1) <= days)
        year++;
    return (int)year;
}

/* --- spans ------------------------------------------------------------------------------------ */

/* One "2.5 hours", in thousandths because of "1.5s". */
static const char *one_span_here(const char *at, time_ms *ret_span) {
    static const char *const names[] = {
        "ms",   "milliseconds", "s",       "sec",  "secs",  "second", "seconds", "m",     "min",
        "mins", "minute",       "minutes", "h",    "hr",    "hrs",    "hour",    "hours", "d",
        "day",  "days",         "w",       "week", "weeks",
    };
    static const time_ms spans[] = {
        1,       1,        1000,     1000,     1000,      1000,      1000,      60000,
        60000,   60000,    60000,    60000,    3600000,   3600000,   3600000,   3600000,
        3600000, 86400000, 86400000, 86400000, 604800000, 604800000, 604800000,
    };
    _Static_assert(ARRAY_SIZE(names) == ARRAY_SIZE(spans), "a unit has no length");
    int64_t whole, milli = 0;
    at = number_here(at, 9, &whole);
    if (!at)
        return NULL;
    if (*at == '.' && is_digit(at[1])) {
        int64_t place = 100;
        for (at++; is_digit(*at); at++, place /= 10)
            milli += (*at - '0') * place;
    }
    size_t which;
    at = one_word_here(skip(at, " "), names, ARRAY_SIZE(names), &which);
    if (!at || whole > SPAN_MOST / spans[which])
        return NULL;
    *ret_span = whole * spans[which] + milli * spans[which] / 1000;
    return at;
}

static bool span_here(const char *at, time_ms *ret_span) {
    time_ms sum = 0, one;
    bool any = false;
    for (const char *after; (after = one_span_here(at, &one)); any = true) {
        sum += one;
        at = skip(after, " ,");
        const char *and = word_here(at, "and");
        at = and? skip(and, " ") : at;
    }
    if (any)
        *ret_span = sum;
    return any;
}

/* --- points ----------------------------------------------------------------------------------- */

static const char *zone_here(const char *at, int32_t *offset_s) {
    const char *from = skip(at, " (");
    if (*from == 'Z' && !is_letter(from[1])) {
        *offset_s = 0;
        return from + 1;
    }
    const char *after = word_here(from, "utc");
    after = after ? after : word_here(from, "gmt");
    if (after)
        *offset_s = 0;
    else
        after = at;
    if (*after != '+' && *after != '-')
        return after;
    int sign = *after == '-' ? -1 : 1;
    int64_t hours, minutes = 0;
    const char *more = number_here(after + 1, 2, &hours);
    if (!more || hours > 14)
        return after;
    more = skip(more, ":");
    const char *end = number_here(more, 2, &minutes);
    *offset_s = sign * (int32_t)(hours * 3600 + (minutes < 60 ? minutes : 0) * 60);
    return end ? end : more;
}

/* 4am, 4:28 AM, 16:28, 16:28:30; seconds of the day. A bare number is not a time. */
static const char *clock_here(const char *at, int32_t *ret_second) {
    int64_t hour, minute = 0, second = 0;
    at = number_here(at, 2, &hour);
    if (!at)
        return NULL;
    bool has_minute = *at == ':' && is_digit(at[1]);
    if (has_minute && !(at = number_here(at + 1, 2, &minute)))
        return NULL;
    if (has_minute && *at == ':' && is_digit(at[1]) && !(at = number_here(at + 1, 2, &second)))
        return NULL;
    const char *half = skip(at, " "), *am = word_here(half, "am"), *pm = word_here(half, "pm");
    am = am ? am : word_here(half, "a.m.");
    pm = pm ? pm : word_here(half, "p.m.");
    bool is_half = am || pm;
    if ((!is_half && !has_minute) || hour > (is_half ? 12 : 23) || (is_half && hour == 0)
        || minute > 59 || second > 60)
        return NULL;
    if (is_half)
        hour = hour % 12 + (pm ? 12 : 0);
    *ret_second = (int32_t)(hour * 3600 + minute * 60 + second);
    return am ? am : pm ? pm : at;
}

static const char *month_day_here(const char *at, struct date *date) {
    static const char *const months[] = { "jan", "feb", "mar", "apr", "may", "jun",
                                          "jul", "aug", "sep", "oct", "nov", "dec" };
    for (size_t i = 0; i < ARRAY_SIZE(months); i++) {
        if (strncasecmp(at, months[i], 3) != 0)
            continue;
        const char *after = at + 3;
        while (is_letter(*after)) /* the rest of its name */
            after++;
        int64_t day, year;
        after = number_here(skip(after, ". "), 2, &day);
        if (!after || day < 1 || day > 31)
            return NULL;
        while (is_letter(*after)) /* 20th */
            after++;
        *date =
            (struct date){ .month = (int)i + 1, .day = (int)day, .has_day = true, .weekday = -1 };
        const char *more = number_here(skip(after, ", "), 4, &year);
        if (more && year >= 2000 && *more != ':') {
            date->year = (int)year;
            after = more;
        }
        return after;
    }
    return NULL;
}

static const char *iso_date_here(const char *at, struct date *date) {
    int64_t year, month, day;
    const char *after = number_here(at, 4, &year);
    if (!after || after - at != 4 || *after != '-')
        return NULL;
    after = number_here(after + 1, 2, &month);
    if (!after || *after != '-')
        return NULL;
    after = number_here(after + 1, 2, &day);
    if (!after || year < 2000 || month < 1 || month > 12 || day < 1 || day > 31)
        return NULL;
    *date = (struct date){
        .year = (int)year, .month = (int)month, .day = (int)day, .has_day = true, .weekday = -1
    };
    return *after == 'T' ? after + 1 : after;
}

static const char *date_here(const char *at, struct date *ret_date) {
    static const char *const days[] = { "sunday", "monday",   "tuesday", "wednesday", "thursday",
                                        "friday", "saturday", "sun",     "mon",       "tue",
                                        "wed",    "thu",      "fri",     "sat" };
    *ret_date = (struct date){ .weekday = -1 };
    size_t which;
    const char *after = word_here(at, "tomorrow");
    if (after) {
        ret_date->is_tomorrow = true;
        return after;
    }
    after = one_word_here(at, days, ARRAY_SIZE(days), &which);
    if (after) {
        const char *full = month_day_here(skip(after, ", "), ret_date);
        if (full)
            return full;
        *ret_date = (struct date){ .weekday = (int)(which % 7) };
        return after;
    }
    after = iso_date_here(at, ret_date);
    return after ? after : month_day_here(at, ret_date);
}

/* The day that the date means, since the epoch; `now` and `second` are local. */
static int64_t day_meant(const struct date *date, time_ms now, int32_t second) {
    int64_t today = now / DAYS(1);
    time_ms at_today = DAYS(today) + SECONDS(second);
    if (date->is_tomorrow)
        return today + 1;
    if (date->weekday >= 0) {
        int64_t ahead = (date->weekday - (today + 4) % 7 + 7) % 7; /* 1970 began on a Thursday */
        return today + (ahead == 0 && at_today + JUST_PASSED < now ? 7 : ahead);
    }
    if (!date->has_day)
        return today + (at_today + JUST_PASSED < now);
    if (date->year)
        return days_of(date->year, date->month, date->day);
    int64_t day = days_of(year_of(today), date->month, date->day);
    return day + 180 < today ? days_of(year_of(today) + 1, date->month, date->day) : day;
}

static bool point_here(const char *at, time_ms now, int32_t utc_offset_s, time_ms *ret_at) {
    struct date date;
    int32_t second = 0, offset = utc_offset_s;
    const char *after = date_here(at, &date), *clock = at;
    if (after) {
        clock = skip(after, ", ");
        const char *word = word_here(clock, "at");
        clock = word ? skip(word, " ") : clock;
    }
    const char *end = clock_here(clock, &second);
    if (!end && !(after && date.has_day))
        return false;
    if (end && *end == '.' && is_digit(end[1])) { /* fractions of a second */
        for (end++; is_digit(*end);)
            end++;
    }
    (void)zone_here(end ? end : after, &offset);
    time_ms shift = SECONDS(offset);
    int64_t day = day_meant(&date, now + shift, second);
    *ret_at = DAYS(day) + SECONDS(second) - shift;
    return true;
}

bool reset_time_iso(const char *text, time_ms *ret_at) {
    return is_digit(*text) && point_here(text, 0, 0, ret_at);
}

/* --- texts ------------------------------------------------------------------------------------ */

static bool time_after(const char *at, time_ms now, int32_t utc_offset_s, time_ms *ret_at) {
    bool is_span = false; /* "in" and "after" precede a span */
    for (; *at && !(*at == '.' && at[1] == ' '); at++) {
        bool begins = strchr(" (-", at[-1]) != NULL;
        if (!begins || !(is_digit(*at) || is_letter(*at)))
            continue;
        if (word_here(at, "in") || word_here(at, "after") || word_here(at, "for")) {
            is_span = true;
            continue;
        }
        time_ms span;
        if (is_span && span_here(at, &span)) {
            *ret_at = time_add(now, span);
            return true;
        }
        if (point_here(at, now, utc_offset_s, ret_at))
            return true;
        if (is_digit(*at))
            is_span = false;
    }
    return false;
}

static bool epoch_after_bar(const char *text, time_ms *ret_at) {
    const char *bar = strchr(text, '|');
    int64_t seconds;
    if (!bar || !number_here(bar + 1, 10, &seconds) || seconds < EPOCH_LEAST
        || seconds > EPOCH_MOST)
        return false;
    *ret_at = SECONDS(seconds);
    return true;
}

bool reset_time_find(const char *text, time_ms now, int32_t utc_offset_s, time_ms *ret_at) {
    static const char *const openers[] = { "reset",     "try again", "retry",  "retrying",
                                           "available", "wait",      "resets", "reset at" };
    if (epoch_after_bar(text, ret_at))
        return true;
    for (const char *at = text; *at; at++) {
        size_t which;
        if (at > text && is_letter(at[-1]))
            continue;
        const char *after = one_word_here(at, openers, ARRAY_SIZE(openers), &which);
        if (after && time_after(after, now, utc_offset_s, ret_at))
            return true;
    }
    return false;
}
