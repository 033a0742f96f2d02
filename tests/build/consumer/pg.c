/* Opens a batch on a server that does not exist. */
#include <lanepool/adapters/pg.h>

int main(void)
{
    lanepool_pg_store *store;
    lanepool_status status = lanepool_pg_open("host=/nowhere", "batch", NULL, &store);

    return status != LANEPOOL_UNAVAILABLE || lanepool_pg_functions()->step == NULL;
}
