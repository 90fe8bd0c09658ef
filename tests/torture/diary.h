/* diary.h: what the runs themselves wrote down, against what the scheduler says.
 *
 * One line per start and end (side_agent.c). A run that was killed has a start and no end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct diary_run {
    char task[40];
    unsigned attempt;
    int pid, code;
    long long start_us, end_us; /* end 0: none was written */
    long long born_us;          /* not after its process was made; 0: it did not say */
};

struct diary {
    struct diary_run *runs;
    size_t count, capacity;
    size_t twice;   /* starts of an attempt that had started before */
    size_t strange; /* lines that are no lines, ends without a start */
};

/* False: cannot be read. */
bool diary_read(struct diary *diary, const char *path);
void diary_free(struct diary *diary);
const struct diary_run *diary_find(const struct diary *diary, const char *task, unsigned attempt);
/* The most runs that were between their start and their end at one instant. A run without an end counts
 * only at its start. */
size_t diary_peak(const struct diary *diary);
