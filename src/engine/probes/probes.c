/* probes.c: asks the commands of closed gates and pending checks, again and again.
 *
 * A gate keeps a task from starting until its command says yes. It is asked while it is the first
 * gate that is closed: an answer from before a dependency has ended would be about another world. A
 * check that exits with 75 has no result yet: its task is held without a slot while the check is
 * asked. When it has a result, the task is released, and its next run repeats the checks without the
 * command, so that success and failure take the usual path.
 *
 * Equal commands (words, folder, environment) of several tasks are one probe, which is run once. A
 * probe is a helper process below a guard; `probes.max_running` of them run at once. The answer is
 * applied in the next turn.
 *
 * The closed gate is a bit of the task, and the hold is its state, so after a restart everything is
 * asked again. A note per task keeps what must not start over: since when a gate with a time-out is
 * asked, and which check of which run is pending. */
#include "engine/probes/probes_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/env_text.h"
#include "base/hash.h"
#include "base/id_table.h"
#include "base/number.h"
#include "engine/launch/launch_internal.h"
#include "engine/note.h"
#include "engine/redaction.h"
#include "engine/runs/runs_internal.h"
#include "rundir/rundir.h"

#define NOTE        "probe:"
#define EVERY_USUAL SECONDS(60)
#define OUTPUT_MAX  (16u << 10)
#define READ_EACH   256u

/* A task with a closed gate or a pending check. */
struct asker {
    task_id task;
    struct probe *probe; /* NULL: its spec is not read yet, or nothing is asked now */
    bool is_check;
    bool is_asked;  /* the current call of its probe is for it */
    bool has_event; /* has an event about the answer of its probe */
    bool has_note;
    bool has_failed;                    /* a gate: the task has failed because of its time-out */
    bool is_expired;                    /* a check: pending for longer than its time-out */
    bool by_run;                        /* a check: only a run can ask it */
    time_ms every, timeout;             /* spans; timeout 0: none */
    time_ms since;                      /* first asked; 0: not yet */
    uint32_t attempt, iteration, check; /* of the pending check */
    uint32_t repeats;                   /* a check that is asked by runs */
    char *last;                         /* last reason, after it has failed */
};

struct probe {
    struct engine *e;
    struct arena arena;
    uint64_t hash;
    const char *key; /* command, folder and environment */
    size_t key_size;
    const char *const *argv, *const *env; /* of a gate; a check has those of its run */
    const char *cwd;
    LIST(task_id) tasks;
    struct secrets *secrets;       /* of its project, for this call; or NULL */
    bool is_running;               /* its secrets are read, or its command runs */
    struct helper_process *helper; /* the command */
    bool is_orphan;                /* no task is left; freed when the helper has ended */
    bool is_answered;              /* `next` is not applied yet */
    enum probe_answer answer, next;
    char *reason, *next_reason;
    uint32_t repeats;
    time_ms every, asked_at, next_at;
};

struct probes {
    struct id_table askers; /* struct asker, by task */
    LIST(struct probe *) all;
    LIST(task_id) unread; /* their specs are not read yet */
    bool is_querying;
    uint32_t generation;
    size_t running, answered;
    time_ms wake_at; /* no probe is due before */
};

PART_STATE(probes, struct probes, probes_of)

/* --- tasks ------------------------------------------------------------------------------------ */

static void clear_asker(void *record) {
    struct asker *a = record;
    free(a->last);
}

static struct asker *find_asker(const struct engine *e, task_id task) {
    return id_table_find(&probes_of(e)->askers, task);
}

static struct asker *find_or_make_asker(struct engine *e, task_id task) {
    return id_table_find_or_make(&probes_of(e)->askers, task);
}

static void write_note(struct engine *e, struct asker *a) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_int(w, "since", a->since);
    if (a->is_check) {
        json_put_int(w, "attempt", a->attempt);
        json_put_int(w, "iteration", a->iteration);
        json_put_int(w, "check", a->check);
        json_put_bool(w, "by_run", a->by_run);
        json_put_bool(w, "expired", a->is_expired);
    }
    if (a->has_failed)
        json_put_string(w, "failed", a->last);
    note_end_task(e, &data, NOTE, a->task);
    a->has_note = true;
    turn_wrote(e);
}

