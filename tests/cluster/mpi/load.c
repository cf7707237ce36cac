/* SPDX-License-Identifier: Apache-2.0 */
/* A program without MPI, which loads a part of itself that has it: load PLUGIN. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*run)(int, char **) = NULL;

    if (plugin)
        *(void **)&run = dlsym(plugin, "run");
    if (!run) {
        fprintf(stderr, "load: %s\n", argc > 1 ? dlerror() : "expected a plugin");
        return 1;
    }
    return run(argc, argv);
}
