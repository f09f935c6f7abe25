#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A job whose directory has moved: program, libraries, working directory, files, mappings, FIFO and socket are found in the new place, by an
# ordinary user, also where the old name leads to something else by then.
# shellcheck disable=SC2016,SC2317 # eval expands it later; functions are called by check
. "$(dirname "$0")/lib.sh"

by_user() { runuser -u "$user" -- "$@"; }
counts_again() { ! cmp -s new/count before; }
# What it has of that kind, by the links of /proc.
leads_to() { [ "$(readlink "/proc/$pid/$1")" = "$PWD/new${2:+/$2}" ]; }
maps() { grep -qF "$PWD/new/$1" "/proc/$pid/maps"; }

fresh
mkdir -p old/bin old/lib
cp "$busy" old/bin/job
ldd "$busy" | grep -o '/[^ ]*libc\.so[^ ]*' | while read -r library; do cp "$library" old/lib/; done
mkfifo old/fifo
echo input >old/input
chown -R "$user" .
cd old || exit 1
by_user env LD_LIBRARY_PATH="$PWD/lib" bash -c 'exec bin/job "$PWD/count" shm 5<>fifo 6<input 7>>log >/dev/null 2>&1' &
started+=("$!")
cd ..
wait_for test -s old/count
pid=$(pgrep -n -u "$user" -x job)
started+=("$pid")
rc=0
err=$(by_user cr_checkpoint --kill -f "$PWD/ctx" "$pid" 2>&1) || rc=$?
check "a checkpoint" eval 'status_is 0 && [ -z "$err" ]'
wait_for is_gone "$pid"
mv old new
mkdir trap
echo "somebody else's" >trap/count
ln -s trap old
chown -h "$user" old
cp new/count before
# What is mapped is the file, also when it goes on from an earlier count.
cp new/count.shm shared

rc=0
err=$(by_user cr_restart --check ctx 2>&1) || rc=$?
check "without the option: refused" not status_is 0
check "... with a hint" said "--relocate=OLD=NEW"
rc=0
err=$(by_user cr_restart --check --relocate "$PWD/old=$PWD/new" ctx 2>&1) || rc=$?
check "with it: --check finds nothing" status_is 0
by_user cr_restart --relocate "$PWD/old=$PWD/new" ctx >restart.out 2>&1 </dev/null &
started+=("$!" "$pid")
check "... it runs" wait_for counts_again
check "... its program is the moved one" leads_to exe bin/job
check "... its library" maps lib/libc.so
check "... its working directory" leads_to cwd ''
check "... its FIFO" leads_to fd/5 fifo
check "... its input" leads_to fd/6 input
check "... its log" leads_to fd/7 log
check "... its shared memory" maps count.shm
check "... nobody has touched what has the old name" same "$(<trap/count)" "somebody else's"
end_processes
wait_for is_gone "$pid"

# Sixteen at most, and the first one that fits counts.
cp new/count before
cat shared >new/count.shm
options=()
for i in {1..14}; do options+=(--relocate "/nonexistent/$i=/elsewhere"); done
by_user cr_restart "${options[@]}" --relocate "$PWD/old=$PWD/new" --relocate "$PWD/old=$PWD/trap" ctx >restart.out 2>&1 </dev/null &
started+=("$!" "$pid")
check "sixteen, of which two fit: the first counts" wait_for counts_again
end_processes
wait_for is_gone "$pid"
rc=0
err=$(by_user cr_restart "${options[@]}" --relocate a=b --relocate a=b --relocate a=b ctx 2>&1) || rc=$?
check "seventeen: wrong usage" status_is 255

# A socket with a name, by root.
fresh
mkdir old
"$here/listener" "$PWD/old/sock" 600 0 "$PWD/old/calls" >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for test -s old/calls
cr --kill -f ctx "$pid"
check "a socket: a checkpoint" status_is 0
wait "$pid" 2>/dev/null
rm old/sock
mv old new
cr_restart --relocate "$PWD/old=$PWD/new" ctx >restart.out 2>&1 </dev/null &
started+=("$!" "$pid")
check "... is in the new place" wait_for test -S new/sock
check "... and only there" not exists old

# In a mount namespace of the job's own: where it finds its log, and not where cr_restart does.
fresh
mkdir data view data/old
chown -R "$user" .
by_user unshare -Urm bash -c "mount --bind data view && cd view/old && exec $busy count 7>>log >/dev/null 2>&1" </dev/null &
started+=("$!")
wait_for test -s data/old/count
pid=$(pgrep -n -u "$user" -x "${busy##*/}")
started+=("$pid")
rc=0
err=$(by_user cr_checkpoint --kill -f "$PWD/ctx" "$pid" 2>&1) || rc=$?
check "in a mount namespace: a checkpoint" eval 'status_is 0 && [ -z "$err" ]'
wait_for is_gone "$pid"
mv data/old data/new
rc=0
err=$(by_user cr_restart --check --relocate "$PWD/data/old=$PWD/data/new" ctx 2>&1) || rc=$?
check "... the name outside: --check refuses" eval 'not status_is 0 && said "data/old/log): cannot be found"'
rc=0
err=$(by_user cr_restart --relocate "$PWD/data/old=$PWD/data/new" ctx 2>&1) || rc=$?
check "... so does a restart" eval 'not status_is 0 && said "data/old/log): cannot be found"'
rc=0
err=$(by_user cr_restart --check --relocate "$PWD/view/old=$PWD/view/new" ctx 2>&1) || rc=$?
check "... the name inside: --check finds nothing" status_is 0
cp data/new/count before
new_counts() { ! cmp -s data/new/count before; }
by_user cr_restart --relocate "$PWD/view/old=$PWD/view/new" ctx >restart.out 2>&1 </dev/null &
started+=("$!" "$pid")
check "... it runs" wait_for new_counts

done_testing
