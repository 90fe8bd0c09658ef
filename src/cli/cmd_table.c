/* cmd_table.c: every command of `sluice`, by name. */
#include "cli/cmd.h"

#include <string.h>

#include "base/nearest.h"

extern const struct cmd cmd_config;
extern const struct cmd cmd_debug;
extern const struct cmd cmd_help;
extern const struct cmd cmd_plan;
extern const struct cmd cmd_sim;
extern const struct cmd cmd_version;

const struct cmd *const cmd_table[] = {
    &cmd_config, &cmd_debug, &cmd_help, &cmd_plan, &cmd_sim, &cmd_version, NULL,
};

const struct cmd *cmd_find(const struct cmd *const *table, const char *name) {
    for (; *table; table++)
        if (strcmp((*table)->name, name) == 0)
            return *table;
    return NULL;
}

const char *cmd_nearest(const struct cmd *const *table, const char *name) {
    struct nearest nearest = nearest_to(name);
    for (; *table; table++)
        nearest_offer(&nearest, (*table)->name);
    return nearest.best;
}
