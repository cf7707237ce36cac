/* SPDX-License-Identifier: Apache-2.0 */
/* In the container: which MPI the program wants, whether the host's may stand for it,
 * and whether it then does. Mounts, and asks the image's loader again. Nothing else of
 * the image runs. */

#include "bind/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "mpi/program.h"
#include "mpi/verdict.h"
#include "bind/command.h"
#include "policy/fabric.h"
#include "plan/fallback.h"
#include "plan/launch.h"
#include "bind/match.h"
#include "stage/beside.h"
#include "stage/loader.h"
#include "stage/look.h"
#include "base/run.h"
#include "step/become.h"
#include "bind/findings.h"
#include "bind/graft.h"
#include "step/join.h"
#include "bind/peers.h"
#include "bind/replay.h"
#include "step/channel.h"

extern char **environ;

/* What is known so far of a program. */
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
    struct berth_err alone;   /* of an MPI that it may use; text "": none */
    const struct berth_graft *alone_graft; /* that MPI; NULL: the image's own */
    bool keeps;                            /* what is told holds for later steps */
};

/* The programs that count: one, but for a step of several (srun --multi-prog). One
 * decision holds for all, as they are one MPI_COMM_WORLD. */
struct programs {
    const struct berth_inside *told;
    struct inside *items;
    size_t count;
    struct berth_strvec bound; /* what is mounted over what, by turns */
    enum berth_reason reason;  /* of the program because of which it cannot be the
                                  host's */
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

static char *find_program(char *const *command)
{
    BERTH_FREE char *found = find(command[0]);
    BERTH_FREE char *name = found ? berth_command_program(command) : NULL;
    char *program = name ? find(name) : NULL;

    return program ? program : berth_steal(&found);
}

char *berth_inside_find(const struct berth_inside *told)
{
    return find_program(told->command);
}

/* What a program that is not linked with MPI may load, or start. */
static int look_beside(struct inside *inside, char *const *command, bool *ret_outside,
                       struct berth_err *err)
{
    const struct berth_beside beside = {.program = inside->program,
                                        .command = command,
                                        .env = environ,
                                        .mounts = &inside->told->request->mounts};

    if (inside->wants.family != BERTH_FAMILY_NONE)
        return 0;
    berth_mpi_program_fini(&inside->wants);
    if (berth_beside_look(&beside, &inside->look, ret_outside, err) < 0)
        return -1;
    return berth_mpi_program_read(&inside->look.objects, &inside->wants, err);
}

static int look(struct inside *inside, char *const *command, struct berth_err *err)
{
    bool outside = false;

    inside->program = find_program(command);
    if (!inside->program)
        return 0; /* the task says so */
    if (berth_look_at(inside->program, environ, &inside->look, err) < 0)
        return -1;
    if (!inside->look.runner) { /* nor can the task start it */
        free(berth_steal(&inside->program));
        return 0;
    }
    if (berth_mpi_program_read(&inside->look.objects, &inside->wants, err) < 0 ||
        look_beside(inside, command, &outside, err) < 0)
        return -1;
    inside->keeps = !outside && inside->look.closure.version_count == 0 &&
                    ((inside->wants.family != BERTH_FAMILY_NONE &&
                      inside->wants.family != BERTH_FAMILY_UNKNOWN) ||
                     berth_replay_is_bound(environ));
    return berth_replay_tell_look(inside->told, inside->program, &inside->look,
                                  inside->wants.family != BERTH_FAMILY_NONE, err);
}

/* Ask the host for the stage of a stack. */
static int get_stage(struct inside *inside, size_t stack, struct berth_graft *graft,
                     struct berth_err *err)
{
    char number[24];
    char text[BERTH_CHANNEL_SIZE];
    enum berth_channel_kind kind;
    char *newline;

    snprintf(number, sizeof(number), "%zu", stack);
    if (berth_channel_send(inside->told->channel, BERTH_CHANNEL_STAGE, number, err) <
            0 ||
        berth_channel_receive(inside->told->channel, NULL, &kind, text, err) < 0)
        return -1;
    newline = strchr(text, '\n');
    if (kind != BERTH_CHANNEL_STAGED || !newline)
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

    inside->alone_graft = NULL;
    return berth_peers_check(&peers, &inside->alone, &inside->alone_graft, err);
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

