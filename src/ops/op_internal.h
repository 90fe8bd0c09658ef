/* op_internal.h: shared by the operations. Private to ops/.
 *
 * An operation reads its parameters, which are already checked, with op_text, op_number and
 * op_flag, reads the engine, and prints into call->answer with a json_writer.
 *
 * To query the store, `run` returns op_query(call, &question, take, then). `take` copies what it
 * needs from the answer; `then` continues inside a turn, and may query again. State between steps is
 * in op_state (zeroed, freed with the call) or op_arena. */
#pragma once

#include "base/arena.h"
#include "base/json_write.h"
#include "base/utf8.h"
#include "config/config_edit.h"
#include "engine/await.h"
#include "ops/op.h"

/* --- parameters ------------------------------------------------------------------------------ */

const char *op_text(const struct op_call *call, const char *name); /* NULL: not given */
int64_t op_number(const struct op_call *call, const char *name, int64_t otherwise);
bool op_flag(const struct op_call *call, const char *name); /* false: not given */
const json_t *op_json(const struct op_call *call, const char *name);
const struct op_param *op_find_param(const struct op *op, const char *name);

/* For an OP_ARRAY parameter, the raw body is kept under this name: parts of it are stored verbatim.
 * Clients cannot send it, because it is not a parameter. */
#define OP_BODY ""

#define OP_TEXT_MAX  1024
#define OP_LIST_MAX  10000
#define OP_DEPTH_MAX 64 /* maximum nesting of a body */

extern const char *const op_place_names[OP_PLACE_MAX];

/* Fast parser for plain JSON. NULL: use jansson, which also reports errors and nesting deeper than
 * `depth`. */
json_t *json_read(const char *text, size_t size, unsigned depth);

/* --- one call -------------------------------------------------------------------------------- */

/* The caller as stored: the run, else the user; NULL: unknown. */
const char *op_actor(const struct op_call *call);
/* Begin and end the answer object; the end returns 0. op_answer prints all of a short one: `format`
 * and what follows are its members (json_write_pack). */
struct json_writer op_begin(struct op_call *call);
int op_end(struct json_writer *w);
int op_answer(struct op_call *call, const char *format, ...);
void op_print_errors(struct strbuf *out);
void op_print_error_words(struct json_writer *w); /* of an array */
int op_fail(struct op_call *call, int code, const char *format, ...) _printf_(3, 4);

typedef int (*op_step)(struct op_call *call);
typedef void (*op_take_answer)(struct op_call *call, const struct store_answer *answer);

/* What `question` points to must live as long as the call. If the store cannot be read, the call
 * fails and neither `take` nor `then` is called. */
int op_query(struct op_call *call, const struct store_query *question, op_take_answer take,
             op_step then);
/* The last step of rights.h: continues with the operation. Idempotency keys belong to `owner`: two
 * tokens, two runs, or a run and its owner may choose the same key without getting each other's
 * answers. */
int op_authorized(struct op_call *call, const char *owner);
/* Returned by a step that waits. */
#define CALL_CONTINUES 1
/* Continues with `then` after op_wake. Call it before starting what will wake the call; a step that
 * fails does not wait. */
int op_wait(struct op_call *call, op_step then);
/* Continues the call; code < 0: it fails with `why` (or NULL). */
void op_wake(struct op_call *call, int code, const struct error *why);
typedef bool (*op_start)(struct engine *engine, void (*ready)(void *ctx), void *ctx);
int op_wait_ready(struct op_call *call, op_start start, op_step then);
/* Continues with `then` when the tasks are settled or the timeout expires; ends when the client
 * disconnects. */
int op_wait_tasks(struct op_call *call, const struct engine_await_spec *spec, op_step then);
/* Continues with `then` when the question of the task is answered or withdrawn, or the timeout
 * expires; ends when the client disconnects (op_is_abandoned). */
int op_wait_answer(struct op_call *call, task_id task, time_ms timeout, op_step then);
bool op_is_abandoned(const struct op_call *call);
struct merge_question;
struct merge_answer;
/* Continues with `then` when the task's branch was merged or could not be merged (op_merged). */
int op_wait_merge(struct op_call *call, const struct merge_question *question, op_step then);
const struct merge_answer *op_merged(const struct op_call *call);
/* The last step of a call whose answer is already printed. */
int op_done(struct op_call *call);
/* Continues with `then` in the next turn, to split long work so that other calls run in between.
 * The state may have changed meanwhile. */
int op_yield(struct op_call *call, op_step then);

/* Memory of this call, initially zeroed. `finish` (or NULL) is called before it is freed. */
void *op_state(struct op_call *call, size_t size, void (*finish)(void *state));
struct arena *op_arena(struct op_call *call);
const char *op_keep(struct op_call *call, const char *text); /* copied into the arena; or NULL */
/* A part of the answer that is printed before the rest, initially empty; freed with the call. */
struct strbuf *op_part(struct op_call *call);
/* Additional members beside "error" if the call fails: "depths":{…} */
struct strbuf *op_error_members(struct op_call *call);

#define OP_LIMIT_MAX     1000
#define OP_LIMIT_DEFAULT 50
/* The first members of every operation; rows of `params`, and their list. */
#define OP(name_, method_, path_, summary_)                                                        \
    .name = (name_), .method = (method_), .path = (path_), .summary = (summary_)
/* Right, reach of a run's token, and function of a read or a write. */
#define OP_READS(right_, reach_, run_)                                                             \
    .right = OP_##right_, .reach = OP_REACH_##reach_, .run = (run_)
