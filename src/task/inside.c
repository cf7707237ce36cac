/* SPDX-License-Identifier: Apache-2.0 */
/* In the container: which MPI the program wants, whether the host's may stand for it,
 * and whether it then does. Mounts, and asks the image's loader again. Nothing else of
 * the image runs. */

#include "task/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "mpi/program.h"
#include "mpi/verdict.h"
#include "plan/command.h"
#include "plan/fabric.h"
#include "plan/fallback.h"
#include "plan/launch.h"
#include "plan/match.h"
#include "probe/beside.h"
#include "probe/loader.h"
#include "probe/look.h"
#include "probe/run.h"
#include "task/become.h"
#include "task/findings.h"
#include "task/graft.h"
#include "task/join.h"
#include "task/marks.h"
#include "task/peers.h"
#include "task/replay.h"
#include "task/talk.h"

extern char **environ;

/* What is known so far. */
struct inside {
    const struct berth_inside *told;
    const char *mode;
    char *program; /* the command's file; NULL: the task reports that there is none */
    struct berth_look look;
    struct berth_mpi_program wants;
    struct berth_graft grafts[BERTH_MATCHES_MAX];
    int count;
    enum berth_reason reason; /* where that lies because of which it cannot be the
                                 host's; what is not said is the node's */
    struct berth_err warning; /* text "": none */
    bool keeps;               /* what is told holds for later steps */
};

int berth_inside_enter(const struct berth_inside *told, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec asked = {0};
    struct berth_launch launch = {
        .request = told->request, .terms = told->terms, .environment = told->task};
    struct berth_become become = {.workdir = told->request->workdir,
                                  .stay = told->directory};

    if (berth_join(told->holder, err) < 0)
        return -1;
    berth_launch_env(&launch, &asked);
    for (size_t i = 0; i < asked.count; i++)
        putenv(berth_steal(&asked.items[i]));
    if (asked.failed)
        return berth_err_oom(err);
    berth_become_enter(&become, NULL); /* the task says what is wrong with it */
    return 0;
}

static char *find(const char *name)
{
    BERTH_FREE char *found = berth_become_find(name);

    return found && berth_run_is_program(found) ? berth_steal(&found) : NULL;
}

char *berth_inside_find(const struct berth_inside *told)
{
    BERTH_FREE char *found = find(told->command[0]);
    BERTH_FREE char *name = found ? berth_command_program(told->command) : NULL;
    char *program = name ? find(name) : NULL;

    return program ? program : berth_steal(&found);
}

/* What a program that is not linked with MPI may load, or start. */
static int look_beside(struct inside *inside, bool *ret_outside, struct berth_err *err)
{
    const struct berth_beside beside = {.program = inside->program,
                                        .command = inside->told->command,
                                        .env = environ,
                                        .mounts = &inside->told->request->mounts};

    if (inside->wants.family != BERTH_MPI_NONE)
        return 0;
    berth_mpi_program_fini(&inside->wants);
    if (berth_beside_look(&beside, &inside->look, ret_outside, err) < 0)
        return -1;
    return berth_mpi_program_read(&inside->look.objects, &inside->wants, err);
}

static int look(struct inside *inside, struct berth_err *err)
{
    bool outside = false;

    inside->program = berth_inside_find(inside->told);
    if (!inside->program)
        return 0; /* the task says so */
    if (berth_look_at(inside->program, environ, &inside->look, err) < 0)
        return -1;
    if (!inside->look.runner) { /* nor can the task start it */
        free(berth_steal(&inside->program));
        return 0;
    }
    if (berth_mpi_program_read(&inside->look.objects, &inside->wants, err) < 0 ||
        look_beside(inside, &outside, err) < 0)
        return -1;
    inside->keeps = !outside && inside->look.closure.version_count == 0 &&
                    ((inside->wants.family != BERTH_MPI_NONE &&
                      inside->wants.family != BERTH_MPI_UNKNOWN) ||
                     berth_replay_is_bound(environ));
    return berth_replay_tell_look(inside->told->talk, inside->program, &inside->look,
                                  err);
}

/* Ask the host for the stage of a stack. */
static int get_stage(struct inside *inside, size_t stack, struct berth_graft *graft,
                     struct berth_err *err)
{
    char number[24];
    char text[BERTH_TALK_SIZE];
    enum berth_talk_kind kind;
    char *newline;

