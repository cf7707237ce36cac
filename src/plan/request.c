/* SPDX-License-Identifier: Apache-2.0 */
/* What one component asks for: taking options, defaults under own values, and what
 * cannot be asked together. Reads nothing of the world. */

#include "plan/request.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "plan/mount.h"
#include "plan/path.h"
#include "plan/uri.h"

static int take_scalar(char **field, char *value, struct berth_err *err)
{
    if (*field && strcmp(*field, value) != 0) {
        berth_err_set(
            err, "given twice, '%s' and '%s'; expected one value for each component",
            *field, value);
        free(value);
        return -1;
    }
    free(*field);
    *field = value;
    return 0;
}

static int take_uri(struct berth_request *request, const char *value,
                    struct berth_err *err)
{
    BERTH_FREE char *uri = NULL;
    char *copy;

    if (berth_uri_check(value, err) < 0)
        return -1;
    uri = strdup(value);
    copy = strdup(value);
    if (!uri || !copy) {
        free(copy);
        return berth_err_oom(err);
    }
    if (take_scalar(&request->image, copy, err) < 0)
        return -1;
    free(request->uri);
    request->uri = berth_steal(&uri);
    return 0;
}

static int take_image(struct berth_request *request, const char *value,
                      const char *base, struct berth_err *err)
{
    char *path = NULL;

    if (berth_uri_is(value))
        return take_uri(request, value, err);
    if (strcmp(value, BERTH_NO_IMAGE) != 0) {
        if (berth_path_absolute(value, base, &path, err) < 0)
            return -1;
    } else if (!(path = strdup(value))) {
        return berth_err_oom(err);
    }
    return take_scalar(&request->image, path, err);
}

static int take_workdir(struct berth_request *request, const char *value,
                        struct berth_err *err)
{
    char *path = NULL;

    if (*value != '/')
        return berth_err_set(err,
                             "'%s' is not absolute; expected a directory in the "
                             "image, from /",
                             value);
    path = strdup(value);
    if (!path)
        return berth_err_oom(err);
    return take_scalar(&request->workdir, path, err);
}

static int take_home(struct berth_request *request, enum berth_choice choice,
                     struct berth_err *err)
{
    if (request->home != BERTH_UNSAID && request->home != choice)
        return berth_err_set(err,
                             "given together with its opposite; expected one of "
                             "--container-mount-home and --no-container-mount-home");
    request->home = choice;
    return 0;
}

static bool is_name(const char *text, size_t count)
{
    if (count == 0 || isdigit((unsigned char)text[0]))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return true;
}

static int take_variable(struct berth_request *request, const char *item,
                         struct berth_err *err)
{
    if (!is_name(item, strcspn(item, "=")))
        return berth_err_set(err,
                             "'%s' is not a variable; expected NAME or NAME=VALUE "
                             "(write \\, for a comma in a value)",
                             item);
    berth_strvec_push(&request->env, item);
    return request->env.failed ? berth_err_oom(err) : 0;
}

/* The length of the first item of a comma list in which `\,` is a comma; the item
 * without its backslashes goes to COPY. */
static size_t cut_item(const char *text, char *copy)
{
    size_t at = 0;

    for (; text[at] && text[at] != ','; at++) {
        if (text[at] == '\\' && text[at + 1] == ',')
            at++;
        *copy++ = text[at];
    }
    *copy = '\0';
    return at;
}

static int take_env(struct berth_request *request, const char *value,
                    struct berth_err *err)
{
    BERTH_FREE char *item = malloc(strlen(value) + 1);

    if (!item)
        return berth_err_oom(err);
    for (;;) {
        size_t length = cut_item(value, item);

        if (take_variable(request, item, err) < 0)
            return -1;
        if (value[length] == '\0')
            return 0;
        value += length + 1;
    }
}

static int take_args(struct berth_request *request, const char *value,
                     struct berth_err *err)
{
    BERTH_FREE char *copy = strdup(value);
    char *next = copy;
    char *word;

    if (!copy)
        return berth_err_oom(err);
    while ((word = strsep(&next, " \t\n")))
        if (*word)
            berth_strvec_push(&request->args, word);
    return request->args.failed ? berth_err_oom(err) : 0;
}

/* Slurm writes an optional argument that is not there as "(null)" where it forwards it.
 */
static int take_mpi(struct berth_request *request, const char *value,
                    struct berth_err *err)
{
    char *mode;

