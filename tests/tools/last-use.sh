#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The order of last use: a context says which pages have been used since the checkpoint before, whichever way it was made.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

toucher=$here/toucher
swap=/var/tmp/cryo-test-swap

start_toucher()
{
	rm -f commands answers
	mkfifo commands
	"$toucher" "$PWD/commands" "$PWD/answers" >/dev/null 2>&1 & pid=$!
	started+=("$pid")
	wait_for exists answers
	read -r small huge pages size _ <answers
}

# use AREA FIRST COUNT: it uses these pages; true if they are what they were.
use()
{
	local bad
	rm -f answers
	echo "$*" >commands
	wait_for exists answers || return
	read -r _ _ _ _ bad <answers
	[ "$bad" = 0 ]
}

# used FILE AREA: the pages of this area that are said to have been used, as FIRST+COUNT.
used()
{
	local from=$2 start count to=$(($2 + pages * size))
	while read -r start count; do
		((start + count * size > from && start < to)) || continue
		echo "$(((start - from) / size))+$count"
	done < <(cr_info --json "$1" | awk '
		/"used": \[/ { inside = 1 }
		inside && /"pages"/ { gsub(/[^0-9]/, ""); number = $0 }
		inside && /"start"/ { gsub(/[^0-9a-fx]/, "", $2); start = $2 }
		inside && /}/ { print start, number }
		inside && /\]/ { exit }') | tr '\n' ' ' | sed 's/ $//'
}
# is_used FILE AREA RUNS
is_used()
{
	local found
	found=$(used "$1" "$2")
	[ "$found" = "$3" ] || echo "# $1: pages used: '$found', expected '$3'"
	[ "$found" = "$3" ]
}
all_or_nothing() { [ -z "$(used "$1" "$2")" ] || [ "$(used "$1" "$2")" = "0+$pages" ]; }

# note OPTION...: what is noted by checkpoints with these options.
note()
{
	fresh
	start_toucher
	cr "$@" -f one "$pid"
	check "$*: a first one" status_is 0
	check "... no page of it is different from others" all_or_nothing one "$small"
	check "... pages are used" use small 100 3
	check "... and more" use small 1000 1
	cr "$@" -f two "$pid"
	check "... a second one says so" is_used two "$small" "100+3 1000+1"
	check "... nothing of the huge pages" is_used two "$huge" ""
	check "... others are used" use small 2040 8
	cr "$@" --parent two -f three "$pid"
	check "... an incremental one says so" is_used three "$small" "2040+8"
	cr "$@" --parent three -f four "$pid"
	check "... nothing is used" is_used four "$small" ""
	check "... huge pages are used" use huge 700 1
	cr "$@" -f five "$pid"
	check "... which is noted" eval '[[ " $(used five "$huge") " == *" "[0-9]*"+"* ]]'
	check "... of no others" eval '[ "$(used five "$huge" | wc -w)" = 1 ] && is_used five "$small" ""'
	cr_merge three -o merged
	check "... cr_merge: as in the newest" is_used merged "$small" "2040+8"
	check "... it is told in words" eval '[[ $(cr_info merged) == *"used since the checkpoint before: "*" in "*" ranges"* ]]'
	check "... a page is used" use small 5 1
	cr "$@" --dry-run "$pid"
	check "... a dry run" status_is 0
	cr "$@" -f six "$pid"
	check "... does not forget it" is_used six "$small" "5+1"
}

# What a checkpoint itself brings back from the swap is not used.
swapped()
{
	fresh
	start_toucher
	cr "$@" -f one "$pid"
	check "$*: a first one" status_is 0
	check "... pages go to the swap" use out 200 50
	check "... others are used" use small 300 2
	cr "$@" -f two "$pid"
	check "... a second one" is_used two "$small" "300+2"
	cr "$@" -f three "$pid"
	check "... a third one" is_used three "$small" ""
}

note --snapshot
note --no-snapshot
if fallocate -l 128M "$swap" && chmod 600 "$swap" && mkswap "$swap" >/dev/null && swapon "$swap"; then
	swapped --snapshot
	swapped --no-snapshot
	swapoff "$swap"
else
	echo "# no swap space"
fi
rm -f "$swap"
done_testing
