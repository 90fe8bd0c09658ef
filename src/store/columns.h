/* columns.h: the columns of every table, defined once. Included by store.h.
 *
 * These lists generate the tables of a new database, the columns that a migration adds, the
 * statements, their values, reading, copying and comparing rows (row_type.h, sql.h), and what
 * counts as a user-visible change (engine/rows.c).
 *
 * X(r, since, name, type, place, member, usual, flags)
 *   r       the type of the row, passed on
 *   since   the schema version that added it
 *   name    in SQL
 *   type    NUMBER: an integer. SMALL: one that fits 32 bits, whatever its C type. BOOL. TEXT.
 *           SIZED: a text whose size_t follows it in the struct. NAME: a text that many rows share,
 *           stored as its number in the table `name`. WORD(LIST): an enum, stored as the number of
 *           its word. FLAGS, FINAL, DAYS: see row_type.h
 *   place   ROW: a member of the row. SPEC: of its `spec`. BOTH: of both; a text is a symbol in
 *           `spec`. SAME: a member that another column also has. NONE: the statement computes it
 *   member  in C
 *   usual   for a number: its value in rows of older versions, and in a task without progress
 *   flags   enum column_flag
 *
 * To add a column: a member in rows.h, or in the core's struct of `spec`; one line at the end
 * of its list here, with the next version as `since`; set STORE_VERSION to that version. A member
 * without a line does not compile (row_type.c), nor does a line of a future version. See also
 * CONTRIBUTING.md. */
#pragma once

#define STORE_VERSION 9u /* of the schema */

enum column_flag {
    COLUMN_ID = 1,         /* the primary key */
    COLUMN_KEY = 2,        /* a part of the primary key */
    COLUMN_FIXED = 4,      /* an existing row keeps its value */
    COLUMN_SUM = 8,        /* the new value is added to the existing one */
    COLUMN_SEEN = 16,      /* user-visible: a change updates the task's changed_at */
    COLUMN_AGE = 32,       /* updated when a user-visible column changes */
    COLUMN_OPTIONAL = 64,  /* 0 is stored as NULL */
    COLUMN_REQUIRED = 128, /* a text that is never NULL */
    COLUMN_VARIES = 256,   /* usually differs between the rows of a batch */
    COLUMN_INDEXED = 512,  /* a text compared by an index, bytewise */
    COLUMN_DERIVED = 1024, /* not a member of the row: the statement computes it */
};

/* clang-format off */

#define TASK_COLUMNS(X, r)                                                                        \
    X(r, 1, number,           NUMBER,            BOTH, id,               0, COLUMN_ID | COLUMN_VARIES) \
    X(r, 1, project,          NAME,              BOTH, project,          0, COLUMN_FIXED)            \
    X(r, 1, created_at,       NUMBER,            SPEC, created_at,       0, COLUMN_FIXED)            \
    X(r, 1, kind,             NAME,              BOTH, kind,             0, COLUMN_SEEN)             \
    X(r, 1, agent,            NAME,              BOTH, agent,            0, COLUMN_SEEN)             \
    X(r, 1, limiter,          NAME,              BOTH, limiter,          0, COLUMN_SEEN)             \
    X(r, 1, workspace,        TEXT,              BOTH, workspace,        0, COLUMN_SEEN)             \
    X(r, 1, serial,           TEXT,              BOTH, serial,           0, COLUMN_SEEN)             \
    X(r, 1, resources,        TEXT,              ROW,  resources,        0, COLUMN_FIXED)            \
    X(r, 1, state,            WORD(STATE),       SPEC, state,            0, COLUMN_SEEN)             \
    X(r, 1, reason,           WORD(REASON),      BOTH, reason,           0, COLUMN_SEEN)             \
    X(r, 1, changed_at,       NUMBER,            ROW,  changed_at,       0, COLUMN_AGE)              \
    X(r, 1, final_at,         FINAL,             SAME, changed_at,       0, COLUMN_AGE)              \
    X(r, 1, priority,         NUMBER,            SPEC, priority,         0, COLUMN_SEEN)             \
    X(r, 1, parent,           NUMBER,            SPEC, parent,           0, COLUMN_SEEN)             \
    X(r, 1, parent_iteration, NUMBER,            SPEC, parent_iteration, 0, 0)                       \
    X(r, 1, ready_since,      NUMBER,            SPEC, ready_since,      0, 0)                       \
    X(r, 1, ready_clock,      NUMBER,            SPEC, ready_clock,      0, 0)                       \
    X(r, 1, until,            WORD(UNTIL),       SPEC, until,            0, 0)                       \
    X(r, 1, parent_gate,      WORD(PARENT_GATE), SPEC, parent_gate,      0, 0)                       \
    X(r, 1, flags,            FLAGS,             SAME, spec,             0, 0)                       \
    X(r, 1, retry_max,        NUMBER,            SPEC, retry_max,        0, COLUMN_SEEN)             \
    X(r, 1, grp,              NUMBER,            SPEC, group,            0, COLUMN_SEEN)