static time_ms number_in(const json_t *object, const char *member) {
    return (time_ms)json_integer_value(json_object_get(object, member));
}

static void probes_load_note(struct engine *e, const struct note_row *row) {
    const char *key = note_key(row, NOTE);
    int64_t task = 0;
    if (!key || number_parse_int(key, &task, NULL) < 0)
        return;
    json_t *note = json_loads(row->text, 0, NULL);
    struct asker *a = find_or_make_asker(e, (task_id)task);
    const char *failed = json_string_value(json_object_get(note, "failed"));
    a->has_note = true;
    a->since = number_in(note, "since");
    a->is_check = json_object_get(note, "attempt") != NULL;
    a->attempt = (uint32_t)number_in(note, "attempt");
    a->iteration = (uint32_t)number_in(note, "iteration");
    a->check = (uint32_t)number_in(note, "check");
    a->by_run = json_is_true(json_object_get(note, "by_run"));
    a->is_expired = json_is_true(json_object_get(note, "expired"));
    a->has_failed = failed != NULL;
    a->last = failed ? xstrdup(failed) : NULL;
    json_decref(note);
}

/* --- probes ----------------------------------------------------------------------------------- */

static void probe_free(struct probe *probe) {
    helper_kill(probe->helper);
    secrets_free_project(probe->secrets);
    free(probe->tasks.items);
    free(probe->reason);
    free(probe->next_reason);
    arena_finish(&probe->arena);
    free(probe);
}

static void probe_remove(struct probes *p, struct probe *probe) {
    size_t i = 0;
    while (p->all.items[i] != probe)
        i++;
    p->all.items[i] = p->all.items[--p->all.count];
    probe_free(probe);
}

/* No task asks any more. */
static void probe_drop(struct engine *e, struct probe *probe) {
    struct probes *p = probes_of(e);
    p->answered -= probe->is_answered;
    probe->is_answered = false;
    probe->tasks.count = 0;
    if (!probe->helper) {
        p->running -= probe->is_running;
        probe_remove(p, probe);
    } else if (!probe->is_orphan) {
        probe->is_orphan = true;
        helper_stop(probe->helper);
    }
}

/* Keeps the probe, even without tasks. */
static struct probe *detach(struct asker *a) {
    struct probe *probe = a->probe;
    for (size_t i = 0; probe && i < probe->tasks.count; i++)
        if (probe->tasks.items[i] == a->task) {
            probe->tasks.items[i] = probe->tasks.items[--probe->tasks.count];
            break;
        }
    a->probe = NULL;
    a->is_asked = a->has_event = false;
    return probe;
}

static void leave(struct engine *e, struct asker *a) {
    struct probe *probe = detach(a);
    if (probe && probe->tasks.count == 0)
        probe_drop(e, probe);
}

static void forget(struct engine *e, struct asker *a) {
    leave(e, a);
    if (a->has_note) {
        note_put_task(e, NOTE, a->task, NULL);
        turn_wrote(e);
    }
    (void)id_table_drop(&probes_of(e)->askers, a->task);
}

static void set_due(struct engine *e, struct probe *probe, time_ms at) {
    probe->next_at = at;
    probes_of(e)->wake_at = time_min(probes_of(e)->wake_at, at);
}

/* As soon as possible, but no two calls within `every`. */
static void ask_soon(struct engine *e, struct probe *probe) {
    time_ms at = probe->asked_at ? time_add(probe->asked_at, probe->every) : e->now;
    probe->repeats = 0;
    set_due(e, probe, time_min(probe->next_at, at));
}

