/* top_model.h: what the daemon said, as plain values that can be drawn.
 *
 *     struct top_model model = { 0 };
 *     top_model_read(&model, answer_of_v1_status);     // again and again
 *     top_model_finish(&model);
 *     struct top_page page = { 0 };
 *     top_page_read(&page, answer_of_v1_tasks, "web"); // adds the tasks that match
 *     top_page_finish(&page);
 *
 * Every text is safe for a terminal and on one line when it is here. What an answer does not have is
 * "", 0, or -1 for a number that nobody said. Texts live as long as their model or page. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/time_ms.h"
#include "core/model.h"

struct top_task {
    const char *id, *project, *kind, *agent, *group, *title;
    const char *word;      /* its state as people read it: "held:review" */
    const char *gate;      /* the first one that stops it */
    const char *why;       /* what that means */
    const char *doing;     /* what its run does besides working, or the last line that it printed */
    enum task_state state; /* TASK_ABSENT: one that this program does not know */
    bool can_release;
    time_ms since; /* the run, or the state */
    time_ms not_before;
    int64_t tokens, priority, attempt;
};

struct top_gate {
    const char *gate;
    int64_t count;
};

struct top_limit {
    const char *key, *state;
    int64_t used, cap; /* cap -1: none */
    time_ms opens_at;
    int urgency; /* the higher the nearer to the top */
};

struct top_project {
    const char *name;
    bool paused;
};

struct top_alert {
    const char *key, *text;
    time_ms since;
};

struct top_model {
    struct arena arena;
    const char *version, *preset, *paused_by;
    time_ms started_at, paused_at;
    bool known; /* an answer was read at all */
    bool paused, store_full;
    int64_t counts[TASK_STATE_MAX];
    int64_t stuck;                        /* wait for one that failed */
    int64_t disk_free_mb, memory_free_mb; /* -1: nobody said */
    double load;                          /* <0: nobody said */
    struct top_gate *gates;
    size_t gate_count;
    struct top_limit *limits; /* all runs first, then what is closed, full, nearly full */
    size_t limit_count;
    struct top_alert *alerts;
    size_t alert_count;
    struct top_project *projects;
    size_t project_count;
};

void top_model_read(struct top_model *model, const json_t *status);
void top_model_finish(struct top_model *model); /* safe on a zeroed one */
bool top_model_is_paused(const struct top_model *model, const char *project);
/* Is something shown that changes with every second: an elapsed time, a countdown? */
bool top_model_moves(const struct top_model *model, time_ms now);

/* --- tasks ----------------------------------------------------------------------------------- */

struct top_page {
    struct arena arena;
    struct top_task *tasks;
    size_t count, capacity;
};

/* Adds the tasks of an answer that match, at most `most` of them in the page. Returns how many items
 * of the answer were looked at. */
size_t top_page_read(struct top_page *page, const json_t *answer, const char *filter, size_t most);
void top_page_finish(struct top_page *page); /* safe on a zeroed one */
/* Does the daemon offer this for the task? */
bool top_offers(const json_t *task, const char *action);
/* Does every word of the filter occur in one of its texts? Letters of ASCII in any case. A word
 * gate:NAME is the gate that stops it, whole. */
bool top_task_matches(const struct top_task *task, const char *filter);
