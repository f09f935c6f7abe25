#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Programs and files on an overlay and behind a bind mount: found by their path, with the identity that
# stat(2) tells.
. "$(dirname "$0")/lib.sh"

layers=$base/layers
merged=$base/merged
trap 'end_processes; cd /; umount -l "$merged" "$base/bound" "$layers" 2>/dev/null; clean_up' EXIT

modprobe overlay 2>/dev/null
mkdir "$layers" "$merged" "$base/bound"
mount -t tmpfs tmpfs "$layers"
mkdir "$layers/lower" "$layers/upper" "$layers/work"
cp "$busy" "$layers/lower/prog"
echo "from below" >"$layers/lower/input"
mount -t overlay overlay -o "lowerdir=$layers/lower,upperdir=$layers/upper,workdir=$layers/work" "$merged" || skip_all "this kernel has no overlayfs"
mount --bind "$merged" "$base/bound"

# runs_in DIRECTORY: a process whose program and files are there.
runs_in()
{
	fresh
	cd "$1" || exit 1
	rm -f count
	# Not the log of this test, which a restart would cut back.
	./prog count 5<input 6>>log >/dev/null 2>&1 &
	pid=$!
	started+=("$pid")
	wait_for test -s count
}
counts_again() { ! cmp -s count count.old; }
mapped() { grep -q " $1\$" "/proc/$pid/maps"; }

for place in "$merged" "$base/bound"; do
	runs_in "$place"
	read -r -n 5 _ <"/proc/$pid/fd/5"
	cr --kill -f "$base/ctx" "$pid"
	check "$place: a checkpoint" status_is 0
	wait_for is_gone "$pid"
	rc=0
	err=$(cr_restart --check "$base/ctx" 2>&1) || rc=$?
	check "... nothing stands in the way, and nothing has changed" eval 'status_is 0 && silent'
	cp count count.old
	cr_restart "$base/ctx" 2>"$base/stderr" &
	started+=("$!" "$pid")
	check "... a restart" wait_for counts_again
	err=$(cat "$base/stderr")
	check "... of that program" same "$(readlink "/proc/$pid/exe")" "$place/prog"
	check "... mapped from there" mapped "$place/prog"
	check "... with its file from below" same "$(readlink "/proc/$pid/fd/5")" "$place/input"
	check "... and from above" same "$(readlink "/proc/$pid/fd/6")" "$place/log"
	kill -KILL "$pid"
	wait_for is_gone "$pid"
done

# Copied up: another inode below, the same file to everybody who asks.
echo "more" >>"$merged/prog"
rc=0
err=$(cr_restart --check "$base/ctx" 2>&1) || rc=$?
check "a program changed in the upper layer is refused" eval 'status_is 116 && said "prog: size "'

done_testing
