/* slurm_words.c: see slurm_words.h. */
#include "executor/slurm_words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "rundir/record.h"

#define MINUTE_MS       MINUTES(1)
#define END_MARGIN      MINUTES(1) /* for the shim's own work around its commands */
#define MEGABYTE        (1024 * 1024)
#define BLANKS          " \t\r\n"
#define WORD_MAX        4096
#define WAIT_LONG       SECONDS(10)
#define WAIT_MARGIN     SECONDS(5)
#define TOKEN_BEGIN     "sluice:"
#define JOB_NAME_OPTION "--job-name="

static const char *const program_names[] = {
    [PROGRAM_SBATCH] = "sbatch",   [PROGRAM_SQUEUE] = "squeue",     [PROGRAM_SACCT] = "sacct",
    [PROGRAM_SCANCEL] = "scancel", [PROGRAM_SCONTROL] = "scontrol", [PROGRAM_SINFO] = "sinfo",
};
_Static_assert(ARRAY_SIZE(program_names) == SLURM_PROGRAM_MAX, "a program has no name");

const char *slurm_program_name(enum slurm_program program) {
    return program_names[program];
}

/* --- to submit -------------------------------------------------------------------------------- */

void slurm_order_finish(struct slurm_order *order) {
    for (char **word = order->words; word && *word; word++)
        free(*word);
    free(order->words);
    free(order->token);
    *order = (struct slurm_order){ 0 };
}

struct words {
    char *list[SLURM_WORDS_MAX + 1]; /* NULL-terminated */
    size_t count;
    bool full;
};

static void words_finish(struct words *words) {
    for (size_t i = 0; i < words->count; i++)
        free(words->list[i]);
}

static char **words_take(const struct words *words) {
    char **list = xcalloc(words->count + 1, sizeof(char *));
    memcpy(list, words->list, words->count * sizeof(char *));
    return list;
}

static void add_word(struct words *words, char *word) {
    if (words->count == SLURM_WORDS_MAX) {
        words->full = true;
        free(word);
        return;
    }
    words->list[words->count++] = word;
}

static void add_option(struct words *words, const char *option, const char *value) {
    struct strbuf word = STRBUF_INIT;
    if (!value || !*value)
        return;
    strbuf_printf(&word, "--%s=%s", option, value);
    add_word(words, strbuf_take(&word));
}

static void add_number(struct words *words, const char *option, int64_t number, const char *unit) {
    char text[32];
    (void)snprintf(text, sizeof(text), "%" PRId64 "%s", number, unit);
    if (number > 0)
        add_option(words, option, text);
}

/* Splits at blanks; there are no quotes. */
static void add_extra(struct words *words, const char *extra) {
    for (const char *at = extra ? extra : ""; *(at += strspn(at, BLANKS));) {
        size_t length = strcspn(at, BLANKS);
        add_word(words, xstrndup(at, length));
        at += length;
    }
}

static time_ms add_timeout(time_ms sum, const struct run_command *command, time_ms grace) {
    return command->timeout == 0 ? TIME_NEVER : time_add(sum, time_add(command->timeout, grace));
}

time_ms slurm_time_limit(const struct run_spec *spec) {
    time_ms sum = add_timeout(END_MARGIN, &spec->command, spec->grace);
    if (spec->prepare.argv)
        sum = add_timeout(sum, &spec->prepare, spec->grace);
    for (size_t i = 0; i < spec->check_count; i++)
        sum = add_timeout(sum, &spec->checks[i], spec->grace);
    return sum == TIME_NEVER ? 0 : sum;
}

static bool is_valid_word(const char *word) {
    return strlen(word) < WORD_MAX && word[strcspn(word, "\n\r")] == '\0';
}

