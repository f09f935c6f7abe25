#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Memory in huge pages: of an ordinary user's process; where there are not enough of them, or files of theirs have changed.
. "$(dirname "$0")/lib.sh"

kib=$(sed -n 's/^Hugepagesize: *\([0-9]*\) kB/\1/p' /proc/meminfo)
[ -n "$kib" ] || skip_all "this kernel has no huge pages"
pool=/sys/kernel/mm/hugepages/hugepages-${kib}kB
huge=$here/huge
mnt=$base/hugetlbfs
mkdir "$mnt"
group_before=$(cat /proc/sys/vm/hugetlb_shm_group)
cgroup=/sys/fs/cgroup/cryo-hugetlb
trap 'end_processes; give_back; clean_up' EXIT

give_back()
{
	echo "$group_before" >/proc/sys/vm/hugetlb_shm_group
	mountpoint -q "$mnt" && umount "$mnt"
	ipcrm --all=shm
	echo 0 >"$pool/nr_hugepages"
	[ ! -d "$cgroup" ] || { echo $$ >/sys/fs/cgroup/cgroup.procs; rmdir "$cgroup"; }
}

mount_it() { mount -t hugetlbfs -o "uid=$(id -u "$user"),mode=700" none "$mnt"; }

# pool PAGES: so many there are.
pool()
{
	echo "$1" >"$pool/nr_hugepages"
	[ "$(cat "$pool/nr_hugepages")" -eq "$1" ]
}

as_user() { runuser -u "$user" -- "$@"; }

# start_huge KIND=VALUE...: the user's, in $pid
start_huge()
{
	rm -f count
	as_user "$huge" "$base/work/count" "$@" >/dev/null 2>&1 </dev/null &
	started+=("$!")
	wait_for busy_counts || return
	pid=$(awk '{ print $2 }' count)
	started+=("$pid")
}

checkpoint() { rc=0; out=$(as_user cr_checkpoint "$@" 2>"$base/stderr") || rc=$?; err=$(cat "$base/stderr"); [ "$rc" -eq 0 ]; }
restart() { rc=0; out=$(as_user cr_restart "$@" ctx 2>"$base/stderr") || rc=$?; err=$(cat "$base/stderr"); }

counts_on() { [ -s count ] && ! cmp -s count count.old; }
# runs [OPTION...]: restarted by its user it finds all as it was; then it is ended.
runs()
{
	local status=0
	cp count count.old
	as_user cr_restart "$@" ctx >/dev/null 2>"$base/stderr" </dev/null &
	started+=("$!" "$pid")
	wait_for counts_on && sleep 0.3 && [ -d "/proc/$pid" ] || status=1
	err=$(cat "$base/stderr")
	end_processes
	wait_for is_gone "$pid"
	return $status
}

pool 30 || skip_all "this machine cannot have 30 huge pages of $kib KiB"
mount_it || skip_all "no hugetlbfs can be mounted"

fresh
check "an ordinary user's process" start_huge private=4 anonymous=2 "file=$mnt/file" "removed=$mnt/removed"
check "is saved" checkpoint --kill -f ctx "$pid"
wait_for is_gone "$pid"
rm -f count.old
check "cr_info shows the pages" eval 'cr_info -v ctx | grep -q "hugetlb: .* in pages of"'
cr_info --json ctx >json
check "... and does so for programs" grep -q "\"huge_page_size\": *$((kib * 1024))" json
check "its file left behind: it goes on" runs
rm "$mnt/file"
check "its file gone: it is made anew" runs
check "... with its mode" same "$(stat -c %a "$mnt/file")" 600
check "without pages on demand" runs --no-map

