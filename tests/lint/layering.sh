#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Includes point one way, Slurm is known in one place, and what decides touches nothing.
# shellcheck source=tests/lint/lib.sh
. "${srcdir:-.}/tests/lint/lib.sh"

# FILE:LINE: AREA HEADER, for each include of ours.
includes()
{
    product | xargs grep -nE '^# *include' |
        sed -nE 's|^(src/([a-z]+)/[^:]*:[0-9]+:)# *include +(["<])([^">]*)[">].*|\1 \2 \3\4|p'
}

# The folders, each above those that it may include; ARCHITECTURE.md shows the same. The last
# two are above all others, and not above each other.
folders='base elf mpi request site plan container image ipc job inside run bindover spank cli'

includes | awk -v folders="$folders" '
    BEGIN {
        count = split(folders, names)
        for (i = 1; i <= count; i++)
            level[names[i]] = i
        level["cli"] = level["spank"]
    }
    substr($3, 1, 1) == "<" {
        next
    }
    {
        header = substr($3, 2)
        folder = header
        sub("/.*", "", folder)
        if (!($2 in level))
            print $1, "the folder", $2, "has no place in the layering"
        else if (header !~ "^[a-z]+/[a-z-]+[.]h$")
            print $1, "write " $2 "/" header ": includes start at src"
        else if (folder != $2 && level[folder] >= level[$2])
            print $1, $2, "may not include", header
    }' | rule 'includes point one way'

includes | awk '$3 ~ "^<slurm/" && $2 != "spank" {
    print $1, "only src/spank knows Slurm"
}' | rule 'only src/spank includes Slurm headers'

includes | awk '
    BEGIN {
        split("unistd fcntl dirent ftw glob pwd grp netdb sched spawn poll " \
            "sys/stat sys/mount sys/wait sys/socket sys/un sys/mman sys/ioctl " \
            "sys/prctl sys/syscall sys/utsname sys/vfs sys/statvfs", names, " ")
        for (i in names)
            world["<" names[i] ".h"] = 1
    }
    $2 ~ /^(mpi|request|site|plan)$/ && ($3 in world) &&
    $1 !~ "^src/(request/missing|site/(digest|profilesread|siteread|trusted))[.]" {
        print $1, $2, "touches the world with", substr($3, 2)
    }' | rule 'what decides does not touch the world'

product | grep '\.h$' | xargs grep -L '^#pragma once$' |
    rule 'every header has its guard'

finish
