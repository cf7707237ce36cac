/* SPDX-License-Identifier: Apache-2.0 */
/* What a site has where it says nothing. Knows neither YAML nor Slurm. */

#include "conf/site.h"

#include <stdlib.h>

/* Seconds; a SIF on a busy parallel file system is slow, a hung one is for ever. */
enum { START_TIMEOUT = 60 };

struct berth_site berth_site_default(void)
{
    return (struct berth_site){.runtime.start_timeout = START_TIMEOUT};
}

void berth_site_fini(struct berth_site *site)
{
    free(site->runtime.path);
    berth_strvec_fini(&site->runtime.args);
    berth_strvec_fini(&site->runtime.allowed);
    berth_strvec_fini(&site->images.roots);
    berth_strvec_fini(&site->images.uris);
    berth_strvec_fini(&site->images.owners);
    berth_strvec_fini(&site->images.signatures);
    free(site->images.cache);
    berth_strvec_fini(&site->mounts.forced);
    berth_strvec_fini(&site->mounts.defaults);
    berth_strvec_fini(&site->mounts.forbidden);
    berth_strvec_fini(&site->environment.capture);
    berth_strvec_fini(&site->environment.deny);
    berth_strvec_fini(&site->environment.set);
    berth_strvec_fini(&site->environment.unset);
    free(site->mpi.mode);
    berth_strvec_fini(&site->mpi.order);
    berth_strvec_fini(&site->mpi.partitions);
    for (size_t i = 0; i < site->rule_count; i++) {
        free(site->rules[i].partition);
        free(site->rules[i].account);
        berth_strvec_fini(&site->rules[i].options);
    }
    free(site->rules);
    free(site->provenance.file);
    free(site->profiles_dir);
    *site = (struct berth_site){0};
}
