#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What has come to output files since the checkpoint: nothing of it is lost, unless somebody says so.
. "$(dirname "$0")/lib.sh"

# hold REDIRECTION: the context of a program that has the file log open so, and has ended; then somebody writes to the file.
hold()
{
	fresh
	echo before >log
	eval "\"$busy\" count $1 >/dev/null 2>&1 &"
	pid=$!
	started+=("$pid")
	wait_for busy_counts
	cr --kill -f ctx "$pid"
	wait "$pid" 2>/dev/null
	wait_for is_gone "$pid"
	is_context ctx
	echo "of others" >>log
}

# runs ARGUMENT...: restarts in the background and waits until it counts.
runs()
{
	rm -f count.old
	cp count count.old
	cr_restart "$@" ctx 2>"$base/stderr" >/dev/null &
	started+=("$!" "$pid")
	wait_for counts_again
	rc=$?
	err=$(cat "$base/stderr")
	return $rc
}
counts_again() { ! cmp -s count count.old; }
dry() { rc=0; out=$(cr_restart --check ctx 2>&1) || rc=$?; err=$out; }
whole=$'before\nof others'

hold '6>>log'
dry
check "appended to: --check says what stays" eval 'status_is 0 && said "10 bytes were added since the checkpoint and are kept"'
check "... and so does the restart" eval 'runs && said "and are kept"'
check "... and they are there" same "$(cat log)" "$whole"
check "... and nowhere else" not exists log.cut.1
hold '6>>log'
check "appended to, --truncate: nothing is said" eval 'runs --truncate && [ -z "$err" ]'
check "... and they are gone" same "$(cat log)" before
hold '6>>log'
check "appended to, --truncate=aside: it is said what is moved" eval 'runs --truncate=aside && said "a successful restart moves them to $base/work/log.cut.1"'
check "... and it is" same "$(cat log log.cut.1)" "$whole"

