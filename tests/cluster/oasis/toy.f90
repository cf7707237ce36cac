! SPDX-License-Identifier: Apache-2.0
! A model that knows nothing but how to exchange a field through OASIS3-MCT: in each step it
! puts its field and gets the other model's, which has another grid, and checks it. What a
! field is at a place and a time is a formula that both models know, so that a field of the
! wrong model, step or place is noticed. OASIS interpolates, which changes this formula by
! less than `tolerance`.
module toy
    use, intrinsic :: iso_c_binding
    use mpi
    use mod_oasis
    implicit none
    private
    public :: model, run

    integer, parameter :: steps = 8, step_length = 3600
    real(8), parameter :: tolerance = 0.1d0, degree = 3.14159265358979d0 / 180

    ! The names as in namcouple; LEVEL tells the fields of the models apart. The ranks of a
    ! model share its grid by rows, or by columns.
    type model
        character(len=6) :: name
        character(len=4) :: grid
        character(len=8) :: sends, gets
        integer :: lons, lats
        real(8) :: level
        logical :: by_columns
    end type model

    interface
        subroutine tell(who, version) bind(c, name='tell_library')
            import :: c_char
            character(kind=c_char), intent(in) :: who(*), version(*)
        end subroutine tell
    end interface

contains

    ! Both grids reach from 80 degrees south to 80 degrees north.
    real(8) function longitude(m, i)
        type(model), intent(in) :: m
        integer, intent(in) :: i
        longitude = 360d0 * (i - 1) / m%lons
    end function longitude

    real(8) function latitude(m, j)
        type(model), intent(in) :: m
        integer, intent(in) :: j
        latitude = -80d0 + 160d0 * (j - 1) / (m%lats - 1)
    end function latitude

    ! What SOURCE sends in a step, at a point of WHERE's grid.
    real(8) function value(source, step, where, i, j)
        type(model), intent(in) :: source, where
        integer, intent(in) :: step, i, j
        value = source%level + 100 * step + latitude(where, j) / 2 &
            + 2 * cos(longitude(where, i) * degree)
    end function value

    ! The rank of the model that is first writes its grid.
    subroutine write_grid(m)
        type(model), intent(in) :: m
        real(8) :: lon(m%lons, m%lats), lat(m%lons, m%lats)
        integer :: mask(m%lons, m%lats), i, j, flag

        do j = 1, m%lats
            do i = 1, m%lons
                lon(i, j) = longitude(m, i)
                lat(i, j) = latitude(m, j)
            end do
        end do
        mask = 0
        call oasis_start_grids_writing(flag)
        call oasis_write_grid(m%grid, m%lons, m%lats, lon, lat)
        call oasis_write_mask(m%grid, m%lons, m%lats, mask)
        call oasis_terminate_grids_writing()
    end subroutine write_grid

    ! The box of the grid that is this rank's: columns I0+1 to I0+NI, rows J0+1 to J0+NJ.
    subroutine share(m, rank, ranks, i0, ni, j0, nj)
        type(model), intent(in) :: m
        integer, intent(in) :: rank, ranks
        integer, intent(out) :: i0, ni, j0, nj

        i0 = 0
        ni = m%lons
        j0 = 0
        nj = m%lats
        if (m%by_columns) then
            i0 = m%lons * rank / ranks
            ni = m%lons * (rank + 1) / ranks - i0
        else
            j0 = m%lats * rank / ranks
            nj = m%lats * (rank + 1) / ranks - j0
        end if
    end subroutine share

    ! OURS sends, and gets from OTHER; the one that GETS_FIRST waits for the other one's first
    ! field. With an argument, what is sent is that of the step before.
    subroutine run(ours, other, gets_first)
        type(model), intent(in) :: ours, other
        logical, intent(in) :: gets_first
        integer :: id, comm, rank, ranks, all, error, part, out_id, in_id, step, i0, ni, j0, nj
        integer :: late, length
        character(len=80) :: who
        character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version

        call oasis_init_comp(id, ours%name, error)
        call oasis_get_localcomm(comm, error)
        call mpi_comm_rank(comm, rank, error)
        call mpi_comm_size(comm, ranks, error)
        call mpi_comm_size(MPI_COMM_WORLD, all, error)
        if (rank == 0) call write_grid(ours)
        call share(ours, rank, ranks, i0, ni, j0, nj)
        call oasis_def_partition(part, [2, j0 * ours%lons + i0, ni, nj, ours%lons], error)
        call oasis_def_var(out_id, ours%sends, part, [2, 1], OASIS_Out, &
            [1, ni, 1, nj], OASIS_Real, error)
        call oasis_def_var(in_id, ours%gets, part, [2, 1], OASIS_In, &
            [1, ni, 1, nj], OASIS_Real, error)
        call oasis_enddef(error)
        late = command_argument_count()
        do step = 0, steps - 1
            if (gets_first) call get()
            call put()
            if (.not. gets_first) call get()
        end do
        call mpi_barrier(comm, error)
        call mpi_get_library_version(version, length, error)
        if (rank == 0) then
            write (who, '(a,3(a,i0),3a)') ours%name, ': ', ranks, ' of ', all, ' ranks, ', &
                steps, ' fields of ', other%name, ' are right'
            call tell(trim(who) // c_null_char, trim(version) // c_null_char)
        end if
        call oasis_terminate(error)

    contains

        subroutine put()
            real(8) :: field(ni, nj)
            integer :: i, j

            do j = 1, nj
                do i = 1, ni
                    field(i, j) = value(ours, step - late, ours, i0 + i, j0 + j)
                end do
            end do
            call oasis_put(out_id, step * step_length, field, error)
            if (error < OASIS_Sent) call oasis_abort(id, ours%name, 'a field was not sent')
        end subroutine put

        subroutine get()
            real(8) :: field(ni, nj), right
            integer :: i, j

            field = 0
            call oasis_get(in_id, step * step_length, field, error)
            if (error < OASIS_Recvd) call oasis_abort(id, ours%name, 'a field was not received')
            do j = 1, nj
                do i = 1, ni
                    right = value(other, step, ours, i0 + i, j0 + j)
                    if (abs(field(i, j) - right) < tolerance) cycle
                    print '(2a,3(i0,a),f0.3,a,f0.3)', ours%name, ' got a wrong field: step ', &
                        step, ', point ', i0 + i, ', ', j0 + j, ': ', field(i, j), &
                        ' and not ', right
                    flush (6)
                    call mpi_abort(MPI_COMM_WORLD, 1, error)
                end do
            end do
        end subroutine get
    end subroutine run
end module toy
