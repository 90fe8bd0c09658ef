/* presets.c: the six presets, as rows of text.
 *
 * They are set like the values of a user's file, so the first test that creates a config finds an
 * invalid row. A row is here if that scheduler defines the value, or if the default is a guard that
 * it lacks. */
#include "config/presets.h"

#include <string.h>

#include "base/macros.h"

/* clang-format off */
#define NO_FAIR_SHARES { "fair.mode", "off" }, { "fair.guarantee", "off" }, { "max_wait_s", "never" }
#define NO_QUEUE_LIMIT { "queue.soft", "unlimited" }, { "queue.hard", "unlimited" }

static const struct preset_row sluice_rows[] = {
    { NULL, NULL }, /* the defaults of the settings */
};

static const struct preset_row loopr_rows[] = {
    { "order", "score, created_at, seq" },
    NO_FAIR_SHARES,
    { "tasks.until", "validate" },
    { "limits.runs", "50" },
    { "kinds.plan.base", "40" },
    { "kinds.plan.max_running", "2" },
    { "kinds.spec.base", "60" },
    { "kinds.spec.max_running", "5" },
    { "kinds.phase.base", "80" },
    { "kinds.phase.max_running", "20" },
    { "kinds.ralph.base", "100" },
    { "kinds.ralph.max_running", "50" },
    { "limiter.max_running", "10" },
    { "limiter.initial_s", "2" },
    { "limiter.max_s", "64" },
    { "limiter.recovery_s", "0" },
    { "limiter.probe", "false" },
    { "limiter.any_success", "true" },
    { "retry.unfinished.max", "unlimited" }, /* struggling loops sink, they never drop out */
    { "retry.unfinished.delay_s", "0" },
    { "retry.unfinished.cap_s", "0" },
    { "loop.failed", "unfinished" },
    { "pace.tick_s", "1" },
    { "log.level", "debug" }, /* it logs every tick and every selection */
    NO_QUEUE_LIMIT,
    { NULL, NULL },
};

static const struct preset_row conductor_rows[] = {
    { "order", "seq" },
    NO_FAIR_SHARES,
    { "tasks.until", "done" },
    { "tasks.parent_gate", "none" },
    { "limits.runs", "unlimited" },
    { "limits.roots", "unlimited" },
    { "limiter.max_running", "unlimited" },
    { "retry.unfinished.max", "100" },
    { "retry.unfinished.delay_s", "1" },
    { "runaway.pause_s", "0" }, /* the document fixes the delay: there is only the alert */
    { "loop.count", "launches" },
    { "loop.prefix", "Continue working on the following:" },
    { "loop.failed", "unfinished" },
    { "retry.launch.as", "failed" }, /* a launch that fails is one of the 100 */
    { "drain_s", "300" },
    { "drain_children", "active" },
    { "lost", "requeue" },
    { "retry.lost.max", "100" }, /* a crash is one more restart */
    { "retry.lost.delay_s", "5" },
    NO_QUEUE_LIMIT,
    { "host.disk_free_gb", "0" },
    { "bus.lifecycle", "all" },
    { NULL, NULL },
};

static const struct preset_row gastown_rows[] = {
    { "order", "created_at, seq" },
    NO_FAIR_SHARES,
    { "tasks.until", "exit" },
    { "limits.runs", "unlimited" },
    { "limiter.max_running", "unlimited" },
    { "pace.batch", "1" },
    { "pace.spawn_delay_s", "0" },
    { "pace.tick_s", "180" },
    { "breaker.max", "3" },
    { "breaker.reset_s", "never" },
    { "retry.launch.delay_s", "0" }, /* the next tick */
    { "tasks.launch_s", "300" },
    NO_QUEUE_LIMIT,
    { "host.disk_free_gb", "0" },
    { NULL, NULL },
};

static const struct preset_row agency_rows[] = {
    { "order", "enqueued_at, seq" }, /* a retry goes to the tail of its flow */
    NO_FAIR_SHARES,
    { "tasks.until", "exit" },
    { "tasks.duplicates", "refuse" },
    { "tasks.parallelizable", "false" },
    { "limits.runs", "1" },
    { "kinds.implement.max_running", "1" },
    { "kinds.review.max_running", "1" },
    { "kinds.research.max_running", "1" },
    { "limiter.max_running", "unlimited" },
    { "retry.launch.as", "failed" },
    { "retry.failed.max", "5" },
    { "retry.failed.delay_s", "30" },
    { "retry.failed.factor", "2" },
    { "retry.failed.jitter", "0.1" },
    { "retry.failed.cap_s", "300" },
    { "queue.soft", "auto" },
    { "queue.hard", "auto" },
    { "lost", "fail" },
    { "host.disk_free_gb", "0" },
    { NULL, NULL },
};

