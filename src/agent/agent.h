/* agent.h: what an agent program prints, read while it runs, and what became of it.
 *
 * Life:      agent_reader_new → agent_reader_stdout, agent_reader_stderr as it writes → agent_reader_end
 * Memory:    bounded: a line of any length is read without being kept. What is broken is skipped, holes (NUL
 *            bytes: the middle of a long log) too.
 * Judgement: never from the exit code alone, and never `ok` without the agent's own final message. First match
 *            wins: no final message → timeout, cancelled or crashed; auth; billing; limited; overloaded;
 *            context-full; refused; max-turns; budget; cancelled; failed; denied; ok.
 * Where:     agent.c the table of adapters, reader.c lines and judgement, json_scan.c JSON without a tree,
 *            reset_time.c "resets 4:28am (UTC)", usage_count.c tokens and cost, one file per adapter.
 *
 * Pure: no clock, no files. Add an adapter: one file with a struct agent_adapter, its name in AGENT_ADAPTERS
 * (reader_internal.h) and in meson.build, its recorded runs under tests/fixtures/agents/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/time_ms.h"

enum agent_result {
    AGENT_OK,
    AGENT_DENIED,  /* something was not permitted: denial. It may still call itself done */
    AGENT_LIMITED, /* its account must wait: reset_at */
    AGENT_OVERLOADED,
    AGENT_AUTH,
    AGENT_BILLING, /* no money or quota left, and no time at which there will be */
    AGENT_CONTEXT_FULL,
    AGENT_REFUSED,
    AGENT_MAX_TURNS,
    AGENT_BUDGET, /* its own cap */
    AGENT_CANCELLED,
    AGENT_TIMEOUT,
    AGENT_CRASHED, /* it ended without its final message, and was not asked to */
    AGENT_FAILED,
    AGENT_RESULT_MAX,
};
const char *agent_result_name(enum agent_result result); /* "ok" … "context-full" "max-turns" */

/* -1: not reported. Unknown is not zero. */
struct agent_usage {
    int64_t in;     /* everything that was sent, what came from a cache included */
    int64_t out;    /* reasoning included */
    int64_t cached; /* of `in`, what came from a cache */
    int64_t cost_micro_usd;
};

enum agent_source { AGENT_SOURCE_NONE, AGENT_SOURCE_EVENT, AGENT_SOURCE_TEXT, AGENT_SOURCE_MAX };

#define AGENT_RULE_SIZE 128

/* What a run was not permitted to do. Texts are single clean lines, like the message of an outcome. */
struct agent_denial {
    uint32_t count;             /* of all that the agent has reported; 0: none */
    char tool[64];              /* of the last one; "": not named */
    char argument[256];         /* what it was called with: a command, a path, an address; or "" */
    char rule[AGENT_RULE_SIZE]; /* for agent_launch.allow: would permit it; "": not known */
};

struct agent_outcome {
    enum agent_result result;
    time_ms reset_at; /* when the account may be used again, wall clock; 0: not reported */
    enum agent_source reset_source;
    struct agent_usage usage; /* of this run alone */
    bool is_short;            /* it ended before it had reported all of it */
    struct agent_usage
        session_usage;    /* of its session, over all runs: agent_prior_usage of the next one */
    bool session_is_lost; /* the one to continue does not exist, or the new id is taken */
    char session[128];    /* "" : not reported */
    char model[128];
    /* Its last message or its error: one line, no escape sequences, valid UTF-8. */
    char message[512];
    struct agent_denial denial; /* with AGENT_DENIED */
};

/* What is known while it runs. */
struct agent_progress {
    bool has_ended;  /* its final message came: the process should exit now */
    bool is_waiting; /* it retries by itself, because it is limited or its provider is overloaded */
    time_ms reset_at;         /* as above */
    struct agent_usage usage; /* of this run alone */
    const char *session;      /* the reader's */
};

/* What a session has used before this run: some agents report the sum over all runs of a session. */
struct agent_prior_usage {
    const char *session;
    struct agent_usage used;
    bool is_short; /* as in struct agent_outcome, of the run before */
    bool resumes;  /* this run goes on with that session */
};

/* How the process ended. */
enum agent_ended_by { AGENT_BY_ITSELF, AGENT_BY_STOP, AGENT_BY_TIMEOUT };
struct agent_end {
    int code;   /* exit code; -1: a signal ended it */
    int signal; /* 0: none */
    enum agent_ended_by by;
    time_ms now;          /* wall clock */
    int32_t utc_offset_s; /* of the local time in its messages */
};

