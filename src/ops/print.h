/* print.h: members, tasks, runs and events in an answer. Private to ops/. */
#pragma once

#include "ops/op_internal.h"

struct task_member;

/* Members of an object, one line each. */
void print_text(struct json_writer *w, const char *key, const char *text); /* NULL: null */
void print_int(struct json_writer *w, const char *key, int64_t value);
void print_bool(struct json_writer *w, const char *key, bool value);
void print_time(struct json_writer *w, const char *key, time_ms at);        /* 0, NEVER: null */
void print_amount(struct json_writer *w, const char *key, amount cap);      /* UNLIMITED: null */
void print_count(struct json_writer *w, const char *key, int64_t value);    /* below 0: null */
void print_cost(struct json_writer *w, const char *key, int64_t micro_usd); /* below 0: null */
void print_number(struct json_writer *w, const char *key, double value, int decimals);
/* Begin an object or a list. */
void print_object(struct json_writer *w, const char *key);
void print_list(struct json_writer *w, const char *key);
void print_words(struct json_writer *w, const char *key, const char *const *words, size_t count);
/* "paused_by" and "paused_at": both null when `pause` is NULL. */
void print_pause(struct json_writer *w, const struct engine_pause *pause);
void print_id(struct json_writer *w, const char *key, const struct engine *engine,
              task_id task);                                               /* 0: null */
void print_json(struct json_writer *w, const char *key, const char *json); /* NULL: null */
/* The JSON Schema of a member of a task. */
void print_member_schema(struct json_writer *w, const struct task_member *m);
/* The schema of a number, or of a text such as 30m. */
void print_spelled(struct json_writer *w);
/* The type of a parameter as members of a JSON schema; `entry`: the schema of what an OP_ARRAY has. */
void print_param_type(struct json_writer *w, const struct op_param *p, const char *entry);
struct engine_host_state;
/* "host 'box1' unreachable since …": what is said of a run that is away. */
void print_away(const struct engine_host_state *host, struct strbuf *out);
/* Why a gate of this task is closed, for people. */
void print_verdict(const struct engine *engine, task_id task, const struct verdict *v,
                   struct strbuf *out);

/* The tasks of an answer and what they are called. The state of an operation that asks for titles
 * begins with one of these. */
struct op_rows {
    task_id *tasks; /* in the arena; at most STORE_ANSWER_MAX */
    const char **titles;
    time_ms *changed;
    size_t count;
};
int op_ask_titles(struct op_call *call, struct op_rows *rows, op_step then);

/* The members that lists show, without the braces. False: there is no such task. */
bool print_task_members(struct json_writer *w, const struct engine *engine, task_id task,
                        const char *title, time_ms changed_at);
struct delivery_changes;
/* The member `changes`: null when they are not known. */
void print_changes(struct json_writer *w, const struct delivery_changes *changes);
/* The member `external`: living runs that are not ours, by the ids of their tasks; 50 at the most. */
void print_external(struct json_writer *w, const struct engine *engine);
void print_tasks(struct json_writer *w, const struct engine *engine, const struct op_rows *rows);
/* The members that every list of runs has, without the braces; `phase`: of one that has not ended. */
void print_run_members(struct json_writer *w, const struct engine *engine,
                       const struct run_row *run, const char *phase);
void print_run(struct json_writer *w, const struct engine *engine, const struct run_row *run);
void print_event(struct json_writer *w, const struct engine *engine, const struct event_row *event);
/* {"tasks":[{"id","state","already"}]}: what actions answer. `already`: one per task, or NULL. */
void print_states(struct op_call *call, const char *const *ids, const task_id *tasks, size_t count,
                  const bool *already);
/* The same of a request that changes nothing, with a "warning" that says why; NULL: it does. */
void print_states_warned(struct op_call *call, const char *const *ids, const task_id *tasks,
                         size_t count, const bool *already, const char *warning);

/* {"items":[…],"next"}: a list of things that have a name; `each` prints one. Positions are cursors: such lists only grow. */
typedef void (*names_print)(struct json_writer *w, struct op_call *call, size_t index);
int names_list(struct op_call *call, size_t count, names_print each);
