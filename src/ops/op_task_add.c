/* op_task_add.c: adds tasks: a batch completely or not at all; with `partial`, as many as the queue
 * has room for.
 *
 * All checks come before anything is applied. Whether a task started is known only after the turn
 * has decided, so the answer is printed then. Only the assigned numbers are stored for the
 * idempotency key, and a replayed answer shows the current state. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/engine.h"
#include "engine/runs.h"
#include "ops/children.h"
#include "ops/queue_room.h"
#include "ops/task_batch.h"

/* For larger batches, each position would cost a search of the queue. */
#define POSITIONS_MAX 100

enum added { ADDED, ADDED_ALREADY, ADDED_DEFERRED, ADDED_DRY };

struct adding {
    struct batch batch;
    struct queue_room room;
};

static void adding_finish(void *state) {
    batch_finish(&((struct adding *)state)->batch);
}

static struct adding *adding_of(struct op_call *call) {
    return op_state(call, sizeof(struct adding), adding_finish);
}

/* The error names the task of the batch that it is about. */
static int refuse(struct op_call *call, int code) {
    struct batch *batch = &adding_of(call)->batch;
    const char *name = batch->entries ? batch->entries[batch->index].name : NULL;
    call->index = (int64_t)batch->index;
    if (batch->requested == 1 || code == -ELOOP) /* a cycle has several */
        return code;
    return name ? error_prefix(&call->err, "task '%s'", utf8_quote(name).text)
                : error_prefix(&call->err, "task %zu", batch->index + 1);
}

/* --- adding ---------------------------------------------------------------------------------- */

static enum added added_of(const struct op_call *call, const struct submission *entry) {
    if (entry->already)
        return ADDED_ALREADY;
    if (entry->deferred)
        return ADDED_DEFERRED;
    return op_flag(call, "dry_run") ? ADDED_DRY : ADDED;
}

/* By enum added; ADDED has none. */
static const char memo_marks[] = " !-?";

/* "3 17+1000 5+1! 0+2-": the group, then ranges of numbers with the mark of those that were not
 * added; number 0: nothing is stored for them. */
static void write_memo(struct op_call *call) {
    const struct batch *batch = &adding_of(call)->batch;
    strbuf_printf(&call->memo, "%" PRIu32, batch->group);
    for (size_t i = 0, n; i < batch->requested; i += n) {
        const struct submission *e = &batch->entries[i];
        enum added added = added_of(call, e);
        bool stored = added == ADDED || added == ADDED_ALREADY;
        for (n = 1; i + n < batch->requested; n++)
            if (added_of(call, &e[n]) != added || (stored && e[n].spec.id != e->spec.id + n))
                break;
        strbuf_printf(&call->memo, " %" PRIu64 "+%zu", stored ? e->spec.id : 0, n);
        if (added != ADDED)
            strbuf_putc(&call->memo, memo_marks[added]);
    }
}

/* Agents in one folder see each other's unfinished changes. */
static const char *shared_folder_note(struct op_call *call, const struct submission *s) {
    const char *folder =
        s->workspace ? NULL : engine_task_folder(call->engine, s->project, s->agent, s->cwd);
    task_id other = folder ? engine_agent_in_folder(call->engine, folder) : 0;
    if (!other)
        return NULL;
    return arena_printf(op_arena(call),
                        "the agent of '%s' works in '%.200s' at the moment: " SHARED_FOLDER_FIX,
                        op_id(call, other), folder);
}

/* The first warning about a base branch, else a shared folder, else a priority. Children of a run
 * inherit folder and priority. */
static const char *find_note(struct op_call *call, const struct batch *batch) {
    const struct config *config = engine_config(call->engine);
    bool compared = config_policy(config)->order & ORDER_BY_PRIORITY;
    const char *branch = NULL, *folder = NULL, *priority = NULL;
    for (size_t i = 0; i < batch->requested && !branch; i++) {
        const struct submission *s = &batch->entries[i];
        if ((s->base_branch || s->on_conflict) && !s->already)
            branch = submission_branch_note(
                config, s->project, s->base_branch ? "base_branch" : "on_conflict", op_arena(call));
        if (!batch->run && !folder && !s->already)
            folder = shared_folder_note(call, s);
        if (!batch->run && !compared && s->priority != SUBMISSION_NOT_GIVEN)
            priority = SUBMISSION_PRIORITY_NOTE;
    }
    return branch ? branch : folder ? folder : priority;
}

