#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What scripts written for BLCR's tools expect of options and exit statuses.
# shellcheck disable=SC2317 # functions are called by check
. "$(dirname "$0")/lib.sh"

runs_for() { [ "$1" = 124 ]; }

# The executable is mapped privately, as libraries are.
fresh
cp /bin/sleep nap
./nap 1000 >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for eval '[ "$(<"/proc/$pid/comm")" = nap ]'
cr --save-private -f ctx "$pid"
check "--save-private" status_is 0
cr -f without "$pid"
end_it
rm nap
rc=0
timeout -k 5 10 cr_restart ctx >restart.out 2>&1 </dev/null || rc=$?
check "... has the executable" runs_for "$rc"
wait_for is_gone "$pid"
rc=0
timeout -k 5 10 cr_restart without >restart.out 2>&1 </dev/null || rc=$?
check "... which is missed without" not runs_for "$rc"

# What has been opened and is no context is no wrong argument, wherever it was read from.
fresh
start
cr -z -f ctx.zst "$pid"
check "a compressed context" status_is 0
cr -f ctx "$pid"
end_it
head -c $(($(stat -c %s ctx.zst) / 2)) ctx.zst >cut.zst
head -c $(($(stat -c %s ctx) / 2)) ctx >"cut"
: >empty
echo junk >junk
no_context()
{
	local what=$1
	shift
	rc=0
	err=$("$@" 2>&1 >/dev/null) || rc=$?
	check "$what: exit status of EBADMSG" status_is 74
}
hooked()
{
	local what=$1
	shift
	rc=0
	err=$("$@" --run-on-fail-args='exit 41' --run-on-fail-perm='exit 42' 2>&1 >/dev/null) || rc=$?
	check "$what: --run-on-fail-perm" status_is 42
}
for file in cut.zst cut empty junk /dev/null; do
	no_context "$file" cr_restart "$file"
	hooked "$file" cr_restart "$file"
done
for file in cut.zst cut empty junk; do
	no_context "$file from a pipe" eval "cat $file | cr_restart -"
	rc=0
	err=$(cat "$file" | cr_restart --run-on-fail-args='exit 41' --run-on-fail-perm='exit 42' - 2>&1 >/dev/null) || rc=$?
	check "$file from a pipe: --run-on-fail-perm" status_is 42
	rc=0
	cr_restart -q -F 9 9<"$file" || rc=$?
	check "$file by descriptor: exit status of EBADMSG" status_is 74
done
rc=0
cr_restart -q --run-on-fail-args='exit 41' --run-on-fail-perm='exit 42' missing || rc=$?
check "a missing file: --run-on-fail-args" status_is 41
rc=0
cr_restart -q missing || rc=$?
check "... without: exit status 255" status_is 255

# A leader that gets another pid leads a group, a session, of that number.
ids_of() { awk '{ print $1, $5, $6 }' <<<"$(sed 's/(.*)/-/' "/proc/$1/stat")"; }
# Among the children of cr_restart, which may have helpers for a moment, too; in $child.
has_sleep()
{
	for child in $(<"/proc/$1/task/$1/children"); do
		[ "$(<"/proc/$child/comm")" != sleep ] || return 0
	done
	return 1
}
# It has its name a moment before it has its group.
stay_the_same() { ids=$(ids_of "$1"); sleep 0.5; [ "$(ids_of "$1")" = "$ids" ]; }
restarted_as()
{
	local restarter child
	cr_restart "$@" ctx >restart.out 2>&1 </dev/null &
	restarter=$!
	started+=("$restarter")
	wait_for has_sleep "$restarter" || return
	wait_for stay_the_same "$child"
	kill -KILL "$child"
	wait "$restarter" 2>/dev/null
	own=$child
}
fresh
setsid sleep 1000 >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for eval '[ "$(<"/proc/$pid/comm")" = sleep ]'
cr --kill -f ctx "$pid"
check "a session leader" status_is 0
wait_for is_gone "$pid"
ids='' own=0
restarted_as --no-restore-pid --restore-pgid
check "--restore-pgid without the pid" same "${ids% *}" "$own $own"
ids='' own=0
restarted_as --no-restore-pid --restore-sid
check "--restore-sid without the pid" same "$ids" "$own $own $own"
ids='' own=0
restarted_as --no-restore-pid
check "without both: the group of cr_restart" not same "${ids% *}" "$own $own"

# Signals of a checkpoint, by BLCR's names.
ended() { wait "$pid" 2>/dev/null; same "$?" $((128 + $1)); }
for case in "--term 15" "--abort 6" "--early-abrt 6" "--early-abort 6" "--kill 9" "-S 10 10"; do
	fresh
	start_quietly
	# shellcheck disable=SC2086 # words are wanted
	cr ${case% *} -f ctx "$pid"
	check "cr_checkpoint ${case% *}" eval 'status_is 0 && wait_for is_gone "$pid" && ended "${case##* }"'
done
fresh
start_quietly
for option in --stop --early-stop; do
	cr $option -f ctx "$pid"
	check "cr_checkpoint $option" eval 'status_is 0 && wait_for in_state "$pid" T'
	cr --cont -f ctx "$pid"
	check "... --cont" eval 'status_is 0 && goes_on'
done
for option in --kmsg-none --kmsg-error --nosync --sync; do
	cr $option -f ctx "$pid"
	check "cr_checkpoint $option: nothing to be said" eval 'status_is 0 && silent'
