/* schedules.c: see engine/schedules.h.
 *
 * A heap has the moment at which each schedule must be looked at, so waiting costs nothing. The
 * schedules are looked at before the decision, after the requests: a changed definition and its
 * cursor are in one commit. A new schedule starts at the present; so does one whose times were
 * changed. The wall clock counts, not the clock of the turn, which ignores that it was set. */
#include "engine/schedules.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/timer_heap.h"
#include "base/utf8.h"
#include "calendar/schedule.h"
#include "config/zones.h"
#include "engine/alert.h"
#include "engine/descendants.h"
#include "engine/note.h"
#include "engine/schedules/backup_files.h"
#include "snapshot/coming.h"

#define NOTE           "schedule:"
#define STEPS_PER_TURN 1000u /* firings and skips; the others follow in the next turn */

struct skip {
    int64_t first, last;
    uint64_t count;
    enum schedule_skip reason;
    bool announced; /* its event has this count */
};

/* What the configuration says. */
struct definition {
    char *name;
    struct schedule when;
    uint64_t timing; /* a hash of the settings that determine the due times */
    bool paused;
    char *backup; /* the directory of its backups; NULL: it adds tasks */
    size_t keep;
};

/* What happened; the note. */
struct history {
    int64_t cursor;
    uint64_t timing;
    bool paused;
    int64_t last_due;
    task_id last_task;
    uint64_t last_count, fired, skipped;
    char *error;
    struct skip skips[ENGINE_SKIPS_KEPT]; /* newest first */
    size_t skip_count;
    bool skipping; /* nothing was fired since skips[0] */
};

struct entry {
    struct definition def;
    struct history past;
    bool known;   /* it has a history */
    bool changed; /* the note must be written */
    bool waits;   /* for the backup of another schedule */
    int64_t wake; /* when it must be looked at; INT64_MAX: never */
    uint32_t position;
};

struct loaded {
    char *name;
    struct history past;
};

/* The store makes one backup at a time, between turns. */
struct backup {
    enum { BACKUP_NONE, BACKUP_RUNNING, BACKUP_OVER } state;
    char *schedule;
    int64_t due;
    struct error err; /* with BACKUP_OVER; code 0: it is there */
};

struct schedules {
    LIST(struct entry) all;          /* handle - 1; in the order of the configuration */
    LIST(struct definition) checked; /* the last configuration that was checked */
    LIST(struct loaded) loaded;      /* notes of schedules that are not in `all` yet */
    struct zones zones;
    struct id_map by_name; /* of `all` */
    struct timer_heap due;
    bool is_new; /* the definitions were replaced; look at all of them */
    struct backup backup;
};

PART_STATE(schedules, struct schedules, schedules_of)

static void definition_finish(struct definition *def) {
    free(def->backup);
    free(def->name);
}

static void history_finish(struct history *past) {
    free(past->error);
}

/* --- definitions ------------------------------------------------------------------------------ */

static int check_task(const struct config *config, const char *name, struct error *err) {
    static const char *const keys[] = { "schedules.S.task", "schedules.S.file",
                                        "schedules.S.formula", "schedules.S.backup" };
    const char *first = NULL, *task = config_text(config, keys[0], name), *const * vars;
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        const char *own = keys[i] + strlen("schedules.S.");
        if (!*config_text(config, keys[i], name))
            continue;
        if (first)
            return error_set(err, -EINVAL, "'%s' and '%s' cannot be used together", first, own);
        first = own;
    }
    if (!first)
        return error_set(err, -EINVAL, "'task', 'file', 'formula' or 'backup' is required");
    if (strcmp(first, "formula") != 0 && config_words(config, "schedules.S.vars", name, &vars) > 0)
        return error_set(err, -EINVAL, "'vars' needs 'formula', which has the variables");
    if (strcmp(first, "backup") == 0 && strchr(name, '/'))
        return error_set(err, -EINVAL,
                         "its files have its name, so with 'backup' it cannot contain '/'");
    if (!*task)
        return 0;
    json_error_t why;
    json_t *json = json_loads(task, JSON_REJECT_DUPLICATES, &why);
    bool is_object = json_is_object(json), is_json = json != NULL;
    json_decref(json);
    if (is_object)
        return 0;
    return error_set(err, -EINVAL, "'task' is not a JSON object%s%s", is_json ? "" : ": ",
                     is_json ? "" : why.text);
}

