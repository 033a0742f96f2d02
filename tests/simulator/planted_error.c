#include "base/planted.h"

#if defined(LANEPOOL_PLANTED)
int lanepool_i_planted;
#endif
