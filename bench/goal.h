/* goal.h: prints whether a goal of a benchmark was met. */
#pragma once

#include <stdbool.h>

void bench_goal(bool met, const char *format, ...) __attribute__((format(printf, 2, 3)));
int bench_missed(void); /* number of goals that were missed */
