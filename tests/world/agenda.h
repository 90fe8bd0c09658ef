/* agenda.h: what will happen in the world, and when. Ties in the order in which they were planned. */
#pragma once

#include <stddef.h>

#include "core/model.h"

enum happening {
    HAPPENS_ARRIVAL,
    HAPPENS_PERSON, /* someone does something to a task */
    HAPPENS_CONFIG, /* someone changes what holds for many */
    HAPPENS_OUTAGE, /* a provider limits everybody for a while */
    HAPPENS_CLOCK,  /* the clock jumps */
    HAPPENS_CRASH,
    HAPPENS_VERDICT, /* liveness: people look at what waits for them */
    HAPPENS_ORDER_REFUSED,
    HAPPENS_RUN_STARTED,
    HAPPENS_RUN_TOKENS,
    HAPPENS_RUN_VALIDATING,
    HAPPENS_RUN_WAITING,
    HAPPENS_RUN_WORKING,
    HAPPENS_RUN_LIMITED,
    HAPPENS_RUN_ENDED,
    HAPPENS_STOP_OBEYED,
};

struct event {
    time_ms at;
    uint64_t sequence;
    enum happening what;
    task_id task;
    uint32_t attempt;
    enum outcome outcome; /* RUN_ENDED */
    int64_t tokens;       /* RUN_TOKENS, RUN_ENDED */
};

struct agenda {
    struct event *events; /* a binary heap: events[1 .. count] */
    size_t count, capacity;
    uint64_t sequence;
};

void agenda_finish(struct agenda *agenda);
void agenda_clear(struct agenda *agenda);
void agenda_add(struct agenda *agenda, struct event event);
time_ms agenda_next(const struct agenda *agenda); /* TIME_NEVER when empty */
struct event agenda_take(struct agenda *agenda);  /* not empty */
