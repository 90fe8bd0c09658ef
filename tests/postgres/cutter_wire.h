/* cutter_wire.h: one connection through the cutter, message by message. Private to the cutter. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "cutter.h"

/* In memory that the test and the cutter share. */
struct wire_plan {
    _Atomic enum cut cut;
    _Atomic uint64_t nth;
    atomic_bool reset, done, reported_done;
    _Atomic uint64_t connections, commits, messages, replies;
};

enum wire_side { WIRE_CLIENT, WIRE_SERVER };

#define WIRE_COMMITS 8 /* prepared statements that are a COMMIT */

struct wire {
    int fd[2];
    struct strbuf from[2]; /* read, and not yet a complete message */
    bool begun;            /* the start-up message has passed */
    bool deaf[2];          /* bytes from this side are discarded */
    bool commit_bound;     /* the next Execute is a COMMIT */
    char *commits[WIRE_COMMITS];
    uint64_t asked, answered; /* ends of questions (Sync, Query) and of answers (ReadyForQuery) */
    /* Of the COMMIT that the plan is for. */
    bool awaited;
    bool behind;            /* its answer has passed: the next message does not */
    uint64_t awaited_asked; /* the answer that it is part of */
};

void wire_init(struct wire *wire, int client, int server);
void wire_finish(struct wire *wire, bool reset);
/* Reads available bytes from one side and forwards complete messages to the other. False: the connection has ended. */
bool wire_carry(struct wire *wire, enum wire_side from, struct wire_plan *plan);
