#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Files, FIFOs, links and generations that another user has put where a context goes: nobody gets the memory of a process that
# way, and nobody's contexts come to depend on files that are not his own.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

other=65534
as_other() { setpriv --reuid "$other" --regid "$other" --clear-groups "$@"; }
owner_of() { stat -c %u "$1"; }
# cr_for SECONDS ARGUMENT...: cr(), which is not to wait for ever.
cr_for() { local limit=$1; shift; rc=0; out=$(timeout -k 5 "$limit" cr_checkpoint "$@" 2>"$base/stderr") || rc=$?; err=$(<"$base/stderr"); }

fresh
chmod 1777 .
start_quietly 1

as_other touch planted
chmod 666 planted
exec 7<planted
cr --clobber -f planted "$pid"
check "--clobber on a file of another user: success" status_is 0
check "... by a file of the caller's own" test "$(owner_of planted)" = 0
check "... nothing comes to who had the old one open" test -z "$(cat <&7)"
exec 7<&-
touch read-by-others
chmod 644 read-by-others
exec 7<read-by-others
cr --clobber -f read-by-others "$pid"
check "--clobber on a file that others could read: success" status_is 0
check "... nothing comes to who had it open" test -z "$(cat <&7)"
exec 7<&-
echo mine >mine
chmod 600 mine
ln mine link
cr --clobber -f mine "$pid"
check "--clobber on a file of one's own: in place" test mine -ef link

as_other mkfifo -m 666 fifo
timeout 30 cat fifo >stolen &
started+=($!)
cr_for 20 -f fifo "$pid"
check "a FIFO of another user is refused" status_is 1
check "... by name" said "fifo belongs to user $other"
check "... and gets nothing" test ! -s stolen
mkfifo -m 600 own
timeout 30 cat own >got &
started+=($!)
cr_for 20 -f own "$pid"
check "one's own is written to" status_is 0
mkdir theirs-alone
chown "$other" theirs-alone
as_other ln -s /dev/zero theirs-alone/device
cr_for 20 -f theirs-alone/device "$pid"
check "a link to a device is not followed for root" status_is 1
check "... which is said" said "symbolic link"
rc=0; timeout 20 cr_checkpoint -f /dev/stdout "$pid" 2>"$base/stderr" | head -c 8 >start; rc=${PIPESTATUS[0]}
check "/dev/stdout is a pipe that the caller has been given" test -s start

# A name that cannot be replaced in the end: the directory is sticky, the file another user's.
hardlinks=$(</proc/sys/fs/protected_hardlinks)
echo 0 >/proc/sys/fs/protected_hardlinks
as_user() { setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
as_other touch theirs
chmod 666 theirs
as_user sleep 1000 &
sleeper=$!
started+=("$sleeper")
wait_for eval '[ "$(cat /proc/$sleeper/comm)" = sleep ]'
before=$(ls -A)
rc=0; err=$(as_user cr_checkpoint --backup -f theirs "$sleeper" 2>&1) || rc=$?
check "--backup of what cannot be replaced fails" test "$rc" -ne 0
check "... and leaves no backup" test "$(ls -A)" = "$before"
check "... before anything is written, and it is said why" \
	eval 'status_is 1 && said "theirs belongs to user $other, and nobody else can replace it in its directory (sticky bit): name another file"'
echo "$hardlinks" >/proc/sys/fs/protected_hardlinks

mkdir generations
chmod 1777 generations
cr --incremental generations "$pid"
check "a first generation" status_is 0
as_other mkfifo "generations/context.$pid.7"
cp "generations/context.$pid.1" "generations/context.$pid.8"
chown "$other" "generations/context.$pid.8"
as_other touch "generations/context.$pid.18446744073709551615" "generations/context.$pid.2"
cr_for 60 --incremental generations --keep 2 "$pid"
check "generations and a FIFO of others: success" status_is 0
check "... the next number that is free" test -e "generations/context.$pid.3"
check "... its parent is the caller's own" eval 'cr_info --chain "generations/context.$pid.3" | grep -q "context.$pid.1"'
check "... not that of another user" eval '! cr_info --chain "generations/context.$pid.3" | grep -q "context.$pid.8"'
check "... which is said" said "context.$pid.8 is not a file of the caller's own"
cr_for 60 --incremental generations --keep 1 "$pid"
check "--keep: those of others stay" test -e "generations/context.$pid.8" -a -p "generations/context.$pid.7"
done_testing
