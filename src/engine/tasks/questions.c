/* questions.c: what runs ask people, and who answered what. See questions.h.
 *
 * The question of a task is one note. It is written when it is asked, answered, withdrawn, given to
 * an attempt and used, each time in the commit of the cause, and deleted when the task is final. An
 * attempt gets the answer with its start order; if that attempt is lost or cannot be launched, the
 * next one gets it again, because the first may not have read it. */
#include "engine/questions.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id_table.h"
#include "base/number.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "engine/note.h"

#define NOTE "question."
#define EARLIER_MAX                                                                                \
    16384u /* bytes of earlier questions and answers in the prompt of a new session */

struct question {
    struct engine_question view; /* owns its texts */
    char *earlier;               /* questions and answers of the task before this one; NULL: none */
    uint32_t carrier;            /* the attempt that is given the answer; 0: none yet */
    bool is_held;                /* the task is held for it, by its last row */
    uint32_t iteration;          /* of the task, when it was asked */
    unsigned in_row; /* questions of this iteration since a person has answered one, and this one */
    unsigned link_count;
    uint8_t links[QUESTION_LINKS_MAX][SHA256_SIZE]; /* hashes of the codes, oldest first */
};

struct engine_answer_wait {
    struct engine *engine;
    task_id task;
    bool is_late;
    struct loop_timer *timer;
    engine_answer_over over;
    void *ctx;
    size_t position; /* in the list */
};

struct questions {
    struct id_table of_task;      /* struct question */
    LIST(struct question *) open; /* oldest first */
    LIST(task_id) touched;        /* tasks with a question whose rows have changed in this turn */
    LIST(task_id) released;       /* their run has ended, and the answer is there */
    LIST(struct engine_answer_wait *) waits;
    time_ms due; /* no deadline of a held task, or one with a default, is earlier */
};

PART_STATE(questions, struct questions, questions_of)

const char *question_state_name(enum question_state state) {
    static const char *const names[QUESTION_STATE_MAX] = { "open", "answered", "withdrawn" };
    return state < QUESTION_STATE_MAX ? names[state] : NULL;
}

/* --- the table ------------------------------------------------------------------------------- */

static void clear_answer(struct question *q) {
    free(q->view.answer);
    free(q->view.by);
    q->view.answer = q->view.by = NULL;
    q->view.answered_at = 0;
}

static void clear_question(struct question *q) {
    clear_answer(q);
    free(q->view.text);
    free(q->view.fallback);
    for (size_t i = 0; i < QUESTION_CHOICES_MAX; i++)
        free(q->view.choices[i]);
    q->view = (struct engine_question){ .task = q->view.task };
    q->link_count = 0;
}

static void free_question(void *record) {
    struct question *q = record;
    clear_question(q);
    free(q->earlier);
}

static void questions_free_records(struct engine *e) {
    struct questions *s = questions_of(e);
    id_table_finish(&s->of_task);
    s->open.count = s->touched.count = s->released.count = 0;
}

static void questions_reset(struct engine *e) {
    struct questions *s = questions_of(e);
    questions_free_records(e);
    id_table_init(&s->of_task, sizeof(struct question), free_question);
    s->due = TIME_NEVER;
}

static struct question *find_question(const struct engine *e, task_id task) {
    return id_table_find(&questions_of(e)->of_task, task);
}

static struct question *find_or_make_question(struct engine *e, task_id task) {
    return id_table_find_or_make(&questions_of(e)->of_task, task);
}

static void remove_open(struct engine *e, const struct question *q) {
    struct questions *s = questions_of(e);
    for (size_t i = 0; i < s->open.count; i++)
        if (s->open.items[i] == q) {
            memmove(&s->open.items[i], &s->open.items[i + 1],
                    (s->open.count - i - 1) * sizeof(struct question *));
            s->open.count--;
            return;
        }
}

