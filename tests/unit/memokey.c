/* SPDX-License-Identifier: Apache-2.0 */
/* Each thing on which the answer depends makes another key. */

#include "bind/memokey.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "unit.h"

static char *directory;
static char *image;
static struct berth_request request;
static struct berth_inside inside;
static struct berth_strvec container;
static struct berth_strvec task;
static char *command[3];

static void setup(void)
{
    directory = unit_directory();
    image = unit_path(directory, "a.sif");
    unit_write(image, "image", 5);
    command[0] = (char *)"app";
    command[1] = (char *)"-x";
    container = task = (struct berth_strvec){0};
    berth_strvec_push(&container, "PATH=/bin");
    berth_strvec_push(&container, "PMI_FD=8");
    berth_strvec_push(&container, "LD_LIBRARY_PATH=/.singularity.d/libs");
    berth_strvec_push(&task, "SLURM_JOB_ID=6");
    berth_strvec_push(&task, "SLURM_NTASKS=1");
    berth_strvec_push(&task, "SLURM_MPI_TYPE=pmi2");
    request = (struct berth_request){.image = image, .mpi = (char *)"host"};
    inside = (struct berth_inside){
        .request = &request, .command = command, .directory = "/home/alice"};
}

static void teardown(void)
{
    berth_strvec_fini(&container);
    berth_strvec_fini(&task);
    berth_strvec_fini(&request.env);
    berth_strvec_fini(&request.mounts);
    unit_remove(directory);
    free(directory);
    free(image);
}

static char *key(void)
{
    struct berth_buf text = {0};

    inside.task = task.items;
    if (!berth_memokey_write(&inside, container.items, &text)) {
        berth_buf_fini(&text);
        return NULL;
    }
    return text.text;
}

/* Set NAME=VALUE in LIST. */
static void set(struct berth_strvec *list, const char *variable)
{
    size_t length = strcspn(variable, "=") + 1;

    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i], variable, length) == 0) {
            free(list->items[i]);
            list->items[i] = strdup(variable);
            return;
        }
    berth_strvec_push(list, variable);
}

static void image_grows(void)
{
    unit_write(image, "image!", 6);
}

/* Same size, perhaps the same time. */
static void image_is_another(void)
{
    BERTH_FREE char *other = unit_path(directory, "b.sif");

    unit_write(other, "IMAGE", 5);
    ck_assert_int_eq(rename(other, image), 0);
}

static void mode_is_another(void)
{
    request.mpi = (char *)"auto";
}

static void mount_is_asked_for(void)
{
    berth_strvec_push(&request.mounts, "/a:/b:ro");
}

static void workdir_is_asked_for(void)
{
    request.workdir = (char *)"/tmp";
}

static void command_is_another(void)
{
    command[0] = (char *)"other";
}

static void directory_is_another(void)
{
    inside.directory = "/home/bob";
}

static void directory_is_gone(void)
{
    inside.directory = NULL;
}

static void there_are_other_nodes(void)
{
    inside.reach.nodes = 2;
}

static void path_is_asked_for(void)
{
    berth_strvec_push(&request.env, "PATH=/other");
}

static void library_path_is_passed(void)
{
    set(&task, "LD_LIBRARY_PATH=");
    berth_strvec_push(&request.env, "LD_LIBRARY_PATH");
}

static const struct {
    const char *of_container; /* a variable, */
    const char *of_task;
    void (*change)(void); /* or something else that changes */
    bool is_same;
} rows[] = {
    {.of_container = "PATH=/usr/bin"},
    {.of_container = "LD_LIBRARY_PATH=/opt/lib"},
    {.of_container = "LD_PRELOAD=/lib/x.so"},
    {.of_container = "LD_AUDIT=/lib/x.so"},
    {.of_container = "OTHER=1", .is_same = true},
    {.of_container = "PMI_FD=9", .is_same = true},
    {.of_container = "PMIX_NAMESPACE=a"},
    {.of_task = "SLURM_NTASKS=2"},
    {.of_task = "SLURM_MPI_TYPE=pmix"},
    {.of_task = "CRAY_MPICH_DIR=/opt/cray"},
    {.of_task = "I_MPI_ROOT=/opt/intel"},
    {.of_task = "MPICH_DIR=/opt/mpich"},
    {.of_task = "MPI_HOME=/opt/mpi"},
    {.of_task = "OPAL_PREFIX=/opt/openmpi"},
    {.of_task = "LD_LIBRARY_PATH=/opt/lib"},
    {.of_task = "SLURM_JOB_ID=7", .is_same = true},
    {.of_task = "SLURM_STEP_GPUS=0"},
    {.change = image_grows},
    {.change = image_is_another},
    {.change = mode_is_another},
    {.change = there_are_other_nodes},
    {.change = mount_is_asked_for},
    {.change = workdir_is_asked_for},
    {.change = command_is_another},
    {.change = directory_is_another},
    {.change = directory_is_gone},
    {.change = path_is_asked_for},
    {.change = library_path_is_passed},
};

