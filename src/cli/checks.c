/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of berth doctor: judges them, writes them in one line, frees them. */

#include "cli/checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

void berth_doctor_judge(const struct berth_doctor_facts *facts,
                        struct berth_diagnoses *diagnoses)
{
    berth_doctor_judge_host(facts, diagnoses);
    berth_doctor_judge_slurm(facts, diagnoses);
}

/* Append " NAME=VALUE" with blanks in VALUE as _, so that it is one word. */
static void put_fact(struct berth_buf *line, const char *name, const char *value)
{
    berth_buf_addf(line, " %s=", name);
    if (!value || !*value)
        berth_buf_puts(line, "none");
    for (; value && *value; value++)
        berth_buf_add(line, strchr(" \t\n", *value) ? "_" : value, 1);
}

/* Append the things that are wrong, each once, in the order of the diagnoses. */
static void put_faults(const struct berth_diagnoses *diagnoses, struct berth_buf *line)
{
    BERTH_BUF struct berth_buf list = {0};
    const char *last = "";

    for (size_t i = 0; i < diagnoses->count; i++) {
        const struct berth_diagnosis *diagnosis = &diagnoses->items[i];

        if (diagnosis->level != BERTH_DIAGNOSIS_WRONG ||
            strcmp(diagnosis->about, last) == 0)
            continue;
        last = diagnosis->about;
        berth_buf_addf(&list, "%s%s", list.used ? "," : "", last);
    }
    put_fact(line, "wrong", list.text);
    line->failed |= list.failed;
}

/* Returns the release of Slurm that berth's plugin was built for, in TEXT; NULL: it is
 * not known. */
static const char *find_plugin(const struct berth_doctor_facts *facts, char text[24])
{
    const char *found = NULL;

    for (size_t i = 0; i < facts->plugin_count; i++)
        if (facts->plugins[i].is_berth && facts->plugins[i].slurm) {
            snprintf(text, 24, "%u.%02u", facts->plugins[i].slurm >> 16 & 0xff,
                     facts->plugins[i].slurm >> 8 & 0xff);
            found = text;
        }
    return found;
}

void berth_doctor_brief(const struct berth_doctor_facts *facts,
                        const struct berth_diagnoses *diagnoses, struct berth_buf *line)
{
    BERTH_BUF struct berth_buf stacks = {0};
    char slurm[24];

    berth_strvec_join(&facts->stacks, ",", &stacks);
    berth_buf_addf(line, "berth=%s", facts->release);
    put_fact(line, "plugin", find_plugin(facts, slurm));
    put_fact(line, "slurm", facts->slurm.version);
    put_fact(line, "config", facts->digest);
    put_fact(line, "runtime", facts->runtime.version);
    put_fact(line, "setuid", facts->runtime.is_setuid ? "yes" : "no");
    put_fact(line, "mpi", stacks.text);
    put_faults(diagnoses, line);
    line->failed |= stacks.failed;
}

void berth_doctor_json(const struct berth_doctor_facts *facts,
                       const struct berth_diagnoses *diagnoses, struct berth_buf *ret)
{
    BERTH_JSON struct berth_json json = {.pretty = true};
    char slurm[24];

    berth_json_object(&json, NULL);
    berth_json_string(&json, "berth", facts->release);
    berth_json_string(&json, "plugin", find_plugin(facts, slurm));
    berth_json_string(&json, "slurm", facts->slurm.version);
    berth_json_string(&json, "config", *facts->digest ? facts->digest : NULL);
    berth_json_string(&json, "option_prefix", facts->prefix);
    berth_json_string(&json, "runtime", facts->runtime.version);
    berth_json_bool(&json, "setuid", facts->runtime.is_setuid);
    berth_json_list(&json, "mpi", &facts->stacks);
    berth_json_array(&json, "checks");
    for (size_t i = 0; i < diagnoses->count; i++) {
        const struct berth_diagnosis *it = &diagnoses->items[i];

        berth_json_object(&json, NULL);
        berth_json_string(&json, "result", berth_diagnosis_word(it->level));
        berth_json_string(&json, "about", it->about);
        berth_json_string(&json, "text", it->text);
        berth_json_string(&json, "remedy", it->remedy);
        berth_json_end(&json);
    }
    berth_json_end(&json);
    berth_json_end(&json);
    berth_buf_puts(ret, json.text.text ? json.text.text : "");
    ret->failed |= json.text.failed;
}

const char *berth_doctor_keep(struct berth_doctor_facts *facts, const char *text)
{
    if (!text)
        return NULL;
    berth_strvec_push(&facts->kept, text);
    return facts->kept.failed ? NULL : facts->kept.items[facts->kept.count - 1];
}

void berth_doctor_facts_fini(struct berth_doctor_facts *facts)
{
    free(facts->plugins);
    berth_strvec_fini(&facts->stacks);
    berth_strvec_fini(&facts->fabrics);
    berth_strvec_fini(&facts->libraries);
    berth_strvec_fini(&facts->kept);
    *facts = (struct berth_doctor_facts){0};
}
