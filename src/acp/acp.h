/* acp.h: runs one prompt with an agent over the Agent Client Protocol. Private to acp/.
 *
 *   acp_main.c     options, prompt, the agent as a child process, the loop between it and the log
 *   acp_session.c  the requests of one run in order, the answers, and the permission policy
 *
 * The log (standard output) has one JSON object per line: the agent's messages as received, and
 * this program's events, which have the member `acp`. src/agent/acp.c reads it. An agent's line
 * that has this member, or is not a JSON object, is quoted inside an event, so an agent cannot
 * forge events. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

#define ACP_CALLS 16 /* tool calls that are remembered */

enum acp_policy {
    ACP_POLICY_ALLOW, /* everything */
    ACP_POLICY_EDITS, /* read, and change files in its folder */
    ACP_POLICY_DENY,
    ACP_POLICY_MAX,
};
/* False: unknown name. */
bool acp_policy_find(const char *name, enum acp_policy *ret);

/* A tool call that the agent asks permission for. Unknown texts are "". */
struct acp_wish {
    char kind[32]; /* kind of tool: read, edit, delete, move, search, execute, think, fetch … */
    char title[256];
    char argument[256]; /* command, path or URL */
    bool has_path;
    bool is_inside; /* all paths that it names are in the run's folder */
};
struct acp_options {
    enum acp_policy policy;
    const char *resume;      /* session to resume; or NULL */
    const char *model;       /* NULL: the agent's default */
    const char *mode;        /* the same */
    const char *auth_method; /* for `authenticate`; NULL: not called */
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
    int64_t request; /* id of our open request */
    bool can_load, can_resume;
    bool is_canceled; /* session/cancel was sent */
    char id[256];
    const char *method;        /* of the open request */
    struct strbuf methods;     /* ids of the agent's authentication methods, for a message */
    struct strbuf open_result; /* of ACP_OPEN: modes and options */
    struct acp_call calls[ACP_CALLS];
    unsigned next_call;
    int64_t denied; /* how often */
    struct acp_wish last_denied;
    int exit_code; /* of this program; valid in phase ACP_OVER */

    struct strbuf to_agent; /* bytes to send */
    struct strbuf log;      /* bytes to print */
};

void acp_session_init(struct acp_session *s, const struct acp_options *options);
void acp_session_finish(struct acp_session *s);
/* One line from the agent, without its newline. */
void acp_session_take(struct acp_session *s, const char *line, size_t size);
/* Sends session/cancel while the agent works on the prompt; otherwise ends the session. */
void acp_session_cancel(struct acp_session *s);
/* Ends with a failure that is not the agent's answer. */
void acp_session_fail(struct acp_session *s, const char *message);
/* The agent has closed its output, or exited with this code (128 + N: signal N). */
void acp_session_agent_exited(struct acp_session *s, int code);
