#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A file is what it was, and not what has its name: other mounts over a directory, mounts that have been taken away, and files that
# have been replaced since the checkpoint.  What is somebody else's stays as it is.
. "$(dirname "$0")/lib.sh"

# job REDIRECTIONS: a program that counts, in the directory d.
job()
{
	fresh
	mkdir -p d
	rm -f count
	mount -t tmpfs mine d
	echo before >d/log
	seq 1000 >d/in
	eval "\"$busy\" count $1 >/dev/null 2>&1 &"
	pid=$!
	started+=("$pid")
	wait_for busy_counts
}

others_over() { mount -t tmpfs others d; seq -f 'precious %g' 100000 >d/log; seq 2 1001 >d/in; sum=$(md5sum <d/log); }
told() { [[ $err =~ $1 ]]; }
untouched() { same "$(md5sum <d/log)" "$sum"; }
finish()
{
	end_processes
	while umount -l d 2>/dev/null; do :; done
}

restart()
{
	rc=0
	cr_restart "$@" ctx >/dev/null 2>"$base/stderr" || rc=$?
	err=$(cat "$base/stderr")
}

# runs ARGUMENT...: restarts in the background and waits until it counts.
runs()
{
	rm -f count.old
	cp count count.old
	cr_restart "$@" ctx 2>"$base/stderr" &
	started+=("$!" "$pid")
	wait_for counts_again
	rc=$?
	err=$(cat "$base/stderr")
	return $rc
}
counts_again() { ! cmp -s count count.old; }
end_job() { cr --kill -f ctx "$pid"; wait "$pid" 2>/dev/null; wait_for is_gone "$pid"; is_context ctx; }

# ---- before the checkpoint ----

for how in '6>>d/log' '6<d/in' '6<>d/log'; do
	job "$how"
	others_over
	cr -f ctx "$pid"
	check "$how: another mount is over its directory: refused" eval 'status_is 52 && told "d/.*: file that no path leads to" && said "file that no path leads to (under another mount, or unmounted)"'
	check "... as with --dry-run" eval 'cr --dry-run "$pid"; status_is 52'
	umount d
	cr -f ctx "$pid"
	check "... and not when it has gone" status_is 0
	finish
done

job '6>>d/log'
mkdir -p elsewhere
mount --bind d elsewhere
others_over
end_job
check "a name in another mount is taken" eval 'status_is 0 && cr_info -v ctx | grep -q elsewhere/log'
check "... by the restart, too" runs
finish
check "... which writes there" same "$(head -1 elsewhere/log)" before
umount elsewhere

job '6>>d/log'
umount -l d
echo precious >/log
cr -f ctx "$pid"
check "its mount has been taken away: refused" eval 'status_is 52 && said "file that no path leads to"'
check "... and what has the rest of the name is as it was" same "$(cat /log)" precious
rm -f /log
finish

fresh
mkdir d
mount -t tmpfs mine d
(cd d && exec "$busy" "$PWD/../count" >/dev/null 2>&1) &
pid=$!
started+=("$pid")
wait_for busy_counts
mount -t tmpfs others d
cr -f ctx "$pid"
check "another mount is over the working directory: refused" eval 'status_is 52 && said "a working directory that no path leads to (under another mount, or unmounted)"'
finish

fresh
mkdir d
mount -t tmpfs mine d
"$here/listener" "$PWD/d/sock" 0600 0 "$PWD/count" &
pid=$!
started+=("$pid")
wait_for busy_counts
mount -t tmpfs others d
cr -f ctx "$pid"
check "... over the name of a socket: refused" eval 'status_is 52 && said "Unix socket that no path leads to (under another mount, or unmounted)"'
finish

# Of a file system that need not keep all names in memory.
fresh
disk=$(mktemp -d /var/tmp/cryo-tools-XXXXXX)
touch "$disk/temporary"
"$busy" count 6<>"$disk/temporary" >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for busy_counts
ln "$disk/temporary" "$disk/final"
rm "$disk/temporary"
cr -f ctx "$pid"
check "the name is gone, and there is another one: it is taken" eval 'status_is 0 && cr_info -v ctx | grep -q "$disk/final"'
sync
echo 2 >/proc/sys/vm/drop_caches
cr -f ctx "$pid"
check "... unless nobody knows it: refused" \
	eval 'status_is 52 && said "file with a deleted name and an uncached hard link (stat(1) that first)"'
stat "$disk/final" >/dev/null
cr -f ctx "$pid"
check "... and who looks at it makes it known" status_is 0
finish
rm -rf "$disk"

