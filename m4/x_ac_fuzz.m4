# SPDX-License-Identifier: Apache-2.0
# X_AC_FUZZ: find a compiler that has libFuzzer, which `make fuzz` needs. Sets FUZZ_CC,
# empty where there is none.
AC_DEFUN([X_AC_FUZZ], [
  AC_ARG_VAR([FUZZ_CC], [a compiler with libFuzzer, for `make fuzz'])
  AS_IF([test "x$FUZZ_CC" = x], [AC_CHECK_PROGS([FUZZ_CC], [clang])])
  AS_IF([test "x$FUZZ_CC" != x], [
    AC_CACHE_CHECK([whether $FUZZ_CC has libFuzzer], [x_cv_fuzz], [
      AS_ECHO(['int LLVMFuzzerTestOneInput(const char *d, unsigned long s) { return 0; }']) >conftest.c
      AS_IF([$FUZZ_CC -fsanitize=fuzzer,address conftest.c -o conftest.fuzz 2>&AS_MESSAGE_LOG_FD],
        [x_cv_fuzz=yes], [x_cv_fuzz=no])
      rm -f conftest.c conftest.fuzz])
    AS_IF([test "x$x_cv_fuzz" = xno], [FUZZ_CC=])
  ])
])