/* The task's requirements, its own options, and last the options that must not be overridden. */
int slurm_order_make(const struct run_spec *spec, const char *token, struct slurm_order *ret,
                     struct error *err) {
    const struct run_place *place = &spec->place;
    const struct {
        const char *what, *option, *word;
    } all[] = {
        { "partition", "partition", place->partition },
        { "account", "account", place->account },
        { "qos", "qos", place->qos },
        { "gres", "gres", place->gres },
        { "constraint", "constraint", place->constraint },
        { "name", NULL, spec->name },
    };
    struct words words = { .count = 0 };
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        if (all[i].word && !is_valid_word(all[i].word))
            return error_set(err, -EINVAL,
                             "the %s '%.60s' is no word for sbatch: it is too long or has a new"
                             " line in it",
                             all[i].what, all[i].word);
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        if (all[i].option)
            add_option(&words, all[i].option, all[i].word);
    add_number(&words, "cpus-per-task", place->cpus, "");
    add_number(&words, "mem", (place->memory_bytes + MEGABYTE - 1) / MEGABYTE, "M");
    add_number(&words, "time", (slurm_time_limit(spec) + MINUTE_MS - 1) / MINUTE_MS, "");
    add_extra(&words, place->extra);
    add_option(&words, "job-name", spec->name ? spec->name : spec->run);
    add_option(&words, "comment", token);
    if (words.full) {
        words_finish(&words);
        return error_set(err, -E2BIG,
                         "run '%s' has more than %d words for sbatch: use fewer options", spec->run,
                         SLURM_WORDS_MAX);
    }
    ret->token = xstrdup(token);
    ret->grace = spec->grace;
    ret->words = words_take(&words);
    return 0;
}

static void put_pair(struct strbuf *out, const char *name, const char *value) {
    strbuf_add(out, name, strlen(name) + 1);
    strbuf_add(out, value, strlen(value) + 1);
}

void slurm_order_format(const struct slurm_order *order, struct strbuf *out) {
    char grace[32];
    (void)snprintf(grace, sizeof(grace), "%" PRId64, order->grace);
    put_pair(out, "version", "1");
    put_pair(out, "token", order->token);
    put_pair(out, "grace", grace);
    for (char **word = order->words; *word; word++)
        put_pair(out, "word", *word);
    put_pair(out, "done", "");
}

int slurm_order_parse(const char *text, size_t size, struct slurm_order *ret) {
    struct record_in in = { .at = text, .end = text + size };
    const char *name, *value;
    struct words words = { .count = 0 };
    struct slurm_order order = { 0 };
    bool done = false, good = true;
    while (good && !done && record_next(&in, &name, &value)) {
        if (strcmp(name, "token") == 0 && !order.token)
            order.token = xstrdup(value);
        else if (strcmp(name, "grace") == 0)
            good = record_number(value, 0, INT64_MAX, &order.grace);
        else if (strcmp(name, "word") == 0)
            add_word(&words, xstrdup(value));
        done = strcmp(name, "done") == 0;
    }
    if (!good || !done || !order.token || words.full) {
        words_finish(&words);
        slurm_order_finish(&order);
        return -EPROTO;
    }
    order.words = words_take(&words);
    *ret = order;
    return 0;
}

static void put_quoted(struct strbuf *out, const char *text) {
    strbuf_putc(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            strbuf_puts(out, "'\\''");
        else
            strbuf_putc(out, *text);
    }
    strbuf_putc(out, '\'');
}

void slurm_script(struct strbuf *out, const char *shim, const char *folder, time_ms kill_wait) {
    /* Part of Slurm's time between SIGTERM and SIGKILL is reserved for the shim to record the
     * end. */
    time_ms wait = kill_wait > WAIT_LONG ? kill_wait - WAIT_MARGIN : kill_wait / 2;
    strbuf_puts(out, "exec ");
    put_quoted(out, shim);
    strbuf_puts(out, " --in ");
    put_quoted(out, folder);
    strbuf_printf(out, " %" PRId64, wait > 0 ? wait : 1);
}

/* --- answers of sbatch ------------------------------------------------------------------------ */

/* Printed before anything was sent. "Unable to contact" alone does not prove that: it is also
 * printed when the connection broke afterwards. */
static const char *const not_reached[] = {
    "(connect failure)",    "Connection refused",
    "No route to host",     "Network is unreachable",
    "in standby mode",      "Could not establish a configuration source",
    "Munge encode failed",  "Failed to access \"",
    "authentication error", "authentication credential",
    "If munged is up",
};
/* Printed when something was sent, or may have been. Many other messages end in these words. */
static const char *const unclear[] = {
    "Unable to contact slurm controller",
    "timed out",
    "Communication connection failure",
    "Communication shutdown failure",
    "Zero Bytes were transmitted",
    "Message send failure",
    "Message receive failure",
    "Header lengths are longer",
    "Transport endpoint",
    "Connection reset",
    "Broken pipe",
    "temporarily unable to accept job",
    "Resource temporarily unavailable",
    "I/O error writing script/environment",
    "Unexpected message received",
    "Unspecified error",
};

