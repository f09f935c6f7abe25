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
restarted_as()
{
	local restarter child
	cr_restart "$@" ctx >restart.out 2>&1 </dev/null &
	restarter=$!
	started+=("$restarter")
	wait_for has_child "$restarter" || return
	child=$(tr -d ' ' <"/proc/$restarter/task/$restarter/children")
	wait_for eval '[ "$(<"/proc/'"$child"'/comm")" = sleep ]' || return
	ids=$(ids_of "$child")
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

done_testing
