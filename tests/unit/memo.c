/* SPDX-License-Identifier: Apache-2.0 */
/* Memos are found again whole, or not at all. */

#include "launch/digest.h"
#include "step/memo.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "unit.h"

#define KEY "image=/a.sif\ncommand=app\n"

static struct berth_stage_root root;
static char *top;
static struct berth_memo memo;

static void setup(void)
{
    top = unit_directory();
    root = (struct berth_stage_root){
        .path = top, .owner = geteuid(), .forbidden = 0077, .mode = 0700};
    ck_assert_int_eq(chmod(top, 0700), 0);
    memo = (struct berth_memo){0};
    berth_memo_add(&memo, BERTH_MEMO_STAGE, "/tmp/berth-1/mpich-1", "/.berth/user/x");
    berth_memo_add(&memo, BERTH_MEMO_FOUND, "libmissing.so.1", "");
    berth_memo_add(&memo, BERTH_MEMO_NOTE, "the host's MPICH 4.2.1 runs", "");
}

static void teardown(void)
{
    berth_memo_fini(&memo);
    unit_remove(top);
    free(top);
}

/* Is there a memo of KEY, and is it this one? */
static bool is_there(const char *key)
{
    struct berth_memo seen;

    if (!berth_memo_load(&root, key, &seen))
        return false;
    ck_assert_uint_eq(seen.count, memo.count);
    for (size_t i = 0; i < memo.count; i++) {
        ck_assert_int_eq(seen.records[i].kind, memo.records[i].kind);
        ck_assert_str_eq(seen.records[i].first, memo.records[i].first);
        ck_assert_str_eq(seen.records[i].second, memo.records[i].second);
    }
    berth_memo_fini(&seen);
    return true;
}

/* The path of the only memo, or of the first of several; how many there are. */
static int list(char **ret_path)
{
    BERTH_FREE char *path = unit_path(top, "memo");
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

START_TEST(a_memo_is_found_by_its_key_alone)
{
    ck_assert(!is_there(KEY));
    berth_memo_save(&root, KEY, &memo);
    ck_assert(is_there(KEY));
    ck_assert(!is_there(KEY "x=1\n"));
    ck_assert(!is_there("image=/b.sif\n"));
    berth_memo_save(&root, KEY, &memo);
    ck_assert_int_eq(list(NULL), 1);
    berth_memo_forget(&root, KEY);
    ck_assert(!is_there(KEY));
    ck_assert_int_eq(list(NULL), 0);
}
END_TEST

START_TEST(another_key_of_the_same_hash_is_another_key)
{
    BERTH_FREE char *first = NULL;
    BERTH_FREE char *second = NULL;

    berth_memo_save(&root, KEY, &memo);
    list(&first);
    second = strdup(first);
    ck_assert_ptr_nonnull(second);
    berth_memo_forget(&root, KEY);
    berth_memo_save(&root, "image=/b.sif\n", &memo);
    free(first);
    first = NULL;
    list(&first);
    ck_assert_int_eq(rename(first, second), 0);
    ck_assert(!is_there(KEY));
}
END_TEST

/* What may happen to a memo's file. */
static const char *const damages[] = {
    "head -c 20 $f >n && cat n >$f", /* cut in the key, */
    "head -c -2 $f >n && cat n >$f", /* in the last line, */
    "sed -i '$d' $f",                /* without it */
    "sed -i '/^stage/s/.*/stage\\tx/' $f",
    "sed -i '/^stage/s/$/\\tx/' $f",
    "sed -i 's/^stage/stages/' $f",
    "sed -i '1s/1/2/' $f",
    "echo more >>$f",
    ": >$f",
    "rm $f && ln -s /etc/passwd $f",
    "mv $f ../n && ln -s ../n $f",
    "rm $f && mkdir $f",
    "rm $f && mkfifo -m 600 $f",
    "chmod 644 $f",
    "chmod 620 $f",
    "truncate -s 2M $f",
    "chmod 755 .",
    "cd .. && mv memo other && ln -s other memo",
    "chmod 711 ..",
};

START_TEST(what_is_damaged_or_not_the_users_alone_is_none)
{
    BERTH_FREE char *command = NULL;

    berth_memo_save(&root, KEY, &memo);
    ck_assert(is_there(KEY));
    ck_assert_int_gt(
        asprintf(&command, "cd '%s/memo' && f=$(echo *) && %s", top, damages[_i]), 0);
    ck_assert_int_eq(system(command), 0);
    ck_assert_msg(!is_there(KEY), "%s", damages[_i]);
}
END_TEST

START_TEST(what_is_another_users_is_none)
{
    berth_memo_save(&root, KEY, &memo);
    root.owner++;
    ck_assert(!is_there(KEY));
    root.owner--;
    ck_assert(is_there(KEY));
}
END_TEST

START_TEST(what_another_user_put_there_is_none)
{
    BERTH_FREE char *file = NULL;

    berth_memo_save(&root, KEY, &memo);
    list(&file);
    if (geteuid() != 0)
        return;
    ck_assert_int_eq(chown(file, 12345, 12345), 0);
    ck_assert(!is_there(KEY));
}
END_TEST

START_TEST(the_oldest_go)
{
    char key[32];

    for (int i = 0; i < BERTH_MEMOS_MAX + 10; i++) {
        snprintf(key, sizeof(key), "number=%d\n", i);
        berth_memo_save(&root, key, &memo);
        usleep(2000);
        /* It is of use all the time. */
        ck_assert(is_there("number=0\n"));
    }
    ck_assert_int_eq(list(NULL), BERTH_MEMOS_MAX);
    ck_assert(is_there(key));
    ck_assert(!is_there("number=1\n"));
}
END_TEST

START_TEST(a_full_disk_is_no_matter)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){50, 50});
        berth_memo_save(&root, KEY, &memo);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert(!is_there(KEY));
    ck_assert_int_eq(list(NULL), 0);
}
END_TEST

