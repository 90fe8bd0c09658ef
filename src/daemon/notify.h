/* notify.h: tells people of alerts and of groups that close by commands of theirs (alerts.notify,
 * groups.notify).
 *
 * Life:   notify_new before engine_start → notify_free before engine_free
 * One at a time, in the order of the events. An alert is told at least once: after a crash in the middle
 * perhaps twice, with the same SLUICE_ALERT_SEQ or SLUICE_GROUP_SEQ. A command that fails is logged and not repeated. */
#pragma once

struct engine;
struct loop;
struct notify;

struct notify *notify_new(struct engine *engine, struct loop *loop, char *const *environment);
struct notify *notify_free(struct notify *notify); /* accepts NULL, returns NULL */
