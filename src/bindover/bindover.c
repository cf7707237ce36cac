/* SPDX-License-Identifier: Apache-2.0 */
/* Asks berth-mpi for stages, makes the list of what is to be done with them, and tries
 * it until the image's loader confirms what runs. */

#include "bindover/bindover.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bindover/kind.h"
#include "bindover/verify.h"
#include "site/fabric.h"
#include "ipc/channel.h"

extern char **environ;

void berth_bindover_say(struct berth_binding *binding, char **text,
                        const char *separator, const char *format, ...)
{
    BERTH_FREE char *before = *text;
    BERTH_FREE char *sentence = NULL;
    va_list args;

    *text = NULL;
    va_start(args, format);
    if (vasprintf(&sentence, format, args) < 0)
        sentence = NULL;
    va_end(args);
    if (sentence && !before)
        *text = berth_steal(&sentence);
    else if (!sentence || asprintf(text, "%s%s%s", before, separator, sentence) < 0)
        *text = NULL;
    if (!*text)
        binding->facts.failed = true;
}

struct berth_replacement *berth_bindover_add(struct berth_program *program,
                                             const struct berth_stack *stack,
                                             enum berth_mpi_family family)
{
    struct berth_replacement *it = &program->items[program->count];

    program->count++;
    *it = (struct berth_replacement){.family = family, .stack = stack};
    return it;
}

/* May both sides have the library SONAME, of which a process gets one? Beside an MPI
 * that is one of GCC, which a program without MPI may load before or after the host's.
 */
static bool may_collide(const struct berth_replacement *replacement, const char *soname)
{
    if (berth_replacement_is_mpi(replacement))
        return berth_profile_is_gcc(soname);
    return !berth_profile_is_glibc(soname);
}

/* Find the libraries that the image has, too, and of which a process gets one. */
static int find_twins(struct berth_program *program,
                      const struct berth_replacement *replacement,
                      struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec names = {0};
    bool has_mpi = program->wants.family != BERTH_FAMILY_NONE;

    if (berth_replacement_is_mpi(replacement) && has_mpi)
        return 0;
    for (size_t i = 0; i < replacement->staged.count; i++) {
        const char *soname = replacement->staged.items[i].soname;
        bool is_known = berth_mpi_objects_find(&program->scan.objects, soname);

        if (!is_known && may_collide(replacement, soname))
            berth_strvec_push(&names, soname);
    }
    if (names.failed)
        return berth_err_oom(err);
    if (names.count == 0)
        return 0;
    return berth_scan_names(&program->scan, (const char *const *)names.items, environ,
                            err);
}

int berth_bindover_stage(const struct berth_decide *inside,
                         struct berth_program *program,
                         struct berth_replacement *replacement, struct berth_err *err)
{
    struct berth_channel_message answer;
    char number[24];
    char *newline;

    snprintf(number, sizeof(number), "%td", replacement->stack - inside->stacks->items);
    if (berth_channel_send(inside->channel, BERTH_CHANNEL_STAGE, number, err) < 0)
        return -1;
    if (berth_channel_receive(inside->channel, NULL, &answer, err) < 0)
        return -1;

    newline = strchr(answer.text, '\n');
    if (answer.kind != BERTH_CHANNEL_STAGED || !newline)
        return berth_channel_refusal(&answer, err);
    *newline = '\0';
    if (berth_replacement_open(inside->host_cache, newline + 1, answer.text,
                               replacement, err) < 0)
        return -1;
    return find_twins(program, replacement, err);
}

int berth_bindover_judge(struct berth_programs *programs,
                         const struct berth_program *program,
                         struct berth_replacement *replacement, struct berth_err *err)
{
    const struct berth_terms *terms = programs->inside->terms;
    const char *keep_glibc = terms ? terms->keep_glibc : NULL;
    const struct berth_fabric fabric = {
        .profile = replacement->stack->profile,
        .version = replacement->stack->version,
        .verdict = &replacement->verdict,
        .closure = &program->scan.closure,
        .env = environ,
        .keep_glibc = keep_glibc,
    };

