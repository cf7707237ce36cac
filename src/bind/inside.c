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
#include "base/text.h"
#include "mpi/program.h"
#include "bind/enter.h"
#include "policy/fabric.h"
#include "plan/fallback.h"
#include "report/binding.h"
#include "bind/match.h"
#include "discover/beside.h"
#include "discover/scan.h"
#include "bind/fabrics.h"
#include "bind/findings.h"
#include "bind/replacement.h"
#include "bind/peers.h"
#include "step/channel.h"
#include "step/marks.h"

extern char **environ;

/* What is known so far of a program. */
struct inside {
    const struct berth_inside *told;
    const char *mode;
    char *program; /* the command's file; NULL: the task reports that there is none */
    struct berth_scan scan;
    struct berth_mpi_program wants;
    struct berth_replacement replacements[BERTH_MATCHES_MAX];
    int count;
    struct berth_fabrics fabrics; /* under the image's own MPI */
    enum berth_reason reason;     /* where that lies because of which it cannot be the
                                     host's; what is not said is the node's */
    struct berth_err alone;       /* of an MPI that it may use; text "": none */
    const struct berth_replacement
        *alone_replacement; /* that MPI; NULL: the image's own */
};

/* The programs that count: one, but for a step of several (srun --multi-prog). One
 * decision holds for all, as they are one MPI_COMM_WORLD. */
struct programs {
    const struct berth_inside *told;
    struct inside *items;
    size_t count;
    struct berth_strvec bound;    /* what is mounted over what, by turns */
    enum berth_reason reason;     /* of the program because of which it cannot be the
                                     host's */
    struct berth_binding binding; /* the answer */
};

/* What a program that is not linked with MPI may load, or start. */
static int look_beside(struct inside *inside, char *const *command,
                       struct berth_err *err)
{
    const struct berth_beside beside = {.program = inside->program,
                                        .command = command,
                                        .env = environ,
                                        .mounts = &inside->told->request->mounts};

    if (inside->wants.family != BERTH_FAMILY_NONE)
        return 0;
    berth_mpi_program_fini(&inside->wants);
    if (berth_beside_look(&beside, &inside->scan, err) < 0)
        return -1;
    return berth_mpi_program_read(&inside->scan.objects, &inside->wants, err);
}

static int look(struct inside *inside, char *const *command, struct berth_err *err)
{
    inside->program = berth_enter_find(command);
    if (!inside->program)
        return 0; /* the task says so */
    if (berth_scan_image(inside->told->image_cache, inside->program, environ,
                         &inside->scan, err) < 0)
        return -1;
    if (!inside->scan.runner) { /* nor can the task start it */
        free(berth_steal(&inside->program));
        return 0;
    }
    if (berth_mpi_program_read(&inside->scan.objects, &inside->wants, err) < 0)
        return -1;
    return look_beside(inside, command, err);
}

int berth_inside_get_stage(const struct berth_inside *inside, size_t at,
                           struct berth_replacement *replacement, struct berth_err *err)
{
    struct berth_channel_message answer;
    char number[24];
    char *newline;

    snprintf(number, sizeof(number), "%zu", at);
    if (berth_channel_send(inside->channel, BERTH_CHANNEL_STAGE, number, err) < 0 ||
        berth_channel_receive(inside->channel, NULL, &answer, err) < 0)
        return -1;
    newline = strchr(answer.text, '\n');
    if (answer.kind != BERTH_CHANNEL_STAGED || !newline)
        return berth_err_set(err, "%s", answer.text);
    *newline = '\0';
    return berth_replacement_open(inside->host_cache, newline + 1, answer.text,
                                  replacement, err);
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
    return berth_match_find(inside->mode, &inside->wants, &inside->scan.objects, offers,
                            stacks->count, matches, &inside->reason, err);
}

/* Can the tasks find each other with what will run? */
static struct berth_peers peers_of(const struct inside *inside)
{
    return (struct berth_peers){
        .program = inside->program,
        .scan = &inside->scan,
        .wants = &inside->wants,
        .replacements = inside->replacements,
        .count = inside->count,
        .task = inside->told->task,
        .container = environ,
        .reach = &inside->told->reach,
    };
}

static int check_peers(struct inside *inside, struct berth_err *err)
{
    const struct berth_peers peers = peers_of(inside);

    inside->alone_replacement = NULL;
    return berth_peers_check(&peers, &inside->alone, &inside->alone_replacement, err);
}

