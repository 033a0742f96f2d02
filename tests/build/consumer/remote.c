/* Links remote batches: without a store there is nothing to open. */
#include <lanepool/remote.h>

int main(void)
{
    lanepool_remote *remote;

    return lanepool_remote_open(NULL, NULL, NULL, &remote) != LANEPOOL_INVALID || remote != NULL;
}
