/* fuzz_json.c: arbitrary bytes as the JSON of a request.
 *
 * Beyond not crashing: the fast reader gives the same value as jansson, or leaves the text to jansson. */
#include <assert.h>
#include <stdint.h>

#include "ops/op_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_error_t why;
    json_t *ours = json_read((const char *)data, size, 40);
    json_t *theirs = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, &why);
    assert(!ours || (theirs && json_equal(ours, theirs)));
    json_decref(ours);
    json_decref(theirs);
    return 0;
}