# In a directory that its user may not enter: cr_restart gets it from who may.
fresh
mkdir spool
: >spool/out
chown "$user" . spool/out
as_user() { setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
(exec setpriv --reuid "$user" --regid "$user" --clear-groups "$busy" count) >>spool/out 2>&1 </dev/null & pid=$!
started+=("$pid")
wait_for busy_counts
chmod 700 spool
as_user cr_checkpoint --kill -f "$base/work/ctx" "$pid"
wait_for is_gone "$pid"
rc=0; err=$(as_user cr_restart --check ctx </dev/null 2>&1) || rc=$?
check "a directory that the user may not enter: the output cannot be found" eval 'not status_is 0 && said "spool/out): cannot be found"'
rc=0; as_user cr_restart --check ctx </dev/null >>spool/out 2>>spool/out || rc=$?
check "... passed to cr_restart as its own output it need not be" status_is 0
err=$(<spool/out)
: >spool/other
chown "$user" spool/other
rc=0; as_user cr_restart --check ctx </dev/null >>spool/other 2>>spool/other || rc=$?
check "... another file is not taken for it" eval 'not status_is 0 && grep -q "cannot be found" spool/other'
cp count count.old
as_user cr_restart ctx </dev/null >>spool/out 2>>spool/out &
started+=("$!" "$pid")
check "... and it goes on there" eval 'wait_for counts_again && [ "$(readlink "/proc/$pid/fd/1")" = "$base/work/spool/out" ]'

hold '6<>log'
dry
check "written to: --check says where they are kept" eval 'status_is 0 && said "a successful restart moves them to $base/work/log.cut.1"'
check "... and makes nothing" not exists log.cut.1
check "... the restart says it" eval 'runs && said "a successful restart moves them to $base/work/log.cut.1"'
check "... and they are there" same "$(cat log.cut.1)" "of others"
check "... and the file is what it was" same "$(cat log)" before
end_processes
wait_for is_gone "$pid"
echo again >>log
check "once more: under another name" eval 'runs && said "a successful restart moves them to $base/work/log.cut.2"'
check "... and the first is as it was" same "$(cat log.cut.1 log.cut.2)" $'of others\nagain'

# What comes while the restart is under way, which takes its time with the memory.
fresh
echo before >log
perl -e '$x = "x" x (400 << 20); for (;;) { open(F, ">", "count"); print F ++$n; close(F); select(undef, undef, undef, 0.05) }' 6<>log >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for test -s count
cr --kill -f ctx "$pid"
wait "$pid" 2>/dev/null
wait_for is_gone "$pid"
echo "of others" >>log
rm -f count
cr_restart ctx >/dev/null 2>&1 &
started+=("$!" "$pid")
wait_for test -s log.cut.1
sleep 0.05
echo late >>log
wait_for test -s count
check "what comes while the memory is read is kept, too" same "$(cat log.cut.1 log | sort)" $'before\nlate\nof others'
end_processes
wait_for is_gone "$pid"
# A restart that waits in open(2), for whoever reads from a FIFO: before it looks at the log, or after that. The log is written anew
# meanwhile.
waits_for_reader() { grep -qs wait_for_partner /proc/[0-9]*/wchan; }
for how in "6>first 7<>log" "6<>log 7>last"; do
	for option in --truncate=aside --truncate; do
		hold "$how"
		mkfifo fifo
		number=6
		[ "$how" = "6>first 7<>log" ] || number=7
		cr_restart $option --redirect "$number=fifo" ctx 2>"$base/stderr" &
		restart=$!
		started+=("$restart" "$pid")
		check "$how, $option: it waits" wait_for waits_for_reader
		echo "written anew by others" >log
		cat fifo >/dev/null & reader=$!
		wait_for is_gone "$restart" || kill -KILL "$pid"
		rc=0
		wait "$restart" || rc=$?
		err=$(<"$base/stderr")
		check "... what is written anew meanwhile is not cut: the restart fails" status_is 116
		if [ "$how" = "6>first 7<>log" ]; then
			check "... and says why" said "log: has been rewritten since the checkpoint: it has 23 bytes, and had 7, of which the last 7 now differ"
		else
			check "... and says why" said "work/log is not truncated: it was rewritten during the restart: Stale file handle"
		fi
		check "... the file is as it was written" same "$(cat log)" "written anew by others"
		# What has been kept aside by then is nowhere else.
		if [ "$how $option" = "6<>log 7>last --truncate=aside" ]; then
			check "... what it had before stays beside it, and is told" \
				eval 'grep -qxF "of others" log.cut.1 && said "log.cut.1 is kept: the file whose data it holds no longer has that data, or may still be truncated"'
			rm -f log.cut.1
		fi
		check "... and nothing is beside it" not exists log.cut.1
		kill "$reader" 2>/dev/null
		wait "$reader" 2>/dev/null
	done
done

hold '6<>log'
check "written to, --no-truncate: nothing is said of what has come" eval 'runs --no-truncate && ! said "were added"'
check "... and they stay" same "$(cat log)" "$whole"
hold '6<>log'
check "written to, --truncate: nothing is said of what has come" eval 'runs --truncate && ! said "were added"'
check "... and they are gone" same "$(cat log; ls log*)" $'before\nlog'

hold '6>>log'
truncate -s 3 log
rc=0; err=$(cr_restart --check --changed-files=warn ctx 2>&1) || rc=$?
check "a shorter file that is appended to: no hole is foretold" eval 'status_is 0 && said "and had 7" && not said hole'
hold '6<>log'
truncate -s 3 log
dry
check "a shorter file is an obstacle, and the line says what helps" \
	eval 'status_is 116 && said "shorter than at the checkpoint: it has 3 bytes, and had 7; --changed-files=warn accepts it"'
touch log.cut.1 log.cut.2
dry
check "... and where the rest may be" said "an earlier restart has moved the data added later to $base/work/log.cut.2; --changed-files=warn accepts it"
rm log.cut.?
check "... which it does" runs --changed-files=warn
check "... and says" said "work/log): the file is shorter than at the checkpoint: it has 3 bytes, and had 7"
check "... in one line" same "$(grep -c shorter "$base/stderr")" 1
check "... and what comes of it" said "will leave a hole"
check "... and nothing is written there" same "$(cat log)" bef
end_processes
wait_for is_gone "$pid"
mv log old
echo x >log
rc=0; err=$(cr_restart --check --changed-files=warn ctx 2>&1) || rc=$?
check "another file that is shorter: both are said" \
	eval 'status_is 0 && said "its name now refers to a different file" && said "shorter than at the checkpoint: it has 2 bytes, and had 7"'
rc=0; err=$(cr_restart --check --changed-files=ignore ctx 2>&1) || rc=$?
check "... and neither with --changed-files=ignore" eval 'status_is 0 && [ -z "$err" ]'

# has_end CONTEXT LENGTH: a checksum of the last bytes of a file, so many.
has_end() { cr_info --json "$1" | tr -d ' \n' | grep -q "\"end\":{[^}]*\"length\":$2[,}]"; }

# Not longer, but others: by the next job that has the name for its output, or where they are.
anew=$'the second job, line 1\nand 2'
hold '6>>log'
echo "$anew" >log
dry
check "who appends: a file that has been written anew stays, and there is a warning" \
	eval 'status_is 0 && said "warning: pid $pid: descriptor 6 ($base/work/log): has been rewritten since the checkpoint"'
rc=0; err=$(cr_restart --check --changed-files=refuse ctx 2>&1) || rc=$?
check "... or it is refused" eval 'status_is 116 && said "rewritten"'
how='6<>log'
hold "$how"
check "$how: the context has a checksum of its end" has_end ctx 7
echo "$anew" >log
dry
check "$how: a file that has been written anew is an obstacle" \
	eval 'status_is 116 && said "work/log): has been rewritten since the checkpoint: it has 29 bytes, and had 7, of which the last 7 now differ; --changed-files=warn"'
check "... and nothing else is said of it" eval '! said "were added"'
rc=0; err=$(cr_restart ctx 2>&1) || rc=$?
check "... the restart is refused" eval 'status_is 116 && said "Restart failed" && said "rewritten"'
check "... and it is as it was" eval 'same "$(cat log)" "$anew" && not exists log.cut.1'
rc=0; err=$(cr_restart --check --changed-files=ignore ctx 2>&1) || rc=$?
check "... --changed-files=ignore says nothing of it" eval 'status_is 0 && ! said rewritten'
rc=0; err=$(cr_restart --check --no-truncate ctx 2>&1) || rc=$?
check "... --no-truncate leaves it, with a warning" eval 'status_is 0 && said "warning: " && said rewritten'
check "... --changed-files=warn goes on" eval 'runs --changed-files=warn && said "warning: pid $pid: descriptor 6 ($base/work/log): has been rewritten"'
hold '6<>log'
printf 'BEFORE\nof others\n' >log
dry
check "written anew with the same length and more: refused, too" eval 'status_is 116 && said "it has 17 bytes, and had 7"'
head -c 7 log >short && cat short >log
dry
check "written to in place: there is a warning" eval 'status_is 0 && said "work/log): modified " && said ": what has been overwritten in it since is not undone"'
check "... in one line" same "$(grep -c modified <<<"$err")" 1
rc=0; err=$(cr_restart --check --changed-files=ignore ctx 2>&1) || rc=$?
check "... unless changed files are ignored" eval 'status_is 0 && [ -z "$err" ]'
rc=0; err=$(cr_restart --check --changed-files=refuse ctx 2>&1) || rc=$?
check "... and refused where they are to be" eval 'status_is 116 && said "is not undone (--changed-files=warn continues with it as it is)"'
hold '6<>log'
printf 'of others\n' >>log
rc=0; err=$(cr_restart --check --changed-files=refuse ctx 2>&1) || rc=$?
check "... one that has only become longer is not" eval 'status_is 0 && said "bytes were added"'
# By a shared mapping, too, the descriptor of which has been closed.
fresh
start_quietly shm
cr --kill -f ctx "$pid"
wait "$pid" 2>/dev/null
rc=0; err=$(cr_restart --check --changed-files=refuse ctx 2>&1) || rc=$?
check "a file that is mapped, as it was" eval 'status_is 0 && [ -z "$err" ]'
printf x | dd of=count.shm conv=notrunc status=none
dry
check "... written to in place: there is a warning" \
	eval 'status_is 0 && said "warning: pid $pid: mapped file ($base/work/count.shm): modified " && said "is not undone"'
rc=0; err=$(cr_restart ctx --changed-files=refuse 2>&1) || rc=$?
check "... it is refused where changed files are to be" eval 'status_is 116 && said "count.shm): modified "'
# Who may not read it is not told what is in it.
fresh
seq 20 >log
chown "$user" log
chmod 200 log
(exec setpriv --reuid "$user" --regid "$user" --clear-groups "$busy" "$PWD/count") 6>>log >/dev/null 2>&1 </dev/null & pid=$!
started+=("$pid")
wait_for busy_counts
as_user cr_checkpoint -f "$PWD/ctx" "$pid"
check "of a file that one may not read there is no checksum" eval 'is_context ctx && ! has_end ctx 51'
cr -f ctx2 "$pid"
check "... of one that one may there is" has_end ctx2 51

# Of two descriptors one appends: the other one writes where it was.
hold '6<>log 7>>log'
dry
check "appended to and written to: --check says where they are kept" eval 'status_is 0 && said "a successful restart moves them to $base/work/log.cut.1"'
check "... the restart says it" eval 'runs && said "a successful restart moves them to $base/work/log.cut.1"'
check "... and they are there" same "$(cat log.cut.1)" "of others"
check "... and the file is what it was" same "$(cat log)" before

# What is kept takes a place.
fresh
mkdir own
echo before >own/log
chown "$user" own/log
chmod 666 own/log
(exec setpriv --reuid "$user" --regid "$user" --init-groups "$busy" "$PWD/count") 6<>own/log >/dev/null 2>&1 &
started+=("$!")
wait_for busy_counts
pid=$(pgrep -u "$user" -x busy)
started+=("$pid")
runuser -u "$user" -- cr_checkpoint --kill -f "$PWD/ctx" "$pid"
wait_for is_gone "$pid"
echo "of others" >>own/log
rc=0
err=$(runuser -u "$user" -- cr_restart --check ctx 2>&1) || rc=$?
check "where they cannot be kept: refused" eval 'status_is 13 && said "10 bytes were added since the checkpoint, and cannot be saved in $base/work/own/log.cut.1: Permission denied (EACCES) (--truncate removes them"'

# A script and the job that it restarts write to one file.
fresh
cat >script <<END
"$busy" "$PWD/count" & pid=\$!
until [ -s "$PWD/count" ]; do sleep 0.1; done
echo "script: before"
cr_checkpoint --kill -f "$PWD/ctx" \$pid
wait \$pid 2>/dev/null
echo "script: after"
cp "$PWD/count" "$PWD/old"
cr_restart "$PWD/ctx" & restart=\$!
while cmp -s "$PWD/count" "$PWD/old"; do sleep 0.1; done
readlink /proc/\$pid/fd/1 >"$PWD/link"
kill \$pid
wait \$restart 2>/dev/null
echo "script: end"
END
bash script >log 2>&1
check "a log that is cr_restart's own output, too: all lines are there" \
	same "$(grep '^script: [a-z]*$' log)" $'script: before\nscript: after\nscript: end'
check "... and no hole" eval '! grep -qaP "\\x00" log'
check "... the job has it" same "$(cat link)" "$PWD/log"

# The same where cr_restart's own output is elsewhere.  The job writes 30 lines without a process to wait for.
cat >job <<'END'
exec 9<>fifo
for ((i = 1; i <= 30; i++)); do echo "job: $i"; read -rt 0.1 -u 9; done
END
cat >batch.sh <<'END'
cr_run bash job & pid=$!
until [ "$(grep -c '^job' log)" -ge 5 ]; do sleep 0.1; done
cr_checkpoint -q $kill -f ctx $pid
echo "script: checkpoint"
[ -n "$kill" ] || { sleep 0.5; kill -9 $pid; }
wait $pid 2>/dev/null
echo "script: job is gone"
cp log log.before
case $way in
file) cr_restart ctx >out 2>err ;;
substitution) said=$(cr_restart ctx 2>err) ;;
pipe) cr_restart ctx 2>err | cat >out ;;
error) cr_restart ctx >out ;;
esac
echo "script: end"
END
# batch USER WAY KILL: runs it, with the file log as its output, as USER.
batch()
{
	rm -f log* ctx out err fifo
	mkfifo fifo
	chmod 666 fifo
	chown "$1" .
	way=$2 kill=$3 setpriv --reuid "$1" --regid "$1" --clear-groups bash batch.sh >log 2>&1 </dev/null
	chown 0 .
}
begins_as_before() { [ "$(head -c "$(stat -c %s log.before)" log)" = "$(cat log.before)" ]; }
# Each of the lines of the job once at least, and whole, but where bytes of the script's lie over them.
whole_log()
{
	is_whole || { sed 's/^/# log: /' log; return 1; }
}
is_whole()
{
	! grep -qaP '\x00' log && begins_as_before && [ "$(grep -c '^script: ' log)" = 3 ] && ! grep -qv '^\(job: [0-9]*\|script: [a-z ]*\|cr_restart: .*\|batch.sh: line.*\)$' log &&
		[ "$(grep '^job' log | sort -u | wc -l)" = 30 ] && [ "$(tail -n 1 log)" = "script: end" ] && not exists log.cut.1
}
yama=/proc/sys/kernel/yama/ptrace_scope
scope=$(cat "$yama" 2>/dev/null)
[ -z "$scope" ] || echo 0 >"$yama"
for who in 0 "$(id -u "$user")"; do
	for way in file substitution pipe error; do
		batch "$who" "$way" ""
		check "user $who, $way: nothing of the log is lost" whole_log
		[ "$way" = error ] || err=$(cat err)
		[ "$way" = error ] || check "... and it is said whose it is, too" \
			eval 'said "and are kept, as pid " && said "(bash), which is not in the context, has it open for writing"'
	done
	batch "$who" file --kill
	check "user $who, ended by the checkpoint: nothing of the log is lost" whole_log
	check "... and nothing is the matter" eval 'not grep -q overwrite err'
