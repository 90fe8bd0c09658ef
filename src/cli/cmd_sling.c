/* cmd_sling.c: schedules drafts: tasks, groups, epics, for a project, on a formula.
 *
 * The last word may be the project the tasks are slung at, as in `sluice sling web-3 web-4 web`. A
 * word that looks like an id never is; of any other the daemon is asked. What a word before it is (a
 * group, a task, a task with drafts below it), the daemon finds out.
 *
 * With --on the steps of the formula come with the tasks in one question: all of it happens or nothing. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "cli/agent_warning.h"
#include "cli/ask.h"
#include "cli/formula_find.h"
#include "cli/task_verb.h"

static const struct task_verb verb = {
    .op = "sling",
    .did = "slung",
    .all = "draft",
    .may = "draft",
};

/* "web-17", "17", "#17". */
static bool looks_like_id(const char *word) {
    size_t length = strlen(word), digits = 0;
    while (digits < length && isdigit((unsigned char)word[length - digits - 1]))
        digits++;
    return digits > 0 && (digits == length || word[length - digits - 1] == '-');
}

/* 1: the last argument is a project; 0: it is not; <0: exit code, negative. */
static int ends_in_project(const struct cmd_call *call, struct ask *ask) {
    const char *last = call->arg_count > 1 ? call->args[call->arg_count - 1] : NULL;
    if (!last || !*last || looks_like_id(last) || cmd_has(call, "project"))
        return 0;
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    ask_path(&path, "/v1/projects/", last, "");
    int r = ask_try_get(ask, strbuf_text(&path));
    return r == 0 ? 1 : r == ENOENT && ask_was_answered(ask) ? 0 : -ask_failed(ask);
}

/* --- what is asked for ----------------------------------------------------------------------- */

/* What --meta and --var say; NULL: nothing. */
static int take_meta(const struct cmd_call *call, json_t *body) {
    json_t *meta = json_object(), *vars = json_object();
    const char *pair;
    int code = CMD_OK;
    for (size_t n = 0; code == CMD_OK && (pair = cmd_value_at(call, "meta", n)); n++)
        code = ask_add_pair(call, pair, meta);
    for (size_t n = 0; code == CMD_OK && (pair = cmd_value_at(call, "var", n)); n++)
        code = ask_add_pair(call, pair, vars);
    if (json_object_size(vars) > 0)
        json_object_set(meta, "vars", vars);
    if (cmd_has(call, "on"))
        json_object_set_new(meta, "formula", ask_string(cmd_value(call, "on")));
    if (json_object_size(meta) > 0)
        json_object_set(body, "meta", meta);
    json_decref(vars);
    json_decref(meta);
    return code;
}

static int take_options(const struct cmd_call *call, json_t **ret_body) {
    json_t *body = json_object();
    ask_take_members(call, body);
    int code = take_meta(call, body);
    if (code == CMD_OK)
        *ret_body = body;
    else
        json_decref(body);
    return code;
}

static int check_call(const struct cmd_call *call) {
    bool all = cmd_has(call, "all");
    if (all && call->arg_count > 0)
        return cmd_usage_error(call->cmd, "'--all' and '%s' exclude each other", call->args[0]);
    if (!all && call->arg_count == 0)
        return cmd_usage_error(call->cmd, "'sling' needs the IDs of tasks, or --all");
    static const char *const alone[] = { "on", "owned", "no-group", "dry-run" };
    for (size_t i = 0; all && i < ARRAY_SIZE(alone); i++)
        if (cmd_has(call, alone[i]))
            return cmd_usage_error(call->cmd, "option '--%s' does not go with --all", alone[i]);
    if (cmd_has(call, "account") && cmd_has(call, "limiter"))
        return cmd_usage_error(call->cmd, "'--account' and '--limiter' are the same");
    for (size_t i = 0; i < call->arg_count; i++)
        if (!*call->args[i])
            return cmd_usage_error(call->cmd, "an ID is empty");
    return CMD_OK;
}

/* --- what came back -------------------------------------------------------------------------- */

