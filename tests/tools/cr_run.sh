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
check "... which is not to have exited" said "process $omitted: there is nothing to be checkpointed"
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

# What a program is told of the processor.
told() { GLIBC_TUNABLES=${2-} cr_run --cpu-baseline="$1" sh -c 'echo "$CRYO_CPU_BASELINE $GLIBC_TUNABLES"' 2>/dev/null; }
if [ "$(uname -m)" = x86_64 ]; then
	check "--cpu-baseline leaves its level" eval 'told x86-64-v2 | grep -q "^x86-64-v2 glibc.cpu.hwcaps=-AVX,"'
	check "... and other tunables as they were" eval 'told x86-64 a=b:glibc.cpu.hwcaps=x:c=d | grep -q "[^:]*-XSAVEC:a=b:c=d$"'
	check "... and what has been set for libcrypto" same "$(OPENSSL_ia32cap=:0 cr_run --cpu-baseline=x86-64 sh -c 'echo "$OPENSSL_ia32cap"')" :0
	check "the loader is kept to it" eval 'cr_run --cpu-baseline=x86-64-v2 "$(ldd /bin/sh | grep -o "/lib.*ld-linux[^ ]*")" --help | grep -q "x86-64-v2 (supported"'
	check "... and has no more" eval '! cr_run --cpu-baseline=x86-64 "$(ldd /bin/sh | grep -o "/lib.*ld-linux[^ ]*")" --help | grep -q "x86-64-v. (supported"'
	status_of cr_run --cpu-baseline=x86-64-v9 true
	check "a level that there is not: wrong usage" status_is 255
	check "... named" said "unknown CPU baseline 'x86-64-v9'; known: x86-64, x86-64-v2, x86-64-v3, x86-64-v4"
	if ! grep -qw avx512f /proc/cpuinfo; then
		status_of cr_run --cpu-baseline=x86-64-v4 true
		check "a level above this processor" status_is 52
		check "... named" said "this processor has less than x86-64-v4"
	fi
else
	status_of cr_run --cpu-baseline=x86-64-v2 true
	check "no levels here" status_is 52
	check "... is said" said "processors of this architecture have no levels"
fi
status_of cr_run --cpu-baseline= true
check "no level" status_is 255

done_testing
