/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, reads and uses abstract addresses. */

#include "ipc/address.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* Bytes before the name: the family, and the NUL that makes an address abstract. */
enum { BEFORE = offsetof(struct sockaddr_un, sun_path) + 1 };

int berth_address_make(struct berth_address *ret, const char *format, ...)
{
    struct berth_address address = {.name = {.sun_family = AF_UNIX}};
    const size_t room = sizeof(address.name.sun_path) - 1;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(address.name.sun_path + 1, room, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= room)
        return -1;
    address.length = BEFORE + (socklen_t)length;
    *ret = address;
    return 0;
}

/* The kernel has found ADDRESS of a socket; is it an abstract one? */
static int check(const struct berth_address *address)
{
    bool has_name = address->length > BEFORE && address->length < sizeof(address->name);

    if (address->name.sun_family != AF_UNIX || !has_name || *address->name.sun_path)
        return -1;
    return 0;
}

int berth_address_of(int fd, struct berth_address *ret)
{
    *ret = (struct berth_address){.length = sizeof(ret->name)};
    if (getsockname(fd, (struct sockaddr *)&ret->name, &ret->length) < 0)
        return -1;
    return check(ret);
}

int berth_address_of_peer(int fd, struct berth_address *ret)
{
    *ret = (struct berth_address){.length = sizeof(ret->name)};
    if (getpeername(fd, (struct sockaddr *)&ret->name, &ret->length) < 0)
        return -1;
    return check(ret);
}

const char *berth_address_text(const struct berth_address *address)
{
    return address->name.sun_path + 1;
}

int berth_address_bind(int fd, const struct berth_address *address)
{
    return bind(fd, (const struct sockaddr *)&address->name, address->length);
}

int berth_address_connect(int fd, const struct berth_address *address)
{
    return connect(fd, (const struct sockaddr *)&address->name, address->length);
}
