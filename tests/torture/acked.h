/* acked.h: what a client was told it has, against what the scheduler says and what the runs wrote down. */
#pragma once

#include "rig.h"

struct acked {
    char id[40];
    int code; /* that its run returns */
    bool canceled;
};

struct acked_list {
    struct acked *items;
    size_t count, capacity;
};

/* The pointer is good until the next one. */
struct acked *acked_add(struct acked_list *list, const char *id, int code);
void acked_finish(struct acked_list *list);

/* When everything has ended: every task is there, in the state that its code or its cancel gives it; each attempt ran at most
 * once; the record says what the process returned; never more than `runs_max` at once. */
void acked_check(const struct acked_list *list, struct rig *rig, size_t runs_max);
