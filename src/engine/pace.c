/* pace.c: how far the tick and the spawn delay are, over a restart.
 *
 * Else whoever starts the daemon again gets a tick for it: a daemon that crashes every minute would start
 * three times as much as one tick of three minutes allows. Written when it changes and only while a pace is in force. */
#include "engine/note.h"
#include "engine/pace_internal.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define PACE_NOTE "pace"

void pace_write(void *ctx, const struct pace_spec *pace) {
    struct engine *e = ctx;
    char text[160];
    snprintf(text, sizeof(text),
             "{\"ticking\":%s,\"tick_began\":%" PRId64 ",\"tick_starts\":%" PRId64
             ",\"started\":%s,\"last_start\":%" PRId64 "}",
             pace->ticking ? "true" : "false", pace->tick_began, pace->tick_starts,
             pace->started ? "true" : "false", pace->last_start);
    note_put(e, PACE_NOTE, "", text);
}

/* One that cannot be read was not written by us: the first decision begins a tick. */
int pace_load(struct engine *e, const struct note_row *row, struct error *err) {
    if (strcmp(row->name, PACE_NOTE) != 0)
        return 0;
    json_t *note = json_loads(row->text, 0, NULL);
    struct fact fact = { .kind = FACT_PACE };
    fact.pace = (struct pace_spec){
        .ticking = json_is_true(json_object_get(note, "ticking")),
        .started = json_is_true(json_object_get(note, "started")),
        .tick_began = json_integer_value(json_object_get(note, "tick_began")),
        .last_start = json_integer_value(json_object_get(note, "last_start")),
        .tick_starts = json_integer_value(json_object_get(note, "tick_starts")),
    };
    json_decref(note);
    int r = core_apply(e->core, &fact, err);
    return r < 0 ? r : 0;
}
