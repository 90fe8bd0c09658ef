/* local_slot.c: a cgroup for a helper process that counts as a run (aside.h).
 *
 * Of the same pool as those of runs. So the kernel holds its limits, its tree is killed as a whole, and whatever it
 * starts is known as a run by its cgroup even after something has killed the guard. */
#include <fcntl.h>
#include <stdlib.h>

#include "executor/local.h"

struct cgroup_slot *local_slot_take(struct executor *base, bool limited,
                                    struct executor_slot *ret_slot) {
    struct cgroup_slot *slot = cgroup_take(local_of(base)->cgroups);
    if (!slot)
        return NULL;
    slot->spoiled = limited;
    *ret_slot = (struct executor_slot){ .path = slot->path,
                                        .folder = cgroup_hold(slot),
                                        .daemon = local_of(base)->pipe_out };
    return slot;
}

void local_slot_give_back(struct executor *base, struct cgroup_slot *slot, pid_t guard,
                          enum guard_over how) {
    if (how == GUARD_LOST) {
        if (slot && cgroup_is_populated(slot->path))
            cgroup_kill(slot->path);
        (void)local_kill_session(guard);
    }
    if (slot && how == GUARD_LEFT) { /* it is still in use; the next daemon removes it */
        free(slot->path);
        free(slot);
        return;
    }
    if (slot && how != GUARD_ENDED)
        slot->spoiled = true;
    cgroup_give_back(local_of(base)->cgroups, slot);
}
