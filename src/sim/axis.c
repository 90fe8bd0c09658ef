/* axis.c: which times deserve a mark. People count in 5, 15 and 30 minutes, not in 7. */
#include "sim/axis.h"

#include <inttypes.h>

static const time_ms steps[] = {
    1,           2,          5,          10,         20,          50,          100,
    200,         500,        SECONDS(1), SECONDS(2), SECONDS(5),  SECONDS(10), SECONDS(15),
    SECONDS(30), MINUTES(1), MINUTES(2), MINUTES(5), MINUTES(10), MINUTES(15), MINUTES(30),
    HOURS(1),    HOURS(2),   HOURS(3),   HOURS(6),   HOURS(12),   DAYS(1),     DAYS(2),
    DAYS(7),     DAYS(14),   DAYS(30),   DAYS(90),   DAYS(365),
};

struct axis axis_choose(time_ms span, unsigned marks) {
    struct axis axis = { .span = span < 1 ? 1 : span, .step = steps[0] };
    if (marks < 1)
        marks = 1;
    for (size_t i = 0; i < ARRAY_SIZE(steps) && axis.span / axis.step > (time_ms)marks; i++)
        axis.step = steps[i];
    while (axis.span / axis.step > (time_ms)marks)
        axis.step *= 2;
    return axis;
}

void axis_label(const struct axis *axis, time_ms at, struct strbuf *out) {
    if (axis->step < SECONDS(1))
        strbuf_printf(out, "%" PRId64, at);
    else if (axis->step < MINUTES(1))
        strbuf_printf(out, "%" PRId64 ":%02" PRId64, at / MINUTES(1), at / 1000 % 60);
    else if (axis->step < DAYS(1))
        strbuf_printf(out, "%" PRId64 ":%02" PRId64, at / HOURS(1), at / MINUTES(1) % 60);
    else
        strbuf_printf(out, "%" PRId64 " d", at / DAYS(1));
}

const char *axis_unit(const struct axis *axis) {
    if (axis->step < SECONDS(1))
        return "ms";
    if (axis->step < MINUTES(1))
        return "m:ss";
    return axis->step < DAYS(1) ? "h:mm" : "days";
}
