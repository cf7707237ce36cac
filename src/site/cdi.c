/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a specification of devices into mounts and variables; opens no file. */

#include "site/cdi.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "request/values.h"

/* The specification that is read, and where its edits go. */
struct editing {
    const struct berth_cdi_spec *spec;
    struct berth_cdi_edits *edits;
    const char *why; /* as berth_cdi_edits_why() */
};

/* Prefix the sentence in ERR with the place of NODE. Returns -1. */
static int at(const struct berth_cdi_spec *spec, const struct berth_node *node,
              struct berth_err *err)
{
    return berth_err_at(err, "%s:%u", spec->file, node->line);
}

/* KEY in NODE, if NODE is a map and the value of KEY is of KIND; else NULL. */
static const struct berth_node *find(const struct berth_node *node, const char *key,
                                     enum berth_node_kind kind)
{
    const struct berth_node *found =
        node->kind == BERTH_NODE_MAP ? berth_node_find(node, key) : NULL;

    return found && found->kind == kind ? found : NULL;
}

/* The text of KEY in the map NODE; NULL: it has none. */
static const char *text_of(const struct berth_node *node, const char *key)
{
    const struct berth_node *found = find(node, key, BERTH_NODE_SCALAR);

    return found && !berth_node_is_empty(found) ? found->text : NULL;
}

/* The list KEY in the map NODE; an empty list if NODE has none. */
static const struct berth_node *list_of(const struct berth_node *node, const char *key)
{
    static const struct berth_node none = {.kind = BERTH_NODE_LIST};
    const struct berth_node *found = find(node, key, BERTH_NODE_LIST);

    return found ? found : &none;
}

/* In a later version a key could mean something else. */
static int check_version(const struct berth_cdi_spec *spec, struct berth_err *err)
{
    const char *version = text_of(&spec->root, "cdiVersion");

    if (version &&
        (berth_text_starts(version, "0.") || berth_text_starts(version, "1.")))
        return 0;
    return berth_err_set(err, "%s: cdiVersion: expected 0.3.0 to 1.1.0, got '%s'",
                         spec->file, version ? version : "");
}

static int check_spec(struct berth_cdi_spec *spec, struct berth_err *err)
{
    const struct berth_node *devices = list_of(&spec->root, "devices");

    spec->kind = text_of(&spec->root, "kind");
    if (check_version(spec, err) < 0)
        return -1;
    if (berth_value_kind(spec->kind ? spec->kind : "", err) < 0)
        return berth_err_at(err, "%s: kind", spec->file);
    for (size_t i = 0; i < devices->count; i++)
        if (!text_of(&devices->items[i], "name")) {
            berth_err_set(err, "devices: a device without a name; give it one");
            return at(spec, &devices->items[i], err);
        }
    return 0;
}

int berth_cdi_spec_read(const char *file, const char *bytes, size_t size,
                        struct berth_cdi_spec *ret, struct berth_err *err)
{
    BERTH_STRVEC struct berth_strvec faults = {0};
    struct berth_cdi_spec spec = {.file = strdup(file)};
    int result = spec.file ? 0 : berth_err_oom(err);

    if (result == 0)
        result = berth_syntax_read(file, bytes, size, &berth_syntax_generated,
                                   &spec.root, &faults, err);
    if (result == 0 && faults.failed)
        result = berth_err_oom(err);
    if (result == 0 && faults.count)
        result = berth_err_set(err, "%s", faults.items[0]);
    if (result == 0)
        result = check_spec(&spec, err);
    if (result < 0)
        berth_cdi_spec_fini(&spec);
    else
        *ret = spec;
    return result;
}

void berth_cdi_spec_fini(struct berth_cdi_spec *spec)
{
    free(spec->file);
    berth_node_fini(&spec->root);
    *spec = (struct berth_cdi_spec){0};
}

const struct berth_node *berth_cdi_spec_find(const struct berth_cdi_spec *spec,
                                             const char *name)
{
    const struct berth_node *devices = list_of(&spec->root, "devices");

    for (size_t i = 0; i < devices->count; i++)
        if (strcmp(text_of(&devices->items[i], "name"), name) == 0)
            return &devices->items[i];
    return NULL;
}

void berth_cdi_spec_names(const struct berth_cdi_spec *spec, struct berth_strvec *ret)
{
    const struct berth_node *devices = list_of(&spec->root, "devices");

    for (size_t i = 0; i < devices->count; i++)
        berth_strvec_push(ret, text_of(&devices->items[i], "name"));
}

