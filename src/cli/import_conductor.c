/* import_conductor.c: imports the storage root of conductor-loop.
 *
 * No file has a task's state: it follows from markers, runs and the planner
 * (docs/reference/import-formats.md). Paths in the files refer to the host where they were
 * written. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "cli/import.h"
#include "cli/print_task.h"
#include "cli/request.h"

struct conductor {
    struct state *s;
    json_t *runs;      /* RUN: [project, task] */
    json_t *planner;   /* "project/task": entry */
    const char *agent; /* defaults.agent; or NULL */
};

struct task_folder {
    const char *project, *task, *path;
    json_t *runs; /* of the restart chain, oldest first */
    bool is_running;
    json_t *home; /* home-folders.md of the project */
};

static void note_spread(struct conductor *c, const json_t *spread) {
    _cleanup_(strbuf_finish) struct strbuf agents = STRBUF_INIT;
    const json_t *names = json_object_get(spread, "agents");
    const json_t *weights = json_object_get(spread, "weights");
    if (!get_true(spread, "enabled"))
        return;
    for (size_t i = 0; i < json_array_size(names); i++)
        if (json_is_string(json_array_get(names, i)))
            strbuf_printf(&agents, "%s%s %lld", i > 0 ? ", " : "",
                          json_string_value(json_array_get(names, i)),
                          (long long)json_integer_value(json_array_get(weights, i)));
    state_note(c->s, "config.yaml",
               "work was spread over agents by weight (%s%s): that is not brought over; "
               "agents.A.failover lets others take over",
               strbuf_text(&agents),
               get_true(spread, "fallback_on_failure") ? ", with fallback" : "");
}

static void read_config(struct conductor *c) {
    static const char *const map[][2] = { { "max_concurrent_runs", "limits.runs" },
                                          { "max_concurrent_root_tasks", "limits.roots" },
                                          { "timeout", "tasks.timeout_s" } };
    json_t *config = state_own(c->s, state_yaml(c->s, NULL, "config.yaml"));
    if (!config && state_mode(c->s, "config.hcl"))
        state_note(c->s, "config.hcl",
                   "HCL is not read: set limits.runs and limits.roots yourself");
    const json_t *defaults = json_object_get(config, "defaults");
    for (size_t i = 0; i < ARRAY_SIZE(map); i++)
        if (json_integer_value(json_object_get(defaults, map[i][0])) > 0)
            state_setting(c->s, map[i][1], json_object_get(defaults, map[i][0]));
    c->agent = get_text(defaults, "agent", NULL);
    note_spread(c, json_object_get(defaults, "diversification"));
    const json_t *roots = json_object_get(json_object_get(config, "storage"), "extra_roots");
    EACH_ITEM(root, roots) {
        if (json_is_string(root))
            state_note(c->s, "config.yaml", "'%s' is one more storage root: import it as well",
                       json_string_value(root));
    }
    if (json_object_get(config, "webhook"))
        state_note(c->s, "config.yaml", "the webhook is not brought over: see notify.webhook");
}

static void read_planner(struct conductor *c) {
    json_auto_t *file = state_yaml(c->s, NULL, ".conductor/root-task-planner.yaml");
    EACH_ITEM(entry, json_object_get(file, "entries")) {
        _cleanup_(freep) char *key =
            xasprintf("%s/%s", get_text(entry, "project_id", ""), get_text(entry, "task_id", ""));
        if (!json_object_get(c->planner, key)) /* the first of two counts */
            json_object_set(c->planner, key, entry);
    }
}

static const char run_members[] =
    "version run_id parent_run_id previous_run_id project_id task_id agent "
    "process_ownership pid pgid start_time end_time exit_code status cwd prompt_path "
    "output_path stdout_path stderr_path commandline error_summary agent_version";

/* A run whose parent is a run of the same task is a helper of the agent, not an attempt. */
static void read_runs(struct conductor *c, struct task_folder *f) {
    json_auto_t *names = state_list(c->s, "%s/runs", f->path);
    EACH_ITEM(name, names) {
        _cleanup_(freep) char *path =
            xasprintf("%s/runs/%s/run-info.yaml", f->path, json_string_value(name));
        json_auto_t *info = state_yaml(c->s, NULL, "%s", path);
        if (info && !json_is_object(info))
            state_note(c->s, path, "the file is empty");
        state_note_unknown(c->s, info, run_members);
        f->is_running = f->is_running || member_is(info, "status", "running");
        const json_t *parent = json_object_get(c->runs, get_text(info, "parent_run_id", ""));
        const char *of = json_string_value(json_array_get(parent, 1));
        bool is_helper = of && strcmp(of, f->task) == 0;
        if (json_is_object(info) && member_is(info, "status", "running completed failed")
            && !is_helper)
            json_array_append(f->runs, info);
    }
}

