#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Small files that are only read, such as the script of a batch job: they are gone, changed, or not readable at the restart.
# shellcheck disable=SC2317 # functions are called by name
. "$(dirname "$0")/lib.sh"

# The script of a batch job, as descriptor 255 of bash.
submit()
{
	fresh
	mkdir -p spool/job17
	cat >spool/job17/script <<-'END'
		#!/bin/bash
		n=0
		while [ ! -e stop ]; do n=$((n + 1)); echo $n >count; sleep .05; done
		readlink /proc/$$/fd/255 >seen
		echo end >last
	END
	chmod 755 spool/job17/script
	"$PWD/spool/job17/script" </dev/null >/dev/null 2>&1 & pid=$!
	started+=("$pid")
	wait_for busy_counts
}

hold() { cr --kill "$@" -f ctx "$pid" && wait_for is_gone "$pid"; }

# Restarts and lets the script come to its last line.
goes_to_its_end()
{
	rm -f stop seen last
	cr_restart "$@" ctx </dev/null >/dev/null 2>"$base/stderr" &
	local restarter=$!
	started+=("$restarter" "$pid")
	wait_for goes_on || return
	touch stop
	wait_for exists last
	rc=$?
	wait "$restarter"
	err=$(cat "$base/stderr")
	return "$rc"
}

only_checked()
{
	rc=0
	out=$(cr_restart --check "$@" ctx 2>"$base/stderr") || rc=$?
	err=$(cat "$base/stderr")
}

seen() { [ "$(cat seen)" = "$1" ]; }
script=$base/work/spool/job17/script

submit
hold
rm -r spool/job17
only_checked
check "without the option: the file is missed" eval 'not status_is 0 && said "$script): cannot be found"'

submit
hold --save-open
check "with the option: a checkpoint" status_is 0
check "cr_info shows that the contents are there" eval 'cr_info ctx | grep "script.*fallback"'
only_checked
check "the file is there: nothing is said" eval 'status_is 0 && silent'
check "... and it is what the script has open" goes_to_its_end
check "... by its name" seen "$script"

cp -p spool/job17/script saved
rm -r spool/job17
only_checked
check "it is gone: --check allows for it" eval 'status_is 0 && said "$script): no longer exists; the process gets an unnamed file"'
check "... and it goes on to its last line" goes_to_its_end
check "... from a removed file" seen "$script (deleted)"
check "... of which nothing is left" not exists spool/job17

only_checked --restore-files
check "--restore-files: it is said" eval 'status_is 0 && said "no longer exists, and is recreated"'
check "... it goes on" goes_to_its_end --restore-files
check "... by its name" seen "$script"
check "... and the file stays, as it was" eval 'cmp "$script" saved && [ "$(stat -c "%a %Y" "$script")" = "$(stat -c "%a %Y" saved)" ]'

echo "echo other >other" >spool/job17/script
only_checked
check "another one has the name: it is told" eval 'status_is 0 && said "has changed since the checkpoint; the process gets an unnamed file"'
check "... the script goes on as it was" goes_to_its_end
check "... and the other one is left alone" eval 'not seen "$script" && not exists other && grep -q other "$script"'
only_checked --changed-files=refuse
check "--changed-files=refuse" eval 'not status_is 0 && said "another file" && not said "unnamed"'

rm -r spool/job17
mkdir -p spool/job17
cp saved spool/job17/script
only_checked
check "the same text at another time: nothing is said" eval 'status_is 0 && silent'
check "... it goes on" goes_to_its_end
check "... by its name" seen "$script"

rm -r spool/job17
mkdir -p spool/job18
cp saved spool/job18/script
only_checked --relocate="$base/work/spool/job17=$base/work/spool/job18"
check "--relocate: nothing is said" eval 'status_is 0 && silent'
check "... it goes on" goes_to_its_end --relocate="$base/work/spool/job17=$base/work/spool/job18"
check "... with the file there" seen "$base/work/spool/job18/script"

# The directory is the spool daemon's own.
submit
hold --save-all
check "--save-all has it as well" eval 'cr_info ctx | grep "script.*fallback"'
rm -r spool
: >spool
check "nothing can be made in its place: it goes on" goes_to_its_end
check "... from memory" seen "/memfd:script (deleted)"
only_checked --restore-files
check "--restore-files: refused" eval 'not status_is 0 && said "no longer exists, and cannot be recreated in $base/work/spool"'
rm spool