static int read_times(struct schedules *s, const struct config *config, struct definition *def,
                      struct error *err) {
    const char *cron = config_text(config, "schedules.S.cron", def->name);
    const char *at = config_text(config, "schedules.S.at", def->name);
    const char *zone = config_text(config, "schedules.S.timezone", def->name);
    time_ms every = config_number(config, "schedules.S.every", def->name);
    bool has_every = every != INT64_MAX;
    if ((*cron != '\0') + (*at != '\0') + has_every != 1)
        return error_set(err, -EINVAL, "exactly one of 'cron', 'every' and 'at' is required");
    if (has_every && every % 1000 != 0)
        return error_set(err, -EINVAL, "'every' must be a number of whole seconds");
    int r = zones_find(&s->zones, zone, &def->when.zone, err);
    if (r == 0 && *cron)
        r = cron_parse(cron, &def->when.cron, err);
    if (r == 0 && *at)
        r = schedule_parse_at(at, def->when.zone, &def->when.at, err);
    def->when.kind = *cron ? SCHEDULE_CRON : *at ? SCHEDULE_AT : SCHEDULE_EVERY;
    def->when.every = has_every ? every / 1000 : 0;
    _cleanup_(freep) char *all = xasprintf("%s\n%s\n%" PRId64 "\n%s", cron, at, every, zone);
    def->timing = hash_bytes(all, strlen(all)) >> 1; /* JSON integers are signed */
    return r;
}

static int64_t seconds_of(const struct config *config, const char *pattern, const char *name) {
    time_ms span = config_number(config, pattern, name);
    return span == INT64_MAX ? INT64_MAX : span / 1000;
}

static int read_definition(struct schedules *s, const struct config *config, struct definition *def,
                           struct error *err) {
    const char *backup = config_text(config, "schedules.S.backup", def->name);
    int r = read_times(s, config, def, err);
    def->backup = *backup ? xstrdup(backup) : NULL;
    def->keep = (size_t)config_number(config, "schedules.S.keep", def->name);
    if (r == 0)
        r = check_task(config, def->name, err);
    struct schedule *when = &def->when;
    when->overlap = (enum schedule_overlap)config_number(config, "schedules.S.overlap", def->name);
    when->catch_up =
        (enum schedule_catch_up)config_number(config, "schedules.S.catch_up", def->name);
    when->catch_up_max = seconds_of(config, "schedules.S.catch_up_max_s", def->name);
    when->jitter = seconds_of(config, "schedules.S.jitter_s", def->name);
    when->seed = hash_bytes(def->name, strlen(def->name));
    def->paused = config_number(config, "schedules.S.paused", def->name) != 0;
    return r < 0 ? error_prefix(err, "schedule '%s'", utf8_quote(def->name).text) : 0;
}

static void drop_checked(struct schedules *s) {
    for (size_t i = 0; i < s->checked.count; i++)
        definition_finish(&s->checked.items[i]);
    s->checked.count = 0;
}

int engine_check_schedules(struct engine *e, const struct config *config, struct error *err) {
    struct schedules *s = schedules_of(e);
    drop_checked(s);
    int r = 0;
    for (size_t i = 0; r == 0 && i < config_schedule_count(config); i++) {
        struct definition *def = LIST_ADD(&s->checked);
        *def = (struct definition){ .name = xstrdup(config_schedule_name(config, i)) };
        r = read_definition(s, config, def, err);
    }
    return r;
}

static time_ms in_ms(int64_t seconds) {
    return seconds > TIME_NEVER / 1000 ? TIME_NEVER : seconds * 1000;
}

/* NULL: it has no name. */
static const char *zone_label(const struct definition *def) {
    const char *name = zone_name(def->when.zone);
    return strcmp(name, ZONE_UNNAMED) == 0 ? NULL : name;
}

static size_t list_due(const struct definition *def, int64_t after, time_ms *ret, size_t max) {
    size_t count = 0;
    while (count < max && after != INT64_MAX
           && (after = schedule_next(&def->when, after)) != INT64_MAX)
        ret[count++] = in_ms(after);
    return count;
}

static int schedules_check(struct engine *e, struct error *err) {
    return engine_check_schedules(e, e->config, err);
}

/* --- names ------------------------------------------------------------------------------------ */

static uint64_t hash_name(const char *name) {
    return hash_bytes(name, strlen(name));
}

static bool same_name(const void *ctx, uint32_t handle, const void *key) {
    const struct schedules *s = ctx;
    return strcmp(s->all.items[handle - 1].def.name, key) == 0;
}

static struct entry *entry_find(const struct engine *e, const char *name) {
    struct schedules *s = schedules_of(e);
    uint32_t handle = id_map_find(&s->by_name, hash_name(name), name);
    return handle ? &s->all.items[handle - 1] : NULL;
}

static void moved(void *ctx, uint32_t handle, uint32_t position) {
    struct schedules *s = ctx;
    s->all.items[handle - 1].position = position;
}

/* `at` in seconds; INT64_MAX: never. */
static void wake_at(struct schedules *s, struct entry *one, int64_t at) {
    timer_heap_remove(&s->due, one->position);
    one->wake = at;
    if (at < INT64_MAX / 1000)
        timer_heap_add(&s->due, at * 1000, 0, (uint32_t)(one - s->all.items) + 1);
}

/* --- notes ------------------------------------------------------------------------------------ */

