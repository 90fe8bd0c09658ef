/* crash.h: a history played by a process that may not live to its end, and what must be left of it.
 *
 * The steps of a history are batches from a seed, with a checkpoint, a close and an open in
 * between. The reference says what a store holds after each step. */
#pragma once

#include "fault_vfs.h"
#include "history.h"

#define CRASH_STEPS 26

/* Every n-th operation. A process under the address sanitizer takes 20 times as long to make;
 * what it looks for is found at any of them. */
#ifdef __SANITIZE_ADDRESS__
#define CRASH_STRIDE 8
#else
#define CRASH_STRIDE 1
#endif

/* How far the process came; it lies in memory that outlives it. */
struct crash_report {
    unsigned steps;   /* that were answered OK or, where a batch is wrong, FAILED */
    unsigned refused; /* answers FAILED because of the disk */
    bool unknown;     /* the last answer */
    bool open_failed;
    bool finished; /* it came to the end */
    uint64_t operations;
    char complaint[512]; /* what the process itself found wrong */
};

struct crash {
    uint64_t seed; /* of the history */
    char *folder, *path;
    char *expected[CRASH_STEPS + 1]; /* what the store holds after n steps */
    struct crash_report *report;
};

void crash_init(struct crash *crash, uint64_t seed);
void crash_finish(struct crash *crash);

/* Plays the history in a new folder, in a process of its own. */
void crash_play(struct crash *crash, enum fault_plan plan, uint64_t at, uint64_t seed);

/* As crash_play() and `each` for the operations 1, 1 + stride, … of the history, with the seed `seed` + operation. The
 * history is played only once: before each of these operations its process forks. The child has the fault and continues
 * with a copy of the files in their place; the process itself waits until `each` has looked at that. */
void crash_play_each(struct crash *crash, enum fault_plan plan, uint64_t stride, uint64_t seed,
                     void (*each)(struct crash *crash, uint64_t at, void *ctx), void *ctx);
/* Opens the store in a process of its own; true: it came through. */
bool crash_recover(struct crash *crash, const char *path, enum fault_plan plan, uint64_t at);
/* Opens what is left, and fails the test unless everything that was answered is there, and
 * nothing half. */
void crash_check(const struct crash *crash, const char *path, const char *what, uint64_t at);
