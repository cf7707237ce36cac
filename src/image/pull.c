/* SPDX-License-Identifier: Apache-2.0 */
/* Pulls an image from a registry, once for all hosts that have the cache. */

#include "image/pull.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/environ.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/run.h"
#include "base/strvec.h"
#include "base/text.h"
#include "image/cache.h"
#include "image/lookup.h"
#include "request/uri.h"
#include "site/policy.h"
#include "image/image.h"
#include "container/runtime.h"
#include "image/store.h"

/* In the child: remove srun's handlers and mask of signals, but still ignore what srun
 * ignores (nohup). */
static void reset_signals(void)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    struct sigaction action;
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaction(number, &usual, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Unblock the signals that end a process, except those that our process handles or
 * ignores: srun blocks them until it has a thread that handles them. The caller sets
 * the mask back to *RET_BEFORE. */
static void unblock_signals(sigset_t *ret_before)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    struct sigaction action;
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL)
            sigaddset(&set, numbers[i]);
    sigprocmask(SIG_UNBLOCK, &set, ret_before);
}

/* In the child, after fork(): execute the runtime. Calls only functions that need no
 * lock, which another thread of srun may have held. */
static void execute(const char *const *argv, const char *const *env, int out,
                    pid_t parent)
{
    int in = open("/dev/null", O_RDONLY);

    reset_signals();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_FAILURE);
    if (in < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(out, STDERR_FILENO) < 0)
        _exit(EXIT_FAILURE);
    execve(argv[0], (char *const *)argv, (char *const *)env);
    _exit(127);
}

/* Read FD to its end, and close it. Show its lines on TERMINAL (-1: none), except the
 * one in which the runtime gives up. Append to REASON what that line says, else the
 * last line that is not blank. */
static void read_output(int fd, int terminal, struct berth_buf *reason)
{
    static const char fatal[] = "FATAL:";
    BERTH_FCLOSE FILE *output = fdopen(fd, "re");
    BERTH_FREE char *line = NULL;
    bool has_given_up = false;
    size_t room = 0;
    ssize_t length;

    while (output && ((length = getline(&line, &room, output)) > 0 ||
                      (!feof(output) && errno == EINTR))) {
        const char *text = length > 0 ? line : "";

        if (berth_text_starts(text, fatal)) {
            has_given_up = true;
            text += strlen(fatal);
        } else {
            if (terminal >= 0)
                berth_fd_write(terminal, text, strlen(text));
            text = has_given_up ? "" : text;
        }
        text += strspn(text, " \n");
        if (*text) {
            berth_buf_fini(reason);
            berth_buf_add(reason, text, strcspn(text, "\n"));
        }
    }
}

/* Run ARGV (ended by NULL; argv[0] is a path) with the environment ENV and without
 * input, and wait for its end without a time limit. The child stays in our process
 * group, so that Ctrl-C ends both, and gets SIGTERM when our process dies. TERMINAL and
 * REASON are as above. *RET_STATUS is that of waitpid(2); 0 if our process ignores
 * SIGCHLD. Returns 0, or -1 with a sentence in ERR if the child cannot be started. */
static int run_child(const char *const *argv, const char *const *env, int terminal,
                     struct berth_buf *reason, int *ret_status, struct berth_err *err)
{
    pid_t parent = getpid();
    pid_t child;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return berth_err_spent(err, errno);
    child = fork();
    if (child == 0)
        execute(argv, env, ends[1], parent);
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return berth_err_spent(err, errno);
    }
    read_output(ends[0], terminal, reason);
    *ret_status = berth_run_wait(child);
    return 0;
}

#define PART "image.sif"

int berth_pull_directory(const struct berth_pull *pull, char **ret,
                         struct berth_err *err)
{
    if (!pull->to_store)
        return berth_lookup_cache(pull->site, pull->env, ret, err);
    if (berth_store_check(pull->site, err) < 0)
        return -1;
    *ret = strdup(pull->site->images.store);
    return *ret ? 0 : berth_err_oom(err);
}

/* Append the user's environment for the runtime to RET. Unless the user sets a
 * directory for layers, keep them in the cache until the image is there: the next pull
 * continues with them if this one is killed, and none stay. For the store
 * they are always kept there: they tell the digest. SingularityCE refuses
 * SINGULARITY_OCI together with --no-oci. */