/* Names of a task, which are texts in its row and symbols in `spec`: X(member). */
#define TASK_SYMBOLS(X) TASK_COLUMNS(TASK_SYMBOL, X) PROGRESS_COLUMNS(TASK_SYMBOL, X)
#define TASK_SYMBOL(X, since, name, type, place, member, usual, flags)                            \
    TASK_SYMBOL_##type(X, place, member)
#define TASK_SYMBOL_NAME(X, place, member)   TASK_SYMBOL_##place(X, member)
#define TASK_SYMBOL_TEXT(X, place, member)   TASK_SYMBOL_##place(X, member)
#define TASK_SYMBOL_NUMBER(X, place, member)
#define TASK_SYMBOL_SMALL(X, place, member)
#define TASK_SYMBOL_FLAGS(X, place, member)
#define TASK_SYMBOL_FINAL(X, place, member)
#define TASK_SYMBOL_WORD(list)               TASK_SYMBOL_NUMBER
#define TASK_SYMBOL_BOTH(X, member)          X(member)
#define TASK_SYMBOL_ROW(X, member)

/* Boolean members of a task, and what it keeps, are bits of its `flags`: X(member, bit, most). The
 * bits are stored: a new member gets a new bit. */
#define TASK_FLAGS(X)                                                                             \
    X(parallelizable, 1, 1)                                                                       \
    X(review, 2, 1)                                                                               \
    X(artifact_missing, 4, 1)                                                                     \
    X(run_unlimited, 8, 1)                                                                        \
    X(keeps, 16, KEEP_ALL)                                                                        \
    X(bound, 256, 1)                                                                              \
    X(probe_closed, 512, 1)

/* Only for tasks with progress: a separate table in SQLite, NULL for the usual value in
 * PostgreSQL. */
#define PROGRESS_COLUMNS(X, r)                                                                    \
    X(r, 1, task,             NUMBER,            SAME, id,               0, COLUMN_ID)               \
    X(r, 1, iteration,        NUMBER,            SPEC, iteration,        1, COLUMN_SEEN)             \
    X(r, 1, attempt,          NUMBER,            SPEC, attempt,          0, COLUMN_SEEN)             \
    X(r, 1, hold,             WORD(HOLD),        SPEC, hold,             0, COLUMN_SEEN)             \
    X(r, 1, not_before,       NUMBER,            SPEC, not_before,       0, COLUMN_SEEN)             \
    X(r, 1, phase,            WORD(PHASE),       SPEC, phase,            0, 0)                       \
    X(r, 1, started_at,       NUMBER,            SPEC, started_at,       0, 0)                       \
    X(r, 1, stop,             WORD(STOP),        SPEC, stop,             0, 0)                       \
    X(r, 1, run_agent,        NAME,              BOTH, run_agent,        0, 0)                       \
    X(r, 1, run_limiter,      NAME,              BOTH, run_limiter,      0, 0)                       \
    X(r, 1, failures,         NUMBER,            SPEC, failures,         0, 0)                       \
    X(r, 1, launch_failures,  NUMBER,            SPEC, launch_failures,  0, 0)                       \
    X(r, 1, losses,           NUMBER,            SPEC, losses,           0, 0)                       \
    X(r, 1, restarts,         NUMBER,            SPEC, restarts,         0, 0)                       \
    X(r, 1, breaker_openings, NUMBER,            SPEC, breaker_openings, 0, 0)                       \
    X(r, 7, lender,           NUMBER,            SPEC, lender,           0, 0)                       \
    X(r, 7, borrowed,         SMALL,             SPEC, borrowed,         0, 0)

#define SPEC_COLUMNS(X, r)                                                                        \
    X(r, 1, number,           NUMBER,            ROW,  id,               0, COLUMN_ID | COLUMN_VARIES) \
    X(r, 1, project,          NAME,              NONE, project,          0, COLUMN_DERIVED)          \
    X(r, 1, external_id,      TEXT,              ROW,  external_id,      0, COLUMN_INDEXED)          \
    X(r, 1, title,            TEXT,              ROW,  title,            0, COLUMN_VARIES)           \
    X(r, 1, json,             SIZED,             ROW,  json,             0, COLUMN_VARIES)           \
    X(r, 4, context,          TEXT,              ROW,  context,          0, 0)

