#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A full-screen program is restarted in another terminal: its modes are put there while it is in the foreground, and no longer.
# shellcheck disable=SC2016 # eval expands it later
. "$(dirname "$0")/lib.sh"

screen=$here/screen

# on fore|back ROWS COMMAND...: in a terminal of its own; $shell is the shell's pid once it has told of anything.
on()
{
	rm -f keys log
	mkfifo keys
	"$screen" "$1" "$2" keys log "${@:3}" >screen.out 2>&1 & started+=("$!")
}

logged() { grep -q "$1" log; }
job_said() { grep -q "$1" job; }
job_runs() { pid=$(pgrep -xf "$screen job job") && job_said size; }
shell_of() { ps -o ppid= -p "$1" | tr -d ' '; }

# The program in the foreground of a terminal of 24 rows, with a context of it, and gone.
saved()
{
	fresh
	on "$1" 24 "$screen" job job
	wait_for job_runs
	cr --kill -f context "$pid"
	wait_for is_gone "$pid"
	wait_for logged ended
	: >job
}

saved fore
check "the context is written" status_is 0
check "... and tells of the terminal" eval 'cr_info context | grep -q "terminal *80x24, foreground group $pid, without line editing"'

on fore 50 cr_restart context
check "a restart in another terminal: the program is told of the size" wait_for job_said "size 50"
echo -n x >keys
check "... gets a key at once, in its own modes" wait_for job_said "key x icanon 0 echo 0"
shell=$(shell_of "$(shell_of "$pid")")
printf '\032' >keys
check "it is stopped from the keyboard: the shell has its modes back" wait_for logged "stopped icanon 1 echo 1"
kill -USR1 "$shell"
echo -n y >keys
check "it is continued: the program has its own again" wait_for job_said "key y icanon 0 echo 0"
kill -TERM "$pid"
check "it ends: the shell has its modes back" wait_for logged "ended icanon 1 echo 1"

: >job
on fore 50 cr_restart context
wait_for job_said "size 50"
kill -TERM "$(shell_of "$pid")"
check "cr_restart is ended by a signal: the shell has its modes back" wait_for logged "ended icanon 1 echo 1"

: >job
on fore 50 cr_restart --restore-pgid context
check "in a process group of its own: told of the size" wait_for job_said "size 50"
echo -n x >keys
check "... in its own modes" wait_for job_said "key x icanon 0 echo 0"
shell=$(shell_of "$(shell_of "$pid")")
printf '\032' >keys
check "... stopped from the keyboard: cr_restart stops too, and the shell has its modes back" wait_for logged "stopped icanon 1 echo 1"
check "... the program has been stopped" in_state "$pid" T
kill -USR1 "$shell"
echo -n y >keys
check "... both go on, and the program has the terminal" wait_for job_said "key y icanon 0 echo 0"
kill -TERM "$pid"
check "... which it gives back at the end" wait_for logged "ended icanon 1 echo 1"

on back 50 cr_restart context
wait_for job_runs
shell=$(shell_of "$(shell_of "$pid")")
kill -USR2 "$shell"
check "in the background: the terminal is left alone" wait_for logged "now icanon 1 echo 1"
kill -KILL "$pid"
wait_for logged ended

on fore 50 cr_restart context --no-such-option
check "a wrong option: the terminal is left alone" wait_for logged "ended icanon 1 echo 1"

fresh
on back 24 "$busy" "$base/work/count"
wait_for busy_counts
pid=$(pgrep -xf "$busy $base/work/count")
cr --kill -f context "$pid"
wait_for logged ended
on fore 50 sh -c 'stty -echo; exec cr_restart context'
wait_for eval 'pid=$(pgrep -xf "$busy $base/work/count")'
goes_on
shell=$(shell_of "$(shell_of "$pid")")
kill -USR2 "$shell"
check "a job that was in the background sets nothing" wait_for logged "now icanon 1 echo 0"

done_testing
