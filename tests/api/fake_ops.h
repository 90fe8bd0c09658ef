/* fake_ops.h: fake operations and a fake engine, for the tests of the server.
 *
 * All of this runs inside the server's loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/model.h"
#include "ops/op.h"

#define FAKE_EVENTS_MAX 20000
#define FAKE_RUN_TOKEN  "0123456789abcdef0123456789abcdef" /* of the run, while it is in Slurm */
#define FAKE_SECRET     "hunter2-hunter2-hunter2"          /* replaced in logs; its name is KEY */
#define FAKE_BOOT       "boot-of-this-daemon"
#define FAKE_TOKEN      "sl_abcdefghij_0123456789012345678901234567890123456789012"
/* The same with another letter for the last of "abcdefghij", from k on, is another token that may read. */

struct fake_event {
    task_id task;
    char data[64];
};

/* What is behind the operations, for all of them. */
struct fake_world {
    struct op_call *first, *last; /* submitted */
    struct op_call *waiting[64];
    size_t waiting_count, abandoned, done_once;
    struct fake_event events[FAKE_EVENTS_MAX + 1]; /* by number */
    uint64_t first_event, last_event;
    size_t events_in_turn; /* to be added by the next page, and published after it */
    void (*publish)(uint64_t seq);
    char token[40];          /* of the last echo */
    struct op_access access; /* the same, over TCP */
    bool access_ended;       /* FAKE_TOKEN has expired */
    time_ms access_left;     /* how long it is good for; 0: for ever */
    size_t access_uses;
    struct engine_access page; /* which signs its requests; has_key false: none */
    char log_path[192];
    uint64_t log_offset;
    bool log_follow;
    enum op_log_format log_format;
    bool log_is_merged;
    uint64_t log_tail;
    const char *task_state; /* what task.show answers; NULL: it waits */
    bool run_lives;         /* attempt 2 of task 1 */
    bool in_slurm;          /* the same */
    bool ends_in_turn;      /* it ends in the turn in which its log is asked for */
    void (*run_ended)(void);
};
extern struct fake_world fake;

void fake_reset(void);
/* Runs what was submitted, and answers. */
void fake_turn(void);
void fake_release(void);
uint64_t fake_add_event(task_id task, const char *data);
struct event_row fake_event_row(uint64_t seq);
