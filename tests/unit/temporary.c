/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary container that does not start. */

#include "container/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit.h"

/* Instead of the C library's: as where no descriptor is left. */
static bool lacks_memory, lacks_socket;

int memfd_create(const char *name, unsigned int flags);
int memfd_create(const char *name, unsigned int flags)
{
    errno = EMFILE;
    return lacks_memory ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
    errno = EMFILE;
    return lacks_socket ? -1
                        : (int)syscall(SYS_socketpair, domain, type, protocol, ends);
}

/* The runtime ends at once. */
TEST(a_start_that_fails_closes_only_its_own_descriptors)
{
    struct berth_err err;

    ck_assert_int_eq(dup2(open("/dev/null", O_RDONLY), STDIN_FILENO), STDIN_FILENO);
    ck_assert_int_eq(berth_temporary_enter("/bin/false", "/", NULL, 10, &err), -1);
    ck_assert_int_eq(fcntl(STDIN_FILENO, F_GETFD), 0);
}

TEST_TIMES(a_start_without_descriptors_says_what_it_lacks, 2)
{
    struct berth_err err;

    lacks_memory = _i == 0;
    lacks_socket = _i == 1;
    ck_assert_int_eq(berth_temporary_enter("/bin/false", "/", NULL, 10, &err), -1);
    ck_assert_str_eq(err.text, LIMITED("Too many open files", "-n"));
}
