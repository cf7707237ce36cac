/* SPDX-License-Identifier: Apache-2.0 */
/* Do the ranks of two nodes find each other, in each way that a site offers? */

#include <stdio.h>
#include <string.h>

#include "qualify/session.h"

/* One way to run the program. */
struct way {
    const char *name; /* for people */
    const char *image, *program, *bind, *fabric, *settings;
    bool is_unnamed; /* the host has the fabric, and the site does not name it */
};

/* Which ranks read each other's memory, where a ring has passed. */
static int check_memory(struct berth_session *session, const char *about,
                        const char *cma, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0}, name = {0};
    bool works = strcmp(cma, "yes") == 0;

    if (!*cma)
        return 0;
    berth_buf_addf(&name, "memory, %s", about);
    if (works)
        berth_buf_puts(&text,
                       "a rank reads the memory of another one of its node (CMA)");
    else
        berth_buf_addf(&text,
                       "a rank cannot read the memory of another one of its node "
                       "(CMA): %s; large messages are copied twice",
                       cma);
    if (name.failed)
        return berth_err_oom(err);
    return berth_session_check(session, works ? BERTH_CHECK_OK : BERTH_CHECK_NOTE,
                               name.text, &text, NULL, err);
}

/* One ring. RET gets what the first one that is ok has found. */
static int run_ring(struct berth_session *session, const struct way *way,
                    const char *type, struct berth_found *ret, struct berth_err *err)
{
    BERTH_BUF struct berth_buf command = {0}, text = {0}, about = {0};
    struct berth_trial trial = {.image = way->image,
                                .bind = way->bind,
                                .fabric = way->fabric,
                                .settings = way->settings,
                                .mpi = type,
                                .nodes = session->nodes.count < 2 ? 1 : 2,
                                .each = 2,
                                .is_verbose = true,
                                .command = {way->program, "ring"}};
    struct berth_outcome outcome;
    enum berth_check_result result;
    struct berth_check *row;

    if (berth_session_run(session, &trial, &outcome, &command, NULL, err) < 0)
        return -1;
    result = berth_trial_judge(&trial, &outcome, &text);
    if (result == BERTH_CHECK_OK && !*ret->type) {
        snprintf(ret->type, sizeof(ret->type), "%s", type);
        snprintf(ret->cma, sizeof(ret->cma), "%s", outcome.measured.cma);
        snprintf(ret->network, sizeof(ret->network), "%s",
                 berth_trial_network(&outcome.witnessed));
    }
    if (result == BERTH_CHECK_FAIL && way->is_unnamed) {
        berth_buf_puts(&text,
                       "; the site does not name this fabric, so this is a note");
        result = BERTH_CHECK_NOTE;
    }
    berth_measured_fini(&outcome.measured);
    berth_buf_addf(&about, "ring, %s, %s", way->name, type);
    if (about.failed)
        return berth_err_oom(err);
    if (berth_session_check(session, result, about.text, &text, &command, err) < 0)
        return -1;
    row = &session->checks.items[session->checks.count - 1];
    row->stays = berth_trial_stays(&trial, &outcome);
    snprintf(row->network, sizeof(row->network), "%s",
             berth_trial_network(&outcome.witnessed));
    return 0;
}

/* All types of srun --mpi. */
static int try_types(struct berth_session *session, const struct way *way,
                     struct berth_found *ret, struct berth_err *err)
{
    BERTH_BUF struct berth_buf text = {0};
    size_t first = session->checks.count;

    *ret = (struct berth_found){.type = ""};
    if (session->types.count == 0) {
        berth_buf_puts(&text, "srun --mpi has no type but none");
        return berth_session_check(session, BERTH_CHECK_SKIP, way->name, &text, NULL,
                                   err);
    }
    for (size_t i = 0; i < session->types.count; i++)
        if (run_ring(session, way, session->types.items[i], ret, err) < 0)
            return -1;
    berth_checks_settle(&session->checks, first);
    if (!way->fabric && check_memory(session, way->name, ret->cma, err) < 0)
        return -1;
    berth_session_tell(session);
    return 0;
}

