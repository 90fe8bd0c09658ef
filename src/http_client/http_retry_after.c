/* http_retry_after.c: when does a server want to be asked again?
 *
 * Pure. Seconds, or a date as servers write it today; its two older forms are not read. Anybody may be
 * listening there, so the answer is bounded, and what cannot be read says nothing. */
#include "http_client/http_client.h"

#include <string.h>
#include <time.h>

#define DATE_SIZE 29u /* Sun, 06 Nov 1994 08:49:37 GMT */

/* `size` digits; -1: they are none. */
static int digits(const char *text, size_t size) {
    int number = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        number = 10 * number + (text[i] - '0');
    }
    return number;
}

static int month_of(const char *text) {
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int i = 0; i < 12; i++)
        if (strncmp(text, names + 3 * (size_t)i, 3) == 0)
            return i;
    return -1;
}

/* A point in time; -1: it is none. */
static time_ms read_date(const char *text) {
    static const char form[] = "..., .. ... .... ..:..:.. GMT";
    _Static_assert(sizeof(form) - 1 == DATE_SIZE, "the form is not as long as a date");
    for (size_t i = 0; i < DATE_SIZE; i++)
        if (form[i] != '.' && form[i] != text[i])
            return -1;
    struct tm day = { .tm_mday = digits(text + 5, 2),
                      .tm_mon = month_of(text + 8),
                      .tm_year = digits(text + 12, 4),
                      .tm_hour = digits(text + 17, 2),
                      .tm_min = digits(text + 20, 2),
                      .tm_sec = digits(text + 23, 2) };
    if (day.tm_mday < 1 || day.tm_mon < 0 || day.tm_year < 1970 || day.tm_hour < 0 || day.tm_min < 0
        || day.tm_sec < 0)
        return -1;
    day.tm_year -= 1900;
    return (time_ms)timegm(&day) * 1000;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

time_ms http_retry_after(const char *value, size_t size, time_ms now) {
    for (; size > 0 && is_blank(*value); size--)
        value++;
    while (size > 0 && is_blank(value[size - 1]))
        size--;
    time_ms span = 0;
    size_t count = 0;
    while (count < size && digits(value + count, 1) >= 0)
        count++;
    if (size > 0 && count == size) /* more than six digits is longer than anybody waits */
        span = size > 6 ? HTTP_RETRY_AFTER_MAX : SECONDS(digits(value, size));
    else if (size == DATE_SIZE)
        span = read_date(value) - now;
    return time_max(0, time_min(span, HTTP_RETRY_AFTER_MAX));
}