exec 9<>"$mnt/file"
restart --check
check "open elsewhere: refused by name" said "($mnt/file): is in use: its contents cannot be put back"
exec 9>&-
umount "$mnt"
other=$(find /sys/kernel/mm/hugepages -mindepth 1 -name "hugepages-*kB" ! -name "hugepages-${kib}kB" -printf '%f\n' -quit)
other=${other#hugepages-}
if [ -n "$other" ] && mount -t hugetlbfs -o "uid=$(id -u "$user"),mode=700,pagesize=${other%B}" none "$mnt"; then
	restart --check
	check "in pages of another size: refused by name" said "is in a hugetlbfs with pages of ${other%kB} KiB, and had pages of $kib KiB"
	umount "$mnt"
fi
restart --check
check "not mounted: refused by name" said "is not in a hugetlbfs any more: mount -t hugetlbfs there, or --relocate=OLD=NEW"
mount_it

pool 0
restart --check
check "no pages: --check fails" not status_is 0
check "... and tells how many" said "the job needs 9 huge pages of $kib KiB, and 0 can be had: as root, echo 9 >$pool/nr_hugepages"
restart
check "... so does the restart" said "the job needs 9 huge pages of $kib KiB, and 0 can be had"
check "... which has made nothing" not exists "$mnt/file"
pool 8
restart --check
check "one page less than needed" said "and 8 can be had: as root, echo 9 >$pool/nr_hugepages"
pool 9
check "with so many it goes on" runs
echo 9 >"$pool/nr_overcommit_hugepages"
pool 0
check "... or with as many that are allowed beyond them" runs
echo 0 >"$pool/nr_overcommit_hugepages"
pool 30

if mkdir "$cgroup" && echo +hugetlb >/sys/fs/cgroup/cgroup.subtree_control && [ -e "$cgroup/hugetlb.2MB.max" ] && [ "$kib" = 2048 ]; then
	echo $((8 << 21)) >"$cgroup/hugetlb.2MB.max"
	echo $$ >"$cgroup/cgroup.procs"
	restart --check
	echo $$ >/sys/fs/cgroup/cgroup.procs
	check "not allowed by the control group: refused by name" said "of which the control group may have $((8 << 21))"
else
	check "the limit of a control group # SKIP no hugetlb controller" true
fi

fresh
id -g "$user" >/proc/sys/vm/hugetlb_shm_group
check "a System V segment" start_huge segment=2
check "is saved" checkpoint --kill -f ctx "$pid"
wait_for is_gone "$pid"
check "left behind: it goes on" runs
pool 2
check "... also where there are no pages but those that it has" runs
pool 30
ipcrm --all=shm
check "gone: it is made anew" runs
ipcrm --all=shm
# In a container, whose seccomp filter does not allow everything.
if [ "$(uname -m)" = x86_64 ]; then
	cat >without <<-'END'
		#!/usr/bin/perl
		my @filter = ([0x20, 0, 0, 0], [0x15, 0, 1, 310], [0x06, 0, 0, 0x50001], [0x06, 0, 0, 0x7fff0000]);
		my $code = join('', map { pack('SCCL', @$_) } @filter);
		my $program = pack('Sx6P', scalar(@filter), $code);
		syscall(157, 38, 1, 0, 0, 0) == 0 && syscall(157, 22, 2, $program, 0, 0) == 0 or die "seccomp: $!";
		exec @ARGV;
	END
	chmod 755 without
	cp count count.old
	as_user ./without cr_restart ctx >/dev/null 2>"$base/stderr" </dev/null &
	started+=("$!" "$pid")
	check "where process_vm_readv(2) is not allowed, too" wait_for counts_on
	err=$(cat "$base/stderr")
	end_processes
	wait_for is_gone "$pid"
	ipcrm --all=shm
fi
echo 54321 >/proc/sys/vm/hugetlb_shm_group
rc=0
err=$(as_user bash -c 'ulimit -l unlimited; exec cr_restart --check ctx' 2>&1) || rc=$?
check "by who may not make any, whatever he may lock: refused by name" \
	said "is in huge pages, which requires CAP_IPC_LOCK, or the group of /proc/sys/vm/hugetlb_shm_group"
echo "$group_before" >/proc/sys/vm/hugetlb_shm_group

fresh
check "a process with a child" start_huge private=4 forked=4
check "is saved while it goes on" checkpoint --tree --snapshot -f first "$pid"
check "... again, without what has not changed" checkpoint --tree --parent=first -f next "$pid"
end_processes
wait_for is_gone "$pid"
as_user cp first ctx
check "the first context goes on" runs
rm -f ctx
as_user cp next ctx
check "and so does the next one" runs
done_testing
