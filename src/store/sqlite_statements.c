/* sqlite_statements.c: every statement that runs more than once, as text.
 *
 * ADD_TASK and CHANGE_TASK bind the same values to the same numbers, so that one function serves
 * both; the project of a task (?2), its time of creation (?3) and its resources (?9) never change.
 */
#include "store/sqlite_internal.h"

/* clang-format off */

/* CHANGE_TASK: people see no difference. A task that gets a row in `progress` changes its state too. What a final
 * task (?13) needed goes when that is forgotten: nothing has happened to it, and its age is its own. */
#define LOOKS_THE_SAME                                                                             \
    "state = ?10 AND reason = ?11 AND priority = ?14 AND kind = ?4 AND agent = ?5"                 \
    " AND limiter = ?6 AND workspace IS ?7 AND serial IS ?8 AND parent = ?15"                      \
    " AND retry_max = ?22 AND grp = ?23 AND (NOT ?24 OR ?13 IS NOT NULL)"                           \
    " AND NOT EXISTS (SELECT 1 FROM progress WHERE task = ?1 AND (hold <> ?25"                     \
    " OR not_before <> ?26 OR iteration <> ?27 OR attempt <> ?28))"

/* Summed over what is not grouped by (`name`): that is "0", no name. */
#define GET_SPENT(name, project, agent)                                                            \
    "SELECT at, " project ", " agent ", sum(runs), sum(ok), sum(busy_ms), sum(tokens_in),"         \
    " sum(tokens_out), sum(tokens_cached), sum(cost_micro_usd), sum(unknown_tokens),"              \
    " sum(unknown_cost) FROM spent WHERE days = ?1 AND at >= ?2 AND at < ?3"                       \
    " GROUP BY at, " name " ORDER BY at, " name " LIMIT ?4 OFFSET ?5"

