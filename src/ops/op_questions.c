/* op_questions.c: a run asks a person, and the person answers. The rules are in engine/questions.h.
 *
 * A call that waits for the answer marks it as used in the turn that returns it. A client that has
 * disconnected meanwhile has not got it: then the answer is for the next attempt. */
#include <errno.h>
#include <string.h>

#include "ops/print.h"

#define QUESTION_MAX   4000
#define ANSWER_MAX     10000
#define CHOICE_MAX     200
#define DEADLINE_MAX_S 31536000
#define WAIT_MAX_S     3600

static const struct words words_question = {
    "QuestionState", (const char *const[]){ "open", "answered", "withdrawn", NULL }
};

/* clang-format off */
#define QUESTION(X) \
    X(print_id, "task", T_ID, "the task that asks", NULL, engine, q->task) \
    X(json_put_int, "attempt", T_INT, "the attempt that asked", NULL, q->attempt) \
    X(json_put_string, "agent", T_TEXT | T_NULL, "the agent of the task; null: a command", "claude", agent_of(engine, q->task)) \
    X(json_put_string, "question", T_TEXT, "the question", "Which database?", q->text) \
    X(print_words, "choices", T_TEXT | T_LIST, "the allowed answers; empty: any text", "sqlite", (const char *const *)q->choices, choice_count(q)) \
    X(json_put_string, "default", T_TEXT | T_NULL, "the answer after the deadline", "sqlite", q->fallback) \
    X(print_time, "asked_at", T_TIME, "when it was asked", NULL, q->asked_at) \
    X(print_time, "deadline", T_TIME | T_NULL, "when the default is used, or the task fails without one", NULL, q->deadline) \
    X(json_put_string, "state", T_WORD, "`withdrawn`: the task went on without an answer", &words_question, question_state_name(q->state)) \
    X(json_put_string, "answer", T_TEXT | T_NULL, "the answer", "sqlite", q->answer) \
    X(json_put_string, "by", T_TEXT | T_NULL, "who answered; `deadline`: the default was used; `link`: by a link", "ann", q->by) \
    X(print_time, "answered_at", T_TIME | T_NULL, "when it was answered", NULL, q->answered_at)
const struct shape shape_question = { "Question", "a question that a run asked", .members = SHAPE_ALL(QUESTION) };
static const struct shape open_question_shape = { "OpenQuestion", "a question without an answer", &shape_question, SHAPE_ROWS(
    { "title", T_TEXT | T_NULL, "the title of the task", "port the parser" }) };
/* clang-format on */

static const char *agent_of(const struct engine *engine, task_id task) {
    struct task_view view;
    return core_task(engine_core(engine), task, &view) ? op_name_of(engine, view.agent) : NULL;
}

static size_t choice_count(const struct engine_question *q) {
    size_t count = 0;
    while (q->choices[count])
        count++;
    return count;
}

void print_question(struct json_writer *w, const struct engine *engine,
                    const struct engine_question *q) {
    QUESTION(SHAPE_PRINT)
}

static bool is_blank(const char *text) {
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* --- task.ask -------------------------------------------------------------------------------- */

struct asking {
    task_id task;
    uint32_t attempt;
    const char *text; /* of the question; borrowed from the call */
};

#define END_TURN                                                                                   \
    "The question is stored. End your turn now: the answer will be your next prompt in this "      \
    "session."

static int print_asked(struct op_call *call, const struct engine_question *q, bool has_answer) {
    return op_answer(call, "s:s, s:s, s:s, s:s, s:s, s:s", "id", op_id(call, q->task), "question",
                     q->text, "state", question_state_name(q->state), "answer",
                     has_answer ? q->answer : NULL, "by", has_answer ? q->by : NULL, "text",
                     has_answer ? q->answer : END_TURN);
}

/* Does the run that asked still wait for it? The answer belongs to one attempt. */
static bool may_take(const struct op_call *call, const struct asking *s,
                     const struct engine_question *q) {
    struct engine_run live;
    return !op_is_abandoned(call) && q->state == QUESTION_ANSWERED && !q->is_used
           && engine_live_run(call->engine, s->task, &live) && live.attempt == s->attempt;
}

static int finish_asking(struct op_call *call) {
    const struct asking *s = op_state(call, sizeof(*s), NULL);
    const struct engine_question *q = engine_question(call->engine, s->task);
    if (!q || strcmp(q->text, s->text) != 0) /* the run may have asked the next one */
        return op_fail(call, -EBUSY, "the question of task '%s' was withdrawn",
                       op_id(call, s->task));
    bool takes = may_take(call, s, q);
    if (takes)
        engine_use_answer(call->engine, s->task);
    return print_asked(call, q, takes);
}

static int take_choices(struct op_call *call, struct engine_question *q) {
    const json_t *list = op_json(call, "choices");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *choice = json_string_value(json_array_get(list, i));
        if (is_blank(choice) || strlen(choice) > CHOICE_MAX)
            return op_fail(call, -EINVAL, "choice %zu must have 1 to %d characters", i + 1,
                           CHOICE_MAX);
        for (size_t k = 0; k < i; k++)
            if (strcmp(q->choices[k], choice) == 0)
                return op_fail(call, -EINVAL, "the choice '%s' is given twice",
                               utf8_quote(choice).text);
        q->choices[i] = (char *)op_keep(call, choice);
    }
    return 0;
}

