/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the file system of a container that runs to a new image. */

#include "cli/container.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/installed.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/run.h"
#include "base/strvec.h"
#include "base/text.h"
#include "base/tree.h"
#include "cli/host.h"
#include "cli/squash.h"
#include "container/join.h"
#include "container/namespaces.h"
#include "container/program.h"
#include "container/runtime.h"
#include "image/compression.h"
#include "image/image.h"
#include "ipc/message.h"
#include "job/protocol.h"
#include "plan/launch.h"

#ifndef SYS_open_tree
#define SYS_open_tree 428 /* Linux 5.2, the same number everywhere */
#endif
#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif

extern char **environ;

/* Not in each directory that is an image. */
#define SCRIPTS     ".singularity.d"
#define LABELS_NAME "labels.json"
#define LABELS      SCRIPTS "/" LABELS_NAME

/* In a directory beside the file. */
#define SQUASH "squashfs"
#define SIF    "sif"

/* Return a descriptor of the root file system of CONTAINER alone; -1 with a sentence in
 * ERR. */
static int copy_root(const struct berth_container *container, struct berth_err *err)
{
    const struct berth_holder holder = {container->holder, container->mounts};
    int root = -1;

    if (berth_join_owner(holder, err) < 0)
        return -1;
    /* Apptainer makes the root unbindable. In a copy of the mounts it need not be so.
     */
    if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_PRIVATE, NULL) == 0)
        root = (int)syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE);
    if (root < 0)
        berth_err_file(err, "/", "read");
    return root;
}

/* In a child: hold the root file system of a container alone, which ends with its last
 * descriptor, send it over the socket END after why that fails (""), and stay. Nobody
 * could open the descriptor in this process (container/join.h). */
static int hold(int end, void *data)
{
    struct berth_err why = {0};
    int root = copy_root(data, &why);

    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a new user namespace clears it */
    if (berth_fd_write(end, &why, sizeof(why)) < 0 || root < 0)
        return EXIT_FAILURE;
    if (berth_message_send_fd(end, BERTH_JOB_JOIN, root) == 0)
        pause();
    return EXIT_FAILURE;
}

/* In a user namespace of the user: let programs read files of the user without
 * permission to read, as its owner could permit. A program with that capability cannot
 * be traced by one of the image, which has none (ptrace(2)). Returns 0, or -1 with
 * errno. */
static int permit_reading(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, data) < 0)
        return -1;
    data[0].inheritable |= 1U << CAP_DAC_READ_SEARCH;
    if (syscall(SYS_capset, &header, data) < 0)
        return -1;
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0);
}

/* Receive from hold() the descriptor of the file system. Returns 0, or -1 with a
 * sentence in ERR: why hold() has none, or that it has ended. */
static int receive_root(int channel, int *ret_root, struct berth_err *err)
{
    struct pollfd answer = {.fd = channel, .events = POLLIN};

    if (read(channel, err, sizeof(*err)) != sizeof(*err))
        return berth_err_set(err, BERTH_JOIN_DEAD);
    if (*err->text)
        return -1;
    poll(&answer, 1, -1);
    if (berth_message_receive_fd(channel, ret_root) != BERTH_JOB_JOIN || *ret_root < 0)
        return berth_err_set(err, BERTH_JOIN_DEAD);
    return 0;
}

/* Start that child, and enter its user namespace, to which a FUSE file system answers.
 * Returns its number, with a descriptor of the file system, which stays open through
 * exec, in *RET_ROOT; -1 with a sentence in ERR. */
static pid_t start_holding(const struct berth_container *container, int *ret_root,
                           struct berth_err *err)
{
    struct berth_holder holder = {container->holder, container->mounts};
    BERTH_CLOSE int root = -1;
    int channel;
    pid_t child = berth_child_with_channel(hold, (void *)container, SIGKILL, &channel);

