/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose own library uses MPI. */
int run(int argc, char **argv);

int main(int argc, char **argv)
{
    return run(argc, argv);
}
