#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Fewer than the job has of what is behind descriptors: cr_restart --check says so, and how there are more.
# shellcheck disable=SC2016,SC2317 # eval expands it later; functions are called by name
. "$(dirname "$0")/lib.sh"

settings=(fs/epoll/max_user_watches fs/fanotify/max_user_groups fs/fanotify/max_user_marks fs/mqueue/queues_max kernel/pty/max)
declare -A before
for name in "${settings[@]}"; do before[$name]=$(<"/proc/sys/$name"); done
put_back() { for name in "${settings[@]}"; do echo "${before[$name]}" >"/proc/sys/$name"; done; }
trap 'put_back; end_processes; clean_up' EXIT

# Commands, not functions, so that what is started by them is $!.
# shellcheck disable=SC2034 # used by name
as_user=(setpriv --reuid "$user" --regid "$user" --clear-groups)
# shellcheck disable=SC2034 # used by name
root=(env)
# hold WHO WHAT NUMBER [MSGQUEUE]: the context of a program that has so many, and has ended.
hold()
{
	local -n who=$1
	put_back
	fresh
	"${who[@]}" "$here/holder" ready "$2" "$3" </dev/null >/dev/null 2>&1 &
	pid=$!
	started+=("$pid")
	wait_for exists ready
	[ -z "${4-}" ] || prlimit --msgqueue="$4:$4" --pid "$pid"
	"${who[@]}" cr_checkpoint --kill -f ctx "$pid"
	wait "$pid" 2>/dev/null
	wait_for is_gone "$pid"
}
# try WHO ARGUMENT...
try()
{
	local -n who=$1
	shift
	rc=0
	err=$("${who[@]}" cr_restart "$@" ctx </dev/null 2>&1) || rc=$?
}
limit() { echo "$2" >"/proc/sys/$1"; }
is_fine() { try "$1" --check && status_is 0 && [ -z "$err" ]; }

hold root epoll 4
check "epoll: nothing is in the way" is_fine root
limit fs/epoll/max_user_watches 3
try root --check
check "... the limit is lower: --check says so" \
	eval 'status_is 28 && said "4 epoll watches of user 0 are more than /proc/sys/fs/epoll/max_user_watches allows (3): as root, sysctl -w fs.epoll.max_user_watches=4"'
limit fs/epoll/max_user_watches 5
check "... and now it is not" is_fine root
"$here/holder" others epoll 3 >/dev/null 2>&1 &
started+=("$!")
wait_for exists others
try root --check
check "... others have some" \
	eval 'status_is 28 && said "4 epoll watches of user 0 are more than are left of /proc/sys/fs/epoll/max_user_watches (5, and others have 3): as root, sysctl -w fs.epoll.max_user_watches=7"'
limit fs/epoll/max_user_watches 7
check "... what it says helps" is_fine root
hold as_user epoll 4
limit fs/epoll/max_user_watches 5
"$here/holder" others epoll 3 >/dev/null 2>&1 &
started+=("$!")
wait_for exists others
check "... another user's are no matter" is_fine as_user

hold root fanotify 2
check "fanotify: nothing is in the way" is_fine root
limit fs/fanotify/max_user_groups 1
limit fs/fanotify/max_user_marks 3
try root --check
check "... fewer groups" \
	said "2 fanotify groups are more than are left of /proc/sys/fs/fanotify/max_user_groups (1): as root, sysctl -w fs.fanotify.max_user_groups=3"
check "... and fewer marks" \
	said "4 fanotify marks of user 0 are more than /proc/sys/fs/fanotify/max_user_marks allows (3): as root, sysctl -w fs.fanotify.max_user_marks=4"
limit fs/fanotify/max_user_groups 3
limit fs/fanotify/max_user_marks 4
check "... what it says helps" is_fine root
"$here/holder" others fanotify 2 >/dev/null 2>&1 &
started+=("$!")
wait_for exists others
try root --check
check "... others have some" eval 'status_is 24 && said "2 fanotify groups are more than are left of /proc/sys/fs/fanotify/max_user_groups (3)"'

hold as_user mqueue 2 5000
check "message queues: nothing is in the way" is_fine as_user
err=$( (ulimit -q 5000; "${as_user[@]}" cr_restart --check ctx </dev/null 2>&1) ) && rc=0 || rc=$?
check "... a lower limit of their size" \
	eval 'status_is 24 && said "21920 bytes of POSIX message queues of user $(id -u "$user") are more than the limit allows (5000): as root, ulimit -q 21920"'
err=$( (ulimit -q 21920; "${as_user[@]}" cr_restart --check ctx </dev/null 2>&1) ) && rc=0 || rc=$?
check "... what it says helps" eval 'status_is 0 && [ -z "$err" ]'
limit fs/mqueue/queues_max 1
try as_user --check
check "... fewer queues" \
	eval 'status_is 28 && said "2 POSIX message queues exceed /proc/sys/fs/mqueue/queues_max: 1, of which 0 are in use: as root, sysctl -w fs.mqueue.queues_max=2"'
try root --check
check "... which is no matter for root" eval '! said queues_max'
limit fs/mqueue/queues_max 2
check "... what it says helps" is_fine as_user

hold root pty 2
check "pseudo-terminals: nothing is in the way" is_fine root
there=$(</proc/sys/kernel/pty/nr)
limit kernel/pty/max $((there + 2))
try root --check
check "... fewer of them" \
	eval 'status_is 28 && said "2 pseudo-terminals exceed /proc/sys/kernel/pty/max: $((there + 1)), of which $there are in use: as root, sysctl -w kernel.pty.max=$((there + 3))"'
limit kernel/pty/max $((there + 3))
try root --check
check "... some are reserved: there is a warning" eval 'status_is 0 && said "warning: 2 pseudo-terminals exceed" && said "are reserved"'
try root --kill
check "... and the restart makes them" status_is 137

done_testing