/* Takes over `made`: another task may have an equal probe. */
static void join(struct engine *e, struct asker *a, struct probe *made) {
    struct probes *p = probes_of(e);
    struct probe *probe = NULL;
    made->hash = hash_bytes(made->key, made->key_size);
    for (size_t i = 0; !probe && i < p->all.count; i++) {
        struct probe *other = p->all.items[i];
        if (!other->is_orphan && other->hash == made->hash && other->key_size == made->key_size
            && memcmp(other->key, made->key, made->key_size) == 0)
            probe = other;
    }
    if (probe) {
        probe_free(made);
    } else {
        probe = *LIST_ADD(&p->all) = made;
        made->e = e;
        made->every = a->every;
        made->next_at = TIME_NEVER;
    }
    probe->every = time_min(probe->every, a->every);
    *LIST_ADD(&probe->tasks) = a->task;
    a->probe = probe;
}

/* --- what is asked ---------------------------------------------------------------------------- */

static time_ms span_in(const json_t *object, const char *member, time_ms otherwise) {
    const json_t *value = json_object_get(object, member);
    return json_is_number(value) ? (time_ms)(json_number_value(value) * 1000.0) : otherwise;
}

static void put_pair(struct strbuf *out, const char *pair) {
    strbuf_add(out, pair, strlen(pair) + 1);
}

/* The variables of `tasks.env` as the daemon has them, those of the task, and its project. Each is
 * NUL-terminated. */
static void put_environment(const struct engine *e, const json_t *task, const char *project,
                            struct strbuf *out) {
    const char *const *words = NULL, *own = NULL, *name;
    const json_t *set = json_object_get(task, "env");
    json_t *value;
    size_t count = config_words(e->config, "tasks.env", NULL, &words);
    for (size_t i = 0; i < count; i++)
        if (env_pick(daemon_env(e), &words[i], 1, &own) > 0 && !json_object_get(set, words[i]))
            put_pair(out, own);
    json_object_foreach((json_t *)set, name, value) {
        strbuf_printf(out, "%s=%s", name, json_string_value(value));
        strbuf_putc(out, '\0');
    }
    strbuf_printf(out, "SLUICE_PROJECT=%s", project);
    strbuf_putc(out, '\0');
}

/* NUL-terminated texts as a list in the arena. */
static const char *const *list_of(struct arena *arena, const char *text, size_t size) {
    size_t count = 0, n = 0;
    for (size_t i = 0; i < size; i++)
        count += text[i] == '\0';
    const char **list = arena_alloc(arena, (count + 1) * sizeof(*list));
    for (size_t at = 0; at < size; at += strlen(text + at) + 1)
        list[n++] = text + at;
    return list;
}

static struct probe *make_gate(const struct engine *e, const json_t *task, task_id id) {
    const struct engine_project *project = project_of_task(e, id);
    const json_t *words = json_object_get(json_object_get(task, "gate"), "argv");
    const char *cwd = json_string_value(json_object_get(task, "cwd"));
    _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, mark = STRBUF_INIT;
    size_t index, argv_size, folder_size;
    json_t *word;
    if (json_array_size(words) == 0 || !project)
        return NULL;
    struct probe *probe = xcalloc(1, sizeof(*probe));
    json_array_foreach(words, index, word) {
        put_pair(&key, json_string_value(word));
    }
    argv_size = key.length;
    put_pair(&key, cwd ? cwd : project->path ? project->path : e->data);
    folder_size = key.length - argv_size;
    put_environment(e, task, project->name, &key);
    helper_mark(e->data, &mark); /* so that the next daemon kills what this one has left */
    put_pair(&key, strbuf_text(&mark));
    char *text = arena_alloc(&probe->arena, key.length);
    memcpy(text, key.text, key.length);
    probe->key = text;
    probe->key_size = key.length;
    probe->argv = list_of(&probe->arena, text, argv_size);
    probe->cwd = text + argv_size;
    probe->env = list_of(&probe->arena, text + argv_size + folder_size,
                         key.length - argv_size - folder_size);
    return probe;
}

static struct probe *make_check(const struct asker *a) {
    struct probe *probe = xcalloc(1, sizeof(*probe));
    char *key = arena_printf(&probe->arena, "%" PRIu64 ".%" PRIu32, a->task, a->attempt);
    probe->key = key;
    probe->key_size = strlen(key);
    return probe;
}

