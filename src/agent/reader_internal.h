/* reader_internal.h: what an adapter is, and what it may note down of a run.
 *
 * An adapter is one constant struct agent_adapter: how its program is started, which values of its events it
 * wants to see, and two or three functions that note down what they mean. Lines, buffers, broken input and
 * the order of judgement (agent.h) are the reader's.
 *
 * What an adapter does
 *   event   looks at one object of the output and notes: session, model, usage, message; marks; the final message
 *   text    the same for a line that is no JSON
 *   judge   once, at the end: looks at how the process ended and adds the marks that only the exit code or
 *           the error output can tell. It does not choose: it marks, and the order in agent.h chooses.
 * Marks are results that would be true of this run; agent_mark adds one, agent_unmark_all forgets them when
 * a retry went well. A run whose final message was not seen (seen->has_ended) is never better than crashed,
 * whatever is marked; one with a final message and without marks is ok. judge may set has_ended where the agent's
 * final message is its exit code (plain) or stands in the error output.
 *
 * Example: codex.c */
#pragma once

#include <stdbool.h>

#include "agent/agent.h"
#include "agent/json_scan.h"

/* --- usage ---------------------------------------------------------------------------------------- */

/* What one run has used, counted from what its agent reports (usage_count.c).
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
    uint64_t resumed;                /* the session that this run continues, */
    bool resumes;                    /* if any */
    uint64_t reports[USAGE_REPORTS]; /* the last ones, by their ids */
    size_t report_count;
};

/* False: this report came before, as in a log that was copied together from several, or in a file that has each change of a message.
 * `id`: what the agent calls it; one without a name is new. The last USAGE_REPORTS are remembered. */
bool usage_count_is_new(struct usage_count *count, const char *session, const char *id);
void usage_count_before(struct usage_count *count, const struct agent_prior_usage *before);
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

/* --- what is known of a run ------------------------------------------------------------------------ */

/* USAGE: the file that some write when they end (agent_usage_file_name). SESSION: that of agent_session_file. */
enum agent_stream {
    AGENT_STREAM_OUT,
    AGENT_STREAM_ERR,
    AGENT_STREAM_USAGE,
    AGENT_STREAM_SESSION,
    AGENT_STREAM_MAX,
};

#define AGENT_STATE_SIZE 1024
#define AGENT_OTHERS     16 /* what does not fit is not counted */

/* What is known of a run. The reader's; zero at first, but for `is_short`. */
struct agent_notes {
    bool has_ended;       /* set with the final message; cleared when the agent goes on after it */
    bool is_waiting;      /* it retries by itself now; cleared when it goes on */
    bool session_is_lost; /* as in struct agent_outcome */
    bool
        is_short; /* the same: set at first; cleared with the last numbers; set when the agent goes on */
    uint32_t marks;   /* bit 1 << enum agent_result */
    time_ms reset_at; /* from an event: agent_set_reset */
    struct usage_count count;
    char session[128];
    char given[128];        /* the session as the caller named it; "": it did not */
    char file_session[128]; /* whose file is read now */
    /* Sessions of agents that this one has started, and does not count itself. */
    char others[AGENT_OTHERS][64];
    size_t other_count;
    char model[128];
    /* Its last message or its error: goes to the outcome. */
    char message[512];
    bool message_is_spaced; /* agent_add_message: the last piece ended with a blank */
    /* Where the reader looks for a time when no event has one; "": the message. */
    char reset_text[512];
    /* Last line of the error output, kept by the reader: the message when there is no other. */
    char last_error[512];
    struct agent_denial denial; /* agent_deny */
    /* For the adapter's own notes: a struct of its own, at most this large, zero at first. */
    union {
        char bytes[AGENT_STATE_SIZE];
        int64_t align;
    } own;
};

/* The function by which an adapter reaches its own notes. */
#define DEFINE_NOTES(type, function)                                                               \
    _Static_assert(sizeof(type) <= AGENT_STATE_SIZE, "notes are too large");                       \
    static type *function(struct agent_notes *seen) {                                              \
        return (type *)&seen->own;                                                                 \
    }

/* Words of `command` that are replaced; others stay as they are. Complete words, each the option and its value, or nothing when
 * there is no value: */