static void write_note(struct engine *e, struct entry *one) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    const struct history *past = &one->past;
    json_put_int(w, "cursor", past->cursor);
    json_put_int(w, "timing", (int64_t)past->timing);
    json_put_bool(w, "paused", past->paused);
    json_put_bool(w, "skipping", past->skipping);
    json_put_int(w, "last_due", past->last_due);
    json_put_int(w, "last_task", (int64_t)past->last_task);
    json_put_int(w, "last_count", (int64_t)past->last_count);
    json_put_int(w, "fired", (int64_t)past->fired);
    json_put_int(w, "skipped", (int64_t)past->skipped);
    put_text(w, "error", past->error);
    json_put_array(w, "skips");
    for (size_t i = 0; i < past->skip_count; i++) {
        const struct skip *skip = &past->skips[i];
        json_write_object_begin(w);
        json_put_int(w, "first", skip->first);
        json_put_int(w, "last", skip->last);
        json_put_int(w, "count", (int64_t)skip->count);
        json_put_int(w, "reason", skip->reason);
        json_put_bool(w, "announced", skip->announced);
        json_write_object_end(w);
    }
    json_write_array_end(w);
    note_end(e, &data, NOTE, one->def.name);
    turn_wrote(e);
    one->changed = false;
}

static int64_t number_of(const json_t *object, const char *member) {
    return json_integer_value(json_object_get(object, member));
}

static void read_skips(const json_t *list, struct history *past) {
    for (size_t i = 0; i < json_array_size(list) && i < ENGINE_SKIPS_KEPT; i++) {
        const json_t *item = json_array_get(list, i);
        int64_t reason = number_of(item, "reason");
        past->skips[past->skip_count++] = (struct skip){
            .first = number_of(item, "first"),
            .last = number_of(item, "last"),
            .count = (uint64_t)number_of(item, "count"),
            .reason = reason >= 0 && reason < SKIP_MAX ? (enum schedule_skip)reason : SKIP_MISSED,
            .announced = json_is_true(json_object_get(item, "announced")),
        };
    }
}

static void schedules_load_note(struct engine *e, const struct note_row *row) {
    const char *name = note_key(row, NOTE);
    json_t *json = name ? json_loads(row->text, 0, NULL) : NULL;
    if (!json)
        return;
    const char *error = json_string_value(json_object_get(json, "error"));
    struct loaded *one = LIST_ADD(&schedules_of(e)->loaded);
    *one = (struct loaded){ .name = xstrdup(name) };
    one->past = (struct history){
        .cursor = number_of(json, "cursor"),
        .timing = (uint64_t)number_of(json, "timing"),
        .paused = json_is_true(json_object_get(json, "paused")),
        .skipping = json_is_true(json_object_get(json, "skipping")),
        .last_due = number_of(json, "last_due"),
        .last_task = (task_id)number_of(json, "last_task"),
        .last_count = (uint64_t)number_of(json, "last_count"),
        .fired = (uint64_t)number_of(json, "fired"),
        .skipped = (uint64_t)number_of(json, "skipped"),
        .error = error ? xstrdup(error) : NULL,
    };
    read_skips(json_object_get(json, "skips"), &one->past);
    json_decref(json);
}

/* --- taking a configuration ------------------------------------------------------------------- */

static void drop_all(struct schedules *s) {
    for (size_t i = 0; i < s->all.count; i++) {
        definition_finish(&s->all.items[i].def);
        history_finish(&s->all.items[i].past);
    }
    s->all.count = 0;
    for (size_t i = 0; i < s->loaded.count; i++) {
        free(s->loaded.items[i].name);
        history_finish(&s->loaded.items[i].past);
    }
    s->loaded.count = 0;
    id_map_finish(&s->by_name);
    id_map_init(&s->by_name, same_name, s);
    timer_heap_finish(&s->due);
    timer_heap_init(&s->due, moved, s);
}

/* The definitions that were checked last replace the others. Histories move to the definition of
 * the same name; the next turn deletes the notes of the others. */
static int schedules_take(struct engine *e, struct error *err) {
    struct schedules *s = schedules_of(e);
    (void)err;
    for (size_t i = 0; i < s->all.count; i++) {
        struct entry *one = &s->all.items[i];
        if (one->known) {
            *LIST_ADD(&s->loaded) =
                (struct loaded){ .name = xstrdup(one->def.name), .past = one->past };
            one->past = (struct history){ 0 };
        }
        definition_finish(&one->def);
        history_finish(&one->past);
    }
    s->all.count = 0;
    id_map_finish(&s->by_name);
    id_map_init(&s->by_name, same_name, s);
    timer_heap_finish(&s->due);
    timer_heap_init(&s->due, moved, s);
    for (size_t i = 0; i < s->checked.count; i++) {
        *LIST_ADD(&s->all) = (struct entry){ .def = s->checked.items[i] };
        id_map_add(&s->by_name, hash_name(s->checked.items[i].name), (uint32_t)i + 1);
    }
    s->checked.count = 0;
    if (s->all.count > 0)
        loop_wake_on_clock_set(e->loop);
    s->is_new = s->all.count > 0 || s->loaded.count > 0;
    return 0;
}

