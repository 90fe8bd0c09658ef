/* candidates.c: the candidates of a task as submissions. See candidates.h. */
#include "ops/candidates.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "engine/best_of.h"

#define CHOOSER_PROMPT                                                                             \
    "Several agents have done the same task, each on a branch of its own. Their changes are at "   \
    "the end of this message. Compare them, and pick the best one, with one line that says why: "  \
    "run\n\nsluice pick \"$SLUICE_TASK\" CANDIDATE --reason TEXT\n\nor use the tool "              \
    "pick_candidate. Do not change any files: changes made here are not used. Then end your "      \
    "turn.\n\nThe task was:\n\n"

static bool is_best_of(const struct submission *s) {
    return s->best_of != SUBMISSION_NOT_GIVEN;
}

static bool has_chooser(const struct submission *s) {
    return s->chooser && strcmp(s->chooser, BEST_OF_PERSON) != 0;
}

int candidates_check(const struct submission *s, struct error *err) {
    if (!is_best_of(s))
        return s->agents || s->chooser
                   ? error_set(err, -EINVAL, "'%s' can only be used with 'best_of'",
                               s->agents ? "agents" : "chooser")
                   : 0;
    const struct {
        bool is_given;
        const char *member, *why;
    } others[] = {
        { s->argv && s->agents, "agents", "a command does not use agents: leave it out" },
        { s->argv && has_chooser(s), "chooser",
          "a command has no prompt to compare results with: "
          "a person picks" },
        { s->spawn, "spawn", "only one candidate is picked, but all of them would write it" },
        { s->state, "state", "its candidates have not run yet" },
        { s->workspace, "workspace", "each candidate has a worktree of its own" },
        { s->merge && strcmp(s->merge, "mr") == 0, "merge",
          "only direct (merge the pick), local and none (leave it on its branch) are possible" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        if (others[i].is_given)
            return error_set(err, -EINVAL, "'%s' cannot be used with 'best_of': %s",
                             others[i].member, others[i].why);
    return 0;
}

size_t candidates_count(const struct submission *s) {
    return is_best_of(s) ? (size_t)s->best_of + has_chooser(s) : 0;
}

static void set_text(json_t *object, const char *member, const char *text) {
    json_object_set_new(object, member, json_string(text));
}

/* "port the parser (2 of 3)"; the task has no title of its own yet. */
static void set_title(const struct submission *s, json_t *task, const char *which) {
    const char *text = s->title    ? s->title
                       : s->prompt ? s->prompt + strspn(s->prompt, " \t\r\n")
                                   : json_string_value(json_array_get(s->argv, 0));
    struct strbuf title = STRBUF_INIT;
    size_t size = strcspn(text, "\r\n"), fits = 0, step;
    while (fits < size && fits < 60
           && (step = utf8_length(text + fits, strnlen(text + fits, 4))) > 0
           && !utf8_is_control(text + fits, step))
        fits += step;
    strbuf_printf(&title, "%.*s%s (%s)", (int)fits, text, fits < size ? "…" : "", which);
    set_text(task, "title", strbuf_text(&title));
    strbuf_finish(&title);
}

static json_t *make_chooser(const struct submission *s) {
    static const char *const kept[] = { "project",   "cwd",   "priority",  "base_branch",
                                        "sandbox",   "wrap",  "inside",    "executor",
                                        "slurm",     "draft", "on_budget", "run_usd",
                                        "run_tokens" };
    json_t *task = json_object();
    struct strbuf prompt = STRBUF_INIT;
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        if (json_object_get(s->json, kept[i]))
            json_object_set(task, kept[i], json_object_get(s->json, kept[i]));
    strbuf_printf(&prompt, CHOOSER_PROMPT "%s\n", s->prompt);
    set_text(task, "prompt", strbuf_text(&prompt));
    set_text(task, "agent", s->chooser);
    set_text(task, "merge", "none");
    json_object_set_new(task, "hold", json_true());
    set_title(s, task, "chooser");
    strbuf_finish(&prompt);
    return task;
}

json_t *candidates_make(const struct submission *s, size_t i) {
    static const char *const dropped[] = {
        "best_of", "agents", "chooser", "name",   "external_id",
        "review",  "tokens", "usd",     "parent", "parent_gate"
    };
    char which[32];
    if (i >= (size_t)s->best_of)
        return make_chooser(s);
    json_t *task = json_copy(s->json);
    for (size_t k = 0; k < ARRAY_SIZE(dropped); k++)
        json_object_del(task, dropped[k]);
    if (json_array_size(s->agents) > 0)
        json_object_set(task, "agent", json_array_get(s->agents, i % json_array_size(s->agents)));
    set_text(task, "merge", "local"); /* committed on its branch */
    (void)snprintf(which, sizeof(which), "%zu of %zu", i + 1, (size_t)s->best_of);
    set_title(s, task, which);
    return task;
}

void candidates_hold_parent(struct submission *s) {
    struct task_spec *spec = &s->spec;
    if (!is_best_of(s))
        return;
    s->gate = NULL;
    s->artifact = NULL;
    s->not_before = s->hold = SUBMISSION_NOT_GIVEN;
    s->until = "exit";
    if (spec->state == TASK_DRAFT)
        return;
    spec->state = TASK_HELD;
    spec->hold = HOLD_CANDIDATES;
    spec->reason = REASON_CANDIDATES;
    spec->not_before = 0;
}

void candidates_added(const struct batch *batch) {
    const struct submission *at = batch->entries + batch->requested;
    for (size_t i = 0; i < batch->requested; i++) {
        const struct submission *s = &batch->entries[i];
        struct engine_best_of added = { .task = s->spec.id,
                                        .review = s->review == 1,
                                        .merge = (char *)s->merge };
        size_t count = candidates_count(s);
        for (size_t k = 0; k < count; k++, at++) {
            if (k == (size_t)s->best_of)
                added.chooser = at->spec.id;
            else
                added.candidates[added.count++] = at->spec.id;
        }
        if (count > 0 && submission_is_new(s))
            engine_add_best_of(batch->engine, &added);
    }
}
