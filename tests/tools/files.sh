#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Where cr_checkpoint writes, and what becomes of files that are there.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

fresh
start
cr "$pid"
check "without options: success" status_is 0
check "... and silence" silent
check "... a context in the current directory" is_context "context.$pid"
check "... for its owner only" same "$(stat -c %a "context.$pid")" 400
check "... and nothing else" no_file_but count "context.$pid"
check "... and the process goes on" goes_on

mkdir dir
cr -d dir "$pid"
check "--dir" is_context "dir/context.$pid"
cr "$pid" --file=name
check "--file, after the process" is_context name
cr -f "$base/work/dir/name" "$pid"
check "--file with an absolute path" is_context dir/name
cr -F 7 "$pid" 7>by-fd
check "--fd" is_context by-fd
cr_checkpoint -f - "$pid" | cat >by-pipe
check "--file=- through a pipe" is_context by-pipe
cr_checkpoint -f - "$pid" >by-redirection
check "--file=- into a file" is_context by-redirection
mkfifo fifo
cat fifo >by-fifo &
cr -f fifo "$pid"
wait $!
check "a FIFO" is_context by-fifo
check "... which stays one" test -p fifo
cr -f /dev/null "$pid"
check "/dev/null" status_is 0
check "... which stays a device" test -c /dev/null

fresh
start
echo old >ctx
(sleep 30 & exec sleep 30) & parent=$!
started+=("$parent")
wait_for has_child "$parent"
child=$(cat "/proc/$parent/task/$parent/children")
started+=("$child")
cr -p -f ctx "$parent"
check "--process leaves a child out" is_context ctx
kill "$child"
echo old >ctx
start_obstacle
cr -f ctx "$parent"
check "what cannot be saved is refused" status_is 52
check "... by pid" said "$parent"
check "... and the old file stays" same "$(cat ctx)" old
check "... and nothing is left over" no_file_but count ctx

fresh
start
echo old >ctx
cr --backup -f ctx "$pid"
check "--backup writes the new file" is_context ctx
check "... and numbers the old one" same "$(cat 'ctx.~1~')" old
cr --backup -f ctx "$pid"
check "... and the next one" is_context 'ctx.~2~'
cr --backup=kept -f ctx "$pid"
check "--backup=NAME" is_context kept
cr --noclobber -f ctx "$pid"
check "--noclobber: an old file is an error" status_is 17
check "... that names it" said "ctx exists already"
cr --noclobber -f other "$pid"
check "... and a new one is not" is_context other
echo old >clobbered
chmod 600 clobbered
ln clobbered link
cr --clobber -f clobbered "$pid"
check "--clobber writes in place" is_context link
cr --nosync -f ctx "$pid"
check "--nosync" is_context ctx
check "the process goes on" goes_on

done_testing
