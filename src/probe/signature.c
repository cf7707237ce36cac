/* SPDX-License-Identifier: Apache-2.0 */
/* Lets the runtime say who has signed an image. */

#include "probe/signature.h"

#include <sys/wait.h>

#include "plan/signers.h"
#include "probe/run.h"

/* What the runtime may say; a list of keys is some kilobytes. */
enum { MOST = 1 << 20 };

static int judge(struct berth_ran *ran, const struct berth_strvec *fingerprints,
                 struct berth_err *err)
{
    struct berth_err why;

    if (berth_signers_check(ran->out.text ? ran->out.text : "", fingerprints, err) < 0)
        return -1;
    if (WIFEXITED(ran->status) && WEXITSTATUS(ran->status) == 0)
        return 0;
    berth_err_set(&why, "%s", berth_ran_last_line(ran));
    return berth_err_set(err, "the runtime does not verify it (%s)", why.text);
}

int berth_signature_check(const char *runtime, const char *image,
                          const struct berth_strvec *fingerprints,
                          char *const *environment, unsigned int seconds,
                          struct berth_err *err)
{
    const char *const argv[] = {runtime, "verify", "--local", "--json", image, NULL};
    const struct berth_run run = {.argv = argv,
                                  .env = (const char *const *)environment,
                                  .seconds = (int)seconds,
                                  .most = MOST};
    struct berth_ran ran;
    struct berth_err why;
    int result;

    if (fingerprints->count == 0)
        return 0;
    if (berth_run(&run, &ran, err) < 0)
        return berth_err_at(err, "image '%s': verify", image);
    result = judge(&ran, fingerprints, &why);
    berth_ran_fini(&ran);
    if (result == 0)
        return 0;
    return berth_err_set(err,
                         "image '%s': %s; this site runs images with certain "
                         "signatures only: ask the administrators for one",
                         image, why.text);
}