#define AGENT_WORD_MODEL   "%model"
#define AGENT_WORD_SESSION "%session" /* the id of a new session, or the words of `resume` */
#define AGENT_WORD_BUDGET  "%budget"  /* dollars */
#define AGENT_WORD_USAGE   "%usage"   /* the path of the file */
#define AGENT_WORD_MORE    "%more"    /* the words of the configuration */
#define AGENT_WORD_USUAL   "%usual"   /* what it may do, unless the configuration says it */
/* At the end of a word of `resume`, or a word of its own: the id of the session to continue. */
#define AGENT_WORD_RESUME "%resume"
/* At the beginning of a word: only for a new session. */
#define AGENT_WORD_NEW "%new"

/* The end of `login`. A variable of the user's shell does not reach a run. */
#define LOGIN_OR_KEY(key) ", or put " key " into a file and set agents.{agent}.env_file to its path"

struct agent_adapter {
    const char *name;
    bool is_builtin;      /* an agent of this name needs no configuration */
    const char *provider; /* gen_ai.provider.name of OpenTelemetry; NULL: the name */
    const struct agent_preflight *preflight; /* or NULL */
    const struct agent_mcp *mcp;             /* or NULL: Sluice cannot add its server there */
    const char *stop_signal;                 /* "INT" or "TERM" */
    bool prompt_is_word;                     /* else it goes to the standard input */
    /* Its options without a value, NULL at the end, of a program that takes a prompt as an operand and knows `--`; those
     * that a prompt may follow. NULL: it does not. */
    const char *const *flags;

    /* Words, NULL at the end; the first of `command` is the program. NULL: no command of its own; cannot resume. */
    const char *const *command;
    const char *const *resume;  /* instead of AGENT_WORD_SESSION */
    const char *model_option;   /* "--model"; "--model=" when both are one word; NULL: has none */
    const char *client;         /* agent_adapter_client; or NULL */
    const char *session_option; /* NULL: the agent chooses the id */
    const char *budget_option;  /* most dollars of one run; NULL: it knows no such limit */
    const char
        *allow_option;      /* permits the tool that follows; may be given often; NULL: has none */
    const char *allow_hint; /* without one: how else; a clause for people; or NULL */
    const char *login;      /* how to log in; a clause for people, {agent} is its name; or NULL */
    const char *usage_option; /* NULL: everything is in the output */
    const char *usage_file_name;
    const struct agent_path *session_file; /* or NULL */
    bool session_file_has_more;            /* than a complete output and the usage file */
    const char *const *environment;        /* KEY=VALUE, NULL at the end; or NULL */
    /* The words of %usual, left out when the configuration has one of the options `instead`: given twice they
     * are an error. Both end with NULL; or NULL. */
    const char *const *usual;
    const char *const *instead;
    const char *const *usual_boxed; /* instead of `usual` when it is_boxed; or NULL */
    /* The tools that it may use without asking, behind the words above; left out when the configuration has one of
     * `instead` or of `tools_instead`. In a sandbox `tools_sandboxed`: there the sandbox decides what they can do. All end
     * with NULL; or NULL. */
    const char *const *tools;
    const char *const *tools_sandboxed;
    const char *const *tools_instead;

    const struct agent_path *paths; /* or NULL */
    /* A variable that names another folder for what is below `settings_folder`; or NULL. */
    const char *settings_variable, *settings_folder;

    /* All streams are scanned for the same paths. */
    const struct json_want *wants;
    size_t want_count;
    void (*start)(struct agent_notes *seen); /* or NULL */
    void (*event)(struct agent_notes *seen, const struct json_value *values,
                  enum agent_stream from);
    /* Or NULL. The line is clean: one line of valid UTF-8 without control characters, not empty. */
    void (*text)(struct agent_notes *seen, const char *line, enum agent_stream from);
    void (*judge)(struct agent_notes *seen, const struct agent_end *end); /* or NULL */
    /* How its output is shown to people (transcript.h); NULL: it is text already. */
    const struct transcript_family *transcript;
};

extern const struct transcript_family transcript_acp, transcript_claude, transcript_codex,
    transcript_copilot, transcript_gemini, transcript_opencode;

/* Every adapter, in the order in which people see them. A new one: its file, and its name here. */
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

/* For the lists of a row: LIST("a", "b") ends with NULL, PATHS(READ("a"), KEEP("b")) with a path that is NULL. */
#define READ(path)                                                                                 \
    { path, AGENT_PATH_READ }
#define WRITE(path)                                                                                \
    { path, AGENT_PATH_WRITE }
#define KEEP(path)                                                                                 \
    { path, AGENT_PATH_KEEP }
