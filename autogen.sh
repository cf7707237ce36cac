#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes ./configure from a checkout. Needs autoconf, automake and pkg-config.
set -e
cd "$(dirname "$0")"
exec autoreconf --force --install --verbose
