/* reader_internal.h: the adapter interface.
 *
 * An adapter is one constant struct agent_adapter (agent.h): how its program is started, and its
 * struct agent_output: which values of its events it wants, and the functions that interpret them.
 * The reader handles lines, buffers, broken input and the order of judgement (agent.h).
 *
 * What an agent_output does
 *   handlers  notes from an output object of one type: session, model, usage, message; marks; the
 *             final message
 *   text      the same for a line that is not JSON
 *   judge     once, at the end: adds marks that only the exit code or error output can show. It does
 *             not choose: the order in agent.h does.
 * Marks are results that apply to this run; agent_mark adds one. They are cleared when a retry
 * succeeded. A run without a final message (notes->has_ended) is at best crashed, whatever
 * is marked; one with a final message and no marks is ok. judge may set has_ended if the agent's
 * final message is its exit code (plain) or in the error output.
 *
 * Example: codex.c */
#pragma once

#include <stdbool.h>

#include "agent/agent.h"
#include "agent/json_scan.h"

/* --- usage ------------------------------------------------------------------------------------ */

/* Usage of one run, from the reports of its agent (usage_count.c).
 *
 * Agents report in three ways, and one output may mix them:
 *   share   used since the last share. Shares are added up.
 *   total   used by a session so far, with earlier runs. The largest total of a session counts,
 *           minus what the session had used before this run.
 *   begun   the start of a call whose end was not reported. Counts until the next share or total of
 *           the session, which includes it.
 * If both shares and a total are known, one of them counts, never the sum: exact shares; or the
 * larger value, if the previous run was killed before it reported everything, or if shares are
 * incomplete.
 *
 * Each session is counted separately, so several sessions in one log, in any order, give the same
 * sum. At most USAGE_SESSIONS are remembered. The rest is not counted, so the result may be too low
 * but never too high. -1 means "not reported" in all numbers. */
#define USAGE_SESSIONS 32
#define USAGE_REPORTS  256

#define USAGE_NONE ((struct agent_usage){ -1, -1, -1, -1 })

struct usage_session {
    uint64_t key;  /* hash of the session id */
    bool is_exact; /* shares are complete */
    bool is_short; /* `before` is incomplete */
    bool has_file; /* the total is from the session's file, and so newer than the last share */
    struct agent_usage before, shares, total, begun;
};

/* Zero-initialized. */
struct usage_count {
    struct usage_session sessions[USAGE_SESSIONS];
    struct usage_session uncounted; /* for all others */
    size_t session_count;
    uint64_t resumed;                /* the session that this run resumes */
    bool resumes;                    /* `resumed` is set */
    uint64_t reports[USAGE_REPORTS]; /* hashes of the latest report ids */
    size_t report_count;
};

/* False if this report was notes before, as in concatenated logs, or in a file with every message
 * change. `id` is the agent's; reports without one are new. The last USAGE_REPORTS are
 * remembered. */
bool usage_count_is_new(struct usage_count *count, const char *session, const char *id);
void usage_count_before(struct usage_count *count, const struct agent_prior_usage *before);
/* `is_exact`: the share is complete. Then the total does not count, because it may include usage by
 * others in that session. */
void usage_count_share(struct usage_count *count, const char *session,
                       const struct agent_usage *share, bool is_exact);
void usage_count_total(struct usage_count *count, const char *session,
                       const struct agent_usage *total);
void usage_count_begun(struct usage_count *count, const char *session,
                       const struct agent_usage *begun);
/* A total from a session's file. Returns false and ignores it if it is outdated. */
bool usage_count_file(struct usage_count *count, const char *session,
                      const struct agent_usage *total);

void usage_add(struct agent_usage *sum, const struct agent_usage *more);

bool usage_count_knows_before(const struct usage_count *count, const char *session);
/* Adds a key to a ring of the latest `size` keys. False: it is already there. */
bool usage_ring_add(uint64_t *ring, size_t size, size_t *count, uint64_t key);
struct agent_usage usage_count_run(const struct usage_count *count);
/* Of the session over all runs: for usage_count_before of the next run. */
struct agent_usage usage_count_session(const struct usage_count *count, const char *session);

/* --- notes ------------------------------------------------------------------------------------ */

/* USAGE: the usage file. SESSION: a session's file. */
enum agent_stream {
    AGENT_STREAM_OUT,
    AGENT_STREAM_ERR,
    AGENT_STREAM_USAGE,
    AGENT_STREAM_SESSION,
    AGENT_STREAM_MAX,
};

#define AGENT_STATE_SIZE 1024
#define AGENT_OTHERS     16 /* the rest is not counted */

