/* compare.h: applies a history to the core and to the model, and looks for the first difference. */
#pragma once

#include <stdio.h>

#include "core/core.h"
#include "generate.h"

/* What is different, and where. */
enum difference {
    DIFFERENCE_NONE,
    DIFFERENCE_RETURN, /* one takes the fact, the other does not */
    DIFFERENCE_STARTS, /* START and STOP orders, in order */
    DIFFERENCE_CHANGES,
    DIFFERENCE_TASK,    /* its state or numbers */
    DIFFERENCE_GATE,    /* why it waits */
    DIFFERENCE_SHARE,   /* what its project has used */
    DIFFERENCE_REPEAT,  /* two cores with the same facts differ */
    DIFFERENCE_RESTART, /* a core that loaded the rows of another differs from it */
    DIFFERENCE_COPY,
    DIFFERENCE_COUNT, /* how many wait at a gate */
    DIFFERENCE_MAX,
};

const char *difference_name(enum difference kind);

struct pair {
    struct core *core;
    struct model *model;
    struct names names;
    FILE *trace; /* every fact and order, or NULL */
    uint64_t starts;
    bool keeps;           /* keeps the results of the core, for pair_repeats */
    struct strbuf orders; /* printed */
    enum difference difference;
    const char *about;  /* which number of a task, which kind of fact; or "" */
    struct strbuf text; /* the difference for people */
};

void pair_init(struct pair *p, FILE *trace);
void pair_finish(struct pair *p);

/* False: a difference, which is described in the pair. */
bool pair_step(struct pair *p, const struct step *step);

/* Applies all steps except those left out (NULL: none). Stops at the first difference. */
enum difference pair_play(struct pair *p, const struct history *h, const bool *left_out);

/* After a complete history, with `keeps`: a second core with the same facts, without the queries on the way, says
 * the same and is the same at the end. */
bool pair_repeats(struct pair *p, const struct history *h);

/* Drops steps one by one as long as the difference of `found` stays. The caller frees. */
bool *history_shrink(const struct history *h, const struct pair *found);
