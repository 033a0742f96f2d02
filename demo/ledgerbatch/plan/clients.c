/* Owns the division of a book into clients, groups and cells. */
#include "plan/clients.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/nearest.h"
#include "memory.h"
#include "plan/opening.h"

struct finder {
    struct clients *clients;
    struct book *book;
    const struct rules *rules;
    const struct opening *opening; /* or NULL */
    struct problem *problem;
    uint32_t *client_of; /* by account; numbered in the order of discovery, later by name */
    struct account_properties *properties; /* by account */
    size_t account_count, capacity, property_capacity;
};

/* One cell of the book with its sort key. */
struct cell_key {
    struct slice account, symbol;
    uint32_t client, cell;
};

static bool classify_account(struct finder *finder, uint32_t account)
{
    struct book *book = finder->book;
    struct slice name = book_account_name(book, account);
    struct slice client;
    finder->client_of[account] = NO_INDEX;
    if (!account_classify(finder->rules, name, &finder->properties[account], finder->problem)) {
        return false;
    }
    if (finder->properties[account].flags & ACCOUNT_HOUSE || !book->accounts[account].has_cells) {
        return true;
    }
    if (!account_client(name, finder->rules->client_depth, &client)) {
        return book_problem(book, finder->problem, book->accounts[account].source,
                            book->accounts[account].line,
                            "the account '%.*s' has fewer components than --client-depth %u",
                            SLICE_ARGUMENTS(name), finder->rules->client_depth);
    }
    finder->client_of[account] = names_intern(&finder->clients->names, client);
    return true;
}

/* Classifies the accounts that were added since the last call. */
static bool classify_accounts(struct finder *finder)
{
    size_t count = finder->book->account_names.count;
    finder->client_of =
        memory_grow(finder->client_of, &finder->capacity, count, sizeof *finder->client_of);
    finder->properties = memory_grow(finder->properties, &finder->property_capacity, count,
                                     sizeof *finder->properties);
    for (; finder->account_count < count; finder->account_count++) {
        if (!classify_account(finder, (uint32_t)finder->account_count)) {
            return false;
        }
    }
    return true;
}

/* Adds the cell CLIENT:SUFFIX in a commodity, which a month-end rollup posts to. */
static bool add_month_end_cell(struct finder *finder, uint32_t client, const char *suffix,
                               uint32_t commodity)
{
    struct slice name = finder->clients->names.items[client];
    size_t suffix_size = strlen(suffix);
    char *text = memory_zeroed(name.size + suffix_size + 1, 1);
    memcpy(text, name.data, name.size);
    memcpy(text + name.size, suffix, suffix_size);
    struct slice account_name = { text, name.size + suffix_size };
    uint32_t account = book_account(finder->book, account_name, 0, 0);
    book_cell(finder->book, account, commodity);
    bool is_known = true;
    if (account < finder->account_count && finder->client_of[account] == NO_INDEX) {
        is_known = classify_account(finder, account); /* it was only declared */
    }
    free(text);
    if (!is_known || !classify_accounts(finder)) {
        return false;
    }
    if (finder->properties[account].flags & ACCOUNT_HOUSE) {
        account_name = book_account_name(finder->book, account);
        return problem_set(finder->problem, EXIT_CODE_INPUT,
                           "month-end rollups post to '%.*s', so it cannot be --commutative",
                           SLICE_ARGUMENTS(account_name));
    }
    if (finder->client_of[account] != client) {
        account_name = book_account_name(finder->book, account);
        return problem_set(finder->problem, EXIT_CODE_INPUT,
                           "month-end rollups need '%.*s', which belongs to another client",
                           SLICE_ARGUMENTS(account_name));
    }
    return true;
}

/* Returns true if a step is about an account. */
static bool is_about(const struct finder *finder, size_t step, uint32_t account)
{
    return finder->properties[account].steps >> step & 1;
}

/* Adds the cell of a step's house account in a commodity. */
static bool add_house_cell(struct finder *finder, const struct month_end_step *step,
                           uint32_t commodity)
{
    uint32_t account = book_account(finder->book, slice_of(step->house), 0, 0);
    book_cell(finder->book, account, commodity);
    if (!classify_accounts(finder)) {
        return false;
    }
    return (finder->properties[account].flags & ACCOUNT_HOUSE) ||
           problem_set_place(finder->problem,
                             "%s:%u: '%s' is no house account: name it in 'commutative', too",
                             finder->rules->file, step->line, step->house);
}

