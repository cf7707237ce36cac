/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the variables of options, and says which of several values of an option
 * counts. Reads no environment itself. */

#include "request/defaults.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/choice.h"
#include "base/cleanup.h"
#include "base/environ.h"
#include "base/text.h"
#include "request/components.h"
#include "request/mount.h"
#include "request/option.h"
#include "request/wire.h"

void berth_defaults_name(enum berth_option_id id, char name[BERTH_DEFAULTS_NAME])
{
    snprintf(name, BERTH_DEFAULTS_NAME, "BERTH_%s", berth_options[id].name);
    for (char *c = name; *c; c++) {
        if (*c == '-')
            *c = '_';
        else
            *c = (char)toupper((unsigned char)*c);
    }
}

/* The value of NAME, the last in ASSIGNED, else that in ENVIRON; NULL: none. */
static const char *find_value(char *const *environ, const struct berth_strvec *assigned,
                              const char *name)
{
    for (size_t i = assigned->count; i-- > 0;) {
        char *const item[] = {assigned->items[i], NULL};
        const char *value = berth_environ_value(item, name);

        if (value)
            return value;
    }
    return berth_environ_value(environ, name);
}

/* VALUE of the variable of a switch, in *RET_IS_ON. */
static int read_switch(const char *value, bool *ret_is_on, struct berth_err *err)
{
    *ret_is_on = berth_choice_find("yes|1|true", value) >= 0;
    if (*ret_is_on || berth_choice_find("no|0|false", value) >= 0)
        return 0;
    return berth_err_expected(err, "yes or no", value);
}

/* The variable of a switch of pyxis that berth does not have. Without it berth does
 * what the value `no` asks for. */
static int check_pyxis_switch(const struct berth_option *option, const char *value,
                              struct berth_err *err)
{
    bool is_on;

    if (read_switch(value, &is_on, err) < 0)
        return -1;
    if (!is_on)
        return 0;
    return berth_pyxis_check(option, err);
}

/* `no` sets the opposite of the switch ID. */
static int parse_switch(enum berth_option_id id, const char *value,
                        struct berth_request *ret, struct berth_err *err)
{
    const struct berth_option *option = &berth_options[id];
    enum berth_choice opposite = BERTH_YES;
    bool is_on;

    if (option->says == BERTH_YES)
        opposite = BERTH_NO;
    if (read_switch(value, &is_on, err) < 0)
        return -1;
    if (!is_on)
        option = berth_option_switch(option->field, opposite);
    return berth_request_parse(ret, (enum berth_option_id)(option - berth_options),
                               NULL, NULL, err);
}

/* An empty variable is one that a script has cleared. Only for the image it is an
 * error, as on the command line: with BERTH_CONTAINER_IMAGE=$UNSET the program would
 * run on the host, where `none` says that it is to. */
static int parse(enum berth_option_id id, const char *value, const char *base,
                 struct berth_request *ret, struct berth_err *err)
{
    const struct berth_option *option = &berth_options[id];

    if (!*value && id != BERTH_OPTION_IMAGE)
        return 0;
    if (id >= BERTH_OPTION_COUNT && option->argument)
        return berth_pyxis_check(option, err);
    if (id >= BERTH_OPTION_COUNT)
        return check_pyxis_switch(option, value, err);
    if (option->argument)
        return berth_request_parse(ret, id, value, base, err);
    return parse_switch(id, value, ret, err);
}

/* Writes the name of the variable of pyxis for the option ID to NAME. Returns false if
 * pyxis can have none. */
static bool name_pyxis(int id, char name[BERTH_DEFAULTS_NAME])
{
    static const char own[] = "BERTH_", theirs[] = "PYXIS_";

    berth_defaults_name((enum berth_option_id)id, name);
    if (!berth_text_starts(name, "BERTH_CONTAINER_"))
        return false;
    memcpy(name, theirs, strlen(own));
    return true;
}

/* Where variables are read from. Borrows everything. */
struct reading {
    char *const *environ;
    const struct berth_strvec *assigned; /* by --export */
    const char *base;                    /* the directory of relative paths */
};

/* Reads the variable of pyxis for the option ID into RET, if there is one and REQUEST
 * does not have the option or its opposite. */
static int read_pyxis(const struct reading *reading, int id,
                      const struct berth_request *request, struct berth_request *ret,
                      struct berth_err *err)
{
    char name[BERTH_DEFAULTS_NAME];
    const char *value = NULL;

    if (name_pyxis(id, name))
        value = find_value(reading->environ, reading->assigned, name);
    if (!value)
        return 0;
    if (id < BERTH_OPTION_COUNT && berth_request_says(request, id))
        return 0;
    if (parse((enum berth_option_id)id, value, reading->base, ret, err) < 0)
        return berth_err_at(err, "%s", name);
    return 0;
}

/* Adds FROM to REQUEST and to ADDED. */
static int merge_both(const struct berth_request *from, struct berth_request *request,
                      struct berth_request *added, struct berth_err *err)
{
    if (berth_request_merge(request, from, err) < 0)
        return -1;
    return berth_request_merge(added, from, err);
}