#define PATHS(...) ((const struct agent_path[]){ __VA_ARGS__, READ(NULL) })
#define LIST(...)  ((const char *const[]){ __VA_ARGS__, NULL })
#define WORDS(...) ((const struct agent_login_words[]){ __VA_ARGS__, { NULL, NULL } })

void agent_mark(struct agent_notes *seen, enum agent_result result);
void agent_unmark_all(struct agent_notes *seen);
/* It was not permitted to use this tool. Texts may be NULL. Does not mark. */
void agent_deny(struct agent_notes *seen, const char *tool, const char *argument, const char *rule);
/* The rule that permits a command line: "Bash(git commit:*)", where `any` is ":*"; the tool alone where the command
 * has shell syntax. */
void agent_command_rule(const char *tool, const char *command, const char *any,
                        char ret[AGENT_RULE_SIZE]);
/* The status of an HTTP answer as a mark: 401 403 auth, 402 billing, 408 5xx overloaded, 413 context-full,
 * 429 limited. false: none of these. */
bool agent_mark_status(struct agent_notes *seen, int64_t status);

/* The text as one clean line: no control characters and escape sequences, runs of blanks as one, what is not
 * UTF-8 as U+FFFD, cut in front of a character. An empty result leaves `to` as it was. */
void agent_set_line(char *to, size_t size, const char *text);
#define agent_set_message(seen, text)                                                              \
    agent_set_line((seen)->message, sizeof((seen)->message), (text))
/* A piece of a message that comes in several; `goes_on`: it follows the piece before. */
void agent_add_message(struct agent_notes *seen, const struct json_value *piece, bool goes_on);
/* Ids go back to the agent as words: letters, digits and "._:-", not first '-', whole; else not taken. */
void agent_set_session(struct agent_notes *seen, const struct json_value *value);
void agent_set_model(struct agent_notes *seen, const struct json_value *value);
/* The session, by its own word or the caller's. */
const char *agent_session(const struct agent_notes *seen);
/* An agent that this one has started; known ones are not added again. */
void agent_add_other(struct agent_notes *seen, const struct json_value *value);
/* Seconds or milliseconds since the epoch, by its size; nonsense is not taken. */
void agent_set_reset(struct agent_notes *seen, int64_t since_epoch);
/* *sum += value, where -1 is "not reported" on both sides. */
void agent_add_count(int64_t *sum, int64_t value);
/* Counters of tokens in three values; no cost. */
struct agent_usage agent_tokens(const struct json_value *in, const struct json_value *out,
                                const struct json_value *cached);

/* Does the text contain the part, letters of ASCII in any case? */
bool agent_has(const char *text, const char *part);
/* … one of the parts? The list ends with NULL. */
bool agent_has_any(const char *text, const char *const *parts);

/* The process exited with a failure, and was not stopped. */
bool agent_end_is_failure(const struct agent_end *end);
/* A `judge`: a failure that nothing explains is AGENT_FAILED. */
void agent_judge_exit(struct agent_notes *seen, const struct agent_end *end);

/* --- error_text.c: the meaning of an error, by its status and its text ---------------------------- */

/* Agents pass on what their provider reports; the same few texts come through all of them. An adapter has a table for
 * the texts of its own program, which count first. The first row of which the text contains a part, letters in any case, wins. */
struct error_phrase {
    enum agent_result result;
    const char *const *parts; /* NULL at the end; NULL ends the table */
};

/* Marks what the error is, or AGENT_FAILED when neither tells. `own`: the adapter's table, or NULL; `status`:
 * of the HTTP answer, -1: none. */
void error_text_mark(struct agent_notes *seen, const struct error_phrase *own, int64_t status,
                     const char *text);

/* Would waiting help? Limited, overloaded, or the connection broke. Marks nothing. */
bool error_text_is_passing(const struct error_phrase *own, int64_t status, const char *text);

/* The number behind `before` in the text ("status: " → 429); -1: there is none. */
int64_t error_text_status(const char *text, const char *before);

/* The row with exactly this string; or NULL. */
const struct error_phrase *error_phrase_named(const struct error_phrase *table,
                                              const struct json_value *name);

/* Notes the error as the message. Where the text is itself JSON with a message, that message. */
void error_text_note(struct agent_notes *seen, const char *text);

/* --- reset_time.c --------------------------------------------------------------------------------- */

/* The time in a text like "You've hit your limit · resets 4:28am (UTC)"; false: it has none. */
bool reset_time_find(const char *text, time_ms now, int32_t utc_offset_s, time_ms *ret_at);
