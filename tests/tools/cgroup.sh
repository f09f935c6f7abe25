#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The control group is joined again where that is possible.
. "$(dirname "$0")/lib.sh"

root=/sys/fs/cgroup
mounted=
if [ "$(stat -f -c %T "$root")" != cgroup2fs ]; then
	mount -t cgroup2 cgroup2 "$root" || skip_all "no control groups"
	mounted=1
fi
group=$root/cryo-test
trap 'end_processes; rmdir "$group/step" "$group" 2>/dev/null; [ -z "$mounted" ] || umount "$root"; clean_up' EXIT
mkdir -p "$group/step"

group_of() { sed -n 's/^0:://p' "/proc/$1/cgroup"; }
counts_again() { ! cmp -s count count.old; }
runs()
{
	cp count count.old
	cr_restart "$@" ctx 2>"$base/stderr" &
	started+=("$!" "$pid")
	wait_for counts_again
}

fresh
start >/dev/null 2>&1
echo "$pid" >"$group/step/cgroup.procs"
cr --kill -f ctx "$pid"
check "a checkpoint" status_is 0
wait_for is_gone "$pid"
check "a restart" runs
check "... in its control group" same "$(group_of "$pid")" /cryo-test/step
check "... cr_restart stays in its own" not same "$(group_of "${started[-2]}")" /cryo-test/step
kill -KILL "$pid"
wait_for is_gone "$pid"
wait_for rmdir "$group/step"
rc=0
err=$(cr_restart --check --verbose ctx 2>&1) || rc=$?
check "without the group: nothing stands in the way" status_is 0
check "... and it is told" said "stays in the control group of cr_restart, not /cryo-test/step: No such file"
check "... it runs" runs
check "... in that of cr_restart" same "$(group_of "$pid")" "$(group_of self)"

done_testing