/* Adds the cells that a step needs for the cells from *next on, and moves *next past them. */
static bool add_step_cells(struct finder *finder, size_t number, size_t *next)
{
    const struct month_end_step *step = &finder->rules->steps.items[number];
    bool added = true;
    for (; added && month_end_step_posts(step) && *next < finder->book->cell_count; ++*next) {
        struct cell cell = finder->book->cells[*next];
        if (is_about(finder, number, cell.account)) {
            added = step->house ? add_house_cell(finder, step, cell.commodity)
                                : add_month_end_cell(finder, finder->client_of[cell.account],
                                                     month_end_step_suffix(step), cell.commodity);
        }
    }
    return added;
}

/* Adds the cells that month-ends need. A step can be about the cells of a later one. */
static bool add_month_end_cells(struct finder *finder)
{
    size_t next[MONTH_END_STEPS_MAX] = { 0 };
    bool added = true;
    size_t before;
    do {
        before = finder->book->cell_count;
        for (size_t i = 0; added && i < finder->rules->steps.count; i++) {
            added = add_step_cells(finder, i, &next[i]);
        }
    } while (added && finder->book->cell_count > before);
    return added;
}

static int compare_clients(const void *left, const void *right)
{
    return slice_compare(((const struct client *)left)->name, ((const struct client *)right)->name);
}

/* Numbers the clients by name; client_of gets the new numbers. */
static void number_clients(struct finder *finder)
{
    struct clients *clients = finder->clients;
    clients->count = clients->names.count;
    clients->items = memory_zeroed(clients->count, sizeof *clients->items);
    uint32_t *number = memory_zeroed(clients->count, sizeof *number);
    for (size_t i = 0; i < clients->count; i++) {
        clients->items[i] = (struct client){ .name = clients->names.items[i], .group = NO_INDEX };
    }
    qsort(clients->items, clients->count, sizeof *clients->items, compare_clients);
    for (size_t i = 0; i < clients->count; i++) {
        number[names_find(&clients->names, clients->items[i].name)] = (uint32_t)i;
    }
    for (size_t i = 0; i < finder->account_count; i++) {
        if (finder->client_of[i] != NO_INDEX) {
            finder->client_of[i] = number[finder->client_of[i]];
        }
    }
    free(number);
}

static int compare_cells(const void *left, const void *right)
{
    const struct cell_key *a = left;
    const struct cell_key *b = right;
    if (a->client != b->client) {
        return a->client < b->client ? -1 : 1;
    }
    int order = slice_compare(a->account, b->account);
    return order ? order : slice_compare(a->symbol, b->symbol);
}

/* Returns the account CLIENT:SUFFIX, or NAME_NONE. */
static uint32_t find_account(const struct finder *finder, const struct client *client,
                             const char *suffix)
{
    struct buffer text = { 0 };
    buffer_add(&text, client->name);
    buffer_add_text(&text, suffix);
    uint32_t account = names_find(&finder->book->account_names, buffer_slice(&text));
    buffer_fini(&text);
    return account;
}

/*
 * Returns the number of the cell of `account` in the commodity of the source; NO_INDEX if it does
 * not exist, is the source itself, or belongs to another client.
 */
static uint32_t find_target(const struct finder *finder, const uint32_t *new_numbers,
                            uint32_t account, uint32_t source)
{
    const struct client_cell *cells = finder->clients->cells;
    uint32_t found = cell_index_find(&finder->book->cell_index, account, cells[source].commodity);
    if (found == CELL_NONE || new_numbers[found] == source) {
        return NO_INDEX;
    }
    uint32_t client = cells[new_numbers[found]].client;
    return client == NO_INDEX || client == cells[source].client ? new_numbers[found] : NO_INDEX;
}

/* Finds the targets of one step among the cells of a client. */
static void link_client(const struct finder *finder, const uint32_t *new_numbers,
                        const struct client *client, size_t number)
{
    const struct month_end_step *step = &finder->rules->steps.items[number];
    uint32_t account = step->house ? names_find(&finder->book->account_names, slice_of(step->house))
                                   : find_account(finder, client, month_end_step_suffix(step));
    for (uint32_t i = client->first_cell; i < client->first_cell + client->cell_count; i++) {
        if (is_about(finder, number, finder->clients->cells[i].account)) {
            finder->clients->steps[number].targets[i] =
                find_target(finder, new_numbers, account, i);
        }
    }
}

static void link_steps(const struct finder *finder, const uint32_t *new_numbers)
{
    struct clients *clients = finder->clients;
    clients->step_count = finder->rules->steps.count;
    clients->steps = memory_zeroed(clients->step_count + 1, sizeof *clients->steps);
    for (size_t step = 0; step < clients->step_count; step++) {
        if (!month_end_step_posts(&finder->rules->steps.items[step])) {
            continue;
        }
        uint32_t *targets = memory_zeroed(clients->cell_count + 1, sizeof *targets);
        memset(targets, 0xff, clients->cell_count * sizeof *targets); /* NO_INDEX */
        clients->steps[step].targets = targets;
        for (size_t i = 0; i < clients->count; i++) {
            link_client(finder, new_numbers, &clients->items[i], step);
        }
    }
}

