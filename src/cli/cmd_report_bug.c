/* cmd_report_bug.c: writes a support bundle that can be attached to a bug report.
 *
 * The bundle must not contain a secret, wherever one has been put: texts of tasks, the configuration
 * and the log are foreign. So nothing is searched for secrets. Instead only the words of Sluice's
 * own manual and of system errors are kept, and numbers; everything else becomes `~`. Known secret
 * values are removed first, in case they consist of such words. See docs/internals/decisions/0061. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/symbol_table.h"
#include "cli/daemon.h"
#include "cli/request.h"
#include "config/config.h"
#include "config/config_show.h"
#include "os/clock.h"
#include "os/files.h"
#include "os/home.h"

DEFINE_FREEP(struct config, config_free);

#define WORD_MAX    24u /* longer words are never words of the manual */
#define DIGITS_MAX  4u  /* of a number in a text; longer ones may be codes or keys */
#define ERRNO_MAX   134
#define VALUES_MAX  1024
#define VALUE_LEAST 4u
#define SECRETS_MAX ((size_t)1024 * 1024) /* of a file with secrets */
#define LOG_TAIL    (512L * 1024)
#define BLOCK       512u /* of a tar archive */
#define FILES_MAX   8u

struct bug_file {
    const char *name, *what;
    struct strbuf text;
};

struct bug {
    struct symbol_table words; /* that may be shown, in lower case */
    json_t *secrets;           /* texts */
    struct bug_file files[FILES_MAX];
    size_t file_count;
};

static void bug_finish(struct bug *bug) {
    symbol_table_finish(&bug->words);
    json_decref(bug->secrets);
    for (size_t i = 0; i < bug->file_count; i++)
        strbuf_finish(&bug->files[i].text);
}

static struct strbuf *add_file(struct bug *bug, const char *name, const char *what) {
    struct bug_file *file = &bug->files[bug->file_count++];
    *file = (struct bug_file){ .name = name, .what = what };
    return &file->text;
}

/* --- what may be shown ------------------------------------------------------------------------ */

/* Its length; 0: the text does not begin with a word. */
static size_t word_length(const char *text) {
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || (unsigned char)text[length] >= 0x80)
        length++;
    return length;
}

static void learn(struct bug *bug, const char *text) {
    while (*text) {
        size_t length = word_length(text);
        char word[WORD_MAX];
        for (size_t i = 0; i < length && length <= WORD_MAX; i++)
            word[i] = (char)tolower((unsigned char)text[i]);
        if (length > 0 && length <= WORD_MAX)
            (void)symbol_intern(&bug->words, word, length);
        text += length > 0 ? length : 1;
    }
}

static void learn_all(struct bug *bug) {
    for (const char *const *text = cmd_texts; *text; text++) {
        const char *part = *text;
        for (int i = CMD_PART_WORDS; i <= CMD_PART_SEE; i++) {
            if (i != CMD_PART_EXAMPLES) /* they have made-up names */
                learn(bug, part);
            part += strlen(part) + 1;
        }
    }
    for (int i = 1; i < ERRNO_MAX; i++)
        learn(bug, strerror(i));
    _cleanup_(strbuf_finish) struct strbuf keys = STRBUF_INIT;
    config_keys(false, &keys);
    learn(bug, strbuf_text(&keys));
    learn(bug, "sqlite postgresql attempt outcome seq host pid level warning error info debug");
}

static bool is_number(const char *word, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!isdigit((unsigned char)word[i]))
            return false;
    return length <= DIGITS_MAX;
}