#define RUN_COLUMNS(X, r)                                                                         \
    X(r, 1, task,             NUMBER,            ROW,  task,             0, COLUMN_KEY)              \
    X(r, 1, attempt,          NUMBER,            ROW,  attempt,          0, COLUMN_KEY)              \
    X(r, 1, iteration,        NUMBER,            ROW,  iteration,        0, 0)                       \
    X(r, 1, agent,            NAME,              ROW,  agent,            0, 0)                       \
    X(r, 1, executor,         NAME,              ROW,  executor,         0, 0)                       \
    X(r, 1, host,             NAME,              ROW,  host,             0, 0)                       \
    X(r, 1, boot_id,          NAME,              ROW,  boot_id,          0, 0)                       \
    X(r, 1, folder,           TEXT,              ROW,  folder,           0, 0)                       \
    X(r, 1, phase,            WORD(PHASE),       ROW,  phase,            0, 0)                       \
    X(r, 1, ended,            BOOL,              ROW,  ended,            0, 0)                       \
    X(r, 1, ordered_at,       NUMBER,            ROW,  ordered_at,       0, 0)                       \
    X(r, 1, started_at,       NUMBER,            ROW,  started_at,       0, 0)                       \
    X(r, 1, ended_at,         NUMBER,            ROW,  ended_at,         0, 0)                       \
    X(r, 1, outcome,          WORD(OUTCOME),     ROW,  outcome,          0, 0)                       \
    X(r, 1, how,              NAME,              ROW,  how,              0, 0)                       \
    X(r, 1, exit_code,        NUMBER,            ROW,  exit_code,        0, 0)                       \
    X(r, 1, exit_signal,      NUMBER,            ROW,  exit_signal,      0, 0)                       \
    X(r, 1, tokens_in,        NUMBER,            ROW,  tokens_in,        0, 0)                       \
    X(r, 1, tokens_out,       NUMBER,            ROW,  tokens_out,       0, 0)                       \
    X(r, 1, cost_micro_usd,   NUMBER,            ROW,  cost_micro_usd,   0, 0)                       \
    X(r, 1, applied,          TEXT,              ROW,  applied,          0, 0)                       \
    X(r, 1, message,          TEXT,              ROW,  message,          0, 0)                       \
    X(r, 5, limited_until,    NUMBER,            ROW,  limited_until,    0, 0)                       \
    X(r, 5, stop_now,         BOOL,              ROW,  stop_now,         0, 0)                       \
    X(r, 6, token_hash,       TEXT,              ROW,  token_hash,       0, 0)                       \
    X(r, 6, tokens_cached,    NUMBER,            ROW,  tokens_cached,   -1, 0)                       \
    X(r, 6, session,          TEXT,              ROW,  session,          0, 0)                       \
    X(r, 6, resumed,          BOOL,              ROW,  resumed,          0, 0)                       \
    X(r, 6, model,            NAME,              ROW,  model,            0, 0)                       \
    X(r, 6, said,             NAME,              ROW,  result,           0, 0)                       \
    X(r, 8, shim_key,         TEXT,              ROW,  shim_key,         0, 0)                       \
    X(r, 8, shim_pid,         NUMBER,            ROW,  shim_pid,         0, 0)                       \
    X(r, 8, shim_start,       NUMBER,            ROW,  shim_start,       0, 0)                       \
    X(r, 8, shim_space,       NUMBER,            ROW,  shim_space,       0, 0)                       \
    X(r, 8, cgroup,           TEXT,              ROW,  cgroup,           0, 0)

#define EVENT_COLUMNS(X, r)                                                                       \
    X(r, 1, seq,              NUMBER,            ROW,  seq,              0, COLUMN_ID | COLUMN_VARIES) \
    X(r, 1, at,               NUMBER,            ROW,  at,               0, 0)                       \
    X(r, 1, kind,             NAME,              ROW,  kind,             0, 0)                       \
    X(r, 1, task,             NUMBER,            ROW,  task,             0, COLUMN_OPTIONAL | COLUMN_VARIES) \
    X(r, 1, attempt,          NUMBER,            ROW,  attempt,          0, 0)                       \
    X(r, 1, data,             TEXT,              ROW,  data,             0, 0)

