/* zone.c: see zone.h. */
#include "calendar/zone.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define DAY  86400
#define WEEK (7 * DAY)

/* --- calendar -------------------------------------------------------------------------------- */

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* Days since 1970-01-01 in the proleptic Gregorian calendar. Years begin in March, so that the leap
 * day is the last day of a year; 146097 days are 400 years. */
static int64_t days_from_date(int64_t year, int month, int day) {
    year -= month <= 2;
    int64_t era = floor_div(year, 400);
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

int64_t calendar_local(int64_t year, int month, int day) {
    return days_from_date(year, month, day) * DAY;
}

static bool is_leap(int64_t year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int calendar_days_in(int64_t year, int month) {
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    return days[month - 1] + (month == 2 && is_leap(year));
}

struct calendar_time calendar_fields(int64_t local) {
    int64_t days = floor_div(local, DAY), rest = local - days * DAY;
    int64_t shifted = days + 719468, era = floor_div(shifted, 146097);
    int64_t day_of_era = shifted - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct calendar_time t = { .day = (int)(day_of_year - (153 * month + 2) / 5 + 1),
                               .month = (int)(month < 10 ? month + 3 : month - 9),
                               .hour = (int)(rest / 3600),
                               .minute = (int)(rest / 60 % 60),
                               .second = (int)(rest % 60) };
    t.year = year_of_era + era * 400 + (t.month <= 2);
    t.weekday = (int)(((days + 4) % 7 + 7) % 7);
    return t;
}

/* --- the rule behind the last transition ----------------------------------------------------- */

/* One end of daylight saving time: a day of the year and a time of that day. */
struct rule_date {
    enum { RULE_JULIAN, RULE_DAY, RULE_WEEKDAY } kind;
    int month, week, day; /* RULE_WEEKDAY: week 5 is the last one. Else only `day`. */
    int64_t time;         /* local seconds, -167 h to 167 h */
};

/* A POSIX TZ string, such as CET-1CEST,M3.5.0,M10.5.0/3. */
struct rule {
    bool exists, has_dst;
    int64_t standard, dst; /* seconds east of UTC */
    struct rule_date begin, end;
};

struct zone {
    char *name;
    size_t count;
    int64_t *at;      /* sorted; offset[i] applies from at[i] on */
    int64_t *offset;  /* of each transition */
    int64_t first;    /* before the first transition */
    struct rule rule; /* from the last transition on */
};

static bool take_char(const char **text, char wanted) {
    if (**text != wanted)
        return false;
    ++*text;
    return true;
}

/* "CET" or "<+0330>" */
static bool take_abbreviation(const char **text) {
    const char *begin = *text;
    if (take_char(text, '<')) {
        *text += strcspn(*text, ">");
        return take_char(text, '>');
    }
    while (isalpha((unsigned char)**text))
        ++*text;
    return *text - begin >= 3;
}

static bool take_number(const char **text, int64_t min, int64_t max, int64_t *ret) {
    if (!isdigit((unsigned char)**text))
        return false;
    int64_t value = 0;
    for (; isdigit((unsigned char)**text); ++*text)
        if ((value = value * 10 + **text - '0') > max)
            return false;
    *ret = value;
    return value >= min;
}

/* [+-]h[h][:mm[:ss]] */
static bool take_time(const char **text, int64_t max_hours, int64_t *ret) {
    int64_t hours, minutes = 0, seconds = 0;
    bool negative = take_char(text, '-');
    if (!negative)
        (void)take_char(text, '+');
    if (!take_number(text, 0, max_hours, &hours))
        return false;
    if (take_char(text, ':')) {
        if (!take_number(text, 0, 59, &minutes))
            return false;
        if (take_char(text, ':') && !take_number(text, 0, 59, &seconds))
            return false;
    }
    *ret = (hours * 3600 + minutes * 60 + seconds) * (negative ? -1 : 1);
    return true;
}

static bool take_date(const char **text, struct rule_date *ret) {
    int64_t month, week, day;
    *ret = (struct rule_date){ .time = 2 * 3600 };
    if (!take_char(text, ','))
        return false;
    if (take_char(text, 'M')) {
        if (!take_number(text, 1, 12, &month) || !take_char(text, '.')
            || !take_number(text, 1, 5, &week) || !take_char(text, '.')
            || !take_number(text, 0, 6, &day))
            return false;
        ret->kind = RULE_WEEKDAY;
        ret->month = (int)month;
        ret->week = (int)week;
    } else {
        ret->kind = take_char(text, 'J') ? RULE_JULIAN : RULE_DAY;
        if (!take_number(text, ret->kind == RULE_JULIAN, 365, &day))
            return false;
    }
    ret->day = (int)day;
    return !take_char(text, '/') || take_time(text, 167, &ret->time);
}

/* Offsets in the string count westwards. */
static bool rule_parse(const char *text, struct rule *ret) {
    int64_t west;
    *ret = (struct rule){ .exists = true };
    if (!take_abbreviation(&text) || !take_time(&text, 24, &west))
        return false;
    ret->standard = ret->dst = -west;
    if (!*text)
        return true;
    ret->has_dst = true;
    ret->dst = ret->standard + 3600;
    if (!take_abbreviation(&text))
        return false;
    if (*text != ',') {
        if (!take_time(&text, 24, &west))
            return false;
        ret->dst = -west;
    }
    return take_date(&text, &ret->begin) && take_date(&text, &ret->end) && !*text;
}

/* The local time, on the clock that applies before the change. */
static int64_t rule_local(const struct rule_date *date, int64_t year) {
    int64_t day = days_from_date(year, 1, 1);
    if (date->kind == RULE_DAY) {
        day += date->day;
    } else if (date->kind == RULE_JULIAN) { /* 1 to 365; never February 29 */
        day += date->day - 1 + (is_leap(year) && date->day >= 60);
    } else {
        int64_t first = days_from_date(year, date->month, 1);
        int64_t weekday = ((first + 4) % 7 + 7) % 7;
        day = first + (date->day - weekday + 7) % 7 + (int64_t)(date->week - 1) * 7;
        while (day - first >= calendar_days_in(year, date->month))
            day -= 7;
    }
    return day * DAY + date->time;
}

static int64_t rule_begin(const struct rule *rule, int64_t year) {
    return rule_local(&rule->begin, year) - rule->standard;
}

static int64_t rule_end(const struct rule *rule, int64_t year) {
    return rule_local(&rule->end, year) - rule->dst;
}

static int64_t rule_offset(const struct rule *rule, int64_t utc) {
    if (!rule->has_dst)
        return rule->standard;
    /* The last change decides; it is in this year or the year before. */
    int64_t year = calendar_fields(utc + rule->standard).year, last = INT64_MIN;
    int64_t offset = rule->standard;
    for (int64_t y = year - 1; y <= year + 1; y++) {
        int64_t begin = rule_begin(rule, y), end = rule_end(rule, y);
        if (begin <= utc && begin >= last) {
            last = begin;
            offset = rule->dst;
        }
        if (end <= utc && end >= last) {
            last = end;
            offset = rule->standard;
        }
    }
    return offset;
}

static int64_t rule_next_change(const struct rule *rule, int64_t utc) {
    if (!rule->has_dst || rule->dst == rule->standard)
        return INT64_MAX;
    int64_t year = calendar_fields(utc + rule->standard).year, next = INT64_MAX;
    for (int64_t y = year - 1; y <= year + 2; y++) {
        int64_t ends[] = { rule_begin(rule, y), rule_end(rule, y) };
        for (size_t i = 0; i < 2; i++)
            if (ends[i] > utc && ends[i] < next
                && rule_offset(rule, ends[i]) != rule_offset(rule, ends[i] - 1))
                next = ends[i];
    }
    return next;
}

/* --- TZif ------------------------------------------------------------------------------------ */

#define HEADER_SIZE 44

struct counts {
    size_t isut, isstd, leap, time, type, chars;
};

static uint32_t read_u32(const unsigned char *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t read_time(const unsigned char *p, size_t width) {
    if (width == 4)
        return (int32_t)read_u32(p);
    return (int64_t)((uint64_t)read_u32(p) << 32 | read_u32(p + 4));
}

static bool header_read(const unsigned char *data, size_t size, struct counts *ret) {
    if (size < HEADER_SIZE || memcmp(data, "TZif", 4) != 0)
        return false;
    *ret = (struct counts){ read_u32(data + 20), read_u32(data + 24), read_u32(data + 28),
                            read_u32(data + 32), read_u32(data + 36), read_u32(data + 40) };
    return true;
}

static size_t body_size(const struct counts *n, size_t width) {
    return n->time * width + n->time + n->type * 6 + n->chars + n->leap * (width + 4) + n->isstd
           + n->isut;
}

/* Fills transitions and the offset before the first one: that of the first type (RFC 8536, 3.2). */
static bool body_read(struct zone *zone, const unsigned char *body, const struct counts *n,
                      size_t width) {
    const unsigned char *kinds = body + n->time * width, *types = kinds + n->time;
    if (n->type == 0)
        return false;
    zone->count = n->time;
    zone->at = xcalloc(n->time + 1, sizeof(*zone->at));
    zone->offset = xcalloc(n->time + 1, sizeof(*zone->offset));
    zone->first = (int32_t)read_u32(types);
    for (size_t i = 0; i < n->time; i++) {
        if (kinds[i] >= n->type)
            return false;
        zone->at[i] = read_time(body + i * width, width);
        zone->offset[i] = (int32_t)read_u32(types + kinds[i] * 6);
        if (i > 0 && zone->at[i] <= zone->at[i - 1])
            return false;
    }
    return true;
}

/* "\nTZ\n"; an empty TZ: no rule. */
static bool footer_read(struct zone *zone, const char *footer, size_t size) {
    char text[128];
    const char *end = size > 1 ? memchr(footer + 1, '\n', size - 1) : NULL;
    if (!end || footer[0] != '\n' || (size_t)(end - footer) > sizeof(text))
        return false;
    memcpy(text, footer + 1, (size_t)(end - footer - 1));
    text[end - footer - 1] = '\0';
    return !text[0] || rule_parse(text, &zone->rule);
}

static bool tzif_read(struct zone *zone, const unsigned char *data, size_t size) {
    struct counts n;
    if (!header_read(data, size, &n))
        return false;
    size_t body = body_size(&n, 4);
    if (size - HEADER_SIZE < body)
        return false;
    if (data[4] < '2') /* version 1: 32-bit times, no rule */
        return body_read(zone, data + HEADER_SIZE, &n, 4);
    data += HEADER_SIZE + body;
    size -= HEADER_SIZE + body;
    if (!header_read(data, size, &n) || size - HEADER_SIZE < body_size(&n, 8))
        return false;
    body = HEADER_SIZE + body_size(&n, 8);
    return body_read(zone, data + HEADER_SIZE, &n, 8)
           && footer_read(zone, (const char *)data + body, size - body);
}

int zone_parse(const char *name, const void *data, size_t size, struct zone **ret,
               struct error *err) {
    struct zone *zone = xcalloc(1, sizeof(*zone));
    zone->name = xstrdup(name);
    if (!tzif_read(zone, data, size)) {
        zone_free(zone);
        return error_set(err, -EINVAL, "the zoneinfo file of time zone '%s' is damaged", name);
    }
    *ret = zone;
    return 0;
}

struct zone *zone_new_utc(void) {
    struct zone *zone = xcalloc(1, sizeof(*zone));
    zone->name = xstrdup("UTC");
    return zone;
}

struct zone *zone_free(struct zone *zone) {
    if (zone) {
        free(zone->name);
        free(zone->at);
        free(zone->offset);
        free(zone);
    }
    return NULL;
}

const char *zone_name(const struct zone *zone) {
    return zone->name;
}

/* --- lookup ---------------------------------------------------------------------------------- */

/* The number of transitions at or before `utc`. */
static size_t transitions_before(const struct zone *zone, int64_t utc) {
    size_t low = 0, high = zone->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (zone->at[middle] <= utc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t zone_offset(const struct zone *zone, int64_t utc) {
    size_t before = transitions_before(zone, utc);
    if (before == zone->count && zone->rule.exists)
        return rule_offset(&zone->rule, utc);
    return before > 0 ? zone->offset[before - 1] : zone->first;
}

int64_t zone_next_change(const struct zone *zone, int64_t utc) {
    for (size_t i = transitions_before(zone, utc); i < zone->count; i++)
        if (zone_offset(zone, zone->at[i]) != zone_offset(zone, zone->at[i] - 1))
            return zone->at[i];
    return zone->rule.exists ? rule_next_change(&zone->rule, utc) : INT64_MAX;
}

/* Offsets are at most 26 h (some zones crossed the date line), and no two changes are closer than
 * that in practice; all changes within reach are tried. */
struct zone_moment zone_find(const struct zone *zone, int64_t local) {
    struct zone_moment moment = { .fit = ZONE_SKIPPED };
    int64_t from = local - 2 * DAY, until = local + 2 * DAY;
    bool found = false;
    for (int64_t begin = from; begin < until;) {
        int64_t end = zone_next_change(zone, begin), utc = local - zone_offset(zone, begin);
        if (utc >= begin && utc < end) {
            if (found) {
                moment.fit = ZONE_TWICE;
                moment.second = utc;
                return moment;
            }
            moment = (struct zone_moment){ .fit = ZONE_ONCE, .first = utc, .second = utc };
            found = true;
        } else if (!found && utc >= end && local < zone_local(zone, end)) {
            moment.first = moment.second = end; /* the jump over it */
        }
        begin = end;
    }
    return moment;
}
