/* macros.h: language helpers for all files. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Scope frees: _cleanup_(thing_freep) struct thing *t = thing_new(); */
#define _cleanup_(function)   __attribute__((cleanup(function)))
#define _printf_(text, first) __attribute__((format(printf, text, first)))

/* Transfers ownership; the variable is NULL afterwards. */
#define TAKE_PTR(pointer)                                                                          \
    ({                                                                                             \
        __typeof__(pointer) taken_ = (pointer);                                                    \
        (pointer) = NULL;                                                                          \
        taken_;                                                                                    \
    })

/* Defines the `freep` function for _cleanup_ from a `free` function. */
#define DEFINE_FREEP(type, free_function)                                                          \
    static inline void free_function##p(type **pointer) {                                          \
        free_function(*pointer);                                                                   \
    }                                                                                              \
    struct freep_needs_a_semicolon_