static int make_environment(const struct berth_pull *pull,
                            const struct berth_cache *cache, struct berth_strvec *ret,
                            struct berth_err *err)
{
    static const char *const layers[] = {
        "APPTAINER_CACHEDIR=", "SINGULARITY_CACHEDIR=", NULL};
    static const char *const none[] = {
        "APPTAINER_DISABLE_CACHE=", "SINGULARITY_DISABLE_CACHE=", NULL};
    bool are_ours =
        pull->to_store || (!berth_environ_value(pull->env, "APPTAINER_CACHEDIR") &&
                           !berth_environ_value(pull->env, "SINGULARITY_CACHEDIR"));

    for (char *const *it = pull->env; it && *it; it++)
        if (!berth_text_starts(*it, "SINGULARITY_OCI=") &&
            !(are_ours && berth_text_starts_any(*it, layers)) &&
            !(pull->to_store && berth_text_starts_any(*it, none)))
            berth_strvec_push(ret, *it);
    for (int i = 0; are_ours && layers[i]; i++)
        berth_strvec_pushf(ret, "%s%s/layers", layers[i], cache->path);
    return ret->failed ? berth_err_oom(err) : 0;
}

/* May `pull` of the runtime whose --version prints VERSION make an OCI-SIF file?
 * SingularityCE and SingularityPRO have --no-oci since version 4. */
static bool may_make_oci(const char *version)
{
    enum { FIRST_WITH_OCI = 4 };
    const char *number = version ? strpbrk(version, "0123456789") : NULL;

    return version && berth_text_starts(version, "singularity") &&
           !(number && atoi(number) < FIRST_WITH_OCI);
}

/* Does the line LINE of a runtime have one of the texts in ANY, which NULL ends? */
static bool has_any(const char *line, const char *const *any)
{
    while (*any && !strcasestr(line, *any))
        any++;
    return *any;
}

/* The runtime has given up with LINE ("": none). If a file system is full, drop the
 * layers, too. */
static int explain(const struct berth_pull *pull, const struct berth_cache *cache,
                   const char *runtime, const char *line, struct berth_err *err)
{
    static const char *const full[] = {"no space left on device", "quota exceeded",
                                       NULL};
    static const char *const refused[] = {"unauthorized", "authentication required",
                                          "access to the resource is denied", NULL};

    berth_cache_drop(cache, has_any(line, full) ? BERTH_CACHE_KEEP_NOTHING
                                                : BERTH_CACHE_KEEP_LAYERS);
    return berth_err_set(err,
                         "image '%s': %s did not pull it: %s; %stry it by hand: %s "
                         "pull %s",
                         pull->uri, runtime, *line ? line : "it said nothing",
                         has_any(line, refused) ? "log in to the registry, and " : "",
                         runtime, pull->uri);
}

/* Have RUNTIME pull the image into FILE. No OCI-SIF file: it does not run in a step. */
static int run(const struct berth_pull *pull, const struct berth_cache *cache,
               const char *runtime, const char *file, struct berth_err *err)
{
    BERTH_FREE char *version = berth_runtime_version(runtime);
    const char *const plain[] = {runtime, "pull", file, pull->uri, NULL};
    const char *const no_oci[] = {runtime, "pull", "--no-oci", file, pull->uri, NULL};
    BERTH_STRVEC struct berth_strvec env = {0};
    BERTH_BUF struct berth_buf reason = {0};
    struct berth_err note;
    int status = 0;

    if (make_environment(pull, cache, &env, err) < 0)
        return -1;
    berth_err_set(&note, "pulling image '%s'", pull->uri);
    pull->say(note.text);
    if (run_child(may_make_oci(version) ? no_oci : plain,
                  (const char *const *)env.items, pull->terminal, &reason, &status,
                  err) < 0)
        return -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (WIFSIGNALED(status))
        return berth_err_set(err,
                             "image '%s': the pull was ended by signal %d (%s); pull "
                             "it again, it continues where it stopped",
                             pull->uri, WTERMSIG(status), strsignal(WTERMSIG(status)));
    return explain(pull, cache, runtime, reason.used ? reason.text : "", err);
}

/* The digest of the image that has just been pulled: that of its manifest, which the
 * runtime keeps with the layers of an OCI image. Returns false if there is none. */
static bool find_digest(const struct berth_cache *cache, char ret[BERTH_URI_DIGEST])
{
    enum { LONGEST = 1 << 20 };
    BERTH_BUF struct berth_buf text = {0};
    BERTH_FREE char *manifests = NULL;

    if (asprintf(&manifests, "%s/" BERTH_CACHE_MANIFESTS, cache->path) < 0) {
        manifests = NULL;
        return false;
    }
    return berth_fd_read_path(manifests, LONGEST, &text) == 0 && text.text &&
           berth_uri_digest(text.text, ret);
}

