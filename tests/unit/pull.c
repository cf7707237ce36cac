/* SPDX-License-Identifier: Apache-2.0 */
/* Pulls into a cache, by a runtime that is a script of a few lines. */

#include "image/pull.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "image/compression.h"
#include "image/lookup.h"
#include "image/store.h"
#include "unit.h"

#define URI "docker://r/app:1"

static char *runtime;
static const char *version; /* that the runtime prints */
static const char *help;    /* of its `build` */
static char *env[4];
static int told, waited;
static pid_t holder; /* of the lock */
static struct berth_site site;
static struct utsname host;

static bool is_there(const char *name)
{
    BERTH_FREE char *path = unit_path(unit_dir, name);

    return access(path, F_OK) == 0;
}

#define CACHE "cache/berth"
#define APP   CACHE "/work/docker+r+app=1"

/* The digests of the files good.sif and next.sif. */
#define ONE "06fcf9c8a40d73b0549755c8c480d8fc9f965c309eba974faf57f76bbaf0d3ee"
#define TWO "76dd56dcfb1947558041d7a8fc5a6ca7d95b03552a0e102211d3c2cf3250d0a9"

/* The image with DIGEST in DIRECTORY. The caller frees its path. */
static char *image_path(const char *directory, const char *digest)
{
    return unit_format("%s/%s/docker+r+app@sha256-%s-%s.sif", unit_dir, directory,
                       digest, host.machine);
}

static bool has_image(const char *directory, const char *digest)
{
    BERTH_FREE char *file = image_path(directory, digest);

    return access(file, F_OK) == 0;
}

/* The smallest SIF file with a file system in it, which ends in LAST. */
static void make_sif(const char *name, unsigned char last)
{
    BERTH_FREE char *path = unit_path(unit_dir, name);
    unsigned char bytes[1024] = {0};

    memcpy(bytes + 32, "SIF_MAGIC", 10);
    bytes[88] = 1;
    bytes[96] = 128;
    bytes[128] = 0x04;
    bytes[129] = 0x40;
    bytes[132] = 1;
    bytes[1023] = last;
    unit_write(path, bytes, sizeof(bytes));
}

/* Make a runtime that runs SCRIPT: $2 is the file, $3 the URI. */
static void make_runtime(const char *script)
{
    BERTH_FREE char *text =
        unit_format("[ \"$1\" != --version ] || exec echo '%s'\n"
                    "[ \"$*\" != 'build --help' ] || exec echo '%s'\n"
                    "[ \"$1\" != buildcfg ] || exit 0\n"
                    "cd '%s'\n: >>calls\n%s",
                    version, help, unit_dir, script);
    unit_script(runtime, text);
}

static void setup(void)
{
    BERTH_FREE char *cache = NULL;

    uname(&host);
    runtime = unit_path(unit_dir, "runtime");
    cache = unit_path(unit_dir, "cache");
    env[0] = unit_format("XDG_CACHE_HOME=%s", cache);
    env[1] = strdup("PATH=/usr/bin:/bin");
    make_sif("good.sif", 0);
    make_sif("next.sif", 1);
    version = "apptainer version 1.4.5";
    help = "--force  overwrite";
    make_runtime("cp good.sif \"$2\"");
}

static void without_store(void)
{
    free(site.images.store);
    free(site.images.store_owner);
    site.images.store = site.images.store_owner = NULL;
}

static void teardown(void)
{
    free(runtime);
    for (int i = 0; env[i]; i++)
        free(env[i]);
    without_store();
}

