/* op_messages.c: the message bus of a project or task, for clients that cannot access its files.
 *
 * A page is read in the loop, without a lock, and at most PAGE_BYTES of the file, so its length
 * does not matter. The bus's own thread appends messages, because that may block; this changes
 * nothing in the store, so it takes no key. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "bus/bus.h"
#include "bus/poster.h"
#include "bus/reader.h"
#include "engine/data_folder.h"
#include "ops/print.h"

#define PAGE_BYTES (1u << 20)

/* The bus of the project or task in the path. Strings are valid as long as the call. */
static int find_place(struct op_call *call, struct bus_place *ret) {
    const char *name = op_text(call, "name");
    if (name) {
        const struct engine_project *project = op_project(call, name);
        if (!project)
            return call->err.code;
        *ret = (struct bus_place){ .project = arena_strdup(op_arena(call), project->name) };
        return 0;
    }
    struct task_view view;
    char id[ENGINE_ID_MAX];
    task_id task = op_task(call);
    if (!task)
        return call->err.code;
    (void)core_task(engine_core(call->engine), task, &view);
    ret->project = arena_strdup(op_arena(call), op_name_of(call->engine, view.project));
    ret->task = arena_strdup(op_arena(call), engine_task_id(call->engine, task, id));
    return 0;
}

static bool has_type(void *ctx, const struct bus_message *message) {
    const char *type = ctx;
    return !type || (message->type && strcmp(message->type, type) == 0);
}

/* Reads one extra message to know whether there is a next page. */
static int print_page(struct op_call *call, struct bus_reader *reader) {
    const struct bus_message *message;
    char *type = (char *)op_text(call, "type"); /* read-only */
    size_t count = 0, limit = op_limit(call);
    uint64_t begin = reader->at, end = reader->end;
    bool more = false;
    struct json_writer w = op_begin(call);
    json_put_array(&w, "items");
    int r;
    while ((r = bus_reader_next(reader, &message, &call->err)) > 0) {
        more = count >= limit || reader->begin > begin + PAGE_BYTES;
        if (more)
            break;
        end = reader->end;
        if (!has_type(type, message))
            continue;
        bus_message_print_json(message, &w);
        count++;
    }
    json_write_array_end(&w);
    char text[32];
    (void)snprintf(text, sizeof(text), "m%" PRIu64, end);
    json_write_pack(&w, "s:s, s:s}", "next", more ? text : NULL, "end", text);
    return r < 0 ? r : 0;
}

static int seek(struct op_call *call, struct bus_reader *reader) {
    uint64_t from = 0;
    bool given = false;
    int r = op_cursor(call, 'm', &from, &given);
    if (r < 0)
        return r;
    if (!given)
        return bus_reader_seek_tail(reader, op_limit(call), PAGE_BYTES, has_type,
                                    (void *)op_text(call, "type"), &call->err);
    return bus_reader_seek_to(reader, from, &call->err);
}

static int run_read(struct op_call *call) {
    _cleanup_(bus_reader_finish) struct bus_reader reader = BUS_READER_INIT;
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct bus_place place = { 0 };
    struct bus bus;
    reader.gap_max = BUS_GAP_MAX;
    int r = find_place(call, &place);
    if (r < 0)
        return r;
    _cleanup_(freep) char *root = xasprintf("%s/" BUS_FOLDER, engine_data(call->engine));
    bus_init(&bus, root);
    r = bus_path(&bus, &place, &path, &call->err);
    bus_finish(&bus);
    if (r == 0)
        r = bus_reader_open(&reader, strbuf_text(&path), &call->err);
    if (r == 0)
        r = seek(call, &reader);
    return r == 0 ? print_page(call, &reader) : r;
}

static void take_posted(void *ctx, int result, const char *id, const struct error *err) {
    struct error why = err ? *err : (struct error){ 0 };
    if (result >= 0)
        (void)op_answer(ctx, "s:s", "msg_id", id ? id : "");
    if (result == -ETIMEDOUT)
        why.code = -EBUSY; /* another process has the file locked */
    op_wake(ctx, result, &why);
}

static const char *dump(struct op_call *call, const char *param) {
    const json_t *value = op_json(call, param);
    char *text = value ? json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    const char *kept = text ? arena_strdup(op_arena(call), text) : NULL;
    free(text);
    return kept;
}

