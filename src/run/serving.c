/* SPDX-License-Identifier: Apache-2.0 */
/* Reports at the end of a step how much CPU time and memory the servers of its image
 * used. */

#include "run/serving.h"

#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "base/deadline.h"
#include "step/report.h"
#include "run/notice.h"

static bool is_recorded(const struct berth_launch *launch)
{
    return launch->order->step.prints_component && launch->order->record;
}

void berth_serving_begin(struct berth_serving *serving,
                         const struct berth_launch *launch, pid_t holder)
{
    *serving = (struct berth_serving){0};
    if (stat(launch->request->image, &serving->image) < 0)
        serving->image = (struct stat){0};
    if (berth_request_is_explained(launch->request) ||
        (!is_recorded(launch) && !berth_notice_is_verbose(launch->environment)))
        return;
    serving->holder = holder;
    serving->since = berth_clock();
    berth_servers_usage(holder, &serving->before);
}

static void record(const struct berth_launch *launch,
                   const struct berth_record_served *served)
{
    struct berth_record record = {.time = time(NULL),
                                  .environment = launch->environment,
                                  .node = launch->node,
                                  .order = launch->order,
                                  .served = served};
    int fd = berth_record_open(&record, NULL);

    if (fd < 0)
        return; /* the record of the start has reported why */
    berth_record_put(&record, fd, NULL);
    close(fd);
}

/* Did tasks wait for the server? If each CPU has a task, the server gets at most half a
 * CPU, so it is busy then. The work of the first seconds is that of a start, and does
 * not count. */
static bool is_bottleneck(const struct berth_record_served *served)
{
    enum { SHORT_MS = 5000, BUSY_PERCENT = 50 };

    return served->wall_ms >= SHORT_MS &&
           served->cpu_ms * 100 >= served->wall_ms * BUSY_PERCENT;
}

static void print(const struct berth_launch *launch, int task_stderr,
                  const struct berth_record_served *served)
{
    const char *image = berth_request_name(launch->request);

    berth_report_line(task_stderr, launch->node,
                      "note: image '%s': serving it took %.2f s of CPU time in %.1f s, "
                      "and %.1f MiB of memory",
                      image, (double)served->cpu_ms / 1000,
                      (double)served->wall_ms / 1000, (double)served->kib / 1024);
    if (is_bottleneck(served))
        berth_report_line(
            task_stderr, launch->node,
            "note: image '%s': reading the image was a bottleneck (the "
            "program that serves it was busy for %d %% of the time); copy "
            "what tasks read often to a directory, and mount that "
            "(--container-mounts)",
            image, (int)(served->cpu_ms * 100 / served->wall_ms));
}

void berth_serving_reaped(struct berth_serving *serving, pid_t pid,
                          const struct rusage *usage)
{
    const struct berth_servers_usage *known = &serving->before;
    const size_t most = sizeof(known->pids) / sizeof(*known->pids);

    for (size_t i = 0; i < known->count && i < most; i++)
        if (known->pids[i] == pid)
            serving->ended_ms +=
                (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000 +
                (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1000;
}

void berth_serving_end(struct berth_serving *serving)
{
    struct berth_servers_usage now;

    if (!serving->holder)
        return;
    berth_servers_usage(serving->holder, &now);
    if (!now.kib) /* the server has ended, and has no memory any more */
        now.kib = serving->before.kib;
    serving->served =
        (struct berth_record_served){.cpu_ms = now.count ? now.ms : -1,
                                     .kib = now.kib,
                                     .wall_ms = berth_clock() - serving->since};
}

bool berth_serving_is_changed(const struct berth_serving *serving,
                              const struct berth_launch *launch)
{
    const struct stat *before = &serving->image;
    struct stat now;

    return S_ISREG(before->st_mode) && stat(launch->request->image, &now) == 0 &&
           now.st_dev == before->st_dev && now.st_ino == before->st_ino &&
           (now.st_size != before->st_size ||
            now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != before->st_mtim.tv_nsec);
}

void berth_serving_report(struct berth_serving *serving,
                          const struct berth_launch *launch, int task_stderr)
{
    struct berth_record_served *served = &serving->served;

    if (!serving->holder)
        return;
    if (serving->ended_ms)
        served->cpu_ms = serving->ended_ms;
    if (!serving->before.count || served->cpu_ms < 0)
        return; /* the image is a directory, or the CPU time at the end is not known
                   (without ptrace) */
    if (served->cpu_ms > serving->before.ms)
        served->cpu_ms -= serving->before.ms;
    if (task_stderr >= 0 && berth_notice_is_verbose(launch->environment))
        print(launch, task_stderr, served);
    if (is_recorded(launch))
        record(launch, served);
}