/* What is known about a run. Owned by the reader; initially zero, except `is_short`. */
struct agent_notes {
    bool has_event;       /* standard output had an object */
    bool has_ended;       /* set by the final message; cleared if the agent continues */
    bool is_waiting;      /* it is retrying by itself; cleared when it continues */
    bool session_is_lost; /* as in struct agent_outcome */
    /* Initially set; cleared by the final numbers; set again if the agent continues. */
    bool is_short;
    uint32_t marks;                             /* bit 1 << enum agent_result */
    time_ms reset_at;                           /* from an event: agent_set_reset */
    struct agent_quota quota[AGENT_WINDOW_MAX]; /* agent_set_quota */
    struct usage_count count;
    char session[128];
    char given[128];        /* the session that the caller passed; "": none */
    char file_session[128]; /* session whose file is being read */
    /* Sessions of subagents that this agent does not count itself. */
    char others[AGENT_OTHERS][64];
    size_t other_count;
    char model[128];
    /* Its final message or error, for the outcome. */
    char message[512];
    bool message_is_error;  /* error_text_note */
    bool message_is_spaced; /* agent_add_message: the last chunk ended with a blank */
    /* Where the reader looks for a time if no event has one; "": the message. */
    char reset_text[512];
    /* Last line of error output: the message if there is no other. */
    char last_error[512];
    struct agent_denial denial; /* agent_deny */
    /* The adapter's own state: a struct of at most this size, initially zero. */
    union {
        char bytes[AGENT_STATE_SIZE];
        int64_t align;
    } state;
};

/* Defines the accessor for an adapter's own state. */
#define DEFINE_STATE(type)                                                                         \
    _Static_assert(sizeof(type) <= AGENT_STATE_SIZE, "the state is too large");                    \
    static type *state_of(struct agent_notes *notes) {                                             \
        return (type *)&notes->state;                                                              \
    }

typedef void agent_handle(struct agent_notes *notes, const struct json_value *values);
struct agent_handler {
    const char *type; /* NULL ends a table */
    agent_handle *handle;
};

/* Placeholders in `command`. Replaced by an option and its value, or by nothing without a value: */
#define AGENT_WORD_MODEL   "%model"
#define AGENT_WORD_SESSION "%session" /* id of a new session, or the words of `resume` */
#define AGENT_WORD_BUDGET  "%budget"  /* dollars */
#define AGENT_WORD_USAGE   "%usage"   /* the path of the file */
#define AGENT_WORD_MORE    "%more"    /* configured words */
#define AGENT_WORD_USUAL   "%usual"   /* default permissions, unless configured */
/* The id of the session to resume; a word, or the end of a word of `resume`. */
#define AGENT_WORD_RESUME "%resume"
/* Prefix of a word that is only for a new session. */
#define AGENT_WORD_NEW "%new"

/* The end of `login`. Variables of the user's shell do not reach a run. */
#define LOGIN_OR_KEY(key)                                                                          \
    "; or put " key " in a file and run: sluice config set agents.{agent}.env_file=FILE"

struct error_phrase;

/* How the output of an agent is interpreted. */
struct agent_output {
    /* Wanted paths, the same for all streams. The first one is the type of an event. */
    const struct json_want *wants;
    size_t want_count;
    void (*start)(struct agent_notes *notes); /* or NULL */
    /* Called first for each object of the output. False: ignore the object. Or NULL. */
    bool (*each)(struct agent_notes *notes, const struct json_value *values);
    const struct agent_handler *handlers; /* objects of the output, by type; or NULL */
    /* Objects of each stream; of the output only those without a handler. Or NULL. */
    agent_handle *objects[AGENT_STREAM_MAX];
    /* Or NULL. The line is clean: valid UTF-8 without control characters, not empty. */
    void (*text)(struct agent_notes *notes, const char *line, enum agent_stream from);
    void (*judge)(struct agent_notes *notes, const struct agent_end *end); /* or NULL */
    /* How the output is shown (transcript.h); NULL: as text. */
    const struct transcript_family *transcript;
};

extern const struct transcript_family transcript_acp, transcript_claude, transcript_codex,
    transcript_copilot, transcript_gemini, transcript_opencode;

/* Every adapter, in display order. */
#define AGENT_ADAPTERS(ADAPTER)                                                                    \
    ADAPTER(claude)                                                                                \
    ADAPTER(codex)                                                                                 \
    ADAPTER(gemini)                                                                                \
    ADAPTER(opencode)                                                                              \
    ADAPTER(copilot)                                                                               \
    ADAPTER(acp)                                                                                   \
    ADAPTER(claude_stream)                                                                         \
    ADAPTER(plain)
#define AGENT_DECLARE(name_) extern const struct agent_adapter agent_##name_;
AGENT_ADAPTERS(AGENT_DECLARE)

/* For rows: LIST("a", "b") ends with NULL, PATHS(READ("a"), KEEP("b")) with path NULL. */
#define READ(path)                                                                                 \
    { path, AGENT_PATH_READ }
#define WRITE(path)                                                                                \
    { path, AGENT_PATH_WRITE }
#define KEEP(path)                                                                                 \
    { path, AGENT_PATH_KEEP }
