/* preflight.c: what an agent may do with the words that it is started with. */
#include "agent/preflight.h"

#include <string.h>

#include "agent/reader_internal.h"

const struct agent_preflight *agent_preflight(const struct agent_adapter *adapter) {
    return adapter ? adapter->preflight : NULL;
}

static bool is_option(const char *word, const char *const *options) {
    for (; options && *options; options++) {
        size_t length = strlen(*options);
        if (strncmp(word, *options, length) == 0 && (word[length] == '\0' || word[length] == '='))
            return true;
    }
    return false;
}

enum agent_may agent_may(const struct agent_adapter *adapter, const char *const *more,
                         bool is_sandboxed) {
    const struct agent_preflight *row = agent_preflight(adapter);
    if (!row)
        return AGENT_MAY_AS_SET;
    for (; more && *more; more++)
        if (is_option(*more, adapter->instead) || is_option(*more, adapter->tools_instead))
            return AGENT_MAY_AS_SET;
    return is_sandboxed ? row->may_sandboxed : row->may;
}
