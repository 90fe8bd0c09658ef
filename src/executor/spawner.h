/* spawner.h: starts processes while the loop goes on. Private to executor/.
 *
 * The kernel holds a thread that starts a process until the new one executes its program. Where many processes want the
 * processor that takes tens of milliseconds, and the loop must answer meanwhile. So a thread does nothing else.
 *
 * All calls are for the thread of the loop. */
#pragma once

#include "base/error.h"
#include "executor/spawn_process.h"

struct loop;
struct spawner;
struct spawner_job;

int spawner_new(struct loop *loop, struct spawner **ret, struct error *err);
/* What was ordered is started first; `done` is not called any more. Accepts NULL. */
struct spawner *spawner_free(struct spawner *spawner);

/* `error`: an errno, and no process. */
typedef void (*spawner_done)(void *ctx, pid_t pid, int error);

/* `done` is called from the loop, once, and never from inside. The order is copied; its descriptors become the spawner's. */
void spawner_start(struct spawner *spawner, const struct spawn *order, spawner_done done,
                   void *ctx);
/* How many orders have not been told as done. */
size_t spawner_pending(const struct spawner *spawner);
