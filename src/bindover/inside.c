/* SPDX-License-Identifier: Apache-2.0 */
/* In the container: decides which MPI the program wants and whether the host's can
 * replace it, mounts that, and lets the image's loader confirm it. Nothing else of the
 * image runs. */

#include "bindover/inside.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "mpi/program.h"
#include "bindover/enter.h"
#include "site/fabric.h"
#include "plan/fallback.h"
#include "plan/binding.h"
#include "bindover/match.h"
#include "bindover/beside.h"
#include "bindover/scan.h"
#include "bindover/fabrics.h"
#include "bindover/findings.h"
#include "bindover/replacement.h"
#include "bindover/parent.h"
#include "bindover/peers.h"
#include "step/channel.h"
#include "step/marks.h"
#include "run/notice.h"

extern char **environ;

/* A program of the step, and what has been decided for it so far. */
struct program {
    const struct berth_inside *inside;
    const char *mode;
    char *path; /* of its file; NULL: there is none, which the task reports */
    struct berth_scan scan;
    struct berth_mpi_program wants;
    struct berth_replacement replacements[BERTH_MATCHES_MAX];
    int count;
    struct berth_fabrics fabrics;   /* under the image's own MPI */
    struct berth_fabrics libraries; /* in the place of the image's */
    enum berth_reason reason; /* where the cause lies if the host's MPI cannot run */
    struct berth_err alone; /* why tasks that use one of its MPIs are each rank 0 of 1;
                               text "": no MPI is such */
    const struct berth_replacement
        *alone_replacement; /* that MPI; NULL: the image's own */
};

/* All programs of the step: one, or several with srun --multi-prog. They are one
 * MPI_COMM_WORLD, so one decision holds for all of them. */
struct programs {
    const struct berth_inside *inside;
    struct program *items;
    size_t count, all;            /* only the first COUNT may use MPI */
    struct berth_strvec bound;    /* source, destination, source, ... of all mounts */
    enum berth_reason reason;     /* of the first program that cannot run on the host's
                                     MPI */
    struct berth_binding binding; /* the answer */
};

/* Add the MPI libraries that a program without MPI may load, or its children. */
static int scan_beside(struct program *program, char *const *command,
                       struct berth_err *err)
{
    const struct berth_beside beside = {.program = program->path,
                                        .command = command,
                                        .env = environ,
                                        .mounts = &program->inside->request->mounts};

    if (program->wants.family != BERTH_FAMILY_NONE)
        return 0;
    berth_mpi_program_fini(&program->wants);
    if (berth_beside_add(&beside, &program->scan, err) < 0)
        return -1;
    return berth_mpi_program_read(&program->scan.objects, &program->wants, err);
}

static int scan(struct program *program, char *const *command, struct berth_err *err)
{
    bool has_mpi = berth_request_mpi_chosen(program->inside->request);

    program->path = berth_enter_find(command);
    if (!program->path)
        return 0; /* the task reports it */
    if ((has_mpi ? berth_scan_image : berth_scan_program)(program->inside->image_cache,
                                                          program->path, environ,
                                                          &program->scan, err) < 0)
        return -1;
    if (!program->scan.runner) { /* nor can the task start it */
        free(berth_steal(&program->path));
        return 0;
    }
    if (!has_mpi)
        return 0;
    if (berth_mpi_program_read(&program->scan.objects, &program->wants, err) < 0)
        return -1;
    return scan_beside(program, command, err);
}

static struct berth_peers peers_of(const struct program *program)
{
    return (struct berth_peers){
        .program = program->path,
        .scan = &program->scan,
        .wants = &program->wants,
        .replacements = program->replacements,
        .count = program->count,
        .task = program->inside->task,
        .container = environ,
        .reach = &program->inside->reach,
    };
}

/* Refuses an MPI with which the tasks do not find each other. */
static int check_peers(struct program *program, struct berth_err *err)
{
    const struct berth_peers peers = peers_of(program);

    program->alone_replacement = NULL;
    return berth_peers_check(&peers, &program->alone, &program->alone_replacement, err);
}

