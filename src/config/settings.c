/* settings.c: the table of all settings. See settings.h for how to add one.
 *
 * The rows are in config/rows, one file per topic; here are the macros they use, and their order,
 * which is that of docs/reference/settings.md. They form one array at compile time, because a row
 * is identified by its index.
 *
 * The defaults here are the preset `sluice`; the other presets (presets.c) list differences. Bounds
 * of numbers only catch typing errors; those of scores and counters also keep the core's sums
 * inside their types. */
#include "config/settings.h"

#include <string.h>

#include "base/macros.h"
#include "base/money.h"
#include "base/time_ms.h"
#include "calendar/hours.h"
#include "config/presets.h"
#include "config/run_settings.h"
#include "core/fact.h"
#include "core/policy.h"
#include "os/copy_files.h"
#include "os/zoneinfo.h"

/* --- texts and words -------------------------------------------------------------------------- */

/* Formats of texts and words. Only typing errors are refused here; other problems are reported when
 * the value is used. */

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

/* Length of the variable name at the start of the text. */
static size_t variable_length(const char *text) {
    return strspn(text, DIGITS) > 0 ? 0 : strspn(text, LETTERS DIGITS "_");
}

static bool is_variable(const char *text) {
    return *text && variable_length(text) == strlen(text);
}

static bool is_pair(const char *text) {
    size_t length = variable_length(text);
    return length > 0 && text[length] == '=';
}

/* A credential is a file in a directory that systemd fills. */
static bool is_credential(const char *text) {
    const char *name = is_pair(text) ? strchr(text, '=') + 1 : "";
    return *name && *name != '.' && strspn(name, LETTERS DIGITS "._-") == strlen(name);
}

static bool is_path(const char *text) {
    return *text == '/';
}

/* Git checks the rest; this excludes options and revisions. */
static bool is_branch(const char *text) {
    return *text != '-' && strlen(text) <= 200 && !strpbrk(text, " ~^:?*[\\")
           && !strstr(text, "..");
}

static bool is_word(const char *text) {
    return *text && strlen(text) <= 64 && strspn(text, LETTERS DIGITS "_-") == strlen(text);
}

/* "my-app": a letter after each hyphen, so that no prefix looks like an id. */
static bool is_prefix(const char *text) {
    bool begins = true;
    if (!*text || strlen(text) > 16)
        return false;
    for (; *text; text++) {
        if (!strchr(begins ? LETTERS : LETTERS DIGITS "-", *text))
            return false;
        begins = *text == '-';
    }
    return !begins;
}

static bool is_webhook(const char *text) {
    return (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0
            || strncmp(text, "unix:/", 6) == 0)
           && !strpbrk(text, " @#");
}

/* Loopback only: there is no authentication. */
static bool is_listen(const char *text) {
    const char *port = strncmp(text, "127.0.0.1:", 10) == 0 ? text + 10
                       : strncmp(text, "[::1]:", 6) == 0    ? text + 6
                                                            : "";
    size_t length = strspn(port, DIGITS);
    return length > 0 && length <= 5 && port[length] == '\0';
}

static bool is_http_listen(const char *text) {
    const char *colon = strrchr(text, ':');
    size_t address = colon ? strspn(text, "0123456789abcdefABCDEF.:[]") : 0;
    size_t digits = colon ? strspn(colon + 1, DIGITS) : 0;
    return colon && address > (size_t)(colon - text) && colon > text && digits > 0 && digits <= 5
           && colon[1 + digits] == '\0';
}

static bool is_host(const char *text) {
    return *text && strlen(text) <= 253 && strspn(text, LETTERS DIGITS ".-:[]") == strlen(text);
}

/* Of a page: without a path, a user or a query. */
static bool is_page_url(const char *text) {
    size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
                    : strncmp(text, "http://", 7) == 0 ? 7
                                                       : 0;
    return scheme > 0 && is_host(text + scheme);
}

