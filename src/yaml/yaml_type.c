/* yaml_type.c: what a plain scalar means.
 *
 * The core rules of YAML 1.2, a little stricter: numbers in other bases and infinities are texts
 * here, because nothing that is read with this has a use for them, and a version like 0x10 or 1.10
 * in quotes is always safe. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "yaml/yaml.h"

static bool is_one_of(const char *text, const char *lower, const char *title, const char *upper) {
    return strcmp(text, lower) == 0 || strcmp(text, title) == 0 || strcmp(text, upper) == 0;
}

/* [-+] digits [. digits] [e [-+] digits], with a point or an exponent. */
static bool looks_real(const char *text) {
    text += *text == '-' || *text == '+';
    size_t before = strspn(text, "0123456789"), after = 0;
    text += before;
    bool point = *text == '.';
    if (point) {
        text++;
        after = strspn(text, "0123456789");
        text += after;
    }
    if (before + after == 0)
        return false;
    if (*text != 'e' && *text != 'E')
        return point && *text == '\0';
    text++;
    text += *text == '-' || *text == '+';
    return *text && strspn(text, "0123456789") == strlen(text);
}

enum yaml_type yaml_type(const struct yaml_node *scalar) {
    const char *text = scalar->text;
    int64_t whole;
    if (scalar->kind != YAML_SCALAR || scalar->style != YAML_PLAIN)
        return YAML_TEXT;
    if (*text == '\0' || strcmp(text, "~") == 0 || is_one_of(text, "null", "Null", "NULL"))
        return YAML_NULL;
    if (is_one_of(text, "true", "True", "TRUE"))
        return YAML_TRUE;
    if (is_one_of(text, "false", "False", "FALSE"))
        return YAML_FALSE;
    if (number_parse_int(text, &whole, NULL) == 0)
        return YAML_INTEGER;
    return looks_real(text) && isfinite(strtod(text, NULL)) ? YAML_REAL : YAML_TEXT;
}

int64_t yaml_integer(const struct yaml_node *scalar) {
    int64_t value = 0;
    (void)number_parse_int(scalar->text, &value, NULL);
    return value;
}

double yaml_real(const struct yaml_node *scalar) {
    return strtod(scalar->text, NULL);
}

struct yaml_noun yaml_noun(const struct yaml_node *node) {
    struct yaml_noun ret = { "" };
    if (node->kind == YAML_LIST || node->kind == YAML_MAPPING) {
        (void)snprintf(ret.text, sizeof(ret.text), "%s",
                       node->kind == YAML_LIST ? "a list" : "a mapping");
        return ret;
    }
    if (yaml_type(node) == YAML_NULL) {
        (void)snprintf(ret.text, sizeof(ret.text), "nothing");
        return ret;
    }
    size_t length = node->length, out = 0;
    ret.text[out++] = '\'';
    for (size_t i = 0; i < length && i < 60; i++)
        ret.text[out++] = iscntrl((unsigned char)node->text[i]) ? '?' : node->text[i];
    if (length > 60) { /* cut: not inside a character */
        while (out > 1 && ((unsigned char)node->text[out - 1] & 0xc0) == 0x80)
            out--;
        memcpy(ret.text + out, "...", 3);
        out += 3;
    }
    ret.text[out++] = '\'';
    ret.text[out] = '\0';
    return ret;
}
