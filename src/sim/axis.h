/* axis.h: a time axis with marks at round times. */
#pragma once

#include "base/strbuf.h"
#include "base/time_ms.h"

struct axis {
    time_ms span; /* from 0 to here; at least 1 */
    time_ms step; /* between two marks */
};

/* At most `marks` marks besides the one at 0. */
struct axis axis_choose(time_ms span, unsigned marks);
/* The label of the mark at `at`: "250 ms", "1:30" (with the unit the axis has), "3 d". */
void axis_label(const struct axis *axis, time_ms at, struct strbuf *out);
/* What the labels are: "ms", "m:ss", "h:mm", "days". */
const char *axis_unit(const struct axis *axis);