/* --- skips ------------------------------------------------------------------------------------ */

static void announce(struct engine *e, const char *name, struct skip *skip, const char *why) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "schedule", name);
    json_put_string(w, "reason", schedule_skip_names[skip->reason]);
    json_put_int(w, "first", skip->first * 1000);
    json_put_int(w, "last", skip->last * 1000);
    json_put_int(w, "count", (int64_t)skip->count);
    put_text(w, "error", why);
    event_end(e, &data, "schedule.skipped", 0, 0);
    skip->announced = true;
}

/* The event of a record is written when it begins and, if it grew, again when it ends. */
static void end_skips(struct engine *e, const char *name, struct history *past) {
    if (past->skipping && past->skip_count > 0 && !past->skips[0].announced)
        announce(e, name, &past->skips[0], NULL);
    past->skipping = false;
}

static void record_skip(struct engine *e, struct entry *one, const struct schedule_step *step,
                        const char *why) {
    struct history *past = &one->past;
    struct skip *newest = &past->skips[0];
    past->cursor = step->last;
    past->skipped += step->count;
    one->changed = true;
    if (past->skipping && newest->reason == step->reason) {
        newest->last = step->last;
        newest->count += step->count;
        newest->announced = false;
        return;
    }
    end_skips(e, one->def.name, past);
    memmove(past->skips + 1, past->skips, (ENGINE_SKIPS_KEPT - 1) * sizeof(*past->skips));
    if (past->skip_count < ENGINE_SKIPS_KEPT)
        past->skip_count++;
    *newest = (struct skip){
        .first = step->first, .last = step->last, .count = step->count, .reason = step->reason
    };
    past->skipping = true;
    announce(e, one->def.name, newest, why);
}

/* --- firing ----------------------------------------------------------------------------------- */

static bool is_open(const struct engine *e, const struct history *past) {
    for (uint64_t i = 0; i < past->last_count; i++) {
        enum task_state state = state_of(e, past->last_task + i);
        if (state != TASK_ABSENT && !task_state_is_final(state))
            return true;
    }
    return false;
}

static void cancel_last(struct engine *e, const struct history *past) {
    for (uint64_t i = 0; i < past->last_count; i++) {
        task_id task = past->last_task + i;
        enum task_state state = state_of(e, task);
        if (state == TASK_ABSENT || task_state_is_final(state))
            continue;
        struct fact fact = { .kind = FACT_CANCEL, .task = task };
        (void)engine_apply(e, &fact, NULL);
        engine_cancel_descendants(e, task, false);
    }
}

struct fired {
    int64_t due;
    task_id first; /* of `count` tasks; 0: none */
    uint64_t count;
    const char *backup; /* the path; NULL: none */
};

static void record_fired(struct engine *e, struct entry *one, const struct fired *fired) {
    struct history *past = &one->past;
    struct event_data data;
    past->last_due = fired->due;
    past->last_task = fired->first;
    past->last_count = fired->count;
    past->fired++;
    free(past->error);
    past->error = NULL;
    one->changed = true;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "schedule", one->def.name);
    json_put_int(w, "due_at", fired->due * 1000);
    json_put_int(w, "tasks", (int64_t)fired->count);
    if (fired->backup)
        json_put_string(w, "backup", fired->backup);
    event_end(e, &data, "schedule.fired", fired->first, 0);
}

/* Adds the tasks; `due` is what is recorded. */
static int add_tasks(struct engine *e, struct entry *one, const char *external_id, int64_t due,
                     struct error *err) {
    struct history *past = &one->past;
    task_id first = 0;
    uint64_t count = 0;
    struct engine_firing firing = {
        .schedule = one->def.name,
        .config = e->config,
        .external_id = external_id,
        .ret_first = &first,
        .ret_count = &count,
    };
    if (!e->fire)
        return error_set(err, -ENOTSUP, "this engine adds no tasks of schedules");
    int r = e->fire(e->fire_ctx, e, &firing, err);
    if (r < 0)
        return r;
    if (one->def.when.overlap == OVERLAP_REPLACE && first != past->last_task)
        cancel_last(e, past);
    record_fired(e, one, &(struct fired){ .due = due, .first = first, .count = count });
    return 0;
}

static void print_utc(int64_t utc, char *out, size_t size) {
    struct calendar_time t = calendar_fields(utc);
    (void)snprintf(out, size, "%04" PRId64 "-%02d-%02dT%02d:%02d:%02dZ", t.year, t.month, t.day,
                   t.hour, t.minute, t.second);
}

