/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the images of a step into the record of its job in slurmctld
 * (provenance.comment in berth.yaml). */

#include "spank/comment.h"

#include <errno.h>
#include <stdbool.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>

#include "base/buf.h"
#include "base/strvec.h"
#include "spank/release.h"

/* Bytes; less than Slurm's own limit (MAX_COMMENT_LEN). */
enum { LONGEST = 900 };

/* "berth: /a.sif, /b.sif" */
static void write_text(const struct berth_table *table, struct berth_buf *text)
{
    BERTH_STRVEC struct berth_strvec images = {0};

    for (size_t i = 0; i < table->count; i++)
        if (berth_request_has_container(&table->rows[i].request))
            berth_strvec_push_once(&images,
                                   berth_request_name(&table->rows[i].request));
    berth_buf_puts(text, "berth: ");
    berth_strvec_join(&images, ", ", text);
    text->failed |= images.failed;
}

/* Does JOB have a comment? True also if slurmctld does not answer. */
static bool has_comment(uint32_t job)
{
    job_info_msg_t *info = NULL;
    bool has = true;

    if (berth_release_load_job(&info, job) != SLURM_SUCCESS)
        return true;
    if (info->record_count > 0)
        has = info->job_array[0].comment && *info->job_array[0].comment;
    slurm_free_job_info_msg(info);
    return has;
}

void berth_comment_set(uint32_t job, const struct berth_table *table)
{
    BERTH_BUF struct berth_buf text = {0};
    job_desc_msg_t update;

    write_text(table, &text);
    if (text.failed || has_comment(job))
        return;
    if (text.used > LONGEST)
        text.text[LONGEST] = '\0';
    slurm_init_job_desc_msg(&update);
    *berth_release_job(&update) = job;
    update.comment = text.text;
    if (slurm_update_job(&update) != SLURM_SUCCESS)
        slurm_verbose("berth: the job gets no comment: %s", slurm_strerror(errno));
}
