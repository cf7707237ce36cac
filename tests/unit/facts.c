/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about files that do not exist. */

#include "facts.h"

#include "base/grow.h"
#include "unit.h"

static const struct {
    const char *name;
    enum berth_elf_kind kind;
} kinds[] = {
    {"program", BERTH_ELF_PROGRAM}, {"library", BERTH_ELF_LIBRARY},
    {"static", BERTH_ELF_STATIC},   {"script", BERTH_ELF_SCRIPT},
    {"other", BERTH_ELF_OTHER},     {"none", BERTH_ELF_NONE},
};

static enum berth_elf_kind kind_of(const char *name)
{
    for (int i = 0; i < COUNT(kinds); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].kind;
    ck_abort_msg("there is no kind %s", name);
    return BERTH_ELF_NONE;
}

/* Cuts the number behind the last colon off WORD, and returns it; 0: there is none. */
static uint64_t cut_size(char *word)
{
    char *colon = strrchr(word, ':');

    if (!colon)
        return 0;
    *colon = '\0';
    return strtoull(colon + 1, NULL, 10);
}

static void add(struct berth_elf_symbols *symbols, const char *name, uint64_t size,
                bool weak)
{
    ck_assert_int_eq(berth_grow(&symbols->items, symbols->count, &symbols->room,
                                sizeof(*symbols->items)),
                     0);
    symbols->items[symbols->count++] =
        (struct berth_elf_symbol){.name = strdup(name), .size = size, .weak = weak};
}

static void add_need(struct berth_strvec *needs, char *value)
{
    char *version = strchr(value, ':');

    *version++ = '\0';
    berth_strvec_push(needs, value);
    berth_strvec_push(needs, version);
}

static void add_text(struct berth_elf *elf, char *value)
{
    for (char *c = value; *c; c++)
        if (*c == '~')
            *c = ' ';
    berth_strvec_push(&elf->texts, value);
}

static void take_symbol(struct berth_elf *elf, const char *key, char *value)
{
    uint64_t size = cut_size(value);

    if (strcmp(key, "und") == 0)
        add(&elf->undefined, value, size, false);
    else if (strcmp(key, "weak") == 0)
        add(&elf->undefined, value, size, true);
    else if (strcmp(key, "def") == 0 || strcmp(key, "data") == 0)
        add(&elf->defined, value, size, false);
    else if (strcmp(key, "copy") == 0) {
        add(&elf->copied, value, size, false);
        add(&elf->defined, value, size, false);
    } else
        ck_abort_msg("there is no word %s=", key);
}

static void take(struct berth_elf *elf, const char *key, char *value)
{
    if (strcmp(key, "so") == 0)
        elf->soname = strdup(value);
    else if (strcmp(key, "interp") == 0) {
        free(elf->interpreter);
        elf->interpreter = strdup(value);
    } else if (strcmp(key, "machine") == 0) {
        free(elf->machine);
        elf->machine = *value ? strdup(value) : NULL;
    } else if (strcmp(key, "bits") == 0)
        elf->bits = atoi(value);
    else if (strcmp(key, "need") == 0)
        berth_strvec_push(&elf->needed, value);
    else if (strcmp(key, "vdef") == 0)
        berth_strvec_push(&elf->version_defs, value);
    else if (strcmp(key, "ver") == 0)
        add_need(&elf->version_needs, value);
    else if (strcmp(key, "text") == 0)
        add_text(elf, value);
    else
        take_symbol(elf, key, value);
}

struct berth_elf unit_facts(const char *text)
{
    char *copy = strdup(text);
    char *rest = copy;
    char *word = strsep(&rest, " ");
    struct berth_elf elf = {
        .kind = kind_of(word), .machine = strdup("x86_64"), .bits = 64};

    if (elf.kind == BERTH_ELF_PROGRAM)
        elf.interpreter = strdup("/lib64/ld-linux-x86-64.so.2");
    while ((word = strsep(&rest, " "))) {
        char *value = strchr(word, '=');

        if (!value)
            continue;
        *value++ = '\0';
        take(&elf, word, value);
    }
    free(copy);
    return elf;
}
