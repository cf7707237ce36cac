/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses how mksquashfs compresses an image, by what this host can make and read. */

#include "image/compression.h"

#include <ctype.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/run.h"
#include "base/text.h"
#include "container/runtime.h"

/* Level 3 makes files as small as gzip's in a tenth of the time (doc/speed.md). */
#define USUAL "zstd:3"

/* Without a limit mksquashfs takes a quarter of the memory of the host, which need not
 * be the job's. */
#define MEMORY "256M"

/* The mksquashfs that the package of RUNTIME brings; NULL: none. The caller frees it.
 */
static char *find_bundled(const char *runtime)
{
    BERTH_FREE char *real = realpath(runtime, NULL);
    BERTH_FREE char *program = NULL;
    char *end;

    if (!real)
        return NULL;
    end = strstr(real, "/bin/");
    if (!end)
        return NULL;
    *end = '\0';
    if (asprintf(&program, "%s/libexec/apptainer/bin/mksquashfs", real) < 0) {
        program = NULL;
        return NULL;
    }
    if (!berth_run_is_program(program))
        return NULL;
    return berth_steal(&program);
}

char *berth_compression_program(const char *runtime)
{
    /* Apptainer's packages for RHEL bring one, which finds first. */
    char *bundled = find_bundled(runtime);

    if (bundled)
        return bundled;
    return berth_run_find("mksquashfs", "/usr/sbin:/sbin");
}

/* Append -comp NAME and its level to RET. */
static void add_compression(const char *chosen, struct berth_strvec *ret)
{
    size_t length = strcspn(chosen, ":");

    berth_strvec_push(ret, "-comp");
    berth_strvec_pushf(ret, "%.*s", (int)length, chosen);
    if (chosen[length]) {
        berth_strvec_push(ret, "-Xcompression-level");
        berth_strvec_push(ret, chosen + length + 1);
    }
}

void berth_compression_arguments(const char *chosen, struct berth_strvec *ret)
{
    cpu_set_t cpus;
    int processors = 1;

    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
        processors = CPU_COUNT(&cpus);
    if (chosen)
        add_compression(chosen, ret);
    berth_strvec_push(ret, "-processors");
    berth_strvec_pushf(ret, "%d", processors);
    berth_strvec_push(ret, "-mem");
    berth_strvec_push(ret, MEMORY);
}

enum trial { TRIAL_WORKS, TRIAL_FAILS, TRIAL_ENDED };

/* Can MKSQUASHFS compress so? It packs a device into memory: no other program can have
 * put a link there. */
static enum trial try(const char *chosen, const char *mksquashfs)
{
    enum { SECONDS = 30, MOST = 1 << 16 };
    BERTH_STRVEC struct berth_strvec argv = {0};
    BERTH_CLOSE int memory = berth_fd_memory("trial", 0);
    const char *const none[] = {NULL};
    struct berth_run trial = {
        .env = none, .seconds = SECONDS, .most = MOST, .gets_signals = true};
    BERTH_RAN struct berth_ran ran = {0};
    struct berth_err err;

    if (memory < 0)
        return TRIAL_FAILS;
    berth_strvec_push(&argv, mksquashfs);
    berth_strvec_push(&argv, "/dev/null");
    berth_strvec_pushf(&argv, "/proc/self/fd/%d", memory);
    berth_strvec_split(&argv, "-noappend,-no-progress");
    add_compression(chosen, &argv);
    trial.argv = (const char *const *)argv.items;
    if (argv.failed || berth_run(&trial, &ran, &err) < 0)
        return TRIAL_FAILS;
    if (WIFSIGNALED(ran.status))
        return TRIAL_ENDED;
    if (ran.status != 0)
        return TRIAL_FAILS;
    return TRIAL_WORKS;
}

bool berth_compression_kernel_reads(const char *config, const char *name)
{
    BERTH_BUF struct berth_buf option = {0};

    if (!strstr(config, "CONFIG_SQUASHFS"))
        return true;
    berth_buf_puts(&option, "\nCONFIG_SQUASHFS_");
    for (const char *c = name; isalnum((unsigned char)*c); c++) {
        char upper = (char)toupper((unsigned char)*c);

        berth_buf_add(&option, &upper, 1);
    }
    berth_buf_puts(&option, "=y");
    return !option.failed && strstr(config, option.text);
}

/* Would a runtime that has the kernel mount images, because it is setuid, mount this
 * one? What cannot be found out counts as yes. */
static bool is_readable(const char *chosen, const char *runtime)
{
    enum { MOST = 4 << 20 };
    BERTH_BUF struct berth_buf config = {0};
    BERTH_FREE char *path = NULL;
    struct utsname host;

    if (!berth_runtime_is_setuid(runtime) || uname(&host) < 0)
        return true;
    if (asprintf(&path, "/boot/config-%s", host.release) < 0) {
        path = NULL;
        return true;
    }
    if (berth_fd_read_path(path, MOST, &config) < 0 || !config.text)
        return true;
    return berth_compression_kernel_reads(config.text, chosen);
}

/* Why a compression cannot be had. */
struct obstacle {
    const char *because; /* NULL: it can be had */
    bool is_expected;    /* a site that asks for nothing need not know */
};

/* Can images be compressed as CHOSEN says? Returns -1 if the trial was ended. */
static int find_obstacle(const char *chosen, const char *runtime,
                         const char *mksquashfs, struct obstacle *ret)
{
    enum trial trial = TRIAL_FAILS;

    *ret = (struct obstacle){NULL, false};
    if (!berth_runtime_builds_with(runtime, "--mksquashfs-args")) {
        ret->because = "the runtime takes no arguments of mksquashfs (Apptainer 1.4 "
                       "does)";
        ret->is_expected = true;
        return 0;
    }
    if (!is_readable(chosen, runtime)) {
        ret->because = "the kernel of this host could not mount the image";
        return 0;
    }
    if (mksquashfs)
        trial = try(chosen, mksquashfs);
    if (trial == TRIAL_ENDED)
        return -1;
    if (trial == TRIAL_FAILS) {
        ret->because = "mksquashfs of this host cannot do that";
        ret->is_expected = true;
    }
    return 0;
}

int berth_compression_choose(const struct berth_site *site, const char *runtime,
                             const char *mksquashfs, const char **ret,
                             struct berth_err *ret_note)
{
    const char *asked = site->images.compression;
    const char *chosen = berth_text_or(asked, USUAL);
    struct obstacle obstacle;

    *ret = NULL;
    *ret_note->text = '\0';
    if (strcmp(chosen, "zstd") == 0)
        chosen = USUAL;
    if (strcmp(chosen, "gzip") == 0)
        return 0;

    if (find_obstacle(chosen, runtime, mksquashfs, &obstacle) < 0)
        return -1;
    if (!obstacle.because)
        *ret = chosen;
    else if (asked || !obstacle.is_expected) /* the runtime chooses */
        berth_err_set(ret_note, "note: not compressed with %s: %s", chosen,
                      obstacle.because);
    return 0;
}