static const struct preset_row agent_queue_rows[] = {
    { "order", "guarantee, deficit, position, priority, seq" },
    { "fair.mode", "document" },
    { "fair.window_h", "24" },
    { "fair.guarantee", "completion" },
    { "budget_counts_reserved", "false" },
    { "max_wait_s", "never" },
    { "tasks.until", "exit" },
    { "limits.runs", "unlimited" },
    { "limiter.max_running", "unlimited" },
    NO_QUEUE_LIMIT,
    { "host.disk_free_gb", "0" },
    { NULL, NULL },
};

static const char *const conductor_unlimited[] = { "limits.runs", "limits.roots", NULL };
static const char *const gastown_unlimited[] = { "limits.runs", NULL };

const struct preset presets[] = {
    { .name = "sluice", .rows = sluice_rows,
      .texts = { [PRESET_TEXT_SELECTED] = "Selected task", [PRESET_TEXT_TASK] = "task", [PRESET_TEXT_KIND] = "kind",
                 [PRESET_TEXT_NOT_SELECTING] = "Rate limited, not starting tasks",
                 [PRESET_TEXT_LOW_DISK] = "Low disk space, not starting tasks",
                 [PRESET_TEXT_QUEUE_LONG] = "The queue is long" },
      .text = "The default: fair shares with reservation, no starvation, and every guard on." },
    { .name = "loopr", .rows = loopr_rows,
      .texts = { [PRESET_TEXT_SELECTED] = "Selected loop for execution", [PRESET_TEXT_TASK] = "loop_id",
                 [PRESET_TEXT_KIND] = "loop_type",
                 [PRESET_TEXT_NOT_SELECTING] = "Rate limited, not selecting new loops",
                 [PRESET_TEXT_LOW_DISK] = "Low disk space, pausing new loop creation" },
      .text = "Loops of plan, spec, phase and ralph by score, each kind capped, repeated until "
              "their checks pass." },
    { .name = "conductor", .rows = conductor_rows,
      .unlimited_keys = conductor_unlimited, .unlimited_from = INT64_MIN,
      .text = "Tasks in the order of arrival, launched up to 100 times until their DONE marker "
              "exists." },
    { .name = "gastown", .rows = gastown_rows,
      .unlimited_keys = gastown_unlimited, .unlimited_from = -1,
      .text = "Direct dispatch, or with a finite `limits.runs` one start every three minutes; a "
              "breaker that stays open." },
    { .name = "agency", .rows = agency_rows,
      .texts = { [PRESET_TEXT_QUEUE_LONG] = "Queue delayed; respecting caps" },
      .text = "One run at a time, one per kind and phase, failed runs repeated with backoff, a "
              "short queue." },
    { .name = "agent-queue", .rows = agent_queue_rows,
      .snapshot_lists_all_workspaces = true,
      .text = "Projects by their deficit in tokens, one completion each first; only reported "
              "tokens count." },
};

const char *const preset_names[] = {
    "sluice", "loopr", "conductor", "gastown", "agency", "agent-queue", NULL,
};
/* clang-format on */

const size_t presets_count = ARRAY_SIZE(presets);
_Static_assert(ARRAY_SIZE(preset_names) == ARRAY_SIZE(presets) + 1, "a preset has no name");

const struct preset *preset_find(const char *name) {
    for (size_t i = 0; i < presets_count; i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}

const char *preset_value(const struct preset *preset, const char *key) {
    for (const struct preset_row *row = preset->rows; row->key; row++)
        if (strcmp(row->key, key) == 0)
            return row->value;
    return NULL;
}

bool preset_means_unlimited(const struct preset *preset, const char *key, int64_t number) {
    if (!preset->unlimited_keys || number > 0 || number < preset->unlimited_from)
        return false;
    for (const char *const *known = preset->unlimited_keys; *known; known++)
        if (strcmp(*known, key) == 0)
            return true;
    return false;
}