/* Recorded as skipped, with an alert. */
static void refuse(struct engine *e, struct entry *one, const struct schedule_step *step,
                   const struct error *err) {
    _cleanup_(freep) char *alert = xasprintf("schedule:%s", one->def.name);
    struct schedule_step refused = *step;
    refused.reason = SKIP_REFUSED;
    record_skip(e, one, &refused, err->text);
    free(one->past.error);
    one->past.error = xstrdup(err->text);
    _cleanup_(freep) char *text =
        xasprintf("schedule '%s' could not %s: %s; change it with 'sluice schedule set', or pause "
                  "it",
                  utf8_quote(one->def.name).text,
                  one->def.backup ? "make its backup" : "add its task", err->text);
    engine_alert_raise(e, alert, text);
}

static void fire(struct engine *e, struct entry *one, const struct schedule_step *step) {
    char time[40];
    struct error err = { 0 };
    print_utc(step->first, time, sizeof(time));
    _cleanup_(freep) char *id = xasprintf("%s@%s", one->def.name, time);
    if (add_tasks(e, one, id, step->first, &err) < 0) {
        refuse(e, one, step, &err);
        return;
    }
    one->past.cursor = step->last;
    end_skips(e, one->def.name, &one->past);
}

/* --- backups ---------------------------------------------------------------------------------- */

#define BACKUP_AGAIN 10 /* seconds: another backup, which a person has asked for, is being made */

static void backup_is_over(void *ctx, const struct error *err) {
    struct engine *e = ctx;
    struct backup *backup = &schedules_of(e)->backup;
    backup->err = err ? *err : (struct error){ 0 };
    backup->state = BACKUP_OVER;
    if (backup->err.code == -ESHUTDOWN) /* the next daemon makes it: its due time is not handled */
        backup->state = BACKUP_NONE;
    else
        turn_wake(e);
}

/* The file is there. */
static void record_backup(struct engine *e, struct entry *one, const struct schedule_step *step,
                          const char *path) {
    struct history *past = &one->past;
    past->cursor = step->last;
    record_fired(e, one, &(struct fired){ .due = step->first, .backup = path });
    end_skips(e, one->def.name, &one->past);
    backup_files_prune(one->def.backup, one->def.name, one->def.keep);
}

/* The file of a due time appears when it is complete: if it exists, it was made before a crash. False:
 * the due time is not handled yet; *ret_wake: when it must be looked at again. */
static bool fire_backup(struct engine *e, struct entry *one, const struct schedule_step *step,
                        int64_t now, int64_t *ret_wake) {
    struct backup *backup = &schedules_of(e)->backup;
    _cleanup_(freep) char *path = backup_files_path(one->def.backup, one->def.name, step->first);
    *ret_wake = INT64_MAX;
    if (backup->state == BACKUP_NONE && !backup_files_exist(path)) {
        free(backup->schedule);
        *backup = (struct backup){ .state = BACKUP_RUNNING,
                                   .schedule = xstrdup(one->def.name),
                                   .due = step->first };
        engine_backup(e, path, backup_is_over, e); /* calls it at once if it cannot begin */
    }
    bool own = backup->state != BACKUP_NONE && strcmp(backup->schedule, one->def.name) == 0
               && backup->due == step->first;
    one->waits = backup->state != BACKUP_NONE && !own;
    if (one->waits || backup->state == BACKUP_RUNNING)
        return false;
    struct error err = own ? backup->err : (struct error){ 0 };
    backup->state = BACKUP_NONE;
    if (err.code == -EBUSY) {
        *ret_wake = now + BACKUP_AGAIN;
        return false;
    }
    if (err.code < 0)
        refuse(e, one, step, &err);
    else
        record_backup(e, one, step, path);
    return true;
}

bool schedules_alert_is_over(const struct engine *e, const char *name) {
    const struct entry *one = entry_find(e, name);
    return !schedules_of(e)->is_new && (!one || !one->past.error);
}

/* --- the turn --------------------------------------------------------------------------------- */

/* The first look at a definition. */
static void begin_entry(struct engine *e, struct entry *one, int64_t now) {
    struct history *past = &one->past;
    if (!one->known || past->timing != one->def.timing) {
        if (one->known)
            end_skips(e, one->def.name, past);
        past->cursor = now;
        past->timing = one->def.timing;
        past->paused = one->def.paused;
        one->changed = true;
    }
    one->known = true;
}

