/* notify_test.h: a sample through every way that is configured, and what came of it. Private to daemon/.
 *
 * It is what `sluice notify test` asks for: the engine knows it (engine/notifier.h). Waits for nothing
 * that is being told already; changes nothing. */
#pragma once

#include "engine/engine.h"

struct webhook;
struct notify_test;

struct notify_test *notify_test_new(struct engine *engine, struct loop *loop,
                                    char *const *environment, struct webhook *webhook);
/* After webhook_free, which ends its trial. Whoever waits is told that the daemon ends. Accepts NULL, returns NULL. */
struct notify_test *notify_test_free(struct notify_test *test);
