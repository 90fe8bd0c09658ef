/* notes.c: sanitizes what adapters note about a run.
 *
 * All input comes from a program that may print anything: an id goes back to a command line, a
 * message to a terminal, a number into an account. */
#include <string.h>

#include "agent/reader_internal.h"
#include "base/utf8.h"

#define EPOCH_LEAST_S  INT64_C(1000000000)     /* 2001 */
#define EPOCH_LEAST_MS INT64_C(1000000000000)  /* the same in ms; as seconds the year 33658 */
#define EPOCH_MOST_MS  INT64_C(32503680000000) /* the year 3000 */

#define QUOTA_MOST_MILLI 100000     /* a hundred times what the account has */
#define SAME_WINDOW      MINUTES(5) /* of one window, reported ends differ a little */

void agent_mark(struct agent_notes *notes, enum agent_result result) {
    notes->marks |= 1u << result;
}

bool agent_mark_named(struct agent_notes *notes, const struct error_phrase *table,
                      const struct json_value *name) {
    const struct error_phrase *row = error_phrase_named(table, name);
    if (row)
        agent_mark(notes, row->result);
    return row;
}

void agent_set_ended(struct agent_notes *notes) {
    notes->has_ended = true;
    notes->is_waiting = false;
}

void agent_recover(struct agent_notes *notes) {
    notes->marks = 0;
    if (notes->message_is_error)
        notes->message[0] = '\0';
    notes->message_is_error = false;
}

bool agent_end_is_failure(const struct agent_end *end) {
    return end->code > 0 && end->code < 128 && end->by == AGENT_BY_ITSELF;
}

void agent_judge_exit(struct agent_notes *notes, const struct agent_end *end) {
    if (agent_end_is_failure(end) && notes->has_ended
        && (notes->marks & ~(1u << AGENT_DENIED)) == 0)
        agent_mark(notes, AGENT_FAILED);
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Skips an escape sequence: CSI with its parameters, OSC etc. up to BEL or ST, else two bytes. */
static const char *escape_skip(const char *at) {
    at++;
    if (*at == '[') {
        at++;
        while (*at >= 0x20 && *at <= 0x3f)
            at++;
        return *at >= 0x40 && *at <= 0x7e ? at + 1 : at;
    }
    if (*at == ']' || *at == 'P' || *at == '_' || *at == '^') {
        while (*at && *at != '\a' && *at != '\033')
            at++;
        if (*at == '\033' && at[1] == '\\')
            return at + 2;
        return *at == '\a' ? at + 1 : at;
    }
    return *at > 0x20 && *at < 0x7f ? at + 1 : at;
}

void agent_set_line(char *to, size_t size, const char *text) {
    static const char unknown[] = "\xef\xbf\xbd";
    size_t length = 0;
    bool blank = false;
    const char *end = text + strlen(text);
    for (const char *at = text; at < end;) {
        if (*at == '\033') {
            at = escape_skip(at);
            continue;
        }
        size_t bytes = utf8_length(at, (size_t)(end - at));
        bool known = bytes > 0;
        const char *from = known ? at : unknown;
        at += known ? bytes : 1;
        if (known && (*from == ' ' || utf8_is_control(from, bytes))) {
            blank = true;
            continue;
        }
        bytes = known ? bytes : sizeof(unknown) - 1;
        bool gap = blank && length > 0;
        if (length + gap + bytes >= size)
            break;
        if (gap)
            to[length++] = ' ';
        memcpy(to + length, from, bytes);
        length += bytes;
        blank = false;
    }
    if (length > 0)
        to[length] = '\0';
}

void agent_add_message(struct agent_notes *notes, const struct json_value *chunk, bool continues) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    if (continues)
        strbuf_printf(&text, "%s%s", notes->message, notes->message_is_spaced ? " " : "");
    strbuf_add(&text, chunk->text, chunk->length);
    notes->message[0] = '\0';
    notes->message_is_error = false;
    agent_set_message(notes, strbuf_text(&text));
    notes->message_is_spaced = strchr(" \t\n", chunk->text[chunk->length - 1]) != NULL;
}

/* --- values ----------------------------------------------------------------------------------- */

