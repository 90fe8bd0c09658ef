/* stream_share.c: see stream_share.h. There are few connections: they are counted when it matters. */
#include "api/stream_share.h"

#include <stdio.h>
#include <string.h>

#include "api/server_internal.h"

#define PART_OF_TOKEN 8u
#define PART_OF_OWNER 8u

struct counts {
    size_t all, others, runs, token, address;
};

static size_t part(size_t all, size_t of) {
    return all / of > 0 ? all / of : 1;
}

static bool is_of_run(const struct connection *c) {
    return c->of_run || (c->tcp && c->access.token.token[0]);
}

static bool same_address(const struct connection *a, const struct connection *b) {
    char first[TCP_TEXT_MAX], second[TCP_TEXT_MAX];
    return a->tcp && b->tcp
           && strcmp(tcp_print_host(&a->peer, first), tcp_print_host(&b->peer, second)) == 0;
}

static struct counts count(const struct connection *c, const struct stream_share *wanted) {
    struct counts sum = { 0 };
    for (const struct connection *o = c->server->connections; o; o = o->next) {
        if (o->share.kind != wanted->kind)
            continue;
        bool others = o->share.token[0] != '\0';
        sum.all++;
        sum.others += others;
        sum.runs += is_of_run(o);
        sum.token += others && strcmp(o->share.token, wanted->token) == 0;
        sum.address += same_address(o, c);
    }
    return sum;
}

static const char *check(const struct connection *c, const struct stream_share *wanted) {
    size_t most = c->server->options.streams_max;
    struct counts sum = count(c, wanted);
    if (sum.all >= most)
        return "too many streams are open";
    if (!wanted->token[0])
        return NULL;
    if (sum.token >= part(most, PART_OF_TOKEN))
        return "this token has too many streams open: close one of them";
    if (c->tcp && sum.address >= part(most, 2))
        return "this address has too many streams open: close one of them";
    if (sum.others + part(most, PART_OF_OWNER) >= most || (is_of_run(c) && sum.runs >= most / 2))
        return "too many streams are open: the others are for the owner";
    return NULL;
}

const char *stream_share_take(struct connection *c, enum stream_kind kind,
                              const struct op_run *run) {
    struct stream_share wanted = { .kind = kind };
    const char *id = run->token[0] ? run->token : c->tcp ? c->access.access.id : "";
    (void)snprintf(wanted.token, sizeof(wanted.token), "%s", id);
    const char *why = check(c, &wanted);
    if (!why)
        c->share = wanted;
    return why;
}

void stream_share_give(struct connection *c) {
    c->share = (struct stream_share){ .kind = STREAM_OF_NOTHING };
}
