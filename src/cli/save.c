/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the file system of a container that runs to a new image. */

#include "cli/container.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
#include "cli/leftovers.h"
#include "cli/rootcopy.h"
#include "cli/squash.h"
#include "container/namespaces.h"
#include "container/overlay.h"
#include "container/program.h"
#include "container/runtime.h"
#include "container/written.h"
#include "image/compression.h"
#include "image/image.h"
#include "plan/launch.h"

extern char **environ;

/* Not in each directory that is an image. */
#define SCRIPTS     ".singularity.d"
#define LABELS_NAME "labels.json"
#define LABELS      SCRIPTS "/" LABELS_NAME

/* In a directory beside the file. */
#define SQUASH BERTH_LEFTOVERS_PART
#define SIF    "sif"

/* Open the directory SCRIPTS of the image. ROOT is the container's, as this process
 * reaches it: a link of the image would lead to a file of the host, so none is
 * followed. Returns a descriptor, or -1 with errno. */
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
    if (!S_ISREG(st.st_mode))
        return 0;
    return berth_fd_read(file, MOST, ret);
}

/* Put the member of OURS, a JSON object, after the members of LABELS, which is another
 * one, or "". Of two members with the same name the last one counts. */
static void add_member(const char *ours, struct berth_buf *labels)
{
    bool has_members = labels->used && strchr(labels->text, ':');
    const char *end = has_members ? strrchr(labels->text, '}') : NULL;

    if (!end || end == labels->text) {
        labels->used = 0;
        berth_buf_puts(labels, ours);
        return;
    }
    labels->used = (size_t)(end - labels->text);
    berth_buf_puts(labels, ",");
    berth_buf_puts(labels, ours + strlen("{"));
}

/* Add to LABELS from what the image is made. */
static int add_origin(const struct berth_container *container, struct berth_buf *labels,
                      struct berth_err *err)
{
    BERTH_BUF struct berth_buf from = {0};
    BERTH_JSON struct berth_json ours = {0};

    berth_buf_addf(&from, "%s, by job %u on %s", container->image, container->job,
                   container->node);
    berth_json_object(&ours, NULL);
    berth_json_string(&ours, "berth.saved-from", berth_buf_text(&from));
    berth_json_end(&ours);
    if (from.failed || ours.text.failed)
        return berth_err_oom(err);
    add_member(ours.text.text, labels);
    return berth_err_oom_if(labels->failed, err);
}

/* Open memory with the labels of ROOT and one of ours. Returns a descriptor, which
 * stays open through exec; -1 with a sentence in ERR. */
static int make_labels(const struct berth_container *container, const char *root,
                       struct berth_err *err)
{
    BERTH_BUF struct berth_buf labels = {0};
    int fd;

    if (read_labels(root, &labels) < 0)
        return berth_err_file(err, "/" LABELS, "read");
    if (add_origin(container, &labels, err) < 0)
        return -1;
    fd = berth_fd_memory("labels", 0);
    if (fd < 0 || berth_fd_write(fd, labels.text, labels.used) < 0)
        return berth_err_spent(err, errno);
    return fd;
}

/* One image that is made. */
struct making {
    const struct berth_container *container;
    const char *root;      /* of the container, as this process reaches it */
    int upper;             /* what tasks have written, a directory; -1: not known */
    const char *directory; /* new, beside the file */
    const char *file;      /* as the user spells it */
    char *squash;          /* the packed file system, by descriptor */
    char *sif;      /* the image around it, by descriptor; not for a squashfs file */
    bool is_squash; /* the file is a squashfs file */
    struct berth_squash *variables; /* of the image, for a squashfs file */
    struct berth_progress progress;
    bool is_silent; /* the caller says that it is made */
    off_t bytes;    /* of the image, once it is made */
};

/* The file that becomes the image, by descriptor. */
static const char *result_of(const struct making *making)
{
    return making->is_squash ? making->squash : making->sif;
}

