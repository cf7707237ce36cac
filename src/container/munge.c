/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether PMIx can connect to Slurm's server as root in a user namespace. */

#include "container/munge.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"
#include "base/text.h"

bool berth_munge_is_here(void)
{
    return access(BERTH_MUNGE_PLACE "/munge.socket.2", W_OK) == 0;
}

/* Do LIBRARIES, a file with texts that end in 0, have one of NAMES (ends in NULL)? */
static bool name_one(const char *libraries, const char *const *names)
{
    enum { MOST = 16 << 20 };
    BERTH_BUF struct berth_buf text = {0};

    if (berth_fd_read_path(libraries, MOST, &text) < 0 || !text.text)
        return false;
    for (; *names; names++)
        if (memmem(text.text, text.used, *names, strlen(*names)))
            return true;
    return false;
}

const char *berth_munge_why_not(char *const *task, const char *libraries)
{
    static const char *const munge[] = {"libmunge.so.2", NULL};
    const char *modes = berth_environ_value(task, "PMIX_SECURITY_MODE");

    if (!modes || !berth_text_lists(modes, "munge"))
        return "Slurm's PMIx takes no credential of munge here";
    if (!berth_munge_is_here())
        return "the container has no munge";
    if (!name_one(libraries, munge))
        return "the image lacks libmunge.so.2";
    return NULL;
}

bool berth_munge_is_wanted(const char *libraries)
{
    static const char *const names[] = {"libpmix.so.", "libmpi.so.", NULL};

    return name_one(libraries, names);
}
