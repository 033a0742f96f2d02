/* CPU limits of cgroups, read from files in a directory of the test's own. */
#define _GNU_SOURCE /* mkdtemp */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/cgroup.h"
#include "platform/platform.h"
#include "support/test.h"

enum { NAME_SIZE = 64, PATH_SIZE = 256 };

Test(cgroup, quota_over_period_is_rounded_up)
{
    expect_eq(lanepool_i_cgroup_parse_cpu_max("100000 100000\n"), 1);
    expect_eq(lanepool_i_cgroup_parse_cpu_max("150000 100000\n"), 2);
    expect_eq(lanepool_i_cgroup_parse_cpu_max("200000 100000\n"), 2);
    expect_eq(lanepool_i_cgroup_parse_cpu_max("200001 100000\n"), 3);
    expect_eq(lanepool_i_cgroup_parse_cpu_max("400000 50000"), 8);
    expect_eq(lanepool_i_cgroup_parse_cpu_max("1000 1000000\n"), 1);
    expect_eq(lanepool_i_cgroup_parse_cpu_max("0 100000\n"), 1);
}

Test(cgroup, text_without_a_quota_is_no_limit)
{
    static const char *const texts[] = { "max 100000\n", "max",      "",         "\n",
                                         "100000\n",     "100000 ",  "100000 x", "100000 0\n",
                                         "-1 100000\n",  "x 100000", " 1 1",     "1 -1" };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        expect_eq(lanepool_i_cgroup_parse_cpu_max(texts[i]), LANEPOOL_I_CPUS_UNLIMITED);
    }
    expect_eq(lanepool_i_cgroup_parse_cpu_max("99999999999999999999999 1"),
              LANEPOOL_I_CPUS_UNLIMITED);
}

/* A directory like the mount of cgroups, with two cgroups in each other. */
struct mount {
    char path[NAME_SIZE];
    char membership[PATH_SIZE];
};

static const char *const cgroups[] = { "", "/outer", "/outer/inner" };

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    expect(file != NULL);
    expect(fputs(text, file) >= 0);
    expect_eq(fclose(file), 0);
}

/* Writes the file, or removes it if the text is NULL. */
static void set_limit(const struct mount *mount, int cgroup, const char *text)
{
    char path[PATH_SIZE];

    snprintf(path, sizeof path, "%s%s/cpu.max", mount->path, cgroups[cgroup]);
    if (text) {
        write_file(path, text);
    } else {
        unlink(path);
    }
}

static void make_mount(struct mount *mount)
{
    char path[PATH_SIZE];

    strcpy(mount->path, "cgroup-XXXXXX");
    expect(mkdtemp(mount->path) != NULL);
    for (int i = 1; i < 3; i++) {
        snprintf(path, sizeof path, "%s%s", mount->path, cgroups[i]);
        expect_eq(mkdir(path, 0700), 0);
    }
    snprintf(mount->membership, sizeof mount->membership, "%s/membership", mount->path);
}

static void remove_mount(const struct mount *mount)
{
    char path[PATH_SIZE];

    unlink(mount->membership);
    for (int i = 2; i >= 0; i--) {
        set_limit(mount, i, NULL);
        snprintf(path, sizeof path, "%s%s", mount->path, cgroups[i]);
        expect_eq(rmdir(path), 0);
    }
}

static unsigned limit_of(const struct mount *mount)
{
    return lanepool_i_cgroup_cpu_limit(mount->path, mount->membership);
}

Test(cgroup, lowest_limit_of_the_cgroup_and_those_around_it_counts)
{
    struct mount mount;

    make_mount(&mount);
    write_file(mount.membership, "4:memory:/other\n1:cpu:/outer\n0::/outer/inner\n");
    expect_eq(limit_of(&mount), LANEPOOL_I_CPUS_UNLIMITED); /* there are no files */
    set_limit(&mount, 2, "max 100000\n");
    expect_eq(limit_of(&mount), LANEPOOL_I_CPUS_UNLIMITED);
    set_limit(&mount, 1, "450000 100000\n");
    expect_eq(limit_of(&mount), 5);
    set_limit(&mount, 2, "250000 100000\n");
    expect_eq(limit_of(&mount), 3);
    set_limit(&mount, 0, "100000 100000\n");
    expect_eq(limit_of(&mount), 1);
    remove_mount(&mount);
}

Test(cgroup, limits_of_other_cgroups_do_not_count)
{
    struct mount mount;

    make_mount(&mount);
    set_limit(&mount, 1, "400000 100000\n");
    set_limit(&mount, 2, "100000 100000\n");
    write_file(mount.membership, "0::/outer\n");
    expect_eq(limit_of(&mount), 4);
    write_file(mount.membership, "0::/\n");
    expect_eq(limit_of(&mount), LANEPOOL_I_CPUS_UNLIMITED);
    set_limit(&mount, 0, "200000 100000\n"); /* in a container the mount is its own cgroup */
    expect_eq(limit_of(&mount), 2);
    remove_mount(&mount);
}

Test(cgroup, without_version_2_there_is_no_limit)
{
    struct mount mount;

    make_mount(&mount);
    set_limit(&mount, 0, "100000 100000\n");
    expect_eq(limit_of(&mount), LANEPOOL_I_CPUS_UNLIMITED); /* nothing names the cgroup */
    write_file(mount.membership, "1:cpu:/\n");
    expect_eq(limit_of(&mount), LANEPOOL_I_CPUS_UNLIMITED);
    remove_mount(&mount);
}

Test(cgroup, process_has_at_least_one_cpu)
{
    expect(lanepool_i_cpu_count() >= 1);
}
