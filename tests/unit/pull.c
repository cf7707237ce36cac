/* SPDX-License-Identifier: Apache-2.0 */
/* Pulls into a cache, by a runtime that is a script of a few lines. */

#include "pull/pull.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "pull/listen.h"
#include "unit.h"

#define URI "docker://r/app:1"

static char *runtime;
static const char *version; /* that the runtime prints */
static char *env[4];
static int told, waited;
static pid_t holder; /* of the lock */
static struct berth_site site;

static bool is_there(const char *name)
{
    BERTH_FREE char *path = unit_path(unit_dir, name);

    return access(path, F_OK) == 0;
}

#define APP "cache/berth/docker+r+app=1"

/* The smallest SIF file with a file system in it. */
static void make_sif(const char *name)
{
    BERTH_FREE char *path = unit_path(unit_dir, name);
    unsigned char bytes[1024] = {0};

    memcpy(bytes + 32, "SIF_MAGIC", 10);
    bytes[88] = 1;
    bytes[96] = 128;
    bytes[128] = 0x04;
    bytes[129] = 0x40;
    bytes[132] = 1;
    unit_write(path, bytes, sizeof(bytes));
}

/* Make a runtime that runs SCRIPT: $2 is the file, $3 the URI. */
static void make_runtime(const char *script)
{
    BERTH_FREE char *text = unit_format("[ \"$1\" != --version ] || exec echo '%s'\n"
                                        "cd '%s'\n: >>calls\n%s",
                                        version, unit_dir, script);
    unit_script(runtime, text);
}

static void setup(void)
{
    BERTH_FREE char *cache = NULL;

    runtime = unit_path(unit_dir, "runtime");
    cache = unit_path(unit_dir, "cache");
    env[0] = unit_format("XDG_CACHE_HOME=%s", cache);
    env[1] = strdup("PATH=/usr/bin:/bin");
    make_sif("good.sif");
    version = "apptainer version 1.4.5";
    make_runtime("cp good.sif \"$2\"");
}

static void teardown(void)
{
    free(runtime);
    for (int i = 0; env[i]; i++)
        free(env[i]);
}

static void say(const char *sentence)
{
    if (strcmp(sentence, "pulling image '" URI "'") == 0) {
        told++;
        return;
    }
    ck_assert_str_eq(sentence, "image '" URI "': another pull of it is under way; "
                               "waiting for it");
    waited++;
    kill(holder, SIGKILL);
}

static struct berth_pull app(void)
{
    site.runtime.path = runtime;
    return (struct berth_pull){
        .uri = URI, .site = &site, .env = env, .terminal = -1, .say = say};
}

/* Pull it, and expect FILE of its directory. */
static void expect_file(const struct berth_pull *pull, const char *file)
{
    BERTH_FREE char *expected = unit_path(unit_dir, file);
    BERTH_FREE char *seen = NULL;
    struct berth_err err = {""};

    ck_assert_msg(berth_pull(pull, &seen, &err) == 0, "%s", err.text);
    ck_assert_str_eq(seen, expected);
    ck_assert_int_eq(access(seen, R_OK), 0);
}

static void expect_error(const struct berth_pull *pull, const char *sentence)
{
    BERTH_FREE char *seen = NULL;
    struct berth_err err;

    ck_assert_int_eq(berth_pull(pull, &seen, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, sentence));
    ck_assert_ptr_null(seen);
}

