/* context.c: see launch_internal.h. Readers of the merged object need not know about slinging. */
#include "engine/launch/launch_internal.h"

#include <string.h>

#include "base/strbuf.h"

static void add_args(json_t *spec, const char *args) {
    const char *prompt = json_string_value(json_object_get(spec, "prompt"));
    if (!prompt)
        return;
    struct strbuf text = STRBUF_INIT;
    size_t size = strlen(prompt);
    strbuf_puts(&text, prompt);
    strbuf_puts(&text, size > 0 && prompt[size - 1] == '\n' ? "\n" : "\n\n");
    strbuf_puts(&text, args);
    json_object_set_new(spec, "prompt", json_string(strbuf_text(&text)));
    strbuf_finish(&text);
}

void context_apply(json_t *spec, const char *context) {
    static const char *const plain[] = { "merge", "base_branch" };
    json_t *change = context ? json_loads(context, 0, NULL) : NULL;
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
        if (json_object_get(change, plain[i]))
            json_object_set(spec, plain[i], json_object_get(change, plain[i]));
    const char *args = json_string_value(json_object_get(change, "args"));
    if (args)
        add_args(spec, args);
    const json_t *steps = json_object_get(change, "steps");
    if (json_is_true(steps)
        || json_array_size(steps) > 0) { /* they did the work: it runs nothing */
        json_object_del(spec, "prompt");
        json_object_del(spec, "stdin");
        json_object_set_new(spec, "argv", json_pack("[s]", "true"));
        json_object_set_new(spec, "merge", json_string("none"));
    }
    json_object_del(spec, "allow"); /* only a person may allow that */
    if (json_is_array(json_object_get(change, "allow")))
        json_object_set(spec, "allow", json_object_get(change, "allow"));
    json_t *meta = json_object_get(change, "meta");
    if (json_is_object(meta) && json_object_update(json_object_get(spec, "meta"), meta) < 0)
        json_object_set(spec, "meta", meta); /* it has none */
    json_decref(change);
}
