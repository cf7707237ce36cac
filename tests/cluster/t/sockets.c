/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile program in an image, for sockets.t. Linked statically: the image may have
 * no libc. The protocols are those of src/run/taskserver.h, src/job/protocol.h and
 * src/inside/hostcommand.h.
 *
 * sockets list: ask each abstract socket that listens, and each that a path leads to,
 * all that a server of berth answers; print a line for each: what it has answered.
 *
 * sockets steps HOST VERSION: take the name of the task server of each step that begins
 * (as src/run/taskclient.c makes it), and print what is sent there. HOST are the inodes
 * of the host's user, process and mount namespaces: USER,PID,MNT.
 *
 * sockets pids HOST VERSION FIRST COUNT: the same with the names of COUNT processes
 * outside of a step, from number FIRST on, at which berth once met itself.
 *
 * sockets take NAME: the same with an abstract name.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { FDS = 4, ANSWER_MS = 2000 };

struct got {
    long bytes;
    int descriptors;
};

static int connect_to(int type, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    int fd = socket(AF_UNIX, type, 0);

    memcpy(address.sun_path, name, length);
    if (*name == '@')
        address.sun_path[0] = '\0';
    else
        length++;
    /* a client without a name might be one that is not asked who it is */
    bind(fd, (struct sockaddr *)&address, sizeof(sa_family_t));
    if (connect(fd, (struct sockaddr *)&address,
                (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) == 0)
        return fd;
    close(fd);
    return -1;
}

static void send_with(int fd, const void *bytes, size_t count, const int *fds,
                      int fd_count)
{
    char control[CMSG_SPACE(FDS * sizeof(int))] = {0};
    struct iovec data = {(void *)bytes, count};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};

    if (fd_count > 0) {
        struct cmsghdr *part;

        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE((size_t)fd_count * sizeof(int));
        part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN((size_t)fd_count * sizeof(int));
        memcpy(CMSG_DATA(part), fds, (size_t)fd_count * sizeof(int));
    }
    sendmsg(fd, &message, MSG_NOSIGNAL);
}

