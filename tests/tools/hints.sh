#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What cr_restart and cr_checkpoint say where something is as it should be, but not as one may expect, and what they advise.
. "$(dirname "$0")/lib.sh"

as_user() { setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
# hold COMMAND...: the context of it, which counts in the file count, and has ended.
hold()
{
	fresh
	: >in
	"$@" &
	pid=$!
	started+=("$pid")
	wait_for test -s count
	cr --kill -f ctx "$pid"
	wait "$pid" 2>/dev/null
	wait_for is_gone "$pid"
}
# dry COMMAND...: the status and the lines of a restart.
dry() { rc=0; err=$("$@" 2>&1 </dev/null) || rc=$?; }
counting() { exec "$busy" "$base/work/count" 6<in >/dev/null 2>&1 </dev/null; }

hold setsid "$busy" count >/dev/null 2>&1 </dev/null
dry cr_restart --check ctx
check "who led a process group, and gets into one that others are in, is warned" \
	eval 'status_is 0 && said "warning: pid $pid: led a process group, and is put into that of cr_restart, with pid " && said "(--restore-pgid gives it its own group again)"'
dry cr_restart --check --restore-pgid ctx
check "... not where that is restored" eval 'status_is 0 && ! said "led a process group"'
dry setsid --wait cr_restart --check ctx
check "... nor where cr_restart is alone in its group" eval 'status_is 0 && ! said "led a process group"'

hold counting
dry cr_restart --check ctx
check "who led none is not warned" eval 'status_is 0 && ! said "led a process group"'
done_testing
