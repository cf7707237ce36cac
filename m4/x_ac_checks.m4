# SPDX-License-Identifier: Apache-2.0
# Switches for those who work on berth. None of them is on for those who package it, and
# none edits CFLAGS, which is the user's.

# X_AC_WERROR: --enable-werror makes every warning an error. Sets WERROR_CFLAGS.
AC_DEFUN([X_AC_WERROR], [
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [treat warnings as errors])],
    [], [enable_werror=no])
  WERROR_CFLAGS=
  AS_IF([test "x$enable_werror" = xyes], [WERROR_CFLAGS=-Werror])
  AC_SUBST([WERROR_CFLAGS])
])

# X_AC_SANITIZERS: --enable-sanitizers builds with AddressSanitizer and UBSan, for
# `make check`. Sets SANITIZER_CFLAGS.
AC_DEFUN([X_AC_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers], [build with ASan and UBSan, for make check])],
    [], [enable_sanitizers=no])
  SANITIZER_CFLAGS=
  AS_IF([test "x$enable_sanitizers" = xyes],
    [SANITIZER_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"])
  AC_SUBST([SANITIZER_CFLAGS])
  AM_CONDITIONAL([SANITIZERS], [test "x$enable_sanitizers" = xyes])
])

# X_AC_COVERAGE: --enable-coverage builds with counters, for `make coverage`. Sets
# COVERAGE_CFLAGS.
AC_DEFUN([X_AC_COVERAGE], [
  AC_ARG_ENABLE([coverage],
    [AS_HELP_STRING([--enable-coverage], [build with counters, for make coverage])],
    [], [enable_coverage=no])
  COVERAGE_CFLAGS=
  AS_IF([test "x$enable_coverage" = xyes],
    [COVERAGE_CFLAGS="--coverage -fprofile-update=atomic"])
  AC_SUBST([COVERAGE_CFLAGS])
  AM_CONDITIONAL([COVERAGE], [test "x$enable_coverage" = xyes])
])

# X_AC_STATIC_LINK: berth-init runs in images without a C library.
AC_DEFUN([X_AC_STATIC_LINK], [
  AC_CACHE_CHECK([whether a static program can be linked], [x_cv_static_link], [
    x_ac_save_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS -static"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>]], [[puts("");]])],
      [x_cv_static_link=yes], [x_cv_static_link=no])
    LDFLAGS=$x_ac_save_LDFLAGS])
  AS_IF([test "x$x_cv_static_link" = xno],
    [AC_MSG_ERROR([no static C library: install glibc-static (RHEL) or libc6-dev (Debian)])])
])