/* Do the site and the profile let it run? */
static int check_fabric(const struct inside *inside,
                        const struct berth_replacement *replacement,
                        struct berth_err *err)
{
    const struct berth_terms *terms = inside->told->terms;
    const struct berth_fabric fabric = {
        .profile = replacement->stack->profile,
        .version = replacement->stack->version,
        .verdict = &replacement->verdict,
        .closure = &inside->scan.closure,
        .env = environ,
        .keep_glibc = terms ? terms->keep_glibc : NULL,
    };

    return berth_fabric_check(&fabric, err);
}

/* What the program may load besides MPI, and the host's MPI loads too. */
static int look_at_twins(struct inside *inside,
                         const struct berth_replacement *replacement,
                         struct berth_err *err)
{
    if (inside->wants.family != BERTH_FAMILY_NONE)
        return 0;
    return berth_scan_twins(&inside->scan, &replacement->staged, environ, err);
}

/* The stages of what was chosen. */
static int get_stages(struct inside *inside, const struct berth_match *matches,
                      int count, struct berth_err *err)
{
    for (int i = 0; i < count; i++) {
        struct berth_replacement *replacement = &inside->replacements[i];

        replacement->family = matches[i].family;
        replacement->stack = &inside->told->stacks->items[matches[i].offer];
        if (berth_inside_get_stage(inside->told, matches[i].offer, replacement, err) <
            0)
            return -1;
        inside->count++;
        if (look_at_twins(inside, replacement, err) < 0)
            return -1;
    }
    return 0;
}

/* Does it fit? */
static int judge(struct inside *inside, struct berth_replacement *replacement,
                 struct berth_err *err)
{
    if (berth_replacement_plan(replacement, &inside->wants, &inside->scan, environ,
                               err) < 0) {
        inside->reason = replacement->verdict.reason;
        return -1;
    }
    inside->reason = BERTH_REASON_HOST;
    return check_fabric(inside, replacement, err);
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
        if (judge(inside, &inside->replacements[i], err) < 0)
            return -1;
    inside->reason = BERTH_REASON_HOST;
    return check_peers(inside, err);
}

static int mount_all(struct inside *inside, struct berth_strvec *bound,
                     struct berth_err *err)
{
    for (int i = 0; i < inside->count; i++) {
        if (bound)
            berth_replacement_leave_out(&inside->replacements[i], bound);
        if (berth_replacement_mount(&inside->replacements[i], err) < 0 ||
            berth_replacement_set(&inside->replacements[i], err) < 0)
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
            if (berth_replacement_verify(&it->replacements[i], &it->scan, environ,
                                         err) < 0)
                return -1;
    return 0;
}

static int replacement(struct programs *programs, struct berth_err *err)
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
            berth_replacement_undo(&inside->replacements[i]);
        inside->count = 0;
    }
}

static int put_text(const char *text, char **ret, struct berth_err *err)
{
    free(*ret);
    *ret = strdup(text);
    return *ret ? 0 : berth_err_oom(err);
}

/* Whose MPI runs, in one note. */
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

/* The host's MPI that each rank will load. Without marks the mapped files of a rank
 * tell what it has loaded. */
