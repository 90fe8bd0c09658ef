/* crash.h: a history written by a process that may crash, and a check of the store that it leaves.
 *
 * The steps of a history are batches from a seed, with a checkpoint, a close and an open in
 * between. The reference has the expected contents of the store after each step. */
#pragma once

#include "fault_vfs.h"
#include "history.h"

#define CRASH_STEPS 26

/* Every n-th operation. With the address sanitizer a process takes 20 times as long to create, and
 * any subset of the operations finds the errors that it detects. */
#ifdef __SANITIZE_ADDRESS__
#define CRASH_STRIDE 8
#else
#define CRASH_STRIDE 1
#endif

/* Progress of the process, in shared memory that outlives it. */
struct crash_report {
    unsigned steps;   /* that were answered OK or, for an invalid batch, FAILED */
    unsigned refused; /* FAILED answers caused by the disk */
    bool unknown;     /* the last answer */
    bool open_failed;
    bool finished; /* it completed the history */
    uint64_t operations;
    char complaint[512]; /* error that the process itself found */
};

struct crash {
    uint64_t seed; /* of the history */
    char *folder, *path;
    char *expected[CRASH_STEPS + 1]; /* contents of the store after n steps */
    struct crash_report *report;
    bool restarts; /* after an error it is opened again, continues, and then the power fails */
};

void crash_init(struct crash *crash, uint64_t seed);
void crash_finish(struct crash *crash);

/* Writes the history in a new folder, in a child process. */
void crash_play(struct crash *crash, enum fault_plan plan, uint64_t at, uint64_t seed);

/* Like crash_play() followed by `each` for the operations 1, 1 + stride, … of the history, with the seed `seed` + operation.
 * The history is written only once: its process forks before each of these operations. The child gets the fault and
 * continues with a copy of the files in the same folder; the process itself waits until `each` has checked the result. */
void crash_play_each(struct crash *crash, enum fault_plan plan, uint64_t stride, uint64_t seed,
                     void (*each)(struct crash *crash, uint64_t at, void *ctx), void *ctx);
/* Opens the store in a child process; true: it did not crash. */
bool crash_recover(struct crash *crash, const char *path, enum fault_plan plan, uint64_t at);
/* Opens the store, and fails the test unless every acknowledged batch is there and no batch is
 * there in part. */
void crash_check(const struct crash *crash, const char *path, const char *what, uint64_t at);
