/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/strvec.h"

/* Append to RET the compiled modules that PROGRAM, a Python, may import: those below
 * python3* of the `lib` and `lib64` of its prefix, of /usr and of /usr/local, and below
 * the directories of PYTHONPATH in ENV (ends in NULL). PROGRAM is a path in the root
 * that the process has. Another program has none. A directory that cannot be read has
 * none either; a very large one is not read to its end. Out of memory sticks in RET. */
void berth_packages_list(const char *program, char *const *env,
                         struct berth_strvec *ret);