static void fill_cells(struct finder *finder, const struct cell_key *keys, uint32_t *new_numbers)
{
    struct clients *clients = finder->clients;
    for (size_t i = 0; i < clients->cell_count; i++) {
        const struct cell *cell = &finder->book->cells[keys[i].cell];
        new_numbers[keys[i].cell] = (uint32_t)i;
        clients->cells[i] =
            (struct client_cell){ .account = cell->account,
                                  .commodity = cell->commodity,
                                  .client = keys[i].client,
                                  .flags = finder->properties[cell->account].flags };
        if (keys[i].client != NO_INDEX) {
            struct client *client = &clients->items[keys[i].client];
            client->first_cell = client->cell_count == 0 ? (uint32_t)i : client->first_cell;
            client->cell_count++;
        }
    }
}

/* Renumbers the cells of postings. Settling can leave postings that belong to no transaction. */
static void renumber_postings(struct book *book, const uint32_t *new_numbers)
{
    for (size_t i = 0; i < book->transaction_count; i++) {
        struct posting *postings = &book->postings[book->transactions[i].first_posting];
        for (uint32_t j = 0; j < book->transactions[i].posting_count; j++) {
            postings[j].cell = new_numbers[postings[j].cell];
        }
    }
}

static void number_cells(struct finder *finder)
{
    struct book *book = finder->book;
    struct clients *clients = finder->clients;
    clients->cell_count = book->cell_count;
    clients->cells = memory_zeroed(book->cell_count, sizeof *clients->cells);
    struct cell_key *keys = memory_zeroed(book->cell_count, sizeof *keys);
    uint32_t *new_numbers = memory_zeroed(book->cell_count, sizeof *new_numbers);
    for (size_t i = 0; i < book->cell_count; i++) {
        const struct cell *cell = &book->cells[i];
        keys[i] = (struct cell_key){ book_account_name(book, cell->account),
                                     book_symbol(book, cell->commodity),
                                     finder->client_of[cell->account], (uint32_t)i };
    }
    qsort(keys, book->cell_count, sizeof *keys, compare_cells);
    fill_cells(finder, keys, new_numbers);
    link_steps(finder, new_numbers);
    renumber_postings(book, new_numbers);
    free(keys);
    free(new_numbers);
}

static bool apply_group_tag(struct finder *finder, struct names *groups,
                            const struct group_tag *tag)
{
    uint32_t number = finder->client_of[tag->account];
    if (finder->properties[tag->account].flags & ACCOUNT_HOUSE) {
        return book_problem(finder->book, finder->problem, tag->source, tag->line,
                            "a commutative account has no group");
    }
    if (number == NO_INDEX) {
        struct slice name;
        if (!account_client(book_account_name(finder->book, tag->account),
                            finder->rules->client_depth, &name)) {
            return true;
        }
        struct client key = { .name = name };
        const struct client *found = bsearch(&key, finder->clients->items, finder->clients->count,
                                             sizeof key, compare_clients);
        if (!found) {
            return true;
        }
        number = (uint32_t)(found - finder->clients->items);
    }
    struct client *client = &finder->clients->items[number];
    uint32_t group = names_intern(groups, tag->group);
    if (client->group != NO_INDEX && client->group != group) {
        return book_problem(finder->book, finder->problem, tag->source, tag->line,
                            "the client '%.*s' is already in the group '%.*s'",
                            SLICE_ARGUMENTS(client->name),
                            SLICE_ARGUMENTS(groups->items[client->group]));
    }
    client->group = group;
    return true;
}

static int compare_groups(const void *left, const void *right)
{
    return slice_compare(((const struct group *)left)->name, ((const struct group *)right)->name);
}

