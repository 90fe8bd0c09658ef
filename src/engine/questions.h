/* questions.h: questions that runs ask people, and their answers.
 *
 * A task has at most one question at a time. A run that ends while its question is not answered, or
 * while its answer is not used, ends as `asked` (runs/run_outcome.c), and the task is held until
 * the answer is there. The answer is used once: by the call that waits for it, or as the prompt of
 * the next attempt. What an attempt was given counts as used when that attempt has ended without
 * being interrupted.
 *
 * Each change is a note in the commit of its cause, so a crash loses no answer and uses none twice. */
#pragma once

#include "engine/access.h"
#include "engine/engine.h"

#define QUESTION_CHOICES_MAX 20u

enum question_state {
    QUESTION_OPEN,
    QUESTION_ANSWERED,
    QUESTION_WITHDRAWN, /* the task was released without an answer */
    QUESTION_STATE_MAX,
};
const char *question_state_name(enum question_state state);

struct engine_question {
    task_id task;
    uint32_t attempt; /* of the run that asked */
    enum question_state state;
    char *text;
    char *choices[QUESTION_CHOICES_MAX + 1]; /* NULL at the end */
    char *fallback;                          /* the answer after the deadline; or NULL */
    time_ms asked_at, deadline;              /* deadline 0: none */
    char *answer, *by;                       /* with QUESTION_ANSWERED; `by` may be NULL */
    time_ms answered_at;
    bool is_used; /* a run has the answer, or knows that the question was withdrawn */
};

#define QUESTION_BY_DEADLINE "deadline" /* `by` of a default that was used */
#define QUESTION_BY_LINK     "link"     /* `by` of an answer that came with a link */

/* The last question of a task; NULL: none. */
const struct engine_question *engine_question(const struct engine *engine, task_id task);
/* The open ones, oldest first. */
size_t engine_question_count(const struct engine *engine);
const struct engine_question *engine_question_at(const struct engine *engine, size_t index);
/* Appends the question and the command that answers it. False: the task has no open question. */
bool engine_explain_question(const struct engine *engine, task_id task, struct strbuf *out);

/* --- inside a turn: changing ----------------------------------------------------------------- */

/* Copies task, attempt, text, choices, fallback and deadline. 1: this question was asked before and
 * is not used: it may be answered already. -EBUSY: another one waits, or there were too many in
 * a row without an answer of a person (capability.questions). */
int engine_ask(struct engine *engine, const struct engine_question *question, struct error *err);
/* -EBUSY: there is no open question. -EINVAL: not one of its choices. */
int engine_answer(struct engine *engine, task_id task, const char *answer, const char *by,
                  struct error *err);
/* --- answer links: inside a turn --------------------------------------------------------------- */

/* The code of a link that answers this question without a login: 256 random bits, of which the
 * store has the hash. It is valid as long as the question is open, and for this question only; of
 * QUESTION_LINKS_MAX per question the newest are valid. Redaction finds it in every text. */
#define QUESTION_LINKS_MAX 8u
#define QUESTION_LINK_SIZE ACCESS_TOKEN_SIZE
/* `asked_at` and the task name the question. False: it is not open any more. */
bool engine_add_link(struct engine *engine, task_id task, time_ms asked_at,
                     char ret_code[QUESTION_LINK_SIZE]);
/* The open question of this code; NULL: unknown, used or expired. */
const struct engine_question *engine_link_question(const struct engine *engine, const char *code);
/* As engine_answer, with QUESTION_BY_LINK. -ENOENT: no open question has this code. */
int engine_answer_link(struct engine *engine, const char *code, const char *answer,
                       struct error *err);
/* The code has leaked. */
void engine_end_link(struct engine *engine, const char *code);

/* A waiting call returns the answer. */
void engine_use_answer(struct engine *engine, task_id task);

/* --- waiting --------------------------------------------------------------------------------- */

struct engine_answer_wait;
/* `is_ending`: the daemon ends. */
typedef void (*engine_answer_over)(void *ctx, bool is_ending);
/* `over` is called once, from the loop, when the question is not open any more, or when the time is
 * over or its deadline has passed. Not stored: after a restart the client asks again. */
struct engine_answer_wait *engine_answer_wait_begin(struct engine *engine, task_id task,
                                                    time_ms timeout, engine_answer_over over,
                                                    void *ctx);
/* Cancels the wait: `over` is not called. Accepts NULL. */
void engine_answer_wait_end(struct engine *engine, struct engine_answer_wait *wait);

/* --- inside the engine ----------------------------------------------------------------------- */

struct live_run;

/* An end that does not show that the agent has read its prompt. */
bool outcome_may_be_unread(enum outcome outcome);

/* The question because of which the end of this run is `asked`; NULL: none. */
const char *question_of_end(const struct engine *engine, const struct live_run *run);
/* The prompt of an attempt that resumes the session that asked. False: it has no news of a question. */
bool question_prompt(const struct engine *engine, const struct live_run *run, struct strbuf *out);
/* Questions and answers of its task so far, for an attempt that begins a new session, and what is
 * not answered yet; nothing is added without any. */
void question_context(const struct engine *engine, const struct live_run *run, bool is_resumed,
                      struct strbuf *out);
/* The answer that this attempt is given; NULL: none. */
const char *question_answer(const struct engine *engine, const struct live_run *run);
