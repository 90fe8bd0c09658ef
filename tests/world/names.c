/* names.c: see names.h. */
#include "names.h"

#include <stdio.h>
#include <string.h>

void names_intern(struct symbol_table *table) {
    static const struct {
        const char *letter;
        unsigned count;
    } ranges[] = {
        { "project", PROJECTS }, { "kind", KINDS },         { "agent", AGENTS },
        { "limiter", LIMITERS }, { "resource", RESOURCES }, { "workspace", WORKSPACES },
        { "phase", PHASES },
    };
    for (size_t r = 0; r < sizeof(ranges) / sizeof(ranges[0]); r++) {
        for (unsigned i = 1; i <= ranges[r].count; i++) {
            char name[32];
            (void)snprintf(name, sizeof(name), "%s%u", ranges[r].letter, i);
            symbol_intern(table, name, strlen(name));
        }
    }
}
