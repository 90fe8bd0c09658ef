/* acp.h: one prompt, given to an agent that speaks the Agent Client Protocol. Private to acp/.
 *
 *   acp_main.c     options, the prompt, the agent as a child process, and the loop between it and the log
 *   acp_session.c  the requests of one run, in their order, what the answers mean, and whether the agent may do what
 *                  it asks for
 *
 * The log (standard output) has one JSON object per line: the messages of the agent as they came, and what this program did,
 * as objects with the member `acp`. src/agent/acp.c reads it. A line of the agent that has this member, or is not a
 * JSON object, is quoted in one of ours, so that an agent cannot speak for this program. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

#define ACP_CALLS 16 /* tool calls that are remembered */

enum acp_policy {
    ACP_POLICY_ALLOW, /* everything */
    ACP_POLICY_EDITS, /* reading, and changing files in its folder */
    ACP_POLICY_DENY,
    ACP_POLICY_MAX,
};
/* False: there is no policy of this name. */
bool acp_policy_find(const char *name, enum acp_policy *ret);

/* What the agent wants to do. Texts are "" where it does not say. */
struct acp_wish {
    char kind[32]; /* of the tool: read, edit, delete, move, search, execute, think, fetch … */
    char title[256];
    char argument[256]; /* the command, the path or the address */
    bool has_path;
    bool is_inside; /* every path that it names is in the folder of the run */
};
struct acp_options {
    enum acp_policy policy;
    const char *resume;      /* the session to go on with; or NULL */
    const char *model;       /* or NULL: the agent's own choice */
    const char *mode;        /* the same */
    const char *auth_method; /* to call `authenticate` with; NULL: it is not called */
    const char *cwd;
    const char *prompt;
};

enum acp_phase {
    ACP_INITIALIZE,
    ACP_AUTHENTICATE,
    ACP_OPEN, /* session/new, session/resume or session/load */
    ACP_MODE,
    ACP_MODEL,
    ACP_PROMPTED,
    ACP_OVER,
};

struct acp_call {
    char id[128];
    struct acp_wish wish;
};

struct acp_session {
    const struct acp_options *options;
    enum acp_phase phase;
    int64_t request; /* id of the open one */
    bool can_load, can_resume;
    bool is_cancelled; /* session/cancel was sent */
    char id[256];
    const char *method;        /* of the open request */
    struct strbuf methods;     /* how the agent can be authenticated: their ids, for a message */
    struct strbuf open_result; /* of ACP_OPEN: modes and options */
    struct acp_call calls[ACP_CALLS];
    unsigned next_call;
    int64_t denied; /* how often */
    struct acp_wish last_denied;
    int exit_code; /* of this program, once the phase is ACP_OVER */

    struct strbuf to_agent; /* bytes to send */
    struct strbuf log;      /* bytes to print */
};

void acp_session_init(struct acp_session *s, const struct acp_options *options);
void acp_session_finish(struct acp_session *s);
/* One line of the agent, without its end. */
void acp_session_take(struct acp_session *s, const char *line, size_t size);
/* It is to stop: asks the agent where it works on the prompt, and is over otherwise. */
void acp_session_cancel(struct acp_session *s);
/* Ends with a failure that is not an answer of the agent. */
void acp_session_fail(struct acp_session *s, const char *message);
/* The agent has closed its output or exited, with this code (128 + N: signal N). */
void acp_session_gone(struct acp_session *s, int code);
