/* SPDX-License-Identifier: Apache-2.0 */
/* In the container: what an earlier step did, done again, and the image's loader asked
 * whether it has come to the same. */

#include "bind/replay.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"
#include "stage/inventory.h"
#include "stage/loader.h"
#include "step/marks.h"
#include "step/channel.h"

extern char **environ;

static int tell(int channel, enum berth_channel_kind kind, const char *first,
                const char *second, struct berth_err *err)
{
    BERTH_FREE char *text = NULL;

    if (asprintf(&text, "%s\n%s", first, second) < 0)
        return berth_err_oom(err);
    return berth_channel_send(channel, kind, text, err);
}

static int tell_file(int channel, const char *path, struct berth_err *err)
{
    char identity[BERTH_MEMO_IDENTITY_SIZE];

    berth_memo_identity(path, false, identity);
    return tell(channel, BERTH_CHANNEL_FILE, path, identity, err);
}

/* What decides, besides its files, which MPI a program finds that is not linked with
 * one (stage/beside.h): words, scripts among them, variables. As a number in
 * hexadecimal. */
enum { WORDS_SIZE = 17 };

static void describe_words(const struct berth_inside *inside, char ret[WORDS_SIZE])
{
    static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX", "HOME",
                                            NULL};
    uint64_t hash = BERTH_HASH_START;

    for (char *const *word = inside->command; *word; word++) {
        char identity[BERTH_MEMO_IDENTITY_SIZE];

        berth_memo_identity(*word, false, identity);
        hash = berth_hash(hash, *word, strlen(*word) + 1);
        hash = berth_hash(hash, identity, strlen(identity) + 1);
    }
    for (const char *const *name = variables; *name; name++) {
        const char *value = getenv(*name);

        value = value ? value : "";
        hash = berth_hash(hash, value, strlen(value) + 1);
    }
    snprintf(ret, WORDS_SIZE, "%016llx", (unsigned long long)hash);
}

int berth_replay_tell_look(const struct berth_inside *inside, const char *program,
                           const struct berth_look *look, bool is_linked,
                           struct berth_err *err)
{
    char words[WORDS_SIZE] = "";
    int channel = inside->channel;
    int result;

    if (!is_linked)
        describe_words(inside, words);
    result = tell(channel, BERTH_CHANNEL_PROGRAM, program, words, err);
    for (size_t i = 0; result == 0 && i < look->scripts.count; i++)
        result = tell_file(channel, look->scripts.items[i], err);
    if (result == 0)
        result = tell_file(channel, look->runner, err);
    /* By the names that the loader has for them: a link may lead elsewhere later. */
    for (size_t i = 0; result == 0 && i < look->closure.count; i++)
        if (look->closure.items[i].path)
            result = tell_file(channel, look->closure.items[i].path, err);
    return result == 0 ? berth_replay_tell_present(channel, &look->objects, 0, err)
                       : -1;
}

int berth_replay_tell_present(int channel, const struct berth_mpi_objects *objects,
                              size_t from, struct berth_err *err)
{
    for (size_t i = from; i < objects->count; i++)
        if (objects->items[i].role == BERTH_ROLE_PRESENT &&
            tell_file(channel, objects->items[i].path, err) < 0)
            return -1;
    return 0;
}

/* The pairs of files of the image and staged ones that are left out. */
static int tell_out(int channel, const struct berth_strvec *out, struct berth_err *err)
{
    for (size_t i = 0; i + 1 < out->count; i += 2)
        if (tell(channel, BERTH_CHANNEL_OUT, out->items[i], out->items[i + 1], err) < 0)
            return -1;
    return 0;
}

int berth_replay_tell_list(int channel, const char *loader, const char *file,
                           const struct berth_closure *closure, struct berth_err *err)
{
    int result = tell(channel, BERTH_CHANNEL_TARGET, loader, file, err);

    for (size_t i = 0; result == 0 && i < closure->count; i++)
        result = tell(channel, BERTH_CHANNEL_FOUND, closure->items[i].soname,
                      closure->items[i].path ? closure->items[i].path : "", err);
    return result;
}

/* The path on the host of what is staged at STAGED in the container. */
static int tell_bind(int channel, const struct berth_graft *graft, const char *staged,
                     const char *image, struct berth_err *err)
{
    BERTH_FREE char *path = NULL;

    if (asprintf(&path, "%s%s", graft->host, staged + strlen(graft->mounted)) < 0)
        return berth_err_oom(err);
    return tell(channel, BERTH_CHANNEL_BIND, path, image, err);
}

