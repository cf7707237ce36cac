/* SPDX-License-Identifier: Apache-2.0 */
/* Reads berth.yaml. */

#include "site/siteread.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/installed.h"
#include "request/path.h"
#include "site/trusted.h"

uid_t berth_site_owner(void)
{
    const char *self = berth_installed_self();
    static const char here; /* in the program or plugin with this code */
    struct stat facts;
    Dl_info info = {0};

    /* The path that the loader has opened: absolute, unless a program was started by a
     * relative one. */
    if (dladdr(&here, &info) && info.dli_fname && *info.dli_fname == '/')
        if (stat(info.dli_fname, &facts) == 0)
            return facts.st_uid;
    if (self && stat(self, &facts) == 0)
        return facts.st_uid;
    return 0;
}

/* Set the default of the directory of profiles: profiles.d beside FILE. */
static int place_profiles(const char *file, struct berth_site *site,
                          struct berth_err *err)
{
    if (!site->profiles_dir)
        site->profiles_dir = berth_path_beside(file, "profiles.d");
    return berth_err_oom_if(!site->profiles_dir, err);
}

int berth_site_errors(const char *path, uid_t owner, struct berth_site *ret,
                      struct berth_strvec *errors, struct berth_err *err)
{
    const char *place = path ? path : berth_installed(BERTH_SITE_FILE);
    BERTH_BUF struct berth_buf buf = {0};
    struct berth_err why;
    int missing;
    int result = berth_trusted_read(place, owner, &missing, &buf, &why);

    *ret = berth_site_default();
    if (missing && !path)
        return place_profiles(place, ret, err);
    if (result < 0) {
        berth_strvec_push(errors, why.text);
        return berth_err_oom_if(errors->failed, err);
    }
    if (berth_site_parse(place, berth_buf_text(&buf), buf.used, ret, errors, err) < 0)
        return -1;
    if (errors->failed)
        return berth_err_oom(err);
    return place_profiles(place, ret, err);
}

int berth_site_read(const char *path, uid_t owner, struct berth_site *ret,
                    struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec errors = {0};

    if (berth_site_errors(path, owner, ret, &errors, err) < 0)
        return -1;
    if (errors.count == 0)
        return 0;
    berth_site_fini(ret);
    *ret = berth_site_default();
    return berth_err_set(err, "%s", errors.items[0]);
}