#define OP_WRITES(right_, reach_, run_) OP_READS(right_, reach_, run_), .writes = true
#define PARAM(type_, place_, name_, ...)                                                           \
    { .name = (name_), .type = OP_##type_, .place = OP_IN_##place_, __VA_ARGS__ }
#define PARAMS(...)                                                                                \
    (const struct op_param[]) {                                                                    \
        __VA_ARGS__, {                                                                             \
            .name = NULL                                                                           \
        }                                                                                          \
    }
#define OP_PARAM_LIMIT                                                                             \
    PARAM(NUMBER, QUERY, "limit", .text = "most items in the answer; 50 when not given", .min = 1, \
          .max = OP_LIMIT_MAX)
#define OP_PARAM_CURSOR                                                                            \
    PARAM(TEXT, QUERY, "cursor", .text = "`next` of the answer before: goes on behind it",         \
          .min = 1, .max = 64)
#define OP_PARAM_ID                                                                                \
    PARAM(TEXT, PATH, "id", .required = true, .min = 1, .max = 255,                                \
          .text = "the task: `web-17`, its number alone, or its external id")
#define OP_PARAM_TASKS                                                                             \
    PARAM(LIST, BODY, "tasks", .text = "task ids, or external ids", .required = true, .min = 1,    \
          .max = OP_LIST_MAX)
#define OP_PARAM_NAME(text_)                                                                       \
    PARAM(TEXT, PATH, "name", .text = (text_), .required = true, .min = 1, .max = 128)
#define OP_PARAM_FILTER(name_, text_)                                                              \
    PARAM(TEXT, QUERY, name_, .text = (text_), .min = 1, .max = 160)

size_t op_limit(const struct op_call *call);
/* A cursor is the kind of the list and a number. -EINVAL: from another list. */
int op_cursor(struct op_call *call, char kind, uint64_t *ret_number, bool *ret_given);
void op_print_next(struct json_writer *w, char kind, uint64_t number);

/* --- finding (op_names.c) --------------------------------------------------------------------- */

/* Finds a task by its id or external id (engine_find_task). A call of a run (`run`, or NULL) finds
 * only tasks that the run sees, and an id always means the task with that id: ids are in its
 * environment. 0 with a message. */
task_id op_find_task(const struct op_call *run, const struct engine *engine, const char *word,
                     struct error *err);
/* The same for a parameter of this call; op_task: for the path. */
task_id op_named_task(struct op_call *call, const char *word);
task_id op_task(struct op_call *call);
/* All tasks of a list of ids, without duplicates, in the arena. The first unknown id fails with its
 * index. */
int op_tasks(struct op_call *call, const char *param, task_id **ret_tasks, size_t *ret_count);

/* A task's dependencies, with room for `more`; in the arena. */
task_id *op_depends(struct op_call *call, task_id task, size_t more, size_t *ret_count);
/* 1: nothing changed; -ELOOP: they would wait for each other. */
int op_set_depends(struct op_call *call, task_id task, const task_id *on, size_t count);

/* "web-17": the displayed id of a task, or of several; in the arena. */
const char *op_id(struct op_call *call, task_id task);
const char *const *op_ids(struct op_call *call, const task_id *tasks, size_t count);

/* Known names, by position; NULL after the last. */
typedef const char *(*op_name_at)(const struct engine *engine, size_t index);
const char *op_project_at(const struct engine *engine, size_t index);
const char *op_kind_at(const struct engine *engine, size_t index);
const char *op_agent_at(const struct engine *engine, size_t index);
const char *op_limiter_at(const struct engine *engine, size_t index);
const char *op_group_at(const struct engine *engine, size_t index);
const char *op_resource_at(const struct engine *engine, size_t index);
bool op_knows(const struct engine *engine, op_name_at at, const char *name);
/* -ENOENT "there is no project 'wbe'; did you mean 'web'?" */
int op_unknown(const struct engine *engine, const char *what, const char *name, op_name_at at,
               struct error *err);

/* NULL with call->err. */
const struct engine_project *op_project(struct op_call *call, const char *name);
const struct engine_group *op_group(struct op_call *call, const char *name);

const struct symbol_table *op_symbols(const struct engine *engine);
sym op_symbol(const struct engine *engine, const char *name);           /* 0: never used */
const char *op_name_of(const struct engine *engine, sym symbol);        /* NULL for 0 */
const char *op_group_name(const struct engine *engine, uint32_t group); /* NULL: none */

/*     _cleanup_(change_finish) struct change change = { 0 };
 *     change_prepare(call, items, count, &change)    refuses invalid values; nothing is written
 *     change_apply(call, &change)                    the file and the daemon, or <0 and neither */
struct change {
    const struct config_change *items;
    size_t count;
    struct strbuf before, after; /* the file */
    struct config *config;       /* the new one */
};
void change_finish(struct change *change);
int change_prepare(struct op_call *call, const struct config_change *items, size_t count,
                   struct change *ret);
int change_apply(struct op_call *call, struct change *change);
/* The same with the parameters `set` and `unset` as items. */
int change_prepare_params(struct op_call *call, struct change *ret);
/* A parameter of type OP_VALUE in configuration syntax; in the arena. NULL: not given. */
const char *change_value(struct op_call *call, const json_t *value);

/* A named section, such as projects.NAME: pattern "projects.P." Keys and items are in the arena. */
const char *section_key(struct op_call *call, const char *pattern, const char *name,
                        const char *own);
/* The parameters of type OP_SETTINGS as changes of the section. `empty_removes`: an empty text
 * removes its setting. */
size_t section_changes(struct op_call *call, const char *pattern, const char *name,
                       bool empty_removes, struct config_change **ret_items);
/* Removes every setting of the section, then the section. The editor refuses a name with a dot that
 * reads as another key. */
size_t section_removal(struct op_call *call, const char *pattern, const char *name,
                       struct config_change **ret_items);

extern const struct op op_task_cancel; /* op_actions.c: may have to say when it takes effect */