/* Read until the other side closes, or is silent. */
static void read_all(int fd, int milliseconds, struct got *ret)
{
    char bytes[65536], control[CMSG_SPACE(64 * sizeof(int))];

    while (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, milliseconds) > 0) {
        struct iovec data = {bytes, sizeof(bytes)};
        struct msghdr message = {.msg_iov = &data,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof(control)};
        ssize_t count = recvmsg(fd, &message, 0);
        struct cmsghdr *part = count > 0 ? CMSG_FIRSTHDR(&message) : NULL;

        if (count <= 0)
            return;
        ret->bytes += count;
        if (part && part->cmsg_type == SCM_RIGHTS)
            ret->descriptors += (int)((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    }
}

/* A sealed handover (src/ipc/handover.h): FIVE words and no environment. */
static int make_handover(void)
{
    const char words[] = "one\0two\0/\0four\0any";
    const uint32_t head[2] = {sizeof(words), 0};
    int fd = memfd_create("handover", MFD_ALLOW_SEALING);

    if (write(fd, head, sizeof(head)) < 0 || write(fd, words, sizeof(words)) < 0)
        return -1;
    return fd;
}

/* Ask as a task of berth run, as a step of a job, and as srun in a container. */
static struct got ask(int type, const char *name)
{
    const struct {
        uint64_t key;
        unsigned int rank;
    } question = {42, 1000};
    char task[1 + sizeof(question)] = "A";
    const int handover = make_handover();
    const int step[] = {handover, open("/proc/self/ns/user", O_RDONLY),
                        open("/proc/self/ns/mnt", O_RDONLY)};
    const int command[] = {0, 1, 2, handover};
    struct got got = {0};
    int fd = connect_to(type, name);

    if (fd < 0)
        return (struct got){.bytes = -1};
    memcpy(task + 1, &question, sizeof(question));
    send_with(fd, task, sizeof(task), (const int[]){2}, 1);
    read_all(fd, ANSWER_MS, &got);
    close(fd);

    fd = connect_to(type, name);
    send_with(fd, "A", 1, step, 3);
    read_all(fd, ANSWER_MS, &got);
    close(fd);

    fd = connect_to(type, name);
    send_with(fd, "R", 1, command, 4);
    read_all(fd, ANSWER_MS, &got);
    close(fd);
    return got;
}

/* A file of the image or of a mount: ask it if it is a socket. */
static int ask_path(const char *path, const struct stat *status, int kind,
                    struct FTW *place)
{
    (void)kind;
    (void)place;
    if (S_ISSOCK(status->st_mode) && strlen(path) < 108) {
        struct got got = ask(SOCK_SEQPACKET, path);

        if (got.bytes < 0)
            got = ask(SOCK_STREAM, path);
        printf("%s: %ld bytes, %d descriptors\n", path, got.bytes, got.descriptors);
    }
    return strcmp(path, "/proc") == 0 || strcmp(path, "/sys") == 0 ? FTW_SKIP_SUBTREE
                                                                   : FTW_CONTINUE;
}

static int list(void)
{
    FILE *file = fopen("/proc/net/unix", "re");
    char line[512], name[256];
    unsigned int flags, type;

    while (file && fgets(line, sizeof(line), file)) {
        struct got got;

        if (sscanf(line, "%*[^:]: %*x %*x %x %x %*x %*u %255[^\n]", &flags, &type,
                   name) != 3)
            continue;
        if (!(flags & 0x10000))
            continue;
        if (*name != '@')
            continue; /* a path on the host */
        got = ask((int)type, name);
        printf("%s: %ld bytes, %d descriptors\n", name, got.bytes, got.descriptors);
    }
    nftw("/", ask_path, 32, FTW_PHYS | FTW_ACTIONRETVAL);
    puts("listed");
    return EXIT_SUCCESS;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t count)
{
    for (const unsigned char *at = bytes; count--; at++)
        hash = (hash ^ *at) * UINT64_C(1099511628211);
    return hash;
}

static int take(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

    memcpy(address.sun_path + 1, name, length);
    if (bind(fd, (struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) == 0 &&
        listen(fd, 99) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Take the name of the task server of the slurmstepd PID (outside of a step: of the
 * process PID). */
static int take_step(const char *step, const char *host, const char *version, int pid)
{
    uint64_t hash = mix(UINT64_C(14695981039346656037), &pid, sizeof(pid));
    unsigned long inodes[3];
    char name[108];

    sscanf(host, "%lu,%lu,%lu", &inodes[0], &inodes[1], &inodes[2]);
    for (int i = 0; i < 3; i++)
        hash = mix(hash, &inodes[i], sizeof(inodes[i]));
    hash = mix(hash, version, strlen(version) + 1);
    snprintf(name, sizeof(name), "berth/%u/%s/%jx", geteuid(), step, (uintmax_t)hash);
    return take(name);
}

/* Print what is sent to LISTENER. */
static void serve(int listener)
{
    int fd = accept(listener, NULL, NULL);
    struct got got = {0};

    read_all(fd, ANSWER_MS, &got);
    printf("a task has come, and has sent %ld bytes, %d descriptors\n", got.bytes,
           got.descriptors);
    close(fd);
}

/* Wait for steps that begin, and take the name of each. */
static void wait_for_steps(const char *host, const char *version)
{
    static char is_known[1 << 22];
    struct pollfd listeners[64];
    nfds_t count = 0;

    for (int round = 0;; round++) {
        DIR *directory = opendir("/proc");
        struct dirent *entry;

        while ((entry = readdir(directory))) {
            int pid = atoi(entry->d_name);
            char path[64], line[64] = "", step[32];
            unsigned int job, number;
            int fd;

            if (pid <= 0 || is_known[pid & 0x3fffff])
                continue;
            snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
            fd = open(path, O_RDONLY | O_CLOEXEC);
            if (fd < 0)
                continue;
            if (read(fd, line, sizeof(line) - 1) > 0 &&
                sscanf(line, "slurmstepd: [%u.%u]", &job, &number) == 2) {
                is_known[pid & 0x3fffff] = 1;
                snprintf(step, sizeof(step), "%u.%u", job, number);
                listeners[count] = (struct pollfd){
                    .fd = round ? take_step(step, host, version, pid) : -1,
                    .events = POLLIN};
                if (listeners[count].fd >= 0) {
                    printf("has the name of step %s\n", step);
                    count = (count + 1) % 64;
                }
            }
            close(fd);
        }
        closedir(directory);
        if (round == 0)
            puts("ready");
        if (poll(listeners, count, 5) > 0)
            for (nfds_t i = 0; i < count; i++)
                if (listeners[i].revents)
                    serve(listeners[i].fd);
    }
}

static void wait_for_pids(const char *host, const char *version, int first, int count)
{
    struct pollfd *listeners = calloc((size_t)count, sizeof(*listeners));
    struct rlimit files;
    int used = 0;

    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    for (int i = 0; i < count; i++) {
        int fd = take_step("0.0", host, version, first + i);

        if (fd >= 0)
            listeners[used++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    puts(used > 0 ? "ready" : "has no name");
    while (poll(listeners, (nfds_t)used, -1) > 0)
        for (int i = 0; i < used; i++)
            if (listeners[i].revents)
                serve(listeners[i].fd);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc == 2 && strcmp(argv[1], "list") == 0)
        return list();
    if (argc == 3 && strcmp(argv[1], "take") == 0) {
        int fd = take(argv[2]);

        puts(fd >= 0 ? "ready" : "somebody else has it");
        while (fd >= 0)
            serve(fd);
    }
    if (argc == 4 && strcmp(argv[1], "steps") == 0)
        wait_for_steps(argv[2], argv[3]);
    if (argc == 6 && strcmp(argv[1], "pids") == 0)
        wait_for_pids(argv[2], argv[3], atoi(argv[4]), atoi(argv[5]));
    return EXIT_FAILURE;
}
