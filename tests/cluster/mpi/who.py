# SPDX-License-Identifier: Apache-2.0
"""who.c with mpi4py; tell.c comes as a library without MPI beside this file."""

import ctypes
import os

from mpi4py import MPI

world = MPI.COMM_WORLD
size = world.allreduce(1)
told = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "libtell.so"))
told.tell(world.Get_rank(), size, MPI.Get_library_version().encode())