static void take_spec(struct engine *e, const struct spec_row *row) {
    struct asker *a = find_asker(e, row->id);
    json_t *task = json_loadb(row->json, row->json_size, 0, NULL);
    if (a && !a->probe && !a->has_failed && task) {
        const json_t *command = a->is_check
                                    ? json_array_get(json_object_get(task, "checks"), a->check)
                                    : json_object_get(task, "gate");
        a->every = span_in(command, "every_s", EVERY_USUAL);
        a->timeout = span_in(command, a->is_check ? "pending_timeout_s" : "timeout_s", 0);
        struct probe *probe = a->is_check ? make_check(a) : make_gate(e, task, row->id);
        if (probe)
            join(e, a, probe);
        if (probe && a->is_check) /* its run has just asked it */
            set_due(
                e, a->probe,
                time_add(e->now,
                         probe_pause(a->every, config_number(e->config, "probes.max_every_s", NULL),
                                     a->repeats)));
        else if (probe)
            ask_soon(e, a->probe);
    }
    json_decref(task);
}

struct spec_question {
    struct engine *e;
    uint32_t generation;
    task_id tasks[READ_EACH];
};

static void specs_answered(void *ctx, const struct store_answer *answer, const struct error *err) {
    struct spec_question *q = ctx;
    struct engine *e = q->e;
    if (err)
        turn_break(e, err);
    if (!err && q->generation == probes_of(e)->generation) {
        probes_of(e)->is_querying = false;
        for (size_t i = 0; i < answer->count; i++)
            take_spec(e, &answer->specs[i]);
        turn_wake(e);
    }
    free(q);
}

static void read_specs(struct engine *e) {
    struct probes *p = probes_of(e);
    if (p->unread.count == 0 || p->is_querying)
        return;
    struct spec_question *q = xcalloc(1, sizeof(*q));
    q->e = e;
    q->generation = p->generation;
    size_t count = p->unread.count < READ_EACH ? p->unread.count : READ_EACH;
    p->unread.count -= count;
    memcpy(q->tasks, p->unread.items + p->unread.count, count * sizeof(*q->tasks));
    qsort(q->tasks, count, sizeof(*q->tasks), task_id_compare);
    struct store_query question = { .kind = QUERY_SPECS, .tasks = q->tasks, .task_count = count };
    p->is_querying = true;
    store_query(e->store, &question, specs_answered, q);
}

