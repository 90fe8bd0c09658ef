/* dag.c: generates tasks from a seed. A task depends only on earlier tasks, so there is no cycle. Most
 * dependencies succeed; otherwise nearly all tasks would end up waiting. */
#include "dag.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

static bool chance(struct rng *rng, unsigned percent) {
    return rng_below(rng, 100) < percent;
}

bool dag_iterates(const struct dag_task *task) {
    return task->until != END_EXIT && task->good != 1 && !task->unlaunchable;
}

/* One of the previous hundred tasks. */
static int pick(struct rng *rng, unsigned before) {
    unsigned most = before < 100 ? before : 100;
    return (int)(before - 1 - rng_below(rng, most));
}

static bool depends_already(const struct dag_task *task, int on) {
    for (unsigned i = 0; i < task->depends_count; i++)
        if (task->depends[i] == on)
            return true;
    return task->parent == on;
}

static void choose_depends(struct dag *dag, struct rng *rng, unsigned index) {
    struct dag_task *task = &dag->tasks[index];
    unsigned wanted = chance(rng, 60) ? (unsigned)rng_below(rng, DAG_DEPENDS + 1) : 0;
    for (unsigned i = 0; i < wanted; i++) {
        int on = pick(rng, index);
        bool forgive = chance(rng, 20);
        const struct dag_task *other = &dag->tasks[on];
        if (other->due == DUE_EITHER || (other->due != DUE_DONE && !forgive)
            || depends_already(task, on))
            continue;
        task->depends[task->depends_count++] = on;
    }
}

/* A parent does not iterate: that would invalidate its children. A few do, to test exactly that. */
static void choose_parent(struct dag *dag, struct rng *rng, unsigned index) {
    struct dag_task *task = &dag->tasks[index];
    task->parent = -1;
    if (index == 0 || !chance(rng, 30))
        return;
    int parent = pick(rng, index);
    bool sacrifice = chance(rng, 20);
    const struct dag_task *other = &dag->tasks[parent];
    if (other->due == DUE_DONE && (!dag_iterates(other) || sacrifice))
        task->parent = parent;
}

static void choose_work(struct dag *dag, struct rng *rng, struct dag_task *task) {
    const struct dag_rules *rules = dag->rules;
    static const enum dag_end ends[] = { END_EXIT, END_DONE, END_VALIDATE };
    task->until = chance(rng, 60) ? rules->until : ends[rng_below(rng, 3)];
    unsigned most = task->until == END_EXIT ? rules->failures : rules->launches;
    task->good = chance(rng, 60) ? 1 : (unsigned)rng_between(rng, 1, most);
    if (chance(rng, 5))
        task->good = 0;
    task->leaves_one = chance(rng, 10);
    task->angry = chance(rng, 30) && rules->angry && task->until == END_DONE;
    task->unlaunchable = chance(rng, 1);
    task->spawns = chance(rng, 10) ? (unsigned)rng_between(rng, 1, 3) : 0;
}

/* Some runs outlive a daemon: the next one must know which leases they hold. */
static void choose_length(struct rng *rng, struct dag_task *task) {
    task->milliseconds = (unsigned)rng_below(rng, 40);
    if (chance(rng, task->resource ? 30 : 8))
        task->milliseconds += (unsigned)rng_between(rng, 200, 500);
}

static void choose_place(struct dag *dag, struct rng *rng, struct dag_task *task) {
    task->project = (unsigned)rng_below(rng, DAG_PROJECTS);
    if (task->parent >= 0)
        task->project =
            dag->tasks[task->parent].project; /* a child must be in the project of its parent */
    task->kind = (unsigned)rng_below(rng, DAG_KINDS);
    if (!dag->rules->kinds[task->kind] || chance(rng, 10))
        task->kind = DAG_KINDS;
    task->phase = (unsigned)rng_below(rng, DAG_PHASES + 1);
    task->parallel = !chance(rng, dag->rules->serial ? 60 : 30);
    task->says_parallel = task->parallel == dag->rules->serial || chance(rng, 20);
    /* Let many tasks compete for a few locks; otherwise the locks are never contended. */
    if (!task->parallel && chance(rng, 50)) {
        task->project = task->parent >= 0 ? task->project : (unsigned)rng_below(rng, 2);
        task->kind = 0;
        task->phase = 0;
    }
    task->resource = chance(rng, 30);
}

static void predict_outcome(struct dag *dag, struct dag_task *task) {
    const struct dag_rules *rules = dag->rules;
    unsigned limit = task->until == END_EXIT ? rules->failures : rules->launches;
    task->due = task->good == 0 || task->unlaunchable ? DUE_FAILED : DUE_DONE;
    task->runs_due = task->unlaunchable ? 0 : task->good ? task->good : limit;
    for (unsigned i = 0; i < task->depends_count; i++)
        if (dag->tasks[task->depends[i]].due != DUE_DONE) {
            task->due = DUE_WAITING;
            task->runs_due = 0;
        }
    if (task->parent >= 0 && dag_iterates(&dag->tasks[task->parent]))
        task->due = DUE_EITHER;
}

/* A task whose outcome is not determined gets no other difficulty. */
static void simplify(struct dag_task *task) {
    task->depends_count = 0;
    task->until = END_EXIT;
    task->good = 1;
    task->angry = task->unlaunchable = false;
    task->spawns = 0;
}

