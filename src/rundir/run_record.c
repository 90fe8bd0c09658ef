/* run_record.c: formats the records of a shim, `started` and `end`; formats and parses specs.
 *
 * Without heap, except for run_spec_format, which only the daemon calls. The end is JSON, because
 * users and other programs read it too. It is one line, so that it can be sent through the pipe to
 * the daemon if no disk accepts it. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "rundir/record.h"
#include "rundir/rundir.h"

static const char *const kind_names[] = {
    [RUN_END_EXIT] = "exit",       [RUN_END_SIGNAL] = "signal", [RUN_END_TIMEOUT] = "timeout",
    [RUN_END_STOPPED] = "stopped", [RUN_END_OUTPUT] = "output", [RUN_END_CHECK] = "check",
    [RUN_END_LAUNCH] = "launch",   [RUN_END_LOST] = "lost",
};
_Static_assert(ARRAY_SIZE(kind_names) == RUN_END_KIND_MAX, "an end has no name");

const char *run_end_kind_name(enum run_end_kind kind) {
    return kind_names[kind];
}

static const char *const cause_names[] = {
    [LAUNCH_PROGRAM] = "program", [LAUNCH_TASK] = "task",       [LAUNCH_WORKSPACE] = "workspace",
    [LAUNCH_CWD] = "cwd",         [LAUNCH_PREPARE] = "prepare", [LAUNCH_PROJECT] = "project",
    [LAUNCH_SANDBOX] = "sandbox", [LAUNCH_HOST] = "host",
};
_Static_assert(ARRAY_SIZE(cause_names) == LAUNCH_CAUSE_MAX, "a cause has no name");

const char *launch_cause_name(enum launch_cause cause) {
    return cause_names[cause];
}

enum launch_cause launch_cause_find(const char *name) {
    for (int cause = 0; name && cause < LAUNCH_CAUSE_MAX; cause++)
        if (strcmp(cause_names[cause], name) == 0)
            return (enum launch_cause)cause;
    return LAUNCH_CAUSE_MAX;
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written through the struct
size_t run_started_format(const struct run_started *started, const struct tag_key *key, char *out,
                          size_t size) {
    struct record_out text = { .text = out, .size = size };
    record_add_number(&text, "version", started->version);
    record_add(&text, "boot_id", started->boot_id);
    record_add_number(&text, "shim", started->shim);
    record_add_number(&text, "command", started->command);
    record_add_number(&text, "exec_errno", started->exec_errno);
    record_add_number(&text, "at", started->at);
    record_add_number(&text, "validating", started->validating);
    if (key) {
        char tag[SHA256_HEX_SIZE];
        tag_print(key, TAG_STARTED, text.text, text.length, tag);
        record_add(&text, TAG_NAME, tag);
    }
    return text.length;
}

static void put_name(struct record_out *text, const char *name) {
    record_puts(text, ",\"");
    record_puts(text, name);
    record_puts(text, "\":");
}

static void put_number(struct record_out *text, const char *name, int64_t number) {
    put_name(text, name);
    record_put_number(text, number);
}

static void put_text(struct record_out *text, const char *name, const char *value) {
    put_name(text, name);
    record_put_json(text, value);
}

static void put_flag(struct record_out *text, const char *name, bool flag) {
    put_name(text, name);
    record_puts(text, flag ? "true" : "false");
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written through the struct
size_t run_end_format(const struct run_end *end, const struct tag_key *key, char *out,
                      size_t size) {
    struct record_out text = { .text = out, .size = size };
    record_puts(&text, "{\"version\":");
    record_put_number(&text, RUNDIR_VERSION);
    put_text(&text, "kind", run_end_kind_name(end->kind));
    put_number(&text, "code", end->code);
    put_number(&text, "signal", end->signal);
    put_number(&text, "exec_errno", end->exec_errno);
    if (end->kind == RUN_END_LAUNCH)
        put_text(&text, "cause", launch_cause_name(end->cause));
    put_number(&text, "check", end->check);
    put_flag(&text, "idle", end->idle);
    put_flag(&text, "core_dumped", end->core_dumped);
    put_flag(&text, "durable", end->durable);
    put_number(&text, "started_at", end->started_at);
    put_number(&text, "ended_at", end->ended_at);
    put_number(&text, "cpu_ms", end->cpu_ms);
    put_number(&text, "memory_kb", end->memory_kb);
    put_number(&text, "out_bytes", (int64_t)end->out_bytes);
    put_number(&text, "err_bytes", (int64_t)end->err_bytes);
    put_number(&text, "leftover", end->leftover);
    put_text(&text, "applied", end->applied);
    put_text(&text, "message", end->message);
    if (key) {
        char tag[SHA256_HEX_SIZE];
        tag_print(key, TAG_END, text.text, text.length, tag);
        put_text(&text, TAG_NAME, tag);
    }
    record_puts(&text, "}\n");
    return text.length;
}

/* --- who began a run -------------------------------------------------------------------------- */

