/* SPDX-License-Identifier: Apache-2.0 */
/* The diagnoses of berth doctor: collects them, counts them, writes them in one line
 * and as JSON. */

#include "cli/diagnoses.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/json.h"
#include "base/text.h"

void berth_doctor_add(struct berth_doctor *doctor, enum berth_diagnosis_level level,
                      const char *about, const char *remedy, const char *format, ...)
{
    struct berth_diagnosis item = {level, about, NULL, remedy};
    struct berth_err text;
    char raw[BERTH_ERR_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    berth_err_set(&text, "%s", raw);
    item.text = strdup(text.text);
    if (!item.text || berth_append(doctor, &item) < 0)
        doctor->failed = true;
    free(item.text);
}

int berth_doctor_examine(struct berth_doctor *doctor, struct berth_err *err)
{
    berth_doctor_read_site(doctor);
    berth_doctor_read_runtime(doctor);
    if (berth_doctor_check_host(doctor, err) < 0)
        return -1;
    berth_doctor_check_slurm(doctor);
    return berth_err_oom_if(doctor->failed, err);
}

const char *berth_diagnosis_word(enum berth_diagnosis_level level)
{
    static const char *const names[] = {
        [BERTH_DIAGNOSIS_OK] = "ok",
        [BERTH_DIAGNOSIS_NOTE] = "note",
        [BERTH_DIAGNOSIS_WRONG] = "wrong",
    };

    return names[level];
}

size_t berth_doctor_count(const struct berth_doctor *doctor,
                          enum berth_diagnosis_level level)
{
    size_t found = 0;

    for (size_t i = 0; i < doctor->count; i++)
        if (doctor->items[i].level == level)
            found++;
    return found;
}

void berth_doctor_sum(const struct berth_doctor *doctor, struct berth_buf *ret)
{
    size_t notes = berth_doctor_count(doctor, BERTH_DIAGNOSIS_NOTE);
    size_t wrong = berth_doctor_count(doctor, BERTH_DIAGNOSIS_WRONG);

    berth_buf_addf(ret, "%zu checked, ", doctor->count);
    if (notes)
        berth_buf_addf(ret, "%zu note%s, ", notes, berth_text_plural(notes));
    if (wrong)
        berth_buf_addf(ret, "%zu wrong", wrong);
    else
        berth_buf_puts(ret, "nothing wrong");
}

static void put_diagnosis(struct berth_json *json,
                          const struct berth_diagnosis *diagnosis)
{
    berth_json_object(json, NULL);
    berth_json_string(json, "result", berth_diagnosis_word(diagnosis->level));
    berth_json_string(json, "about", diagnosis->about);
    berth_json_string(json, "text", diagnosis->text);
    berth_json_string(json, "remedy", diagnosis->remedy);
    berth_json_end(json);
}

void berth_doctor_json(const struct berth_doctor *doctor, struct berth_buf *ret)
{
    BERTH_JSON struct berth_json json = {.pretty = true};
    const char *plugin = berth_text_given(doctor->plugin);

    berth_json_object(&json, NULL);
    berth_json_string(&json, "berth", doctor->release);
    berth_json_string(&json, "plugin", plugin);
    berth_json_string(&json, "slurm", doctor->slurm);
    berth_json_string(&json, "config", doctor->digest);
    berth_json_string(&json, "option_prefix", doctor->settings.option_prefix);
    berth_json_string(&json, "runtime", doctor->runtime.version);
    berth_json_bool(&json, "setuid", doctor->runtime.has_setuid);
    berth_json_list(&json, "mpi", &doctor->stacks);
    berth_json_array(&json, "checks");
    for (size_t i = 0; i < doctor->count; i++)
        put_diagnosis(&json, &doctor->items[i]);
    berth_json_end(&json);
    berth_json_end(&json);
    berth_buf_part(ret, "", json.text.text, "");
    ret->failed |= json.text.failed;
}

void berth_doctor_fini(struct berth_doctor *doctor)
{
    for (size_t i = 0; i < doctor->count; i++)
        free(doctor->items[i].text);
    free(doctor->items);
    free(doctor->site_error);
    free(doctor->slurm);
    free(doctor->runtime.path);
    free(doctor->runtime.missing);
    free(doctor->runtime.version);
    free(doctor->runtime.libexec);
    free(doctor->runtime.conf);
    free(doctor->runtime.binds);
    berth_host_conf_fini(&doctor->conf);
    berth_plugstack_fini(&doctor->stack);
    berth_settings_fini(&doctor->settings);
    berth_site_fini(&doctor->site);
    berth_terms_fini(&doctor->terms);
    berth_strvec_fini(&doctor->stacks);
    *doctor = (struct berth_doctor){0};
}
