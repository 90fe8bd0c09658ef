/* sentence.c: a verdict in words. The code is for programs, the sentence names the thing and what
 * clears it. */
#include <inttypes.h>

#include "base/money.h"
#include "base/number.h"
#include "core/core.h"

void verdict_code(const struct verdict *v, const struct symbol_table *symbols, struct strbuf *out) {
    strbuf_puts(out, gate_name(v->gate));
    if (v->gate != GATE_LEASE)
        return;
    strbuf_printf(out, ":%s", lease_kind_name(v->lease));
    if (v->lease == LEASE_SERIAL)
        strbuf_printf(out, ":%s/%s/%s", symbol_name(symbols, v->key_project),
                      v->key ? symbol_name(symbols, v->key) : "-",
                      v->key_kind ? symbol_name(symbols, v->key_kind) : "-");
    else if (v->key)
        strbuf_printf(out, ":%s", symbol_name(symbols, v->key));
}

static const char *task_name(const struct task_names *names, task_id task) {
    return names->name(names->ctx, task);
}

static void put_who(const struct verdict *v, const struct symbol_table *symbols,
                    struct strbuf *out) {
    if (v->pause.by)
        strbuf_printf(out, " by '%s'", symbol_name(symbols, v->pause.by));
}

static void project_sentence(const struct verdict *v, const struct symbol_table *symbols,
                             struct strbuf *out) {
    const char *key = symbol_name(symbols, v->key);
    if (v->inactive) {
        strbuf_printf(out, "project '%s' is not active; change it with: ", key);
        strbuf_printf(out, "sluice project set %s active=true", key);
    } else if (v->pause.cause == PAUSE_ASKED) {
        strbuf_printf(out, "project '%s' is paused", key);
        put_who(v, symbols, out);
        strbuf_printf(out, "; go on with: sluice resume %s", key);
    } else if (v->pause.cause == PAUSE_SECTION_REMOVED) {
        strbuf_printf(out, "project '%s' is paused: projects.%s was removed from the ", key, key);
        strbuf_printf(out,
                      "configuration, and its caps with it; put the section back, or set its caps "
                      "with: sluice project set %s max_running=N",
                      key);
    } else if (v->pause.cause == PAUSE_DELETED) {
        strbuf_printf(out, "project '%s' was deleted; bring it back with: sluice project add %s",
                      key, key);
    } else {
        strbuf_printf(out, "project '%s' is paused by the configuration; go on with: ", key);
        strbuf_printf(out, "sluice config set projects.%s.paused=false", key);
    }
}

/* The first floor with its figures; the others by name. */
static void host_sentence(const struct verdict *v, struct strbuf *out) {
    static const char *const names[] = { "disk", "memory", "processor time" };
    _Static_assert(ARRAY_SIZE(names) == HOST_FLOOR_MAX, "a floor has no name");
    unsigned first = v->floors ? (unsigned)__builtin_ctz(v->floors) : HOST_LOAD;
    if (first == HOST_DISK)
        strbuf_printf(out,
                      "%" PRId64 " MB of disk are free, a start needs %" PRId64
                      " MB; make room, or lower host.disk_free_gb",
                      v->used, v->cap);
    else if (first == HOST_MEMORY)
        strbuf_printf(out,
                      "%" PRId64 " MB of memory are free, a start needs %" PRId64
                      " MB; end something, or lower host.memory_free_mb",
                      v->used, v->cap);
    else
        strbuf_printf(out,
                      "the load is %.2f, nothing starts above %.2f; it falls by itself, or raise "
                      "host.load",
                      (double)v->used / 1000.0, (double)v->cap / 1000.0);
    for (unsigned floor = first + 1; floor < HOST_FLOOR_MAX; floor++)
        if (v->floors & (1u << floor))
            strbuf_printf(out, "; %s is short too", names[floor]);
}

