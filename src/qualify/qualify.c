/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the checks of berth qualify, and the job and directory that they need.
 */

#include "qualify/qualify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/tree.h"
#include "diagnose/sitefind.h"
#include "probe/siteread.h"
#include "qualify/session.h"

extern char **environ;

bool berth_qualify_in_job(void)
{
    const char *job = getenv("SLURM_JOB_ID");

    return job && *job;
}

bool berth_qualify_is_small(const struct berth_qualify *asked)
{
    struct berth_session session = {.asked = asked};
    BERTH_FREE char *sinfo = berth_session_find("sinfo", NULL);
    const char *words[6] = {sinfo, "--noheader", "--format=%P %D"};
    const char *partition =
        asked->partition ? asked->partition : getenv("SALLOC_PARTITION");
    BERTH_BUF struct berth_buf out = {0};

    if (partition) {
        words[3] = "--partition";
        words[4] = partition;
    }
    return sinfo &&
           berth_session_ask(&session, words, asked->seconds, &out, NULL) == 0 &&
           out.text && berth_partition_nodes(out.text, partition) == 1;
}

int berth_qualify_salloc(char *const *wishes, char *const *command,
                         struct berth_strvec *ret, struct berth_err *err)
{
    BERTH_FREE char *srun = berth_session_find("srun", err);
    BERTH_FREE char *salloc = srun ? berth_session_find("salloc", err) : NULL;

    if (!salloc)
        return -1;
    berth_strvec_push(ret, salloc);
    berth_strvec_push(ret, "--quiet");
    berth_strvec_push(ret, "--job-name=berth-qualify");
    berth_strvec_push(ret, "--ntasks-per-node=2");
    for (; *wishes; wishes++)
        berth_strvec_push(ret, *wishes);
    for (; *command; command++)
        berth_strvec_push(ret, *command);
    return ret->failed ? berth_err_oom(err) : 0;
}

/* The source, where nodes and images see it. */
static int copy_source(const char *directory, struct berth_err *err)
{
    static const char source[] = BERTH_DATADIR "/qualify.c";
    BERTH_CLOSE int from = open(source, O_RDONLY | O_CLOEXEC);
    BERTH_CLOSE int to = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (from < 0)
        return berth_err_set(err, "'%s': %s; install berth again", source,
                             strerror(errno));
    if (to < 0 || berth_tree_copy(from, to, "qualify.c", 0644) < 0)
        return berth_err_set(err, "--directory '%s': %s", directory, strerror(errno));
    return 0;
}

/* A directory of our own in the one that the user has named. Images see it by a mount,
 * of which a colon and a comma are separators. */
static int make_directory(struct berth_session *session, struct berth_err *err)
{
    BERTH_FREE char *parent = realpath(session->asked->directory, NULL);
    BERTH_FREE char *path = NULL;

    if (!parent)
        return berth_err_set(err, "--directory '%s': %s", session->asked->directory,
                             strerror(errno));
    if (strpbrk(parent, ":,"))
        return berth_err_set(err,
                             "--directory '%s': a colon or a comma cannot be mounted; "
                             "name another one",
                             parent);
    if (asprintf(&path, "%s/berth-qualify-XXXXXX", parent) < 0)
        return berth_err_oom(err);
    if (!mkdtemp(path))
        return berth_err_set(err,
                             "--directory '%s': %s; name one where you may write and "
                             "that all nodes see",
                             parent, strerror(errno));
    session->directory = berth_steal(&path);
    return copy_source(session->directory, err);
}

static int begin(struct berth_session *session, struct berth_err *err)
{
    session->srun = berth_session_find("srun", err);
    if (!session->srun)
        return -1;
    if (berth_site_settings(environ, &session->settings, err) < 0 ||
        berth_site_read(session->settings.config, berth_site_owner(), &session->terms,
                        err) < 0)
        return -1;
    session->site = (struct berth_trial_site){.srun = session->srun,
                                              .partition = session->asked->partition,
                                              .account = session->asked->account,
                                              .job = getenv("SLURM_JOB_ID"),
                                              .prefix = session->settings.option_prefix,
                                              .nodes = &session->nodes};
    if (berth_stage_slurm(session, err) < 0 || make_directory(session, err) < 0)
        return -1;
    session->site.directory = session->directory;
    return 0;
}

static int check_image(struct berth_session *session, const char *image,
                       struct berth_err *err)
{
    BERTH_FREE char *program = NULL;
    struct berth_working working;
    char library[128];
    bool is_here;

    if (berth_stage_pull(session, image, &is_here, err) < 0)
        return -1;
    berth_session_tell(session);
    if (!is_here)
        return 0;
    if (berth_stage_build(session, image, &program, library, err) < 0)
        return -1;
    berth_session_tell(session);
    if (!program)
        return 0;
    if (berth_stage_rings(session, image, program, library, &working, err) < 0)
        return -1;
    if (!*working.host.type && !*working.own.type)
        berth_session_untried(session, image, "no ring has passed");
    return berth_stage_speeds(session, image, program, &working, err);
}

/* Steps of root say little about those of users. */
static int check_user(struct berth_session *session, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};

    if (geteuid() != 0)
        return 0;
    berth_buf_puts(&text, "the steps run as root, with other limits and permissions "
                          "than those of users; run berth qualify as an ordinary user");
    return berth_session_check(session, BERTH_CHECK_NOTE, "user", &text, NULL, err);
}

/* Without an image there is only the host. */
static int check_host(struct berth_session *session, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};
    struct berth_working working;

    if (session->program &&
        (berth_stage_rings(session, NULL, NULL, "", &working, err) < 0 ||
         berth_stage_speeds(session, NULL, NULL, &working, err) < 0))
        return -1;
    berth_buf_puts(&session->checks.untried,
                   "MPI was not tried in an image; name one that has mpicc (--image)");
    berth_buf_puts(&text, "no --image is given, so MPI in images is not tried");
    return berth_session_check(session, BERTH_CHECK_SKIP, "images", &text, NULL, err);
}

static int check_all(struct berth_session *session, struct berth_err *err)
{
    const struct berth_strvec *images = &session->asked->images;
    bool is_seen;

    if (begin(session, err) < 0 || check_user(session, err) < 0 ||
        berth_stage_nodes(session, err) < 0 ||
        berth_stage_directory(session, &is_seen, err) < 0)
        return -1;
    if (!is_seen) /* nothing else can work */
        return 0;
    if (berth_stage_native(session, err) < 0)
        return -1;
    for (size_t i = 0; i < images->count; i++)
        if (check_image(session, images->items[i], err) < 0)
            return -1;
    if (images->count == 0 && check_host(session, err) < 0)
        return -1;
    return berth_stage_starts(session, session->startable, err);
}

int berth_qualify_run(const struct berth_qualify *asked,
                      struct berth_checks *ret_checks, struct berth_buf *ret_kept,
                      struct berth_err *err)
{
    struct berth_session session = {.asked = asked, .terms = berth_site_default()};
    int result = check_all(&session, err);

    berth_session_tell(&session);
    if (session.directory) {
        if (result == 0 && berth_checks_count(&session.checks, BERTH_CHECK_FAIL))
            berth_buf_puts(ret_kept, session.directory);
        else
            berth_tree_remove(AT_FDCWD, session.directory);
    }
    *ret_checks = session.checks;
    berth_strvec_fini(&session.nodes);
    berth_strvec_fini(&session.types);
    free(session.srun);
    berth_settings_fini(&session.settings);
    berth_site_fini(&session.terms);
    free(session.directory);
    free(session.program);
    return result;
}
