/* agent.h: reads the output of an agent program while it runs, and determines the outcome.
 *
 * Life:      agent_reader_new → agent_reader_stdout, agent_reader_stderr → agent_reader_end
 * Memory:    bounded: lines of any length are read without being kept. Broken input is skipped, and
 *            so are holes (NUL bytes: the middle of a long log).
 * Judgement: never from the exit code alone, and never `ok` without the agent's own final message.
 *            First match wins: no final message → timeout, canceled or crashed; auth; billing;
 *            limited; overloaded; context-full; refused; max-turns; budget; canceled; failed;
 *            denied; ok.
 * Where:     agent.c the table of adapters, reader.c lines and judgement, json_scan.c JSON without
 *            a tree, reset_time.c "resets 4:28am (UTC)", usage_count.c tokens, cost, one file per
 *            adapter.
 *
 * Pure: no clock, no files. To add an adapter: one file with a struct agent_adapter, its name in
 * AGENT_ADAPTERS (reader_internal.h) and in meson.build, recorded runs in
 * tests/fixtures/agents/. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/time_ms.h"

enum agent_result {
    AGENT_OK,
    AGENT_DENIED,  /* something was not permitted: see denial. The agent may still report success */
    AGENT_LIMITED, /* the account must wait until reset_at */
    AGENT_OVERLOADED,
    AGENT_AUTH,
    AGENT_BILLING, /* no money or quota left, and no known time of renewal */
    AGENT_CONTEXT_FULL,
    AGENT_REFUSED,
    AGENT_MAX_TURNS,
    AGENT_BUDGET, /* its own spending limit */
    AGENT_CANCELED,
    AGENT_TIMEOUT,
    AGENT_CRASHED, /* exited without a final message, and was not stopped */
    AGENT_FAILED,
    AGENT_RESULT_MAX,
};
const char *agent_result_name(enum agent_result result); /* "ok" … "context-full" "max-turns" */

/* -1: not reported. Unknown is not zero. */
struct agent_usage {
    int64_t in;     /* all input, including cached */
    int64_t out;    /* including reasoning */
    int64_t cached; /* part of `in` that came from a cache */
    int64_t cost_micro_usd;
};

enum agent_source { AGENT_SOURCE_NONE, AGENT_SOURCE_EVENT, AGENT_SOURCE_TEXT, AGENT_SOURCE_MAX };

#define AGENT_RULE_SIZE 128

/* What a run was not permitted to do. Texts are single clean lines. */
struct agent_denial {
    uint32_t count;             /* all denials that the agent has reported; 0: none */
    char tool[64];              /* of the last one; "": unknown */
    char argument[256];         /* command, path or URL; or "" */
    char rule[AGENT_RULE_SIZE]; /* rule for agent_launch.allow that would permit it; "": unknown */
};

/* The windows in which a provider counts the use of an account, for all models together. */
enum agent_window { AGENT_WINDOW_FIVE_HOUR, AGENT_WINDOW_WEEKLY, AGENT_WINDOW_MAX };

/* How much of a window is used, as reported by the provider. */
struct agent_quota {
    bool is_known;      /* false: not reported */
    int32_t used_milli; /* in thousandths; may exceed 1000 */
    time_ms resets_at;  /* end of the window, wall clock; 0: unknown */
};

struct agent_outcome {
    enum agent_result result;
    time_ms reset_at; /* when the account may be used again, wall clock; 0: unknown */
    enum agent_source reset_source;
    struct agent_usage usage; /* of this run alone */
    bool is_short;            /* it ended before it reported everything */
    struct agent_usage
        session_usage;    /* of the session over all runs: agent_prior_usage of the next one */
    bool session_is_lost; /* the session to resume does not exist, or the new id is taken */
    char session[128];    /* "": unknown */
    char model[128];
    /* Its final message or error: one line, no escape sequences, valid UTF-8. */
    char message[512];
    struct agent_denial denial; /* with AGENT_DENIED */
    struct agent_quota quota[AGENT_WINDOW_MAX];
};

