/* cmd_table.c: finds commands, and what their pages say. The table itself is made by scripts/embed-commands. */
#include "cli/cmd.h"

#include <string.h>

#include "base/nearest.h"

const char *cmd_name(const struct cmd *cmd) {
    const char *blank = strchr(cmd->words, ' ');
    return blank ? blank + 1 : cmd->words;
}

const struct cmd *cmd_find(const struct cmd *const *table, const char *name) {
    for (; *table; table++)
        if (strcmp(cmd_name(*table), name) == 0)
            return *table;
    return NULL;
}

const char *cmd_nearest(const struct cmd *const *table, const char *name) {
    struct nearest nearest = nearest_to(name);
    for (; *table; table++)
        nearest_offer(&nearest, cmd_name(*table));
    return nearest.best;
}

const char *cmd_part(const struct cmd *cmd, enum cmd_part part) {
    for (const char *const *text = cmd_texts; *text; text++) {
        const char *at = *text;
        if (strcmp(at, cmd->words) != 0)
            continue;
        for (int i = 0; i < (int)part; i++)
            at += strlen(at) + 1;
        return at;
    }
    return ""; /* it has no page: tests/unit/test_cli_table.c fails */
}
