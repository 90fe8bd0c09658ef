/* logs_follow.c: `sluice logs --follow --group`: the lines of all runs of a group as they are
 * written, each after the id of its task. See logs_follow.h. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/daemon.h"
#include "cli/logs_follow.h"

struct member {
    char *id, *prefix;
    int64_t shown, last; /* attempts */
    bool is_listed;      /* it has not been deleted */
    bool is_final;
};

struct group_follow {
    const char *group;
    const struct log_stream *model;
    struct request req;
    struct follow follow;
    struct member *members;
    size_t count, capacity;
    json_t *by_id;                   /* id: index of the member */
    size_t of_slot[FOLLOW_LOGS_MAX]; /* the member whose log is in this slot */
    struct error err;
};

static void group_follow_finish(struct group_follow *g) {
    follow_finish(&g->follow);
    request_finish(&g->req);
    for (size_t i = 0; i < g->count; i++) {
        free(g->members[i].id);
        free(g->members[i].prefix);
    }
    free(g->members);
    json_decref(g->by_id);
}

/* --- the group -------------------------------------------------------------------------------- */

static struct member *member_of(struct group_follow *g, const char *id) {
    const json_t *index = json_object_get(g->by_id, id);
    if (index)
        return &g->members[json_integer_value(index)];
    g->members = xgrow(g->members, &g->capacity, g->count + 1, sizeof(*g->members));
    json_object_set_new(g->by_id, id, json_integer((json_int_t)g->count));
    struct member *m = &g->members[g->count++];
    *m = (struct member){ .id = xstrdup(id), .prefix = xasprintf("%s: ", id), .shown = -1 };
    return m;
}

static void take_tasks(struct group_follow *g, const json_t *tasks) {
    for (size_t i = 0; i < g->count; i++)
        g->members[i].is_listed = false;
    EACH_ITEM(task, tasks) {
        struct member *m = member_of(g, get_text(task, "id", "?"));
        m->is_listed = true;
        m->is_final = member_is(task, "state", "done failed canceled invalidated");
        m->last = get_int(task, "attempt", 0) - (int64_t)member_is(task, "state", "starting");
        if (m->shown < 0) /* of what has run before, the last attempt is shown */
            m->shown = m->last > 0 ? m->last - 1 : 0;
    }
}

/* 0 also if no daemon answers: follow_wait waits for the next one, and reports news then. */
static int refresh(struct group_follow *g) {
    json_auto_t *tasks = json_array();
    int r = g->req.client ? 0 : daemon_connect(false, &g->req.client, &g->req.err);
    if (r >= 0 && request_try_group(&g->req, g->group, tasks) == 0) {
        take_tasks(g, tasks);
        return CMD_OK;
    }
    bool answered = g->req.client && request_was_answered(&g->req);
    r = g->req.err.code;
    g->req.client = client_close(g->req.client);
    bool is_lost = r == -ESHUTDOWN || (!answered && (client_is_absent(r) || r == -ECONNRESET));
    return is_lost ? CMD_OK : cmd_fail(&g->req.err);
}

static bool is_over(const struct group_follow *g) {
    for (size_t i = 0; i < g->count; i++) {
        const struct member *m = &g->members[i];
        if (m->is_listed && (!m->is_final || m->shown < m->last))
            return false;
    }
    return true;
}

/* --- logs ------------------------------------------------------------------------------------- */

static size_t free_slot(const struct group_follow *g) {
    size_t slot = 0;
    while (slot < FOLLOW_LOGS_MAX && g->follow.logs[slot].task)
        slot++;
    return slot;
}

static bool has_slot(const struct group_follow *g, size_t member) {
    for (size_t i = 0; i < FOLLOW_LOGS_MAX; i++)
        if (g->follow.logs[i].task && g->of_slot[i] == member)
            return true;
    return false;
}

static int open_log(struct group_follow *g, size_t index, size_t slot) {
    struct member *m = &g->members[index];
    struct log_stream *log = &g->follow.logs[slot];
    log_stream_restart(log);
    strbuf_clear(&log->kept);
    log->name = g->model->name;
    log->to = g->model->to;
    log->raw = g->model->raw;
    log->text = g->model->text;
    log->prefix = m->prefix;
    log->task = m->id;
    log->attempt = (uint32_t)m->shown + 1;
    log->follow = true;
    g->of_slot[slot] = index;
    int r = follow_open_log(&g->follow, log, &g->err);
    if (r >= 0)
        return 0;
    log->task = NULL;
    m->shown++;
    return r == -ENODATA ? 0 : r;
}

/* Opens logs in the order of the tasks, as many as there are slots. */
static int open_logs(struct group_follow *g) {
    int r = 0;
    for (size_t i = 0; r >= 0 && i < g->count; i++) {
        const struct member *m = &g->members[i];
        size_t slot = m->is_listed && m->shown < m->last ? free_slot(g) : 0;
        if (slot == FOLLOW_LOGS_MAX)
            break;
        if (m->is_listed && m->shown < m->last && !has_slot(g, i))
            r = open_log(g, i, slot);
    }
    return r;
}

static void close_ended(struct group_follow *g) {
    for (size_t i = 0; i < FOLLOW_LOGS_MAX; i++) {
        struct log_stream *log = &g->follow.logs[i];
        if (!log->task || log_stream_is_open(log))
            continue;
        g->members[g->of_slot[i]].shown = log->attempt;
        log->task = NULL;
    }
}

/* A large group takes time to list, and every event of the daemon is a reason to. */
static bool pause_after_list(const struct group_follow *g) {
    size_t ms = g->count / 10;
    return ms > 0 && output_is_unread(ms < 1000 ? (int)ms : 1000);
}

static int follow_all(struct group_follow *g) {
    int code = refresh(g);
    while (code == CMD_OK && !is_over(g)) {
        int r = open_logs(g);
        if (r >= 0 && is_over(g))
            break;
        if (r >= 0)
            r = follow_wait(&g->follow, &g->err);
        if (r < 0)
            return cmd_fail(&g->err);
        if (r & FOLLOW_UNREAD)
            return CMD_OK;
        if (g->follow.events)
            close_ended(g);
        if (r & FOLLOW_NEWS) {
            code = refresh(g);
            if (code == CMD_OK && pause_after_list(g))
                return CMD_OK;
        }
    }
    return code;
}

int logs_follow_group(const char *group, const struct log_stream *model) {
    _cleanup_(group_follow_finish) struct group_follow g = { .group = group,
                                                             .model = model,
                                                             .by_id = json_object() };
    follow_init(&g.follow, NULL);
    g.follow.reader_fd = STDOUT_FILENO;
    g.follow.log_count = FOLLOW_LOGS_MAX;
    if (follow_connect(&g.follow, &g.err) < 0) {
        g.req.err = g.err;
        return request_failed(&g.req);
    }
    int code = follow_all(&g);
    if (code == CMD_OK && g.count == 0)
        cmd_warn("group '%s' has no tasks", group);
    return code;
}
