! SPDX-License-Identifier: Apache-2.0
! who.c in Fortran 90.
program who
    use, intrinsic :: iso_c_binding
    use mpi
    implicit none
    interface
        subroutine tell(rank, total, version, length) bind(c, name='tell_padded')
            import :: c_int, c_char
            integer(c_int), value :: rank, total, length
            character(kind=c_char), intent(in) :: version(*)
        end subroutine tell
    end interface
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    integer :: rank, total, length, error

    call mpi_init(error)
    call mpi_comm_rank(MPI_COMM_WORLD, rank, error)
    call mpi_allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call mpi_get_library_version(version, length, error)
    call tell(rank, total, version, length)
    call mpi_finalize(error)
end program who
