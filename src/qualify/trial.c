/* SPDX-License-Identifier: Apache-2.0 */
/* The srun of a step of berth qualify, and what its end means. */

#include "qualify/trial.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/text.h"

/* A host MPI in an image is slower than native where this is exceeded; two runs of one
 * program differ by less on a quiet node. */
#define SLOWER (4.0 / 3)

/* Variables with which the libraries of MPI say which network they use. */
#define VERBOSE ",UCX_LOG_LEVEL=info,FI_LOG_LEVEL=info,OMPI_MCA_btl_base_verbose=1"

static void push_option(const struct berth_trial_site *site, const char *name,
                        const char *value, struct berth_strvec *ret)
{
    if (value)
        berth_strvec_pushf(ret, "--%s%s=%s", site->prefix, name, value);
}

static void push_nodes(const struct berth_trial *trial,
                       const struct berth_trial_site *site, struct berth_strvec *ret)
{
    BERTH_STRVEC struct berth_strvec used = {0};
    BERTH_BUF struct berth_buf list = {0};

    for (size_t i = 0; i < trial->nodes && i < site->nodes->count; i++)
        berth_strvec_push(&used, site->nodes->items[i]);
    berth_strvec_join(&used, ",", &list);
    ret->failed |= used.failed || list.failed;
    berth_strvec_pushf(ret, "--nodelist=%s", list.text ? list.text : "");
    berth_strvec_pushf(ret, "--nodes=%u", trial->nodes);
    berth_strvec_pushf(ret, "--ntasks=%u", trial->nodes * trial->each);
    berth_strvec_pushf(ret, "--ntasks-per-node=%u", trial->each);
}

void berth_trial_words(const struct berth_trial *trial,
                       const struct berth_trial_site *site, struct berth_strvec *ret)
{
    berth_strvec_push(ret, site->srun);
    berth_strvec_pushf(ret, "--jobid=%s", site->job);
    berth_strvec_push(ret, "--overlap");
    berth_strvec_push(ret, "--chdir=/");
    push_nodes(trial, site, ret);
    berth_strvec_pushf(ret, "--mpi=%s", trial->mpi);
    if (trial->is_verbose)
        berth_strvec_push(ret, "-v");
    if (trial->is_verbose || trial->settings)
        berth_strvec_pushf(ret, "--export=ALL%s%s%s", trial->is_verbose ? VERBOSE : "",
                           trial->settings ? "," : "",
                           trial->settings ? trial->settings : "");
    push_option(site, "container-image", trial->image, ret);
    push_option(site, "mpi-bind", trial->bind, ret);
    push_option(site, "container-fabric", trial->fabric, ret);
    push_option(site, "container-lifetime", trial->lifetime, ret);
    if (trial->image && site->directory)
        berth_strvec_pushf(ret, "--%scontainer-mounts=%s:%s", site->prefix,
                           site->directory, site->directory);
    for (int i = 0; i < BERTH_TRIAL_WORDS && trial->command[i]; i++)
        berth_strvec_push(ret, trial->command[i]);
}

static void put_option(const char *name, const char *value, struct berth_buf *ret)
{
    if (!value)
        return;
    berth_buf_addf(ret, " %s ", name);
    berth_buf_word(ret, value);
}

/* The job has ended when somebody types this. */
void berth_trial_shell(const struct berth_strvec *words,
                       const struct berth_trial_site *site, struct berth_buf *ret)
{
    berth_buf_puts(ret, "srun");
    put_option("-p", site->partition, ret);
    put_option("-A", site->account, ret);
    for (size_t i = 1; i < words->count; i++)
        if (strncmp(words->items[i], "--jobid=", 8) != 0 &&
            strcmp(words->items[i], "--overlap") != 0) {
            berth_buf_puts(ret, " ");
            berth_buf_word(ret, words->items[i]);
        }
}

enum berth_check_result berth_trial_ended(const struct berth_outcome *outcome,
                                          struct berth_buf *ret)
{
    const struct berth_witnessed *said = &outcome->witnessed;