    if (child < 0)
        return berth_err_spent(err, errno);
    if (receive_root(channel, &root, err) == 0) {
        if (berth_join_owner_user(holder) == 0 && permit_reading() == 0) {
            close(channel);
            *ret_root = dup(root); /* not closed on exec */
            return child;
        }
        berth_err_file(err, "/", "read");
    }
    close(channel);
    kill(child, SIGKILL);
    berth_run_wait(child);
    return -1;
}

/* Open that directory of the image. ROOT is the container's, as this process reaches
 * it: a link of the image would lead to a file of the host, so none is followed.
 * Returns a descriptor, or -1 with errno. */
static int open_scripts(const char *root)
{
    BERTH_FREE char *path = NULL;

    if (asprintf(&path, "%s/" SCRIPTS, root) < 0) {
        path = NULL;
        return -1;
    }
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Read the labels of the image into RET; "": it has none. Returns 0, or -1 with errno.
 */
static int read_labels(const char *root, struct berth_buf *ret)
{
    enum { MOST = 1 << 20 };
    BERTH_CLOSE int scripts = open_scripts(root);
    BERTH_CLOSE int file = -1;
    struct stat st;

    if (scripts >= 0)
        file = openat(scripts, LABELS_NAME,
                      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) {
        bool has_none = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;

        return has_none ? 0 : -1;
    }
    if (fstat(file, &st) < 0)
        return -1;
    return S_ISREG(st.st_mode) ? berth_fd_read(file, MOST, ret) : 0;
}

/* Open memory with the labels of ROOT and one of ours. Returns a descriptor, which
 * stays open through exec; -1 with a sentence in ERR. */
static int make_labels(const struct berth_container *container, const char *root,
                       struct berth_err *err)
{
    BERTH_FREE char *from = NULL;
    BERTH_BUF struct berth_buf labels = {0};
    BERTH_JSON struct berth_json ours = {0};
    const char *end;
    int fd;

    if (asprintf(&from, "%s, by job %u on %s", container->image, container->job,
                 container->node) < 0) {
        from = NULL;
        return berth_err_oom(err);
    }
    if (read_labels(root, &labels) < 0)
        return berth_err_file(err, "/" LABELS, "read");
    berth_json_object(&ours, NULL);
    berth_json_string(&ours, "berth.saved-from", from);
    berth_json_end(&ours);
    end = labels.used ? strrchr(labels.text, '}') : NULL;
    /* Of two members with the same name the last one counts. */
    labels.used = end && strchr(labels.text, ':') ? (size_t)(end - labels.text) : 0;
    berth_buf_addf(&labels, "%s%s", labels.used ? "," : "{", ours.text.text + 1);
    fd = labels.failed || ours.text.failed ? -1 : berth_fd_memory("labels", 0);
    if (fd < 0 || berth_fd_write(fd, labels.text, labels.used) < 0)
        return berth_err_spent(err, errno);
    return fd;
}

/* One image that is made. */
struct making {
    const struct berth_container *container;
    const char *root;      /* of the container, as this process reaches it */
    const char *directory; /* of our own, beside the file */
    const char *file;      /* as the user spells it */
    char *squash;          /* the packed file system, by descriptor */
    char *sif;      /* the image around it, by descriptor; not for a squashfs file
                     */
    bool is_squash; /* the file is a squashfs file */
    struct berth_squash *variables; /* of the image, for a squashfs file */
    struct berth_progress progress;
    bool is_silent; /* the caller says that it is made */
    off_t bytes;    /* of the image, once it is made */
};

/* The file that becomes the image. */
static const char *made(const struct making *making)
{
    return making->is_squash ? making->squash : making->sif;
}

static void free_making(struct making *making)
{
    free(making->squash);
    free(making->sif);
}

#define MAKING __attribute__((cleanup(free_making)))

static void say(const char *sentence)
{
    fprintf(stderr, "berth: %s\n", sentence);
}

/* Elsewhere than on a terminal, nothing announces a save, which is short as a rule. */
static void say_nothing(const char *sentence)
{
    (void)sentence;
}

/* Show how much of the file system is packed. */
static void show(void *data)
{
    struct making *making = data;
    char detail[64] = "";
    struct stat st;

    if (stat(making->squash, &st) == 0 && st.st_size >= 1000000)
        snprintf(detail, sizeof(detail), "%lld MB", (long long)st.st_size / 1000000);
    berth_progress_show(&making->progress, detail);
}

/* Run ARGV, which makes a part of the file. */
static int run(struct making *making, const struct berth_strvec *argv,
               struct berth_err *err)
{
    enum { SECONDS = 30 * 24 * 3600, MOST = 1 << 16 };
    const struct berth_run program = {.argv = (const char *const *)argv->items,
                                      .env = (const char *const *)environ,
                                      .seconds = SECONDS,
                                      .most = MOST,
                                      .tick = show,
                                      .data = making,
                                      .gets_signals = true};
    BERTH_RAN struct berth_ran ran = {0};

    if (argv->failed)
        return berth_err_oom(err);
    if (berth_run(&program, &ran, err) < 0)
        return -1;
    if (ran.status == 0)
        return 0;
    return berth_err_set(err, "'%s': %s did not write it: %s", making->file,
                         berth_text_base(argv->items[0]),
                         ran.err.used ? berth_ran_last_line(&ran) : "it was ended");
}

/* Does the runtime of the container read a script of ours for the image's variables:
 * is the image a squashfs file? */
static bool has_reader(const struct berth_container *container)
{
    enum { LARGEST = 4 << 20 };
    BERTH_BUF struct berth_buf mounts = {0};
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/mountinfo", container->holder);
    return berth_fd_read_path(path, LARGEST, &mounts) == 0 && mounts.used &&
           !mounts.failed && strstr(mounts.text, " " BERTH_LAUNCH_READER_PLACE " ");
}

/* Give an image that was a squashfs file the scripts of a SIF file: READER (a
 * descriptor) sets the variables in /etc/environment, and the runscript starts the
 * entry point /etc/rc. The runtime needs a file of that name (99-base.sh) to set the
 * variables that its user gives it. The place of the container's reader is left out. */
static void push_scripts(int reader, struct berth_strvec *argv)
{
    static const char *const directories[] = {SCRIPTS, SCRIPTS "/env"};

    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
        berth_strvec_push(argv, "-p");
        berth_strvec_pushf(argv, "%s d 755 0 0", directories[i]);
    }
    berth_strvec_push(argv, "-p");
    berth_strvec_pushf(argv, SCRIPTS "/env/99-base.sh f 644 0 0 cat /proc/self/fd/%d",
                       reader);
    berth_strvec_push(argv, "-p");
    berth_strvec_push(argv, SCRIPTS "/runscript f 755 0 0 "
                                    "printf '#!/bin/sh\\nexec /bin/sh " BERTH_LAUNCH_RC
                                    " \"$@\"\\n'");
    berth_strvec_push(argv, "-e");
    berth_strvec_push(argv, BERTH_LAUNCH_READER_PLACE + 1); /* from the root */
}