    if (!value || *value == '\0' || strcmp(value, "(null)") == 0)
        value = "auto";
    if (!berth_mode_is_word(value))
        return berth_err_set(err,
                             "'%s' is not a mode; expected auto, host, hybrid, local, "
                             "local-each, off, or the name of a profile",
                             value);
    mode = strdup(value);
    return mode ? take_scalar(&request->mpi, mode, err) : berth_err_oom(err);
}

static int take_gpu(struct berth_request *request, const char *value,
                    struct berth_err *err)
{
    static const char *const kinds[] = {BERTH_GPU_AUTO, BERTH_GPU_NVIDIA,
                                        BERTH_GPU_ROCM, BERTH_GPU_OFF};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(value, kinds[i]) == 0) {
            char *kind = strdup(value);

            return kind ? take_scalar(&request->gpu, kind, err) : berth_err_oom(err);
        }
    return berth_err_set(
        err, "'%s' is not a kind of GPU; expected auto, nvidia, rocm or off", value);
}

static int take_explain(struct berth_request *request, const char *value,
                        struct berth_err *err)
{
    static const struct {
        const char *said;
        const char *means;
    } forms[] = {
        {BERTH_EXPLAIN_TEXT, BERTH_EXPLAIN_TEXT},
        {BERTH_EXPLAIN_JSON, BERTH_EXPLAIN_JSON},
        {BERTH_EXPLAIN_OFF, BERTH_EXPLAIN_OFF},
        {"yes", BERTH_EXPLAIN_TEXT},
        {"no", BERTH_EXPLAIN_OFF},
        {"(null)", BERTH_EXPLAIN_TEXT},
    };
    char *form;

    if (!value || *value == '\0')
        value = BERTH_EXPLAIN_TEXT;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (strcmp(value, forms[i].said) != 0)
            continue;
        form = strdup(forms[i].means);
        return form ? take_scalar(&request->explain, form, err) : berth_err_oom(err);
    }
    return berth_err_set(err, "'%s' is not a form; expected text, json or off", value);
}

int berth_request_take(struct berth_request *request, enum berth_option_id id,
                       const char *value, const char *base, struct berth_err *err)
{
    bool needs_value = id == BERTH_OPTION_IMAGE || id == BERTH_OPTION_MOUNTS ||
                       id == BERTH_OPTION_WORKDIR || id == BERTH_OPTION_ENV ||
                       id == BERTH_OPTION_ARGS || id == BERTH_OPTION_GPU;

    if (needs_value && (!value || *value == '\0'))
        return berth_err_set(err, "the value is empty; give one, or leave the option "
                                  "out");
    switch (id) {
    case BERTH_OPTION_IMAGE:
        return take_image(request, value, base, err);
    case BERTH_OPTION_MOUNTS:
        return berth_mount_parse_list(value, base, &request->mounts, err);
    case BERTH_OPTION_WORKDIR:
        return take_workdir(request, value, err);
    case BERTH_OPTION_MOUNT_HOME:
        return take_home(request, BERTH_YES, err);
    case BERTH_OPTION_NO_MOUNT_HOME:
        return take_home(request, BERTH_NO, err);
    case BERTH_OPTION_WRITABLE:
        request->writable = true;
        return 0;
    case BERTH_OPTION_ENTRYPOINT:
        request->entrypoint = true;
        return 0;
    case BERTH_OPTION_ENV:
        return take_env(request, value, err);
    case BERTH_OPTION_ARGS:
        return take_args(request, value, err);
    case BERTH_OPTION_GPU:
        return take_gpu(request, value, err);
    case BERTH_OPTION_MPI:
        return take_mpi(request, value, err);
    case BERTH_OPTION_EXPLAIN:
        return take_explain(request, value, err);
    case BERTH_OPTION_COUNT:
        break;
    }
    return berth_err_set(err, "no such option");
}

bool berth_request_contained(const struct berth_request *request)
{
    return request->image && strcmp(request->image, BERTH_NO_IMAGE) != 0;
}

bool berth_request_unpulled(const struct berth_request *request)
{
    return request->uri && strcmp(request->image, request->uri) == 0;
}

int berth_request_pulled(struct berth_request *request, const char *file,
                         struct berth_err *err)
{
    char *image = strdup(file);

    if (!image)
        return berth_err_oom(err);
    free(request->image);
    request->image = image;
    return 0;
}

/* Was anything said besides the image? */
static bool said_more(const struct berth_request *request)
{
    return request->mounts.count || request->workdir || request->home ||
           request->writable || request->entrypoint || request->env.count ||
           request->args.count || request->gpu || request->mpi || request->explain;
}

const char *berth_request_mode(const struct berth_request *request)
{
    return request->mpi ? request->mpi : "off";
}

bool berth_request_mpi_is(const struct berth_request *request, enum berth_mode mode)
{
    return berth_mode_of(request->mpi) == mode;
}