static int check_and_add(struct op_call *call) {
    struct adding *a = adding_of(call);
    struct batch *batch = &a->batch;
    batch->room = queue_room_left(call);
    int r = batch_check(batch, &call->err);
    if (r == 0 && call->run.token[0])
        r = batch->imports ? import_admit(call, batch) : children_admit(call, batch);
    if (r < 0)
        return refuse(call, r);
    if (batch->added > 0 && engine_is_full(call->engine))
        r = op_fail(call, -ENOSPC,
                    "the disk is nearly full: no new tasks until there is room again");
    if (r == 0)
        r = queue_room_check(call, batch->queued, &a->room);
    if (r < 0)
        return r;
    a->room.deferred = batch->deferred;
    a->room.note = find_note(call, batch);
    if (!op_flag(call, "dry_run")) {
        r = batch_add(batch, op_text(call, "group"), &call->err);
        if (r < 0)
            return r;
        epic_adopt_children(call, batch);
    }
    write_memo(call);
    return 0;
}

/* Runs cannot set these at all (children.h). */
static int check_owner_members(struct op_call *call) {
    struct batch *batch = &adding_of(call)->batch;
    const char *name;
    json_t *value;
    if (!call->access.remote || call->access.scope >= ACCESS_ADMIN)
        return 0;
    for (size_t i = 0; i < batch->count; i++) {
        batch->index = i;
        json_object_foreach(batch->entries[i].json, name, value) {
            if (task_member_find(name)->flags & MEMBER_ADMIN_ONLY && !json_is_null(value))
                return op_fail(call, -EACCES, "'%s' is for the owner: it needs the scope 'admin'",
                               name);
        }
    }
    return 0;
}

static int run(struct op_call *call) {
    struct adding *a = adding_of(call);
    a->batch.engine = call->engine;
    a->batch.run = call->run.token[0] ? call : NULL;
    a->batch.arena = op_arena(call);
    a->batch.force = op_flag(call, "force");
    a->batch.draft = op_flag(call, "draft");
    a->batch.partial = op_flag(call, "partial");
    a->batch.makes_group = op_flag(call, "new_group");
    a->batch.imports = import_is(call);
    int r = a->batch.imports     ? import_complete(call)
            : call->run.token[0] ? children_complete(call)
                                 : 0;
    if (r == 0 && call->run.token[0] && !a->batch.imports
        && (a->batch.partial || op_flag(call, "dry_run")))
        r = op_fail(call, -EACCES, "'partial' and 'dry_run' are not for runs that add children");
    if (r == 0 && a->batch.makes_group && call->run.token[0])
        r = op_fail(call, -EACCES, "'new_group': children of a run are in its own group");
    if (r == 0 && a->batch.makes_group && op_text(call, "group"))
        r = op_fail(call, -EINVAL, "'group' and 'new_group' cannot be used together");
    if (r < 0)
        return r;
    r = batch_read(&a->batch, json_object_get(call->params, "tasks"), op_text(call, OP_BODY),
                   &call->err);
    if (r == 0)
        r = check_owner_members(call);
    return r < 0 ? refuse(call, r) : check_and_add(call);
}

/* --- the answer ------------------------------------------------------------------------------ */

/* clang-format off */
#define ADDED_TASK(X) \
    X(print_id, "id", T_ID | T_NULL, "its id; null: it was not added", NULL, call->engine, id) \
    X(json_put_string, "result", T_TEXT, "`queued`, `started`, `held` …, `already`, `deferred`; with `dry_run` `new`", "queued", added == ADDED ? result : words[added]) \
    X(json_put_bool, "already", T_BOOL, "it was there before", NULL, added == ADDED_ALREADY) \
    X(print_count, "queue_position", T_INT | T_NULL, "how many start before it, and it", NULL, place > 0 ? place : -1) \
    X(json_put_string, "state", T_WORD | T_NULL, "its state; null: it is not there", &words_state, there ? task_state_name(t.state) : NULL)
static const struct shape added_task_shape = { "AddedTask", "a task that was to be added", .members = SHAPE_ROWS(
    ADDED_TASK(SHAPE_ROW)
    { "name", T_TEXT | T_MAYBE, "its `name` in the request", "build" }) };
/* clang-format on */

