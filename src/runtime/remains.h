/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* SingularityCE makes directories below /tmp (or where TMPDIR and its own variables
 * say) while it starts a container: rootfs-NUMBER/root, where the image is mounted, and
 * check-overlayNUMBER, where it tries something. Where it is killed they stay. */

/* Take away the mount at PLACE, rootfs-NUMBER/root, that no program serves any more,
 * and its directories. PLACE is changed. */
void berth_remains_unmount(char *place);

/* A runtime, whose path is RUNTIME, did not get to start its container. Take away what
 * nobody needs of the calling user's: mounts that have lost their server, and empty
 * directories; the latter only if no other runtime of that user is starting, which
 * could be about to use them: it takes them away when it has ended so. */
void berth_remains_clear(const char *runtime);
