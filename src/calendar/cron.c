/* cron.c: see cron.h. */
#include "calendar/cron.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DAY   86400
#define YEARS 100

/* --- parsing --------------------------------------------------------------------------------- */

struct field {
    const char *name;
    int min, max;
    const char *const *words; /* names of the values from `min` on; NULL: none */
    size_t word_count;
};

static const char *const month_names[] = { "jan", "feb", "mar", "apr", "may", "jun",
                                           "jul", "aug", "sep", "oct", "nov", "dec" };
static const char *const weekday_names[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };

static const struct field fields[] = {
    { "minute", 0, 59, NULL, 0 },
    { "hour", 0, 23, NULL, 0 },
    { "day of the month", 1, 31, NULL, 0 },
    { "month", 1, 12, month_names, 12 },
    { "day of the week", 0, 7, weekday_names, 7 },
};

static const struct {
    const char *name, *text;
} shortcuts[] = {
    { "@yearly", "0 0 1 1 *" }, { "@annually", "0 0 1 1 *" }, { "@monthly", "0 0 1 * *" },
    { "@weekly", "0 0 * * 0" }, { "@daily", "0 0 * * *" },    { "@midnight", "0 0 * * *" },
    { "@hourly", "0 * * * *" },
};

static int parse_value(const struct field *field, const char *text, int *ret, struct error *err) {
    for (size_t i = 0; i < field->word_count; i++)
        if (strcasecmp(text, field->words[i]) == 0) {
            *ret = field->min + (int)i;
            return 0;
        }
    int value = 0;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || text[digits])
        return error_set(err, -EINVAL, "%s '%s' is not a number%s%s", field->name, text,
                         field->words ? " or a name such as " : "",
                         field->words ? field->words[0] : "");
    for (const char *p = text; *p && value <= field->max; p++)
        value = value * 10 + *p - '0';
    if (value < field->min || value > field->max)
        return error_set(err, -EINVAL, "%s %s is out of range: use %d to %d", field->name, text,
                         field->min, field->max);
    *ret = value;
    return 0;
}

/* VALUE, VALUE-VALUE or *, with an optional /STEP. */
static int parse_item(const struct field *field, char *text, uint64_t *bits, struct error *err) {
    int from = field->min, to = field->max, step = 1, r;
    char *slash = strchr(text, '/');
    if (slash) {
        *slash++ = '\0';
        size_t digits = strspn(slash, "0123456789");
        step = digits > 0 && digits <= 2 && !slash[digits] ? (int)strtol(slash, NULL, 10) : 0;
        if (step < 1)
            return error_set(err, -EINVAL, "%s: step '%s' is not a number from 1 to 99",
                             field->name, slash);
    }
    if (strcmp(text, "*") != 0) {
        char *dash = strchr(text, '-');
        if (dash)
            *dash++ = '\0';
        if ((r = parse_value(field, text, &from, err)) < 0)
            return r;
        if (dash && (r = parse_value(field, dash, &to, err)) < 0)
            return r;
        if (!dash && !slash)
            to = from;
        if (dash && to == 0 && field->max == 7) /* fri-sun */
            to = 7;
        if (to < from)
            return error_set(err, -EINVAL, "%s: range %s-%s is reversed", field->name, text, dash);
    }
    for (int value = from; value <= to; value += step)
        *bits |= 1ULL << value;
    return 0;
}

static int parse_field(const struct field *field, char *text, uint64_t *ret, struct error *err) {
    uint64_t bits = 0;
    for (char *item = text; item;) {
        char *comma = strchr(item, ',');
        if (comma)
            *comma = '\0';
        if (!*item)
            return error_set(err, -EINVAL, "%s: a value is missing beside a comma", field->name);
        int r = parse_item(field, item, &bits, err);
        if (r < 0)
            return r;
        item = comma ? comma + 1 : NULL;
    }
    *ret = bits;
    return 0;
}

/* Whether some month has one of the days. */
static bool can_occur(const struct cron *cron) {
    if (!cron->any_weekday || cron->any_day)
        return true;
    for (int month = 1; month <= 12; month++)
        for (int day = 1; cron->months >> month & 1 && day <= calendar_days_in(2000, month); day++)
            if (cron->days >> day & 1)
                return true;
    return false;
}

/* Cuts the next word off `text`; NULL: none. */
static char *next_word(char **text) {
    char *word = *text + strspn(*text, " \t");
    char *end = word + strcspn(word, " \t");
    *text = *end ? end + 1 : end;
    *end = '\0';
    return *word ? word : NULL;
}

