/* denial.c: what a run was not permitted to do, and the rule that would permit it.
 *
 * The rule is a proposal that a person reads before using it, so it is as narrow as the command allows: the program and
 * its subcommand. A command line with shell syntax has several programs in it; for those the tool itself is named. */
#include <string.h>

#include "agent/reader_internal.h"

static void deny_text(char *to, size_t size, const char *text) {
    to[0] = '\0';
    if (text)
        agent_set_line(to, size, text);
}

void agent_deny(struct agent_seen *seen, const char *tool, const char *argument, const char *rule) {
    struct agent_denial *denial = &seen->denial;
    if (denial->count < UINT32_MAX)
        denial->count++;
    deny_text(denial->tool, sizeof(denial->tool), tool);
    deny_text(denial->argument, sizeof(denial->argument), argument);
    deny_text(denial->rule, sizeof(denial->rule), rule);
}

#define WORD_LETTERS "abcdefghijklmnopqrstuvwxyz"
#define WORD_CHARS   WORD_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

/* The length of the words that name the program and its subcommand; 0: there is shell syntax in the line. */
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
