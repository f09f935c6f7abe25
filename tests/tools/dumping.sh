#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A checkpoint of a process that dumps its core to a program that takes its time: the core is whole all the same.
# shellcheck disable=SC2016 # eval expands it later
. "$(dirname "$0")/lib.sh"

pattern=$(cat /proc/sys/kernel/core_pattern)
trap 'echo "$pattern" >/proc/sys/kernel/core_pattern; clean_up' EXIT
fresh
cat >"$base/reader" <<END
#!/bin/bash
: >$base/work/begun
until [ -e $base/work/go ]; do sleep 0.1; done
wc -c >$base/work/size.new
mv $base/work/size.new $base/work/size
END
chmod 755 "$base/reader"
echo "|$base/reader" >/proc/sys/kernel/core_pattern
ulimit -c unlimited

# dump [COMMAND...]: busy, with 24 MiB, run by it, dumps its core; $pid
dump()
{
	fresh
	"$@" "$busy" "$base/work/count" 24 >/dev/null 2>&1 &
	started+=("$!")
	wait_for busy_counts
	pid=$(pgrep -n -x busy)
	kill -SEGV "$pid"
	wait_for exists begun
}
is_whole() { touch go; wait_for exists size && wait_for is_gone "$pid" && [ "$(cat size)" -gt $((24 << 20)) ]; }

dump env
check "nobody looks: the core is whole" is_whole
dump env
cr --time 5 -f ctx "$pid"
check "cr_checkpoint says that there is nobody" eval '[ "$rc" != 0 ] && not exists ctx'
check "... why" eval 'said "pid $pid (busy): has ended, and is writing its core file"'
check "... and the core is whole" is_whole
dump env
cr --dry-run "$pid"
check "--dry-run says it, too" eval '[ "$rc" != 0 ] && said "is writing its core file"'
check "... and the core is whole" is_whole
dump setsid bash -c '"$@"; sleep 100' bash
cr --time 5 --tree -f ctx "$(ps -o ppid= -p "$pid" | tr -d ' ')"
check "of its parent, with --tree: refused by name" eval '[ "$rc" != 0 ] && not exists ctx && said "pid $pid (busy): cannot be frozen: is writing its core file"'
check "... and the core is whole" is_whole
done_testing