/* Replace the labels of the image by the text in the descriptor LABELS, if the image
 * has a place for them. READER is that of push_scripts(), which makes the place; -1:
 * none. */
static void push_labels(const struct making *making, int reader, int labels,
                        struct berth_strvec *argv)
{
    BERTH_CLOSE int scripts = open_scripts(making->root);

    if (scripts < 0 && reader >= 0)
        push_scripts(reader, argv);
    else if (scripts < 0)
        return;
    berth_strvec_push(argv, "-p");
    berth_strvec_pushf(argv, LABELS " f 644 0 0 cat /proc/self/fd/%d", labels);
    if (scripts < 0)
        return;
    berth_strvec_push(argv, "-e");
    berth_strvec_push(argv, LABELS);
}

/* Add the files that a squashfs file has instead of the scripts of a SIF file. */
static int push_squash(const struct making *making, int reader,
                       struct berth_strvec *argv, struct berth_err *err)
{
    BERTH_CLOSE int scripts = open_scripts(making->root);

    if (reader >= 0 && !making->variables->has_scripts) {
        berth_strvec_push(argv, "-e");
        berth_strvec_push(argv, BERTH_LAUNCH_READER_PLACE + 1); /* from the root */
    }
    return berth_squash_push(making->variables, scripts, argv, err);
}