struct telling {
    json_t *tasks; /* of all answers */
    json_t *group, *warning;
    bool dry;
};

static void telling_finish(struct telling *t) {
    json_decref(t->tasks);
    json_decref(t->group);
    json_decref(t->warning);
}

static void take_answer(struct telling *t, const json_t *answer) {
    json_array_extend(t->tasks, json_object_get(answer, "tasks"));
    json_t *group = json_object_get(answer, "group"), *warning = json_object_get(answer, "warning");
    if (json_is_string(group)) {
        json_decref(t->group);
        t->group = json_incref(group);
    }
    if (json_is_string(warning)) {
        json_decref(t->warning);
        t->warning = json_incref(warning);
    }
}

static void print_line(const struct telling *t, const json_t *task, struct strbuf *out) {
    const char *result = ask_text(task, "result", "slung"), *group = ask_text(task, "group", NULL);
    if (strcmp(result, "skipped") == 0)
        return;
    if (json_object_get(task, "moved_from")) {
        sanitize_line(ask_text(task, "moved_from", "?"), out);
        strbuf_puts(out, " moved: ");
    }
    sanitize_line(ask_text(task, "id", "?"), out);
    if (strcmp(result, "already") == 0) {
        strbuf_printf(out, " is %s already\n", ask_text(task, "state", "?"));
        return;
    }
    if (strcmp(result, "deferred") == 0) {
        strbuf_puts(out, t->dry ? " would be deferred\n" : " deferred\n");
        return;
    }
    strbuf_puts(out, t->dry ? " would be slung" : " slung: ");
    strbuf_puts(out, t->dry ? "" : ask_text(task, "state", "?"));
    if (group) {
        strbuf_puts(out, ", in ");
        sanitize_line(group, out);
    }
    strbuf_putc(out, '\n');
}

/* Nothing was slung because all of it was skipped: a guard has refused it. Or some of it was deferred. */
static int tell(const struct cmd_call *call, const struct telling *t) {
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    size_t i, skipped = 0, deferred = 0;
    json_t *task;
    json_array_foreach(t->tasks, i, task) {
        if (ask_is(task, "result", "skipped")) {
            skipped++;
            cmd_warn("%s skipped: %s", ask_text(task, "id", "?"), ask_text(task, "why", "?"));
        }
        deferred += ask_is(task, "result", "deferred");
        if (!call->json)
            print_line(t, task, &out);
    }
    if (call->json) {
        (void)ask_print_json(json_pack("{s:O, s:O, s:b, s:I, s:O}", "tasks", t->tasks, "group",
                                       t->group, "dry_run", t->dry, "deferred",
                                       (json_int_t)deferred, "warning", t->warning));
    } else if (i == 0) {
        strbuf_puts(&out, "nothing to sling\n");
    }
    output_rest(&out);
    if (json_is_string(t->warning))
        cmd_warn("%s", json_string_value(t->warning));
    return deferred > 0 || (skipped > 0 && skipped == i) ? CMD_REFUSED : CMD_OK;
}

/* --- on a formula ---------------------------------------------------------------------------- */

struct onto {
    const struct cmd_call *call;
    struct ask *ask;
    json_t *body; /* of the question, without tasks */
    struct telling *telling;
};

static int sling_these(struct onto *o, json_t *tasks) {
    json_t *body = json_deep_copy(o->body);
    json_object_set_new(body, "tasks", tasks);
    bool alone = json_array_size(o->telling->tasks) == 0; /* else those before it are printed */
    int code = CMD_OK;
    if (ask_try_post(o->ask, body, "/v1/tasks/sling") != 0)
        code = alone ? ask_refused(o->call, o->ask) : ask_failed(o->ask);
    if (code == CMD_OK)
        take_answer(o->telling, o->ask->answer);
    return code;
}

