/* SPDX-License-Identifier: Apache-2.0 */
/* The component in the name of slurmstepd's socket. */

#include "spank/stepd.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit.h"

/* What SPANK reports: the step, and one variable of its tasks. */
static struct {
    uint32_t job;
    uint32_t step;
    const char *name; /* of the one variable */
    const char *value;
} slurm;

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
    va_list args;

    (void)spank;
    va_start(args, item);
    *va_arg(args, uint32_t *) = item == S_JOB_ID ? slurm.job : slurm.step;
    va_end(args);
    return slurm.job ? ESPANK_SUCCESS : ESPANK_ERROR;
}

spank_err_t spank_getenv(spank_t spank, const char *var, char *buf, int len)
{
    (void)spank;
    if (!slurm.name || strcmp(var, slurm.name) != 0)
        return ESPANK_ENV_NOEXIST;
    snprintf(buf, (size_t)len, "%s", slurm.value);
    return ESPANK_SUCCESS;
}

static const struct {
    const char *path;
    uint32_t job;
    uint32_t step;
    int position;
} names[] = {
    {"/var/spool/slurmd/n1_8.0.2", 8, 0, 2},
    {"/x/n1_8.0.0", 8, 0, 0},
    {"/x/n1_8.0.127", 8, 0, 127},
    {"/x_8.0.1/n1_8.0.2", 8, 0, 2},
    {"/x/a_b_c_8.0.2", 8, 0, 2},
    {"/x/n1_4294967295.4294967280.3", 4294967295U, 4294967280U, 3},
    /* a step that has no components */
    {"/x/n1_8.0", 8, 0, -1},
    {"/x/n1_8.batch", 8, 0, -1},
    {"/x/n1_8.4294967291", 8, 4294967291U, -1},
    /* another job's or step's */
    {"/x/n1_9.0.2", 8, 0, -1},
    {"/x/n1_18.0.2", 8, 0, -1},
    {"/x/n1_8.1.2", 8, 0, -1},
    {"/x/n1_8.10.2", 8, 1, -1},
    {"/x/n1_8.1", 8, 0, -1},
    /* no such name */
    {"/x/n1_8.0.", 8, 0, -1},
    {"/x/n1_8.0.x", 8, 0, -1},
    {"/x/n1_8.0.2x", 8, 0, -1},
    {"/x/n1_8.0.2.3", 8, 0, -1},
    {"/x/n1_8.0.-1", 8, 0, -1},
    {"/x/n1_8.0.128", 8, 0, -1},
    {"/x/n1_8.0.99999999999999999999", 8, 0, -1},
    {"/x_8.0.2/other", 8, 0, -1},
    {"", 8, 0, -1},
    {"/", 8, 0, -1},
};

TEST_ROWS(a_socket_name_tells_the_component, names)
{
    struct berth_stepd_place place = {.position = -1};

    berth_stepd_read(names[_i].path, names[_i].job, names[_i].step, &place);
    ck_assert_int_eq(place.position, names[_i].position);
}

/* A listening socket of this process at PATH. */
static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static const struct {
    const char *socket; /* in a directory of the test; NULL: none */
    const char *variable;
    const char *value;
    struct berth_where where;
} steps[] = {
    {NULL, NULL, NULL, {-1, -1}},
    {"n1_8.0", NULL, NULL, {-1, -1}},
    {"n1_8.0.1", NULL, NULL, {-1, 1}},
    {"n1_8.1.1", NULL, NULL, {-1, -1}},
    {"n1_8.0", "SLURM_JOB_ID_HET_GROUP_2", "8", {2, -1}},
    {"n1_8.0", "SLURM_JOB_ID_PACK_GROUP_127", "8", {127, -1}},
    {"n1_8.0", "SLURM_JOB_ID_HET_GROUP_2", "7", {-1, -1}},
    {"n1_8.0", "SLURM_JOB_ID_HET_GROUP_128", "8", {-1, -1}},
    {"n1_8.0.1", "SLURM_JOB_ID_HET_GROUP_2", "8", {-1, 1}},
};

TEST_ROWS(a_step_finds_itself, steps)
{
    struct berth_where where;
    char path[100];

    slurm.job = 8;
    slurm.step = 0;
    slurm.name = steps[_i].variable;
    slurm.value = steps[_i].value;
    if (steps[_i].socket) {
        snprintf(path, sizeof(path), "%s/%s", unit_dir, steps[_i].socket);
        listen_at(path);
    }
    where = berth_stepd_where(NULL);
    ck_assert_int_eq(where.group, steps[_i].where.group);
    ck_assert_int_eq(where.position, steps[_i].where.position);
}

TEST(a_step_without_a_number_is_nowhere)
{
    struct berth_where where;

    slurm.job = 0;
    where = berth_stepd_where(NULL);
    ck_assert_int_eq(where.group, -1);
    ck_assert_int_eq(where.position, -1);
}

static const struct {
    const char *socket;
    const char *node; /* NULL: it is not told */
} places[] = {
    {"n1_8.0", "n1"},  {"n1_8.0.3", "n1"}, {"a_b_8.0", "a_b"}, {"n1_8.1", NULL},
    {"n1_8.01", NULL}, {"_8.0", NULL},     {"n1", NULL},
};

TEST_ROWS(a_socket_name_tells_the_node, places)
{
    struct berth_stepd_place place;
    char path[100];
    bool found;
    int fd;

    snprintf(path, sizeof(path), "%s/%s", unit_dir, places[_i].socket);
    fd = listen_at(path);
    found = berth_stepd_place(8, 0, &place);
    close(fd);
    ck_assert_int_eq(found, places[_i].node != NULL);
    if (places[_i].node) {
        ck_assert_str_eq(place.directory, unit_dir);
        ck_assert_str_eq(place.node, places[_i].node);
    }
}

/* Returns how many descriptors the table of this process has room for. */
static unsigned int room(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    unsigned int size = 0;
    char line[256];

    while (!size && fgets(line, sizeof(line), file))
        sscanf(line, "FDSize: %u", &size);
    fclose(file);
    return size;
}

TEST(a_table_of_descriptors_grows_at_once)
{
    unsigned int before = room();

    berth_stepd_reserve(8);
    ck_assert_uint_eq(room(), before);
    berth_stepd_reserve(100);
    ck_assert_uint_ge(room(), 632);
    ck_assert_int_lt(fcntl(632, F_GETFD), 0); /* which is not open */
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
}
