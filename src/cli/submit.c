/* submit.c: sends the tasks of `add` and prints the results; warns about their agents.
 *
 * With --dry-run the daemon only checks the tasks. If none runs, none is started: the tasks are
 * printed unchecked. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/daemon.h"
#include "cli/preflight.h"
#include "cli/print_task.h"
#include "cli/submit.h"
#include "os/home.h"

/* --- agents ----------------------------------------------------------------------------------- */

DEFINE_FREEP(struct config, config_free);

json_t *agent_warning_names(const json_t *tasks) {
    json_t *names = json_object();
    EACH_ITEM(task, tasks) {
        const char *agent = get_text(task, "agent", NULL), *box = get_text(task, "sandbox", NULL);
        if (agent && !json_object_get(names, agent))
            json_object_set_new(names, agent, box ? json_text(box) : json_null());
    }
    return names;
}

/* Silent if the daemon does not know the agent: it has refused the task. */
static void warn_of_agent(const struct home *home, const json_t *items, bool box, const char *agent,
                          const char *sandbox) {
    _cleanup_(config_freep) struct config *config = config_new();
    _cleanup_(strbuf_finish) struct strbuf problem = STRBUF_INIT, fix = STRBUF_INIT;
    const json_t *found = preflight_find_listed(items, agent);
    struct preflight p;
    (void)config_read_file(config, home->config_file, NULL);
    _cleanup_(freep) char *key = xasprintf("agents.%s.sandbox", agent);
    if (sandbox)
        (void)config_set(config, key, sandbox, "sandbox", NULL);
    preflight_check(&p, agent, config, found, box);
    if (found && preflight_problem(&p, &problem, &fix))
        cmd_warn("agent '%s': %s; %s", agent, strbuf_text(&problem), strbuf_text(&fix));
    preflight_finish(&p);
}

void agent_warning_print(struct request *req, json_t *names) {
    _cleanup_(home_finish) struct home home = { 0 };
    bool silent = json_object_size(names) == 0 || getenv("SLUICE_TASK") || daemon_has_peers()
                  || home_find(&home, NULL) < 0;
    bool box = true;
    if (!silent && request_try_get(req, "/v1/status") == 0)
        box =
            strcmp(get_text(json_object_get(req->answer, "sandbox"), "auto", "none"), "none") != 0;
    if (!silent && request_try_get(req, "/v1/agents") == 0)
        EACH_MEMBER(agent, sandbox, names) {
            warn_of_agent(&home, request_items(req), box, agent, json_string_value(sandbox));
        }
    json_decref(names);
}

/* --- results ---------------------------------------------------------------------------------- */

static void print_task_line(const json_t *task, struct strbuf *out) {
    const char *result = get_text(task, "result", "queued"), *name = get_text(task, "name", NULL);
    int64_t position = get_int(task, "queue_position", 0);
    _cleanup_(strbuf_finish) struct strbuf more = STRBUF_INIT;
    if (get_true(task, "already"))
        strbuf_printf(&more, ": %s", get_text(task, "state", "?"));
    else if (strcmp(result, "queued") == 0 && position > 0)
        strbuf_printf(&more, ", position %lld", (long long)position);
    if (name)
        strbuf_printf(&more, " (%s)", name);
    cmd_put_line(out, "%s %s%s", get_text(task, "id", "?"), result, strbuf_text(&more));
}

/* What would be added: its command, or its agent and prompt. `added`: the daemon's result; or NULL. */
static void print_dry_line(const json_t *task, const json_t *added, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf words = STRBUF_INIT;
    const char *prompt = get_text(task, "prompt", NULL), *agent = get_text(task, "agent", NULL);
    if (get_true(added, "already")) {
        print_task_line(added, out);
        return;
    }
    print_argv(&words, json_object_get(task, "argv"));
    if (prompt)
        strbuf_printf(&words, "%s%s%s", agent ? agent : "", agent ? ": " : "", prompt);
    if (words.length == 0) /* an epic runs nothing */
        strbuf_puts(&words, get_text(task, "title", "?"));
    cmd_put_line(out, "new: %s", strbuf_text(&words));
}

