/* names.h: how many of everything a world can have, and what they are called.
 *
 * Indexes begin at 1; 0 is "none". All names are interned in the same order in every core, so that
 * a symbol is the beginning of its range plus its index, before a crash and after it.
 *
 * A key of the books is a number too: the beginning of its range plus the index. */
#pragma once

#include <stddef.h>

#include "base/symbol_table.h"

enum {
    PROJECTS = 5,
    KINDS = 4,
    AGENTS = 4,
    LIMITERS = 3,
    RESOURCES = 3,
    WORKSPACES = 4,
    PHASES = 2,
    GROUPS = 4,
};

enum {
    SYM_PROJECT = 0,
    SYM_KIND = SYM_PROJECT + PROJECTS,
    SYM_AGENT = SYM_KIND + KINDS,
    SYM_LIMITER = SYM_AGENT + AGENTS,
    SYM_RESOURCE = SYM_LIMITER + LIMITERS,
    SYM_WORKSPACE = SYM_RESOURCE + RESOURCES,
    SYM_PHASE = SYM_WORKSPACE + WORKSPACES,
};

enum {
    KEY_RUNS,
    KEY_ROOTS,
    KEY_PROJECT,
    KEY_PLACES = KEY_PROJECT + PROJECTS + 1, /* the workspaces of a project */
    KEY_REVIEW = KEY_PLACES + PROJECTS + 1,
    KEY_KIND = KEY_REVIEW + PROJECTS + 1,
    KEY_AGENT = KEY_KIND + KINDS + 1,
    KEY_LIMITER = KEY_AGENT + AGENTS + 1,
    KEY_RESOURCE = KEY_LIMITER + LIMITERS + 1,
    KEY_WORKSPACE = KEY_RESOURCE + RESOURCES + 1, /* one path */
    KEY_SERIAL = KEY_WORKSPACE + WORKSPACES + 1,
    KEY_MAX = KEY_SERIAL + (PROJECTS + 1) * (PHASES + 1) * (KINDS + 1),
};

static inline sym sym_of(sym range, unsigned index) {
    return index ? range + index : 0;
}

static inline unsigned index_of(sym range, sym name) {
    return name ? name - range : 0;
}

static inline unsigned serial_key(unsigned project, unsigned phase, unsigned kind) {
    return KEY_SERIAL + (project * (PHASES + 1) + phase) * (KINDS + 1) + kind;
}

void names_intern(struct symbol_table *table);
