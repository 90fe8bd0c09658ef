/* shape.c: shapes shared by several answers; walking shapes, checking answers, examples. */
#include "ops/shape.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/model.h"
#include "engine/access.h"
#include "ops/print.h"
#include "os/log.h"

#define NAMES(function_, type_, end_)                                                              \
    static const char *function_##_at(int index) {                                                 \
        return index < (end_) ? function_((enum type_)index) : NULL;                               \
    }
NAMES(task_state_name, task_state, TASK_STATE_MAX)
NAMES(hold_name, hold, HOLD_MAX)
NAMES(outcome_name, outcome, OUTCOME_MAX)
NAMES(reason_name, reason, REASON_MAX)
NAMES(access_scope_name, access_scope, ACCESS_ADMIN + 1)

/* Before its command starts, a run has a phase that the core does not know. */
static const char *phase_at(int index) {
    return index == 0 ? "starting" : index <= PHASE_MAX ? run_phase_name(index - 1) : NULL;
}

const struct words words_state = { "State", .at = task_state_name_at, .first = TASK_DRAFT };
const struct words words_hold = { "Hold", .at = hold_name_at, .first = HOLD_PERSON };
const struct words words_phase = { "Phase", .at = phase_at };
const struct words words_outcome = { "Outcome", .at = outcome_name_at };
const struct words words_scope = { "Scope", .at = access_scope_name_at, .first = ACCESS_READ };
const struct words words_reason = { "Reason", .at = reason_name_at };
const struct words words_limiter = {
    "LimiterState", (const char *const[]){ "open", "backoff", "probing", "ramping", "reserved",
                                           "off_hours", "closed", NULL }
};
static const struct words words_on_budget = { "OnBudget",
                                              (const char *const[]){ "hold", "stop", NULL } };

/* clang-format off */

#define IS(type_) (1u << JSON_##type_)
#define IS_NUMBER (IS(INTEGER) | IS(REAL))

const struct shape_type shape_types[T_TYPE_MAX] = {
    [T_TEXT] = { "text", "string", "string", NULL, IS(STRING) },
    [T_ID] = { "task id", "string", "string", "\"web-17\"", IS(STRING) },
    [T_INT] = { "number", "integer", "number", "1", IS(INTEGER) },
    [T_NUMBER] = { "decimal", "number", "number", "0.5", IS_NUMBER },
    [T_BOOL] = { "boolean", "boolean", "boolean", "true", IS(TRUE) | IS(FALSE) },
    [T_TIME] = { "time", "integer", "number", "1760000000000", IS(INTEGER) },
    [T_SPAN] = { "ms", "integer", "number", "60000", IS(INTEGER) },
    [T_USD] = { "dollars", "number", "number", "1.25", IS_NUMBER },
    [T_WORD] = { NULL, NULL, NULL, NULL, IS(STRING) },
    [T_JSON] = { "value", NULL, "unknown", "{}", ~0u },
    [T_PAIR] = { "[time, number]", NULL, "[number, number]", "[1760000000000,11]", IS(ARRAY) },
};

static const struct shape changed_task = { "ChangedTask", "a task that was to be changed", .members = SHAPE_ROWS(
    { "id", T_ID, "its id" },
    { "state", T_WORD | T_NULL, "its state now; null: it was deleted", &words_state },
    SHAPE_ALREADY,
    { "actions", T_TEXT | T_LIST, "what can be done to it now", "cancel" },
    { "result", T_TEXT | T_MAYBE, "`no_effect`: what was asked for was stored and changes nothing", "no_effect" },
    { "note", T_TEXT | T_MAYBE, "what it waits for, if it will take long", "its run is on host 'box1', which is unreachable" }) };

const struct shape shape_changed = { "Changed", "the tasks that were to be changed", .members = SHAPE_ROWS(
    { "tasks", T_OBJECT | T_LIST, "in the order of the request", &changed_task },
    { "warning", T_TEXT | T_MAYBE, "why it has no effect", "the order of tasks does not depend on their priority" }) };

