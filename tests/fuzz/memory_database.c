/* Owns the file of a database in memory. */
#include "memory_database.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

static void must(int code, const char *what)
{
    if (code != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", what, sqlite3_errstr(code));
        abort();
    }
}

static sqlite3_vfs *find_file_system(void)
{
    static sqlite3_vfs *found;
    if (!found) {
        must(sqlite3_initialize(), "SQLite");
        found = sqlite3_vfs_find("memdb");
        must(found ? sqlite3_vfs_register(found, 1) : SQLITE_NOTFOUND, "memdb");
    }
    return found;
}

struct sqlite3_file *memory_database_open(struct slice bytes)
{
    sqlite3_vfs *file_system = find_file_system();
    sqlite3_file *file = memory_zeroed(1, (size_t)file_system->szOsFile);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_DB;
    must(file_system->xOpen(file_system, MEMORY_DATABASE_NAME, file, flags, &flags), "open");
    if (bytes.size > 0) {
        must(file->pMethods->xWrite(file, bytes.data, (int)bytes.size, 0), "write");
    }
    return file;
}

void memory_database_read(struct sqlite3_file *database, struct buffer *bytes)
{
    sqlite3_int64 size = 0;
    must(database->pMethods->xFileSize(database, &size), "size");
    bytes->size = 0;
    must(database->pMethods->xRead(database, buffer_room(bytes, (size_t)size), (int)size, 0),
         "read");
    bytes->size = (size_t)size;
}

void memory_database_close(struct sqlite3_file *database)
{
    must(database->pMethods->xClose(database), "close");
    free(database);
}

void memory_database_execute(const char *text)
{
    sqlite3 *connection = NULL;
    must(sqlite3_open(MEMORY_DATABASE_NAME, &connection), "open");
    must(sqlite3_exec(connection, text, NULL, NULL, NULL), text);
    must(sqlite3_close(connection), "close");
}
