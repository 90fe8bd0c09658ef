/* transcript_internal.h: what a renderer is, and the words it has.
 *
 * A renderer is one constant struct transcript_family: the values it wants of each event, and what it makes of them.
 * `match` is called for each value as it comes (json_scan.h), for lists of blocks; `event` for each complete event.
 * Lines, broken input, limits of size and safety are transcript.c's.
 *
 * Example: transcript_gemini.c */
#pragma once

#include "agent/json_scan.h"
#include "agent/reader_internal.h"
#include "agent/transcript.h"
#include "base/safe_text.h"

/* What is kept of each kind of text, in bytes. */
#define TRANSCRIPT_TEXT     65535 /* what the agent says */
#define TRANSCRIPT_RESULT   2048  /* of a tool: its head is shown */
#define TRANSCRIPT_ARGUMENT 1024
#define TRANSCRIPT_BRIEFLY  512 /* of any text, in TRANSCRIPT_BRIEF */

struct transcript_family {
    const struct json_want *wants;
    size_t want_count;
    size_t argument; /* the want that has the arguments of a tool call; 0: none */
    void (*match)(struct transcript *t, const struct json_value *values, size_t want,
                  const char *key); /* or NULL */
    /* False: this is no event of the agent. */
    bool (*event)(struct transcript *t, const struct json_value *values);
};

enum transcript_mode {
    TRANSCRIPT_AT_START, /* of a line; `blanks` may have come */
    TRANSCRIPT_IN_TEXT,
    TRANSCRIPT_IN_JSON,
    TRANSCRIPT_IN_REST, /* of a line that is left out */
};

enum transcript_style {
    STYLE_PLAIN,
    STYLE_TOOL,
    STYLE_FAINT,
    STYLE_FAILED,
    STYLE_MAX,
};

struct transcript {
    const struct transcript_family *family;
    struct json_scan *scan;
    struct json_want *wants; /* the family's, with other sizes when it is brief */
    bool is_coloured;
    struct strbuf *out; /* while something is fed */

    /* Lines. */
    enum transcript_mode mode;
    char blanks[64];
    size_t blank_count;
    struct sanitizer sanitizer;
    uint64_t text_size;
    bool has_text; /* the last line was text, and not JSON */
    bool has_event, is_event;
    bool at_json_line; /* a further line of an object begins */
    struct strbuf held;
    uint64_t held_size;

    /* Printing. */
    struct strbuf draft, scratch;       /* of the event that is read now; indented when is_nested */
    bool is_nested;                     /* it is of an agent that the agent has started */
    bool is_piece_open;                 /* the last text may go on: the line has no end yet */
    uint64_t last_text, noted, session; /* hashes: what is repeated is not printed twice */
    char last[TRANSCRIPT_LINE_MAX + 1];
    size_t last_length;
    bool last_goes_on;
    struct strbuf thought; /* pieces; printed when something else follows */
    bool thought_is_cut;

    /* The arguments of the tool call that is read now. */
    char arguments[256];
    unsigned rank;

    /* The family's own. */
    uint64_t fresh; /* wants that matched in this block */
    uint64_t call;  /* a hash: the tool call that was printed last */
    struct strbuf result;
    char item[64], tool[32];
    unsigned count;
    int64_t cost_micro_usd;
};

/* What a renderer prints. */

void transcript_say(struct transcript *t, const struct json_value *text);
/* A part of what the agent says; the next part goes on in the same line. */
void transcript_say_piece(struct transcript *t, const struct json_value *text);
void transcript_think(struct transcript *t, const struct json_value *text);
/* A part of what it thinks; transcript_close_line prints all parts. */
void transcript_think_piece(struct transcript *t, const struct json_value *text);
/* A message to the agent, from a person or a program. */
void transcript_hear(struct transcript *t, const struct json_value *text);
/* An argument of a tool call; transcript_call prints it and forgets the arguments. */
void transcript_argument(struct transcript *t, const char *key, const struct json_value *value);
void transcript_call(struct transcript *t, const char *tool);
void transcript_call_with(struct transcript *t, const char *tool, const char *argument);
void transcript_result(struct transcript *t, const char *text, bool is_cut, bool is_error);
void transcript_output(struct transcript *t, const struct json_value *text,
                       bool is_error); /* the same; nothing without a text */
void transcript_exit_code(struct transcript *t, const struct json_value *code); /* of a failure */
void transcript_put_cost(struct strbuf *out, int64_t micro_usd); /* ", $0.0014"; nothing for 0 */
/* "[…]". Not repeated when the agent has just said the same. */
void transcript_note(struct transcript *t, const char *format, ...) _printf_(2, 3);
void transcript_fail(struct transcript *t, const char *format, ...) _printf_(2, 3);
/* The message in an error, which may itself be JSON; `seen` holds it. */
const char *transcript_error_text(struct agent_notes *seen, const struct json_value *text);
/* Was exactly this printed last? */
bool transcript_was_printed(const struct transcript *t, const char *text);
/* "[session ID, MODEL]", once. */
void transcript_session(struct transcript *t, const struct json_value *session,
                        const struct json_value *model);
/* Ends a line or a thought that is open. */
void transcript_close_line(struct transcript *t);