static bool may_show(const struct bug *bug, const char *word, size_t length) {
    char lower[WORD_MAX];
    if (length > WORD_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        lower[i] = (char)tolower((unsigned char)word[i]);
    return is_number(word, length) || symbol_find(&bug->words, lower, length) != 0;
}

static size_t secret_at(const struct bug *bug, const char *text) {
    size_t longest = 0;
    EACH_ITEM(secret, bug->secrets) {
        size_t length = json_string_length(secret);
        if (length > longest && strncmp(text, json_string_value(secret), length) == 0)
            longest = length;
    }
    return longest;
}

/* The text with `~` for everything that may not be shown. */
static void put_safe(const struct bug *bug, const char *text, struct strbuf *out) {
    while (*text) {
        size_t secret = secret_at(bug, text), length = word_length(text);
        if (secret > 0) {
            strbuf_puts(out, "~");
            text += secret;
        } else if (length == 0) {
            strbuf_putc(out, *text++);
        } else {
            if (may_show(bug, text, length))
                strbuf_add(out, text, length);
            else
                strbuf_puts(out, "~");
            text += length;
        }
    }
}

/* A copy with safe texts and keys. Numbers are those of Sluice. */
static json_t *safe_json(const struct bug *bug, const json_t *value) {
    if (json_is_string(value)) {
        _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
        put_safe(bug, json_string_value(value), &text);
        return json_text(strbuf_text(&text));
    }
    if (!json_is_array(value) && !json_is_object(value))
        return json_copy((json_t *)(uintptr_t)value);
    json_t *copy = json_is_array(value) ? json_array() : json_object();
    EACH_ITEM(item, json_is_array(value) ? value : NULL) {
        json_array_append_new(copy, safe_json(bug, item));
    }
    EACH_MEMBER(key, member, json_is_object(value) ? value : NULL) {
        _cleanup_(strbuf_finish) struct strbuf name = STRBUF_INIT;
        put_safe(bug, key, &name);
        json_object_set_new(copy, strbuf_text(&name), safe_json(bug, member));
    }
    return copy;
}

static void put_json(const struct bug *bug, const json_t *value, struct strbuf *out) {
    json_auto_t *copy = safe_json(bug, value);
    char *text = json_dumps(copy, JSON_INDENT(1) | JSON_ENCODE_ANY);
    strbuf_printf(out, "%s\n", text ? text : "null");
    free(text);
}

/* --- known secrets ---------------------------------------------------------------------------- */

static void add_secret(struct bug *bug, const char *value, size_t length) {
    if (length >= VALUE_LEAST && json_array_size(bug->secrets) < VALUES_MAX)
        json_array_append_new(bug->secrets, json_stringn(value, length));
}

/* The values of NAME=VALUE. */
static void add_pairs(struct bug *bug, const char *const *pairs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *value = strchr(pairs[i], '=');
        if (value)
            add_secret(bug, value + 1, strlen(value + 1));
    }
}

/* A file of NAME=VALUE lines, or one secret. */
static void add_secret_file(struct bug *bug, const char *path) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (!path || !*path || file_read(path, SECRETS_MAX, &text, NULL) < 0)
        return;
    for (const char *line = strbuf_text(&text); *line;) {
        size_t length = strcspn(line, "\n"), name = strcspn(line, "=\n");
        if (name < length)
            add_secret(bug, line + name + 1, length - name - 1);
        else
            add_secret(bug, line, length);
        line += length + (line[length] == '\n');
    }
}

static void add_secrets(struct bug *bug, const struct config *config) {
    static const char *const marks[] = { "KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH" };
    for (char **variable = environ; *variable; variable++) {
        const char *equals = strchr(*variable, '=');
        for (size_t i = 0; equals && i < ARRAY_SIZE(marks); i++) {
            const char *mark = strstr(*variable, marks[i]);
            if (mark && mark < equals)
                add_secret(bug, equals + 1, strlen(equals + 1));
        }
    }
    for (size_t i = 0; i < config_agent_count(config); i++) {
        const char *const *pairs = NULL;
        const char *agent = config_agent_name(config, i);
        add_pairs(bug, pairs, config_words(config, "agents.A.env", agent, &pairs));
        add_secret_file(bug, config_text(config, "agents.A.env_file", agent));
    }
    add_secret_file(bug, config_text(config, "daemon.token_file", NULL));
    add_secret_file(bug, config_text(config, "notify.secret_file", NULL));
}

/* --- the files -------------------------------------------------------------------------------- */

static void put_program(struct strbuf *out, const char *name) {
    const char *const argv[] = { name, "--version", NULL };
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    struct program_job job = { .argv = argv, .drop_errors = true };
    strbuf_printf(out, "%-12s ", name);
    if (daemon_find_in_path(name, &path) < 0) {
        strbuf_puts(out, "not installed\n");
        return;
    }
    job.path = strbuf_text(&path);
    program_run_all(&job, 1, SECONDS(10));
    size_t length = strcspn(strbuf_text(&job.out), "\n");
    strbuf_printf(out, "%.*s\n", (int)(length < 80 ? length : 80), strbuf_text(&job.out));
    strbuf_finish(&job.out);
}

