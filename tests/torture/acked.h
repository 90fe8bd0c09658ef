/* acked.h: compares the tasks that were acknowledged to clients with the daemon's records and with the diary of the
 * runs. */
#pragma once

#include "rig.h"

struct acked {
    char id[40];
    char key[40]; /* idempotency key of its request; "": not known */
    int code;     /* exit code of its run */
    bool canceled;
};

struct acked_list {
    struct acked *items;
    size_t count, capacity;
    const char *rules; /* options for tests/history/check.py: caps and weights; NULL: none */
    bool
        power; /* the power was cut: the end of a run may be lost with the disk, and its run is then lost */
};

/* The pointer is valid until the next call. */
struct acked *acked_add(struct acked_list *list, const char *id, int code);
void acked_finish(struct acked_list *list);

/* Call it when all tasks have ended. Checks that every task exists, in the state that its exit code or its
 * cancellation implies;
 * that each attempt ran at most once; that the recorded exit code is the one the process returned; and that never
 * more than
 * `runs_max` runs were live at once. The same history is then judged by the program HISTORY_CHECKER, which has no code in common
 * with this project. */
void acked_check(const struct acked_list *list, struct rig *rig, size_t runs_max);