/* Steps until there is nothing more to do now, or `*left` is 0. */
static void look_at(struct engine *e, struct entry *one, int64_t now, unsigned *left) {
    struct schedules *s = schedules_of(e);
    struct history *past = &one->past;
    if (one->def.paused) {
        one->changed = one->changed || !past->paused;
        past->paused = true;
        wake_at(s, one, INT64_MAX);
        return;
    }
    for (; *left > 0; --*left) {
        struct schedule_step step =
            past->paused ? schedule_skip_all(&one->def.when, past->cursor, now, SKIP_PAUSED)
                         : schedule_decide(&one->def.when, past->cursor, now, is_open(e, past));
        if (step.action == SCHEDULE_SKIP) {
            record_skip(e, one, &step, NULL);
        } else if (step.action == SCHEDULE_FIRE && one->def.backup) {
            int64_t wake;
            if (!fire_backup(e, one, &step, now, &wake)) {
                wake_at(s, one, wake);
                return;
            }
        } else if (step.action == SCHEDULE_FIRE) {
            fire(e, one, &step);
        } else if (past->paused) { /* the pause is over */
            past->paused = false;
            one->changed = true;
        } else {
            wake_at(s, one, step.wake);
            return;
        }
    }
    wake_at(s, one, now);
}

/* Histories of schedules that are defined; the notes of others are deleted. */
static void take_histories(struct engine *e) {
    struct schedules *s = schedules_of(e);
    for (size_t i = 0; i < s->loaded.count; i++) {
        struct loaded *old = &s->loaded.items[i];
        struct entry *one = entry_find(e, old->name);
        if (one && !one->known) {
            one->past = old->past;
            one->known = true;
        } else {
            end_skips(e, old->name, &old->past);
            note_put(e, NOTE, old->name, NULL);
            turn_wrote(e);
            history_finish(&old->past);
        }
        free(old->name);
    }
    s->loaded.count = 0;
}

static void look_and_write(struct engine *e, struct entry *one, int64_t now, unsigned *left) {
    look_at(e, one, now, left);
    if (one->changed)
        write_note(e, one);
}

/* Records it; then it is the turn of those that waited. */
static void take_backup(struct engine *e, int64_t now, unsigned *left) {
    struct schedules *s = schedules_of(e);
    struct entry *one = entry_find(e, s->backup.schedule);
    if (one)
        look_and_write(e, one, now, left);
    if (s->backup.state == BACKUP_OVER) /* the schedule was removed or changed meanwhile */
        s->backup.state = BACKUP_NONE;
    for (size_t i = 0; s->all.items && i < s->all.count; i++)
        if (s->all.items[i].waits)
            look_and_write(e, &s->all.items[i], now, left);
}

static void schedules_turn(struct engine *e) {
    struct schedules *s = schedules_of(e);
    int64_t now = turn_wall_clock(e) / 1000;
    unsigned left = STEPS_PER_TURN;
    uint32_t handle;
    if (e->retry_at > e->now || (!s->is_new && s->all.count == 0))
        return;
    if (s->is_new) {
        s->is_new = false;
        take_histories(e);
        for (size_t i = 0; i < s->all.count; i++) {
            begin_entry(e, &s->all.items[i], now);
            look_and_write(e, &s->all.items[i], now, &left);
        }
    }
    if (s->backup.state == BACKUP_OVER)
        take_backup(e, now, &left);
    while (left > 0 && (handle = timer_heap_pop(&s->due, now * 1000)) > 0) {
        look_and_write(e, &s->all.items[handle - 1], now, &left);
    }
}

static bool schedules_have_work(const struct engine *e) {
    const struct schedules *s = schedules_of(e);
    return (s->is_new || s->backup.state == BACKUP_OVER) && e->retry_at <= e->now;
}

/* The wall clock and that of the turn may differ. */
static time_ms schedules_next_wakeup(const struct engine *e) {
    time_ms next = timer_heap_next(&schedules_of(e)->due);
    if (next == TIME_NEVER)
        return next;
    return time_max(e->retry_at, time_add(e->now, time_max(next - turn_wall_clock(e), 0)));
}

static void schedules_init(struct engine *e) {
    drop_all(schedules_of(e));
}

/* The definitions stay; load_finish checks and takes them again. */
static void schedules_unload(struct engine *e) {
    drop_all(schedules_of(e));
}

static void schedules_free(struct engine *e) {
    struct schedules *s = schedules_of(e);
    drop_all(s);
    drop_checked(s);
    free(s->backup.schedule);
    id_map_finish(&s->by_name);
    timer_heap_finish(&s->due);
    zones_finish(&s->zones);
    free(s->all.items);
    free(s->checked.items);
    free(s->loaded.items);
}

/* --- for others ------------------------------------------------------------------------------- */

size_t engine_schedule_count(const struct engine *e) {
    return schedules_of(e)->all.count;
}