static void put_machine(struct strbuf *out, const struct home *home) {
    struct utsname system;
    struct sysinfo memory;
    struct statfs disk;
    _cleanup_(strbuf_finish) struct strbuf release = STRBUF_INIT;
    strbuf_printf(out, "%-12s %s\n", "sluice", SLUICE_VERSION);
    if (uname(&system) == 0)
        strbuf_printf(out, "%-12s %s %s %s\n", "kernel", system.sysname, system.release,
                      system.machine);
    if (file_read("/etc/os-release", BLOCK * 16, &release, NULL) == 0) {
        const char *name = strstr(strbuf_text(&release), "PRETTY_NAME=");
        if (name)
            strbuf_printf(out, "%-12s %.*s\n", "system", (int)strcspn(name + 12, "\n"), name + 12);
    }
    strbuf_printf(out, "%-12s %ld\n", "processors", sysconf(_SC_NPROCESSORS_ONLN));
    if (sysinfo(&memory) == 0)
        strbuf_printf(out, "%-12s %" PRIu64 " MB\n", "memory",
                      (uint64_t)memory.totalram * memory.mem_unit / 1048576);
    if (statfs(home->data, &disk) == 0)
        strbuf_printf(out, "%-12s %" PRIu64 " MB free, file system type 0x%lx\n", "disk",
                      (uint64_t)disk.f_bavail * (uint64_t)disk.f_bsize / 1048576,
                      (unsigned long)disk.f_type);
    strbuf_printf(out, "%-12s %s\n", "user", geteuid() == 0 ? "root" : "not root");
    put_program(out, "git");
    put_program(out, "bwrap");
    put_program(out, "systemctl");
}

static void put_doctor(const struct bug *bug, struct strbuf *out) {
    static const char *const argv[] = { "sluice", "doctor", "--json", NULL };
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    struct error err = { 0 };
    int status;
    if (daemon_run_program(argv, PROGRAM_TAKE_OUTPUT, &text, &status, &err) < 0)
        return;
    json_auto_t *answer = json_loadb(strbuf_text(&text), text.length, 0, NULL);
    put_json(bug, answer, out);
}

static void put_config(const struct bug *bug, const struct config *config, const char *problem,
                       struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (problem)
        put_safe(bug, problem, out);
    if (problem)
        strbuf_putc(out, '\n');
    config_show(config, true, &text);
    json_auto_t *shown = json_loadb(strbuf_text(&text), text.length, 0, NULL);
    put_json(bug, shown, out);
}

/* Of a running daemon; none is started for it. */
static void put_answers(struct bug *bug) {
    static const struct {
        const char *path, *name, *what;
    } asked[] = { { "/v1/status", "status.json", "the state of the daemon and its queue" },
                  { "/v1/events?limit=200", "events.json", "the last 200 events" } };
    _cleanup_(request_finish) struct request req = { 0 };
    if (request_open(&req, REQUEST_TRY) != CMD_OK)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
        if (request_try_get(&req, asked[i].path) == 0)
            put_json(bug, req.answer, add_file(bug, asked[i].name, asked[i].what));
}

/* The end of the log. Each line is an object; `at` is a time that Sluice has printed. */
static void put_log(const struct bug *bug, const char *path, struct strbuf *out) {
    _cleanup_(strbuf_finish) struct strbuf all = STRBUF_INIT;
    char part[8192];
    size_t size;
    FILE *file;
    if (file_open(path, &file, NULL) < 0)
        return;
    (void)fseek(file, -LOG_TAIL, SEEK_END); /* a shorter log is read from its beginning */
    while ((size = fread(part, 1, sizeof(part), file)) > 0)
        strbuf_add(&all, part, size);
    file_close(file);
    for (const char *line = strbuf_text(&all); *line;) {
        size_t length = strcspn(line, "\n");
        json_auto_t *entry = json_loadb(line, length, 0, NULL);
        if (entry) {
            _cleanup_(strbuf_finish) struct strbuf safe = STRBUF_INIT;
            put_safe(bug, get_text(entry, "text", ""), &safe);
            strbuf_printf(out, "%.24s %.8s %s\n", get_text(entry, "at", ""),
                          get_text(entry, "level", ""), strbuf_text(&safe));
        }
        line += length + (line[length] == '\n');
    }
}

static void put_readme(const struct bug *bug, struct strbuf *out) {
    strbuf_puts(out, "A support bundle of Sluice " SLUICE_VERSION ". It was written by 'sluice "
                     "report-bug'; nothing was sent.\n\n");
    for (size_t i = 0; i < bug->file_count; i++)
        strbuf_printf(out, "%-12s  %s\n", bug->files[i].name, bug->files[i].what);
    strbuf_puts(out, "\nTexts contain only words of Sluice's manual; other words, such as names, "
                     "paths, prompts and secrets,\nare replaced by ~. Read the files before you "
                     "attach the bundle to a report.\n");
}

/* --- the archive ------------------------------------------------------------------------------ */

