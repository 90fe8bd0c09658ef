/* feedback.c: writes what was wrong with an iteration for the next one.
 *
 * Made from what is on disk: the recorded end, the spec and the logs of the run. It is written
 * before the commit that begins the next iteration; after a crash in between, the same end is
 * applied and the same text written again. If it cannot be written, the work continues without.
 *
 * Logs can be endless and agents read this text, so only tails are kept: 8 kB of the last
 * iteration, 500 characters of each of the five before it. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/redaction.h"
#include "engine/runs/runs_internal.h"
#include "os/log.h"
#include "os/outside.h"

#define TAIL_MAX      8192u
#define HISTORY_SHOWN 5u
#define HISTORY_MAX   500u
#define FEEDBACK_MAX  (64u * 1024u)

/* --- texts ----------------------------------------------------------------------------------- */

/* Where its last `max` bytes begin, never inside a character. */
static const char *tail_of(const char *text, size_t size, size_t max) {
    const char *at = size > max ? text + (size - max) : text;
    while (at > text && ((unsigned char)*at & 0xC0) == 0x80)
        at++;
    return at;
}

/* Drops control characters. */
static void add_clean(struct strbuf *out, const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f))
            strbuf_putc(out, (char)c);
    }
}

/* The end of a log, as a block. */
static void add_log(const struct engine *e, const struct live_run *run, const char *log,
                    struct strbuf *out) {
    _cleanup_(freep) char *space = xmalloc(REDACT_FILE_SPACE(TAIL_MAX));
    const char *text;
    _cleanup_(freep) char *path = xasprintf("%s/%s/%s", e->runs_folder, run->view.folder, log);
    off_t size = 0;
    _cleanup_(fd_closep) int fd = outside_open(AT_FDCWD, path, O_RDONLY, &size, NULL);
    if (fd < 0 || size == 0)
        return;
    off_t from = size > (off_t)TAIL_MAX ? size - (off_t)TAIL_MAX : 0;
    const struct redact_range range = { from, TAIL_MAX, false };
    ssize_t got = engine_read_log(e, fd, &range, space, &text);
    if (got <= 0)
        return;
    strbuf_printf(out, "\nThe end of %s:\n\n```\n", log);
    const char *at = tail_of(text, (size_t)got, TAIL_MAX - 4);
    add_clean(out, at, (size_t)(text + got - at));
    if (out->text[out->length - 1] != '\n')
        strbuf_putc(out, '\n');
    strbuf_puts(out, "```\n");
}

/* --- what was wrong -------------------------------------------------------------------------- */

/* A shell command line as it was written, else the words. */
static void add_command(struct strbuf *out, const char *const *argv) {
    if (strcmp(argv[0], "sh") == 0 && argv[1] && strcmp(argv[1], "-c") == 0 && argv[2]
        && !argv[3]) {
        strbuf_puts(out, argv[2]);
        return;
    }
    for (size_t i = 0; argv[i]; i++)
        strbuf_printf(out, "%s%s", i ? " " : "", argv[i]);
}

/* The check's command, from the spec of its shim; else its number. */
static void add_check_name(const struct engine *e, const struct live_run *run, int check,
                           struct strbuf *out) {
    _cleanup_(run_spec_read_free) struct run_spec_read *read = NULL;
    if (run_read_spec(e, run, &read, NULL) < 0 || check < 0
        || (size_t)check >= read->spec.check_count) {
        strbuf_printf(out, "number %d", check + 1);
        return;
    }
    strbuf_putc(out, '\'');
    add_command(out, read->spec.checks[check].argv);
    strbuf_putc(out, '\'');
}

static void add_how(struct strbuf *out, const struct run_end *end, const char *message) {
    strbuf_puts(out, " failed");
    if (end->code > 0)
        strbuf_printf(out, " with exit code %d", end->code);
    if (*message)
        strbuf_printf(out, ": %s", message);
    else if (end->signal)
        strbuf_printf(out, ": signal %d ended it", end->signal);
    strbuf_puts(out, ".\n");
}

static void add_conflict(const struct engine *e, const char *text, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf shown = STRBUF_INIT;
    if (engine_redact(e, text, strlen(text), &shown)) /* subjects of commits */
        text = strbuf_text(&shown);
    add_clean(out, text, strlen(text));
}