/* Pack the root into a squashfs file. */
static int pack(struct making *making, const struct berth_site *site,
                const char *runtime, int labels, struct berth_err *err)
{
    BERTH_FREE char *mksquashfs = berth_compression_program(runtime);
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_CLOSE int reader = -1;
    struct berth_err note;
    const char *chosen;

    if (has_reader(making->container)) {
        reader =
            open(berth_installed(BERTH_IMAGE_READER), O_RDONLY); /* for mksquashfs */
        if (reader < 0)
            return berth_program_missing(berth_installed(BERTH_IMAGE_READER), err);
    }
    if (!mksquashfs)
        return berth_err_set(err, "mksquashfs is not on this node; ask the "
                                  "administrators to install squashfs-tools");
    if (berth_compression_choose(site, runtime, mksquashfs, &chosen, &note) < 0)
        return berth_err_set(err, "'%s': mksquashfs was ended", making->file);
    if (*note.text)
        say(note.text);
    berth_strvec_push(&argv, mksquashfs);
    berth_strvec_push(&argv, making->root);
    berth_strvec_push(&argv, making->squash);
    /* A file that cannot be read would be empty without -exit-on-error. */
    berth_strvec_split(&argv,
                       "-noappend,-no-progress,-no-xattrs,-all-root,-exit-on-error");
    berth_compression_arguments(chosen, &argv);
    if (!making->is_squash)
        push_labels(making, reader, labels, &argv);
    else if (push_squash(making, reader, &argv, err) < 0)
        return -1;
    return run(making, &argv, err);
}

/* Put the squashfs file into a SIF file, as its root file system. */
static int wrap(struct making *making, const char *runtime, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec begin = {0}, add = {0};

    berth_strvec_push(&begin, runtime);
    berth_strvec_split(&begin, "sif,new");
    berth_strvec_push(&begin, making->sif);

    berth_strvec_push(&add, runtime);
    berth_strvec_split(&add, "sif,add,--datatype,4,--partfs,1,--parttype,2,--partarch");
    berth_strvec_push(&add, berth_image_code());
    berth_strvec_push(&add, making->sif);
    berth_strvec_push(&add, making->squash);

    return run(making, &begin, err) < 0 ? -1 : run(making, &add, err);
}

/* Make the image. */
static int make(struct making *making, struct berth_err *err)
{
    const struct berth_container *container = making->container;
    const struct berth_holder holder = {container->holder, container->mounts};
    BERTH_SITE struct berth_site site = {0};
    BERTH_FREE char *runtime = NULL;
    BERTH_CLOSE int labels = make_labels(container, making->root, err);
    struct berth_image image;

    if (labels < 0 || berth_site_read_here(environ, &site, err) < 0 ||
        berth_runtime_find(site.runtime.path, getenv("PATH"), &runtime, err) < 0)
        return -1;
    if (pack(making, &site, runtime, labels, err) < 0)
        return -1;
    if (!making->is_squash && wrap(making, runtime, err) < 0)
        return -1;
    /* What a container that has ended had written goes while it is read. */
    if (!berth_holder_is_there(holder))
        return berth_err_set(err, "the container has ended; see berth ps");
    return berth_image_probe(made(making), &image, err);
}

/* Make the file NAME with MODE in DIRECTORY, and set *RET_PATH to a path of it for this
 * process and for programs that it starts. It leads to that very file: the container
 * may have the directory in a mount, and a program there may put a link in its place,
 * which would lead to a file of the host. Returns 0, or -1 with errno. */
static int make_part(int directory, const char *name, mode_t mode, char **ret_path)
{
    /* it stays open through exec */
    int fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode);

    if (fd < 0)
        return -1;
    if (asprintf(ret_path, "/proc/self/fd/%d", fd) >= 0)
        return 0;
    *ret_path = NULL;
    return -1;
}

/* Make both files in the directory of MAKING, which is new. Returns 0, or -1 with a
 * sentence in ERR. */