    snprintf(number, sizeof(number), "%zu", stack);
    if (berth_talk_send(inside->told->talk, BERTH_TALK_STAGE, number, err) < 0 ||
        berth_talk_receive(inside->told->talk, NULL, &kind, text, err) < 0)
        return -1;
    newline = strchr(text, '\n');
    if (kind != BERTH_TALK_STAGED || !newline)
        return berth_err_set(err, "%s", text);
    *newline = '\0';
    return berth_graft_open(newline + 1, text, graft, err);
}

static unsigned int families_of(const struct berth_stack *stack)
{
    unsigned int families = 1u << stack->profile->family;

    for (size_t i = 0; i < stack->count; i++)
        families |= 1u << stack->libraries[i].family;
    return families;
}

static int match(struct inside *inside, struct berth_match matches[BERTH_MATCHES_MAX],
                 struct berth_err *err)
{
    const struct berth_stacks *stacks = inside->told->stacks;
    BERTH_FREE struct berth_offer *offers = calloc(stacks->count + 1, sizeof(*offers));

    if (!offers)
        return berth_err_oom(err);
    for (size_t i = 0; i < stacks->count; i++)
        offers[i] = (struct berth_offer){
            .name = stacks->items[i].profile->stack,
            .profile = stacks->items[i].profile->name,
            .version = stacks->items[i].version,
            .families = families_of(&stacks->items[i]),
        };
    return berth_match_find(inside->mode, &inside->wants, &inside->look.objects, offers,
                            stacks->count, matches, &inside->reason, err);
}

/* Can the tasks find each other with what will run? */
static struct berth_peers peers_of(const struct inside *inside)
{
    return (struct berth_peers){
        .program = inside->program,
        .look = &inside->look,
        .wants = &inside->wants,
        .grafts = inside->grafts,
        .count = inside->count,
        .task = inside->told->task,
        .container = environ,
        .reach = &inside->told->reach,
    };
}

static int check_peers(struct inside *inside, struct berth_err *err)
{
    const struct berth_peers peers = peers_of(inside);

    return berth_peers_check(&peers, &inside->warning, err);
}

/* Do the site and the profile let it run? */
static int check_fabric(const struct inside *inside, const struct berth_graft *graft,
                        struct berth_err *err)
{
    const struct berth_terms *terms = inside->told->terms;
    const struct berth_fabric fabric = {
        .profile = graft->stack->profile,
        .version = graft->stack->version,
        .verdict = &graft->verdict,
        .closure = &inside->look.closure,
        .env = environ,
        .keep_glibc = terms ? terms->keep_glibc : NULL,
    };

    return berth_fabric_check(&fabric, err);
}

/* What the program may load besides MPI, and the host's MPI loads too. */
static int look_at_twins(struct inside *inside, const struct berth_graft *graft,
                         struct berth_err *err)
{
    size_t seen = inside->look.objects.count;

    if (inside->wants.family != BERTH_MPI_NONE)
        return 0;
    if (berth_look_at_twins(&inside->look, &graft->staged, environ, err) < 0)
        return -1;
    return berth_replay_tell_present(inside->told->talk, &inside->look.objects, seen,
                                     err);
}

/* The stages of what was chosen. */
static int get_stages(struct inside *inside, const struct berth_match *matches,
                      int count, struct berth_err *err)
{
    for (int i = 0; i < count; i++) {
        struct berth_graft *graft = &inside->grafts[i];

        graft->family = matches[i].family;
        graft->stack = &inside->told->stacks->items[matches[i].offer];
        if (get_stage(inside, matches[i].offer, graft, err) < 0) {
            inside->keeps = false; /* the next time it may be there */
            return -1;
        }
        inside->count++;
        if (look_at_twins(inside, graft, err) < 0)
            return -1;
    }
    return 0;
}

/* Does it fit? */
static int judge(struct inside *inside, struct berth_graft *graft,
                 struct berth_err *err)
{
    if (berth_graft_plan(graft, &inside->wants, &inside->look, environ, err) < 0) {
        inside->reason = graft->verdict.reason;
        return -1;
    }
    inside->reason = BERTH_REASON_HOST;
    return check_fabric(inside, graft, err);
}