done
if [ -n "$scope" ]; then
	echo 1 >"$yama"
	batch "$(id -u "$user")" file ""
	err=$(cat err)
	check "where the script's open file cannot be had: nothing of the script's is lost" \
		eval '! grep -qaP "\x00" log && begins_as_before && [ "$(grep -c "^script: " log)" = 3 ]'
	check "... and it is said what may be" said "without O_APPEND (>> in the shell): it may overwrite output of the job"
	echo "$scope" >"$yama"
fi

hold '6<>log'
exec 8<>log
check "open in a process that is no ancestor" eval 'runs && said "and are kept"'
exec 8>&-
check "... it is not cut" same "$(cat log)" "$whole"

# Whose descriptors one may not see.
fresh
chown "$user" .
# shellcheck disable=SC2016 # the other shell expands it
setpriv --reuid "$user" --regid "$user" --clear-groups bash -c 'exec 6>log; echo before >&6; exec "$0" count >/dev/null 2>&1' "$busy" &
started+=("$!")
pid=$!
wait_for busy_counts
check "a checkpoint by the user" as_user cr_checkpoint --kill -f ctx "$pid"
kill -KILL "$pid" 2>/dev/null
wait "$pid" 2>/dev/null
wait_for is_gone "$pid"
echo "of others" >>log
exec 8<>log
rc=0; err=$(as_user cr_restart --check ctx 2>&1 8>&-) || rc=$?
check "open in a process of another user: it is found, too" \
	eval 'status_is 0 && said "and are kept, as a process that cannot be seen has it open for writing"'