void probe_want(struct engine *e, task_id task) {
    (void)find_or_make_asker(e, task);
    *LIST_ADD(&probes_of(e)->unread) = task;
    turn_wake(e);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* A task that waits for something else is not asked about. */
static bool is_eligible(const struct engine *e, const struct asker *a) {
    struct task_view view;
    struct verdict first;
    if (a->is_check)
        return core_task(e->core, a->task, &view) && view.state == TASK_HELD
               && view.hold == HOLD_CHECK;
    return core_blocked(e->core, a->task, &first) && first.gate == GATE_PROBE;
}

static void note_answer(struct probe *probe, enum probe_answer answer, const char *reason) {
    struct engine *e = probe->e;
    free(probe->next_reason);
    probe->next = answer;
    probe->next_reason = xstrdup(reason);
    engine_redact_in_place(e, probe->next_reason);
    probes_of(e)->answered += !probe->is_answered;
    probe->is_answered = true;
    turn_wake(e);
}

static void call_is_over(struct probe *probe) {
    probes_of(probe->e)->running--;
    probes_of(probe->e)->wake_at = 0; /* another one may be waiting for this slot */
    probe->is_running = false;
}

static void call_ended(void *ctx, const struct helper_end *end) {
    struct probe *probe = ctx;
    struct engine *e = probe->e;
    _cleanup_(strbuf_finish) struct strbuf reason = STRBUF_INIT;
    probe->helper = NULL;
    probe->secrets = secrets_free_project(probe->secrets);
    call_is_over(probe);
    if (turn_is_over(e)) /* the next daemon asks again */
        return;
    if (probe->is_orphan) {
        probe_remove(probes_of(e), probe);
        turn_wake(e);
        return;
    }
    enum probe_answer answer = probe_answer_of(end, &reason);
    note_answer(probe, answer, strbuf_text(&reason));
}

static int start_gate(struct engine *e, struct probe *probe, struct error *err) {
    _cleanup_(arena_finish) struct arena arena = ARENA_INIT;
    const char *const *env = probe->env;
    char id[ENGINE_ID_MAX];
    int r = probe->secrets ? secrets_add_to(probe->secrets, env, &arena, &env, err) : 0;
    if (r < 0)
        return r;
    const struct guard_call call = {
        .command = { .argv = probe->argv,
                     .cwd = probe->cwd,
                     .env = env,
                     .timeout = config_number(e->config, "probes.timeout_s", NULL),
                     .output_max = OUTPUT_MAX },
        .name = engine_task_id(e, probe->tasks.items[0], id),
        .ended = call_ended,
        .ctx = probe,
    };
    return guard_start(e, &call, &probe->helper, err);
}

/* The secrets were read by a command. */
static void secrets_ready(void *ctx) {
    struct probe *probe = ctx;
    struct error err = { 0 };
    if (start_gate(probe->e, probe, &err) == 0)
        return;
    call_is_over(probe);
    note_answer(probe, PROBE_NO, err.text);
}

/* With the secrets of its project, which may have to be read first. */
static int call_gate(struct engine *e, struct probe *probe, task_id task, struct error *err) {
    const struct engine_project *project = project_of_task(e, task);
    secrets_free_project(probe->secrets);
    probe->secrets = secrets_of_project(e, project->name, secrets_ready, probe);
    return probe->secrets && !secrets_are_complete(probe->secrets) ? 0 : start_gate(e, probe, err);
}

/* The environment of the run, with our mark. */
static const char *const *check_env(const struct engine *e, const struct run_spec *spec,
                                    struct run_key run, struct arena *arena) {
    const char *const *pairs = secrets_check_env(e, run, spec, arena);
    _cleanup_(strbuf_finish) struct strbuf mark = STRBUF_INIT;
    size_t count = 0;
    while (pairs[count])
        count++;
    const char **env = arena_alloc(arena, (count + 2) * sizeof(*env));
    for (size_t i = 0; i < count; i++)
        env[i] = pairs[i];
    helper_mark(e->data, &mark);
    env[count] = arena_strdup(arena, strbuf_text(&mark));
    return env;
}

/* The check as its run has called it. -EOPNOTSUPP: only a run can do that, because the check is in a
 * sandbox or on another machine, or has secrets. */
static int start_check(struct engine *e, struct probe *probe, const struct asker *a, const char *id,
                       struct error *err) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    _cleanup_(strbuf_finish) struct strbuf folder = STRBUF_INIT;
    _cleanup_(arena_finish) struct arena arena = ARENA_INIT;
    rundir_name(&folder, id, a->attempt);
    int r = a->by_run ? -EOPNOTSUPP
                      : rundir_read_spec(e->runs_folder, strbuf_text(&folder), NULL, &read, err);
    if (r < 0)
        return r;
    const struct run_spec *spec = &read->spec;
    if (spec->wrap || spec->secret_names || a->check >= spec->check_count)
        return -EOPNOTSUPP;
    const struct run_command *check = &spec->checks[a->check];
    const struct guard_call call = {
        .command = { .argv = check->argv,
                     .cwd = spec->cwd,
                     .env = check_env(e, spec, (struct run_key){ a->task, a->attempt }, &arena),
                     .timeout = check->timeout > 0
                                    ? check->timeout
                                    : config_number(e->config, "probes.timeout_s", NULL),
                     .output_max = OUTPUT_MAX },
        .run = spec,
        .in_sandbox = true,
        .name = id,
        .ended = call_ended,
        .ctx = probe,
    };
    return guard_start(e, &call, &probe->helper, err);
}

static void ask(struct engine *e, struct probe *probe) {
    struct error err = { 0 };
    char id[ENGINE_ID_MAX];
    struct asker *a = find_asker(e, probe->tasks.items[0]);
    engine_task_id(e, a->task, id);
    probe->asked_at = e->now;
    int r = a->is_check ? start_check(e, probe, a, id, &err) : call_gate(e, probe, a->task, &err);
    probe->is_running = r == 0;
    probes_of(e)->running += probe->is_running;
    if (r < 0)
        note_answer(probe, a->is_check ? PROBE_UNKNOWN : PROBE_NO, err.text);
}

