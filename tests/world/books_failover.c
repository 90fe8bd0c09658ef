/* books_failover.c: docs/internals/rules.md §2, "fail-over": who takes the tasks of an agent that is closed? */
#include "books_internal.h"

unsigned books_chooser(const struct books *b, const struct row *row) {
    bool exchangeable = row->agent && !row->limiter && !row->bound;
    return exchangeable && b->agent[row->agent].other_count > 0 ? row->agent : 0;
}

unsigned books_clock_agent(const struct books *b, const struct row *row) {
    bool has_hours = b->agent[row->agent].other_count == 0 && b->agent[row->agent].has_hours;
    return has_hours ? row->agent : books_chooser(b, row);
}

bool books_agent_open(const struct books *b, unsigned agent) {
    unsigned limiter = b->agent[agent].limiter;
    return gate_agent(b, agent) && limiter_is_open(b, limiter) && gate_hours(b, agent, limiter);
}

bool books_is_covered(const struct books *b, unsigned agent) {
    for (unsigned i = 0; b->roster == 0 && i < b->agent[agent].other_count; i++)
        if (books_agent_open(b, b->agent[agent].others[i]))
            return true;
    return false;
}

bool books_may_stand_in(const struct books *b, const struct row *row, unsigned agent) {
    if (b->roster > 0 || !books_chooser(b, row) || books_agent_open(b, row->agent))
        return false;
    for (unsigned i = 0; i < b->agent[row->agent].other_count; i++)
        if (b->agent[row->agent].others[i] == agent)
            return books_agent_open(b, agent);
    return false;
}

static bool has_places(const struct books *b, const struct row *row, unsigned agent) {
    unsigned limiter = b->agent[agent].limiter;
    return books_has_place(b, row, KEY_AGENT + agent)
           && (!limiter || books_has_place(b, row, KEY_LIMITER + limiter));
}

unsigned books_runner(const struct books *b, const struct row *row) {
    unsigned first = 0;
    for (unsigned i = 0; i < b->agent[row->agent].other_count; i++) {
        unsigned other = b->agent[row->agent].others[i];
        if (!books_may_stand_in(b, row, other))
            continue;
        if (has_places(b, row, other))
            return other;
        if (!first)
            first = other;
    }
    return first ? first : row->agent;
}
