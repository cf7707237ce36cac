# SPDX-License-Identifier: Apache-2.0
"""who.c by ctypes: open.py LIBRARY, a SONAME or a path of an MPICH."""

import ctypes
import os
import sys

mpi = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
version = ctypes.create_string_buffer(8192)
length = ctypes.c_int()
rank, one, size = ctypes.c_int(), ctypes.c_int(1), ctypes.c_int()
world, integer, total = 0x44000000, 0x4C000405, 0x58000003

mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Allreduce(ctypes.byref(one), ctypes.byref(size), 1, integer, total, world)
mpi.MPI_Get_library_version(version, ctypes.byref(length))
told = ctypes.CDLL(os.environ.get("TELL", "/opt/t/libtell.so"))
told.tell(rank.value, size.value, version)
mpi.MPI_Finalize()
