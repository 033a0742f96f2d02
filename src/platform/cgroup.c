/* Reads the files of cgroups; see cgroup.h. */
#include "platform/cgroup.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 1024, LINE_SIZE = 512 };

unsigned lanepool_i_cgroup_parse_cpu_max(const char *text)
{
    char *end;
    unsigned long long quota = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end != ' ' || !isdigit((unsigned char)end[1]))
        return LANEPOOL_I_CPUS_UNLIMITED;
    unsigned long long period = strtoull(end + 1, NULL, 10);
    if (period == 0)
        return LANEPOOL_I_CPUS_UNLIMITED;
    unsigned long long cpus = quota / period + (quota % period != 0);
    if (cpus > LANEPOOL_I_CPUS_UNLIMITED)
        return LANEPOOL_I_CPUS_UNLIMITED;
    return cpus > 0 ? (unsigned)cpus : 1;
}

/* Reads the first line that begins with `prefix`. Returns false if there is none. */
static bool read_line(const char *path, const char *prefix, char line[LINE_SIZE])
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool found = false;
    while (!found && fgets(line, LINE_SIZE, file) != NULL)
        found = strncmp(line, prefix, strlen(prefix)) == 0;
    fclose(file);
    return found;
}

/* Lowers the limit to that of one cgroup. */
static void apply_limit(const char *cgroup, unsigned *limit)
{
    char path[PATH_SIZE], line[LINE_SIZE];
    int length = snprintf(path, sizeof path, "%s/cpu.max", cgroup);
    if (length >= PATH_SIZE || !read_line(path, "", line))
        return;
    unsigned granted = lanepool_i_cgroup_parse_cpu_max(line);
    if (granted < *limit)
        *limit = granted;
}

/* The line of version 2 is "0::" and the path below the mount, which begins with a slash. */
unsigned lanepool_i_cgroup_cpu_limit(const char *mount, const char *membership)
{
    char cgroup[PATH_SIZE], line[LINE_SIZE];
    unsigned limit = LANEPOOL_I_CPUS_UNLIMITED;
    if (!read_line(membership, "0::/", line))
        return limit;
    line[strcspn(line, "\n")] = '\0';
    int length = snprintf(cgroup, sizeof cgroup, "%s%s", mount, line + strlen("0::"));
    if (length >= PATH_SIZE)
        return limit;
    apply_limit(cgroup, &limit);
    while (strlen(cgroup) > strlen(mount)) {
        *strrchr(cgroup, '/') = '\0';
        apply_limit(cgroup, &limit);
    }
    return limit;
}