/* True: at least one of its tasks waits for the answer. */
static bool mark_asked(struct engine *e, struct probe *probe) {
    bool is_wanted = false;
    for (size_t i = 0; i < probe->tasks.count; i++) {
        struct asker *a = find_asker(e, probe->tasks.items[i]);
        a->is_asked = is_eligible(e, a);
        is_wanted |= a->is_asked;
    }
    return is_wanted;
}

static void probes_ask_due(struct engine *e) {
    struct probes *p = probes_of(e);
    size_t most = (size_t)config_number(e->config, "probes.max_running", NULL);
    if (p->wake_at > e->now || turn_is_over(e) || !e->started)
        return;
    p->wake_at = TIME_NEVER;
    for (size_t i = 0; i < p->all.count; i++) {
        struct probe *probe = p->all.items[i];
        if (probe->is_running || probe->is_answered)
            continue;
        if (probe->next_at <= e->now && p->running >= most)
            continue; /* the end of another one starts it */
        if (probe->next_at <= e->now && mark_asked(e, probe))
            ask(e, probe);
        else if (probe->next_at <= e->now)
            probe->next_at = time_add(e->now, probe->every);
        if (!probe->is_running && !probe->is_answered)
            p->wake_at = time_min(p->wake_at, probe->next_at);
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

static time_ms deadline_of(const struct asker *a) {
    return a->timeout > 0 && a->since > 0 ? time_add(a->since, a->timeout) : TIME_NEVER;
}

static void write_event(struct engine *e, const struct asker *a, const struct probe *probe) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "probe", a->is_check ? "check" : "gate");
    json_put_string(w, "answer", probe_answer_name(probe->answer));
    put_text(w, "reason", *probe->reason ? probe->reason : NULL);
    event_end(e, &data, "task.probe", a->task, 0);
}

static void apply_to_gate(struct engine *e, struct asker *a, const struct probe *probe) {
    struct fact fact = { .kind = FACT_PROBE, .task = a->task, .probe_open = true };
    if (probe->answer == PROBE_YES) {
        (void)detach(a);
        forget(e, a);
        (void)engine_apply(e, &fact, NULL);
    } else if (deadline_of(a) <= e->now) {
        a->has_failed = true;
        a->last = xstrdup(probe->reason);
        (void)detach(a);
        write_note(e, a);
        fact.kind = FACT_UNANSWERED;
        (void)engine_apply(e, &fact, NULL);
    }
}

/* The next run of the task repeats its checks. */
static void apply_to_check(struct engine *e, struct asker *a, const struct probe *probe) {
    bool is_over = deadline_of(a) <= e->now;
    if (probe->answer == PROBE_PENDING && !is_over)
        return;
    if (is_over && !a->is_expired) {
        a->is_expired = true;
        write_note(e, a);
    }
    (void)detach(a);
    (void)engine_apply(e, &(struct fact){ .kind = FACT_RELEASE, .task = a->task }, NULL);
}

static void apply_to_task(struct engine *e, struct asker *a, const struct probe *probe,
                          bool has_changed) {
    if (!a->is_asked || !is_eligible(e, a))
        return;
    a->is_asked = false;
    if (a->since == 0) {
        a->since = probe->asked_at;
        if (a->timeout > 0)
            write_note(e, a);
    }
    if ((has_changed || !a->has_event) && probe->answer != PROBE_UNKNOWN)
        write_event(e, a, probe);
    a->has_event = true;
    if (a->is_check)
        apply_to_check(e, a, probe);
    else
        apply_to_gate(e, a, probe);
}

