/* rig.h: a daemon in its own home, for tests that kill and overload it.
 *
 * The environment of the test names the programs: SLUICED, SIDE_AGENT. The home is removed at the
 * end, unless KEEP_HOME is set. With SLUICE_TEST_STORE=postgresql://… each home has its state in its own schema; with
 * SLUICE_TEST_EXECUTOR=slurm every run is a Slurm job. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "harness/client_get.h"

struct rig {
    char home[80];
    char socket[96];
    char diary[96];
    char log[96]; /* of the daemon */
    const char *sluiced, *side_agent;
    pid_t daemon; /* 0: not running */
    int starts;
    char ready_text
        [600]; /* what the last daemon wrote to its ready descriptor: "ready", or an error */
    int code;  /* exit code of the last daemon that failed to start */
};

/* `config`: the text of sluice.yaml. Exits on failure. */
void rig_open(struct rig *rig, const char *config);
/* The two steps of rig_open: create an empty home, write its configuration. */
void rig_make_home(struct rig *rig);
void rig_write_config(const struct rig *rig, const char *config);
void rig_close(struct rig *rig);

/* Starts the daemon and waits until it is ready. False: it did not start; see `ready_text` and `code`. */
bool rig_try_start(struct rig *rig);
bool rig_start(struct rig *rig); /* the same; prints the error */
void rig_kill(struct rig *rig);  /* SIGKILL, then waits */
int rig_stop(struct rig *rig);   /* SIGTERM, then waits; returns the exit code */

/* A client that restarts the daemon if it is not running. */
struct client *rig_client(struct rig *rig);

/* A task whose run writes to the diary. */
json_t *rig_task(const struct rig *rig, int milliseconds, int code);
/* Submits one task; retries with the same idempotency key until it is answered. Writes the id; returns the HTTP
 * status. */
int rig_submit(struct client *client, json_t *task, char ret_id[40], struct error *err);

/* Evaluates the condition now and after each event of the stream. False: it did not hold
 * before the deadline (harness/patience.h). */
bool rig_wait(struct rig *rig, bool (*until)(struct client *client, void *ctx), void *ctx);
/* Number of tasks that have not ended; -1: the daemon does not answer. */
long long rig_open_tasks(struct client *client);
/* Waits until all tasks have ended. */
bool rig_wait_drained(struct rig *rig);

long long rig_now_us(void);
/* Sleeps. */
void rig_pause(int milliseconds);

/* Counts failed checks for the exit status, and prints the message. */
void rig_expect(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
int rig_failures(void);