    if (inside->wants.family != BERTH_FAMILY_NONE)
        return 0;
    if (berth_look_at_twins(&inside->look, &graft->staged, environ, err) < 0)
        return -1;
    return berth_replay_tell_present(inside->told->channel, &inside->look.objects, seen,
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

static int mount_all(struct inside *inside, struct berth_strvec *bound,
                     struct berth_err *err)
{
    for (int i = 0; i < inside->count; i++) {
        if (bound)
            berth_graft_leave_out(&inside->grafts[i], bound);
        if (berth_graft_mount(&inside->grafts[i], err) < 0 ||
            berth_graft_set(&inside->grafts[i], err) < 0)
            return -1;
    }
    return bound && bound->failed ? berth_err_oom(err) : 0;
}

/* Let the image's loader say what runs now. */
static int verify(struct programs *programs, struct berth_err *err)
{
    for (struct inside *it = programs->items; it < programs->items + programs->count;
         it++)
        for (int i = 0; i < it->count; i++)
            if (berth_graft_verify(&it->grafts[i], &it->look, environ, err) < 0)
                return -1;
    return 0;
}

static int graft(struct programs *programs, struct berth_err *err)
{
    bool is_one = programs->count == 1;

    programs->reason = BERTH_REASON_NODE;
    for (size_t i = 0; i < programs->count; i++)
        if (mount_all(&programs->items[i], is_one ? NULL : &programs->bound, err) < 0)
            return -1;
    /* What is mounted then for one lies over files of the others. */
    return verify(programs, err) < 0 || (!is_one && verify(programs, err) < 0) ? -1 : 0;
}

static void undo(struct programs *programs)
{
    for (size_t k = programs->count; k > 0; k--) {
        struct inside *inside = &programs->items[k - 1];

        for (int i = inside->count - 1; i >= 0; i--)
            berth_graft_undo(&inside->grafts[i]);
        inside->count = 0;
    }
}

/* Whose MPI runs, in one note. */
static int tell_whose(const struct programs *programs, struct berth_err *err)
{
    BERTH_BUF struct berth_buf note = {0};

    for (size_t i = 0; i < programs->count; i++) {
        const struct berth_peers peers = peers_of(&programs->items[i]);
        BERTH_BUF struct berth_buf text = {0};

        if (peers.count > 0 && berth_peers_name(&peers, &text, err) < 0)
            return -1;
        if (!text.used || (note.text && strstr(note.text, text.text)))
            continue;
        berth_buf_puts(&note, note.used ? "; " : "");
        berth_buf_puts(&note, text.text);
    }
    if (note.failed)
        return berth_err_oom(err);
    return note.used ? berth_channel_send(programs->told->channel, BERTH_CHANNEL_NOTE,
                                          note.text, err)
                     : 0;
}

/* What the loader says where nothing is mounted. */
static int tell_own(struct inside *inside, struct berth_err *err)
{
    if (!inside->look.loader)
        return 0;
    return berth_replay_tell_list(inside->told->channel, inside->look.loader,
                                  inside->look.runner, &inside->look.closure, err);
}

static int tell_one(struct inside *inside, struct berth_err *err)
{
    if (inside->count == 0)
        return tell_own(inside, err);
    for (int i = 0; i < inside->count; i++)
        if (berth_replay_tell_graft(inside->told->channel, inside->look.loader,
                                    &inside->grafts[i], err) < 0)
            return -1;
    return 0;
}

static int tell(struct programs *programs, struct berth_err *err)
{
    const struct inside *first = &programs->items[0];

    for (size_t i = 0; i < programs->count; i++)
        if (tell_one(&programs->items[i], err) < 0)
            return -1;
    if (first->count > 0 &&
        berth_replay_tell_witness(first->told->channel, first->grafts, first->count,
                                  first->alone_graft, first->alone.text, err) < 0)
        return -1;
    return tell_whose(programs, err);
}

/* The image's own library stays. KIND: a note of the first node for all, or of each. */
static int keep_own(struct programs *programs, const struct berth_err *why,
                    enum berth_channel_kind kind, struct berth_err *err)
{
    struct berth_err note;

    for (size_t i = 0; i < programs->count; i++)
        if (check_peers(&programs->items[i], err) < 0 ||
            tell_own(&programs->items[i], err) < 0)
            return -1;
    if (!why)
        return 0;
    berth_err_set(&note, "the image's own MPI runs (hybrid): %s", why->text);
    return berth_channel_send(programs->told->channel, kind, note.text, err);
}

/* For an account of the launch, where one is wanted. */
static int tell_findings(const struct inside *inside, struct berth_err *err)
{
    const struct berth_findings findings = {
        .channel = inside->told->channel,
        .program = inside->program,
        .look = &inside->look,
        .wants = &inside->wants,
        .grafts = inside->grafts,
        .count = inside->count,
        .apart = inside->told->reach.apart > 0,
    };

    if (!berth_request_explained(inside->told->request))
        return 0;
    return berth_findings_tell(&findings, err);
}

/* The image's own MPI runs, which nobody watches. */
static int warn(struct inside *inside, struct berth_err *err)
{
    if (inside->count > 0 || !*inside->alone.text)
        return 0;
    inside->keeps = false; /* each step is warned */
    return berth_channel_send(inside->told->channel, BERTH_CHANNEL_WARNING,
                              inside->alone.text, err);
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

/* The host's library, or a sentence why not. */
static int use_host(struct programs *programs, struct berth_err *err)
{
    struct inside *first = &programs->items[0];

    if (plan_all(programs, err) < 0)
        return -1;
    if (graft(programs, err) < 0) {
        first->keeps = false; /* that was no verdict */
        return -1;
    }
    if (first->count == 0 && berth_mode_of(first->mode) != BERTH_MODE_AUTO)
        return berth_err_set(err,
                             "'%s' is not linked with MPI, and the image has no MPI "
                             "library; leave --mpi-bind out",
                             first->program);
    return 0;
}

/* It cannot be the host's library, BECAUSE. */
static int do_without(struct programs *programs, const struct berth_err *because,
                      struct berth_err *err)
{
    const struct berth_inside *told = programs->told;
    enum berth_fallback fallback =
        berth_fallback_decide(told->request, told->reach.nodes, programs->reason);
    bool is_each = fallback == BERTH_FALLBACK_EACH_SAYS;

    if (!is_each && fallback != BERTH_FALLBACK_YES)
        return berth_fallback_refuse(fallback, because, err);
    undo(programs);
    return keep_own(programs, because,
                    is_each ? BERTH_CHANNEL_NODE_NOTE : BERTH_CHANNEL_NOTE, err);
}

/* Whose library runs, as the mode says. */
static int decide(struct programs *programs, struct berth_err *err)
{
    const struct berth_request *request = programs->told->request;
    struct berth_err why;

    if (berth_request_mpi_is(request, BERTH_MODE_HYBRID))
        return keep_own(programs, NULL, BERTH_CHANNEL_NOTE, err);
    if (!berth_request_mpi_may_host(request)) {
        berth_err_set(&why, "another component of this srun runs on its image's own");
        return keep_own(programs, &why, BERTH_CHANNEL_NOTE, err);
    }
    if (use_host(programs, &why) == 0)
        return tell(programs, err);
    return do_without(programs, &why, err);
}

/* Look at all that are there. */
static int look_at_all(struct programs *programs, struct berth_err *err)
{
    const struct berth_inside *told = programs->told;
    const struct berth_strvec *names = told->programs;
    size_t count = names ? names->count : 1;

    programs->items = calloc(count, sizeof(*programs->items));
    if (!programs->items)
        return berth_err_oom(err);
    for (size_t i = 0; i < count; i++) {
        struct inside *item = &programs->items[programs->count];
        char *const alone[] = {names ? names->items[i] : NULL, NULL};

        *item = (struct inside){.told = told, .mode = told->request->mpi};
        if (look(item, names ? alone : told->command, err) < 0)
            return -1;
        programs->count += item->program != NULL;
    }
    return 0;
}

/* Of several programs those that are linked with MPI; where none is, the first. */
static void select_linked(struct programs *programs)
{
    size_t linked = 0;

    for (size_t i = 0; i < programs->count; i++)
        if (programs->items[i].wants.family != BERTH_FAMILY_NONE)
            programs->items[linked++] = programs->items[i];
    programs->count = linked ? linked : programs->count > 0;
}

/* No two of them wait for each other for ever. */
static int check_families(const struct programs *programs, struct berth_err *err)
{
    const struct inside *first = NULL;

    for (size_t i = 0; i < programs->count; i++) {
        const struct inside *item = &programs->items[i];
        enum berth_mpi_family family = item->wants.family;

        if (family != BERTH_FAMILY_MPICH && family != BERTH_FAMILY_OPENMPI)
            continue;
        if (first && first->wants.family != family)
            return berth_err_set(err,
                                 "'%s' wants %s and '%s' wants %s, and the ranks of "
                                 "both would wait for each other in MPI_Init; build "
                                 "both with one MPI, or give each an srun of its own",
                                 first->program,
                                 berth_mpi_family_name(first->wants.family),
                                 item->program, berth_mpi_family_name(family));
        first = item;
    }
    return 0;
}

static int run(struct programs *programs, struct berth_err *err)
{
    if (berth_inside_enter(programs->told, err) < 0 || look_at_all(programs, err) < 0)
        return -1;
    select_linked(programs);
    if (programs->count == 0)
        return 0;
    if (check_families(programs, err) < 0 || decide(programs, err) < 0)
        return -1;
    for (size_t i = 0; i < programs->count; i++)
        if (warn(&programs->items[i], err) < 0)
            return -1;
    return tell_findings(&programs->items[0], err);
}

void berth_inside_run(const struct berth_inside *told)
{
    struct programs programs = {.told = told};
    struct berth_err err;

    if (run(&programs, &err) < 0) {
        berth_channel_send(told->channel, BERTH_CHANNEL_REFUSED, err.text, NULL);
        return;
    }
    if (programs.count && programs.items[0].keeps)
        berth_channel_send(told->channel, BERTH_CHANNEL_KEEP, "", NULL);
    berth_channel_send(told->channel, BERTH_CHANNEL_DONE, "", NULL);
}