/* One file in the format ustar. */
static void put_entry(struct strbuf *tar, const char *folder, const char *name,
                      const struct strbuf *text, time_ms now) {
    char head[BLOCK] = { 0 };
    unsigned sum = 0;
    (void)snprintf(head, 100, "%s/%s", folder, name);
    memcpy(head + 100, "0000600", 8);
    memcpy(head + 108, "0000000", 8);
    memcpy(head + 116, "0000000", 8);
    (void)snprintf(head + 124, 12, "%011zo", text->length);
    (void)snprintf(head + 136, 12, "%011llo", (unsigned long long)(now / 1000));
    memset(head + 148, ' ', 8);
    head[156] = '0';
    memcpy(head + 257, "ustar\00000", 8);
    for (size_t i = 0; i < BLOCK; i++)
        sum += (unsigned char)head[i];
    (void)snprintf(head + 148, 7, "%06o", sum);
    strbuf_add(tar, head, BLOCK);
    strbuf_add(tar, strbuf_text(text), text->length);
    while (tar->length % BLOCK != 0)
        strbuf_putc(tar, '\0');
}

static void put_archive(const struct bug *bug, const char *folder, time_ms now,
                        struct strbuf *tar) {
    static const char end[2 * BLOCK];
    for (size_t i = bug->file_count; i > 0; i--) /* README.txt, the last one, comes first */
        put_entry(tar, folder, bug->files[i - 1].name, &bug->files[i - 1].text, now);
    strbuf_add(tar, end, sizeof(end));
}

static int report_bug_run(const struct cmd_call *call) {
    _cleanup_(bug_finish) struct bug bug = { .secrets = json_array() };
    _cleanup_(config_freep) struct config *config = config_new();
    _cleanup_(home_finish) struct home home = { 0 };
    _cleanup_(strbuf_finish) struct strbuf tar = STRBUF_INIT, path = STRBUF_INIT;
    struct error err = { 0 }, problem = { 0 };
    time_ms now = clock_read();
    time_t seconds = (time_t)(now / 1000);
    char folder[64], file[80];
    struct tm local;
    symbol_table_init(&bug.words);
    if (home_find(&home, &err) < 0)
        return cmd_fail(&err);
    int r = config_read_file(config, home.config_file, &problem);
    (void)strftime(folder, sizeof(folder), "sluice-bug-%Y%m%d-%H%M%S",
                   localtime_r(&seconds, &local));
    (void)snprintf(file, sizeof(file), "%s.tar", folder);
    learn_all(&bug);
    add_secrets(&bug, config);
    put_machine(add_file(&bug, "machine.txt", "versions, kernel, memory and disk"), &home);
    put_doctor(&bug, add_file(&bug, "doctor.json", "the result of 'sluice doctor'"));
    put_config(&bug, config, r < 0 && r != -ENOENT && r != -ENOTDIR ? problem.text : NULL,
               add_file(&bug, "config.json", "the settings in force"));
    put_answers(&bug);
    put_log(&bug, home.log, add_file(&bug, "daemon.log", "the end of the log of the daemon"));
    put_readme(&bug, add_file(&bug, "README.txt", "this text"));
    put_archive(&bug, folder, now, &tar);
    if (cmd_absolute_path(cmd_value(call, "output") ? cmd_value(call, "output") : file, &path, &err)
        < 0)
        return cmd_error(&err);
    if (access(strbuf_text(&path), F_OK) == 0) {
        cmd_warn("'%s' already exists; choose another file with --output", strbuf_text(&path));
        return CMD_REFUSED;
    }
    (void)umask(077);
    if (file_write(strbuf_text(&path), tar.text, tar.length, &err) < 0)
        return cmd_fail(&err);
    if (call->json) {
        json_t *names = json_array();
        for (size_t i = 0; i < bug.file_count; i++)
            json_array_append_new(names, json_string(bug.files[i].name));
        return output_json(
            json_pack("{s:o, s:o}", "file", json_text(strbuf_text(&path)), "contents", names));
    }
    _cleanup_(output_finish) struct strbuf out = STRBUF_INIT;
    cmd_put_line(&out, "wrote %s", strbuf_text(&path));
    for (size_t i = 0; i < bug.file_count; i++)
        cmd_put_line(&out, "  %-12s  %s", bug.files[i].name, bug.files[i].what);
    strbuf_puts(&out, "Names, paths, prompts and secrets are replaced by ~. Nothing was sent: read "
                      "the\nfiles, then attach the bundle to your report.\n");
    return CMD_OK;
}

const struct cmd cmd_report_bug = { "report-bug", report_bug_run, 0, 0,
                                    CMD_OPTIONS({ "output", 'o', "FILE",
                                                  "the bundle; default "
                                                  "sluice-bug-DATE-TIME.tar" }) };