/* Sorts the groups by name and lists each one's members. */
static void list_members(struct finder *finder, const struct names *groups)
{
    struct clients *clients = finder->clients;
    uint32_t *number = memory_zeroed(groups->count, sizeof *number);
    clients->group_count = groups->count;
    clients->groups = memory_zeroed(groups->count, sizeof *clients->groups);
    clients->members = memory_zeroed(clients->count, sizeof *clients->members);
    for (size_t i = 0; i < groups->count; i++) {
        clients->groups[i].name = groups->items[i];
    }
    qsort(clients->groups, groups->count, sizeof *clients->groups, compare_groups);
    for (size_t i = 0; i < groups->count; i++) {
        number[names_find(groups, clients->groups[i].name)] = (uint32_t)i;
    }
    for (size_t i = 0; i < clients->count; i++) {
        clients->items[i].group = number[clients->items[i].group];
        clients->groups[clients->items[i].group].member_count++;
    }
    uint32_t first = 0;
    for (size_t i = 0; i < groups->count; i++) {
        clients->groups[i].first_member = first;
        first += clients->groups[i].member_count;
        clients->groups[i].member_count = 0;
    }
    for (size_t i = 0; i < clients->count; i++) {
        struct group *group = &clients->groups[clients->items[i].group];
        clients->members[group->first_member + group->member_count++] = (uint32_t)i;
    }
    free(number);
}

/*
 * Checks that every group that is named has a client. A client without transactions is normal, but
 * a group of such clients only has a typing error in its accounts.
 */
static bool check_groups(struct finder *finder, const struct names *groups)
{
    char hint[NEAREST_HINT_SIZE];
    for (size_t i = 0; i < finder->book->group_tag_count; i++) {
        const struct group_tag *tag = &finder->book->group_tags[i];
        if (names_find(groups, tag->group) != NAME_NONE) {
            continue;
        }
        struct slice name = book_account_name(finder->book, tag->account);
        account_client(name, finder->rules->client_depth, &name);
        struct nearest nearest = nearest_to(name);
        for (size_t j = 0; j < finder->clients->count; j++) {
            nearest_try(&nearest, finder->clients->items[j].name);
        }
        return book_problem(finder->book, finder->problem, tag->source, tag->line,
                            "the group '%.*s' has no client: there are no transactions of '%.*s'%s",
                            SLICE_ARGUMENTS(tag->group), SLICE_ARGUMENTS(name),
                            nearest_hint(&nearest, hint));
    }
    return true;
}

/* Puts clients of earlier days into their groups. */
static void keep_groups(const struct finder *finder, struct names *groups)
{
    for (size_t i = 0; finder->opening && i < finder->clients->count; i++) {
        struct client *client = &finder->clients->items[i];
        struct slice group = opening_group(finder->opening, client->name);
        if (group.size > 0) {
            client->group = names_intern(groups, group);
        }
    }
}

static bool find_groups(struct finder *finder)
{
    struct clients *clients = finder->clients;
    struct names groups = { 0 };
    keep_groups(finder, &groups);
    for (size_t i = 0; i < finder->book->group_tag_count; i++) {
        if (!apply_group_tag(finder, &groups, &finder->book->group_tags[i])) {
            names_fini(&groups);
            return false;
        }
    }
    if (!check_groups(finder, &groups)) {
        names_fini(&groups);
        return false;
    }
    for (size_t i = 0; i < clients->count; i++) {
        if (clients->items[i].group == NO_INDEX) {
            clients->items[i].group = names_intern(&groups, slice_of("all"));
        }
    }
    list_members(finder, &groups);
    /* Copies the names of the groups into the table of client names, which stays. */
    for (size_t i = 0; i < clients->group_count; i++) {
        uint32_t name = names_intern(&clients->names, clients->groups[i].name);
        clients->groups[i].name = clients->names.items[name];
    }
    names_fini(&groups);
    return true;
}

static void number_group_cells(struct clients *clients)
{
    for (size_t i = 0; i < clients->group_count; i++) {
        const struct group *group = &clients->groups[i];
        uint32_t next = 0;
        for (uint32_t j = 0; j < group->member_count; j++) {
            struct client *client = &clients->items[clients->members[group->first_member + j]];
            client->group_cell = next;
            next += client->cell_count;
        }
    }
}

bool clients_find(struct clients *clients, struct book *book, const struct rules *rules,
                  const struct opening *opening, struct problem *problem)
{
    struct finder finder = {
        .clients = clients, .book = book, .rules = rules, .opening = opening, .problem = problem
    };
    *clients = (struct clients){ 0 };
    bool found = classify_accounts(&finder) && add_month_end_cells(&finder);
    if (found) {
        number_clients(&finder);
        found = find_groups(&finder);
    }
    if (found) {
        number_cells(&finder);
        number_group_cells(clients);
    }
    free(finder.client_of);
    free(finder.properties);
    return found;
}

void clients_fini(struct clients *clients)
{
    names_fini(&clients->names);
    free(clients->items);
    free(clients->groups);
    free(clients->members);
    free(clients->cells);
    for (size_t i = 0; i < clients->step_count; i++) {
        free(clients->steps[i].targets);
    }
    free(clients->steps);
    *clients = (struct clients){ 0 };
}
