/* books_escalate.c: docs/internals/rules.md §5, "escalation". What is checked: a step comes only after as many verified failures
 * as its list asks for, one at a time, upwards, and to the agent that the list names; a limit, a loss or a launch never causes
 * one. */
#include <inttypes.h>

#include "books_internal.h"

static unsigned own_agent(const struct row *row) {
    return row->step ? row->own_agent : row->agent;
}

void books_not_accepted(const struct books *b, struct row *row) {
    const struct agent_book *own = &b->agent[own_agent(row)];
    if (row->bound || own->steps_after == 0 || row->step >= own->step_count)
        return;
    row->rejected++;
    if (row->rejected < own->steps_after)
        return;
    row->rejected = 0;
    row->own_agent = (uint8_t)own_agent(row);
    row->agent_before = row->agent;
    if (own->steps[row->step])
        row->agent = own->steps[row->step];
    row->step++;
    row->step_due = true;
}

void books_own_agent_again(struct row *row) {
    row->agent = (uint8_t)own_agent(row);
    row->step = row->rejected = 0;
}

void books_ordered_step(struct books *b, struct row *row, const struct order *order) {
    if (!row->step_due)
        breach_set(b->breach, "I32", "task %" PRIu64 " takes a step without the failures for it",
                   order->task);
    else if (order->step != row->step || order->agent != sym_of(SYM_AGENT, row->agent)
             || order->instead_of != sym_of(SYM_AGENT, row->agent_before))
        breach_set(b->breach, "I32", "task %" PRIu64 " takes step %u, and not step %u", order->task,
                   order->step, row->step);
    row->step_due = false;
}
