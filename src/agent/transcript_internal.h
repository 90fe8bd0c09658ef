/* transcript_internal.h: the renderer interface.
 *
 * A renderer is one constant struct transcript_family: the values it wants of each event, and how
 * to print each type of event. `match` is called for each value as it arrives (json_scan.h), for
 * lists of blocks; the rows of `types` for complete events. transcript.c handles lines, broken
 * input, size limits and safety.
 *
 * Example: transcript_gemini.c */
#pragma once

#include "agent/json_scan.h"
#include "agent/reader_internal.h"
#include "agent/transcript.h"
#include "base/safe_text.h"

/* Bytes that are kept of each kind of text. */
#define TRANSCRIPT_TEXT     65535 /* messages */
#define TRANSCRIPT_RESULT   2048  /* tool results: only the beginning is shown */
#define TRANSCRIPT_INSIDE   16384 /* the same in TRANSCRIPT_ENTRIES */
#define TRANSCRIPT_ARGUMENT 1024
#define TRANSCRIPT_BRIEFLY  512 /* any text in TRANSCRIPT_BRIEF */

/* How one type of event is printed: by `value`, from one value, or by `event`, from all. */
struct transcript_type {
    const char *type; /* NULL ends a table */
    void (*value)(struct transcript *t, const struct json_value *value);
    size_t want; /* the value */
    void (*event)(struct transcript *t, const struct json_value *values);
};

struct transcript_family {
    const struct json_want *wants;
    size_t want_count;
    size_t argument; /* the want with the arguments of a tool call; 0: none */
    size_t parent;   /* the want that only events of subagents have; 0: none */
    void (*match)(struct transcript *t, const struct json_value *values, size_t want,
                  const char *key);      /* or NULL */
    const struct transcript_type *types; /* by the first want; other types print nothing */
    /* Objects without a type, or all if `types` is NULL. False: not an event. NULL: none is. */
    bool (*other)(struct transcript *t, const struct json_value *values);
};

enum transcript_mode {
    TRANSCRIPT_AT_START, /* of a line; `blanks` may have been read */
    TRANSCRIPT_IN_TEXT,
    TRANSCRIPT_IN_JSON,
    TRANSCRIPT_IN_REST, /* of a line that is dropped */
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
    struct json_want *wants; /* the family's, with other sizes in TRANSCRIPT_BRIEF */
    bool is_coloured;
    bool has_entries;   /* TRANSCRIPT_ENTRIES */
    size_t result_max;  /* bytes that are kept of a result that comes in parts, and of thoughts */
    struct strbuf *out; /* while feeding */

    /* Lines. */
    enum transcript_mode mode;
    char blanks[64];
    size_t blank_count;
    struct sanitizer sanitizer;
    uint64_t text_size;
    bool has_text;     /* the last line was text */
    bool is_text_open; /* of entries: the next text belongs to the same line */
    bool has_event, is_event;
    bool at_json_line; /* at the start of a continuation line of an object */
    struct strbuf held;
    uint64_t held_size;

    /* Printing. */
    struct strbuf draft, scratch;       /* of the current event; indented if is_nested */
    bool is_nested;                     /* the event is a subagent's */
    bool is_piece_open;                 /* the last text may continue: its line is open */
    uint64_t last_text, noted, session; /* hashes to avoid printing repeats */
    char last[TRANSCRIPT_LINE_MAX + 1];
    size_t last_length;
    bool last_is_open;     /* the last line may continue */
    struct strbuf thought; /* chunks; printed when something else follows */
    bool thought_is_cut;

    char arguments[256];
    unsigned rank;
    struct strbuf all_arguments; /* of entries: members of a JSON object */
    char call_id[128];           /* of entries: of the current call or result */

    /* For the family: */
    uint64_t fresh; /* wants that matched in this block */
    uint64_t call;  /* hash of the last printed tool call */
    struct strbuf result;
    char item[64], tool[32];
    unsigned count;
    int64_t cost_micro_usd;
};

void transcript_say(struct transcript *t, const struct json_value *text);
/* A chunk of a message; the next chunk continues the line. */
void transcript_say_piece(struct transcript *t, const struct json_value *text);
void transcript_think(struct transcript *t, const struct json_value *text);
/* A chunk of a thought; transcript_close_line prints all of it. */
void transcript_think_piece(struct transcript *t, const struct json_value *text);
/* A message to the agent, from a person or a program. */
void transcript_prompt(struct transcript *t, const struct json_value *text);
/* Adds an argument of a tool call; transcript_call prints and clears them. */
void transcript_argument(struct transcript *t, const char *key, const struct json_value *value);
void transcript_forget_arguments(struct transcript *t);
void transcript_call(struct transcript *t, const char *tool);
/* Whose call the next call or results are, until the event ends or another one is named. */
void transcript_call_id(struct transcript *t, const struct json_value *id);
void transcript_call_of(struct transcript *t, const struct json_value *tool);
void transcript_call_with(struct transcript *t, const char *tool, const char *argument);
void transcript_result(struct transcript *t, const char *text, bool is_cut, bool is_error);
void transcript_output(struct transcript *t, const struct json_value *text,
                       bool is_error); /* nothing without text */
void transcript_exit_code(struct transcript *t, const struct json_value *code); /* if not zero */
void transcript_put_cost(struct strbuf *out, int64_t micro_usd); /* ", $0.0014"; nothing for 0 */
/* "[…]". Omitted if the agent has just printed the same. */
#define transcript_note(t, ...) transcript_put_note(t, STYLE_FAINT, __VA_ARGS__)
#define transcript_fail(t, ...) transcript_put_note(t, STYLE_FAILED, __VA_ARGS__)
void transcript_put_note(struct transcript *t, enum transcript_style style, const char *format, ...)
    _printf_(3, 4);
void transcript_note_of(struct transcript *t, const struct json_value *text);
void transcript_fail_of(struct transcript *t, const struct json_value *text);
/* The message in an error, which may itself be JSON; stored in `notes`. */
const char *transcript_error_text(struct agent_notes *notes, const struct json_value *text);
/* Was exactly this text printed last? */
bool transcript_was_printed(const struct transcript *t, const char *text);
/* "[session ID, MODEL]", once. */
void transcript_session(struct transcript *t, const struct json_value *session,
                        const struct json_value *model);
/* Ends an open line or thought. */
void transcript_close_line(struct transcript *t);