/* The name of that file in the directory. */
static const char *result_name(const struct making *making)
{
    return making->is_squash ? SQUASH : SIF;
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
    long long megabytes = 0;
    struct stat st;

    if (stat(making->squash, &st) == 0)
        megabytes = st.st_size / 1000000;
    if (megabytes > 0)
        snprintf(detail, sizeof(detail), "%lld MB", megabytes);
    berth_progress_show(&making->progress, detail);
}

/* Why the program of RAN has failed. */
static const char *reason_of(struct berth_ran *ran)
{
    if (ran->err.used)
        return berth_ran_last_line(ran);
    return "it was ended";
}

/* What to do if a program could not write the file, whose last LINE was that. A step as
 * root leaves files that no other user may read, as apt-get does. */
static const char *find_remedy(const struct making *making, const char *line)
{
    if (!strstr(line, "Could not open") ||
        berth_namespaces_has_others(making->container->holder))
        return "";
    return "; root has made files in it (--container-remap-root): save it in a step "
           "with that option, or while one runs";
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
    const char *line;

    if (argv->failed)
        return berth_err_oom(err);
    if (berth_run(&program, &ran, err) < 0)
        return -1;
    if (ran.status == 0)
        return 0;
    line = reason_of(&ran);
    return berth_err_set(err, "'%s': %s did not write it: %s%s", making->file,
                         berth_text_base(argv->items[0]), line,
                         find_remedy(making, line));
}

/* Does the runtime of the container read a script of ours for the image's variables:
 * is the image a squashfs file? */
static bool has_reader(const struct berth_container *container)
{
    enum { LARGEST = 4 << 20 };
    BERTH_BUF struct berth_buf mounts = {0};
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/mountinfo", container->holder);
    if (berth_fd_read_path(path, LARGEST, &mounts) < 0 || mounts.failed)
        return false;
    return strstr(berth_buf_text(&mounts), " " BERTH_LAUNCH_READER_PLACE " ");
}

/* A path of the image without its first slash, as mksquashfs takes it. */
#define FROM_ROOT(path) ((path) + 1)

/* Add a file or a directory to the image by its DEFINITION (mksquashfs(1), -p). */
static void push_pseudo(const char *definition, struct berth_strvec *argv)
{
    berth_strvec_push(argv, "-p");
    berth_strvec_push(argv, definition);
}

/* Leave PATH of the container out of the image. */
static void push_excluded(const char *path, struct berth_strvec *argv)
{
    berth_strvec_push(argv, "-e");
    berth_strvec_push(argv, path);
}

/* Give an image that was a squashfs file the scripts of a SIF file: READER (a
 * descriptor) sets the variables in /etc/environment, and the runscript starts the
 * entry point /etc/rc. The runtime needs a file of that name (99-base.sh) to set the
 * variables that its user gives it. The place of the container's reader is left out. */
static void push_scripts(int reader, struct berth_strvec *argv)
{
    push_pseudo(SCRIPTS " d 755 0 0", argv);
    push_pseudo(SCRIPTS "/env d 755 0 0", argv);
    berth_squash_push_file(SCRIPTS "/env/99-base.sh", "644", reader, argv);
    push_pseudo(SCRIPTS "/runscript f 755 0 0 "
                        "printf '#!/bin/sh\\nexec /bin/sh " BERTH_LAUNCH_RC
                        " \"$@\"\\n'",
                argv);
    push_excluded(FROM_ROOT(BERTH_LAUNCH_READER_PLACE), argv);
}

/* Replace the labels of the image by the text in the descriptor LABELS, if the image
 * has a place for them. READER is that of push_scripts(), which makes the place; -1:
 * none. */
static void push_labels(const struct making *making, int reader, int labels,
                        struct berth_strvec *argv)
{
    BERTH_CLOSE int scripts = open_scripts(making->root);
    bool has_scripts = scripts >= 0;

    if (!has_scripts && reader < 0)
        return;
    if (!has_scripts)
        push_scripts(reader, argv);
    berth_squash_push_file(LABELS, "644", labels, argv);
    if (has_scripts)
        push_excluded(LABELS, argv);
}

/* Add the files that a squashfs file has instead of the scripts of a SIF file. */
static int push_squash(const struct making *making, int reader,
                       struct berth_strvec *argv, struct berth_err *err)
{
    BERTH_CLOSE int scripts = open_scripts(making->root);

