/* SPDX-License-Identifier: Apache-2.0 */
/* The key of a container of a job: which steps may share it. */

#include "job/key.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "base/fileid.h"
#include "request/mount.h"

void berth_job_launch_from(const struct berth_launch *step,
                           struct berth_job_launch *ret)
{
    static char off[] = "off";

    ret->launch = *step;
    ret->launch.is_outer = false;
    ret->request = *step->request;
    ret->request.mpi = off;
    ret->request.libs = NULL; /* bound for each step, as MPI is */
    ret->request.explain = NULL;
    ret->request.save = NULL; /* by the step */
    ret->launch.request = &ret->request;
}

/* Append the identity of a file. A mounted file or directory shows every change, so
 * device and inode suffice. Of a file that the runtime READS when it starts, size and
 * time count, too. */
static void put_identity(const struct stat *status, bool reads, struct berth_buf *ret)
{
    BERTH_FREE char *identity = berth_fileid_identity(status);
    char text[128];

    if (!identity) {
        ret->failed = true;
        return;
    }
    berth_buf_puts(ret, identity);
    if (reads && !S_ISDIR(status->st_mode)) {
        snprintf(text, sizeof(text), ".%jx.%jx.%lx", (uintmax_t)status->st_size,
                 (uintmax_t)status->st_mtim.tv_sec, status->st_mtim.tv_nsec);
        berth_buf_puts(ret, text);
    }
    berth_buf_puts(ret, "\n");
}

static void put_file(const char *path, bool reads, struct berth_buf *ret)
{
    struct stat status;

    if (stat(path, &status) == 0)
        put_identity(&status, reads, ret);
    else
        berth_buf_puts(ret, "-\n");
}

static int put_mounts(const struct berth_strvec *mounts, struct berth_buf *ret,
                      struct berth_err *err)
{
    for (size_t i = 0; i < mounts->count; i++) {
        struct berth_mount mount;

        if (berth_mount_parse(mounts->items[i], NULL, &mount, err) < 0)
            return -1;
        if (berth_mount_has_source(mount.mode))
            put_file(mount.source, false, ret);
        /* done after the start, so not in the words of the runtime */
        if (mount.flags || !berth_mount_has_source(mount.mode))
            berth_buf_addf(ret, "%s\n", mounts->items[i]);
        berth_mount_fini(&mount);
    }
    return 0;
}

/* Append the identities of the files in DIRECTORY that TEXT, a flag or a variable of
 * the runtime, may name. */
static void put_named(int directory, const char *text, bool reads,
                      struct berth_buf *ret)
{
    BERTH_FREE char *copy = strdup(text);
    char *rest = copy;
    const char *part = strsep(&rest, "=:,");

    if (!copy)
        ret->failed = true;
    while (part) {
        struct stat status;

        if (*part && fstatat(directory, part, &status, 0) == 0)
            put_identity(&status, reads, ret);
        part = strsep(&rest, "=:,");
    }
}

/* Does argument I of ARGS name a file that the runtime reads as variables? */
static bool is_env_file(const struct berth_strvec *args, size_t i)
{
    if (strstr(args->items[i], "env-file"))
        return true;
    return i > 0 && strcmp(args->items[i - 1], "--env-file") == 0;
}

static void put_all_named(const struct berth_launch *launch, struct berth_buf *ret)
{
    static const char *const starts[] = {"APPTAINER_", "SINGULARITY_", NULL};
    BERTH_CLOSE int directory =
        open(berth_text_or(launch->directory, "/"), O_PATH | O_CLOEXEC);
    const struct berth_strvec *args = &launch->request->args;

    for (size_t i = 0; i < args->count; i++)
        put_named(directory, args->items[i], is_env_file(args, i), ret);
    for (char *const *it = launch->environment; it && *it; it++)
        if (berth_text_starts_any(*it, starts))
            put_named(directory, *it, strstr(*it, "_ENV_FILE=") != NULL, ret);
}

/* Copy the places of FROM (place, reason, ...) without those for TMPDIR: a step with
 * another TMPDIR joins the container of the job all the same, as a new one would not
 * have what the job has written. */
static void copy_places(const struct berth_strvec *from, struct berth_strvec *ret)
{
    static const char *const temporary[] = {BERTH_PLACE_TMPDIR, BERTH_PLACE_TMPDIR_END,
                                            NULL};

    for (size_t i = 0; i + 1 < from->count; i += 2)
        if (!berth_text_is_any(from->items[i + 1], temporary))
            berth_strvec_push_pair(ret, from->items[i], from->items[i + 1]);
}

int berth_job_key(const struct berth_job_launch *job, struct berth_buf *ret,
                  struct berth_err *err)
{
    struct berth_launch shared = job->launch; /* borrows */
    const struct berth_launch *launch = &shared;
    BERTH_STRVEC struct berth_strvec places = {0};
    BERTH_STRVEC struct berth_strvec words = {0};

    copy_places(&job->launch.places, &places);
    if (places.failed)
        return berth_err_oom(err);
    shared.places = places;
    if (berth_launch_holder_argv(launch, "", 0, 0, -1, &words, err) < 0)
        return -1;
    berth_buf_puts(ret, BERTH_VERSION "\n");
    for (size_t i = 0; i < words.count; i++)
        berth_buf_addf(ret, "%s\n", words.items[i]);
    berth_buf_addf(ret, "%s\n", berth_text_or(launch->home, ""));
    put_file(launch->request->image, true, ret);
    put_file(launch->runtime, true, ret);
    put_all_named(launch, ret);
    if (put_mounts(&launch->request->mounts, ret, err) < 0 ||
        put_mounts(&launch->mounts, ret, err) < 0 ||
        put_mounts(&launch->fabric, ret, err) < 0)
        return -1;
    /* a place, and the reason for it */
    for (size_t i = 0; i + 1 < launch->places.count; i += 2) {
        const struct berth_strvec one = {.items = &launch->places.items[i], .count = 1};

        if (put_mounts(&one, ret, err) < 0)
            return -1;
    }
    return berth_err_oom_if(ret->failed, err);
}
