/* SPDX-License-Identifier: Apache-2.0 */
/* In the container: decides which MPI the program wants and whether the host's can
 * replace it, mounts that, and lets the image's loader confirm it. Nothing else of the
 * image runs. */

#include "bindover/decide.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/run.h"
#include "base/text.h"
#include "mpi/program.h"
#include "plan/fallback.h"
#include "plan/binding.h"
#include "plan/launch.h"
#include "bindover/bindover.h"
#include "bindover/commandwords.h"
#include "bindover/findings.h"
#include "bindover/hostlibs.h"
#include "bindover/match.h"
#include "bindover/prefixes.h"
#include "bindover/startup.h"
#include "bindover/scan.h"
#include "request/option.h"
#include "container/become.h"
#include "ipc/channel.h"
#include "container/join.h"
#include "ipc/loadmark.h"
#include "ipc/loadmarks.h"
#include "run/notice.h"

extern char **environ;

/* Enter the container as the owner of its namespaces, in the working directory and with
 * the variables that the application will have. */
static int enter(const struct berth_decide *inside, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec asked = {0};
    const struct berth_become become = {.workdir = inside->request->workdir,
                                        .stay = inside->directory,
                                        .image_directory = inside->image_directory,
                                        .prefers_image = inside->prefers_image};

    if (berth_join_owner(inside->holder, err) < 0)
        return -1;
    berth_launch_env(inside->request, inside->terms, inside->task, &asked);
    for (size_t i = 0; i < asked.count; i++)
        putenv(berth_steal(&asked.items[i]));
    if (asked.failed)
        return berth_err_oom(err);
    /* The task reports a directory that is missing. */
    berth_become_chdir(&become, NULL, NULL);
    return 0;
}

/* Scan the file NAME, as the task will find it. PATH is NULL if the task cannot start
 * it, which the task reports. */
static int scan_file(const struct berth_decide *inside, const char *name,
                     struct berth_program *program, struct berth_err *err)
{
    BERTH_FREE char *path = berth_become_find(name);

    if (!path || !berth_run_is_program(path))
        return 0;
    if (berth_scan_program(inside->image_cache, path, environ, &program->scan, err) < 0)
        return -1;
    if (!program->scan.runner)
        return 0;
    program->path = berth_steal(&path);
    if (!berth_request_mpi_chosen(inside->request))
        return 0;
    return berth_mpi_program_read(&program->scan.objects, &program->wants, err);
}

/* Is it linked with MPI, or, where it IS_STARTED, an mpirun? */
static bool is_certain(const struct berth_program *program, bool is_started)
{
    if (program->wants.family != BERTH_FAMILY_NONE || program->wants.inside)
        return true;
    return is_started && berth_mpi_check_program(&program->wants, NULL) < 0;
}

/* Can it load no MPI of 64 bits? */
static bool is_blind(const struct berth_program *program)
{
    return program->wants.kind == BERTH_ELF_STATIC || program->scan.bits != 64;
}

/* Does NAMED, a program that the command names, tell more than OTHER, which was named
 * before? */
static bool is_better(const struct berth_program *named,
                      const struct berth_program *other)
{
    if (!other->path)
        return true;
    return is_blind(other) && !is_blind(named);
}

/* Find in COMMAND the program that shows which MPI runs, in the place of PROGRAM. */
static void follow(const struct berth_decide *inside, char *const *command,
                   struct berth_program *program)
{
    BERTH_STRVEC struct berth_strvec words = {0};
    struct berth_program other = {0};
    bool is_found = is_certain(program, true);
    bool is_started = true; /* the next program, and no argument of one */

    berth_words_of(command, &words);
    for (size_t i = 0; i < words.count && !is_found; i++) {
        const char *word = words.items[i];
        struct berth_program named = {.items = program->items};

        if (strcmp(word, ";") == 0)
            is_started = true;
        if (!is_blind(program) && !berth_words_lead(command, &words, word))
            continue;
        if (scan_file(inside, word, &named, NULL) < 0 || !named.path)
            continue;

        is_found = is_certain(&named, is_started);
        if (!berth_words_is_launcher(word))
            is_started = false;
        if (is_found || is_better(&named, &other))
            other = named;
    }
    if (!other.path)
        return;
    if (is_found || is_blind(&other) != is_blind(program))
        *program = other;
}

int berth_decide_find(const struct berth_decide *inside, char *const *command,
                      struct berth_program *program, struct berth_err *err)
{
    if (scan_file(inside, command[0], program, err) < 0)
        return -1;
    if (program->path && berth_request_mpi_chosen(inside->request))
        follow(inside, command, program);
    return 0;
}

