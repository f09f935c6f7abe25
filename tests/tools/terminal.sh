#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# cr_checkpoint and cr_restart at a terminal: the progress of what takes long, and no context on the screen.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

command -v script >/dev/null || skip_all "script(1) is not installed"

# at_terminal COMMAND: runs it with a terminal of its own; sets rc, and err to what came to the screen.
at_terminal()
{
	rc=0
	script -qfec "$1" /dev/null </dev/null >screen 2>&1 || rc=$?
	err=$(cat screen)
}

screen_has() { grep -q "$1" screen; }

fresh
start
at_terminal "cr_checkpoint -f - $pid"
check "a context on the screen is refused" status_is 22
check "... and that is said" said "standard output is a terminal"
at_terminal "cr_checkpoint -f /dev/tty $pid"
check "... by its device too" status_is 22
at_terminal "cr_checkpoint $pid"
check "a short checkpoint at a terminal" status_is 0
check "... shows nothing" same "$err" ""

fresh
start 8
mkfifo fifo
exec 8<>fifo
script -qfec "cr_checkpoint -f fifo $pid" /dev/null </dev/null >screen 2>&1 & requester=$!
started+=("$requester")
check "a long one says what it does" wait_for screen_has "process $pid: writing memory"
err=$(cat -v screen)
cat <&8 >/dev/null & reader=$!
started+=("$reader")
check "... and succeeds" wait "$requester"
check "... how far it is" screen_has "process $pid: writing memory: *[0-9]*% of "
check "... and wipes that away" eval 'tail -c 4 screen | grep -q "K$"'
kill "$reader"
exec 8<&-
check "the process goes on" goes_on

# A restart from somebody who is slow.
cr -f ctx "$pid"
end_it
half=$(($(stat -c %s ctx) / 2))
cat >slow.sh <<-END
	(head -c $half ctx; sleep 4; tail -c +$((half + 1)) ctx) | cr_restart -
END
script -qfec "bash slow.sh" /dev/null </dev/null >screen 2>&1 & requester=$!
started+=("$requester" "$pid")
check "a restart that takes long says what it does" wait_for screen_has "cr_restart: reading the context: .*, [0-9]* s"
check "... and comes to its end" goes_on

# In the background, a job of a group of its own does not get the terminal; brought to the foreground, its keys are for all of the job.
fresh
cat >job <<'END'
#!/bin/bash
while :; do sleep 0.2; echo x >>out; done
END
chmod 755 job
# What a script starts in the background ignores the keyboard.
env --default-signal=INT setsid ./job </dev/null >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for exists out
cr --tree --kill -f ctx "$pid"
wait "$pid" 2>/dev/null
wait_for is_gone "$pid"
rm out
mkfifo keys
exec 9<>keys
env --default-signal=INT script -qfc "bash --norc -i" /dev/null <keys >screen 2>&1 &
started+=("$!" "$pid")
printf 'cr_restart --restore-pgid --truncate %s/ctx </dev/null >/dev/null 2>&1 &\n' "$PWD" >&9
check "a job in the background" wait_for exists out
foreground() { ps -o tpgid= -p "$pid" | tr -d " "; }
shell=$(foreground)
check "... does not have the terminal" test "$shell" != "$pid"
printf 'fg\n' >&9
in_front() { [ "$(foreground)" != "$shell" ]; }
check "... is brought to the foreground" wait_for in_front
# More than once: a shell goes on whose command was about to end by itself.
interrupted() { printf '\003' >&9; is_gone "$pid"; }
check "... and ended from the keyboard" wait_for interrupted
err=$(cat -v screen)
exec 9<&-
end_processes

done_testing
