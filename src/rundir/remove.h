/* remove.h: deletes what a run has left, whatever it is.
 *
 * The tree was made by a command that may be hostile: links are never followed, another file system
 * that is mounted in it is never entered, folders without rights are given them, and neither depth nor
 * number of entries needs more than a fixed amount of memory and descriptors. */
#pragma once

/* Deletes `name` below the folder `parent`. At most `*budget` entries (each deletion takes one from it).
 * 0: it is gone (or was not there); 1: the budget is used up, call again; <0: something stays. */
int remove_tree_at(int parent, const char *name, unsigned *budget);

/* Deletes all that is in the folder `name`, and gives it the rights 0700. <0: it is no folder, or
 * something stays. */
int remove_inside_at(int parent, const char *name);