# ---- after it ----

job '6>>d/log 7<>d/in'
end_job
others_over
restart --check
check "another file has the name of one that is written: refused" eval 'status_is 116 && told "d/log.*its name now refers to a different file .[im]"'
check "... with the option that helps" said "changed-files=warn accepts it"
restart
check "... without --check, too" eval 'status_is 116 && untouched'
check "on request it is taken" runs --changed-files=warn
check "... and not cut" untouched
check "... with a warning" told "warning.*a different file"
finish

job '6<d/in'
end_job
others_over
restart --check
check "another file has the name of one that is read: refused" eval 'status_is 116 && told "d/in: .*another file; descriptor 6"'
restart --check --changed-files=warn
check "... or a warning, on request" eval 'status_is 0 && said "warning"'
finish

# replaced COMMAND: the file log, after something has been done in place of it.
replaced()
{
	fresh
	echo before >log
	"$busy" count 6<>log >/dev/null 2>&1 &
	pid=$!
	started+=("$pid")
	wait_for busy_counts
	end_job
	eval "$1"
	restart --check
}

replaced 'seq 1000 >new; mv new log'
check "a new file in place of an output file: refused" eval 'status_is 116 && said "a different file"'
restart
check "... and it is as it was" same "$(wc -l <log)" 1000
replaced 'cp -p log new; mv new log'
check "a copy of it with its time is as good" eval 'status_is 0 && silent'
check "... and is taken" runs
replaced 'cp log new; rm log; cp new log; touch log'
check "a copy of it without its time: refused" eval 'status_is 116 && said "--relocate=$PWD/log=$PWD/log declares it to be the right one"'
restart --check --relocate="$PWD/log=$PWD/log"
check "... but for who says that it is the right one" status_is 0
check "... and is taken" runs --relocate="$PWD/log=$PWD/log"
replaced 'mkdir there; mv log there; seq 1000 >>there/log; mv there/log there/copy; cp there/copy there/log'
restart --check --relocate="$PWD/log=$PWD/there/log"
check "who says where it is now is believed" eval 'status_is 0 && said "bytes were added since"'

# ---- the working directory ----

# in_directory: a program that counts, and is in d.
in_directory()
{
	(cd d && exec "$busy" "$PWD/../count" >/dev/null 2>&1) &
	pid=$!
	started+=("$pid")
	wait_for busy_counts
	end_job
}
is_in() { same "$(readlink "/proc/$pid/cwd")" "$PWD/$1"; }

fresh
mkdir d
in_directory
mv d moved
mkdir d
restart --check
check "another working directory has the name: --check warns" \
	eval 'status_is 0 && told "warning: pid $pid.*: its working directory $PWD/d is another one than at the checkpoint \((inode|made)"'
restart --check --changed-files=refuse
check "... where files have to be what they were: refused" \
	eval 'status_is 116 && told "working directory $PWD/d is another one .*; --changed-files=warn accepts it, --relocate=OLD=NEW selects another one"'
restart --changed-files=refuse
check "... before anything is done" eval 'status_is 116 && is_gone "$pid"'
restart --check --changed-files=ignore
check "... on request: nothing" eval 'status_is 0 && silent'
restart --check --relocate="$PWD/d=$PWD/moved"
check "... nor of the one that has been moved" eval 'status_is 0 && silent'
check "... which is taken" eval 'runs --relocate="$PWD/d=$PWD/moved" && is_in moved'
end_processes
wait_for is_gone "$pid"
check "... the other one, with a warning" eval 'runs && told "another one than at the checkpoint" && is_in d'
end_processes
wait_for is_gone "$pid"
rmdir d
mv moved d
restart --check
check "... back in its place: nothing" eval 'status_is 0 && silent'
rmdir d
mkdir d
restart --check
check "one that has been removed and made anew: a warning" eval 'status_is 0 && told "working directory $PWD/d is another one"'
finish

fresh
mkdir d
in_directory
mount -t tmpfs others d
restart --check
check "one that is mounted over: a warning" eval 'status_is 0 && told "working directory $PWD/d is another one"'
umount d
restart --check
check "... not when that has gone" eval 'status_is 0 && silent'
finish

# Root directories of file systems have the same number.
fresh
mkdir d others
mount -t tmpfs others others
mount -t tmpfs mine d
in_directory
umount d
mount --bind others d
umount others
restart --check
check "of another file system, from before the checkpoint: a warning" eval 'status_is 0 && told "working directory $PWD/d is another one .*inode"'
finish

done_testing
