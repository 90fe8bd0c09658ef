/* http_tls.c: see http_tls.h.
 *
 * OpenSSL is loaded on demand and not linked: loading it takes longer than most commands run, and
 * nearly all of them use a Unix socket. CALLS lists the functions once, with the types of its own
 * header. */
#include "http_client/http_tls.h"

#include <dlfcn.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define LIBRARY "libssl.so.3"

#define CALLS(_)                                                                                   \
    _(ERR_clear_error)                                                                             \
    _(ERR_peek_last_error)                                                                         \
    _(ERR_reason_error_string)                                                                     \
    _(SSL_CTX_ctrl)                                                                                \
    _(SSL_CTX_free)                                                                                \
    _(SSL_CTX_load_verify_file)                                                                    \
    _(SSL_CTX_new)                                                                                 \
    _(SSL_CTX_set_default_verify_paths)                                                            \
    _(SSL_CTX_set_verify)                                                                          \
    _(SSL_connect)                                                                                 \
    _(SSL_ctrl)                                                                                    \
    _(SSL_free)                                                                                    \
    _(SSL_get0_param)                                                                              \
    _(SSL_get_error)                                                                               \
    _(SSL_get_verify_result)                                                                       \
    _(SSL_new)                                                                                     \
    _(SSL_read)                                                                                    \
    _(SSL_set1_host)                                                                               \
    _(SSL_set_fd)                                                                                  \
    _(SSL_shutdown)                                                                                \
    _(SSL_write)                                                                                   \
    _(TLS_client_method)                                                                           \
    _(X509_VERIFY_PARAM_set1_ip_asc)                                                               \
    _(X509_verify_cert_error_string)

#define FIELD(name) __typeof__(&name) name##_;
static struct { CALLS(FIELD) } ssl;

struct http_tls {
    SSL_CTX *context;
    SSL *connection;
    short waits_for;
};

static bool find_call(void *library, const char *name, void *ret_call) {
    void *call = dlsym(library, name);
    memcpy(ret_call, &call, sizeof(call)); /* C has no cast from data to code */
    return call;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct error problem; /* why it could not be loaded */

static void load(void) {
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        error_set(&problem, -ENOTSUP, "https needs OpenSSL 3 (%s): %s", LIBRARY, dlerror());
#define FIND(name)                                                                                 \
    if (library && !find_call(library, #name, &ssl.name##_))                                       \
        error_set(&problem, -ENOTSUP, "'%s' has no %s: install OpenSSL 3", LIBRARY, #name);
    CALLS(FIND)
}

/* --- the handshake ---------------------------------------------------------------------------- */

static int prepare(struct http_tls *tls, int fd, const struct http_tls_peer *peer,
                   struct error *err) {
    tls->context = ssl.SSL_CTX_new_(ssl.TLS_client_method_());
    if (!tls->context)
        return error_set(err, -ENOMEM, "cannot start TLS");
    (void)ssl.SSL_CTX_ctrl_(tls->context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    ssl.SSL_CTX_set_verify_(tls->context, SSL_VERIFY_PEER, NULL);
    if (peer->ca && ssl.SSL_CTX_load_verify_file_(tls->context, peer->ca) != 1) {
        const char *why = ssl.ERR_reason_error_string_(ssl.ERR_peek_last_error_());
        return error_set(err, -EINVAL, "the certificates in '%s' cannot be used: %s", peer->ca,
                         why ? why : "not in PEM format");
    }
    if (!peer->ca)
        (void)ssl.SSL_CTX_set_default_verify_paths_(tls->context);
    tls->connection = ssl.SSL_new_(tls->context);
    if (!tls->connection || ssl.SSL_set_fd_(tls->connection, fd) != 1)
        return error_set(err, -ENOMEM, "cannot start TLS");
    if (ssl.X509_VERIFY_PARAM_set1_ip_asc_(ssl.SSL_get0_param_(tls->connection), peer->host) == 1)
        return 0;
    ssl.ERR_clear_error_();
    (void)ssl.SSL_ctrl_(tls->connection, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                        (void *)peer->host);
    return ssl.SSL_set1_host_(tls->connection, peer->host) == 1
               ? 0
               : error_set(err, -EINVAL, "'%s' is not a host name", peer->host);
}

static int handshake_error(struct http_tls *tls, const struct http_tls_peer *peer,
                           struct error *err) {
    long result = ssl.SSL_get_verify_result_(tls->connection);
    const char *why = ssl.ERR_reason_error_string_(ssl.ERR_peek_last_error_());
    if (result != X509_V_OK)
        return error_set(err, -EACCES,
                         "the certificate of '%s' is not trusted (%s): set '%s' to a file with the "
                         "certificate of its issuer",
                         peer->address, ssl.X509_verify_cert_error_string_(result), peer->setting);
    return error_set(err, -EPROTO, "TLS handshake with '%s' failed: %s", peer->address,
                     why ? why : "it closed the connection");
}

/* Would a call that failed with this code block? Sets `waits_for`. */
static bool would_block(struct http_tls *tls, int code) {
    if (code != SSL_ERROR_WANT_READ && code != SSL_ERROR_WANT_WRITE)
        return false;
    tls->waits_for = code == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT;
    return true;
}

int http_tls_handshake(struct http_tls *tls, const struct http_tls_peer *peer, struct error *err) {
    ssl.ERR_clear_error_();
    int r = ssl.SSL_connect_(tls->connection);
    if (r == 1)
        return 1;
    return would_block(tls, ssl.SSL_get_error_(tls->connection, r))
               ? 0
               : handshake_error(tls, peer, err);
}

int http_tls_new(int fd, const struct http_tls_peer *peer, struct http_tls **ret_tls,
                 struct error *err) {
    (void)pthread_once(&once, load);
    if (problem.code < 0)
        return error_set(err, problem.code, "%s", problem.text);
    struct http_tls *tls = xcalloc(1, sizeof(*tls));
    int r = prepare(tls, fd, peer, err);
    if (r < 0)
        tls = http_tls_free(tls);
    *ret_tls = tls;
    return r;
}

struct http_tls *http_tls_free(struct http_tls *tls) {
    if (!tls)
        return NULL;
    ssl.ERR_clear_error_();
    if (tls->connection) {
        (void)ssl.SSL_shutdown_(tls->connection);
        ssl.SSL_free_(tls->connection);
    }
    if (tls->context)
        ssl.SSL_CTX_free_(tls->context);
    free(tls);
    return NULL;
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* The result of a read or write that returned `r`. */
static ssize_t take_result(struct http_tls *tls, int r) {
    if (r > 0)
        return r;
    int code = ssl.SSL_get_error_(tls->connection, r);
    if (code == SSL_ERROR_ZERO_RETURN)
        return 0;
    errno = would_block(tls, code) ? EAGAIN : ECONNRESET;
    return -1;
}

ssize_t http_tls_read(struct http_tls *tls, void *bytes, size_t size) {
    ssl.ERR_clear_error_();
    return take_result(tls, ssl.SSL_read_(tls->connection, bytes, (int)size));
}

ssize_t http_tls_write(struct http_tls *tls, const void *bytes, size_t size) {
    ssl.ERR_clear_error_();
    ssize_t n = take_result(tls, ssl.SSL_write_(tls->connection, bytes, (int)size));
    if (n != 0)
        return n;
    errno = EPIPE; /* the peer has closed the session */
    return -1;
}

short http_tls_waits_for(const struct http_tls *tls) {
    return tls->waits_for;
}