const struct engine_question *engine_question(const struct engine *e, task_id task) {
    const struct question *q = find_question(e, task);
    return q ? &q->view : NULL;
}

size_t engine_question_count(const struct engine *e) {
    return questions_of(e)->open.count;
}

const struct engine_question *engine_question_at(const struct engine *e, size_t index) {
    return &questions_of(e)->open.items[index]->view;
}

/* --- notes ----------------------------------------------------------------------------------- */

static void put_choices(struct json_writer *w, const struct engine_question *view) {
    json_put_array(w, "choices");
    for (size_t i = 0; view->choices[i]; i++)
        json_write_string(w, view->choices[i]);
    json_write_array_end(w);
}

/* Hashes only. A question that is not open has no links. */
static void put_links(struct json_writer *w, const struct question *q) {
    if (q->link_count == 0 || q->view.state != QUESTION_OPEN)
        return;
    json_put_array(w, "links");
    for (unsigned i = 0; i < q->link_count; i++) {
        char hex[SHA256_HEX_SIZE];
        sha256_hex(q->links[i], hex);
        json_write_string(w, hex);
    }
    json_write_array_end(w);
}

static void write_note(struct engine *e, const struct question *q) {
    const struct engine_question *v = &q->view;
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_int(w, "attempt", v->attempt);
    json_put_string(w, "state", question_state_name(v->state));
    json_put_string(w, "text", v->text);
    put_choices(w, v);
    put_text(w, "default", v->fallback);
    json_put_int(w, "asked_at", v->asked_at);
    json_put_int(w, "deadline", v->deadline);
    put_text(w, "answer", v->answer);
    put_text(w, "by", v->by);
    json_put_int(w, "answered_at", v->answered_at);
    json_put_int(w, "carrier", q->carrier);
    json_put_bool(w, "used", v->is_used);
    json_put_int(w, "iteration", q->iteration);
    json_put_int(w, "in_row", q->in_row);
    put_text(w, "earlier", q->earlier);
    put_links(w, q);
    note_end_task(e, &data, NOTE, v->task);
    turn_wrote(e);
}

static int64_t number_of(const json_t *note, const char *key) {
    return json_integer_value(json_object_get(note, key));
}

static enum question_state state_of_name(const char *name) {
    for (unsigned i = 0; name && i < QUESTION_STATE_MAX; i++)
        if (strcmp(name, question_state_name(i)) == 0)
            return i;
    return QUESTION_WITHDRAWN;
}

static void read_links(const json_t *list, struct question *q) {
    for (size_t i = 0; i < json_array_size(list) && q->link_count < QUESTION_LINKS_MAX; i++) {
        const char *hex = json_string_value(json_array_get(list, i));
        if (hex && sha256_from_hex(hex, q->links[q->link_count]))
            q->link_count++;
    }
}

static void read_note(const json_t *note, struct question *q) {
    struct engine_question *v = &q->view;
    const json_t *choices = json_object_get(note, "choices");
    v->text = note_text(note, "text");
    v->attempt = (uint32_t)number_of(note, "attempt");
    v->state = state_of_name(json_string_value(json_object_get(note, "state")));
    for (size_t i = 0; i < json_array_size(choices) && i < QUESTION_CHOICES_MAX; i++) {
        const char *choice = json_string_value(json_array_get(choices, i));
        v->choices[i] = xstrdup(choice ? choice : "");
    }
    v->fallback = note_text(note, "default");
    v->asked_at = number_of(note, "asked_at");
    v->deadline = number_of(note, "deadline");
    v->answer = note_text(note, "answer");
    v->by = note_text(note, "by");
    v->answered_at = number_of(note, "answered_at");
    v->is_used = json_is_true(json_object_get(note, "used"));
    q->carrier = (uint32_t)number_of(note, "carrier");
    q->iteration = (uint32_t)number_of(note, "iteration");
    q->in_row = (unsigned)number_of(note, "in_row");
    q->earlier = note_text(note, "earlier");
    read_links(json_object_get(note, "links"), q);
}

