/* postgres_statements.c: every statement that runs more than once, as text.
 *
 * Rows of one kind go in one statement, each column as one array. A rule that no constraint can hold
 * divides by zero: that ends the transaction inside the server, where the COMMIT that follows is on its way
 * already. `1 / count` is such a rule: one row of the store, with our epoch; every task that is to be changed.
 */
#include "store/postgres_statements.h"

/* clang-format off */
#define NARROW                                                                                     \
    "number:l* created_at:l changed_at:l final_at:l ready_since:l ready_clock:l parent:l"           \
    " parent_iteration:l grp:l project:i kind:i agent:i limiter:i state:i reason:i priority:i"     \
    " until:i parent_gate:i flags:i retry_max:i workspace:t serial:t resources:t needs:n"
#define PROGRESS                                                                                   \
    " iteration:l attempt:l hold:i not_before:l phase:i started_at:l stop:i run_agent:i"           \
    " run_limiter:i failures:i launch_failures:i losses:i restarts:i breaker_openings:i"           \
    " lender:l borrowed:i"
#define RUN                                                                                        \
    "task:l attempt:l iteration:l agent:i executor:i host:i boot_id:i folder:t phase:i ended:b"    \
    " ordered_at:l started_at:l ended_at:l outcome:i how:i exit_code:i exit_signal:i tokens_in:l"  \
    " tokens_out:l cost_micro_usd:l applied:t message:t limited_until:l stop_now:b token_hash:t"   \
    " tokens_cached:l session:t resumed:b model:i said:i shim_key:t shim_pid:l shim_start:l"       \
    " shim_space:l cgroup:t"
#define SPENT                                                                                      \
    "days:b at:l project:i agent:i runs:l ok:l busy_ms:l tokens_in:l tokens_out:l"                 \
    " tokens_cached:l cost_micro_usd:l unknown_tokens:l unknown_cost:l"

/* People see no difference. What a final task needed goes when that is forgotten: nothing has happened
 * to it, and its age is its own. */
#define LOOKS_THE_SAME                                                                             \
    "t.state = n.state AND t.reason = n.reason AND t.priority = n.priority AND t.kind = n.kind"    \
    " AND t.agent = n.agent AND t.limiter = n.limiter AND t.parent = n.parent"                     \
    " AND t.workspace IS NOT DISTINCT FROM n.workspace AND t.serial IS NOT DISTINCT FROM n.serial" \
    " AND t.retry_max = n.retry_max AND t.grp = n.grp"                                             \
    " AND (NOT n.with_needs OR n.final_at IS NOT NULL)"                                            \
    " AND t.hold IS NOT DISTINCT FROM n.hold AND t.not_before IS NOT DISTINCT FROM n.not_before"   \
    " AND t.iteration IS NOT DISTINCT FROM n.iteration"                                            \
    " AND t.attempt IS NOT DISTINCT FROM n.attempt"

/* What agents say can be anything; a sum that has no room stays at its end, and the ends of runs are kept. */
#define MOST      "9223372036854775807"
#define SUM(name) "least(sum(" name "), " MOST ")"
#define ADD(table, name)                                                                           \
    name " = least(" table "." name "::numeric + excluded." name ", " MOST ")"

#define GET_SPEC                                                                                   \
    "SELECT s.number, s.title, s.json, s.external_id, t.changed_at, s.context"
#define EVENT "SELECT seq, at, kind, task, attempt, data FROM event"
#define GET_SPENT(name, project, agent)                                                            \
    "SELECT at, " project ", " agent ", sum(runs)::bigint, sum(ok)::bigint, sum(busy_ms)::bigint," \
    " " SUM("tokens_in") "::bigint, " SUM("tokens_out") "::bigint, "                               \
    SUM("tokens_cached") "::bigint, " SUM("cost_micro_usd") "::bigint,"                            \
    " sum(unknown_tokens)::bigint, sum(unknown_cost)::bigint"                                      \
    " FROM spent WHERE days = $1 AND at >= $2 AND at < $3"                                         \
    " GROUP BY at, " name " ORDER BY at, " name " LIMIT $4 OFFSET $5"