static void view_schedule(const struct engine *e, const struct config *config,
                          const struct definition *def, const struct history *past,
                          struct engine_schedule *ret) {
    int64_t due = schedule_next(&def->when, past->cursor);
    *ret = (struct engine_schedule){
        .name = def->name,
        .timezone = config_text(config, "schedules.S.timezone", def->name),
        .zone = zone_label(def),
        .paused = def->paused,
        .open = is_open(e, past),
        .next_due = in_ms(due),
        .next_at = def->paused ? TIME_NEVER : in_ms(schedule_fires_at(&def->when, due)),
        .cursor = in_ms(past->cursor),
        .last_due = in_ms(past->last_due),
        .last_task = past->last_task,
        .last_count = past->last_count,
        .fired = past->fired,
        .skipped = past->skipped,
        .backup = def->backup,
        .keep = def->keep,
        .error = past->error,
        .skip_count = past->skip_count,
    };
    for (size_t i = 0; i < past->skip_count; i++)
        ret->skips[i] =
            (struct engine_skip){ .first = in_ms(past->skips[i].first),
                                  .last = in_ms(past->skips[i].last),
                                  .count = past->skips[i].count,
                                  .reason = schedule_skip_names[past->skips[i].reason] };
}

void engine_schedule_at(const struct engine *e, size_t index, struct engine_schedule *ret) {
    const struct entry *one = &schedules_of(e)->all.items[index];
    view_schedule(e, e->config, &one->def, &one->past, ret);
}

size_t engine_checked_schedule(const struct engine *e, const struct config *config,
                               const char *name, struct engine_schedule *ret, time_ms *ret_due,
                               size_t max) {
    const struct schedules *s = schedules_of(e);
    const struct entry *one = entry_find(e, name);
    const struct definition *def = NULL;
    for (size_t i = 0; i < s->checked.count; i++)
        if (strcmp(s->checked.items[i].name, name) == 0)
            def = &s->checked.items[i];
    if (!def)
        return 0;
    struct history past = one ? one->past : (struct history){ 0 };
    int64_t now = turn_wall_clock(e) / 1000;
    if (!one || past.timing != def->timing)
        past.cursor = now;
    view_schedule(e, config, def, &past, ret);
    return list_due(def, time_max(past.cursor, now), ret_due, max);
}

bool engine_find_schedule(const struct engine *e, const char *name, struct engine_schedule *ret) {
    const struct entry *one = entry_find(e, name);
    if (one)
        engine_schedule_at(e, (size_t)(one - schedules_of(e)->all.items), ret);
    return one != NULL;
}

size_t engine_schedule_coming(const struct engine *e, const char *name, time_ms *ret, size_t max) {
    const struct entry *one = entry_find(e, name);
    return one ? list_due(&one->def, time_max(one->past.cursor, turn_wall_clock(e) / 1000), ret,
                          max)
               : 0;
}

char *engine_schedule_backup(const struct engine_schedule *s) {
    return s->backup && s->last_due > 0 ? backup_files_path(s->backup, s->name, s->last_due / 1000)
                                        : NULL;
}

int engine_run_schedule(struct engine *e, const char *name, task_id *ret_first, struct error *err) {
    struct entry *one = entry_find(e, name);
    time_ms now = turn_wall_clock(e);
    char time[40];
    if (!one)
        return error_set(err, -ENOENT, "there is no schedule '%s'", utf8_quote(name).text);
    if (one->def.backup)
        return error_set(err, -EINVAL,
                         "schedule '%s' makes backups: 'sluice backup FILE' makes one now",
                         utf8_quote(name).text);
    if (schedules_of(e)->is_new)
        return error_set(err, -EAGAIN, "the configuration has just changed; try again");
    print_utc(now / 1000, time, sizeof(time));
    _cleanup_(freep) char *id = xasprintf("%s@run-%s.%03d", name, time, (int)(now % 1000));
    int r = add_tasks(e, one, id, now / 1000, err);
    if (r < 0)
        return r;
    *ret_first = one->past.last_task;
    write_note(e, one);
    return 0;
}

/* --- forecasts -------------------------------------------------------------------------------- */

#define COMING_SCHEDULES 100u
#define COMING_TASKS     2000u

struct samples {
    LIST(struct task_spec) specs; /* with copies of their lists */
};

static void take_sample(void *ctx, const struct task_spec *spec) {
    struct samples *samples = ctx;
    struct task_spec *copy = LIST_ADD(&samples->specs);
    task_id *depends_on = xcalloc(spec->depends_on_count + 1, sizeof(*depends_on));
    sym *resources = xcalloc(spec->resource_count + 1, sizeof(*resources));
    for (size_t i = 0; i < spec->depends_on_count; i++)
        depends_on[i] = spec->depends_on[i];
    for (size_t i = 0; i < spec->resource_count; i++)
        resources[i] = spec->resources[i];
    *copy = *spec;
    copy->depends_on = depends_on;
    copy->resources = resources;
}

static void samples_finish(struct samples *samples) {
    for (size_t i = 0; i < samples->specs.count; i++) {
        free((void *)(uintptr_t)samples->specs.items[i].depends_on);
        free((void *)(uintptr_t)samples->specs.items[i].resources);
    }
    free(samples->specs.items);
}

