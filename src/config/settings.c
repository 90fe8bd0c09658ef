/* settings.c: the table of all settings. See settings.h for how to add one.
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
#include "config/settings_slurm.h"
#include "core/fact.h"
#include "core/policy.h"

#define COUNT_MAX   1000000000 /* places, tasks */
#define RETRIES_MAX 60000      /* the counters of a task have 16 bits */
#define TOKENS_MAX  INT64_C(1000000000000000)
#define SCORE_MAX   1000000
#define SPAN_MAX    DAYS(3650)
#define MB_MAX      1000000000 /* a petabyte */

static const char *const fair_modes[] = { "off", "reserve", "document", NULL };
static const char *const guarantees[] = { "off", "start", "completion", NULL };
static const char *const untils[] = { "exit", "done", "validate", "external", NULL };
static const char *const parent_gates[] = { "done", "none", NULL };
static const char *const loop_counts[] = { "restarts", "launches", NULL };
static const char *const loop_failed[] = { "failed", "unfinished", NULL };
static const char *const launch_as[] = { "launch", "failed", NULL };
static const char *const lost_modes[] = { "fail", "requeue", NULL };
static const char *const dependency_modes[] = { "wait", "fail", NULL };
static const char *const drain_children[] = { "open", "active", NULL };
static const char *const workspace_modes[] = { "pool", "worktree", NULL };
static const char *const merges[] = { "none", "local", "direct", "mr", NULL };
static const char *const prompt_modes[] = { "stdin", "argument", "file", NULL };
static const char *const stop_signals[] = { "TERM", "INT", NULL };
static const char *const bus_modes[] = { "off", "project", "all", NULL };
static const char *const loop_feedback[] = { "prompt", "file", NULL };
static const char *const resume_modes[] = { "auto", "never", NULL };
static const char *const cgroup_modes[] = { "auto", "off", NULL };
static const char *const budget_modes[] = { "hold", "stop", NULL };
static const char *const log_levels[] = { "error", "warning", "info", "debug", NULL };