static void add_needs(json_t *item, const char *project, const json_t *list) {
    EACH_ITEM(entry, list) {
        const char *at = json_string_value(entry);
        while (at && *at) {
            _cleanup_(strbuf_finish) struct strbuf id = STRBUF_INIT;
            at += strspn(at, ", ");
            strbuf_add(&id, at, strcspn(at, ", "));
            at += id.length;
            if (id.length > 0)
                state_add_need(item, project, strbuf_text(&id));
        }
    }
}

static void read_needs(struct conductor *c, const struct task_folder *f, json_t *item,
                       const json_t *request) {
    struct error err = { 0 };
    json_auto_t *config = state_yaml(c->s, &err, "%s/TASK-CONFIG.yaml", f->path);
    if (!config && err.code != -ENOENT) {
        state_hold(c->s, item, "TASK-CONFIG.yaml is damaged, so that what it needs is not known");
        c->s->im.damaged = true;
    }
    state_note_unknown(c->s, config, "depends_on");
    json_t *needs = json_object_get(config, "depends_on");
    json_auto_t *list = json_is_string(needs) ? json_pack("[O]", needs) : json_incref(needs);
    add_needs(item, f->project, list);
    add_needs(item, f->project, json_object_get(request, "dependson"));
}

static void read_parent(struct conductor *c, const struct task_folder *f, json_t *item) {
    struct error ignored = { 0 };
    json_auto_t *link = state_yaml(c->s, &ignored, "%s/TASK-THREAD-LINK.yaml", f->path);
    const char *task = get_text(link, "parent_task_id", NULL);
    if (task)
        state_set_parent(item, get_text(link, "parent_project_id", f->project), task, false);
    EACH_ITEM(run, f->runs) {
        const json_t *parent = json_object_get(c->runs, get_text(run, "parent_run_id", ""));
        if (parent)
            state_set_parent(item, json_string_value(json_array_get(parent, 0)),
                             json_string_value(json_array_get(parent, 1)), false);
    }
}

static void set_state(struct conductor *c, const struct task_folder *f, json_t *item,
                      const json_t *entry) {
    const json_t *last = json_array_get(f->runs, json_array_size(f->runs) - 1);
    const char *status = get_text(last, "status", "");
    unsigned done = state_mode(c->s, "%s/DONE", f->path);
    if (state_mode(c->s, "%s/CANCELLED", f->path)) {
        struct error ignored = { 0 };
        json_auto_t *why = state_yaml(c->s, &ignored, "%s/CANCELLED", f->path);
        state_set(c->s, item, "canceled");
        if (get_text(why, "reason", NULL))
            state_note(c->s, f->task, "canceled: %s", get_text(why, "reason", ""));
    } else if (S_ISREG(done)) {
        state_set(c->s, item, "done");
    } else if (done) {
        state_hold(c->s, item, "DONE is not a file");
    } else if (f->is_running) {
        state_set(c->s, item, "running");
    } else if (entry || !last) {
        state_set(c->s, item, "waiting");
    } else if (strcmp(status, "completed") == 0) {
        state_set(c->s, item, "done");
        state_note(c->s, f->task, "done: its last run is completed, but there is no DONE marker");
    } else {
        state_set(c->s, item, "failed");
        state_note(c->s, f->task, "failed: %s", get_text(last, "error_summary", "no reason given"));
    }
}

/* The time in "task-20260225-070500-slug", in UTC. */
static time_ms time_in_id(const char *id) {
    char text[32] = "";
    if (strlen(id) < 20)
        return 0;
    (void)snprintf(text, sizeof(text), "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", id + 5, id + 9, id + 11,
                   id + 14, id + 16, id + 18);
    return state_time(text);
}

static void set_agent_and_folder(struct conductor *c, const struct task_folder *f, json_t *item,
                                 const json_t *request) {
    const json_t *last = json_array_get(f->runs, json_array_size(f->runs) - 1);
    const char *agent = get_text(last, "agent", get_text(request, "agenttype", c->agent));
    const char *own = get_text(last, "cwd", get_text(request, "projectroot", NULL));
    const char *cwd = own ? own : get_text(f->home, "project_root", NULL);
    state_put_text(item, "agent", agent);
    state_put_text(item, "cwd", cwd && *cwd == '/' ? cwd : NULL);
}

/* Numbers and booleans become texts in an environment. */
static void set_variables(json_t *item, const json_t *config) {
    json_auto_t *env = json_object();
    EACH_MEMBER(name, value, config) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        output_add_json(value, &text);
        json_object_set_new(
            env, name, json_is_string(value) ? json_incref(value) : json_text(strbuf_text(&text)));
    }
    if (json_object_size(env) > 0)
        state_put(item, "env", json_incref(env));
}