/* Refuses a replacement that the site or the profile does not allow. */
static int check_fabric(const struct program *program,
                        const struct berth_replacement *replacement,
                        struct berth_err *err)
{
    const struct berth_terms *terms = program->inside->terms;
    const struct berth_fabric fabric = {
        .profile = replacement->stack->profile,
        .version = replacement->stack->version,
        .verdict = &replacement->verdict,
        .closure = &program->scan.closure,
        .env = environ,
        .keep_glibc = terms ? terms->keep_glibc : NULL,
    };

    return berth_fabric_check(&fabric, err);
}

/* Get the stages of the stacks that were chosen. */
static int get_stages(struct program *program, const struct berth_match *matches,
                      int count, struct berth_err *err)
{
    for (int i = 0; i < count; i++) {
        struct berth_replacement *replacement = &program->replacements[i];

        replacement->family = matches[i].family;
        replacement->stack = matches[i].stack;
        if (berth_parent_get_stage(
                program->inside,
                (size_t)(matches[i].stack - program->inside->stacks->items),
                replacement, err) < 0)
            return -1;
        program->count++;
        /* The program may load GCC's libraries first, which the host's MPI loads too.
         */
        if (program->wants.family == BERTH_FAMILY_NONE &&
            berth_scan_twins(&program->scan, &replacement->staged, environ, err) < 0)
            return -1;
    }
    return 0;
}

/* Refuses a replacement that does not fit the program. */
static int judge(struct program *program, struct berth_replacement *replacement,
                 struct berth_err *err)
{
    if (berth_replacement_plan(replacement, &program->wants, &program->scan, environ,
                               err) < 0) {
        program->reason = replacement->verdict.reason;
        return -1;
    }
    return check_fabric(program, replacement, err);
}

/* Choose the host's stacks for a program, and judge them. Nothing is mounted yet. */
static int plan(struct program *program, struct berth_err *err)
{
    struct berth_match matches[BERTH_MATCHES_MAX];
    int count =
        berth_match_find(program->mode, &program->wants, &program->scan.objects,
                         program->inside->stacks, matches, &program->reason, err);

    if (count < 0)
        return -1;
    program->reason = BERTH_REASON_NODE;
    if (get_stages(program, matches, count, err) < 0)
        return -1;
    for (int i = 0; i < count; i++)
        if (judge(program, &program->replacements[i], err) < 0)
            return -1;
    return check_peers(program, err);
}

static int mount_all(struct program *program, struct berth_strvec *bound,
                     struct berth_err *err)
{
    for (int i = 0; i < program->count; i++) {
        if (bound)
            berth_replacement_leave_out(&program->replacements[i], bound);
        if (berth_replacement_mount(&program->replacements[i], err) < 0 ||
            berth_replacement_set(&program->replacements[i], err) < 0)
            return -1;
    }
    return bound && bound->failed ? berth_err_oom(err) : 0;
}

/* Let the image's loader report what runs now. */
static int verify(struct programs *programs, struct berth_err *err)
{
    for (struct program *it = programs->items; it < programs->items + programs->count;
         it++)
        for (int i = 0; i < it->count; i++)
            if (berth_replacement_verify(&it->replacements[i], &it->scan, environ,
                                         err) < 0)
                return -1;
    return 0;
}

static int bind_over(struct programs *programs, struct berth_err *err)
{
    bool is_one = programs->count == 1;

    programs->reason = BERTH_REASON_NODE;
    for (size_t i = 0; i < programs->count; i++)
        if (mount_all(&programs->items[i], is_one ? NULL : &programs->bound, err) < 0)
            return -1;
    /* The mounts for one program may lie over files of another. */
    return verify(programs, err) < 0 || (!is_one && verify(programs, err) < 0) ? -1 : 0;
}

static void undo(struct programs *programs)
{
    for (size_t k = programs->count; k > 0; k--) {
        struct program *program = &programs->items[k - 1];

        for (int i = program->count - 1; i >= 0; i--)
            berth_replacement_undo(&program->replacements[i]);
        program->count = 0;
    }
}

