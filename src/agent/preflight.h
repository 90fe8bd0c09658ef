/* preflight.h: how to see, before a task is started, whether an agent can work. Pure: facts, which are in
 * the row of the adapter.
 *
 * A login is seen without asking the provider: by files that it leaves, by variables, by words in settings. */
#pragma once

#include <stdbool.h>

#include "agent/agent.h"

/* What it may do with the words that Sluice gives it. */
enum agent_may {
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
    enum agent_may may, may_sandboxed; /* without words of the configuration */
    const char *allow;                 /* the configuration that lets it run commands; or NULL */
    const struct agent_login_words
        *allowed; /* words in its own settings that permit commands; or NULL */
};

/* NULL: nothing is known about programs of this adapter. */
const struct agent_preflight *agent_preflight(const struct agent_adapter *adapter);
/* With these words of the configuration (NULL at the end, or NULL), in a sandbox or not. */
enum agent_may agent_may(const struct agent_adapter *adapter, const char *const *more,
                         bool is_sandboxed);