/* The steps of one task, as the body of POST /v1/tasks. */
static int expand_for(struct onto *o, const json_t *task, struct formula **ret_formula,
                      json_t **ret_body) {
    const char *id = ask_text(task, "id", "");
    const char *project = ask_text(o->body, "project", ask_text(task, "project", ""));
    _cleanup_(formula_places_finish) struct formula_places places = { 0 };
    _cleanup_(formula_values_finish) struct formula_values values = { 0 };
    struct error err = { 0 };
    formula_values_offer(&values, "task", id);
    formula_values_offer(&values, "project", project);
    formula_values_offer(&values, "title", ask_text(task, "title", ""));
    formula_values_offer(&values, "prompt", ask_text(json_object_get(task, "spec"), "prompt", ""));
    int code = formula_values_take(o->call, &values);
    if (code != CMD_OK)
        return code;
    int r = formula_places_find(project, &places, &err);
    if (r >= 0)
        r = formula_find(&places, cmd_value(o->call, "on"), ret_formula, &err);
    if (r >= 0)
        r = formula_expand(*ret_formula, values.items, values.count, ret_body, &err);
    if (r < 0)
        return cmd_error(&err);
    return CMD_OK;
}

/* What one of the tasks adds to the question: nothing, if it is no draft. */
static int add_work(struct onto *o, const char *id, struct formula **ret_formula, json_t *work) {
    if (ask_try_task(o->ask, id) != 0)
        return ask_failed(o->ask);
    int code = CMD_OK;
    json_t *task = json_incref(o->ask->answer), *body = NULL;
    if (ask_is(task, "state", "draft")) {
        formula_freep(ret_formula);
        *ret_formula = NULL;
        code = expand_for(o, task, ret_formula, &body);
        if (code == CMD_OK)
            json_array_append_new(work, json_pack("{s:s, s:s, s:O}", "task", id, "formula",
                                                  formula_name(*ret_formula), "steps",
                                                  json_object_get(body, "tasks")));
    }
    json_decref(body);
    json_decref(task);
    return code;
}

/* The steps of all of them come with the question that slings the tasks: all of it happens or nothing. */
static int sling_on(struct onto *o, json_t *tasks) {
    _cleanup_(formula_freep) struct formula *formula = NULL;
    json_t *work = json_array(), *body = json_deep_copy(o->body);
    int code = CMD_OK;
    ASK_EACH(id, tasks) {
        if (code == CMD_OK)
            code = add_work(o, json_string_value(id), &formula, work);
    }
    if (json_array_size(work) > 0)
        json_object_set(body, "work", work);
    json_object_set(body, "tasks", tasks);
    json_decref(work);
    if (code != CMD_OK) {
        json_decref(body);
        return code;
    }
    int r = ask_try_post(o->ask, body, "/v1/tasks/sling");
    if (r == 0) {
        take_answer(o->telling, o->ask->answer);
        return CMD_OK;
    }
    if (formula && o->ask->index >= 0 && strncmp(o->ask->err.text, "step ", 5) == 0)
        formula_locate(formula, (size_t)o->ask->index, &o->ask->err);
    return ask_failed(o->ask);
}

/* --- agents ---------------------------------------------------------------------------------- */

#define LOOKED_AT 20 /* tasks that are asked for their agent */

/* The agent that was named, or those of the tasks that were slung. */
static void warn_of_agents(const struct cmd_call *call, struct ask *ask, const json_t *slung) {
    json_t *tasks = json_array(), *task;
    size_t i;
    if (cmd_has(call, "agent"))
        json_array_append_new(tasks,
                              json_pack("{s:o}", "agent", ask_string(cmd_value(call, "agent"))));
    json_array_foreach(slung, i, task) {
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        if (cmd_has(call, "agent") || i >= LOOKED_AT)
            break;
        ask_path(&path, "/v1/tasks/", ask_text(task, "id", ""), "");
        if (strcmp(ask_text(task, "result", "slung"), "slung") == 0
            && ask_try_get(ask, strbuf_text(&path)) == 0)
            json_array_append(tasks, ask->answer);
    }
    agent_warning_print(ask, agent_warning_names(tasks));
    json_decref(tasks);
}

/* --- the command ----------------------------------------------------------------------------- */

