/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what was found in a file or an image, as text and as JSON: which MPI and C
 * library it has, and how it is linked. */

#include "cli/inspection.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/text.h"
#include "mpi/glibc.h"
#include "mpi/pmi.h"

static const char *kind_name(enum berth_elf_kind kind)
{
    static const char *const names[] = {
        [BERTH_ELF_NONE] = "file",       [BERTH_ELF_SCRIPT] = "script",
        [BERTH_ELF_STATIC] = "program",  [BERTH_ELF_PROGRAM] = "program",
        [BERTH_ELF_LIBRARY] = "library", [BERTH_ELF_OTHER] = "object",
    };

    return names[kind];
}

static const struct berth_mpi_object *find_file(const struct berth_inspection *seen)
{
    for (size_t i = 0; seen->file && i < seen->objects->count; i++)
        if (seen->objects->items[i].role == BERTH_ROLE_PROGRAM)
            return &seen->objects->items[i];
    return NULL;
}

static bool is_mpi(const struct berth_mpi_object *object)
{
    return object->library.family != BERTH_FAMILY_NONE && !object->library.is_inside;
}

static const char *newest_glibc(const struct berth_inspection *seen)
{
    static const struct berth_mpi_objects nothing;
    struct berth_mpi_glibc glibc;

    berth_mpi_compare_glibc(seen->objects, &nothing, NULL, NULL, &glibc);
    return glibc.image_newest;
}

static bool has_musl(const struct berth_inspection *seen)
{
    static const char *const names[] = {"libc.musl-", "ld-musl-", NULL};

    if (seen->wants && seen->wants->musl)
        return true;
    for (size_t i = 0; i < seen->objects->count; i++) {
        const char *soname = seen->objects->items[i].soname;

        if (soname && berth_text_starts_any(soname, names))
            return true;
    }
    return false;
}

/* List the versions of glibc that FILE itself needs, each once. */
static void list_needs(const struct berth_mpi_object *file, struct berth_strvec *ret)
{
    const struct berth_strvec *needs = &file->elf.version_needs;

    for (size_t i = 0; i < needs->count; i += 2) {
        const char *version = needs->items[i + 1];

        if (berth_text_starts(version, "GLIBC_"))
            berth_strvec_push_once(ret, version);
    }
}

/* Write LINE for people, which has at least one byte unless its allocation failed. */
static void put_line(struct berth_json *json, const struct berth_buf *line)
{
    if (line->text)
        berth_json_linef(json, "%s", line->text);
    json->text.failed |= line->failed;
}

static void put_image(const struct berth_inspection *seen, struct berth_json *json)
{
    static const struct {
        const char *format; /* of JSON */
        const char *name;
    } kinds[] = {[BERTH_IMAGE_SIF] = {"sif", "SIF file"},
                 [BERTH_IMAGE_SANDBOX] = {"sandbox", "sandbox directory"},
                 [BERTH_IMAGE_SQUASHFS] = {"squashfs", "squashfs file"}};
    BERTH_BUF struct berth_buf line = {0};

    berth_buf_addf(&line, "%s: %s", seen->image, kinds[seen->kind].name);
    berth_buf_part(&line, ", for ", seen->machine, "");
    put_line(json, &line);
    berth_json_string(json, "image", seen->image);
    berth_json_string(json, "format", kinds[seen->kind].format);
    berth_json_string(json, "image_machine", seen->machine);
}

/* Write the first line about the file, and what makes it. */
static void put_kind(const struct berth_inspection *seen, const struct berth_elf *elf,
                     struct berth_json *json)
{
    const char *machine = berth_text_or(elf->machine, "an unknown machine");
    bool is_static = elf->kind == BERTH_ELF_STATIC;
    BERTH_BUF struct berth_buf line = {0};

    berth_buf_addf(&line, "%s: %s", seen->file, kind_name(elf->kind));
    if (elf->bits) /* a script is for any machine */
        berth_buf_part(&line, ", for ", machine, "");
    if (elf->bits == 32)
        berth_buf_puts(&line, ", 32 bits");
    if (is_static)
        berth_buf_puts(&line, ", static");
    if (seen->is_privileged)
        berth_buf_puts(&line, ", setuid or setgid");
    put_line(json, &line);
    berth_json_string(json, "file", seen->file);
    berth_json_string(json, "kind", kind_name(elf->kind));
    berth_json_string(json, "machine", elf->machine);
    if (elf->bits)
        berth_json_number(json, "bits", elf->bits);
    berth_json_bool(json, "static", is_static);
    berth_json_bool(json, "privileged", seen->is_privileged);
}

