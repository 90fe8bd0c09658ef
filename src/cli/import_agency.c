/* import_agency.c: imports an Agency board and the state of its supervisor.
 *
 * A card's folder is its state. Cards are parsed line by line here, because one damaged value must
 * not drop a card: card/ is for boards that Sluice mirrors. */
#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "cli/import.h"
#include "cli/request.h"

#define RETRIES 5 /* after a failure, as in Agency */

struct agency {
    struct state *s;
    const char *project;
    json_t *queued;   /* "phase/…/card.md" in project/: entry */
    json_t *failures; /* the same: number */
    json_t *active;   /* the same: run */
    time_ms last;     /* when the last card was queued */
};

static const char keys[] = "owner agent_flow agent_status branch risk review parallelizable";

/* Cards move between columns: only the file name counts. */
static const char *file_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void read_supervisor(struct agency *a) {
    json_auto_t *state = state_json(a->s, "supervisor-state.json");
    EACH_ITEM(entry, json_object_get(state, "queuedCards")) {
        time_ms at = state_time(get_text(entry, "enqueuedAt", NULL));
        a->last = at > a->last ? at : a->last;
        json_object_set(a->queued, file_of(get_text(entry, "cardPath", "")), entry);
    }
    EACH_MEMBER(path, count, json_object_get(state, "failureCounts")) {
        json_object_set(a->failures, file_of(path), count);
    }
    /* A list, or an object by id. */
    json_t *runs = json_object_get(state, "activeRuns");
    EACH_ITEM(run, runs) {
        if (json_is_object(run))
            json_object_set(a->active, file_of(get_text(run, "cardPath", "")), run);
    }
    EACH_MEMBER(id, one, runs) {
        json_object_set(a->active, file_of(get_text(one, "cardPath", "")), one);
    }
    if (state_mode(a->s, "run-history.json"))
        state_note(a->s, "run-history.json", "the history of runs is not brought over");
}

static void note_missing_cards(struct agency *a) {
    EACH_MEMBER(file, entry, a->queued) {
        const char *path = get_text(entry, "cardPath", ""), *at = path;
        while ((at = strstr(at, "/project/"))) /* an absolute path of another host */
            path = at += strlen("/project/");
        if (!json_object_get(entry, "_used"))
            state_note(a->s, file,
                       "it is in the queue of the supervisor, but there is no such card: %s", path);
    }
}

static void read_config(struct agency *a) {
    json_auto_t *config = state_yaml(a->s, NULL, "project/config.yaml");
    const json_t *agents = json_object_get(config, "agents");
    state_setting(a->s, "limits.runs", json_object_get(agents, "maxConcurrent"));
    EACH_MEMBER(flow, most, json_object_get(agents, "perFlow")) {
        _cleanup_(freep) char *key = xasprintf("kinds.%s.max_running", flow);
        state_setting(a->s, key, most);
    }
}

/* The front matter, one "key: value" per line. Returns the body; NULL: not terminated. */
static const char *read_front(const char *text, json_t *front) {
    if (strncmp(text, "---\n", 4) != 0 && strncmp(text, "---\r\n", 5) != 0)
        return text;
    const char *line = strchr(text, '\n') + 1;
    while (*line) {
        size_t size = strcspn(line, "\n"), used = size;
        const char *next = line[size] ? line + size + 1 : line + size;
        while (used > 0 && isspace((unsigned char)line[used - 1]))
            used--;
        if (used == 3 && strncmp(line, "---", 3) == 0)
            return next;
        const char *colon = memchr(line, ':', used);
        if (colon) {
            _cleanup_(strbuf_finish) struct strbuf key = STRBUF_INIT, value = STRBUF_INIT;
            strbuf_add(&key, line, (size_t)(colon - line));
            for (colon++; colon < line + used && *colon == ' ';)
                colon++;
            strbuf_add(&value, colon, (size_t)(line + used - colon));
            if (value.length > 0 && strcmp(strbuf_text(&value), "null") != 0)
                json_object_set_new(front, strbuf_text(&key), json_text(strbuf_text(&value)));
            else if (!json_object_get(front, strbuf_text(&key)))
                json_object_set_new(front, strbuf_text(&key), json_null());
        }
        line = next;
    }
    return NULL;
}