/* None, if the tasks would be refused. */
static void sample_tasks(struct engine *e, const struct entry *one, struct samples *ret) {
    struct error ignored = { 0 };
    task_id first = 0;
    uint64_t count = 0;
    _cleanup_(freep) char *id = xasprintf("%s@forecast", one->def.name);
    struct engine_firing firing = {
        .schedule = one->def.name,
        .config = e->config,
        .external_id = id,
        .check_only = true,
        .sample = take_sample,
        .sample_ctx = ret,
        .ret_first = &first,
        .ret_count = &count,
    };
    if (!e->fire || e->fire(e->fire_ctx, e, &firing, &ignored) < 0) {
        samples_finish(ret);
        *ret = (struct samples){ 0 };
    }
}

/* The tasks get new numbers, also where one needs another. */
static void add_firing(struct samples *samples, time_ms at, sym schedule, task_id *next,
                       struct coming *ret) {
    task_id was = samples->specs.items[0].id, shift = *next - was;
    for (size_t i = 0; i < samples->specs.count; i++) {
        struct task_spec *spec = &samples->specs.items[i];
        task_id *depends_on = (task_id *)(uintptr_t)spec->depends_on;
        spec->id += shift;
        spec->parent += spec->parent >= was ? shift : 0;
        for (size_t k = 0; k < spec->depends_on_count; k++)
            depends_on[k] += depends_on[k] >= was ? shift : 0;
        spec->created_at = spec->ready_since = at;
        coming_add_task(ret, at, schedule, spec);
    }
    *next += samples->specs.count;
}

static int by_wake(const void *a, const void *b) {
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
    return x->wake < y->wake ? -1 : x->wake > y->wake;
}

/* The schedules that fire next; returns their number. */
static size_t choose_coming(struct schedules *s, int64_t until, struct entry **ret) {
    size_t count = 0;
    for (size_t i = 0; i < s->all.count; i++)
        if (!s->all.items[i].def.paused && !s->all.items[i].def.backup
            && s->all.items[i].wake <= until)
            ret[count++] = &s->all.items[i];
    if (count > 1)
        qsort((void *)ret, count, sizeof(struct entry *), by_wake);
    return count < COMING_SCHEDULES ? count : COMING_SCHEDULES;
}

void schedules_add_coming(struct engine *e, time_ms horizon, struct coming *ret) {
    struct schedules *s = schedules_of(e);
    time_ms offset = turn_clock_offset(e);
    int64_t now = turn_wall_clock(e) / 1000, until = now + horizon / 1000;
    if (s->is_new || s->all.count == 0)
        return;
    struct entry **chosen = xcalloc(s->all.count, sizeof(struct entry *));
    size_t count = choose_coming(s, until, chosen);
    struct samples *samples = xcalloc(count + 1, sizeof(*samples));
    int64_t *dues = xcalloc(count + 1, sizeof(*dues));
    struct timer_heap heap;
    timer_heap_init(&heap, NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct entry *one = chosen[i];
        sym name = symbol_of(e, one->def.name);
        coming_set_overlap(ret, name, one->def.when.overlap);
        for (uint64_t k = 0; k < one->past.last_count && is_open(e, &one->past); k++)
            coming_add_open(ret, name, one->past.last_task + k);
        sample_tasks(e, one, &samples[i]);
        dues[i] = schedule_next(&one->def.when, one->past.cursor);
        if (samples[i].specs.count > 0 && dues[i] != INT64_MAX)
            timer_heap_add(&heap, schedule_fires_at(&one->def.when, dues[i]), i, (uint32_t)i + 1);
    }
    task_id next = e->last_task + 1;
    uint32_t handle;
    while (ret->task_count < COMING_TASKS && (handle = timer_heap_pop(&heap, until)) > 0) {
        size_t i = handle - 1;
        const struct schedule *when = &chosen[i]->def.when;
        int64_t at = time_max(schedule_fires_at(when, dues[i]), now);
        add_firing(&samples[i], at * 1000 - offset, symbol_of(e, chosen[i]->def.name), &next, ret);
        dues[i] = schedule_next(when, dues[i]);
        if (dues[i] != INT64_MAX)
            timer_heap_add(&heap, schedule_fires_at(when, dues[i]), i, handle);
    }
    for (size_t i = 0; i < count; i++)
        samples_finish(&samples[i]);
    timer_heap_finish(&heap);
    free((void *)chosen);
    free(samples);
    free(dues);
}

const struct engine_part schedules_part = {
    .state_size = sizeof(struct schedules),
    .at = { [STEP_INIT] = schedules_init,
            [STEP_UNLOAD] = schedules_unload,
            [STEP_BEFORE_DECIDE] = schedules_turn,
            [STEP_FREE] = schedules_free },
    .try = { [TRY_CHECK_CONFIG] = schedules_check, [TRY_TAKE_CONFIG] = schedules_take },
    .load_note = schedules_load_note,
    .has_work = schedules_have_work,
    .next_wakeup = schedules_next_wakeup,
};