/* Which process owns a run: the shim that began it, or the daemon that gave it up?
 *
 * If a lock cannot be examined (the shim is on another host), both create the same symlink.
 * Creating it is atomic and fails if the name exists, on network file systems too. Its target names
 * the creator. */

#define BEGIN_NAME "begin"

int rundir_begin_at(int dir, const char *who) {
    char there[RUN_BEGIN_MAX];
    if (symlinkat(who, dir, BEGIN_NAME) == 0)
        return 0;
    if (errno != EEXIST)
        return -errno;
    /* A server that gets the request twice, because its answer was lost, refuses the second one. */
    int r = rundir_read_begin_at(dir, there);
    if (r < 0)
        return r;
    return strcmp(there, who) == 0 ? 0 : -EEXIST;
}

int rundir_read_begin_at(int dir, char ret_who[RUN_BEGIN_MAX]) {
    char text[RUN_BEGIN_MAX];
    ssize_t size = readlinkat(dir, BEGIN_NAME, text, sizeof(text) - 1);
    if (size < 0)
        return errno == EINVAL ? -EPROTO : -errno;
    text[size] = '\0';
    memcpy(ret_who, text, (size_t)size + 1);
    return 0;
}

/* --- specs ------------------------------------------------------------------------------------ */

/* The daemon that wrote a spec may have another version: unknown names are skipped. An unsupported
 * version, a truncated file (no record `done` at its end) and an invalid number are refused: a run
 * must never start from a partly understood spec. */

struct parser {
    struct run_spec *spec;
    struct run_spec_words *words;
    size_t args, envs, check_words, wraps, wrap_envs, prepare_words;
    int64_t version;
    const char *text; /* complete text */
    const struct tag_key *key;
    bool tagged, done;
};

/* Plain numbers: name, target, bounds. Not written if 0, which keeps files short, and older readers
 * see only names that are used. */
struct number_field {
    const char *name;
    size_t offset;
    size_t size;
    int64_t min, max;
};

#define SPEC_FIELD(name, member, min, max)                                                         \
    { name, offsetof(struct run_spec, member), sizeof(((struct run_spec *)0)->member), min, max }
/* clang-format off */
static const struct number_field number_fields[] = {
    SPEC_FIELD("timeout", command.timeout, 0, INT64_MAX),
    SPEC_FIELD("idle_timeout", idle_timeout, 0, INT64_MAX),
    SPEC_FIELD("prepare_timeout", prepare.timeout, 0, INT64_MAX),
    SPEC_FIELD("grace", grace, 0, INT64_MAX),
    SPEC_FIELD("stop_signal", stop_signal, 1, 64),
    SPEC_FIELD("log_head", log_head, 0, INT64_MAX / 4),
    SPEC_FIELD("log_tail", log_tail, 0, INT64_MAX / 4),
    SPEC_FIELD("memory_max", memory_max, 0, INT64_MAX),
    SPEC_FIELD("processes_max", processes_max, 0, INT64_MAX),
    SPEC_FIELD("nice", nice, -20, 19),
    SPEC_FIELD("open_files", open_files, 0, INT64_MAX),
    SPEC_FIELD("oom_score_adj", oom_score_adj, -1000, 1000),
};
static const struct { const char *name; size_t offset; } text_fields[] = {
    { "run", offsetof(struct run_spec, run) },
    { "cwd", offsetof(struct run_spec, cwd) },
    { "stdin", offsetof(struct run_spec, stdin_path) },
    { "terminal", offsetof(struct run_spec, terminal) },
    { "prepare_cwd", offsetof(struct run_spec, prepare_cwd) },
    { "cgroup", offsetof(struct run_spec, cgroup) },
    { "boot_id", offsetof(struct run_spec, boot_id) },
    { "enter", offsetof(struct run_spec, enter) },
    { "sandbox", offsetof(struct run_spec, sandbox) },
    { "sandbox_root", offsetof(struct run_spec, sandbox_root) },
};
/* clang-format on */

