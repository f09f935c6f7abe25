#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Output files that others had open, too, at the checkpoint: a script's log, with several jobs of it that are checkpointed and restarted
# each by itself. Nobody's output is lost, moved or written over, whatever restarts, in which order, and how often.
# shellcheck disable=SC2034 # eval uses them
. "$(dirname "$0")/lib.sh"

as_user() { setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
yama=/proc/sys/kernel/yama/ptrace_scope
scope=$(cat "$yama" 2>/dev/null)
set_scope() { [ -z "$scope" ] || echo "$1" >"$yama"; }

lines=25
cat >"$base/job" <<END
exec 9<>"\$1.fifo"
for ((i = 1; i <= $lines; i++)); do echo "\$1\$i"; read -rt 0.1 -u 9; done
exit 0
END
# The output of all is the file log; \$kill: --kill, or nothing.
cat >"$base/batch" <<'END'
cr_run bash ../job A & a=$!
cr_run bash ../job B & b=$!
until grep -q '^A3$' log && grep -q '^B3$' log; do sleep 0.1; done
cr_checkpoint -q $kill -f A.ctx $a >errors 2>&1
sleep 0.5
cr_checkpoint -q $kill -f B.ctx $b >>errors 2>&1
[ -n "$kill" ] || sleep 0.5
kill -9 $a $b 2>/dev/null
wait 2>/dev/null
END
# batch REDIRECTION USER [--kill]: the contexts A.ctx and B.ctx of two jobs of a script that have ended.
batch()
{
	fresh
	mkfifo A.fifo B.fifo
	chown "$2" . ./*
	: >log
	chown "$2" log
	eval "kill=${3:-} setpriv --reuid $2 --regid $2 --clear-groups bash ../batch $1 2>/dev/null </dev/null"
	is_context A.ctx && is_context B.ctx
	cat log >log.before
}
# As if nothing had been restarted yet, in the same file.
again() { rm -f log.cut.*; cat log.before >log; }
# restart_of JOB USER [OPTION...]: as USER, to its end.
restart_of()
{
	local job=$1 who=$2
	shift 2
	setpriv --reuid "$who" --regid "$who" --clear-groups cr_restart "$@" "$job.ctx" >/dev/null 2>"$base/err.$job" </dev/null
}
ends() { wait "$1" || { rc=$?; err=$(cat "$base"/err.*); return 1; }; }
all_lines_of() { [ "$(grep -c "^$1[0-9]*$" <(sort -u log))" = "$lines" ]; }
# Each line of both is there once at least, and whole; what was there before is where it was; nothing has been moved.
whole()
{
	if grep -qaP '\x00' log || grep -qv '^[AB][0-9]*$' log || ! all_lines_of A || ! all_lines_of B ||
		[ "$(head -c "$(stat -c %s log.before)" log)" != "$(cat log.before)" ] || [ -n "$(ls log.cut.* 2>/dev/null)" ]; then
		sed 's/^/# log: /' log
		return 1
	fi
}
outside() { cr_info --json "$1" | grep -q '"outside": \['; }

for who in 0 "$(id -u "$user")"; do
	[ "$who" = 0 ] || set_scope 1
	batch '>log' "$who"
	check "user $who: the contexts say that others have the log" eval 'outside A.ctx && outside B.ctx'
	check "... cr_info, too" eval 'cr_info -vv A.ctx | grep -q "work/log, .*, shared with others"'
	for round in 1 2 3; do
		again
		restart_of A "$who" & a=$!
		restart_of B "$who" & b=$!
		check "both at one moment, round $round" eval 'ends $a && ends $b'
		check "... and nothing is lost" whole
	done
	again
	restart_of A "$who" & a=$!
	sleep 1
	check "one after the other has begun" eval 'restart_of B "$who"; rc=$?; err=$(cat "$base/err.B"); status_is 0 && ends $a'
	check "... and nothing is lost" whole
	again
	check "one after the other has ended" eval 'restart_of A "$who" && restart_of B "$who"'
	err=$(cat "$base/err.A" "$base/err.B")
	check "... and nothing is lost" whole
	check "... what is there twice, and what helps, has been said" \
		eval 'said "bytes were added since the checkpoint and are kept, as other processes had it open for writing: output of the job among them will be duplicated (--truncate=aside moves them to $base/work/log.cut.1)"'
	again
	check "one, and once more" eval 'restart_of B "$who" && restart_of B "$who" && restart_of A "$who"'
	check "... and nothing is lost" whole
	set_scope "$scope"
done

again
err=$(as_user cr_restart --check A.ctx 2>&1 </dev/null); rc=$?
check "--check says the same" eval 'status_is 0 && said "and are kept, as other processes had it open for writing"'
check "... and does nothing" cmp -s log log.before

batch '>log' 0 --kill
err=$(cr_restart --check A.ctx 2>&1 </dev/null); rc=$?
check "--kill: of the first, the other's output has come" eval 'status_is 0 && said "and are kept, as other"'
err=$(cr_restart --check B.ctx 2>&1 </dev/null); rc=$?
check "... of the last, nothing" eval 'status_is 0 && [ -z "$err" ]'
restart_of A 0 & a=$!
restart_of B 0 & b=$!
check "... both are restarted" eval 'ends $a && ends $b'
check "... and nothing is lost" whole
check "... and nothing is there twice" same "$(wc -l <log)" $((2 * lines))

batch '>>log' 0
restart_of A 0 & a=$!
restart_of B 0 & b=$!
check "a log that is appended to" eval 'ends $a && ends $b'
check "... and nothing is lost" whole

# Who wants it the other way.
batch '>log' 0
size=$(cr_info --json A.ctx | sed '/"section_list"/,$d' | grep -o '"size": *[0-9]*' | grep -o '[0-9]*$' | sort -n | head -n 1)
echo "of others" >>log
err=$(cr_restart --check --truncate=aside A.ctx 2>&1 </dev/null); rc=$?
check "--truncate=aside: --check says what is moved" eval 'status_is 0 && said "a successful restart moves them to $base/work/log.cut.1"'
check "... the restart does it" eval 'restart_of A 0 --truncate=aside'
check "... what has come is there" eval 'grep -q "^of others" log.cut.1 && not grep -q others log'
check "... and the job goes on where it was" eval 'all_lines_of A && not grep -qaP "\x00" log && same "$(sort log | uniq -d)" ""'
err=$(cr_restart --truncate=apart A.ctx 2>&1 </dev/null); rc=$?
check "--truncate=apart: there is no such way" eval 'status_is 255 && said "--truncate takes '"'aside'"' or nothing, not '"'apart'"'"'
again
echo "of others" >>log
check "--truncate" restart_of A 0 --truncate
check "... what has come is gone" eval 'not grep -q others log && not exists log.cut.1 && all_lines_of A && not grep -qaP "\x00" log'
again
truncate -s 3 log
err=$(cr_restart --check A.ctx 2>&1 </dev/null); rc=$?
check "a shared file that is shorter now: refused, and it is said that others had it" \
	eval 'status_is 116 && said "the file is shorter than at the checkpoint: it has 3 bytes" && said ", and other processes had it open for writing, too; --changed-files=warn accepts it"'
check "... --changed-files=warn" restart_of A 0 --changed-files=warn
err=$(cat "$base/err.A")
check "... foretells no hole, and makes none" eval 'said "and other processes had it open" && not said hole && not grep -qaP "\x00" log'

# Beside the original of the other one, whose open file it takes.
fresh
mkfifo A.fifo B.fifo
set_scope 0
cat >"$base/originals" <<'END'
bash ../job A & a=$!
bash ../job B & b=$!
until grep -q '^A3$' log; do sleep 0.1; done
cr_checkpoint -q --kill -f A.ctx $a >errors 2>&1
cr_restart A.ctx >/dev/null 2>errors </dev/null & r=$!
wait $b
wait $r
END
bash ../originals >log 2>/dev/null </dev/null
: >log.before
check "restarted beside the other one's original: nothing is lost" whole
set_scope "$scope"

# hold REDIRECTION: the context of a program that has the file log open so, and has ended; then somebody writes to the file.
hold()
{
	fresh
	echo before >log
	eval "$before"
	eval "\"$busy\" count $1 >/dev/null 2>&1 &"
	pid=$!
	started+=("$pid")
	wait_for busy_counts
	cr --kill -f ctx "$pid"
	wait "$pid" 2>/dev/null
	wait_for is_gone "$pid"
	is_context ctx
	eval "$after"
	echo "of others" >>log
}
runs()
{
	rm -f count.old
	cp count count.old
	cr_restart "$@" ctx 2>"$base/stderr" >/dev/null </dev/null &
	started+=("$!" "$pid")
	wait_for counts_again
	rc=$?
	err=$(cat "$base/stderr")
	return $rc
}
counts_again() { ! cmp -s count count.old; }
info_of() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$pid/fdinfo/$2"; }
appends() { [ $((8#$(info_of flags "$1") & 02000)) -ne 0 ]; }

before='' after=''
hold '6<>log'
check "a file that nobody else has: the context says nothing" not outside ctx
check "... what has come is moved" eval 'runs && said "a successful restart moves them to $base/work/log.cut.1"'
check "... and it does not append" not appends 6

# Another open file of it, of somebody who has closed it since.
before='exec 8<>log' after='exec 8>&-'
hold '6<>log 8>&-'
check "others write to it by an open file of their own: it is in the context" eval 'cr_info --json ctx | grep -A1 "\"outside\"" | grep -q writer && cr_info -vv ctx | grep -q "log, .*, also written to by others"'
check "... what has come stays" eval 'runs && said "and are kept, as other processes had it open for writing"'
check "... all of it" same "$(cat log)" $'before\nof others'
check "... and it has its own place" eval 'same "$(info_of pos 6)" 0 && not appends 6'
check "... where it may overwrite that, which is said" said "continues to write at byte 0, and may overwrite them"
hold '6>log 8>&-'
check "... who only writes, and was at its end" eval 'runs && said "output of the job among them will be duplicated"'
check "... appends" appends 6
check "... behind all of it" same "$(cat log)" $'of others'

# A second life: it is a log by now.
before='exec 8>log; echo before >&8' after='exec 8>&-'
hold '7>&8 8>&-'
check "open together with a process that has ended" runs
check "... it appends from then on" appends 7
cr --kill -f ctx "$pid"
wait_for is_gone "$pid"
echo "again of others" >>log
check "... and in its next life" eval 'runs && said "and are kept" && appends 7'
check "... everything is there" same "$(cat log)" $'before\nof others\nagain of others'

# Who checkpoints a job on its behalf has its files, but is no other.
fresh
cat >self <<'END'
echo "first line"
case ${1-} in
log) cr_checkpoint -q --kill -f ctx $$ >/dev/null 2>>log ;;
*) ${1:+timeout 60} cr_checkpoint -q --kill -f ctx $$ >/dev/null ;;
esac
echo "second line"
END
for between in '' timeout log; do
	rm -f log ctx
	bash self $between >log </dev/null 2>err
	err=$(cat err)
	check "a script that checkpoints itself${between:+ by way of $between}: nobody else has its output" eval 'is_context ctx && not outside ctx'
	echo "of others" >>log
	cr_restart ctx >/dev/null 2>err </dev/null
	err=$(cat err)
	check "... what has come is moved" same "$(cat log; cat log.cut.1)" $'first line\nsecond line\nof others'
	rm -f log.cut.1
done

done_testing
