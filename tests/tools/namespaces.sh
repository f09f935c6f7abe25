#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What unshare(1) has made goes on in new namespaces: an ordinary user's, and root's.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016 # of the shell inside
job='n=0; while :; do n=$((n + 1)); echo "$$ $(id -u) $(uname -n) $n" >tick.new; mv tick.new tick; sleep 0.1; done'

turns() { cut -d ' ' -f 4 tick 2>/dev/null; }
beyond() { [ "$(turns)" -gt "$1" ] 2>/dev/null; }
inside() { cut -d ' ' -f 1-3 tick; }
of() { readlink "/proc/$1/ns/$2"; }
child_of() { cut -d ' ' -f 1 "/proc/$1/task/$1/children"; }

# goes_through WHO [COMMAND...]: through which the tools are run; $pid is unshare's.
goes_through()
{
	local who=$1 before last first
	shift
	first=$(child_of "$pid")
	before=$(inside)
	rc=0
	err=$("$@" cr_checkpoint --tree --kill -f ctx "$pid" 2>&1) || rc=$?
	check "$who: a checkpoint" status_is 0
	wait_for is_gone "$first"
	last=$(turns)
	check "... names the namespaces" grep -q "^pid namespace" <(cr_info ctx)
	"$@" cr_restart ctx 2>"$base/stderr" &
	started+=("$!" "$pid" "$first")
	check "... it goes on" wait_for beyond "$((last + 2))"
	err=$(cat "$base/stderr")
	check "... and sees the same inside" same "$(inside)" "$before"
	check "... under the same pids outside" same "$(child_of "$pid")" "$first"
	check "... in a pid namespace" not same "$(of "$first" pid)" "$(of self pid)"
}

as_user=(setpriv --reuid="$user" --regid="$user" --init-groups)
fresh
"${as_user[@]}" unshare -Urpf bash -c "$job" </dev/null >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for beyond 1
goes_through "an ordinary user" "${as_user[@]}"

# In a mount namespace, too, with a /proc of its own.
mounted() { sed 's/^[0-9]* [0-9]* [0-9:]* //' "/proc/$1/mountinfo" | sort; }
fresh
"${as_user[@]}" unshare -Urpf --mount-proc bash -c "mount -t tmpfs -o size=64k none /mnt; $job" </dev/null >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for beyond 1
first=$(child_of "$pid")
mounts=$(mounted "$first")
goes_through "with mounts of its own" "${as_user[@]}"
check "... in a mount namespace" not same "$(of "$first" mnt)" "$(of self mnt)"
check "... that it shares with its parent" same "$(of "$first" mnt)" "$(of "$pid" mnt)"
check "... with the same mounts" same "$(mounted "$first")" "$mounts"
check "... and a /proc that shows its pid namespace" same "$(cut -d ' ' -f 1 "/proc/$first/root/proc/1/stat")" 1
check "... none of them outside" not grep -q " /mnt " /proc/self/mountinfo
fresh
unshare -pf --uts --ipc --net --cgroup bash -c "echo inside >/proc/sys/kernel/hostname; $job" </dev/null >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for beyond 1
goes_through root
check "... with its host name" same "$(cut -d ' ' -f 3 tick)" inside

done_testing
