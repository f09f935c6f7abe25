# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2119,SC2120 # start() and preload() have optional arguments
# What the tests of the tools share. They speak TAP and run as root in the virtual machine:
#
#     tests/vm/run -- /cryo/tests/tools/files.sh
#
# Each test gets an empty directory as its current one, and every process it started is ended after it.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
busy=$here/busy
# shellcheck disable=SC2034 # used by the tests
user=cryo          # an ordinary user of the machine
count=0            # TAP lines so far
failed=0
started=()         # processes
rc=0 out='' err='' # what the last cr() gave

[ -x "$busy" ] || { echo "Bail out! $busy is missing: make tests builds it"; exit 1; }
# skip_all REASON: the test says so, and ends.
skip_all() { echo "1..0 # SKIP $*"; exit 0; }
[ "$(id -u)" = 0 ] || skip_all "these tests run as root, in the virtual machine"

base=$(mktemp -d /tmp/cryo-tools-XXXXXX)
chmod 755 "$base"
mkfifo "$base/never" # in which nothing comes
trap clean_up EXIT

clean_up()
{
	end_processes
	cd / && mountpoint -q "$base/small" && umount "$base/small"
	rm -rf "$base"
}

end_processes()
{
	local pid
	for pid in "${started[@]}"; do
		# Who has been waited for is not there: `wait` may not know that it has, and would wait for all other children.
		kill -KILL "$pid" 2>/dev/null || continue
		kill -CONT "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	started=()
}

# ok STATUS NAME: one TAP line; after a failure, what the last cr_checkpoint said.
ok()
{
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $count - $2"
	printf '%s\n' "last status $rc" "$err" "$(ls -la . 2>&1)" | sed 's/^/# /'
}

# check NAME COMMAND...: passes if the command does.
check()
{
	local name=$1 status=0
	shift
	"$@" || status=$?
	ok "$status" "$name"
}

done_testing()
{
	echo "1..$count"
	[ "$failed" -eq 0 ]
}

# A directory for the next group of checks.
fresh()
{
	end_processes
	cd "$base" || exit 1
	rm -rf "$base/work"
	mkdir "$base/work"
	chmod 777 "$base/work"
	cd "$base/work" || exit 1
}

# start [MIB]: runs busy, whose process is $pid then.
start()
{
	rm -f "$base/work/count"
	"$busy" "$base/work/count" "$@" &
	pid=$!
	started+=("$pid")
	wait_for busy_counts
}

# A restart sets what the process has open back to what it was: that is not to be this test's log.
start_quietly() { start "$@" >/dev/null 2>&1; }

# cr ARGUMENT...: runs cr_checkpoint; sets rc, out and err.
cr()
{
	rc=0
	out=$(cr_checkpoint "$@" 2>"$base/stderr") || rc=$?
	err=$(cat "$base/stderr")
}

# --- questions ----------------------------------------------------------------------

busy_counts() { [ -s "$base/work/count" ]; }
not() { ! "$@"; }
status_is() { [ "$rc" -eq "$1" ]; }
said() { [[ $err == *"$1"* ]]; }
# But for files that a job has gone on writing to in place.
silent() { [ -z "$out$(grep -v 'what has been overwritten in it since is not undone' <<<"$err")" ]; }
same() { [ "$1" = "$2" ]; }
exists() { [ -e "$1" ]; }
# A process with a device that no option has named: sets $parent.
start_obstacle()
{
	sleep 30 7</dev/kmsg >/dev/null & parent=$!
	started+=("$parent")
	wait_for eval '[ "$(<"/proc/$parent/comm")" = sleep ]'
}

no_file_but() { [ "$(find . -mindepth 1 -printf '%P\n' | sort)" = "$(printf '%s\n' "$@" | sort)" ]; }
is_context() { cr_info "$1" >/dev/null; }
state_of() { sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/status"; }
in_state() { [ "$(state_of "$1")" = "$2" ]; }

# wait_for COMMAND...: up to ten seconds until it is true.
wait_for()
{
	local i
	for ((i = 0; i < 200; i++)); do
		"$@" 2>/dev/null && return
		pause
	done
	return 1
}

# A twentieth of a second, without a process to start, which would be $! then, and without a descriptor that others inherit.
pause() { read -rt 0.05 <>"$base/never"; }

# stands_still: is the process of start() frozen?
stands_still()
{
	local before
	before=$(<"$base/work/count")
	pause
	pause
	[ "$(<"$base/work/count")" = "$before" ]
}

is_gone() { [ ! -e "/proc/$1" ] || [ "$(state_of "$1")" = Z ]; }
# writes PID: is this cr_checkpoint far enough to hold the process of start()? It has its worker then; a slow
# machine alone can make the process stand still.
writes()
{
	[ "$(<"/proc/$1/comm")" = cr_checkpoint ] &&
		[ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)" -ge 2 ] && stands_still
}

# has_child PID
has_child() { grep -q . "/proc/$1/task/$1/children"; }

# goes_on: does the process of start() count?
goes_on()
{
	local before
	before=$(<"$base/work/count")
	wait_for counted_since "$before"
}

counted_since() { [[ $(<"$base/work/count") > $1 ]]; }

# ends_with STATUS: does the process of start() end so?
ends_with()
{
	local status=0
	wait_for is_gone "$pid" || return
	wait "$pid" 2>/dev/null || status=$?
	[ "$status" -eq "$1" ]
}

# --- restarts -------------------------------------------------------------------------

end_it()
{
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	wait_for is_gone "$pid"
}

differs() { [ "$(<"$base/work/count")" != "$1" ]; }

# restarts ARGUMENT...: does it make a process that finds its memory as it left it? That ends then.
restarts()
{
	local restarter status=1 before
	before=$(<"$base/work/count")
	cr_restart "$@" </dev/null >restart.out 2>&1 & restarter=$!
	started+=("$restarter")
	wait_for differs "$before" && goes_on && goes_on && kill -0 "$restarter" && status=0
	kill -KILL "$pid" 2>/dev/null
	wait "$restarter" 2>/dev/null
	[ "$status" = 0 ] || sed 's/^/# /' restart.out
	return "$status"
}