struct agent_adapter;
/* NULL: there is none of this name. */
const struct agent_adapter *agent_adapter_find(const char *name);
size_t agent_adapter_count(void);
const struct agent_adapter *agent_adapter_at(size_t index);
const char *agent_adapter_name(const struct agent_adapter *adapter);
/* An agent of this name needs no configuration. */
bool agent_has_builtin(const char *name);
const char *agent_builtin(size_t index); /* each of them; NULL behind the last */
enum agent_list { AGENT_LIST_BUILTIN, AGENT_LIST_MCP, AGENT_LIST_ALL };
/* "claude, codex, gemini, opencode or copilot", where `last` is " or ": those that need no configuration, those
 * whose settings Sluice can add its MCP server to, or all adapters. Returns the text of `out`. */
const char *agent_print_names(enum agent_list list, const char *last, struct strbuf *out);
/* What OpenTelemetry calls the provider of an adapter. */
const char *agent_provider(const char *adapter);

/* Where an agent looks for MCP servers. */
struct agent_mcp {
    const char *variable; /* names the folder of the user's file; or NULL */
    const char *folder;   /* else that, below the home directory */
    const char *file;
    const char *project_file; /* of a project; NULL: it has none */
    const char *member;       /* of the JSON file; NULL: it is TOML */
    const char *type;         /* the member `type` of an entry; or NULL */
    bool is_one_list;         /* the command and its arguments; else `command` and `args` */
    bool may_have_comments;   /* FILEc is read, too */
};
const struct agent_mcp *agent_mcp(const struct agent_adapter *adapter); /* or NULL */

/* "INT" or "TERM": what ends it cleanly. */
const char *agent_adapter_stop_signal(const struct agent_adapter *adapter);
bool agent_adapter_can_resume(const struct agent_adapter *adapter);
/* A program of Sluice that runs the configured command and speaks with it, beside the shim; NULL: the command itself is run. */
const char *agent_adapter_client(const struct agent_adapter *adapter);
/* It takes the id of a new session from us. */
bool agent_adapter_names_session(const struct agent_adapter *adapter);

/* The command of a run. `program`: NULL, or what stands for the agent's own name. The prompt goes to the
 * standard input where the agent takes it there, else it is put behind by the caller (prompt_is_word). */
struct agent_launch {
    const char *program;
    const char *session;      /* id for a new session; NULL: the agent chooses */
    const char *resume;       /* the session to go on with; NULL: a new one */
    const char *model;        /* NULL: its own */
    const char *const *more;  /* further words of the configuration; ends with NULL; or NULL */
    const char *const *allow; /* rules of what it may do, for this run; ends with NULL; or NULL */
    const char *budget_usd;   /* most that the run may cost, "2.5"; NULL: not said */
    const char *usage_file;   /* where it may write what it used (agent_usage_file_name); or NULL */
    bool is_sandboxed;        /* it is in a sandbox */
    bool is_boxed;            /* … and cannot make one of its own there */
};
/* Words, each ended by NUL, into `out`; returns how many. 0: this adapter has no command of its own. */
size_t agent_command(const struct agent_adapter *adapter, const struct agent_launch *launch,
                     struct strbuf *out);
bool agent_prompt_is_word(const struct agent_adapter *adapter);

/* The command of a run whose adapter has a client. Texts that are NULL or "" are left out. The prompt goes to the standard input. */
struct agent_client {
    const char *program;     /* the client */
    const char *permissions; /* "allow", "edits" or "deny" */
    const char *resume;      /* the session to go on with */
    const char *mode, *model, *auth_method;
    const char *const *words; /* of the agent */
    size_t count;
};
/* Words, each ended by NUL, into `out`; returns how many. */
size_t agent_client_command(const struct agent_client *client, struct strbuf *out);

/* A word of a configured command that stands for the prompt: "{prompt}", or the value in "--option={prompt}". */
bool agent_word_has_prompt(const char *word);
void agent_word_put_prompt(const char *word, const char *prompt, struct strbuf *out);
/* What keeps a prompt that begins with '-' from being an option at the place `at` of these words (`count`: behind the
 * last)? `adapter`: whose program it is, or NULL. */
enum agent_dashes {
    AGENT_DASHES_NOT_NEEDED, /* "--" is there, or it is the value of an option */
    AGENT_DASHES_NEEDED,     /* "--" before it */
    AGENT_DASHES_UNKNOWN,    /* what the program does with it is not known */
};
enum agent_dashes agent_prompt_dashes(const struct agent_adapter *adapter, const char *const *words,
                                      size_t count, size_t at);
/* The option that permits one tool, as words of agents.A.args: "--allowedTools"; NULL: it has none. */
const char *agent_allow_option(const struct agent_adapter *adapter);
/* How its user permits something to it where there is no such option. NULL: not known. */
const char *agent_allow_hint(const struct agent_adapter *adapter);
/* How the user of the agent with this name logs in, as a clause: "run 'claude' once and log in, or ...". False: not known. */
bool agent_print_login(const struct agent_adapter *adapter, const char *agent, struct strbuf *out);
/* KEY=VALUE pairs that it should have, NULL at the end: few retries of its own, no updates. */
const char *const *agent_environment(const struct agent_adapter *adapter);

