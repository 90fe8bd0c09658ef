/* sling_steps.c: see sling_steps.h. */
#include "ops/sling_steps.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/agents.h"
#include "ops/sling_internal.h"

#define GENERATION_MAX 100000u

int work_read(struct op_call *call, struct sling_works *works) {
    const json_t *list = op_json(call, "work");
    works->count = json_array_size(list);
    works->items = xcalloc(works->count + 1, sizeof(*works->items));
    for (size_t i = 0; i < works->count; i++) {
        const json_t *entry = json_array_get(list, i);
        struct sling_work *work = &works->items[i];
        const char *name = json_string_value(json_object_get(entry, "task"));
        work->formula = json_string_value(json_object_get(entry, "formula"));
        work->steps = json_object_get(entry, "steps");
        size_t steps = json_array_size(work->steps);
        if (!name || !work->formula || !*work->formula || steps == 0 || steps > 256)
            return op_fail(call, -EINVAL,
                           "an entry of 'work' must have 'task', 'formula' and 1 to 256 'steps'");
        work->task = op_named_task(call, name);
        if (!work->task)
            return call->err.code;
        for (size_t k = 0; k < i; k++)
            if (works->items[k].task == work->task)
                return op_fail(call, -EINVAL, "task '%s' is twice in 'work'", op_quote(name).text);
    }
    return 0;
}

void work_finish(struct sling_works *works) {
    for (size_t i = 0; i < works->count; i++)
        batch_finish(&works->items[i].batch);
    freep(&works->items);
    *works = (struct sling_works){ 0 };
}

/* The steps belong to the project of their task, and are called after it. */
static int complete(struct op_call *call, struct sling_work *work) {
    char id[ENGINE_ID_MAX];
    struct task_view t = { 0 };
    (void)core_task(engine_core(call->engine), work->task, &t);
    engine_task_id(call->engine, work->task, id);
    size_t i;
    json_t *step;
    bool changed;
    struct task_reading reading = { .source.now = engine_now(call->engine) };
    json_array_foreach(work->steps, i, step) {
        if (!json_is_object(step))
            return op_fail(call, -EINVAL, "a step must be an object");
        int r = task_members_read(step, &reading, &changed, &call->err);
        if (r < 0)
            return r;
        _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
        const char *own = json_string_value(json_object_get(step, "name"));
        strbuf_printf(&name, "%s/%s", id, work->formula);
        if (work->generation > 1)
            strbuf_printf(&name, ".%u", work->generation);
        if (own)
            strbuf_printf(&name, "/%s", own);
        else
            strbuf_printf(&name, "/%zu", i + 1);
        json_t *meta = json_object_get(step, "meta");
        if (!meta)
            json_object_set_new(step, "meta", meta = json_object());
        json_object_set_new(meta, "on", json_string(id));
        json_object_set_new(step, "external_id", json_string(strbuf_text(&name)));
        json_object_set_new(step, "project", json_string(op_name_of(call->engine, t.project)));
    }
    return 0;
}

static int refuse(struct op_call *call, const struct sling_work *work, int code) {
    const struct batch_entry *entry =
        work->batch.entries ? &work->batch.entries[work->batch.index] : NULL;
    char id[ENGINE_ID_MAX];
    call->index = (int64_t)work->batch.index;
    if (entry && entry->s.name)
        (void)error_prefix(&call->err, "step '%s' of task '%s'", op_quote(entry->s.name).text,
                           engine_task_id(call->engine, work->task, id));
    else
        (void)error_prefix(&call->err, "step %zu of task '%s'", work->batch.index + 1,
                           engine_task_id(call->engine, work->task, id));
    return code;
}

static int check_once(struct op_call *call, struct sling_work *work, size_t skip) {
    batch_finish(&work->batch);
    work->batch = (struct batch){
        .engine = call->engine, .arena = op_arena(call), .draft = true, .skip = skip
    };
    int r = complete(call, work);
    if (r < 0)
        return r;
    r = batch_read(&work->batch, work->steps, NULL, &call->err);
    const char *agent = op_text(call, "agent");
    for (size_t i = 0; r == 0 && agent && i < work->batch.count; i++) {
        work->batch.index = i;
        if (work->batch.entries[i].s.prompt)
            r = engine_check_agent(call->engine, agent, &call->err);
    }
    if (r == 0)
        r = batch_check(&work->batch, &call->err);
    return r < 0 ? refuse(call, work, r) : 0;
}

/* Names that are taken, by steps of before that have started, belong to an earlier generation. */
static int check_one(struct op_call *call, struct sling_work *work, size_t skip) {
    int r = check_once(call, work, skip);
    while (r == 0 && work->batch.added < work->batch.count && work->generation < GENERATION_MAX) {
        work->generation++;
        r = check_once(call, work, skip);
    }
    return r;
}

int work_check(struct op_call *call, struct sling_works *works) {
    size_t skip = 0;
    int r = 0;
    for (size_t i = 0; r == 0 && i < works->count; i++) {
        r = check_one(call, &works->items[i], skip);
        skip += works->items[i].batch.added;
    }
    if (r == 0 && skip > 0 && engine_is_full(call->engine))
        r = op_fail(call, -ENOSPC,
                    "the disk is nearly full: no new tasks until there is room again");
    return r;
}

