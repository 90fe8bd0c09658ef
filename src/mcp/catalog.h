/* catalog.h: the operations as plain data, so that listing and calling them needs no engine.
 *
 * The tables are generated at build time from the table of operations (src/ops/op.h): new
 * operations, parameters and task members appear here automatically. Schemas are JSON Schema
 * 2020-12. */
#pragma once

#include <stdbool.h>

struct mcp_param {
    const char *name;   /* NULL ends a list */
    const char *place;  /* "path", "query" or "body" */
    const char *schema; /* JSON object as text, with its description */
    bool required;
};

struct mcp_op {
    const char *name;    /* "task.cancel"; NULL ends the table */
    const char *method;  /* "GET" or "POST" */
    const char *path;    /* "/v1/tasks/{id}/why" */
    const char *summary; /* one line, lower case, no full stop */
    const char *text;    /* details, or NULL */
    const struct mcp_param *params;
    bool writes;
    bool bytes; /* answers with log bytes, not JSON */
};

extern const struct mcp_op mcp_ops[]; /* sorted by name */
/* Task members that queue_task and add_children accept. */
extern const struct mcp_param mcp_queue_members[], mcp_child_members[];

const struct mcp_op *mcp_op_find(const char *name);                    /* or NULL */
const struct mcp_param *mcp_param_find(const struct mcp_param *params, /* or NULL */
                                       const char *name);
