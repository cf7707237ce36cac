/* SPDX-License-Identifier: Apache-2.0 */
/* Where Slurm's configuration is. */

#include "site/slurmconf.h"

#include "base/text.h"

void berth_slurmconf_places(const char *named, struct berth_strvec *ret)
{
    if (berth_text_given(named))
        berth_strvec_push(ret, named);
    berth_strvec_push(ret, BERTH_SYSCONFDIR "/slurm.conf");
    berth_strvec_push(ret, "/etc/slurm/slurm.conf");
    berth_strvec_push(ret, "/run/slurm/conf/slurm.conf");
    berth_strvec_push(ret, "/var/spool/slurmd/conf-cache/slurm.conf");
}
