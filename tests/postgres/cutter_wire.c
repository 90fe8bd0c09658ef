/* cutter_wire.c: parses the messages of a connection and finds the one that the plan waits for.
 *
 * In both directions a message is a type (one byte), a length (four bytes) and the body; only the client's first message
 * has no type. A COMMIT is a Query, or the Execute of a portal that was bound to a statement whose text is COMMIT. Its
 * answer is the CommandComplete with COMMIT or ROLLBACK. After an error the server omits that, and the answer is the
 * ReadyForQuery that ends the query.
 */
#include "cutter_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "harness/patience.h"

#define CANCEL_REQUEST 80877102u
#define SSL_REQUEST    80877103u
#define GSS_REQUEST    80877104u

void wire_init(struct wire *wire, int client, int server) {
    *wire = (struct wire){ .fd = { client, server }, .from = { STRBUF_INIT, STRBUF_INIT } };
}

void wire_finish(struct wire *wire, bool reset) {
    struct linger now = { .l_onoff = 1, .l_linger = 0 };
    for (int side = 0; side < 2; side++) {
        if (reset)
            (void)setsockopt(wire->fd[side], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        close(wire->fd[side]);
        strbuf_finish(&wire->from[side]);
    }
    for (size_t i = 0; i < WIRE_COMMITS; i++)
        free(wire->commits[i]);
}

static uint32_t number_at(const char *bytes) {
    uint32_t n;
    memcpy(&n, bytes, sizeof(n));
    return ntohl(n);
}

/* Writes all bytes before anything else happens: at a cut it must be known what the other side has. */
static bool carry(int fd, const char *bytes, size_t size) {
    while (size > 0) {
        struct pollfd ready = { .fd = fd, .events = POLLOUT };
        ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        if (n < 0 && poll(&ready, 1, patience_ms()) == 0)
            return false;
        bytes += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* --- messages of the client --------------------------------------------------------------------- */

static bool is_commit(const char *sql) {
    sql += strspn(sql, " \t\n");
    return strncasecmp(sql, "COMMIT", 6) == 0;
}

/* The entry of this name in the list of statements that commit; NULL: none. `name` NULL: an unused entry. */
static char **place_of(struct wire *wire, const char *name) {
    for (size_t i = 0; i < WIRE_COMMITS; i++)
        if (name ? wire->commits[i] && strcmp(wire->commits[i], name) == 0 : !wire->commits[i])
            return &wire->commits[i];
    return NULL;
}

/* "" is the unnamed statement, which may be replaced at any time. */
static void note_statement(struct wire *wire, const char *name, const char *sql) {
    char **place = place_of(wire, name);
    if (!is_commit(sql)) {
        if (place) {
            free(*place);
            *place = NULL;
        }
    } else if (!place && (place = place_of(wire, NULL))) {
        *place = xstrdup(name);
    }
}

/* `body`: the bytes after the length. */
static bool commits_now(struct wire *wire, char type, const char *body) {
    switch (type) {
    case 'P':
        note_statement(wire, body, body + strlen(body) + 1);
        return false;
    case 'B':
        wire->commit_bound = place_of(wire, body + strlen(body) + 1) != NULL;
        return false;
    case 'E':
        return wire->commit_bound;
    case 'Q':
        wire->asked++;
        return is_commit(body);
    case 'S':
        wire->asked++;
        return false;
    default:
        return false;
    }
}

static void done(struct wire_plan *plan) {
    plan->cut = CUT_NONE;
    plan->done = true;
}

/* Applies the plan to a COMMIT. False: cut. */
static bool meet_commit(struct wire *wire, struct wire_plan *plan, const char *message,
                        size_t size) {
    enum cut cut = plan->cut;
    if (++plan->commits != plan->nth)
        return true;
    switch (cut) {
    case CUT_BEFORE:
        done(plan);
        return false;
    case CUT_IN_REQUEST:
        (void)carry(wire->fd[WIRE_SERVER], message, size / 2);
        done(plan);
        return false;
    case CUT_STALL:
        wire->deaf[WIRE_CLIENT] = true;
        done(plan);
        return true;
    case CUT_AFTER:
    case CUT_IN_ANSWER:
    case CUT_BEHIND:
    case CUT_STALL_ANSWER:
        wire->awaited = true;
        wire->awaited_asked = wire->asked + (*message != 'Q');
        return true;
    case CUT_NONE:
    case CUT_MESSAGE:
    case CUT_REPLY:
    case CUT_STALL_REPLY:
    case CUT_MAX:
        return true;
    }
    return true;
}

static bool carry_asked(struct wire *wire, struct wire_plan *plan, const char *message,
                        size_t size) {
    if (++plan->messages == plan->nth && plan->cut == CUT_MESSAGE) {
        done(plan);
        return false;
    }
    if (wire->begun && commits_now(wire, *message, message + 5)
        && !meet_commit(wire, plan, message, size))
        return false;
    wire->begun = true;
    return wire->deaf[WIRE_CLIENT] || carry(wire->fd[WIRE_SERVER], message, size);
}

/* --- messages of the server --------------------------------------------------------------------- */

static bool is_answer(const struct wire *wire, const char *message) {
    if (!wire->awaited)
        return false;
    if (*message == 'C')
        return strcmp(message + 5, "COMMIT") == 0 || strcmp(message + 5, "ROLLBACK") == 0;
    return *message == 'Z' && wire->answered >= wire->awaited_asked;
}

/* Applies the plan to the answer to its COMMIT. False: cut. */
static bool meet_answer(struct wire *wire, struct wire_plan *plan, const char *message,
                        size_t size) {
    enum cut cut = plan->cut;
    wire->awaited = false;
    if (cut == CUT_BEHIND && *message == 'C') { /* passes; the next message does not */
        wire->behind = true;
        return true;
    }
    if (cut == CUT_IN_ANSWER)
        (void)carry(wire->fd[WIRE_CLIENT], message, size / 2);
    wire->deaf[WIRE_SERVER] = cut == CUT_STALL_ANSWER;
    done(plan);
    return wire->deaf[WIRE_SERVER];
}

static bool carry_reply(struct wire *wire, struct wire_plan *plan, const char *message,
                        size_t size) {
    /* The first ReadyForQuery ends the start-up and answers no query. */
    wire->answered += *message == 'Z' && wire->asked > 0;
    bool met = ++plan->replies == plan->nth;
    if (wire->behind || (met && plan->cut == CUT_REPLY)) {
        done(plan);
        return false;
    }
    if (met && plan->cut == CUT_STALL_REPLY) {
        wire->deaf[WIRE_SERVER] = true;
        done(plan);
    }
    if (is_answer(wire, message) && !meet_answer(wire, plan, message, size))
        return false;
    return wire->deaf[WIRE_SERVER] || carry(wire->fd[WIRE_CLIENT], message, size);
}

/* --- messages ----------------------------------------------------------------------------------- */

/* Size of the message that begins here; 0: incomplete. */
static size_t whole(const struct wire *wire, enum wire_side from, const char *bytes,
                    size_t length) {
    size_t head = from == WIRE_CLIENT && !wire->begun ? 0 : 1;
    if (length < head + 4)
        return 0;
    size_t size = head + number_at(bytes + head);
    return length < size ? 0 : size;
}

/* Before the start-up message a client may ask for encryption. */
static bool declined(struct wire *wire, const char *message, size_t size) {
    uint32_t code = size >= 8 ? number_at(message + 4) : 0;
    if (wire->begun || (code != SSL_REQUEST && code != GSS_REQUEST))
        return false;
    return carry(wire->fd[WIRE_CLIENT], "N", 1);
}

static bool carry_message(struct wire *wire, enum wire_side from, struct wire_plan *plan,
                          const char *message, size_t size) {
    if (from == WIRE_SERVER)
        return carry_reply(wire, plan, message, size);
    return declined(wire, message, size) || carry_asked(wire, plan, message, size);
}

bool wire_carry(struct wire *wire, enum wire_side from, struct wire_plan *plan) {
    char bytes[65536];
    ssize_t n = recv(wire->fd[from], bytes, sizeof(bytes), 0);
    if (n <= 0)
        return n < 0 && errno == EINTR;
    struct strbuf *read = &wire->from[from];
    size_t used = 0, size;
    bool alive = true;
    strbuf_add(read, bytes, (size_t)n);
    while (alive && (size = whole(wire, from, read->text + used, read->length - used)) > 0) {
        alive = carry_message(wire, from, plan, read->text + used, size);
        used += size;
    }
    memmove(read->text, read->text + used, read->length - used);
    read->length -= used;
    return alive;
}
