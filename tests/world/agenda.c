/* agenda.c: see agenda.h. */
#include "agenda.h"

#include <stdlib.h>

#include "base/alloc.h"

static bool earlier(const struct event *a, const struct event *b) {
    return a->at != b->at ? a->at < b->at : a->sequence < b->sequence;
}

void agenda_finish(struct agenda *agenda) {
    free(agenda->events);
    *agenda = (struct agenda){ 0 };
}

void agenda_clear(struct agenda *agenda) {
    agenda->count = 0;
}

void agenda_add(struct agenda *agenda, struct event event) {
    agenda->events =
        xgrow(agenda->events, &agenda->capacity, agenda->count + 2, sizeof(*agenda->events));
    event.sequence = agenda->sequence++;
    size_t at = ++agenda->count;
    for (; at > 1 && earlier(&event, &agenda->events[at / 2]); at /= 2)
        agenda->events[at] = agenda->events[at / 2];
    agenda->events[at] = event;
}

time_ms agenda_next(const struct agenda *agenda) {
    return agenda->count > 0 ? agenda->events[1].at : TIME_NEVER;
}

struct event agenda_take(struct agenda *agenda) {
    struct event first = agenda->events[1], last = agenda->events[agenda->count--];
    size_t at = 1;
    for (;;) {
        size_t child = at * 2;
        if (child > agenda->count)
            break;
        if (child < agenda->count && earlier(&agenda->events[child + 1], &agenda->events[child]))
            child++;
        if (!earlier(&agenda->events[child], &last))
            break;
        agenda->events[at] = agenda->events[child];
        at = child;
    }
    agenda->events[at] = last;
    return first;
}
