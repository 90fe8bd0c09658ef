/* sandbox_choice.h: which sandbox does the configuration give a run, and what may be seen in it?
 *
 * Project, then agent, then `tasks`: the first that says anything decides. `wrap` and `sandbox` of the same place are one
 * choice, and `wrap` is the stronger of them. Lists of paths are added up. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "config/config.h"

/* "auto" "none" "bubblewrap" "podman" "wrap", for a task that says nothing itself. Project and agent may be NULL.
 * `ret_wrap`: the words of "wrap", ended with NULL. */
const char *config_sandbox(const struct config *config, const char *project, const char *agent,
                           const char *const **ret_wrap);
bool config_sandbox_network(const struct config *config, const char *project, const char *agent);
const char *config_sandbox_image(const struct config *config, const char *project,
                                 const char *agent);

/* Calls `each` for every path of a list: "read" "write" "hide". */
typedef void (*config_each_path)(void *ctx, const char *path);
void config_sandbox_paths(const struct config *config, const char *list, const char *project,
                          const char *agent, config_each_path each, void *ctx);