/* --- budgets --------------------------------------------------------------------------------- */

const struct shape shape_amount = { "Amount", "tokens, or dollars", .members = SHAPE_ROWS(
    { "used", T_NUMBER | T_NULL, "used so far; null: not known" },
    { "reserved", T_NUMBER | T_MAYBE, "reserved for live runs" },
    { "budget", T_NUMBER | T_NULL, "null: there is none" }) };

static const struct shape spending = { "Spending", "tokens and dollars", .members = SHAPE_ROWS(
    { "tokens", T_OBJECT, "tokens", &shape_amount },
    { "usd", T_OBJECT, "dollars", &shape_amount }) };

static const struct shape window = { "Window", "a budget over time", &spending, SHAPE_ROWS(
    { "known_cost_runs", T_INT, "runs in the window that reported a cost" },
    { "unknown_cost_runs", T_INT, "runs that did not" },
    { "window_h", T_NUMBER, "how long it is, in hours" },
    { "open", T_BOOL, "something is left" },
    { "opens_at", T_TIME | T_NULL, "when something is left again, if it is known" }) };

static const struct shape handed = { "Handed", "what a task has given to those below it", .members = SHAPE_ROWS(
    { "tokens", T_INT, "tokens" },
    { "usd", T_USD | T_NULL, "dollars" }) };

const struct shape shape_task_budget = { "TaskBudget", "what a task has used, and what it may use", .members = SHAPE_ROWS(
    { "run", T_OBJECT, "of its live run, else of its last", &spending },
    { "task", T_OBJECT, "of all its runs", &spending },
    { "handed", T_OBJECT, "to tasks below it", &handed },
    { "unknown_cost_runs", T_INT, "runs that reported no cost" },
    { "on_budget", T_WORD, "what happens to a run that uses more", &words_on_budget },
    { "project", T_OBJECT, "of its project", &window },
    { "all", T_OBJECT, "of everything", &window }) };

static const struct shape message = { "Message", "a message on a bus", .members = SHAPE_ROWS(
    { "msg_id", T_TEXT | T_NULL, "its id", "MSG-20260102-030405-678000000-PID01234-0001" },
    { "at", T_TIME, "when it was posted" },
    { "type", T_TEXT | T_NULL, "such as `FACT`", "FACT" },
    { "project", T_TEXT | T_NULL, "the project", "web" },
    { "task", T_TEXT | T_NULL, "the task", "web-17" },
    { "run", T_TEXT | T_NULL, "the run that posted it", "web-17.2" },
    { "issue", T_TEXT | T_NULL, "the issue it belongs to", "12" },
    { "parents", T_JSON | T_NULL, "messages it answers" },
    { "links", T_JSON | T_NULL, "what it points to" },
    { "meta", T_JSON | T_NULL, "anything else" },
    { "body", T_TEXT, "its text", "the build passes" }) };

const struct shape shape_message_page = { "MessagePage", "messages, oldest first", .members = SHAPE_ROWS(
    SHAPE_PAGE(&message),
    { "end", T_TEXT, "the cursor of what comes later; `m0` is that of the beginning", "m4711" }) };

const struct shape shape_posted = { "Posted", "a message that was posted", .members = SHAPE_ROWS(
    { "msg_id", T_TEXT, "its id", "MSG-20260102-030405-678000000-PID01234-0001" }) };

static const struct shape problem = { "Problem", "what went wrong", .members = SHAPE_ROWS(
    { "code", T_TEXT, "a word for programs", "not_found" },
    { "message", T_TEXT, "a sentence for people", "there is no task 'web-99'" },
    { "index", T_INT | T_MAYBE, "which entry of a list it is about, from 0" }) };

const struct shape shape_error = { "Error", "nothing has happened", .members = SHAPE_ROWS(
    { "error", T_OBJECT, "what went wrong", &problem },
    { "depths", T_INT | T_MAP | T_MAYBE, "with `deferred`: how many tasks wait, by kind" },
    { "active", T_TEXT | T_LIST | T_MAYBE, "with `standby`: the addresses of the active daemon" }) };

