/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the facts of a file as bytes, and reads them. */

#include "elf/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fields.h"
#include "base/grow.h"

#define FACT(key, kind, member)                                                        \
    {                                                                                  \
        key, BERTH_FIELD_##kind, offsetof(struct berth_elf, member)                    \
    }

/* All facts but the symbols. */
static const struct berth_field members[] = {
    FACT("kind", NUMBER, kind),
    FACT("machine", TEXT, machine),
    FACT("bits", NUMBER, bits),
    FACT("loader", TEXT, interpreter),
    FACT("soname", TEXT, soname),
    FACT("needed", LIST, needed),
    FACT("rpath", TEXT, rpath),
    FACT("runpath", TEXT, runpath),
    FACT("wants", LIST, version_needs),
    FACT("defines", LIST, version_defs),
    FACT("text", LIST, texts),
    FACT("inner", LIST, inner),
    {0},
};
_Static_assert(sizeof(enum berth_elf_kind) == sizeof(int), "a kind is a NUMBER");

/* The symbols follow the fields, each a string that starts with a letter and ends in
 * NUL. */
static const struct {
    char letter;
    size_t offset;
} symbols[] = {
    {'u', offsetof(struct berth_elf, undefined)},
    {'d', offsetof(struct berth_elf, defined)},
    {'c', offsetof(struct berth_elf, copied)},
};

enum { SYMBOLS = sizeof(symbols) / sizeof(symbols[0]) };

/* A symbol: its letter, 1 if it is weak or 0, the size in hexadecimal, a blank, the
 * name.
 */
static void put_symbols(char letter, const struct berth_elf_symbols *list,
                        struct berth_buf *ret)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct berth_elf_symbol *it = &list->items[i];
        char start[32];

        snprintf(start, sizeof(start), "%c%d%llx ", letter, it->weak,
                 (unsigned long long)it->size);
        berth_buf_puts(ret, start);
        berth_buf_add(ret, it->name, strlen(it->name) + 1);
    }
}

void berth_elf_put(const struct berth_elf *elf, struct berth_buf *ret)
{
    berth_fields_put(ret, members, elf);
    berth_buf_add(ret, "", 1);
    for (size_t i = 0; i < SYMBOLS; i++) {
        const void *list = (const char *)elf + symbols[i].offset;

        put_symbols(symbols[i].letter, list, ret);
    }
}

/* Reads what put_symbols() has written after the letter. */
static int read_symbol(const char *text, struct berth_elf_symbols *list)
{
    struct berth_elf_symbol symbol = {.weak = *text == '1'};
    char *end;

    if (*text != '0' && *text != '1')
        return -1;
    symbol.size = strtoull(text + 1, &end, 16);
    if (*end != ' ')
        return -1;
    symbol.name = end + 1;
    return berth_append(list, &symbol);
}

/* The names stay in the bytes, where they are sorted. */
static int read_symbols(const char *bytes, const char *end, struct berth_elf *elf)
{
    for (size_t i = 0; i < SYMBOLS; i++) {
        struct berth_elf_symbols *list = (void *)((char *)elf + symbols[i].offset);

        list->is_borrowed = true;
        list->is_sorted = true;
        while (bytes < end && *bytes == symbols[i].letter) {
            if (read_symbol(bytes + 1, list) < 0)
                return -1;
            bytes += strlen(bytes) + 1;
        }
    }
    return bytes == end ? 0 : -1;
}

/* Reads the fields at the beginning of the bytes. */
static int read_fields(const char *bytes, struct berth_elf *elf)
{
    BERTH_FREE char *fields = strdup(bytes);

    if (!fields || berth_fields_get(fields, members, elf, NULL) < 0)
        return -1;

    /* Pairs: a library, and a version that is needed of it. */
    return elf->version_needs.count % 2 == 0 ? 0 : -1;
}

int berth_elf_get(const char *bytes, size_t count, struct berth_elf *ret_elf)
{
    const char *end = bytes + count;
    const char *names;
    struct berth_elf elf = {0};

    if (count == 0 || end[-1] != '\0')
        return -1;
    names = bytes + strlen(bytes) + 1;
    if (read_fields(bytes, &elf) < 0 || read_symbols(names, end, &elf) < 0) {
        berth_elf_fini(&elf);
        return -1;
    }
    *ret_elf = elf;
    return 0;
}
