/* SPDX-License-Identifier: Apache-2.0 */
/* Multiply two matrices of N x N by BLAS, and print the rate, the largest relative
 * error in a sample of the result, and the library that did it. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void dgemm_(const char *, const char *, const int *, const int *, const int *,
            const double *, const double *, const int *, const double *, const int *,
            const double *, double *, const int *);
#ifdef HELPER
/* A helper of the reference library, which is in no other BLAS. */
void cdotcsub_(void);
void *volatile helper = (void *)cdotcsub_;
#endif

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 600;
    const double one = 1, zero = 0;
    size_t size = (size_t)n * (size_t)n;
    double *a = malloc(size * sizeof(*a)), *b = malloc(size * sizeof(*b));
    double *c = malloc(size * sizeof(*c));
    double worst = 0, time;
    Dl_info info;

    for (size_t i = 0; i < size; i++) {
        a[i] = (double)(i * 7919 % 1009) / 1009 - 0.5;
        b[i] = (double)(i * 104729 % 997) / 997 - 0.5;
    }
    time = seconds();
    dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
    time = seconds() - time;
    for (int i = 0; i < n; i += n / 10 + 1)
        for (int j = 0; j < n; j += n / 10 + 1) {
            double sum = 0, scale = 1e-300;

            for (int k = 0; k < n; k++) {
                sum += a[i + k * n] * b[k + j * n];
                scale += fabs(a[i + k * n] * b[k + j * n]);
            }
            worst = fmax(worst, fabs(sum - c[i + j * n]) / scale);
        }
    dladdr((void *)dgemm_, &info);
    printf("dgemm %d: %.2f GFLOP/s, residual %s, %s\n", n,
           2e-9 * (double)n * n * n / time, worst < 1e-14 ? "passed" : "FAILED",
           dlsym(RTLD_DEFAULT, "openblas_get_config") ? "OpenBLAS" : "reference BLAS");
    return worst < 1e-14 ? 0 : 1;
}
