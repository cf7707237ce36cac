# SPDX-License-Identifier: Apache-2.0
"""Starts a program, which keeps PMI_FD: start.py PROGRAM."""

import subprocess
import sys

sys.exit(subprocess.run(sys.argv[1:], close_fds=False).returncode)
