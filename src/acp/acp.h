/* acp.h: runs one prompt with an agent over the Agent Client Protocol. Private to acp/.
 *
 *   acp_main.c        options, prompt, the agent as a child process, the loop between it and the log
 *   acp_session.c     the requests of one run in order, and the answers
 *   acp_permission.c  requests for permission: the policy, and those that wait for a person
 *   acp_question.c    asks the daemon, which asks the person
 *
 * The log (standard output) has one JSON object per line: the agent's messages as received, and
 * this program's events, which have the member `acp`. src/agent/acp.c reads it. An agent's line
 * that has this member, or is not a JSON object, is quoted inside an event, so an agent cannot
 * forge events. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/json_span.h"
#include "base/json_write.h"
#include "base/strbuf.h"
#include "base/time_ms.h"

#define ACP_CALLS   16   /* tool calls that are remembered */
#define ACP_ASKS    32   /* requests that wait for a person; more are denied */
#define ACP_CHOICES 20   /* of a question; the daemon accepts no more */
#define ACP_DETAIL  3000 /* bytes of a tool call that a question shows */

enum acp_policy {
    ACP_POLICY_ALLOW, /* everything */
    ACP_POLICY_EDITS, /* read, and change files in its folder */
    ACP_POLICY_DENY,
    ACP_POLICY_ASK, /* as ACP_POLICY_EDITS, and a person decides about the rest */
    ACP_POLICY_MAX,
};
/* False: unknown name. */
bool acp_policy_find(const char *name, enum acp_policy *ret);

/* A tool call that the agent asks permission for. Unknown texts are "". */
struct acp_wish {
    char kind[32]; /* kind of tool: read, edit, delete, move, search, execute, think, fetch … */
    char title[256];
    char argument[256]; /* command, path or URL */
    /* The same, complete, with more lines of description; a long one ends with its size and hash,
     * so that two different calls never have the same text. */
    char detail[ACP_DETAIL + 128];
    bool has_path;
    bool is_inside; /* all paths that it names are in the run's folder */
};

/* A request for permission that waits for a person. */
struct acp_choice {
    char *name;           /* unique among the choices; shown to the person */
    struct strbuf option; /* the id of the agent's option, as JSON; empty: none */
    bool allows;
};
struct acp_ask {
    struct acp_ask *next;
    struct strbuf id; /* of the agent's request, as JSON */
    struct acp_wish wish;
    struct strbuf text; /* the question; the same for the same tool call */
    struct acp_choice choices[ACP_CHOICES];
    size_t count;
    size_t fallback; /* the choice without an answer: a denial */
};

struct acp_options {
    enum acp_policy policy;
    const char *resume;      /* session to resume; or NULL */
    const char *model;       /* NULL: the agent's default */
    const char *mode;        /* the same */
    const char *auth_method; /* for `authenticate`; NULL: not called */
    time_ms ask_wait;        /* ACP_POLICY_ASK: how long the agent waits for a person */
    time_ms ask_deadline;    /* how long the question stays open; then it is denied */
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
    bool is_asked;    /* because a person has not answered in time */
    char id[256];
    const char *method;        /* of the open request */
    struct strbuf methods;     /* ids of the agent's authentication methods, for a message */
    struct strbuf open_result; /* of ACP_OPEN: modes and options */
    struct acp_call calls[ACP_CALLS];
    unsigned next_call;
    int64_t denied; /* how often */
    struct acp_wish last_denied;
    struct acp_ask *asks; /* the first one is asked, the others wait for it */
    unsigned ask_count;
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

/* --- permissions (acp_permission.c) ----------------------------------------------------------- */

/* A request for permission; answers it, or adds it to s->asks. */
void acp_permission_take(struct acp_session *s, struct json_span id, struct json_span params);
/* What a tool call reports about itself, in session/update. */
void acp_permission_note(struct acp_session *s, struct json_span update);
/* Ends the first of s->asks. `choice`: the name of a choice, NULL: its fallback. `by`: who answered;
 * NULL: no person did, because of `why`. */
void acp_permission_answer(struct acp_session *s, const char *choice, const char *by,
                           const char *why);
/* Answers all of them as canceled. */
void acp_permission_cancel(struct acp_session *s);
/* No person has answered in time. Ends the turn of an agent that can resume its session: the answer
 * is for the next attempt. False: it cannot resume, and waits on. */
bool acp_session_stop_waiting(struct acp_session *s);
/* A person is asked; `why`: it takes longer than configured; or NULL. */
void acp_session_log_wait(struct acp_session *s, const char *why);

/* --- questions (acp_question.c) --------------------------------------------------------------- */

#define ACP_KEY_SIZE  33u
#define ACP_ADDRESSES 8u

/* One question at the daemon, over a Unix socket: a request that the daemon answers late. If the
 * daemon is gone, the request is repeated, with the same key, until there is one. */
struct acp_question {
    const char *task, *token, *attempt;
    char *addresses[ACP_ADDRESSES]; /* of the daemons of this machine */
    size_t count, at;
    const char *problem; /* why it cannot ask; NULL: it can */

    const struct acp_ask *ask; /* NULL: none is asked */
    int fd;                    /* -1: not connected */
    char key[ACP_KEY_SIZE];
    time_ms span;  /* how long the current request may wait */
    time_ms until; /* steady clock: when the agent stops waiting */
    time_ms wake;  /* steady clock: connect again, or give the connection up; TIME_NEVER */
    struct strbuf out, in;
    struct strbuf answer, by, message; /* results */
};

enum acp_reply {
    ACP_REPLY_NONE,     /* not yet */
    ACP_REPLY_ANSWERED, /* `answer` and `by` are set */
    ACP_REPLY_OPEN,     /* the question is stored, and the time to wait for it is over */
    ACP_REPLY_REFUSED,  /* `message` is set */
};

/* Reads the variables of the run; the list outlives it. */
void acp_question_init(struct acp_question *q, const char *const *env);
void acp_question_finish(struct acp_question *q);
void acp_question_begin(struct acp_question *q, const struct acp_ask *ask,
                        const struct acp_options *options);
/* It is not needed any more; it stays open at the daemon. */
void acp_question_end(struct acp_question *q);
/* What to poll the descriptor for. */
short acp_question_events(const struct acp_question *q);
/* After polling: makes progress. */
enum acp_reply acp_question_step(struct acp_question *q, const struct acp_options *options);

/* --- inside acp/ ------------------------------------------------------------------------------ */

void acp_log_begin(struct acp_session *s, struct json_writer *w, const char *event);
void acp_log_end(struct acp_session *s, struct json_writer *w);
void acp_log_wish(struct json_writer *w, const struct acp_wish *wish);
void acp_answer_begin(struct acp_session *s, struct json_span id);