static int take_question(struct op_call *call, struct engine_question *q) {
    int64_t deadline = op_number(call, "deadline_s", 0);
    q->text = (char *)op_text(call, "question");
    q->fallback = (char *)op_text(call, "default");
    q->deadline = deadline > 0 ? time_add(engine_now(call->engine), SECONDS(deadline)) : 0;
    if (is_blank(q->text))
        return op_fail(call, -EINVAL, "'question' is empty");
    if (q->fallback && is_blank(q->fallback))
        return op_fail(call, -EINVAL, "'default' is empty");
    int r = take_choices(call, q);
    if (r < 0)
        return r;
    if (q->fallback && q->deadline == 0)
        return op_fail(call, -EINVAL, "'default' needs 'deadline_s': it is the answer after that");
    for (size_t i = 0; q->fallback && q->choices[0]; i++) {
        if (!q->choices[i])
            return op_fail(call, -EINVAL, "the default '%s' is not one of the choices",
                           utf8_quote(q->fallback).text);
        if (strcmp(q->choices[i], q->fallback) == 0)
            break;
    }
    return 0;
}

static int run_ask(struct op_call *call) {
    struct asking *s = op_state(call, sizeof(*s), NULL);
    struct engine_question question = { 0 };
    struct engine_run live;
    s->task = op_task(call);
    if (!s->task)
        return call->err.code;
    if (!engine_live_run(call->engine, s->task, &live))
        return op_fail(call, -EBUSY, "task '%s' does not run: only a run can ask",
                       op_id(call, s->task));
    int64_t attempt = op_number(call, "attempt", live.attempt);
    if (attempt != live.attempt)
        return op_fail(call, -EBUSY, "attempt %lld of task '%s' is not the one that runs",
                       (long long)attempt, op_id(call, s->task));
    s->attempt = live.attempt;
    int r = take_question(call, &question);
    if (r < 0)
        return r;
    s->text = question.text;
    question.task = s->task;
    question.attempt = live.attempt;
    r = engine_ask(call->engine, &question, &call->err);
    if (r < 0)
        return r;
    time_ms wait = SECONDS(op_number(call, "wait_s", 0));
    bool is_open = engine_question(call->engine, s->task)->state == QUESTION_OPEN;
    return wait > 0 && is_open ? op_wait_answer(call, s->task, wait, finish_asking)
                               : finish_asking(call);
}

