#include "planted.h"

int lanepool_i_planted;
