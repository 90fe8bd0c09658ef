/* status_queue.h: how long the queue is, as `status` shows it: "queue: implement 9, review 1; soft 8, hard 16". */
#pragma once

#include <jansson.h>

#include "base/strbuf.h"

/* One line, or none: if no kind of task waits and the queue is not too long. Returns how many. */
size_t status_queue(const json_t *status, struct strbuf *out);
