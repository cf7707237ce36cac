/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the value of --export as Slurm does, and decides by name which variables of the
 * user a task in an image needs. Reads no environment itself. */

#include "request/capture.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/text.h"
#include "request/values.h"

/* Bytes up to the comma that ends the first item, or to the end. */
static size_t item_length(const char *text)
{
    bool single = false;
    bool twice = false;
    size_t at = 0;

    for (; text[at]; at++) {
        if (text[at] == '\'')
            single = !single;
        else if (text[at] == '"')
            twice = !twice;
        else if (text[at] == ',' && !single && !twice)
            break;
    }
    return at;
}

/* An item that begins and ends with the same quote loses both. */
static char *copy_item(const char *item, size_t length)
{
    bool begins = *item == '\'' || *item == '"';

    if (begins && length >= 2 && item[length - 1] == *item)
        return strndup(item + 1, length - 2);
    return strndup(item, length);
}

int berth_export_read(const char *value, struct berth_export *ret,
                      struct berth_err *err)
{
    BERTH_EXPORT struct berth_export export = {.all = !value};
    bool is_ended = false; /* by NONE, after which ALL does not count */

    while (value && *value) {
        size_t length = item_length(value);
        BERTH_FREE char *item = copy_item(value, length);

        if (!item)
            return berth_err_oom(err);
        if (strcasecmp(item, "NONE") == 0)
            is_ended = true;
        else if (strcasecmp(item, "ALL") == 0 && !is_ended)
            export.all = true;
        if (strchr(item, '='))
            berth_strvec_push(&export.assigned, item);

        value += length;
        if (*value == ',')
            value++;
    }
    if (export.assigned.failed)
        return berth_err_oom(err);
    *ret = berth_steal(&export);
    return 0;
}

void berth_export_fini(struct berth_export *export)
{
    berth_strvec_fini(&export->assigned);
    *export = (struct berth_export){0};
}

#define PATTERNS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* No list has the variables that a launcher sets in each process that it starts: the
 * step has its own launcher, and the rank of another one would be wrong. */
const struct berth_capture_list berth_capture_lists[] = {
    {"identity", "POSIX, environ(7)",
     PATTERNS("HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM"), NULL},
    {"MPICH", "MPICH, README.envvar; ROMIO, README",
     PATTERNS("MPICH_*", "MPIR_CVAR_*", "MPIR_PARAM_*", "ROMIO_*"), NULL},
    {"Cray MPICH", "intro_mpi(3), intro_pmi(3)",
     PATTERNS("CRAY_*", "PMI_DEBUG", "PMI_MAX_KVS_ENTRIES", "PMI_MMAP_SYNC_WAIT_TIME",
              "PMI_NO_FORK", "PMI_NO_PREINITIALIZE"),
     NULL},
    {"Intel MPI", "Intel MPI Library Developer Reference, environment variables",
     PATTERNS("I_MPI_*"), PATTERNS("I_MPI_HYDRA_*")},
    {"MVAPICH", "MVAPICH2 User Guide, 11; MVAPICH 3 User Guide",
     PATTERNS("MV2_*", "MVP_*"), PATTERNS("MV2_COMM_WORLD_*", "MVP_COMM_WORLD_*")},
    {"Open MPI", "ompi_info(1); Open MPI documentation, MCA parameters",
     PATTERNS("MPI_HOME", "OMPI_MCA_*", "OPAL_MCA_*", "HCOLL_*", "SHARP_COLL_*",
              "UCC_*"),
     PATTERNS("OMPI_MCA_ess*", "OMPI_MCA_orte_*", "OMPI_MCA_plm_*")},
    {"UCX", "ucx_info -f", PATTERNS("UCX_*"), NULL},
    {"libfabric", "fabric(7), fi_info -e; rdma-core",
     PATTERNS("FI_*", "PSM2_*", "PSM3_*", "HFI_*", "IBV_*", "RDMAV_*", "MLX5_*"), NULL},
    {"PMIx", "pmix_info(1)", PATTERNS("PMIX_MCA_*"), NULL},
    {"Slingshot", "libcxi", PATTERNS("CXI_*"), NULL},
    {"OpenMP", "OpenMP 5.2, 21; libgomp; LLVM/OpenMP Runtimes",
     PATTERNS("OMP_*", "GOMP_*", "KMP_*"), NULL},
    {NULL, NULL, NULL, NULL},
};

/* The site's list; struct berth_capture_rules has its patterns. */
static const struct berth_capture_list site = {"environment.capture", "berth.yaml",
                                               NULL, NULL};

const char *const berth_capture_denied[] = {
    "PATH",          "LD_*",         "*TOKEN*",      "*SECRET*",
    "*PASSWORD*",    "*PASSWD*",     "*PASSPHRASE*", "*CREDENTIAL*",
    "*PRIVATE_KEY*", "*ACCESS_KEY*", "*_API_KEY*",   "*_COOKIE*",
    "*_AUTH",        NULL,
};

static bool site_matches(const struct berth_strvec *patterns, const char *name)
{
    return patterns &&
           berth_text_matches_any(name, (const char *const *)patterns->items);
}

const struct berth_capture_list *
berth_capture_find(const struct berth_capture_rules *rules, const char *name)
{
    if (berth_value_variable(name, NULL) < 0 || site_matches(rules->deny, name))
        return NULL;
    if (rules->capture && berth_strvec_has(rules->capture, name)) /* not a pattern */
        return &site;
    if (berth_text_matches_any(name, berth_capture_denied))
        return NULL;
    for (const struct berth_capture_list *list = berth_capture_lists; list->title;
         list++)
        if (berth_text_matches_any(name, list->patterns) &&
            !berth_text_matches_any(name, list->except))
            return list;
    if (site_matches(rules->capture, name))
        return &site;
    return NULL;
}

/* Appends ITEM if its name is captured and RET does not have it. Returns -1 out of
 * memory. */
static int add_captured(const struct berth_capture_rules *rules, const char *item,
                        struct berth_strvec *ret)
{
    size_t length = strcspn(item, "=");
    BERTH_FREE char *name = strndup(item, length);

    if (!name)
        return -1;
    if (item[length] == '=' && !berth_environ_value(ret->items, name) &&
        berth_capture_find(rules, name))
        berth_strvec_push(ret, item);
    return berth_err_oom_if(ret->failed, NULL);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int berth_capture_choose(const struct berth_capture_rules *rules, char *const *environ,
                         const struct berth_strvec *assigned, struct berth_strvec *ret,
                         struct berth_err *err)
{
    for (size_t i = assigned->count; i-- > 0;)
        if (add_captured(rules, assigned->items[i], ret) < 0)
            return berth_err_oom(err);
    for (; *environ; environ++)
        if (add_captured(rules, *environ, ret) < 0)
            return berth_err_oom(err);
    if (ret->count)
        qsort(ret->items, ret->count, sizeof(*ret->items), by_text);
    return 0;
}
