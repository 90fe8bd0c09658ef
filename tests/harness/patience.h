/* patience.h: how long a test waits for an event before it fails.
 *
 * A deadline ends a test that hangs; it never measures speed, so that a test passes on any machine under
 * any load. scripts/run-tests measures the machine and sets SLUICE_TEST_PATIENCE, in seconds; the shell
 * tests and the browser tests read the same variable. A test run on its own uses the default. */
#pragma once

#include <stdint.h>
#include <stdlib.h>

#define PATIENCE_DEFAULT_S 300

static inline int patience_s(void) {
    const char *text = getenv("SLUICE_TEST_PATIENCE");
    long seconds = text ? strtol(text, NULL, 10) : 0;
    return seconds > 0 && seconds < 86400 ? (int)seconds : PATIENCE_DEFAULT_S;
}

static inline int patience_ms(void) {
    return patience_s() * 1000;
}