struct agent_progress {
    bool has_ended;           /* its final message came: the process should exit now */
    bool is_waiting;          /* it retries by itself: limited, or provider overloaded */
    time_ms reset_at;         /* as in struct agent_outcome */
    struct agent_usage usage; /* of this run alone */
    const char *session;      /* owned by the reader */
    struct agent_quota quota[AGENT_WINDOW_MAX];
};

/* Usage of a session before this run: some agents report the sum over all runs of a session. */
struct agent_prior_usage {
    const char *session;
    struct agent_usage used;
    bool is_short; /* as in struct agent_outcome, of the previous run */
    bool resumes;  /* this run continues that session */
};

enum agent_ended_by { AGENT_BY_ITSELF, AGENT_BY_STOP, AGENT_BY_TIMEOUT };
struct agent_end {
    int code;   /* exit code; -1: killed by a signal */
    int signal; /* 0: none */
    enum agent_ended_by by;
    time_ms now;          /* wall clock */
    int32_t utc_offset_s; /* offset of local times in its messages */
};

struct agent_output; /* how the reader and the transcript interpret its output: private to agent/ */

/* An agent program: how it is started, and what it needs. Lists end with NULL; pointers without a
 * comment about NULL are never NULL. */
struct agent_adapter {
    const char *name;
    bool is_builtin;                         /* needs no configuration */
    const char *provider;                    /* agent_provider; NULL: its name */
    const struct agent_preflight *preflight; /* NULL: nothing is known about its program */
    const struct agent_mcp *mcp;             /* NULL: Sluice cannot add its server */
    const char *stop_signal;                 /* ends it cleanly: "INT" or "TERM" */
    /* Options without a value that may precede a prompt, of a program that takes the prompt as an
     * operand and supports `--`. NULL: it does not. */
    const char *const *flags;

    /* The words of agent_command; the first one of `command` is the program. NULL: none. */
    const char *const *command;
    const char *const *resume;  /* replaces AGENT_WORD_SESSION; NULL: cannot resume a session */
    const char *model_option;   /* "--model"; "--model=" if both are one word; NULL: none */
    const char *client;         /* a program of Sluice that runs the configured command; or NULL */
    const char *session_option; /* sets the id of a new session; NULL: the agent chooses it */
    const char *budget_option;  /* maximum dollars per run; NULL: not supported */
    const char *allow_option;   /* permits the tool that follows; repeatable; NULL: none */
    const char *allow_hint;     /* how to permit something without it, as a clause; or NULL */
    const char *login;          /* agent_print_login; {agent} is its name; or NULL */
    const char *const *environment; /* KEY=VALUE: few retries of its own, no updates; or NULL */

    /* The words of agent_command that open it for a person at a terminal; NULL: unknown. */
    const char *const *interactive;
    /* Configured options that it accepts only unattended, omitted there. "--color=": its value is
     * the rest of the word, or the next word. Or NULL. */
    const char *const *unattended;

    /* Some agents print no tokens but write them to a file at exit: the option with its path
     * (agent_launch.usage_file), and its name in the run's folder. agent_reader_usage reads it
     * before agent_reader_end. NULL: everything is in the output. */
    const char *usage_option, *usage_file_name;
    /* Most agents keep sessions in files that include the usage of killed runs and of subagents.
     * The path of a session's file in the home directory: {cwd} as in agent_path, {session} is the
     * id, {session:8} its first 8 characters, "*" any name. NULL: the files are of no use. */
    const struct agent_path *session_file;
    bool session_file_has_more; /* more than a complete output and the usage file */

    /* The words of AGENT_WORD_USUAL, omitted if the configuration has one of the options `instead`,
     * because a duplicate is an error. Or NULL. */
    const char *const *usual;
    const char *const *instead;
    const char *const *usual_boxed; /* replaces `usual` if is_boxed; or NULL */
    /* Tools that need no approval, after the words above; omitted if the configuration has one of
     * `instead` or `tools_instead`. In a sandbox, `tools_sandboxed`: the sandbox limits them. Or
     * NULL. */
    const char *const *tools;
    const char *const *tools_sandboxed;
    const char *const *tools_instead;