START_TEST(several_writers_leave_one_that_is_whole)
{
    for (int i = 0; i < 8; i++)
        if (fork() == 0) {
            for (int j = 0; j < 50; j++)
                berth_memo_save(&root, KEY, &memo);
            _exit(0);
        }
    for (int i = 0; i < 50; i++)
        is_there(KEY);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    ck_assert(is_there(KEY));
    ck_assert_int_eq(list(NULL), 1);
}
END_TEST

START_TEST(a_text_that_is_no_line_is_not_kept)
{
    berth_memo_add(&memo, BERTH_MEMO_FILE, _i ? "/a\nb" : "/a", _i ? "" : "1\t2");
    ck_assert(memo.failed);
    berth_memo_save(&root, KEY, &memo);
    ck_assert(!is_there(KEY));
}
END_TEST

/* Ways to change a file `f`, of which its identity has to tell. */
static const char *const changes[] = {
    "echo x >>f",
    "touch -d '1 hour ago' f",
    "cp -p f g && mv g f",
    "rm f",
    "rm f && ln -s g f && echo hello >g",
};

START_TEST(a_file_that_changed_has_another_identity)
{
    char before[BERTH_MEMO_IDENTITY_SIZE], after[BERTH_MEMO_IDENTITY_SIZE];
    BERTH_FREE char *path = unit_path(top, "f");
    BERTH_FREE char *command = NULL;

    ck_assert_int_gt(asprintf(&command, "cd '%s' && %s", top, changes[_i]), 0);
    unit_write(path, "hello\n", 6);
    berth_memo_identity(path, true, before);
    berth_memo_identity(path, true, after);
    ck_assert_str_eq(before, after);
    ck_assert_int_eq(system(command), 0);
    berth_memo_identity(path, true, after);
    ck_assert_str_ne(before, after);
}
END_TEST

/* Is DIGEST that of the file NAME, and as expected? Whatever it is, it stays so. */
static void digest_is(const char *name, const char *expected)
{
    BERTH_FREE char *path = unit_path(top, name);

    for (int i = 0; i < 2; i++) {
        BERTH_FREE char *digest = berth_digest(path, &root, 600);

        ck_assert_pstr_eq(digest, expected);
    }
}

static void change(const char *words)
{
    BERTH_FREE char *command = NULL;

    ck_assert_int_gt(asprintf(&command, "cd '%s' && %s", top, words), 0);
    ck_assert_int_eq(system(command), 0);
}

/* FIPS 180-4 has that of "abc". */
#define ABC "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define ABD "sha256:a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9"

START_TEST(a_digest_is_that_of_the_file)
{
    change("printf abc >f && cp f 'back\\slash' && mkdir d");
    digest_is("f", ABC);
    digest_is("back\\slash", ABC);
    digest_is("d", NULL);
    digest_is("gone", NULL);
}
END_TEST

START_TEST(a_file_is_read_again_when_it_has_changed)
{
    change("printf abc >f && touch -d 2020-01-01 f");
    digest_is("f", ABC);
    change("printf abd >f && touch -d 2020-01-01 f");
    digest_is("f", ABC); /* was not read again */
    change("touch f");
    digest_is("f", ABD);
}
END_TEST

START_TEST(a_digest_that_takes_too_long_is_none)
{
    BERTH_FREE char *path = NULL;
    BERTH_FREE char *digest = NULL;

    change("mkfifo f");
    path = unit_path(top, "f");
    digest = berth_digest(path, &root, 0);
    ck_assert_ptr_null(digest);
    digest = berth_digest(path, &root, 3600); /* is not tried again */
    ck_assert_ptr_null(digest);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("memo");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_memo_is_found_by_its_key_alone);
    tcase_add_test(tests, another_key_of_the_same_hash_is_another_key);
    tcase_add_loop_test(tests, what_is_damaged_or_not_the_users_alone_is_none, 0,
                        COUNT(damages));
    tcase_add_test(tests, what_is_another_users_is_none);
    tcase_add_test(tests, what_another_user_put_there_is_none);
    tcase_add_test(tests, the_oldest_go);
    tcase_add_test(tests, a_full_disk_is_no_matter);
    tcase_add_test(tests, several_writers_leave_one_that_is_whole);
    tcase_add_loop_test(tests, a_text_that_is_no_line_is_not_kept, 0, 2);
    tcase_add_loop_test(tests, a_file_that_changed_has_another_identity, 0,
                        COUNT(changes));
    tcase_add_test(tests, a_digest_is_that_of_the_file);
    tcase_add_test(tests, a_file_is_read_again_when_it_has_changed);
    tcase_add_test(tests, a_digest_that_takes_too_long_is_none);
    return unit_run("memo", tests);
}
