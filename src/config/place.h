/* place.h: where a run happens, and what Slurm is asked for when it happens there.
 *
 * What a task does not say, its project says; what that does not say, its agent; then `tasks`. Each key for itself: a
 * project may name an account and leave the partition to others. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "config/config.h"

/* "partition" "account" … one after the other; NULL: that were all. */
const char *place_key(size_t index);
/* Is this a key, and may it have this value? The sentence names the key. */
int place_check(const char *key, const char *value, struct error *err);
/* "partition=gpu": the same for a word of a setting. */
bool place_takes_word(const char *word);

/* What the configuration says for tasks of this project and agent, either of which may be NULL. NULL: nothing. Lives as
 * long as the config. */
const char *config_place(const struct config *config, const char *key, const char *project,
                         const char *agent);
/* "local" or "slurm", for tasks that say nothing themselves. */
const char *config_executor(const struct config *config, const char *project, const char *agent);
/* Is that Slurm for any project or agent? */
bool config_uses_slurm(const struct config *config);
