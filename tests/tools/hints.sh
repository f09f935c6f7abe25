#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What cr_restart and cr_checkpoint say where something is as it should be, but not as one may expect, and what they advise.
. "$(dirname "$0")/lib.sh"

as_user() { setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
# hold COMMAND...: the context of it, which counts in the file count, and has ended.
hold()
{
	fresh
	: >in
	"$@" &
	pid=$!
	started+=("$pid")
	wait_for test -s count
	cr --kill -f ctx "$pid"
	wait "$pid" 2>/dev/null
	wait_for is_gone "$pid"
}
# dry COMMAND...: the status and the lines of a restart.
dry() { rc=0; err=$("$@" 2>&1 </dev/null) || rc=$?; }
counting() { exec "$busy" "$base/work/count" 6<in >/dev/null 2>&1 </dev/null; }

hold setsid "$busy" count >/dev/null 2>&1 </dev/null
dry cr_restart --check ctx
check "who led a process group, and gets into one that others are in: --check tells" \
	eval 'status_is 0 && said "cr_restart: pid $pid: was a process group leader, and joins the group of cr_restart, with pid " && said "(--restore-pgid restores its own group)"'
dry cr_restart --check --restore-pgid ctx
check "... not where that is restored" eval 'status_is 0 && ! said "was a process group leader"'
dry setsid --wait cr_restart --check ctx
check "... nor where cr_restart is alone in its group" eval 'status_is 0 && ! said "was a process group leader"'

hold counting
dry cr_restart --check ctx
check "nothing is told of who led none" eval 'status_is 0 && ! said "was a process group leader"'
cp in new && echo more >>new && mv new in
dry cr_restart --check ctx
check "an input that is another file: the line says what helps" \
	eval 'status_is 116 && said "only read (--changed-files=warn accepts it as is, --redirect 6=FILE takes another one)"'
dry cr_restart --check --changed-files=warn ctx
check "... which it does" status_is 0

in_directory() { cd d && exec "$busy" "$base/work/count" >/dev/null 2>&1 </dev/null; }
hold eval 'mkdir d && in_directory'
dry cr_restart --check ctx
check "the same working directory: nothing is said" eval 'status_is 0 && ! said "working directory"'
rmdir d && mkdir d
dry cr_restart --check ctx
check "one that has been made again: there is a warning" \
	eval 'status_is 0 && said "its working directory $base/work/d is another one than at the checkpoint ("'
dry cr_restart --check --changed-files=ignore ctx
check "... unless changed files are ignored" eval 'status_is 0 && [ -z "$err" ]'

users() { exec setpriv --reuid "$user" --regid "$user" --clear-groups "$busy" "$base/work/count" >/dev/null 2>&1 </dev/null; }
hold users
chown "$user" ctx
dry as_user unshare -r cr_restart --check ctx
check "no number for its user: one line says so" \
	said "user $(id -u "$user") of the job is not mapped in the user namespace of cr_restart (unshare -c, without -r, keeps the caller's)"
check "... and it is a failure" status_is 1
check "... and no other" same "$(wc -l <<<"$err")" 1
dry as_user unshare -c cr_restart --check ctx
check "... and what it names helps" status_is 0

fresh
"$busy" count >/dev/null 2>&1 </dev/null & pid=$!
started+=("$pid")
wait_for busy_counts
cr -f first "$pid"
cr -v --parent first -f second "$pid"
check "the size of an incremental context is that of its file" \
	said "is in second: $(awk -v n="$(stat -c %s second)" 'BEGIN { printf "%.1f KiB", n / 1024 }') ("
check "... and its pages are those that were looked at" said " pages compared; "

# Memory of which a part is damaged in the context, and used after the restart.
large()
{
	exec perl -e 'open(R, "<", "/dev/urandom"); read(R, $x, 48 << 20); open(F, ">", "count"); print F 1; close(F);
		select(undef, undef, undef, 0.05) until -e "go"; $n += ord(substr($x, $_ << 12, 1)) for 0 .. (48 << 8) - 1;'
}
hold large
printf damaged | dd of=ctx bs=1 seek=$((24 << 20)) conv=notrunc status=none
: >go
dry cr_restart --map ctx
check "damage in what is mapped: SIGBUS, and cr_restart says what it may be" \
	eval 'status_is 135 && said "the job was killed by SIGBUS, and had memory mapped from ctx: part of that may be damaged"'
dry cr_restart --no-map ctx
check "... and without mapping it is found before" eval 'not status_is 135 && ! said "killed by SIGBUS"'
done_testing