    if (reader >= 0 && !making->variables->has_scripts)
        push_excluded(FROM_ROOT(BERTH_LAUNCH_READER_PLACE), argv);
    return berth_squash_push(making->variables, scripts, argv, err);
}

/* Open the script of ours that sets the image's variables, for mksquashfs, if the image
 * needs it. Returns 0 with a descriptor in *RET_READER; -1: it needs none. */
static int open_reader(const struct berth_container *container, int *ret_reader,
                       struct berth_err *err)
{
    const char *file = berth_installed(BERTH_IMAGE_READER);

    *ret_reader = -1;
    if (!has_reader(container))
        return 0;
    *ret_reader = open(file, O_RDONLY); /* not closed on exec */
    if (*ret_reader < 0)
        return berth_program_missing(file, err);
    return 0;
}

/* Append the arguments that compress as the site or the runtime does, and say if that
 * is not possible. */
static int push_compression(const struct making *making, const struct berth_site *site,
                            const char *runtime, const char *mksquashfs,
                            struct berth_strvec *argv, struct berth_err *err)
{
    struct berth_err note;
    const char *chosen;

    if (berth_compression_choose(site, runtime, mksquashfs, &chosen, &note) < 0)
        return berth_err_set(err, "'%s': mksquashfs was ended", making->file);
    if (*note.text)
        say(note.text);
    berth_compression_arguments(chosen, argv);
    return 0;
}

/* Append to RET what ARGV, of mksquashfs, leaves out of the image. */
static void list_excluded(const struct berth_strvec *argv, struct berth_strvec *ret)
{
    bool is_excluded = false;

    for (size_t i = 0; i < argv->count; i++) {
        const char *word = argv->items[i];

        if (*word == '-')
            is_excluded = strcmp(word, "-e") == 0;
        else if (is_excluded)
            berth_strvec_push(ret, word);
    }
}

/* Set *RET_MISSING to an item of WRITTEN that is not in the packed file system, as
 * unsquashfs lists it. NULL: there is none, or no unsquashfs that reads the file. */
static int find_missing(const struct making *making,
                        const struct berth_written_items *written,
                        const char **ret_missing, struct berth_err *err)
{
    enum { SECONDS = 3600, MOST = 256 << 20 };
    BERTH_FREE char *unsquashfs = berth_run_find("unsquashfs", "/usr/sbin:/sbin");
    const char *const argv[] = {unsquashfs, "-l", making->squash, NULL};
    const struct berth_run program = {.argv = argv,
                                      .env = (const char *const *)environ,
                                      .seconds = SECONDS,
                                      .most = MOST,
                                      .gets_signals = true};
    BERTH_RAN struct berth_ran ran = {0};
    struct berth_err unread;

    *ret_missing = NULL;
    if (!unsquashfs || written->count == 0)
        return 0;
    if (berth_run(&program, &ran, &unread) < 0)
        return 0; /* the listing is too long */
    if (WIFSIGNALED(ran.status))
        return berth_err_set(err, "'%s': unsquashfs was ended", making->file);
    if (ran.status == 0 && ran.out.used)
        *ret_missing = berth_written_missing(written, making->upper, ran.out.text);
    return 0;
}

/* Run ARGV, of mksquashfs, and copy to RET_MISSING, which has ROOM bytes, the path of
 * something that tasks had written before, and that is not in the file ("": nothing).
 */
static int pack_and_compare(struct making *making, const struct berth_strvec *argv,
                            char *ret_missing, size_t room, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec excluded = {0};
    BERTH_WRITTEN_ITEMS struct berth_written_items written = {0};
    const char *missing = NULL;

    *ret_missing = '\0';
    list_excluded(argv, &excluded);
    if (excluded.failed)
        return berth_err_oom(err);
    if (making->upper >= 0 &&
        berth_written_list(making->upper, &excluded, &written) < 0)
        return berth_err_oom(err);
    if (run(making, argv, err) < 0)
        return -1;
    if (find_missing(making, &written, &missing, err) < 0)
        return -1;
    snprintf(ret_missing, room, "%s", berth_text_or(missing, ""));
    return 0;
}

