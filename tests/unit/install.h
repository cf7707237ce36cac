/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Libraries that look like those of MPI installs, compiled when they are needed. */

/* For the compiler: link with libc, as every program is. */
#define LIBC " -Wl,--no-as-needed -lc"

/* Compile the library FILE of the install KIND in DIRECTORY, which is made: mpich,
 * openmpi, intel, cray or mvapich. Which of the install's libraries it is says its name
 * (libmpi..., libmpifort..., libmpicxx..., libmpi_mpifh..., libmpi_usempif08...), which
 * is its SONAME too. WORDS are more words for the compiler ("": none). */
void install_library(const char *directory, const char *kind, const char *file,
                     const char *words);

/* The same for a library FILE without a function. */
void install_plain(const char *directory, const char *file, const char *words);

/* mkdir -p. */
void install_directory(const char *path);
