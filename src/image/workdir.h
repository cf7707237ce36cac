/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Returns the working directory of the image in the file PATH, an absolute path in the
 * image, which the caller frees; NULL: its file does not tell one. A runtime that makes
 * a SIF file from an image of a registry keeps the configuration of the image in a part
 * of the file (OCI image specification, config.md: WorkingDir), and itself ignores that
 * directory. Call it as the user: the user may have written the file. */
char *berth_image_workdir(const char *path);