static const char *body_of(struct op_call *call) {
    char *body = arena_strdup(op_arena(call), op_text(call, "text"));
    size_t length = strlen(body);
    while (length > 0 && body[length - 1] == '\n')
        body[--length] = '\0';
    return body;
}

static int run_post(struct op_call *call) {
    struct bus_place place = { 0 };
    int r = find_place(call, &place);
    if (r < 0)
        return r;
    struct bus_message message = {
        .type = op_text(call, "type") ? op_text(call, "type") : "INFO",
        .project = place.project,
        .task = place.task,
        .run = call->caller,
        .issue = op_text(call, "issue"),
        .parents = dump(call, "parents"),
        .links = dump(call, "links"),
        .meta = dump(call, "meta"),
        .body = body_of(call),
    };
    r = bus_message_check(&message, &call->err);
    struct bus_poster *poster = engine_bus(call->engine);
    if (r < 0 || !poster)
        return r < 0 ? r : op_fail(call, -ENOTSUP, "this daemon has no message bus");
    int waits = op_wait(call, op_done);
    bus_post(poster, &message, false, take_posted, call);
    return waits;
}

#define READ_TEXT                                                                                  \
    "Oldest first; without a `cursor` the last ones. `end` is the cursor of what comes later, "    \
    "and `m0` that of the beginning. A page may be shorter than `limit` and have a `next` all "    \
    "the "                                                                                         \
    "same: a megabyte of the file is looked at in each."
#define POST_TEXT                                                                                  \
    "It is in the file when this is answered. Takes no key: a message that is posted twice is "    \
    "there twice."

#define PARAM_NAME OP_PARAM_NAME("the project")
#define PARAM_TYPE(place_, text_)                                                                  \
    PARAM(TEXT, place_, "type", .text = (text_), .min = 1, .max = BUS_TYPE_MAX)
#define READ_PARAMS(of_)                                                                           \
    PARAMS(of_, OP_PARAM_LIMIT, OP_PARAM_CURSOR, PARAM_TYPE(QUERY, "only messages of this type"))
#define POST_PARAMS(of_)                                                                           \
    PARAMS(                                                                                        \
        of_,                                                                                       \
        PARAM(TEXT, BODY, "text", .text = "the message", .required = true, .min = 1,               \
              .max = BUS_BODY_MAX, .lines = true),                                                 \
        PARAM_TYPE(BODY, "such as `FACT`, `PROGRESS`, `QUESTION`; `INFO` when not given"),         \
        PARAM(TEXT, BODY, "issue", .text = "the issue it belongs to", .min = 1, .max = 256),       \
        PARAM(ARRAY, BODY, "parents", .text = "messages it answers: `[{\"msg_id\",\"kind\"}]`"),   \
        PARAM(ARRAY, BODY, "links", .text = "what it points to"),                                  \
        PARAM(OBJECT, BODY, "meta", .text = "anything else"))

const struct op op_project_messages = {
    OP("project.messages", "GET", "/v1/projects/{name}/messages",
       "list the messages on the bus of a project"),
    .text = READ_TEXT,
    .params = READ_PARAMS(PARAM_NAME),
    .answers = &shape_message_page,
    OP_READS(READ, PROJECT, run_read),
};

const struct op op_project_post = {
    OP("project.post", "POST", "/v1/projects/{name}/messages",
       "post a message to the bus of a project"),
    .text = POST_TEXT,
    .params = POST_PARAMS(PARAM_NAME),
    .answers = &shape_posted,
    OP_READS(SUBMIT, PROJECT, run_post),
};

const struct op op_task_messages = {
    OP("task.messages", "GET", "/v1/tasks/{id}/messages", "list the messages on the bus of a task"),
    .text = READ_TEXT,
    .params = READ_PARAMS(OP_PARAM_ID),
    .answers = &shape_message_page,
    OP_READS(READ, SUBTREE, run_read),
};

const struct op op_task_post = {
    OP("task.post", "POST", "/v1/tasks/{id}/messages", "post a message to the bus of a task"),
    .text = POST_TEXT,
    .params = POST_PARAMS(OP_PARAM_ID),
    .answers = &shape_posted,
    OP_READS(SUBMIT, SUBTREE, run_post),
};