/* The oldest date under History, at 00:00 UTC; 0: none. */
static time_ms created_in(const char *body) {
    const char *at = strstr(body, "\nHistory:");
    time_ms oldest = 0;
    for (; at && (at = strstr(at, "\n- ")); at++) {
        char day[11] = "";
        (void)snprintf(day, sizeof(day), "%.10s", at + 3);
        time_ms when = strlen(day) == 10 ? state_time(day) : 0;
        if (when > 0 && (oldest == 0 || when < oldest))
            oldest = when;
    }
    return oldest;
}

static void set_state(struct agency *a, json_t *item, const json_t *front, const char *column,
                      const json_t *entry) {
    static const char *const pairs[][2] = { { "idle", "draft" },
                                            { "queued", "waiting" },
                                            { "running", "running" },
                                            { "failed", "failed" },
                                            { "succeeded", "done" },
                                            { "canceled", "canceled" },
                                            { NULL } };
    const char *status = get_text(front, "agent_status", "idle");
    const char *flow = get_text(front, "agent_flow", "");
    bool is_done = strcmp(column, "done") == 0;
    if (is_done)
        state_set(a->s, item, "done");
    else if (!state_set_from(a->s, item, status, pairs))
        state_hold(a->s, item, "'%s' is not a status", status);
    else if (state_is(item, "failed") && entry)
        state_set(a->s, item, "waiting");
    else if (state_is(item, "done"))
        state_note(a->s, state_id(item), "done: its agent has succeeded, but the card is in %s",
                   column);
    else if (state_is(item, "failed"))
        state_note(a->s, state_id(item), "failed: %lld failures",
                   (long long)get_int(item, "failures", 0));
    if (!is_done && strcmp(flow, "plan") == 0)
        state_hold(a->s, item, "the scheduler does not run the flow 'plan'");
}

static void set_order(struct agency *a, json_t *item, const json_t *entry, const char *body) {
    time_ms created = created_in(body), queued = state_time(get_text(entry, "enqueuedAt", NULL));
    state_set_created(a->s, item, created);
    if (created > 0)
        state_put_meta(item, "created_at", json_integer(created));
    if (!state_is(item, "waiting"))
        return;
    if (queued > 0) { /* determines the order */
        state_set_created(a->s, item, queued);
        state_set_rank(item, (double)queued);
    } else if (a->last > 0) { /* after those, in the order of their codes, in which they are read */
        state_set_created(a->s, item, ++a->last);
        state_set_rank(item, (double)a->last);
    }
}

struct card_path {
    const char *path, *phase, *column;
};

static void fill(struct agency *a, json_t *item, const struct card_path *at, const json_t *front,
                 const char *body) {
    const char *file = file_of(at->path), *flow = get_text(front, "agent_flow", "");
    json_t *entry = json_object_get(a->queued, file);
    const json_t *run = json_object_get(a->active, file);
    int64_t failures = get_int(a->failures, file, 0);
    if (entry)
        json_object_set_new(entry, "_used", json_true());
    json_object_set_new(item, "failures", json_integer(failures));
    state_note_unknown(a->s, front, keys);
    body += strspn(body, " \t\r\n");
    state_put(item, "prompt", json_text(body));
    const char *heading = strncmp(body, "# ", 2) == 0 ? body : strstr(body, "\n# ");
    if (heading)
        state_set_title(item, heading + (*heading == '\n' ? 3 : 2));
    set_state(a, item, front, at->column, entry);
    set_order(a, item, entry, body);
    /* a card that is not scheduled has no kind here */
    if (word_in(flow, "implement review research"))
        state_put(item, "kind", json_string(flow));
    else if (*flow && strcmp(flow, "plan") != 0)
        state_hold(a->s, item, "'%s' is not a flow", flow);
    state_put(item, "serial", json_text(at->phase));
    state_put(item, "parallelizable", json_boolean(member_is(front, "parallelizable", "true")));
    state_put(item, "retries", json_integer(failures < RETRIES ? RETRIES - failures : 0));
    state_put_meta(item, "failures", json_integer(failures));
    state_put_meta_members(item, front, "owner risk review branch");
    state_put_meta(item, "card", json_text(at->path));
    const char *pipeline = get_text(entry, "pipeline", get_text(run, "pipeline", "implement-only"));
    if (strcmp(pipeline, "implement-only") == 0)
        return;
    state_put_meta(item, "pipeline", json_text(pipeline));
    state_note(a->s, state_id(item), "the other steps of its pipeline '%s' are not brought over",
               pipeline);
}

