/* usage_count.h: what one run has used, counted from what its agent reports. Private to agent/.
 *
 * Agents report in three ways, and one output may mix them:
 *   share   used since the last share. Shares are added up.
 *   total   used by a session so far, in this run and in those before it. The largest total of a session counts, less what the
 *           session had used before this run.
 *   begun   the beginning of a call whose end has not been reported. Counts until the next share or total of the session, which has
 *           it in it.
 * Where both shares and a total are known one of them counts, never their sum: the exact shares; or the larger, where the run before
 * was killed and could not report everything, or where shares leave something out.
 *
 * Each session is counted on its own, so that outputs of several sessions in one log, or of one session in any order, come to the
 * same sum. At most USAGE_SESSIONS are remembered; what does not fit is not counted: too little, never too much.
 * In all numbers -1 means "not reported". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/agent.h"

#define USAGE_SESSIONS 32
#define USAGE_REPORTS  256

#define USAGE_NONE ((struct agent_usage){ -1, -1, -1, -1 })

struct usage_session {
    uint64_t key;  /* hash of its id */
    bool is_exact; /* its shares leave nothing out */
    bool is_short; /* `before` leaves something out */
    bool has_file; /* the total is from the file of the session, and so newer than the last share */
    struct agent_usage before, shares, total, begun;
};

/* Zero at first. */
struct usage_count {
    struct usage_session sessions[USAGE_SESSIONS];
    size_t session_count;
    uint64_t resumed;                /* the session that this run was told to go on with, */
    bool resumes;                    /* if any */
    uint64_t reports[USAGE_REPORTS]; /* the last ones, by their ids */
    size_t report_count;
};

/* False: this report came before, as in a log that was copied together from several, or in a file that has each change of a message.
 * `id`: what the agent calls it; one without a name is new. The last USAGE_REPORTS are remembered. */
bool usage_count_is_new(struct usage_count *count, const char *session, const char *id);
void usage_count_before(struct usage_count *count, const struct agent_before *before);
/* `is_exact`: it leaves nothing out. Then the total does not count: it may have what others have used in that session. */
void usage_count_share(struct usage_count *count, const char *session,
                       const struct agent_usage *share, bool is_exact);
void usage_count_total(struct usage_count *count, const char *session,
                       const struct agent_usage *total);
void usage_count_begun(struct usage_count *count, const char *session,
                       const struct agent_usage *begun);
/* A total from a file in which the agent keeps its session. It may be older than what was reported: then it does not count, and
 * false is returned. */
bool usage_count_file(struct usage_count *count, const char *session,
                      const struct agent_usage *total);

/* Adds each counter (agent_add_count). */
void usage_add(struct agent_usage *sum, const struct agent_usage *more);

bool usage_count_knows_before(const struct usage_count *count, const char *session);
/* Of this run. */
struct agent_usage usage_count_run(const struct usage_count *count);
/* Of the session over all runs: what to hand to usage_count_before of the next one. */
struct agent_usage usage_count_session(const struct usage_count *count, const char *session);
