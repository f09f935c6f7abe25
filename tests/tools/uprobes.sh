#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Processes whose functions are watched by uprobes, as bpftrace and perf do: it is their own code that is saved, whether the probes are
# still there at the restart or not. Return probes are refused by name while a function is watched.
. "$(dirname "$0")/lib.sh"
tracing=/sys/kernel/tracing
mountpoint -q $tracing || mount -t tracefs tracefs $tracing 2>/dev/null
[ -w $tracing/uprobe_events ] || skip_all "this kernel has no uprobes"
probed=$(dirname "$busy")/probed
fresh
cp "$probed" "$base/probed"
often='' patched='' rarely='' inside='' malloc=''
eval "$("$probed" offsets)"

probe()
{
	local where
	for where; do
		echo "p:cryotest/${where%%:*}_$RANDOM $base/probed:${where#*:}" >>$tracing/uprobe_events || return
	done
	echo 1 >$tracing/events/cryotest/enable
}
probe_return() { echo "r:cryotest/return $base/probed:$1" >>$tracing/uprobe_events && echo 1 >$tracing/events/cryotest/enable; }
unprobe()
{
	[ -d $tracing/events/cryotest ] || return 0
	echo 0 >$tracing/events/cryotest/enable
	# Who is being traced may hold it for a moment.
	wait_for eval "echo >$tracing/uprobe_events"
}
run()
{
	fresh
	"$base/probed" "$base/work/count" >/dev/null 2>&1 &
	pid=$!
	started+=("$pid")
	wait_for busy_counts
	goes_on
}
has_area() { grep -q '\[uprobes' "/proc/$pid/maps"; }
goes_far()
{
	rm -f "$base/work/count.gone"
	touch "$base/work/count.go"
	wait_for [ -e "$base/work/count.gone" ] && goes_on
}
# restart_far: as restarts, and it can call what it has not called before.
restart_far()
{
	local restarter status=1 before
	before=$(<"$base/work/count")
	cr_restart "$@" </dev/null >restart.out 2>&1 & restarter=$!
	started+=("$restarter")
	wait_for differs "$before" && goes_on && goes_far && goes_on && kill -0 "$restarter" && status=0
	kill -KILL "$pid" 2>/dev/null
	wait "$restarter" 2>/dev/null
	[ "$status" = 0 ] || sed 's/^/# /' restart.out
	return "$status"
}
kills() { cr "$@" --kill -f ctx "$pid" && wait_for is_gone "$pid"; status_is 0 || { echo "# $err"; return 1; }; }

for how in "" --no-snapshot; do
	probe often:"$often" patched:"$patched" rarely:"$rarely"
	run
	check "probes that have been hit${how:+ ($how)}" has_area
	# shellcheck disable=SC2086 # none, or one
	cr $how -f ctx "$pid"
	check "... a checkpoint" status_is 0 || echo "# $err"
	check "... it goes on" goes_on
	# shellcheck disable=SC2086
	check "... and once more, with its end" kills $how
	check "... is restarted, with the probes there" restart_far ctx
	unprobe
	check "... and without them" restart_far ctx
	check "... not mapped" restart_far --no-map ctx
	run
	check "without a probe" not has_area
	# shellcheck disable=SC2086
	check "... a checkpoint" kills $how
	probe often:"$often" rarely:"$rarely"
	check "... is restarted with probes that were not there" restart_far ctx
	unprobe
	run
	probe rarely:"$rarely"
	# shellcheck disable=SC2086
	check "a probe that has not been hit" kills $how
	unprobe
	check "... is restarted without it" restart_far ctx
	probe often:"$often" patched:"$patched"
	run
	unprobe
	# shellcheck disable=SC2086
	check "a probe that has gone" kills $how
	check "... is restarted" restart_far ctx
done

run
touch "$base/work/count.stay"
probe_return "$inside"
rm "$base/work/count.stay"
goes_on
touch "$base/work/count.stay"
pause
goes_on
cr --kill -f ctx "$pid"
check "in a function with a return probe: refused" status_is 52 || echo "# $err"
check "... by that name" said "is in a function with a return probe (uretprobe): remove it"
check "... it goes on" goes_on
check "... there is no context" [ ! -e ctx ]
rm "$base/work/count.stay"
unprobe
pause
goes_on
check "... which has returned: not refused" kills
check "... is restarted" restart_far ctx

# cr_restart's own process, which has an area for its probes when it becomes another.
libc=$(ldd "$(command -v cr_restart)" | sed -n 's/.*libc\.so[.0-9]* => \(\/[^ ]*\).*/\1/p')
probe often:"$often"
echo "p:cryotest/malloc $libc:$malloc" >>$tracing/uprobe_events
echo 1 >$tracing/events/cryotest/enable
run
check "cr_restart with a probe of its own: a checkpoint" kills
check "... a restart" restart_far ctx
check "... not mapped" restart_far --no-map ctx
unprobe
done_testing
