/* trouble.c: why accounts and agents are closed; see agents.h. */
#include "engine/agents.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/agents/agents_internal.h"
#include "engine/note.h"

#define NOTE "trouble."

static const char *const kinds[] = { [TROUBLE_ACCOUNT] = "account", [TROUBLE_AGENT] = "agent" };

struct trouble {
    char *key; /* "account:anthropic" */
    char *agent, *message, *fix;
};

struct troubles {
    LIST(struct trouble) all;
};

PART_STATE(trouble, struct troubles, troubles_of)

static struct trouble *find_trouble(const struct engine *e, const char *key) {
    for (size_t i = 0; i < troubles_of(e)->all.count; i++)
        if (strcmp(troubles_of(e)->all.items[i].key, key) == 0)
            return &troubles_of(e)->all.items[i];
    return NULL;
}

static char *key_of(enum trouble_kind kind, const char *name) {
    return xasprintf("%s:%s", kinds[kind], name);
}

static void set_text(char **field, const char *text) {
    char *copy = xstrdup(text ? text : "");
    free(*field);
    *field = copy;
}

static void set_trouble(struct engine *e, const char *key, const struct engine_trouble *trouble) {
    struct trouble *t = find_trouble(e, key);
    if (!t) {
        t = LIST_ADD(&troubles_of(e)->all);
        *t = (struct trouble){ .key = xstrdup(key) };
    }
    set_text(&t->agent, trouble->agent);
    set_text(&t->message, trouble->message);
    set_text(&t->fix, trouble->fix);
}

static void trouble_free(struct engine *e) {
    for (size_t i = 0; i < troubles_of(e)->all.count; i++) {
        struct trouble *t = &troubles_of(e)->all.items[i];
        free(t->key);
        free(t->agent);
        free(t->message);
        free(t->fix);
    }
    free(troubles_of(e)->all.items);
    *troubles_of(e) = (struct troubles){ 0 };
}

static void trouble_load(struct engine *e, const struct note_row *row) {
    const char *key = note_key(row, NOTE);
    if (!key)
        return;
    json_t *note = json_loads(row->text, 0, NULL);
    struct engine_trouble text = {
        .agent = json_string_value(json_object_get(note, "agent")),
        .message = json_string_value(json_object_get(note, "message")),
        .fix = json_string_value(json_object_get(note, "fix")),
    };
    set_trouble(e, key, &text);
    json_decref(note);
}

static void store_trouble(struct engine *e, enum trouble_kind kind, const char *name,
                          const struct engine_trouble *trouble) {
    _cleanup_(freep) char *key = key_of(kind, name);
    set_trouble(e, key, trouble);
    json_t *json = json_pack("{s:s, s:s, s:s}", "agent", trouble->agent, "message",
                             trouble->message, "fix", trouble->fix);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    if (!text)
        return;
    note_put(e, NOTE, key, text);
    turn_wrote(e);
    free(text);
}

/* --- the end of a run ------------------------------------------------------------------------ */

static void account_closes(struct engine *e, const struct live_run *run,
                           const struct agent_outcome *reported) {
    _cleanup_(strbuf_finish) struct strbuf fix = STRBUF_INIT;
    struct task_spec spec = { 0 };
    if (!core_task_spec(e->core, run->task, &spec) || !spec.run_limiter)
        return;
    const struct agent_adapter *adapter = listen_adapter(e, run->agent);
    if (reported->result == AGENT_BILLING)
        strbuf_puts(&fix, "pay the bill or add credit at the provider");
    else if (!adapter || !agent_print_login(adapter, run->agent, &fix))
        strbuf_puts(&fix, "log in again, or set the right key");
    store_trouble(e, TROUBLE_ACCOUNT, name_of(e, spec.run_limiter),
                  &(struct engine_trouble){ .agent = run->agent,
                                            .message = reported->message,
                                            .fix = strbuf_text(&fix) });
}

static void launch_failed(struct engine *e, const struct live_run *run, const struct run_end *end) {
    char quick[80] = "";
    if (!end->message[0])
        snprintf(quick, sizeof(quick), "it ended at once without output, with %s %d",
                 end->signal ? "signal" : "exit code", end->signal ? end->signal : end->code);
    store_trouble(e, TROUBLE_AGENT, run->agent,
                  &(struct engine_trouble){ .agent = run->agent,
                                            .message = end->message[0] ? end->message : quick,
                                            .fix = "" });
}

void trouble_ended(struct engine *e, const struct live_run *run, const struct run_end *end,
                   const struct agent_outcome *reported, const struct fact *ended) {
    if (!run->agent)
        return;
    bool refused =
        reported && (reported->result == AGENT_AUTH || reported->result == AGENT_BILLING);
    if (ended->ended.outcome == OUTCOME_CLOSED && refused)
        account_closes(e, run, reported);
    else if (ended->ended.outcome == OUTCOME_LAUNCH && !ended->ended.before_agent)
        launch_failed(e, run, end);
}

/* --- queries --------------------------------------------------------------------------------- */

bool engine_trouble(const struct engine *e, enum trouble_kind kind, const char *name,
                    struct engine_trouble *ret) {
    _cleanup_(freep) char *key = key_of(kind, name);
    const struct trouble *t = find_trouble(e, key);
    if (!t || (kind == TROUBLE_ACCOUNT && limits_waited_out(e, name)))
        return false;
    *ret = (struct engine_trouble){ .agent = t->agent, .message = t->message, .fix = t->fix };
    return true;
}

void engine_put_trouble(const struct engine *e, enum trouble_kind kind, const char *name,
                        struct strbuf *out) {
    struct engine_trouble t;
    if (!engine_trouble(e, kind, name, &t))
        return;
    if (*t.message && kind == TROUBLE_ACCOUNT)
        strbuf_printf(out, "; %s said: \"%s\"", t.agent, t.message);
    else if (*t.message)
        strbuf_printf(out, ": %s", t.message);
    if (*t.fix)
        strbuf_printf(out, "; %s", t.fix);
}

const struct engine_part trouble_part = {
    .state_size = sizeof(struct troubles),
    .at = { [STEP_UNLOAD] = trouble_free, [STEP_FREE] = trouble_free },
    .load_note = trouble_load,
};
