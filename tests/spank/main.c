/* SPDX-License-Identifier: Apache-2.0 */
/* fake-spank: see fake.h. */

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

struct fake fake = {.task = -1};

static struct {
    void *handle;
    char *words[32];
    int count;
} plugin;

void __lsan_ignore_object(const void *object) __attribute__((weak));

void *fake_kept(void *memory)
{
    if (__lsan_ignore_object)
        __lsan_ignore_object(memory);
    return memory;
}

void fake_fault(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fflush(stdout);
    fprintf(stderr, "FAULT: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    _exit(99);
}

static void read_words(void)
{
    const char *text = getenv("FAKE_WORDS");
    char *copy = strdup(text ? text : "");
    char *save = NULL;

    for (char *word = strtok_r(copy, " ", &save); word && plugin.count < 31;
         word = strtok_r(NULL, " ", &save))
        plugin.words[plugin.count++] = strdup(word);
    free(copy);
}

/* Slurm refuses a plugin that is not of its own release. */
static void check_release(void)
{
    const unsigned int *version = dlsym(plugin.handle, "plugin_version");
    const char *name = dlsym(plugin.handle, "plugin_name");
    const char *type = dlsym(plugin.handle, "plugin_type");

    if (!name || strcmp(name, "berth") != 0 || !type || strcmp(type, "spank") != 0)
        fake_fault("the plugin is not the spank plugin berth");
    if (!version || *version != SLURM_VERSION_NUMBER)
        fake_fault("the plugin is of another Slurm");
}

void fake_load(const char *program, spank_context_t context)
{
    const char *path = getenv("FAKE_PLUGIN");

    fake.program = program;
    fake.context = context;
    if (!path)
        fake_fault("FAKE_PLUGIN is not set");
    plugin.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin.handle)
        fake_fault("%s", dlerror());
    check_release();
    read_words();
}

int fake_call(const char *name)
{
    int (*function)(spank_t, int, char **);
    int result;

    *(void **)&function = dlsym(plugin.handle, name);
    if (!function)
        return 0;
    result = function(NULL, plugin.count, plugin.words);
    if (result == 0 || getenv("FAKE_OPTIONAL"))
        return 0;
    slurm_error("spank: required plugin berth.so: %s() failed with rc=%d", name,
                result);
    return result;
}

int main(int argc, char **argv)
{
    const char *name = strrchr(argv[0], '/');

    name = name ? name + 1 : argv[0];
    if (strcmp(name, "srun") == 0)
        return fake_srun(argc, argv);
    if (strcmp(name, "sbatch") == 0 || strcmp(name, "salloc") == 0)
        return fake_allocate(argc, argv);
    if (strcmp(name, "slurmstepd") == 0)
        return fake_stepd(argc, argv);
    if (argc > 1 && strcmp(argv[1], "--release") == 0) {
        printf("%d.%02d\n", SLURM_VERSION_NUMBER >> 16,
               SLURM_VERSION_NUMBER >> 8 & 255);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--libexec") == 0) {
        printf("%s\n", BERTH_LIBEXECDIR);
        return 0;
    }
    fake_fault("srun, sbatch or salloc expected");
}
