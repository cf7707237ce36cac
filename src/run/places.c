/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the directories of the node that a container has without being asked. */

#include "run/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/text.h"
#include "container/munge.h"
#include "request/mount.h"
#include "request/path.h"
#include "site/mountrules.h"

/* What the runtime mounts, as its configuration has it where nobody has changed it. */
static const char *const usual[] = {"/tmp", "/var/tmp", "/dev", "/proc", "/sys"};

/* Does the runtime mount the home directory, and the working directory? */
static bool mounts_home(const struct berth_launch *launch)
{
    return launch->request->home != BERTH_NO;
}

/* Is PLACE in DIRECTORY, which may be NULL? */
static bool is_within(const char *place, const char *directory)
{
    return directory && berth_path_is_within(place, directory);
}

/* Is the container closed, so that it has only what it is given? */
static bool is_closed(const struct berth_launch *launch)
{
    return launch->order && launch->order->is_closed;
}

/* Is the clean path PLACE in a directory that the runtime mounts by itself? */
static bool is_usual(const struct berth_launch *launch, const char *place)
{
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (berth_path_is_within(place, usual[i]))
            return true;
    return mounts_home(launch) && is_within(place, launch->home);
}

/* Is PLACE below the destination of MOUNT? */
static bool is_below(const char *place, const struct berth_mount *mount)
{
    return strcmp(place, mount->destination) != 0 &&
           berth_path_is_within(place, mount->destination);
}

/* Does MOUNT show a path of the host at the same path? */
static bool is_same_path(const struct berth_mount *mount)
{
    return strcmp(mount->source, mount->destination) == 0;
}

/* Is the clean path PLACE in a directory that the container has from the host, and not
 * PLACE itself? */
static bool is_in_mount(const struct berth_launch *launch, const char *place)
{
    const struct berth_strvec *mounts = &launch->request->mounts;

    if (is_usual(launch, place))
        return true;
    if (mounts_home(launch) && is_within(place, launch->directory))
        return true;
    for (size_t i = 0; i < mounts->count; i++) {
        BERTH_MOUNT struct berth_mount other = {0};

        if (berth_mount_parse(mounts->items[i], NULL, &other, NULL) < 0)
            continue;
        if (is_same_path(&other) && is_below(place, &other))
            return true;
    }
    return false;
}

/* Does the site leave MOUNT, whose source is a real path, to berth? */
static bool may_mount(const struct berth_launch *launch, const char *mount)
{
    struct berth_site site = {0}; /* borrows */
    const struct berth_strvec one = {.items = (char *[]){(char *)mount}, .count = 1};

    if (launch->order) {
        site.mounts.forbidden = launch->order->terms.forbidden;
        site.mounts.forced = launch->order->terms.forced;
    }
    return berth_mountrules_check(&site, &one, NULL, NULL) == 0;
}

/* The mount of the request that the clean path PLACE is in, the deepest, and not on
 * PLACE itself; NULL: none. *RET holds it. */
static const struct berth_mount *find_mount_above(const struct berth_launch *launch,
                                                  const char *place,
                                                  struct berth_mount *ret)
{
    const struct berth_strvec *mounts = &launch->request->mounts;

    for (size_t i = 0; i < mounts->count; i++) {
        BERTH_MOUNT struct berth_mount mount = {0};

        if (berth_mount_parse(mounts->items[i], NULL, &mount, NULL) < 0)
            continue;
        if (!is_below(place, &mount))
            continue;
        if (ret->destination && strlen(ret->destination) > strlen(mount.destination))
            continue;
        berth_mount_fini(ret);
        *ret = mount;
        mount = (struct berth_mount){0};
    }
    if (!ret->destination)
        return NULL;
    return ret;
}

/* Are both there, and either directories or not? */
static bool are_alike(const char *one, const char *other)
{
    struct stat a, b;

    if (stat(one, &a) < 0 || stat(other, &b) < 0)
        return false;
    return S_ISDIR(a.st_mode) == S_ISDIR(b.st_mode);
}

/* Can SOURCE be mounted on the clean path PLACE and change no file of the user's? In a
 * mount of the request the runtime would make the place in that mount's source, or fail
 * where the user may not. */
static bool has_room(const struct berth_launch *launch, const char *source,
                     const char *place)
{
    BERTH_MOUNT struct berth_mount held = {0};
    const struct berth_mount *above = find_mount_above(launch, place, &held);
    BERTH_FREE char *there = NULL; /* what is at the place now */

    if (!above)
        return true;
    if (above->mode == BERTH_MOUNT_SQSH || !berth_mount_has_source(above->mode))
        return false;
    if (asprintf(&there, "%s%s", above->source, place + strlen(above->destination)) <
        0) {
        there = NULL;
        return false;
    }
    return are_alike(there, source);
}