/* An unreadable note was not written by us. */
static void questions_load(struct engine *e, const struct note_row *row) {
    int64_t task = 0;
    const char *key = note_key(row, NOTE);
    if (!key || number_parse_int(key, &task, NULL) < 0 || task < 1
        || find_question(e, (task_id)task))
        return;
    json_t *note = json_loads(row->text, 0, NULL);
    if (json_is_string(json_object_get(note, "text"))) {
        struct question *q = find_or_make_question(e, (task_id)task);
        read_note(note, q);
        if (q->view.state == QUESTION_OPEN)
            *LIST_ADD(&questions_of(e)->open) = q;
    }
    json_decref(note);
}

/* --- deadlines ------------------------------------------------------------------------------- */

static bool is_held(const struct task_spec *spec) {
    return spec->state == TASK_HELD && spec->hold == HOLD_QUESTION;
}

/* When something follows from its deadline. Without a default that is the failure of its task, which
 * waits for the end of the run. */
static time_ms due_at(const struct question *q) {
    return q->view.deadline > 0 && (q->view.fallback || q->is_held) ? q->view.deadline : TIME_NEVER;
}

static int by_age(const void *a, const void *b) {
    const struct question *const *x = a, *const *y = b;
    time_ms left = (*x)->view.asked_at, right = (*y)->view.asked_at;
    if (left != right)
        return left < right ? -1 : 1;
    return task_id_compare(&(*x)->view.task, &(*y)->view.task);
}

static void questions_loaded(struct engine *e) {
    struct questions *s = questions_of(e);
    struct task_spec spec;
    s->due = TIME_NEVER;
    for (size_t i = 0; i < s->open.count; i++) {
        struct question *q = s->open.items[i];
        q->is_held = core_task_spec(e->core, q->view.task, &spec) && is_held(&spec);
        s->due = time_min(s->due, due_at(q));
    }
    if (s->open.count > 1)
        qsort(s->open.items, s->open.count, sizeof(struct question *), by_age);
}

static time_ms questions_next_wakeup(const struct engine *e) {
    return questions_of(e)->due;
}

/* --- events ---------------------------------------------------------------------------------- */

static void write_asked(struct engine *e, const struct question *q) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "question", q->view.text);
    put_choices(w, &q->view);
    put_text(w, "default", q->view.fallback);
    if (q->view.deadline > 0)
        json_put_int(w, "deadline", q->view.deadline);
    event_end(e, &data, "task.asked", q->view.task, q->view.attempt);
}

static void write_answered(struct engine *e, const struct question *q) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "question", q->view.text);
    json_put_string(w, "answer", q->view.answer);
    put_text(w, "by", q->view.by);
    event_end(e, &data, "task.answered", q->view.task, q->view.attempt);
}

static void write_withdrawn(struct engine *e, const struct question *q) {
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "question", q->view.text);
    event_end(e, &data, "task.question_withdrawn", q->view.task, q->view.attempt);
}

/* --- ask ------------------------------------------------------------------------------------- */

/* Must a later attempt get the answer? */
static bool is_pending(const struct question *q, uint32_t attempt) {
    return q->view.state == QUESTION_OPEN
           || (q->view.state == QUESTION_ANSWERED && !q->view.is_used && q->carrier != attempt);
}

static void put_exchange(const struct engine_question *v, struct strbuf *out) {
    strbuf_printf(out, "Question: %s\n", v->text);
    if (v->state == QUESTION_ANSWERED)
        strbuf_printf(out, "Answer: %s\n", v->answer);
    else
        strbuf_puts(out, "It was withdrawn without an answer: decide it yourself.\n");
}

