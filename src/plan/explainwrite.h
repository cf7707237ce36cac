/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/json.h"
#include "plan/explain.h"

/* The answer of explain, for plan/explain.c. */

/* Write what most users want to know, as text: at most twelve lines. */
void berth_explain_brief(const struct berth_explain *explain, struct berth_json *out);

/* Write all details, as text or as one JSON object. The names of the members are an
 * interface, documented in berth(1). */
void berth_explain_details(const struct berth_explain *explain, struct berth_json *out);
