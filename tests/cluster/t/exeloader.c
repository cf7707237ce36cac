/* SPDX-License-Identifier: Apache-2.0 */
/* The loader of a hostile image. The kernel starts it for a program of the host that is
 * named as the interpreter of a script of the image (#!/proc/self/exe): it keeps that
 * program open, and becomes /reach (reach.c) with the arguments of the script. Without
 * a C library, because it is in the place of the loader; for x86-64. */

enum { OPEN = 2, DUP2 = 33, EXECVE = 59, EXIT = 60, KEPT = 50 };

static long call(long number, long one, long two, long three)
{
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(one), "S"(two), "d"(three)
                     : "rcx", "r11", "memory");
    return result;
}

/* STACK: the count of the arguments, and then "/proc/self/exe", the script, and its own
 * arguments. */
__attribute__((used)) static void begin(char **stack)
{
    char *none[] = {0};

    call(DUP2, call(OPEN, (long)"/proc/self/exe", 0, 0), KEPT, 0);
    call(EXECVE, (long)"/reach", (long)(stack + 2), (long)none);
    call(EXIT, 1, 0, 0);
}

__attribute__((naked)) void _start(void)
{
    __asm__("mov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin");
}
