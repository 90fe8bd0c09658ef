/* clock.h: the only place that reads a clock. Read once per turn and pass the value on. */
#pragma once

#include <time.h>

#include "base/time_ms.h"

/* Wall-clock time: milliseconds since the epoch. */
time_ms clock_read(void);
/* Monotonic milliseconds; includes time in suspend. For durations. */
time_ms clock_read_steady(void);
/* Same in microseconds. */
int64_t clock_read_steady_us(void);
/* Wall-clock time as the kernel writes it to files: of the last tick. */
struct timespec clock_read_tick(void);
