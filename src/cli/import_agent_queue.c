/* import_agent_queue.c: imports the database of agent-queue, or its export as JSON Lines.
 *
 * Columns and tables differ between versions: missing ones have defaults. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "cli/import.h"
#include "cli/request.h"

struct agent_queue {
    struct state *s;
    json_t *tables;   /* TABLE: [row] */
    json_t *projects; /* ID: row */
    json_t *of_task;  /* task: its project */
};

static const char task_columns[] =
    "id project_id parent_task_id repo_id title description priority status "
    "verification_type retry_count max_retries assigned_agent_id branch_name resume_after "
    "requires_approval pr_url plan_source is_plan_subtask task_type profile_id "
    "preferred_workspace_id attachments auto_approve_plan skip_verification workflow_id "
    "agent_type affinity_agent_id affinity_reason workspace_mode created_at updated_at "
    "archived_at _table";

static json_t *rows_of(const struct agent_queue *q, const char *table) {
    return json_object_get(q->tables, table);
}

/* The last row of a table with this value in the column, or NULL. */
static const json_t *row_with(const struct agent_queue *q, const char *table, const char *column,
                              const char *value) {
    const json_t *found = NULL;
    EACH_ITEM(row, rows_of(q, table)) {
        if (value && strcmp(get_text(row, column, ""), value) == 0)
            found = row;
    }
    return found;
}

static time_ms ms_of(const json_t *row, const char *column) {
    double seconds = get_real(row, column, 0);
    return seconds > 0 && seconds < 1e11 ? (time_ms)(seconds * 1000 + 0.5) : 0;
}

static void take_line(struct state *s, json_t *row, const char *source, void *ctx) {
    struct agent_queue *q = ctx;
    const char *table = get_text(row, "_table", NULL);
    if (!table) {
        state_damaged(s, source, "the row has no _table");
        return;
    }
    if (!rows_of(q, table))
        json_object_set_new(q->tables, table, json_array());
    json_array_append(rows_of(q, table), row);
}

static int read_lines(struct agent_queue *q, const char *path) {
    struct error err = { 0 };
    q->tables = state_own(q->s, json_object());
    return state_lines(q->s, path, take_line, q, &err) < 0 ? cmd_error(&err) : CMD_OK;
}

static int read_db(struct agent_queue *q, const char *path) {
    struct error err = { 0 };
    if (import_sqlite_read(path, &q->tables, &err) < 0)
        return cmd_error(&err);
    (void)state_own(q->s, q->tables);
    return CMD_OK;
}

static void read_config(struct agent_queue *q, const json_t *config) {
    const json_t *scheduling = json_object_get(config, "scheduling");
    const json_t *guarantee = json_object_get(scheduling, "min_task_guarantee");
    state_setting(q->s, "fair.window_h", json_object_get(scheduling, "rolling_window_hours"));
    if (json_is_boolean(guarantee)) {
        json_auto_t *word = json_string(json_is_true(guarantee) ? "completion" : "off");
        state_setting(q->s, "fair.guarantee", word);
    }
    const json_t *budget = json_object_get(config, "global_token_budget_daily");
    if (json_is_number(budget)) {
        state_setting(q->s, "budget", budget);
        state_note(q->s, "config.yaml",
                   "global_token_budget_daily is for a day; 'budget' here is for the window of "
                   "fair.window_h");
    }
}

/* A folder: the database in config.yaml, by its file name; or an export. */
static int read_folder(struct agent_queue *q) {
    json_auto_t *config = state_yaml(q->s, NULL, "config.yaml");
    const char *url = get_text(json_object_get(config, "database"), "url",
                               get_text(config, "database_path", "agent-queue.db"));
    const char *slash = strrchr(url, '/');
    const char *name = slash ? slash + 1 : url;
    bool there = strncmp(url, "postgres", 8) != 0 && S_ISREG(state_mode(q->s, "%s", name));
    _cleanup_(freep) char *path = xasprintf("%s/%s", q->s->root, name);
    read_config(q, config);
    if (there)
        return read_db(q, path);
    if (state_mode(q->s, "agent-queue.jsonl"))
        return read_lines(q, "agent-queue.jsonl");
    return state_usage_error(q->s, "neither a database nor agent-queue.jsonl");
}