#define PROJECT_COLUMNS(X, r)                                                                     \
    X(r, 1, name,             TEXT,              ROW,  name,             0, COLUMN_ID)               \
    X(r, 1, prefix,           TEXT,              ROW,  prefix,           0, COLUMN_FIXED | COLUMN_REQUIRED) \
    X(r, 1, paused,           BOOL,              ROW,  paused,           0, 0)                       \
    X(r, 1, created_at,       NUMBER,            ROW,  created_at,       0, COLUMN_FIXED)            \
    X(r, 2, paused_by,        NAME,              ROW,  paused_by,        0, 0)                       \
    X(r, 2, paused_at,        NUMBER,            ROW,  paused_at,        0, 0)

#define GROUP_COLUMNS(X, r)                                                                       \
    X(r, 1, id,               NUMBER,            ROW,  id,               0, COLUMN_ID)               \
    X(r, 1, name,             TEXT,              ROW,  name,             0, COLUMN_REQUIRED)         \
    X(r, 1, owned,            BOOL,              ROW,  owned,            0, 0)                       \
    X(r, 1, closed,           BOOL,              ROW,  closed,           0, 0)                       \
    X(r, 1, created_at,       NUMBER,            ROW,  created_at,       0, 0)                       \
    X(r, 1, closed_at,        NUMBER,            ROW,  closed_at,        0, 0)

#define LIMITER_COLUMNS(X, r)                                                                     \
    X(r, 1, name,             NAME,              ROW,  name,             0, COLUMN_ID)               \
    X(r, 1, backoff_until,    NUMBER,            SPEC, backoff_until,    0, 0)                       \
    X(r, 1, hits,             NUMBER,            SPEC, hits,             0, 0)                       \
    X(r, 1, closed,           BOOL,              SPEC, closed,           0, 0)                       \
    X(r, 1, backoff_since,    NUMBER,            SPEC, backoff_since,    0, 0)                       \
    X(r, 1, last_hit,         NUMBER,            SPEC, last_hit,         0, 0)                       \
    X(r, 1, in_backoff,       BOOL,              SPEC, in_backoff,       0, 0)                       \
    X(r, 1, ramp_since,       NUMBER,            SPEC, ramp_since,       0, 0)                       \
    X(r, 5, last_success,     NUMBER,            SPEC, last_success,     0, 0)                       \
    X(r, 9, five_hour_used,   NUMBER,            SPEC, quota[QUOTA_FIVE_HOUR].used_milli, 0, 0)      \
    X(r, 9, five_hour_resets, NUMBER,            SPEC, quota[QUOTA_FIVE_HOUR].resets_at,  0, 0)      \
    X(r, 9, weekly_used,      NUMBER,            SPEC, quota[QUOTA_WEEKLY].used_milli,    0, 0)      \
    X(r, 9, weekly_resets,    NUMBER,            SPEC, quota[QUOTA_WEEKLY].resets_at,     0, 0)

#define AGENT_COLUMNS(X, r)                                                                       \
    X(r, 1, name,             NAME,              ROW,  name,             0, COLUMN_ID)               \
    X(r, 1, idle,             BOOL,              SPEC, idle,             0, 0)                       \
    X(r, 1, launch_failures,  NUMBER,            SPEC, launch_failures,  0, 0)                       \
    X(r, 1, openings,         NUMBER,            SPEC, openings,         0, 0)                       \
    X(r, 1, closed_until,     NUMBER,            SPEC, closed_until,     0, 0)

#define USAGE_COLUMNS(X, r)                                                                       \
    X(r, 1, project,          NAME,              ROW,  project,          0, COLUMN_KEY)              \
    X(r, 1, bucket,           NUMBER,            ROW,  bucket,           0, COLUMN_KEY)              \
    X(r, 1, tokens,           NUMBER,            ROW,  tokens,           0, COLUMN_SUM)              \
    X(r, 1, unreported,       NUMBER,            ROW,  unreported,       0, COLUMN_SUM)              \
    X(r, 1, reports,          NUMBER,            ROW,  reports,          0, COLUMN_SUM)              \
    X(r, 1, starts,           NUMBER,            ROW,  starts,           0, COLUMN_SUM)              \
    X(r, 1, completions,      NUMBER,            ROW,  completions,      0, COLUMN_SUM)              \
    X(r, 7, money,            NUMBER,            ROW,  money,            0, COLUMN_SUM)              \
    X(r, 7, priced,           NUMBER,            ROW,  priced,           0, COLUMN_SUM)              \
    X(r, 7, unpriced,         NUMBER,            ROW,  unpriced,         0, COLUMN_SUM)

