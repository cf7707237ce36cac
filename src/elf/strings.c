/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the constant texts, where alone vendors and protocols are named. */

#include <unistd.h>

#include "elf/reader.h"

#include "base/text.h"

enum { TEXT_MIN = 4, TEXT_SIZE = 256, BLOCK = 65536, TEXTS_MAX = 1024, MARKS_MAX = 64 };
#define SCAN_MAX ((uint64_t)512 << 20)

/* A text that is being read, which may span blocks. */
struct run {
    char text[TEXT_SIZE];
    size_t length;
    uint64_t budget; /* bytes that may still be read */
    const struct berth_elf_question *question;
    struct berth_strvec *texts;
    size_t marks;
};

static bool is_mark(const struct run *run)
{
    return run->question->mark && run->question->mark(run->text);
}

static bool is_wanted(const struct run *run)
{
    return run->question->text && run->question->text(run->text);
}

/* Keeps the text that is read, if the question wants it. Marks do not count among
 * TEXTS_MAX, because a program may have any number of texts with the form of a version.
 */
static void keep_text(struct run *run)
{
    size_t others = run->texts->count - run->marks;

    if (run->marks < MARKS_MAX && is_mark(run)) {
        run->marks++;
        berth_strvec_push(run->texts, run->text);
    } else if (others < TEXTS_MAX && is_wanted(run)) {
        berth_strvec_push(run->texts, run->text);
    }
}

static void end_text(struct run *run)
{
    run->text[run->length] = '\0';
    if (run->length >= TEXT_MIN)
        keep_text(run);
    run->length = 0;
}

/* May C stand in a text? */
static bool is_of_text(unsigned char c)
{
    return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t';
}

/* Adds C; of a longer text only the beginning counts. */
static void add_character(struct run *run, unsigned char c)
{
    if (run->length == TEXT_SIZE - 1)
        return;
    run->text[run->length] = (char)c;
    run->length++;
}

static void scan(struct run *run, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char c = bytes[i];

        if (is_of_text(c))
            add_character(run, c);
        else if (c == '\0')
            end_text(run);
        else
            run->length = 0;
    }
}

static void scan_range(const struct berth_elf_reader *reader, uint64_t offset,
                       uint64_t count, struct run *run)
{
    unsigned char block[BLOCK];

    if (offset >= reader->size)
        return;
    if (count > reader->size - offset)
        count = reader->size - offset;
    if (count > run->budget)
        count = run->budget;
    run->budget -= count;
    run->length = 0;
    while (count > 0) {
        size_t part = count < BLOCK ? count : BLOCK;
        ssize_t got = pread(reader->fd, block, part, (off_t)offset);

        if (got <= 0)
            return;
        scan(run, block, (size_t)got);
        offset += (uint64_t)got;
        count -= (uint64_t)got;
    }
}

/* Scans the sections that hold constants. False: there is none. */
static bool scan_sections(const struct berth_elf_reader *reader, struct run *run)
{
    Elf_Scn *section;
    bool found = false;
    size_t names;

    if (elf_getshdrstrndx(reader->elf, &names) < 0)
        return false;
    section = elf_nextscn(reader->elf, NULL);
    for (; section; section = elf_nextscn(reader->elf, section)) {
        GElf_Shdr header;
        const char *name;

        if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS)
            continue;
        name = elf_strptr(reader->elf, names, header.sh_name);
        if (!name || !berth_text_starts(name, ".rodata"))
            continue;
        scan_range(reader, header.sh_offset, header.sh_size, run);
        found = true;
    }
    return found;
}

/* A static program needs no section headers, and may have been made without. */
static void scan_segments(const struct berth_elf_reader *reader, struct run *run)
{
    GElf_Phdr segment;

    for (int i = 0; gelf_getphdr(reader->elf, i, &segment); i++)
        if (segment.p_type == PT_LOAD && !(segment.p_flags & PF_W))
            scan_range(reader, segment.p_offset, segment.p_filesz, run);
}

static bool is_scanned(const struct berth_elf *elf)
{
    if (elf->kind == BERTH_ELF_LIBRARY)
        return elf->defined.count > 0;
    return elf->kind == BERTH_ELF_PROGRAM || elf->kind == BERTH_ELF_STATIC;
}

int berth_elf_read_texts(struct berth_elf_reader *reader,
                         const struct berth_elf_question *question,
                         struct berth_elf *elf, struct berth_err *err)
{
    struct run run = {.texts = &elf->texts, .budget = SCAN_MAX, .question = question};

    if (!question || !is_scanned(elf))
        return 0;
    if (!question->text && !question->mark)
        return 0;
    if (!scan_sections(reader, &run))
        scan_segments(reader, &run);
    return berth_err_oom_if(elf->texts.failed, err);
}
