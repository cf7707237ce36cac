/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of berth doctor: judges them, writes them in one line, frees them. */

#include "diagnose/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void berth_doctor_judge(const struct berth_doctor_facts *facts,
                        struct berth_diagnoses *diagnoses)
{
    berth_doctor_judge_host(facts, diagnoses);
    berth_doctor_judge_slurm(facts, diagnoses);
}

/* Append " NAME=VALUE" with blanks in VALUE as _, so that it is one word. */
static void put_fact(struct berth_buf *line, const char *name, const char *value)
{
    berth_buf_addf(line, " %s=", name);
    if (!value || !*value)
        berth_buf_puts(line, "none");
    for (; value && *value; value++)
        berth_buf_add(line, strchr(" \t\n", *value) ? "_" : value, 1);
}

/* Append the things that are wrong, each once, in the order of the diagnoses. */
static void put_faults(const struct berth_diagnoses *diagnoses, struct berth_buf *line)
{
    BERTH_BUF struct berth_buf list = {0};
    const char *last = "";

    for (size_t i = 0; i < diagnoses->count; i++) {
        const struct berth_diagnosis *diagnosis = &diagnoses->items[i];

        if (diagnosis->level != BERTH_DIAGNOSIS_WRONG ||
            strcmp(diagnosis->about, last) == 0)
            continue;
        last = diagnosis->about;
        berth_buf_addf(&list, "%s%s", list.used ? "," : "", last);
    }
    put_fact(line, "wrong", list.text);
    line->failed |= list.failed;
}

void berth_doctor_brief(const struct berth_doctor_facts *facts,
                        const struct berth_diagnoses *diagnoses, struct berth_buf *line)
{
    BERTH_BUF struct berth_buf stacks = {0};
    char slurm[24] = "";

    for (size_t i = 0; i < facts->plugin_count; i++)
        if (facts->plugins[i].is_berth && facts->plugins[i].slurm)
            snprintf(slurm, sizeof(slurm), "%u.%02u",
                     facts->plugins[i].slurm >> 16 & 0xff,
                     facts->plugins[i].slurm >> 8 & 0xff);
    berth_strvec_join(&facts->stacks, ",", &stacks);
    berth_buf_addf(line, "berth=%s", facts->release);
    put_fact(line, "plugin", slurm);
    put_fact(line, "slurm", facts->slurm.version);
    put_fact(line, "config", facts->digest);
    put_fact(line, "runtime", facts->runtime.version);
    put_fact(line, "setuid", facts->runtime.is_setuid ? "yes" : "no");
    put_fact(line, "mpi", stacks.text);
    put_faults(diagnoses, line);
    line->failed |= stacks.failed;
}

const char *berth_doctor_keep(struct berth_doctor_facts *facts, const char *text)
{
    if (!text)
        return NULL;
    berth_strvec_push(&facts->kept, text);
    return facts->kept.failed ? NULL : facts->kept.items[facts->kept.count - 1];
}

void berth_doctor_facts_fini(struct berth_doctor_facts *facts)
{
    free(facts->plugins);
    berth_strvec_fini(&facts->stacks);
    berth_strvec_fini(&facts->fabrics);
    berth_strvec_fini(&facts->libraries);
    berth_strvec_fini(&facts->missing_devices);
    berth_strvec_fini(&facts->kept);
    *facts = (struct berth_doctor_facts){0};
}
