#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A job with a mount namespace of its own is restarted where more is mounted than there was.
. "$(dirname "$0")/lib.sh"

as_user=(setpriv --reuid="$user" --regid="$user" --init-groups)
more=()
unmount_more() { for at in "${more[@]}"; do while mountpoint -q "$at"; do umount "$at"; done; done; more=(); }
trap 'end_processes; unmount_more; clean_up' EXIT
# mount_more DIRECTORY [TIMES]
mount_more() { local i; for ((i = 0; i < ${2:-1}; i++)); do mount -t tmpfs more "$1"; done; touch "$1/more"; more+=("$1"); }

turns() { cat tick 2>/dev/null; }
beyond() { [ "$(turns)" -gt "$1" ] 2>/dev/null; }
mounted() { sed 's/^[0-9]* [0-9]* [0-9:]* //' "/proc/$1/mountinfo" | sort; }
said_all() { local text; for text; do said "$text" || return; done; }

# saved WHO SETUP: a context of a job that has set up its mounts so; $pid has ended then, $was_mounted is what it had.
saved()
{
	local who=() how=(unshare -m)
	unmount_more
	fresh
	mkdir -p place/inner other source
	chown -R "$user:" .
	[ "$1" = root ] || { who=("${as_user[@]}"); how=(unshare -Urm); }
	# shellcheck disable=SC2016 # of the shell inside
	"${who[@]}" "${how[@]}" bash -c "$2"'; n=0; while :; do n=$((n + 1)); echo $n >$0.new; mv $0.new $0; sleep 0.1; done' \
		"$PWD/tick" </dev/null >/dev/null 2>&1 &
	pid=$!
	started+=("$pid")
	wait_for beyond 1
	was_mounted=$(mounted "$pid")
	rc=0
	err=$("${who[@]}" cr_checkpoint --tree --kill -f ctx "$pid" 2>&1) || rc=$?
	wait_for is_gone "$pid"
	check "$1's job: a checkpoint" status_is 0
}

# restarts_as WHO NAME: it goes on, and --check said so.
restarts_as()
{
	local who=() before
	[ "$1" = root ] || who=("${as_user[@]}")
	rc=0
	err=$("${who[@]}" cr_restart --check ctx 2>&1) || rc=$?
	check "$2: --check finds nothing in the way" status_is 0
	before=$(turns)
	"${who[@]}" cr_restart ctx </dev/null 2>"$base/stderr" &
	started+=("$!" "$pid")
	check "... it goes on" wait_for beyond "$((before + 2))"
	err=$(<"$base/stderr")
}
# refused_as WHO NAME TEXT
refused_as()
{
	local who=() how
	[ "$1" = root ] || who=("${as_user[@]}")
	for how in --check --verbose; do
		rc=0
		err=$("${who[@]}" cr_restart $how ctx 2>&1) || rc=$?
		check "$2, $how: refused" not status_is 0
		check "... as the job uses what is below" said "$3"
	done
}

saved root 'mount -t tmpfs own other; echo own >other/file; mount --bind source source'
mount_more /mnt
restarts_as root "one more is mounted"
check "... with what it had mounted" same "$(mounted "$pid")" "$was_mounted"
check "... and what was in it" same "$(cat "/proc/$pid/root$PWD/other/file")" own

saved root 'mount -t tmpfs own other'
mount_more /mnt 3
mount_more "$PWD/place" 2
restarts_as root "several are mounted over each other"
check "... none of them is there" same "$(mounted "$pid")" "$was_mounted"

# They are not the user's: he cannot take them away.
saved user 'mount -t tmpfs own other; echo own >other/file; exec 5<other/file'
mount_more /mnt 2
mount_more "$PWD/place"
restarts_as user "two more are mounted"
check "... is warned of them" said_all "warning: mount /mnt (tmpfs): not a mount of the job, and cr_restart cannot unmount it there" "warning: mount $PWD/place (tmpfs): not a mount of the job, and cr_restart cannot unmount it there"
check "... which are there" [ -e "/proc/$pid/root$PWD/place/more" ]
check "... with what it had mounted itself" same "$(cat "/proc/$pid/root$PWD/other/file")" own

saved user 'exec 5>place/file; mount -t tmpfs own other'
mount_more "$PWD/place"
refused_as user "over an open file" "mount $PWD/place (tmpfs): not a mount of the job, and cr_restart cannot unmount it there (unmount it first)"

saved user 'mount -t tmpfs own place/inner'
mount_more "$PWD/place/inner"
refused_as user "over a mount" "mount $PWD/place/inner (tmpfs): not a mount of the job, and cr_restart cannot unmount it there"

saved user 'mount --bind place other; exec 5>place/inner/file'
mount_more "$PWD/place/inner"
refused_as user "over what is bound elsewhere" "mount $PWD/place/inner (tmpfs): not a mount of the job, and cr_restart cannot unmount it there"

saved user 'mount --rbind / other; cd other"$PWD"/place/inner'
mount_more "$PWD/place/inner"
refused_as user "over what is in a copy of the root directory" "mount $PWD/place/inner (tmpfs): not a mount of the job, and cr_restart cannot unmount it there"

saved user 'cd place/inner'
mount_more "$PWD/place"
refused_as user "over the working directory" "mount $PWD/place (tmpfs): not a mount of the job, and cr_restart cannot unmount it there"

done_testing