/* On the host: the program of the image first, which is then the same here and there.
 */
static int try_native(struct berth_session *session, const char *image,
                      const char *program, struct berth_working *ret,
                      struct berth_err *err)
{
    struct way way = {.program = program};
    char name[512];

    snprintf(name, sizeof(name), "native, the program of %s",
             image ? berth_session_name(session, image) : "the host");
    way.name = name;
    if (program && try_types(session, &way, &ret->native, err) < 0)
        return -1;
    if (!*ret->native.type && session->program) {
        way.program = session->program;
        way.name = "native, the program of the host";
        if (try_types(session, &way, &ret->native, err) < 0)
            return -1;
    }
    ret->program = way.program;
    return 0;
}

/* Does the site name the fabric OFFER, in a profile of its own or in mpi.fabric? The
 * loader also finds fabrics that a host has by chance. */
static bool is_named(const struct berth_session *session,
                     const struct berth_offer *offer)
{
    const char *fabric = session->terms.mpi.fabric;

    return offer->is_named || (fabric && strcmp(fabric, offer->name) == 0);
}

/* The stack or fabric OFFER of the host, in the image. */
static int try_offer(struct berth_session *session, const struct berth_offer *offer,
                     const char *image, const char *program, const char *library,
                     struct berth_working *ret, struct berth_err *err)
{
    bool is_mpi = *offer->family;
    struct way way = {.image = image,
                      .program = program,
                      .bind = is_mpi ? offer->name : "hybrid",
                      .fabric = is_mpi ? NULL : offer->name,
                      .is_unnamed = !is_mpi && !is_named(session, offer)};
    BERTH_BUF struct berth_buf text = {0};
    struct berth_found found;
    char name[512];

    snprintf(name, sizeof(name),
             is_mpi ? "%s, the host's %s" : "%s, its own MPI on the host's %s",
             berth_session_name(session, image), offer->name);
    way.name = name;
    way.settings = is_mpi ? NULL : berth_offer_settings(offer, library);
    if (is_mpi && !berth_offer_fits(offer->family, library)) {
        berth_buf_addf(&text, "the image's MPI is not %s", offer->family);
        return berth_session_check(session, BERTH_CHECK_SKIP, name, &text, NULL, err);
    }
    if (try_types(session, &way, &found, err) < 0)
        return -1;
    if (is_mpi && *found.type && !*ret->host.type) {
        ret->host = found;
        snprintf(ret->stack, sizeof(ret->stack), "%s", offer->name);
    } else if (!is_mpi && *found.type && ret->fabric_count < BERTH_FABRICS)
        ret->fabrics[ret->fabric_count++] =
            (struct berth_fabric){.found = found,
                                  .name = offer->name,
                                  .settings = way.settings,
                                  .is_unnamed = way.is_unnamed};
    return 0;
}

/* NCCL and RCCL are not for MPI. */
static bool is_tried(const struct berth_session *session,
                     const struct berth_offer *offer)
{
    if (*offer->family)
        return true;
    return !session->asked->is_quick && strcmp(offer->name, "nccl") != 0 &&
           strcmp(offer->name, "rccl") != 0;
}

int berth_stage_rings(struct berth_session *session, const char *image,
                      const char *program, const char *library,
                      struct berth_working *ret, struct berth_err *err)
{
    char name[512];
    struct way own = {
        .name = name, .image = image, .program = program, .bind = "hybrid"};

    *ret = (struct berth_working){.fabric_count = 0};
    if (try_native(session, image, program, ret, err) < 0)
        return -1;
    if (!image || !program)
        return 0;
    for (size_t i = 0; i < session->offer_count; i++)
        if (is_tried(session, &session->offers[i]) &&
            try_offer(session, &session->offers[i], image, program, library, ret, err) <
                0)
            return -1;
    snprintf(name, sizeof(name), "%s, its own MPI", berth_session_name(session, image));
    return try_types(session, &own, &ret->own, err);
}
