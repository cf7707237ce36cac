/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/strvec.h"
#include "bindover/bindover.h"

/* Appends the facts about PROGRAM for explain to FACTS: name
 * (plan/binding.h), text, ... Out of memory sticks in FACTS. */
void berth_findings_list(const struct berth_program *program,
                         struct berth_strvec *facts);
