/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every test program says of itself, in one way, whatever it is written in. It
 * knows nothing of MPI, so that one object serves all libraries and languages.
 */
#pragma once

/*
 * Prints `rank 0 of 2 on n1 in IMAGE: VERSION [LIBRARIES]`: the first line of the
 * library's version, and each MPI library that is mapped. Of a file that lies over
 * another one, and so on another device than its directory, the path ends in `!`.
 */
void tell(int rank, int size, const char *version);

/* The same for WHO. */
void tell_library(const char *who, const char *version);

/* The same for Fortran, which has VERSION of LENGTH characters and no zero. */
void tell_padded(int rank, int size, const char *version, int length);

/* The image's marker, or `host`. */
void tell_marker(char *text, int size);