const struct pg_statement_text pg_texts[] = {
    [PG_BEGIN] = { "begin", "", false, "BEGIN" },
    [PG_COMMIT] = { "commit", "", false, "COMMIT" },
    [PG_ROLLBACK] = { "rollback", "", false, "ROLLBACK" },
    [PG_EPOCH] = { "epoch", "epoch:l last_task:l last_event:l", false,
        "WITH mine AS (UPDATE store SET commits = commits + 1,"
        " last_task = greatest(last_task, $2), last_event = greatest(last_event, $3)"
        " WHERE epoch = $1 RETURNING 1) SELECT 1 / count(*) FROM mine" },
    [PG_NUMBERS] = { "numbers", "last_task:l last_event:l", false,
        "UPDATE store SET last_task = greatest(last_task, $1),"
        " last_event = greatest(last_event, $2)" },
    [PG_ADD_NAMES] = { "add_names", "id:i text:t", true,
        "INSERT INTO name (#) SELECT ! FROM @" },

    [PG_ADD_TASKS] = { "add_tasks", NARROW, true, "INSERT INTO task (#) SELECT ! FROM @" },
    [PG_ADD_WIDE_TASKS] = { "add_wide_tasks", NARROW PROGRESS, true,
        "INSERT INTO task (#) SELECT ! FROM @" },
    [PG_CHANGE_TASKS] = { "change_tasks", NARROW PROGRESS " with_needs:b", true,
        "WITH hit AS (UPDATE task t SET kind = n.kind, agent = n.agent, limiter = n.limiter,"
        " workspace = n.workspace, serial = n.serial, state = n.state, reason = n.reason,"
        " priority = n.priority,"
        " changed_at = CASE WHEN " LOOKS_THE_SAME " THEN t.changed_at ELSE n.changed_at END,"
        " final_at = CASE WHEN " LOOKS_THE_SAME " THEN t.final_at ELSE n.final_at END,"
        " parent = n.parent, parent_iteration = n.parent_iteration, ready_since = n.ready_since,"
        " ready_clock = n.ready_clock, until = n.until, parent_gate = n.parent_gate,"
        " flags = n.flags, retry_max = n.retry_max, grp = n.grp,"
        " needs = CASE WHEN n.with_needs THEN n.needs::bigint[] ELSE t.needs END,"
        " iteration = n.iteration, attempt = n.attempt, hold = n.hold, not_before = n.not_before,"
        " phase = n.phase, started_at = n.started_at, stop = n.stop, run_agent = n.run_agent,"
        " run_limiter = n.run_limiter, failures = n.failures,"
        " launch_failures = n.launch_failures, losses = n.losses, restarts = n.restarts,"
        " breaker_openings = n.breaker_openings, lender = n.lender, borrowed = n.borrowed"
        " FROM @ WHERE t.number = n.number RETURNING 1)"
        " SELECT 1 / (count(*) = cardinality($1::bigint[]))::int FROM hit" },
    [PG_DELETE_TASKS] = { "delete_tasks", "number:l", true,
        "WITH specs AS (DELETE FROM spec s USING @ WHERE s.number = n.number),"
        " runs AS (DELETE FROM run r USING @ WHERE r.task = n.number),"
        " events AS (UPDATE event e SET task = NULL FROM @ WHERE e.task = n.number)"
        " DELETE FROM task t USING @ WHERE t.number = n.number" },
    [PG_ADD_SPECS] = { "add_specs", "number:l* project:i external_id:t title:t* json:t*", true,
        "INSERT INTO spec (#) SELECT ! FROM @" },
    [PG_ADD_LATE_SPECS] = { "add_late_specs", "number:l external_id:t title:t json:t", true,
        "INSERT INTO spec (number, project, external_id, title, json)"
        " SELECT n.number, t.project, n.external_id, n.title, n.json FROM @"
        " JOIN task t ON t.number = n.number" },
    [PG_PUT_CONTEXTS] = { "put_contexts", "number:l context:t", true,
        "UPDATE spec s SET context = n.context FROM @ WHERE s.number = n.number" },

    [PG_PUT_RUNS] = { "put_runs", RUN, true,
        "INSERT INTO run (#) SELECT ! FROM @ ON CONFLICT (task, attempt) DO UPDATE SET"
        " iteration = excluded.iteration, agent = excluded.agent, executor = excluded.executor,"
        " host = excluded.host, boot_id = excluded.boot_id, folder = excluded.folder,"
        " phase = excluded.phase, ended = excluded.ended, ordered_at = excluded.ordered_at,"
        " started_at = excluded.started_at, ended_at = excluded.ended_at,"
        " outcome = excluded.outcome, how = excluded.how, exit_code = excluded.exit_code,"
        " exit_signal = excluded.exit_signal, tokens_in = excluded.tokens_in,"
        " tokens_out = excluded.tokens_out, cost_micro_usd = excluded.cost_micro_usd,"
        " applied = excluded.applied, message = excluded.message,"
        " limited_until = excluded.limited_until, stop_now = excluded.stop_now,"
        " token_hash = excluded.token_hash, tokens_cached = excluded.tokens_cached,"
        " session = excluded.session, resumed = excluded.resumed, model = excluded.model,"
        " said = excluded.said, shim_key = excluded.shim_key, shim_pid = excluded.shim_pid,"
        " shim_start = excluded.shim_start, shim_space = excluded.shim_space,"
        " cgroup = excluded.cgroup" },
    [PG_ADD_EVENTS] = { "add_events", "seq:l* at:l kind:i task:l* attempt:l data:t", true,
        "INSERT INTO event (#) SELECT ! FROM @" },
    [PG_PRUNE_EVENTS] = { "prune_events", "seq:l", false, "DELETE FROM event WHERE seq < $1" },
    [PG_PUT_PROJECT] = { "put_project",
        "name:t prefix:t paused:b created_at:l paused_by:i paused_at:l", false,
        "INSERT INTO project (#) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name) DO UPDATE SET"
        " paused = excluded.paused, paused_by = excluded.paused_by,"
        " paused_at = excluded.paused_at" },
    [PG_PUT_GROUP] = { "put_group", "id:l name:t owned:b closed:b created_at:l closed_at:l", false,
        "INSERT INTO grp (#) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (id) DO UPDATE SET"
        " name = excluded.name, owned = excluded.owned, closed = excluded.closed,"
        " created_at = excluded.created_at, closed_at = excluded.closed_at" },
    [PG_DELETE_GROUP] = { "delete_group", "id:l", false, "DELETE FROM grp WHERE id = $1" },
    [PG_PUT_LIMITER] = { "put_limiter",
        "name:i backoff_until:l hits:l closed:b backoff_since:l last_hit:l in_backoff:b"
        " ramp_since:l last_success:l", false,
        "INSERT INTO limiter (#) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
        " ON CONFLICT (name) DO UPDATE SET backoff_until = excluded.backoff_until,"
        " hits = excluded.hits, closed = excluded.closed, backoff_since = excluded.backoff_since,"
        " last_hit = excluded.last_hit, in_backoff = excluded.in_backoff,"
        " ramp_since = excluded.ramp_since, last_success = excluded.last_success" },
    [PG_PUT_AGENT] = { "put_agent", "name:i idle:b launch_failures:l openings:l closed_until:l",
        false,
        "INSERT INTO agent (#) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (name) DO UPDATE SET"
        " idle = excluded.idle, launch_failures = excluded.launch_failures,"
        " openings = excluded.openings, closed_until = excluded.closed_until" },
    [PG_ADD_USAGE] = { "add_usage",
        "project:i bucket:l tokens:l unreported:l reports:i starts:i completions:i money:l"
        " priced:i unpriced:i", true,
        "INSERT INTO usage AS u (#) SELECT project, bucket, " SUM("tokens") ", " SUM("unreported")
        ", sum(reports), sum(starts), sum(completions), " SUM("money")
        ", sum(priced), sum(unpriced)"
        " FROM @ GROUP BY project, bucket ON CONFLICT (bucket, project) DO UPDATE SET "
        ADD("u", "tokens") ", " ADD("u", "unreported") ","
        " reports = u.reports + excluded.reports, starts = u.starts + excluded.starts,"
        " completions = u.completions + excluded.completions, " ADD("u", "money") ","
        " priced = u.priced + excluded.priced, unpriced = u.unpriced + excluded.unpriced" },
    [PG_PRUNE_USAGE] = { "prune_usage", "bucket:l", false, "DELETE FROM usage WHERE bucket < $1" },
    [PG_PUT_WAIT] = { "put_wait", "project:i limiter:i agent:i lost:l closed_since:l", false,
        "INSERT INTO wait (#) VALUES ($1, $2, $3, $4, $5)"
        " ON CONFLICT (project, limiter, agent) DO UPDATE SET lost = excluded.lost,"
        " closed_since = excluded.closed_since" },
    [PG_ADD_KEYS] = { "add_keys", "key:t at:l status:i answer:t", true,
        "INSERT INTO key (#) SELECT ! FROM @" },
    [PG_PRUNE_KEYS] = { "prune_keys", "at:l", false, "DELETE FROM key WHERE at < $1" },
    [PG_PUT_PAUSE] = { "put_pause", "paused:b paused_by:i paused_at:l", false,
        "UPDATE store SET paused = $1, paused_by = $2, paused_at = $3" },
    [PG_PUT_NOTE] = { "put_note", "name:t text:t", false,
        "INSERT INTO note (#) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET"
        " text = excluded.text" },
    [PG_DELETE_NOTE] = { "delete_note", "name:t", false, "DELETE FROM note WHERE name = $1" },
    [PG_ADD_SPENT] = { "add_spent", SPENT, true,
        "INSERT INTO spent AS s (#) SELECT days, at, project, agent, sum(runs), sum(ok),"
        " sum(busy_ms), " SUM("tokens_in") ", " SUM("tokens_out") ", " SUM("tokens_cached")
        ", " SUM("cost_micro_usd") ", sum(unknown_tokens), sum(unknown_cost)"
        " FROM @ GROUP BY days, at, project, agent"
        " ON CONFLICT (days, at, project, agent) DO UPDATE SET"
        " runs = s.runs + excluded.runs, ok = s.ok + excluded.ok,"
        " busy_ms = s.busy_ms + excluded.busy_ms, " ADD("s", "tokens_in") ", "
        ADD("s", "tokens_out") ", " ADD("s", "tokens_cached") ", " ADD("s", "cost_micro_usd") ","
        " unknown_tokens = s.unknown_tokens + excluded.unknown_tokens,"
        " unknown_cost = s.unknown_cost + excluded.unknown_cost" },
    [PG_PRUNE_SPENT] = { "prune_spent", "days:b at:l", false,
        "DELETE FROM spent WHERE days = $1 AND at < $2" },

    [PG_GET_SPECS] = { "get_specs", "numbers:L most:l", false,
        GET_SPEC " FROM unnest($1::bigint[]) WITH ORDINALITY q (number, place)"
        " JOIN spec s ON s.number = q.number LEFT JOIN task t ON t.number = q.number"
        " ORDER BY q.place LIMIT $2" },
    [PG_GET_CHANGED] = { "get_changed", "numbers:L most:l", false,
        "SELECT t.number, t.changed_at FROM unnest($1::bigint[]) WITH ORDINALITY q (number, place)"
        " JOIN task t ON t.number = q.number ORDER BY q.place LIMIT $2" },
    [PG_GET_TITLES] = { "get_titles", "numbers:L most:l", false,
        "SELECT s.number, s.title, t.changed_at"
        " FROM unnest($1::bigint[]) WITH ORDINALITY q (number, place)"
        " JOIN spec s ON s.number = q.number LEFT JOIN task t ON t.number = q.number"
        " ORDER BY q.place LIMIT $2" },
    [PG_GET_RUNS] = { "get_runs", "task:l before:l most:l", false,
        "SELECT " PG_RUN_COLUMNS " FROM run WHERE task = $1 AND attempt < $2"
        " ORDER BY attempt DESC LIMIT $3" },
    [PG_GET_ALL_RUNS] = { "get_all_runs", "task:l attempt:l most:l", false,
        "SELECT " PG_RUN_COLUMNS " FROM run WHERE (task, attempt) > ($1, $2)"
        " ORDER BY task, attempt LIMIT $3" },
    [PG_GET_EVENTS] = { "get_events", "after:l most:l", false,
        EVENT " WHERE seq > $1 ORDER BY seq LIMIT $2" },
    [PG_GET_EVENTS_BACK] = { "get_events_back", "before:l most:l", false,
        EVENT " WHERE seq < $1 ORDER BY seq DESC LIMIT $2" },
    [PG_GET_TASK_EVENTS] = { "get_task_events", "after:l most:l task:l", false,
        EVENT " WHERE task = $3 AND seq > $1 ORDER BY seq LIMIT $2" },
    [PG_GET_TASK_EVENTS_BACK] = { "get_task_events_back", "before:l most:l task:l", false,
        EVENT " WHERE task = $3 AND seq < $1 ORDER BY seq DESC LIMIT $2" },
    [PG_GET_KEY] = { "get_key", "key:t", false,
        "SELECT key, at, status, answer FROM key WHERE key = $1" },
    [PG_GET_KEYS] = { "get_keys", "behind:t most:l", false,
        "SELECT key, at, status, answer FROM key WHERE key > $1 ORDER BY key LIMIT $2" },
    [PG_GET_EXTERNAL] = { "get_external", "project:i key:t", false,
        GET_SPEC " FROM spec s LEFT JOIN task t ON t.number = s.number"
        " WHERE s.project = $1 AND s.external_id = $2" },
    [PG_GET_EXPIRED] = { "get_expired", "before:l most:l after:l", false,
        "SELECT number FROM task WHERE final_at < $1 ORDER BY final_at, number"
        " LIMIT $2 OFFSET $3" },
    [PG_GET_ENDED] = { "get_ended", "since:l ended_at:l task:l attempt:l most:l", false,
        "SELECT " PG_RUN_COLUMNS " FROM run WHERE ended AND ended_at >= $1"
        " AND (ended_at, task, attempt) < ($2, $3, $4)"
        " ORDER BY ended_at DESC, task DESC, attempt DESC LIMIT $5" },
    [PG_GET_SPENT_BY_PROJECT] = { "get_spent_by_project", "days:b since:l before:l most:l after:l",
        false, GET_SPENT("project", "project", "0") },
    [PG_GET_SPENT_BY_AGENT] = { "get_spent_by_agent", "days:b since:l before:l most:l after:l",
        false, GET_SPENT("agent", "0", "agent") },
    [PG_GET_SPENT_APART] = { "get_spent_apart", "days:b since:l before:l most:l after:l", false,
        GET_SPENT("project, agent", "project", "agent") },
    [PG_GET_SIZE] = { "get_size", "", false,
        "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c"
        " WHERE c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'store'::regclass)"
        " AND c.relkind = 'r'" },
};
/* clang-format on */
_Static_assert(ARRAY_SIZE(pg_texts) == PG_STATEMENTS, "a statement has no text");
