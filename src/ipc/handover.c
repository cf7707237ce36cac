/* SPDX-License-Identifier: Apache-2.0 */
/* Hands words and an environment, byte for byte, from one process to another. */

#include "ipc/handover.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/fd.h"

/* The head of the memory; the words follow it, and then the environment. */
struct head {
    uint32_t words; /* bytes */
    uint32_t environment;
};

int berth_handover_write(const struct berth_strvec *words, char *const *environment,
                         struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};
    struct head head = {0};
    int fd;

    berth_environ_join(words->items, &text);
    head.words = (uint32_t)text.used;
    berth_environ_join(environment, &text);
    head.environment = (uint32_t)text.used - head.words;
    if (text.failed)
        return berth_err_oom(err);
    fd = berth_fd_memory("berth-handover", 0);
    if (fd >= 0 && berth_fd_write(fd, &head, sizeof(head)) == 0 &&
        berth_fd_write(fd, text.text, text.used) == 0)
        return fd;
    berth_err_spent(err, errno);
    if (fd >= 0)
        close(fd);
    return -1;
}

int berth_handover_read(int fd, struct berth_handover *ret)
{
    struct stat status = {0};
    struct head head;
    BERTH_FREE char *text = NULL;
    size_t size;

    if (fstat(fd, &status) < 0 || status.st_size < (off_t)sizeof(head) ||
        pread(fd, &head, sizeof(head), 0) != sizeof(head))
        return -1;
    size = (size_t)status.st_size - sizeof(head);
    text = malloc(size + 1);
    if (!text || size != (size_t)head.words + head.environment ||
        pread(fd, text, size, sizeof(head)) != (ssize_t)size)
        return -1;
    text[size] = '\0';
    *ret = (struct berth_handover){0};
    berth_environ_split(text, head.words, &ret->words);
    berth_environ_split(text + head.words, head.environment, &ret->environment);
    if (ret->words.failed || ret->environment.failed) {
        berth_handover_fini(ret);
        return -1;
    }
    close(fd);
    return 0;
}

void berth_handover_fini(struct berth_handover *handover)
{
    berth_strvec_fini(&handover->words);
    berth_strvec_fini(&handover->environment);
    *handover = (struct berth_handover){0};
}
