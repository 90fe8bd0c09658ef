/* cutter.h: a proxy for a PostgreSQL server that breaks connections where a test wants.
 *
 * Life:     cutter_new → cutter_set → connect to cutter_url → cutter_wait → cutter_free
 * A separate process forwards the bytes of any number of connections, and parses enough of the protocol to detect
 * COMMIT and its answer. One plan at a time; when it is done, everything passes again. Encryption is declined. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum cut {
    CUT_NONE,
    CUT_BEFORE,       /* the n-th COMMIT does not reach the server */
    CUT_IN_REQUEST,   /* half of its bytes reach it */
    CUT_AFTER,        /* the server has committed, and nothing of its answer arrives */
    CUT_IN_ANSWER,    /* half of the answer arrives */
    CUT_BEHIND,       /* all of the answer arrives, and nothing after it */
    CUT_STALL,        /* the COMMIT is held back: both sides stay connected, and wait */
    CUT_STALL_ANSWER, /* the same for its answer */
    CUT_MESSAGE,      /* the n-th message of a client, whatever it is, does not reach the server */
    CUT_REPLY,        /* the n-th message of the server does not reach its client */
    CUT_STALL_REPLY,  /* that message is held back, with all that follow */
    CUT_MAX,
};
const char *cut_name(enum cut cut);
bool cut_parse(const char *name, enum cut *ret_cut);

struct cutter;

/* `url`: postgresql://USER:PASSWORD@ADDRESS:PORT/…, the address in numbers. Exits on failure. */
struct cutter *cutter_new(const char *url);
struct cutter *cutter_free(struct cutter *cutter); /* accepts NULL, returns NULL */
const char *cutter_url(const struct cutter *cutter);

/* Restarts counting. `reset`: the connection ends with a reset instead of an end of file. */
void cutter_set(struct cutter *cutter, enum cut cut, uint64_t nth, bool reset);
/* Waits until the plan is done; false: timed out. */
bool cutter_wait(struct cutter *cutter, int milliseconds);
bool cutter_is_done(const struct cutter *cutter);
/* Since cutter_set. */
struct cutter_counts {
    uint64_t connections, commits, messages, replies;
};
struct cutter_counts cutter_counts(const struct cutter *cutter);
