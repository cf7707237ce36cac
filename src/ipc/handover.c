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
    if (fd < 0)
        return berth_err_spent(err, errno);
    if (berth_fd_write(fd, &head, sizeof(head)) == 0 &&
        berth_fd_write(fd, text.text, text.used) == 0)
        return fd;
    berth_err_spent(err, errno);
    close(fd);
    return -1;
}

/* Read the COUNT bytes at OFFSET of FD. Returns 0, or -1: it has fewer. */
static int read_exactly(int fd, void *bytes, size_t count, off_t offset)
{
    if (pread(fd, bytes, count, offset) != (ssize_t)count)
        return -1;
    return 0;
}

/* Split the TEXT after HEAD into *RET. */
static int split(const struct head *head, const char *text, struct berth_handover *ret)
{
    *ret = (struct berth_handover){0};
    berth_environ_split(text, head->words, &ret->words);
    berth_environ_split(text + head->words, head->environment, &ret->environment);
    if (!ret->words.failed && !ret->environment.failed)
        return 0;
    berth_handover_fini(ret);
    return -1;
}

int berth_handover_read(int fd, struct berth_handover *ret)
{
    struct stat status = {0};
    struct head head;
    BERTH_FREE char *text = NULL;
    size_t size;

    if (fstat(fd, &status) < 0 || status.st_size < (off_t)sizeof(head))
        return -1;
    if (read_exactly(fd, &head, sizeof(head), 0) < 0)
        return -1;
    size = (size_t)status.st_size - sizeof(head);
    if (size != (size_t)head.words + head.environment)
        return -1;

    text = malloc(size + 1);
    if (!text || read_exactly(fd, text, size, sizeof(head)) < 0)
        return -1;
    text[size] = '\0';
    if (split(&head, text, ret) < 0)
        return -1;
    close(fd);
    return 0;
}

void berth_handover_fini(struct berth_handover *handover)
{
    berth_strvec_fini(&handover->words);
    berth_strvec_fini(&handover->environment);
    *handover = (struct berth_handover){0};
}
