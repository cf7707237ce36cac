! SPDX-License-Identifier: Apache-2.0
program toyocn
    use models
    implicit none
    call run(ocean, atmosphere, .true.)
end program toyocn