static int make_parts(struct making *making, struct berth_err *err)
{
    BERTH_CLOSE int directory =
        berth_tree_open(making->directory, geteuid(), 0077, NULL, err);

    if (directory < 0)
        return -1;
    if (make_part(directory, SQUASH, making->is_squash ? 0777 : 0600, &making->squash) <
            0 ||
        make_part(directory, SIF, 0777, &making->sif) < 0)
        return berth_err_file(err, making->directory, "written");
    return 0;
}

static int refuse(const char *file, int number, struct berth_err *err)
{
    const char *remedy = number == EEXIST ? "; take another name, or --force" : "";

    return berth_err_set(err, "'%s': %s%s", file, strerror(number), remedy);
}

/* Give the image its name. Unless IS_FORCED, another file of that name stays; link(2)
 * sees to that where a file system has links. */
static int put_image(const struct making *making, bool is_forced, struct berth_err *err)
{
    BERTH_FREE char *name = NULL;

    if (!is_forced) {
        if (linkat(AT_FDCWD, made(making), AT_FDCWD, making->file, AT_SYMLINK_FOLLOW) ==
            0)
            return 0;
        if (errno == EEXIST || access(making->file, F_OK) == 0)
            return refuse(making->file, EEXIST, err);
    }
    if (asprintf(&name, "%s/%s", making->directory, making->is_squash ? SQUASH : SIF) <
        0) {
        name = NULL;
        return berth_err_oom(err);
    }
    if (rename(name, making->file) < 0)
        return refuse(making->file, errno, err);
    return 0;
}

static void begin_progress(struct making *making)
{
    int terminal = isatty(STDERR_FILENO) ? STDERR_FILENO : -1;

    berth_progress_begin(&making->progress, terminal, say_nothing, "saving '%s'",
                         making->file);
    making->progress.say = say;
}

static void end_progress(struct making *making, bool is_made)
{
    struct stat st;

    if (is_made && stat(made(making), &st) == 0) {
        making->bytes = st.st_size;
        if (!making->is_silent)
            berth_progress_end(&making->progress, "saved '%s' (%lld MB)", making->file,
                               ((long long)st.st_size + 500000) / 1000000);
    }
    berth_progress_clear(&making->progress);
}

/* Make the image in the directory of MAKING, and give it its name. */
static int save(struct making *making, bool is_forced, struct berth_err *err)
{
    int result;

    begin_progress(making);
    result = make(making, err);
    end_progress(making, result == 0);
    return result < 0 ? -1 : put_image(making, is_forced, err);
}

int berth_save(const struct berth_container *container, const char *file,
               bool is_forced, off_t *ret_bytes, struct berth_err *err)
{
    BERTH_SQUASH struct berth_squash variables = BERTH_SQUASH_NONE;
    BERTH_FREE char *directory = NULL;
    MAKING struct making making = {.container = container,
                                   .file = file,
                                   .is_squash = berth_squash_is(file),
                                   .variables = &variables,
                                   .is_silent = ret_bytes != NULL};
    char root[32];
    int result = -1;
    int fd = -1;
    pid_t holding = -1;

    if (!is_forced && access(file, F_OK) == 0)
        return refuse(file, EEXIST, err);
    if (berth_squash_is(file) && berth_squash_read(container, &variables, err) < 0)
        return -1;
    if (asprintf(&directory, "%s.XXXXXX", file) < 0)
        return berth_err_oom(err);
    /* They end what is run here, and this function removes what that has left. */
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    if (!mkdtemp(directory))
        return refuse(file, errno, err);

    making.directory = directory;
    if (make_parts(&making, err) == 0)
        holding = start_holding(container, &fd, err);
    if (holding > 0) {
        snprintf(root, sizeof(root), "/proc/self/fd/%d/.", fd);
        making.root = root;
        result = save(&making, is_forced, err);
        kill(holding, SIGKILL);
        berth_run_wait(holding);
    }
    berth_tree_remove(AT_FDCWD, directory);
    if (result == 0 && ret_bytes)
        *ret_bytes = making.bytes;
    return result;
}
