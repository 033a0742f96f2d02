/* Owns the reading of a recording's file. Nothing in the file is trusted. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "record/recording.h"
#include "record/recording_format.h"

struct reader {
    struct recording *recording;
    const char *file;
    char *at, *end; /* what is not read yet */
    unsigned long line;
    bool has_events; /* the header has been read */
    bool is_open;    /* the header does not say how many records follow */
    uint64_t announced;
    struct problem *problem;
};

static bool fail_at_line(struct reader *reader, const char *what)
{
    return problem_set_place(reader->problem, "%s:%lu: %s", reader->file, reader->line, what);
}

/* Reads a number up to `maximum` at *at, and the space that follows. */
static bool take_number(char **at, uint64_t maximum, uint64_t *number)
{
    size_t digits = strspn(*at, "0123456789");
    *number = 0;
    for (size_t i = 0; i < digits; i++) {
        uint64_t digit = (uint64_t)((*at)[i] - '0');
        if (*number > (maximum - digit) / 10) {
            return false;
        }
        *number = *number * 10 + digit;
    }
    *at += digits;
    if (**at == ' ') {
        ++*at;
        return digits > 0;
    }
    return digits > 0 && **at == 0;
}

static bool take_only_number(char *at, uint64_t maximum, uint64_t *number)
{
    return take_number(&at, maximum, number) && *at == 0;
}

static bool read_tag(struct reader *reader, char *rest)
{
    uint64_t tag;
    if (!take_number(&rest, RECORDING_TAGS - 1, &tag)) {
        return fail_at_line(reader, "expected: tag NUMBER NAME");
    }
    recording_name_tag(reader->recording, (unsigned)tag, rest);
    return true;
}

static bool read_lane(struct reader *reader, char *rest)
{
    for (uint8_t type = 1; type < RECORDING_LANE_TYPES; type++) {
        size_t size = strlen(recording_lane_types[type]);
        char *number = rest + size + 1;
        uint64_t object;
        if (strncmp(rest, recording_lane_types[type], size) == 0 && rest[size] == ' ' &&
            take_number(&number, UINT64_MAX, &object)) {
            recording_name_lane(reader->recording, type, object, number);
            return true;
        }
    }
    return fail_at_line(reader, "expected: lane id|pointer|bytes|worker NUMBER NAME");
}

static bool read_layout(struct reader *reader, const char *rest)
{
    reader->recording->layout =
        strcmp(rest, "worker") == 0 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
    return strcmp(rest, "worker") == 0 || strcmp(rest, "key") == 0 ||
           fail_at_line(reader, "expected: layout key|worker");
}

/* Reads one line of the header: its first word, and the rest. */
static bool read_statement(struct reader *reader, const char *word, char *rest)
{
    struct recording *recording = reader->recording;
    uint64_t number = 0;
    if (strcmp(word, "workers") == 0) {
        bool good = take_only_number(rest, RECORDING_WORKERS_MAX, &number) && number > 0;
        recording->worker_count = (unsigned)number;
        return good || fail_at_line(reader, "expected: workers NUMBER, from 1 to 4096");
    }
    if (strcmp(word, "layout") == 0) {
        return read_layout(reader, rest);
    }
    if (strcmp(word, "zero") == 0) {
        return take_only_number(rest, UINT64_MAX, &recording->zero_ns) ||
               fail_at_line(reader, "expected: zero NUMBER");
    }
    if (strcmp(word, "missed") == 0) {
        return take_only_number(rest, UINT64_MAX, &recording->missed) ||
               fail_at_line(reader, "expected: missed NUMBER");
    }
    if (strcmp(word, "tag") == 0) {
        return read_tag(reader, rest);
    }
    if (strcmp(word, "lane") == 0) {
        return read_lane(reader, rest);
    }
    if (strcmp(word, "events") == 0) {
        reader->has_events = true;
        reader->is_open = strcmp(rest, "open") == 0;
        return reader->is_open || take_only_number(rest, UINT64_MAX, &reader->announced) ||
               fail_at_line(reader, "expected: events NUMBER|open");
    }
    return fail_at_line(reader, "not a line of a recording's header");
}