static bool is_id(const struct json_value *value, size_t size) {
    if (value->kind != SCAN_STRING || value->is_cut || value->length == 0 || value->length >= size
        || value->text[0] == '-')
        return false;
    return strspn(value->text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-")
           == value->length;
}

void agent_set_session(struct agent_notes *notes, const struct json_value *value) {
    if (is_id(value, sizeof(notes->session)))
        memcpy(notes->session, value->text, value->length + 1);
}

void agent_set_model(struct agent_notes *notes, const struct json_value *value) {
    if (json_value_has_text(value))
        agent_set_line(notes->model, sizeof(notes->model), value->text);
}

const char *agent_session(const struct agent_notes *notes) {
    return notes->session[0] ? notes->session : notes->given;
}

void agent_add_other(struct agent_notes *notes, const struct json_value *value) {
    if (!is_id(value, sizeof(notes->others[0])) || notes->other_count == AGENT_OTHERS)
        return;
    for (size_t i = 0; i < notes->other_count; i++)
        if (strcmp(notes->others[i], value->text) == 0)
            return;
    memcpy(notes->others[notes->other_count++], value->text, value->length + 1);
}

/* In ms; 0: implausible. */
static time_ms epoch_time(int64_t since_epoch) {
    if (since_epoch >= EPOCH_LEAST_S && since_epoch < EPOCH_LEAST_MS)
        since_epoch *= 1000;
    return since_epoch >= EPOCH_LEAST_MS && since_epoch <= EPOCH_MOST_MS ? since_epoch : 0;
}

void agent_set_reset(struct agent_notes *notes, int64_t since_epoch) {
    time_ms at = epoch_time(since_epoch);
    if (at > 0)
        notes->reset_at = at;
}

void agent_set_quota(struct agent_notes *notes, enum agent_window window, int64_t used_milli,
                     int64_t resets_at) {
    struct agent_quota *quota = &notes->quota[window];
    time_ms at = epoch_time(resets_at);
    if (used_milli < 0 || used_milli > QUOTA_MOST_MILLI)
        return;
    bool is_next = at > time_add(quota->resets_at, SAME_WINDOW);
    bool is_late = at > 0 && at < quota->resets_at - SAME_WINDOW;
    if (is_late || (quota->is_known && !is_next && used_milli < quota->used_milli))
        return;
    quota->is_known = true;
    quota->used_milli = (int32_t)used_milli;
    if (is_next)
        quota->resets_at = at;
}

void agent_add_count(int64_t *sum, int64_t value) {
    if (value < 0)
        return;
    if (*sum < 0)
        *sum = 0;
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = INT64_MAX;
}

struct agent_usage agent_tokens(const struct json_value values[3]) {
    return (struct agent_usage){ json_value_sum(&values[0]), json_value_sum(&values[1]),
                                 json_value_sum(&values[2]), -1 };
}

/* --- error texts ------------------------------------------------------------------------------ */

bool agent_has(const char *text, const char *part) {
    return strcasestr(text, part) != NULL;
}

bool agent_has_any(const char *text, const char *const *parts) {
    for (size_t i = 0; parts[i]; i++)
        if (agent_has(text, parts[i]))
            return true;
    return false;
}

/* --- denials ---------------------------------------------------------------------------------- */

static void deny_text(char *to, size_t size, const char *text) {
    to[0] = '\0';
    if (text)
        agent_set_line(to, size, text);
}

void agent_deny(struct agent_notes *notes, const char *tool, const char *argument,
                const char *rule) {
    struct agent_denial *denial = &notes->denial;
    if (denial->count < UINT32_MAX)
        denial->count++;
    deny_text(denial->tool, sizeof(denial->tool), tool);
    deny_text(denial->argument, sizeof(denial->argument), argument);
    deny_text(denial->rule, sizeof(denial->rule), rule);
}

#define WORD_LETTERS "abcdefghijklmnopqrstuvwxyz"
#define WORD_CHARS   WORD_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

/* The length of the program and its subcommand; 0: the line has shell syntax. */
static size_t command_length(const char *command) {
    if (strpbrk(command, "|&;<>()$`\n\r"))
        return 0;
    size_t first = strspn(command, WORD_CHARS "./+");
    if (first == 0 || (command[first] != ' ' && command[first] != '\0'))
        return 0;
    const char *next = command + first;
    if (*next != ' ' || !strchr(WORD_LETTERS, next[1]) || next[1] == '\0')
        return first;
    size_t second = strspn(next + 1, WORD_CHARS);
    return next[1 + second] == ' ' || next[1 + second] == '\0' ? first + 1 + second : first;
}

/* A person reads the rule before using it, so it is as narrow as the command allows: the program
 * and its subcommand. With shell syntax, the rule names only the tool. */
void agent_command_rule(const char *tool, const char *command, const char *any,
                        char ret[AGENT_RULE_SIZE]) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    size_t length = command ? command_length(command) : 0;
    strbuf_puts(&text, tool);
    if (length > 0 && strlen(tool) + length + strlen(any) + sizeof("()") <= AGENT_RULE_SIZE)
        strbuf_printf(&text, "(%.*s%s)", (int)length, command, any);
    ret[0] = '\0';
    if (text.length < AGENT_RULE_SIZE)
        memcpy(ret, strbuf_text(&text), text.length + 1);
}