#define PATHS(...) ((const struct agent_path[]){ __VA_ARGS__, READ(NULL) })
#define LIST(...)  ((const char *const[]){ __VA_ARGS__, NULL })
#define WORDS(...) ((const struct agent_login_words[]){ __VA_ARGS__, { NULL, NULL } })

void agent_mark(struct agent_notes *notes, enum agent_result result);
/* Marks the result whose row has exactly this string. False: none. */
bool agent_mark_named(struct agent_notes *notes, const struct error_phrase *table,
                      const struct json_value *name);
/* The final message came: the agent is not retrying any more. */
void agent_set_ended(struct agent_notes *notes);
/* An attempt succeeded: removes the marks and the message of errors before it. */
void agent_recover(struct agent_notes *notes);
/* Records a denied tool. Texts may be NULL. Does not mark. */
void agent_deny(struct agent_notes *notes, const char *tool, const char *argument,
                const char *rule);
/* The rule that permits a command line: "Bash(git commit:*)" with `any` ":*"; only the tool if the
 * command has shell syntax. */
void agent_command_rule(const char *tool, const char *command, const char *any,
                        char ret[AGENT_RULE_SIZE]);

/* Copies the text as one clean line: no control characters or escape sequences, collapsed blanks,
 * invalid UTF-8 as U+FFFD, cut at a character boundary. An empty result leaves `to` unchanged. */
void agent_set_line(char *to, size_t size, const char *text);
#define agent_set_message(notes, text)                                                             \
    agent_set_line((notes)->message, sizeof((notes)->message), (text))
/* A chunk of a message; `continues`: it follows the previous chunk. */
void agent_add_message(struct agent_notes *notes, const struct json_value *chunk, bool continues);
/* Ids go back to the agent as words, so they are validated: letters, digits and "._:-", not
 * starting with '-', not truncated; others are ignored. */
void agent_set_session(struct agent_notes *notes, const struct json_value *value);
void agent_set_model(struct agent_notes *notes, const struct json_value *value);
/* The session that the agent reported, or the caller's. */
const char *agent_session(const struct agent_notes *notes);
void agent_add_other(struct agent_notes *notes, const struct json_value *value);
/* Seconds or milliseconds since the epoch, by magnitude; implausible values are ignored. */
void agent_set_reset(struct agent_notes *notes, int64_t since_epoch);
/* Use of the account. Negative or implausible values are ignored; of one window the highest value
 * counts. `resets_at` as in agent_set_reset; 0 or less: unknown. */
void agent_set_quota(struct agent_notes *notes, enum agent_window window, int64_t used_milli,
                     int64_t resets_at);
/* *sum += value, where -1 is "not reported" on both sides. */
void agent_add_count(int64_t *sum, int64_t value);
/* Token counters from three values: input, output, cached; no cost. */
struct agent_usage agent_tokens(const struct json_value values[3]);

/* Case-insensitive for ASCII letters. */
bool agent_has(const char *text, const char *part);
bool agent_has_any(const char *text, const char *const *parts); /* ends with NULL */

/* The process failed, and was not stopped. */
bool agent_end_is_failure(const struct agent_end *end);
/* A `judge`: an unexplained failure is AGENT_FAILED. */
void agent_judge_exit(struct agent_notes *notes, const struct agent_end *end);

/* --- error_text.c: classifies errors by status and text --------------------------------------- */

/* Agents pass on their provider's errors, so the same few texts come from all of them. An adapter
 * has a table for the texts of its own program, which take precedence. The first row with a part
 * that the text contains, ignoring case, wins. */
struct error_phrase {
    enum agent_result result;
    const char *const *parts; /* NULL-terminated; NULL ends the table */
};

/* Marks the kind of error, or AGENT_FAILED if neither source identifies it. `own`: the adapter's
 * table, or NULL; `status`: of the HTTP answer, or -1. */
void error_text_mark(struct agent_notes *notes, const struct error_phrase *own, int64_t status,
                     const char *text);

/* Would waiting help? Limited, overloaded, or the connection broke. Marks nothing. */
bool error_text_is_passing(const struct error_phrase *own, int64_t status, const char *text);

/* The number after `before` in the text ("status: " → 429); -1: none. */
int64_t error_text_status(const char *text, const char *before);

/* The row with exactly this string; or NULL. */
const struct error_phrase *error_phrase_named(const struct error_phrase *table,
                                              const struct json_value *name);

/* Sets the error as the message, and message_is_error. If the text is JSON with a message, uses
 * that. */
void error_text_note(struct agent_notes *notes, const char *text);

/* --- reset_time.c ----------------------------------------------------------------------------- */

/* The time in a text like "You've hit your limit · resets 4:28am (UTC)"; false: none. */
bool reset_time_find(const char *text, time_ms now, int32_t utc_offset_s, time_ms *ret_at);
/* "2026-11-16T17:06:57.641Z", without its fraction; false: not a time. */
bool reset_time_iso(const char *text, time_ms *ret_at);