static void apply_answer(struct engine *e, struct probe *probe) {
    bool has_changed = probe->answer != probe->next || !probe->reason
                       || strcmp(probe->reason, probe->next_reason) != 0;
    time_ms deadline = TIME_NEVER;
    free(probe->reason);
    probe->answer = probe->next;
    probe->reason = TAKE_PTR(probe->next_reason);
    probe->repeats = has_changed ? 0 : probe->repeats + 1;
    probe->is_answered = false;
    probes_of(e)->answered--;
    for (size_t i = probe->tasks.count; i-- > 0;)
        apply_to_task(e, find_asker(e, probe->tasks.items[i]), probe, has_changed);
    for (size_t i = 0; i < probe->tasks.count; i++)
        deadline = time_min(deadline, deadline_of(find_asker(e, probe->tasks.items[i])));
    if (probe->tasks.count == 0) {
        probe_drop(e, probe);
        return;
    }
    time_ms most = config_number(e->config, "probes.max_every_s", NULL);
    time_ms at = time_add(e->now, probe_pause(probe->every, most, probe->repeats));
    set_due(e, probe, time_min(at, deadline > e->now ? deadline : at));
}

static void probes_apply(struct engine *e) {
    struct probes *p = probes_of(e);
    read_specs(e);
    for (size_t i = p->all.count; i-- > 0 && p->answered > 0;)
        if (p->all.items[i]->is_answered)
            apply_answer(e, p->all.items[i]);
}

/* --- runs ------------------------------------------------------------------------------------- */

void probe_run_ended(struct engine *e, const struct live_run *run, const struct run_end *end,
                     enum outcome outcome) {
    struct asker *a = find_asker(e, run->task);
    if (outcome == OUTCOME_PENDING) {
        a = find_or_make_asker(e, run->task);
        bool is_same =
            a->is_check && a->iteration == run->iteration && a->check == (uint32_t)end->check;
        leave(e, a);
        a->repeats = is_same && a->by_run ? a->repeats + 1 : 0;
        a->since = is_same ? a->since : e->now;
        a->is_check = true;
        a->attempt = run->view.attempt;
        a->iteration = run->iteration;
        a->check = (uint32_t)end->check;
        a->by_run = run->executor != EXECUTOR_LOCAL;
        write_note(e, a);
        *LIST_ADD(&probes_of(e)->unread) = run->task;
        turn_wake(e);
    } else if (a && a->is_check && outcome != OUTCOME_LOST && outcome != OUTCOME_LAUNCH
               && outcome != OUTCOME_BUDGET) {
        forget(e, a); /* the check has a result; the others ran no check */
    }
}

bool probe_skips_command(const struct engine *e, task_id task, uint32_t iteration) {
    const struct asker *a = find_asker(e, task);
    return a && a->is_check && a->iteration == iteration;
}

bool probe_has_expired(const struct engine *e, task_id task, int check) {
    const struct asker *a = find_asker(e, task);
    return a && a->is_check && a->is_expired && a->check == (uint32_t)check;
}

/* --- what others read ------------------------------------------------------------------------- */

bool engine_explain_probe(const struct engine *e, task_id task, struct strbuf *out) {
    const struct asker *a = find_asker(e, task);
    const struct probe *probe = a ? a->probe : NULL;
    struct task_view view;
    if (!a || !core_task(e->core, task, &view))
        return false;
    if (view.state == TASK_FAILED) {
        if (a->has_failed)
            strbuf_printf(out, "its gate did not say yes in time%s%s", *a->last ? ": " : "",
                          a->last);
        return a->has_failed;
    }
    bool has_reason = probe && probe->reason && *probe->reason;
    if (a->is_check && view.state == TASK_HELD && view.hold == HOLD_CHECK) {
        strbuf_printf(out, "check %" PRIu32 " has no result yet", a->check + 1);
        if (has_reason)
            strbuf_printf(out, ": %s", probe->reason);
        strbuf_puts(out, "; it is asked again");
        return true;
    }
    if (a->is_check || !probe || probe->answer == PROBE_UNKNOWN)
        return false;
    strbuf_printf(out, "its gate says %s", probe_answer_name(probe->answer));
    if (has_reason)
        strbuf_printf(out, ": %s", probe->reason);
    return true;
}

void engine_count_probes(const struct engine *e, struct engine_probe_counts *ret) {
    const struct probes *p = probes_of(e);
    *ret = (struct engine_probe_counts){ .tasks = p->askers.slab.used,
                                         .commands = p->all.count,
                                         .running = p->running };
}

