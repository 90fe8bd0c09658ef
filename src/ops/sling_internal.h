/* sling_internal.h: the tasks of one sling; for op_task_sling.c and sling_*.c. Private to ops/. */
#pragma once

#include "base/id_map.h"
#include "ops/op_internal.h"
#include "ops/queue_room.h"
#include "ops/sling_steps.h"

struct sling_item {
    task_id task;
    uint32_t group;
    bool already;
    bool epic;                     /* there are drafts below it, and it was named for them */
    bool container;                /* an epic: it waits for its children and runs nothing */
    bool step;                     /* does the work of the task that was named */
    uint32_t generation;           /* of the formula it was slung on last; 0: none */
    const struct sling_work *work; /* its formula; or NULL */
    const char *agent, *limiter;   /* as they were submitted; or NULL */
    bool prompted;                 /* it has a prompt: its agent needs a command */
    bool hold;                     /* it was submitted so, and so it is slung */
    bool moves;                    /* to the project that was named */
    const char *moved_from;        /* the id it had; NULL: it has not moved */
    json_t *spec;                  /* of one that moves: what was submitted; or NULL */
    bool cleared;                  /* who took it out of the queue has let it go before */
    time_ms not_before;
    uint32_t unit;       /* which word named it: a group, or a task with the drafts below it */
    const char *skipped; /* why it is not slung; sling_deferred: the queue has no room */
};

/* Drafts that go to another project, and what they are there. */
struct sling_move {
    struct {
        task_id from, to;
    } * items;
    size_t count;
    json_t *read, *kept; /* the submissions: as they are read, and as they are stored */
    struct batch batch;
};

struct slinging {
    struct sling_item *items;
    size_t count, capacity;
    struct id_map seen;
    bool has_map;
    struct queue_room room;
    uint32_t group; /* 0: none */
    size_t fresh;   /* will be slung */
    size_t asked;   /* items that the store was asked about */
    struct sling_works works;
    struct sling_move move;
};

/* --- sling_pick.c: which tasks -------------------------------------------------------------------- */

/* Those that the parameters name. */
int sling_collect(struct op_call *call, struct slinging *s);
/* Each once; NULL: there are too many. */
struct sling_item *sling_push(struct slinging *s, task_id task);
/* The one of this task, or NULL. */
struct sling_item *sling_item_of(const struct slinging *s, task_id task);
int sling_too_many(struct op_call *call);

/* --- sling_admit.c: whether the queue takes them --------------------------------------------------- */

extern const char sling_deferred[];

/* Whether the queue takes those that are fresh, with the steps of their formulas. With `partial`
 * each word of the request is taken or deferred by itself, together with what its tasks depend on;
 * if nothing can be taken, or without `partial`, the request fails: -EAGAIN. Updates `fresh`. */
int sling_admit(struct op_call *call, struct slinging *s);

/* --- sling_steps.c: formulas ------------------------------------------------------------------------ */

/* Which of the tasks that were named have one; those that are scheduled already need none. */
int sling_find_works(struct op_call *call, struct slinging *s);
int sling_check_works(struct op_call *call, struct slinging *s);
/* The steps are items from then on, too. */
int sling_add_works(struct op_call *call, struct slinging *s);
void sling_take_back_works(struct op_call *call, struct slinging *s);

/* --- sling_epic.c: tasks that contain others -------------------------------------------------------- */

void sling_look_at_family(struct op_call *call, struct sling_item *item, const struct task_view *t,
                          const struct task_spec *spec);
/* An epic depends on its children from now on. */
int sling_wait_for_children(struct op_call *call, const struct sling_item *item);

/* --- sling_move.c: into another project ------------------------------------------------------------ */

/* Life: sling_move_check, which tells nothing → sling_move_add → sling_move_leave or, if something
 * that comes with them is refused, sling_move_take_back. */
int sling_move_check(struct op_call *call, struct slinging *s);
/* The items are the new tasks from then on. */
int sling_move_add(struct op_call *call, struct slinging *s);
/* The old ones go. */
void sling_move_leave(struct op_call *call, struct slinging *s);
void sling_move_take_back(struct op_call *call, struct slinging *s);
void sling_move_finish(struct sling_move *move);
