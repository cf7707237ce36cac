/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether an MPI speaks to the process manager that srun starts. A mismatch is
 * mostly silent: every task is rank 0 of 1, and the exit status is 0. */

#include "mpi/pmi.h"

#include <string.h>

#include "base/text.h"

/* Is the libpmi.so or libpmi2.so that MPI needs Cray's? It has the name of Slurm's. */
static bool has_crays_pmi(const struct berth_mpi_object *mpi)
{
    const char *vendor = mpi->library.vendor;

    if (berth_strvec_has_start(&mpi->elf.needed, "libpals.so."))
        return true;
    return vendor && strcmp(vendor, "Cray MPICH") == 0;
}

/* MPICH, and MPIs made from it, have one library that shows it. */
static unsigned int managers_of_mpich(const struct berth_mpi_object *mpi)
{
    const struct berth_elf *elf = &mpi->elf;
    unsigned int managers = 0;

    if (berth_strvec_has_start(&elf->needed, "libpmix.so.") ||
        berth_elf_find(&elf->undefined, "PMIx_Init"))
        managers |= BERTH_PMI_PMIX;
    if (berth_strvec_has_start(&elf->texts, "PMI_FD"))
        managers |= BERTH_PMI_SIMPLE;
    if (berth_strvec_has_start(&elf->needed, "libpmi.so.") ||
        berth_strvec_has_start(&elf->needed, "libpmi2.so."))
        managers |= has_crays_pmi(mpi) ? BERTH_PMI_CRAY : BERTH_PMI_SLURM;
    return managers;
}

/* The manager to which a component of Open MPI up to 4 speaks. */
static unsigned int manager_of_component(const char *name)
{
    static const struct {
        const char *start;
        unsigned int manager;
    } components[] = {
        {"mca_pmix_ext", BERTH_PMI_PMIX},  {"mca_pmix_pmix", BERTH_PMI_PMIX},
        {"mca_pmix_s1.", BERTH_PMI_SLURM}, {"mca_pmix_s2.", BERTH_PMI_SLURM},
        {"mca_pmix_cray", BERTH_PMI_CRAY},
    };

    for (size_t i = 0; i < sizeof(components) / sizeof(components[0]); i++)
        if (berth_text_starts(name, components[i].start))
            return components[i].manager;
    return 0;
}

/* Open MPI speaks PMIx, also without a PMIx library, since it may have a copy inside;
 * but components show the managers of their build. The text PMI_FD in it does not
 * count: Open MPI only checks who started it. */
static unsigned int managers_of_openmpi(const struct berth_mpi_objects *objects)
{
    unsigned int managers = 0;
    bool components = false;

    for (size_t i = 0; i < objects->count; i++) {
        const char *name = berth_text_base(objects->items[i].path);

        components |= berth_text_starts(name, "mca_pmix_");
        managers |= manager_of_component(name);
    }
    return components ? managers : BERTH_PMI_PMIX;
}

unsigned int berth_mpi_managers(const struct berth_mpi_objects *objects,
                                enum berth_mpi_family family)
{
    const struct berth_mpi_object *mpi = berth_mpi_objects_mpi(objects, family);

    if (!mpi)
        return 0;
    if (mpi->library.vendor && strcmp(mpi->library.vendor, "Open MPI") == 0)
        return managers_of_openmpi(objects);
    return managers_of_mpich(mpi);
}

/* The managers that --mpi=TYPE serves; all for a type that berth does not know. */
static unsigned int served_by(const char *type)
{
    if (strcmp(type, "none") == 0 || strcmp(type, "openmpi") == 0)
        return 0;
    if (strcmp(type, "pmi2") == 0)
        return BERTH_PMI_SIMPLE | BERTH_PMI_SLURM;
    if (strcmp(type, "pmix") == 0 || berth_text_starts(type, "pmix_"))
        return BERTH_PMI_PMIX;
    if (strcmp(type, "cray_shasta") == 0)
        return BERTH_PMI_CRAY;
    return ~0U;
}

static const struct {
    unsigned int manager;
    const char *name;
    const char *type;
} managers_known[] = {
    {BERTH_PMI_CRAY, "Cray's PMI", "cray_shasta"},
    {BERTH_PMI_PMIX, "PMIx", "pmix"},
    {BERTH_PMI_SIMPLE, "PMI", "pmi2"},
    {BERTH_PMI_SLURM, "Slurm's PMI", "pmi2"},
};

enum { MANAGERS = sizeof(managers_known) / sizeof(managers_known[0]) };

/* pmi2 first, cray_shasta last. */
void berth_mpi_manager_types(unsigned int managers, struct berth_strvec *ret)
{
    for (int i = MANAGERS - 1; i >= 0; i--)
        if (managers & managers_known[i].manager)
            berth_strvec_push_once(ret, managers_known[i].type);
}

/* srun refuses pmi2 for components in one allocation. */
#define HET_JOB                                                                        \
    ", which for several components needs a heterogeneous job (#SBATCH hetjob, or "    \
    "srun outside a job)"

int berth_mpi_check_manager(unsigned int managers, const char *type, unsigned int tasks,
                            bool het_step, const char *whose, struct berth_err *err)
{
    if (!type)
        type = "none";
    if (tasks <= 1 || managers == 0 || (managers & served_by(type)))
        return 0;
    for (int i = 0; i < MANAGERS; i++) {
        const char *use = managers_known[i].type;
        bool needs_het_job = het_step && strcmp(use, "pmi2") == 0;

        if (managers & managers_known[i].manager)
            return berth_err_set(
                err,
                "%s uses %s and the step has --mpi=%s, so each of "
                "the %u tasks would be rank 0 of 1; use srun --mpi=%s%s",
                whose, managers_known[i].name, type, tasks, use,
                needs_het_job ? HET_JOB : "");
    }
    return 0;
}

const char *const berth_mpi_contacts[] = {"PMI_FD", "PMIX_NAMESPACE", "PALS_APID",
                                          NULL};

int berth_mpi_check_contact(const char *lost, unsigned int tasks, const char *whose,
                            struct berth_err *err)
{
    if (tasks <= 1 || !lost)
        return 0;
    return berth_err_set(err,
                         "the runtime removes %s, by which %s finds its peers, so each "
                         "of the %u tasks would be rank 0 of 1; leave out --cleanenv "
                         "and --containall",
                         lost, whose, tasks);
}
