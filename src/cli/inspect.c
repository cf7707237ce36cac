/* SPDX-License-Identifier: Apache-2.0 */
/* berth inspect: finds which MPI is in a file or an image, and how it is linked. */

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/text.h"
#include "cli/cli.h"
#include "site/fabric.h"
#include "site/rules.h"
#include "cli/inspection.h"
#include "image/image.h"
#include "bindover/scan.h"
#include "base/run.h"
#include "container/runtime.h"
#include "cli/host.h"
#include "bindover/offered.h"
#include "container/temporary.h"

extern char **environ;

enum { START_SECONDS = 120, STACKS_MAX = 32 };

/* The state of one inspection. */
struct inspect {
    bool as_json;
    struct berth_inspection seen;
    struct berth_site site;
    struct berth_terms terms;
    struct berth_offered offered;
};

static int print(const struct inspect *it, struct berth_err *err)
{
    BERTH_JSON struct berth_json json = {.pretty = true, .is_text = !it->as_json};

    berth_inspect_write(&it->seen, &json);
    if (json.text.failed)
        return berth_err_oom(err);
    fputs(json.text.text, stdout);
    if (it->as_json)
        fputs("\n", stdout);
    return 0;
}

/* Judge the stack number AT as a step would. */
static int judge_one(const struct inspect *it, size_t at, const struct berth_scan *scan,
                     struct berth_mpi_verdict *ret, struct berth_err *err)
{
    const struct berth_stack *stack = &it->offered.stacks.items[at];
    const struct berth_fabric fabric = {
        .profile = stack->profile,
        .version = stack->version,
        .verdict = ret,
        .closure = &scan->closure,
        .env = environ,
        .keep_glibc = it->terms.keep_glibc,
    };
    struct berth_err why;
    bool fits;

    if (berth_mpi_judge(it->seen.wants, &scan->objects, &it->offered.objects[at], ret,
                        err) < 0)
        return -1;
    fits = ret->answer == BERTH_VERDICT_YES ||
           ret->answer == BERTH_VERDICT_YES_WITH_HOST_GLIBC;
    if (fits && berth_fabric_check(&fabric, &why) < 0) {
        ret->answer = BERTH_VERDICT_NO;
        ret->because = why;
    }
    return 0;
}

/* Judge each MPI of the host for the program, then print all. */
static int judge(struct inspect *it, const struct berth_scan *scan,
                 struct berth_err *err)
{
    const struct berth_stacks *stacks = &it->offered.stacks;
    struct berth_mpi_verdict verdicts[STACKS_MAX];
    size_t count = 0;
    int result = 0;

    while (count < stacks->count && count < STACKS_MAX) {
        result = judge_one(it, count, scan, &verdicts[count], err);
        if (result < 0)
            break;
        count++;
    }
    it->seen.stacks = stacks->items;
    it->seen.verdicts = verdicts;
    it->seen.verdict_count = count;
    if (result == 0)
        result = print(it, err);
    for (size_t i = 0; i < count; i++)
        berth_mpi_verdict_fini(&verdicts[i]);
    return result;
}

/* Refuse PATH for the reason in errno. Always returns -1. */
static int refuse(const char *path, struct berth_err *err)
{
    return berth_err_set(err, "'%s': %s; give the path of a file or an image", path,
                         strerror(errno));
}

static int inspect_file(struct inspect *it, const char *path, struct berth_err *err)
{
    BERTH_FREE char *real = realpath(path, NULL);
    BERTH_SCAN struct berth_scan scan = {0};
    struct berth_mpi_program wants;
    struct stat st;
    int result;

    if (!real)
        return refuse(path, err);
    if (berth_scan_program(NULL, real, environ, &scan, err) < 0)
        return -1;
    if (!scan.runner)
        return berth_err_set(err,
                             "'%s': the interpreter that its #! line names is not "
                             "there; install it, or look in an image that has it",
                             path);
    if ((it->seen.image && berth_scan_image(&scan, environ, err) < 0) ||
        berth_mpi_program_read(&scan.objects, &wants, err) < 0)
        return -1;
    it->seen.file = path;
    it->seen.objects = &scan.objects;
    it->seen.closure = &scan.closure;
    it->seen.wants = &wants;
    if (scan.is_script)
        it->seen.runner = scan.runner;
    it->seen.is_privileged =
        stat(path, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)) != 0;
    if (it->seen.image)
        result = judge(it, &scan, err);
    else
        result = print(it, err);
    berth_mpi_program_fini(&wants);
    return result;
}

/* Add the C library, from each place where distributions install it. */
static void add_libc(struct berth_scan *scan)
{
    static const char *const patterns[] = {"/lib*/libc.so.6", "/lib/*/libc.so.6",
                                           "/usr/lib*/libc.so.6",
                                           "/usr/lib/*/libc.so.6", "/lib/ld-musl-*"};

    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        glob_t found;

        if (glob(patterns[i], 0, NULL, &found) != 0)
            continue;
        for (size_t k = 0; k < found.gl_pathc; k++)
            berth_scan_present(scan, berth_text_base(found.gl_pathv[k]),
                               found.gl_pathv[k]);
        globfree(&found);
    }
}