int berth_replay_tell_graft(int channel, const char *loader,
                            const struct berth_graft *graft, struct berth_err *err)
{
    for (size_t i = 0; i < graft->set.count; i++)
        if (berth_channel_send(channel, BERTH_CHANNEL_SET, graft->set.items[i], err) <
            0)
            return -1;
    if (berth_replay_tell_list(channel, loader, graft->target, &graft->closure, err) <
            0 ||
        tell_out(channel, &graft->out, err) < 0)
        return -1;
    for (size_t i = 0; i < graft->binds.count; i += 2)
        if (tell_bind(channel, graft, graft->binds.items[i], graft->binds.items[i + 1],
                      err) < 0)
            return -1;
    return 0;
}

int berth_replay_tell_witness(int channel, const struct berth_graft *grafts, int count,
                              const struct berth_graft *alone, const char *because,
                              struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};

    berth_marks_mount();
    for (int i = 0; i < count; i++) {
        berth_buf_puts(&text, i ? " or " : "");
        berth_buf_puts(&text, grafts[i].manifest.version);
    }
    if (alone) {
        berth_buf_puts(&text, "\n");
        berth_buf_puts(&text, berth_text_base(alone->host));
        berth_buf_puts(&text, " ");
        berth_buf_puts(&text, because);
    }
    return text.failed
               ? berth_err_oom(err)
               : berth_channel_send(channel, BERTH_CHANNEL_WITNESS, text.text, err);
}

/* Is PATH the directory BELOW, or in it? */
static bool is_in(const char *path, const char *below)
{
    size_t length = strlen(below);

    return strncmp(path, below, length) == 0 &&
           (path[length] == '\0' || path[length] == '/');
}

/* Is the file system DEVICE the image's? */
static bool is_image(dev_t device)
{
    static const char *const places[] = {"/", "/.singularity.d"};
    struct stat st;

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (stat(places[i], &st) == 0 && st.st_dev == device)
            return true;
    return false;
}

/* Can a library be found below the mount point PATH when DIRECTORIES are searched? */
static bool is_searched(const char *path, const struct berth_strvec *directories)
{
    struct stat st;

    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode) &&
        !berth_inventory_is_named(berth_text_base(path)))
        return false;
    for (size_t i = 0; i < directories->count; i++)
        if (is_in(path, directories->items[i]) || is_in(directories->items[i], path))
            return true;
    return false;
}

bool berth_replay_is_bound(char *const *env)
{
    static const char name[] = "LD_LIBRARY_PATH=";
    BERTH_STRVEC struct berth_strvec directories = {0};
    BERTH_FCLOSE FILE *mounts = fopen("/proc/self/mountinfo", "re");
    BERTH_FREE char *line = NULL;
    const char *search = NULL;
    size_t room = 0;

    for (; *env; env++)
        if (berth_text_starts(*env, name))
            search = *env + strlen(name);
    berth_inventory_usual(search, &directories);
    if (!mounts || directories.failed)
        return false;
    while (getline(&line, &room, mounts) > 0) {
        unsigned int major_number, minor_number;
        BERTH_FREE char *path = NULL;

        /* proc_pid_mountinfo(5); what is strange in a name is there as \ooo. */
        if (sscanf(line, "%*d %*d %u:%u %*s %ms", &major_number, &minor_number,
                   &path) != 3)
            return false;
        if (strcmp(path, "/") != 0 && !is_image(makedev(major_number, minor_number)) &&
            is_searched(path, &directories))
            return false;
    }
    return true;
}

/* WORDS "": whatever they are. */
static bool has_words(const struct berth_inside *inside, const char *words)
{
    char now[WORDS_SIZE];

    if (!*words)
        return true;
    describe_words(inside, now);
    return strcmp(now, words) == 0;
}

static bool is_unchanged(const struct berth_inside *inside,
                         const struct berth_memo *memo)
{
    BERTH_FREE char *program = berth_inside_find(inside);

    for (size_t i = 0; program && i < memo->count; i++) {
        const struct berth_memo_record *record = &memo->records[i];
        char identity[BERTH_MEMO_IDENTITY_SIZE];

        if (record->kind == BERTH_MEMO_PROGRAM &&
            (strcmp(record->first, program) != 0 || !has_words(inside, record->second)))
            return false;
        if (record->kind != BERTH_MEMO_FILE)
            continue;
        berth_memo_identity(record->first, false, identity);
        if (!*identity || strcmp(identity, record->second) != 0)
            return false;
    }
    return program;
}