int berth_defaults_add_pyxis(char *const *environ, const struct berth_strvec *assigned,
                             const char *base, struct berth_request *request,
                             struct berth_request *ret_added, struct berth_err *err)
{
    const struct reading reading = {environ, assigned, base};
    BERTH_REQUEST struct berth_request container = {0};
    BERTH_REQUEST struct berth_request rest = {0};

    if (read_pyxis(&reading, BERTH_OPTION_IMAGE, request, &container, err) < 0 ||
        read_pyxis(&reading, BERTH_OPTION_NAME, request, &container, err) < 0)
        return -1;
    if (merge_both(&container, request, ret_added, err) < 0)
        return -1;
    if (!berth_request_has_container(request))
        return 0; /* the other variables mean nothing on the host */

    for (int id = 0; id < BERTH_OPTIONS_ALL; id++)
        if (read_pyxis(&reading, id, request, &rest, err) < 0)
            return -1;
    return merge_both(&rest, request, ret_added, err);
}

int berth_defaults_parse(char *const *environ, const struct berth_strvec *assigned,
                         const char *base, struct berth_request *ret,
                         struct berth_err *err)
{
    BERTH_REQUEST struct berth_request request = {0};

    for (int id = 0; id < BERTH_OPTIONS_ALL; id++) {
        char name[BERTH_DEFAULTS_NAME];
        const char *value;

        berth_defaults_name((enum berth_option_id)id, name);
        value = find_value(environ, assigned, name);
        if (value && parse((enum berth_option_id)id, value, base, &request, err) < 0)
            return berth_err_at(err, "%s", name);
    }
    *ret = berth_steal(&request);
    return 0;
}

int berth_defaults_job(const char *text, int group, struct berth_request *ret,
                       struct berth_err *err)
{
    BERTH_TABLE struct berth_table table = {0};
    size_t last;

    if (!text)
        return 0;
    if (berth_wire_get_table(text, &table, err) < 0)
        return berth_err_at(err, BERTH_JOB_VARIABLE);
    last = table.count - 1;
    if (last > 0 && group < 0)
        return berth_err_set(err,
                             "the components of this job have different container "
                             "options, and berth cannot tell which component this is; "
                             "write --het-group with numbers (--het-group=0,2-3), or "
                             "unset " BERTH_JOB_VARIABLE " and name the image");
    if (last > 0 && (size_t)group < last)
        last = (size_t)group;
    *ret = berth_steal(&table.rows[last].request);
    return 0;
}

enum { SOURCES = 3 };

static const char *const names[SOURCES] = {
    "the command line of srun",
    "its environment",
    "the job (sbatch, salloc)",
};

/* Appends the sentence of OPTION, if its value is not of the command line alone. The
 * first of VALUES that is not NULL counts. */
static void add_sentence(const char *option, const char *const values[SOURCES],
                         struct berth_strvec *ret)
{
    BERTH_BUF struct berth_buf text = {0};
    int last = 0;

    for (int i = 0; i < SOURCES; i++) {
        if (!values[i])
            continue;
        if (text.used > 0)
            berth_buf_puts(&text, ", over ");
        berth_buf_addf(&text, "'%s' of %s", values[i], names[i]);
        last = i;
    }
    if (last > 0)
        berth_strvec_pushf(ret, "--%s: %s", option, berth_buf_text(&text));
    ret->failed |= text.failed;
}

/* The mount of REQUEST on the place of MOUNT; NULL: none. */
static const char *find_mount(const struct berth_request *request, const char *mount,
                              bool *ret_failed)
{
    for (size_t i = 0; i < request->mounts.count; i++)
        if (berth_mount_same_place(request->mounts.items[i], mount, ret_failed))
            return request->mounts.items[i];
    return NULL;
}

/* Appends the sentence of MOUNT of the source AT, unless a source before AT has a mount
 * on the same place, whose sentence names this one. */
static void add_mount(const struct berth_request *const requests[SOURCES], int at,
                      const char *mount, struct berth_strvec *ret)
{
    const char *values[SOURCES];

    for (int source = 0; source < SOURCES; source++) {
        values[source] = find_mount(requests[source], mount, &ret->failed);
        if (source < at && values[source])
            return;
    }
    add_sentence(berth_options[BERTH_OPTION_MOUNTS].name, values, ret);
}

/* Appends a sentence for each mount of the sources that is not of the command line
 * alone. */
static void add_mounts(const struct berth_request *const requests[SOURCES],
                       struct berth_strvec *ret)
{
    for (int k = 0; k < SOURCES; k++)
        for (size_t i = 0; i < requests[k]->mounts.count; i++)
            add_mount(requests, k, requests[k]->mounts.items[i], ret);
}

void berth_defaults_sources(const struct berth_request *typed,
                            const struct berth_request *environment,
                            const struct berth_request *job, struct berth_strvec *ret)
{
    const struct berth_request *const requests[SOURCES] = {typed, environment, job};

    for (int id = 0; id < BERTH_OPTION_COUNT; id++) {
        const char *values[SOURCES];

        if (berth_options[id].kind != BERTH_KIND_TEXT || id == BERTH_OPTION_EXPLAIN)
            continue;
        for (int k = 0; k < SOURCES; k++)
            values[k] = berth_request_value(requests[k], id, 0);
        add_sentence(berth_options[id].name, values, ret);
    }
    add_mounts(requests, ret);
}
