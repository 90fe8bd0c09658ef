/* no_waits.h: moves the clocks of a test program that is linked with no_waits.c. */
#pragma once

/* Time passes on all clocks at once, as during a suspend. */
void clock_skip(long long ms);
/* The wall clock is set; negative: back. The others go on. */
void clock_shift_wall(long long ms);
