/* tree.h: parents and children. Private to core/. */
#pragma once

#include "core/state.h"

void tree_add_child(struct core *c, uint32_t parent, uint32_t child);
void tree_remove_child(struct core *c, uint32_t child);
/* The task's own parent is known now: depths below it follow. */
void tree_set_depth(struct core *c, uint32_t task);
/* Would the task then be its own ancestor? */
bool tree_would_cycle(const struct core *c, uint32_t task, task_id parent);

/* Its iteration rose: children of an older one go, descendants first. */
void tree_invalidate_older(struct core *c, uint32_t parent);
void tree_invalidate(struct core *c, uint32_t task); /* this one and all below it */
/* It was deleted: everything below it fails. */
void tree_orphan_below(struct core *c, uint32_t parent);
/* The next task below `top` after `task` (first: `top` itself), each before its own children; 0 when all
 * were seen. */
uint32_t tree_next_below(const struct core *c, uint32_t top, uint32_t task);
bool tree_has_unfinished_child(const struct core *c, uint32_t task);

/* Is there a child a finished task waits for? */
bool tree_keeps_draining(const struct core *c, uint32_t task);
/* Draining tasks that were added: their children are there now. */
void tree_ask_adopted(struct core *c);
/* A draining task whose last child is final is done. */
void tree_end_drain_if_due(struct core *c, uint32_t task);
