/* wire.h: the wire protocols of the servers that `peer_client` measures.
 *
 * A job is one line: the words of a command, separated by blanks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

struct wire {
    int fd;
    struct strbuf received;
    size_t used; /* bytes of `received` that were consumed */
};

struct protocol {
    const char *name;
    /* One request holds all jobs of a batch and has one answer; otherwise each job has its own, pipelined. */
    bool batches;
    void (*submit)(struct strbuf *request, const char *job, size_t count);
    /* Length of the complete answer at the start of `text`; 0: it is incomplete. */
    size_t (*check_answer)(const char *text, size_t length);
    /* Runs jobs until the queue is empty, or forever. NULL: the server starts the commands itself. */
    void (*work)(struct wire *wire, bool forever);
    /* With the server's own runner: it starts nothing while paused. NULL: `work` is used. */
    void (*pause)(struct wire *wire, bool paused);
    size_t (*queued)(struct wire *wire); /* number of jobs that wait or run */
};

const struct protocol *protocol_find(const char *name);

/* `address`: the path of a socket, or a port on loopback. Exits on failure; with `patient` it retries for a minute. */
struct wire wire_open(const char *address, bool patient);
void wire_close(struct wire *wire);
void wire_send(struct wire *wire, const char *bytes, size_t size);
/* Waits for one answer; returns its first byte, valid until the next call. */
const char *wire_answer(struct wire *wire, size_t (*check)(const char *text, size_t length));
/* Starts the command of a job and waits for its end. */
void wire_run_job(const char *job, size_t length);
void wire_fail(const char *what, const char *detail) __attribute__((noreturn));
