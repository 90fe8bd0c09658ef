/* chooser.c: what the agent that chooses is given. See best_of.h.
 *
 * The prompt of the chooser was submitted with it. The candidates and their diffs are added when it
 * is released, as the context of a slung task is, so they are stored with the release. */
#include "engine/best_of/best_of_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/money.h"
#include "engine/allowance.h"
#include "engine/redaction.h"
#include "engine/worktrees.h"

#define DIFFS_MAX 60000u /* bytes of all; some agents take their prompt as one argument */

void chooser_drop_diffs(struct best_of *b) {
    for (size_t i = 0; i < BEST_OF_MAX; i++) {
        free(b->diffs[i]);
        b->diffs[i] = NULL;
    }
    b->diffed = 0;
}

/* --- diffs ----------------------------------------------------------------------------------- */

struct diffing {
    struct engine *e;
    task_id task;
    size_t index; /* of the candidate */
};

static void diff_made(void *ctx, const struct diff *diff, const struct error *err) {
    struct diffing *d = ctx;
    struct engine *e = d->e;
    struct best_of *b = e->ending ? NULL : best_of_find(e, d->task);
    (void)err;
    if (b && b->is_diffing) {
        b->is_diffing = false;
        b->diffed = d->index + 1;
        if (diff && diff->patch)
            b->diffs[d->index] = xstrndup(diff->patch, diff->patch_size);
        best_of_touch(e, b);
        turn_wake(e);
    }
    free(d);
}

/* False: all are made. One after the other; one that cannot be made is left out. */
static bool make_diffs(struct engine *e, struct best_of *b) {
    if (b->is_diffing)
        return true;
    for (; b->diffed < b->view.count; b->diffed++) {
        struct diff_question question = { .task = b->view.candidates[b->diffed],
                                          .context = DIFF_CONTEXT };
        if (state_of(e, question.task) != TASK_DONE)
            continue;
        struct diffing *d = xcalloc(1, sizeof(*d));
        *d = (struct diffing){ e, b->view.task, b->diffed };
        b->is_diffing = true;
        if (engine_diff(e, &question, diff_made, d, NULL) == 0)
            return true;
        b->is_diffing = false;
        free(d);
    }
    return false;
}

/* --- the prompt ------------------------------------------------------------------------------ */

static void put_candidate(const struct engine *e, const struct best_of *b, size_t i, size_t most,
                          struct strbuf *out) {
    task_id candidate = b->view.candidates[i];
    struct delivery_changes changes;
    struct engine_budget budget;
    struct task_view view;
    if (!core_task(e->core, candidate, &view) || view.state != TASK_DONE)
        return;
    engine_budget(e, candidate, &budget);
    strbuf_puts(out, "Candidate ");
    best_of_put_id(e, candidate, out);
    if (view.agent)
        strbuf_printf(out, ", by %s", name_of(e, view.agent));
    strbuf_puts(out, ", branch sluice/");
    best_of_put_id(e, candidate, out);
    if (engine_changes(e, candidate, &changes))
        strbuf_printf(out, ", %" PRId64 " files, +%" PRId64 " -%" PRId64, (int64_t)changes.files,
                      (int64_t)changes.insertions, (int64_t)changes.deletions);
    if (budget.used.tokens > 0)
        strbuf_printf(out, ", %" PRId64 " tokens", budget.used.tokens);
    strbuf_puts(out, ":\n\n");
    const char *diff = b->diffs[i] ? b->diffs[i] : "(its diff is not there: look at its branch)\n";
    size_t size = strlen(diff);
    strbuf_add(out, diff, size < most ? size : most);
    if (size > most)
        strbuf_puts(out, "\n(the rest of this diff is left out: look at its branch)\n");
    strbuf_puts(out, "\n");
}

static void put_prompt(const struct engine *e, const struct best_of *b, struct strbuf *out) {
    strbuf_puts(out, "These are the candidates; the checks of each have passed.\n\n");
    for (size_t i = 0; i < b->view.count; i++)
        put_candidate(e, b, i, DIFFS_MAX / b->view.count, out);
}

/* Only while it is held for this: it is released once. */
void chooser_begin(struct engine *e, struct best_of *b) {
    if (make_diffs(e, b))
        return;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT, shown = STRBUF_INIT;
    put_prompt(e, b, &text);
    if (!engine_redact(e, text.text, text.length, &shown))
        strbuf_add(&shown, text.text, text.length);
    struct event_data data;
    struct json_writer *w = event_begin(&data);
    json_put_string(w, "args", strbuf_text(&shown));
    json_write_object_end(w);
    engine_put_context(e, b->view.chooser, strbuf_text(&data.text));
    strbuf_finish(&data.text);
    chooser_drop_diffs(b);
    (void)engine_apply(e, &(struct fact){ .kind = FACT_RELEASE, .task = b->view.chooser }, NULL);
}