#define CAP(least, most)     .type = SETTING_CAP, .min = (least), .max = (most)
#define WHOLE(least, most)   .type = SETTING_WHOLE, .min = (least), .max = (most)
#define SPAN_S(least)        .type = SETTING_SPAN, .unit = SECONDS(1), .min = (least), .max = SPAN_MAX
#define SPAN_H(least)        .type = SETTING_SPAN, .unit = HOURS(1), .min = (least), .max = SPAN_MAX
#define SPAN_D(least)        .type = SETTING_SPAN, .unit = DAYS(1), .min = (least), .max = SPAN_MAX
#define DECIMAL(least, most) .type = SETTING_DECIMAL, .unit = 1000, .min = (least), .max = (most)
#define MONEY                .type = SETTING_MONEY, .max = MONEY_MAX
#define BOOLEAN              .type = SETTING_BOOLEAN, .max = 1
#define CHOICE(list)         .type = SETTING_CHOICE, .choices = (list)
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
    { .key = "preset", CHOICE(preset_names), .standard = "sluice",
      .text = "The named configuration that everything else starts from; it takes effect first, "
              "wherever it stands." },
    { .key = "order", .type = SETTING_ORDER,
      .standard = "guarantee, deficit, overdue, priority, score, created_at, seq", POLICY(order),
      .text = "What decides who starts first, compared from left to right; `seq`, the order of "
              "arrival, is always the last." },
    { .key = "budget", CAP(0, TOKENS_MAX), .standard = "unlimited",
      .text = "Tokens that all projects together may use in the window of `fair.window_h`." },
    { .key = "budget_usd", MONEY, .standard = "unlimited",
      .text = "Dollars that all projects together may spend in the window of `fair.window_h`; the run "
              "of an agent that tells no cost counts nothing, and is counted as one of unknown cost." },
    { .key = "budget_stops_runs", BOOLEAN, .standard = "false",
      .text = "Whether live runs are stopped, too, when what was reported reaches the budget of their "
              "project, or of all; their tasks go on when the window frees." },
    { .key = "budget_counts_reserved", BOOLEAN, .standard = "true", POLICY(budget_counts_reserved),
      .text = "Whether what is reserved for live runs counts against the budgets, and not only what was "
              "reported." },
    { .key = "max_wait_s", SPAN_S(SECONDS(1)), .flags = SETTING_OR_NEVER, .standard = "3600",
      POLICY(max_wait),
      .text = "A ready task that waited this long is overdue and goes before the others of its "
              "project. Set by hand it counts under every preset, unless `order` is set, too, and does "
              "not name `overdue`." },
    { .key = "drain_s", SPAN_S(0), .standard = "300", POLICY(drain),
      .text = "How long a finished task waits for children that started beside it; 0: not at "
              "all." },
    { .key = "drain_children", CHOICE(drain_children), .standard = "open",
      POLICY(drain_active_only),
      .text = "Which children a finished task waits for: every one that is not final, or only "
              "those starting or running." },
    { .key = "lost", CHOICE(lost_modes), .standard = "requeue", POLICY(lost_requeue),
      .text = "What becomes of a task whose run vanished without an end: it fails, or is queued "
              "again as `retry.lost` says." },

    { .key = "limits.runs", CAP(0, COUNT_MAX), .standard = "8", POLICY(runs),
      .text = "Most runs at once; unlimited also means that `pace` is not applied." },
    { .key = "limits.roots", CAP(0, COUNT_MAX), .standard = "unlimited", POLICY(roots),
      .text = "Most tasks without a parent that have begun and are not final." },

    { .key = "limiter.max_running", CAP(0, COUNT_MAX), .standard = "10",
      POLICY(limiter.max_running),
      .text = "Most runs at once on a provider account that says nothing else." },
    { .key = "limiter.initial_s", SPAN_S(0), .standard = "5", POLICY(limiter.initial),
      .text = "Pause after the first rate limit; it doubles with each further one." },
    { .key = "limiter.max_s", SPAN_S(0), .standard = "120", POLICY(limiter.max),
      .text = "Longest pause, unless the provider names a later time." },
    { .key = "limiter.recovery_s", SPAN_S(0), .standard = "30", POLICY(limiter.recovery),
      .text = "Time from one place to all of them after a pause; 0: all at once." },
    { .key = "limiter.probe", BOOLEAN, .standard = "true", POLICY(limiter.probe),
      .text = "Whether one run goes alone after a pause until it succeeds." },
    { .key = "limiter.any_success", BOOLEAN, .standard = "false", POLICY(limiter.any_success),
      .text = "Whether any success ends the pause and any limit prolongs it, even of a run that "
              "started before." },
    { .key = "limiter.margin_s", SPAN_S(0), .standard = "30",
      .text = "Added to the time at which a provider says that an account can be used again; they are "
              "often early." },
    { .key = "limiter.jitter_s", SPAN_S(0), .standard = "30",
      .text = "Up to so much more, another for each task." },
    { .key = "limiter.max_wait_s", SPAN_S(SECONDS(1)), .flags = SETTING_OR_NEVER,
      .standard = "never",
      .text = "An account that would be limited for longer than this, counted from the first limit "
              "after its last success, is closed until a person clears it; never: it is waited for, "
              "however long it takes." },

    { .key = "score.base", WHOLE(-SCORE_MAX, SCORE_MAX), .standard = "100", POLICY(score.base),
      .text = "Score of a task whose kind has no `base`; higher starts first." },
    { .key = "score.age_per_minute", WHOLE(0, SCORE_MAX), .standard = "1",
      POLICY(score.age_per_minute),
      .text = "Added for each whole minute since the task was created." },
    { .key = "score.age_max", WHOLE(0, SCORE_MAX), .standard = "50", POLICY(score.age_max),
      .text = "Most that age adds." },
    { .key = "score.per_depth", WHOLE(0, 10000), .standard = "10", POLICY(score.per_depth),
      .text = "Added for each parent above the task." },
    { .key = "score.per_retry", WHOLE(0, 10000), .standard = "5", POLICY(score.per_retry),
      .text = "Taken off for each iteration after the first." },
    { .key = "score.retry_max", WHOLE(0, SCORE_MAX), .standard = "30", POLICY(score.retry_max),
      .text = "Most that iterations take off." },

    { .key = "fair.mode", CHOICE(fair_modes), .standard = "reserve", POLICY(fair),
      .text = "How shares are counted: not at all, with an estimate for each live run, or only by "
              "what runs reported." },
    { .key = "fair.window_h", SPAN_H(MINUTES(6)), .standard = "24", POLICY(fair_window),
      .text = "The rolling window in which tokens, money, starts and completions count." },
    { .key = "fair.guarantee", CHOICE(guarantees), .standard = "start", POLICY(guarantee),
      .text = "Which projects `order: guarantee` puts first: none, those without a start in the "
              "window, or those without a completion." },
    { .key = "fair.run_tokens", WHOLE(0, TOKENS_MAX), .standard = "10000", POLICY(run_tokens),
      .text = "Estimate of a run while no project has reported any." },

    { .key = "retry.unfinished.max", CAP(0, RETRIES_MAX), .standard = "100",
      POLICY(retry[RETRY_UNFINISHED].max),
      .text = "Restarts of a task that ended well but is not done; see `loop.count`." },
    { .key = "retry.unfinished.delay_s", SPAN_S(0), .standard = "1",
      POLICY(retry[RETRY_UNFINISHED].delay), .text = "Pause before the first restart." },
    { .key = "retry.unfinished.factor", DECIMAL(1000, 100000), .standard = "1",
      POLICY(retry[RETRY_UNFINISHED].factor_milli),
      .text = "Each further pause is this many times the one before." },
    { .key = "retry.unfinished.cap_s", SPAN_S(0), .standard = "1",
      POLICY(retry[RETRY_UNFINISHED].cap),
      .text = "Longest pause; never less than `retry.unfinished.delay_s`." },
    { .key = "retry.unfinished.jitter", DECIMAL(0, 1000), .standard = "0",
      POLICY(retry[RETRY_UNFINISHED].jitter_milli),
      .text = "The pause varies by this part of itself in both directions." },
    { .key = "retry.failed.max", CAP(0, RETRIES_MAX), .standard = "5",
      POLICY(retry[RETRY_FAILED].max),
      .text = "Retries after the first failed run; a time-out counts here too." },
    { .key = "retry.failed.delay_s", SPAN_S(0), .standard = "30",
      POLICY(retry[RETRY_FAILED].delay), .text = "Pause before the first retry." },
    { .key = "retry.failed.factor", DECIMAL(1000, 100000), .standard = "2",
      POLICY(retry[RETRY_FAILED].factor_milli),
      .text = "Each further pause is this many times the one before." },
    { .key = "retry.failed.cap_s", SPAN_S(0), .standard = "300", POLICY(retry[RETRY_FAILED].cap),
      .text = "Longest pause; never less than `retry.failed.delay_s`." },
    { .key = "retry.failed.jitter", DECIMAL(0, 1000), .standard = "0.1",
      POLICY(retry[RETRY_FAILED].jitter_milli),
      .text = "The pause varies by this part of itself in both directions." },
    { .key = "retry.launch.as", CHOICE(launch_as), .standard = "launch", POLICY(launch_is_failed),
      .text = "Whether a run that could not be launched counts for the breaker, or as a failed "
              "run." },
    { .key = "retry.launch.delay_s", SPAN_S(0), .standard = "0",
      POLICY(retry[RETRY_LAUNCH].delay),
      .text = "Pause before a failed launch is tried again; how often: `breaker.max`." },
    { .key = "retry.lost.max", CAP(0, RETRIES_MAX), .standard = "3", POLICY(retry[RETRY_LOST].max),
      .text = "Retries after a run was lost, with `lost: requeue`." },
    { .key = "retry.lost.delay_s", SPAN_S(0), .standard = "0", POLICY(retry[RETRY_LOST].delay),
      .text = "Pause before the first retry." },
    { .key = "retry.lost.factor", DECIMAL(1000, 100000), .standard = "1",
      POLICY(retry[RETRY_LOST].factor_milli),
      .text = "Each further pause is this many times the one before." },
    { .key = "retry.lost.cap_s", SPAN_S(0), .standard = "0", POLICY(retry[RETRY_LOST].cap),
      .text = "Longest pause; never less than `retry.lost.delay_s`." },
    { .key = "retry.lost.jitter", DECIMAL(0, 1000), .standard = "0",
      POLICY(retry[RETRY_LOST].jitter_milli),
      .text = "The pause varies by this part of itself in both directions." },

    { .key = "retry.same_text", WHOLE(0, RETRIES_MAX), .standard = "0",
      .text = "A task whose runs fail so many times in a row with the same message is given up; 0: "
              "the message does not matter." },

    { .key = "loop.count", CHOICE(loop_counts), .standard = "restarts", POLICY(count_launches),
      .text = "What `retry.unfinished.max` counts: restarts after the first run, or launches in "
              "all." },
    { .key = "loop.failed", CHOICE(loop_failed), .standard = "failed",
      POLICY(failed_is_unfinished),
      .text = "What a non-zero exit of a task with `until` done or validate is: a failed run, or "
              "one more unfinished iteration." },
    { .key = "loop.prefix", TEXT(NULL), .standard = "",
      .text = "Put before the prompt of every attempt but the first." },
    { .key = "loop.feedback", CHOICE(loop_feedback), .standard = "prompt",
      .text = "How an iteration is told what was wrong with the one before: behind its prompt, or "
              "only in the file that SLUICE_FEEDBACK names." },
    { .key = "loop.stuck_iterations", WHOLE(0, RETRIES_MAX), .standard = "0",
      .text = "A task whose iterations leave its git work tree as it was so many times in a row is "
              "given up; 0: never." },

    { .key = "spawn.tasks", WHOLE(0, 10000), .standard = "1000",
      .text = "Most tasks in one `spawn` file." },
    { .key = "spawn.depth", WHOLE(0, 1000), .standard = "16",
      .text = "How deep below a task without a parent others may be spawned." },

    { .key = "capability.depth", WHOLE(0, 1000), .standard = "2",
      .text = "How many levels of tasks runs may add below one that a person has added; 0: none." },
    { .key = "capability.children", WHOLE(0, 10000), .standard = "20",
      .text = "Most tasks that runs may add below one that a person has added, all levels together." },
    { .key = "capability.running", WHOLE(1, 10000), .standard = "5",
      .text = "Most children of one task that run at once, of those that its runs have added." },
    { .key = "capability.tokens", CAP(0, TOKENS_MAX), .standard = "unlimited",
      .text = "Tokens that the children of a task which a person has added may be given, when they are "
              "added by its runs; each takes its `tokens`, or `fair.run_tokens`, from its parent's." },
    { .key = "capability.usd", MONEY, .standard = "unlimited",
      .text = "Dollars that these children may be given; with it each must say its `usd`, which is taken "
              "from its parent's." },
    { .key = "capability.commands", BOOLEAN, .flags = SETTING_LOCAL, .standard = "false",
      .text = "Whether tasks that runs add may name a command, and not only an agent." },

    { .key = "breaker.max", CAP(1, RETRIES_MAX), .standard = "3", POLICY(retry[RETRY_LAUNCH].max),
      .text = "The launch failure in a row that opens a task's breaker." },
    { .key = "breaker.reset_s", SPAN_S(0), .flags = SETTING_OR_NEVER, .standard = "1800",
      POLICY(breaker.reset),
      .text = "How long an open breaker holds the task before one more attempt; never: the task "
              "fails instead." },
    { .key = "breaker.reset_max_s", SPAN_S(0), .standard = "86400", POLICY(breaker.reset_max),
      .text = "The time doubles with each opening, up to here." },
    { .key = "breaker.agent_max", CAP(1, RETRIES_MAX), .standard = "5", POLICY(breaker.agent_max),
      .text = "Launch failures in a row, of any tasks, that close an agent for a while." },

    { .key = "pace.batch", CAP(1, COUNT_MAX), .standard = "unlimited", POLICY(pace.batch),
      .text = "Most starts per tick." },
    { .key = "pace.spawn_delay_s", SPAN_S(0), .standard = "0", POLICY(pace.spawn_delay),
      .text = "Pause between two starts." },
    { .key = "pace.tick_s", SPAN_S(0), .standard = "0", POLICY(pace.tick),
      .text = "Time from one tick to the next while something waits; 0: every decision is one." },

    { .key = "queue.soft", CAP(0, COUNT_MAX), .flags = SETTING_OR_AUTO, .standard = "100000",
      POLICY(queue.soft),
      .text = "Waiting tasks from which a new one comes with a warning; auto: 4 times "
              "`limits.runs`, at least 8." },
    { .key = "queue.hard", CAP(0, COUNT_MAX), .flags = SETTING_OR_AUTO, .standard = "2000000",
      POLICY(queue.hard),
      .text = "Waiting tasks from which a new one is not taken; auto: twice `queue.soft`." },

    { .key = "host.disk_free_gb", .type = SETTING_DECIMAL, .unit = 1000, .max = COUNT_MAX,
      .standard = "5", POLICY(host.disk_min_mb),
      .text = "Nothing starts with less disk free than this; 0: not looked at." },
    { .key = "host.memory_free_mb", WHOLE(0, COUNT_MAX), .standard = "0",
      POLICY(host.memory_min_mb),
      .text = "Nothing starts with less memory free than this; 0: not looked at." },
    { .key = "host.load", DECIMAL(0, COUNT_MAX), .standard = "0", POLICY(host.load_max_milli),
      .text = "Nothing starts while the load of the machine is above this; 0: not looked at." },

    { .key = "dependencies.on_failure", CHOICE(dependency_modes), .standard = "wait",
      POLICY(dependency_fails),
      .text = "What a task does when one that it depends on has failed: wait for its retry, or "
              "fail too." },

    { .key = "tasks.until", CHOICE(untils), .standard = "exit", POLICY(until),
      .text = "When a task is finished that says nothing else: exit code 0, its DONE marker, its "
              "checks, or someone closes it." },
    { .key = "tasks.parent_gate", CHOICE(parent_gates), .standard = "done", POLICY(parent_gate),
      .text = "Whether a child that says nothing else waits until its parent is done." },
    { .key = "tasks.parallelizable", BOOLEAN, .flags = SETTING_INVERTED, .standard = "true",
      POLICY(serial),
      .text = "Whether tasks that say nothing else may run beside others of the same project, "
              "phase and kind." },
    { .key = "tasks.timeout_s", SPAN_S(100), .flags = SETTING_OR_NEVER, .standard = "never",
      .text = "How long a run may take, whose task and agent say nothing else; then it is stopped "
              "and has failed." },
    { .key = "tasks.idle_timeout_s", SPAN_S(100), .flags = SETTING_OR_NEVER, .standard = "never",
      .text = "How long a run may go without any output; then it is stopped and has failed." },
    { .key = "tasks.grace_s", SPAN_S(0), .standard = "10",
      .text = "Time between the stop signal and KILL when a run is stopped." },
    { .key = "tasks.launch_s", SPAN_S(SECONDS(1)), .standard = "60",
      .text = "A run whose command was not seen to start within this time is a failed launch." },
    { .key = "tasks.run_tokens", CAP(0, TOKENS_MAX), .standard = "unlimited",
      .text = "Tokens that one run may use, whose task says nothing else; see `tasks.on_budget`." },
    { .key = "tasks.run_usd", MONEY, .standard = "unlimited",
      .text = "Dollars that one run may cost, whose task says nothing else." },
    { .key = "tasks.task_tokens", CAP(0, TOKENS_MAX), .standard = "unlimited",
      .text = "Tokens that all runs of a task may use, which says nothing else; retries count." },
    { .key = "tasks.task_usd", MONEY, .standard = "unlimited",
      .text = "Dollars that all runs of a task may cost, which says nothing else." },
    { .key = "tasks.on_budget", CHOICE(budget_modes), .standard = "hold",
      .text = "What happens when a run passes its own budget or its task's: it goes on to its end, or it "
              "is stopped. Either way its task is then held until somebody raises the budget." },
    { .key = "tasks.env", WORDS(&variable_form),
      .standard = "PATH HOME LANG LC_ALL TERM TZ USER LOGNAME SHELL",
      .text = "The variables that runs get from the environment of the daemon; no others." },
    { .key = "git.timeout_s", SPAN_S(SECONDS(1)), .standard = "300",
      .text = "How long one git command around a worktree may take, a merge may wait for other "
              "programs, and a `mr_command` may run." },
    { .key = "git.retries", WHOLE(0, 1000), .standard = "5",
      .text = "How often the merge of good work, its commit or its `mr_command` is tried again when it "
              "fails for another reason than a conflict; then its task fails, and its branch is kept." },
    { .key = "git.retry_s", SPAN_S(0), .standard = "5",
      .text = "Pause before the first of these; it doubles, up to 5 minutes." },
    { .key = "tasks.nice", WHOLE(0, 19), .standard = "0",
      .text = "How far runs stand back behind other programs for the processor; 0: not at all." },
    { .key = "tasks.memory_mb", WHOLE(0, MB_MAX), .standard = "0",
      .text = "Most memory of a run with all its processes; 0: no limit." },
    { .key = "tasks.processes", WHOLE(0, COUNT_MAX), .standard = "0",
      .text = "Most processes and threads of a run at once; 0: no limit." },

    { .key = "logs.head_mb", WHOLE(0, MB_MAX), .standard = "1",
      .text = "What is kept of the beginning of each log of a run." },
    { .key = "logs.tail_mb", WHOLE(1, MB_MAX), .standard = "16",
      .text = "What is kept of the end of each log of a run; the middle of a longer one goes." },

    { .key = "retention.days", SPAN_D(DAYS(1) / 100), .flags = SETTING_OR_NEVER, .standard = "30",
      .text = "How long finished tasks are kept with their runs and logs, and messages of projects; "
              "never: as many as `retention.tasks` says." },
    { .key = "retention.tasks", CAP(0, COUNT_MAX), .standard = "100000",
      .text = "Most finished tasks that are kept; the oldest go first." },

    { .key = "retention.low_disk_days", SPAN_D(0), .flags = SETTING_OR_NEVER,
      .standard = "7",
      .text = "How long finished tasks are kept while less disk is free than `host.disk_free_gb`; "
              "older ones go at once, to make room; 0: all of them, never: no earlier than otherwise." },

    { .key = "alerts.stuck_s", SPAN_S(0), .standard = "3600",
      .text = "A task that waits or runs for longer than this raises an alert, one for each gate "
              "and each run; 0: none does." },
    { .key = "alerts.notify", WORDS(NULL), .standard = "",
      .text = "The command that is run for each alert, and when it is over; it finds SLUICE_ALERT, "
              "SLUICE_ALERT_KEY, SLUICE_ALERT_TEXT and SLUICE_TASK in its environment. Nothing: "
              "none." },

    { .key = "log.level", CHOICE(log_levels), .standard = "info",
      .text = "How much the daemon says in its log; debug: every tick and every start." },
    { .key = "log.depth_s", SPAN_S(0), .standard = "30",
      .text = "How often the log tells how long the queue is, while something is in it and that "
              "has changed; 0: never." },

    { .key = "events.keep_days", SPAN_D(DAYS(1) / 100), .flags = SETTING_OR_NEVER,
      .standard = "30",
      .text = "How long events are kept; never: as many as `events.keep` says." },
    { .key = "events.keep", CAP(1000, COUNT_MAX), .standard = "10000000",
      .text = "Most events that are kept; the oldest go first." },

    { .key = "store.url", TEXT(&store_form), .standard = "",
      .text = "The database that keeps the tasks: the path of a file, or "
              "`postgresql://USER@HOST/DATABASE` (docs/postgresql.md); nothing: the file `sluice.db` "
              "in the home. A password does not belong here: `config show` prints it." },
    { .key = "store.min_free_mb", WHOLE(0, MB_MAX), .standard = "256",
      .text = "With less disk free than this new tasks are refused, so that the end of every run "
              "can still be written." },

    { .key = "groups.notify", WORDS(NULL), .standard = "",
      .text = "A command that is run when a group closes, with SLUICE_GROUP and the counts of its "
              "tasks in the environment; nothing: none." },
    { .key = "groups.notify_timeout_s", SPAN_S(SECONDS(1)), .standard = "60",
      .text = "How long that command may take; then it is killed." },

    { .key = "notify.events", WORDS(&news_form),
      .standard = "done failed limited needs-person group-finished",
      .text = "What people are told by `notify.webhook`, `notify.command` and `notify.desktop`." },
    { .key = "notify.webhook", TEXT(&webhook_form), .standard = "",
      .text = "Where it is posted to, as JSON, until that is acknowledged; nothing: nowhere. A "
              "password does not belong here: `config show` prints it." },
    { .key = "notify.secret_file", TEXT(&secret_file_form), .standard = "",
      .text = "The file with the secret that posts are signed with; it is read for each." },
    { .key = "notify.secret_env", TEXT(&secret_env_form), .standard = "",
      .text = "The variable of the daemon's environment with that secret, without such a file; "
              "nothing: posts are not signed." },
    { .key = "notify.timeout_s", SPAN_S(100), .standard = "10",
      .text = "How long one try to post may take." },
    { .key = "notify.retry_s", SPAN_S(100), .standard = "1",
      .text = "Pause before a post is tried again; it doubles with each further try." },
    { .key = "notify.retry_max_s", SPAN_S(100), .standard = "300", .text = "Longest pause." },
    { .key = "notify.give_up_s", SPAN_S(SECONDS(1)), .standard = "86400",
      .text = "How old what was not acknowledged becomes; then it is given up, with an alert." },
    { .key = "notify.https_command", WORDS(NULL), .standard = "curl",
      .text = "The program that posts to https, for the webhook and for otel.endpoint, with options; it "
              "must understand those of curl." },
    { .key = "notify.limited_s", SPAN_S(0), .standard = "60",
      .text = "How long the pause of an account must be for people to be told of it." },
    { .key = "notify.command", WORDS(NULL), .standard = "",
      .text = "The command that is run for each of them, with SLUICE_NOTIFY_KIND, "
              "SLUICE_NOTIFY_TEXT, SLUICE_TASK and others in its environment; nothing: none." },
    { .key = "notify.desktop", BOOLEAN, .standard = "false",
      .text = "Whether they are shown on the desktop, by notify-send." },

    { .key = "otel.listen", TEXT(&listen_form), .standard = "",
      .text = "Where agents that speak OpenTelemetry are heard, which tells what a run has cost "
              "while it goes on; nothing: nowhere. With port 0 any that is free." },
    { .key = "otel.endpoint", TEXT(&collector_form), .standard = "",
      .text = "The collector that gets metrics and a span for each run, by OTLP/HTTP; nothing: "
              "none does." },
    { .key = "otel.interval_s", SPAN_S(100), .standard = "30",
      .text = "How often it gets them, while there is anything new." },
    { .key = "otel.headers_file", TEXT(&secret_file_form), .standard = "",
      .text = "A file with headers for the collector, one `Name: value` on each line; it is read "
              "for each sending." },

    { .key = "http.listen", TEXT(&http_listen_form), .standard = "",
      .text = "Where clients with a token, and the dashboard, come in by TCP; nothing: nowhere. With "
              "port 0 any that is free. Other addresses than those of this machine alone need "
              "`http.tls_cert`." },
    { .key = "http.hosts", WORDS(&host_form), .standard = "",
      .text = "Further names by which clients may ask for this daemon, exactly as they write them, "
              "besides `localhost` and the address itself; there is no wildcard." },
    { .key = "http.tls_cert", TEXT(&secret_file_form), .standard = "",
      .text = "The file with the certificate, and those above it, in PEM; with it all of `http.listen` is "
              "TLS. It is read when listening begins." },
    { .key = "http.tls_key", TEXT(&secret_file_form), .standard = "",
      .text = "The file with its private key, in PEM; nothing: it is in the same file." },
    { .key = "http.session_h", SPAN_H(MINUTES(6)), .flags = SETTING_LOCAL, .standard = "24",
      .text = "How long a page that was opened by `sluice dash` stays signed in." },

    { .key = "cards.mirror", BOOLEAN, .standard = "false",
      .text = "Whether the state of a task that was imported from a card is written back to the "
              "card; an import may say it for its own cards." },

    { .key = "keys.keep_h", SPAN_H(MINUTES(6)), .standard = "24",
      .text = "How long the answer to a request is kept for a client that repeats it with the "
              "same idempotency key." },

    { .key = "bus.lifecycle", CHOICE(bus_modes), .standard = "off",
      .text = "What the daemon itself posts to the message bus: nothing; what was finished or has failed, "
              "to the bus of the project; or also every start, stop and wait, to the bus of the task." },

    { .key = "executor.cgroup", CHOICE(cgroup_modes), .standard = "auto",
      .text = "Whether each run gets a control group where the kernel allows it, or never; without "
              "one memory and processes are limited less well." },