static void add_problem(const struct engine *e, const struct live_run *run,
                        const struct feedback *feedback, struct strbuf *out) {
    const struct run_end *end = feedback->end;
    const char *of_check = feedback->of_check;
    strbuf_printf(out, "# Feedback on iteration %" PRIu32 "\n\n", run->iteration);
    if (feedback->outcome == OUTCOME_CONFLICT && feedback->conflict) {
        add_conflict(e, feedback->conflict, out);
        return;
    }
    if (end->kind == RUN_END_CHECK) {
        strbuf_puts(out, "The check ");
        add_check_name(e, run, end->check, out);
        add_how(out, end, of_check);
        if (end->message[0] && strcmp(end->message, of_check) != 0)
            strbuf_printf(out, "Before the check, the run had reported: %s\n", end->message);
        add_log(e, run, "check.log", out);
        return;
    }
    strbuf_puts(out, "The run");
    add_how(out, end, end->message);
    if (end->kind == RUN_END_EXIT && end->code == 0)
        return; /* the message says it all */
    add_log(e, run, "out.log", out);
    add_log(e, run, "err.log", out);
}

/* --- history --------------------------------------------------------------------------------- */

static void add_earlier(const struct engine *e, const char *id, uint32_t iteration,
                        struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    _cleanup_(freep) char *path = iteration_path(e, id, iteration, ITERATION_FEEDBACK);
    if (outside_read(AT_FDCWD, path, 0, FEEDBACK_MAX, &text, NULL) < 0 || text.length == 0)
        return;
    const char *end = strstr(strbuf_text(&text), FEEDBACK_HISTORY);
    size_t size = end ? (size_t)(end - text.text) : text.length;
    while (size > 0 && text.text[size - 1] == '\n')
        size--;
    const char *at = tail_of(text.text, size, HISTORY_MAX);
    strbuf_printf(out, "\n### About iteration %" PRIu32 "\n\n", iteration - 1);
    strbuf_add(out, at, (size_t)(text.text + size - at));
    strbuf_putc(out, '\n');
}

/* The feedback of an iteration is about the one before it. */
static void add_history(const struct engine *e, const char *id, uint32_t iteration,
                        struct strbuf *out) {
    struct strbuf history = STRBUF_INIT;
    for (uint32_t i = 0; i < HISTORY_SHOWN && iteration > i + 1; i++)
        add_earlier(e, id, iteration - i, &history);
    if (history.length > 0)
        strbuf_printf(out, "%s%s", FEEDBACK_HISTORY, strbuf_text(&history));
    strbuf_finish(&history);
}

static void write_for(struct engine *e, const char *id, uint32_t iteration,
                      const struct strbuf *text) {
    struct error err = { 0 };
    _cleanup_(freep) char *path = iteration_path(e, id, iteration, ITERATION_FEEDBACK);
    int r = iteration_prepare(e, id, iteration, &err);
    if (r == 0)
        r = outside_write(path, 0600, strbuf_text(text), text->length, &err);
    if (r < 0)
        log_warning("the feedback for '%s' is lost: %s", id, err.text);
}

/* --- when ------------------------------------------------------------------------------------ */

/* The core has decided whether another iteration follows; an unfinished one gets no feedback. */
void feedback_write(struct engine *e, const struct live_run *run, const struct feedback *feedback) {
    struct task_view view;
    char id[ENGINE_ID_MAX];
    if (feedback->outcome == OUTCOME_OK || feedback->outcome == OUTCOME_UNFINISHED
        || !core_task(e->core, run->task, &view))
        return;
    bool follows = view.iteration == run->iteration + 1;
    if (!follows && !(feedback->outcome == OUTCOME_CONFLICT && feedback->conflict))
        return;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    engine_task_id(e, run->task, id);
    add_problem(e, run, feedback, &text);
    add_history(e, id, run->iteration, &text);
    write_for(e, id, view.iteration, &text);
}

void feedback_write_conflict(struct engine *e, task_id task, const char *conflict) {
    struct task_view view;
    char id[ENGINE_ID_MAX];
    if (!core_task(e->core, task, &view))
        return;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    engine_task_id(e, task, id);
    strbuf_printf(&text, "# Feedback on iteration %" PRIu32 "\n\n", view.iteration - 1);
    add_conflict(e, conflict, &text);
    add_history(e, id, view.iteration - 1, &text);
    write_for(e, id, view.iteration, &text);
}

void engine_give_feedback(struct engine *e, task_id task, const char *reason) {
    struct task_view view;
    char id[ENGINE_ID_MAX];
    if (!core_task(e->core, task, &view))
        return;
    engine_task_id(e, task, id);
    if (!reason) { /* perhaps of a request whose commit failed */
        _cleanup_(freep) char *path = iteration_path(e, id, view.iteration, ITERATION_FEEDBACK);
        (void)unlink(path);
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    strbuf_printf(&text,
                  "# Feedback on iteration %" PRIu32 "\n\nIt was rejected: ", view.iteration - 1);
    add_clean(&text, reason, strlen(reason));
    strbuf_putc(&text, '\n');
    add_history(e, id, view.iteration - 1, &text);
    write_for(e, id, view.iteration, &text);
}
