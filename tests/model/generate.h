/* generate.h: a small world and a random history for it, from one number.
 *
 * Life:      history_init → generate_world → generate_next … → history_finish
 * A history: facts and decisions in the order in which they are applied. Its facts point into its own
 *            memory, so that it can be applied again, also without some of its steps.
 * Guide:     generate_next looks at the model to draw facts that mean something (the end of a run
 *            that lives, a time just before a hold ends); some it draws wrong on purpose. */
#pragma once

#include "base/arena.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "model.h"

enum step_kind {
    STEP_FACT,
    STEP_DECIDE,
    STEP_RESTART, /* a new core loads the rows of the old one and continues */
    STEP_COPY,    /* a copy of the core continues */
};

struct step {
    enum step_kind kind;
    struct fact fact; /* with STEP_FACT */
};

struct history {
    struct step *steps;
    size_t count, capacity;
    struct arena arena;
};

void history_init(struct history *h);
void history_finish(struct history *h);
void history_add(struct history *h, const struct step *step);

#define WORLD_PROJECTS   5
#define WORLD_KINDS      4
#define WORLD_AGENTS     3
#define WORLD_LIMITERS   2
#define WORLD_RESOURCES  2
#define WORLD_WORKSPACES 3
#define WORLD_PHASES     2

/* The names of all worlds: the same numbers in every table. */
struct names {
    sym projects[WORLD_PROJECTS], kinds[WORLD_KINDS], agents[WORLD_AGENTS];
    sym limiters[WORLD_LIMITERS], resources[WORLD_RESOURCES], workspaces[WORLD_WORKSPACES];
    sym phases[WORLD_PHASES];
};
void names_intern(struct names *names, struct symbol_table *table);

struct generator {
    struct rng rng;
    struct history *history;
    struct names names;
    unsigned projects, kinds, agents, limiters, resources, workspaces;
    bool roster;
    bool families; /* most tasks are children of live ones, which wait for them: places are lent */
    bool kept[WORLD_PROJECTS]; /* workspaces stay with their tasks */
    struct policy policy;
    task_id next_task;
    unsigned tasks_wanted, steps_wanted;
    unsigned decide_percent;
};

/* The policy, the projects and the rest: the first steps of the history. */
void generate_world(struct generator *g, uint64_t seed, struct history *history);

/* Draws the next step and adds it. False: the history is long enough. */
bool generate_next(struct generator *g, const struct model *m);

/* --- for the two halves of the generator ------------------------------------------------------ */

bool generate_chance(struct generator *g, unsigned percent);
#define ONE_OF(g, ...)                                                                             \
    ({                                                                                             \
        static const int64_t values_[] = { __VA_ARGS__ };                                          \
        values_[rng_below(&(g)->rng, ARRAY_SIZE(values_))];                                        \
    })
void generate_policy(struct generator *g); /* a new world's */
void generate_varied(struct generator *g); /* some numbers are others now */
amount generate_cap(struct generator *g, unsigned percent_unlimited);
struct project_spec generate_project(struct generator *g, unsigned index);
struct kind_spec generate_kind(struct generator *g, unsigned index);
struct agent_spec generate_agent(struct generator *g, unsigned index);
struct limiter_policy generate_limiter_policy(struct generator *g);
void generate_applied(struct generator *g, struct fact fact); /* adds a fact */
void generate_applied_policy(struct generator *g);            /* adds FACT_POLICY */
void generate_applied_task(struct generator *g, const struct model *m);

/* One line each, as a person would write it down. */
void fact_print(const struct fact *fact, const struct symbol_table *symbols, struct strbuf *out);
