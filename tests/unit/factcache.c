/* SPDX-License-Identifier: Apache-2.0 */
/* Facts are found again whole, or not at all. */

#include "bindover/factcache.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

#define IMAGE "/a.sif"
#define KEY   "file\n/lib/libmpi.so\t17\n"

static struct berth_stage_root root;

static void setup(void)
{
    root = (struct berth_stage_root){
        .path = unit_dir, .owner = geteuid(), .forbidden = 0077};
    ck_assert_int_eq(chmod(unit_dir, 0700), 0);
}

/* Store FACT about SUBJECT under KEY. */
static void store(const char *subject, const char *key, const char *fact)
{
    BERTH_BUF struct berth_buf bytes = {0};
    struct berth_factcache cache;

    berth_buf_puts(&bytes, fact);
    berth_factcache_open(&root, subject, &cache);
    berth_factcache_put(&cache, key, &bytes);
    berth_factcache_fini(&cache);
}

/* Is there FACT about SUBJECT under KEY? One of another length is none. */
static bool has(const char *subject, const char *key, const char *fact)
{
    struct berth_factcache cache;
    const char *found;
    size_t count = 0;
    bool is_there;

    berth_factcache_open(&root, subject, &cache);
    found = berth_factcache_get(&cache, key, &count);
    is_there = found && count == strlen(fact) && memcmp(found, fact, count) == 0;
    berth_factcache_fini(&cache);
    return is_there;
}

/* The path of the only file, or of the first of several; how many there are. */
static int list(char **ret_path)
{
    BERTH_FREE char *path = unit_path(unit_dir, "facts");
    struct dirent *entry;
    int count = 0;
    DIR *stream;

    stream = opendir(path);
    while (stream && (entry = readdir(stream)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            count++ == 0 && ret_path)
            *ret_path = unit_path(path, entry->d_name);
    if (stream)
        closedir(stream);
    return count;
}

TEST(a_fact_is_found_by_subject_and_key)
{
    ck_assert(!has(IMAGE, KEY, "MPICH"));
    store(IMAGE, KEY, "MPICH");
    ck_assert(has(IMAGE, KEY, "MPICH"));
    ck_assert(!has(IMAGE, KEY "x", "MPICH"));
    store(IMAGE, "other", "");
    ck_assert(has(IMAGE, KEY, "MPICH"));
    ck_assert(has(IMAGE, "other", ""));
    ck_assert_int_eq(list(NULL), 2);
    ck_assert(!has("/b.sif", KEY, "MPICH"));
}

TEST(a_newer_fact_replaces_an_older_one)
{
    store(IMAGE, KEY, "MPICH");
    store(IMAGE, "other", "x");
    store(IMAGE, KEY, "Open MPI");
    ck_assert(has(IMAGE, KEY, "Open MPI"));
    ck_assert(has(IMAGE, "other", "x"));
}

TEST(what_a_child_puts_is_stored)
{
    BERTH_BUF struct berth_buf bytes = {0};
    struct berth_factcache cache;
    pid_t child;

    berth_buf_puts(&bytes, "MPICH");
    berth_factcache_open(&root, IMAGE, &cache);
    child = fork();
    if (child == 0) {
        berth_factcache_put(&cache, KEY, &bytes);
        _exit(0);
    }
    ck_assert_int_eq(unit_ended(child), 0);
    berth_factcache_fini(&cache);
    ck_assert(has(IMAGE, KEY, "MPICH"));
}

TEST(without_a_cache_nothing_is_known)
{
    const struct berth_buf nothing = {0};
    size_t count;

    berth_factcache_put(NULL, KEY, &nothing);
    ck_assert_ptr_null(berth_factcache_get(NULL, KEY, &count));
}

TEST(another_subject_of_the_same_hash_is_another_one)
{
    BERTH_FREE char *first = NULL;
    BERTH_FREE char *second = NULL;

    store(IMAGE, KEY, "MPICH");
    list(&first);
    ck_assert_int_eq(unlink(first), 0);
    store("/b.sif", KEY, "MPICH");
    list(&second);
    ck_assert_int_eq(rename(second, first), 0);
    ck_assert(!has(IMAGE, KEY, "MPICH"));
}

/* What may happen to a file. */
static const char *const damages[] = {
    "head -c 7 $f >n && cat n >$f",  /* cut in the check, */
    "head -c -2 $f >n && cat n >$f", /* in the fact, */
    "head -c -8 $f >n && cat n >$f", /* in the key */
    "head -c -2 $f >n && cat n n >$f",
    "sed -i 's/MPICH/MPICX/' $f",
    "sed -i '1s/^/9/' $f",
    "echo more >>$f",
    ": >$f",
    "rm $f && ln -s /etc/passwd $f",
    "mv $f ../n && ln -s ../n $f",
    "rm $f && mkdir $f",
    "rm $f && mkfifo -m 600 $f",
    "truncate -s 5M $f",
    "chmod 755 .",
    "cd .. && mv facts other && ln -s other facts",
    "chmod 711 ..",
};

TEST_ROWS(what_is_damaged_or_not_the_users_alone_is_none, damages)
{

    store(IMAGE, KEY, "MPICH");
    ck_assert(has(IMAGE, KEY, "MPICH"));
    unit_run("cd '%s/facts' && f=$(echo *) && %s", unit_dir, damages[_i]);
    ck_assert_msg(!has(IMAGE, KEY, "MPICH"), "%s", damages[_i]);
}

TEST(a_damaged_fact_is_stored_again)
{
    store(IMAGE, KEY, "MPICH");
    unit_run("cd '%s/facts' && f=$(echo *) && head -c -2 $f >n && cat n >$f && rm n",
             unit_dir);
    ck_assert(!has(IMAGE, KEY, "MPICH"));
    store(IMAGE, KEY, "MPICH");
    ck_assert(has(IMAGE, KEY, "MPICH"));
}

TEST(what_is_another_users_is_none)
{
    store(IMAGE, KEY, "MPICH");
    root.owner++;
    ck_assert(!has(IMAGE, KEY, "MPICH"));
    root.owner--;
    ck_assert(has(IMAGE, KEY, "MPICH"));
}

TEST(a_full_disk_is_no_matter)
{
    pid_t child = fork();

    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){30, 30});
        store(IMAGE, KEY, "MPICH");
        _exit(0);
    }
    ck_assert_int_eq(unit_ended(child), 0);
    ck_assert(!has(IMAGE, KEY, "MPICH"));
}