static int sling_named(const struct cmd_call *call, json_t *body) {
    _cleanup_(telling_finish) struct telling telling = { .tasks = json_array(),
                                                         .group = json_null(),
                                                         .warning = json_null(),
                                                         .dry = cmd_has(call, "dry-run") };
    _cleanup_(ask_finish) struct ask ask = { 0 };
    struct onto o = { .call = call, .ask = &ask, .body = body, .telling = &telling };
    int code = ask_open(&ask, ASK_START);
    int ends = code == CMD_OK ? ends_in_project(call, &ask) : -code;
    if (ends < 0)
        return -ends;
    size_t count = call->arg_count - (size_t)ends;
    const char *project = ends ? call->args[count] : cmd_value(call, "project");
    if (project)
        json_object_set_new(body, "project", ask_string(project));
    if (cmd_has(call, "group"))
        json_object_set_new(body, "group", ask_string(cmd_value(call, "group")));
    json_t *tasks = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(tasks, ask_string(call->args[i]));
    if (!cmd_has(call, "on"))
        json_object_set_new(body, "partial", json_true());
    code = cmd_has(call, "on") ? sling_on(&o, tasks) : sling_these(&o, json_incref(tasks));
    json_decref(tasks);
    /* What was slung before a failure is told too: it stays so. */
    int told = code == CMD_OK || json_array_size(telling.tasks) > 0 ? tell(call, &telling) : CMD_OK;
    if (code == CMD_OK && !telling.dry)
        warn_of_agents(call, &ask, telling.tasks);
    return code == CMD_OK ? told : code;
}

static int sling_all(const struct cmd_call *call, json_t *body) {
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = task_verb_run(call, &verb, body);
    if (code == CMD_OK && cmd_has(call, "agent") && ask_open(&ask, ASK_TRY) == CMD_OK)
        warn_of_agents(call, &ask, NULL);
    return code;
}

static int cmd_sling_run(const struct cmd_call *call) {
    json_t *body = NULL;
    int code = check_call(call);
    if (code == CMD_OK)
        code = take_options(call, &body);
    if (code != CMD_OK)
        return code;
    if (cmd_has(call, "all")) {
        json_object_set_new(body, "no_group", json_true()); /* they come in pieces */
        json_object_set_new(body, "partial", json_true());
        if (cmd_has(call, "project"))
            json_object_set_new(body, "project", ask_string(cmd_value(call, "project")));
        return sling_all(call, body);
    }
    code = sling_named(call, body);
    json_decref(body);
    return code;
}

static const struct cmd_option sling_options[] = {
    { "on", 0, "FORMULA", "let the steps of this formula do the work of each task" },
    FORMULA_VAR_OPTION,
    { "force", 'f', NULL, "although a guard says no: another project, another group, at work",
      "force" },
    { "dry-run", 'n', NULL, "only say what would be slung", "dry_run" },
    { "group", 'g', "GROUP", "the group that follows them; with --all: only drafts of it" },
    { "owned", 'o', NULL, "the group that is made is closed by hand only", "owned" },
    { "no-group", 0, NULL, "make no group for them", "no_group" },
    { "agent", 0, "NAME", "who runs them, instead of the agent they name", "agent" },
    { "account", 0, "NAME", "the provider account they use; the same as --limiter", "limiter" },
    { "limiter", 0, "NAME", "the provider account they use", "limiter" },
    { "merge", 'm', "none|local|direct|mr", "what is done with their good work", "merge" },
    { "base-branch", 'b', "BRANCH", "the branch they start from", "base_branch" },
    { "no-merge", 0, NULL, "leave their work on its branch; the same as --merge none", "no_merge" },
    { "args", 0, "TEXT", "put this behind the prompt of each", "args" },
    { "meta", 0, "KEY=VALUE", "anything to keep with them; repeatable" },
    { "all", 'a', NULL, "every draft, instead of IDs; makes no group" },
    { "project", 'p', "PROJECT", "the project they are for; with --all only its drafts" },
    { NULL },
};

const struct cmd cmd_sling = { "sling", .options = sling_options, .max_args = CMD_ANY_ARGS,
                               .run = cmd_sling_run };