/* Add the libraries of the MPI with which PROGRAM is linked, or else of all MPIs. */
static int add_libraries(struct berth_program *program,
                         const struct berth_beside *beside, struct berth_err *err)
{
    if (program->wants.family != BERTH_FAMILY_NONE)
        return berth_prefixes_linked(&program->scan, err);
    if (berth_scan_image(&program->scan, environ, err) < 0)
        return -1;
    return berth_prefixes_add(beside, &program->scan, err);
}

/* Find the program, and add the MPI libraries that it may load later, or its children:
 * of the MPI with which it is linked, or else all. */
static int scan(const struct berth_decide *inside, char *const *command,
                struct berth_program *program, struct berth_err *err)
{
    struct berth_beside beside = {
        .command = command, .env = environ, .mounts = &inside->request->mounts};

    if (berth_decide_find(inside, command, program, err) < 0)
        return -1;
    if (!program->path || !berth_request_mpi_chosen(inside->request))
        return 0;
    beside.program = program->path;
    if (add_libraries(program, &beside, err) < 0)
        return -1;
    berth_mpi_program_fini(&program->wants);
    return berth_mpi_program_read(&program->scan.objects, &program->wants, err);
}

/* Choose the host's stacks for a program, and judge them. Nothing is mounted yet. */
static int plan(struct berth_programs *programs, struct berth_program *program,
                struct berth_err *err)
{
    const struct berth_decide *inside = programs->inside;
    struct berth_match matches[BERTH_MATCHES_MAX];
    int count;

    count =
        berth_match_find(inside->request->mpi, &program->wants, &program->scan.objects,
                         inside->stacks, matches, &programs->reason, err);
    if (count < 0)
        return -1;
    programs->reason = BERTH_REASON_NODE;
    for (int i = 0; i < count; i++) {
        struct berth_replacement *it =
            berth_bindover_add(program, matches[i].stack, matches[i].family);

        if (berth_bindover_stage(inside, program, it, err) < 0)
            return -1;
    }
    for (int i = 0; i < count; i++)
        if (berth_bindover_judge(programs, program, &program->items[i], err) < 0)
            return -1;
    return berth_startup_check(inside, program, environ, err);
}

/* Write the note that names whose MPI runs, with ALL there is to say of it. */
static void name_mpi(struct berth_programs *programs, bool all, char **ret)
{
    struct berth_binding *binding = &programs->binding;

    for (size_t i = 0; i < programs->count; i++) {
        BERTH_BUF struct berth_buf text = {0};

        if (programs->items[i].count > 0)
            berth_startup_name(&programs->items[i], all, &text);
        binding->facts.failed |= text.failed;
        if (text.used && !(*ret && strstr(*ret, text.text)))
            berth_bindover_say(binding, ret, "; ", "%s", text.text);
    }
}

/* Write which MPI of the host each rank will load. */
static void name_host(struct berth_programs *programs)
{
    const struct berth_program *first = &programs->items[0];
    struct berth_binding *binding = &programs->binding;

    for (int i = 0; i < first->count; i++)
        berth_bindover_say(binding, &binding->host, " or ", "%s",
                           first->items[i].manifest.version);
    if (!first->alone_replacement)
        return;
    berth_bindover_say(binding, &binding->alone, "", "%s",
                       berth_text_base(first->alone_replacement->host));
    berth_bindover_say(binding, &binding->because, "", "%s", first->alone.text);
}

/* Does the site set --mpi-bind, and not the user? */
static bool is_sites(const struct berth_request *request)
{
    return berth_strvec_has(&request->site, berth_options[BERTH_OPTION_MPI].name);
}

/* What a user can do where there is no MPI. One who has not written --mpi-bind cannot
 * leave it out. */
static const char *advice(const struct berth_request *request)
{
    if (!is_sites(request))
        return "name the program that uses MPI, or leave --mpi-bind out";
    if (berth_request_mpi_is(request, BERTH_MODE_AUTO))
        return "nothing is bound (the site sets --mpi-bind=auto)";
    return "name the program that uses MPI, or give --mpi-bind=off in the place of "
           "what the site sets, if it allows that";
}

/* Say that neither the program nor its image is known to have an MPI, which REQUEST
 * asks for. */
