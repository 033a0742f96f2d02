/*
 * The CPU limit of the process's cgroup: Linux's control groups, version 2.
 */
#ifndef LANEPOOL_SRC_PLATFORM_CGROUP_H
#define LANEPOOL_SRC_PLATFORM_CGROUP_H

#include <limits.h>

#define LANEPOOL_I_CPUS_UNLIMITED UINT_MAX

/* Returns the CPUs that the text of a file `cpu.max` grants: "QUOTA PERIOD", rounded up, at
 * least 1. A text with "max" as quota, or of another form, is no limit. */
unsigned lanepool_i_cgroup_parse_cpu_max(const char *text);

/* Returns the lowest limit of the process's cgroup and of the cgroups around it. `mount` is where
 * their files are, `membership` the file that names the process's cgroup. A file that is missing or
 * cannot be read is no limit. */
unsigned lanepool_i_cgroup_cpu_limit(const char *mount, const char *membership);

#endif