    if (outcome->is_late) {
        berth_buf_addf(ret, "it hangs: not done after %d seconds", outcome->seconds);
        return BERTH_CHECK_FAIL;
    }
    if (outcome->status == 0)
        return BERTH_CHECK_OK;
    if (*said->sentence)
        berth_buf_puts(ret, said->sentence);
    else if (*said->other)
        berth_buf_puts(ret, said->other);
    else if (WIFEXITED(outcome->status))
        berth_buf_addf(ret, "exit status %d", WEXITSTATUS(outcome->status));
    else
        berth_buf_addf(ret, "signal %d", WTERMSIG(outcome->status));
    return BERTH_CHECK_FAIL;
}

/* Is SENTENCE about the option --mpi-bind? Its name starts with the prefix of the site.
 */
static bool is_about_bind(const char *sentence)
{
    static const char option[] = "mpi-bind";

    while ((sentence = strstr(sentence, ": --"))) {
        size_t length;

        sentence += strlen(": ");
        length = strcspn(sentence, " =:");
        if (sentence[length] == '=' && length > strlen(option) &&
            berth_text_starts(sentence + length - strlen(option), option))
            return true;
    }
    return false;
}

/* Is SENTENCE about a fault of the node, on which no image would run? */
static bool is_about_node(const char *sentence)
{
    static const char *const faults[] = {"': cannot be written", "': not done after ",
                                         " mounted noexec, ",
                                         "': another step still copies ", NULL};

    for (const char *const *fault = faults; *fault; fault++)
        if (strstr(sentence, *fault))
            return true;
    return false;
}

/* berth refuses an image that does not fit, in a sentence about the option; that is an
 * answer. What the witness says of ranks that run is not one, and that the type of srun
 * --mpi does not fit says nothing of the image. */
static bool is_refusal(const struct berth_trial *trial,
                       const struct berth_outcome *outcome)
{
    const char *sentence = outcome->witnessed.sentence;

    return !outcome->is_late && trial->bind && is_about_bind(sentence) &&
           !is_about_node(sentence) && !strstr(sentence, ": rank ") &&
           !strstr(sentence, " the step has --mpi=");
}

/* The program was built in the image, whose C library may be newer than the host's or
 * another one, and whose MPI the host may lack: what ld.so(8), and exec of a program
 * whose loader is not there, say of that. */
static bool does_not_start(const struct berth_trial *trial,
                           const struct berth_outcome *outcome)
{
    static const char *const sentences[] = {
        ": error while loading shared libraries: ", "' not found (required by ",
        ": symbol lookup error: ", "execve(): ", NULL};

    if (trial->image || outcome->is_late || !WIFEXITED(outcome->status))
        return false;
    for (const char *const *sentence = sentences; *sentence; sentence++)
        if (strstr(outcome->witnessed.other, *sentence))
            return true;
    return false;
}

/* Is the host's MPI put into the image? */
static bool has_bind(const struct berth_trial *trial)
{
    return trial->image && trial->bind && strcmp(trial->bind, "hybrid") != 0;
}

bool berth_trial_stays(const struct berth_trial *trial,
                       const struct berth_outcome *outcome)
{
    return outcome->is_late || (has_bind(trial) && !strstr(outcome->witnessed.sentence,
                                                           " the step has --mpi="));
}

/* The ranks that are to run on something of the host's do so, by the witness. */
static bool has_host(const struct berth_trial *trial,
                     const struct berth_outcome *outcome, struct berth_buf *ret)
{
    const struct berth_witnessed *said = &outcome->witnessed;

    if ((!has_bind(trial) && !trial->fabric) ||
        said->ranks == (int)(trial->nodes * trial->each))
        return true;
    if (trial->fabric)
        berth_buf_addf(ret,
                       "the ring passed, but not on the host's %s: %d of %u ranks have "
                       "loaded it, so the image's MPI chose another way",
                       trial->fabric, said->ranks, trial->nodes * trial->each);
    else
        berth_buf_addf(ret,
                       "the ring passed, and %d of %u ranks are known to have loaded "
                       "what the host has",
                       said->ranks, trial->nodes * trial->each);
    return false;
}

const char *berth_trial_network(const struct berth_witnessed *witnessed)
{
    return *witnessed->between    ? witnessed->between
           : *witnessed->provider ? witnessed->provider
                                  : witnessed->opened;
}