static int say_none(const struct berth_request *request,
                    const struct berth_program *program, struct berth_err *err)
{
    if (program->scan.is_cut)
        return berth_err_set(
            err,
            "'%s' is not linked with MPI, and the image is too large to "
            "be searched for MPI libraries as a whole; start the program "
            "itself, or choose --mpi-bind=hybrid",
            program->path);
    return berth_err_set(err,
                         "'%s' is not linked with MPI, and no MPI library was found in "
                         "the image; %s",
                         program->path, advice(request));
}

static void put_result(struct berth_programs *programs)
{
    const struct berth_program *first = &programs->items[0];
    struct berth_binding *binding = &programs->binding;
    struct berth_err none;

    if (first->count > 0) {
        name_host(programs);
        name_mpi(programs, true, &binding->note);
        name_mpi(programs, false, &binding->choice);
        if (!binding->choice)
            berth_bindover_say(binding, &binding->choice, "", "%s", "");
        return;
    }
    /* A site's default is for all steps, and most of them are without MPI. */
    if (is_sites(programs->inside->request) &&
        !berth_notice_is_verbose(programs->inside->task) &&
        !berth_request_is_explained(programs->inside->request))
        return;
    say_none(programs->inside->request, first, &none);
    berth_bindover_say(binding, &binding->note, "; ", "%s", none.text);
}

/* Let the image's MPI run. WHY: why the host's cannot; NULL: it was not asked for. */
static int keep_image(struct berth_programs *programs, const struct berth_err *why,
                      struct berth_err *err)
{
    for (size_t i = 0; i < programs->count; i++)
        if (berth_startup_check(programs->inside, &programs->items[i], environ, err) <
            0)
            return -1;
    if (why)
        berth_bindover_say(&programs->binding, &programs->binding.note, "; ",
                           "the image's own MPI runs (hybrid): %s", why->text);
    if (!berth_hostlibs_are_asked(programs->inside))
        return 0;
    return berth_hostlibs_use(programs, BERTH_PROFILE_FABRIC, err);
}

/* Let the host's MPI run. Returns 0, or -1 with a sentence why it cannot. */
static int use_host(struct berth_programs *programs, struct berth_err *err)
{
    const struct berth_request *request = programs->inside->request;
    const struct berth_program *first = &programs->items[0];

    for (size_t i = 0; i < programs->count; i++)
        if (plan(programs, &programs->items[i], err) < 0)
            return -1;
    programs->reason = BERTH_REASON_NODE;
    if (berth_bindover_try(programs, err) < 0)
        return -1;
    if (first->count == 0 && !berth_request_mpi_is(request, BERTH_MODE_AUTO))
        return say_none(request, first, err);
    return 0;
}

/* The host's MPI cannot run BECAUSE: let the image's run, or refuse the step. */
static int fall_back(struct berth_programs *programs, const struct berth_err *because,
                     struct berth_err *err)
{
    const struct berth_decide *inside = programs->inside;

    if (berth_fallback_mpi(inside->request, inside->reach.nodes, programs->reason,
                           because, err) < 0)
        return -1;
    if (berth_bindover_refuse(programs, err) < 0)
        return -1;
    return keep_image(programs, because, err);
}

/* Decide whose MPI runs, as the mode says. */
static int decide(struct berth_programs *programs, struct berth_err *err)
{
    const struct berth_request *request = programs->inside->request;
    struct berth_err why;

    if (berth_request_mpi_is(request, BERTH_MODE_HYBRID))
        return keep_image(programs, NULL, err);
    if (!berth_request_mpi_may_host(request)) {
        berth_err_set(&why, "other ranks of this srun run on their image's own");
        return keep_image(programs, &why, err);
    }
    if (use_host(programs, &why) < 0)
        return fall_back(programs, &why, err);
    put_result(programs);
    return 0;
}

/* Scan all programs whose file is there. */
static int scan_all(struct berth_programs *programs, struct berth_err *err)
{
    const struct berth_decide *inside = programs->inside;
    const struct berth_strvec *names = inside->programs;
    size_t count = names ? names->count : 1;

    programs->items = calloc(count, sizeof(*programs->items));
    programs->refused = calloc(inside->stacks->count + 1, sizeof(*programs->refused));
    if (!programs->items || !programs->refused)
        return berth_err_oom(err);
    for (size_t i = 0; i < count; i++) {
        struct berth_program *item = &programs->items[programs->count];
        char *const alone[] = {names ? names->items[i] : NULL, NULL};

        item->items =
            calloc(BERTH_FAMILIES + inside->stacks->count, sizeof(*item->items));
        if (!item->items)
            return berth_err_oom(err);
        if (scan(inside, names ? alone : inside->command, item, err) < 0)
            return -1;
        programs->count += item->path != NULL;
    }
    programs->all = programs->count;
    return 0;
}