const char *const sqlite_texts[] = {
    [STATEMENT_BEGIN] = "BEGIN IMMEDIATE",
    [STATEMENT_COMMIT] = "COMMIT",
    [STATEMENT_ROLLBACK] = "ROLLBACK",
    [STATEMENT_ADD_NAME] = "INSERT INTO name (id, text) VALUES (?1, ?2)",
    [STATEMENT_PUT_META] =
        "INSERT INTO meta (key, value) VALUES (?1, ?2)"
        " ON CONFLICT (key) DO UPDATE SET value = excluded.value",

    [STATEMENT_ADD_TASK] =
        "INSERT INTO task (number, project, created_at, kind, agent, limiter, workspace, serial,"
        " resources, state, reason, changed_at, final_at, priority, parent, parent_iteration,"
        " ready_since, ready_clock, until, parent_gate, flags, retry_max, grp) VALUES (?1, ?2, ?3,"
        " ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22,"
        " ?23)",
    [STATEMENT_CHANGE_TASK] =
        "UPDATE task SET kind = ?4, agent = ?5, limiter = ?6, workspace = ?7, serial = ?8,"
        " state = ?10, reason = ?11, priority = ?14,"
        " changed_at = CASE WHEN " LOOKS_THE_SAME " THEN changed_at ELSE ?12 END,"
        " final_at = CASE WHEN " LOOKS_THE_SAME " THEN final_at ELSE ?13 END,"
        " parent = ?15, parent_iteration = ?16, ready_since = ?17, ready_clock = ?18,"
        " until = ?19, parent_gate = ?20, flags = ?21, retry_max = ?22, grp = ?23"
        " WHERE number = ?1",
    [STATEMENT_PUT_PROGRESS] =
        "INSERT OR REPLACE INTO progress (task, iteration, attempt, hold, not_before, phase,"
        " started_at, stop, run_agent, run_limiter, failures, launch_failures, losses, restarts,"
        " breaker_openings, lender, borrowed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
        " ?12, ?13, ?14, ?15, ?16, ?17)",
    [STATEMENT_DELETE_PROGRESS] = "DELETE FROM progress WHERE task = ?1",
    [STATEMENT_ADD_NEED] = "INSERT INTO depend (task, position, needs) VALUES (?1, ?2, ?3)",
    [STATEMENT_ADD_SPEC] =
        "INSERT INTO spec (number, project, external_id, title, json)"
        " SELECT ?1, project, ?2, ?3, ?4 FROM task WHERE number = ?1",
    [STATEMENT_PUT_CONTEXT] = "UPDATE spec SET context = ?2 WHERE number = ?1",
    [STATEMENT_DELETE_TASK] = "DELETE FROM task WHERE number = ?1",
    [STATEMENT_DELETE_SPEC] = "DELETE FROM spec WHERE number = ?1",
    [STATEMENT_DELETE_NEEDS] = "DELETE FROM depend WHERE task = ?1",
    [STATEMENT_DELETE_RUNS] = "DELETE FROM run WHERE task = ?1",
    [STATEMENT_UNLINK_EVENTS] = "UPDATE event SET task = NULL WHERE task = ?1",

    [STATEMENT_PUT_RUN] =
        "INSERT OR REPLACE INTO run (" RUN_COLUMNS ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
        " ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25,"
        " ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35)",
    [STATEMENT_ADD_EVENT] =
        "INSERT INTO event (seq, at, kind, task, attempt, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    [STATEMENT_PRUNE_EVENTS] = "DELETE FROM event WHERE seq < ?1",
    [STATEMENT_PUT_PROJECT] =
        "INSERT INTO project (name, prefix, paused, created_at, paused_by, paused_at)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (name) DO UPDATE SET"
        " paused = excluded.paused, paused_by = excluded.paused_by,"
        " paused_at = excluded.paused_at",
    [STATEMENT_PUT_GROUP] =
        "INSERT OR REPLACE INTO grp (id, name, owned, closed, created_at, closed_at)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    [STATEMENT_DELETE_GROUP] = "DELETE FROM grp WHERE id = ?1",
    [STATEMENT_PUT_LIMITER] =
        "INSERT OR REPLACE INTO limiter (name, backoff_until, hits, closed, backoff_since,"
        " last_hit, in_backoff, ramp_since, last_success)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [STATEMENT_PUT_AGENT] =
        "INSERT OR REPLACE INTO agent (name, idle, launch_failures, openings, closed_until)"
        " VALUES (?1, ?2, ?3, ?4, ?5)",
    [STATEMENT_ADD_USAGE] =
        "INSERT INTO usage (project, bucket, tokens, unreported, reports, starts, completions,"
        " money, priced, unpriced)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (project, bucket) DO UPDATE SET"
        " tokens = tokens + excluded.tokens, unreported = unreported + excluded.unreported,"
        " reports = reports + excluded.reports, starts = starts + excluded.starts,"
        " completions = completions + excluded.completions, money = money + excluded.money,"
        " priced = priced + excluded.priced, unpriced = unpriced + excluded.unpriced",
    [STATEMENT_PRUNE_USAGE] = "DELETE FROM usage WHERE bucket < ?1",
    [STATEMENT_PUT_WAIT] =
        "INSERT OR REPLACE INTO wait (project, limiter, agent, lost, closed_since)"
        " VALUES (?1, ?2, ?3, ?4, ?5)",
    [STATEMENT_ADD_KEY] = "INSERT INTO key (key, at, status, answer) VALUES (?1, ?2, ?3, ?4)",
    [STATEMENT_PRUNE_KEYS] = "DELETE FROM key WHERE at < ?1",
    [STATEMENT_PUT_NOTE] = "INSERT OR REPLACE INTO note (name, text) VALUES (?1, ?2)",
    [STATEMENT_DELETE_NOTE] = "DELETE FROM note WHERE name = ?1",

    [STATEMENT_GET_SPEC] =
        "SELECT s.number, s.title, s.json, s.external_id, t.changed_at, s.context FROM spec s"
        " LEFT JOIN task t USING (number) WHERE s.number = ?1",
    [STATEMENT_GET_CHANGED] = "SELECT number, changed_at FROM task WHERE number = ?1",
    [STATEMENT_GET_RUNS] =
        "SELECT " RUN_COLUMNS " FROM run WHERE task = ?1 AND attempt < ?2"
        " ORDER BY attempt DESC LIMIT ?3",
    [STATEMENT_GET_ALL_RUNS] =
        "SELECT " RUN_COLUMNS " FROM run WHERE (task, attempt) > (?1, ?2)"
        " ORDER BY task, attempt LIMIT ?3",
    [STATEMENT_GET_EVENTS] =
        "SELECT seq, at, kind, task, attempt, data FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2",
    [STATEMENT_GET_EVENTS_BACK] =
        "SELECT seq, at, kind, task, attempt, data FROM event WHERE seq < ?1"
        " ORDER BY seq DESC LIMIT ?2",
    [STATEMENT_GET_TASK_EVENTS] =
        "SELECT seq, at, kind, task, attempt, data FROM event WHERE task = ?3 AND seq > ?1"
        " ORDER BY seq LIMIT ?2",
    [STATEMENT_GET_TASK_EVENTS_BACK] =
        "SELECT seq, at, kind, task, attempt, data FROM event WHERE task = ?3 AND seq < ?1"
        " ORDER BY seq DESC LIMIT ?2",
    [STATEMENT_GET_KEY] = "SELECT key, at, status, answer FROM key WHERE key = ?1",
    [STATEMENT_GET_KEYS] =
        "SELECT key, at, status, answer FROM key WHERE key > ?1 ORDER BY key LIMIT ?2",
    [STATEMENT_GET_EXTERNAL] =
        "SELECT s.number, s.title, s.json, s.external_id, t.changed_at, s.context FROM spec s"
        " LEFT JOIN task t USING (number) WHERE s.project = ?1 AND s.external_id = ?2",
    [STATEMENT_GET_EXPIRED] =
        "SELECT number FROM task WHERE final_at < ?1 ORDER BY final_at, number"
        " LIMIT ?2 OFFSET ?3",
    [STATEMENT_GET_TITLE] =
        "SELECT s.number, s.title, t.changed_at FROM spec s LEFT JOIN task t USING (number)"
        " WHERE s.number = ?1",
    [STATEMENT_GET_ENDED] =
        "SELECT " RUN_COLUMNS " FROM run WHERE ended = 1 AND ended_at >= ?1"
        " AND (ended_at, task, attempt) < (?2, ?3, ?4)"
        " ORDER BY ended_at DESC, task DESC, attempt DESC LIMIT ?5",
    [STATEMENT_GET_SPENT_BY_PROJECT] = GET_SPENT("project", "project", "0"),
    [STATEMENT_GET_SPENT_BY_AGENT] = GET_SPENT("agent", "0", "agent"),
    [STATEMENT_GET_SPENT_APART] = GET_SPENT("project, agent", "project", "agent"),
    [STATEMENT_ADD_SPENT] =
        "INSERT INTO spent (days, at, project, agent, runs, ok, busy_ms, tokens_in, tokens_out,"
        " tokens_cached, cost_micro_usd, unknown_tokens, unknown_cost)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
        " ON CONFLICT (days, at, project, agent) DO UPDATE SET"
        " runs = runs + excluded.runs, ok = ok + excluded.ok,"
        " busy_ms = busy_ms + excluded.busy_ms, tokens_in = tokens_in + excluded.tokens_in,"
        " tokens_out = tokens_out + excluded.tokens_out,"
        " tokens_cached = tokens_cached + excluded.tokens_cached,"
        " cost_micro_usd = cost_micro_usd + excluded.cost_micro_usd,"
        " unknown_tokens = unknown_tokens + excluded.unknown_tokens,"
        " unknown_cost = unknown_cost + excluded.unknown_cost",
    [STATEMENT_PRUNE_SPENT] = "DELETE FROM spent WHERE days = ?1 AND at < ?2",
};
/* clang-format on */
_Static_assert(ARRAY_SIZE(sqlite_texts) == STATEMENT_MAX, "a statement has no text");
