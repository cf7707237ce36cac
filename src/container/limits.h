/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sched.h>

#include "base/buf.h"

/* Slurm hands on the soft limits of the user's shell (PropagateResourceLimits in
 * slurm.conf(5)). These limits are for the application: a runtime reserves more memory
 * than a login node may allow, has many threads, and the program that serves an image
 * uses CPU time as long as the application runs. berth_limits_raise() raises them to
 * their hard limits. */
void berth_limits_raise(void);

/* Append all soft limits to RET, for berth_limits_restore() in another process, which
 * keeps below its hard limits. */
void berth_limits_list(struct berth_buf *ret);
void berth_limits_restore(const char *were);

/* Slurm binds a task to some of the step's CPUs. Let the calling process, which serves
 * all tasks, run on CPUS, or, if the cpuset of the step has none of these, on all CPUs
 * of the cpuset. */
void berth_limits_set_cpus(const cpu_set_t *cpus);