    if (berth_replacement_plan(replacement, &program->wants, &program->scan, environ,
                               err) < 0) {
        programs->reason = replacement->verdict.reason;
        return -1;
    }
    return berth_fabric_check(&fabric, err);
}

/* Add the operations of the replacements of PROGRAM that are new. */
static void add_new(const struct berth_program *program,
                    struct berth_operations *operations)
{
    for (int i = program->accepted; i < program->count; i++) {
        const struct berth_replacement *it = &program->items[i];

        berth_operations_add(operations, &it->binds, &it->set, it);
    }
}

static int verify_new(struct berth_programs *programs, struct berth_err *err)
{
    for (size_t k = 0; k < programs->count; k++) {
        const struct berth_program *program = &programs->items[k];

        for (int i = program->accepted; i < program->count; i++)
            if (berth_replacement_verify(&program->items[i], &program->scan,
                                         &programs->operations, environ, err) < 0)
                return -1;
    }
    return 0;
}

/* Add OPERATION to BINDING, with the paths on the host; one of a file of the image over
 * a staged one concerns nobody. */
static void answer(const struct berth_operation *operation,
                   struct berth_binding *binding)
{
    const struct berth_replacement *cause = operation->cause;

    if (operation->kind == BERTH_OPERATION_SET) {
        berth_strvec_push(&binding->set, operation->what);
        return;
    }
    if (berth_replacement_is_staged(cause, operation->over))
        return;
    berth_strvec_pushf(&binding->binds, "%s%s", cause->host,
                       operation->what + strlen(cause->mounted));
    berth_strvec_push_pair(&binding->binds, operation->over,
                           berth_kind_of(cause->stack->profile)->option);
}

/* Take all that was tried for good. */
static void accept(struct berth_programs *programs)
{
    struct berth_operations *operations = &programs->operations;

    for (; programs->accepted < operations->count; programs->accepted++)
        answer(&operations->items[programs->accepted], &programs->binding);
    for (size_t k = 0; k < programs->count; k++)
        programs->items[k].accepted = programs->items[k].count;
}

/* Begin the trial, in which all that was accepted is in place. */
static int begin_trial(struct berth_programs *programs, struct berth_err *err)
{
    if (programs->trial.is_open)
        return 0;
    if (berth_trial_begin(&programs->trial, err) < 0)
        return -1;
    return berth_operations_do(&programs->operations, 0, err);
}

static bool has_new(const struct berth_programs *programs)
{
    for (size_t k = 0; k < programs->count; k++)
        if (programs->items[k].count > programs->items[k].accepted)
            return true;
    return false;
}

int berth_bindover_try(struct berth_programs *programs, struct berth_err *err)
{
    size_t before = programs->operations.count;

    if (!has_new(programs))
        return 0;
    if (begin_trial(programs, err) < 0)
        return -1;
    for (size_t k = 0; k < programs->count; k++)
        add_new(&programs->items[k], &programs->operations);
    if (berth_operations_do(&programs->operations, before, err) < 0)
        return -1;

    if (verify_new(programs, err) < 0)
        return -1;
    /* The mounts for one program may lie over files of another. */
    if (programs->count > 1 && verify_new(programs, err) < 0)
        return -1;
    accept(programs);
    return 0;
}

int berth_bindover_refuse(struct berth_programs *programs, struct berth_err *err)
{
    bool was_open = programs->trial.is_open;

    for (size_t k = 0; k < programs->count; k++) {
        struct berth_program *program = &programs->items[k];

        while (program->count > program->accepted) {
            program->count--;
            berth_replacement_fini(&program->items[program->count]);
        }
    }
    berth_operations_cut(&programs->operations, programs->accepted);

    /* The next scan must see what was accepted, and no more. */
    if (berth_trial_end(&programs->trial, err) < 0)
        return -1;
    if (!was_open || programs->accepted == 0)
        return 0;
    return begin_trial(programs, err);
}

int berth_bindover_do(struct berth_programs *programs, struct berth_err *err)
{
    if (berth_trial_end(&programs->trial, err) < 0)
        return -1;
    return berth_operations_do(&programs->operations, 0, err);
}
