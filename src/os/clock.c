/* clock.c: the kernel's clocks as milliseconds. */
#include "os/clock.h"

#include <time.h>

static time_ms read_one(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (time_ms)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

time_ms clock_read(void) {
    return read_one(CLOCK_REALTIME);
}

time_ms clock_read_steady(void) {
    return read_one(CLOCK_BOOTTIME);
}

int64_t clock_read_steady_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

struct timespec clock_read_tick(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return t;
}
