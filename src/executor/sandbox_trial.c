/* sandbox_trial.c: one command in a sandbox, waited for. At the start of the daemon alone: nothing else waits yet. */
#include "executor/sandbox_trial.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "executor/aside.h"
#include "os/files.h"
#include "os/loop.h"

#define WORDS_MAX 4096       /* bytes that are kept of what it says */
#define MARGIN    SECONDS(2) /* for the shim, which ends the command itself */

struct trial {
    struct loop *loop;
    bool passed;
    struct error err;
};

/* On one line. */
static void take_words(struct trial *t, const struct aside_end *end) {
    char text[200];
    size_t used = 0;
    for (size_t i = 0; i < end->size && used + 1 < sizeof(text); i++) {
        char c = end->output[i];
        if (c == '\n' && i + 1 == end->size)
            break;
        text[used++] = c == '\n' ? ' ' : c >= ' ' && c <= '~' ? c : '?';
    }
    text[used] = '\0';
    (void)error_set(&t->err, -EOPNOTSUPP, "%s",
                    used > 0 ? text : "its trial failed without a word");
}

static void ended(void *ctx, const struct aside_end *end) {
    struct trial *t = ctx;
    t->passed = end->code == 0;
    if (end->error)
        (void)error_set(&t->err, -end->error, "the shim cannot be run: %s", strerror(end->error));
    else if (end->timed_out)
        (void)error_set(&t->err, -ETIMEDOUT, "its trial took too long");
    else if (!t->passed)
        take_words(t, end);
    loop_stop(t->loop);
}

int sandbox_trial(const char *shim_path, const char *file, const struct run_spec *spec,
                  struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    const char *const argv[] = { shim_path, "--trial", file, NULL };
    const char *const env[] = { NULL };
    struct aside_spec command = {
        .argv = argv, .env = env, .timeout = spec->command.timeout + MARGIN, .output_max = WORDS_MAX
    };
    struct trial t = { 0 };
    struct aside *aside = NULL;
    run_spec_format(spec, &text);
    int r = file_write(file, strbuf_text(&text), text.length, err);
    if (r < 0)
        return r;
    r = loop_new(&t.loop, err);
    if (r == 0)
        r = aside_start(t.loop, &command, ended, &t, &aside, err);
    if (r == 0)
        r = loop_run(t.loop, err);
    t.loop = loop_free(t.loop);
    (void)unlink(file);
    if (r == 0 && !t.passed)
        r = error_set(err, t.err.code, "%s", t.err.text);
    return r;
}
