/* clock.h: the only place that reads a clock. Read once per turn and pass the value on. */
#pragma once

#include "base/time_ms.h"

/* Milliseconds since the epoch, as the wall shows it. */
time_ms clock_read(void);
/* Milliseconds since some moment; never goes back. For measuring how long something took. */
time_ms clock_read_steady(void);
