/* Owns the writing of a recording's file, at once or while events arrive. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "record/recording.h"
#include "record/recording_format.h"

static void add_header(struct text *text, const struct recording *recording)
{
    text_add(text, RECORDING_MAGIC "workers %u\nlayout %s\nzero %llu\nmissed %llu\n",
             recording->worker_count, recording->layout == LANEPOOL_PER_WORKER ? "worker" : "key",
             (unsigned long long)recording->zero_ns, (unsigned long long)recording->missed);
    for (unsigned tag = 0; tag < RECORDING_TAGS; tag++) {
        if (recording->tags[tag]) {
            text_add(text, "tag %u %s\n", tag, recording->tags[tag]);
        }
    }
    for (size_t i = 0; i < recording->lane_count; i++) {
        const struct recording_lane *lane = &recording->lanes[i];
        text_add(text, "lane %s %llu %s\n", recording_lane_types[lane->type],
                 (unsigned long long)lane->object, lane->name);
    }
}

static void put_integer(unsigned char *bytes, uint64_t number, unsigned size)
{
    for (unsigned i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(number >> 8 * i);
    }
}

static void add_record(struct text *text, const lanepool_event *event)
{
    unsigned char bytes[RECORDING_RECORD_SIZE];
    put_integer(bytes, event->time_ns, 8);
    put_integer(bytes + 8, event->task, 8);
    put_integer(bytes + 16, event->object, 8);
    put_integer(bytes + 24, event->detail, 4);
    put_integer(bytes + 28, event->thread, 2);
    bytes[30] = event->type;
    bytes[31] = event->object_type;
    text_add_bytes(text, (const char *)bytes, sizeof bytes);
}

bool recording_write(const struct recording *recording, const char *file, struct problem *problem)
{
    struct text text = { 0 };
    add_header(&text, recording);
    text_add(&text, "events %llu\n", (unsigned long long)recording->event_count);
    for (size_t i = 0; i < recording->event_count; i++) {
        add_record(&text, &recording->events[i]);
    }
    bool written = file_write(file, text.data, text.size, problem);
    text_fini(&text);
    return written;
}

/* --- while events arrive --- */

static bool fail_with_errno(const struct recording_stream *stream, const char *what,
                            struct problem *problem)
{
    return problem_set(problem, EXIT_CODE_IO, "%s cannot be %s: %s", stream->name, what,
                       strerror(errno));
}

/* Returns true if overwriting the file destroys nothing but a recording. */
static bool is_replaceable(const char *name, bool *exists)
{
    struct stat facts;
    char begin[sizeof RECORDING_WORD - 1];
    *exists = stat(name, &facts) == 0;
    if (!*exists || !S_ISREG(facts.st_mode) || facts.st_size == 0) {
        return true;
    }
    FILE *file = fopen(name, "rb");
    if (!file) {
        return true; /* opening it for writing will fail and say why */
    }
    bool is_recording = fread(begin, sizeof begin, 1, file) == 1 &&
                        memcmp(begin, RECORDING_WORD, sizeof begin) == 0;
    fclose(file);
    return is_recording;
}

bool recording_stream_open(struct recording_stream *stream, const char *name,
                           struct problem *problem)
{
    bool exists;
    *stream = (struct recording_stream){ .name = name, .file = -1 };
    if (!is_replaceable(name, &exists)) {
        return problem_set(problem, EXIT_CODE_IO,
                           "%s is not a recording, so it is not overwritten by one", name);
    }
    stream->file = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    stream->is_new = stream->file >= 0 && !exists;
    return stream->file >= 0 || fail_with_errno(stream, "written", problem);
}

static bool write_text(const struct recording_stream *stream, const struct text *text,
                       struct problem *problem)
{
    size_t at = 0;
    while (at < text->size) {
        ssize_t written = write(stream->file, text->data + at, text->size - at);
        if (written < 0 && errno != EINTR) {
            return fail_with_errno(stream, "written", problem);
        }
        at += written > 0 ? (size_t)written : 0;
    }
    return true;
}

/* Empties a regular file. Pipes and devices have nothing to empty. */
static bool empty_file(const struct recording_stream *stream, struct problem *problem)
{
    struct stat facts;
    return (fstat(stream->file, &facts) == 0 &&
            (!S_ISREG(facts.st_mode) || ftruncate(stream->file, 0) == 0)) ||
           fail_with_errno(stream, "written", problem);
}

bool recording_stream_begin(struct recording_stream *stream, const struct recording *head,
                            struct problem *problem)
{
    struct text text = { 0 };
    stream->has_begun = true;
    add_header(&text, head);
    text_add(&text, RECORDING_OPEN_END);
    bool begun = empty_file(stream, problem) && write_text(stream, &text, problem);
    text_fini(&text);
    return begun;
}

bool recording_stream_add(struct recording_stream *stream, const lanepool_event *events,
                          size_t count, struct problem *problem)
{
    stream->buffer.size = 0;
    for (size_t i = 0; i < count; i++) {
        add_record(&stream->buffer, &events[i]);
    }
    stream->event_count += count;
    return write_text(stream, &stream->buffer, problem);
}

bool recording_stream_end(struct recording_stream *stream, uint64_t missed, struct problem *problem)
{
    lanepool_event end = { .task = missed, .object = stream->event_count, .type = RECORDING_END };
    stream->buffer.size = 0;
    add_record(&stream->buffer, &end);
    bool ended = write_text(stream, &stream->buffer, problem);
    int file = stream->file;
    stream->file = -1;
    return (close(file) == 0 || !ended || fail_with_errno(stream, "written", problem)) && ended;
}

void recording_stream_fini(struct recording_stream *stream)
{
    if (stream->file >= 0) {
        close(stream->file);
    }
    if (stream->is_new && !stream->has_begun) {
        unlink(stream->name);
    }
    text_fini(&stream->buffer);
}