/* --- telling --------------------------------------------------------------------------------- */

static int tell_depends(struct op_call *call, task_id task, const task_id *on, size_t count) {
    struct fact fact = { .kind = FACT_DEPENDENCIES, .task = task };
    fact.dependencies.items = on;
    fact.dependencies.count = count;
    int r = engine_tell(call->engine, &fact, &call->err);
    if (r == -ELOOP)
        return op_fail(call, r, "a step waits for the task that it is a step of");
    return r < 0 ? r : 0;
}

static int add_one(struct op_call *call, struct sling_work *work) {
    const struct core *core = engine_core(call->engine);
    task_id first = 0;
    work->before_count = core_task_depends(core, work->task, NULL, 0);
    task_id *on =
        arena_alloc(op_arena(call), (work->before_count + work->batch.added) * sizeof(*on));
    (void)core_task_depends(core, work->task, on, work->before_count);
    work->before = on;
    int r =
        engine_add_tasks(call->engine, work->batch.drafts, work->batch.added, &first, &call->err);
    if (r < 0)
        return r;
    work->told = true;
    batch_give_budgets(&work->batch);
    for (size_t i = 0; i < work->batch.added; i++)
        on[work->before_count + i] = first + i;
    return tell_depends(call, work->task, on, work->before_count + work->batch.added);
}

/* Nothing of it has left this turn: the tasks wait for what they waited for, and the steps are
 * gone. */
static void take_back(struct op_call *call, struct sling_works *works) {
    struct error why = call->err;
    for (size_t i = works->count; i-- > 0;) {
        struct sling_work *work = &works->items[i];
        if (!work->told)
            continue;
        (void)tell_depends(call, work->task, work->before, work->before_count);
        for (size_t k = work->batch.added; k-- > 0;)
            (void)engine_tell(call->engine,
                              &(struct fact){ .kind = FACT_DELETE, .task = work->batch.first + k },
                              NULL);
    }
    call->err = why;
}

int work_add(struct op_call *call, struct sling_works *works) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < works->count; i++)
        r = add_one(call, &works->items[i]);
    if (r < 0)
        take_back(call, works);
    return r;
}

/* --- the tasks that are slung ------------------------------------------------------------------ */

/* Which of the tasks that were named have a formula; those that are scheduled already need none. */
int sling_find_works(struct op_call *call, struct slinging *s) {
    int r = work_read(call, &s->works);
    for (size_t i = 0; r == 0 && i < s->works.count; i++) {
        struct sling_item *item = sling_item_of(s, s->works.items[i].task);
        char id[ENGINE_ID_MAX];
        if (!item)
            return op_fail(call, -EINVAL, "task '%s' of 'work' is not in 'tasks'",
                           engine_task_id(call->engine, s->works.items[i].task, id));
        item->work = &s->works.items[i];
    }
    if (r == 0 && s->works.count > 0 && op_json(call, "steps"))
        r = op_fail(call, -EINVAL, "'work' does not go with 'steps'");
    if (r == 0 && s->works.count > 0 && op_flag(call, "partial"))
        r = op_fail(call, -EINVAL, "'work' does not go with 'partial': formulas are slung whole");
    return r;
}

/* One that is scheduled already, or left out, gets no steps. */
static void drop_idle_works(struct slinging *s) {
    size_t kept = 0;
    for (size_t i = 0; i < s->works.count; i++) {
        struct sling_item *item = sling_item_of(s, s->works.items[i].task);
        item->work = NULL;
        if (item->already || item->skipped)
            continue;
        s->works.items[kept] = s->works.items[i];
        s->works.items[kept].generation = item->generation + 1;
        item->work = &s->works.items[kept++];
    }
    s->works.count = kept;
}

/* They were added as drafts, and are slung as such. */
static int push_added(struct op_call *call, struct slinging *s) {
    for (size_t i = 0; i < s->works.count; i++)
        for (size_t k = 0; k < s->works.items[i].batch.count; k++) {
            const struct batch_entry *entry = &s->works.items[i].batch.entries[k];
            struct sling_item *item = sling_push(s, entry->id);
            if (!item)
                return sling_too_many(call);
            item->step = true;
            item->agent = entry->s.agent;
            item->limiter = entry->s.limiter;
            item->prompted = entry->s.prompt != NULL;
            item->hold = entry->s.hold == 1;
            item->not_before = entry->s.not_before > 0 ? entry->s.not_before : 0;
            s->fresh++;
        }
    return 0;
}

int sling_check_works(struct op_call *call, struct slinging *s) {
    if (s->works.count == 0)
        return 0;
    drop_idle_works(s);
    return s->count + 256 * s->works.count > OP_LIST_MAX ? sling_too_many(call)
                                                         : work_check(call, &s->works);
}

void sling_take_back_works(struct op_call *call, struct slinging *s) {
    take_back(call, &s->works);
}

int sling_add_works(struct op_call *call, struct slinging *s) {
    int r = s->works.count > 0 ? work_add(call, &s->works) : 0;
    return r < 0 || s->works.count == 0 ? r : push_added(call, s);
}
