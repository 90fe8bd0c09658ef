/* diary.h: the diary that the runs write themselves, independent of the daemon's records.
 *
 * Each run appends one line at its start and one at its end (side_agent.c). A run that was killed has a start and no
 * end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diary_run {
    char task[40];
    unsigned attempt;
    int pid, code;
    long long start_us, end_us; /* end_us 0: no end was written */
    long long born_us;          /* time of the fork, rounded down; 0: not recorded */
};

struct diary {
    struct diary_run *runs;
    size_t count, capacity;
    size_t twice;   /* attempts that started more than once */
    size_t strange; /* malformed lines, and ends without a start */
};

/* False: the file cannot be read. */
bool diary_read(struct diary *diary, const char *path);
void diary_free(struct diary *diary);
const struct diary_run *diary_find(const struct diary *diary, const char *task, unsigned attempt);
/* The largest number of runs between their start and their end at one instant. A run without an end counts
 * only at its start. */
size_t diary_peak(const struct diary *diary);
