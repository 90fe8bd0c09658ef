/* remove.h: deletes what a run has left.
 *
 * The command that created the tree may be hostile: links are never followed, mounted file systems
 * are never entered, missing permissions are added, and neither depth nor number of entries needs
 * more than a fixed amount of memory and descriptors. */
#pragma once

/* Deletes `name` in the directory `parent`. At most `*budget` entries (counted down for each). 0:
 * deleted or did not exist; 1: the budget is used up, call again; <0: something remains. */
int remove_tree_at(int parent, const char *name, unsigned *budget);

/* Empties the directory `name`, and sets its mode to 0700. <0: not a directory, or something
 * remains. */
int remove_inside_at(int parent, const char *name);
