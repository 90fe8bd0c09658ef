/* import_gastown.c: imports the beads of a town, and its sling contexts as the schedule.
 *
 * Beads come from exports (issues.jsonl); the database itself is not read. An open bead is
 * scheduled only if an open sling context names it; otherwise it is a draft. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "cli/import.h"
#include "cli/request.h"

#define TOWN "hq" /* the project of coordination beads */

struct gastown {
    struct state *s;
    json_t *files;    /* PATH: true; exports already read */
    json_t *beads;    /* ID: the winning record */
    json_t *contexts; /* bead: the fields of its open context */
    json_t *rigs;     /* of rigs.json */
    char agent[64];   /* default agent */
};

static const char members[] =
    "_type id title description design notes status priority issue_type "
    "acceptance_criteria assignee created_at updated_at started_at closed_at defer_until "
    "close_reason labels dependencies ephemeral created_by external_ref dependency_count "
    "dependent_count comment_count estimated_minutes owner pinned comments metadata "
    "source_repo sender";

static const char *type_of(const json_t *bead) {
    return get_text(bead, "issue_type", "task");
}

static bool has_label(const json_t *bead, const char *label) {
    EACH_ITEM(one, json_object_get(bead, "labels")) {
        if (json_is_string(one) && strcmp(json_string_value(one), label) == 0)
            return true;
    }
    return false;
}

static void take_line(struct state *s, json_t *bead, const char *source, void *ctx) {
    struct gastown *g = ctx;
    const char *id = get_text(bead, "id", "");
    if (strcmp(get_text(bead, "_type", "issue"), "issue") != 0) {
        state_skip(s, get_text(bead, "key", source), "a %s is not work",
                   get_text(bead, "_type", ""));
        return;
    }
    if (!*id) {
        state_damaged(s, source, "the record has no id");
        return;
    }
    const json_t *other = json_object_get(g->beads, id);
    if (!other || strcmp(get_text(bead, "updated_at", ""), get_text(other, "updated_at", "")) > 0)
        json_object_set(g->beads, id, bead);
}

static void read_export(struct gastown *g, const char *folder) {
    struct error err = { 0 };
    _cleanup_(freep) char *path = xasprintf("%s%sissues.jsonl", folder, *folder ? "/" : "");
    if (json_object_get(g->files, path))
        return;
    json_object_set_new(g->files, path, json_true());
    int r = state_lines(g->s, path, take_line, g, &err);
    if (r < 0 && r != -ENOENT)
        state_note(g->s, path, "%s", err.text);
}

/* RIG/.beads, or the target of its redirect. */
static void read_rig(struct gastown *g, const char *rig) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, to = STRBUF_INIT;
    struct error err = { 0 };
    if (state_read(g->s, &to, &err, "%s/.beads/redirect", rig) == 0)
        strbuf_printf(&path, "%s/%.*s", rig, (int)strcspn(strbuf_text(&to), "\r\n"),
                      strbuf_text(&to));
    else
        strbuf_printf(&path, "%s/.beads", rig);
    read_export(g, strbuf_text(&path));
}

/* Lines with # are comments. */
static void read_routes(struct gastown *g) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct error err = { 0 };
    if (state_read(g->s, &text, &err, ".beads/routes.jsonl") < 0)
        return;
    for (const char *line = strbuf_text(&text), *next; *line; line = next) {
        size_t size = strcspn(line, "\n");
        next = line + size + (line[size] ? 1 : 0);
        size_t blank = strspn(line, " \t\r");
        if (blank >= size || line[blank] == '#')
            continue;
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        json_auto_t *route = json_loadb(line, size, 0, NULL);
        const char *folder = get_text(route, "path", ".");
        bool is_root = strcmp(folder, ".") == 0;
        strbuf_printf(&path, "%s%s.beads", is_root ? "" : folder, is_root ? "" : "/");
        if (route)
            read_export(g, strbuf_text(&path));
        else
            state_damaged(g->s, ".beads/routes.jsonl", "a line is not JSON");
    }
}

