/* Owns the reading of YAML values; see plan/yaml_reader.h. */
#include "plan/yaml_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/nearest.h"

static struct slice scalar_of(const yaml_node_t *node)
{
    return (struct slice){ (const char *)node->data.scalar.value, node->data.scalar.length };
}

static void add_fault(struct yaml_reader *reader, const struct problem *problem)
{
    reader->has_stopped = !faults_take(reader->faults, problem);
}

/* A parser fails before it has a document, so the place comes from the parser. */
static void fault_of_parser(struct yaml_reader *reader, const yaml_parser_t *parser)
{
    struct problem problem;
    (void)problem_set_place(&problem, "%s:%zu: this is no YAML: %s", reader->name,
                            parser->problem_mark.line + 1,
                            parser->problem ? parser->problem : "the text ends too early");
    add_fault(reader, &problem);
}

void yaml_reader_open(struct yaml_reader *reader, const char *name, struct slice text,
                      struct faults *faults)
{
    yaml_parser_t parser;
    *reader = (struct yaml_reader){ .name = name, .faults = faults };
    if (!yaml_parser_initialize(&parser)) {
        fault_of_parser(reader, &parser);
        return;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.data, text.size);
    reader->has_document = yaml_parser_load(&parser, &reader->document);
    if (!reader->has_document) {
        fault_of_parser(reader, &parser);
    } else if (yaml_reader_root(reader)) {
        yaml_document_t next;
        if (!yaml_parser_load(&parser, &next)) {
            fault_of_parser(reader, &parser);
        } else {
            const yaml_node_t *second = yaml_document_get_root_node(&next);
            if (second) {
                yaml_fault(reader, second, "a second document begins; write one document only");
            }
            yaml_document_delete(&next);
        }
    }
    yaml_parser_delete(&parser);
}

void yaml_reader_close(struct yaml_reader *reader)
{
    if (reader->has_document) {
        yaml_document_delete(&reader->document);
    }
}

const yaml_node_t *yaml_reader_root(struct yaml_reader *reader)
{
    return reader->has_document ? yaml_document_get_root_node(&reader->document) : NULL;
}

void yaml_fault(struct yaml_reader *reader, const yaml_node_t *node, const char *format, ...)
{
    struct problem problem;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)problem_set_place(&problem, "%s:%u: %s", reader->name, yaml_line(node), text);
    if (!reader->has_stopped) {
        add_fault(reader, &problem);
    }
}

static const char *type_of(const yaml_node_t *node)
{
    return node->type == YAML_SEQUENCE_NODE  ? "a list"
           : node->type == YAML_MAPPING_NODE ? "keys with values"
                                             : "a single value";
}

bool yaml_text(struct yaml_reader *reader, const yaml_node_t *node, const char *what,
               struct slice *text)
{
    if (node->type != YAML_SCALAR_NODE) {
        yaml_fault(reader, node, "write %s here, not %s", what, type_of(node));
        return false;
    }
    *text = scalar_of(node);
    if (text->size == 0) {
        yaml_fault(reader, node, "nothing is written here; write %s", what);
        return false;
    }
    for (size_t i = 0; i < text->size; i++) {
        if ((unsigned char)text->data[i] < ' ' || text->data[i] == 0x7f) {
            yaml_fault(reader, node, "a control character is in '%.*s'", SLICE_ARGUMENTS(*text));
            return false;
        }
    }
    return true;
}

static void add_words(struct buffer *list, const char *word, bool is_first, bool is_last)
{
    buffer_add_text(list, is_first ? "" : is_last ? " or " : ", ");
    buffer_add_text(list, word);
}

void yaml_fault_word(struct yaml_reader *reader, const yaml_node_t *node, const char *what,
                     const char *const *words, size_t word_count)
{
    char hint[NEAREST_HINT_SIZE];
    struct buffer list = { 0 };
    struct slice seen = scalar_of(node);
    struct nearest nearest = nearest_to(seen);
    for (size_t i = 0; i < word_count; i++) {
        add_words(&list, words[i], i == 0, i + 1 == word_count);
        nearest_try(&nearest, slice_of(words[i]));
    }
    buffer_add_byte(&list, 0);
    yaml_fault(reader, node, "'%.*s' is not %s; write %s%s", SLICE_ARGUMENTS(seen), what, list.data,
               nearest_hint(&nearest, hint));
    buffer_fini(&list);
}

#define KEYS_MAX 16

/* Adds the fault that a key is not known. */
static void fault_of_key(struct yaml_reader *reader, const yaml_node_t *key, const char *what,
                         const struct yaml_key *keys, size_t key_count)
{
    const char *words[KEYS_MAX];
    char wanted[100];
    snprintf(wanted, sizeof wanted, "a key of %s", what);
    for (size_t i = 0; i < key_count; i++) {
        words[i] = keys[i].name;
    }
    yaml_fault_word(reader, key, wanted, words, key_count);
}

void yaml_read_mapping(struct yaml_reader *reader, const yaml_node_t *node, const char *what,
                       const struct yaml_key *keys, size_t key_count, void *target)
{
    uint32_t lines[KEYS_MAX] = { 0 };
    if (node->type != YAML_MAPPING_NODE) {
        yaml_fault(reader, node, "write the keys of %s here, not %s", what, type_of(node));
        return;
    }
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
         pair < node->data.mapping.pairs.top && !reader->has_stopped; pair++) {
        const yaml_node_t *key = yaml_document_get_node(&reader->document, pair->key);
        const yaml_node_t *value = yaml_document_get_node(&reader->document, pair->value);
        struct slice name;
        if (!yaml_text(reader, key, "a key", &name)) {
            continue;
        }
        size_t i = 0;
        while (i < key_count && !slice_equal(name, slice_of(keys[i].name))) {
            i++;
        }
        if (i == key_count) {
            fault_of_key(reader, key, what, keys, key_count);
        } else if (lines[i] != 0) {
            yaml_fault(reader, key, "'%s' is given twice, first in line %u; write it once",
                       keys[i].name, lines[i]);
        } else {
            lines[i] = yaml_line(key);
            if (keys[i].read) {
                keys[i].read(reader, value, target);
            }
        }
    }
}

const yaml_node_t *yaml_find(struct yaml_reader *reader, const yaml_node_t *mapping,
                             const char *key)
{
    for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
         pair < mapping->data.mapping.pairs.top; pair++) {
        const yaml_node_t *found = yaml_document_get_node(&reader->document, pair->key);
        if (found->type == YAML_SCALAR_NODE && slice_equal(scalar_of(found), slice_of(key))) {
            return yaml_document_get_node(&reader->document, pair->value);
        }
    }
    return NULL;
}

void yaml_read_list(struct yaml_reader *reader, const yaml_node_t *node,
                    void (*read)(struct yaml_reader *reader, const yaml_node_t *item, void *target),
                    void *target)
{
    if (node->type != YAML_SEQUENCE_NODE) {
        read(reader, node, target);
        return;
    }
    if (node->data.sequence.items.start == node->data.sequence.items.top) {
        yaml_fault(reader, node, "the list is empty; leave the key out, or write an item");
    }
    for (const yaml_node_item_t *item = node->data.sequence.items.start;
         item < node->data.sequence.items.top && !reader->has_stopped; item++) {
        read(reader, yaml_document_get_node(&reader->document, *item), target);
    }
}
