/* SPDX-License-Identifier: Apache-2.0 */
/* Which variables go along, by whose list, and which never do. */

#include "request/capture.h"

#include "base/cleanup.h"
#include "unit.h"

static void add(struct berth_strvec *list, const char *words)
{
    BERTH_FREE char *copy = strdup(words);
    char *next = copy;
    char *word;

    while ((word = strsep(&next, " ")))
        if (*word)
            berth_strvec_push(list, word);
}

/* Names on each built-in list. */
static const struct {
    const char *title; /* of the list; NULL: of none */
    const char *names;
} listed[] = {
    {"identity", "HOME LANG"},
    {"MPICH", "MPICH_OFI_NIC_POLICY MPIR_CVAR_CH4_NETMOD ROMIO_HINTS"},
    {"Cray MPICH", "CRAY_MPICH_DIR CRAY_OMP_CHECK_AFFINITY PMI_MMAP_SYNC_WAIT_TIME"},
    {"Intel MPI", "I_MPI_FABRICS I_MPI_PMI_LIBRARY"},
    {"MVAPICH", "MV2_ENABLE_AFFINITY MVP_USE_CUDA"},
    {"Open MPI", "OMPI_MCA_btl"},
    {"UCX", "UCX_TLS UCX_"},
    {"libfabric", "FI_PROVIDER FI_CXI_RX_MATCH_MODE PSM2_CUDA"},
    {"PMIx", "PMIX_MCA_gds"},
    {"Slingshot", "CXI_FORK_SAFE"},
    {"OpenMP", "OMP_NUM_THREADS KMP_AFFINITY GOMP_CPU_AFFINITY"},
    /* Of a launcher for its own processes, or almost a name on a list. */
    {NULL, "LC_ALL MPICH XMPICH_A mpich_a PMI_FD PMI_RANK PMI_SHARED_SECRET "
           "PALS_RANKID I_MPI_HYDRA_BOOTSTRAP MV2_COMM_WORLD_RANK "
           "OMPI_MCA_ess_base_jobid OMPI_MCA_orte_hnp_uri "
           "OMPI_MCA_plm_slurm_args OMPI_COMM_WORLD_RANK OPAL_PREFIX PMIX_RANK "
           "PMIX_NAMESPACE SLINGSHOT_VNIS"},
    /* The image's own, and secrets. */
    {NULL, "PATH LD_LIBRARY_PATH LD_PRELOAD UCX_TOKEN FI_CLIENT_SECRET "
           "CRAY_PASSWORD_FILE CRAY_API_KEY OMP_AUTH AWS_SECRET_ACCESS_KEY"},
};

TEST_ROWS(a_name_is_on_a_list_or_not, listed)
{
    BERTH_STRVEC struct berth_strvec names = {0};
    const struct berth_capture_rules rules = {0};

    add(&names, listed[_i].names);
    for (size_t i = 0; i < names.count; i++) {
        const struct berth_capture_list *list =
            berth_capture_find(&rules, names.items[i]);

        ck_assert_msg(!list == !listed[_i].title, "%s", names.items[i]);
        ck_assert_pstr_eq(list ? list->title : NULL, listed[_i].title);
    }
}

/* What a site says of names. */
static const struct {
    const char *name;
    const char *title; /* of the list; NULL: not captured */
    const char *capture;
    const char *deny;
} names[] = {
    {"MODEL_RUN", NULL, "", ""},
    {"MODEL_RUN", "environment.capture", "MODEL_*", ""},
    {"MODEL_RUN", "environment.capture", "A_* *_RUN", ""},
    {"MODEL_RUN", "environment.capture", "M*L_*U*", ""},
    {"MODEL_RUN", NULL, "M*L_*UX*", ""},
    {"MODEL_RUN", "environment.capture", "*", ""},
    {"MODEL_RUN", NULL, "*", "MODEL_RUN"},
    {"MODEL_RUN", NULL, "MODEL_RUN", "MODEL_*"},
    {"UCX_TLS", "UCX", "*", ""},
    {"UCX_TLS", NULL, "", "UCX_*"},
    {"UCX_TLS", NULL, "", "*"},
    {"LD_PRELOAD", NULL, "*", ""},
    {"LD_PRELOAD", NULL, "LD_*", ""},
    {"LD_PRELOAD", "environment.capture", "LD_PRELOAD", ""},
    {"LD_PRELOAD", NULL, "LD_PRELOAD", "LD_PRELOAD"},
    {"MODEL_TOKEN", NULL, "MODEL_*", ""},
    {"MODEL_TOKEN", "environment.capture", "MODEL_* MODEL_TOKEN", ""},
    /* No names of variables. */
    {"", NULL, "*", ""},
    {"BASH_FUNC_f%%", NULL, "*", ""},
    {"1A", NULL, "*", ""},
    {"A.B", NULL, "*", ""},
    {"\303\274", NULL, "*", ""},
};

TEST_ROWS(a_site_captures_and_denies, names)
{
    BERTH_STRVEC struct berth_strvec capture = {0};
    BERTH_STRVEC struct berth_strvec deny = {0};
    struct berth_capture_rules rules = {&capture, &deny};
    const struct berth_capture_list *list;

    add(&capture, names[_i].capture);
    add(&deny, names[_i].deny);
    list = berth_capture_find(&rules, names[_i].name);
    ck_assert_msg(!list == !names[_i].title, "%s", names[_i].name);
    ck_assert_pstr_eq(list ? list->title : NULL, names[_i].title);
}

TEST(every_list_says_whose_word_it_is)
{
    for (const struct berth_capture_list *list = berth_capture_lists; list->title;
         list++) {
        ck_assert_str_ne(list->source, "");
        ck_assert_ptr_nonnull(list->patterns[0]);
    }
}

TEST(a_pattern_of_many_stars_takes_no_time)
{
    BERTH_STRVEC struct berth_strvec capture = {0};
    struct berth_capture_rules rules = {&capture, NULL};
    char name[20001];

    memset(name, 'A', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    add(&capture, "*A*A*A*A*A*A*A*A*A*A*A*A*B");
    ck_assert_ptr_null(berth_capture_find(&rules, name));
}

TEST(variables_are_chosen_byte_by_byte)
{
    char *environment[] = {(char *)"EDITOR=vi",
                           (char *)"UCX_TLS=rc,sm",
                           (char *)"HOME=/home/a",
                           (char *)"UCX_TOKEN=x",
                           (char *)"FI_LINES=one\n\ntwo=2\n",
                           (char *)"FI_BYTES=\001\377\303\274",
                           (char *)"OMP_EMPTY=",
                           (char *)"UCX_NO_VALUE",
                           (char *)"=UCX_A",
                           NULL};
    struct berth_capture_rules rules = {0};
    BERTH_STRVEC struct berth_strvec assigned = {0};
    BERTH_STRVEC struct berth_strvec chosen = {0};
    static const char *const expected[] = {"FI_BYTES=\001\377\303\274",
                                           "FI_LINES=one\n\ntwo=2\n",
                                           "HOME=/home/a",
                                           "OMP_EMPTY=",
                                           "OMP_NEW=1",
                                           "UCX_TLS=tcp"};
    struct berth_err err;

    add(&assigned, "UCX_TLS=self EDITOR=ed OMP_NEW=1 LD_PRELOAD=/x UCX_TLS=tcp");
    ck_assert_int_eq(
        berth_capture_choose(&rules, environment, &assigned, &chosen, &err), 0);
    ck_assert_uint_eq(chosen.count, COUNT(expected));
    for (size_t i = 0; i < chosen.count; i++)
        ck_assert_str_eq(chosen.items[i], expected[i]);
}