/* Where the staged file PATH of the host is in the container. */
static char *find_mounted(const struct berth_memo *memo, const char *path)
{
    char *mounted;

    for (size_t i = 0; i < memo->count; i++) {
        const struct berth_memo_record *record = &memo->records[i];

        if (record->kind == BERTH_MEMO_STAGE && is_in(path, record->first))
            return asprintf(&mounted, "%s%s", record->second,
                            path + strlen(record->first)) < 0
                       ? NULL
                       : mounted;
    }
    return NULL;
}

static bool mount_all(const struct berth_memo *memo, struct berth_strvec *done)
{
    for (size_t i = 0; i < memo->count; i++) {
        const struct berth_memo_record *record = &memo->records[i];
        BERTH_FREE char *from = NULL;

        if (record->kind != BERTH_MEMO_BIND && record->kind != BERTH_MEMO_OUT)
            continue;
        from = record->kind == BERTH_MEMO_BIND ? find_mounted(memo, record->first)
                                               : strdup(record->first);
        if (!from || berth_graft_bind(from, record->second) < 0)
            return false;
        berth_strvec_push(done, record->second);
    }
    return !done->failed;
}

static bool set_all(const struct berth_memo *memo)
{
    for (size_t i = 0; i < memo->count; i++)
        if (memo->records[i].kind == BERTH_MEMO_SET &&
            putenv(memo->records[i].first) != 0)
            return false;
    return true;
}

/* Does the loader say of the target at AT what it said then? */
static bool is_found_again(const struct berth_memo *memo, size_t at)
{
    const struct berth_memo_record *record = &memo->records[at];
    struct berth_closure closure;
    size_t i = 0;
    bool same;

    if (berth_loader_list(record->first, record->second, environ, &closure, NULL) < 0)
        return false;
    same = closure.version_count == 0;
    for (record++; same && ++at < memo->count && record->kind == BERTH_MEMO_FOUND;
         record++, i++)
        same = i < closure.count &&
               strcmp(closure.items[i].soname, record->first) == 0 &&
               strcmp(closure.items[i].path ? closure.items[i].path : "",
                      record->second) == 0;
    same = same && i == closure.count;
    berth_closure_fini(&closure);
    return same;
}

static bool is_verified(const struct berth_memo *memo)
{
    for (size_t i = 0; i < memo->count; i++)
        if (memo->records[i].kind == BERTH_MEMO_TARGET && !is_found_again(memo, i))
            return false;
    return true;
}

bool berth_replay_repeat(const struct berth_inside *inside,
                         const struct berth_memo *memo)
{
    BERTH_STRVEC struct berth_strvec done = {0};

    if (is_unchanged(inside, memo) && mount_all(memo, &done) && set_all(memo) &&
        is_verified(memo))
        return true;
    for (size_t i = done.count; i > 0; i--)
        umount2(done.items[i - 1], MNT_DETACH);
    return false;
}

static void tell_note(int channel, enum berth_channel_kind kind, const char *text)
{
    BERTH_FREE char *note = NULL;

    if (asprintf(&note, "%s (as found before)", text) > 0)
        berth_channel_send(channel, kind, note, NULL);
}

static void tell_all(int channel, const struct berth_memo *memo)
{
    for (size_t i = 0; i < memo->count; i++) {
        const struct berth_memo_record *record = &memo->records[i];

        if (record->kind == BERTH_MEMO_SET)
            berth_channel_send(channel, BERTH_CHANNEL_SET, record->first, NULL);
        else if (record->kind == BERTH_MEMO_BIND)
            tell(channel, BERTH_CHANNEL_BIND, record->first, record->second, NULL);
        else if (record->kind == BERTH_MEMO_NOTE)
            tell_note(channel, BERTH_CHANNEL_NOTE, record->first);
        else if (record->kind == BERTH_MEMO_NODE_NOTE)
            tell_note(channel, BERTH_CHANNEL_NODE_NOTE, record->first);
        else if (record->kind == BERTH_MEMO_WITNESS) {
            berth_marks_mount();
            berth_channel_send(channel, BERTH_CHANNEL_WITNESS, record->first, NULL);
        }
    }
    berth_channel_send(channel, BERTH_CHANNEL_DONE, "", NULL);
}

void berth_replay_run(const struct berth_inside *inside, const struct berth_memo *memo)
{
    if (berth_inside_enter(inside, NULL) == 0 && berth_replay_repeat(inside, memo))
        tell_all(inside->channel, memo);
    else
        berth_channel_send(inside->channel, BERTH_CHANNEL_AGAIN, "", NULL);
}