# From a restarted one, once more.
rm -f stop last seen
cr_restart ctx </dev/null >/dev/null 2>&1 &
started+=("$!" "$pid")
check "a restart" wait_for goes_on
hold
check "a second checkpoint, of what has no name any more" status_is 0
check "... goes on" goes_to_its_end
check "... from a removed file" seen "$script (deleted)"

# A log that others write.
fresh
echo begin >log
exec 9<log
start_quietly
exec 9<&-
cr --kill --save-open -f ctx "$pid"
wait_for is_gone "$pid"
echo more >>log
only_checked
check "a log that has grown is used" eval 'status_is 0 && said "log: size 6 -> 11" && not said "unnamed"'

# Of an ordinary user: the file is still the same one, has been written to, and is not to be read by him any more.
fresh
as_user() { setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
mkdir -p spool/job17
chmod -R 755 spool
echo 'n=0; while [ ! -e stop ]; do n=$((n + 1)); echo $n >count; sleep .05; done; echo end >last' >spool/job17/script
chmod 644 spool/job17/script
(exec setpriv --reuid "$user" --regid "$user" --clear-groups bash "$script") </dev/null >/dev/null 2>&1 & pid=$!
started+=("$pid")
wait_for busy_counts
as_user cr_checkpoint --kill --save-open -f "$base/work/ctx" "$pid"
wait_for is_gone "$pid"
chmod 600 spool/job17/script
rc=0; err=$(as_user cr_restart --check ctx </dev/null 2>&1) || rc=$?
check "not changed, and not to be read: said as before" eval 'not said "unnamed"'
echo "echo more" >>spool/job17/script
rc=0; err=$(as_user cr_restart --check ctx </dev/null 2>&1) || rc=$?
check "changed and not to be read: the contents of the context are used" \
	eval 'status_is 0 && said "can no longer be read; the process gets an unnamed file"'
before=$(<count)
as_user cr_restart ctx </dev/null >/dev/null 2>&1 &
started+=("$!" "$pid")
check "... it goes on" wait_for differs "$before"
touch stop
check "... to its last line" wait_for exists last

# Open by two names, of which one is there.
for gone in one other; do
	fresh
	echo text >one
	ln one other
	exec 8<one 9<other
	start_quietly
	exec 8<&- 9<&-
	cr --kill --save-open -f ctx "$pid"
	wait_for is_gone "$pid"
	rm $gone
	there=$(ls one other 2>/dev/null)
	only_checked --restore-files
	check "a file with two names, of which $gone is gone: nothing is made" eval 'status_is 0 && silent'
	before=$(<count)
	cr_restart --restore-files ctx </dev/null >/dev/null 2>"$base/stderr" & started+=("$!" "$pid")
	check "... it goes on" wait_for differs "$before"
	err=$(cat "$base/stderr")
	check "... and has it twice" same "$(readlink "/proc/$pid/fd/8" "/proc/$pid/fd/9")" "$PWD/$there
$PWD/$there"
	check "... the other name is not there" not exists $gone
done

# Limits.
fresh
head -c 5000 /dev/zero >large
exec 9<large
start_quietly
exec 9<&-
cr -v --kill --save-open=4999 -f ctx "$pid"
wait_for is_gone "$pid"
check "larger than the limit: told, by -v" eval 'status_is 0 && said "large): exceeds the limit of --save-open" && not said "others)"'
check "... and not in the context" eval 'not eval "cr_info ctx | grep fallback"'
fresh
head -c 2M /dev/zero >large
exec 9<large
start_quietly
exec 9<&-
cr --save-all -f ctx "$pid"
check "--save-all tells without it" eval 'status_is 0 && said "large): exceeds the limit of --save-open"'
cr --save-all --save-open=1M -f ctx.2 "$pid"
check "... also of a limit that was given" eval 'status_is 0 && said "large): exceeds the limit of --save-open"'
cr --save-all --save-open=2M -f ctx.3 "$pid"
check "... and nothing where the limit is higher" eval 'status_is 0 && silent && cr_info ctx.3 | grep -q fallback'
cr --save-open -f ctx.4 "$pid"
check "--save-open alone does not" eval 'status_is 0 && silent'


done_testing