/* Used in rows, messages and commands that users type. */
static bool is_host_name(const char *text) {
    return strlen(text) <= 253 && strspn(text, LETTERS DIGITS ".-_") == strlen(text)
           && *text != '-';
}

/* Plain http sends the token in clear text, so it is allowed only for loopback. */
static bool is_daemon_address(const char *text) {
    if (strncmp(text, "unix:", 5) == 0)
        return is_path(text + 5) && !strchr(text, ','); /* SLUICE_SOCKET separates them by commas */
    if (strncmp(text, "http://", 7) == 0)
        return is_listen(text + 7);
    const char *host = strncmp(text, "https://", 8) == 0 ? text + 8 : "";
    const char *port = strrchr(host, ':');
    size_t digits = port ? strspn(port + 1, DIGITS) : 0;
    return port > host && is_host(host) && digits > 0 && digits <= 5 && port[1 + digits] == '\0';
}

static bool is_collector(const char *text) {
    return is_webhook(text) && !strchr(text, '?');
}

/* A relative path would depend on the daemon's working directory; a misspelt URL would be read as
 * one. Both would open an empty store instead of the history. */
static bool is_store(const char *text) {
    return is_path(text) || strncmp(text, "postgresql://", 13) == 0
           || strncmp(text, "postgres://", 11) == 0 || strncmp(text, "memory:", 7) == 0;
}

static bool is_notify_event(const char *text) {
    static const char *const kinds[] = { "done", "failed", "limited", "needs-person",
                                         "group-finished" };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcmp(text, kinds[i]) == 0)
            return true;
    return false;
}

