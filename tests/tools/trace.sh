#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The module's tracepoints: what a checkpoint and a restart tell, and that none of it is a kernel pointer.
# shellcheck disable=SC2016 # eval expands it later
. "$(dirname "$0")/lib.sh"

tracing=/sys/kernel/tracing
mountpoint -q "$tracing" || mount -t tracefs tracefs "$tracing" 2>/dev/null
[ -e "$tracing/events/enable" ] || skip_all "this kernel has no events in tracefs"

events() { grep -o ': cryo_[a-z_]*: .*' "$tracing/trace" | cut -c3-; }
# has_event NAME REGEX: is there one that begins so?
has_event() { events | grep -c "^$1: $2" >/dev/null; }
# Addresses of the kernel are in the upper half, whatever the architecture.
no_kernel_address() { ! grep -qE '(^|[ =x])[89a-f][0-9a-f]{15}( |$)' "$base/events"; }
no_pointer_field() { ! grep -h 'field:.*[*]' "$tracing"/events/cryo/*/format; }
no_user_sees() { ! runuser -u "$user" -- cat "$tracing/events/cryo/cryo_park/format" 2>/dev/null; }

fresh
start_quietly 8
echo >"$tracing/trace"
check "the module has tracepoints" eval 'echo 1 >"$tracing/events/cryo/enable"'
cr --kill -f ctx "$pid"
check "a checkpoint: begins, with its target" has_event cryo_request_begin "pid=$pid scope="
check "... its thread parks" has_event cryo_park "pid=$pid tid=$pid$"
check "... all are at rest" has_event cryo_freeze "pid=$pid processes=1 threads=1 error=0"
check "... sections are written" has_event cryo_section "type=[0-9]* object=[0-9]* bytes="
check "... and pages" has_event cryo_pages "mm=[0-9]* looked_at=[0-9]* saved=[1-9]"
check "... it goes on" has_event cryo_thaw "pid=$pid pause_ns=[1-9]"
check "... and that is the end" has_event cryo_request_end "pid=$pid error=0 bytes=[1-9]"
wait_for is_gone "$pid"
events >"$base/events"
echo >"$tracing/trace"
check "a restart, from a mapped context" restarts --map --kmsg-warning ctx
check "... its thread joins" has_event cryo_restart_join "coordinator=[1-9][0-9]* tid=$pid$"
for state in committing registers setup tables go; do
	check "... state $state" has_event cryo_restart_state "coordinator=[1-9][0-9]* state=$state"
done
if grep -q 'cannot be mapped, is read in full: Operation not supported' restart.out; then
	echo "# this kernel cannot map (no CONFIG_MMU_NOTIFIER)"
else
	check "... a page is waited for" has_event cryo_map_fault "pid=$pid address=0x[1-9a-f]"
	check "... and comes" has_event cryo_map_page "pid=$pid address=0x[0-9a-f]*000 in_context=1"
fi
echo 0 >"$tracing/events/cryo/enable"
events >>"$base/events"
check "no event has an address of the kernel" no_kernel_address
check "... and none has room for one" no_pointer_field
check "nobody but root sees events" no_user_sees
echo >"$tracing/trace"
start 1
cr --kill -f off "$pid"
check "those that are off say nothing" eval '[ -z "$(events)" ]'
done_testing
