/* takeover.c: tasks that a person has taken over. See takeover.h. */
#include "engine/takeover.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/id_table.h"
#include "base/number.h"
#include "engine/follow_ups.h"
#include "engine/live_run.h"
#include "engine/note.h"

#define NOTE "taken."

PART_STATE(takeover, struct id_table, takeovers_of)

/* --- the table ------------------------------------------------------------------------------- */

static void clear(void *record) {
    struct engine_taken *t = record;
    free(t->by);
    free(t->terminal);
    free(t->term);
    free(t->shell);
    *t = (struct engine_taken){ .task = t->task };
}

static void takeover_free(struct engine *e) {
    id_table_finish(takeovers_of(e));
}

static void takeover_reset(struct engine *e) {
    takeover_free(e);
    id_table_init(takeovers_of(e), sizeof(struct engine_taken), clear);
}

static struct engine_taken *find(const struct engine *e, task_id task) {
    return id_table_find(takeovers_of(e), task);
}

static struct engine_taken *find_or_make(struct engine *e, task_id task) {
    return id_table_find_or_make(takeovers_of(e), task);
}

static void drop(struct engine *e, task_id task) {
    if (!id_table_drop(takeovers_of(e), task))
        return;
    note_put_task(e, NOTE, task, NULL);
    turn_wrote(e);
}

const struct engine_taken *engine_taken(const struct engine *e, task_id task) {
    return find(e, task);
}

bool engine_explain_taken(const struct engine *e, task_id task, struct strbuf *out) {
    const struct engine_taken *t = find(e, task);
    if (!t)
        return false;
    strbuf_puts(out, "taken over");
    if (t->by)
        strbuf_printf(out, " by %s", t->by);
    return true;
}

/* --- notes ----------------------------------------------------------------------------------- */

static void write_note(struct engine *e, const struct engine_taken *t) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    put_text(w, "by", t->by);
    json_put_int(w, "at", t->at);
    put_text(w, "terminal", t->terminal);
    put_text(w, "term", t->term);
    put_text(w, "shell", t->shell);
    json_put_bool(w, "prompt", t->has_prompt);
    note_end_task(e, &data, NOTE, t->task);
    turn_wrote(e);
}

/* An unreadable note was not written by us. */
static void takeover_load(struct engine *e, const struct note_row *row) {
    int64_t task = 0;
    const char *key = note_key(row, NOTE);
    if (!key || number_parse_int(key, &task, NULL) < 0 || task < 1 || find(e, (task_id)task))
        return;
    json_t *note = json_loads(row->text, 0, NULL);
    if (json_is_object(note)) {
        struct engine_taken *t = find_or_make(e, (task_id)task);
        t->by = note_text(note, "by");
        t->at = json_integer_value(json_object_get(note, "at"));
        t->terminal = note_text(note, "terminal");
        t->term = note_text(note, "term");
        t->shell = note_text(note, "shell");
        t->has_prompt = json_is_true(json_object_get(note, "prompt"));
    }
    json_decref(note);
}

/* --- taking and giving back ------------------------------------------------------------------ */

static char *copy(const char *text) {
    return text ? xstrdup(text) : NULL;
}

int engine_take(struct engine *e, const struct engine_taken *how, struct error *err) {
    struct fact fact = { .kind = FACT_TAKE, .task = how->task };
    struct event_data data;
    int r = engine_apply(e, &fact, err);
    if (r != 0)
        return r < 0 ? r : error_set(err, -EBUSY, "it cannot be taken over now");
    struct engine_taken *t = find_or_make(e, how->task);
    clear(t);
    t->by = copy(how->by);
    t->at = e->now;
    t->terminal = copy(how->terminal);
    t->term = copy(how->term);
    t->shell = copy(how->shell);
    t->has_prompt = how->has_prompt;
    write_note(e, t);
    struct json_writer *w = event_begin(&data);
    put_text(w, "by", t->by);
    event_end(e, &data, "task.taken", how->task, 0);
    return 0;
}

/* The person may have taken it over before it has read an earlier message. */
void engine_give_back(struct engine *e, task_id task, const char *message, const char *by) {
    const struct engine_taken *t = find(e, task);
    const struct engine_follow_up *f = engine_follow_up(e, task);
    bool has_message = f && !f->is_used && !f->is_over && f->attempt == 0;
    if (!t || !t->has_prompt || (!message && has_message))
        return;
    engine_put_follow_up(e, task, message ? message : TAKEOVER_PROMPT, by);
}

/* A stop that was ordered to take it over has not ended yet. */
static bool is_taken(const struct engine *e, task_id task) {
    struct task_spec spec;
    return core_task_spec(e->core, task, &spec)
           && (spec.hold == HOLD_TAKEN || spec.stop == STOP_TAKE);
}

static void takeover_ordered(struct engine *e, const struct order *order, size_t count) {
    struct event_data data;
    struct task_view view = { .state = order->to };
    (void)count;
    if (order->kind != ORDER_CHANGE || !find(e, order->task) || is_taken(e, order->task))
        return;
    (void)core_task(e->core, order->task, &view); /* it may have changed several times */
    struct json_writer *w = event_begin(&data);
    put_text(w, "by", find(e, order->task)->by);
    json_put_string(w, "to", task_state_name(view.state));
    event_end(e, &data, "task.returned", order->task, 0);
    drop(e, order->task);
}

static void takeover_applied(struct engine *e, const struct fact *fact) {
    if (fact->kind == FACT_DELETE || fact->kind == FACT_FORGET)
        drop(e, fact->task);
}

bool takeover_is_run(const struct engine *e, const struct live_run *run) {
    struct task_view view;
    return core_task(e->core, run->task, &view) && task_state_is_live(view.state)
           && view.hold == HOLD_TAKEN && view.attempt == run->view.attempt;
}

const struct engine_part takeover_part = {
    .state_size = sizeof(struct id_table),
    .at = { [STEP_INIT] = takeover_reset,
            [STEP_UNLOAD] = takeover_reset,
            [STEP_FREE] = takeover_free },
    .applied = takeover_applied,
    .ordered = takeover_ordered,
    .load_note = takeover_load,
};