done
cr --save-all -f all "$pid"
check "--save-all" status_is 0
cr --save-none -f none "$pid"
check "--save-none: smaller" eval 'status_is 0 && [ "$(stat -c %s none)" -lt "$(stat -c %s all)" ]'
cr --save-exe -f exe "$pid"
check "--save-exe: between them" eval 'status_is 0 && [ "$(stat -c %s exe)" -gt "$(stat -c %s none)" ] && [ "$(stat -c %s exe)" -lt "$(stat -c %s all)" ]'
for tool in cr_checkpoint cr_restart cr_run cr_info; do
	for option in -h '-?' --help --version; do
		rc=0
		out=$($tool $option 2>"$base/stderr") || rc=$?
		err=$(<"$base/stderr")
		check "$tool $option: on standard output" eval 'status_is 0 && [ -n "$out" ] && [ -z "$err" ]'
	done
done
rc=0
out=$(cr_restart -v 2>&1) || rc=$?
check "cr_restart -v is its version" eval 'status_is 0 && same "$out" "$(cr_restart --version)"'
rc=0
err=$(cr_restart -v context 2>&1) || rc=$?
check "... not the restart of a file, which another tool would do with more output" \
	eval 'status_is 255 && said "-v prints the version and takes no context file; --verbose is for more output"'

# Signals of a restart.
end_it
restart_with()
{
	rc=0
	timeout -k 5 10 cr_restart "$@" ctx >restart.out 2>&1 </dev/null || rc=$?
	err=$(<restart.out)
	wait_for is_gone "$pid"
}
for case in "--term 143" "--abort 134" "--early-abrt 134" "--kill 137" "-S 10 138"; do
	# shellcheck disable=SC2086 # words are wanted
	restart_with ${case% *}
	check "cr_restart ${case% *}: ends as the process does" status_is "${case##* }"
done
for option in --stop --freeze --early-stop; do
	cr_restart $option ctx >restart.out 2>&1 </dev/null & restarter=$!
	started+=("$restarter" "$pid")
	check "cr_restart $option" wait_for in_state "$pid" T
	kill -CONT "$pid"
	check "... goes on by SIGCONT" goes_on
	kill -KILL "$pid"
	wait "$restarter" 2>/dev/null
	wait_for is_gone "$pid"
done
for option in --cont --run --omit-maybe --omit-always --omit-never --kmsg-none --kmsg-error; do
	check "cr_restart $option" restarts $option ctx
	wait_for is_gone "$pid"
done

# Commands that it runs. One for success that fails ends cr_restart with its status, and the process lives.
rc=0
cr_restart --run-on-success='exit 7' ctx >restart.out 2>&1 </dev/null || rc=$?
check "--run-on-success: its status" status_is 7
check "... and the process lives" goes_on
rc=0
err=$(cr_restart ctx 2>&1 </dev/null) || rc=$?
check "a pid in use: EBUSY" eval 'status_is 16 && said "is in use by"'
hooks=(--run-on-fail-args='exit 41' --run-on-fail-perm='exit 42' --run-on-fail-temp='exit 43' --run-on-fail-env='exit 44')
rc=0
err=$(cr_restart "${hooks[@]}" ctx 2>&1 </dev/null) || rc=$?
check "... --run-on-fail-temp" eval 'status_is 43 && ! said failed'
rc=0
err=$(cr_restart --run-on-fail-temp=true ctx 2>&1 </dev/null) || rc=$?
check "... a command that succeeds: the usual text and status" eval 'status_is 16 && said "is in use by"'
rc=0
err=$(cr_restart --run-on-fail-temp= ctx 2>&1 </dev/null) || rc=$?
check "... an empty one: likewise" eval 'status_is 16 && said "is in use by"'
rc=0
err=$(cr_restart --run-on-failure='exit 45' ctx 2>&1 </dev/null) || rc=$?
check "... --run-on-failure" status_is 45
rc=0
err=$(cr_restart -q ctx 2>&1 </dev/null) || rc=$?
check "... -q says nothing" eval 'status_is 16 && [ -z "$err" ]'
end_it
wait_for is_gone "$pid"
mv count away
rc=0
err=$(cr_restart "${hooks[@]}" ctx 2>&1 </dev/null) || rc=$?
check "a missing file: --run-on-fail-env" status_is 44
rc=0
err=$(cr_restart ctx 2>&1 </dev/null) || rc=$?
check "... without: exit status of ENOENT" eval 'status_is 2 && said "/count): cannot be found"'
chmod 755 away
rc=0
err=$(cr_restart "${hooks[@]}" --nonsense ctx 2>&1 </dev/null) || rc=$?
check "a wrong option: --run-on-fail-args" status_is 41

# A disk quota and a full disk say themselves in errors.sh and environment/quota; here, a device that is full.
fresh
start
mkdir "$base/small" 2>/dev/null
mount -t tmpfs -o size=64k none "$base/small"
cr -f "$base/small/ctx" "$pid"
check "a full disk: exit status of ENOSPC" status_is 28
umount "$base/small"

# Options may follow the operand, but where POSIXLY_CORRECT says otherwise.
fresh
ulimit -c unlimited
start
cr "$pid" -f after
check "an option after the operand" eval 'status_is 0 && is_context after'
rc=0
err=$(POSIXLY_CORRECT=1 cr_checkpoint "$pid" -f posix 2>&1) || rc=$?
check "... with POSIXLY_CORRECT: wrong usage" eval 'status_is 255 && not exists posix'

# It ends by the signal of the job, of which the core is.
cr -f ctx "$pid"
end_it
wait_for is_gone "$pid"
pattern=$(cat /proc/sys/kernel/core_pattern)
echo core.%e >/proc/sys/kernel/core_pattern
rc=0
cr_restart -S SEGV ctx >/dev/null 2>&1 </dev/null || rc=$?
echo "$pattern" >/proc/sys/kernel/core_pattern
check "a job that ends by SIGSEGV" status_is 139
check "... has its core" exists core.busy
check "... and cr_restart none" not exists core.cr_restart

done_testing
