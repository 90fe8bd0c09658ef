/* cmd_sling.c: schedules drafts: tasks, groups, for a project.
 *
 * The last word may be the project the tasks are slung at, as in `sluice sling web-3 web-4 web`. A
 * word that looks like an id never is; of any other the daemon is asked. */
#include "cli/cmd.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/task_verb.h"

static const struct task_verb verb = {
    .op = "sling",
    .did = "slung",
    .all = "draft",
    .may = "draft",
    .alone = "project",
};

/* "web-17", "17", "#17". */
static bool looks_like_id(const char *word) {
    size_t length = strlen(word), digits = 0;
    while (digits < length && isdigit((unsigned char)word[length - digits - 1]))
        digits++;
    return digits > 0 && (digits == length || word[length - digits - 1] == '-');
}

/* 1: the last argument is a project; 0: it is not; <0: exit code, negative. */
static int ends_in_project(const struct cmd_call *call) {
    const char *last = call->arg_count > 1 ? call->args[call->arg_count - 1] : NULL;
    if (!last || !*last || looks_like_id(last) || cmd_has(call, "project"))
        return 0;
    _cleanup_(ask_finish) struct ask ask = { 0 };
    int code = ask_open(&ask, ASK_START);
    if (code != CMD_OK)
        return -code;
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    ask_path(&path, "/v1/projects/", last, "");
    int r = ask_try_get(&ask, strbuf_text(&path));
    return r == 0 ? 1 : r == ENOENT && ask_was_answered(&ask) ? 0 : -ask_failed(&ask);
}

static int cmd_sling_run(const struct cmd_call *call) {
    int ends = ends_in_project(call);
    if (ends < 0)
        return -ends;
    struct cmd_call named = *call;
    const char *project = cmd_value(call, "project");
    if (ends == 1)
        project = call->args[--named.arg_count];
    json_t *body = json_object();
    if (project)
        json_object_set_new(body, "project", ask_string(project));
    if (cmd_has(call, "force"))
        json_object_set_new(body, "force", json_true());
    return task_verb_run(&named, &verb, body);
}

static const struct cmd_option sling_options[] = {
    { "force", 'f', NULL, "also tasks whose id has the prefix of another project" },
    { "all", 'a', NULL, "every draft, instead of IDs" },
    { "project", 'p', "PROJECT", "the project they are for; with --all only its drafts" },
    { "group", 'g', "GROUP", "with --all: only those of this group" },
    { NULL },
};

const struct cmd cmd_sling = {
    .name = "sling",
    .usage = "sling [--force] ID|GROUP... [PROJECT] | --all [--project P] [--group G]",
    .summary = "schedule drafts",
    .text = "Drafts wait from then on, and start when nothing stands in their way. A GROUP stands\n"
            "for all its drafts. With PROJECT a task of another project is refused unless --force\n"
            "is given.\n",
    .examples = "sluice sling web-17 web-18\n"
                "sluice sling web-17 web\n"
                "sluice sling --all --group night\n",
    .options = sling_options,
    .max_args = CMD_ANY_ARGS,
    .run = cmd_sling_run,
};
