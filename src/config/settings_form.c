/* settings_form.c: what may a text or a word of a setting look like?
 *
 * Only what a typing error breaks is refused here; whoever uses a value says what else is wrong with it. */
#include "config/settings_form.h"

#include <string.h>

#include "base/macros.h"
#include "config/place.h"
#include "os/copy_files.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS  "0123456789"

/* How much of the text is the name of a variable. */
static size_t variable_length(const char *text) {
    return strspn(text, DIGITS) > 0 ? 0 : strspn(text, LETTERS DIGITS "_");
}

static bool is_variable(const char *text) {
    return *text && variable_length(text) == strlen(text);
}

static bool is_pair(const char *text) {
    size_t length = variable_length(text);
    return length > 0 && text[length] == '=';
}

/* A credential is a file in a folder that systemd fills. */
static bool is_credential(const char *text) {
    const char *name = is_pair(text) ? strchr(text, '=') + 1 : "";
    return *name && *name != '.' && strspn(name, LETTERS DIGITS "._-") == strlen(name);
}

static bool is_path(const char *text) {
    return *text == '/';
}

/* What git refuses is told by git; this keeps options and revisions out. */
static bool is_branch(const char *text) {
    return *text != '-' && strlen(text) <= 200 && !strpbrk(text, " ~^:?*[\\")
           && !strstr(text, "..");
}

static bool is_word(const char *text) {
    return *text && strlen(text) <= 64 && strspn(text, LETTERS DIGITS "_-") == strlen(text);
}

/* "my-app": a letter after each hyphen, so that no prefix looks like an id. */
static bool is_prefix(const char *text) {
    bool begins = true;
    if (!*text || strlen(text) > 16)
        return false;
    for (; *text; text++) {
        if (!strchr(begins ? LETTERS : LETTERS DIGITS "-", *text))
            return false;
        begins = *text == '-';
    }
    return !begins;
}

/* What else is wrong with it is said when it is used. */
static bool is_webhook(const char *text) {
    return !*text
           || ((strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0
                || strncmp(text, "unix:/", 6) == 0)
               && !strpbrk(text, " @#"));
}

/* Of this machine alone: it is a door that anybody who can reach it may knock at. */
static bool is_listen(const char *text) {
    const char *port = strncmp(text, "127.0.0.1:", 10) == 0 ? text + 10
                       : strncmp(text, "[::1]:", 6) == 0    ? text + 6
                                                            : "";
    size_t length = strspn(port, DIGITS);
    return !*text || (length > 0 && length <= 5 && port[length] == '\0');
}

/* What the address is, is told when it is listened at. */
static bool is_http_listen(const char *text) {
    const char *colon = strrchr(text, ':');
    size_t address = colon ? strspn(text, "0123456789abcdefABCDEF.:[]") : 0;
    size_t digits = colon ? strspn(colon + 1, DIGITS) : 0;
    return !*text
           || (colon && address > (size_t)(colon - text) && colon > text && digits > 0
               && digits <= 5 && colon[1 + digits] == '\0');
}

static bool is_host(const char *text) {
    return *text && strlen(text) <= 253 && strspn(text, LETTERS DIGITS ".-:[]") == strlen(text);
}

/* It stands in rows, in messages and in commands that people type. */
static bool is_host_name(const char *text) {
    return strlen(text) <= 253 && strspn(text, LETTERS DIGITS ".-_") == strlen(text)
           && *text != '-';
}

/* Of a daemon, for its clients. By `http:` a token goes over the wire as it is, so that is of this machine alone. */
static bool is_daemon_address(const char *text) {
    if (strncmp(text, "unix:", 5) == 0)
        return is_path(text + 5) && !strchr(text, ','); /* SLUICE_SOCKET has commas between them */
    if (strncmp(text, "http://", 7) == 0)
        return text[7] && is_listen(text + 7);
    const char *host = strncmp(text, "https://", 8) == 0 ? text + 8 : "";
    const char *port = strrchr(host, ':');
    size_t digits = port ? strspn(port + 1, DIGITS) : 0;
    return port > host && is_host(host) && digits > 0 && digits <= 5 && port[1 + digits] == '\0';
}

