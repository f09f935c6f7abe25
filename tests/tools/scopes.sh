#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Process groups, sessions and control groups: all of them, nobody else, and all back.
# shellcheck disable=SC2016,SC2317 # eval expands it later; functions are called by check
. "$(dirname "$0")/lib.sh"

root=/sys/fs/cgroup
mounted=
if [ "$(stat -f -c %T "$root")" != cgroup2fs ]; then
	mount -t cgroup2 cgroup2 "$root" && mounted=1
fi
trap 'end_processes; rmdir "$root"/cryo-scope/below "$root/cryo-scope" 2>/dev/null; [ -z "$mounted" ] || umount "$root"; clean_up' EXIT

# job SCRIPT: a session whose leader runs SCRIPT, in which `count NAME` is a process that counts in that file and writes its number
# to NAME.pid; sets $leader.
job()
{
	cat >job.sh <<-END
	count() { "$busy" "\$PWD/\$1" & echo "\$!" >"\$1.pid"; }
	echo "\$\$" >leader.pid
	$1
	wait
	END
	setsid bash job.sh >/dev/null 2>&1 </dev/null &
	started+=("$!")
	wait_for test -s leader.pid
	leader=$(<leader.pid)
}
numbers() { local name; for name; do cat "$name.pid"; done; }
count_on() { local name; for name; do before=$(<"$name"); wait_for eval '[[ $(<"'"$name"'") > '"$before"' ]]' || return; done; }
all_count() { local name; for name; do wait_for test -s "$name" && wait_for test -s "$name.pid" || return; done; mapfile -t -O "${#started[@]}" started < <(numbers "$@"); }
all_gone() { local pid; for pid in $(numbers "$@"); do wait_for is_gone "$pid" || return; done; }
none_there() { local pid; for pid in $(numbers "$@"); do [ ! -e "/proc/$pid" ] || return; done; }
# group, session
ids() { local name; for name; do sed 's/(.*)/-/' "/proc/$(<"$name.pid")/stat" | awk '{ print $5, $6 }'; done; }
restart()
{
	cr_restart "$@" >restart.out 2>&1 </dev/null &
	started+=("$!")
}
held() { cr_info "$1" | grep -c '^process'; }

# A group of three, of which two are the children of the first, and a process of another group that is a child, too.
fresh
job 'count a; count b; set -m; count other; set +m'
all_count a b other
was=$(ids leader a b)
cr -g --kill -f ctx "$leader"
check "-g: a process group" status_is 0
check "... all of it is gone" all_gone leader a b
check "... and nobody else" count_on other
kill -KILL "$(<other.pid)"
wait_for none_there leader a b other
rc=0
err=$(cr_restart --check --restore-pgid --restore-sid ctx 2>&1) || rc=$?
check "... --check" eval 'status_is 0'
restart --restore-pgid --restore-sid ctx
check "... runs again" count_on a b
check "... in the group and session that it had" same "$(ids leader a b)" "$was"
check "... the other one is not there" none_there other

# By a member that is not its leader: BLCR's ID is that of the group.
fresh
job 'count a; count b; count c'
all_count a b c
cr -g -f ctx "$(<a.pid)"
check "-g: a process that leads no group is no group" eval 'status_is 3 && said "there is no process group $(<a.pid)"'
check "... and all go on" count_on a b c

# A session of several groups.
fresh
job 'count a; set -m; count b; count c; set +m'
all_count a b c
was=$(ids leader a b c)
check "-s: three groups" same "$(printf '%s\n' "$was" | sort -u | wc -l)" 3
"$busy" "$PWD/outside" >/dev/null 2>&1 &
started+=("$!")
cr -s --kill -f ctx "$leader"
check "... a session" status_is 0
check "... all of it is gone" all_gone leader a b c
check "... and nobody else" count_on outside
wait_for none_there leader a b c
restart --restore-pgid --restore-sid ctx
check "... runs again" count_on a b c
check "... in the groups that it had" same "$(ids leader a b c)" "$was"