static void held_sentence(const struct verdict *v, struct strbuf *out) {
    switch (v->hold) {
    case HOLD_PERSON:
        strbuf_puts(out, v->opens_at == TIME_NEVER ? "held; release it to let it go on"
                                                   : "held until its time");
        break;
    case HOLD_BACKOFF:
        strbuf_puts(out, "waits before the next attempt");
        break;
    case HOLD_RESTART:
        strbuf_puts(out, "waits before the next iteration");
        break;
    case HOLD_BUDGET:
        strbuf_puts(out, v->opens_at == TIME_NEVER
                             ? "it has used up its own budget; raise that with: sluice budget"
                             : "its agent ran out of budget");
        break;
    case HOLD_REVIEW:
        strbuf_puts(out, "finished and waits for review; approve or reject it");
        break;
    case HOLD_EXTERNAL:
        strbuf_puts(out, "finished its run and waits to be closed");
        break;
    case HOLD_MARKER:
        strbuf_puts(out, "its DONE marker is not a file; remove it, and it goes on");
        break;
    case HOLD_DENIED:
        strbuf_puts(out, "its agent was not permitted to do something");
        break;
    case HOLD_BREAKER:
    case HOLD_NONE:
    case HOLD_MAX:
        strbuf_puts(out, "held");
        break;
    }
}

/* For dependencies and parents: another task must be done first, and what helps if it never will be. */
static void task_sentence(const struct verdict *v, const struct task_names *names,
                          struct strbuf *out) {
    strbuf_printf(out, "waits for %s'%s', which ", v->gate == GATE_PARENT ? "its parent " : "",
                  v->about ? task_name(names, v->about) : "");
    switch ((int)v->about_state) {
    case TASK_ABSENT:
        strbuf_puts(out, "does not exist; cancel and retry this task to run it without");
        break;
    case TASK_INVALIDATED: /* its parent's new iteration replaces it: it cannot be retried */
        strbuf_puts(out, "is invalidated; cancel this task, or change its dependencies");
        break;
    case TASK_FAILED:
    case TASK_CANCELED:
        strbuf_printf(out, "is %s; retry it", task_state_name(v->about_state));
        break;
    default:
        strbuf_printf(out, "is %s", task_state_name(v->about_state));
        break;
    }
    if (v->count > 1)
        strbuf_printf(out, " (and %" PRIu32 " more)", v->count - 1);
}

static void put_others(const struct verdict *v, struct strbuf *out) {
    if (v->count > 0)
        strbuf_printf(out, ", and no agent it fails over to is open (%" PRIu32 " named)", v->count);
}

void verdict_account(const struct verdict *v, const struct symbol_table *symbols,
                     struct strbuf *out) {
    strbuf_printf(out, v->closed ? "account '%s' is closed" : "account '%s' is rate limited",
                  symbol_name(symbols, v->key));
    put_others(v, out);
}

static void limiter_sentence(const struct verdict *v, const struct symbol_table *symbols,
                             struct strbuf *out) {
    verdict_account(v, symbols, out);
    if (v->closed)
        strbuf_printf(out, "; clear it with: sluice limiter clear %s",
                      symbol_name(symbols, v->key));
}

