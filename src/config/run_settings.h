/* run_settings.h: which sandbox, executor and Slurm options the configuration gives a run.
 *
 * Precedence per key: project, agent, `tasks`. `wrap` and `sandbox` at one level are one choice;
 * `wrap` wins. Lists of paths are merged. Project and agent may be NULL. Results are valid as long
 * as the config. */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "config/config.h"

/* "local" or "slurm", for tasks that do not set it. */
const char *config_executor(const struct config *config, const char *project, const char *agent);
/* Does any project or agent use Slurm? */
bool config_uses_slurm(const struct config *config);
/* The value of a Slurm key ("partition", "account", …); NULL: none. */
const char *config_slurm_value(const struct config *config, const char *key, const char *project,
                               const char *agent);
/* Is this a Slurm key, and is the value valid? The message names the key. */
int slurm_value_check(const char *key, const char *value, struct error *err);
/* "partition=gpu": same for a word of a setting. */
bool slurm_word_is_valid(const char *word);

/* "auto" "none" "bubblewrap" "podman" "wrap", for a task that does not set it. *ret_wrap: the
 * arguments of "wrap", NULL-terminated. */
const char *config_sandbox(const struct config *config, const char *project, const char *agent,
                           const char *const **ret_wrap);
bool config_sandbox_network(const struct config *config, const char *project, const char *agent);
const char *config_sandbox_image(const struct config *config, const char *project,
                                 const char *agent);
/* Calls `each` for every path of a list: "read" "write" "hide". */
typedef void (*config_each_path)(void *ctx, const char *path);
void config_sandbox_paths(const struct config *config, const char *list, const char *project,
                          const char *agent, config_each_path each, void *ctx);