static void take_project(struct agent_queue *q, json_t *row) {
    const char *id = get_text(row, "id", "");
    const json_t *limits = row_with(q, "project_constraints", "project_id", id);
    const char *status = get_text(row, "status", "ACTIVE");
    json_t *settings = state_project(q->s, id);
    bool one = get_real(limits, "exclusive", 0) > 0;
    json_object_set(q->projects, id, row);
    json_object_set_new(settings, "weight", json_real(get_real(row, "credit_weight", 1)));
    json_object_set_new(
        settings, "max_running",
        json_integer(one ? 1 : (json_int_t)get_real(row, "max_concurrent_agents", 2)));
    if (json_is_number(json_object_get(row, "budget_limit")))
        json_object_set_new(settings, "budget",
                            json_integer((json_int_t)get_real(row, "budget_limit", 0)));
    if (strcmp(status, "ACTIVE") != 0 || get_real(limits, "pause_scheduling", 0) > 0) {
        json_object_set_new(settings, "paused", json_true());
        state_note(q->s, id, "the project is %s there: it is paused", status);
    }
    const char *types = get_text(limits, "max_agents_by_type", "{}");
    if (strcmp(types, "{}") != 0)
        state_note(q->s, id, "max_agents_by_type %s is not brought over", types);
    /* Shell words, the format of the setting. */
    _cleanup_(strbuf_finish) struct strbuf paths = STRBUF_INIT;
    EACH_ITEM(workspace, rows_of(q, "workspaces")) {
        const char *path = get_text(workspace, "workspace_path", "");
        if (strcmp(get_text(workspace, "project_id", ""), id) == 0 && *path == '/'
            && !strchr(path, '\''))
            strbuf_printf(&paths, "%s'%s'", paths.length > 0 ? " " : "", path);
    }
    set_text(settings, "workspace_paths", paths.length > 0 ? strbuf_text(&paths) : NULL);
}

static void take_agents(struct agent_queue *q) {
    json_auto_t *count = json_object();
    EACH_ITEM(row, rows_of(q, "agents")) {
        const char *type = get_text(row, "agent_type", "");
        json_object_set_new(count, type, json_integer(get_int(count, type, 0) + 1));
    }
    EACH_MEMBER(type, number, count) {
        _cleanup_(freep) char *key = xasprintf("agents.%s.slots", type);
        if (*type)
            state_setting(q->s, key, number);
    }
}

static void set_prompt(struct agent_queue *q, json_t *item, const json_t *row) {
    _cleanup_(strbuf_finish) struct strbuf prompt = STRBUF_INIT;
    strbuf_printf(&prompt, "%s\n\n%s", get_text(row, "title", ""),
                  get_text(row, "description", ""));
    EACH_ITEM(context, rows_of(q, "task_context")) {
        if (strcmp(get_text(context, "task_id", ""), state_id(item)) == 0)
            strbuf_printf(&prompt, "\n\n%s:\n%s",
                          get_text(context, "label", get_text(context, "type", "Context")),
                          get_text(context, "content", ""));
    }
    /* A list, or its JSON text. */
    json_t *attachments = json_object_get(row, "attachments");
    json_auto_t *files = json_is_array(attachments)
                             ? json_incref(attachments)
                             : json_loads(get_text(row, "attachments", "[]"), 0, NULL);
    const char *before = "\n\nAttachments:\n";
    EACH_ITEM(file, files) {
        strbuf_printf(&prompt, "%s%s", before, json_string_value(file));
        before = "\n";
    }
    state_set_title(item, get_text(row, "title", ""));
    state_put(item, "prompt", json_text(strbuf_text(&prompt)));
}

