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
cr -v -z auto -f automatic "$pid"
check "-z auto: success" status_is 0
check "... it can be read" is_context automatic
check "... the levels are told" said ", at level"
cr -v -z1 --long "$pid" -f long
check "--long: success" status_is 0
check "... it can be read" is_context long
check "... -v tells the level" said "at level 1, by "
cr --long "$pid" -f none
check "--long without -z is refused" status_is 255
check "... which is said" said "--long is for compressed contexts: give -z, too"
cr -z --long=28 "$pid" -f none
check "a window that decompressors do not take is refused" status_is 255
check "... which is said" said "--long '28' is not a number from 20 to 27"
check "... and nothing is written" not exists none
cr -z --kill "$pid"
check "-z --kill: the process ends" ends_with 137
check "... and its context is whole" is_context "context.$pid.zst"

# Of many frames, which several threads unpack.
fresh
start_quietly 40
cr -z1 --kill -f many.zst "$pid"
wait "$pid" 2>/dev/null
check "a restart from a compressed file" restarts many.zst
mkfifo fifo
(cat many.zst >fifo) &
check "... from a pipe" restarts fifo
(zstd -qdc many.zst >fifo) &
check "... from what zstd makes of it" restarts fifo
zstd -qdc many.zst >plain
cr_merge many.zst -o merged
check "cr_merge reads it" is_context merged
check "... and makes of it what it makes of the plain one" eval 'cr_merge plain -o merged.plain && cmp merged merged.plain'
cr_merge -v plain -o merged.quiet >&- 2>&-
check "... its messages go nowhere where there is no standard error" cmp merged merged.quiet
check "cr_info says that it is compressed" eval '[[ $(cr_info many.zst) == *"compressed with zstd"* ]]'

# change FILE OFFSET: makes the byte there another one.
change()
{
	local byte
	byte=$(od -An -tu1 -j "$2" -N 1 "$1")
	# shellcheck disable=SC2059 # the format is the byte
	printf "\\x$(printf %x $((byte ^ 255)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# The last entry of the table is 17 bytes before the end.
cp many.zst table.zst
chmod 600 table.zst
change table.zst $(($(stat -c %s many.zst) - 17))
check "a damaged table: zstd does without" eval 'zstd -qdc table.zst | cmp - plain'
rc=0 err=$(cr_restart table.zst 2>&1 </dev/null) || rc=$?
check "... no restart" status_is 74
check "... the file is named, and what is wrong" said "table.zst: damaged seek table: its frames end at byte"
check "... nothing has been made" is_gone "$pid"
(cat table.zst >fifo) &
check "... from a pipe it is not needed" restarts fifo
cp many.zst frame.zst
chmod 600 frame.zst
change frame.zst $(($(stat -c %s many.zst) / 2))
rc=0 err=$(cr_restart frame.zst 2>&1 </dev/null) || rc=$?
check "a damaged frame: no restart" status_is 74
check "... the file is named" said "frame.zst: byte "
check "... nothing has been made" is_gone "$pid"

# As a parent, and with one.
fresh
start_quietly 16
cr -zauto -f one.zst "$pid"
cr -z1 --long=24 --parent one.zst -f two.zst "$pid"
check "a compressed parent" status_is 0
check "... with what is compressed" eval 'cr_info --chain two.zst >/dev/null'
end_it
check "... is restarted" restarts two.zst

done_testing
