/* run_spec.c: writes what run_spec_parse reads. Only the daemon does, so it may use the heap. */
#include "rundir/rundir.h"

#include <inttypes.h>
#include <string.h>

static void add(struct strbuf *out, const char *name, const char *value) {
    strbuf_add(out, name, strlen(name) + 1);
    strbuf_add(out, value, strlen(value) + 1);
}

static void add_number(struct strbuf *out, const char *name, int64_t number) {
    strbuf_add(out, name, strlen(name) + 1);
    strbuf_printf(out, "%" PRId64, number);
    strbuf_putc(out, '\0');
}

/* What is 0 has its default: short files, and an older reader never stumbles over what it need not
 * know. */
static void add_unless_zero(struct strbuf *out, const char *name, int64_t number) {
    if (number != 0)
        add_number(out, name, number);
}

static void add_words(struct strbuf *out, const char *name, const char *const *words) {
    for (; words && *words; words++)
        add(out, name, *words);
}

static void add_names(struct strbuf *out, const char *name, const char *const *pairs) {
    if (!pairs || !*pairs)
        return;
    strbuf_add(out, name, strlen(name) + 1);
    for (const char *const *pair = pairs; *pair; pair++) {
        if (pair != pairs)
            strbuf_putc(out, ' ');
        strbuf_add(out, *pair, strcspn(*pair, "="));
    }
    strbuf_putc(out, '\0');
}

/* Of all that is before it. Behind it is the end of the spec. */
static void add_tag(struct strbuf *out, size_t begin, const struct tag_key *key) {
    char tag[SHA256_HEX_SIZE];
    tag_print(key, TAG_SPEC, out->text + begin, out->length - begin, tag);
    add(out, TAG_NAME, tag);
}

void run_spec_format(const struct run_spec *spec, struct strbuf *out) {
    size_t begin = out->length;
    add_number(out, "version", RUNDIR_VERSION);
    add(out, "run", spec->run);
    add(out, "cwd", spec->cwd);
    add_words(out, "arg", spec->command.argv);
    add_words(out, "env", spec->env);
    add_names(out, "secrets", spec->secrets);
    add_unless_zero(out, "timeout", spec->command.timeout);
    add_unless_zero(out, "idle_timeout", spec->idle_timeout);
    add_unless_zero(out, "grace", spec->grace);
    add_unless_zero(out, "stop_signal", spec->stop_signal);
    if (spec->prompt)
        add_number(out, "prompt", (int64_t)spec->prompt_size);
    if (spec->stdin_path)
        add(out, "stdin", spec->stdin_path);
    add_words(out, "prepare_arg", spec->prepare.argv);
    add_unless_zero(out, "prepare_timeout", spec->prepare.timeout);
    if (spec->prepare_cwd)
        add(out, "prepare_cwd", spec->prepare_cwd);
    for (size_t i = 0; i < spec->check_count; i++) {
        add_number(out, "check", spec->checks[i].timeout);
        add_words(out, "check_arg", spec->checks[i].argv);
    }
    add_unless_zero(out, "log_head", (int64_t)spec->log_head);
    add_unless_zero(out, "log_tail", (int64_t)spec->log_tail);
    if (spec->cgroup)
        add(out, "cgroup", spec->cgroup);
    add_unless_zero(out, "memory_max", spec->memory_max);
    add_unless_zero(out, "processes_max", spec->processes_max);
    add_unless_zero(out, "nice", spec->nice);
    add_unless_zero(out, "oom_score_adj", spec->oom_score_adj);
    add_unless_zero(out, "open_files", spec->open_files);
    if (spec->boot_id)
        add(out, "boot_id", spec->boot_id);
    add_words(out, "wrap", spec->wrap);
    add_words(out, "wrap_env", spec->wrap_env);
    if (spec->enter)
        add(out, "enter", spec->enter);
    if (spec->sandbox)
        add(out, "sandbox", spec->sandbox);
    if (spec->sandbox_root)
        add(out, "sandbox_root", spec->sandbox_root);
    if (spec->key)
        add_tag(out, begin, spec->key);
    add(out, "done", "");
}