const struct op op_task_ask = {
    OP("task.ask", "POST", "/v1/tasks/{id}/question", "ask a person from inside a run"),
    .text =
        "The question is stored, people are notified, and the call returns at once: the run "
        "should end now. Its outcome is `asked`, nothing is counted, and the task is held "
        "without a slot until it is answered (`task.answer`). The next attempt resumes the same "
        "session, and the answer is its prompt. With `wait_s` the call returns when the answer "
        "is there, or when the time is over. A task has one question at a time; the same "
        "question again returns its answer if there is one.",
    .params = PARAMS(
        OP_PARAM_ID,
        PARAM(TEXT, BODY, "question", .required = true, .lines = true, .min = 1,
              .max = QUESTION_MAX, .text = "the question, with what a person needs to answer it"),
        PARAM(LIST, BODY, "choices", .max = QUESTION_CHOICES_MAX,
              .text = "the allowed answers; any text when not given"),
        PARAM(TEXT, BODY, "default", .lines = true, .min = 1, .max = ANSWER_MAX,
              .text = "the answer to use if none is given before the deadline"),
        PARAM(NUMBER, BODY, "deadline_s", .spelled = MEMBER_SPAN, .min = 1, .max = DEADLINE_MAX_S,
              .text = "seconds until the default is used; without a default the task fails then"),
        PARAM(NUMBER, BODY, "wait_s", .spelled = MEMBER_SPAN, .max = WAIT_MAX_S,
              .text = "most seconds to wait for the answer; 0 when not given: returns at once"),
        PARAM(NUMBER, BODY, "attempt", .min = 1, .max = UINT32_MAX,
              .text = "which attempt asks; one that is over is refused")),
    .answers = ANSWERS(
        { "id", T_ID, "the task" }, { "question", T_TEXT, "the question", "Which database?" },
        { "state", T_WORD, "whether it is answered", &words_question },
        { "answer", T_TEXT | T_NULL, "the answer, for this run; null: none yet", "sqlite" },
        { "by", T_TEXT | T_NULL, "who answered", "ann" },
        { "text", T_TEXT, "the answer, or what the agent should do now", "sqlite" }),
    OP_WRITES(RUN, SELF, run_ask),
};

/* --- task.answer ----------------------------------------------------------------------------- */

static int run_answer(struct op_call *call) {
    const char *text = op_text(call, "text");
    task_id task = op_task(call);
    if (!task)
        return call->err.code;
    if (is_blank(text))
        return op_fail(call, -EINVAL, "'text' is empty");
    int r = engine_answer(call->engine, task, text, op_actor(call), &call->err);
    if (r < 0)
        return r;
    struct json_writer w = op_begin(call);
    print_question(&w, call->engine, engine_question(call->engine, task));
    return op_end(&w);
}

const struct op op_task_answer = {
    OP("task.answer", "POST", "/v1/tasks/{id}/answer", "answer the question of a task"),
    .text = "A question is answered once. A held task goes on in the same session, with the answer "
            "as its prompt; a run that waits for the answer gets it. The event is `task.answered`, "
            "with who answered. Not for runs.",
    .params = PARAMS(OP_PARAM_ID,
                     PARAM(TEXT, BODY, "text", .required = true, .lines = true, .min = 1,
                           .max = ANSWER_MAX, .text = "the answer; one of the choices, if any")),
    .answers = &shape_question,
    OP_WRITES(SUBMIT, NONE, run_answer),
};

/* --- question.list --------------------------------------------------------------------------- */

struct listing {
    struct op_rows rows; /* first: op_query_titles */
    uint64_t next;       /* 0: none */
};

/* Questions that were answered while the titles were read are left out. */
static int print_page(struct op_call *call) {
    const struct listing *l = op_state(call, sizeof(*l), NULL);
    struct json_writer w = op_begin(call);
    json_put_array(&w, "items");
    for (size_t i = 0; i < l->rows.count; i++) {
        const struct engine_question *q = engine_question(call->engine, l->rows.tasks[i]);
        if (!q || q->state != QUESTION_OPEN)
            continue;
        json_write_object_begin(&w);
        print_question(&w, call->engine, q);
        json_put_string(&w, "title", l->rows.titles[i]);
        json_write_object_end(&w);
    }
    json_write_array_end(&w);
    op_print_next(&w, 'i', l->next);
    return op_end(&w);
}

static int run_list(struct op_call *call) {
    struct listing *l = op_state(call, sizeof(*l), NULL);
    size_t limit = op_limit(call), count = engine_question_count(call->engine);
    uint64_t from = 0;
    bool given;
    int r = op_cursor(call, 'i', &from, &given);
    if (r < 0)
        return r;
    l->rows.tasks = arena_alloc(op_arena(call), limit * sizeof(*l->rows.tasks));
    for (size_t i = from; i < count && l->rows.count < limit; i++)
        l->rows.tasks[l->rows.count++] = engine_question_at(call->engine, i)->task;
    l->next = from + l->rows.count < count ? from + l->rows.count : 0;
    return op_query_titles(call, &l->rows, print_page);
}

const struct op op_question_list = {
    OP("question.list", "GET", "/v1/questions", "list open questions"),
    .text = "Questions of runs without an answer, oldest first.",
    .params = PARAMS(OP_PARAM_LIMIT, OP_PARAM_CURSOR),
    .answers = ANSWERS(SHAPE_PAGE(&open_question_shape)),
    OP_READS(READ, NONE, run_list),
};