static void print_one(struct op_call *call, struct json_writer *w, size_t index, task_id id,
                      enum added added) {
    static const char *const words[] = { "", "already", "deferred", "new" };
    const struct core *core = engine_core(call->engine);
    const json_t *tasks = op_json(call, "tasks");
    const char *name = json_string_value(json_object_get(json_array_get(tasks, index), "name"));
    struct task_view t = { .state = TASK_CANCELED }; /* deleted since */
    bool there = id && core_task(core, id, &t);
    bool waits = there && (t.state == TASK_WAITING || t.state == TASK_READY);
    const char *result = task_state_is_live(t.state) ? "started"
                         : waits                     ? "queued"
                                                     : task_state_name(t.state);
    bool position = waits && json_array_size(tasks) <= POSITIONS_MAX;
    amount place = position ? core_queue_position(core, id) : 0;
    json_write_object_begin(w);
    ADDED_TASK(SHAPE_PRINT)
    if (name)
        json_put_string(w, "name", name);
    json_write_object_end(w);
}

static int print_memo(struct op_call *call, const char *memo) {
    struct adding *a = adding_of(call);
    const char *duplicates = config_text(engine_config(call->engine), "tasks.duplicates", NULL);
    size_t count = json_array_size(op_json(call, "tasks")), at = 0;
    bool any_already = false;
    char *end;
    uint32_t group = (uint32_t)strtoul(memo, &end, 10);
    struct json_writer w = op_begin(call);
    a->room.deferred = 0;
    json_put_array(&w, "tasks");
    while (*end == ' ') {
        task_id first = strtoull(end + 1, &end, 10);
        size_t size = *end == '+' ? strtoull(end + 1, &end, 10) : 0;
        const char *mark = *end && *end != ' ' ? strchr(memo_marks, *end) : NULL;
        enum added added = mark ? (enum added)(mark - memo_marks) : ADDED;
        end += mark != NULL;
        for (size_t i = 0; i < size && at < count; i++) {
            print_one(call, &w, at++, first ? first + i : 0, added);
            any_already = any_already || added == ADDED_ALREADY;
            a->room.deferred += added == ADDED_DEFERRED;
        }
    }
    if (at != count)
        return op_fail(call, -EUCLEAN, "what was stored for the idempotency key cannot be read");
    json_write_array_end(&w);
    if (any_already && strcmp(duplicates, "refuse") == 0)
        json_put_bool(&w, "refused", true);
    json_put_string(&w, "group", op_group_name(call->engine, group));
    queue_room_print(call, &w, &a->room);
    return op_end(&w);
}

static void fill(struct op_call *call) {
    (void)print_memo(call, strbuf_text(&call->memo));
}

static int replay(struct op_call *call, const char *memo) {
    adding_of(call)->room.hard = config_policy(engine_config(call->engine))->queue.hard;
    return print_memo(call, memo);
}

const struct op op_task_add = {
    OP("task.add", "POST", "/v1/tasks", "add tasks"),
    .text =
        "All tasks of a batch are added, or none; an error names the task (`index`). With "
        "`partial` an error in one still refuses all, but a full queue defers only those "
        "without room, and those that need them: send them again later. If a task with the same "
        "`external_id` already exists in the project, no task is added: the answer has the id of "
        "the existing task, and `already`. `queue_position` is given for batches of up to 100 "
        "tasks. A "
        "run adds children of its own task, or imports: see "
        "[capabilities.md](../guide/capabilities.md).",
    .params =
        PARAMS(PARAM(ARRAY, BODY, "tasks", .text = "what to add: objects as below, all or none",
                     .required = true, .min = 1, .max = SUBMISSION_BATCH_MAX),
               PARAM(TEXT, BODY, "group",
                     .text = "the group they belong to; made if there is none of this name",
                     .min = 1, .max = 128),
               PARAM(BOOLEAN, BODY, "new_group",
                     .text = "they belong to a new group, whose name is made up; not with `group`"),
               PARAM(BOOLEAN, BODY, "draft", .text = "all of them are drafts"),
               PARAM(BOOLEAN, BODY, "force",
                     .text = "lets a dependency be missing and a prefix be another project's"),
               PARAM(BOOLEAN, BODY, "partial",
                     .text = "adds as many as the queue has room for (`queue.hard`), in their "
                             "order; the others are `deferred`"),
               PARAM(BOOLEAN, BODY, "dry_run",
                     .text = "adds nothing; the result of each is `new`, `already` or `deferred`")),
    .answers =
        ANSWERS({ "tasks", T_OBJECT | T_LIST, "in the order of the request", &added_task_shape },
                { "refused", T_BOOL | T_MAYBE,
                  "at least one was there already, and `tasks.duplicates` is `refuse`" },
                { "group", T_TEXT | T_NULL, "the group they belong to", "night" }, SHAPE_ROOM),
    OP_WRITES(SUBMIT, CHILDREN, run),
    .imports = true,
    .fill = fill,
    .replay = replay,
};
