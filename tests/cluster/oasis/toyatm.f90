! SPDX-License-Identifier: Apache-2.0
program toyatm
    use models
    implicit none
    call run(atmosphere, ocean, .false.)
end program toyatm