static void read_settings(struct gastown *g) {
    json_auto_t *settings = state_json(g->s, "settings/config.json");
    const json_t *scheduler = json_object_get(settings, "scheduler");
    const char *delay = get_text(scheduler, "spawn_delay", "");
    json_t *most = json_object_get(scheduler, "max_polecats");
    (void)snprintf(g->agent, sizeof(g->agent), "%s", get_text(settings, "default_agent", ""));
    /* 0 and less: direct dispatch. */
    if (json_is_integer(most) && json_integer_value(most) <= 0)
        json_object_set_new(g->s->im.settings, "limits.runs", json_string("unlimited"));
    else
        state_setting(g->s, "limits.runs", most);
    state_setting(g->s, "pace.batch", json_object_get(scheduler, "batch_size"));
    if (*delay) {
        char *end;
        json_auto_t *seconds = json_real(strtod(delay, &end)
                                         * (strcmp(end, "ms") == 0 ? 0.001
                                            : *end == 'm'          ? 60
                                                                   : 1));
        state_setting(g->s, "pace.spawn_delay_s", seconds);
    }
    json_auto_t *state = state_json(g->s, ".runtime/scheduler-state.json");
    if (!state)
        state = state_json(g->s, ".runtime/queue-state.json");
    g->s->paused = get_true(state, "paused");
}

static void take_rig(struct gastown *g, const char *rig, const json_t *about) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    json_t *settings = state_project(g->s, rig);
    const char *prefix = get_text(json_object_get(about, "beads"), "prefix", NULL);
    const char *repo = get_text(about, "local_repo", "");
    struct stat st;
    set_text(settings, "prefix", prefix);
    if (*repo != '/' || stat(repo, &st) < 0) {
        strbuf_printf(&path, "%s/%s/mayor/rig", g->s->root, rig);
        repo = strbuf_text(&path);
    }
    if (stat(repo, &st) == 0 && S_ISDIR(st.st_mode))
        json_object_set_new(settings, "path", json_text(repo));
    else
        state_note(g->s, rig,
                   "its repository is not at '%s': set where its tasks run, with 'sluice config "
                   "set projects.%s.path=FOLDER'",
                   repo, rig);
    read_rig(g, rig);
}

static const char *rig_agent(struct gastown *g, const char *rig) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    json_t *about = json_object_get(g->rigs, rig);
    if (about && !json_object_get(about, "_agent")) {
        strbuf_printf(&path, "%s/settings/config.json", rig);
        json_auto_t *settings = state_json(g->s, strbuf_text(&path));
        const char *test = get_text(json_object_get(settings, "merge_queue"), "test_command", NULL);
        json_object_set_new(about, "_agent", json_text(get_text(settings, "agent", "")));
        if (test)
            state_note(g->s, strbuf_text(&path),
                       "the test command of its merge queue, '%s', is not brought over: see "
                       "'checks' of tasks",
                       test);
    }
    const char *agent = get_text(about, "_agent", "");
    return *agent ? agent : g->agent;
}

static void take_context(struct gastown *g, const char *id, const json_t *bead) {
    json_auto_t *fields = json_loads(get_text(bead, "description", ""), 0, NULL);
    const char *work = get_text(fields, "work_bead_id", "");
    bool open = !member_is(bead, "status", "closed");
    const json_t *tracks = json_array_get(json_object_get(bead, "dependencies"), 0);
    if (open && !fields)
        state_damaged(g->s, id, "its description is not complete JSON; it tracks '%s'",
                      get_text(tracks, "depends_on_id", "?"));
    else if (open && !json_object_get(g->beads, work))
        state_damaged(g->s, id, "its bead '%s' does not exist", work);
    else if (fields && (open || !json_object_get(g->contexts, work))) {
        if (!open)
            json_object_set_new(fields, "_closed",
                                json_text(get_text(bead, "close_reason", "closed")));
        json_object_set(g->contexts, work, fields);
    }
}

/* NULL unless scheduled. */
static const json_t *open_context(const struct gastown *g, const char *id) {
    const json_t *context = json_object_get(g->contexts, id);
    return json_object_get(context, "_closed") ? NULL : context;
}

static const char *project_of(const struct gastown *g, const char *id) {
    const char *target = get_text(open_context(g, id), "target_rig", NULL);
    size_t size = strcspn(id, "-");
    if (target && *target)
        return target;
    EACH_MEMBER(name, rig, g->rigs) {
        const char *prefix = get_text(json_object_get(rig, "beads"), "prefix", "");
        if (strlen(prefix) == size && strncmp(prefix, id, size) == 0)
            return name;
    }
    const char *given = cmd_value(g->s->im.call, "project");
    return strncmp(id, "hq-", 3) == 0 ? TOWN : given ? given : "default";
}

static const char *last_part(const char *id) {
    const char *colon = strrchr(id, ':');
    return colon ? colon + 1 : id;
}

