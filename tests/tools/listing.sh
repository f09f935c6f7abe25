#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Directories of contexts: cr_info lists them, and what killed cr_checkpoints have left goes with the next one.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

listed() { rc=0; out=$(cr_info "$@" 2>&1) || rc=$?; err=$out; }
line_of() { printf '%s\n' "$out" | grep "^$1 "; }

fresh
mkdir inc
listed inc
check "a directory without contexts" eval 'status_is 0 && said "inc: no contexts"'
start
for i in 1 2 3; do cr --incremental inc "$pid"; done
cr -z1 -f inc/whole.zst "$pid"
cr -z1 -f inc/packed "$pid"
cr_checkpoint -z1 -f - "$pid" >inc/piped
echo "no context" >inc/note
# A frame of five bytes, which are not compressed (RFC 8878, section 3.1.1).
printf '\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello' | tee inc/note.zst >inc/other
mkfifo inc/fifo
listed inc
check "one line for each context" eval 'status_is 0 && [ "$(printf "%s\n" "$out" | wc -l)" = 6 ]'
check "... compressed, whatever its name" eval 'line_of packed | grep -q "can be restarted$" && line_of piped | grep -q "can be restarted$"'
check "... with date, size and whether it can be restarted" \
	eval 'line_of context.$pid.1 | grep -q "20[0-9][0-9]-.*[KM]iB  can be restarted$"'
cr_info inc/context."$pid".3 >report
check "one that needs others: its own checksums, not all" eval 'grep -q "those of its own verified: good" report && ! grep -q NOTE report'
mv inc/context."$pid".1 elsewhere
cp inc/whole.zst inc/damaged
printf 'XXXX' | dd of=inc/context."$pid".2 bs=1 seek=4096 conv=notrunc status=none 2>/dev/null ||
	{ chmod 600 inc/context."$pid".2; printf 'XXXX' | dd of=inc/context."$pid".2 bs=1 seek=4096 conv=notrunc status=none; }
listed inc
check "one that another needs is missing, one is damaged" status_is 1
check "... the line says which" eval 'line_of context.$pid.3 | grep -q "cannot be restarted: needs context.$pid.1, which is missing"'
check "... and what" eval 'line_of context.$pid.2 | grep -q "cannot be restarted: .*context.$pid.2"'
check "... others can" eval 'line_of whole.zst | grep -q "can be restarted"'
cr_info inc/context."$pid".3 >report
check "a context by itself: the missing one is named" grep -q "NOTE       cannot be restarted: context.$pid.1 is missing" report
listed --json inc
check "for programs" eval 'status_is 1 && [[ $out == *"\"state\": \"incomplete\""* ]]'

# Temporary files.
left() { find . -maxdepth 1 -name '.*tmp*' -printf '%f\n' | sort | tr '\n' ' '; }
fresh
start
cr -f old "$pid"
cp old .ctx.tmp
cp old .context.77.3.zst.tmp.4
cp old .ctx.tmp.1
cp old .other.tmp
echo "another program's" >.ctx.tmp.2
: >.ctx.tmp.9
cp old .ctx.tmp.5
cp old .ctx.tmp.6
cp old .context.78.tmp
ln old.link .ctx.tmp.7 2>/dev/null || ln old .ctx.tmp.7
chmod 600 .ctx.tmp .ctx.tmp.[0-9]* .other.tmp .context.*
chmod 644 .ctx.tmp.5
chown "$user" .ctx.tmp.6
ln -s "$PWD/old" .ctx.tmp.8
flock .context.78.tmp sleep 100 &
started+=("$!")
sleep 0.3
cr -f ctx "$pid"
check "what killed ones have left goes: not what others hold, own, read, link or made" eval \
	'status_is 0 && same "$(left)" ".context.78.tmp .ctx.tmp.2 .ctx.tmp.5 .ctx.tmp.6 .ctx.tmp.7 .ctx.tmp.8 .other.tmp "'
check "... what links lead to is there" is_context old
fresh
start 64
for i in 1 2; do
	cr_checkpoint -f ctx "$pid" 2>/dev/null & requester=$!
	started+=("$requester")
	wait_for eval '[ "$(find . -name ".ctx.tmp*" -size +0 | wc -l)" -ge 1 ]'
	kill -KILL "$requester"
	wait "$requester" 2>/dev/null
done
cr -f ctx "$pid"
check "one that is killed leaves nothing for long" eval 'status_is 0 && same "$(left)" ""'
mkfifo fifo
for i in 1 2 3; do cr_checkpoint -f "ctx.$i" "$pid" 2>/dev/null & started+=("$!"); done
wait "${started[@]: -3}"
check "several at once do not take each other's" same "$(left)" ""

# A process that is not there.
fresh
mkdir inc
mkfifo inc/context.99999.1
cr --incremental inc 99999
check "generations of no process: only that is said" eval 'status_is 3 && same "$err" "cr_checkpoint: Checkpoint failed: there is no process 99999"'

done_testing