START_TEST(what_counts_makes_another_key)
{
    BERTH_FREE char *before = key();
    BERTH_FREE char *after = NULL;

    ck_assert_ptr_nonnull(before);
    if (rows[_i].of_container)
        set(&container, rows[_i].of_container);
    if (rows[_i].of_task)
        set(&task, rows[_i].of_task);
    if (rows[_i].change)
        rows[_i].change();
    after = key();
    ck_assert_ptr_nonnull(after);
    ck_assert_int_eq(strcmp(before, after) == 0, rows[_i].is_same);
}
END_TEST

START_TEST(a_profile_of_the_site_makes_another_key)
{
    struct berth_profile profiles[] = {{.name = "mpich"}, {0}};
    BERTH_FREE char *before = key();
    BERTH_FREE char *own = NULL;
    BERTH_FREE char *first = NULL;
    BERTH_FREE char *second = NULL;

    inside.profiles = profiles;
    own = key();
    ck_assert_str_eq(before, own);
    profiles[0].label = "mpich:1";
    first = key();
    profiles[0].label = "mpich:2";
    second = key();
    ck_assert_str_ne(own, first);
    ck_assert_str_ne(first, second);
}
END_TEST

START_TEST(what_a_profile_does_not_go_with_counts)
{
    static const char *const names[] = {"FI_PROVIDER=tcp*", NULL};
    const struct berth_profile profiles[] = {
        {.name = "x", .label = "x:1", .conflicts.variables = names}, {0}};
    BERTH_FREE char *before = NULL;
    BERTH_FREE char *set_in_image = NULL;
    BERTH_FREE char *asked_for = NULL;

    inside.profiles = profiles;
    before = key();
    set(&container, "FI_PROVIDER=tcp");
    set_in_image = key();
    berth_strvec_push(&request.env, "FI_PROVIDER=cxi");
    asked_for = key();
    ck_assert_str_ne(before, set_in_image);
    ck_assert_str_ne(set_in_image, asked_for);
}
END_TEST

START_TEST(a_place_that_a_profile_names_counts)
{
    const struct berth_profile profiles[] = {
        {.name = "x", .label = "x:1", .prefix = directory}, {0}};
    BERTH_FREE char *before = NULL;
    BERTH_FREE char *after = NULL;
    BERTH_FREE char *place = unit_path(directory, "lib");

    inside.profiles = profiles;
    before = key();
    ck_assert_int_eq(mkdir(place, 0755), 0);
    after = key();
    ck_assert_str_ne(before, after);
}
END_TEST

START_TEST(several_tasks_are_several)
{
    BERTH_FREE char *two = NULL;
    BERTH_FREE char *many = NULL;

    set(&task, "SLURM_NTASKS=2");
    two = key();
    set(&task, "SLURM_NTASKS=200");
    many = key();
    ck_assert_str_eq(two, many);
}
END_TEST

START_TEST(a_place_that_appears_makes_another_key)
{
    BERTH_FREE char *before = NULL;
    BERTH_FREE char *after = NULL;
    BERTH_FREE char *variable = NULL;
    BERTH_FREE char *place = NULL;

    ck_assert_int_gt(asprintf(&variable, "MPICH_DIR=%s", directory), 0);
    place = unit_path(directory, "lib");
    set(&task, variable);
    before = key();
    ck_assert_int_eq(mkdir(place, 0755), 0);
    after = key();
    ck_assert_str_ne(before, after);
}
END_TEST

START_TEST(secrets_are_not_written)
{
    BERTH_FREE char *text = NULL;

    berth_strvec_push(&request.env, "TOKEN=hidden");
    set(&container, "TOKEN=hidden");
    set(&task, "TOKEN=hidden");
    command[1] = (char *)"hidden";
    text = key();
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_null(strstr(text, "hidden"));
    ck_assert_ptr_nonnull(strstr(text, "/etc/ld.so.cache="));
    ck_assert_ptr_nonnull(strstr(text, "/var/lib/berth/stage="));
    ck_assert_ptr_nonnull(strstr(text, "berth="));
}
END_TEST

START_TEST(a_directory_and_a_newline_have_no_key)
{
    if (_i == 0)
        request.image = directory;
    else if (_i == 1)
        set(&container, "PATH=/a\nb");
    else
        set(&task, "MPI_HOME=/a\nb");
    ck_assert_ptr_null(key());
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("memokey");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, what_counts_makes_another_key, 0, COUNT(rows));
    tcase_add_test(tests, a_profile_of_the_site_makes_another_key);
    tcase_add_test(tests, what_a_profile_does_not_go_with_counts);
    tcase_add_test(tests, a_place_that_a_profile_names_counts);
    tcase_add_test(tests, several_tasks_are_several);
    tcase_add_test(tests, a_place_that_appears_makes_another_key);
    tcase_add_test(tests, secrets_are_not_written);
    tcase_add_loop_test(tests, a_directory_and_a_newline_have_no_key, 0, 3);
    return unit_run("memokey", tests);
}