static void set_state(struct agent_queue *q, json_t *item, const json_t *row) {
    static const char *const pairs[][2] = {
        { "DEFINED", "waiting" },
        { "READY", "waiting" },
        { "ASSIGNED", "running" },
        { "IN_PROGRESS", "running" },
        { "PAUSED", "waiting" },
        { "WAITING_INPUT", "held" },
        { "COMPLETED", "done" },
        { "AWAITING_PLAN_APPROVAL", "held" },
        { "AWAITING_APPROVAL", "review" },
        { "BLOCKED", "failed" },
        { NULL },
    };
    const char *status = get_text(row, "status", "");
    double used = get_real(row, "retry_count", 0), most = get_real(row, "max_retries", 3);
    time_ms until = ms_of(row, "resume_after");
    if (strcmp(status, "FAILED") == 0)
        state_set(q->s, item, used < most ? "waiting" : "failed");
    else if (!state_set_from(q->s, item, status, pairs))
        state_hold(q->s, item, "'%s' is not a status that is known", status);
    else if (state_is(item, "held"))
        state_note(q->s, state_id(item), "held: %s",
                   strcmp(status, "WAITING_INPUT") == 0 ? "it waits for an answer from you"
                                                        : "its plan waits for approval");
    if (state_is(item, "failed"))
        state_note(q->s, state_id(item), "failed: %s",
                   get_text(row_with(q, "task_results", "task_id", state_id(item)), "error_message",
                            "no reason given"));
    if (state_is(item, "review"))
        state_note(q->s, state_id(item), "it waits for approval%s%s",
                   get_text(row, "pr_url", NULL) ? ": " : "", get_text(row, "pr_url", ""));
    if (strcmp(status, "PAUSED") == 0 && until > q->s->now)
        state_put(item, "not_before", json_integer(until));
    state_put(item, "retries", json_integer((json_int_t)(used < most ? most - used : 0)));
}

static void set_agent_and_workspace(struct agent_queue *q, json_t *item, const json_t *row) {
    const json_t *project = json_object_get(q->projects, get_text(row, "project_id", ""));
    const json_t *worker = row_with(q, "agents", "id", get_text(row, "assigned_agent_id", NULL));
    const json_t *workspace =
        row_with(q, "workspaces", "id", get_text(row, "preferred_workspace_id", NULL));
    const char *profile = get_text(row, "profile_id", NULL);
    const char *agent = get_text(row, "agent_type", get_text(worker, "agent_type", NULL));
    state_put_text(item, "agent", agent ? agent : get_text(project, "default_agent_type", NULL));
    if (workspace)
        state_put(item, "workspace", json_text(get_text(workspace, "workspace_path", "")));
    if (profile) {
        const json_t *is = row_with(q, "agent_profiles", "id", profile);
        state_note(q->s, state_id(item),
                   "its profile '%s' (model %s, permission mode %s, tools %s) is not brought over",
                   profile, get_text(is, "model", "-"), get_text(is, "permission_mode", "-"),
                   get_text(is, "allowed_tools", "-"));
    }
    if (get_real(row, "requires_approval", 0) > 0)
        state_put(item, "review", json_true());
}