static void lease_sentence(const struct verdict *v, const struct symbol_table *symbols,
                           const struct task_names *names, struct strbuf *out) {
    const char *key = symbol_name(symbols, v->key);
    if (v->cap == 0 && v->lease == LEASE_AGENT) {
        strbuf_printf(out, "agent '%s' takes no work: it has no slots, or is not listed", key);
        return;
    }
    if (v->cap == 0 && v->lease != LEASE_AGENTS && v->lease != LEASE_WORKSPACES) {
        strbuf_printf(out, "the cap of %s%s%s is 0; raise it to let it start",
                      lease_kind_name(v->lease), *key ? " " : "", key);
        return;
    }
    switch (v->lease) {
    case LEASE_SERIAL:
        strbuf_printf(out, "another task of phase '%s' runs, and it is not parallelizable",
                      v->key ? key : "-");
        return;
    case LEASE_WORKSPACE:
        strbuf_printf(out, "workspace '%s' is in use", key);
        if (v->about)
            strbuf_printf(out, " by '%s'", task_name(names, v->about));
        return;
    case LEASE_AGENTS:
        strbuf_puts(out, "no agent is idle");
        return;
    case LEASE_WORKSPACES:
        strbuf_printf(out, "project '%s' has no free workspace", key);
        break;
    case LEASE_PROJECT:
        strbuf_printf(out, "project '%s' is at its limit", key);
        break;
    case LEASE_KIND:
        strbuf_printf(out, "kind '%s' is at its limit", key);
        break;
    case LEASE_AGENT:
        strbuf_printf(out, "agent '%s' is busy", key);
        break;
    case LEASE_LIMITER:
        strbuf_printf(out,
                      v->ramping ? "account '%s' comes back slowly after a rate limit"
                                 : "account '%s' is at its limit",
                      key);
        break;
    case LEASE_RESOURCE:
        strbuf_printf(out, "resource '%s' is in use", key);
        break;
    case LEASE_REVIEW:
        strbuf_printf(out, "too much of project '%s' waits for review", key);
        break;
    case LEASE_ROOTS:
        strbuf_puts(out, "the limit of root tasks is reached");
        break;
    case LEASE_RUNS:
        strbuf_puts(out, "the limit of runs is reached");
        break;
    case LEASE_TASK:
    case LEASE_KIND_MAX:
        strbuf_puts(out, "the task runs already");
        return;
    }
    if (v->about && v->used < v->cap)
        strbuf_printf(out, "; the free place is reserved for '%s'", task_name(names, v->about));
    else
        strbuf_printf(out, " (%" PRId64 " of %" PRId64 " in use)", v->used, v->cap);
}

static void budget_sentence(const struct verdict *v, const char *project, struct strbuf *out) {
    if (v->money) {
        if (project)
            strbuf_printf(out, "project '%s' has used ", project);
        else
            strbuf_puts(out, "all projects together have used ");
        money_put(out, v->used);
        strbuf_puts(out, " of ");
        money_put(out, v->cap);
        strbuf_puts(out, " in ");
        number_print_span(out, v->span);
        return;
    }
    strbuf_puts(out, "the token budget");
    if (project)
        strbuf_printf(out, " of project '%s'", project);
    strbuf_printf(out, " is used up (%" PRId64 " of %" PRId64 ")", v->used, v->cap);
}

void verdict_sentence(const struct verdict *v, const struct symbol_table *symbols,
                      const struct task_names *names, struct strbuf *out) {
    const char *key = symbol_name(symbols, v->key);
    switch (v->gate) {
    case GATE_PAUSED:
        strbuf_puts(out, "everything is paused");
        put_who(v, symbols, out);
        strbuf_puts(out, "; go on with: sluice resume");
        break;
    case GATE_PROJECT:
        project_sentence(v, symbols, out);
        break;
    case GATE_HELD:
        held_sentence(v, out);
        break;
    case GATE_DEPENDENCY:
    case GATE_PARENT:
        task_sentence(v, names, out);
        break;
    case GATE_ARTIFACT:
        strbuf_puts(out, "the artifact it is made from does not exist yet");
        break;
    case GATE_BREAKER:
        if (v->key) {
            strbuf_printf(out, "agent '%s' could not be launched several times in a row", key);
            put_others(v, out);
        } else
            strbuf_puts(out, "could not be launched several times in a row");
        break;
    case GATE_LIMITER:
        limiter_sentence(v, symbols, out);
        break;
    case GATE_HOST:
        host_sentence(v, out);
        break;
    case GATE_BUDGET:
        budget_sentence(v, NULL, out);
        break;
    case GATE_PROJECT_BUDGET:
        budget_sentence(v, key, out);
        break;
    case GATE_LEASE:
        lease_sentence(v, symbols, names, out);
        break;
    case GATE_PACE:
        strbuf_puts(out, "this tick has started its share; the next one goes on");
        break;
    case GATE_MAX:
        break;
    }
}