static int put_text(const char *text, char **ret, struct berth_err *err)
{
    free(*ret);
    *ret = strdup(text);
    return *ret ? 0 : berth_err_oom(err);
}

/* Write the note that names whose MPI runs. */
static int name_mpi(struct programs *programs, struct berth_err *err)
{
    BERTH_BUF struct berth_buf note = {0};

    for (size_t i = 0; i < programs->count; i++) {
        const struct berth_peers peers = peers_of(&programs->items[i]);
        BERTH_BUF struct berth_buf text = {0};

        if (peers.count > 0 && berth_peers_name(&peers, &text, err) < 0)
            return -1;
        if (!text.used || (note.text && strstr(note.text, text.text)))
            continue;
        berth_buf_addf(&note, "%s%s", note.used ? "; " : "", text.text);
    }
    if (note.failed)
        return berth_err_oom(err);
    return note.used ? put_text(note.text, &programs->binding.note, err) : 0;
}

/* Write which MPI of the host each rank will load. If marks cannot be mounted, the
 * witness reads the mapped files of a rank instead. */
static int name_host(struct programs *programs, struct berth_err *err)
{
    const struct program *first = &programs->items[0];
    struct berth_binding *binding = &programs->binding;
    BERTH_BUF struct berth_buf text = {0};

    berth_marks_mount();
    for (int i = 0; i < first->count; i++)
        berth_buf_addf(&text, "%s%s", i ? " or " : "",
                       first->replacements[i].manifest.version);
    if (text.failed)
        return berth_err_oom(err);
    if (put_text(text.text, &binding->host, err) < 0)
        return -1;
    if (!first->alone_replacement)
        return 0;
    return put_text(berth_text_base(first->alone_replacement->host), &binding->alone,
                    err) < 0
               ? -1
               : put_text(first->alone.text, &binding->because, err);
}

/* Say that neither the program nor its image is known to have an MPI. */
static int say_none(const struct program *program, struct berth_err *err)
{
    return berth_err_set(
        err,
        program->scan.is_cut
            ? "'%s' is not linked with MPI, and the image is too large to be searched "
              "for MPI libraries as a whole; start the program itself, or choose "
              "--mpi-bind=hybrid"
            : "'%s' is not linked with MPI, and the image has no MPI library; leave "
              "--mpi-bind out",
        program->path);
}

static int put_result(struct programs *programs, struct berth_err *err)
{
    const struct program *first = &programs->items[0];
    struct berth_err none;

    for (size_t i = 0; i < programs->count; i++)
        for (int j = 0; j < programs->items[i].count; j++)
            berth_parent_put(&programs->items[i].replacements[j], &programs->binding);
    if (first->count > 0)
        return name_host(programs, err) < 0 ? -1 : name_mpi(programs, err);
    say_none(first, &none);
    /* A step without MPI is right; what it loads later is watched. */
    return berth_notice_is_verbose(programs->inside->task) ||
                   berth_request_is_explained(programs->inside->request)
               ? put_text(none.text, &programs->binding.note, err)
               : 0;
}

/* What ranks are seen to load: the host's MPI, else a fabric, else libraries. */
static int name_fabrics(struct programs *programs, const struct berth_fabrics *fabrics,
                        struct berth_err *err)
{
    BERTH_BUF struct berth_buf name = {0};

    berth_fabrics_name(fabrics, &name);
    if (name.failed)
        return berth_err_oom(err);
    if (fabrics->kind == BERTH_PROFILE_LIBRARIES &&
        !berth_fabrics_witness_libraries(programs->inside))
        return 0;
    return name.used ? put_text(name.text, &programs->binding.fabric, err) : 0;
}

/* The host's network libraries under the image's own MPI, or other libraries of the
 * host, by the KIND. */