static bool has_one_of(const char *text, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcasestr(text, list[i]))
            return true;
    return false;
}

/* "17" or "17;cluster", alone in its line. */
static uint64_t find_job_number(const char *output) {
    for (const char *at = output; *at;) {
        size_t length = strcspn(at, "\n"), digits = strspn(at, "0123456789");
        if (digits > 0 && digits < 19 && (digits == length || at[digits] == ';'))
            return strtoull(at, NULL, 10);
        at += length + (at[length] == '\n');
    }
    return 0;
}

/* Strips the program's prefix from one line. */
static size_t skip_prefixes(const char **line, size_t length) {
    static const char *const heads[] = { "sbatch: error: ", "sbatch: fatal: ", "sbatch: ",
                                         "Batch job submission failed: " };
    for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
        size_t head = strlen(heads[i]);
        if (length >= head && strncmp(*line, heads[i], head) == 0) {
            *line += head;
            length -= head;
        }
    }
    return length;
}

/* Joins all lines: the first often names the subject, the last one the problem. */
static void join_messages(const char *output, char *ret_why, size_t size) {
    _cleanup_(strbuf_finish) struct strbuf why = STRBUF_INIT;
    for (const char *at = output; *at;) {
        size_t length = strcspn(at, "\n");
        const char *line = at;
        size_t rest = skip_prefixes(&line, length);
        if (rest > 0 && strncmp(line, "Try \"", 5) != 0)
            strbuf_printf(&why, "%s%.*s", why.length ? "; " : "", (int)rest, line);
        at += length + (at[length] == '\n');
    }
    (void)snprintf(ret_why, size, "%s", strbuf_text(&why));
}

enum slurm_answer slurm_answer_read(const char *output, bool good, uint64_t *ret_job, char *ret_why,
                                    size_t why_size) {
    uint64_t job = find_job_number(output);
    join_messages(output, ret_why, why_size);
    if (good && job) {
        *ret_job = job;
        return ANSWER_ACCEPTED;
    }
    /* A truncated message proves nothing. */
    if (good || !strchr(output, '\n'))
        return ANSWER_UNCLEAR;
    if (has_one_of(output, not_reached, ARRAY_SIZE(not_reached)))
        return ANSWER_UNREACHABLE;
    if (has_one_of(output, unclear, ARRAY_SIZE(unclear)))
        return ANSWER_UNCLEAR;
    return ANSWER_REFUSED;
}

/* --- job lists -------------------------------------------------------------------------------- */

/* Slurm's names. */
static const struct {
    const char *word;
    enum slurm_job_state state;
} state_words[] = {
    { "PENDING", JOB_PENDING },
    { "REQUEUED", JOB_PENDING },
    { "REQUEUE_HOLD", JOB_PENDING },
    { "REQUEUE_FED", JOB_PENDING },
    { "SPECIAL_EXIT", JOB_PENDING },
    { "RESV_DEL_HOLD", JOB_PENDING },
    { "CONFIGURING", JOB_RUNNING },
    { "RUNNING", JOB_RUNNING },
    { "SUSPENDED", JOB_RUNNING },
    { "STOPPED", JOB_RUNNING },
    { "SIGNALING", JOB_RUNNING },
    { "RESIZING", JOB_RUNNING },
    { "COMPLETING", JOB_ENDING },
    { "STAGE_OUT", JOB_ENDING },
    { "COMPLETED", JOB_COMPLETED },
    { "FAILED", JOB_FAILED },
    { "CANCELLED", JOB_CANCELED },
    { "REVOKED", JOB_CANCELED },
    { "TIMEOUT", JOB_TIMEOUT },
    { "DEADLINE", JOB_TIMEOUT },
    { "OUT_OF_MEMORY", JOB_OUT_OF_MEMORY },
    { "NODE_FAIL", JOB_NODE_FAIL },
    { "BOOT_FAIL", JOB_NODE_FAIL },
    { "LAUNCH_FAILED", JOB_NODE_FAIL },
    { "RECONFIG_FAIL", JOB_NODE_FAIL },
    { "PREEMPTED", JOB_PREEMPTED },
};

/* For a state that is not in the table, only the existence of the job is certain. */
enum slurm_job_state slurm_job_state_parse(const char *text) {
    size_t length = strcspn(text, " +");
    for (size_t i = 0; i < ARRAY_SIZE(state_words); i++)
        if (strlen(state_words[i].word) == length
            && strncmp(text, state_words[i].word, length) == 0)
            return state_words[i].state;
    return JOB_UNKNOWN;
}

