/* sandbox_trial.c: runs one guarded command in a sandbox and waits for it. Only while the daemon
 * starts, when blocking is harmless. */
#include "executor/sandbox_trial.h"

#include <errno.h>
#include <string.h>

#include "executor/aside.h"
#include "os/loop.h"

#define WORDS_MAX 4096 /* bytes of output that are kept */

struct trial {
    struct loop *loop;
    bool passed;
    struct error err;
};

/* Folds the output into one line. */
static void take_words(struct trial *t, const char *words) {
    char text[200];
    size_t used = 0;
    for (; *words && used + 1 < sizeof(text); words++) {
        if (*words == '\n' && words[1] == '\0')
            break;
        text[used++] = *words == '\n' ? ' ' : *words >= ' ' && *words <= '~' ? *words : '?';
    }
    text[used] = '\0';
    (void)error_set(&t->err, -EOPNOTSUPP, "%s",
                    used > 0 ? text : "its trial failed without a word");
}

/* The output of the sandbox program explains more than the failure itself. */
static void ended(void *ctx, const struct helper_end *end) {
    struct trial *t = ctx;
    t->passed = end->code == 0;
    if (end->timed_out)
        (void)error_set(&t->err, -ETIMEDOUT, "its trial took too long");
    else if (!t->passed)
        take_words(t, end->size > 0 ? end->output : end->why);
    loop_stop(t->loop);
}

static void over(void *ctx, pid_t guard, enum guard_over how) {
    (void)ctx;
    (void)guard;
    (void)how; /* it has no cgroup */
}

int sandbox_trial(const char *shim_path, const struct run_spec *spec, struct error *err) {
    const struct helper_guard guard = {
        .shim = shim_path, .spec = spec, .cgroup = -1, .daemon = -1, .over = over
    };
    const struct helper_spec command = { .argv = spec->command.argv,
                                         .cwd = spec->cwd,
                                         .env = spec->env,
                                         .timeout = spec->command.timeout,
                                         .output_max = WORDS_MAX,
                                         .guard = &guard };
    struct trial t = { 0 };
    struct aside *aside = NULL;
    int r = loop_new(&t.loop, err);
    if (r == 0)
        r = helper_start(t.loop, &command, ended, &t, &aside, err);
    if (r == 0)
        r = loop_run(t.loop, err);
    t.loop = loop_free(t.loop);
    if (r == 0 && !t.passed)
        r = error_set(err, t.err.code, "%s", t.err.text);
    return r;
}
