#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Pages that processes share since fork() and control groups: the job's group pays for them, once; and no more than half of what it
# may have cannot be reclaimed while a context is written, so that the rest is in the context for each process.
. "$(dirname "$0")/lib.sh"

root=/sys/fs/cgroup
group=$root/cryo-forked
echo +memory >"$root/cgroup.subtree_control" 2>/dev/null
mkdir -p "$group"
[ -e "$group/memory.max" ] || { rmdir "$group"; skip_all "no control groups of version 2 with limits of memory"; }
trap 'end_processes; echo 1 >"$group/cgroup.kill"; wait_for rmdir "$group"; clean_up' EXIT

cat >"$base/family.pl" <<'END'
my $text = ""; $text .= "y" x (1 << 20) for 1 .. 32;
for (1, 2) { next if fork; sleep 1 while 1; }
open(my $ready, ">", "ready"); close($ready);
sleep 1 while 1;
END
start_family()
{
	fresh
	setsid sh -c "echo \$\$ >'$group/cgroup.procs'; exec perl '$base/family.pl'" >/dev/null 2>&1 </dev/null &
	pid=$!
	started+=("$pid")
	wait_for exists ready
}
kib_of_group() { awk '$1 == "anon" { print int($2 / 1024) }' "$group/memory.stat"; }
kib_of_context() { echo $(($(stat -c %s ctx) / 1024)); }
all_are_gone() { ! grep -q . "$group/cgroup.procs"; }
is_up() { [ "$(wc -l <"$group/cgroup.procs")" = 3 ] && [ -e up ]; }

for option in '' --no-map; do
	start_family
	before=$(kib_of_group)
	cr --tree --kill -f ctx "$pid"
	check "a checkpoint of three processes" status_is 0
	check "... their memory is in the context once: $(kib_of_context) KiB, of $before" test "$(kib_of_context)" -lt $((before + 4096))
	check "... of two processes cr_info says that they share it" same "$(cr_info ctx | grep -c 'shared with processes before it: 3[0-9]')" 2
	wait_for all_are_gone
	# shellcheck disable=SC2086 # no option, or one
	cr_restart $option --run-on-success='touch up' ctx >/dev/null 2>&1 &
	started+=("$!")
	check "they run again $option" wait_for is_up
	now=$(kib_of_group)
	check "... their control group has no more memory than before: $now KiB, before $before" test "$now" -lt $((before + 4096))
	check "... and all of it: $now KiB, before $before" test "$now" -gt $((before * 9 / 10))
	echo 1 >"$group/cgroup.kill"
	wait_for all_are_gone
done

start_family
before=$(kib_of_group)
echo $((before * 3 / 2))K >"$group/memory.max"
cr --tree --kill -f ctx "$pid"
check "a checkpoint of processes that have two thirds of what they may have" status_is 0
most=$((before * 3 / 4)) size=$(kib_of_context)
check "... a part is in the context three times: $size KiB, of $before" test "$size" -gt $((before + before - most))
check "... but not all: $size KiB, of $before" test "$size" -lt $((before * 2))
wait_for all_are_gone
echo max >"$group/memory.max"
cr_restart --run-on-success='touch up' ctx >/dev/null 2>&1 &
started+=("$!")
check "they run again" wait_for is_up

done_testing
