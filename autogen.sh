#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Makes ./configure and the Makefile.in: once after a clone, and after a change of the build files.
set -e
cd "$(dirname "$0")"
for tool in autoreconf automake libtoolize pkg-config; do
	command -v "$tool" >/dev/null || {
		echo "autogen.sh: $tool is missing (packages autoconf, automake, libtool, pkg-config)" >&2
		exit 1
	}
done
exec autoreconf --force --install --warnings=all "$@"
