#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# cr_run: what it sets, what it returns.
# shellcheck disable=SC2016,SC2119 # eval expands it later; optional arguments
. "$(dirname "$0")/lib.sh"

# What LD_PRELOAD is under cr_run, without directories.
preload() { LD_PRELOAD=${1-} cr_run sh -c 'echo "$LD_PRELOAD"' 2>/dev/null | sed 's#[^:]*/##g'; }
status_of() { rc=0; err=$("$@" 2>&1 >/dev/null) || rc=$?; }

fresh
check "the library is preloaded" same "$(preload)" libcr_run.so.0
check "... and really loaded" eval 'cr_run cat /proc/self/maps | grep -q libcr_run'
check "other entries stay" same "$(preload libm.so.6)" libcr_run.so.0:libm.so.6
check "its own earlier ones do not" same "$(preload '/old/libcr_run.so.0 libcr_omit.so.0:libm.so.6')" libcr_run.so.0:libm.so.6
status_of cr_run sh -c 'exit 7'
check "the status is the program's" status_is 7
status_of cr_run /nonexistent
check "a program that is not there" status_is 127
check "... named" said /nonexistent
status_of cr_run /etc/passwd
check "a file that is no program" status_is 126
status_of cr_run
check "no program" status_is 255
status_of cr_run --omit sh -c 'test "$LD_PRELOAD" = libcr_omit.so.0'
check "--omit preloads the other library" status_is 0
cr_run --omit sleep 60 &
omitted=$!
sleep 1
status_of cr_checkpoint -f omitted.context "$omitted"
check "... and the process is left out" status_is 3
kill "$omitted"
status_of cr_run --run -- true
check "--run and --" status_is 0
check "arguments of the program are not looked at" same "$(cr_run echo --help -z)" "--help -z"

cr_run "$busy" "$base/work/count" & pid=$!
started+=("$pid")
wait_for busy_counts
cr "$pid"
check "a process under cr_run can be checkpointed" is_context "context.$pid"
check "... and goes on" goes_on

done_testing
