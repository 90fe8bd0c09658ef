/* call_internal.h: the inside of a call; for op_call.c and op_keys.c. Private to ops/. */
#pragma once

#include "ops/op_internal.h"

enum call_place {
    CALL_NOWHERE, /* not submitted, or already answered */
    CALL_QUEUED,  /* the engine has its request */
    CALL_PARKED,  /* between two turns: waits for the store, or for the call it follows */
};

struct op_private {
    struct engine_request request; /* first: the engine hands it back */
    struct op_call *call;
    enum call_place place;
    op_step step; /* what comes next, inside a turn */
    bool asking;  /* the store has a question of ours */
    bool rests;   /* it goes on in the next turn */
    bool over;    /* it has its result; what is left is to answer */
    bool filled;  /* the answer is there, for when the commit is */
    bool abandoned;
    struct store_question question;
    op_taken take;
    void *state;
    void (*state_finish)(void *state);
    struct arena arena;
    struct strbuf more;          /* members beside "error" */
    struct merge_answer *merged; /* op_wait_merge; in the arena */
    struct engine_await *await;  /* op_wait_tasks: what it waits for; NULL: nothing */
    /* --- op_keys.c */
    uint64_t digest;                /* of what was asked, key or not */
    bool leads;                     /* in the list of keys in flight */
    struct op_call *next_in_flight; /* of those that lead */
    struct op_call *first_follower; /* calls with the same key, which get the same answer */
    struct op_call *next_follower;
    struct op_call *followed; /* the one this call follows */
    struct key_row known;     /* what the store has; its texts are in the arena */
};

/* --- op_call.c ------------------------------------------------------------------------------- */

/* The call has its result, given from outside. It is answered at once when it is parked. */
void call_settle(struct op_call *call);

/* --- op_keys.c: the same key twice is one request --------------------------------------------- */

/* First step of a writing call that has a key. */
int keys_begin(struct op_call *call);
/* `run` went well, inside its turn: what the key is answered with is written with it. */
void keys_remember(struct op_call *call);
/* The call is about to be answered, or its client has gone: those that follow it get the same. */
void keys_end(struct op_call *call);