static bool is_collector(const char *text) {
    return is_webhook(text) && !strchr(text, '?');
}

static bool is_path_or_nothing(const char *text) {
    return !*text || is_path(text);
}

/* A path from somewhere would be another file whenever the daemon is started from somewhere else, and so would a URL that
 * is misspelt: an empty store, where a history was expected. */
static bool is_store(const char *text) {
    return is_path_or_nothing(text) || strncmp(text, "postgresql://", 13) == 0
           || strncmp(text, "postgres://", 11) == 0 || strncmp(text, "memory:", 7) == 0;
}

static bool is_variable_or_nothing(const char *text) {
    return !*text || is_variable(text);
}

static bool is_news(const char *text) {
    static const char *const kinds[] = { "done", "failed", "limited", "needs-person",
                                         "group-finished" };
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        if (strcmp(text, kinds[i]) == 0)
            return true;
    return false;
}

/* From the root, from the home, or in the workspace; nowhere upwards. */
static bool is_seen(const char *text) {
    for (const char *at = text; (at = strstr(at, "..")); at += 2)
        if ((at == text || at[-1] == '/') && (at[2] == '/' || at[2] == '\0'))
            return false;
    return *text && strcmp(text, "/") != 0 && strlen(text) < 4096;
}

const struct setting_form seen_form = { is_seen,
                                        "/PATH, ~/PATH or a path in the workspace, without '..'" };
const struct setting_form webhook_form = { is_webhook,
                                           "http://…, https://… or unix:/…, without a user name" };
const struct setting_form listen_form = { is_listen, "127.0.0.1:PORT or [::1]:PORT" };
const struct setting_form http_listen_form = {
    is_http_listen, "an IP address and a port: 127.0.0.1:7878 or [::1]:7878"
};
const struct setting_form host_form = { is_host, "names of hosts, with a port or without" };
const struct setting_form host_name_form = {
    is_host_name, "at most 253 letters, digits, dots, hyphens and underscores"
};
const struct setting_form daemon_address_form = {
    is_daemon_address, "unix:/PATH without a comma, https://HOST:PORT or http://127.0.0.1:PORT"
};
const struct setting_form collector_form = {
    is_collector,
    "http://…, https://… or unix:/…, without a user name, as OTEL_EXPORTER_OTLP_ENDPOINT has it"
};
const struct setting_form secret_file_form = { is_path_or_nothing, "an absolute path" };
const struct setting_form store_form = { is_store,
                                         "an absolute path, or postgresql://USER@HOST/DATABASE" };
const struct setting_form secret_env_form = { is_variable_or_nothing, "the name of a variable" };
const struct setting_form news_form = {
    is_news, "words of: done failed limited needs-person group-finished"
};
const struct setting_form place_form = {
    place_takes_word,
    "words KEY=VALUE with partition, account, qos, gres, constraint, cpus or options"
};
const struct setting_form variable_form = { is_variable, "names of variables" };
const struct setting_form credential_form = { is_credential, "words NAME=CREDENTIAL" };
const struct setting_form pair_form = { is_pair, "words KEY=VALUE" };
const struct setting_form path_form = { is_path, "an absolute path" };
const struct setting_form paths_form = { is_path, "absolute paths" };
const struct setting_form branch_form = { is_branch, "the name of a branch" };
const struct setting_form copy_form = {
    copy_pattern_is_valid, "paths in the folder of the project, like .env or config/*.local"
};
const struct setting_form word_form = { is_word,
                                        "1 to 64 letters, digits, hyphens and underscores" };
const struct setting_form prefix_form = {
    is_prefix, "1 to 16 letters, digits and hyphens, with a letter first and after each hyphen"
};