TEST(several_writers_leave_one_that_is_whole)
{
    for (int i = 0; i < 8; i++)
        if (fork() == 0) {
            for (int j = 0; j < 50; j++)
                store(IMAGE, KEY, "MPICH");
            _exit(0);
        }
    while (waitpid(-1, NULL, 0) > 0)
        ;
    ck_assert(has(IMAGE, KEY, "MPICH"));
    ck_assert_int_eq(list(NULL), 1);
}

static void change(const char *words)
{

    unit_run("cd '%s' && %s", unit_dir, words);
}

/* Ways to change a file `f`, of which its identity has to tell. */
static const char *const changes[] = {
    "echo x >>f",
    "touch -d '1 hour ago' f",
    "sleep 0.01; printf hellx >g && touch -r f g && cat g >f && touch -r g f",
    "cp -p f g && mv g f",
    "rm f",
    "rm f && ln -s g f && echo hello >g",
};

TEST_ROWS(a_file_that_changed_has_another_identity, changes)
{
    BERTH_BUF struct berth_buf before = {0};
    BERTH_BUF struct berth_buf same = {0};
    BERTH_BUF struct berth_buf after = {0};
    BERTH_FREE char *path = unit_path(unit_dir, "f");

    unit_write(path, "hello", 5);
    berth_factcache_identify(path, &before);
    berth_factcache_identify(path, &same);
    ck_assert_str_eq(before.text, same.text);
    change(changes[_i]);
    berth_factcache_identify(path, &after);
    ck_assert_str_ne(before.text, after.text);
}

void unit_prepare(TCase *tests)
{
    unit_in_directory(tests);
    tcase_add_checked_fixture(tests, setup, NULL);
}
