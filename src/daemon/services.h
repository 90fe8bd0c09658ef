/* services.h: what an active daemon does besides scheduling. Each service exists between engine_new
 * and engine_free; daemon.c starts and ends them. All `free` functions accept NULL and return
 * NULL. */
#pragma once

#include "engine/engine.h"

struct bus_poster;
struct loop;
struct server;

/* Notifications (notify.c). `check_config` runs after each round: the configuration may have
 * changed. */
struct notify;
struct notify *notify_new(struct engine *engine, struct loop *loop);
void notify_check_config(struct notify *notify);
struct notify *notify_free(struct notify *notify);

/* The user's command at the end of each task: tasks.on_end, projects.P.on_end (write_back.c). */
struct write_back;
struct write_back *write_back_new(struct engine *engine, struct loop *loop);
struct write_back *write_back_free(struct write_back *write_back);

/* Usage that the agents of live runs report over OpenTelemetry: otel.listen (telemetry.c). */
struct telemetry;
struct telemetry *telemetry_new(struct engine *engine, struct loop *loop);
void telemetry_check_config(struct telemetry *telemetry);
void telemetry_run_ended(struct telemetry *telemetry, task_id task, uint32_t attempt);
struct telemetry *telemetry_free(struct telemetry *telemetry);

/* Spans and sums of ended runs for an OpenTelemetry collector: otel.endpoint (collector.c). */
struct collector;
struct collector *collector_new(struct engine *engine, struct loop *loop);
struct collector *collector_free(struct collector *collector);

/* The state of tasks in the cards that they came from: cards.mirror (mirror.c). */
struct mirror;
struct mirror *mirror_new(struct engine *engine, struct loop *loop);
struct mirror *mirror_free(struct mirror *mirror);

/* Lifecycle messages on the message bus, and their retention (lifecycle.c). lifecycle_started
 * follows engine_start; lifecycle_free comes after engine_free and bus_poster_free. */
struct lifecycle;
struct lifecycle *lifecycle_new(struct engine *engine, struct loop *loop,
                                struct bus_poster *poster);
void lifecycle_started(struct lifecycle *lifecycle);
struct lifecycle *lifecycle_free(struct lifecycle *lifecycle);

/* TCP clients: http.listen, or because `sluice dash` asked for a port (tcp_listener.c). Freed
 * before its server. */
struct tcp_listener;
struct tcp_listener *tcp_listener_new(struct engine *engine, struct loop *loop,
                                      struct server *server);
/* Listens if configured; for a standby, which has no engine. */
int tcp_listen_configured(struct server *server, const struct config *config, struct error *err);
void tcp_listener_check_config(
    struct tcp_listener *listener);                      /* the configuration may have changed */
void tcp_listener_reload(struct tcp_listener *listener); /* also reloads the certificate */
/* A token has been revoked or has expired: its connections are closed. */
void tcp_listener_event(struct tcp_listener *listener, const struct event_row *event);
struct tcp_listener *tcp_listener_free(struct tcp_listener *listener);