    const struct agent_path *paths; /* agent_paths; or NULL */
    /* A variable that replaces `settings_folder`; or NULL. */
    const char *settings_variable, *settings_folder;

    const struct agent_output *output;
};
extern const struct agent_adapter *const agent_adapters[]; /* in display order; ends with NULL */
/* NULL: unknown name. */
const struct agent_adapter *agent_adapter_find(const char *name);
/* True if an agent of this name needs no configuration. */
bool agent_has_builtin(const char *name);
const char *agent_builtin(size_t index); /* by index; NULL after the last */
enum agent_list { AGENT_LIST_BUILTIN, AGENT_LIST_MCP, AGENT_LIST_ALL };
/* "claude, codex, gemini, opencode or copilot" with `last` " or ": built-in agents, those that
 * Sluice can add its MCP server to, or all adapters. Returns the text of `out`. */
const char *agent_print_names(enum agent_list list, const char *last, struct strbuf *out);
/* gen_ai.provider.name of OpenTelemetry. */
const char *agent_provider(const char *adapter);

struct agent_mcp {
    const char *variable; /* variable with the folder of the user's file; or NULL */
    const char *folder;   /* otherwise this folder in the home directory */
    const char *file;
    const char *project_file; /* in a project; NULL: none */
    const char *member;       /* of the JSON file; NULL: TOML */
    const char *type;         /* value of `type` in an entry; or NULL */
    bool is_one_list;         /* command and arguments are one list; else `command` and `args` */
    bool may_have_comments;   /* FILEc is read, too */
};

/* The command of a run. `program`: NULL, or replaces the agent's own name. The prompt goes to
 * standard input; with is_interactive a person types it. */
struct agent_launch {
    const char *program;
    const char *session;      /* id for a new session; NULL: the agent chooses */
    const char *resume;       /* session to resume; NULL: a new one */
    const char *model;        /* NULL: the agent's default */
    const char *const *more;  /* additional configured words; ends with NULL; or NULL */
    const char *const *allow; /* permission rules for this run; ends with NULL; or NULL */
    const char *budget_usd;   /* maximum cost of the run, "2.5"; NULL: none */
    const char
        *usage_file;     /* where it may write its usage (agent_adapter.usage_file_name); or NULL */
    bool is_sandboxed;   /* runs in a sandbox */
    bool is_boxed;       /* … and cannot create its own there */
    bool is_interactive; /* opens the session at a terminal, with the same settings */
};
/* Appends NUL-terminated words to `out`; returns their number. 0: the adapter has no such
 * command. */
size_t agent_command(const struct agent_adapter *adapter, const struct agent_launch *launch,
                     struct strbuf *out);

/* The command of a run whose adapter has a client. Texts that are NULL or "" are omitted. The
 * prompt goes to standard input. */
struct agent_client {
    const char *program;                 /* the client */
    const char *permissions;             /* "allow", "edits", "deny" or "ask" */
    const char *ask_wait, *ask_deadline; /* seconds */
    const char *resume;                  /* session to resume */
    const char *mode, *model, *auth_method;
    const char *const *words; /* the agent's command */
    size_t count;
};
/* As agent_command. */
size_t agent_client_command(const struct agent_client *client, struct strbuf *out);

/* A configured word with the prompt: "{prompt}", or the value in "--option={prompt}". */
bool agent_word_has_prompt(const char *word);
void agent_word_put_prompt(const char *word, const char *prompt, struct strbuf *out);
/* How to keep a prompt that begins with '-' from being parsed as an option at index `at` of these
 * words (`count`: at the end). `adapter` of the program, or NULL. */
enum agent_dashes {
    AGENT_DASHES_NOT_NEEDED, /* "--" precedes it, or it is an option's value */
    AGENT_DASHES_NEEDED,     /* insert "--" */
    AGENT_DASHES_UNKNOWN,    /* the program's behavior is unknown */
};
enum agent_dashes agent_prompt_dashes(const struct agent_adapter *adapter, const char *const *words,
                                      size_t count, size_t at);
/* How to log in to this agent, as a clause: "run 'claude' once and log in, or ...". False:
 * unknown. */
