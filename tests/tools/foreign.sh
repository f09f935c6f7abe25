#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What is refused because of where cr_checkpoint itself is, or of what it leaves out.
. "$(dirname "$0")/lib.sh"

# in_namespaces COMMAND...: runs busy by it, as its child or as itself; $pid.
in_namespaces()
{
	fresh
	rm -f "$base/work/count"
	"$@" "$busy" "$base/work/count" >/dev/null 2>&1 &
	started+=("$!")
	wait_for busy_counts
	pid=$(pgrep -n -x busy)
	started+=("$pid")
}

# cr_in COMMAND...: cr_checkpoint of $pid with $scope, run by it.
scope=--tree
cr_in()
{
	rc=0
	out=$("$@" cr_checkpoint "$scope" -f ctx "$pid" 2>"$base/stderr") || rc=$?
	err=$(cat "$base/stderr")
}
# What the module asks is no matter of what is mounted at /proc.
written() { [ "$rc" -eq 0 ] && exists ctx; }
refused() { [ "$rc" -eq 52 ] && said "pid $pid (busy): $1" && not exists ctx; }

in_namespaces unshare -pf --kill-child sh -c '"$@" & wait' sh
cr_in env
check "the first process of a pid namespace is left out" \
	refused "a pid namespace whose init is outside the checkpoint is not supported"
check "... and the process goes on" goes_on

in_namespaces unshare -p sh -c 'sleep 60 & exec "$@"' sh
scope=--pid cr_in env
check "the first process of a pid namespace for children is left out" \
	refused "a pid namespace for its children without its first process is not supported"
check "... and the process goes on" goes_on

in_namespaces unshare -pf --kill-child unshare -Ur
cr_in nsenter --preserve-credentials -U -t "$pid"
check "a pid namespace of the user namespace above" \
	refused "a pid namespace owned by a user namespace that is not below the requester's is not supported"
check "... and the process goes on" goes_on

in_namespaces unshare -Ur
for kind in uts ipc net cgroup; do
	cr_in nsenter --preserve-credentials -U -t "$pid" unshare --"$kind"
	name=$kind
	[ "$kind" != net ] || name=network
	check "a $name namespace of the user namespace above" \
		refused "a $name namespace owned by a user namespace that is not below the requester's is not supported"
done
cr_in nsenter --preserve-credentials -U -t "$pid" unshare -m
check "a mount namespace of the user namespace above" \
	refused "a mount namespace owned by a user namespace that is not below the requester's is not supported"
check "... and the process goes on" goes_on

in_namespaces env
cr_in unshare -m sh -c 'umount -l /proc && exec "$@"' sh
check "a checkpoint without /proc" written
check "... and the process goes on" goes_on

# with_fake KIND SOURCE PID COMMAND...: in a mount namespace whose /proc has another namespace, that of SOURCE in
# /proc, where that process has its one of the KIND, and is the right one otherwise.
with_fake()
{
	mkdir real
	unshare -m sh -c '
		kind=$1 source=$2
		shift 2
		mount --bind /proc real && mount -t tmpfs tmpfs /proc && mkdir "/proc/$1" "/proc/$1/ns" || exit
		for entry in real/* "real/$1"/* "real/$1"/ns/*; do
			place=/proc/${entry#real/}
			[ -e "$place" ] || ln -s "$PWD/$entry" "$place"
		done
		at=/proc/$1/ns/$kind
		rm "$at" && touch "$at" && mount --bind "real/$source" "$at" || exit
		shift
		exec "$@"' sh "$@"
}
in_namespaces unshare --ipc
cr_in with_fake ipc self/ns/net "$pid"
check "another namespace in place of an ipc namespace" written
check "... and the process goes on" goes_on
in_namespaces unshare -m
cr_in with_fake mnt 1/ns/user "$pid"
check "... in place of a mount namespace" written
check "... and the process goes on" goes_on

done_testing
