/* notify.h: tells people what they want to know: by commands of theirs (alerts.notify, groups.notify,
 * notify.command), on their desktop (notify.desktop) and by a webhook (daemon/webhook.h).
 *
 * Life:   notify_new before engine_start → notify_look after each round → notify_free before engine_free
 * Once:   one at a time, in the order of the events. The next is told when it is on disk that the one before
 *         was; so a daemon that is killed repeats one at the most, with the same number (SLUICE_ALERT_SEQ,
 *         SLUICE_GROUP_SEQ, SLUICE_NOTIFY_ID). A command that fails is logged and not repeated. */
#pragma once

struct engine;
struct loop;
struct notify;

struct notify *notify_new(struct engine *engine, struct loop *loop, char *const *environment);
/* After each round: the configuration may be another one. */
void notify_look(struct notify *notify);
struct notify *notify_free(struct notify *notify); /* accepts NULL, returns NULL */
