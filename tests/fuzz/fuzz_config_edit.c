/* fuzz_config_edit.c: one change to arbitrary bytes; the first byte selects the change.
 *
 * Beyond not crashing: a successful change leaves a valid configuration, a second identical change has no
 * effect, and a removed key does not exist. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "base/strbuf.h"
#include "config/config.h"
#include "config/config_edit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct config_change changes[] = {
    { "limits.runs", "3" },
    { "limits.runs", NULL },
    { "retry.failed.max", "unlimited" },
    { "retry.failed.max", NULL },
    { "projects.example.com.weight", "2.5" },
    { "projects.example.com.weight", NULL },
    { "agents.a.command", "sh -c 'x y' {prompt}" },
    { "agents.a.command", NULL },
    { "agents.a.limiter", "a: b" },
    { "order", "[\"score\", \"seq\"]" },
    { "order", NULL },
    { "preset", "loopr" },
    { "preset", NULL },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    const struct config_change *change = &changes[data[0] % ARRAY_SIZE(changes)];
    _cleanup_(strbuf_finish) struct strbuf old = STRBUF_INIT, new = STRBUF_INIT,
                                           again = STRBUF_INIT;
    struct error err = { 0 };
    strbuf_add(&old, (const char *)data + 1, size - 1);
    int r = config_edit_text("fuzz.yaml", &old, change, 1, &new, &err);
    if (r < 0) {
        assert(err.code == r && *err.text && new.length == 0);
        return 0;
    }
    struct config *config = config_new();
    assert(config_read_text(config, "fuzz.yaml", strbuf_text(&new), new.length, &err) == 0);
    config_free(config);
    assert(config_edit_text("fuzz.yaml", &new, change, 1, &again, &err) == 0);
    assert(again.length == new.length &&memcmp(strbuf_text(&again), strbuf_text(&new), new.length)
           == 0);
    return 0;
}
