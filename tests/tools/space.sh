#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Where the data cannot go: full disks, limits, readers that went away, processes that are killed.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

mkdir "$base/small"
mount -t tmpfs -o size=1m tmpfs "$base/small"

for options in "" "-z1" "--clobber" "--kill" "-z1 --kill"; do
	fresh
	start 8
	echo old >"$base/small/ctx"
	chmod 600 "$base/small/ctx"
	# shellcheck disable=SC2086 # words are wanted
	cr $options -f "$base/small/ctx" "$pid"
	check "full disk, options '$options'" status_is 28
	check "... the file is named" said "$base/small/ctx"
	case $options in
	*clobber*) check "... and no half file stays" same "$(ls -A "$base/small")" "" ;;
	*)
		check "... and the old one stays" same "$(cat "$base/small/ctx")" old
		check "... and nothing else" same "$(ls -A "$base/small")" ctx ;;
	esac
	check "... and the process goes on" goes_on
	rm -f "$base/small/ctx"
done

fresh
start 8
cr_limited() { (ulimit -f 100; cr "$@"; echo "$rc" >rc; echo "$err" >err); rc=$(cat rc); err=$(cat err); rm -f rc err; }
cr_limited "$pid"
check "limit on the size of files" status_is 27
check "... no file" no_file_but count
cr_limited -z1 "$pid"
check "... compressed" status_is 27
check "... no file" no_file_but count
check "... and the process goes on" goes_on

for options in "" "-z1"; do
	# shellcheck disable=SC2086 # words are wanted
	cr_checkpoint $options -f - "$pid" 2>err | head -c 10000 >/dev/null
	rc=${PIPESTATUS[0]} err=$(cat err)
	check "the reader goes away, options '$options'" status_is 32
	check "... and that is said" said "standard output"
	check "... and the process goes on" goes_on
done

# Killed in the middle: a FIFO that nobody reads holds the request up.
for options in "--no-snapshot" "--no-snapshot -z1" "--kill"; do
	fresh
	start 32
	mkfifo fifo
	exec 8<>fifo
	# shellcheck disable=SC2086 # words are wanted
	cr_checkpoint $options -f fifo "$pid" & requester=$!
	started+=("$requester")
	wait_for writes "$requester"
	kill -KILL "$requester"
	wait "$requester" 2>/dev/null
	check "cr_checkpoint is killed, options '$options': the process goes on" goes_on
	cr "$pid"
	check "... and can be checkpointed again" status_is 0
	exec 8<&-
done

for options in "--no-snapshot" "--no-snapshot -z1"; do
	fresh
	start 32
	mkfifo fifo
	exec 8<>fifo
	# shellcheck disable=SC2086 # words are wanted
	cr_checkpoint $options -f fifo "$pid" 2>err & requester=$!
	started+=("$requester")
	wait_for writes "$requester"
	kill -KILL "$pid"
	check "the process is killed, options '$options': it dies at once" ends_with 137
	cat <&8 >/dev/null & reader=$!
	started+=("$reader")
	rc=0
	wait "$requester" || rc=$?
	err=$(cat err)
	check "... and cr_checkpoint says so" status_is 3
	check "... by pid" said "process $pid"
	kill "$reader"
	exec 8<&-
done

done_testing
