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

# A restart that fails leaves nothing: no mounts, no processes, no namespaces, no files.
count_namespaces() { readlink /proc/[0-9]*/ns/{mnt,pid,user} 2>/dev/null | sort -u; }
traces()
{
	cat /proc/self/mountinfo
	count_namespaces
	pgrep -u "$user"
	find /tmp /dev/shm /run /var/tmp ! -path "$base/stderr" -printf '%p %s %C@\n' | sort
}
# restart_in CGROUP
restart_in() { (echo "$BASHPID" >"$1/cgroup.procs" && exec "${as_user[@]}" cr_restart ctx); }
# fails_cleanly WHY TEXT
fails_cleanly()
{
	local before
	before=$(traces)
	rc=0
	restart_in "${cgroup:-/sys/fs/cgroup}" </dev/null >"$base/stderr" 2>&1 || rc=$?
	err=$(cat "$base/stderr")
	check "$1: no restart" not status_is 0
	check "... for that reason" said "$2"
	wait_for same "$(traces)" "$before"
	check "... and nothing is left" same "$(traces)" "$before"
	diff <(echo "$before") <(traces) | sed 's/^/# /'
}
fresh
"${as_user[@]}" mkdir source there
"${as_user[@]}" touch lock
"${as_user[@]}" unshare -UrpfC --mount-proc bash -c "exec 9<lock; flock 9; mount -t tmpfs none /mnt; echo x >/mnt/file
	mount --bind source there; sleep 900 & sleep 900 & sleep 900 & sleep 900 & $job" </dev/null >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for beyond 1
first=$(child_of "$pid")
err=$("${as_user[@]}" cr_checkpoint --tree --kill -f ctx "$pid" 2>&1)
wait_for is_gone "$first"
flock --close lock sleep 60 &
started+=("$!")
wait_for not flock -n lock true
fails_cleanly "a lock that another process has" lock
kill "${started[-1]}"
wait "${started[-1]}" 2>/dev/null
mv source gone
fails_cleanly "a mount whose source is gone" "mount $base/work/there: $base/work/source, which was mounted there, cannot be found"
mv gone source
# When some of its processes are there.
echo +pids >/sys/fs/cgroup/cgroup.subtree_control
cgroup=/sys/fs/cgroup/few
mkdir "$cgroup"
echo 6 >"$cgroup/pids.max"
fails_cleanly "too few processes" " threads exceed $cgroup/pids.max: 6"
# Enough for the job, and not for those that help it to be.
echo 8 >"$cgroup/pids.max"
fails_cleanly "too few for the restart itself" "Resource temporarily unavailable"
echo max >"$cgroup/pids.max"
last=$(turns)
restart_in "$cgroup" 2>"$base/stderr" &
started+=("$!" "$pid" "$first")
check "... afterwards it goes on, in another control group" wait_for beyond "$((last + 2))"
check "... with what was in its tmpfs" same "$(cat "/proc/$first/root/mnt/file")" x

fresh
unshare -pf --uts --ipc --net --cgroup bash -c "echo inside >/proc/sys/kernel/hostname; $job" </dev/null >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for beyond 1
goes_through root
check "... with its host name" same "$(cut -d ' ' -f 3 tick)" inside

# An administrator has switched them off since.
switch=/proc/sys/kernel/unprivileged_userns_clone
fresh
"${as_user[@]}" unshare -Ur bash -c "$job" </dev/null >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for beyond 1
as_job_user() { rc=0; err=$("${as_user[@]}" "$@" 2>&1 </dev/null) || rc=$?; }
as_job_user cr_checkpoint --tree --kill -f ctx "$pid"
wait_for is_gone "$pid"
if [ -e $switch ]; then
	echo 0 >$switch
	for how in --check --verbose; do
		as_job_user cr_restart $how ctx
		check "user namespaces are switched off, $how: refused" \
			eval 'status_is 1 && said "a user namespace of user $(id -u "$user") cannot be made: Operation not permitted (EPERM); $switch is 0"'
	done
	echo 1 >$switch
fi
as_job_user cr_restart --check ctx
check "... on: nothing stands in the way" eval 'status_is 0 && ! said "user namespace"'

done_testing
