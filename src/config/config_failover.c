/* config_failover.c: do the agents that take over from others exist, and does it end somewhere?
 *
 * Checked when everything is read: an agent may name one that is described further down. A list is not followed
 * from agent to agent when work is given out, so a circle would do no harm there; but whoever writes one down
 * expects that it is, and that is better said before the night. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/alloc.h"
#include "config/config_internal.h"

#define KEY "agents.A.failover"

static int refuse(const struct config *config, const char *agent, struct error *err) {
    size_t item = config_item(config, SECTION_AGENTS, agent);
    const struct entry *entry = config_entry(config, settings_row(KEY), item);
    const char *origin = symbol_name(&config->texts, entry->origin);
    return error_prefix(err, "%.100s: key 'agents.%s.failover'", origin, config_quote(agent).text);
}

static int no_agent(const char *name, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf known = STRBUF_INIT;
    return error_set(err, -EINVAL, "there is no agent '%s'; describe it below 'agents', or name %s",
                     config_quote(name).text, agent_names(AGENT_LIST_BUILTIN, " or ", &known));
}

static int check_names(const struct config *config, const char *agent, struct error *err) {
    const char *const *words = NULL;
    size_t count = config_words(config, KEY, agent, &words);
    if (count > FAILOVER_MAX)
        return error_set(err, -EINVAL, "it names %zu agents, the most are %d", count, FAILOVER_MAX);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], agent) == 0)
            return error_set(err, -EINVAL, "an agent cannot take over from itself; name others");
        if (!config_has_agent(config, words[i]))
            return no_agent(words[i], err);
        for (size_t k = 0; k < i; k++)
            if (strcmp(words[i], words[k]) == 0)
                return error_set(err, -EINVAL, "it names '%s' twice", config_quote(words[i]).text);
    }
    return 0;
}

/* --- circles --------------------------------------------------------------------------------- */

enum mark { UNSEEN, ON_THE_WAY, NO_CIRCLE };

struct step {
    size_t item, next; /* of its list */
};

struct walk {
    const struct config *config;
    uint8_t *marks; /* by item */
    struct step *way;
    size_t count, capacity;
};

static void enter(struct walk *w, size_t item) {
    w->marks[item] = ON_THE_WAY;
    w->way = xgrow(w->way, &w->capacity, w->count + 1, sizeof(*w->way));
    w->way[w->count++] = (struct step){ .item = item };
}

static int refuse_circle(const char *agent, const char *other, struct error *err) {
    return error_set(err, -EINVAL,
                     "'%s' leads back to '%s', which is a circle; give one of them a second name "
                     "without a list, with the same adapter and limiter",
                     config_quote(other).text, config_quote(agent).text);
}

/* With a stack of its own: a chain may be as long as a file. */
static int walk_from(struct walk *w, size_t first, const char **ret_agent, struct error *err) {
    enter(w, first);
    while (w->count > 0) {
        struct step *step = &w->way[w->count - 1];
        const char *agent = config_agent_name(w->config, step->item);
        const char *const *words = NULL;
        if (step->next >= config_words(w->config, KEY, agent, &words)) {
            w->marks[step->item] = NO_CIRCLE;
            w->count--;
            continue;
        }
        const char *other = words[step->next++];
        size_t item = config_item(w->config, SECTION_AGENTS, other);
        if (item >= config_agent_count(w->config) || w->marks[item] == NO_CIRCLE)
            continue;
        if (w->marks[item] == UNSEEN) {
            enter(w, item);
            continue;
        }
        *ret_agent = agent;
        return refuse_circle(agent, other, err);
    }
    return 0;
}

static int check_circles(const struct config *config, const char **ret_agent, struct error *err) {
    size_t count = config_agent_count(config);
    struct walk w = { .config = config, .marks = xcalloc(count + 1, 1) };
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++)
        if (w.marks[i] == UNSEEN)
            r = walk_from(&w, i, ret_agent, err);
    free(w.way);
    free(w.marks);
    return r;
}

int config_check_failover(const struct config *config, struct error *err) {
    struct error unread = { 0 };
    const char *agent = NULL;
    bool any = false;
    int r = 0;
    if (!err)
        err = &unread;
    for (size_t i = 0; r == 0 && i < config_agent_count(config); i++) {
        agent = config_agent_name(config, i);
        if (!config_is_set(config, KEY, agent))
            continue;
        any = true;
        r = check_names(config, agent, err);
    }
    if (r == 0 && any)
        r = check_circles(config, &agent, err);
    return r < 0 ? refuse(config, agent, err) : 0;
}
