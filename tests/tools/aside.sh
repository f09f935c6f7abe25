#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What has come to an output file since the checkpoint, on its way to FILE.cut.N: holes, no room, long names, signals.
# shellcheck disable=SC2016,SC2034 # eval expands it later
. "$(dirname "$0")/lib.sh"

# hold FILE [REDIRECTION]: the context of a program that has it open for writing, and has ended.
hold()
{
	mkdir -p "$(dirname "$1")"
	echo before >"$1"
	eval "\"$busy\" count ${2:-6<>}\"$1\" >/dev/null 2>&1 &"
	pid=$!
	started+=("$pid")
	wait_for busy_counts
	cr --kill -f ctx "$pid"
	wait "$pid" 2>/dev/null
	wait_for is_gone "$pid"
	is_context ctx
}
dry() { rc=0; err=$(cr_restart --check "$@" ctx 2>&1) || rc=$?; }
# runs: in the background, until it counts.
runs()
{
	cp count count.old
	cr_restart "$@" ctx 2>"$base/stderr" >/dev/null &
	started+=("$!" "$pid")
	wait_for counts_again
	rc=$?
	err=$(cat "$base/stderr")
	return $rc
}
counts_again() { ! cmp -s count count.old; }
apparent() { stat -c %s "$1"; }
blocks() { stat -c %b "$1"; }

fresh
hold log
truncate -s 1T log
echo "of others" >>log
dry
check "a hole of 1 TiB: --check has nothing against it" status_is 0
check "... the restart neither" runs
check "... what was behind it is kept at its place" same "$(tail -c 10 log.cut.1)" "of others"
check "... the hole, too" eval '[ "$(apparent log.cut.1)" = $((1099511627776 + 10 - 7)) ] && [ "$(blocks log.cut.1)" -lt 100 ]'
check "... and the file is what it was" same "$(cat log)" before

fresh
mkdir "$base/small"
mount -t tmpfs -o size=1M tmpfs "$base/small"
hold "$base/small/log"
head -c 600K /dev/zero | tr '\0' x >>"$base/small/log"
dry
check "no room: --check says so" eval 'status_is 28 && said "614400 bytes were added since the checkpoint, and there is no space to save them in $base/small/log.cut.1: it takes 614400 bytes, and "'
rc=0; err=$(cr_restart ctx 2>&1) || rc=$?
check "... the restart as well" eval 'status_is 28 && said "no space to save"'
check "... and nothing has been changed" eval '[ "$(apparent "$base/small/log")" = 614407 ] && [ "$(ls "$base/small")" = log ]'
dry --truncate
check "... --truncate needs none" status_is 0
end_processes
umount "$base/small"

for letter in x ü; do
	fresh
	long=$(printf "%255s" "" | tr ' ' x)
	[ $letter = x ] || long=a$(printf "%127s" "" | sed "s/ /ü/g")
	hold "$long"
	echo "of others" >>"$long"
	check "a name of 255 bytes: it is restarted" runs
	kept=$(find . -name '*.cut.1' -printf %f)
	check "... what has come is kept under a shorter one" eval 'said "$kept" && [ "$(cat "$kept")" = "of others" ] && [[ $long == "${kept%.cut.1}"* ]]'
done

# Of a file system that knows the attribute.
fresh
if touch probe && chattr +a probe 2>/dev/null; then
	chattr -a probe
	hold log
	chattr +a log
	dry
	check "chattr +a, written to: --check says so" eval 'status_is 1 && said "is append-only (chattr +a), but was open without O_APPEND; clear the attribute with chattr -a"'
	chattr -a log
	dry
	check "... and nothing without it" status_is 0
	rm log
	hold log '6>>'
	echo more >>log
	chattr +a log
	dry
	check "... nor against one that is appended to" status_is 0
	dry --truncate
	check "... unless it is to be cut" eval 'status_is 1 && said "is append-only (chattr +a), and --truncate would truncate it"'
	chattr -a log
else
	count=$((count + 1))
	echo "ok $count - # SKIP no chattr +a on this file system"
fi

