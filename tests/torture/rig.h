/* rig.h: a daemon in a home of its own, to be mistreated.
 *
 * The programs come from the environment of the test: SLUICED, SIDE_AGENT. The home is removed at the
 * end, unless KEEP_HOME is set. With SLUICE_TEST_STORE=postgresql://… the state of each home is in a schema there, with
 * SLUICE_TEST_EXECUTOR=slurm every run is a job of Slurm. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/client.h"

struct rig {
    char home[80];
    char socket[96];
    char diary[96];
    char log[96]; /* of the daemon */
    const char *sluiced, *side_agent;
    pid_t daemon; /* 0: none runs */
    int starts;
    char said[600]; /* by the last daemon that was started: "ready", or why not */
    int code;       /* exit code of the last one that did not start */
};

/* `config`: the text of sluice.yaml. Ends the test on failure. */
void rig_open(struct rig *rig, const char *config);
/* Its two halves: an empty home, and what is written there. */
void rig_make_home(struct rig *rig);
void rig_write_config(const struct rig *rig, const char *config);
void rig_close(struct rig *rig);

/* Starts the daemon and waits until it says that it is ready. False: it did not start; `said` and `code`
 * tell why. */
bool rig_try_start(struct rig *rig);
bool rig_start(struct rig *rig); /* the same; prints why */
void rig_kill(struct rig *rig);  /* KILL, and waits */
int rig_stop(struct rig *rig);   /* TERM, and waits; its exit code */

/* A client that starts the daemon again when there is none. */
struct client *rig_client(struct rig *rig);

/* A task whose run keeps the diary. */
json_t *rig_task(const struct rig *rig, int milliseconds, int code);
/* One submit, retried with its own key until it is answered. Fills the id; the status. */
int rig_submit(struct client *client, json_t *task, char ret_id[40], struct error *err);

/* Looks now, and whenever the stream of events says that something has happened; false: it did not
 * hold before the patience of the test was at its end (harness/patience.h). */
bool rig_wait(struct rig *rig, bool (*until)(struct client *client, void *ctx), void *ctx);
/* How many tasks have not ended; -1: the daemon does not answer. */
long long rig_open_tasks(struct client *client);
/* Until no task is open. */
bool rig_wait_drained(struct rig *rig);

long long rig_now_us(void);
/* Waits for a readable descriptor or the time to pass. */
void rig_pause(int milliseconds);

/* Counts of checks, for the closing line. */
void rig_expect(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
int rig_failures(void);
