#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The order of last use: a context says which pages have been used since the checkpoint before, whichever way it was made;
# and a restart brings these first, before those that lie at lower addresses.
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
# one_run FILE AREA: that many pages are used as one entry tells of.
one_run()
{
	local found
	found=$(used "$1" "$2")
	[[ $found =~ ^[0-9]+\+[0-9]+$ ]] || echo "# $1: pages used: '$found', expected one run"
	[[ $found =~ ^[0-9]+\+[0-9]+$ ]]
}
all_or_nothing()
{
	local found
	found=$(used "$1" "$2")
	[ -z "$found" ] || [ "$found" = "0+$pages" ] || echo "# $1: pages used: '$found', expected all of $pages or none"
	[ -z "$found" ] || [ "$found" = "0+$pages" ]
}

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
	# With large pages, one context is a quarter of what there is room for.
	rm -f one
	check "... others are used" use small 2040 8
	cr "$@" --parent two -f three "$pid"
	check "... an incremental one says so" is_used three "$small" "2040+8"
	cr "$@" --parent three -f four "$pid"
	check "... nothing is used" is_used four "$small" ""
	check "... huge pages are used" use huge 700 1
	cr "$@" -f five "$pid"
	check "... which is noted" one_run five "$huge"
	check "... of no others" is_used five "$small" ""
	rm -f five
	cr_merge three -o merged
	check "... cr_merge: as in the newest" is_used merged "$small" "2040+8"
	check "... it is told in words" eval '[[ $(cr_info merged) == *"used since the checkpoint before: "*" in "*" ranges"* ]]'
	rm -f two three four merged
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

# has PAGE: is it there, in the memory of the process?
has()
{
	local entry
	entry=$(dd if="/proc/$pid/pagemap" bs=8 skip=$((small / size + $1)) count=1 2>/dev/null | od -An -t x8)
	[[ $entry =~ ^\ *[89a-f] ]]
}

runs() { [ "$(cat "/proc/$1/comm" 2>/dev/null)" = toucher ]; }
# Has the kernel found the damage, or has the process gone?
stands_still() { dmesg | grep -q "cryo: pid $pid: two: memory from byte .* wrong checksum" || not runs "$pid"; }

# A page that nobody uses is damaged. As soon as the restart has come to it, no more pages come in the background.
order()
{
	local at restarter
	fresh
	start_toucher
	cr -f one "$pid"
	check "a first one" status_is 0
	check "the last pages are used" use small $((pages - 16)) 16
	cr --kill -f two "$pid"
	check "a second one" status_is 0
	wait "$pid" 2>/dev/null
	at=$(grep -obUaF -m 1 "small page 600." two | head -n 1)
	check "the page to be damaged is found" test -n "$at"
	printf X | dd of=two bs=1 seek="${at%%:*}" conv=notrunc status=none
	cr_restart --map --kmsg-warning two </dev/null >restart.out 2>&1 & restarter=$!
	started+=("$restarter")
	until runs "$pid" || not kill -0 "$restarter" 2>/dev/null; do pause; done
	if grep -q 'cannot be mapped, is read in full: Operation not supported' restart.out; then
		echo "# this kernel cannot map (no CONFIG_MMU_NOTIFIER)"
		kill -KILL "$pid"
		return
	fi
	until has $((pages - 1)) || stands_still; do pause; done
	check "the pages used last have come" has $((pages - 1))
	check "... all of them" eval 'for i in {1..16}; do has $((pages - i)) || exit 1; done'
	check "... one before them has not" not has $((pages - 17))
	check "... nor the one that is damaged" not has 600
	check "... nor one between them" not has 1300
	check "they are what they were" use small $((pages - 16)) 16
	kill -KILL "$pid" 2>/dev/null
	wait "$restarter" 2>/dev/null
}

# DAMON takes such notes, too: Debian's 7.2 keeps statistics in that way, of single pages all the time.
statistics=/sys/module/damon_stat/parameters/enabled
watched=$(cat "$statistics" 2>/dev/null)
[ "$watched" != Y ] || echo N >"$statistics"

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
order
[ "$watched" != Y ] || echo Y >"$statistics"
done_testing
