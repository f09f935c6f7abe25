#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Contexts whose pages go past the page cache: that they do, when they do, and that nothing else differs.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

mib=$((1 << 20))
# cached FILE: bytes of it that are in the page cache.
cached() { fincore --bytes --noheadings --output RES "$1" | tr -d ' '; }
size() { stat -c %s "$1"; }
# Not of all that is written, but of what --direct is about: pages of memory.
is_cached() { [ "$(cached "$1")" -ge $(($(size "$1") - 4 * mib)) ]; }
is_not_cached() { [ "$(cached "$1")" -le $((4 * mib)) ]; }
begins_cached() { [ "$(cached "$1")" -ge $((12 * mib)) ] && [ "$(cached "$1")" -le $((22 * mib)) ]; }

# The machine's disk.
disk=/var/tmp/cryo-test-direct
rm -rf "$disk"
mkdir "$disk"
trap 'rm -rf "$disk"; clean_up' EXIT
[[ $(stat -f -c %T "$disk") == ext* ]] || { echo "Bail out! $disk is not on a disk"; exit 1; }

free() { echo $(($(stat -f -c '%f * %S' "$disk"))); }
free_before=$(free)
# Files from which pages were still to come are only gone when the module has let go of them.
is_free_again() { [ "$(free)" -ge $((free_before - mib)) ]; }

fresh
start_quietly 40
for options in "--no-snapshot" "--snapshot"; do
	for when in always auto never; do
		# shellcheck disable=SC2086 # words are wanted
		cr $options --direct=$when -f "$disk/$when" "$pid"
		check "--direct=$when, $options: success" status_is 0
		case $when in
		always) check "... its pages are not in the page cache" is_not_cached "$disk/always" ;;
		auto) check "... the first ones are, the others not" begins_cached "$disk/auto" ;;
		never) check "... all are in the page cache" is_cached "$disk/never" ;;
		esac
		[ "$(cached "$disk/$when")" -ge 0 ] && echo "# $(cached "$disk/$when") of $(size "$disk/$when") bytes"
		check "... the process goes on" goes_on
	done
done
cr -f "$disk/default" "$pid"
check "auto is the default" begins_cached "$disk/default"
cr --direct -f "$disk/alone" "$pid"
check "--direct alone means always" is_not_cached "$disk/alone"
cr --nosync -f "$disk/nosync" "$pid"
check "--nosync: the page cache has all" is_cached "$disk/nosync"
mkdir "$base/small"
mount -t tmpfs tmpfs "$base/small"
cr --direct=always -f "$base/small/ctx" "$pid"
check "a file system that has nothing else than the page cache: success" status_is 0
exec 5<>"$disk/behind"
printf '%s' "seven b" >&5
cr --direct=always -F 5 "$pid"
exec 5<&-
check "at a place where no page begins: success" status_is 0
check "... the page cache has all" is_cached "$disk/behind"
tail -c +8 "$disk/behind" >behind
rm "$disk/behind" "$disk/default" "$disk/alone"
mkfifo fifo
cat fifo >from-fifo & reader=$!
cr --direct=always -f fifo "$pid"
check "a FIFO: success" status_is 0
wait "$reader"
cr --direct=always -z1 -f "$disk/packed.zst" "$pid"
check "compressed: success" status_is 0
cr --direct=always --parent "$disk/never" -f "$disk/child" "$pid"
check "with a parent: success" status_is 0
end_it
for file in "$disk"/{always,auto,never,packed.zst,child} "$base/small/ctx" behind from-fifo; do
	check "${file##*/} makes the process again" restarts "$file"
done
check "... without mapping, too" restarts --no-map "$disk/always"
echo 3 >/proc/sys/vm/drop_caches
check "... from the disk" restarts "$disk/auto"

# What the disk says.
rm -f "$disk"/*
check "the disk has room again" wait_for is_free_again
fallocate -l $(($(free) - 24 * mib)) "$disk/filler"
start_quietly 40
for options in "--no-snapshot" "--snapshot" "--clobber"; do
	# shellcheck disable=SC2086 # words are wanted
	cr $options --direct=always -f "$disk/ctx" "$pid"
	check "a full disk, $options" status_is 28
	check "... the file is named" said "$disk/ctx"
	check "... nothing is left" same "$(ls "$disk")" filler
	check "... the process goes on" goes_on
done
rm "$disk/filler"
(ulimit -f 20001; cr --direct=always -f "$disk/ctx" "$pid"; echo "$rc" >rc)
check "a limit on the size of files, where no page begins" same "$(<rc)" 27
check "... nothing is left" same "$(ls "$disk")" ""
check "... the process goes on" goes_on

cr --direct=sometimes 1
check "another word" eval 'status_is 255 && said "--direct: '\''sometimes'\'' is neither"'

done_testing