/* --- the part --------------------------------------------------------------------------------- */

/* Work that is done again has no pending check, and a gate is asked again. */
static void probes_applied(struct engine *e, const struct fact *fact) {
    struct task_spec spec;
    struct asker *a;
    switch ((int)fact->kind) {
    case FACT_DELETE:
    case FACT_FORGET:
    case FACT_AGAIN:
    case FACT_REJECT:
        a = find_asker(e, fact->task);
        if (a)
            forget(e, a);
        break;
    case FACT_RETRY:
    case FACT_CLEAR:
        a = find_asker(e, fact->task);
        if (a && (a->is_check || a->has_failed))
            forget(e, a);
        if (core_task_spec(e->core, fact->task, &spec) && spec.probe_closed)
            probe_want(e, fact->task);
        break;
    case FACT_RELEASE:
    case FACT_SLING:
    case FACT_ARTIFACT:
        a = find_asker(e, fact->task);
        if (a && a->is_check) /* its next run asks the check */
            leave(e, a);
        else if (a && a->probe)
            ask_soon(e, a->probe);
        break;
    default:
        break;
    }
}

static void dependency_ended(void *ctx, task_id task) {
    struct engine *e = ctx;
    struct asker *a = find_asker(e, task);
    if (a && a->probe)
        ask_soon(e, a->probe);
}

static void probes_ordered(struct engine *e, const struct order *order, size_t count) {
    struct asker *a;
    (void)count;
    if (order->kind != ORDER_CHANGE || probes_of(e)->askers.slab.used == 0)
        return;
    if (order->to == TASK_DONE)
        core_each_dependant(e->core, order->task, dependency_ended, e);
    a = task_state_is_final(order->to) ? find_asker(e, order->task) : NULL;
    if (a && !a->has_failed)
        forget(e, a);
}

static void probes_load_task(struct engine *e, struct task_spec *spec) {
    bool is_held = spec->state == TASK_HELD && spec->hold == HOLD_CHECK;
    if (task_state_is_final(spec->state) || (!spec->probe_closed && !is_held))
        return;
    (void)find_or_make_asker(e, spec->id);
    *LIST_ADD(&probes_of(e)->unread) = spec->id;
}

static void drop_all(struct engine *e) {
    const struct probes *p = probes_of(e);
    for (size_t i = p->all.count; i-- > 0;)
        probe_drop(e, p->all.items[i]);
}

static void probes_init(struct engine *e) {
    struct probes *p = probes_of(e);
    id_table_init(&p->askers, sizeof(struct asker), clear_asker);
    p->wake_at = TIME_NEVER;
}

/* A new core is being loaded: everything is asked again. */
static void probes_unload(struct engine *e) {
    struct probes *p = probes_of(e);
    drop_all(e);
    id_table_finish(&p->askers);
    p->unread.count = 0;
    p->is_querying = false;
    p->generation++;
    probes_init(e);
}

static void probes_free(struct engine *e) {
    struct probes *p = probes_of(e);
    for (size_t i = 0; i < p->all.count; i++)
        probe_free(p->all.items[i]);
    id_table_finish(&p->askers);
    free(p->all.items);
    free(p->unread.items);
}

static bool probes_have_work(const struct engine *e) {
    const struct probes *p = probes_of(e);
    return p->answered > 0 || (p->unread.count > 0 && !p->is_querying);
}

static time_ms probes_next_wakeup(const struct engine *e) {
    return probes_of(e)->wake_at;
}

const struct engine_part probes_part = {
    .state_size = sizeof(struct probes),
    .at = { [STEP_INIT] = probes_init,
            [STEP_UNLOAD] = probes_unload,
            [STEP_FACTS] = probes_apply,
            [STEP_ROUND_END] = probes_ask_due,
            [STEP_FREE] = probes_free },
    .applied = probes_applied,
    .ordered = probes_ordered,
    .load_task = probes_load_task,
    .load_note = probes_load_note,
    .has_work = probes_have_work,
    .next_wakeup = probes_next_wakeup,
};