/* Check FILE, which has just been pulled, and add it to DIRECTORY. */
static int keep(const struct berth_pull *pull, const struct berth_cache *cache,
                const char *directory, const char *file, char **ret_file,
                struct berth_err *err)
{
    char of_manifest[BERTH_URI_DIGEST], of_file[BERTH_URI_DIGEST];
    const char *digest = of_file;
    struct berth_image image;

    if (berth_image_probe(file, &image, err) < 0)
        return berth_err_at(err, "image '%s': what was pulled", pull->uri);
    if (berth_store_hash(file, of_file, err) < 0)
        return -1;
    if (find_digest(cache, of_manifest))
        digest = of_manifest;
    return berth_store_add(directory, pull->uri, digest, image.machine, file, of_file,
                           ret_file, err);
}

/* Holding the lock: pull the image, check it, and add it to DIRECTORY. */
static int fetch(const struct berth_pull *pull, const struct berth_cache *cache,
                 const char *directory, const char *runtime, char **ret_file,
                 struct berth_err *err)
{
    BERTH_FREE char *file = NULL;
    int result;

    if (berth_cache_begin(cache, err) < 0)
        return -1;
    if (asprintf(&file, "%s/part/" PART, cache->path) < 0)
        return berth_err_oom(err);
    if (run(pull, cache, runtime, file, err) < 0)
        return -1;
    result = keep(pull, cache, directory, file, ret_file, err);
    berth_cache_drop(cache, BERTH_CACHE_KEEP_NOTHING);
    return result;
}

/* Find the image for this machine in the store or the cache, else one for another
 * machine, whose tasks it may be for; a pull into the store looks there alone. Finds
 * nothing if PULL is to pull it again. */
static int find(const struct berth_pull *pull, char **ret_file, struct berth_err *err)
{
    BERTH_FREE char *store = NULL;
    const char *machine = NULL;
    struct utsname host;

    *ret_file = NULL;
    if (pull->again)
        return 0;
    if (uname(&host) == 0)
        machine = host.machine;
    if (pull->to_store) {
        if (berth_pull_directory(pull, &store, err) < 0)
            return -1;
        return berth_cache_find(store, pull->uri, machine, ret_file, err);
    }
    if (berth_lookup(pull->site, pull->env, pull->uri, machine, ret_file, err) < 0)
        return -1;
    if (*ret_file)
        return 0;
    return berth_lookup(pull->site, pull->env, pull->uri, NULL, ret_file, err);
}

int berth_pull(const struct berth_pull *pull, char **ret_file, struct berth_err *err)
{
    BERTH_CACHE struct berth_cache cache = BERTH_CACHE_NONE;
    BERTH_FREE char *runtime = NULL, *directory = NULL, *name = NULL;
    sigset_t before;
    int result = -1;

    if (berth_policy_check_uri(pull->site, pull->uri, err) < 0 ||
        berth_uri_name(pull->uri, &name, err) < 0 || find(pull, ret_file, err) < 0)
        return -1;
    if (*ret_file)
        return 0;
    if (berth_pull_directory(pull, &directory, err) < 0)
        return -1;
    if (berth_runtime_find(pull->site->runtime.path,
                           berth_environ_value(pull->env, "PATH"), &runtime, err) < 0)
        return berth_err_at(err, "image '%s'", pull->uri);
    unblock_signals(&before);
    if (berth_cache_open(directory, name, &cache, err) == 0 &&
        berth_cache_lock(&cache, pull->say, pull->uri, err) == 0 &&
        find(pull, ret_file, err) == 0)
        result = *ret_file ? 0 : fetch(pull, &cache, directory, runtime, ret_file, err);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return result;
}

int berth_pull_request(const struct berth_pull *how, struct berth_request *request,
                       struct berth_err *err)
{
    struct berth_pull pull = *how;
    BERTH_FREE char *file = NULL;
    struct berth_err note;

    if (!request->uri ||
        (!berth_request_needs_pull(request) && access(request->image, F_OK) == 0))
        return 0;
    pull.uri = request->uri;
    if (berth_pull(&pull, &file, err) < 0)
        return -1;
    if (!berth_request_needs_pull(request) && strcmp(request->image, file) != 0) {
        berth_err_set(&note,
                      "image '%s': the file that the job was submitted with is gone; "
                      "this step runs '%s'",
                      request->uri, file);
        pull.say(note.text);
    }
    return berth_request_put(request, BERTH_OPTION_IMAGE, file, err);
}
