/* Recordings as `record` makes them: what is written is read again, byte for byte as described. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "record/recording.h"
#include "support/test.h"

static char *temporary_file(void)
{
    static char name[64];
    strcpy(name, "laneview_recording_XXXXXX");
    int file = mkstemp(name);
    expect(file >= 0);
    close(file);
    return name;
}

static const lanepool_event events[] = {
    { .time_ns = 1000,
      .object = 77,
      .thread = LANEPOOL_EVENT_OUTSIDE,
      .type = LANEPOOL_EVENT_SUBMIT },
    { .time_ns = 0x1122334455,
      .task = 0x66778899,
      .object = 0x0102030405060708,
      .detail = LANEPOOL_EVENT_SHARED,
      .thread = 1,
      .type = LANEPOOL_EVENT_ENTER,
      .object_type = LANEPOOL_EVENT_LANE_ID },
};

static void make(struct recording *recording)
{
    recording_init(recording, 2, LANEPOOL_PER_WORKER, 1000);
    recording->missed = 3;
    recording_name_tag(recording, 1, "post \"it\"\n");
    recording_name_lane(recording, LANEPOOL_EVENT_LANE_ID, 0x0102030405060708, "A \xff client");
    recording_add(recording, events, 1);
    recording_add(recording, events + 1, 1);
}

Test(recordings, what_is_written_is_read_again)
{
    struct recording made, found;
    struct problem problem;
    char *file = temporary_file();
    make(&made);
    expect(recording_write(&made, file, &problem));
    expect(recording_read(&found, file, &problem));
    expect_eq(found.worker_count, 2);
    expect_eq(found.layout, LANEPOOL_PER_WORKER);
    expect_eq(found.zero_ns, 1000);
    expect_eq(found.missed, 3);
    expect(strcmp(found.tags[1], "post \"it\"\\x0a") == 0);
    expect(!found.tags[0] && !found.tags[2]);
    expect_eq(found.lane_count, 1);
    expect(strcmp(found.lanes[0].name, "A \\xff client") == 0);
    expect_eq(found.lanes[0].object, 0x0102030405060708);
    expect_eq(found.event_count, 2);
    for (size_t i = 0; i < 2; i++) {
        expect_eq(found.events[i].time_ns, events[i].time_ns);
        expect_eq(found.events[i].task, events[i].task);
        expect_eq(found.events[i].object, events[i].object);
        expect_eq(found.events[i].detail, events[i].detail);
        expect_eq(found.events[i].thread, events[i].thread);
        expect_eq(found.events[i].type, events[i].type);
        expect_eq(found.events[i].object_type, events[i].object_type);
    }
    recording_fini(&made);
    recording_fini(&found);
    remove(file);
}

Test(recordings, bytes_are_as_described_on_every_machine)
{
    static const unsigned char record[32] = { 0x55, 0x44, 0x33, 0x22, 0x11, 0, 0, 0,
                                              0x99, 0x88, 0x77, 0x66, 0,    0, 0, 0,
                                              8,    7,    6,    5,    4,    3, 2, 1,
                                              1,    0,    0,    0,    1,    0, 3, 1 };
    struct recording made;
    struct problem problem;
    struct text bytes = { 0 };
    char *file = temporary_file();
    make(&made);
    expect(recording_write(&made, file, &problem));
    expect(file_read(file, &bytes, &problem));
    expect(bytes.size > 64);
    expect(memcmp(bytes.data, "lanepool-recording 1\nworkers 2\nlayout worker\nzero 1000\n", 55) ==
           0);
    expect(memcmp(bytes.data + bytes.size - 32, record, 32) == 0);
    text_fini(&bytes);
    recording_fini(&made);
    remove(file);
}

/* The file that `made` makes when it is written while the events come. */
static void stream(const struct recording *made, const char *file)
{
    struct recording_stream stream;
    struct problem problem;
    expect(recording_stream_open(&stream, file, &problem));
    expect(recording_stream_begin(&stream, made, &problem));
    for (size_t i = 0; i < made->event_count; i++) {
        expect(recording_stream_add(&stream, &made->events[i], 1, &problem));
    }
    expect(recording_stream_end(&stream, 5, &problem));
    recording_stream_fini(&stream);
}

Test(recordings, what_is_written_while_events_come_is_read_again)
{
    struct recording made, found;
    struct problem problem;
    char *file = temporary_file();
    make(&made);
    for (int i = 0; i < 2; i++) { /* the second time over a recording */
        stream(&made, file);
        expect(recording_read(&found, file, &problem));
        expect_eq(found.worker_count, 2);
        expect_eq(found.missed, 5);
        expect_eq(found.event_count, 2);
        expect_eq(found.events[1].time_ns, events[1].time_ns);
        expect(strcmp(recording_lane_name(&found, LANEPOOL_EVENT_LANE_ID, 0x0102030405060708),
                      "A \\xff client") == 0);
        expect(!recording_lane_name(&found, LANEPOOL_EVENT_LANE_ID, 1));
        expect(!found.ends_early);
        recording_fini(&found);
    }
    recording_fini(&made);
    remove(file);
}

Test(recordings, other_files_are_not_overwritten)
{
    struct recording_stream stream;
    struct problem problem;
    struct text bytes = { 0 };
    char *file = temporary_file();
    expect(file_write(file, "2024-01-02 A journal\n", 21, &problem));
    expect(!recording_stream_open(&stream, file, &problem));
    expect_eq(problem.code, EXIT_CODE_IO);
    recording_stream_fini(&stream);
    expect(file_read(file, &bytes, &problem));
    expect_eq(bytes.size, 21);
    text_fini(&bytes);
    remove(file);
}

Test(recordings, file_that_was_not_begun_is_not_left_behind)
{
    struct recording_stream stream;
    struct problem problem;
    char *file = temporary_file();
    expect(recording_stream_open(&stream, file, &problem));
    recording_stream_fini(&stream);
    expect(access(file, F_OK) == 0); /* it was there before */
    remove(file);
    expect(recording_stream_open(&stream, file, &problem));
    expect(access(file, F_OK) == 0);
    recording_stream_fini(&stream);
    expect(access(file, F_OK) != 0);
}

Test(recordings, file_that_cannot_be_written_is_reported)
{
    struct recording made;
    struct problem problem;
    make(&made);
    expect(!recording_write(&made, "no/such/folder/x", &problem));
    expect_eq(problem.code, EXIT_CODE_IO);
    recording_fini(&made);
}
