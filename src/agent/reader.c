/* reader.c: streams to events, events to notes, notes to one outcome.
 *
 * Adapters mark every result that applies to the run; the order of precedence is only here, so the
 * same problem has the same name for every agent. */
#include <stdlib.h>
#include <string.h>

#include "agent/reader_internal.h"
#include "base/alloc.h"
#include "base/macros.h"

struct stream {
    struct agent_reader *reader;
    enum agent_stream from;
    struct json_scan *scan;
};

struct agent_reader {
    const struct agent_adapter *adapter;
    struct agent_notes notes;
    struct stream streams[AGENT_STREAM_MAX];
};

static void on_event(void *ctx, const struct json_value *values) {
    struct stream *stream = ctx;
    const struct agent_output *output = stream->reader->adapter->output;
    struct agent_notes *notes = &stream->reader->notes;
    agent_handle *handle = output->objects[stream->from];
    if (stream->from == AGENT_STREAM_OUT) {
        notes->has_event = true;
        if (output->each && !output->each(notes, values))
            return;
        const struct agent_handler *row = output->handlers;
        while (row && row->type && !json_value_is(&values[0], row->type))
            row++;
        handle = row && row->type ? row->handle : handle;
    }
    if (handle)
        handle(notes, values);
}

static void on_text(void *ctx, const char *line) {
    struct stream *stream = ctx;
    struct agent_reader *reader = stream->reader;
    char clean[JSON_SCAN_LINE] = "";
    agent_set_line(clean, sizeof(clean), line);
    if (!clean[0])
        return;
    if (stream->from == AGENT_STREAM_ERR)
        agent_set_line(reader->notes.last_error, sizeof(reader->notes.last_error), clean);
    if (reader->adapter->output->text)
        reader->adapter->output->text(&reader->notes, clean, stream->from);
}

struct agent_reader *agent_reader_new(const struct agent_adapter *adapter) {
    struct agent_reader *reader = xcalloc(1, sizeof(*reader));
    reader->adapter = adapter;
    reader->notes.is_short = true;
    for (enum agent_stream from = 0; from < AGENT_STREAM_MAX; from++) {
        struct stream *stream = &reader->streams[from];
        stream->reader = reader;
        stream->from = from;
        if ((from == AGENT_STREAM_USAGE && !adapter->usage_file_name)
            || (from == AGENT_STREAM_SESSION && !adapter->session_file))
            continue;
        stream->scan = json_scan_new(adapter->output->wants, adapter->output->want_count,
                                     &(struct json_scan_calls){ on_event, on_text, stream });
    }
    if (adapter->output->start)
        adapter->output->start(&reader->notes);
    return reader;
}

struct agent_reader *agent_reader_free(struct agent_reader *reader) {
    if (!reader)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(reader->streams); i++)
        json_scan_free(reader->streams[i].scan);
    free(reader);
    return NULL;
}

static void copy_id(char to[128], const char *id) {
    size_t length = strnlen(id, 127);
    memcpy(to, id, length);
    to[length] = '\0';
}

void agent_reader_set_prior_usage(struct agent_reader *reader,
                                  const struct agent_prior_usage *before) {
    usage_count_before(&reader->notes.count, before);
    copy_id(reader->notes.given, before->session);
}

void agent_reader_stdout(struct agent_reader *reader, const char *bytes, size_t size) {
    json_scan_feed(reader->streams[AGENT_STREAM_OUT].scan, bytes, size);
}

void agent_reader_stderr(struct agent_reader *reader, const char *bytes, size_t size) {
    json_scan_feed(reader->streams[AGENT_STREAM_ERR].scan, bytes, size);
}

/* `scan` may be NULL. */
static void read_file(struct json_scan *scan, const char *bytes, size_t size, size_t max) {
    if (!scan || size > max)
        return;
    json_scan_feed(scan, bytes, size);
    json_scan_end(scan);
}

void agent_reader_usage(struct agent_reader *reader, const char *bytes, size_t size) {
    read_file(reader->streams[AGENT_STREAM_USAGE].scan, bytes, size, AGENT_USAGE_FILE_MAX);
}

