/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* While SingularityCE starts a container it makes directories below /tmp, or where
 * TMPDIR and its own variables say: rootfs-NUMBER/root, where it mounts the image, and
 * check-overlayNUMBER, where it tries overlayfs. If it is killed, they stay. */

/* Remove the mount at PLACE, rootfs-NUMBER/root, whose server has ended, and its
 * directories. Changes the text PLACE. */
void berth_remains_unmount(char *place);

/* The runtime with the path RUNTIME ended before its container had started. Remove what
 * such runtimes of the calling user have left: mounts that have lost their server, and
 * empty directories. The directories stay if another runtime of the user is starting,
 * which may be about to use them. */
void berth_remains_clear(const char *runtime);