static int bad_value(const char *name, const char *value, struct error *err) {
    return error_set(err, -EPROTO, "record '%.40s' of the spec has the value '%.80s'", name, value);
}

static int bad_tag(struct error *err) {
    return error_set(err, -EPROTO, "the spec is damaged");
}

static int too_many(const char *what, unsigned most, struct error *err) {
    return error_set(err, -E2BIG, "more than %u %s", most, what);
}

/* 1: handled */
static int take_number(struct parser *p, const char *name, const char *value, struct error *err) {
    for (size_t i = 0; i < ARRAY_SIZE(number_fields); i++) {
        const struct number_field *field = &number_fields[i];
        if (strcmp(name, field->name) != 0)
            continue;
        int64_t number;
        if (!record_number(value, field->min, field->max, &number))
            return bad_value(name, value, err);
        char *target = (char *)p->spec + field->offset;
        int small = (int)number;
        if (field->size == sizeof(small))
            memcpy(target, &small, sizeof(small));
        else
            memcpy(target, &number, sizeof(number));
        return 1;
    }
    return 0;
}

static int take_text(struct parser *p, const char *name, const char *value) {
    for (size_t i = 0; i < ARRAY_SIZE(text_fields); i++) {
        if (strcmp(name, text_fields[i].name) != 0)
            continue;
        memcpy((char *)p->spec + text_fields[i].offset, &value, sizeof(value));
        return 1;
    }
    return 0;
}

/* "check" with its timeout begins a check, "check_arg" adds a word to the last one. */
static int take_check(struct parser *p, const char *name, const char *value, struct error *err) {
    struct run_spec_words *words = p->words;
    if (strcmp(name, "check") == 0) {
        int64_t timeout;
        if (!record_number(value, 0, INT64_MAX, &timeout))
            return bad_value(name, value, err);
        if (p->spec->check_count == RUN_CHECKS_MAX)
            return too_many("checks", RUN_CHECKS_MAX, err);
        if (p->spec->check_count > 0)
            words->check_argv[p->check_words++] = NULL;
        words->checks[p->spec->check_count++] = (struct run_command){
            .argv = &words->check_argv[p->check_words],
            .timeout = timeout,
        };
        return 1;
    }
    if (strcmp(name, "check_arg") != 0)
        return 0;
    if (p->spec->check_count == 0)
        return bad_value(name, value, err);
    /* Reserves room for the NULL after each check. */
    if (p->check_words - (p->spec->check_count - 1) == RUN_ARGS_MAX)
        return too_many("words in the checks", RUN_ARGS_MAX, err);
    words->check_argv[p->check_words++] = value;
    return 1;
}

