/* settings.c: the table of all settings. See settings.h for how to add one.
 *
 * The rows are in config/rows, one file for each question that somebody comes with; here are the short
 * forms that they are written in, and their order, which is that of docs/config.md. They are parts of
 * one array, and not arrays that are joined when the program starts: a row is known by its place.
 *
 * The defaults here are the preset `sluice`; the other presets (presets.c) name what differs.
 * Limits of numbers are where a larger one can only be a typing error; those of scores and counters
 * also keep the core's sums inside their types. */
#include "config/settings.h"

#include "base/macros.h"
#include "base/money.h"
#include "base/time_ms.h"
#include "config/presets.h"
#include "config/settings_form.h"
#include "core/fact.h"
#include "core/policy.h"

#define COUNT_MAX   1000000000 /* places, tasks */
#define RETRIES_MAX 60000      /* the counters of a task have 16 bits */
#define TOKENS_MAX  INT64_C(1000000000000000)
#define SCORE_MAX   1000000
#define SPAN_MAX    DAYS(3650)
#define MB_MAX      1000000000 /* a petabyte */

/* Words of more than one row. */
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
const struct setting settings[] = {
#include "config/rows/start.inc"    /* at the top, limits, limiter, score, fair */
#include "config/rows/retry.inc"    /* retry, runaway, loop */
#include "config/rows/children.inc" /* spawn, capability */
#include "config/rows/gates.inc"    /* breaker, pace, queue, host, dependencies */
#include "config/rows/tasks.inc"    /* tasks, report, git */
#include "config/rows/keep.inc"     /* logs, retention, alerts, log, events, store */
#include "config/rows/tell.inc"     /* groups, notify, otel */
#include "config/rows/daemon.inc"   /* http, cards, keys, bus, executor, daemon, data */
#include "config/rows/slurm.inc"    /* slurm */
    /* what has a name: the sections in the order of enum setting_section */
#include "config/rows/kinds.inc"    /* limits.resource.N, kinds.K, limiters.L */
#include "config/rows/agents.inc"   /* agents.A */
#include "config/rows/projects.inc" /* projects.P, prices.M */
};
/* clang-format on */

const size_t settings_count = ARRAY_SIZE(settings);
