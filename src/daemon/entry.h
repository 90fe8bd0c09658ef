/* entry.h: where clients come in by TCP: as http.listen says, or because `sluice dash` asked for it.
 *
 * Off until one of the two. What dash asked for is of this machine alone and ends with the daemon; a setting goes before it.
 * An address that cannot be had is tried again, and nothing else waits for that.
 *
 * Life: entry_new after server_new → entry_look after each round → entry_free before server_free */
#pragma once

#include "engine/engine.h"

struct entry;
struct loop;
struct server;

/* Listens where the configuration says, if it says so; for a standby, which has no engine. */
int entry_listen(struct server *server, const struct config *config, struct error *err);

struct entry *entry_new(struct engine *engine, struct loop *loop, struct server *server);
struct entry *entry_free(struct entry *entry); /* accepts NULL, returns NULL */
/* The configuration may be another one. */
void entry_look(struct entry *entry);
/* The certificate may be another one, too. */
void entry_reload(struct entry *entry);
/* A token is no more, as the event says: who came in by it goes. */
void entry_heard(struct entry *entry, const struct event_row *event);