/* Append the mount of SOURCE, a real path, on PLACE, for the reason WHY. */
static void add(struct berth_launch *launch, const char *source, const char *place,
                const char *mode, const char *why)
{
    BERTH_FREE char *mount = NULL;

    if (strchr(source, ':') || strchr(place, ':')) /* which separates them */
        return;
    if (!has_room(launch, source, place))
        return;
    if (asprintf(&mount, "%s:%s:%s", source, place, mode) < 0) {
        launch->places.failed = true;
        return;
    }
    if (!may_mount(launch, mount))
        return;
    berth_strvec_push(&launch->places, mount);
    berth_strvec_push(&launch->places, why);
}

/* TMPDIR, a directory in which the user may make files, as a real path, which the
 * caller frees; NULL: there is none. Another one would only hide what the image has
 * there. */
static char *find_temporary(const struct berth_launch *launch)
{
    const char *path = berth_environ_value(launch->environment, "TMPDIR");
    struct stat status;

    if (!path || *path != '/')
        return NULL;
    if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode))
        return NULL;
    if (access(path, W_OK | X_OK) < 0)
        return NULL;
    return realpath(path, NULL);
}

static void add_temporary(struct berth_launch *launch)
{
    BERTH_FREE char *real = find_temporary(launch);
    BERTH_FREE char *place = NULL;
    bool is_link;

    if (!real || strcmp(real, "/") == 0)
        return;
    place = berth_path_clean(berth_environ_value(launch->environment, "TMPDIR"));
    if (!place) {
        launch->places.failed = true;
        return;
    }
    is_link = strcmp(place, real) != 0;
    if (is_usual(launch, place) && !is_link)
        return;
    add(launch, real, place, "rw", BERTH_PLACE_TMPDIR);
    if (is_in_mount(launch, place) && is_link)
        add(launch, real, real, "rw", BERTH_PLACE_TMPDIR_END);
}

/* The runtime opens its working directory, which it then mounts. One that the user may
 * enter and not list is mounted here. */
static void add_directory(struct berth_launch *launch)
{
    const char *directory = launch->directory;

    if (!mounts_home(launch) || !directory)
        return;
    if (*directory != '/' || strcmp(directory, "/") == 0)
        return;
    if (access(directory, R_OK) == 0 || access(directory, X_OK) < 0)
        return;
    add(launch, directory, directory, "rw", "the working directory");
}

/* Does the site deny Slurm's commands in containers (inside: none)? */
static bool denies_commands(const struct berth_launch *launch)
{
    const char *inside = NULL;

    if (launch->order)
        inside = launch->order->terms.inside;
    return inside && strcmp(inside, "none") == 0;
}

/* The image's PMIx reaches Slurm's server as root only by munge. With a credential, a
 * program can also ask slurmctld for all that its user may. */
static void add_munge(struct berth_launch *launch)
{
    if (launch->request->root != BERTH_YES || denies_commands(launch))
        return;
    if (berth_munge_is_here())
        add(launch, BERTH_MUNGE_PLACE, BERTH_MUNGE_PLACE, "ro",
            "by munge, PMIx shows the user behind root (--container-remap-root)");
}

/* Has the step a PMIx server of Slurm? */
static bool has_pmix(const struct berth_launch *launch)
{
    const char *type = berth_environ_value(launch->environment, "SLURM_MPI_TYPE");

    return type && berth_text_starts(type, "pmix");
}

/* Is PLACE a directory of this user's? */
static bool is_own_directory(const char *place)
{
    struct stat status;

    if (stat(place, &status) < 0 || !S_ISDIR(status.st_mode))
        return false;
    return status.st_uid == geteuid();
}

/* Cut the last names of REAL and PLACE, clean paths. Returns whether these were the
 * same and something is left: at the parent REAL of the one is that of the other. */
static bool cut_to_parents(char *real, char *place)
{
    char *real_name = strrchr(real, '/');
    char *name = strrchr(place, '/');

    if (strcmp(real_name, name) != 0)
        return false;
    *real_name = '\0';
    *name = '\0';
    return *real && *place;
}

/* Slurm makes a directory for its process manager and the tasks of a step, which
 * VARIABLE names. The user can set that to any other. A container that a job keeps has
 * those of all steps: the directory around them. */