/* Are A and B, of the same list, for one variable, or for one place in the container?
 * No path of a mount has a colon. */
static bool is_for_same(const char *a, const char *b, bool is_mount)
{
    const char *start_a = is_mount ? strchr(a, ':') : a;
    const char *start_b = is_mount ? strchr(b, ':') : b;
    const char *end_a = is_mount ? strrchr(a, ':') : strchr(a, '=');
    const char *end_b = is_mount ? strrchr(b, ':') : strchr(b, '=');

    return start_a && start_b && end_a && end_b && end_a - start_a == end_b - start_b &&
           strncmp(start_a, start_b, (size_t)(end_a - start_a)) == 0;
}

/* The rule of CDI: an implementation appends the edits of one device behind those of
 * another, and a variable or a mount takes the place of an earlier one of the same name
 * (pkg/cdi: Cache.InjectDevices(), ContainerEdits.Apply()). NVIDIA's specifications
 * have NVIDIA_VISIBLE_DEVICES=void for all devices, and others may name theirs. */
void berth_cdi_edits_put(struct berth_cdi_edits *edits, struct berth_strvec *list,
                         const char *text, const char *why)
{
    bool is_mount = list == &edits->mounts;
    char *copy;
    size_t at = 0;

    if (edits->whys.failed || berth_strvec_has(list, text))
        return;
    while (at < list->count && !is_for_same(list->items[at], text, is_mount))
        at++;
    if (at == list->count)
        berth_strvec_push(list, text);
    else if ((copy = strdup(text))) {
        free(list->items[at]);
        list->items[at] = copy;
    } else
        list->failed = true;
    berth_strvec_push(&edits->whys, text);
    berth_strvec_push(&edits->whys, why);
}

/* List WHAT 'TEXT' as something that berth does not do. */
static void skip(const struct editing *editing, const char *what, const char *text)
{
    BERTH_BUF struct berth_buf line = {0};

    berth_buf_addf(&line, "%s '%s' (%s)", what, text, editing->spec->file);
    if (line.failed)
        editing->edits->undone.failed = true;
    else
        berth_strvec_push_once(&editing->edits->undone, line.text);
}

/* The form of a mount, SRC:DST:MODE, cannot hold a path with a colon. */
static void put_mount(const struct editing *editing, const char *source,
                      const char *destination, const char *mode)
{
    BERTH_BUF struct berth_buf mount = {0};

    if (strchr(source, ':') || strchr(destination, ':')) {
        skip(editing, "the mount with a colon at", destination);
        return;
    }
    berth_buf_addf(&mount, "%s:%s:%s", source, destination, mode);
    if (mount.failed)
        editing->edits->mounts.failed = true;
    else
        berth_cdi_edits_put(editing->edits, &editing->edits->mounts, mount.text,
                            editing->why);
}

/* The absolute path KEY of ITEM, or OTHER if ITEM has no such key. NULL: it is wrong,
 * and a sentence is in ERR. */
static const char *path_of(const struct berth_node *item, const char *key,
                           const char *other, struct berth_err *err)
{
    const char *path = text_of(item, key);

    if (!path)
        path = other ? other : "";
    if (berth_value_path(path, err) == 0)
        return path;
    berth_err_at(err, "%s", key);
    return NULL;
}

static int edit_variable(const struct editing *editing, const struct berth_node *item,
                         struct berth_err *err)
{
    const char *text = item->kind == BERTH_NODE_SCALAR ? item->text : "";

    if (berth_value_assignment(text, err) < 0)
        return -1;
    berth_cdi_edits_put(editing->edits, &editing->edits->set, text, editing->why);
    return 0;
}

/* berth mounts the host's device, with the host's numbers, owner and mode; the job's
 * cgroup decides who may open it. A runtime that a user starts cannot give a device
 * another name. */
static int edit_device(const struct editing *editing, const struct berth_node *item,
                       struct berth_err *err)
{
    const char *path = path_of(item, "path", NULL, err);
    const char *source = path ? path_of(item, "hostPath", path, err) : NULL;

    if (!source)
        return -1;
    if (strcmp(source, path) == 0 && berth_text_starts(path, "/dev/"))
        put_mount(editing, source, path, "rw");
    else
        skip(editing, "the device", path);
    return 0;
}

static bool has_word(const struct berth_node *list, const char *word)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].kind == BERTH_NODE_SCALAR &&
            strcmp(list->items[i].text, word) == 0)
            return true;
    return false;
}