static int name_host(struct programs *programs, struct berth_err *err)
{
    const struct inside *first = &programs->items[0];
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

/* What REPLACEMENT has set and mounted, by the paths on the host, and what ranks that
 * reach other nodes open. */
static void put_replacement(struct programs *programs,
                            const struct berth_replacement *replacement)
{
    struct berth_binding *binding = &programs->binding;
    const struct berth_mpi_reach *reach = &programs->told->reach;
    const char *const *opens = replacement->stack->profile->opens;

    for (; opens && *opens && (reach->nodes > 1 || reach->het_step); opens++)
        if (!berth_strvec_has(&binding->opens, *opens))
            berth_strvec_push(&binding->opens, *opens);
    berth_strvec_append(&binding->set, &replacement->set);
    for (size_t i = 0; i < replacement->binds.count; i += 2) {
        berth_strvec_pushf(&binding->binds, "%s%s", replacement->host,
                           replacement->binds.items[i] + strlen(replacement->mounted));
        berth_strvec_push(&binding->binds, replacement->binds.items[i + 1]);
    }
}

static int put_result(struct programs *programs, struct berth_err *err)
{
    for (size_t i = 0; i < programs->count; i++)
        for (int j = 0; j < programs->items[i].count; j++)
            put_replacement(programs, &programs->items[i].replacements[j]);
    if (programs->items[0].count > 0 && name_host(programs, err) < 0)
        return -1;
    return name_mpi(programs, err);
}

/* The host's network libraries under the image's own MPI. */
static int use_fabrics(struct programs *programs, struct berth_err *err)
{
    BERTH_FREE struct berth_fabrics **all = calloc(programs->count, sizeof(*all));
    struct berth_binding *binding = &programs->binding;
    BERTH_BUF struct berth_buf name = {0};
    struct berth_err fabrics, note;

    if (!all)
        return berth_err_oom(err);
    for (size_t i = 0; i < programs->count; i++) {
        all[i] = &programs->items[i].fabrics;
        all[i]->scan = &programs->items[i].scan;
        all[i]->wants = &programs->items[i].wants;
    }
    if (berth_fabrics_use(programs->told, all, programs->count, &fabrics, err) < 0)
        return -1;
    for (size_t i = 0; i < programs->count; i++)
        for (int j = 0; j < all[i]->count; j++)
            put_replacement(programs, &all[i]->items[j]);
    binding->is_under_mpi = berth_fabrics_name(all[0], &name);
    if (name.failed)
        return berth_err_oom(err);
    if (name.used && put_text(name.text, &binding->fabric, err) < 0)
        return -1;
    if (*all[0]->warning.text &&
        put_text(all[0]->warning.text, &binding->warning, err) < 0)
        return -1;
    berth_err_set(&note, "%s%s%s", binding->note ? binding->note : "",
                  binding->note ? "; " : "", fabrics.text);
    return put_text(note.text, &binding->note, err);
}

/* The image's own library stays. */
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
    return berth_request_has_fabric(programs->told->request)
               ? use_fabrics(programs, err)
               : 0;
}

/* For an account of the launch, where one is wanted. */
static void put_facts(struct programs *programs)
{
    const struct inside *first = &programs->items[0];
    const struct berth_findings findings = {
        .program = first->program,
        .scan = &first->scan,
        .wants = &first->wants,
        .replacements = first->replacements,
        .count = first->count,
        .fabrics = &first->fabrics,
        .apart = programs->told->reach.apart > 0,
    };

    if (berth_request_is_explained(programs->told->request))
        berth_findings_list(&findings, &programs->binding.facts);
}

/* The image's own MPI runs, which nobody watches. */
static int warn(struct programs *programs, struct inside *inside, struct berth_err *err)
{
    if (inside->count > 0 || !*inside->alone.text)
        return 0;
    return put_text(inside->alone.text, &programs->binding.warning, err);
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
    if (replacement(programs, err) < 0)
        return -1;
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
    programs->binding.differs = is_each;
    return keep_own(programs, because, err);
}

/* Whose library runs, as the mode says. */
static int decide(struct programs *programs, struct berth_err *err)
{
    const struct berth_request *request = programs->told->request;
    struct berth_err why;

    if (berth_request_mpi_is(request, BERTH_MODE_HYBRID))
        return keep_own(programs, NULL, err);
    if (!berth_request_mpi_may_host(request)) {
        berth_err_set(&why, "other ranks of this srun run on their image's own");
        return keep_own(programs, &why, err);
    }
    if (use_host(programs, &why) == 0)
        return put_result(programs, err);
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
    if (berth_enter(programs->told, err) < 0 || look_at_all(programs, err) < 0)
        return -1;
    select_linked(programs);
    if (programs->count == 0)
        return 0;
    if (check_families(programs, err) < 0 || decide(programs, err) < 0)
        return -1;
    for (size_t i = 0; i < programs->count; i++)
        if (warn(programs, &programs->items[i], err) < 0)
            return -1;
    put_facts(programs);
    return 0;
}

void berth_inside_run(const struct berth_inside *told)
{
    struct programs programs = {.told = told};
    BERTH_BUF struct berth_buf bytes = {0};
    struct berth_err err;
    int result;

    if (told->variable)
        berth_strvec_push(&programs.binding.set, told->variable);
    result = run(&programs, &err);
    berth_binding_put(&programs.binding, &bytes);
    if (result < 0 || berth_channel_send_result(told->channel, &bytes, &err) < 0) {
        berth_channel_send(told->channel, BERTH_CHANNEL_REFUSED, err.text, NULL);
        return;
    }
    berth_channel_send(told->channel, BERTH_CHANNEL_DONE, "", NULL);
}