static void add_manager(struct berth_launch *launch, const char *variable)
{
    const char *directory = berth_environ_value(launch->environment, variable);
    BERTH_FREE char *real = NULL;
    BERTH_FREE char *place = NULL;

    if (!directory || *directory != '/')
        return;
    real = realpath(directory, NULL);
    if (!real || !is_own_directory(real))
        return;
    if (!berth_launch_is_manager_place(real, &launch->places.failed))
        return;
    place = berth_path_clean(directory);
    if (!place) {
        launch->places.failed = true;
        return;
    }
    if (berth_request_has_job_lifetime(launch->request) && !cut_to_parents(real, place))
        return;
    add(launch, real, place, "rw", "Slurm's process manager and the tasks meet here");
}

/* Add what MPI takes: with --mpi-bind also where the container is closed. */
static void add_managers(struct berth_launch *launch)
{
    const bool is_kept = berth_request_has_job_lifetime(launch->request);

    if (berth_request_mpi_chosen(launch->request)) {
        add_manager(launch, "PMIX_SERVER_TMPDIR");
        add_manager(launch, "PALS_SPOOL_DIR");
    } else if (has_pmix(launch) && !is_closed(launch) && !is_kept) {
        add_manager(launch, "PMIX_SERVER_TMPDIR");
    }
}

/* Where the place of MOUNT leads through a symbolic link of another mount, mount at the
 * end of the link, too: the runtime would mount at the name of the link, where no path
 * leads. */
static void add_end(struct berth_launch *launch, const struct berth_mount *mount)
{
    static const char *const modes[] = {
        [BERTH_MOUNT_RW] = "rw", [BERTH_MOUNT_RO] = "ro", [BERTH_MOUNT_SQSH] = "sqsh"};
    BERTH_FREE char *end = NULL;
    BERTH_FREE char *source = NULL;
    BERTH_FREE char *why = NULL;

    if (!berth_mount_has_source(mount->mode))
        return;
    end = realpath(mount->destination, NULL);
    source = realpath(mount->source, NULL);
    if (!end || !source || strcmp(end, mount->destination) == 0)
        return;
    if (!is_in_mount(launch, mount->destination))
        return;
    if (asprintf(&why, "'%s' leads there", mount->destination) < 0)
        launch->places.failed = true;
    else
        add(launch, source, end, modes[mount->mode], why);
}

/* The batch script is in a directory of the node that no container has. */
static int add_script(struct berth_launch *launch, struct berth_err *err)
{
    BERTH_FREE char *mount = NULL;
    const char *script;

    if (!launch->order || !launch->order->script)
        return 0;
    script = launch->order->script;
    if (asprintf(&mount, "%s:%s:ro", script, script) < 0)
        return berth_err_oom(err);
    if (!may_mount(launch, mount))
        return berth_err_set(err,
                             "the batch script '%s' cannot be mounted: the site "
                             "forbids its place (mounts.forbidden); run the script on "
                             "the host, and programs with srun",
                             script);
    add(launch, script, script, "ro", "the batch script");
    return 0;
}

/* Add what an open container has without being asked. */
static int add_unasked(struct berth_launch *launch, struct berth_err *err)
{
    const struct berth_strvec *mounts = &launch->request->mounts;

    add_temporary(launch);
    add_directory(launch);
    add_munge(launch);
    for (size_t i = 0; i < mounts->count; i++) {
        BERTH_MOUNT struct berth_mount mount = {0};

        if (berth_mount_parse(mounts->items[i], NULL, &mount, err) < 0)
            return -1;
        add_end(launch, &mount);
    }
    return 0;
}

int berth_places_find(struct berth_launch *launch, struct berth_err *err)
{
    if (add_script(launch, err) < 0)
        return -1;
    add_managers(launch);
    if (!is_closed(launch) && add_unasked(launch, err) < 0)
        return -1;
    return berth_err_oom_if(launch->places.failed, err);
}

bool berth_places_has_temporary(const struct berth_launch *launch)
{
    BERTH_FREE char *real = find_temporary(launch);
    const char *path = berth_environ_value(launch->environment, "TMPDIR");
    BERTH_FREE char *place = NULL;
    BERTH_FREE char *mount = NULL;

    if (real)
        place = berth_path_clean(path);
    if (!place || is_closed(launch))
        return false;
    if (is_usual(launch, place) || strchr(real, ':'))
        return true;
    if (!has_room(launch, real, place))
        return false;
    if (asprintf(&mount, "%s:%s:rw", real, place) < 0) {
        mount = NULL;
        return false;
    }
    return may_mount(launch, mount);
}
