/* SPDX-License-Identifier: Apache-2.0 */
/* replay FILE...: give each file to the fuzz target, whole, cut, and changed in a few
 * places that are always the same. Says how many inputs there were. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "fuzz.h"

enum { CUTS = 64, CHANGES = 256 };

/* A copy, so that a sanitizer sees a read behind its end. */
static void give(const char *bytes, size_t count)
{
    uint8_t *copy = malloc(count ? count : 1);

    memcpy(copy, bytes, count);
    LLVMFuzzerTestOneInput(copy, count);
    free(copy);
}

static void give_changed(struct berth_buf *buf)
{
    unsigned int state = 1;

    for (int i = 0; i < CHANGES; i++) {
        size_t at = (size_t)rand_r(&state) % buf->used;
        char was = buf->text[at];

        buf->text[at] = (char)rand_r(&state);
        give(buf->text, buf->used);
        buf->text[at] = was;
    }
}

static int replay(const char *path)
{
    BERTH_BUF struct berth_buf buf = {0};
    char block[4096];
    FILE *file = fopen(path, "r");
    size_t got;

    if (!file)
        return -1;
    while ((got = fread(block, 1, sizeof(block), file)) > 0)
        berth_buf_add(&buf, block, got);
    fclose(file);
    if (!buf.used)
        return -1;
    for (size_t i = 0; i <= CUTS; i++)
        give(buf.text, buf.used * i / CUTS);
    give_changed(&buf);
    return CUTS + 1 + CHANGES;
}

int main(int argc, char **argv)
{
    int total = 0;

    for (int i = 1; i < argc; i++) {
        int count = replay(argv[i]);

        if (count < 0) {
            fprintf(stderr, "%s cannot be read, or is empty\n", argv[i]);
            return EXIT_FAILURE;
        }
        total += count;
    }
    printf("%d inputs\n", total);
    return EXIT_SUCCESS;
}
