/* terminal_wire.h: what `sluice take` and the shim of a taken run say to each other.
 *
 * The person's terminal and the command are in different sessions, so the command has a terminal of
 * its own, and the two programs relay between them. `sluice take` listens on a Unix socket; the shim
 * connects. To the shim go frames: one byte of kind, two bytes of length (the high one first), and
 * the bytes. The other way the bytes of the command's terminal go as they are. Closing the
 * connection is a hangup. */
#pragma once

#include <stdint.h>

#define TERMINAL_DATA      'd' /* typed by the person */
#define TERMINAL_SIZE      's' /* rows and columns, two bytes each, the high one first */
#define TERMINAL_HEAD      3   /* bytes before those of a frame */
#define TERMINAL_FRAME_MAX 4096

static inline uint16_t terminal_number(const unsigned char *at) {
    return (uint16_t)(at[0] << 8 | at[1]);
}

static inline void terminal_put_number(unsigned char *at, unsigned number) {
    at[0] = (unsigned char)(number >> 8);
    at[1] = (unsigned char)number;
}