/* A new session needs what was asked before, too: it would ask again. */
static void keep_exchange(struct question *q) {
    struct strbuf text = STRBUF_INIT;
    if (q->earlier)
        strbuf_printf(&text, "%s\n", q->earlier);
    put_exchange(&q->view, &text);
    const char *from = strbuf_text(&text);
    while (strlen(from) > EARLIER_MAX) {
        const char *next = strstr(from + 1, "\nQuestion: ");
        from = next ? next + 1 : from + strlen(from);
    }
    free(q->earlier);
    q->earlier = xstrdup(from);
    strbuf_finish(&text);
}

static int refuse_second(const struct engine *e, const struct question *q, struct error *err) {
    char id[ENGINE_ID_MAX];
    engine_task_id(e, q->view.task, id);
    if (q->view.state == QUESTION_OPEN)
        return error_set(err, -EBUSY,
                         "task '%s' has an open question already: end your turn, and the answer "
                         "will be your next prompt",
                         id);
    return error_set(err, -EBUSY,
                     "the last question of task '%s' is answered: end your turn, and the answer "
                     "will be your next prompt",
                     id);
}

static bool is_answered_by_person(const struct engine_question *v) {
    return v->state == QUESTION_ANSWERED && !(v->by && strcmp(v->by, QUESTION_BY_DEADLINE) == 0);
}

/* A run that asks in a loop, with short deadlines, must not cause a notification each time. A person
 * who answers is in control, so an answer starts the count again. */
static int check_in_row(const struct engine *e, const struct question *q, uint32_t iteration,
                        unsigned *ret_before, struct error *err) {
    int64_t most = config_number(e->config, "capability.questions", NULL);
    char id[ENGINE_ID_MAX];
    *ret_before =
        q && q->iteration == iteration && !is_answered_by_person(&q->view) ? q->in_row : 0;
    if (*ret_before < most)
        return 0;
    if (!q || most == 0)
        return error_set(err, -EBUSY,
                         "runs may not ask (capability.questions is 0): decide it yourself");
    return error_set(err, -EBUSY,
                     "task '%s' has asked %u questions, and no person has answered: decide it "
                     "yourself, or end your turn (capability.questions)",
                     engine_task_id(e, q->view.task, id), *ret_before);
}

int engine_ask(struct engine *e, const struct engine_question *asked, struct error *err) {
    struct question *q = find_question(e, asked->task);
    bool is_same = q && strcmp(q->view.text, asked->text) == 0;
    if (q && is_pending(q, asked->attempt))
        return is_same ? 1 : refuse_second(e, q, err);
    if (is_same && q->view.state == QUESTION_ANSWERED && !q->view.is_used)
        return 1; /* its prompt has the answer, but it asks all the same */
    struct task_view task = { 0 };
    unsigned before = 0;
    (void)core_task(e->core, asked->task, &task);
    int r = check_in_row(e, q, task.iteration, &before, err);
    if (r < 0)
        return r;
    if (q)
        keep_exchange(q);
    else
        q = find_or_make_question(e, asked->task);
    clear_question(q);
    q->carrier = 0;
    q->is_held = false;
    q->iteration = task.iteration;
    q->in_row = before + 1;
    struct engine_question *v = &q->view;
    v->attempt = asked->attempt;
    v->text = xstrdup(asked->text);
    for (size_t i = 0; i < QUESTION_CHOICES_MAX && asked->choices[i]; i++)
        v->choices[i] = xstrdup(asked->choices[i]);
    v->fallback = asked->fallback ? xstrdup(asked->fallback) : NULL;
    v->asked_at = e->now;
    v->deadline = asked->deadline;
    *LIST_ADD(&questions_of(e)->open) = q;
    questions_of(e)->due = time_min(questions_of(e)->due, due_at(q));
    write_note(e, q);
    write_asked(e, q);
    return 0;
}

/* --- answer ---------------------------------------------------------------------------------- */

static void release(struct engine *e, task_id task) {
    struct fact fact = { .kind = FACT_RELEASE, .task = task };
    (void)engine_apply(e, &fact, NULL);
}

