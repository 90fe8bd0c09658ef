/* alert.c: what a person should look at, told once per cause (alert_cause.c).
 *
 * Open alerts are notes in the store: the next daemon knows what was told, and a commit that failed takes them
 * back with everything else. */
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "engine/alert_internal.h"
#include "engine/note.h"
#include "os/log.h"

#define NOTE_PREFIX "alert:"

/* After a new configuration */
static void alerts_configure(struct engine *e) {
    alerts_of(e)->stuck_after = config_number(e->config, "alerts.stuck_s", NULL);
    alerts_of(e)->look_at = 0; /* what was too young may be old now */
}

/* The rows say what is open. */
static void alerts_forget(struct engine *e) {
    struct alerts *a = alerts_of(e);
    for (size_t i = 0; i < a->open.count; i++) {
        free((char *)a->open.items[i].view.key);
        free((char *)a->open.items[i].view.text);
    }
    a->open.count = a->touched.count = a->waiters.count = a->heads.count = a->asked = 0;
    a->look_at = a->looked_at = 0;
    a->answered = a->overdue = false;
}

static void alerts_free(struct engine *e) {
    struct alerts *a = alerts_of(e);
    alerts_forget(e);
    free(a->open.items);
    free(a->touched.items);
    free(a->waiters.items);
    free(a->heads.items);
}

size_t engine_alert_count(const struct engine *e) {
    return alerts_of(e)->open.count;
}

const struct engine_alert *engine_alert_at(const struct engine *e, size_t index) {
    return &alerts_of(e)->open.items[index].view;
}

bool alert_key_is(const char *key, const char *kind) {
    size_t length = strlen(kind);
    return strncmp(key, kind, length) == 0 && (key[length] == ':' || key[length] == '\0');
}

static struct alert *find(const struct engine *e, const char *key) {
    for (size_t i = 0; i < alerts_of(e)->open.count; i++)
        if (strcmp(alerts_of(e)->open.items[i].view.key, key) == 0)
            return &alerts_of(e)->open.items[i];
    return NULL;
}

bool alert_is_open(const struct engine *e, const char *key) {
    return find(e, key) != NULL;
}

/* --- rows ------------------------------------------------------------------------------------ */

static void write_note(struct engine *e, const struct alert *alert) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &text, false);
    json_write_object_begin(&w);
    json_put_int(&w, "since", alert->view.since);
    json_put_int(&w, "task", (int64_t)alert->view.task);
    json_put_int(&w, "attempt", alert->attempt);
    json_put_string(&w, "text", alert->view.text);
    json_write_object_end(&w);
    note_put(e, NOTE_PREFIX, alert->view.key, strbuf_text(&text));
}

/* One that cannot be read was not written by us: the cause will be told again. */
static void alerts_load_note(struct engine *e, const struct note_row *row) {
    const char *key = note_key(row, NOTE_PREFIX);
    if (!key)
        return;
    json_t *note = json_loads(row->text, 0, NULL);
    const char *text = json_string_value(json_object_get(note, "text"));
    if (text)
        *LIST_ADD(&alerts_of(e)->open) = (struct alert){
            .view = { .key = xstrdup(key),
                      .text = xstrdup(text),
                      .since = json_integer_value(json_object_get(note, "since")),
                      .task = (task_id)json_integer_value(json_object_get(note, "task")) },
            .attempt = (uint32_t)json_integer_value(json_object_get(note, "attempt")),
        };
    json_decref(note);
}

/* --- raise and clear ------------------------------------------------------------------------- */

static void write_event(struct engine *e, const char *kind, const struct alert *alert) {
    _cleanup_(strbuf_finish) struct strbuf data = STRBUF_INIT;
    struct json_writer w;
    json_write_init(&w, &data, false);
    json_write_object_begin(&w);
    json_put_string(&w, "key", alert->view.key);
    json_put_string(&w, "text", alert->view.text);
    json_write_object_end(&w);
    engine_event(e, kind, alert->view.task, alert->attempt, strbuf_text(&data));
}

static void open_alert(struct engine *e, struct alert alert) {
    *LIST_ADD(&alerts_of(e)->open) = alert;
    write_note(e, &alert);
    write_event(e, "alert", &alert);
    log_warning("alert %s: %s", alert.view.key, alert.view.text);
}

bool alert_raise(struct engine *e, const char *key, task_id task, uint32_t attempt,
                 const char *format, ...) {
    bool too_many = alerts_of(e)->open.count >= ALERTS_MAX;
    if (find(e, key) || (too_many && find(e, "many")))
        return false;
    struct strbuf text = STRBUF_INIT;
    va_list args;
    va_start(args, format);
    if (too_many)
        strbuf_printf(&text,
                      "%zu alerts are open: further ones are not told until half of them are over",
                      alerts_of(e)->open.count);
    else
        strbuf_vprintf(&text, format, args);
    va_end(args);
    open_alert(e, (struct alert){ .view = { .key = xstrdup(too_many ? "many" : key),
                                            .text = strbuf_take(&text),
                                            .since = e->now,
                                            .task = too_many ? 0 : task },
                                  .attempt = too_many ? 0 : attempt });
    return !too_many;
}

void alert_clear(struct engine *e, const char *key) {
    struct alert *alert = find(e, key);
    if (!alert)
        return;
    struct alert gone = *alert;
    size_t left = alerts_of(e)->open.count - (size_t)(alert - alerts_of(e)->open.items) - 1;
    memmove(alert, alert + 1, left * sizeof(*alert));
    alerts_of(e)->open.count--;
    note_put(e, NOTE_PREFIX, gone.view.key, NULL);
    write_event(e, "alert.cleared", &gone);
    log_info("alert %s is over", gone.view.key);
    free((char *)gone.view.key);
    free((char *)gone.view.text);
}

bool engine_alert_is_open(const struct engine *e, const char *key) {
    return alert_is_open(e, key);
}

void engine_alert_raise(struct engine *e, const char *key, const char *text) {
    (void)alert_raise(e, key, 0, 0, "%s", text);
}

void engine_alert_clear(struct engine *e, const char *key) {
    alert_clear(e, key);
}

const struct engine_part alerts_part = {
    .name = "alerts",
    .state_size = sizeof(struct alerts),
    .at = { [STEP_INIT] = alerts_configure,
            [STEP_UNLOAD] = alerts_forget,
            [STEP_AFTER_DECIDE] = alerts_turn,
            [STEP_CONFIGURED] = alerts_configure,
            [STEP_FREE] = alerts_free },
    .load_note = alerts_load_note,
    .next_wakeup = alerts_next,
};