bool berth_request_mpi_local(const struct berth_request *request)
{
    return berth_request_mpi_is(request, BERTH_MODE_LOCAL) ||
           berth_request_mpi_is(request, BERTH_MODE_LOCAL_EACH);
}

bool berth_request_mpi_chosen(const struct berth_request *request)
{
    return !berth_request_mpi_is(request, BERTH_MODE_OFF) &&
           !berth_request_mpi_local(request);
}

bool berth_request_mpi_may_host(const struct berth_request *request)
{
    return berth_request_mpi_chosen(request) &&
           !berth_request_mpi_is(request, BERTH_MODE_HYBRID) &&
           !(berth_request_mpi_is(request, BERTH_MODE_AUTO) &&
             request->world == BERTH_WORLD_OWN);
}

bool berth_request_mpi_must_host(const struct berth_request *request)
{
    return berth_request_mpi_may_host(request) &&
           (!berth_request_mpi_is(request, BERTH_MODE_AUTO) ||
            request->world == BERTH_WORLD_HOST);
}

bool berth_request_explained(const struct berth_request *request)
{
    return request->explain && strcmp(request->explain, BERTH_EXPLAIN_OFF) != 0;
}

bool berth_request_said(const struct berth_request *request)
{
    return request->image || said_more(request);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool berth_request_equal(const struct berth_request *a, const struct berth_request *b)
{
    return same_text(a->image, b->image) && same_text(a->uri, b->uri) &&
           same_text(a->workdir, b->workdir) && same_text(a->gpu, b->gpu) &&
           same_text(a->mpi, b->mpi) && same_text(a->explain, b->explain) &&
           a->home == b->home && a->writable == b->writable &&
           a->entrypoint == b->entrypoint && a->world == b->world &&
           berth_strvec_equal(&a->mounts, &b->mounts) &&
           berth_strvec_equal(&a->env, &b->env) &&
           berth_strvec_equal(&a->args, &b->args);
}

static void merge_list(const struct berth_strvec *first,
                       const struct berth_strvec *then, struct berth_strvec *ret)
{
    berth_strvec_append(ret, first);
    berth_strvec_append(ret, then);
}

static bool merge_text(const char *defaults, const char *own, char **ret)
{
    const char *chosen = own ? own : defaults;

    *ret = chosen ? strdup(chosen) : NULL;
    return !chosen || *ret;
}

int berth_request_merge(const struct berth_request *defaults,
                        const struct berth_request *own, struct berth_request *ret,
                        struct berth_err *err)
{
    static const struct berth_request nothing;
    struct berth_request merged = {0};

    if (own->image && !berth_request_contained(own))
        defaults = &nothing;
    merged.home = own->home != BERTH_UNSAID ? own->home : defaults->home;
    merged.writable = own->writable || defaults->writable;
    merged.entrypoint = own->entrypoint || defaults->entrypoint;
    merged.world = own->world ? own->world : defaults->world;
    merge_list(&defaults->mounts, &own->mounts, &merged.mounts);
    merge_list(&defaults->env, &own->env, &merged.env);
    merge_list(&defaults->args, &own->args, &merged.args);
    if (!merge_text(defaults->image, own->image, &merged.image) ||
        !merge_text(own->image ? NULL : defaults->uri, own->uri, &merged.uri) ||
        !merge_text(defaults->workdir, own->workdir, &merged.workdir) ||
        !merge_text(defaults->gpu, own->gpu, &merged.gpu) ||
        !merge_text(defaults->mpi, own->mpi, &merged.mpi) ||
        !merge_text(defaults->explain, own->explain, &merged.explain) ||
        merged.mounts.failed || merged.env.failed || merged.args.failed) {
        berth_request_fini(&merged);
        return berth_err_oom(err);
    }
    *ret = merged;
    return 0;
}

int berth_request_check(const struct berth_request *request, struct berth_err *err)
{
    if (berth_request_contained(request) || !said_more(request))
        return 0;
    if (request->image)
        return berth_err_set(err, "--container-image=none: the other container options "
                                  "mean nothing on the host; leave them out");
    return berth_err_set(err, "--container-image: not given, but other container "
                              "options are; name an image");
}

void berth_request_fini(struct berth_request *request)
{
    free(request->image);
    free(request->uri);
    free(request->workdir);
    free(request->gpu);
    free(request->mpi);
    free(request->explain);
    berth_strvec_fini(&request->mounts);
    berth_strvec_fini(&request->env);
    berth_strvec_fini(&request->args);
    *request = (struct berth_request){0};
}
