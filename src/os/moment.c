/* moment.c: parses durations and times exactly. Only the calendar is the C library's. */
#include "os/moment.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/number.h"

/* The unit is required, because a plain number is ambiguous. */
int moment_parse_span(const char *text, time_ms *ret_span, struct error *err) {
    size_t length = strlen(text);
    if (length < 2 || !isalpha((unsigned char)text[length - 1]))
        return error_set(err, -EINVAL, "not a span: '%.100s' (examples: 90s, 30m, 2h, 1d)", text);
    return number_parse_span(text, ret_span, err);
}

/* Exactly `count` digits. */
static bool take_digits(const char **at, int count, int *ret) {
    int value = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if (!isdigit((unsigned char)**at))
            return false;
        value = value * 10 + (**at - '0');
    }
    *ret = value;
    return true;
}

static bool take_letter(const char **at, char letter) {
    if (**at != letter)
        return false;
    (*at)++;
    return true;
}

/* HH:MM or HH:MM:SS, complete. */
static bool parse_clock(const char *at, struct tm *tm) {
    tm->tm_sec = 0;
    return take_digits(&at, 2, &tm->tm_hour) && take_letter(&at, ':')
           && take_digits(&at, 2, &tm->tm_min)
           && (!*at || (take_letter(&at, ':') && take_digits(&at, 2, &tm->tm_sec) && !*at))
           && tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec < 60;
}

/* YYYY-MM-DD, optionally followed by T or a blank and a time. */
static bool parse_day(const char *at, struct tm *tm) {
    int year, month;
    tm->tm_hour = tm->tm_min = tm->tm_sec = 0;
    if (!take_digits(&at, 4, &year) || !take_letter(&at, '-') || !take_digits(&at, 2, &month)
        || !take_letter(&at, '-') || !take_digits(&at, 2, &tm->tm_mday))
        return false;
    tm->tm_year = year - 1900;
    tm->tm_mon = month - 1;
    if (year < 1970 || month < 1 || month > 12 || tm->tm_mday < 1 || tm->tm_mday > 31)
        return false;
    if (!*at)
        return true;
    return (take_letter(&at, 'T') || take_letter(&at, ' ')) && parse_clock(at, tm);
}

int moment_parse(const char *text, time_ms now, time_ms *ret_at, struct error *err) {
    time_ms span = 0;
    if (moment_parse_span(text, &span, NULL) == 0) {
        *ret_at = time_add(now, span);
        return 0;
    }
    time_t seconds = now / 1000;
    struct tm tm;
    (void)localtime_r(&seconds, &tm);
    tm.tm_isdst = -1; /* let mktime decide */
    bool of_day = parse_clock(text, &tm);
    if (!of_day && !parse_day(text, &tm))
        return error_set(err, -EINVAL,
                         "not a moment: '%.100s' (examples: 30m, 18:30, 2027-01-31, "
                         "2027-01-31T18:30)",
                         text);
    int day = tm.tm_mday;
    time_ms at = SECONDS(mktime(&tm));
    if (!of_day && tm.tm_mday != day)
        return error_set(err, -EINVAL, "there is no such day: '%.100s'", text);
    if (of_day && at <= now) {
        tm.tm_mday++; /* one calendar day, which is not always 24 hours */
        tm.tm_isdst = -1;
        at = SECONDS(mktime(&tm));
    }
    *ret_at = at;
    return 0;
}

int moment_parse_past(const char *text, time_ms now, time_ms *ret_at, struct error *err) {
    time_ms at = 0;
    int r = moment_parse(text, now, &at, err);
    if (r < 0)
        return r;
    if (moment_parse_span(text, &at, NULL) == 0)
        at = now - at;
    else if (at > now && strchr(text, ':') && !strchr(text, '-'))
        (void)moment_parse(text, now - DAYS(1), &at, NULL); /* the next one since yesterday */
    if (at >= now)
        return error_set(err, -EINVAL, "'%.100s' is yet to come", text);
    if (at < 0)
        return error_set(err, -EINVAL, "'%.100s' is before 1970", text);
    *ret_at = at;
    return 0;
}