# A control group, and one below it: processes that are not each other's relatives.
if [ "$(stat -f -c %T "$root")" = cgroup2fs ] && mkdir -p "$root/cryo-scope/below"; then
	fresh
	for name in a b c outside; do
		"$busy" "$PWD/$name" >/dev/null 2>&1 &
		echo "$!" >"$name.pid"
	done
	all_count a b c outside
	for name in a b; do cat "$name.pid" >"$root/cryo-scope/cgroup.procs"; done
	cat c.pid >"$root/cryo-scope/below/cgroup.procs"
	cr --cgroup --kill -f ctx "$(<a.pid)"
	check "--cgroup: a control group, and what is below it" status_is 0
	check "... all of it is gone" all_gone a b c
	check "... and nobody else" count_on outside
	wait_for none_there a b c
	restart ctx
	check "... runs again" count_on a b c
	in_groups() { for name; do sed -n 's/^0:://p' "/proc/$(<"$name.pid")/cgroup"; done; }
	check "... in their groups" same "$(in_groups a b c)" $'/cryo-scope\n/cryo-scope\n/cryo-scope/below'
else
	check "--cgroup # SKIP no control groups" true
fi

# Only the process: what it has started is somebody else's.
fresh
job 'count a; count b'
all_count a b
cr -p -f ctx "$leader"
check "-p: the process alone" eval 'status_is 0'
check "... all go on" count_on a b
rc=0
err=$(cr_info ctx 2>&1)
check "... it alone is in the context" eval '! said "busy"'

# A process in the group of a script that starts it, and starts it again: in the script's group, from a group of its own in the same
# session, and when the script has gone.
fresh
cat >batch.sh <<-END
echo "\$\$" >leader.pid
"$busy" "\$PWD/a" & echo "\$!" >a.pid
until [ -e first ]; do sleep 0.1; done
cr_restart --restore-pgid ctx &
until [ -e second ]; do sleep 0.1; done
set -m
cr_restart --restore-pgid ctx &
wait
END
setsid bash batch.sh >batch.out 2>&1 </dev/null &
started+=("$!")
wait_for test -s leader.pid
leader=$(<leader.pid)
all_count a
was=$(ids a)
check "a process in the group of a script" same "$was" "$leader $leader"
for go in first second; do
	cr --kill -f ctx "$(<a.pid)"
	wait_for none_there a
	touch $go
	check "... that starts it again ($go): it runs" count_on a
	check "... in the same group" same "$(ids a)" "$was"
	err=$(cat batch.out)
done
cr --kill -f ctx "$(<a.pid)"
wait_for none_there a
kill -KILL "$leader"
wait_for is_gone "$leader"
rc=0
err=$(cr_restart --check --restore-pgid ctx 2>&1) || rc=$?
check "... and when the script has gone" status_is 0
restart --restore-pgid ctx
check "... it runs" count_on a
check "... in that group" same "$(ids a | cut -d ' ' -f 1)" "$leader"
end_processes

# Somebody of a tree is killed at any moment of its checkpoint: it is not said that there is nothing.
fresh
job 'for i in {1..40}; do sleep 1000 & echo "$!" >>children; done; touch all'
wait_for test -e all
nothing=0 exited=0
for i in {1..20}; do
	cr_checkpoint --tree --no-snapshot -f ctx "$leader" 2>err & tool=$!
	sleep "0.$((RANDOM % 5))$((RANDOM % 10))"
	kill -KILL "$(sed -n "${i}p" children)"
	wait "$tool"
	! grep -q 'there is nothing to be checkpointed' err || nothing=$((nothing + 1))
	! grep -q 'or another one of its job has exited' err || exited=$((exited + 1))
done
echo "# $((exited + nothing)) of 20 checkpoints failed because of that"
check "somebody of a tree is killed: it is said that there is nothing $nothing times" test "$nothing" = 0

done_testing
