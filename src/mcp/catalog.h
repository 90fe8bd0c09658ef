/* catalog.h: the operations as plain data, so that who lists and calls them needs no engine.
 *
 * The tables are made from the table of operations (src/ops/op.h) while the program is built: a new
 * operation, parameter or member of a task is here by itself. Schemas are JSON Schema 2020-12. */
#pragma once

#include <stdbool.h>

struct mcp_param {
    const char *name;   /* NULL ends a list */
    const char *place;  /* "path", "query" or "body" */
    const char *schema; /* JSON text of an object, its description included */
    bool required;
};

struct mcp_op {
    const char *name;    /* "task.cancel"; NULL ends the table */
    const char *method;  /* "GET" or "POST" */
    const char *path;    /* "/v1/tasks/{id}/why" */
    const char *summary; /* one line, lower case, no full stop */
    const char *text;    /* more, or NULL */
    const struct mcp_param *params;
    bool writes;
    bool bytes; /* its answer is the bytes of a log, not JSON */
};

extern const struct mcp_op mcp_ops[]; /* by name */
/* Members of a task that queue_task and add_children show. */
extern const struct mcp_param mcp_queue_members[], mcp_child_members[];

const struct mcp_op *mcp_op_find(const char *name);                    /* or NULL */
const struct mcp_param *mcp_param_find(const struct mcp_param *params, /* or NULL */
                                       const char *name);