static void put_file(const struct berth_inspection *seen,
                     const struct berth_mpi_object *file, struct berth_json *json)
{
    BERTH_STRVEC struct berth_strvec needs = {0};
    const struct berth_elf *elf = &file->elf;
    const char *interpreter = "interpreter|loader";
    char name[BERTH_MPI_NAME_SIZE];

    if (elf->kind == BERTH_ELF_SCRIPT)
        interpreter = "interpreter|interpreter";
    put_kind(seen, elf, json);
    berth_json_string(json, interpreter, elf->interpreter);
    berth_json_string(json, "runner|run by", seen->runner);
    berth_json_string(json, "soname|SONAME", elf->soname);
    berth_json_string(json, "rpath|RPATH", elf->rpath);
    berth_json_string(json, "runpath|RUNPATH", elf->runpath);
    berth_json_list(json, "needed|needs", &elf->needed);
    list_needs(file, &needs);
    berth_json_list(json, "glibc_needed|versions of glibc that it needs", &needs);
    if (is_mpi(file))
        berth_json_linef(json, "  it is %s",
                         berth_mpi_library_name(&file->library, name, sizeof(name)));
}

static void put_libc(const struct berth_inspection *seen, struct berth_json *json)
{
    const char *newest = newest_glibc(seen);
    const char *name = NULL;

    if (newest)
        name = "glibc";
    else if (has_musl(seen))
        name = "musl";

    if (newest)
        berth_json_linef(json, "  C library: glibc, up to %s", newest);
    else if (name)
        berth_json_linef(json, "  C library: %s", name);
    else if (!seen->file)
        berth_json_linef(json, "  C library: none was found");
    berth_json_string(json, "libc", name);
    berth_json_string(json, "glibc", newest);
}

static bool is_library(const struct berth_mpi_object *file)
{
    return file->elf.kind == BERTH_ELF_LIBRARY;
}

/* Does the program FILE load the MPI with which it is linked as a library? */
static bool is_linked(const struct berth_inspection *seen,
                      const struct berth_mpi_object *file)
{
    return !seen->wants->inside && file->elf.kind != BERTH_ELF_STATIC &&
           seen->wants->family != BERTH_FAMILY_NONE;
}

/* Write for people which MPI a program FILE has that loads none as a library. */
static void put_unlinked(const struct berth_inspection *seen,
                         const struct berth_mpi_object *file, struct berth_json *json)
{
    const struct berth_mpi_object *inside = seen->wants->inside;
    BERTH_BUF struct berth_buf line = {0};
    char name[BERTH_MPI_NAME_SIZE];

    berth_buf_puts(&line, "  linked with MPI: ");
    if (inside) {
        berth_mpi_library_name(&inside->library, name, sizeof(name));
        berth_buf_addf(&line, "statically (%s", name);
        if (inside->role != BERTH_ROLE_PROGRAM)
            berth_buf_addf(&line, ", in %s", inside->path);
        berth_buf_puts(&line, ")");
    } else if (file->elf.kind == BERTH_ELF_STATIC) {
        berth_buf_puts(&line, "unknown for a static program");
    } else {
        berth_buf_puts(&line, "no");
    }
    put_line(json, &line);
}

/* Write the family of the MPI with which the program is linked. */
static void put_family(const struct berth_mpi_program *wants, struct berth_json *json)
{
    const char *name = NULL;

    if (json->is_text && wants->family == BERTH_FAMILY_UNKNOWN) {
        berth_json_list(json, "|linked with MPI, with marks of", &wants->families);
        return;
    }
    if (wants->family != BERTH_FAMILY_NONE)
        name = berth_mpi_family_name(wants->family);
    berth_json_string(json, "family|linked with MPI", name);
}

static void put_linked(const struct berth_inspection *seen,
                       const struct berth_mpi_object *file, struct berth_json *json)
{
    const struct berth_mpi_program *wants = seen->wants;
    BERTH_STRVEC struct berth_strvec parts = {0};

    if (json->is_text) {
        /* An image as a whole, and a library, want no MPI of their own. */
        if (!file || (is_library(file) && !wants->inside))
            return;
        if (!is_linked(seen, file)) {
            put_unlinked(seen, file, json);
            return;
        }
    }

    berth_json_object(json, "linked");
    put_family(wants, json);
    berth_mpi_part_names(wants->parts, &parts);
    berth_json_list(json, "parts|uses", &parts);
    berth_json_number(json, "symbols|MPI symbols that it needs",
                      (long long)wants->needs.count);
    berth_json_bool(json, "statically", wants->inside != NULL);
    berth_json_end(json);
}

/* Write for people the library OBJECT with PARTS. */
static void put_library_line(const struct berth_mpi_object *object,
                             const struct berth_strvec *parts, struct berth_json *json)
{
    const char *verb = object->role == BERTH_ROLE_LOADED ? "loads" : "has";
    BERTH_BUF struct berth_buf joined = {0};
    BERTH_BUF struct berth_buf line = {0};
    char name[BERTH_MPI_NAME_SIZE];

    berth_mpi_library_name(&object->library, name, sizeof(name));
    berth_strvec_join(parts, ", ", &joined);
    berth_buf_addf(&line, "  %s %s: %s", verb, name, object->path);
    berth_buf_part(&line, " (", joined.text, ")");
    put_line(json, &line);
}

