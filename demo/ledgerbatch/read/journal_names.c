/* Owns the names of accounts, which apply account and alias change. */
#include <stdlib.h>

#include "base/syntax.h"
#include "memory.h"
#include "read/journal_lex.h"

static bool set_problem(struct journal_parser *parser, const char *wrong, struct slice name)
{
    return journal_problem(parser, "%s: '%.*s'", wrong, SLICE_ARGUMENTS(name));
}

static struct slice trim(struct slice text)
{
    while (text.size > 0 && (*text.data == ' ' || *text.data == '\t')) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t')) {
        text.size--;
    }
    return text;
}

/* Checks and adds a name if it is new. */
static bool intern_account(struct journal_parser *parser, struct slice name, uint32_t *account)
{
    *account = names_find(&parser->book->account_names, name);
    if (*account != NAME_NONE) {
        return true;
    }
    const char *wrong = syntax_account_problem(name);
    if (wrong) {
        return set_problem(parser, wrong, name);
    }
    *account = book_account(parser->book, name, parser->source, parser->line);
    return true;
}

static struct slice first_component(struct slice name)
{
    const char *colon = name.size > 0 ? memchr(name.data, ':', name.size) : NULL;
    return colon ? slice_between(name.data, colon) : name;
}

/* Returns the alias that a name begins with, or NULL. */
static const struct journal_alias *find_alias(const struct journal_names *names, struct slice name)
{
    uint32_t number = names_find(&names->alias_names, first_component(name));
    return number == NAME_NONE ? NULL : &names->aliases[number];
}

/* Returns true if a name begins with an alias of a file before. Files of clients are books apart.
 */
static bool has_ended_alias(const struct journal_parser *parser, struct slice name)
{
    return parser->clients->by != CLIENT_BY_FILE &&
           names_find(&parser->book->ended_aliases, first_component(name)) != NAME_NONE;
}

/* Copies the name into the buffer, after what is applied, with the alias in its place. */
static bool expand_name(struct journal_parser *parser, struct slice name, struct buffer *text)
{
    const struct journal_alias *alias = find_alias(&parser->names, name);
    buffer_add(text, buffer_slice(&parser->names.client));
    buffer_add(text, buffer_slice(&parser->names.applied));
    bool is_over = alias ? alias->is_over : has_ended_alias(parser, name);
    if (is_over) {
        return set_problem(parser,
                           "for ledger, an alias goes on behind the file that has it, for hledger "
                           "it does not: write the account's name",
                           name);
    }
    if (!alias) {
        buffer_add(text, name);
        return true;
    }
    struct slice first = first_component(name);
    buffer_add(text, alias->account);
    buffer_add(text, (struct slice){ name.data + first.size, name.size - first.size });
    return true;
}

/* Copies a client's name so that it is one component of an account's name. */
static void copy_client(struct buffer *text, struct slice name)
{
    name = trim(name);
    text->size = 0;
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        bool is_blank = c == ' ' || c == '\t';
        if (is_blank && (name.data[i - 1] == ' ' || name.data[i - 1] == '\t')) {
            continue;
        }
        bool is_mark = c == ':' || c == '|' || (i == 0 && memchr("!*#%=~@([<{&", c, 12));
        buffer_add_byte(text, is_blank ? ' ' : is_mark ? '-' : c);
    }
}

const char *journal_set_client(struct journal_parser *parser, struct slice name)
{
    struct buffer *client = &parser->names.client;
    copy_client(client, name.size > 0 ? name : slice_of(JOURNAL_NO_CLIENT));
    const char *wrong = syntax_account_problem(buffer_slice(client));
    buffer_add_byte(client, ':');
    return wrong;
}

bool journal_take_client(struct journal_parser *parser, struct slice name)
{
    const char *wrong = journal_set_client(parser, name);
    return !wrong || journal_problem(parser, "'%.*s' cannot be the name of a client: %s",
                                     SLICE_ARGUMENTS(name), wrong);
}

bool journal_posting_account(struct journal_parser *parser, struct slice name, uint32_t *account)
{
    struct journal_names *names = &parser->names;
    if (names->client.size == 0 && names->applied.size == 0 && names->alias_names.count == 0 &&
        parser->book->ended_aliases.count == 0) {
        return intern_account(parser, name, account);
    }
    const char *wrong = syntax_account_problem(name);
    if (wrong) {
        return set_problem(parser, wrong, name);
    }
    names->text.size = 0;
    return expand_name(parser, name, &names->text) &&
           intern_account(parser, buffer_slice(&names->text), account);
}

bool journal_declared_account(struct journal_parser *parser, struct slice name, uint32_t *account)
{
    struct journal_names *names = &parser->names;
    const char *wrong = syntax_account_problem(name);
    if (wrong) {
        return set_problem(parser, wrong, name);
    }
    if (journal_client_of_each(parser)) {
        *account = NO_INDEX;
        return true;
    }
    names->text.size = 0;
    buffer_add(&names->text, buffer_slice(&names->client));
    buffer_add(&names->text, buffer_slice(&names->applied));
    buffer_add(&names->text, name);
    return intern_account(parser, buffer_slice(&names->text), account);
}

/*
 * hledger applies the older aliases to the result of an alias, ledger does not. The two programs
 * look for an alias with colons in different places.
 */
