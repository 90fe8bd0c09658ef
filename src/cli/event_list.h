/* event_list.h: fetches events page by page, and formats them as lines. */
#pragma once

#include <jansson.h>

#include "base/strbuf.h"
#include "cli/request.h"

/* Every event after number `after`, oldest first, at most `most`; of one task if not NULL. Numbers
 * are dense and events never change, so the last number seen is the cursor. */
int event_list_after(struct request *req, const char *task, int64_t after, size_t most,
                     request_each each, void *ctx);

/* 2027-01-31 18:30:05  1207  task.state  web-17.2  from=ready to=starting */
void event_list_line(const json_t *event, struct strbuf *out);