static void put_network(const struct berth_trial *trial,
                        const struct berth_outcome *outcome, struct berth_buf *ret)
{
    const struct berth_witnessed *said = &outcome->witnessed;
    const char *provider = *said->provider ? said->provider : said->opened;

    if (*said->between)
        berth_buf_addf(ret, "; %s between nodes: %s", said->speaker, said->between);
    if (*said->within)
        berth_buf_addf(ret, "; %s%son a node: %s", *said->between ? "" : said->speaker,
                       *said->between ? "" : " ", said->within);
    if (*provider)
        berth_buf_addf(ret, "; libfabric: %s", provider);
    if (outcome->measured.devices.text)
        berth_buf_addf(ret, "; open: %s", outcome->measured.devices.text);
    if (trial->nodes > 1 && !*berth_trial_network(said) &&
        !outcome->measured.devices.text)
        berth_buf_puts(ret, "; the network is not told");
}

enum berth_check_result berth_trial_judge(const struct berth_trial *trial,
                                          const struct berth_outcome *outcome,
                                          struct berth_buf *ret)
{
    const struct berth_measured *measured = &outcome->measured;
    int ranks = (int)(trial->nodes * trial->each);
    enum berth_check_result result = berth_trial_ended(outcome, ret);

    if (result != BERTH_CHECK_OK)
        return is_refusal(trial, outcome)       ? BERTH_CHECK_NOTE
               : does_not_start(trial, outcome) ? BERTH_CHECK_SKIP
                                                : BERTH_CHECK_FAIL;
    if (measured->rings > 1 || (measured->ranks == 1 && ranks > 1)) {
        berth_buf_addf(
            ret, "each of %d ranks is alone: its MPI does not speak this type", ranks);
        return BERTH_CHECK_FAIL;
    }
    if (measured->ranks != ranks || measured->nodes != (int)trial->nodes) {
        berth_buf_addf(ret, "a ring of %d ranks on %d nodes, and not of %d on %u",
                       measured->ranks, measured->nodes, ranks, trial->nodes);
        return BERTH_CHECK_FAIL;
    }
    if (!has_host(trial, outcome, ret)) /* an MPI need not use a network that it gets */
        return trial->fabric ? BERTH_CHECK_NOTE : BERTH_CHECK_FAIL;
    berth_buf_puts(ret, measured->library);
    if (outcome->witnessed.of)
        berth_buf_addf(ret, "; %d of %d ranks have the host's %s",
                       outcome->witnessed.ranks, outcome->witnessed.of,
                       outcome->witnessed.host);
    put_network(trial, outcome, ret);
    return BERTH_CHECK_OK;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double berth_trial_median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), ascending);
    return count % 2 ? values[count / 2]
                     : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Is the figure worse than NATIVE by more than a third? */
static bool is_slower(const struct berth_figures *figures,
                      const struct berth_figure *figure, double native)
{
    return figure->is_judged && figure->value > 0 && native > 0 &&
           (figures->is_more_better ? native / figure->value : figure->value / native) >
               SLOWER;
}

enum berth_check_result berth_trial_compare(const struct berth_figures *figures,
                                            struct berth_buf *ret)
{
    double native = figures->count ? figures->items[0].value : 0;
    BERTH_BUF struct berth_buf slower = {0};

    for (size_t i = 0; i < figures->count; i++) {
        const struct berth_figure *figure = &figures->items[i];

        if (!(figure->value > 0))
            continue;
        berth_buf_addf(ret, "%s%s %.*f %s", ret->used ? ", " : "", figure->way,
                       figure->value < 100 ? 2 : 0, figure->value, figures->unit);
        if (i && native > 0 && figures->is_sum)
            berth_buf_addf(ret, " (%+.2f)", figure->value - native);
        else if (i && native > 0)
            berth_buf_addf(ret, " (%.2f)", figure->value / native);
        if (is_slower(figures, figure, native))
            berth_buf_addf(&slower, "%s%s", slower.used ? ", " : "", figure->way);
    }
    if (!ret->used) {
        berth_buf_puts(ret, "nothing was measured");
        return BERTH_CHECK_SKIP;
    }
    if (!slower.used)
        return BERTH_CHECK_OK;
    berth_buf_addf(ret, "; slower than native by more than a third: %s", slower.text);
    ret->failed |= slower.failed;
    return BERTH_CHECK_NOTE;
}
