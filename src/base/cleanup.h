/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Attributes that free a pointer, or close a descriptor, a directory or a file, when
 * its scope ends; and berth_steal(), by which ownership leaves the scope. */

static inline void berth_cleanup_free(void *p)
{
    free(*(void **)p);
}

static inline void berth_cleanup_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void berth_cleanup_closedir(DIR **list)
{
    if (*list)
        closedir(*list);
}

static inline void berth_cleanup_fclose(FILE **file)
{
    if (*file)
        fclose(*file);
}

#define BERTH_FREE     __attribute__((cleanup(berth_cleanup_free)))
#define BERTH_CLOSE    __attribute__((cleanup(berth_cleanup_close)))
#define BERTH_CLOSEDIR __attribute__((cleanup(berth_cleanup_closedir)))
#define BERTH_FCLOSE   __attribute__((cleanup(berth_cleanup_fclose)))

/* Returns the pointer or structure *P and makes *P NULL or empty: ownership moves to
 * the caller. */
#define berth_steal(p)                                                                 \
    ({                                                                                 \
        __typeof__(p) from_ = (p);                                                     \
        __typeof__(*(p)) value_ = *from_;                                              \
        *from_ = (__typeof__(*(p))){0};                                                \
        value_;                                                                        \
    })
