/* write_internal.h: what the parts of the writer share. */
#pragma once

#include "base/json_write.h"
#include "config/config.h"
#include "config/settings.h"
#include "snapshot/write.h"

enum name_role {
    NAME_PROJECT,
    NAME_KIND,
    NAME_AGENT,
    NAME_LIMITER,
    NAME_RESOURCE,
    NAME_WORKSPACE,
    NAME_PHASE,
    NAME_ROLE_MAX,
};

struct writer {
    const struct snapshot_source *source;
    const struct symbol_table *symbols;
    sym symbol_count; /* the names of the core; those behind it are the writer's own */
    struct json_writer json;
    struct strbuf out, name, id;
    snapshot_sink sink;
    void *ctx;
    struct error *err;

    /* Facts about the world, in their order; the first task ends them. */
    struct fact *world;
    size_t world_count, world_capacity;
    struct policy policy;
    bool policy_serial;
    size_t task_count;
    bool in_tasks;

    struct config *config; /* as the reader will have it: what differs from it is written */
};

/* The name as it is written; lives until the next one is asked for. NULL for 0. */
const char *writer_name(struct writer *w, enum name_role role, sym symbol);

/* The member "config". */
int write_config(struct writer *w);