static void take_task(struct agent_queue *q, const json_t *row, bool archived) {
    const char *id = get_text(row, "id", ""), *project = get_text(row, "project_id", "");
    const char *parent = get_text(row, "parent_task_id", NULL);
    bool is_new;
    if (!*id || !*project || !get_text(row, "title", NULL) || !get_text(row, "description", NULL)) {
        state_damaged(q->s, *id ? id : "?", "its id, project, title or description is not text");
        return;
    }
    if (archived && row_with(q, "tasks", "id", id)) {
        state_note(q->s, id, "an archived row has the same id, and is left out");
        return;
    }
    json_t *item = state_item(q->s, project, id, &is_new);
    if (!is_new) {
        state_damaged(q->s, id, "a second row has the same id");
        return;
    }
    state_note_unknown(q->s, row, task_columns);
    set_state(q, item, row);
    set_prompt(q, item, row);
    const json_t *priority = json_object_get(row, "priority");
    if (json_is_number(priority))
        state_put(item, "priority", json_integer((json_int_t)json_number_value(priority)));
    else if (priority && !json_is_null(priority))
        state_note(q->s, id, "its priority is not a number: 100 is used");
    state_set_created(q->s, item, ms_of(row, "created_at"));
    if (ms_of(row, "created_at") == 0)
        state_note(q->s, id, "when it was created is not known");
    set_agent_and_workspace(q, item, row);
    state_put_meta_members(item, row,
                           "status retry_count max_retries branch_name pr_url task_type profile_id "
                           "plan_source preferred_workspace_id assigned_agent_id");
    if (parent)
        state_set_parent(item, get_text(q->of_task, parent, project), parent, false);
    if (!json_object_get(q->projects, project))
        state_hold(q->s, item, "its project '%s' does not exist there", project);
}

static void take_needs(struct agent_queue *q) {
    EACH_ITEM(row, rows_of(q, "task_dependencies")) {
        const char *id = get_text(row, "task_id", ""),
                   *on = get_text(row, "depends_on_task_id", "");
        const char *project = get_text(q->of_task, id, "");
        json_t *item = state_find(q->s, project, id);
        if (item && *on)
            state_add_need(item, get_text(q->of_task, on, project), on);
    }
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Ties are broken by id. */
static void set_order(const struct agent_queue *q) {
    size_t count = json_object_size(q->of_task), at = 0;
    const char **ids = xcalloc(count + 1, sizeof(*ids));
    EACH_MEMBER(id, project, q->of_task) {
        ids[at++] = id;
    }
    qsort(ids, count, sizeof(*ids), by_text);
    for (size_t i = 0; i < count; i++) {
        json_t *item = state_find(q->s, get_text(q->of_task, ids[i], ""), ids[i]);
        if (item)
            state_set_rank(item, (double)i);
    }
    free(ids);
}

static void each_task(struct agent_queue *q, bool only_index) {
    static const char *const tables[] = { "tasks", "archived_tasks" };
    for (size_t t = 0; t < ARRAY_SIZE(tables); t++) {
        EACH_ITEM(row, rows_of(q, tables[t])) {
            const char *id = get_text(row, "id", "");
            if (!only_index)
                take_task(q, row, t == 1);
            else if (!json_object_get(q->of_task, id))
                json_object_set_new(q->of_task, id, json_text(get_text(row, "project_id", "")));
        }
    }
}

static void note_tables(struct agent_queue *q) {
    static const char used[] =
        "projects tasks archived_tasks task_dependencies task_context task_results workspaces "
        "agents project_constraints agent_profiles";
    EACH_MEMBER(table, rows, q->tables) {
        if (json_array_size(rows) > 0 && !word_in(table, used))
            state_note(q->s, table, "%zu rows of this table are not brought over",
                       json_array_size(rows));
    }
}

static int agent_queue_run(const struct cmd_call *call) {
    _cleanup_(state_finish) struct state s = { 0 };
    int code = state_open(&s, call, true);
    if (code != CMD_OK)
        return code;
    struct agent_queue q = { .s = &s,
                             .projects = state_own(&s, json_object()),
                             .of_task = state_own(&s, json_object()) };
    const char *dot = strrchr(s.root, '.');
    code = s.folder >= 0                       ? read_folder(&q)
           : dot && strcmp(dot, ".jsonl") == 0 ? read_lines(&q, s.root)
                                               : read_db(&q, s.root);
    if (code != CMD_OK)
        return code;
    EACH_ITEM(row, rows_of(&q, "projects")) {
        take_project(&q, row);
    }
    each_task(&q, true);
    each_task(&q, false);
    take_needs(&q);
    set_order(&q);
    take_agents(&q);
    note_tables(&q);
    return state_send(&s);
}

const struct cmd import_agent_queue = { "import agent-queue", agent_queue_run, 1, 1,
                                        state_options };
