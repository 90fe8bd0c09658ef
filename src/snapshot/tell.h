/* tell.h: from the records of a snapshot to facts for a core. Private to snapshot/. */
#pragma once

#include "snapshot/draft.h"
#include "snapshot/snapshot.h"

struct snapshot {
    struct core *core;
    struct config *config;
    struct draft draft;
    uint32_t *hint_of; /* by task number - 1: place in draft.hints + 1; NULL when no task has one */
};

/* What was said about one name, by symbol. */
struct known {
    bool project, kind, agent, limiter, resource;
    int8_t until;      /* of a kind */
    sym agent_limiter; /* of an agent */
};

struct teller {
    struct snapshot *snapshot;
    struct core *core;
    const struct config *config;
    const struct draft *draft;
    const char *name; /* of the file */
    struct error *err;
    struct known *known;
    size_t known_capacity;
    bool no_other_workspaces; /* who gives no `free_workspaces` has none (document 004) */
    sym default_project;
    sym only_limiter; /* for tasks that name none; 0 = there is none or more than one */
};

/* The configuration of the file, then the overrides; the preset before everything. */
int tell_config(struct snapshot *s, const char *name, const struct snapshot_options *options,
                struct error *err);
/* Everything but the tasks. */
int tell_world(struct teller *t);
/* The tasks, in the order of the file, and what depends on their leases; then the pause. */
int tell_tasks(struct teller *t);

int teller_apply(struct teller *t, const struct fact *fact);
struct known *teller_known(struct teller *t, sym name);
/* What the configuration and the file's own `projects` say of a project. */
void teller_project_spec(const struct teller *t, const struct project_record *record,
                         struct project_spec *ret);