static void take_card(struct agency *a, const char *phase, const char *column, const char *name) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, id = STRBUF_INIT;
    struct error err = { 0 };
    size_t length = strlen(name);
    if (length < 4 || strcmp(name + length - 3, ".md") != 0)
        return;
    _cleanup_(freep) char *path = xasprintf("project/%s/%s/%s", phase, column, name);
    strbuf_add(&id, name, length - 3);
    if (!isdigit((unsigned char)name[0])) {
        state_skip(a->s, path, "its name does not begin with a code");
        return;
    }
    json_auto_t *front = json_object();
    const char *body = NULL, *why = NULL;
    if (state_read(a->s, &text, &err, "%s", path) < 0)
        why = err.text;
    else if (!(body = read_front(strbuf_text(&text), front)))
        why = "its front matter has no end";
    else if (body[strspn(body, " \t\r\n")] == '\0')
        why = "it is empty: there is nothing to do";
    if (why) {
        state_damaged(a->s, path, "%s", why);
        return;
    }
    bool is_new = false;
    json_t *item = state_item(a->s, a->project, strbuf_text(&id), &is_new);
    if (is_new) {
        fill(a, item, &(struct card_path){ path, phase, column }, front, body);
        return;
    }
    if (state_is(item, "draft")) /* the other file may say that it is queued */
        state_set(a->s, item, "waiting");
    state_hold(a->s, item, "the card is in two folders; the other file is '%s'", path);
}

static bool is_phase(const char *name) {
    if (strncmp(name, "phase-", 6) != 0 || !isdigit((unsigned char)name[6]))
        return false;
    for (const char *at = name; *at; at++)
        if (isupper((unsigned char)*at))
            return false;
    return true;
}

static void take_phase(struct agency *a, const char *phase) {
    static const char *const columns[] = { "in-progress", "backlog", "done" };
    for (size_t c = 0; c < ARRAY_SIZE(columns); c++) {
        _cleanup_(freep) char *path = xasprintf("project/%s/%s", phase, columns[c]);
        json_auto_t *names = state_list(a->s, "%s", path);
        if (!S_ISDIR(state_mode(a->s, "%s", path)))
            state_note(a->s, path, "there is no such directory");
        EACH_ITEM(name, names) {
            take_card(a, phase, columns[c], json_string_value(name));
        }
    }
}

static int take_all(struct agency *a) {
    json_auto_t *names = state_list(a->s, "project");
    size_t phases = 0;
    EACH_ITEM(name, names) {
        const char *phase = json_string_value(name);
        if (is_phase(phase)) {
            take_phase(a, phase);
            phases++;
        } else if (strncasecmp(phase, "phase-", 6) == 0) {
            state_damaged(a->s, phase, "a phase must be called phase-N-label, in lower case");
        }
    }
    return phases > 0 ? CMD_OK : state_usage_error(a->s, "no project/phase-*");
}

static int agency_run(const struct cmd_call *call) {
    _cleanup_(state_finish) struct state s = { 0 };
    int code = state_open(&s, call, false);
    if (code != CMD_OK)
        return code;
    const char *given = cmd_value(call, "project");
    struct agency a = { .s = &s,
                        .project = given ? given : strrchr(s.root, '/') + 1,
                        .queued = state_own(&s, json_object()),
                        .failures = state_own(&s, json_object()),
                        .active = state_own(&s, json_object()) };
    json_object_set_new(state_project(&s, a.project), "path", json_text(s.root));
    read_config(&a);
    read_supervisor(&a);
    code = take_all(&a);
    note_missing_cards(&a);
    return code == CMD_OK ? state_send(&s) : code;
}

const struct cmd import_agency = { "import agency", agency_run, 1, 1, state_options };