/* Everything is judged before anything is mounted. */
static int plan(struct inside *inside, struct berth_err *err)
{
    struct berth_match matches[BERTH_MATCHES_MAX];
    int count = match(inside, matches, err);

    if (count < 0)
        return -1;
    inside->reason = BERTH_REASON_NODE;
    if (get_stages(inside, matches, count, err) < 0)
        return -1;
    for (int i = 0; i < count; i++)
        if (judge(inside, &inside->grafts[i], err) < 0)
            return -1;
    inside->reason = BERTH_REASON_HOST;
    return check_peers(inside, err);
}

static int set_variables(const struct berth_graft *graft, struct berth_err *err)
{
    for (size_t i = 0; i < graft->set.count; i++) {
        char *copy = strdup(graft->set.items[i]);

        if (!copy || putenv(copy) != 0)
            return berth_err_oom(err);
    }
    return 0;
}

/* Mount, and let the image's loader say what runs now. */
static int graft(struct inside *inside, struct berth_err *err)
{
    inside->reason = BERTH_REASON_NODE;
    for (int i = 0; i < inside->count; i++)
        if (berth_graft_mount(&inside->grafts[i], err) < 0 ||
            set_variables(&inside->grafts[i], err) < 0)
            return -1;
    for (int i = 0; i < inside->count; i++)
        if (berth_graft_verify(&inside->grafts[i], &inside->look, environ, err) < 0)
            return -1;
    return 0;
}

static void undo(struct inside *inside)
{
    for (int i = inside->count - 1; i >= 0; i--)
        berth_graft_undo(&inside->grafts[i]);
    inside->count = 0;
}

/* The path on the host of what is staged at PATH in the container. */
static int tell_bind(struct inside *inside, const struct berth_graft *graft,
                     const char *staged, const char *image, struct berth_err *err)
{
    BERTH_FREE char *text = NULL;

    if (asprintf(&text, "%s%s\n%s", graft->host, staged + strlen(graft->mounted),
                 image) < 0)
        return berth_err_oom(err);
    return berth_talk_send(inside->told->talk, BERTH_TALK_BIND, text, err);
}

static int tell_graft(struct inside *inside, const struct berth_graft *graft,
                      struct berth_err *err)
{
    for (size_t i = 0; i < graft->set.count; i++)
        if (berth_talk_send(inside->told->talk, BERTH_TALK_SET, graft->set.items[i],
                            err) < 0)
            return -1;
    if (berth_replay_tell_list(inside->told->talk, inside->look.loader, graft->target,
                               &graft->closure, err) < 0 ||
        berth_replay_tell_out(inside->told->talk, &graft->out, err) < 0)
        return -1;
    for (size_t i = 0; i < graft->binds.count; i += 2)
        if (tell_bind(inside, graft, graft->binds.items[i], graft->binds.items[i + 1],
                      err) < 0)
            return -1;
    return 0;
}

/* Whose MPI runs. */
static int tell_whose(struct inside *inside, struct berth_err *err)
{
    const struct berth_peers peers = peers_of(inside);
    BERTH_BUF struct berth_buf text = {0};

    if (berth_peers_name(&peers, &text, err) < 0)
        return -1;
    return berth_talk_send(inside->told->talk, BERTH_TALK_NOTE, text.text, err);
}

/* What the loader says where nothing is mounted. */
static int tell_own(struct inside *inside, struct berth_err *err)
{
    if (!inside->look.loader)
        return 0;
    return berth_replay_tell_list(inside->told->talk, inside->look.loader,
                                  inside->look.runner, &inside->look.closure, err);
}

/* What each rank will load. Without the marks its processes tell it still. */
static int tell_witness(struct inside *inside, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};

    berth_marks_mount();
    for (int i = 0; i < inside->count; i++) {
        berth_buf_puts(&text, i ? " or " : "");
        berth_buf_puts(&text, inside->grafts[i].manifest.version);
    }
    return text.failed ? berth_err_oom(err)
                       : berth_talk_send(inside->told->talk, BERTH_TALK_WITNESS,
                                         text.text, err);
}

