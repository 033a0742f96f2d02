/* Owns the current input, and the reading of files from it. */
#include "input_files.h"

#include "book/sources.h"
#include "memory.h"
#include "steps.h"

/* More files than this are refused, as if the disk failed: they would only take time. */
#define READ_MAX 40

static struct slice input;
static size_t read_count;

void input_files_set(struct slice text)
{
    input = text;
    read_count = 0;
}

static struct slice take_line(struct slice *rest)
{
    const char *newline = rest->size ? memchr(rest->data, '\n', rest->size) : NULL;
    struct slice line = { rest->data, newline ? (size_t)(newline - rest->data) : rest->size };
    size_t taken = line.size + (newline != NULL);
    rest->data += taken;
    rest->size -= taken;
    return line;
}

static bool is_heading(struct slice line, struct slice *name)
{
    static const char before[] = "==> ";
    static const char after[] = " <==";
    const size_t marks = sizeof before - 1 + sizeof after - 1;
    if (line.size < marks || memcmp(line.data, before, sizeof before - 1) != 0 ||
        memcmp(line.data + line.size - (sizeof after - 1), after, sizeof after - 1) != 0) {
        return false;
    }
    *name = (struct slice){ line.data + sizeof before - 1, line.size - marks };
    return true;
}

/* The content of a file and its number; false if there is none of that name. */
static bool find_file(struct slice wanted, struct slice *content, ino_t *number)
{
    struct slice rest = input;
    struct slice name = slice_of(INPUT_FILE_NAME);
    *number = 0;
    *content = (struct slice){ input.data, 0 };
    while (rest.size > 0) {
        struct slice heading;
        if (is_heading(take_line(&rest), &heading)) {
            if (slice_equal(name, wanted)) {
                return true;
            }
            name = heading;
            ++*number;
            *content = (struct slice){ rest.data, 0 };
        } else {
            content->size = (size_t)(rest.data - content->data);
        }
    }
    return slice_equal(name, wanted);
}

struct source *sources_read(struct sources *sources, const char *name, enum source_namer namer,
                            struct problem *problem)
{
    (void)namer;
    struct source *source = sources_add(sources, name);
    struct slice content;
    steps_allow(input.size * STEPS_A_BYTE);
    if (++read_count > READ_MAX || !find_file(slice_of(name), &content, &source->inode)) {
        problem_set(problem, EXIT_CODE_IO, "%s: there is no such file", name);
        return NULL;
    }
    steps_allow(content.size * STEPS_A_BYTE);
    source->size = content.size;
    source->data = memory_zeroed(content.size, 1);
    if (content.size > 0) {
        memcpy(source->data, content.data, content.size);
    }
    return sources_accept(source, problem) ? source : NULL;
}
