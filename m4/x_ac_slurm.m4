# SPDX-License-Identifier: Apache-2.0
# X_AC_SLURM: find Slurm by its header (Debian's libslurm-dev has no slurm.pc).
#   --with-slurm[=PREFIX]  build the plugin against PREFIX/include/slurm
#   --without-slurm        build and test everything else
# Sets SLURM_CPPFLAGS, slurm_version; HAVE_SLURM for automake.
AC_DEFUN([X_AC_SLURM], [
  AC_ARG_WITH([slurm],
    [AS_HELP_STRING([--with-slurm@<:@=PREFIX@:>@],
      [where Slurm is installed @<:@default: the compiler's own path@:>@])],
    [], [with_slurm=yes])
  have_slurm=no
  slurm_version=
  SLURM_CPPFLAGS=
  AS_IF([test "x$with_slurm" != xno], [
    AS_IF([test "x$with_slurm" != xyes],
      [SLURM_CPPFLAGS="-isystem $with_slurm/include"])
    x_ac_save_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
    AC_CHECK_HEADER([slurm/spank.h], [have_slurm=yes],
      [AC_MSG_ERROR([slurm/spank.h not found: install Slurm's development package,
  say --with-slurm=PREFIX, or build without the plugin: --without-slurm])],
      [[#include <stdint.h>]])
    # It was called so before 26.05.
    AC_CHECK_DECL([slurm_free_conf],
      [SLURM_CPPFLAGS="$SLURM_CPPFLAGS -Dslurm_free_ctl_conf=slurm_free_conf"], [],
      [[#include <slurm/slurm.h>]])
    AC_CACHE_CHECK([for the release of Slurm], [x_cv_slurm_version], [
      AC_LANG_CONFTEST([AC_LANG_SOURCE([[
#include <slurm/slurm_version.h>
berth_major SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER)
SLURM_VERSION_NUMBER]])])
      x_cv_slurm_version=$($CC -E $CPPFLAGS conftest.$ac_ext 2>/dev/null | $SED -n 's/^\(0x@<:@0-9a-f@:>@*\)$/\1/p')
      x_cv_slurm_version=$(printf '%d.%02d' $(( (x_cv_slurm_version >> 16) & 255 )) $(( (x_cv_slurm_version >> 8) & 255 )))
      rm -f conftest.$ac_ext])
    slurm_version=$x_cv_slurm_version
    CPPFLAGS=$x_ac_save_CPPFLAGS
  ])
  AC_SUBST([SLURM_CPPFLAGS])
  AC_SUBST([slurm_version])
  AM_CONDITIONAL([HAVE_SLURM], [test "x$have_slurm" = xyes])
])
