! SPDX-License-Identifier: Apache-2.0
! who.c in Fortran 2008.
program who
    use, intrinsic :: iso_c_binding
    use mpi_f08
    implicit none
    interface
        subroutine tell(rank, total, version, length) bind(c, name='tell_padded')
            import :: c_int, c_char
            integer(c_int), value :: rank, total, length
            character(kind=c_char), intent(in) :: version(*)
        end subroutine tell
    end interface
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    integer :: rank, one, total, length

    one = 1
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Allreduce(one, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Get_library_version(version, length)
    call tell(rank, total, version, length)
    call MPI_Finalize()
end program who
