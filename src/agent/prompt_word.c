/* prompt_word.c: a prompt as a word of a command line.
 *
 * The writer of a prompt must not choose options: `--dangerously-skip-permissions` as the prompt of a child would be one.
 * A program that knows `--` takes everything behind it as it is. What other programs do with such a word is not known. */
#include <string.h>

#include "agent/reader_internal.h"

#define END_OF_OPTIONS "--"
#define PLACE          "{prompt}"

/* The last part of an option: "--message={prompt}" cannot be another option, whatever the prompt is. */
static bool is_value(const char *word) {
    size_t length = strlen(word), tail = strlen("=" PLACE);
    return word[0] == '-' && length > tail && strcmp(word + length - tail, "=" PLACE) == 0;
}

bool agent_word_has_prompt(const char *word) {
    return strcmp(word, PLACE) == 0 || is_value(word);
}

void agent_word_put_prompt(const char *word, const char *prompt, struct strbuf *out) {
    strbuf_add(out, word, strlen(word) - strlen(PLACE));
    strbuf_puts(out, prompt);
}

/* Is what follows this word an operand? An option may want a value, unless the adapter knows that it wants none. */
static bool ends_before_operand(const struct agent_adapter *adapter, const char *word) {
    if (word[0] != '-' || strchr(word, '='))
        return true;
    for (size_t i = 0; adapter->flags[i]; i++)
        if (strcmp(adapter->flags[i], word) == 0)
            return true;
    return false;
}

enum agent_dashes agent_prompt_dashes(const struct agent_adapter *adapter, const char *const *words,
                                      size_t count, size_t at) {
    if ((at < count && is_value(words[at]))
        || (at > 0 && strcmp(words[at - 1], END_OF_OPTIONS) == 0))
        return AGENT_DASHES_NOT_NEEDED;
    if (!adapter || !adapter->flags || (at > 1 && !ends_before_operand(adapter, words[at - 1])))
        return AGENT_DASHES_UNKNOWN;
    for (size_t i = at + 1; i < count; i++) /* it would be an option no more */
        if (words[i][0] == '-')
            return AGENT_DASHES_UNKNOWN;
    return AGENT_DASHES_NEEDED;
}
