/* diary.c: reads the diary and puts its intervals on one time line. */
#include "diary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static int by_run(const void *a, const void *b) {
    const struct diary_run *x = a, *y = b;
    int r = strcmp(x->task, y->task);
    if (r == 0)
        r = (x->attempt > y->attempt) - (x->attempt < y->attempt);
    return r != 0 ? r : (x->pid > y->pid) - (x->pid < y->pid);
}

/* Starts first, so that each end finds its start. */
static void add_line(struct diary *d, const char *line, bool ends) {
    char what[8];
    struct diary_run run = { 0 };
    long long at = 0;
    if (sscanf(line, "%7s %39s %u %d %d %lld %lld", what, run.task, &run.attempt, &run.pid,
               &run.code, &at, &run.born_us)
        < 6) {
        d->strange += ends;
        return;
    }
    if (strcmp(what, "start") == 0 && !ends) {
        run.start_us = at;
        d->runs = xgrow(d->runs, &d->capacity, d->count + 1, sizeof(run));
        d->runs[d->count++] = run;
    } else if (strcmp(what, "end") == 0 && ends) {
        struct diary_run *found = bsearch(&run, d->runs, d->count, sizeof(run), by_run);
        if (found && found->end_us == 0)
            found->end_us = at;
        else
            d->strange++;
    }
}

static bool read_lines(struct diary *d, const char *path, bool ends) {
    FILE *file = fopen(path, "re");
    char line[256];
    if (!file)
        return false;
    while (fgets(line, sizeof(line), file))
        add_line(d, line, ends);
    (void)fclose(file);
    return true;
}

bool diary_read(struct diary *d, const char *path) {
    *d = (struct diary){ 0 };
    if (!read_lines(d, path, false))
        return false;
    qsort(d->runs, d->count, sizeof(*d->runs), by_run);
    for (size_t i = 1; i < d->count; i++)
        d->twice += strcmp(d->runs[i - 1].task, d->runs[i].task) == 0
                    && d->runs[i - 1].attempt == d->runs[i].attempt;
    return read_lines(d, path, true);
}

void diary_free(struct diary *d) {
    free(d->runs);
    *d = (struct diary){ 0 };
}

const struct diary_run *diary_find(const struct diary *d, const char *task, unsigned attempt) {
    for (size_t low = 0, high = d->count; low < high;) {
        size_t middle = (low + high) / 2;
        const struct diary_run *run = &d->runs[middle];
        int r = strcmp(task, run->task);
        if (r == 0 && attempt == run->attempt)
            return run;
        if (r < 0 || (r == 0 && attempt < run->attempt))
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

struct step {
    long long at;
    int by;
};

/* At the same microsecond an end comes before a start: its slot was free. */
static int by_time(const void *a, const void *b) {
    const struct step *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->by - y->by;
}

size_t diary_peak(const struct diary *d) {
    struct step *steps = xcalloc(2 * d->count + 1, sizeof(*steps));
    size_t count = 0, peak = 0;
    for (size_t i = 0; i < d->count; i++) {
        const struct diary_run *run = &d->runs[i];
        steps[count++] = (struct step){ run->start_us, 1 };
        steps[count++] = (struct step){ run->end_us ? run->end_us : run->start_us + 1, -1 };
    }
    qsort(steps, count, sizeof(*steps), by_time);
    long now = 0;
    for (size_t i = 0; i < count; i++) {
        now += steps[i].by;
        if (now > (long)peak)
            peak = (size_t)now;
    }
    free(steps);
    return peak;
}
