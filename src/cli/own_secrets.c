/* own_secrets.c: see own_secrets.h. */
#include "cli/own_secrets.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/redact.h"

#define NAMES_MAX 65u    /* secrets of a run, and its token */
#define FORM_MAX  32768u /* bytes of one in JSON */

struct own_secrets {
    struct redact_value values[2 * NAMES_MAX];
    char *names[NAMES_MAX], *forms[NAMES_MAX];
    size_t count, name_count;
};

static void own_secrets_finish(struct own_secrets *own) {
    for (size_t i = 0; i < own->name_count; i++) {
        free(own->names[i]);
        free(own->forms[i]);
    }
}

static void add_name(struct own_secrets *own, const char *name, size_t size) {
    char *copy = xstrndup(name, size), *form = xmalloc(FORM_MAX);
    const char *value = getenv(copy);
    own->names[own->name_count] = copy;
    own->forms[own->name_count++] = form;
    if (!value)
        return;
    own->values[own->count++] = (struct redact_value){ copy, size, value, strlen(value), 0 };
    size_t wide = redact_json_form(value, strlen(value), form, FORM_MAX);
    if (wide > 0)
        own->values[own->count++] = (struct redact_value){ copy, size, form, wide, 0 };
}

static void add_all(struct own_secrets *own) {
    static const char token[] = "SLUICE_TOKEN";
    const char *at = getenv("SLUICE_SECRETS");
    add_name(own, token, sizeof(token) - 1);
    while (at && *(at += strspn(at, " ")) && own->name_count < NAMES_MAX) {
        size_t size = strcspn(at, " ");
        add_name(own, at, size);
        at += size;
    }
}

char *own_secrets_take(char *text) {
    _cleanup_(own_secrets_finish) struct own_secrets own = { .count = 0 };
    struct redact_index index;
    struct strbuf shown = STRBUF_INIT;
    if (!text)
        return NULL;
    add_all(&own);
    redact_index_init(&index, own.values, own.count, NULL);
    (void)redact_text(&index, text, strlen(text), &shown);
    free(text);
    return strbuf_take(&shown);
}