#include "config/settings_daemon.inc"

    SETTINGS_SLURM
    { .key = "limits.resource.N", .section = SECTION_RESOURCES, CAP(0, COUNT_MAX),
      .standard = "unlimited",
      .text = "Most runs at once that need the resource N." },

    { .key = "kinds.K.base", WHOLE(-SCORE_MAX, SCORE_MAX), .inherits = "score.base", KIND(base),
      .text = "Score of tasks of kind K before age, depth and iterations; higher starts first." },
    { .key = "kinds.K.max_running", CAP(0, COUNT_MAX), .standard = "unlimited",
      KIND(max_running), .text = "Most runs of kind K at once." },
    { .key = "kinds.K.until", .section = SECTION_KINDS, CHOICE(untils), .inherits = "tasks.until",
      .text = "When a task of kind K is finished." },

    { .key = "limiters.L.max_running", CAP(0, COUNT_MAX), .inherits = "limiter.max_running",
      LIMITER(max_running), .text = "Most runs at once on the provider account L." },
    { .key = "limiters.L.initial_s", SPAN_S(0), .inherits = "limiter.initial_s", LIMITER(initial),
      .text = "Pause after the first rate limit; it doubles with each further one." },
    { .key = "limiters.L.max_s", SPAN_S(0), .inherits = "limiter.max_s", LIMITER(max),
      .text = "Longest pause, unless the provider names a later time." },
    { .key = "limiters.L.recovery_s", SPAN_S(0), .inherits = "limiter.recovery_s",
      LIMITER(recovery),
      .text = "Time from one place to all of them after a pause; 0: all at once." },
    { .key = "limiters.L.probe", BOOLEAN, .inherits = "limiter.probe", LIMITER(probe),
      .text = "Whether one run goes alone after a pause until it succeeds." },
    { .key = "limiters.L.max_wait_s", .section = SECTION_LIMITERS, SPAN_S(SECONDS(1)),
      .flags = SETTING_OR_NEVER, .inherits = "limiter.max_wait_s",
      .text = "How long account L may be limited before it is closed until a person clears it." },
    { .key = "limiters.L.any_success", BOOLEAN, .inherits = "limiter.any_success",
      LIMITER(any_success),
      .text = "Whether any success ends the pause and any limit prolongs it." },

    { .key = "agents.A.slots", CAP(0, COUNT_MAX), .standard = "unlimited", AGENT(slots),
      .text = "Most runs of agent A at once." },
    { .key = "agents.A.limiter", .section = SECTION_AGENTS, .type = SETTING_NAME, .standard = "",
      .text = "The provider account that agent A uses; without one it uses no API. It needs no "
              "section of its own." },
    { .key = "agents.A.failover", .section = SECTION_AGENTS, WORDS(NULL), .standard = "",
      .text = "Agents that take the tasks of agent A, in this order, while it is closed: its account is "
              "limited or closed, or it cannot be launched. Not those with an `argv` or a limiter of "
              "their own; never with a roster." },
    { .key = "agents.A.roster", BOOLEAN, .standard = "false", AGENT(roster),
      .text = "Whether agent A is one worker that is idle or not, to which tasks are given." },
    { .key = "agents.A.command", .section = SECTION_AGENTS, WORDS(NULL), .standard = "",
      .text = "The command line of agent A; the word `{prompt}` in it stands for the prompt, or "
              "with `prompt: file` for the path of a file that holds it; `{session}`, also inside a word, for the id "
              "of a new session." },
    { .key = "agents.A.resume_command", .section = SECTION_AGENTS, WORDS(NULL), .standard = "",
      .text = "The command line of agent A when it goes on with an earlier session, if it has a `command` "
              "of its own; `{session}`, also inside a word, stands for the id of the session. Without it "
              "such an agent begins afresh." },
    { .key = "agents.A.prompt", .section = SECTION_AGENTS, CHOICE(prompt_modes),
      .standard = "stdin",
      .text = "How agent A gets the prompt: on its standard input; as an argument, in place of "
              "`{prompt}` or else as the last word; or as the path of a file, in place of "
              "`{prompt}`." },
    { .key = "agents.A.adapter", .section = SECTION_AGENTS, TEXT(&word_form),
      .standard = "plain",
      .text = "Who reads what agent A prints for tokens, cost, rate limits and its result: claude, "
              "codex, gemini, opencode, copilot, claude-stream; plain: nobody. An agent that is called "
              "like one of the first five and has no command of its own has the adapter and the account "
              "of its name." },
    { .key = "agents.A.model", .section = SECTION_AGENTS, TEXT(NULL), .standard = "",
      .text = "The model that agent A is told to use, when its adapter makes its command; nothing: "
              "its own choice." },
    { .key = "agents.A.args", .section = SECTION_AGENTS, WORDS(NULL), .standard = "",
      .text = "Further words of the command of agent A, when its adapter makes it." },
    { .key = "agents.A.resume", .section = SECTION_AGENTS, CHOICE(resume_modes),
      .standard = "auto",
      .text = "Whether the next attempt goes on with the session of the last one after a limit, a crash "
              "or a restart, where agent A can; never: each attempt starts afresh." },
    { .key = "agents.A.linger_s", .section = SECTION_AGENTS, SPAN_S(0), .flags = SETTING_OR_NEVER,
      .standard = "30",
      .text = "How long a run of agent A may stay after it has printed its result; then it is asked to "
              "stop, and counts as its result says." },
    { .key = "agents.A.stop_signal", .section = SECTION_AGENTS, CHOICE(stop_signals),
      .standard = "TERM",
      .text = "The signal that asks a run of agent A to stop; not set: as its adapter knows it." },
    { .key = "agents.A.env", .section = SECTION_AGENTS, WORDS(&pair_form), .standard = "",
      .text = "Variables that runs of agent A get besides those of `tasks.env`." },
    { .key = "agents.A.timeout_s", .section = SECTION_AGENTS, SPAN_S(100),
      .flags = SETTING_OR_NEVER, .inherits = "tasks.timeout_s",
      .text = "How long a run of agent A may take, whose task says nothing else." },
    SETTINGS_SLURM_AGENT
    { .key = "projects.P.weight", DECIMAL(0, COUNT_MAX), .standard = "1", PROJECT(weight_milli),
      .text = "Share of project P among the projects that have work." },
    { .key = "projects.P.max_running", CAP(0, COUNT_MAX), .standard = "unlimited",
      PROJECT(max_running), .text = "Most runs of project P at once." },
    { .key = "projects.P.budget", CAP(0, TOKENS_MAX), .standard = "unlimited", PROJECT(budget),
      .text = "Tokens that project P may use in the window of `fair.window_h`." },
    { .key = "projects.P.budget_usd", .section = SECTION_PROJECTS, MONEY, .standard = "unlimited",
      .text = "Dollars that project P may spend in the window of `fair.window_h`." },
    { .key = "projects.P.run_tokens", .section = SECTION_PROJECTS, CAP(0, TOKENS_MAX),
      .inherits = "tasks.run_tokens", .text = "Tokens that one run in project P may use." },
    { .key = "projects.P.run_usd", .section = SECTION_PROJECTS, MONEY, .inherits = "tasks.run_usd",
      .text = "Dollars that one run in project P may cost." },
    { .key = "projects.P.task_tokens", .section = SECTION_PROJECTS, CAP(0, TOKENS_MAX),
      .inherits = "tasks.task_tokens", .text = "Tokens that all runs of a task in P may use." },
    { .key = "projects.P.task_usd", .section = SECTION_PROJECTS, MONEY, .inherits = "tasks.task_usd",
      .text = "Dollars that all runs of a task in project P may cost." },
    { .key = "projects.P.on_budget", .section = SECTION_PROJECTS, CHOICE(budget_modes),
      .inherits = "tasks.on_budget", .text = "As `tasks.on_budget`, for project P." },
    { .key = "projects.P.active", BOOLEAN, .standard = "true", PROJECT(active),
      .text = "Whether project P takes part at all." },
    { .key = "projects.P.paused", BOOLEAN, .standard = "false", PROJECT(paused),
      .text = "Whether project P starts nothing for now." },
    { .key = "projects.P.coordination", .section = SECTION_PROJECTS, BOOLEAN, .standard = "false",
      .text = "Whether project P only coordinates the others: its tasks are never slung or "
              "imported, but skipped with a warning." },
    { .key = "projects.P.workspaces", CAP(0, COUNT_MAX), .standard = "unlimited",
      PROJECT(workspaces), .text = "Number of workspaces that project P has." },
    { .key = "projects.P.workspace_mode", CHOICE(workspace_modes), .standard = "pool",
      PROJECT(workspaces_kept),
      .text = "Where tasks of project P work. pool: a run has one of `workspace_paths` to itself, "
              "or, without any, the folder of its task or project. worktree: each task has a git "
              "worktree of its own of the repository in `path`." },
    { .key = "projects.P.workspace_paths", .section = SECTION_PROJECTS, WORDS(&paths_form),
      .standard = "",
      .text = "The folders of the pool of project P; as many runs at once as there are." },
    { .key = "projects.P.base_branch", .section = SECTION_PROJECTS, TEXT(&branch_form),
      .standard = "",
      .text = "The branch that worktrees of project P come from and that work is merged into; "
              "nothing: what its repository has checked out." },
    { .key = "projects.P.merge", .section = SECTION_PROJECTS, CHOICE(merges), .standard = "none",
      .text = "What is done with the good work of a worktree of project P, when its task says "
              "nothing else. none: nothing; local: committed on its branch; direct: merged into the "
              "base branch; mr: handed to `mr_command`." },
    { .key = "projects.P.mr_command", .section = SECTION_PROJECTS, WORDS(NULL), .standard = "",
      .text = "The command that asks for a merge in project P, with {branch}, {base}, {id} and "
              "{title} filled in; it runs in the worktree." },
    { .key = "projects.P.review", CAP(0, COUNT_MAX), .standard = "unlimited", PROJECT(review),
      .text = "Most tasks of project P that are at work for, or wait for, a review." },
    { .key = "projects.P.path", .section = SECTION_PROJECTS, TEXT(&path_form), .standard = "",
      .text = "The folder in which tasks of project P run that say nothing else." },
    { .key = "projects.P.prefix", .section = SECTION_PROJECTS, TEXT(&prefix_form),
      .standard = "",
      .text = "What the ids of the tasks of project P begin with: web in web-17; nothing: made "
              "from the project's name." },
    SETTINGS_SLURM_PROJECT
    { .key = "prices.M.in", .section = SECTION_PRICES, DECIMAL(0, COUNT_MAX), .standard = "0",
      .text = "US dollars for a million tokens sent to the model M, for agents that report no money; "
              "without this and `out` the cost stays unknown." },
    { .key = "prices.M.out", .section = SECTION_PRICES, DECIMAL(0, COUNT_MAX), .standard = "0",
      .text = "The same for tokens that the model M has written." },
    { .key = "prices.M.cached", .section = SECTION_PRICES, DECIMAL(0, COUNT_MAX), .standard = "0",
      .text = "The same for sent tokens that came from a cache; not set: as `in`." },
};
/* clang-format on */

const size_t settings_count = ARRAY_SIZE(settings);
