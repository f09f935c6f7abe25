#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The control group is joined again where that is possible; those that have gone are made again where that is wanted.
. "$(dirname "$0")/lib.sh"

root=/sys/fs/cgroup
mounted=
if [ "$(stat -f -c %T "$root")" != cgroup2fs ]; then
	mount -t cgroup2 cgroup2 "$root" || skip_all "no control groups"
	mounted=1
fi
group=$root/cryo-test
remove_groups()
{
	local all
	mapfile -t all < <(find "$group" "$root/cryo-user" -depth -type d 2>/dev/null)
	[ ${#all[@]} -eq 0 ] || rmdir "${all[@]}"
}
trap 'end_processes; remove_groups 2>/dev/null; [ -z "$mounted" ] || umount "$root"; clean_up' EXIT
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
told() { err=$(cat "$base/stderr"); said "$1"; }
# end_job: kills the job, and waits until it may be started again.
end_job()
{
	kill -KILL "$pid" 2>/dev/null
	wait_for is_gone "$pid"
}
# restart ARGUMENT...: what fails, or only checks.
restart()
{
	rc=0
	err=$(cr_restart "$@" ctx 2>&1) || rc=$?
}
setting() { cat "$group/$1"; }

fresh
start >/dev/null 2>&1
echo "$pid" >"$group/step/cgroup.procs"
cr --kill -f ctx "$pid"
check "a checkpoint" status_is 0
wait_for is_gone "$pid"
check "a restart" runs
check "... in its control group" same "$(group_of "$pid")" /cryo-test/step
check "... cr_restart stays in its own" not same "$(group_of "${started[-2]}")" /cryo-test/step
end_job
wait_for rmdir "$group/step"
restart --check --verbose
check "without the group: nothing stands in the way" status_is 0
check "... and it is told" said "stays in the control group of cr_restart, not /cryo-test/step: No such file"
check "... it runs" runs
check "... in that of cr_restart" same "$(group_of "$pid")" "$(group_of self)"
check "... and the group is not made" not exists "$group/step"
end_job

echo "+pids" >"$root/cgroup.subtree_control"
check "the pids controller" same "$(cat "$root/cgroup.subtree_control" | grep -ow pids)" pids
fresh
mkdir -p "$group/step"
echo +pids >"$group/cgroup.subtree_control"
echo 99 >"$group/step/pids.max"
echo 3 >"$group/cgroup.max.depth"
start >/dev/null 2>&1
echo "$pid" >"$group/step/cgroup.procs"
cr --kill -f ctx "$pid"
check "a group with settings: a checkpoint" status_is 0
info=$(cr_info ctx)
check "cr_info shows the groups" grep -q 'control group /cryo-test/step' <<<"$info"
check "... that they were the job's alone" grep -q 'of the job alone, mode 0755, user 0, group 0' <<<"$info"
check "... and their settings" grep -q 'pids.max  *99' <<<"$info"
check "... as JSON, too" grep -q '"pids.max": *"99"' <<<"$(cr_info --json ctx)"
check "commands are not among them" not grep -qE 'cgroup.procs|cgroup.kill|memory.reclaim|\.pressure  *(some|full)' <<<"$info"
wait_for is_gone "$pid"

echo 7 >"$group/step/pids.max"
check "settings of a group that is there: it runs with --cgroups=make" runs --cgroups=make
check "... in it" same "$(group_of "$pid")" /cryo-test/step
check "... which stays as it is" same "$(setting step/pids.max)" 7
end_job

wait_for remove_groups
check "--cgroups=leave: it runs" runs --cgroups=leave
check "... in the group of cr_restart" same "$(group_of "$pid")" "$(group_of self)"
check "... and none is made" not exists "$group"
end_job

check "--cgroups=make: it runs" runs --cgroups=make
check "... in its group" same "$(group_of "$pid")" /cryo-test/step
check "... with its settings" same "$(setting step/pids.max) $(setting cgroup.max.depth) $(setting cgroup.subtree_control)" "99 3 pids"
check "... without a warning" same "$(grep -v 'overwritten in it since' "$base/stderr")" ""
end_job
check "... nobody removes it" exists "$group/step"
wait_for remove_groups

check "--cgroups=strict: it runs" runs --cgroups=strict
check "... in its group" same "$(group_of "$pid")" /cryo-test/step
end_job
wait_for remove_groups

# A controller that those below may not have any more.
echo -pids >"$root/cgroup.subtree_control"
restart --check --cgroups=strict
check "a controller is missing: --cgroups=strict refuses" not status_is 0
check "... and names it" said "control group /cryo-test: controller pids is not enabled in /sys/fs/cgroup/cgroup.subtree_control"
restart --check --cgroups=make
check "... --cgroups=make warns" status_is 0
check "... of the same" said "warning: control group /cryo-test: controller pids is not enabled in"
check "... it runs" runs --cgroups=make
check "... without it" told "warning: control group /cryo-test/step: pids.max cannot be set to '99': the group above it does not have the controller"
check "... and what it could not give" told "control group /cryo-test: cannot enable controller pids in cgroup.subtree_control: No such file"
check "... in its group" same "$(group_of "$pid")" /cryo-test/step
end_job
wait_for remove_groups
echo +pids >"$root/cgroup.subtree_control"

restart --cgroups=often
check "an unknown policy is named" said "--cgroups takes 'join', 'make', 'leave' or 'strict', not 'often'"

# Somewhere else than usual.
fresh
mkdir -p "$group/step" elsewhere
echo +pids >"$group/cgroup.subtree_control"
echo 31 >"$group/step/pids.max"
start >/dev/null 2>&1
echo "$pid" >"$group/step/cgroup.procs"
mount -t cgroup2 cgroup2 elsewhere
umount "$root"
cr --kill -f ctx "$pid"
check "the hierarchy is mounted elsewhere: a checkpoint" status_is 0
wait_for is_gone "$pid"
rmdir elsewhere/cryo-test/step elsewhere/cryo-test
check "... a restart" runs --cgroups=strict
check "... in the group" same "$(group_of "$pid")" /cryo-test/step
check "... made there" same "$(cat elsewhere/cryo-test/step/pids.max)" 31
end_job
mount -t cgroup2 cgroup2 "$root"
umount elsewhere
wait_for remove_groups

# Outside of the group of a privileged cr_restart.
fresh
mkdir -p "$group/step" "$root/cryo-user"
start >/dev/null 2>&1
echo "$pid" >"$group/step/cgroup.procs"
cr --kill -f ctx "$pid"
wait_for is_gone "$pid"
restart_elsewhere()
{
	cp count count.old
	bash -c 'echo $$ >"$0/cgroup.procs"; exec cr_restart "$@" ctx' "$root/cryo-user" "$@" 2>"$base/stderr" &
	started+=("$!" "$pid")
	wait_for counts_again
}
check "outside of that of root's cr_restart: it runs" restart_elsewhere --verbose
check "... and stays there" same "$(group_of "$pid")" /cryo-user
check "... which is told" told "it is outside of that one, and cr_restart is privileged"
end_job
check "--cgroups=make: it runs" restart_elsewhere --cgroups=make
check "... in its own" same "$(group_of "$pid")" /cryo-test/step
check "... without a word" same "$(grep -v 'overwritten in it since' "$base/stderr")" ""
end_job
wait_for remove_groups

# Frozen when it was saved.
fresh
mkdir -p "$group/step"
start >/dev/null 2>&1
echo "$pid" >"$group/step/cgroup.procs"
echo 1 >"$group/step/cgroup.freeze"
wait_for grep -q 'frozen 1' "$group/step/cgroup.events"
cr --kill -f ctx "$pid"
check "a frozen group: a checkpoint" status_is 0
wait_for is_gone "$pid"
wait_for remove_groups
cp count count.old
cr_restart --cgroups=make ctx 2>"$base/stderr" &
started+=("$!" "$pid")
check "... made again, it is frozen" wait_for grep -q 'frozen 1' "$group/step/cgroup.events"
pause; pause
check "... nothing has run" not counts_again
echo 0 >"$group/step/cgroup.freeze"
check "... thawed, it goes on" wait_for counts_again
end_job
wait_for remove_groups

# Not the job's alone.
fresh
mkdir -p "$group/step"
start >/dev/null 2>&1
echo "$pid" >"$group/step/cgroup.procs"
sleep 1000 & sleeper=$!
started+=("$sleeper")
echo "$sleeper" >"$group/step/cgroup.procs"
cr --kill -f ctx "$pid"
check "others are in the group: a checkpoint" status_is 0
check "... which is not the job's" not grep -q 'control group' <<<"$(cr_info ctx)"
wait_for is_gone "$pid"
kill "$sleeper"
wait "$sleeper" 2>/dev/null
wait_for remove_groups
restart --cgroups=strict
check "... --cgroups=strict refuses" not status_is 0
check "... and says where it cannot be" said "cannot be in its control group /cryo-test/step: No such file"
restart --check --cgroups=make
check "... --check --cgroups=make says that it is not made" eval 'status_is 0 &&
	said "warning: pid $pid: stays in the control group of cr_restart, not /cryo-test/step: No such file or directory (ENOENT); it is not recreated, as processes outside"'
check "... --cgroups=make runs it" runs --cgroups=make
check "... and says where it is, and why" told "warning: pid $pid: is in the control group $(group_of self), not /cryo-test/step: No such file"
end_job

# A limit that came when there were more of them: they are not forked in it.
fresh
mkdir -p "$group/step"
echo +pids >"$group/cgroup.subtree_control"
bash -c 'sleep 1000 & wait' </dev/null >/dev/null 2>&1 & pid=$!
started+=("$pid")
wait_for pgrep -P "$pid" sleep
for p in "$pid" $(pgrep -P "$pid"); do echo "$p" >"$group/step/cgroup.procs"; done
echo 1 >"$group/step/pids.max"
cr --tree --kill -f ctx "$pid"
check "a group with more processes than it may have: a checkpoint" status_is 0
wait_for is_gone "$pid"
wait_for remove_groups
cr_restart --cgroups=strict ctx 2>"$base/stderr" &
started+=("$!" "$pid")
in_group() { [ "$(group_of "$pid")" = /cryo-test/step ] && [ "$(wc -l <"$group/step/cgroup.procs")" = 2 ]; }
check "... a restart" wait_for in_group
check "... with the limit" same "$(setting step/pids.max)" 1
kill -KILL "$(pgrep -P "$pid" sleep)"
end_job
wait_for remove_groups

# An ordinary user, in what is delegated to him.
fresh
u=$root/cryo-user
mkdir "$u"
echo +pids >"$u/cgroup.subtree_control"
mkdir "$u/shell"
chown "$user" "$u" "$u/cgroup.procs" "$u/cgroup.subtree_control" "$u/cgroup.threads" "$u/shell" "$u/shell"/cgroup.{procs,threads,subtree_control}
# as_user COMMAND: a shell in the group "shell".
as_user() { bash -c "echo \$\$ >$u/shell/cgroup.procs; exec runuser -u $user -- bash -c '$1'"; }
as_user "mkdir -p $u/job/step; echo +pids >$u/job/cgroup.subtree_control; echo 55 >$u/job/step/pids.max; chmod 700 $u/job/step"
chown "$user" .
as_user "exec $busy $base/work/count" </dev/null >/dev/null 2>&1 &
started+=("$!")
wait_for busy_counts
pid=$(pgrep -u "$user" -x busy)
started+=("$pid")
as_user "echo $pid >$u/job/step/cgroup.procs"
check "a user's own groups" same "$(group_of "$pid")" /cryo-user/job/step
as_user "cr_checkpoint --kill -f $base/work/ctx $pid"
check "... a checkpoint" exists ctx
wait_for is_gone "$pid"
wait_for rmdir "$u/job/step"
wait_for rmdir "$u/job"
cp count count.old
as_user "exec cr_restart --cgroups=strict $base/work/ctx" 2>"$base/stderr" &
started+=("$!" "$pid")
check "... a restart" wait_for counts_again
check "... without a word" same "$(grep -v 'overwritten in it since' "$base/stderr")" ""
check "... in them" same "$(group_of "$pid")" /cryo-user/job/step
check "... with their settings" same "$(cat "$u/job/step/pids.max") $(cat "$u/job/cgroup.subtree_control")" "55 pids"
check "... which are his" same "$(stat -c %U:%a "$u/job/step" "$u/job")" "$user:700
$user:755"
end_job
wait_for rmdir "$u/job/step"
wait_for rmdir "$u/job"

# The group is his, but not all that he would have to leave.
rc=0
err=$(runuser -u "$user" -- cr_restart --check --cgroups=strict "$base/work/ctx" 2>&1) || rc=$?
check "from outside of it: strict refuses" not status_is 0
check "... and says why" said "cannot be in its control group /cryo-user/job/step: a move from $(group_of self) takes the right to write to $root/cgroup.procs: Permission denied"

# One that root has made there cannot be root's again: that comes out when all is made.
mkdir "$u/job"
as_user "exec cr_restart $base/work/ctx" 2>"$base/stderr" &
started+=("$!" "$pid")
cp count count.old
check "in a group that root has made: a restart" wait_for counts_again
echo "$pid" >"$u/job/cgroup.procs"
as_user "cr_checkpoint --kill -f $base/work/roots $pid"
wait_for is_gone "$pid"
wait_for rmdir "$u/job"
rc=0
err=$(as_user "exec cr_restart --cgroups=strict $base/work/roots" 2>&1) || rc=$?
check "... strict: the restart fails" not status_is 0
check "... and says why" said "control group /cryo-user/job: cannot be given to user 0 and group 0: Operation not permitted"
check "... what it has made has gone" not exists "$u/job"
cp count count.old
as_user "exec cr_restart --cgroups=make $base/work/roots" 2>"$base/stderr" &
started+=("$!" "$pid")
check "... make: it runs" wait_for counts_again
check "... with a warning" told "warning: control group /cryo-user/job: cannot be given to user 0 and group 0"
check "... in its group" same "$(group_of "$pid")" /cryo-user/job
end_job
wait_for rmdir "$u/job"

# The same by root: with the user's rights.
check "root restarts it" runs --cgroups=strict --other-owner=warn
check "... in them" same "$(group_of "$pid")" /cryo-user/job/step
check "... which are the user's" same "$(stat -c %U:%a "$u/job/step" "$u/job/step/cgroup.procs")" "$user:700
$user:644"
end_job
wait_for rmdir "$u/job/step"
wait_for rmdir "$u/job"
chown root "$u"
restart --cgroups=strict --other-owner=warn
check "where the user may not make them, root does not" not status_is 0
check "... and says so" said "control group /cryo-user/job: is not going to be made: Permission denied"
check "... none is there" not exists "$u/job"


# Another user's job, in groups of root's: what counts is what that user may.
fresh
mkdir -p "$group/step"
chown "$user" .
(exec setpriv --reuid "$user" --regid "$user" --clear-groups "$busy" "$base/work/count") </dev/null >/dev/null 2>&1 & pid=$!
started+=("$pid")
wait_for busy_counts
echo "$pid" >"$group/step/cgroup.procs"
cr --kill -f ctx "$pid"
check "another user's job in groups of root's: a checkpoint" status_is 0
wait_for is_gone "$pid"
rc=0
err=$(bash -c 'echo $$ >"$0/cgroup.procs"; exec cr_restart "$@" ctx' "$u/shell" --check --cgroups=make --other-owner=warn 2>&1) || rc=$?
check "... they are there, and that user may not enter them: it is told" \
	said "not /cryo-test/step: Permission denied (EACCES) (with the rights of user $(id -u "$user"), whose process it is)"
wait_for remove_groups
restart --check --cgroups=make --other-owner=warn
check "... that user may not make them: it is told" \
	said "control group /cryo-test: is not going to be made: Permission denied (EACCES) (with the rights of user $(id -u "$user"), whose process it is)"

# As many processes as there may be: in a group above that of the job, and in cr_restart's own, where they may be forked.
fresh
mkdir -p "$group/above/step" "$group/service"
echo +pids >"$group/cgroup.subtree_control"
echo +pids >"$group/above/cgroup.subtree_control"
bash -c 'for i in 1 2 3 4; do sleep 900 & done; exec "$0" "$1"' "$busy" "$base/work/count" </dev/null >/dev/null 2>&1 & pid=$!
started+=("$pid")
wait_for busy_counts
for one in "$pid" $(cat "/proc/$pid/task/$pid/children"); do echo "$one" >"$group/above/step/cgroup.procs"; done
cr --tree --kill -f ctx "$pid"
check "five processes in a group below another: a checkpoint" status_is 0
wait_for is_gone "$pid"
echo 4 >"$group/above/pids.max"
restart --check
check "... that one is too small: --check says so" said "5 threads exceed $group/above/pids.max: 4, of which 0 are in use"
echo max >"$group/above/pids.max"
in_service() { bash -c 'echo $$ >"$0/cgroup.procs"; exec cr_restart --cgroups=strict "$@" ctx' "$group/service" "$@"; }
echo 5 >"$group/service/pids.max"
rc=0
err=$(in_service --check 2>&1) || rc=$?
check "cr_restart's own may be, for the moment: --check warns" eval 'status_is 0 && said "warning: up to 7 threads may be in $group/service for the moment while they are made, where pids.max allows 5, of which 1 are in use"'
rc=0
err=$(in_service --check --cgroups=leave 2>&1) || rc=$?
check "... who stays there needs it" said "5 threads exceed $group/service/pids.max: 5, of which 1 are in use"
echo 20 >"$group/service/pids.max"
cp count count.old
in_service >/dev/null 2>&1 & started+=("$!" "$pid")
check "... with more it runs" wait_for counts_again
check "... in its group" same "$(group_of "$pid")" /cryo-test/above/step
end_job

# With memory in common from before the fork they are forked in their group: cr_restart's own has little room, and needs no more.
fresh
perl -e '
	my $data = "x" x 1000000;
	for (1 .. 8) { if (!fork) { sleep 900; exit } }
	for (my $i = 1;; $i++) {
		open(my $out, ">", "count.new"); print $out "$i\n"; close $out;
		rename "count.new", "count";
		select undef, undef, undef, 0.1;
	}' </dev/null >/dev/null 2>&1 & pid=$!
started+=("$pid")
wait_for busy_counts
for one in "$pid" $(cat "/proc/$pid/task/$pid/children"); do echo "$one" >"$group/above/step/cgroup.procs"; done
cr --tree --kill -f ctx "$pid"
check "nine processes with memory in common: a checkpoint" status_is 0
wait_for is_gone "$pid"
echo 8 >"$group/service/pids.max"
cp count count.old
in_service >/dev/null 2>&1 & started+=("$!" "$pid")
check "... they run, with room for eight in cr_restart's own group" wait_for counts_again
check "... in their own" same "$(group_of "$pid")" /cryo-test/above/step
end_job
done_testing