/* "66:0" (accounting), or a wait() status (squeue). */
static void read_code(const char *text, struct slurm_job *job) {
    int code = 0, signal = 0;
    if (strchr(text, ':')) {
        (void)sscanf(text, "%d:%d", &code, &signal);
    } else {
        int status = (int)strtol(text, NULL, 10);
        code = (status >> 8) & 0xff;
        signal = status & 0x7f;
    }
    job->code = code;
    job->signal = signal;
}

static void copy_column(char *to, size_t size, const char *text) {
    bool nothing = strcmp(text, "(null)") == 0 || strcmp(text, "None") == 0
                   || strcmp(text, "None assigned") == 0 || strcmp(text, "N/A") == 0;
    (void)snprintf(to, size, "%.*s", (int)size - 1, nothing ? "" : text);
}

enum column { AT_ID, AT_STATE, AT_CODE, AT_NODE, AT_REASON, AT_TOKEN, COLUMNS };

static bool read_line(char *line, struct slurm_job *ret, const char **ret_token) {
    char *columns[COLUMNS];
    struct slurm_job job = { .canceled_by = -1 };
    int64_t id = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        columns[i] = line;
        char *bar = strchr(line, '|');
        if (!bar && i + 1 < COLUMNS)
            return false;
        if (bar)
            *bar = '\0';
        line = bar ? bar + 1 : line;
    }
    if (number_parse_int(columns[AT_ID], &id, NULL) < 0 || id <= 0)
        return false;
    job.id = (uint64_t)id;
    job.state = slurm_job_state_parse(columns[AT_STATE]);
    (void)sscanf(columns[AT_STATE], "CANCELLED by %" SCNd64, &job.canceled_by);
    read_code(columns[AT_CODE], &job);
    copy_column(job.node, sizeof(job.node), columns[AT_NODE]);
    copy_column(job.reason, sizeof(job.reason), columns[AT_REASON]);
    if (line != columns[AT_TOKEN]) /* there is another column */
        (void)snprintf(job.name, sizeof(job.name), "%.*s", (int)strcspn(line, "|"), line);
    *ret = job;
    *ret_token = columns[AT_TOKEN];
    return true;
}

bool slurm_job_read(char **list, struct slurm_job *ret, const char **ret_token) {
    while (**list) {
        char *line = *list;
        size_t length = strcspn(line, "\n");
        *list = line + length + (line[length] == '\n');
        line[length] = '\0';
        if (read_line(line, ret, ret_token))
            return true;
    }
    return false;
}

bool slurm_job_is_renamed(const struct slurm_job *job, const char *comment,
                          const struct slurm_order *order) {
    const char *name = "";
    for (char **word = order->words; word && *word; word++)
        if (strncmp(*word, JOB_NAME_OPTION, strlen(JOB_NAME_OPTION)) == 0)
            name = *word + strlen(JOB_NAME_OPTION);
    bool is_of_other_run =
        strncmp(comment, TOKEN_BEGIN, strlen(TOKEN_BEGIN)) == 0
        && (!order->token || strncmp(comment, order->token, strlen(order->token)) != 0);
    return !is_of_other_run && *name && strncmp(job->name, name, sizeof(job->name) - 1) == 0;
}

/* The value in the line "NAME = value …", or NULL. */
static const char *find_setting(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *at = text; *at;) {
        size_t line = strcspn(at, "\n");
        size_t blanks = strncmp(at, name, length) == 0 ? strspn(at + length, BLANKS) : 0;
        if (blanks > 0 && at[length + blanks] == '=')
            return at + length + blanks + 1 + strspn(at + length + blanks + 1, " \t");
        at += line + (at[line] == '\n');
    }
    return NULL;
}

void slurm_config_read(const char *text, struct slurm_config *config) {
    const char *cluster = find_setting(text, "ClusterName");
    const char *wait = find_setting(text, "KillWait");
    const char *storage = find_setting(text, "AccountingStorageType");
    if (cluster)
        (void)snprintf(config->cluster, sizeof(config->cluster), "%.*s",
                       (int)strcspn(cluster, BLANKS), cluster);
    if (wait)
        config->kill_wait = SECONDS(strtol(wait, NULL, 10));
    config->accounting = storage && strncmp(storage, "accounting_storage/slurmdbd", 27) == 0;
}
