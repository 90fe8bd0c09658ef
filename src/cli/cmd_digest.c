/* cmd_digest.c: what happened last night, on one page: for a person in the morning, a mail, a chat. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "cli/cmd.h"
#include "cli/digest.h"
#include "os/clock.h"
#include "os/moment.h"

#define SINCE_STANDARD "12h"

/* The beginning of the day on which `now` is, or of the one before. */
static time_ms day_of(time_ms now, int back) {
    time_t seconds = now / 1000;
    struct tm tm;
    (void)localtime_r(&seconds, &tm);
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    tm.tm_mday -= back;
    tm.tm_isdst = -1;
    return SECONDS(mktime(&tm));
}

int digest_since(const char *text, time_ms now, time_ms *ret_since, struct error *err) {
    time_ms span, at;
    if (strcmp(text, "today") == 0 || strcmp(text, "yesterday") == 0) {
        *ret_since = day_of(now, strcmp(text, "yesterday") == 0);
        return 0;
    }
    if (moment_parse_span(text, &span, NULL) == 0) {
        if (span <= 0 || span > now)
            return error_set(err, -EINVAL, "not a span that is over: '%.100s'", text);
        *ret_since = now - span;
        return 0;
    }
    int r = moment_parse(text, now, &at, err);
    if (r < 0)
        return error_set(
            err, -EINVAL,
            "not a moment: '%.100s' (examples: 12h, yesterday, today, 18:30, 2027-01-31)", text);
    if (at > now && strchr(text, ':') && !strchr(text, '-'))
        at -= DAYS(1); /* a time of day: the last one, not the next */
    if (at > now)
        return error_set(err, -EINVAL, "'%.100s' is yet to come", text);
    *ret_since = at;
    return 0;
}

enum format { FORMAT_MARKDOWN, FORMAT_HTML, FORMAT_JSON, FORMAT_MAX };

static int read_format(const struct cmd_call *call, enum format *ret) {
    static const char *const formats[FORMAT_MAX] = { "markdown", "html", "json" };
    const char *word = cmd_value(call, "format");
    *ret = call->json ? FORMAT_JSON : FORMAT_MARKDOWN;
    for (int f = 0; word && f < FORMAT_MAX; f++)
        if (strcmp(word, formats[f]) == 0) {
            *ret = (enum format)f;
            word = NULL;
        }
    if (word)
        return cmd_usage_error(call->cmd,
                               "there is no format '%s'; there are markdown, html and json", word);
    if (call->json && *ret != FORMAT_JSON)
        return cmd_usage_error(call->cmd, "'--json' and '--format %s' exclude each other",
                               cmd_value(call, "format"));
    return CMD_OK;
}

static int run(const struct cmd_call *call) {
    const char *text = cmd_value(call, "since");
    time_ms now = clock_read(), since = 0;
    enum format format;
    struct error err = { 0 };
    int code = read_format(call, &format);
    if (code != CMD_OK)
        return code;
    if (digest_since(text ? text : SINCE_STANDARD, now, &since, &err) < 0)
        return cmd_usage_error(call->cmd, "option '--since': %s", err.text);
    _cleanup_(ask_finish) struct ask ask = { 0 };
    _cleanup_(strbuf_finish) struct strbuf out = STRBUF_INIT;
    json_t *digest = NULL;
    code = ask_open(&ask, ASK_RUNNING);
    if (code == CMD_OK)
        code = digest_gather(&ask, since, now, &digest);
    if (code != CMD_OK)
        return code;
    if (format == FORMAT_JSON)
        return ask_print_json(digest);
    digest_print(digest, format == FORMAT_HTML, &out);
    json_decref(digest);
    output_rest(&out);
    return CMD_OK;
}

static const struct cmd_option options[] = {
    { "since", 's', "WHEN",
      "from when on: 12h, yesterday, today, 18:30, 2027-01-31; 12h if not given" },
    { "format", 'f', "FORMAT", "markdown, html or json; markdown if not given" },
    { NULL },
};

const struct cmd cmd_digest = { "digest", .options = options, .run = run };