static int tell(struct inside *inside, struct berth_err *err)
{
    if (inside->count == 0)
        return tell_own(inside, err);
    for (int i = 0; i < inside->count; i++)
        if (tell_graft(inside, &inside->grafts[i], err) < 0)
            return -1;
    return tell_witness(inside, err) < 0 ? -1 : tell_whose(inside, err);
}

/* The image's own library stays. KIND: a note of the first node for all, or of each. */
static int keep_own(struct inside *inside, const struct berth_err *why,
                    enum berth_talk_kind kind, struct berth_err *err)
{
    struct berth_err note;

    if (check_peers(inside, err) < 0 || tell_own(inside, err) < 0)
        return -1;
    if (!why)
        return 0;
    berth_err_set(&note, "the image's own MPI runs (hybrid): %s", why->text);
    return berth_talk_send(inside->told->talk, kind, note.text, err);
}

/* For an account of the launch, where one is wanted. */
static int tell_findings(const struct inside *inside, struct berth_err *err)
{
    const struct berth_findings findings = {
        .talk = inside->told->talk,
        .program = inside->program,
        .look = &inside->look,
        .wants = &inside->wants,
        .grafts = inside->grafts,
        .count = inside->count,
    };

    if (!berth_request_explained(inside->told->request))
        return 0;
    return berth_findings_tell(&findings, err);
}

static int tell_warning(struct inside *inside, struct berth_err *err)
{
    if (!*inside->warning.text)
        return 0;
    inside->keeps = false; /* each step is warned */
    return berth_talk_send(inside->told->talk, BERTH_TALK_WARNING, inside->warning.text,
                           err);
}

static bool is_auto(const struct inside *inside)
{
    return strcmp(inside->mode, BERTH_MPI_AUTO) == 0;
}

/* The host's library, or a sentence why not. */
static int use_host(struct inside *inside, struct berth_err *err)
{
    if (plan(inside, err) < 0)
        return -1;
    if (graft(inside, err) < 0) {
        inside->keeps = false; /* that was no verdict */
        return -1;
    }
    if (inside->count == 0 && !is_auto(inside))
        return berth_err_set(err,
                             "'%s' is not linked with MPI, and the image has no MPI "
                             "library; leave --mpi-bind out",
                             inside->program);
    return 0;
}

/* It cannot be the host's library, BECAUSE. */
static int do_without(struct inside *inside, const struct berth_err *because,
                      struct berth_err *err)
{
    enum berth_fallback fallback = berth_fallback_decide(
        inside->told->request, inside->told->reach.nodes, inside->reason);
    bool is_each = fallback == BERTH_FALLBACK_EACH_SAYS;

    if (!is_each && fallback != BERTH_FALLBACK_YES)
        return berth_fallback_refuse(fallback, because, err);
    undo(inside);
    return keep_own(inside, because, is_each ? BERTH_TALK_NODE_NOTE : BERTH_TALK_NOTE,
                    err);
}

/* Whose library runs, as the mode says. */
static int decide(struct inside *inside, struct berth_err *err)
{
    struct berth_err why;

    if (strcmp(inside->mode, BERTH_MPI_HYBRID) == 0)
        return keep_own(inside, NULL, BERTH_TALK_NOTE, err);
    if (!berth_request_mpi_may_host(inside->told->request)) {
        berth_err_set(&why, "another component of this srun runs on its image's own");
        return keep_own(inside, &why, BERTH_TALK_NOTE, err);
    }
    if (use_host(inside, &why) == 0)
        return tell(inside, err);
    return do_without(inside, &why, err);
}

static int run(struct inside *inside, struct berth_err *err)
{
    if (berth_inside_enter(inside->told, err) < 0 || look(inside, err) < 0)
        return -1;
    if (!inside->program)
        return 0;
    return decide(inside, err) < 0 || tell_warning(inside, err) < 0
               ? -1
               : tell_findings(inside, err);
}

void berth_inside_run(const struct berth_inside *told)
{
    struct inside inside = {.told = told, .mode = told->request->mpi};
    struct berth_err err;

    if (run(&inside, &err) < 0) {
        berth_talk_send(told->talk, BERTH_TALK_REFUSED, err.text, NULL);
        return;
    }
    if (inside.keeps)
        berth_talk_send(told->talk, BERTH_TALK_KEEP, "", NULL);
    berth_talk_send(told->talk, BERTH_TALK_DONE, "", NULL);
}