const char *words_at(const struct words *words, int index) {
    assert(words);
    return words->list ? words->list[index] : words->at(words->first + index);
}

static bool has_word(const struct words *words, const char *word) {
    const char *known;
    for (int i = 0; (known = words_at(words, i)); i++)
        if (strcmp(known, word) == 0)
            return true;
    return false;
}

/* --- every shape once ------------------------------------------------------------------------ */

#define SEEN_MAX 200

struct walk {
    const void *seen[SEEN_MAX];
    size_t count;
    void (*each_shape)(const struct shape *shape, void *ctx);
    void (*each_words)(const struct words *words, void *ctx);
    void *ctx;
};

static bool is_new(struct walk *walk, const void *what) {
    for (size_t i = 0; i < walk->count; i++)
        if (walk->seen[i] == what)
            return false;
    assert(walk->count < SEEN_MAX);
    walk->seen[walk->count++] = what;
    return true;
}

static void walk_shape(struct walk *walk,
                       const struct shape *shape) { /* NOLINT(misc-no-recursion) */
    if (!shape || !is_new(walk, shape))
        return;
    walk_shape(walk, shape->base);
    for (const struct shape_member *m = shape->members; m->name; m++) {
        const struct words *words = (m->type & T_TYPE) != T_TEXT ? m->of : NULL;
        if ((m->type & T_TYPE) == T_OBJECT)
            walk_shape(walk, m->of);
        else if (words && words->name && is_new(walk, words) && walk->each_words)
            walk->each_words(words, walk->ctx);
    }
    if (shape->name && walk->each_shape)
        walk->each_shape(shape, walk->ctx);
}

static void walk_all(struct walk *walk) {
    for (const struct op *const *op = op_table; *op; op++)
        walk_shape(walk, (*op)->answers);
    walk_shape(walk, &shape_error);
}

void shape_each(void (*each)(const struct shape *shape, void *ctx), void *ctx) {
    walk_all(&(struct walk){ .each_shape = each, .ctx = ctx });
}

void words_each(void (*each)(const struct words *words, void *ctx), void *ctx) {
    walk_all(&(struct walk){ .each_words = each, .ctx = ctx });
}

/* --- is an answer of its shape? -------------------------------------------------------------- */

static const struct shape_member *find_member(const struct shape *shape, const char *name) {
    for (; shape; shape = shape->base)
        for (const struct shape_member *m = shape->members; m->name; m++)
            if (strcmp(m->name, name) == 0)
                return m;
    return NULL;
}

static int refuse(struct error *err, const char *name, const char *what) {
    return error_set(err, -EPROTO, "member '%s' %s", name, what);
}

static int check_one(const struct shape_member *m, const json_t *value, struct error *err) {
    unsigned type = m->type & T_TYPE;
    if (type == T_OBJECT)
        return shape_check(m->of, value, err) < 0 ? error_prefix(err, "%s", m->name) : 0;
    bool good = shape_types[type].allowed >> json_typeof(value) & 1;
    if (good && type == T_WORD)
        good = has_word(m->of, json_string_value(value));
    if (good && type == T_PAIR)
        good = json_array_size(value) == 2 && json_is_integer(json_array_get(value, 0))
               && json_is_integer(json_array_get(value, 1));
    return good ? 0 : refuse(err, m->name, "has a value that its type does not allow");
}

static int check_member(const struct shape_member *m, json_t *value, struct error *err) {
    const char *key;
    json_t *entry;
    size_t i;
    int r = 0;
    if (json_is_null(value))
        return m->type & T_NULL ? 0 : refuse(err, m->name, "is null");
    if (m->type & T_LIST) {
        if (!json_is_array(value))
            return refuse(err, m->name, "is not a list");
        json_array_foreach(value, i, entry) {
            r = r < 0 ? r : check_one(m, entry, err);
        }
        return r;
    }
    if (!(m->type & T_MAP))
        return check_one(m, value, err);
    if (!json_is_object(value))
        return refuse(err, m->name, "is not an object");
    json_object_foreach(value, key, entry) {
        if (m->of && !has_word(m->of, key))
            return refuse(err, m->name, "has a member that it does not know");
        r = r < 0 ? r : check_one(m, entry, err);
    }
    return r;
}