static void set_answer(struct engine *e, struct question *q, const char *answer, const char *by) {
    remove_open(e, q);
    q->view.state = QUESTION_ANSWERED;
    q->link_count = 0;
    q->view.answer = xstrdup(answer);
    q->view.by = by ? xstrdup(by) : NULL;
    q->view.answered_at = e->now;
    write_note(e, q);
    write_answered(e, q);
    struct task_spec spec;
    if (core_task_spec(e->core, q->view.task, &spec) && is_held(&spec))
        release(e, q->view.task);
}

static int check_choice(const struct question *q, const char *answer, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf list = STRBUF_INIT;
    for (size_t i = 0; q->view.choices[i]; i++) {
        if (strcmp(q->view.choices[i], answer) == 0)
            return 0;
        strbuf_printf(&list, "%s'%s'", i ? ", " : "", q->view.choices[i]);
    }
    return list.length == 0 ? 0
                            : error_set(err, -EINVAL, "'%s' is not one of the choices: %s",
                                        utf8_quote(answer).text, strbuf_text(&list));
}

int engine_answer(struct engine *e, task_id task, const char *answer, const char *by,
                  struct error *err) {
    struct question *q = find_question(e, task);
    char id[ENGINE_ID_MAX];
    engine_task_id(e, task, id);
    if (q && q->view.state == QUESTION_ANSWERED)
        return error_set(err, -EBUSY, "the question of task '%s' is answered already, by %s: '%s'",
                         id, q->view.by ? q->view.by : "an unknown user",
                         utf8_quote(q->view.answer).text);
    if (!q || q->view.state != QUESTION_OPEN)
        return error_set(err, -EBUSY, "task '%s' has no open question", id);
    int r = check_choice(q, answer, err);
    if (r == 0)
        set_answer(e, q, answer, by);
    return r;
}

void engine_use_answer(struct engine *e, task_id task) {
    struct question *q = find_question(e, task);
    if (!q || q->view.state != QUESTION_ANSWERED || q->view.is_used)
        return;
    q->view.is_used = true;
    write_note(e, q);
}

/* --- links ----------------------------------------------------------------------------------- */

/* The links are one more way to name an open question: they end with it. A table of their own would
 * have to follow it. */
static struct question *find_link(const struct engine *e, const char *code, unsigned *ret_index) {
    const struct questions *s = questions_of(e);
    struct question *found = NULL;
    uint8_t hash[SHA256_SIZE];
    sha256_of(code, strlen(code), hash);
    for (size_t i = 0; i < s->open.count; i++)
        for (unsigned k = 0; k < s->open.items[i]->link_count; k++)
            if (sha256_same(s->open.items[i]->links[k], hash)) {
                found = s->open.items[i];
                *ret_index = k;
            }
    return found;
}

static void remove_link(struct question *q, unsigned index) {
    memmove(q->links[index], q->links[index + 1],
            (q->link_count - index - 1) * sizeof(q->links[0]));
    q->link_count--;
}

bool engine_add_link(struct engine *e, task_id task, time_ms asked_at,
                     char ret_code[QUESTION_LINK_SIZE]) {
    struct question *q = find_question(e, task);
    if (!q || q->view.state != QUESTION_OPEN || q->view.asked_at != asked_at)
        return false;
    if (q->link_count == QUESTION_LINKS_MAX)
        remove_link(q, 0);
    access_make_token(ret_code);
    sha256_of(ret_code, strlen(ret_code), q->links[q->link_count++]);
    write_note(e, q);
    return true;
}

const struct engine_question *engine_link_question(const struct engine *e, const char *code) {
    unsigned index;
    const struct question *q = find_link(e, code, &index);
    return q ? &q->view : NULL;
}