/* Run ARGV, of mksquashfs, which has no error for what it, or a listing of the
 * container's FUSE server, leaves out. Another listing may have it. */
static int pack_all(struct making *making, const struct berth_strvec *argv,
                    struct berth_err *err)
{
    enum { TIMES = 2, ROOM = 120 };
    char missing[ROOM] = "";

    for (int i = 0; i < TIMES; i++) {
        if (pack_and_compare(making, argv, missing, sizeof(missing), err) < 0)
            return -1;
        if (!*missing)
            return 0;
    }
    return berth_err_set(err,
                         "'%s': '/%s', which a task has written, is not in what "
                         "mksquashfs has read; save the container again",
                         making->file, missing);
}

/* Pack the root into a squashfs file. */
static int pack(struct making *making, const struct berth_site *site,
                const char *runtime, int labels, struct berth_err *err)
{
    BERTH_FREE char *mksquashfs = berth_compression_program(runtime);
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_CLOSE int reader = -1;

    if (open_reader(making->container, &reader, err) < 0)
        return -1;
    if (!mksquashfs)
        return berth_err_set(err, "mksquashfs is not on this node; ask the "
                                  "administrators to install squashfs-tools");

    berth_strvec_push(&argv, mksquashfs);
    berth_strvec_push(&argv, making->root);
    berth_strvec_push(&argv, making->squash);
    /* A file that cannot be read would be empty without -exit-on-error. Without
     * -wildcards, -e leaves out whatever has the inode number of a file that it names.
     * In an overlay files have the numbers of their layers, and some have the same. */
    berth_strvec_split(&argv, "-noappend,-no-progress,-no-xattrs,-all-root,"
                              "-exit-on-error,-wildcards");
    if (push_compression(making, site, runtime, mksquashfs, &argv, err) < 0)
        return -1;
    if (!making->is_squash)
        push_labels(making, reader, labels, &argv);
    else if (push_squash(making, reader, &argv, err) < 0)
        return -1;
    return pack_all(making, &argv, err);
}

/* Put the squashfs file into a SIF file, as its root file system. */
static int wrap(struct making *making, const char *runtime, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec begin = {0}, add = {0};

    berth_strvec_push(&begin, runtime);
    berth_strvec_split(&begin, "sif,new");
    berth_strvec_push(&begin, making->sif);
    if (run(making, &begin, err) < 0)
        return -1;

    /* the root file system (--datatype 4) as squashfs (--partfs 1), to be used by
     * default (--parttype 2) */
    berth_strvec_push(&add, runtime);
    berth_strvec_split(&add, "sif,add,--datatype,4,--partfs,1,--parttype,2,--partarch");
    berth_strvec_push(&add, berth_image_code());
    berth_strvec_push(&add, making->sif);
    berth_strvec_push(&add, making->squash);
    return run(making, &add, err);
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

    if (labels < 0)
        return -1;
    if (berth_site_read_here(environ, &site, err) < 0)
        return -1;
    if (berth_runtime_find(site.runtime.path, getenv("PATH"), &runtime, err) < 0)
        return -1;
    if (pack(making, &site, runtime, labels, err) < 0)
        return -1;
    if (!making->is_squash && wrap(making, runtime, err) < 0)
        return -1;

    /* What a container that has ended had written goes while it is read. */
    if (!berth_holder_is_there(holder))
        return berth_container_refuse_ended(err);
    return berth_image_probe(result_of(making), &image, err);
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
    berth_leftovers_lock(fd);
    if (asprintf(ret_path, "/proc/self/fd/%d", fd) >= 0)
        return 0;
    *ret_path = NULL;
    return -1;
}

/* Make both files in the directory of MAKING, which is new. Returns 0, or -1 with a
 * sentence in ERR. */
