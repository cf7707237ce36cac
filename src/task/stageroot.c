/* SPDX-License-Identifier: Apache-2.0 */
/* Where stages of the host's MPI are. */

#include "task/stageroot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "task/tree.h"

struct berth_stage_root berth_stage_site(void)
{
    return (struct berth_stage_root){.path = BERTH_STAGE_SITE,
                                     .mounted = BERTH_STAGE_SITE_MOUNTED,
                                     .owner = 0,
                                     .forbidden = 0022,
                                     .mode = 0755};
}

struct berth_stage_root berth_stage_user(char path[BERTH_STAGE_USER_SIZE])
{
    snprintf(path, BERTH_STAGE_USER_SIZE, "/tmp/berth-%u", geteuid());
    return (struct berth_stage_root){.path = path,
                                     .mounted = BERTH_STAGE_USER_MOUNTED,
                                     .owner = geteuid(),
                                     .forbidden = 0077,
                                     .mode = 0700,
                                     .days = BERTH_STAGE_DAYS};
}

int berth_stage_root_open(const struct berth_stage_root *root, struct berth_err *err)
{
    for (const char *at = strchr(root->path + 1, '/'); at; at = strchr(at + 1, '/')) {
        BERTH_FREE char *parent = strndup(root->path, (size_t)(at - root->path));

        if (parent)
            mkdir(parent, 0755);
    }
    if (mkdir(root->path, root->mode) == 0)
        chmod(root->path, root->mode); /* whatever the user's umask takes away */
    else if (errno != EEXIST)
        return berth_err_set(err,
                             "'%s': cannot be made, and the host's MPI is copied "
                             "there: %s" BERTH_STAGE_ADVICE,
                             root->path, strerror(errno));
    return berth_tree_open(root->path, root->owner, root->forbidden, NULL, err);
}
