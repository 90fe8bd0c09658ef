/* event_list.h: the events of the daemon, page by page, and each on one line for people. */
#pragma once

#include <jansson.h>

#include "base/strbuf.h"
#include "cli/ask.h"

/* Every event behind number `after`, oldest first, at most `most`; of one task if it is not NULL. The
 * numbers are dense and events are never changed, so the last number seen is the cursor. */
int event_list_after(struct ask *ask, const char *task, int64_t after, size_t most, ask_each each,
                     void *ctx);

/* 2027-01-31 18:30:05  1207  task.state  web-17.2  from=ready to=starting */
void event_list_line(const json_t *event, struct strbuf *out);
