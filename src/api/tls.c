/* tls.c: see tls.h. */
#include "api/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "os/files.h"
#include "os/outside.h"

/* For TLS 1.2 only cipher suites with forward secrecy. TLS 1.3 has no others. */
#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL"

struct tls_server {
    SSL_CTX *context;
};

struct tls {
    SSL *ssl;
    bool wants_write, broken;
};

static int refuse_file(const char *what, const char *path, struct error *err) {
    const char *why = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return error_set(err, -EINVAL, "%s '%s' cannot be used: %s", what, path,
                     why ? why : "it is no PEM");
}

/* OpenSSL opens files by name: use the name of a descriptor that is known to be a regular file. */
struct pem {
    int fd;
    char name[32];
};

static int pem_open(const char *what, const char *path, struct pem *ret, struct error *err) {
    ret->fd = outside_open(AT_FDCWD, path, O_RDONLY | OUTSIDE_LINKS, NULL, err);
    if (ret->fd < 0)
        return error_prefix(err, "%s", what);
    (void)snprintf(ret->name, sizeof(ret->name), "/proc/self/fd/%d", ret->fd);
    return 0;
}

static void pem_close(const struct pem *pem) {
    fd_closep(&pem->fd);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): as OpenSSL calls it */
static int no_password(char *buffer, int size, int writing, void *ctx) {
    (void)buffer;
    (void)size;
    (void)writing;
    (void)ctx;
    return 0; /* keys with a password are refused */
}

static int load(SSL_CTX *context, const char *certificate, const char *key, struct error *err) {
    _cleanup_(pem_close) struct pem chain_file = { .fd = -1 }, key_file = { .fd = -1 };
    int r = pem_open("the certificate", certificate, &chain_file, err);
    if (r == 0)
        r = pem_open("the key", key, &key_file, err);
    if (r < 0)
        return r;
    struct stat st;
    if (fstat(key_file.fd, &st) < 0)
        return error_set_errno(err, "look at the key", key);
    if (st.st_mode & S_IRWXO)
        return error_set(err, -EPERM, "others can read the key '%s': chmod o-rwx '%s'", key, key);
    SSL_CTX_set_default_passwd_cb(context, no_password);
    if (SSL_CTX_use_certificate_chain_file(context, chain_file.name) != 1)
        return refuse_file("the certificate", certificate, err);
    if (SSL_CTX_use_PrivateKey_file(context, key_file.name, SSL_FILETYPE_PEM) != 1)
        return refuse_file("the key", key, err);
    if (SSL_CTX_check_private_key(context) != 1)
        return refuse_file("the key", key, err);
    return 0;
}

int tls_server_new(const char *certificate, const char *key, struct tls_server **ret_server,
                   struct error *err) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1
        || SSL_CTX_set_cipher_list(context, CIPHERS) != 1) {
        SSL_CTX_free(context);
        return refuse_file("TLS for", certificate, err);
    }
    (void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION
                                           | SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
    (void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_num_tickets(context, 0);
    (void)SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE
                                        | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
                                        | SSL_MODE_RELEASE_BUFFERS);
    int r = load(context, certificate, *key ? key : certificate, err);
    if (r < 0) {
        SSL_CTX_free(context);
        return r;
    }
    struct tls_server *server = xcalloc(1, sizeof(*server));
    server->context = context;
    *ret_server = server;
    return 0;
}

struct tls_server *tls_server_free(struct tls_server *server) {
    if (server)
        SSL_CTX_free(server->context);
    free(server);
    return NULL;
}

struct tls *tls_new(struct tls_server *server, int fd) {
    struct tls *tls = xcalloc(1, sizeof(*tls));
    tls->ssl = SSL_new(server->context);
    if (!tls->ssl || SSL_set_fd(tls->ssl, fd) != 1)
        tls->broken = true; /* the first read reports it */
    else
        SSL_set_accept_state(tls->ssl);
    return tls;
}

struct tls *tls_free(struct tls *tls) {
    if (!tls)
        return NULL;
    ERR_clear_error();
    if (tls->ssl && !tls->broken && tls_is_up(tls))
        (void)SSL_shutdown(tls->ssl);
    ERR_clear_error();
    SSL_free(tls->ssl);
    free(tls);
    return NULL;
}

/* Of a read or write of `count` bytes that returned `result`. */
static ssize_t take_result(struct tls *tls, int result, size_t count) {
    int why = SSL_get_error(tls->ssl, result);
    ERR_clear_error();
    tls->wants_write = why == SSL_ERROR_WANT_WRITE;
    if (result == 1)
        return (ssize_t)count;
    if (why == SSL_ERROR_ZERO_RETURN)
        return 0;
    tls->broken = why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE;
    errno = tls->broken ? ECONNRESET : EAGAIN;
    return -1;
}

ssize_t tls_read(struct tls *tls, void *bytes, size_t size) {
    size_t count = 0;
    errno = ECONNRESET;
    if (tls->broken)
        return -1;
    ERR_clear_error();
    int r = SSL_read_ex(tls->ssl, bytes, size, &count);
    return take_result(tls, r, count);
}

ssize_t tls_write(struct tls *tls, const void *bytes, size_t size) {
    size_t count = 0;
    errno = ECONNRESET;
    if (tls->broken)
        return -1;
    ERR_clear_error();
    int r = SSL_write_ex(tls->ssl, bytes, size, &count);
    ssize_t n = take_result(tls, r, count);
    if (n != 0)
        return n;
    errno = EPIPE; /* the peer sent close_notify */
    return -1;
}

bool tls_is_up(const struct tls *tls) {
    return tls->ssl && SSL_is_init_finished(tls->ssl);
}

bool tls_wants_write(const struct tls *tls) {
    return tls->wants_write;
}
