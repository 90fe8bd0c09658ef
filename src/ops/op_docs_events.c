/* op_docs_events.c: prints docs/reference/events.md from the table of event kinds. */
#include "base/strbuf.h"
#include "ops/op.h"

static const char introduction[] =
    "# Events\n"
    "\n"
    "This page names every event and its data, for programs that follow the queue. Made from the "
    "table of events by `make docs`; do not edit.\n"
    "\n"
    "An event is something that happened: it has a number without gaps, a time, a kind and, "
    "depending on the kind, a task, an attempt and data. Events are written in the same commit as "
    "the change that they describe, and kept for `events.keep_days`. Read them with "
    "[`sluice events`](cli/events.md), or with `GET /v1/events` as pages or as a stream "
    "([HTTP interface](api.md)).\n"
    "\n"
    "Members of the data are left out when they have no value. Times are milliseconds since the "
    "epoch, `micro_usd` millionths of a dollar. A later version may add kinds and members.\n";

void op_print_events(struct strbuf *out) {
    strbuf_puts(out, introduction);
#define SECTION(title)                                                                             \
    strbuf_puts(out, "\n## " title "\n\n| event | when | data |\n|---|---|---|\n");
#define KIND(name, text, data) strbuf_puts(out, "| `" name "` | " text " | " data " |\n");
#include "engine/event_kinds.inc"
}