/* Can an agent work? Seen before a task is started: a login without asking the provider, by files that it leaves, by
 * variables, by words in settings. */

/* What it may do with the words that Sluice gives it. */
enum agent_permission {
    AGENT_MAY_WORK,   /* edit files and run commands */
    AGENT_MAY_EDIT,   /* commands are denied */
    AGENT_MAY_AS_SET, /* its own settings decide */
};

/* A file below the home directory that has one of these words, NULL at the end. */
struct agent_login_words {
    const char *file; /* NULL ends a list */
    const char *const *words;
};

struct agent_preflight {
    const char *const
        *login_files; /* below the home directory, NULL at the end: there after a login */
    const char *const *login_variables;       /* NULL at the end */
    const struct agent_login_words *settings; /* a key or a provider of its own */
    bool login_elsewhere; /* it may be logged in although nothing of these is there: a key ring */
    enum agent_permission may, may_sandboxed; /* without words of the configuration */
    const char *allow; /* the configuration that lets it run commands; or NULL */
    const struct agent_login_words
        *allowed; /* words in its own settings that permit commands; or NULL */
};

/* NULL: nothing is known about programs of this adapter. */
const struct agent_preflight *agent_preflight(const struct agent_adapter *adapter);
/* With these words of the configuration (NULL at the end, or NULL), in a sandbox or not. */
enum agent_permission agent_permission(const struct agent_adapter *adapter, const char *const *more,
                                       bool is_sandboxed);

/* What an agent needs of the home directory, in a sandbox that has none of the rest. Everything else it writes there
 * is gone with its run. Its settings, hooks and tool servers are among what it can only read. */
enum agent_path_use {
    AGENT_PATH_READ,  /* where it is there */
    AGENT_PATH_WRITE, /* the same */
    AGENT_PATH_KEEP,  /* a folder of sessions: made where it is not there, and written */
};
struct agent_path {
    const char *
        path; /* below the home directory; {cwd}: the folder of the run, as agents write it in names */
    enum agent_path_use use;
};
/* Whose program the words (NULL at the end) start, by its name: the one that a client runs keeps its files where it keeps them without
 * it. NULL: not known. */
const struct agent_adapter *agent_adapter_of_command(const char *const *words);
/* Ends with a path that is NULL. */
const struct agent_path *agent_paths(const struct agent_adapter *adapter);
/* Of one run: where its home directory is and where it works, both absolute; `variable` gives the value of a variable
 * of its environment, or NULL. */
struct agent_path_context {
    const char *home, *cwd;
    const char *(*variable)(void *ctx, const char *name);
    void *ctx;
};
/* Where a path really is. */
void agent_path_resolve(const struct agent_adapter *adapter, const struct agent_path *path,
                        const struct agent_path_context *place, struct strbuf *out);

/* Some print no tokens, but write them to a file when they end. The name of that file below the run's folder;
 * its path goes into agent_launch.usage_file, its bytes into agent_reader_usage before agent_reader_end. NULL:
 * everything is in the output. */
const char *agent_usage_file_name(const struct agent_adapter *adapter);

/* Most keep their sessions in files, which also say what was used: by a run that was killed, or by agents that it has started.
 * Where the file of a session is, below the home directory: {cwd} as in agent_path, {session} its id, {session:8} the first 8 characters of it,
 * and "*" any name. NULL: the
 * files are of no use. */
const struct agent_path *agent_session_file(const struct agent_adapter *adapter);

struct agent_reader;
struct agent_reader *agent_reader_new(const struct agent_adapter *adapter);
struct agent_reader *agent_reader_free(struct agent_reader *reader); /* accepts NULL */
/* Before the first byte, once for each session of which something is known; last for that of the run. */
void agent_reader_set_prior_usage(struct agent_reader *reader,
                                  const struct agent_prior_usage *before);
void agent_reader_stdout(struct agent_reader *reader, const char *bytes, size_t size);
void agent_reader_stderr(struct agent_reader *reader, const char *bytes, size_t size);
/* The complete file of agent_usage_file_name, once; at most AGENT_USAGE_FILE_MAX bytes of it. */
#define AGENT_USAGE_FILE_MAX (1024 * 1024)
void agent_reader_usage(struct agent_reader *reader, const char *bytes, size_t size);
/* At the end: the session number `index` whose file should be read, because the output leaves something out; NULL: no more. */
const char *agent_reader_wants_file(const struct agent_reader *reader, size_t index);
/* The end of that file, before agent_reader_end. */
#define AGENT_SESSION_FILE_MAX (1024 * 1024)
void agent_reader_session_file(struct agent_reader *reader, const char *session, const char *bytes,
                               size_t size);
void agent_reader_progress(const struct agent_reader *reader, struct agent_progress *ret);
void agent_reader_end(struct agent_reader *reader, const struct agent_end *end,
                      struct agent_outcome *ret);