static int take_word(struct parser *p, const char *name, const char *value, struct error *err) {
    struct run_spec_words *words = p->words;
    const struct {
        const char *name, **words;
        size_t *count;
        unsigned most;
        const char *what;
    } lists[] = {
        { "arg", words->argv, &p->args, RUN_ARGS_MAX, "words in the command" },
        { "env", words->env, &p->envs, RUN_ENV_MAX, "variables in the environment" },
        { "wrap", words->wrap, &p->wraps, RUN_WRAP_MAX, "words in the sandbox" },
        { "wrap_env", words->wrap_env, &p->wrap_envs, RUN_ENV_MAX, "variables of the sandbox" },
        { "prepare_arg", words->prepare_argv, &p->prepare_words, RUN_ARGS_MAX,
          "words in the prepare command" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        if (strcmp(name, lists[i].name) != 0)
            continue;
        if (*lists[i].count == lists[i].most)
            return too_many(lists[i].what, lists[i].most, err);
        lists[i].words[(*lists[i].count)++] = value;
        return 1;
    }
    return take_check(p, name, value, err);
}

/* With a key, only the end may follow the tag: anything else is forged. */
static int take_tag(struct parser *p, const char *name, const char *value, struct error *err) {
    bool is_tag = strcmp(name, TAG_NAME) == 0;
    if (!p->tagged && !is_tag)
        return 0;
    if (p->tagged || !tag_is_right(p->key, TAG_SPEC, p->text, (size_t)(name - p->text), value))
        return bad_tag(err);
    p->tagged = true;
    return 1;
}

static int take_record(struct parser *p, const char *name, const char *value, struct error *err) {
    int r = 0;
    if (p->version == 0) { /* the first record */
        if (strcmp(name, "version") != 0
            || !record_number(value, RUNDIR_OLDEST, RUNDIR_VERSION, &p->version))
            return error_set(err, -EPROTO,
                             "the spec has version '%.20s'; this shim reads versions %d to %d",
                             value, RUNDIR_OLDEST, RUNDIR_VERSION);
        return 0;
    }
    if (strcmp(name, "done") == 0) {
        p->done = true;
        return 0;
    }
    if (p->key)
        r = take_tag(p, name, value, err);
    if (r != 0)
        return r < 0 ? r : 0;
    if (strcmp(name, "prompt") == 0) { /* its size; the text is in a separate file */
        int64_t size;
        if (!record_number(value, 0, INT64_MAX, &size))
            return bad_value(name, value, err);
        p->spec->prompt = "";
        p->spec->prompt_size = (size_t)size;
        return 0;
    }
    if (strcmp(name, "secrets") == 0) {
        p->spec->secret_names = value;
        return 0;
    }
    r = take_word(p, name, value, err);
    if (r == 0)
        r = take_number(p, name, value, err);
    if (r == 0)
        r = take_text(p, name, value);
    return r < 0 ? r : 0;
}

static int check_complete(const struct parser *p, struct error *err) {
    const struct run_spec *spec = p->spec;
    if (!p->done)
        return error_set(err, -EPROTO, "the spec is truncated");
    if (p->key && !p->tagged)
        return bad_tag(err);
    if (p->args == 0 || !spec->run || !spec->cwd)
        return error_set(err, -EPROTO, "the spec has no %s",
                         p->args == 0 ? "command" : (!spec->run ? "run" : "cwd"));
    if (spec->enter && p->wraps == 0)
        return error_set(err, -EPROTO, "the spec enters a sandbox but has no command line for it");
    for (size_t i = 0; i < spec->check_count; i++)
        if (!spec->checks[i].argv[0])
            return error_set(err, -EPROTO, "check %zu of the spec has no command", i);
    return 0;
}

int run_spec_parse(const char *text, size_t size, const struct tag_key *key,
                   struct run_spec_words *words, struct run_spec *ret, struct error *err) {
    struct run_spec spec = { .stop_signal = SIGTERM };
    struct parser p = { .spec = &spec, .words = words, .text = text, .key = key };
    struct record_in in = { .at = text, .end = text + size };
    const char *name, *value;
    while (!p.done && record_next(&in, &name, &value)) {
        int r = take_record(&p, name, value, err);
        if (r < 0)
            return r;
    }
    words->argv[p.args] = NULL;
    words->env[p.envs] = NULL;
    words->check_argv[p.check_words] = NULL;
    words->wrap[p.wraps] = NULL;
    words->wrap_env[p.wrap_envs] = NULL;
    words->prepare_argv[p.prepare_words] = NULL;
    spec.command.argv = words->argv;
    spec.env = words->env;
    spec.checks = words->checks;
    spec.wrap = p.wraps > 0 ? words->wrap : NULL;
    spec.wrap_env = words->wrap_env;
    spec.prepare.argv = p.prepare_words > 0 ? words->prepare_argv : NULL;
    int r = check_complete(&p, err);
    if (r < 0)
        return r;
    *ret = spec;
    return 0;
}

static void add(struct strbuf *out, const char *name, const char *value) {
    strbuf_add(out, name, strlen(name) + 1);
    strbuf_add(out, value, strlen(value) + 1);
}

static void add_number(struct strbuf *out, const char *name, int64_t number) {
    strbuf_add(out, name, strlen(name) + 1);
    strbuf_printf(out, "%" PRId64, number);
    strbuf_putc(out, '\0');
}

static void add_fields(struct strbuf *out, const struct run_spec *spec) {
    for (size_t i = 0; i < ARRAY_SIZE(text_fields); i++) {
        const char *value;
        memcpy(&value, (const char *)spec + text_fields[i].offset, sizeof(value));
        if (value)
            add(out, text_fields[i].name, value);
    }
    for (size_t i = 0; i < ARRAY_SIZE(number_fields); i++) {
        const char *at = (const char *)spec + number_fields[i].offset;
        int small;
        int64_t number;
        memcpy(&small, at, sizeof(small));
        if (number_fields[i].size == sizeof(small))
            number = small;
        else
            memcpy(&number, at, sizeof(number));
        if (number != 0)
            add_number(out, number_fields[i].name, number);
    }
}

static void add_words(struct strbuf *out, const char *name, const char *const *words) {
    for (; words && *words; words++)
        add(out, name, *words);
}

/* The names of the variables only. */
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

void run_spec_format(const struct run_spec *spec, struct strbuf *out) {
    size_t begin = out->length;
    add_number(out, "version", RUNDIR_VERSION);
    add_fields(out, spec);
    add_words(out, "arg", spec->command.argv);
    add_words(out, "env", spec->env);
    add_names(out, "secrets", spec->secrets);
    if (spec->prompt)
        add_number(out, "prompt", (int64_t)spec->prompt_size);
    add_words(out, "prepare_arg", spec->prepare.argv);
    for (size_t i = 0; i < spec->check_count; i++) {
        add_number(out, "check", spec->checks[i].timeout);
        add_words(out, "check_arg", spec->checks[i].argv);
    }
    add_words(out, "wrap", spec->wrap);
    add_words(out, "wrap_env", spec->wrap_env);
    if (spec->key) { /* covers everything before it; only the end of the spec follows */
        char tag[SHA256_HEX_SIZE];
        tag_print(spec->key, TAG_SPEC, out->text + begin, out->length - begin, tag);
        add(out, TAG_NAME, tag);
    }
    add(out, "done", "");
}

/* --- tags ------------------------------------------------------------------------------------- */

static const char *const tag_kind_names[] = {
    [TAG_SPEC] = "spec",
    [TAG_STARTED] = "started",
    [TAG_END] = "end",
};
_Static_assert(ARRAY_SIZE(tag_kind_names) == TAG_KIND_MAX, "a kind of record has no name");

static void make_tag(const struct tag_key *key, enum tag_kind kind, const void *bytes, size_t size,
                     uint8_t ret[SHA256_SIZE]) {
    struct hmac_sha256 hmac;
    hmac_sha256_init(&hmac, key->bytes, sizeof(key->bytes));
    hmac_sha256_add(&hmac, tag_kind_names[kind], strlen(tag_kind_names[kind]) + 1);
    hmac_sha256_add(&hmac, bytes, size);
    hmac_sha256_end(&hmac, ret);
}

void tag_print(const struct tag_key *key, enum tag_kind kind, const void *bytes, size_t size,
               char ret_tag[SHA256_HEX_SIZE]) {
    uint8_t digest[SHA256_SIZE];
    make_tag(key, kind, bytes, size, digest);
    sha256_hex(digest, ret_tag);
}

bool tag_is_right(const struct tag_key *key, enum tag_kind kind, const void *bytes, size_t size,
                  const char *tag) {
    uint8_t digest[SHA256_SIZE], expected[SHA256_SIZE];
    if (!sha256_from_hex(tag, expected))
        return false;
    make_tag(key, kind, bytes, size, digest);
    return sha256_same(digest, expected);
}
