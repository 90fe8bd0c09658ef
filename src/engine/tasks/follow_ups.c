/* follow_ups.c: messages that continue finished tasks. See follow_ups.h. */
#include "engine/follow_ups.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/id_table.h"
#include "base/number.h"
#include "engine/live_run.h"
#include "engine/note.h"
#include "engine/questions.h"

#define NOTE "follow_up."

#define CONTEXT                                                                                    \
    "\n\nYou have worked on this task before: look at what is there. Then do what this message "   \
    "asks for:\n\n"

struct follow_ups {
    struct id_table of_task; /* struct engine_follow_up */
};

PART_STATE(follow_ups, struct follow_ups, follow_ups_of)

/* --- the table ------------------------------------------------------------------------------- */

static void clear(void *record) {
    struct engine_follow_up *f = record;
    free(f->text);
    free(f->by);
    *f = (struct engine_follow_up){ .task = f->task };
}

static void follow_ups_free(struct engine *e) {
    id_table_finish(&follow_ups_of(e)->of_task);
}

static void follow_ups_reset(struct engine *e) {
    follow_ups_free(e);
    id_table_init(&follow_ups_of(e)->of_task, sizeof(struct engine_follow_up), clear);
}

static struct engine_follow_up *find(const struct engine *e, task_id task) {
    return id_table_find(&follow_ups_of(e)->of_task, task);
}

static struct engine_follow_up *find_or_make(struct engine *e, task_id task) {
    return id_table_find_or_make(&follow_ups_of(e)->of_task, task);
}

static void drop(struct engine *e, task_id task) {
    if (!id_table_drop(&follow_ups_of(e)->of_task, task))
        return;
    note_put_task(e, NOTE, task, NULL);
    turn_wrote(e);
}

const struct engine_follow_up *engine_follow_up(const struct engine *e, task_id task) {
    return find(e, task);
}

/* --- notes ----------------------------------------------------------------------------------- */

static void write_note(struct engine *e, const struct engine_follow_up *f) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "text", f->text);
    put_text(w, "by", f->by);
    json_put_int(w, "at", f->at);
    json_put_int(w, "attempt", f->attempt);
    json_put_bool(w, "used", f->is_used);
    json_put_bool(w, "over", f->is_over);
    note_end_task(e, &data, NOTE, f->task);
    turn_wrote(e);
}

/* An unreadable note was not written by us. */
static void follow_ups_load(struct engine *e, const struct note_row *row) {
    int64_t task = 0;
    const char *key = note_key(row, NOTE);
    if (!key || number_parse_int(key, &task, NULL) < 0 || task < 1 || find(e, (task_id)task))
        return;
    json_t *note = json_loads(row->text, 0, NULL);
    if (json_is_string(json_object_get(note, "text"))) {
        struct engine_follow_up *f = find_or_make(e, (task_id)task);
        f->text = note_text(note, "text");
        f->by = note_text(note, "by");
        f->at = json_integer_value(json_object_get(note, "at"));
        f->attempt = (uint32_t)json_integer_value(json_object_get(note, "attempt"));
        f->is_used = json_is_true(json_object_get(note, "used"));
        f->is_over = json_is_true(json_object_get(note, "over"));
    }
    json_decref(note);
}

/* --- what happens to a message --------------------------------------------------------------- */

void engine_put_follow_up(struct engine *e, task_id task, const char *text, const char *by) {
    struct engine_follow_up *f = find_or_make(e, task);
    struct event_data data;
    clear(f);
    f->text = xstrdup(text);
    f->by = by ? xstrdup(by) : NULL;
    f->at = e->now;
    write_note(e, f);
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "message", text);
    put_text(w, "by", by);
    event_end(e, &data, "task.followed_up", task, 0);
}

static void follow_ups_applied(struct engine *e, const struct fact *fact) {
    if (fact->kind == FACT_DELETE || fact->kind == FACT_FORGET) {
        drop(e, fact->task);
        return;
    }
    struct engine_follow_up *f = fact->kind == FACT_RUN_ENDED ? find(e, fact->task) : NULL;
    if (!f || f->is_used || f->is_over || f->attempt != fact->attempt)
        return;
    f->is_used = !outcome_may_be_unread(fact->ended.outcome);
    write_note(e, f);
}

static void follow_ups_ordered(struct engine *e, const struct order *order, size_t count) {
    struct engine_follow_up *f = find(e, order->task);
    (void)count;
    if (!f || f->is_over)
        return;
    struct task_view view = { .hold = HOLD_NONE };
    (void)core_task(e->core, order->task, &view);
    if (order->kind == ORDER_START && !f->is_used && view.hold != HOLD_TAKEN)
        f->attempt = order->attempt; /* the person who has taken it over types something else */
    else if (order->kind == ORDER_CHANGE && task_state_is_final(order->to))
        f->is_over = true;
    else
        return;
    write_note(e, f);
}

/* --- runs ------------------------------------------------------------------------------------ */

const char *follow_up_of_run(const struct engine *e, const struct live_run *run) {
    const struct engine_follow_up *f = find(e, run->task);
    return f && !f->is_over && !f->is_used && f->attempt == run->view.attempt ? f->text : NULL;
}

void follow_up_context(const struct engine *e, const struct live_run *run, struct strbuf *out) {
    const struct engine_follow_up *f = find(e, run->task);
    if (f && !f->is_over)
        strbuf_printf(out, CONTEXT "%s\n", f->text);
}

const struct engine_part follow_ups_part = {
    .state_size = sizeof(struct follow_ups),
    .at = { [STEP_INIT] = follow_ups_reset,
            [STEP_UNLOAD] = follow_ups_reset,
            [STEP_FREE] = follow_ups_free },
    .applied = follow_ups_applied,
    .ordered = follow_ups_ordered,
    .load_note = follow_ups_load,
};