static int make_parts(struct making *making, struct berth_err *err)
{
    /* The file that becomes the image gets what the umask leaves. */
    const mode_t squash_mode = making->is_squash ? 0777 : 0600;
    BERTH_CLOSE int directory =
        berth_tree_open(making->directory, geteuid(), 0077, NULL, err);

    if (directory < 0)
        return -1;
    if (make_part(directory, SQUASH, squash_mode, &making->squash) < 0 ||
        make_part(directory, SIF, 0777, &making->sif) < 0)
        return berth_err_file(err, making->directory, "written");
    return 0;
}

static int refuse(const char *file, int number, struct berth_err *err)
{
    const char *remedy = number == EEXIST ? "; take another name, or --force" : "";

    return berth_err_set(err, "'%s': %s%s", file, strerror(number), remedy);
}

/* Give the image its name by link(2), which never replaces a file. Returns 0, or -1
 * with errno. */
static int link_image(const struct making *making)
{
    return linkat(AT_FDCWD, result_of(making), AT_FDCWD, making->file,
                  AT_SYMLINK_FOLLOW);
}

/* Give the image its name. Replaces a file of that name. */
static int rename_image(const struct making *making, struct berth_err *err)
{
    BERTH_FREE char *name = NULL;

    if (asprintf(&name, "%s/%s", making->directory, result_name(making)) < 0) {
        name = NULL;
        return berth_err_oom(err);
    }
    if (rename(name, making->file) < 0)
        return refuse(making->file, errno, err);
    return 0;
}

/* Give the image its name. Unless IS_FORCED, another file of that name stays; link(2)
 * sees to that where a file system has links. */
static int put_image(const struct making *making, bool is_forced, struct berth_err *err)
{
    if (is_forced)
        return rename_image(making, err);
    if (link_image(making) == 0)
        return 0;
    if (errno == EEXIST || access(making->file, F_OK) == 0)
        return refuse(making->file, EEXIST, err);
    return rename_image(making, err);
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

    if (is_made && stat(result_of(making), &st) == 0) {
        making->bytes = st.st_size;
        if (!making->is_silent)
            berth_progress_end(&making->progress, "saved '%s' (%lld MB)", making->file,
                               berth_text_megabytes(st.st_size));
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
    if (result < 0)
        return -1;
    return put_image(making, is_forced, err);
}

/* The same, of a copy of the container's root. */
static int save_root(struct making *making, bool is_forced, struct berth_err *err)
{
    /* before this process is in the user namespace of the container */
    BERTH_CLOSE int upper = berth_overlay_upper(making->container->holder);
    struct berth_rootcopy copy;
    char root[32];
    int result;

    making->upper = upper;
    if (make_parts(making, err) < 0)
        return -1;
    if (berth_rootcopy_make(making->container, &copy, err) < 0)
        return -1;
    snprintf(root, sizeof(root), "/proc/self/fd/%d/.", copy.fd);
    making->root = root;
    result = save(making, is_forced, err);
    berth_rootcopy_end(&copy);
    return result;
}

int berth_save(const struct berth_container *container, const char *file,
               bool is_forced, off_t *ret_bytes, struct berth_err *err)
{
    BERTH_SQUASH struct berth_squash variables = BERTH_SQUASH_NONE;
    BERTH_FREE char *directory = NULL;
    MAKING struct making making = {.container = container,
                                   .file = file,
                                   .upper = -1,
                                   .is_squash = berth_squash_is(file),
                                   .variables = &variables,
                                   .is_silent = ret_bytes != NULL};
    int result;

    if (!is_forced && access(file, F_OK) == 0)
        return refuse(file, EEXIST, err);
    if (making.is_squash && berth_squash_read(container, &variables, err) < 0)
        return -1;
    if (asprintf(&directory, "%s.XXXXXX", file) < 0) {
        directory = NULL;
        return berth_err_oom(err);
    }

    /* They end what is run here, and this function removes what that has left. */
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    berth_leftovers_remove(file);
    if (!mkdtemp(directory))
        return refuse(file, errno, err);

    making.directory = directory;
    result = save_root(&making, is_forced, err);
    berth_tree_remove(AT_FDCWD, directory);
    if (result == 0 && ret_bytes)
        *ret_bytes = making.bytes;
    return result;
}