/* Absolute, relative to the home, or in the workspace; never upwards. */
static bool is_sandbox_path(const char *text) {
    for (const char *at = text; (at = strstr(at, "..")); at += 2)
        if ((at == text || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
            return false;
    return *text && strcmp(text, "/") != 0 && strlen(text) < 4096;
}

static bool is_hours(const char *text) {
    struct error ignored;
    return hours_parse(text, &(struct hours){ 0 }, &ignored) == 0;
}

#define FORM(name, ...) static const struct setting_form name##_form = { __VA_ARGS__ }
FORM(sandbox, is_sandbox_path, "/PATH, ~/PATH or a path in the workspace, without '..'");
FORM(webhook, is_webhook, "http://…, https://… or unix:/…, without a user name", true);
FORM(listen, is_listen, "127.0.0.1:PORT or [::1]:PORT", true);
FORM(http_listen, is_http_listen, "an IP address and a port: 127.0.0.1:7878 or [::1]:7878", true);
FORM(page_url, is_page_url,
     "https://HOST or http://HOST, with or without a port, and without a path", true);
FORM(host, is_host, "host names, with or without a port");
FORM(host_name, is_host_name, "at most 253 letters, digits, dots, hyphens and underscores");
FORM(daemon_address, is_daemon_address,
     "unix:/PATH without a comma, https://HOST:PORT or http://127.0.0.1:PORT");
FORM(collector, is_collector,
     "http://…, https://… or unix:/…, without a user name, as OTEL_EXPORTER_OTLP_ENDPOINT has it",
     true);
FORM(secret_file, is_path, "an absolute path", true);
FORM(store, is_store, "an absolute path, or postgresql://USER@HOST/DATABASE", true);
FORM(secret_env, is_variable, "the name of an environment variable", true);
FORM(notify, is_notify_event, "words of: done failed limited needs-person group-finished");
FORM(slurm, slurm_word_is_valid,
     "words KEY=VALUE with partition, account, qos, gres, constraint, cpus or options");
FORM(variable, is_variable, "names of variables");
FORM(credential, is_credential, "words NAME=CREDENTIAL");
FORM(pair, is_pair, "words KEY=VALUE");
FORM(path, is_path, "an absolute path");
FORM(paths, is_path, "absolute paths");
FORM(branch, is_branch, "the name of a branch");
FORM(copy, copy_pattern_is_valid,
     "paths in the folder of the project, like .env or config/*.local");
FORM(zone, zoneinfo_is_name, "the name of a time zone, such as Europe/Berlin or UTC", true);
FORM(hours, is_hours, "days and times, such as: mon-fri 22:00-07:00; sat,sun", true);
FORM(word, is_word, "1 to 64 letters, digits, hyphens and underscores");
FORM(prefix, is_prefix,
     "1 to 16 letters, digits and hyphens, with a letter first and after each hyphen");
#undef FORM

/* --- rows ------------------------------------------------------------------------------------- */

#define COUNT_MAX       1000000000 /* slots, tasks */
#define RETRIES_MAX     60000      /* the counters of a task have 16 bits */
#define CONNECTIONS_MAX 100000
#define TOKENS_MAX      INT64_C(1000000000000000)
#define SCORE_MAX       1000000
#define SPAN_MAX        DAYS(3650)
#define MB_MAX          1000000000 /* a petabyte */

/* Values used by several rows. */
static const char *const untils[] = { "exit", "done", "validate", "external", NULL };
static const char *const budget_modes[] = { "hold", "stop", NULL };
static const char *const executors[] = { "local", "slurm", NULL };
static const char *const sandboxes[] = { "auto", "none", "bubblewrap", "podman", NULL };

#define CAP(least, most)     .type = SETTING_CAP, .min = (least), .max = (most)
#define WHOLE(least, most)   .type = SETTING_WHOLE, .min = (least), .max = (most)
#define SPAN_S(least)        .type = SETTING_SPAN, .unit = SECONDS(1), .min = (least), .max = SPAN_MAX
#define SPAN_H(least)        .type = SETTING_SPAN, .unit = HOURS(1), .min = (least), .max = SPAN_MAX
#define SPAN_D(least)        .type = SETTING_SPAN, .unit = DAYS(1), .min = (least), .max = SPAN_MAX
#define SIZE_MB(least)       .type = SETTING_SIZE, .min = (least), .max = MB_MAX
#define SIZE_GB(least)       .type = SETTING_SIZE, .unit = 1000, .min = (least), .max = MB_MAX
#define DECIMAL(least, most) .type = SETTING_DECIMAL, .unit = 1000, .min = (least), .max = (most)
#define MONEY                .type = SETTING_MONEY, .max = MONEY_MAX
#define BOOLEAN              .type = SETTING_BOOLEAN, .max = 1
#define CHOICE_OF(list)      .type = SETTING_CHOICE, .choices = (list)
#define CHOICE(...)          CHOICE_OF(((const char *const[]){ __VA_ARGS__, NULL }))
#define TEXT(form_)          .type = SETTING_TEXT, .form = (form_)
#define WORDS(form_)         .type = SETTING_WORDS, .form = (form_)

#define FIELD(type_, field_)                                                                       \
    .offset = offsetof(struct type_, field_), .size = sizeof(((struct type_ *)NULL)->field_)
#define POLICY(field_)  FIELD(policy, field_)
#define KIND(field_)    .section = SECTION_KINDS, FIELD(kind_spec, field_)
#define LIMITER(field_) .section = SECTION_LIMITERS, FIELD(limiter_spec, policy.field_)
#define AGENT(field_)   .section = SECTION_AGENTS, FIELD(agent_spec, field_)
#define PROJECT(field_) .section = SECTION_PROJECTS, FIELD(project_spec, field_)

/* clang-format off */
/* Rows that several groups have. */
#define PAUSE_ROWS(group, class, factor_, cap_, jitter_) \
    { .key = group ".factor", DECIMAL(1000, 100000), .standard = (factor_), \
      POLICY(retry[class].factor_milli), \
      .text = "Each further pause is longer than the last one by this factor." }, \
    { .key = group ".cap_s", SPAN_S(0), .standard = (cap_), POLICY(retry[class].cap), \
      .text = "Maximum pause; never less than `" group ".delay_s`." }, \
    { .key = group ".jitter", DECIMAL(0, 1000), .standard = (jitter_), \
      POLICY(retry[class].jitter_milli), \
      .text = "The pause varies randomly by this fraction in both directions." }
#define SECRET_ROWS(group, section_) \
    { .key = group ".env_command", .section = (section_), WORDS(NULL), .standard = "", \
      .text = "A command that prints secrets in the same format. It runs at each launch, with the " \
              "environment of the daemon." }, \
    { .key = group ".env_credential", .section = (section_), WORDS(&credential_form), .standard = "", \
      .text = "Secrets from systemd credentials: the name of the variable, and the name of the " \
              "credential." }
#define HOURS_ROWS(group, section_, whose) \
    { .key = group ".hours", .section = (section_), TEXT(&hours_form), .standard = "", \
      .text = "When tasks of " whose " may start, such as `mon-fri 22:00-07:00; sat,sun`; outside " \
              "these hours nothing starts, but running tasks continue. Not set: always." }, \
    { .key = group ".timezone", .section = (section_), TEXT(&zone_form), .inherits = "timezone", \
      .text = "The time zone of `hours`, such as `Europe/Berlin`." }
#define SANDBOX_LIST_ROW(group, section_, list, whose) \
    { .key = group "." list, .section = (section_), WORDS(&sandbox_form), .standard = "", \
      .text = "Added to `tasks." list "` for runs of " whose "." }
#define SANDBOX_ROWS(group, section_, whose) \
    { .key = group ".sandbox", .section = (section_), CHOICE_OF(sandboxes), .flags = SETTING_LOCAL, \
      .inherits = "tasks.sandbox", .text = "As `tasks.sandbox`, for runs of " whose "." }, \
    { .key = group ".sandbox_network", .section = (section_), CHOICE("on", "off"), \
      .flags = SETTING_LOCAL, .inherits = "tasks.sandbox_network", \
      .text = "As `tasks.sandbox_network`, for runs of " whose "." }, \
    SANDBOX_LIST_ROW(group, section_, "sandbox_read", whose), \
    SANDBOX_LIST_ROW(group, section_, "sandbox_write", whose), \
    SANDBOX_LIST_ROW(group, section_, "sandbox_hide", whose), \
    { .key = group ".sandbox_image", .section = (section_), TEXT(NULL), \
      .inherits = "tasks.sandbox_image", \
      .text = "As `tasks.sandbox_image`, for runs of " whose "." }, \
    { .key = group ".wrap", .section = (section_), WORDS(NULL), .standard = "", \
      .text = "As `tasks.wrap`, for runs of " whose "." }

const struct setting settings[] = {
#include "config/rows/start.inc"    /* at the top, limits, limiter, score, fair */
#include "config/rows/retry.inc"    /* retry, runaway, loop */
#include "config/rows/children.inc" /* spawn, capability */
#include "config/rows/gates.inc"    /* breaker, pace, queue, host, dependencies, probes */
#include "config/rows/tasks.inc"    /* tasks, report, git */
#include "config/rows/keep.inc"     /* logs, retention, alerts, log, events, store */
#include "config/rows/notify.inc"   /* groups, notify, otel */
#include "config/rows/daemon.inc"   /* http, cards, keys, bus, executor, daemon, data */
#include "config/rows/slurm.inc"    /* slurm */
    /* Sections with names, in the order of enum setting_section. */
#include "config/rows/kinds.inc"    /* limits.resource.N, kinds.K, limiters.L */
#include "config/rows/agents.inc"   /* agents.A */
#include "config/rows/projects.inc" /* projects.P, prices.M */
#include "config/rows/schedules.inc" /* schedules.S */
};
/* clang-format on */

const size_t settings_count = ARRAY_SIZE(settings);
