#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Compressed contexts.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

fresh
start 2
cr -z "$pid"
check "-z: success" status_is 0
check "... the name ends in .zst" no_file_but count "context.$pid.zst"
check "... it can be read" is_context "context.$pid.zst"
check "... the process goes on" goes_on
cr -z19 -f name "$pid"
check "-z19 with --file keeps the name" is_context name
cr_checkpoint -z1 -f - "$pid" >stream
check "-z1 to standard output" is_context stream
if command -v zstd >/dev/null; then
	check "zstd reads the file" zstd -qt "context.$pid.zst"
	check "zstd reads the stream" zstd -qt stream
	zstd -qd stream -o plain
	check "... and makes a plain context of it" is_context plain
	cr_checkpoint -f - "$pid" | zstd -q >outside.zst
	check "a stream compressed by zstd is as good" is_context outside.zst
else
	echo "# zstd is not installed: its own opinion is not asked for"
fi
cr -z --kill "$pid"
check "-z --kill: the process ends" ends_with 137
check "... and its context is whole" is_context "context.$pid.zst"

done_testing
