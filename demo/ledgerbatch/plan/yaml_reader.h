/*
 * Reads a YAML document with libyaml, strictly: every fault has its line, says what was seen, and
 * what to write instead. The reader continues after a fault, so that the user sees many at once.
 */
#ifndef LEDGERBATCH_PLAN_YAML_READER_H
#define LEDGERBATCH_PLAN_YAML_READER_H

#include <yaml.h>

#include "base/slice.h"
#include "book/faults.h"

struct yaml_reader {
    const char *name; /* of the file, for messages */
    yaml_document_t document;
    struct faults *faults;
    bool has_document;
    bool has_stopped; /* there are too many faults */
};

/* A key that a mapping may have. `read` gets the value, and the target of the mapping. */
struct yaml_key {
    const char *name;
    void (*read)(struct yaml_reader *reader, const yaml_node_t *value, void *target);
};

/* Parses a text. A text that is no YAML is a fault. yaml_reader_close() must be called. */
void yaml_reader_open(struct yaml_reader *reader, const char *name, struct slice text,
                      struct faults *faults);
void yaml_reader_close(struct yaml_reader *reader);

/* Returns the value of the whole document; NULL if there is none. */
const yaml_node_t *yaml_reader_root(struct yaml_reader *reader);

/* Adds a fault with the line of a node. */
void yaml_fault(struct yaml_reader *reader, const yaml_node_t *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the line of a node. */
static inline uint32_t yaml_line(const yaml_node_t *node)
{
    return (uint32_t)node->start_mark.line + 1;
}

/* Returns the text of a scalar. Another value is a fault, which says that `what` is wanted. */
bool yaml_text(struct yaml_reader *reader, const yaml_node_t *node, const char *what,
               struct slice *text);

/*
 * Reads a mapping. Unknown and double keys are faults, and so is a value that is no mapping.
 * `what` says what has the keys. A key without `read` is read by the caller.
 */
void yaml_read_mapping(struct yaml_reader *reader, const yaml_node_t *node, const char *what,
                       const struct yaml_key *keys, size_t key_count, void *target);

/* Returns the value of a key of a mapping; NULL if it has none. */
const yaml_node_t *yaml_find(struct yaml_reader *reader, const yaml_node_t *mapping,
                             const char *key);

/* Calls `read` with each item of a list. A value that is no list counts as a list of one. */
void yaml_read_list(struct yaml_reader *reader, const yaml_node_t *node,
                    void (*read)(struct yaml_reader *reader, const yaml_node_t *item, void *target),
                    void *target);

/* Adds the fault that a word is not one of some words, with the nearest one. */
void yaml_fault_word(struct yaml_reader *reader, const yaml_node_t *node, const char *what,
                     const char *const *words, size_t word_count);

#endif
