/* submission_title.c: what do lists show of a task that nobody gave a title? */
#include "ops/submission.h"

#include <string.h>

#include "base/utf8.h"

#define TITLE_MADE 80 /* bytes of a title that nobody wrote */

/* A control is a blank. Returns how many bytes it has. */
static size_t add_character(char made[TITLE_MADE + 1], size_t *length, const char *at) {
    size_t size = utf8_length(at, strnlen(at, 4));
    if (size == 0 || utf8_is_control(at, size)) {
        made[(*length)++] = ' ';
        return size ? size : 1;
    }
    size_t room = TITLE_MADE - *length;
    memcpy(made + *length, at, size < room ? size : room);
    *length += size < room ? size : room;
    return size;
}

const char *submission_title(const struct submission *s, struct arena *arena) {
    if (s->title && *s->title)
        return s->title;
    char made[TITLE_MADE + 1] = "";
    size_t length = 0;
    const char *text = s->prompt;
    for (size_t word = 0; text || word < json_array_size(s->argv); word++) {
        const char *at = text ? text + strspn(text, " \t\r\n")
                              : json_string_value(json_array_get(s->argv, word));
        if (word > 0 && length < TITLE_MADE)
            made[length++] = ' ';
        for (size_t size; *at && length < TITLE_MADE && !(text && *at == '\n'); at += size)
            size = add_character(made, &length, at);
        if (text || length == TITLE_MADE)
            break;
    }
    if (length == TITLE_MADE) /* not in the middle of a character */
        while (length > 0 && ((unsigned char)made[length - 1] & 0xC0) == 0x80)
            length--;
    if (length > 0 && ((unsigned char)made[length - 1] & 0xC0) == 0xC0)
        length--;
    return arena_strndup(arena, made, length);
}
