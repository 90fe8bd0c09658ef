/* part_kit.h: tests one part of the engine in isolation.
 *
 * The test links the object of one part, base/, os/, core/ and config/, and this kit. The kit has a real core and a real
 * configuration, and fakes for the turn, the store and the other parts: it counts what the part writes, and answers its
 * queries as the test says. Nothing else of the engine is linked, so a new call to another part fails to link until the kit
 * has a fake for it. */
#pragma once

#include "engine/engine_internal.h"

#define PART_KIT_RUNS 8

struct part_kit {
    struct engine engine;
    const struct engine_part *part, *second;
    enum engine_part_id id, second_id;
    struct live_run runs[PART_KIT_RUNS]; /* the live runs, as other parts see them */
    size_t run_count;
};

/* Writes since the last part_kit_new; strings are those of the last write. */
extern struct part_log {
    unsigned events, notes, groups, deleted_groups, requests, wakes, prunes, alerts, forgotten,
        maintained, projects;
    char event_kind[64], event_data[512], note_name[64], note_text[4096], alert_key[64];
    uint32_t group;
    task_id event_task;
    size_t batch; /* what store_batch_count returns */
    struct store_query question;
    unsigned questions;
    store_answered answered; /* of the last query; NULL: none, or answered */
    void *answered_ctx;
    uint64_t first_kept_event; /* 0: no events were pruned */
    struct store_info info;
    time_ms maintain_after; /* what store_maintain returns */
    time_ms wall;           /* the wall clock; 0: that of the turn */
} part_log;

/* The core has the project "web", and the id of a task is "t-NUMBER". */
void part_kit_new(struct part_kit *kit, const struct engine_part *part, enum engine_part_id id);
/* For a second part in the same file. */
void part_kit_add_part(struct part_kit *kit, const struct engine_part *part,
                       enum engine_part_id id);
void part_kit_free(struct part_kit *kit);

void part_kit_set(struct part_kit *kit, const char *setting, const char *value);
void part_kit_step(struct part_kit *kit, enum engine_step step);
/* A waiting task of "web" that depends on `after`, if that is not 0. */
void part_kit_add_task(struct part_kit *kit, task_id task, task_id after);
int part_kit_apply(struct part_kit *kit, enum fact_kind kind, task_id task);
/* The core decides; the hooks get orders, changed tasks and accounts. Returns the number of orders. */
size_t part_kit_decide(struct part_kit *kit);
/* Starts and ends the run of a task that was ordered to start. */
void part_kit_run(struct part_kit *kit, task_id task, enum outcome outcome);
/* The last note, as the store would return it. */
void part_kit_load_note(struct part_kit *kit);
/* Answers the last query. */
void part_kit_answer(const struct store_answer *answer);
enum task_state part_kit_state(const struct part_kit *kit, task_id task);
