/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the working directory that the maker of an image has chosen. */

#include "image/workdir.h"

#include <string.h>

#include "base/buf.h"
#include "base/strvec.h"
#include "image/image.h"
#include "site/syntax.h"

/* The part of a SIF file with the configuration (SIFDescOCIConfigJSON of Apptainer and
 * of SingularityCE). It holds the member `config` of the OCI document alone. */
#define CONFIGURATION "oci-config.json"

char *berth_image_workdir(const char *path)
{
    BERTH_BUF struct berth_buf text = {0};
    BERTH_NODE struct berth_node root = {0};
    BERTH_STRVEC struct berth_strvec errors = {0};
    const struct berth_node *directory;

    if (berth_image_read_part(path, CONFIGURATION, BERTH_SYNTAX_BYTES, &text) < 0)
        return NULL;
    /* JSON is YAML, as far as runtimes write it. */
    if (berth_syntax_read(CONFIGURATION, text.text, text.used, &root, &errors, NULL) <
        0)
        return NULL;
    if (root.kind != BERTH_NODE_MAP)
        return NULL;
    directory = berth_node_find(&root, "WorkingDir");
    if (!directory || directory->kind != BERTH_NODE_SCALAR || *directory->text != '/')
        return NULL;
    return strdup(directory->text);
}