/* NULL if it is work. */
static const char *why_skipped(const json_t *bead) {
    static const char *const no_work[][2] = {
        { "message", "it is a message" }, { "agent", "it is an agent" },
        { "gate", "it is a gate" },       { "merge-request", "it is a merge request" },
        { "event", "it is an event" },    { "molecule", "it is a molecule" },
        { "role", "it is a role" },       { "rig", "it is a rig" },
    };
    const char *status = get_text(bead, "status", "");
    for (size_t i = 0; i < ARRAY_SIZE(no_work); i++)
        if (strcmp(no_work[i][0], type_of(bead)) == 0)
            return no_work[i][1];
    if (strcmp(status, "pinned") == 0)
        return "it is pinned: a note, not work";
    return strcmp(status, "tombstone") == 0 ? "it was deleted" : NULL;
}

static void set_state(struct gastown *g, json_t *item, const json_t *bead) {
    const char *status = get_text(bead, "status", "open"), *who = get_text(bead, "assignee", "");
    const json_t *context = json_object_get(g->contexts, state_id(item));
    bool at_work = word_in(status, "hooked in_progress");
    bool is_open = word_in(status, "open blocked");
    state_set(g->s, item, open_context(g, state_id(item)) ? "waiting" : "draft");
    if (strcmp(status, "closed") == 0)
        state_set(g->s, item, "done");
    else if (at_work && strstr(who, "/polecats/"))
        state_set(g->s, item, "running");
    else if (!is_open || member_is(context, "_closed", "circuit-broken"))
        state_set(g->s, item, "waiting"); /* held afterwards */
    if (is_open && member_is(context, "_closed", "circuit-broken"))
        state_hold(g->s, item, "its dispatch failed %lld times: %s",
                   (long long)get_int(context, "dispatch_failures", 0),
                   get_text(context, "last_failure", ""));
    else if (at_work && !strstr(who, "/polecats/"))
        state_hold(g->s, item, "'%s' works on it", who);
    else if (strcmp(status, "deferred") == 0)
        state_hold(g->s, item, "it is deferred until %s", get_text(bead, "defer_until", "later"));
    else if (!is_open && !at_work && strcmp(status, "closed") != 0)
        state_hold(g->s, item, "'%s' is not a status that is known", status);
}

/* Fields of the context; those without an equivalent here are stored and reported. */
static void take_fields(struct gastown *g, json_t *item) {
    static const char *const kept[] = { "formula",      "vars",     "merge",
                                        "base_branch",  "account",  "mode",
                                        "convoy",       "no_merge", "dispatch_failures",
                                        "last_failure", "owned",    "hook_raw_bead",
                                        "review_only" };
    _cleanup_(strbuf_finish) struct strbuf names = STRBUF_INIT;
    const json_t *context = open_context(g, state_id(item));
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        json_t *value = json_object_get(context, kept[i]);
        if (!value || json_is_null(value))
            continue;
        state_put_meta(item, kept[i], json_incref(value));
        strbuf_printf(&names, "%s%s", names.length > 0 ? ", " : "", kept[i]);
    }
    if (names.length > 0)
        state_note(g->s, state_id(item), "kept as meta.import, without effect: %s",
                   strbuf_text(&names));
    time_ms queued = state_time(get_text(context, "enqueued_at", NULL));
    if (queued > 0) { /* determines the order, not the bead's creation time */
        state_set_created(g->s, item, queued);
        state_set_rank(item, (double)queued);
    }
}

static void set_links(struct gastown *g, json_t *item, const json_t *bead) {
    EACH_ITEM(link, json_object_get(bead, "dependencies")) {
        const char *on = last_part(get_text(link, "depends_on_id", ""));
        const char *type = get_text(link, "type", "");
        if (strcmp(get_text(link, "issue_id", state_id(item)), state_id(item)) != 0 || !*on)
            continue;
        if (strcmp(type, "blocks") == 0)
            state_add_need(item, project_of(g, on), on);
        else if (strcmp(type, "parent-child") == 0)
            state_set_parent(item, project_of(g, on), on, false);
        else if (strcmp(type, "conditional-blocks") == 0 || strcmp(type, "waits-for") == 0)
            state_hold(g->s, item, "'%s' on '%s' has no counterpart here", type, on);
    }
}

/* An epic runs nothing: a no-op command ends it when its children are done. */
static void set_epic(struct gastown *g, json_t *item) {
    size_t children = 0;
    EACH_MEMBER(id, bead, g->beads) {
        EACH_ITEM(link, json_object_get(bead, "dependencies")) {
            bool is_child =
                member_is(link, "type", "parent-child")
                && strcmp(last_part(get_text(link, "depends_on_id", "")), state_id(item)) == 0;
            if (!is_child || !state_find(g->s, project_of(g, id), id))
                continue;
            state_add_need(item, project_of(g, id), id);
            children++;
        }
    }
    json_object_del(state_task(item), "prompt");
    json_object_del(state_task(item), "agent");
    state_put(item, "argv", json_pack("[s]", "true"));
    if (state_is(item, "draft") && children > 0)
        state_set(g->s, item, "waiting");
}

