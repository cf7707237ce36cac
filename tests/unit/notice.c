/* SPDX-License-Identifier: Apache-2.0 */
/* What a node prints about the MPI that berth has chosen. */

#include "run/notice.h"

#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

#define GLIBC                                                                          \
    "the host's MPICH 4.2.1 brings the host's C library with it, because the image's " \
    "is older"
#define OTHER "Open MPI 4.1.4 stays the image's"

static const struct {
    const char *note, *choice;
    bool is_verbose;
    const char *printed;
    bool is_one_file; /* standard output and error */
} notes[] = {
    {OTHER, NULL, false, "berth: n1: note: " OTHER "\n", false},
    {OTHER, OTHER, false, "berth: n1: note: " OTHER "\n", false},
    {GLIBC, "", false, "", false},
    {GLIBC, "", true, "berth: n1: note: " GLIBC "\n", false},
    {OTHER "; " GLIBC, OTHER, false, "berth: n1: note: " OTHER "\n", false},
    {OTHER "; " GLIBC, OTHER, true, "berth: n1: note: " OTHER "; " GLIBC "\n", false},
    {OTHER, OTHER, false, "", true},
    {GLIBC, "", true, "", true},
};

TEST_ROWS(a_note_of_auto, notes)
{
    static char mode[] = "auto", image[] = "/a.sif", debug[] = "SRUN_DEBUG=4",
                node[] = "n1";
    char *environment[] = {notes[_i].is_verbose ? debug : NULL, NULL};
    struct berth_rendezvous rendezvous;
    struct berth_task task = {.order = BERTH_ORDER_EMPTY,
                              .launch = {.node = node, .environment = environment},
                              .binding = {.note = (char *)notes[_i].note,
                                          .choice = (char *)notes[_i].choice}};
    char printed[512] = "";
    int ends[2], stderr_was = dup(STDERR_FILENO);

    task.order.request.image = image;
    task.order.request.mpi = mode;
    task.order.step.prints_step = true;
    task.order.step.is_one_file = notes[_i].is_one_file;
    ck_assert_int_eq(berth_rendezvous_make(&rendezvous, 1, NULL), 0);
    ck_assert_int_eq(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    berth_notice_print(&task, &rendezvous, NULL);
    dup2(stderr_was, STDERR_FILENO);
    close(ends[1]);
    ck_assert_int_ge(read(ends[0], printed, sizeof(printed) - 1), 0);
    if (notes[_i].is_verbose &&
        *notes[_i].printed) /* how many containers there are comes next */
        *(strchr(printed, '\n') + 1) = '\0';
    ck_assert_str_eq(printed, notes[_i].printed);
}