static bool is_dry(const struct submit *s) {
    return cmd_has(s->call, "dry-run");
}

static void print_tasks(struct submit *s, const json_t *sent) {
    const json_t *added = json_object_get(s->req.answer, "tasks");
    size_t count = json_array_size(is_dry(s) ? sent : added);
    for (size_t i = 0; i < count; i++) {
        if (is_dry(s))
            print_dry_line(json_array_get(sent, i), json_array_get(added, i), &s->out);
        else
            print_task_line(json_array_get(added, i), &s->out);
        output_some(&s->out);
    }
}

/* For --json: all answers as one; with --dry-run all requests as one, which is a file of tasks. */
static void keep_all(struct submit *s, const json_t *object) {
    if (s->all)
        json_array_extend(json_object_get(s->all, "tasks"), json_object_get(object, "tasks"));
    else
        s->all = json_deep_copy(object);
    if (get_true(object, "refused"))
        json_object_set_new(s->all, "refused", json_true());
}

/* --- requests --------------------------------------------------------------------------------- */

int submit_open(struct submit *s) {
    int code = request_open(&s->req, is_dry(s) ? REQUEST_TRY : REQUEST_START);
    s->unchecked = is_dry(s) && code == CMD_NO_DAEMON;
    if (s->unchecked)
        cmd_warn("no daemon is running: the tasks were not checked");
    return s->unchecked ? CMD_OK : code;
}

static int refused(struct submit *s) {
    if (s->locate && s->req.index >= 0)
        s->locate(s->ctx, (size_t)s->req.index, &s->req.err);
    /* An unknown name in a task is an error in the task. */
    bool unknown = request_was_answered(&s->req) && s->req.err.code == -ENOENT;
    int code = s->all ? request_failed(&s->req) : request_refused(s->call, &s->req);
    if (s->all)
        json_object_set_new(s->all, "error",
                            json_pack("{s:o}", "message", json_text(s->req.err.text)));
    return unknown ? CMD_USAGE : code;
}

/* Takes `body`. */
static int check_dry(struct submit *s, json_t *body) {
    json_auto_t *tasks = json_incref(json_object_get(body, "tasks"));
    int r = 0;
    if (s->call->json) {
        keep_all(s, body);
        json_object_del(s->all, "force"); /* not for a file: it is an answer to a refusal */
    }
    json_object_set_new(body, "dry_run", json_true());
    if (s->unchecked)
        json_decref(body);
    else
        r = request_try_post(&s->req, body, "/v1/tasks");
    if (r != 0) {
        json_decref(s->all); /* the refusal is the result */
        s->all = NULL;
        return refused(s);
    }
    if (!s->call->json)
        print_tasks(s, tasks);
    return CMD_OK;
}

int submit_send(struct submit *s, json_t *body) {
    json_t *agents = agent_warning_names(json_object_get(body, "tasks"));
    if (is_dry(s)) {
        json_decref(agents);
        return check_dry(s, body);
    }
    if (!s->agents)
        s->agents = json_object();
    if (request_try_post(&s->req, body, "/v1/tasks") != 0) {
        json_decref(agents);
        return refused(s);
    }
    json_object_update_missing(s->agents, agents);
    json_decref(agents);
    if (s->call->json)
        keep_all(s, s->req.answer);
    else
        print_tasks(s, NULL);
    s->refused |= get_true(s->req.answer, "refused");
    if (!s->call->json && get_text(s->req.answer, "warning", NULL) && !s->warned)
        cmd_warn("%s", get_text(s->req.answer, "warning", ""));
    s->warned |= get_text(s->req.answer, "warning", NULL) != NULL;
    return CMD_OK;
}

int submit_end(struct submit *s, int code) {
    if (s->all)
        (void)output_json(s->all);
    s->all = NULL;
    output_finish(&s->out);
    if (s->agents && code == CMD_OK)
        agent_warning_print(&s->req, TAKE_PTR(s->agents));
    json_decref(s->agents);
    request_finish(&s->req);
    return code == CMD_OK && s->refused ? CMD_REFUSED : code;
}