static void take_bead(struct gastown *g, const char *id, const json_t *bead) {
    static const char work[] = "bug feature task epic chore decision spike story milestone";
    const char *why = why_skipped(bead), *project = project_of(g, id);
    if (why) {
        state_skip(g->s, id, "%s", why);
        return;
    }
    if (strcmp(type_of(bead), "convoy") == 0) {
        state_note(g->s, id,
                   "the convoy '%s' is not a task; its tasks name it as meta.import.convoy",
                   get_text(bead, "title", ""));
        return;
    }
    json_t *item = state_item(g->s, project, id, NULL);
    const json_t *context = open_context(g, id);
    const char *agent = get_text(context, "agent", rig_agent(g, project));
    state_note_unknown(g->s, bead, members);
    state_set_title(item, get_text(bead, "title", id));
    _cleanup_(strbuf_finish) struct strbuf prompt = STRBUF_INIT;
    const char *args = get_text(context, "args", "");
    import_bead_prompt(bead, &prompt);
    strbuf_printf(&prompt, "%s%s", *args ? "\n\n" : "", args);
    state_put(item, "prompt", json_text(strbuf_text(&prompt)));
    set_state(g, item, bead);
    state_set_created(g->s, item, state_time(get_text(bead, "created_at", NULL)));
    state_put(item, "priority", import_bead_priority(get_real(bead, "priority", 2)));
    state_put_text(item, "agent", agent);
    state_put_meta(item, "type", json_text(type_of(bead)));
    state_put_meta(item, "created_at", json_text(get_text(bead, "created_at", "")));
    state_put_meta_members(item, bead, "labels external_ref");
    take_fields(g, item);
    if (!word_in(type_of(bead), work))
        state_hold(g->s, item, "'%s' is not a type that is known", type_of(bead));
    if (context && json_object_size(g->rigs) > 0 && !json_object_get(g->rigs, project))
        state_hold(g->s, item, "there is no rig '%s'", project);
    if (strcmp(project, TOWN) == 0)
        json_object_set_new(state_project(g->s, TOWN), "coordination", json_true());
}

static void take_all(struct gastown *g) {
    EACH_MEMBER(id, bead, g->beads) {
        if (has_label(bead, "gt:sling-context"))
            take_context(g, id, bead);
    }
    EACH_MEMBER(id, bead, g->beads) {
        if (!has_label(bead, "gt:sling-context"))
            take_bead(g, id, bead);
    }
    EACH_MEMBER(id, bead, g->beads) {
        json_t *item = state_find(g->s, project_of(g, id), id);
        const json_t *links = json_object_get(bead, "dependencies");
        EACH_ITEM(link, strcmp(type_of(bead), "convoy") == 0 ? links : NULL) {
            const char *tracked = last_part(get_text(link, "depends_on_id", ""));
            json_t *member = state_find(g->s, project_of(g, tracked), tracked);
            if (member)
                state_put_meta(member, "convoy", json_text(id));
        }
        if (item)
            set_links(g, item, bead);
        if (item && strcmp(type_of(bead), "epic") == 0)
            set_epic(g, item);
    }
}

static int gastown_run(const struct cmd_call *call) {
    _cleanup_(state_finish) struct state s = { 0 };
    int code = state_open(&s, call, false);
    if (code != CMD_OK)
        return code;
    struct gastown g = { .s = &s,
                         .files = state_own(&s, json_object()),
                         .beads = state_own(&s, json_object()),
                         .contexts = state_own(&s, json_object()) };
    g.rigs = json_object_get(state_own(&s, state_json(&s, "mayor/rigs.json")), "rigs");
    read_export(&g, "");
    read_export(&g, ".beads");
    EACH_MEMBER(name, rig, g.rigs) {
        take_rig(&g, name, rig);
    }
    read_routes(&g);
    read_settings(&g);
    take_all(&g);
    if (json_object_size(g.beads) == 0)
        state_note(&s, call->args[0],
                   "there are no beads; write the exports with 'bd export --all'");
    return state_send(&s);
}

const struct cmd import_gastown = { "import gastown", gastown_run, 1, 1, state_options };