static int use_fabrics(struct programs *programs, enum berth_profile_kind kind,
                       struct berth_err *err)
{
    BERTH_FREE struct berth_fabrics **all = calloc(programs->count, sizeof(*all));
    struct berth_binding *binding = &programs->binding;
    struct berth_err fabrics, note;

    if (!all)
        return berth_err_oom(err);
    for (size_t i = 0; i < programs->count; i++) {
        all[i] = kind == BERTH_PROFILE_LIBRARIES ? &programs->items[i].libraries
                                                 : &programs->items[i].fabrics;
        all[i]->kind = kind;
        all[i]->scan = &programs->items[i].scan;
        all[i]->wants = &programs->items[i].wants;
        all[i]->has_host = programs->items[0].count > 0;
    }
    if (berth_fabrics_use(programs->inside, all, programs->count, &fabrics, err) < 0)
        return -1;
    for (size_t i = 0; i < programs->count; i++)
        for (int j = 0; j < all[i]->count; j++)
            berth_parent_put(&all[i]->items[j], binding);
    if (name_fabrics(programs, all[0], err) < 0)
        return -1;
    if (*all[0]->warning.text &&
        put_text(all[0]->warning.text, &binding->warning, err) < 0)
        return -1;
    if (!*fabrics.text)
        return 0;
    berth_err_set(&note, "%s%s%s", binding->note ? binding->note : "",
                  binding->note ? "; " : "", fabrics.text);
    return put_text(note.text, &binding->note, err);
}

/* Let the image's own MPI run. WHY: why the host's cannot; NULL: it was not asked for.
 */
static int keep_own(struct programs *programs, const struct berth_err *why,
                    struct berth_err *err)
{
    struct berth_err note;

    for (size_t i = 0; i < programs->count; i++)
        if (check_peers(&programs->items[i], err) < 0)
            return -1;
    if (why) {
        berth_err_set(&note, "the image's own MPI runs (hybrid): %s", why->text);
        if (put_text(note.text, &programs->binding.note, err) < 0)
            return -1;
    }
    return berth_fabrics_are_asked(programs->inside)
               ? use_fabrics(programs, BERTH_PROFILE_FABRIC, err)
               : 0;
}

/* Write the facts for an account of the launch, if the request asks for one. */
static void put_facts(struct programs *programs)
{
    const struct program *first = &programs->items[0];
    const struct berth_findings findings = {
        .program = first->path,
        .scan = &first->scan,
        .wants = &first->wants,
        .replacements = first->replacements,
        .count = first->count,
        .fabrics = {&first->fabrics, &first->libraries},
    };

    if (berth_request_is_explained(programs->inside->request))
        berth_findings_list(&findings, &programs->binding.facts);
}

static int plan_all(struct programs *programs, struct berth_err *err)
{
    for (size_t i = 0; i < programs->count; i++)
        if (plan(&programs->items[i], err) < 0) {
            programs->reason = programs->items[i].reason;
            return -1;
        }
    return 0;
}

/* Let the host's MPI run. Returns 0, or -1 with a sentence why it cannot. */
static int use_host(struct programs *programs, struct berth_err *err)
{
    struct program *first = &programs->items[0];

    if (plan_all(programs, err) < 0)
        return -1;
    if (bind_over(programs, err) < 0)
        return -1;
    if (first->count == 0 && berth_mode_of(first->mode) != BERTH_MODE_AUTO)
        return say_none(first, err);
    return 0;
}

/* The host's MPI cannot run BECAUSE: let the image's run, or refuse the step. */
static int fall_back(struct programs *programs, const struct berth_err *because,
                     struct berth_err *err)
{
    const struct berth_inside *inside = programs->inside;

    if (berth_fallback_refuse(berth_fallback_decide(inside->request,
                                                    inside->reach.nodes,
                                                    programs->reason),
                              because, err) < 0)
        return -1;
    undo(programs);
    return keep_own(programs, because, err);
}

