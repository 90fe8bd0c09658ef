/* world.h: one simulated world: a core, the books about it, and everything that happens to it.
 *
 * Life:   world_play draws the world of a seed and plays it: first with every fault that the seed
 *         switched on, then calm, until all work is done.
 * Time:   virtual. The agenda and core_next_wakeup say when something happens next.
 * Random: one stream of numbers from the seed and nothing else, so a seed repeats its failure. */
#pragma once

#include <stdio.h>

#include "agenda.h"
#include "base/hash.h"
#include "books.h"
#include "disk.h"
#include "recorder.h"
#include "swarm.h"

struct options {
    uint64_t seed;
    uint64_t steps;    /* of the first phase */
    unsigned open_max; /* tasks that are not final, at most */
    bool checks;
    FILE *trace; /* NULL: silent */
};

/* What really happens to a run, whatever the core knows of it. */
struct process {
    uint32_t attempt;
    bool alive;
    bool refused; /* it will never be: the order could not be written down */
    bool lost;    /* it died unnoticed */
};

struct world {
    struct options options;
    struct swarm swarm;
    struct rng rng;
    struct breach breach;
    struct books books;
    struct core *core;
    struct disk disk;
    struct agenda agenda;
    struct recorder recorder;
    struct strbuf text;

    time_ms now;
    uint64_t steps, turns;
    bool calm; /* the second phase */

    unsigned projects, kinds, agents, limiters, resources, workspaces;
    struct policy policy;
    struct agent_spec agent_specs[AGENTS + 1];
    struct limiter_policy limiter_policies[LIMITERS + 1];
    unsigned fault_percent;
    enum outcome faults[OUTCOME_MAX]; /* those the seed has */
    unsigned fault_count;
    time_ms arrival_every, person_every, config_every, crash_every, run_longest;
    time_ms outage_until[LIMITERS + 1];
    task_id next_task;

    struct process *processes;
    size_t process_count, process_capacity;
};

/* Plays one seed. False: an invariant did not hold; `ret` says which. *ret_steps: facts applied and
 * orders given. */
bool world_play(const struct options *options, struct breach *ret, uint64_t *ret_steps);

/* --- for the files of the world -------------------------------------------------------------- */

/* world.c */
int world_apply_fact(struct world *w, const struct fact *fact); /* to the core and the books */
int world_apply_core(struct world *w, const struct fact *fact); /* to the core alone */
void world_decide(struct world *w);
void world_check(struct world *w);
bool world_chance(struct world *w, unsigned percent);
time_ms world_span(struct world *w, time_ms shortest, time_ms longest); /* all lengths alike */
void world_plan(struct world *w, enum happening what, time_ms after);
void world_trace(const struct world *w, const char *format, ...) _printf_(2, 3);

/* setup.c */
void setup_draw(struct world *w);
void setup_apply(struct world *w);
struct project_spec setup_project(struct world *w, unsigned index);
void setup_failover(struct world *w, struct agent_spec *spec); /* draws its list */
amount setup_cap(struct world *w, amount highest);
struct money_budget setup_money(struct world *w, int64_t least,
                                int64_t most); /* thousandths of a cent */

/* arrivals.c */
void arrivals_happen(struct world *w);

/* processes.c */
void process_ordered(struct world *w, const struct order *order); /* START, STOP */
bool process_happens(struct world *w, const struct event *event); /* false: no fact was applied */
void process_adopt(struct world *w, task_id task, uint32_t attempt);

/* people.c, config.c */
void people_act(struct world *w);
void people_give_verdicts(struct world *w);
void config_change(struct world *w);

/* crash.c */
void crash_and_restart(struct world *w, bool before_commit);

/* calm.c */
void calm_begin(struct world *w);
bool calm_is_over(const struct world *w);    /* nothing is left that could move */
time_ms calm_longest(const struct world *w); /* after that time all is done */
void calm_check_done(struct world *w);

/* fairness.c, crowd.c: small worlds of their own for one number each */
bool fairness_play(const struct options *options, struct breach *ret, uint64_t *ret_steps);
bool crowd_play(const struct options *options, struct breach *ret, uint64_t *ret_steps);