void dag_make(struct dag *dag, const struct dag_rules *rules, unsigned count, uint64_t seed) {
    struct rng rng = { .state = seed };
    *dag = (struct dag){ .rules = rules, .count = count };
    dag->tasks = xcalloc(count, sizeof(*dag->tasks));
    for (unsigned i = 0; i < count; i++) {
        struct dag_task *task = &dag->tasks[i];
        choose_parent(dag, &rng, i);
        choose_work(dag, &rng, task);
        choose_place(dag, &rng, task);
        choose_length(&rng, task);
        if (i > 0)
            choose_depends(dag, &rng, i);
        if (task->parent >= 0 && dag_iterates(&dag->tasks[task->parent]))
            simplify(task);
        predict_outcome(dag, task);
    }
}

void dag_free(struct dag *dag) {
    free(dag->tasks);
    *dag = (struct dag){ 0 };
}

void dag_add_spawned(struct dag *dag, unsigned parent, const char *id) {
    size_t capacity = 0;
    struct dag_task *tasks = xgrow(NULL, &capacity, dag->count + 1, sizeof(*tasks));
    memcpy(tasks, dag->tasks, dag->count * sizeof(*tasks));
    free(dag->tasks);
    dag->tasks = tasks;
    struct dag_task *task = &tasks[dag->count++];
    *task = (struct dag_task){ .project = tasks[parent].project,
                               .kind = DAG_KINDS,
                               .phase = DAG_PHASES,
                               .parallel = true,
                               .spawned = true,
                               .good = 1,
                               .parent = (int)parent,
                               .due = DUE_DONE,
                               .runs_due = 1 };
    snprintf(task->id, sizeof(task->id), "%s", id);
}

unsigned dag_due_count(const struct dag *dag, enum dag_due due) {
    unsigned count = 0;
    for (unsigned i = 0; i < dag->count; i++)
        count += dag->tasks[i].due == due;
    return count;
}

/* --- requests -------------------------------------------------------------------------------- */

/* The id of a task that was added, or its name in this batch. */
static json_t *reference(const struct dag *dag, int index, unsigned first) {
    return (unsigned)index < first ? json_string(dag->tasks[index].id) : json_sprintf("n%d", index);
}

static json_t *command(const struct dag_task *task, unsigned index, const char *agent,
                       const char *home) {
    static const char *const names[] = { "exit", "done", "check" };
    char how[16];
    snprintf(how, sizeof(how), "%s", task->angry ? "angry" : names[task->until]);
    if (task->leaves_one)
        how[0] = (char)(how[0] - 'a' + 'A');
    if (task->unlaunchable)
        return json_pack("[s]", "/nowhere/agent");
    return json_pack("[s, o, o, o, s, o, o]", agent, json_sprintf("%s/diary", home),
                     json_sprintf("%u", task->milliseconds), json_sprintf("%u", task->good), how,
                     json_sprintf("%s/mark-%u", home, index), json_sprintf("%u", task->spawns));
}

static void add_ordering(const struct dag *dag, const struct dag_task *task, unsigned first,
                         json_t *task_json) {
    json_t *depends = json_array();
    for (unsigned i = 0; i < task->depends_count; i++)
        json_array_append_new(depends, reference(dag, task->depends[i], first));
    json_object_set_new(task_json, "depends_on", depends);
    if (task->parent >= 0)
        json_object_set_new(task_json, "parent", reference(dag, task->parent, first));
    if (task->phase < DAG_PHASES)
        json_object_set_new(task_json, "serial", json_sprintf("phase-%u", task->phase));
    if (task->says_parallel)
        json_object_set_new(task_json, "parallelizable", json_boolean(task->parallel));
    if (task->resource)
        json_object_set_new(task_json, "resources", json_pack("[s]", "db"));
}

static json_t *request(const struct dag *dag, unsigned index, unsigned first, const char *agent,
                       const char *home) {
    static const char *const untils[] = { "exit", "done", "validate" };
    const struct dag_task *task = &dag->tasks[index];
    json_t *task_json = json_pack("{s:o, s:o, s:s, s:o}", "name", json_sprintf("n%u", index),
                                  "project", json_sprintf("p%u", task->project), "cwd", "/", "argv",
                                  command(task, index, agent, home));
    if (task->kind < DAG_KINDS)
        json_object_set_new(task_json, "kind", json_string(dag->rules->kinds[task->kind]));
    if (task->until != dag->rules->until)
        json_object_set_new(task_json, "until", json_string(untils[task->until]));
    if (task->until == END_VALIDATE)
        json_object_set_new(
            task_json, "checks",
            json_pack("[[s, s, o]]", "test", "-e", json_sprintf("%s/mark-%u", home, index)));
    if (task->spawns)
        json_object_set_new(task_json, "spawn", json_string("next.json"));
    add_ordering(dag, task, first, task_json);
    return task_json;
}

json_t *dag_batch(const struct dag *dag, unsigned first, unsigned count, const char *agent,
                  const char *home) {
    json_t *tasks = json_array();
    for (unsigned i = first; i < first + count; i++)
        json_array_append_new(tasks, request(dag, i, first, agent, home));
    return json_pack("{s:o}", "tasks", tasks);
}

bool dag_learn(struct dag *dag, unsigned first, unsigned count, const json_t *answer) {
    const json_t *tasks = json_object_get(answer, "tasks");
    if (json_array_size(tasks) != count)
        return false;
    for (unsigned i = 0; i < count; i++) {
        const char *id = json_string_value(json_object_get(json_array_get(tasks, i), "id"));
        if (!id)
            return false;
        snprintf(dag->tasks[first + i].id, sizeof(dag->tasks->id), "%s", id);
    }
    return true;
}
