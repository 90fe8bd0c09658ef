/* claude_internal.h: the reading of Claude Code's stream, for the adapters of everything that prints the same. */
#pragma once

#include "agent/reader_internal.h"

/* The paths of claude_wants (claude_usage.c). */
enum claude_want {
    TYPE,
    SUBTYPE,
    SESSION,
    MODEL,
    VERSION,
    IS_ERROR,
    TERMINAL_REASON,
    STOP_REASON,
    API_STATUS,
    API_ERROR,
    ERROR,
    RETRY_STATUS,
    RESULT,
    RESULT_ID,
    RESULT_INDEX,
    ERRORS,
    COST,
    TURN_NEW, /* of `usage` */
    TURN_CACHE_MADE,
    TURN_CACHE_READ,
    TURN_OUT,
    MODEL_USAGE,
    ALL_NEW, /* of `modelUsage`, summed over its models */
    ALL_CACHE_MADE,
    ALL_CACHE_READ,
    ALL_OUT,
    ALL_COST,
    SINCE, /* of `model_usage_since_last_result`, the same */
    SINCE_NEW,
    SINCE_CACHE_MADE,
    SINCE_CACHE_READ,
    SINCE_OUT,
    SINCE_COST,
    MESSAGE_ID,
    MESSAGE_NEW, /* of a message as it began */
    MESSAGE_CACHE_MADE,
    MESSAGE_CACHE_READ,
    DENIALS,
    DENIED_TOOL,
    DENIED_COMMAND,
    DENIED_FILE,
    DENIED_URL,
    DENIED_QUERY,
    LIMIT_STATUS,
    LIMIT_RESET,
    PARAMS_RESET,
    MESSAGE_TEXT,
    PARENT_TOOL,
    STATE_SESSION, /* of a line `cost-state` of the transcript */
    STATE_COST,
    CLAUDE_WANTS,
};
extern const struct json_want claude_wants[CLAUDE_WANTS];

#define CLAUDE_MESSAGES 64 /* that are recognised when they come again */

struct claude_notes {
    bool has_event;     /* something on the standard output was JSON */
    bool has_version;   /* the init event told it; */
    bool is_of_session; /* then: totals are of the session over all runs, not of one process */
    uint32_t of_error;  /* mark of the last assistant event that was an error; 0: none */
    struct agent_usage process; /* the last totals of a process, */
    uint64_t process_session;   /* and its session; 0: none */
    uint64_t messages[CLAUDE_MESSAGES];
    size_t message_count;
};
_Static_assert(sizeof(struct claude_notes) <= AGENT_STATE_SIZE, "notes of claude");

static inline struct claude_notes *claude_notes(struct agent_seen *seen) {
    return (struct claude_notes *)&seen->own;
}

void claude_event(struct agent_seen *seen, const struct json_value *values, enum agent_stream from);
void claude_text(struct agent_seen *seen, const char *line, enum agent_stream from);
void claude_judge(struct agent_seen *seen, const struct agent_end *end);

void claude_count_version(struct agent_seen *seen, const struct json_value *values);
void claude_count_message(struct agent_seen *seen, const struct json_value *values);
void claude_count_result(struct agent_seen *seen, const struct json_value *values);
void claude_count_state(struct agent_seen *seen, const struct json_value *values);