int engine_answer_link(struct engine *e, const char *code, const char *answer, struct error *err) {
    unsigned index;
    struct question *q = find_link(e, code, &index);
    if (!q)
        return error_set(err, -ENOENT, "this link is not valid, or not any more");
    int r = check_choice(q, answer, err);
    if (r == 0)
        set_answer(e, q, answer, QUESTION_BY_LINK);
    return r;
}

void engine_end_link(struct engine *e, const char *code) {
    unsigned index;
    struct question *q = find_link(e, code, &index);
    if (!q)
        return;
    remove_link(q, index);
    write_note(e, q);
}

/* --- what follows ---------------------------------------------------------------------------- */

static void pass_deadline(struct engine *e, struct question *q) {
    struct fact fact = { .kind = FACT_UNANSWERED, .task = q->view.task };
    if (q->view.fallback)
        set_answer(e, q, q->view.fallback, QUESTION_BY_DEADLINE);
    else if (engine_apply(e, &fact, NULL) != 0)
        q->is_held = false; /* its next row says what it is */
}

static void pass_deadlines(struct engine *e) {
    struct questions *s = questions_of(e);
    for (size_t i = 0; i < s->open.count;) {
        struct question *q = s->open.items[i];
        if (due_at(q) <= e->now)
            pass_deadline(e, q);
        i += i < s->open.count && s->open.items[i] == q; /* an answered one has left the list */
    }
    s->due = TIME_NEVER;
    for (size_t i = 0; i < s->open.count; i++)
        if (due_at(s->open.items[i]) > e->now)
            s->due = time_min(s->due, due_at(s->open.items[i]));
}

/* In the turn, before its decision. */
static void questions_apply(struct engine *e) {
    struct questions *s = questions_of(e);
    if (e->retry_at > e->now)
        return; /* the store refused the last commit: the same facts would be refused again */
    for (size_t i = 0; i < s->released.count; i++)
        release(e, s->released.items[i]);
    s->released.count = 0;
    if (s->due <= e->now)
        pass_deadlines(e);
}

bool outcome_may_be_unread(enum outcome outcome) {
    return outcome == OUTCOME_LAUNCH || outcome == OUTCOME_LOST || outcome == OUTCOME_LIMITED
           || outcome == OUTCOME_CLOSED || outcome == OUTCOME_BUDGET
           || outcome == OUTCOME_NEW_SESSION;
}

static void questions_applied(struct engine *e, const struct fact *fact) {
    if (fact->kind != FACT_RUN_ENDED)
        return;
    struct question *q = find_question(e, fact->task);
    if (!q || q->view.is_used)
        return;
    if (q->view.state != QUESTION_OPEN && q->carrier == fact->attempt) {
        q->view.is_used = !outcome_may_be_unread(fact->ended.outcome);
        write_note(e, q);
    } else if (q->view.state == QUESTION_ANSWERED && fact->ended.outcome == OUTCOME_ASKED) {
        *LIST_ADD(&questions_of(e)->released) = fact->task; /* it was answered meanwhile */
    }
}

/* The attempt gets the answer, or that the question was withdrawn, unless an earlier one has it. */
static void give_to(struct engine *e, struct question *q, uint32_t attempt) {
    if (q->view.is_used || q->view.state == QUESTION_OPEN)
        return;
    q->carrier = attempt;
    write_note(e, q);
}

static void questions_ordered(struct engine *e, const struct order *order, size_t count) {
    (void)count;
    struct question *q = order->kind == ORDER_START ? find_question(e, order->task) : NULL;
    if (q)
        give_to(e, q, order->attempt);
}

static void questions_task_changed(struct engine *e, task_id task, const struct task_spec *spec) {
    (void)spec;
    if (find_question(e, task))
        *LIST_ADD(&questions_of(e)->touched) = task;
}

static void drop(struct engine *e, struct question *q) {
    task_id task = q->view.task;
    if (q->view.state == QUESTION_OPEN) {
        remove_open(e, q);
        if (state_of(e, task) != TASK_ABSENT)
            write_withdrawn(e, q);
    }
    note_put_task(e, NOTE, task, NULL);
    turn_wrote(e);
    (void)id_table_drop(&questions_of(e)->of_task, task);
}