# In a mount namespace of the job's own the file has another name outside, where the rest of it goes; what has the name of the one inside
# is something else.
# hold_inside COMMAND...: the same, where these have been done in such a namespace, with /mnt/data/out.
hold_inside()
{
	mkdir real
	echo before >real/out
	unshare -m bash -c "$1 && mount --bind real /mnt/data && exec \"$busy\" count 6<>/mnt/data/out" >/dev/null 2>&1 &
	pid=$!
	started+=("$pid")
	wait_for busy_counts
	cr --kill -f ctx "$pid"
	wait "$pid" 2>/dev/null
	wait_for is_gone "$pid"
	echo "of others" >>real/out
}
for there in no yes; do
	fresh
	if [ "$there" = no ]; then
		hold_inside "mount -t tmpfs none /mnt && mkdir /mnt/data"
	else
		mkdir -p /mnt/data
		echo "a file of somebody else's, and longer" >/mnt/data/out
		hold_inside true
	fi
	dry
	check "in a mount namespace, $there directory of that name outside: --check says where it is kept" \
		eval 'status_is 0 && said "a successful restart moves them to $base/work/real/out.cut.1"'
	check "... the restart has nothing against it" runs
	check "... it is there" same "$(cat real/out.cut.1)" "of others"
	check "... and the file is what it was" same "$(cat real/out)" before
	[ "$there" = no ] || check "... and nothing of it is where the name leads to outside" same "$(ls /mnt/data)" out
done
rm -rf /mnt/data

# Killed on its way: 400 MB take a while.
fresh
hold log
head -c 400M /dev/zero >>log
for signal in TERM KILL; do
	cr_restart ctx >/dev/null 2>&1 &
	restart=$!
	started+=("$restart")
	check "$signal: it is copying" wait_for test -s log.cut.1
	kill -"$signal" "$restart"
	for i in {1..40}; do
		is_gone "$restart" && not exists log.cut.1 && break
		pause
	done
	check "... it ends at once" eval 'is_gone "$restart"'
	check "... and takes with it what it has begun" not exists log.cut.1
	check "... so does whoever has copied" eval '[ -z "$(pgrep -x cr_restart)" ]'
	check "... the file is as it was" same "$(apparent log)" 419430407
	wait "$restart" 2>/dev/null
	while pgrep -x cr_restart >/dev/null; do pause; done
done

# While it is copied, somebody else gets an id of the job, for a moment: root's restart, which has the kernel choose ids, waits for it,
# as a user's does.
# takes ID: sets $taker.
takes()
{
	echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid
	sleep 60 &
	taker=$!
	started+=("$taker")
	[ "$taker" = "$1" ]
}
# comes_next ID: it is that of the next process. From there to the restart of the first one of the job, nothing here forks.
comes_next()
{
	echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid
	SECONDS=0
	while [ ! -d "/proc/$pid" ] && [ $SECONDS -lt 30 ]; do :; done
}
# "namespace": the first process of one that another user namespace owns is made by a helper, which must not have its id.
for of in child thread namespace; do
	fresh
	echo before >log
	if [ $of = child ]; then
		bash -c 'sleep 900 & exec "$0" count 6<>log' "$busy" >/dev/null 2>&1 &
	elif [ $of = namespace ]; then
		unshare -Urpf "$busy" count 6<>log >/dev/null 2>&1 &
	else
		"$here/changer" "$base/work/count" 6<>log >/dev/null 2>&1 &
	fi
	pid=$!
	started+=("$pid")
	wait_for busy_counts
	other=$(cat "/proc/$pid/task/$pid/children"; ls "/proc/$pid/task")
	other=$(tr ' ' '\n' <<<"$other" | grep -vx "$pid" | grep -m1 .)
	cr --tree --kill -f ctx "$pid"
	wait "$pid" 2>/dev/null
	wait_for is_gone "$pid"
	head -c 400M /dev/zero >>log
	cp count count.old
	cr_restart ctx >/dev/null 2>"$base/stderr" &
	restart=$!
	started+=("$restart" "$pid" "$other")
	check "the id of a $of: it is copying" wait_for test -s log.cut.1
	if [ $of = namespace ]; then
		comes_next "$other"
	else
		check "... the id is taken" takes "$other"
		wait_for exists "/proc/$pid"
		sleep 0.7
		kill "$taker"
		wait "$taker" 2>/dev/null
	fi
	check "... the restart waits for its end" wait_for counts_again
	err=$(cat "$base/stderr")
	check "... and the $of has it" grep -qx "$other" <(tr ' ' '\n' < <(cat "/proc/$pid/task/$pid/children"; ls "/proc/$pid/task"))
	end_processes
	wait "$restart" 2>/dev/null
	wait_for is_gone "$pid"
done

done_testing