static bool read_header(struct reader *reader)
{
    size_t magic_size = strlen(RECORDING_MAGIC);
    if ((size_t)(reader->end - reader->at) < magic_size ||
        memcmp(reader->at, RECORDING_MAGIC, magic_size) != 0) {
        return problem_set_place(reader->problem,
                                 "%s: not a recording (it does not begin with "
                                 "\"lanepool-recording 1\")",
                                 reader->file);
    }
    reader->at += magic_size;
    reader->line = 1;
    while (!reader->has_events) {
        char *newline = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
        reader->line++;
        if (!newline) {
            return fail_at_line(reader, "the file ends within the header");
        }
        *newline = 0;
        char *rest = reader->at + strcspn(reader->at, " ");
        if (*rest) {
            *rest++ = 0;
        }
        if (!read_statement(reader, reader->at, rest)) {
            return false;
        }
        reader->at = newline + 1;
    }
    return reader->recording->worker_count > 0 ||
           fail_at_line(reader, "the header does not say how many workers there are");
}

static uint64_t read_integer(const char *bytes, unsigned size)
{
    uint64_t number = 0;
    for (unsigned i = size; i-- > 0;) {
        number = number << 8 | (unsigned char)bytes[i];
    }
    return number;
}

static lanepool_event read_record(const char *bytes)
{
    return (lanepool_event){ .time_ns = read_integer(bytes, 8),
                             .task = read_integer(bytes + 8, 8),
                             .object = read_integer(bytes + 16, 8),
                             .detail = (uint32_t)read_integer(bytes + 24, 4),
                             .thread = (uint16_t)read_integer(bytes + 28, 2),
                             .type = (uint8_t)bytes[30],
                             .object_type = (uint8_t)bytes[31] };
}

static bool fail_at_record(struct reader *reader, uint64_t record, const char *what)
{
    return problem_set_place(reader->problem, "%s: record %llu: %s", reader->file,
                             (unsigned long long)record, what);
}

static bool has_record(const struct reader *reader)
{
    return reader->end - reader->at >= RECORDING_RECORD_SIZE;
}

/* Reads one event; `record` is its number. */
static bool take_event(struct reader *reader, uint64_t record)
{
    lanepool_event event = read_record(reader->at);
    const char *wrong = recording_check(reader->recording, &event);
    if (wrong) {
        return fail_at_record(reader, record, wrong);
    }
    recording_add(reader->recording, &event, 1);
    reader->at += RECORDING_RECORD_SIZE;
    return true;
}

static bool read_announced_records(struct reader *reader)
{
    uint64_t record = 1;
    for (; record <= reader->announced; record++) {
        if (!has_record(reader)) {
            return fail_at_record(reader, record, "the file ends here, before its last record");
        }
        if (!take_event(reader, record)) {
            return false;
        }
    }
    return reader->at == reader->end ||
           fail_at_record(reader, record, "more than the header announces");
}

/* Reads the record that ends an open recording. */
static bool read_end_record(struct reader *reader, uint64_t record)
{
    lanepool_event end = read_record(reader->at);
    if (end.object != record - 1) {
        return fail_at_record(reader, record, "it ends the recording, and counts other events");
    }
    reader->recording->missed = end.task;
    return reader->end - reader->at == RECORDING_RECORD_SIZE ||
           fail_at_record(reader, record + 1, "more behind the end of the recording");
}

/* Reads records up to the one that ends the file. A file without it was cut: half a record at
 * its end is ignored. */
static bool read_open_records(struct reader *reader)
{
    uint64_t record = 1;
    for (; has_record(reader); record++) {
        if (read_record(reader->at).type == RECORDING_END) {
            return read_end_record(reader, record);
        }
        if (!take_event(reader, record)) {
            return false;
        }
    }
    reader->recording->ends_early = true;
    return true;
}

bool recording_read(struct recording *recording, const char *file, struct problem *problem)
{
    struct text bytes = { 0 };
    recording_init(recording, 0, LANEPOOL_PER_KEY, 0);
    bool done = file_read(file, &bytes, problem);
    if (done) {
        struct reader reader = { .recording = recording,
                                 .file = file,
                                 .at = bytes.data,
                                 .end = bytes.data + bytes.size,
                                 .problem = problem };
        done = read_header(&reader) &&
               (reader.is_open ? read_open_records(&reader) : read_announced_records(&reader));
    }
    text_fini(&bytes);
    return done;
}
