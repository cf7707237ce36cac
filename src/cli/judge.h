/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/checks.h"

/* Private to the files that judge: each appends a diagnosis ABOUT a thing to the
 * `diagnoses` of the function that uses it, at LEVEL or at the level of its name. */
#define AT(level, about, remedy, ...)                                                  \
    berth_diagnoses_add(diagnoses, level, about, remedy, __VA_ARGS__)
#define OK(about, ...)            AT(BERTH_DIAGNOSIS_OK, about, NULL, __VA_ARGS__)
#define NOTE(about, remedy, ...)  AT(BERTH_DIAGNOSIS_NOTE, about, remedy, __VA_ARGS__)
#define WRONG(about, remedy, ...) AT(BERTH_DIAGNOSIS_WRONG, about, remedy, __VA_ARGS__)