static int parse_fields(char *text, struct cron *ret, struct error *err) {
    uint64_t bits[5];
    bool any[5];
    size_t count = 0;
    for (char *word = next_word(&text); word; word = next_word(&text)) {
        if (count == 5)
            return error_set(err, -EINVAL, "it has more than 5 fields");
        any[count] = word[0] == '*';
        int r = parse_field(&fields[count], word, &bits[count], err);
        if (r < 0)
            return r;
        count++;
    }
    if (count < 5)
        return error_set(err, -EINVAL,
                         "it has %zu of 5 fields: minute, hour, day of the month, month, day of "
                         "the week",
                         count);
    *ret = (struct cron){ .minutes = bits[0],
                          .hours = (uint32_t)bits[1],
                          .days = (uint32_t)bits[2],
                          .months = (uint16_t)bits[3],
                          .weekdays = (uint8_t)((bits[4] | bits[4] >> 7) & 0x7F),
                          .any_hour = any[1],
                          .any_day = any[2],
                          .any_weekday = any[4] };
    return can_occur(ret) ? 0 : error_set(err, -EINVAL, "no month has such a day");
}

int cron_parse(const char *text, struct cron *ret, struct error *err) {
    char copy[256];
    const char *expression = text;
    int r;
    if (text[0] == '@') {
        expression = NULL;
        for (size_t i = 0; i < sizeof(shortcuts) / sizeof(shortcuts[0]); i++)
            if (strcasecmp(text, shortcuts[i].name) == 0)
                expression = shortcuts[i].text;
    }
    if (!expression) {
        r = error_set(err, -EINVAL,
                      "use @hourly, @daily, @weekly, @monthly, @yearly or five fields");
    } else if (strlen(expression) >= sizeof(copy)) {
        r = error_set(err, -EINVAL, "it is longer than %zu characters", sizeof(copy) - 1);
    } else {
        (void)snprintf(copy, sizeof(copy), "%s", expression);
        r = parse_fields(copy, ret, err);
    }
    return r < 0 ? error_prefix(err, "cron '%.80s'", text) : 0;
}

/* --- the next due time ----------------------------------------------------------------------- */

static bool fits_day(const struct cron *cron, const struct calendar_time *t) {
    bool day = cron->days >> t->day & 1, weekday = cron->weekdays >> t->weekday & 1;
    if (!(cron->months >> t->month & 1))
        return false;
    return cron->any_day || cron->any_weekday ? day && weekday : day || weekday;
}

static int64_t start_of_next_day(int64_t local) {
    return local - ((local % DAY + DAY) % DAY) + DAY;
}

/* The first local time at or after `local` that fits; INT64_MAX: none before `limit`. */
static int64_t next_local(const struct cron *cron, int64_t local, int64_t limit) {
    local = local % 60 ? local + 60 - ((local % 60) + 60) % 60 : local;
    while (local < limit) {
        struct calendar_time t = calendar_fields(local);
        if (!(cron->months >> t.month & 1))
            local = t.month == 12 ? calendar_local(t.year + 1, 1, 1)
                                  : calendar_local(t.year, t.month + 1, 1);
        else if (!fits_day(cron, &t))
            local = start_of_next_day(local);
        else if (!(cron->hours >> t.hour & 1))
            local += 3600 - t.minute * 60;
        else if (!(cron->minutes >> t.minute & 1))
            local += 60;
        else
            return local;
    }
    return INT64_MAX;
}

/* Each fitting local time once, in order; their moments do not decrease. Starts a day early, because
 * `after` may be the repetition of an hour. */
static int64_t next_fixed(const struct cron *cron, const struct zone *zone, int64_t after,
                          int64_t limit) {
    for (int64_t local = zone_local(zone, after) - DAY;; local += 60) {
        local = next_local(cron, local, limit);
        if (local == INT64_MAX)
            return INT64_MAX;
        struct zone_moment moment = zone_find(zone, local);
        if (moment.first > after)
            return moment.first;
    }
}

/* As the clock shows it: within one offset, local time is UTC plus a constant. */
static int64_t next_shown(const struct cron *cron, const struct zone *zone, int64_t after,
                          int64_t limit) {
    for (int64_t begin = after + 1;;) {
        int64_t end = zone_next_change(zone, begin), offset = zone_offset(zone, begin);
        int64_t local = next_local(cron, begin + offset, limit);
        if (local != INT64_MAX && local - offset < end)
            return local - offset;
        if (end == INT64_MAX || end + offset >= limit)
            return INT64_MAX;
        begin = end;
    }
}

int64_t cron_next(const struct cron *cron, const struct zone *zone, int64_t after) {
    int64_t limit = zone_local(zone, after) + (int64_t)YEARS * 366 * DAY;
    return cron->any_hour ? next_shown(cron, zone, after, limit)
                          : next_fixed(cron, zone, after, limit);
}
