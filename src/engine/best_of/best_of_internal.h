/* best_of_internal.h: what the files of the part share. Private to engine/best_of/. */
#pragma once

#include "engine/best_of.h"
#include "engine/note.h"

struct best_of {
    struct engine_best_of view; /* owns its texts */
    /* Not stored. */
    char *diffs[BEST_OF_MAX]; /* for the chooser; NULL: not made, or not needed */
    size_t diffed;            /* candidates whose diffs are made, or not needed */
    bool is_diffing;          /* a diff is being made */
    bool is_merging;          /* the pick is being merged */
    bool is_touched;          /* in the list of those to be settled */
    engine_pick_over over;
    void *ctx;
};

/* best_of.c */
struct best_of *best_of_find(const struct engine *e, task_id task);
void best_of_write(struct engine *e, const struct best_of *b);
/* It is settled before the next decision. */
void best_of_touch(struct engine *e, struct best_of *b);
int best_of_apply(struct engine *e, const struct best_of *b, enum candidates what);
bool best_of_is_held(const struct engine *e, task_id task, enum hold hold);
void best_of_put_id(const struct engine *e, task_id task, struct strbuf *out);

/* pick.c */
void pick_wake(const struct engine *e, struct best_of *b); /* the call that waits for the merge */
void pick_clear(struct best_of *b);
/* Cancels what has not ended; `keeps`: not this one, nor the chooser whose run picks. */
void pick_cancel_others(struct engine *e, const struct best_of *b, task_id keeps, bool and_chooser);
/* The pick is to be merged, or the parent is done. */
void pick_settle(struct engine *e, struct best_of *b);
/* False: its branch is being merged for another request. It is tried again. */
bool pick_carry_out(struct engine *e, struct best_of *b);
bool pick_is_due(const struct engine *e, const struct best_of *b);

/* chooser.c */
/* Collects the diffs, and then releases the chooser with them in its prompt. */
void chooser_begin(struct engine *e, struct best_of *b);
void chooser_drop_diffs(struct best_of *b);
