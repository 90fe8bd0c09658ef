/* fuzz_formula.c: arbitrary bytes as a formula.
 *
 * Beyond not crashing: an error has a message with the file name; an accepted formula expands into tasks that
 * can be sent, or is refused with a message. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formula/formula.h"

#define NAME "fuzz.yaml"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct formula *formula = NULL;
    struct error err = { 0 };
    int r = formula_read_text(NAME, "/srv", (const char *)data, size, &formula, &err);
    if (r < 0) {
        assert(!formula && err.code == r);
        assert(strncmp(err.text, NAME ":", strlen(NAME ":")) == 0);
        return 0;
    }
    const struct formula_value offered[] = { { "task", "{{x}}", true }, { "prompt", "\"", true } };
    json_t *body = NULL;
    r = formula_check(formula, offered, 2, &err);
    assert(r == 0 || err.code == r);
    bool good = r == 0;
    r = formula_expand(formula, offered, 2, &body, &err);
    assert(good || r < 0); /* a formula that the check refuses does not expand */
    if (r == 0) {
        char *text = json_dumps(body, JSON_COMPACT);
        assert(text && json_array_size(json_object_get(body, "tasks")) > 0);
        free(text);
        json_decref(body);
    }
    formula_free(formula);
    return 0;
}
