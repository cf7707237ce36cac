/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

/* A process, from its stat file (proc_pid_stat(5)). */
struct berth_process {
    pid_t pid;
    pid_t parent;
    char name[32];
    unsigned long long began; /* clock ticks after the boot of the host */
    unsigned long ticks;      /* of processor time */
    long pages;               /* in memory */
};

/* Read /proc/PID/stat. Returns whether there is such a process. */
bool berth_process_read(pid_t pid, struct berth_process *ret);

/* Append the words with which PID was started, each ended by a NUL, to RET; at most
 * MOST bytes. Returns 0, or -1 with errno. */
int berth_process_words(pid_t pid, size_t most, struct berth_buf *ret);

/* Call FUNCTION with the id of every process, and with DATA. Returns how often FUNCTION
 * returned true.
 */
int berth_processes_each_pid(bool (*function)(pid_t, void *), void *data);

/* The same with the stat file of every process, which takes three times as long. */
int berth_processes_each(bool (*function)(const struct berth_process *, void *),
                         void *data);

/* The children of all threads of PID (proc_pid_task(5): the file `children`, of a
 * kernel with CONFIG_PROC_CHILDREN). Returns how many are in *RET_CHILDREN, which the
 * caller frees. */
size_t berth_process_children(pid_t pid, pid_t **ret_children);

/* The same as berth_processes_each() with the children of PID. */
int berth_process_each_child(pid_t pid,
                             bool (*function)(const struct berth_process *, void *),
                             void *data);

/* Call FUNCTION with PID and then with each of its descendants, and with DATA, until
 * FUNCTION returns false. Returns whether it never did. */
bool berth_process_each_below(pid_t pid, bool (*function)(pid_t, void *), void *data);

/* Find the number in the variable NAME of process PID, or of the first of its
 * descendants that was started with it: a runtime that stays above the task may have
 * cleared its own environment, as Apptainer's starter does. Returns false if no
 * environment that can be read has it. */
bool berth_process_variable(pid_t pid, const char *name, unsigned int *ret_number);

/* The umask of process PID, from its status file (Linux 4.7); -1: it cannot be read. */
int berth_process_umask(pid_t pid);

/* Append to RET at most MOST bytes of the environment with which process PID was
 * started: NAME=VALUE strings, each ended by NUL. Returns 0 (also if memory ran out:
 * RET says so), or -1 with errno. */
int berth_process_environment(pid_t pid, size_t most, struct berth_buf *ret);

/* Returns slurmstepd, the parent of the task of Slurm that the caller is, or is below;
 * 0: there is none. */
pid_t berth_process_stepd(void);

/* Returns a descriptor that can be read when process PID has ended (pidfd_open(2)); -1
 * with errno: PID is not there, or the kernel has no pidfd. */
int berth_process_open(pid_t pid);

/* Sends signal NUMBER to the process of that descriptor. Returns 0, or -1 with errno:
 * ESRCH if it has ended and its parent has seen that. */
int berth_process_signal(int process, int number);