static void say(const char *sentence)
{
    if (strncmp(sentence, "pulling image '", 15) == 0 ||
        strstr(sentence, "image '" URI "': the file that the job was submitted with is "
                         "gone; this step runs '")) {
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

/* Pull it, and expect the image with DIGEST in DIRECTORY. */
static void expect_file(const struct berth_pull *pull, const char *directory,
                        const char *digest)
{
    BERTH_FREE char *expected = image_path(directory, digest);
    BERTH_FREE char *seen = NULL;
    struct berth_err err = {0};

    ck_assert_msg(berth_pull_image(pull, &seen, &err) == 0, "%s", err.text);
    ck_assert_str_eq(seen, expected);
    ck_assert_int_eq(access(seen, R_OK), 0);
}

static void expect_error(const struct berth_pull *pull, const char *sentence)
{
    BERTH_FREE char *seen = NULL;
    struct berth_err err;

    ck_assert_int_eq(berth_pull_image(pull, &seen, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, sentence));
    ck_assert_ptr_null(seen);
}

TEST(an_image_is_pulled_once)
{
    BERTH_FREE char *cache = unit_path(unit_dir, "cache/berth");
    struct berth_pull pull = app();
    struct stat st;

    expect_file(&pull, CACHE, ONE);
    make_runtime("exit 1");
    expect_file(&pull, CACHE, ONE);
    ck_assert_int_eq(told, 1);
    ck_assert_int_eq(waited, 0);
    ck_assert_int_eq(stat(cache, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0700);
    ck_assert(!is_there(APP "/part") && !is_there(APP "/layers"));
}

/* A request for the image ONE of MACHINE in the cache. */
static struct berth_request asked(const char *machine)
{
    return (struct berth_request){
        .uri = strdup(URI),
        .image = unit_format("%s/" CACHE "/docker+r+app@sha256-" ONE "-%s.sif",
                             unit_dir, machine)};
}

TEST(again_pulls_and_leaves_what_jobs_may_use)
{
    BERTH_REQUEST struct berth_request request = asked(host.machine);
    struct berth_pull pull = app();
    struct berth_err err;

    expect_file(&pull, CACHE, ONE);
    ck_assert(!berth_store_has_moved(&request, &err));
    pull.again = true;
    make_runtime("cp next.sif \"$2\"");
    expect_file(&pull, CACHE, TWO);
    ck_assert(has_image(CACHE, ONE));
    pull.again = false;
    expect_file(&pull, CACHE, TWO);
    ck_assert_int_eq(told, 2);
    ck_assert(berth_store_has_moved(&request, &err));
    ck_assert_str_eq(err.text, "image '" URI "': another image has that name by now; "
                               "this step keeps sha256:" ONE);
}

TEST(an_image_that_was_cut_is_pulled_again)
{
    struct berth_pull pull = app();

    expect_file(&pull, CACHE, ONE);
    unit_run("truncate -s 100 '%s/" CACHE "'/*.sif", unit_dir);
    expect_file(&pull, CACHE, ONE);
    expect_file(&pull, CACHE, ONE);
    ck_assert_int_eq(told, 2);
}

TEST(the_runtime_keeps_its_layers_in_the_cache)
{
    struct berth_pull pull = app();

    make_runtime("[ \"$APPTAINER_CACHEDIR\" = \"$SINGULARITY_CACHEDIR\" ] && "
                 "echo layer >\"$APPTAINER_CACHEDIR/one\" && exit 1");
    expect_error(&pull, "did not pull it");
    ck_assert(is_there(APP "/layers/one") && !is_there(APP "/part"));
    make_runtime("[ -e \"$APPTAINER_CACHEDIR/one\" ] && cp good.sif \"$2\"");
    expect_file(&pull, CACHE, ONE);
    ck_assert(!is_there(APP "/layers"));
}

TEST(a_user_says_where_layers_are_kept)
{
    struct berth_pull pull = app();

    env[2] = strdup("APPTAINER_CACHEDIR=/mine");
    make_runtime("[ \"$APPTAINER_CACHEDIR\" = /mine ] && cp good.sif \"$2\"");
    expect_file(&pull, CACHE, ONE);
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
    ck_assert(is_there(APP "/part/deep/er") && !has_image(CACHE, ONE));
    make_runtime("[ ! -e \"${2%/*}/deep\" ] && cp good.sif \"$2\"");
    expect_file(&pull, CACHE, ONE);
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
        /* The guard is between. Neither what has left the process group stays. */
        make_runtime("trap '' TERM INT; setsid sleep 301 & echo $! >away; sleep 302 &\n"
                     "echo half >\"$2\"; mkdir -m 500 \"$APPTAINER_TMPDIR/rootfs\"\n"
                     "echo \"$APPTAINER_TMPDIR\" >place; read -r _ _ _ parent _ "
                     "</proc/$PPID/stat\nkill -TERM $parent; sleep 303");
        berth_pull_image(&pull, &file, &err);
        _exit(0);
    }
    ck_assert_int_eq(unit_ended(child), 128 + SIGTERM);
    unit_run("cd '%s' && for i in $(seq 300); do kill -0 $(cat away) 2>/dev/null || "
             "[ -e " APP
             "/part ] || [ -e \"$(cat place)\" ] || exit 0; sleep 0.1; done; "
             "exit 1",
             unit_dir);
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
    ck_assert(!is_there(APP "/part") && !has_image(CACHE, ONE));
}

TEST(one_pull_at_a_time)
{
    BERTH_FREE char *lock = unit_path(unit_dir, APP "/lock");
    struct berth_pull pull = app();
    int pipes[2], fd;
    char byte;

    expect_file(&pull, CACHE, ONE);
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
    expect_file(&pull, CACHE, ONE);
    ck_assert_int_eq(waited, 1);
    ck_assert_int_eq(waitpid(holder, NULL, 0), holder);
}

TEST(only_the_user_may_write_the_cache)
{
    BERTH_FREE char *cache = unit_path(unit_dir, "cache/berth");
    struct berth_pull pull = app();

    expect_file(&pull, CACHE, ONE);
    ck_assert_int_eq(chmod(cache, 0775), 0);
    expect_error(&pull, "has mode 0775; expected user ");
    ck_assert_int_eq(chmod(cache, 0755), 0);
    expect_file(&pull, CACHE, ONE);
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
    expect_file(&pull, CACHE, ONE);
    ck_assert(has_image("room", ONE));
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
    expect_error(&pull, "'/proc/berth': No such file or directory; images are pulled "
                        "into a directory that "
                        "you can write, with locks (images.cache or images.store in "
                        "berth.yaml, or XDG_CACHE_HOME)");
}

TEST(a_lock_that_is_none)
{
    BERTH_FREE char *lock = unit_path(unit_dir, APP "/lock");
    struct berth_pull pull = app();

    expect_file(&pull, CACHE, ONE);
    pull.again = true;
    ck_assert(unlink(lock) == 0 && mkdir(lock, 0700) == 0);
    expect_error(
        &pull,
        "': Is a directory; images are pulled into a directory that you can write");
    unit_run("rm -r '%s/" CACHE "'/*; mkdir -p '%s/" APP "'; touch '%s/" CACHE
             "/index'",
             unit_dir, unit_dir, unit_dir);
    expect_error(&pull, ".sif': Not a directory; the image is not kept");
}

TEST(a_part_that_cannot_go)
{
    BERTH_FREE char *layers = unit_path(unit_dir, APP "/layers");
    BERTH_FREE char *above = unit_path(unit_dir, APP);
    struct berth_pull pull = app();

    if (geteuid() == 0)
        return; /* may write everywhere */
    expect_file(&pull, CACHE, ONE);
    pull.again = true;
    ck_assert_int_eq(chmod(above, 0500), 0);
    expect_error(
        &pull,
        "': Permission denied; images are pulled into a directory that you can write");
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

/* A store of this user's. */
static struct berth_pull with_store(void)
{
    struct berth_pull pull = app();

    without_store();
    site.images.store = unit_path(unit_dir, "store");
    site.images.store_owner = unit_format("%05d", (int)geteuid());
    mkdir(site.images.store, 0755);
    pull.to_store = true;
    return pull;
}

TEST(a_store_is_looked_at_first)
{
    struct berth_pull pull = with_store();

    env[2] = strdup("APPTAINER_CACHEDIR=/mine");
    make_runtime(
        "[ \"${APPTAINER_CACHEDIR#*store/work}\" != /mine ] && cp good.sif \"$2\"");
    expect_file(&pull, "store", ONE);
    expect_file(&pull, "store", ONE);
    pull.to_store = false;
    expect_file(&pull, "store", ONE);
    ck_assert_int_eq(told, 1);
    ck_assert(!is_there("cache") && !is_there("store/work/docker+r+app=1/layers"));
    free(env[2]);
    env[2] = NULL;
}

TEST(the_digest_is_that_of_the_manifest)
{
    struct berth_pull pull = app();

    make_runtime(
        "cd \"$APPTAINER_CACHEDIR\" && mkdir -p cache/blob && cd cache/blob &&\n"
        "echo '{\"digest\": \"sha256:" TWO "\"}' >>index.json && exit 1");
    expect_error(&pull, "did not pull it");
    make_runtime(
        "cd \"$APPTAINER_CACHEDIR\" && mkdir -p cache/blob && cd cache/blob &&\n"
        "echo '{\"digest\": \"sha256:" TWO "1\", \"sha256-" ONE
        "\"}' >>index.json && cd - && cp ../../../../../good.sif \"$2\"");
    expect_file(&pull, CACHE, ONE);
}

TEST(each_machine_has_an_image_of_its_own)
{
    BERTH_REQUEST struct berth_request request = asked("riscv64");
    BERTH_FREE char *own =
        unit_format("%s/" CACHE "/index/docker+r+app=1-%s", unit_dir, host.machine);
    BERTH_FREE char *other =
        unit_format("%s/" CACHE "/index/docker+r+app=1-riscv64", unit_dir);
    struct berth_pull pull = app();
    struct berth_err err;

    expect_file(&pull, CACHE, ONE);
    ck_assert_int_eq(rename(own, other), 0);
    expect_file(&pull, CACHE, ONE); /* nodes may be such machines */
    ck_assert_int_eq(berth_lookup_fit(&site, env, &request, &err), 0);
    ck_assert_ptr_nonnull(strstr(request.image, "-riscv64.sif"));
    ck_assert_int_eq(rename(other, own), 0);
    ck_assert_int_eq(berth_lookup_fit(&site, env, &request, &err), 0);
    ck_assert_ptr_nonnull(strstr(request.image, host.machine));
}

/* The store has an image for one machine, the cache that for another one. */
TEST(a_node_finds_its_image_in_the_other_place)
{
    BERTH_REQUEST struct berth_request of_store = {0}, of_cache = asked("riscv64");
    BERTH_FREE char *store = image_path("store", ONE);
    BERTH_FREE char *cache = image_path(CACHE, TWO);
    struct berth_pull pull = with_store();
    struct berth_err err;

    expect_file(&pull, "store", ONE);
    ck_assert_int_eq(berth_lookup_fit(&site, env, &of_cache, &err), 0);
    ck_assert_str_eq(of_cache.image, store);

    pull.to_store = false;
    pull.again = true;
    make_runtime("cp next.sif \"$2\"");
    expect_file(&pull, CACHE, TWO);
    unit_run("cd '%s/store/index' && mv docker+r+app=1-%s docker+r+app=1-riscv64",
             unit_dir, host.machine);
    of_store.uri = strdup(URI);
    of_store.image =
        unit_format("%s/store/docker+r+app@sha256-" ONE "-riscv64.sif", unit_dir);
    ck_assert_int_eq(berth_lookup_fit(&site, env, &of_store, &err), 0);
    ck_assert_str_eq(of_store.image, cache);
    /* A node that cannot say where the cache is refuses the image itself. */
    berth_request_put(&of_store, BERTH_OPTION_IMAGE, of_cache.image, &err);
    site.images.cache = strdup("$NOT_SET/x");
    ck_assert_int_eq(berth_lookup_fit(&site, env, &of_store, &err), 0);
    free(site.images.cache);
    site.images.cache = NULL;
}

/* In DIRECTORY the image ONE is changed, but not its length. */
static void damage(const char *directory)
{
    BERTH_FREE char *path = image_path(directory, ONE);
    BERTH_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

    ck_assert_int_eq(pwrite(fd, "damaged", 7, 1000), 7);
}

TEST(again_mends_an_image_whose_bytes_have_changed)
{
    BERTH_FREE char *path = image_path("store", ONE);
    struct berth_pull pull = with_store();
    struct stat before, after;

    expect_file(&pull, "store", ONE);
    pull.again = true;
    ck_assert_int_eq(stat(path, &before), 0);
    expect_file(&pull, "store", ONE);
    ck_assert_int_eq(stat(path, &after), 0);
    ck_assert_uint_eq(before.st_ino, after.st_ino); /* jobs may have it open */
    damage("store");
    expect_file(&pull, "store", ONE);
    unit_run("cmp '%s/good.sif' '%s'", unit_dir, path);
    /* What was added without a digest of its bytes may be damaged, too. */
    unit_run("rm -r '%s/store/work/sums'", unit_dir);
    damage("store");
    expect_file(&pull, "store", ONE);
    unit_run("cmp '%s/good.sif' '%s'", unit_dir, path);
}

TEST(a_long_name_is_cut)
{
    BERTH_FREE char *uri = unit_format("docker://%0200d:1", 0), *seen = NULL;
    struct berth_pull pull = app();
    struct berth_err err = {0};

    pull.uri = uri;
    ck_assert_msg(berth_pull_image(&pull, &seen, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(strlen(strrchr(seen, '/') + 1), 255);
    make_runtime("exit 1");
    free(berth_steal(&seen));
    ck_assert_msg(berth_pull_image(&pull, &seen, &err) == 0, "%s", err.text);
}

TEST(the_store_has_its_layers_whatever_the_user_says)
{
    struct berth_pull pull = with_store();

    env[2] = strdup("APPTAINER_DISABLE_CACHE=1");
    pull.again = true;
    make_runtime("[ -z \"$APPTAINER_DISABLE_CACHE\" ] || exit 1\n"
                 "mkdir -p \"$APPTAINER_CACHEDIR/cache/blob\"\n"
                 "echo '\"sha256:" TWO
                 "\"' >\"$APPTAINER_CACHEDIR/cache/blob/index.json\"\n"
                 "cp good.sif \"$2\"");
    expect_file(&pull, "store", TWO);
    expect_file(&pull, "store", TWO);
    free(env[2]);
    env[2] = NULL;
}

TEST(who_may_write_the_store)
{
    struct berth_pull pull = with_store();

    expect_file(&pull, "store", ONE);
    pull.to_store = false;
    unit_run("chmod 1777 '%s/store'", unit_dir);
    expect_error(&pull, "/store' can be written by others (mode 1777); chmod go-w");
    unit_run("chmod 755 '%s/store'; chmod 1777 '%s/store/index'", unit_dir, unit_dir);
    expect_error(&pull, "/index' can be written by others (mode 1777); chmod go-w");
    unit_run("chmod 0775 '%s/store/index'", unit_dir);
    expect_error(&pull, "'index' can be written by others (mode 0775)");
    strcpy(site.images.store_owner, "1");
    if (geteuid() > 1)
        expect_error(&pull, "who could change it; expected root as the owner");
    unit_run("chmod g+w '%s/store'", unit_dir);
    pull = with_store();
    pull.again = true;
    expect_error(&pull, "images.store: ");
    without_store();
    expect_error(&pull, "this site has no store; set images.store in berth.yaml");
}

TEST(a_request_gets_the_file)
{
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_FREE char *file = image_path(CACHE, ONE);
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
    make_runtime("cp next.sif \"$2\"");
    expect_file(&pull, CACHE, TWO);
    pull.again = false;
    /* What was chosen stays, as long as it is there. */
    ck_assert_int_eq(berth_pull_request(&pull, &request, &err), 0);
    ck_assert_str_eq(request.image, file);
    ck_assert_int_eq(unlink(file), 0);
    ck_assert_int_eq(berth_pull_request(&pull, &request, &err), 0);
    ck_assert_ptr_nonnull(strstr(request.image, TWO));
    ck_assert_int_eq(told, 3);
}

/* What a step asks for, and the image of a registry that it gets where the site pulls
 * words. NULL: none. */
static const struct {
    const char *image, *name, *uri;
} bare[] = {
    {"ubuntu", NULL, "docker://ubuntu"},
    {"ubuntu", "work", "docker://ubuntu"},
    {"here", NULL, NULL}, /* there is such a file */
    {NULL, "work", NULL}, /* a step after the first */
    {NULL, NULL, NULL},
};

TEST_ROWS(a_word_is_an_image_where_the_site_says_so, bare)
{
    const struct berth_site pulls = {.images.bare = BERTH_BARE_PULL};
    BERTH_REQUEST struct berth_request request = {0};
    BERTH_FREE char *before = getcwd(NULL, 0);
    BERTH_FREE char *directory = realpath(unit_dir, NULL);
    struct berth_err err;

    ck_assert_int_eq(chdir(directory), 0);
    unit_write("here", "", 0);
    if (bare[_i].image)
        ck_assert_int_eq(berth_request_parse(&request, BERTH_OPTION_IMAGE,
                                             bare[_i].image, directory, &err),
                         0);
    if (bare[_i].name)
        request.container_name = strdup(bare[_i].name);
    ck_assert_int_eq(berth_lookup_word(&pulls, &request, &err), 0);
    ck_assert_pstr_eq(request.uri, bare[_i].uri);
    ck_assert_int_eq(chdir(before), 0);
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
    expect_file(&pull, CACHE, ONE);
}

/* A mksquashfs beside the runtime that can do what CAN, a pattern of sh, matches. */
static void make_mksquashfs(const char *can)
{
    BERTH_FREE char *path = unit_path(unit_dir, "libexec/apptainer/bin/mksquashfs");
    BERTH_FREE char *text = unit_format("case \"$*\" in %s) ;; *) exit 1 ;; esac", can);

    unit_run("mkdir -p '%s/libexec/apptainer/bin' '%s/bin'", unit_dir, unit_dir);
    unit_script(path, text);
}

/* Move the runtime to a directory bin. */
static void move_runtime(void)
{
    free(runtime);
    runtime = unit_path(unit_dir, "bin/apptainer");
}

#define LISTS "      --mksquashfs-args string   extra arguments"

static const struct {
    const char *help;
    const char *setting;
    const char *can;
    const char *variable; /* of the user */
    const char *uri;
    const char *words; /* the first of the runtime */
    const char *note;
} compressions[] = {
    {LISTS, NULL, "*zstd*-level' '3", "A=", URI,
     "build --mksquashfs-args=-comp zstd -Xcompression-level 3 -processors ", ""},
    {LISTS, "zstd:9", "*zstd*-level' '9", "A=", URI,
     "build --mksquashfs-args=-comp zstd -Xcompression-level 9 -processors ", ""},
    {LISTS, "lz4", "*lz4", "A=", URI, "build --mksquashfs-args=-comp lz4 -processors ",
     ""},
    {LISTS, "gzip", "*", "A=", URI, "pull /", ""},
    {LISTS, "gzip:1", "*", "A=", URI,
     "build --mksquashfs-args=-comp gzip -Xcompression-level 1 -processors ", ""},
    {LISTS, NULL, "*", "APPTAINER_MKSQUASHFS_ARGS=-comp xz", URI, "build /", ""},
    {LISTS, NULL, "*", "APPTAINER_PULL_ARCH=arm64", URI, "pull /", ""},
    {LISTS, NULL, "*", "APPTAINER_SANDBOX=1", URI, "build --mksquashfs-args=", ""},
    {LISTS, NULL, "*", "A=", "oras://r/app:1", "pull /", ""},
    {LISTS, NULL, "none", "A=", URI, "pull /", ""},
    {LISTS, "zstd", "none", "A=", URI, "pull /",
     "note: not compressed with zstd:3: mksquashfs of this host cannot do that"},
    {"--force", NULL, "*", "A=", URI, "pull /", ""},
    {"--force", "lz4", "*", "A=", URI, "pull /",
     "note: not compressed with lz4: the runtime takes no arguments of mksquashfs "
     "(Apptainer 1.4 does)"},
};

static char noted[BERTH_ERR_SIZE];

static void note(const char *sentence)
{
    if (strncmp(sentence, "note: ", 6) == 0)
        snprintf(noted, sizeof(noted), "%s", sentence);
}

TEST_ROWS(zstd_where_host_and_runtime_can, compressions)
{
    BERTH_BUF struct berth_buf words = {0};
    BERTH_FREE char *path = unit_path(unit_dir, "words"), *file = NULL;
    struct berth_pull pull;
    struct berth_err err = {.text = ""};

    make_mksquashfs(compressions[_i].can);
    move_runtime();
    help = compressions[_i].help;
    env[2] = strdup(compressions[_i].variable);
    if (compressions[_i].setting)
        site.images.compression = strdup(compressions[_i].setting);
    make_runtime("[ -z \"$APPTAINER_SANDBOX\" ] && echo \"$*\" >words\n"
                 "while [ $# != 2 ]; do shift; done; cp good.sif \"$1\"");
    pull = app();
    pull.say = note;
    pull.uri = compressions[_i].uri;
    *noted = '\0';
    ck_assert_msg(berth_pull_image(&pull, &file, &err) == 0, "%s", err.text);
    ck_assert_str_eq(noted, compressions[_i].note);
    ck_assert_int_eq(berth_fd_read_path(path, 4096, &words), 0);
    if (strncmp(words.text, compressions[_i].words, strlen(compressions[_i].words)) !=
        0)
        ck_abort_msg("%s", words.text);
    free(env[2]);
    env[2] = NULL;
    free(site.images.compression);
    site.images.compression = NULL;
}

TEST(who_ends_the_trial_ends_the_pull)
{
    struct berth_pull pull;

    make_mksquashfs("*) kill -TERM $$ ;; x");
    move_runtime();
    help = LISTS;
    make_runtime("cp good.sif \"$2\"");
    pull = app();
    expect_error(&pull, "image '" URI "': the pull was ended");
}

TEST(a_kernel_says_what_it_reads)
{
    ck_assert(berth_compression_kernel_reads("", "zstd:3"));
    ck_assert(berth_compression_kernel_reads(
        "CONFIG_SQUASHFS=m\nCONFIG_SQUASHFS_ZSTD=y\n", "zstd:3"));
    ck_assert(!berth_compression_kernel_reads(
        "CONFIG_SQUASHFS=m\n# CONFIG_SQUASHFS_ZSTD is not set\n", "zstd"));
}

static const struct {
    const char *line;
    const char *sentence;
} faults[] = {
    {"FATAL:   While pulling: x: manifest unknown",
     " did not pull it: While pulling: x: manifest unknown; try it by hand: "},
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

TEST(a_terminal_shows_all_but_the_reason)
{
    BERTH_FREE char *path = unit_path(unit_dir, "seen");
    BERTH_CLOSE int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct berth_pull pull = app();
    char seen[100] = "";

    setenv("TERM", "xterm", 1); /* a dumb one shows no progress */
    pull.terminal = fd;
    make_runtime("echo one >&2; echo 'FATAL:  no'; printf '\\nFATAL inside'; exit 255");
    expect_error(&pull, " did not pull it: no; ");
    ck_assert_int_gt(pread(fd, seen, sizeof(seen) - 1, 0), 0);
    ck_assert_str_eq(seen, "one\nFATAL inside\n");
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
    tcase_add_checked_fixture(tests, setup, teardown);
}
