/* cell.c: see cell.h. */
#include "cli/cell.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "cli/print_task.h"

static struct cell cell_of(const char *text) {
    struct cell ret = { "" };
    (void)snprintf(ret.text, sizeof(ret.text), "%s", text);
    return ret;
}

struct cell cell_number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    struct cell ret = { "-" };
    if (json_is_integer(value))
        (void)snprintf(ret.text, sizeof(ret.text), "%" JSON_INTEGER_FORMAT,
                       json_integer_value(value));
    else if (json_is_real(value))
        (void)snprintf(ret.text, sizeof(ret.text), "%.12g",
                       (double)(int64_t)(json_real_value(value) * 1000 + 0.5) / 1000);
    return ret;
}

struct cell cell_percent(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    struct cell ret = { "-" };
    if (json_is_number(value))
        (void)snprintf(ret.text, sizeof(ret.text), "%.0f%%", json_number_value(value) * 100);
    return ret;
}

struct cell cell_cap(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (json_is_string(value))
        return cell_of(json_string_value(value));
    return json_is_number(value) ? cell_number(object, key) : cell_of("unlimited");
}

struct cell cell_span(const json_t *object, const char *key, time_ms now) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value))
        return cell_of("-");
    time_ms at = json_integer_value(value);
    return cell_of(print_when(at, now).text);
}

struct cell cell_time(time_ms at) {
    time_t seconds = at / 1000;
    struct tm tm;
    struct cell ret = { "-" };
    if (localtime_r(&seconds, &tm))
        (void)strftime(ret.text, sizeof(ret.text), "%Y-%m-%d %H:%M:%S", &tm);
    return ret;
}