static void put_library(const struct berth_mpi_object *object, struct berth_json *json)
{
    const struct berth_mpi_library *library = &object->library;
    BERTH_STRVEC struct berth_strvec parts = {0};

    berth_mpi_part_names(library->parts, &parts);
    /* of the inspected file itself, put_file() has written it */
    if (object->role != BERTH_ROLE_PROGRAM)
        put_library_line(object, &parts, json);
    berth_json_object(json, NULL);
    berth_json_string(json, "path", object->path);
    berth_json_bool(json, "loaded", object->role != BERTH_ROLE_PRESENT);
    berth_json_string(json, "family", berth_mpi_family_name(library->family));
    berth_json_string(json, "vendor", library->vendor);
    berth_json_string(json, "version", berth_text_given(library->version));
    berth_json_list(json, "parts", &parts);
    berth_json_end(json);
}

/* Write with which types of srun --mpi the libraries of each family work. */
static void put_managers(const struct berth_inspection *seen, struct berth_json *json)
{
    for (int family = BERTH_FAMILY_MPICH; family < BERTH_FAMILY_UNKNOWN; family++) {
        BERTH_STRVEC struct berth_strvec types = {0};
        char name[96];

        berth_mpi_manager_types(
            berth_mpi_managers(seen->objects, (enum berth_mpi_family)family), &types);
        snprintf(name, sizeof(name), "|%s runs with srun --mpi",
                 berth_mpi_family_name((enum berth_mpi_family)family));
        berth_json_list(json, name, &types);
    }
}

static void put_libraries(const struct berth_inspection *seen, struct berth_json *json)
{
    bool any = false;

    berth_json_array(json, "mpi");
    for (size_t i = 0; i < seen->objects->count; i++) {
        const struct berth_mpi_object *object = &seen->objects->items[i];

        if (!is_mpi(object))
            continue;
        any = true;
        put_library(object, json);
    }
    berth_json_end(json);
    if (!any && !seen->file)
        berth_json_linef(json, "  MPI: none was found");
    put_managers(seen, json);
}

static void put_closure(const struct berth_inspection *seen, struct berth_json *json)
{
    BERTH_STRVEC struct berth_strvec missing = {0};

    berth_json_array(json, "libraries");
    for (size_t i = 0; seen->closure && i < seen->closure->count; i++) {
        const struct berth_closure_item *item = &seen->closure->items[i];

        if (!item->path)
            berth_strvec_push(&missing, item->soname);
        berth_json_object(json, NULL);
        berth_json_string(json, "soname", item->soname);
        berth_json_string(json, "path", item->path);
        berth_json_end(json);
    }
    berth_json_end(json);
    berth_json_list(json, "|not found", &missing);
}

static const char *answer_of(const struct berth_mpi_verdict *verdict)
{
    static const char *const answers[] = {
        [BERTH_VERDICT_YES] = "yes",
        [BERTH_VERDICT_YES_WITH_HOST_GLIBC] = "yes, with the host's glibc",
        [BERTH_VERDICT_NO] = "no",
        [BERTH_VERDICT_CANNOT_TELL] = "cannot tell",
    };

    return answers[verdict->answer];
}

static void put_verdicts(const struct berth_inspection *seen, struct berth_json *json)
{
    if (seen->mode)
        berth_json_string(json, "mpi_bind_default|default of --mpi-bind", seen->mode);
    berth_json_array(json, "mpi_bind");
    for (size_t i = 0; i < seen->verdict_count; i++) {
        const struct berth_stack *stack = &seen->stacks[i];
        const char *name = stack->profile->stack;
        const char *answer = answer_of(&seen->verdicts[i]);
        const char *because = seen->verdicts[i].because.text;

        berth_json_linef(json, "  --mpi-bind=%s (%s): %s: %s", name, stack->version,
                         answer, because);
        berth_json_object(json, NULL);
        berth_json_string(json, "stack", name);
        berth_json_string(json, "version", stack->version);
        berth_json_string(json, "answer", answer);
        berth_json_string(json, "because", because);
        berth_json_end(json);
    }
    berth_json_end(json);
}

void berth_inspect_write(const struct berth_inspection *seen, struct berth_json *json)
{
    const struct berth_mpi_object *file = find_file(seen);

    berth_json_object(json, NULL);
    if (seen->image)
        put_image(seen, json);
    if (file)
        put_file(seen, file, json);
    put_libc(seen, json);
    if (seen->wants)
        put_linked(seen, file, json);
    put_libraries(seen, json);
    put_closure(seen, json);
    put_verdicts(seen, json);
    berth_json_end(json);
}
