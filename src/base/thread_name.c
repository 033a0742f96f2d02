/* Owns the names of a pool's threads; see thread_name.h. */
#include "base/thread_name.h"

#include <string.h>

#define LENGTH_MAX (LANEPOOL_I_THREAD_NAME_SIZE - 1)

static size_t length_of(const char *name)
{
    const char *end = memchr(name, '\0', LENGTH_MAX);
    return end != NULL ? (size_t)(end - name) : LENGTH_MAX;
}

void lanepool_i_thread_name_copy(char copy[LANEPOOL_I_THREAD_NAME_SIZE], const char *name)
{
    size_t length = name != NULL ? length_of(name) : 0;
    if (length > 0)
        memcpy(copy, name, length);
    copy[length] = '\0';
}

static bool continues_a_character(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

static void name_thread(const char *pool_name, const char *role)
{
    char name[LANEPOOL_I_THREAD_NAME_SIZE];
    size_t length = length_of(pool_name);
    size_t role_length = strlen(role);
    size_t room = LENGTH_MAX - role_length;
    if (length == 0)
        return;
    if (length > room) {
        length = room;
        while (length > 0 && continues_a_character(pool_name[length]))
            length--;
    }
    memcpy(name, pool_name, length);
    memcpy(name + length, role, role_length + 1);
    lanepool_i_thread_set_name(name);
}

void lanepool_i_thread_name_worker(const char *pool_name, unsigned index)
{
    char role[LANEPOOL_I_THREAD_NAME_SIZE];
    size_t at = sizeof role;
    role[--at] = '\0';
    do {
        role[--at] = (char)('0' + index % 10);
        index /= 10;
    } while (index > 0);
    role[--at] = '/';
    name_thread(pool_name, role + at);
}

void lanepool_i_thread_name_clock(const char *pool_name)
{
    name_thread(pool_name, "/clock");
}

void lanepool_i_thread_name_keeper(const char *pool_name)
{
    name_thread(pool_name, "/keeper");
}

void lanepool_i_thread_name_journal(const char *pool_name)
{
    name_thread(pool_name, "/journal");
}
