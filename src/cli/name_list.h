/* name_list.h: what `agent list`, `group list`, `limiter list` and `project list` share.
 *
 * Every page is followed to its end, for the table as for --json, which is one object of all items. */
#pragma once

#include <jansson.h>

#include "base/time_ms.h"
#include "cli/cmd.h"
#include "cli/rows.h"

struct name_list {
    const char *path; /* "/v1/groups" */
    const char *none; /* what to say when there is none; with its newline */
    struct output_column *columns;
    size_t column_count;
    void (*add)(struct rows *rows, const json_t *item, time_ms now);
    void (*note)(const json_t *item, struct strbuf *out); /* lines below the table; or NULL */
};

int name_list_run(const struct cmd_call *call, const struct name_list *list);
