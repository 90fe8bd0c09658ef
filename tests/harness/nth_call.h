/* nth_call.h: what nth_call.c has counted and seen, in the file that SLUICE_TEST_CALLS names. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define NTH_CALL_ANSWERS (1u << 16)

/* It outlives the process. */
struct nth_calls {
    _Atomic uint64_t count;    /* calls of the group */
    _Atomic bool store_failed; /* a failed one was about the database or its log */
    _Atomic uint32_t answers_size;
    char answers
        [NTH_CALL_ANSWERS]; /* successful HTTP answers that were sent after that; as many as fit */
};