TEST(an_image_is_pulled_once)
{
    BERTH_FREE char *cache = unit_path(unit_dir, "cache/berth");
    struct berth_pull pull = app();
    struct stat st;

    expect_file(&pull, APP "/1.sif");
    make_runtime("exit 1");
    expect_file(&pull, APP "/1.sif");
    ck_assert_int_eq(told, 1);
    ck_assert_int_eq(waited, 0);
    ck_assert_int_eq(stat(cache, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    ck_assert(!is_there(APP "/part") && !is_there(APP "/layers"));
}

TEST(again_pulls_and_leaves_what_jobs_may_use)
{
    struct berth_pull pull = app();

    expect_file(&pull, APP "/1.sif");
    pull.again = true;
    expect_file(&pull, APP "/2.sif");
    ck_assert(is_there(APP "/1.sif"));
    pull.again = false;
    expect_file(&pull, APP "/2.sif");
    ck_assert_int_eq(told, 2);
}

TEST(an_image_that_was_cut_is_pulled_again)
{
    BERTH_FREE char *file = unit_path(unit_dir, APP "/1.sif");
    struct berth_pull pull = app();

    expect_file(&pull, APP "/1.sif");
    ck_assert_int_eq(truncate(file, 100), 0);
    expect_file(&pull, APP "/2.sif");
}

TEST(the_runtime_keeps_its_layers_in_the_cache)
{
    struct berth_pull pull = app();

    make_runtime("[ \"$APPTAINER_CACHEDIR\" = \"$SINGULARITY_CACHEDIR\" ] && "
                 "echo layer >\"$APPTAINER_CACHEDIR/one\" && exit 1");
    expect_error(&pull, "did not pull it");
    ck_assert(is_there(APP "/layers/one") && !is_there(APP "/part"));
    make_runtime("[ -e \"$APPTAINER_CACHEDIR/one\" ] && cp good.sif \"$2\"");
    expect_file(&pull, APP "/1.sif");
    ck_assert(!is_there(APP "/layers"));
}

TEST(a_user_says_where_layers_are_kept)
{
    struct berth_pull pull = app();

    env[2] = strdup("APPTAINER_CACHEDIR=/mine");
    make_runtime("[ \"$APPTAINER_CACHEDIR\" = /mine ] && cp good.sif \"$2\"");
    expect_file(&pull, APP "/1.sif");
    free(env[2]);
    env[2] = NULL;
}

TEST(what_a_killed_pull_has_left_goes)
{
    struct berth_pull pull = app();

    make_runtime("mkdir \"${2%/*}/deep\" && echo half >\"${2%/*}/deep/er\" && "
                 "kill -KILL $$");
    expect_error(&pull, "image '" URI "': the pull was ended by signal 9 (Killed); "
                        "pull it again, it continues where it stopped");
    ck_assert(is_there(APP "/part/deep/er") && !is_there(APP "/1.sif"));
    make_runtime("[ ! -e \"${2%/*}/deep\" ] && cp good.sif \"$2\"");
    expect_file(&pull, APP "/1.sif");
    ck_assert(!is_there(APP "/part"));
}

TEST(a_signal_that_srun_has_blocked_ends_it)
{
    pid_t child = fork();

    if (child == 0) {
        BERTH_FREE char *file = NULL;
        struct berth_pull pull = app();
        struct berth_err err;
        sigset_t all;

        signal(SIGTERM, SIG_DFL); /* Check has its own */
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        make_runtime("kill -TERM $PPID; exec sleep 300");
        berth_pull(&pull, &file, &err);
        _exit(0);
    }
    ck_assert_int_eq(unit_ended(child), 128 + SIGTERM);
}

TEST(without_room_nothing_is_kept)
{
    struct berth_pull pull = app();

    make_runtime("echo layer >\"$APPTAINER_CACHEDIR/one\"; echo half >\"$2\"\n"
                 "echo 'FATAL:   While pulling: write x: no space left on device' >&2\n"
                 "exit 255");
    expect_error(&pull, "did not pull it: While pulling: write x: no space left on "
                        "device; try it by hand: ");
    ck_assert(!is_there(APP "/part") && !is_there(APP "/layers"));
}

TEST(what_is_no_image_is_not_kept)
{
    struct berth_pull pull = app();

    make_runtime("echo half >\"$2\"");
    expect_error(&pull, "image '" URI "': what was pulled: image '");
    make_runtime(":");
    expect_error(&pull, "image '" URI "': what was pulled: image '");
    ck_assert(!is_there(APP "/part") && !is_there(APP "/1.sif"));
}

TEST(one_pull_at_a_time)
{
    BERTH_FREE char *lock = unit_path(unit_dir, APP "/lock");
    struct berth_pull pull = app();
    int pipes[2], fd;
    char byte;

    expect_file(&pull, APP "/1.sif");
    ck_assert_int_eq(pipe(pipes), 0);
    holder = fork();
    if (holder == 0) {
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

        fd = open(lock, O_RDWR);
        if (fcntl(fd, F_OFD_SETLK, &whole) < 0 || write(pipes[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    ck_assert_int_eq(read(pipes[0], &byte, 1), 1);
    pull.again = true;
    expect_file(&pull, APP "/2.sif");
    ck_assert_int_eq(waited, 1);
    ck_assert_int_eq(waitpid(holder, NULL, 0), holder);
}

TEST(only_the_user_may_write_the_cache)
{
    BERTH_FREE char *cache = unit_path(unit_dir, "cache/berth");
    struct berth_pull pull = app();

    expect_file(&pull, APP "/1.sif");
    ck_assert_int_eq(chmod(cache, 0775), 0);
    expect_error(&pull, "has mode 0775; expected user ");
    ck_assert_int_eq(chmod(cache, 0755), 0);
    expect_file(&pull, APP "/1.sif");
}

TEST(the_cache_may_be_a_link)
{
    BERTH_FREE char *above = unit_path(unit_dir, "cache");
    BERTH_FREE char *link = unit_path(unit_dir, "cache/berth");
    BERTH_FREE char *room = unit_path(unit_dir, "room");
    struct berth_pull pull = app();

    ck_assert(mkdir(above, 0755) == 0 && mkdir(room, 0777) == 0);
    ck_assert(symlink("../room", link) == 0 && chmod(room, 0777) == 0);
    expect_error(&pull, "has mode 0777; expected user ");
    ck_assert_int_eq(chmod(room, 0700), 0);
    expect_file(&pull, APP "/1.sif");
    ck_assert(is_there("room/docker+r+app=1/1.sif"));
}

TEST(a_cache_that_cannot_be_made)
{
    BERTH_FREE char *cache = unit_path(unit_dir, "cache");
    struct berth_pull pull = app();
    char nowhere[] = "/proc/berth";

    unit_write(cache, "", 0);
    expect_error(&pull, "': cannot be opened: Not a directory");
    ck_assert_int_eq(unlink(cache), 0);
    site.images.cache = nowhere;
    expect_error(
        &pull,
        "'/proc/berth': No such file or directory; the cache needs a directory that "
        "you can write, with locks (images.cache in berth.yaml, or XDG_CACHE_HOME)");
}

TEST(a_lock_that_is_none)
{
    BERTH_FREE char *lock = unit_path(unit_dir, APP "/lock");
    BERTH_FREE char *file = unit_path(unit_dir, APP "/1.sif");
    struct berth_pull pull = app();

    expect_file(&pull, APP "/1.sif");
    ck_assert(unlink(lock) == 0 && unlink(file) == 0 && mkdir(lock, 0700) == 0);
    expect_error(&pull,
                 "': Is a directory; the cache needs a directory that you can write");
}

TEST(a_part_that_cannot_go)
{
    BERTH_FREE char *layers = unit_path(unit_dir, APP "/layers");
    BERTH_FREE char *file = unit_path(unit_dir, APP "/1.sif");
    BERTH_FREE char *above = unit_path(unit_dir, APP);
    struct berth_pull pull = app();

    if (geteuid() == 0)
        return; /* may write everywhere */
    expect_file(&pull, APP "/1.sif");
    ck_assert_int_eq(unlink(file), 0);
    ck_assert_int_eq(chmod(above, 0500), 0);
    expect_error(
        &pull, "': Permission denied; the cache needs a directory that you can write");
    ck_assert_int_eq(chmod(above, 0700), 0);
}

TEST(without_a_runtime)
{
    struct berth_pull pull = app();
    char nowhere[] = "/nowhere/apptainer";

    site.runtime.path = nowhere;
    expect_error(&pull, "image '" URI "': container runtime '/nowhere/apptainer': No "
                        "such file or directory");
    ck_assert(!is_there("cache"));
}

TEST(the_site_decides_from_where)
{
    struct berth_pull pull = app();

    site.images.has_uris = true;
    expect_error(&pull, "image '" URI "': this site does not allow it; it allows none");
    ck_assert(!is_there("cache"));
    site.images.has_uris = false;
}

TEST(a_request_gets_the_file)
{
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_FREE char *file = unit_path(unit_dir, APP "/1.sif");
    BERTH_FREE char *second = unit_path(unit_dir, APP "/2.sif");
    struct berth_pull pull = app();
    struct berth_err err;

    ck_assert_int_eq(berth_pull_request(&pull, &request, &err), 0);
    ck_assert_int_eq(berth_request_parse(&request, BERTH_OPTION_IMAGE, URI, NULL, &err),
                     0);
    ck_assert(berth_request_needs_pull(&request));
    ck_assert_int_eq(berth_pull_request(&pull, &request, &err), 0);
    ck_assert_str_eq(request.image, file);
    ck_assert_str_eq(berth_request_name(&request), URI);
    pull.again = true;
    expect_file(&pull, APP "/2.sif");
    pull.again = false;
    /* What was chosen stays, as long as it is there. */
    ck_assert_int_eq(berth_pull_request(&pull, &request, &err), 0);
    ck_assert_str_eq(request.image, file);
    ck_assert_int_eq(unlink(file), 0);
    ck_assert_int_eq(berth_pull_request(&pull, &request, &err), 0);
    ck_assert_str_eq(request.image, second);
    ck_assert_int_eq(told, 2);
}

static const struct {
    const char *version;
    bool has_no_oci;
} versions[] = {
    {"apptainer version 5.0.0", false},
    {"mine", false},
    {"singularity version 3.8.7", false},
    {"singularity-ce version 3.11.4", false},
    {"singularity-pro version 4.1.3-1.el9", true},
    {"singularity-ce version 10.0.0-rc.1", true},
    {"singularity-ce version main", true},
};

TEST_ROWS(singularity_may_make_no_oci_sif, versions)
{
    struct berth_pull pull = app();

    version = versions[_i].version;
    env[2] = strdup("SINGULARITY_OCI=1");
    make_runtime(versions[_i].has_no_oci
                     ? "[ $# = 4 ] && [ \"$1 $2\" = 'pull --no-oci' ] && "
                       "[ -z \"${SINGULARITY_OCI+x}\" ] && cp good.sif \"$3\""
                     : "[ $# = 3 ] && [ \"$1\" = pull ] && cp good.sif \"$2\"");
    expect_file(&pull, APP "/1.sif");
}

static const struct {
    const char *line;
    const char *sentence;
} faults[] = {
    {"FATAL:   While pulling: x: manifest unknown",
     " did not pull it: While pulling: x: manifest unknown; try it by hand: "},
    {"open /x: permission denied",
     " did not pull it: open /x: permission denied; try it by hand: "},
    {"FATAL: requested access to the resource is denied",
     " did not pull it: requested access to the resource is denied; log in to the "
     "registry, and try it by hand: "},
    {"x: UNAUTHORIZED", "; log in to the registry, and try it by hand: "},
    {"", " did not pull it: it said nothing; try it by hand: "},
};

TEST_ROWS(the_last_line_of_the_runtime_is_shown, faults)
{
    BERTH_FREE char *script = NULL, *end = NULL;
    struct berth_pull pull = app();

    script = unit_format("echo '%s' >&2; exit 255", faults[_i].line);
    end = unit_format("%s%s pull " URI, faults[_i].sentence, runtime);
    make_runtime(script);
    expect_error(&pull, "image '" URI "': ");
    expect_error(&pull, end);
}

static const struct {
    const char *said; /* in pieces that end in | */
    const char *shown;
    const char *words;
} speeches[] = {
    {"", "", ""},
    {"INFO: one\n|INFO: two\n|", "INFO: one\nINFO: two\n", "INFO: two"},
    {"INFO: one\n|\033[31mFATAL:  \033[0m no\n|\n|", "INFO: one\n\n", "no"},
    {"FATAL: no\nINFO: yes\n|", "INFO: yes\n", "no"},
    {"10%\r20%|\r30%\r|\n|", "10%\r20%\r30%\r\n", "30%"},
    {"\033[2Khalf a |line|", "\033[2Khalf a line", "half a line"},
    {"a FATAL: is inside\n|", "a FATAL: is inside\n", "a FATAL: is inside"},
};

TEST_ROWS(what_the_runtime_says, speeches)
{
    struct berth_listen listen = {0};
    const char *piece = speeches[_i].said;
    char seen[200] = "";
    int pipes[2];

    ck_assert_int_eq(pipe(pipes), 0);
    listen.terminal = pipes[1];
    for (const char *end; (end = strchr(piece, '|')); piece = end + 1)
        berth_listen_add(&listen, piece, (size_t)(end - piece));
    close(pipes[1]);
    ck_assert_int_ge(read(pipes[0], seen, sizeof(seen) - 1), 0);
    close(pipes[0]);
    ck_assert_str_eq(seen, speeches[_i].shown);
    ck_assert_str_eq(berth_listen_reason(&listen), speeches[_i].words);
}

TEST(on_a_terminal_the_runtime_has_one)
{
    BERTH_FREE char *path = unit_path(unit_dir, "seen");
    BERTH_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct berth_pull pull = app();
    char seen[100] = "";

    pull.terminal = fd;
    make_runtime("[ -t 1 ] && [ -t 2 ] && echo progress >&2 && cp good.sif \"$2\"");
    expect_file(&pull, APP "/1.sif");
    ck_assert_int_gt(pread(fd, seen, sizeof(seen) - 1, 0), 0);
    ck_assert_str_eq(seen, "progress\n");
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
    tcase_add_checked_fixture(tests, setup, teardown);
}
