/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "mpi/objects.h"

/* Append what TEXT tells: `program|loaded|present PATH FACTS`, with FACTS as in
 * facts.h, of which the SONAME that the file is needed by is taken. */
void unit_object(struct berth_mpi_objects *objects, const char *text);

/* The same for several texts, ended by NULL. */
void unit_objects(struct berth_mpi_objects *objects, const char *const *texts);
