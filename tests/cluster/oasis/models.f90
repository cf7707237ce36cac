! SPDX-License-Identifier: Apache-2.0
! The two models: other grids, other fields, shared among their ranks in other ways.
module models
    use toy
    implicit none
    type(model), parameter :: &
        atmosphere = model('toyatm', 'atmt', 'A_HEATFL', 'A_SEATEM', 24, 17, 1000d0, .false.), &
        ocean = model('toyocn', 'ocnt', 'O_SEATEM', 'O_HEATFL', 36, 33, -5000d0, .true.)
end module models
