/* fuzz_config.c: arbitrary bytes as a configuration file.
 *
 * Beyond not crashing: an error has a message with the file name, and an accepted configuration can be
 * printed. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/strbuf.h"
#include "config/config.h"
#include "config/config_show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct config *config = config_new();
    struct error err = { 0 };
    int r = config_read_text(config, "fuzz.yaml", (const char *)data, size, &err);
    if (r < 0) {
        assert(err.code == r);
        assert(strncmp(err.text, "fuzz.yaml:", strlen("fuzz.yaml:")) == 0);
    } else {
        _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
        config_show(config, true, &out);
        assert(out.length > 0);
    }
    config_free(config);
    return 0;
}