bool agent_print_login(const struct agent_adapter *adapter, const char *agent, struct strbuf *out);

/* Can an agent work? Checked before a task starts, without asking the provider: a login shows in
 * files, variables and settings. */

/* What it may do with the options that Sluice passes. */
enum agent_permission {
    AGENT_MAY_WORK,   /* edit files and run commands */
    AGENT_MAY_EDIT,   /* commands are denied */
    AGENT_MAY_AS_SET, /* its own settings decide */
};

/* A file in the home directory that contains one of these words, NULL-terminated. */
struct agent_login_words {
    const char *file; /* NULL ends a list */
    const char *const *words;
};

struct agent_preflight {
    const char *const
        *login_files; /* in the home directory, NULL-terminated: they exist after a login */
    const char *const *login_variables;       /* NULL at the end */
    const struct agent_login_words *settings; /* contain a key or a custom provider */
    bool login_elsewhere; /* the login may be elsewhere, such as in a key ring */
    enum agent_permission may, may_sandboxed; /* without configured words */
    const char *allow;                        /* configuration that lets it run commands; or NULL */
    const struct agent_login_words
        *allowed; /* words in its own settings that permit commands; or NULL */
};

/* NULL: nothing is known about this adapter's program. */
const struct agent_preflight *agent_preflight(const struct agent_adapter *adapter);
/* With these configured words (NULL-terminated, or NULL), with or without a sandbox. */
enum agent_permission agent_permission(const struct agent_adapter *adapter, const char *const *more,
                                       bool is_sandboxed);

/* What an agent needs from the home directory in a sandbox without the rest. Other writes there are
 * lost with the run. Settings, hooks and tool servers are read-only. */
enum agent_path_use {
    AGENT_PATH_READ,  /* if it exists */
    AGENT_PATH_WRITE, /* if it exists */
    AGENT_PATH_KEEP,  /* a folder of sessions: created if missing, and writable */
};
struct agent_path {
    const char *
        path; /* in the home directory; {cwd}: the run's folder, as encoded in agents' file names */
    enum agent_path_use use;
};
/* The adapter of the program that these words (NULL-terminated) start, by its name: run by a
 * client, it keeps its files in the same places. NULL: unknown. */
const struct agent_adapter *agent_adapter_of_command(const char *const *words);
/* Ends with path NULL. */
const struct agent_path *agent_paths(const struct agent_adapter *adapter);
/* A run's home and working directory, both absolute; `variable` looks up the environment. */
struct agent_path_context {
    const char *home, *cwd;
    const char *(*variable)(void *ctx, const char *name);
    void *ctx;
};
void agent_path_resolve(const struct agent_adapter *adapter, const struct agent_path *path,
                        const struct agent_path_context *place, struct strbuf *out);

struct agent_reader;
struct agent_reader *agent_reader_new(const struct agent_adapter *adapter);
struct agent_reader *agent_reader_free(struct agent_reader *reader); /* accepts NULL */
/* Before the first byte, once per session with known usage; the run's own session last. */
void agent_reader_set_prior_usage(struct agent_reader *reader,
                                  const struct agent_prior_usage *before);
void agent_reader_stdout(struct agent_reader *reader, const char *bytes, size_t size);
void agent_reader_stderr(struct agent_reader *reader, const char *bytes, size_t size);
/* The complete usage file, once; at most AGENT_USAGE_FILE_MAX bytes are read. */
#define AGENT_USAGE_FILE_MAX (1024 * 1024)
void agent_reader_usage(struct agent_reader *reader, const char *bytes, size_t size);
/* At the end: session `index` whose file is needed to complete the output; NULL: no more. */
const char *agent_reader_wants_file(const struct agent_reader *reader, size_t index);
/* The last bytes of that file, before agent_reader_end. */
#define AGENT_SESSION_FILE_MAX (1024 * 1024)
void agent_reader_session_file(struct agent_reader *reader, const char *session, const char *bytes,
                               size_t size);
void agent_reader_progress(const struct agent_reader *reader, struct agent_progress *ret);
void agent_reader_end(struct agent_reader *reader, const struct agent_end *end,
                      struct agent_outcome *ret);