/* Is it a bind? Other types of the OCI, like tmpfs, have no source. */
static bool is_bind(const char *type, const struct berth_node *options)
{
    return !type || strcmp(type, "bind") == 0 || strcmp(type, "none") == 0 ||
           has_word(options, "bind") || has_word(options, "rbind");
}

static int edit_mount(const struct editing *editing, const struct berth_node *item,
                      struct berth_err *err)
{
    const struct berth_node *options = list_of(item, "options");
    const char *destination = path_of(item, "containerPath", NULL, err);
    const char *source;

    if (!destination)
        return -1;
    if (!is_bind(text_of(item, "type"), options)) {
        skip(editing, "the mount at", destination);
        return 0;
    }
    source = path_of(item, "hostPath", NULL, err);
    if (!source)
        return -1;
    put_mount(editing, source, destination, has_word(options, "ro") ? "ro" : "rw");
    return 0;
}

#define FOLDER "--folder"
#define LINK   "--link"

/* The hooks of NVIDIA's container toolkit (cmd/nvidia-cdi-hook) that berth replaces. */
static const struct {
    const char *name;
    const char *flag; /* FOLDER, LINK; NULL: the hook would have nothing to do */
} known_hooks[] = {
    /* The loader finds the libraries in /.singularity.d/libs (probe/cdi.c). */
    {"update-ldcache", FOLDER},
    {"create-soname-symlinks", FOLDER},
    /* The target of a link is mounted in the place of the link (the same). */
    {"create-symlinks", LINK},
    /* The directories in /dev are the host's, with the host's modes. */
    {"chmod", NULL},
    /* A user's container cannot make device nodes. */
    {"disable-device-node-modification", NULL},
};

static const char *word_at(const struct berth_node *words, size_t at)
{
    return at < words->count && words->items[at].kind == BERTH_NODE_SCALAR
               ? words->items[at].text
               : "";
}

/* The index in known_hooks of `nvidia-cdi-hook NAME` or `nvidia-ctk hook NAME`; -1:
 * there is none. */
static int find_hook(const char *program, const struct berth_node *words)
{
    const char *name = strcmp(program, "nvidia-cdi-hook") == 0 ? word_at(words, 1)
                       : strcmp(program, "nvidia-ctk") == 0    ? word_at(words, 2)
                                                               : "";

    for (int i = 0; i < (int)(sizeof(known_hooks) / sizeof(known_hooks[0])); i++)
        if (strcmp(known_hooks[i].name, name) == 0)
            return i;
    return -1;
}

/* Keep the values of FLAG in WORDS: `FLAG VALUE` or `FLAG=VALUE`. */
static void keep_values(const struct editing *editing, const struct berth_node *words,
                        const char *flag)
{
    struct berth_strvec *list =
        strcmp(flag, LINK) == 0 ? &editing->edits->links : &editing->edits->folders;
    size_t length = strlen(flag);

    for (size_t i = 0; i < words->count; i++) {
        const char *word = word_at(words, i);

        if (strcmp(word, flag) == 0 && *word_at(words, i + 1))
            berth_strvec_push_once(list, word_at(words, ++i));
        else if (strncmp(word, flag, length) == 0 && word[length] == '=')
            berth_strvec_push_once(list, word + length + 1);
    }
}

static int edit_hook(const struct editing *editing, const struct berth_node *item,
                     struct berth_err *err)
{
    const struct berth_node *words = list_of(item, "args");
    const char *path = path_of(item, "path", NULL, err);
    BERTH_BUF struct berth_buf name = {0};
    int hook;

    if (!path)
        return -1;
    hook = find_hook(berth_text_base(path), words);
    if (hook >= 0) {
        if (known_hooks[hook].flag)
            keep_values(editing, words, known_hooks[hook].flag);
        return 0;
    }
    berth_buf_puts(&name, berth_text_base(path));
    for (size_t i = 1; i < words->count && i <= 2; i++) /* nvidia-ctk hook NAME */
        if (*word_at(words, i) && *word_at(words, i) != '-')
            berth_buf_addf(&name, " %s", word_at(words, i));
    if (name.failed)
        return berth_err_oom(err);
    skip(editing, "the hook", name.text);
    return 0;
}

/* A container that a user starts has the user's groups. */
static int edit_group(const struct editing *editing, const struct berth_node *item,
                      struct berth_err *err)
{
    const char *text = item->kind == BERTH_NODE_SCALAR ? item->text : "";