static void take_task(struct conductor *c, struct task_folder *f) {
    _cleanup_(strbuf_finish) struct strbuf prompt = STRBUF_INIT;
    struct error err = { 0 };
    int r = state_read(c->s, &prompt, &err, "%s/TASK.md", f->path);
    if (r < 0 || strspn(strbuf_text(&prompt), " \t\r\n") == prompt.length) {
        state_damaged(c->s, f->path, "%s",
                      r == -ENOENT ? "it has no TASK.md"
                      : r < 0      ? err.text
                                   : "TASK.md is empty: there is nothing to run");
        return;
    }
    _cleanup_(freep) char *key = xasprintf("%s/%s", f->project, f->task);
    const json_t *entry = json_object_get(c->planner, key);
    json_t *request = json_object_get(entry, "request");
    read_runs(c, f);
    json_t *item = state_item(c->s, f->project, f->task, NULL);
    state_put(item, "prompt", json_string(strbuf_text(&prompt)));
    state_put(item, "until", json_string("done"));
    state_set_title(item, strbuf_text(&prompt));
    state_set_created(c->s, item, time_in_id(f->task));
    set_state(c, f, item, entry);
    set_agent_and_folder(c, f, item, request);
    read_needs(c, f, item, request);
    read_parent(c, f, item);
    set_variables(item, json_object_get(request, "config"));
    if (entry)
        state_set_rank(item, get_real(entry, "order", 0));
    state_put_meta(item, "runs", json_integer((json_int_t)json_array_size(f->runs)));
}

typedef void (*each_task)(struct conductor *c, struct task_folder *f);

/* Maps runs to tasks before the first task is read. */
static void index_runs(struct conductor *c, struct task_folder *f) {
    json_auto_t *names = state_list(c->s, "%s/runs", f->path);
    EACH_ITEM(name, names) {
        json_object_set_new(c->runs, json_string_value(name),
                            json_pack("[o, o]", json_text(f->project), json_text(f->task)));
    }
}

static void each_in_project(struct conductor *c, const char *folder, const char *project,
                            each_task each) {
    struct error ignored = { 0 };
    json_auto_t *names = state_list(c->s, "%s", folder);
    json_auto_t *home = state_yaml(c->s, &ignored, "%s/home-folders.md", folder);
    EACH_ITEM(name, names) {
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        const char *task = json_string_value(name);
        strbuf_printf(&path, "%s/%s", folder, task);
        unsigned mode = state_mode(c->s, "%s", strbuf_text(&path));
        if (strncmp(task, "task-", 5) != 0 || time_in_id(task) == 0)
            continue;
        struct task_folder f = { .project = project,
                                 .task = task,
                                 .path = strbuf_text(&path),
                                 .runs = json_array(),
                                 .home = home };
        if (S_ISDIR(mode))
            each(c, &f);
        else if (each == take_task)
            state_damaged(c->s, f.path, "%s",
                          S_ISLNK(mode) ? "it is a link, which is not followed"
                                        : "it is not a directory");
        json_decref(f.runs);
    }
    const char *root = get_text(home, "project_root", "");
    struct stat st;
    if (*root == '/' && stat(root, &st) == 0 && S_ISDIR(st.st_mode))
        json_object_set_new(state_project(c->s, project), "path", json_text(root));
}

static void each_project(struct conductor *c, const char *folder, each_task each) {
    json_auto_t *names = state_list(c->s, "%s", folder);
    EACH_ITEM(name, names) {
        _cleanup_(freep) char *path =
            xasprintf("%s%s%s", folder, *folder ? "/" : "", json_string_value(name));
        if (!S_ISDIR(state_mode(c->s, "%s", path)))
            continue;
        if (!*folder && strcmp(path, "runs") == 0)
            each_project(c, "runs", each);
        else
            each_in_project(c, path, json_string_value(name), each);
    }
}

static int conductor_run(const struct cmd_call *call) {
    _cleanup_(state_finish) struct state s = { 0 };
    int code = state_open(&s, call, false);
    if (code != CMD_OK)
        return code;
    struct conductor c = { .s = &s,
                           .runs = state_own(&s, json_object()),
                           .planner = state_own(&s, json_object()) };
    read_config(&c);
    read_planner(&c);
    each_project(&c, "", index_runs);
    each_project(&c, "", take_task);
    state_note(
        &s, call->args[0],
        "message buses, facts, TASK_STATE.md, and the logs and outputs of runs are not brought "
        "over");
    return state_send(&s);
}

const struct cmd import_conductor = { "import conductor", conductor_run, 1, 1, state_options };