/* In the container: list all MPI libraries of the image. */
static int inspect_libraries(struct inspect *it, struct berth_err *err)
{
    BERTH_SCAN struct berth_scan scan = {0};

    if (berth_scan_image(&scan, environ, err) < 0)
        return -1;
    add_libc(&scan);
    it->seen.objects = &scan.objects;
    return print(it, err);
}

/* In the container: inspect the program with that name or path. */
static int inspect_program(struct inspect *it, struct berth_err *err)
{
    const char *name = it->seen.file;
    BERTH_FREE char *path = NULL;

    if (strchr(name, '/'))
        path = strdup(name);
    else
        path = berth_run_find(name, berth_environ_value(environ, "PATH"));
    if (!path || access(path, F_OK) < 0)
        return berth_err_set(err,
                             "image '%s': '%s' is not there; give its path in the "
                             "image, or a name on the image's PATH",
                             it->seen.image, name);
    return inspect_file(it, path, err);
}

/* On the host: read what a step would have for --mpi-bind. */
static int read_offers(struct inspect *it, struct berth_err *err)
{
    it->seen.mode =
        berth_text_or(berth_rules_default(&it->site, BERTH_OPTION_MPI), "off");
    if (berth_offered_read(&it->terms, 1 << BERTH_PROFILE_MPI, environ, &it->offered,
                           err) < 0)
        return -1;
    return berth_offered_read_files(&it->offered, err);
}

static int inspect_image(struct inspect *it, const char *path, const char *program,
                         const struct berth_image *image, struct berth_err *err)
{
    BERTH_FREE char *runtime = NULL;
    BERTH_FREE char *real = realpath(path, NULL);
    const char *reader;
    int result;

    it->seen.image = path;
    it->seen.machine = image->machine;
    it->seen.kind = image->kind;
    it->seen.file = program;
    if (berth_image_check_machine(path, image, err) < 0 ||
        berth_site_read_here(environ, &it->site, err) < 0 ||
        berth_terms_of(&it->site, &it->terms, err) < 0 ||
        berth_runtime_find(it->site.runtime.path, getenv("PATH"), &runtime, err) < 0)
        return -1;
    if (program && read_offers(it, err) < 0)
        return -1;
    if (berth_image_find_reader(image, &reader, err) < 0 ||
        berth_temporary_enter(runtime, berth_text_or(real, path), reader, START_SECONDS,
                              err) < 0)
        return -1;
    if (program)
        result = inspect_program(it, err);
    else
        result = inspect_libraries(it, err);
    berth_offered_fini(&it->offered);
    return result;
}

/* Does HEAD begin a file to inspect itself? An executable SIF file starts with a
 * script, too. */
static bool is_program(const char *head)
{
    if (berth_text_starts(head, "\177ELF"))
        return true;
    return berth_text_starts(head, "#!") && !strstr(head, "run-singularity");
}

/* Is PATH a file to inspect itself, by its first bytes? */
static int read_head(const char *path, bool *ret_is_file, struct berth_err *err)
{
    BERTH_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char head[256] = "";
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return refuse(path, err);
    *ret_is_file =
        S_ISREG(st.st_mode) && read(fd, head, sizeof(head) - 1) > 0 && is_program(head);
    return 0;
}

static int inspect(struct inspect *it, const char *path, const char *program,
                   struct berth_err *err)
{
    struct berth_image image;
    bool is_file = false;

    if (geteuid() == 0)
        return berth_err_set(err, "inspect: starts loaders that the file names; run it "
                                  "as an ordinary user, not as root");
    if (read_head(path, &is_file, err) < 0)
        return -1;
    if (is_file && program)
        return berth_err_set(err, "'%s': not an image; leave out '%s'", path, program);
    if (is_file)
        return inspect_file(it, path, err);
    if (berth_image_probe(path, &image, err) < 0)
        return -1;
    return inspect_image(it, path, program, &image, err);
}

/* The words of the command line. */
struct words {
    const char *path;
    const char *program; /* NULL: the file or the image as a whole */
    bool as_json;
};

/* Read the words, in which --json may stand anywhere. Returns false if they are wrong.
 */
static bool read_words(char **argv, struct words *ret)
{
    *ret = (struct words){0};
    for (char **word = argv + 1; *word; word++) {
        if (strcmp(*word, "--json") == 0)
            ret->as_json = true;
        else if (**word == '-' || ret->program)
            return false;
        else if (!ret->path)
            ret->path = *word;
        else
            ret->program = *word;
    }
    return ret->path;
}

int berth_cli_inspect(int argc, char **argv)
{
    struct inspect it = {.site = berth_site_default()};
    struct berth_err err;
    struct words words;
    int result;

    (void)argc;
    if (!read_words(argv, &words))
        return BERTH_CLI_USAGE;
    it.as_json = words.as_json;
    result = inspect(&it, words.path, words.program, &err);
    berth_terms_fini(&it.terms);
    berth_site_fini(&it.site);
    if (result < 0)
        return berth_cli_fail(&err);
    return EXIT_SUCCESS;
}