static const char *alias_problem(const struct journal_names *names, struct slice name,
                                 struct slice account)
{
    if (name.size > 0 && name.data[0] == '/') {
        return "hledger reads a pattern here, ledger a name: write an alias for each account";
    }
    const char *wrong = syntax_account_problem(name);
    wrong = wrong ? wrong : syntax_account_problem(account);
    if (wrong) {
        return wrong;
    }
    if (memchr(name.data, ':', name.size)) {
        return "the two programs differ if an alias contains ':': write a single word";
    }
    if (find_alias(names, account)) {
        return "an alias cannot stand for another one, which ledger does not read: write the "
               "account's full name";
    }
    return names->applied_count > 0
               ? "the two programs differ in aliases between 'apply account' and its end: write "
                 "the accounts' names"
               : NULL;
}

bool journal_read_alias(struct journal_parser *parser)
{
    struct journal_names *names = &parser->names;
    struct slice line = slice_between(parser->at, parser->end);
    const char *equals = line.size > 0 ? memchr(line.data, '=', line.size) : NULL;
    if (!equals) {
        return journal_problem(parser, "an alias is NAME = ACCOUNT: '%.*s'", SLICE_ARGUMENTS(line));
    }
    struct slice name = trim(slice_between(line.data, equals));
    struct slice account = trim(slice_between(equals + 1, parser->end));
    const char *wrong = alias_problem(names, name, account);
    if (wrong) {
        return set_problem(parser, wrong, line);
    }
    uint32_t number = names_intern(&names->alias_names, name);
    names->aliases = memory_grow(names->aliases, &names->alias_capacity, names->alias_names.count,
                                 sizeof *names->aliases);
    names->aliases[number] = (struct journal_alias){ .account = account };
    names->defined = memory_grow(names->defined, &names->defined_capacity, names->defined_count + 1,
                                 sizeof *names->defined);
    names->defined[names->defined_count++] = number;
    return true;
}

/* Returns true if a word is next; moves behind it and the blanks that follow it. */
static bool take_word(struct journal_parser *parser, const char *word)
{
    size_t size = strlen(word);
    const char *at = parser->at;
    if ((size_t)(parser->end - at) < size || memcmp(at, word, size) != 0 ||
        (at + size < parser->end && at[size] != ' ' && at[size] != '\t')) {
        return false;
    }
    parser->at += size;
    journal_skip_blanks(parser);
    return true;
}

bool journal_read_apply(struct journal_parser *parser)
{
    struct journal_names *names = &parser->names;
    if (!take_word(parser, "account")) {
        return journal_problem(parser, "hledger reads 'apply account' only, not 'apply %.*s'",
                               (int)(parser->end - parser->at), parser->at);
    }
    if (!journal_check_line_end(parser, "'apply account'")) {
        return false;
    }
    struct slice name = trim(slice_between(parser->at, parser->end));
    const char *wrong = syntax_account_problem(name);
    if (!wrong && names->alias_names.count > 0) {
        wrong = "the two programs differ in aliases between 'apply account' and its end: write the "
                "accounts' names";
    }
    if (!wrong && names->applied.size > ACCOUNT_SIZE_MAX) {
        wrong = "an account's name has at most 1000 bytes";
    }
    if (wrong) {
        return set_problem(parser, wrong, name);
    }
    names->sizes = memory_grow(names->sizes, &names->size_capacity, names->applied_count + 1,
                               sizeof *names->sizes);
    names->sizes[names->applied_count++] = names->applied.size;
    buffer_add(&names->applied, name);
    buffer_add_byte(&names->applied, ':');
    return true;
}

bool journal_read_end(struct journal_parser *parser)
{
    struct journal_names *names = &parser->names;
    bool ends_account = take_word(parser, "apply") && take_word(parser, "account");
    if (!ends_account || parser->at < parser->end) {
        return journal_problem(parser, "'end' is not in the portable subset, apart from 'end "
                                       "comment' after 'comment' and 'end apply account'");
    }
    if (names->applied_count <= parser->scope.applied_count) {
        return journal_problem(parser, "there is no 'apply account' in this file that is not "
                                       "ended");
    }
    names->applied.size = names->sizes[--names->applied_count];
    return true;
}

bool journal_names_end_file(struct journal_parser *parser, size_t defined_count)
{
    struct journal_names *names = &parser->names;
    for (size_t i = defined_count; i < names->defined_count; i++) {
        names->aliases[names->defined[i]].is_over = true;
    }
    if (names->applied_count == parser->scope.applied_count) {
        return true;
    }
    names->applied_count = parser->scope.applied_count;
    names->applied.size = names->sizes[names->applied_count];
    return journal_problem(parser, "'apply account' in an included file is ended there, too: write "
                                   "'end apply account'");
}

void journal_names_fini(struct journal_names *names, struct book *book)
{
    for (size_t i = 0; i < names->alias_names.count; i++) {
        names_intern(&book->ended_aliases, names->alias_names.items[i]);
    }
    names_fini(&names->alias_names);
    free(names->aliases);
    free(names->defined);
    free(names->sizes);
    buffer_fini(&names->client);
    buffer_fini(&names->applied);
    buffer_fini(&names->text);
}