#define WAIT_COLUMNS(X, r)                                                                        \
    X(r, 1, project,          NAME,              ROW,  project,          0, COLUMN_KEY)              \
    X(r, 1, limiter,          NAME,              ROW,  limiter,          0, COLUMN_KEY)              \
    X(r, 7, agent,            NAME,              ROW,  agent,            0, COLUMN_KEY)              \
    X(r, 1, lost,             NUMBER,            ROW,  lost,             0, 0)                       \
    X(r, 1, closed_since,     NUMBER,            ROW,  closed_since,     0, 0)

#define KEY_COLUMNS(X, r)                                                                         \
    X(r, 1, key,              TEXT,              ROW,  key,              0, COLUMN_ID)               \
    X(r, 1, at,               NUMBER,            ROW,  at,               0, 0)                       \
    X(r, 1, status,           NUMBER,            ROW,  status,           0, 0)                       \
    X(r, 1, answer,           TEXT,              ROW,  answer,           0, 0)

#define NOTE_COLUMNS(X, r)                                                                        \
    X(r, 3, name,             TEXT,              ROW,  name,             0, COLUMN_ID)               \
    X(r, 3, text,             TEXT,              ROW,  text,             0, COLUMN_REQUIRED)

#define SPENT_COLUMNS(X, r)                                                                       \
    X(r, 7, days,             DAYS,              ROW,  span,             0, COLUMN_KEY)              \
    X(r, 7, at,               NUMBER,            ROW,  at,               0, COLUMN_KEY)              \
    X(r, 7, project,          NAME,              ROW,  project,          0, COLUMN_KEY)              \
    X(r, 7, agent,            NAME,              ROW,  agent,            0, COLUMN_KEY)              \
    X(r, 7, runs,             NUMBER,            ROW,  runs,             0, COLUMN_SUM)              \
    X(r, 7, ok,               NUMBER,            ROW,  ok,               0, COLUMN_SUM)              \
    X(r, 7, busy_ms,          NUMBER,            ROW,  busy_ms,          0, COLUMN_SUM)              \
    X(r, 7, tokens_in,        NUMBER,            ROW,  tokens_in,        0, COLUMN_SUM)              \
    X(r, 7, tokens_out,       NUMBER,            ROW,  tokens_out,       0, COLUMN_SUM)              \
    X(r, 7, tokens_cached,    NUMBER,            ROW,  tokens_cached,    0, COLUMN_SUM)              \
    X(r, 7, cost_micro_usd,   NUMBER,            ROW,  cost_micro_usd,   0, COLUMN_SUM)              \
    X(r, 7, unknown_tokens,   NUMBER,            ROW,  unknown_tokens,   0, COLUMN_SUM)              \
    X(r, 7, unknown_cost,     NUMBER,            ROW,  unknown_cost,     0, COLUMN_SUM)

/* Not a table: stored in `meta` in SQLite and `store` in PostgreSQL. */
#define PAUSE_COLUMNS(X, r)                                                                       \
    X(r, 1, paused,           BOOL,              ROW,  paused,           0, 0)                       \
    X(r, 2, paused_by,        NAME,              ROW,  by,               0, 0)                       \
    X(r, 2, paused_at,        NUMBER,            ROW,  at,               0, 0)

/* Every kind of row: X(KIND, row, table, an empty text is stored as NULL). */
#define ROW_KINDS(X)                                                                              \
    X(TASK,     task,    task,     true)                                                          \
    X(PROGRESS, task,    progress, true)                                                          \
    X(SPEC,     spec,    spec,     false)                                                         \
    X(RUN,      run,     run,      true)                                                          \
    X(EVENT,    event,   event,    false)                                                         \
    X(PROJECT,  project, project,  false)                                                         \
    X(GROUP,    group,   grp,      false)                                                         \
    X(LIMITER,  limiter, limiter,  false)                                                         \
    X(AGENT,    agent,   agent,    false)                                                         \
    X(USAGE,    usage,   usage,    true)                                                          \
    X(WAIT,     wait,    wait,     true)                                                          \
    X(KEY,      key,     key,      false)                                                         \
    X(NOTE,     note,    note,     false)                                                         \
    X(SPENT,    spent,   spent,    true)                                                          \
    X(PAUSE,    pause,   store,    true)
/* clang-format on */