/* Decide whose MPI runs, as the mode says. */
static int decide(struct programs *programs, struct berth_err *err)
{
    const struct berth_request *request = programs->inside->request;
    struct berth_err why;

    if (berth_request_mpi_is(request, BERTH_MODE_HYBRID))
        return keep_own(programs, NULL, err);
    if (!berth_request_mpi_may_host(request)) {
        berth_err_set(&why, "other ranks of this srun run on their image's own");
        return keep_own(programs, &why, err);
    }
    if (use_host(programs, &why) == 0)
        return put_result(programs, err);
    return fall_back(programs, &why, err);
}

/* Scan all programs whose file is there. */
static int scan_all(struct programs *programs, struct berth_err *err)
{
    const struct berth_inside *inside = programs->inside;
    const struct berth_strvec *names = inside->programs;
    size_t count = names ? names->count : 1;

    programs->items = calloc(count, sizeof(*programs->items));
    if (!programs->items)
        return berth_err_oom(err);
    for (size_t i = 0; i < count; i++) {
        struct program *item = &programs->items[programs->count];
        char *const alone[] = {names ? names->items[i] : NULL, NULL};

        *item = (struct program){.inside = inside, .mode = inside->request->mpi};
        if (scan(item, names ? alone : inside->command, err) < 0)
            return -1;
        programs->count += item->path != NULL;
    }
    programs->all = programs->count;
    return 0;
}

/* Count the programs that are linked with MPI, and put them first; if none is, count
 * the first. */
static void select_linked(struct programs *programs)
{
    size_t linked = 0;

    for (size_t i = 0; i < programs->all; i++)
        if (programs->items[i].wants.family != BERTH_FAMILY_NONE) {
            struct program item = programs->items[i];

            programs->items[i] = programs->items[linked];
            programs->items[linked++] = item;
        }
    programs->count = linked ? linked : programs->all > 0;
}

/* Refuses programs with different MPIs: their ranks would wait for each other for ever.
 */
static int check_families(const struct programs *programs, struct berth_err *err)
{
    const struct program *first = NULL;

    for (size_t i = 0; i < programs->count; i++) {
        const struct program *item = &programs->items[i];
        enum berth_mpi_family family = item->wants.family;

        if (family != BERTH_FAMILY_MPICH && family != BERTH_FAMILY_OPENMPI)
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
static int bind_mpi(struct programs *programs, struct berth_err *err)
{
    if (!berth_request_mpi_chosen(programs->inside->request))
        return 0;
    select_linked(programs);
    if (programs->count == 0)
        return 0;
    return check_families(programs, err) < 0 ? -1 : decide(programs, err);
}

static int run(struct programs *programs, struct berth_err *err)
{
    if (berth_enter(programs->inside, err) < 0 || scan_all(programs, err) < 0 ||
        bind_mpi(programs, err) < 0)
        return -1;
    if (programs->count == 0)
        return 0;
    programs->count = programs->all;
    if (berth_request_names_libs(programs->inside->request) &&
        use_fabrics(programs, BERTH_PROFILE_LIBRARIES, err) < 0)
        return -1;
    /* The witness does not watch the image's own MPI. */
    for (size_t i = 0; i < programs->count; i++)
        if (programs->items[i].count == 0 && *programs->items[i].alone.text &&
            put_text(programs->items[i].alone.text, &programs->binding.warning, err) <
                0)
            return -1;
    put_facts(programs);
    return 0;
}

void berth_inside_run(const struct berth_inside *inside)
{
    struct programs programs = {.inside = inside};
    BERTH_BUF struct berth_buf bytes = {0};
    struct berth_err err;
    int result;

    if (inside->variable)
        berth_strvec_push(&programs.binding.set, inside->variable);
    result = run(&programs, &err);
    berth_binding_put(&programs.binding, &bytes);
    if (result < 0 || berth_channel_send_result(inside->channel, &bytes, &err) < 0) {
        berth_channel_send(inside->channel, BERTH_CHANNEL_REFUSED, err.text, NULL);
        return;
    }
    berth_channel_send(inside->channel, BERTH_CHANNEL_DONE, "", NULL);
}
