/* bus_keep.h: messages stay as long as the tasks they are about: retention.days.
 *
 * The bus of a task goes with the task, when the engine has forgotten it; that of a project is moved aside by
 * age, once an hour (bus_retire).
 *
 * Life: bus_keep_new between engine_new and engine_start → bus_keep_free before the loop is freed */
#pragma once

struct bus_keep;
struct bus_poster;
struct engine;
struct loop;

struct bus_keep *bus_keep_new(struct engine *engine, struct loop *loop, struct bus_poster *poster);
struct bus_keep *bus_keep_free(struct bus_keep *keep); /* accepts NULL, returns NULL */