exec 8>&-
rc=0; err=$(as_user cr_restart --check ctx 2>&1) || rc=$?
check "... and when it is closed that is the end of it" eval 'status_is 0 && said "a successful restart moves them to $base/work/log.cut.1"'

# Two restarts of one context at one moment: the second fails, or comes after all of the first.  Each line is in the file, or beside it.
fresh
cat >lines.sh <<'END'
for i in 1 2 3 4 5 6 7; do line="$i $(date +%s.%N)"; echo "$line"; echo "$line" >&9; sleep 0.2; done
END
bash lines.sh >log 9>>all 2>/dev/null & pid=$!
started+=("$pid")
wait_for test -s log
cr -f ctx "$pid"
check "a job that writes a few lines" status_is 0
wait "$pid"
lost=0
for i in 1 2 3 4 5 6; do
	cr_restart ctx >/dev/null 2>&1 </dev/null & first=$!
	sleep "0.0$((i * 2))"
	cr_restart ctx >/dev/null 2>&1 </dev/null & second=$!
	wait "$first" "$second"
	while read -r line; do
		grep -qxF "$line" log log.cut.* || { lost=$((lost + 1)); echo "# round $i: lost: $line"; }
	done <all
done
check "... two restarts at one moment: $lost lines are lost" test "$lost" = 0

done_testing