    if (!*text || text[strspn(text, "0123456789")])
        return berth_err_set(err, "expected the number of a group, got '%s'", text);
    if (strcmp(text, "0") != 0)
        skip(editing, "the additional group", text);
    return 0;
}

/* The keys of containerEdits that berth reads; it lists all others as not done. */
static const struct {
    const char *key;
    int (*edit)(const struct editing *editing, const struct berth_node *item,
                struct berth_err *err);
} keys[] = {
    {"env", edit_variable}, {"deviceNodes", edit_device},   {"mounts", edit_mount},
    {"hooks", edit_hook},   {"additionalGids", edit_group},
};

enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

static int edit_key(const struct editing *editing, const struct berth_node *node,
                    struct berth_err *err)
{
    int key = 0;

    while (key < KEYS && strcmp(keys[key].key, node->key) != 0)
        key++;
    if (berth_node_is_empty(node))
        return 0;
    if (key == KEYS) {
        skip(editing, "the key", node->key);
        return 0;
    }
    if (node->kind != BERTH_NODE_LIST) {
        berth_err_set(err, "%s: expected a list", node->key);
        return at(editing->spec, node, err);
    }
    for (size_t i = 0; i < node->count; i++)
        if (keys[key].edit(editing, &node->items[i], err) < 0) {
            berth_err_at(err, "%s", node->key);
            return at(editing->spec, &node->items[i], err);
        }
    return 0;
}

/* Read the containerEdits of NODE. */
static int edit(const struct editing *editing, const struct berth_node *node,
                struct berth_err *err)
{
    const struct berth_node *all = find(node, "containerEdits", BERTH_NODE_MAP);

    for (size_t i = 0; all && i < all->count; i++)
        if (edit_key(editing, &all->items[i], err) < 0)
            return -1;
    return 0;
}

/* Is a device of SPEC among those of EDITS? */
static bool has_device_of(const struct berth_cdi_edits *edits,
                          const struct berth_cdi_spec *spec)
{
    for (size_t i = 0; i + 1 < edits->devices.count; i += 2)
        if (strcmp(edits->devices.items[i + 1], spec->file) == 0)
            return true;
    return false;
}

int berth_cdi_spec_edit(const struct berth_cdi_spec *spec,
                        const struct berth_node *device, struct berth_cdi_edits *edits,
                        struct berth_err *err)
{
    BERTH_BUF struct berth_buf name = {0};
    BERTH_BUF struct berth_buf why = {0};
    struct editing editing = {.spec = spec, .edits = edits};
    bool is_first = !has_device_of(edits, spec);

    berth_buf_addf(&name, "%s=%s", spec->kind, text_of(device, "name"));
    berth_buf_addf(&why, "the CDI device %s (%s)", name.text, spec->file);
    if (name.failed || why.failed)
        return berth_err_oom(err);
    if (berth_strvec_has(&edits->devices, name.text))
        return 0;
    berth_strvec_push(&edits->devices, name.text);
    berth_strvec_push(&edits->devices, spec->file);
    editing.why = why.text;
    if ((is_first && edit(&editing, &spec->root, err) < 0) ||
        edit(&editing, device, err) < 0)
        return -1;
    return berth_cdi_edits_check(edits, err);
}

const char *berth_cdi_edits_why(const struct berth_cdi_edits *edits, const char *text)
{
    for (size_t i = edits->whys.count; i > 1; i -= 2)
        if (strcmp(edits->whys.items[i - 2], text) == 0)
            return edits->whys.items[i - 1];
    return NULL;
}

int berth_cdi_edits_check(const struct berth_cdi_edits *edits, struct berth_err *err)
{
    return edits->devices.failed || edits->mounts.failed || edits->set.failed ||
                   edits->whys.failed || edits->folders.failed || edits->links.failed ||
                   edits->undone.failed
               ? berth_err_oom(err)
               : 0;
}

void berth_cdi_edits_fini(struct berth_cdi_edits *edits)
{
    berth_strvec_fini(&edits->devices);
    berth_strvec_fini(&edits->mounts);
    berth_strvec_fini(&edits->set);
    berth_strvec_fini(&edits->whys);
    berth_strvec_fini(&edits->folders);
    berth_strvec_fini(&edits->links);
    berth_strvec_fini(&edits->undone);
    *edits = (struct berth_cdi_edits){0};
}