const char *agent_reader_wants_file(const struct agent_reader *reader, size_t index) {
    const struct agent_notes *notes = &reader->notes;
    const char *own = agent_session(notes);
    bool wants_own =
        (notes->is_short || !notes->model[0] || reader->adapter->session_file_has_more) && *own;
    if (!reader->adapter->session_file)
        return NULL;
    if (wants_own && index == 0)
        return own;
    index -= wants_own;
    return index < notes->other_count ? notes->others[index] : NULL;
}

void agent_reader_session_file(struct agent_reader *reader, const char *session, const char *bytes,
                               size_t size) {
    copy_id(reader->notes.file_session, session);
    read_file(reader->streams[AGENT_STREAM_SESSION].scan, bytes, size, AGENT_SESSION_FILE_MAX);
}

void agent_reader_progress(const struct agent_reader *reader, struct agent_progress *ret) {
    const struct agent_notes *notes = &reader->notes;
    *ret = (struct agent_progress){
        .has_ended = notes->has_ended,
        .is_waiting = notes->is_waiting,
        .reset_at = notes->reset_at,
        .usage = usage_count_run(&notes->count),
        .session = notes->session,
    };
    memcpy(ret->quota, notes->quota, sizeof(ret->quota));
}

/* --- judgement -------------------------------------------------------------------------------- */

static enum agent_result choose(const struct agent_notes *notes, enum agent_ended_by by) {
    static const enum agent_result order[] = {
        AGENT_AUTH,    AGENT_BILLING,   AGENT_LIMITED, AGENT_OVERLOADED, AGENT_CONTEXT_FULL,
        AGENT_REFUSED, AGENT_MAX_TURNS, AGENT_BUDGET,  AGENT_TIMEOUT,    AGENT_CANCELED,
        AGENT_CRASHED, AGENT_FAILED,    AGENT_DENIED,
    };
    _Static_assert(ARRAY_SIZE(order) == AGENT_RESULT_MAX - 1, "a result has no place");
    enum agent_result stopped = by == AGENT_BY_TIMEOUT ? AGENT_TIMEOUT : AGENT_CANCELED;
    if (!notes->has_ended)
        return by == AGENT_BY_ITSELF ? AGENT_CRASHED : stopped;
    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        if (!(notes->marks & 1u << order[i]))
            continue;
        /* A failure caused by stopping it: "stopped" is more specific. */
        bool was_stopped =
            by != AGENT_BY_ITSELF && (order[i] == AGENT_CANCELED || order[i] == AGENT_FAILED);
        return was_stopped ? stopped : order[i];
    }
    return AGENT_OK;
}

void agent_reader_end(struct agent_reader *reader, const struct agent_end *end,
                      struct agent_outcome *ret) {
    struct agent_notes *notes = &reader->notes;
    json_scan_end(reader->streams[AGENT_STREAM_OUT].scan);
    json_scan_end(reader->streams[AGENT_STREAM_ERR].scan);
    if (reader->adapter->output->judge)
        reader->adapter->output->judge(notes, end);
    *ret = (struct agent_outcome){
        .result = choose(notes, end->by),
        .usage = usage_count_run(&notes->count),
        .is_short = notes->is_short,
        .session_usage = usage_count_session(&notes->count, agent_session(notes)),
        .session_is_lost = notes->session_is_lost,
    };
    const char *reset_text = notes->reset_text[0] ? notes->reset_text : notes->message;
    if (ret->result == AGENT_LIMITED && notes->reset_at > 0) {
        ret->reset_at = notes->reset_at;
        ret->reset_source = AGENT_SOURCE_EVENT;
    } else if (ret->result == AGENT_LIMITED
               && reset_time_find(reset_text, end->now, end->utc_offset_s, &ret->reset_at)) {
        ret->reset_source = AGENT_SOURCE_TEXT;
    }
    memcpy(ret->quota, notes->quota, sizeof(ret->quota));
    memcpy(ret->session, notes->session, sizeof(ret->session));
    memcpy(ret->model, notes->model, sizeof(ret->model));
    _Static_assert(sizeof(ret->message) == sizeof(notes->message)
                       && sizeof(ret->message) == sizeof(notes->last_error)
                       && sizeof(ret->session) == sizeof(notes->session)
                       && sizeof(ret->model) == sizeof(notes->model),
                   "notes and outcome differ in size");
    if (ret->result == AGENT_DENIED)
        ret->denial = notes->denial;
    memcpy(ret->message, notes->message[0] ? notes->message : notes->last_error,
           sizeof(ret->message));
}
