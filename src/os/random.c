/* random.c: see random.h. A kernel without getrandom, or one that refuses it, ends the program: a
 * guessable token would be worse than none. */
#include "os/random.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

void random_bytes(void *ret_bytes, size_t size) {
    uint8_t *at = ret_bytes;
    while (size > 0) {
        ssize_t got = getrandom(at, size, 0);
        if (got < 0 && errno != EINTR)
            abort();
        if (got > 0) {
            at += got;
            size -= (size_t)got;
        }
    }
}