static void withdraw(struct engine *e, struct question *q, const struct task_spec *spec) {
    remove_open(e, q);
    q->view.state = QUESTION_WITHDRAWN;
    q->link_count = 0;
    if (spec->state == TASK_STARTING)
        q->carrier = spec->attempt;
    write_note(e, q);
    write_withdrawn(e, q);
}

/* A question belongs to a task that is not final. One that the task was held for is withdrawn when
 * the task leaves that hold without an answer. */
static void questions_follow(struct engine *e) {
    struct questions *s = questions_of(e);
    for (size_t i = 0; i < s->touched.count; i++) {
        struct question *q = find_question(e, s->touched.items[i]);
        struct task_spec spec;
        if (!q)
            continue;
        bool is_there = core_task_spec(e->core, s->touched.items[i], &spec);
        if (!is_there || task_state_is_final(spec.state) || spec.state == TASK_DRAFT) {
            drop(e, q);
            continue;
        }
        bool was_held = q->is_held;
        q->is_held = is_held(&spec);
        if (q->view.state != QUESTION_OPEN)
            continue;
        if (was_held && spec.state != TASK_HELD)
            withdraw(e, q, &spec);
        else
            s->due = time_min(s->due, due_at(q));
    }
    s->touched.count = 0;
}

/* --- waiting --------------------------------------------------------------------------------- */

static void timer_due(void *ctx) {
    struct engine_answer_wait *w = ctx;
    w->is_late = true; /* the end of this round reports it */
}

struct engine_answer_wait *engine_answer_wait_begin(struct engine *e, task_id task, time_ms timeout,
                                                    engine_answer_over over, void *ctx) {
    struct questions *s = questions_of(e);
    const struct question *q = find_question(e, task);
    struct engine_answer_wait *w = xcalloc(1, sizeof(*w));
    *w = (struct engine_answer_wait){
        .engine = e, .task = task, .over = over, .ctx = ctx, .position = s->waits.count
    };
    /* With a default, the answer comes at the deadline. */
    if (q && q->view.deadline > 0 && !q->view.fallback)
        timeout = time_min(timeout, time_max(0, q->view.deadline - e->now));
    w->timer = loop_timer_new(e->loop, timer_due, w);
    loop_timer_set(e->loop, w->timer, time_add(loop_now_steady(e->loop), timeout));
    *LIST_ADD(&s->waits) = w;
    return w;
}

void engine_answer_wait_end(struct engine *e, struct engine_answer_wait *w) {
    struct questions *s = questions_of(e);
    if (!w)
        return;
    struct engine_answer_wait *last = s->waits.items[--s->waits.count];
    s->waits.items[w->position] = last;
    last->position = w->position;
    loop_timer_free(e->loop, w->timer);
    free(w);
}

static void end_and_report(struct engine *e, struct engine_answer_wait *w, bool is_ending) {
    engine_answer_over over = w->over;
    void *ctx = w->ctx;
    engine_answer_wait_end(e, w);
    over(ctx, is_ending);
}

/* Only what is committed is reported. */
static void questions_report(struct engine *e) {
    struct questions *s = questions_of(e);
    if (e->committing || e->broken.code)
        return;
    for (size_t i = 0; i < s->waits.count;) {
        struct engine_answer_wait *w = s->waits.items[i];
        const struct question *q = find_question(e, w->task);
        if (!w->is_late && q && q->view.state == QUESTION_OPEN) {
            i++;
            continue;
        }
        end_and_report(e, w, false);
        i = 0; /* the callback may have ended others */
    }
}

static void questions_free(struct engine *e) {
    struct questions *s = questions_of(e);
    while (s->waits.count > 0)
        end_and_report(e, s->waits.items[0], true);
    questions_free_records(e);
    free(s->open.items);
    free(s->touched.items);
    free(s->released.items);
    free(s->waits.items);
}

