/* print.h: members, tasks, runs and events in an answer. Private to ops/. */
#pragma once

#include "engine/opening_hours.h"
#include "engine/questions.h"
#include "ops/op_internal.h"

void print_time(struct json_writer *w, const char *key, time_ms at);     /* 0, NEVER: null */
void print_amount(struct json_writer *w, const char *key, amount cap);   /* UNLIMITED: null */
void print_count(struct json_writer *w, const char *key, int64_t value); /* below 0: null */
/* Dollars; below 0 and UNLIMITED: null. */
void print_usd(struct json_writer *w, const char *key, int64_t micro_usd);
/* Begins an object if `there`, else prints null; returns `there`. */
bool print_object_if(struct json_writer *w, const char *key, bool there);
void print_words(struct json_writer *w, const char *key, const char *const *words, size_t count);
/* "paused_by" and "paused_at": both null when `pause` is NULL. */
void print_pause(struct json_writer *w, const struct engine_pause *pause);
void print_id(struct json_writer *w, const char *key, const struct engine *engine,
              task_id task);                                               /* 0: null */
void print_json(struct json_writer *w, const char *key, const char *json); /* NULL: null */
struct engine_host_state;
void print_unreachable_host(const struct engine_host_state *host, struct strbuf *out);
/* Its members, without the braces. */
/* The states in which task.edit and task.again with a message are possible. */
bool task_is_editable(const struct task_view *t);
bool task_is_continuable(const struct task_view *t);
void print_question(struct json_writer *w, const struct engine *engine,
                    const struct engine_question *question);
extern const struct shape shape_question;
struct engine_best_of;
void print_best_of(struct json_writer *w, const struct engine *engine,
                   const struct engine_best_of *best_of);
extern const struct shape shape_best_of;
/* Why a gate of this task is closed. */
void print_verdict(const struct engine *engine, task_id task, const struct verdict *v,
                   struct strbuf *out);

/* The tasks of an answer with their titles. Must be the first member of the state of an operation
 * that calls op_query_titles. */
struct op_rows {
    task_id *tasks; /* in the arena; at most STORE_ANSWER_MAX */
    const char **titles;
    time_ms *changed;
    size_t count;
};
int op_query_titles(struct op_call *call, struct op_rows *rows, op_step then);

/* The members shown in lists, without the braces. False: no such task. */
bool print_task_members(struct json_writer *w, const struct engine *engine, task_id task,
                        const char *title, time_ms changed_at);
/* The member `external`: task ids of live runs of other daemons, at most 50. */
void print_external(struct json_writer *w, const struct engine *engine);
void print_tasks(struct json_writer *w, const struct engine *engine, const struct op_rows *rows);
/* The members of every list of runs, without the braces; `phase`: of a live run. */
void print_run_members(struct json_writer *w, const struct engine *engine,
                       const struct run_row *run, const char *phase);
void print_run(struct json_writer *w, const struct engine *engine, const struct run_row *run);
void print_event(struct json_writer *w, const struct engine *engine, const struct event_row *event);
/* {"tasks":[{"id","state","already"}]}: the answer of actions. `warning`: why the request has no
 * effect; or NULL. */
void print_states(struct op_call *call, const char *const *ids, const task_id *tasks, size_t count,
                  const bool *already, const char *warning);

/* {"items":[…],"next"}: a list of names; `each` prints one. Positions are cursors, because such
 * lists only grow. */
typedef void (*names_print)(struct json_writer *w, struct op_call *call, size_t index);
int names_list(struct op_call *call, size_t count, names_print each);

/* --- budgets --------------------------------------------------------------------------------- */

/* The member "budget" of a task: for its run, itself, its project and globally. */
void print_task_budget(struct json_writer *w, const struct engine *engine, task_id task);

/* --- projects, limiters, groups and limits --------------------------------------------------- */

struct share_sums {
    int64_t tokens, weight_milli;
    int64_t open; /* open projects */
};
/* The share that a project should get, by its weight among the open ones; equal shares if none has
 * a weight. */
double target_share(const struct share_view *share, const struct share_sums *sums);
void sum_shares(const struct engine *engine, struct share_sums *ret);

void print_project(struct json_writer *w, const struct engine *engine,
                   const struct engine_project *project, const struct share_sums *sums);
/* The object of one with hours, else null. */
void print_hours(struct json_writer *w, const char *key, const struct engine *engine,
                 enum lease_kind scope, const char *name);
void print_hours_members(struct json_writer *w, const struct engine_hours *hours);
void print_limiter(struct json_writer *w, const struct engine *engine, const char *name);
/* The same without braces. */
void print_limiter_members(struct json_writer *w, const struct engine *engine, const char *name);
void print_group(struct json_writer *w, const struct engine_group *group);

int64_t window_tokens(const struct engine *engine, const struct engine_project *project);

/* Visits every limit that has a cap or is used: "runs", "kind:plan". */
typedef void (*limit_visitor)(void *ctx, const char *key, amount used, amount cap);
void each_limit(const struct engine *engine, limit_visitor each, void *ctx);
void print_limits(struct json_writer *w, const struct engine *engine);
void print_budgets(struct json_writer *w, const struct engine *engine);