/* Count the programs that are linked with MPI, and put them first; if none is, count
 * the first. */
static void select_linked(struct berth_programs *programs)
{
    size_t linked = 0;

    for (size_t i = 0; i < programs->all; i++) {
        struct berth_program item = programs->items[i];

        if (item.wants.family == BERTH_FAMILY_NONE)
            continue;
        programs->items[i] = programs->items[linked];
        programs->items[linked] = item;
        linked++;
    }
    programs->count = linked;
    if (linked == 0 && programs->all > 0)
        programs->count = 1;
}

/* Refuses programs with different MPIs: their ranks would wait for each other. */
static int check_families(const struct berth_programs *programs, struct berth_err *err)
{
    const struct berth_program *first = NULL;

    for (size_t i = 0; i < programs->count; i++) {
        const struct berth_program *item = &programs->items[i];
        enum berth_mpi_family family = item->wants.family;

        if (!berth_mpi_family_is_implementation(family))
            continue;
        if (first && first->wants.family != family)
            return berth_err_set(err,
                                 "'%s' wants %s and '%s' wants %s, and the ranks of "
                                 "both would wait for each other in MPI_Init; build "
                                 "both with one MPI, or give each an srun of its own",
                                 first->path,
                                 berth_mpi_family_name(first->wants.family), item->path,
                                 berth_mpi_family_name(family));
        first = item;
    }
    return 0;
}

/* Whose MPI runs in the programs that use one. */
static int bind_mpi(struct berth_programs *programs, struct berth_err *err)
{
    if (!berth_request_mpi_chosen(programs->inside->request))
        return 0;
    select_linked(programs);
    if (programs->count == 0)
        return 0;
    if (check_families(programs, err) < 0)
        return -1;
    return decide(programs, err);
}

/* Without marks there is no witness, and without a witness none of the image's MPI. */
static void mount_marks(struct berth_binding *binding)
{
    struct berth_err failed;

    if (!binding->host && !binding->fabric)
        return;
    if (berth_loadmarks_mount() < 0) {
        berth_err_file(&failed, BERTH_MARK_DIRECTORY, "mounted, so no rank is watched");
        berth_bindover_say(binding, &binding->warning, "; ", "%s", failed.text);
    } else if (binding->host) {
        berth_strvec_push_pair(&binding->facts, BERTH_FINDING_WATCHED,
                               "each rank while it runs, by the mark that the copies "
                               "make, or what it has mapped");
    }
}

/* Warn of the image's MPIs whose ranks do not find each other. */
static void warn_of_alone(struct berth_programs *programs)
{
    struct berth_binding *binding = &programs->binding;

    for (size_t i = 0; i < programs->count; i++) {
        const char *alone = programs->items[i].alone.text;

        if (*alone)
            berth_bindover_say(binding, &binding->warning, "; ", "%s", alone);
    }
}

static int run(struct berth_programs *programs, struct berth_err *err)
{
    struct berth_binding *binding = &programs->binding;

    if (enter(programs->inside, err) < 0 || scan_all(programs, err) < 0)
        return -1;
    if (bind_mpi(programs, err) < 0)
        return -1;
    if (programs->count == 0)
        return 0;
    programs->count = programs->all;
    if (berth_request_names_libs(programs->inside->request) &&
        berth_hostlibs_use(programs, BERTH_PROFILE_LIBRARIES, err) < 0)
        return -1;

    /* All is decided: do it in the container. */
    if (berth_bindover_do(programs, err) < 0)
        return -1;
    mount_marks(binding);
    if (!binding->host)
        warn_of_alone(programs);
    if (berth_request_is_explained(programs->inside->request))
        berth_findings_list(&programs->items[0], &binding->facts);
    return 0;
}

void berth_decide_run(const struct berth_decide *inside)
{
    struct berth_programs programs = {.inside = inside};
    BERTH_BUF struct berth_buf bytes = {0};
    struct berth_err err;
    int result;

    if (inside->variable)
        berth_strvec_push(&programs.binding.set, inside->variable);
    result = run(&programs, &err);
    berth_binding_put(&programs.binding, &bytes);
    if (result < 0 || berth_channel_send_result(inside->channel, &bytes, &err) < 0) {
        berth_channel_refuse(inside->channel, &err);
        return;
    }
    berth_channel_send(inside->channel, BERTH_CHANNEL_DONE, "", NULL);
}