/* --- runs ------------------------------------------------------------------------------------ */

const char *question_of_end(const struct engine *e, const struct live_run *run) {
    const struct question *q = find_question(e, run->task);
    return q && is_pending(q, run->view.attempt) ? q->view.text : NULL;
}

const char *question_answer(const struct engine *e, const struct live_run *run) {
    const struct question *q = find_question(e, run->task);
    return q && q->view.state == QUESTION_ANSWERED && !q->view.is_used
                   && q->carrier == run->view.attempt
               ? q->view.answer
               : NULL;
}

bool question_prompt(const struct engine *e, const struct live_run *run, struct strbuf *out) {
    const struct question *q = find_question(e, run->task);
    if (!q || q->view.state == QUESTION_OPEN || q->view.is_used || q->carrier != run->view.attempt)
        return false;
    const struct engine_question *v = &q->view;
    strbuf_printf(out, "You asked: %s\n\n", v->text);
    if (v->state == QUESTION_WITHDRAWN)
        strbuf_puts(out, "The question was withdrawn without an answer: decide it yourself.\n");
    else if (v->by && strcmp(v->by, QUESTION_BY_DEADLINE) == 0)
        strbuf_printf(out, "It was not answered in time, so your default is the answer: %s\n",
                      v->answer);
    else if (v->by && strcmp(v->by, QUESTION_BY_LINK) != 0)
        strbuf_printf(out, "The answer of %s: %s\n", v->by, v->answer);
    else
        strbuf_printf(out, "The answer: %s\n", v->answer);
    strbuf_puts(out, "\nGo on with your task.\n");
    return true;
}

void question_context(const struct engine *e, const struct live_run *run, bool is_resumed,
                      struct strbuf *out) {
    const struct question *q = find_question(e, run->task);
    if (!q)
        return;
    if (q->view.state == QUESTION_OPEN) {
        strbuf_printf(out,
                      "\n\nYour question is not answered yet: %s\nIf you cannot go on without the "
                      "answer, end your turn now.\n",
                      q->view.text);
    }
    if (is_resumed || (q->view.state == QUESTION_OPEN && !q->earlier))
        return;
    strbuf_puts(out, "\n\n# Questions that you have asked before\n\n");
    if (q->earlier)
        strbuf_puts(out, q->earlier);
    if (q->earlier && q->view.state != QUESTION_OPEN)
        strbuf_putc(out, '\n');
    if (q->view.state != QUESTION_OPEN)
        put_exchange(&q->view, out);
}

bool engine_explain_question(const struct engine *e, task_id task, struct strbuf *out) {
    const struct question *q = find_question(e, task);
    char id[ENGINE_ID_MAX];
    if (!q || q->view.state != QUESTION_OPEN)
        return false;
    strbuf_printf(out, "asks: %s", q->view.text);
    for (size_t i = 0; q->view.choices[i]; i++)
        strbuf_printf(out, "%s%s%s", i ? ", " : " (", q->view.choices[i],
                      q->view.choices[i + 1] ? "" : ")");
    strbuf_printf(out, "; answer with: sluice answer %s TEXT", engine_task_id(e, task, id));
    return true;
}

const struct engine_part questions_part = {
    .state_size = sizeof(struct questions),
    .at = { [STEP_INIT] = questions_reset,
            [STEP_UNLOAD] = questions_reset,
            [STEP_LOADED] = questions_loaded,
            [STEP_BEFORE_DECIDE] = questions_apply,
            [STEP_AFTER_DECIDE] = questions_follow,
            [STEP_ROUND_END] = questions_report,
            [STEP_FREE] = questions_free },
    .applied = questions_applied,
    .ordered = questions_ordered,
    .task_changed = questions_task_changed,
    .load_note = questions_load,
    .next_wakeup = questions_next_wakeup,
};
