/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the GPUs that Slurm has on the host with those of CDI specifications. */

#include "diagnose/judge.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define ABOUT "devices by CDI"

/* The GPUs in GRES as scontrol prints it: gpu:2, gpu:a100:4(S:0,1),shard:8. A word
 * without a number is one. */
static long count_gres(const char *gres)
{
    long count = 0;

    while (*gres) {
        size_t length = strcspn(gres, ",(");
        const char *number = gres + length;

        while (number > gres && isdigit((unsigned char)number[-1]))
            number--;
        if (berth_text_starts(gres, "gpu") && (length == 3 || gres[3] == ':'))
            count += number > gres && number[-1] == ':' ? atol(number) : 1;
        gres += length;
        if (*gres == '(')
            gres += strcspn(gres, ")");
        gres += strcspn(gres, ",");
        gres += *gres == ',';
    }
    return count;
}

/* The name of NAME, KIND=NAME; NULL: it is of another kind, or all devices of this. */
static const char *name_of(const char *name, const char *kind)
{
    size_t length = strlen(kind);

    return strncmp(name, kind, length) == 0 && name[length] == '=' &&
                   strcmp(name + length + 1, "all") != 0
               ? name + length + 1
               : NULL;
}

static bool is_number(const char *name)
{
    return *name && !name[strspn(name, "0123456789")];
}

/* The devices of one kind. */
struct devices {
    const char *kind;
    long count;
    long numbers;     /* of them named by the number that Slurm has, too; the others are
                         UUIDs and MIG instances */
    const char *last; /* with the largest of these numbers: KIND=N; NULL: none */
};

static struct devices count_devices(const struct berth_doctor_facts *facts,
                                    const char *kind)
{
    struct devices devices = {.kind = kind};
    long largest = -1;

    for (size_t i = 0; i < facts->cdi_devices.count; i++) {
        const char *name = name_of(facts->cdi_devices.items[i], kind);

        if (!name)
            continue;
        devices.count++;
        if (!is_number(name))
            continue;
        devices.numbers++;
        if (atol(name) > largest) {
            largest = atol(name);
            devices.last = facts->cdi_devices.items[i];
        }
    }
    return devices;
}

/* The devices of the first kind of cdi.gpus that has any, as steps get them. */
static struct devices choose_kind(const struct berth_doctor_facts *facts)
{
    struct devices devices = {0};

    for (size_t i = 0; i < facts->gpu_kinds.count && devices.count == 0; i++)
        devices = count_devices(facts, facts->gpu_kinds.items[i]);
    return devices;
}

static bool has_number(const struct berth_doctor_facts *facts, const char *kind,
                       long number)
{
    BERTH_BUF struct berth_buf name = {0};

    berth_buf_addf(&name, "%s=%ld", kind, number);
    return name.failed || berth_strvec_has(&facts->cdi_devices, name.text);
}

/* Where devices have other names too, only their number can be compared. */
static void judge_missing(const struct berth_doctor_facts *facts, long gpus,
                          const struct devices *devices,
                          struct berth_diagnoses *diagnoses)
{
    long number = 0;

    while (number < gpus && has_number(facts, devices->kind, number))
        number++;
    if (number < gpus && (devices->count == devices->numbers || devices->count < gpus))
        NOTE(ABOUT,
             "let the vendor's program write the specification anew (nvidia-ctk cdi "
             "generate)",
             "Slurm has Gres=%s here, and no specification has '%s=%ld'",
             facts->slurm.gres, devices->kind, number);
}

void berth_doctor_judge_gpus(const struct berth_doctor_facts *facts,
                             struct berth_diagnoses *diagnoses)
{
    const struct devices devices = choose_kind(facts);
    BERTH_BUF struct berth_buf kinds = {0};
    long gpus;

    if (!facts->slurm.gres || facts->gpu_kinds.count == 0)
        return;
    gpus = count_gres(facts->slurm.gres);
    berth_strvec_join(&facts->gpu_kinds, ", ", &kinds);
    if (devices.count > 0)
        judge_missing(facts, gpus, &devices, diagnoses);
    else if (gpus > 0 && !kinds.failed)
        NOTE(ABOUT,
             "let the vendor's program write the specification (nvidia-ctk cdi "
             "generate), or correct cdi.gpus",
             "Slurm has Gres=%s here, and no specification has devices of cdi.gpus "
             "(%s)",
             facts->slurm.gres, kinds.text);
    if (devices.numbers == devices.count && devices.numbers > gpus)
        NOTE(ABOUT,
             "add the GPU to gres.conf and to Gres= in slurm.conf, or let the vendor's "
             "program write the specification anew",
             "a specification has '%s', and Slurm has Gres=%s here", devices.last,
             facts->slurm.gres);
}
