/* recorder.h: the life of one core, fact by fact, so that it can be applied to another.
 *
 * The same facts must give the same orders, byte for byte. A recording begins with the core and
 * ends at its crash. */
#pragma once

#include "base/arena.h"
#include "breach.h"
#include "core/core.h"

struct recorded;

struct recorder {
    bool on;
    struct recorded *entries;
    size_t count, capacity;
    struct arena arena;
    struct strbuf orders; /* as text, one line each */
};

void recorder_finish(struct recorder *recorder);
void recorder_clear(struct recorder *recorder);
void recorder_fact(struct recorder *recorder, const struct fact *fact);
void recorder_decision(struct recorder *recorder, const struct order *orders, size_t count,
                       const struct symbol_table *symbols);

/* Applies everything to a new core and compares what it orders. */
void recorder_replay(const struct recorder *recorder, struct breach *breach);
