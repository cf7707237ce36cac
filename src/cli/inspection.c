/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what was found in a file or an image, as text and as JSON: which MPI and C
 * library it has, and how it is linked. */

#include "cli/inspection.h"

#include <stdio.h>

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

/* Append "MPICH 4.2.1", "Intel MPI" or "Open MPI". */
static void put_name(struct berth_buf *out, const struct berth_mpi_library *library)
{
    char name[BERTH_MPI_NAME_SIZE];

    berth_buf_puts(out, berth_mpi_library_name(library, name, sizeof(name)));
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

/* Append "  NAME: A, B", if LIST is not empty. */
static void put_list(struct berth_buf *out, const char *name,
                     const struct berth_strvec *list)
{
    out->failed |= list->failed;
    if (list->count == 0)
        return;
    berth_buf_addf(out, "  %s: ", name);
    berth_strvec_join(list, ", ", out);
    berth_buf_puts(out, "\n");
}

static void put(struct berth_buf *out, const char *name, const char *value)
{
    if (value)
        berth_buf_addf(out, "  %s: %s\n", name, value);
}

static void put_image(const struct berth_inspection *seen, struct berth_buf *out)
{
    berth_buf_addf(out, "%s%s%s%s\n", seen->image,
                   seen->is_sandbox ? ": sandbox directory" : ": SIF file",
                   seen->machine ? ", for " : "", seen->machine ? seen->machine : "");
}

static void put_file(const struct berth_inspection *seen,
                     const struct berth_mpi_object *file, struct berth_buf *out)
{
    BERTH_STRVEC struct berth_strvec needs = {0};
    const struct berth_elf *elf = &file->elf;

    berth_buf_addf(out, "%s: %s", seen->file, kind_name(elf->kind));
    if (elf->bits)
        berth_buf_addf(out, ", for %s%s",
                       elf->machine ? elf->machine : "an unknown machine",
                       elf->bits == 32 ? ", 32 bits" : "");
    berth_buf_addf(out, "%s%s\n", elf->kind == BERTH_ELF_STATIC ? ", static" : "",
                   seen->is_privileged ? ", setuid or setgid" : "");
    put(out, elf->kind == BERTH_ELF_SCRIPT ? "interpreter" : "loader",
        elf->interpreter);
    put(out, "run by", seen->runner);
    put(out, "SONAME", elf->soname);
    put(out, "RPATH", elf->rpath);
    put(out, "RUNPATH", elf->runpath);
    put_list(out, "needs", &elf->needed);
    list_needs(file, &needs);
    put_list(out, "versions of glibc that it needs", &needs);
}

static void put_libc(const struct berth_inspection *seen, struct berth_buf *out)
{
    const char *newest = newest_glibc(seen);

    if (newest)
        berth_buf_addf(out, "  C library: glibc, up to %s\n", newest);
    else if (has_musl(seen))
        put(out, "C library", "musl");
    else if (!seen->file)
        put(out, "C library", "none was found");
}

static void put_inside(const struct berth_mpi_object *object, struct berth_buf *out)
{
    bool is_file = object->role == BERTH_ROLE_PROGRAM;

    berth_buf_puts(out, "  linked with MPI: statically (");
    put_name(out, &object->library);
    berth_buf_addf(out, "%s%s)\n", is_file ? "" : ", in ", is_file ? "" : object->path);
}

static void put_wants(const struct berth_mpi_program *wants, struct berth_buf *out)
{
    BERTH_STRVEC struct berth_strvec parts = {0};

    if (wants->family == BERTH_FAMILY_NONE) {
        put(out, "linked with MPI", "no");
        return;
    }
    if (wants->family == BERTH_FAMILY_UNKNOWN)
        put_list(out, "linked with MPI, with marks of", &wants->families);
    else
        put(out, "linked with MPI", berth_mpi_family_name(wants->family));
    berth_mpi_part_names(wants->parts, &parts);
    put_list(out, "uses", &parts);
    berth_buf_addf(out, "  MPI symbols that it needs: %zu\n", wants->needs.count);
}

static void put_library(const struct berth_mpi_object *object, struct berth_buf *out)
{
    BERTH_STRVEC struct berth_strvec parts = {0};

    berth_buf_puts(out, object->role == BERTH_ROLE_LOADED ? "  loads " : "  has ");
    put_name(out, &object->library);
    berth_buf_addf(out, ": %s", object->path);
    berth_mpi_part_names(object->library.parts, &parts);
    berth_buf_puts(out, parts.count ? " (" : "");
    berth_strvec_join(&parts, ", ", out);
    berth_buf_puts(out, parts.count ? ")\n" : "\n");
}

static void put_libraries(const struct berth_inspection *seen, struct berth_buf *out)
{
    BERTH_STRVEC struct berth_strvec missing = {0};
    bool any = false;

    for (size_t i = 0; i < seen->objects->count; i++) {
        const struct berth_mpi_object *object = &seen->objects->items[i];

        if (!is_mpi(object))
            continue;
        any = true;
        if (object->role != BERTH_ROLE_PROGRAM)
            put_library(object, out);
    }
    if (!any && !seen->file)
        put(out, "MPI", "none was found");
    for (int family = BERTH_FAMILY_MPICH; family < BERTH_FAMILY_UNKNOWN; family++) {
        BERTH_STRVEC struct berth_strvec types = {0};
        char name[96];

        berth_mpi_manager_types(
            berth_mpi_managers(seen->objects, (enum berth_mpi_family)family), &types);
        snprintf(name, sizeof(name), "%s runs with srun --mpi",
                 berth_mpi_family_name((enum berth_mpi_family)family));
        put_list(out, name, &types);
    }
    for (size_t i = 0; seen->closure && i < seen->closure->count; i++)
        if (!seen->closure->items[i].path)
            berth_strvec_push(&missing, seen->closure->items[i].soname);
    put_list(out, "not found", &missing);
}

void berth_inspect_text(const struct berth_inspection *seen, struct berth_buf *out)
{
    const struct berth_mpi_object *file = find_file(seen);

    if (seen->image)
        put_image(seen, out);
    if (file)
        put_file(seen, file, out);
    if (file && is_mpi(file)) {
        berth_buf_puts(out, "  it is ");
        put_name(out, &file->library);
        berth_buf_puts(out, "\n");
    }
    put_libc(seen, out);
    if (seen->wants && file && seen->wants->inside)
        put_inside(seen->wants->inside, out);
    else if (seen->wants && file && file->elf.kind == BERTH_ELF_STATIC)
        put(out, "linked with MPI", "unknown for a static program");
    else if (seen->wants && file && file->elf.kind != BERTH_ELF_LIBRARY)
        put_wants(seen->wants, out);
    put_libraries(seen, out);
    if (seen->mode)
        berth_buf_addf(out, "  default of --mpi-bind: %s\n", seen->mode);
    for (size_t i = 0; i < seen->offer_count; i++)
        berth_buf_addf(out, "  --mpi-bind=%s (%s): %s: %s\n", seen->offers[i].stack,
                       seen->offers[i].version, seen->offers[i].answer,
                       seen->offers[i].because);
}

static void write_file(const struct berth_inspection *seen,
                       const struct berth_mpi_object *file, struct berth_json *json)
{
    BERTH_STRVEC struct berth_strvec needs = {0};
    const struct berth_elf *elf = &file->elf;

    berth_json_string(json, "file", seen->file);
    berth_json_string(json, "kind", kind_name(elf->kind));
    berth_json_string(json, "machine", elf->machine);
    if (elf->bits)
        berth_json_number(json, "bits", elf->bits);
    berth_json_bool(json, "static", elf->kind == BERTH_ELF_STATIC);
    berth_json_bool(json, "privileged", seen->is_privileged);
    berth_json_string(json, "interpreter", elf->interpreter);
    berth_json_string(json, "runner", seen->runner);
    berth_json_string(json, "soname", elf->soname);
    berth_json_string(json, "rpath", elf->rpath);
    berth_json_string(json, "runpath", elf->runpath);
    berth_json_list(json, "needed", &elf->needed);
    list_needs(file, &needs);
    berth_json_list(json, "glibc_needed", &needs);
}

static void write_wants(const struct berth_mpi_program *wants, struct berth_json *json)
{
    BERTH_STRVEC struct berth_strvec parts = {0};

    berth_json_object(json, "linked");
    berth_json_string(json, "family",
                      wants->family == BERTH_FAMILY_NONE
                          ? NULL
                          : berth_mpi_family_name(wants->family));
    berth_mpi_part_names(wants->parts, &parts);
    berth_json_list(json, "parts", &parts);
    berth_json_number(json, "symbols", (long long)wants->needs.count);
    berth_json_bool(json, "statically", wants->inside != NULL);
    berth_json_end(json);
}

static void write_libraries(const struct berth_inspection *seen,
                            struct berth_json *json)
{
    berth_json_array(json, "mpi");
    for (size_t i = 0; i < seen->objects->count; i++) {
        const struct berth_mpi_object *object = &seen->objects->items[i];
        const struct berth_mpi_library *library = &object->library;
        BERTH_STRVEC struct berth_strvec parts = {0};

        if (!is_mpi(object))
            continue;
        berth_json_object(json, NULL);
        berth_json_string(json, "path", object->path);
        berth_json_bool(json, "loaded", object->role != BERTH_ROLE_PRESENT);
        berth_json_string(json, "family", berth_mpi_family_name(library->family));
        berth_json_string(json, "vendor", library->vendor);
        berth_json_string(json, "version", *library->version ? library->version : NULL);
        berth_mpi_part_names(library->parts, &parts);
        berth_json_list(json, "parts", &parts);
        berth_json_end(json);
    }
    berth_json_end(json);
}

static void write_closure(const struct berth_inspection *seen, struct berth_json *json)
{
    berth_json_array(json, "libraries");
    for (size_t i = 0; seen->closure && i < seen->closure->count; i++) {
        berth_json_object(json, NULL);
        berth_json_string(json, "soname", seen->closure->items[i].soname);
        berth_json_string(json, "path", seen->closure->items[i].path);
        berth_json_end(json);
    }
    berth_json_end(json);
}

static void write_offers(const struct berth_inspection *seen, struct berth_json *json)
{
    if (seen->mode)
        berth_json_string(json, "mpi_bind_default", seen->mode);
    berth_json_array(json, "mpi_bind");
    for (size_t i = 0; i < seen->offer_count; i++) {
        berth_json_object(json, NULL);
        berth_json_string(json, "stack", seen->offers[i].stack);
        berth_json_string(json, "version", seen->offers[i].version);
        berth_json_string(json, "answer", seen->offers[i].answer);
        berth_json_string(json, "because", seen->offers[i].because);
        berth_json_end(json);
    }
    berth_json_end(json);
}

void berth_inspect_json(const struct berth_inspection *seen, struct berth_json *json)
{
    const struct berth_mpi_object *file = find_file(seen);
    const char *newest = newest_glibc(seen);

    berth_json_object(json, NULL);
    if (seen->image) {
        berth_json_string(json, "image", seen->image);
        berth_json_string(json, "format", seen->is_sandbox ? "sandbox" : "sif");
        berth_json_string(json, "image_machine", seen->machine);
    }
    if (file)
        write_file(seen, file, json);
    berth_json_string(json, "libc", newest ? "glibc" : has_musl(seen) ? "musl" : NULL);
    berth_json_string(json, "glibc", newest);
    if (seen->wants)
        write_wants(seen->wants, json);
    write_libraries(seen, json);
    write_closure(seen, json);
    write_offers(seen, json);
    berth_json_end(json);
}