int shape_check(const struct shape *shape, const json_t *value, struct error *err) {
    const char *name;
    json_t *entry;
    if (!json_is_object(value))
        return error_set(err, -EPROTO, "not an object");
    json_object_foreach((json_t *)value, name, entry) {
        const struct shape_member *m = find_member(shape, name);
        int r = m ? check_member(m, entry, err) : refuse(err, name, "is in no row of its shape");
        if (r < 0)
            return r;
    }
    for (; shape; shape = shape->base)
        for (const struct shape_member *m = shape->members; m->name; m++)
            if (!(m->type & T_MAYBE) && !json_object_get(value, m->name))
                return refuse(err, m->name, "is missing");
    return 0;
}

static int checks_fd = -1;

void op_check_answers(int fd) {
    checks_fd = fd;
}

static bool is_seen(const char *name) {
    static const char *seen[SEEN_MAX];
    size_t i = 0;
    while (i < SEEN_MAX - 1 && seen[i] && seen[i] != name)
        i++;
    bool known = seen[i] == name;
    seen[i] = name;
    return known;
}

void shape_report(const struct shape *shape, const char *name, const struct strbuf *answer) {
    _cleanup_(strbuf_finish) struct strbuf line = STRBUF_INIT;
    struct error err = { 0 };
    if (checks_fd < 0)
        return;
    json_t *value = json_loadb(answer->text, answer->length, JSON_REJECT_DUPLICATES, NULL);
    if (shape_check(shape, value, &err) < 0)
        strbuf_printf(&line, "bad %s: %s\n", name, err.text);
    else if (!is_seen(name))
        strbuf_printf(&line, "seen %s\n", name);
    json_decref(value);
    if (line.length > 0 && write(checks_fd, line.text, line.length) < 0)
        log_warning("%s: %s", strbuf_text(&line), strerror(errno));
}

/* --- examples -------------------------------------------------------------------------------- */

/* One value of the member, without the list or the object around it. */
static void print_value(struct json_writer *w, const struct shape_member *m) {
    unsigned type = m->type & T_TYPE;
    if (m->type & T_NULL && !(type == T_TEXT && m->of)) {
        json_write_null(w);
    } else if (type == T_OBJECT) {
        shape_print_example(m->of, w->out);
        w->after_key = false;
    } else if (type == T_WORD) {
        json_write_string(w, words_at(m->of, 0));
    } else if (type == T_TEXT) {
        json_write_string(w, m->of ? m->of : "…");
    } else {
        strbuf_puts(w->out, shape_types[type].example);
        w->after_key = false;
    }
}

static void print_map(struct json_writer *w, const struct shape_member *m) {
    if (m->type & T_NULL) {
        json_write_null(w);
        return;
    }
    json_write_object_begin(w);
    if ((m->type & T_TYPE) != T_JSON) {
        json_write_key(w, m->of ? words_at(m->of, 0) : "implement");
        print_value(w, m);
    }
    json_write_object_end(w);
}

static void print_members(struct json_writer *w, const struct shape *shape) {
    if (shape->base)
        print_members(w, shape->base);
    for (const struct shape_member *m = shape->members; m->name; m++) {
        if (m->type & T_MAYBE)
            continue;
        json_write_key(w, m->name);
        if (m->type & T_MAP) {
            print_map(w, m);
            continue;
        }
        if (m->type & T_LIST)
            json_write_array_begin(w);
        print_value(w, m);
        if (m->type & T_LIST)
            json_write_array_end(w);
    }
}

void shape_print_example(const struct shape *shape, struct strbuf *out) {
    struct json_writer w;
    json_write_init(&w, out, false);
    json_write_object_begin(&w);
    print_members(&w, shape);
    json_write_object_end(&w);
}
