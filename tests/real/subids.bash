# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# In a user namespace with many ids: who is who in it, before and after.
exec 2>&1
who() { id -u; id -g; cat /proc/self/uid_map /proc/self/gid_map /proc/self/setgroups; }
export -f who
export steps=$1
who
setpriv --reuid 7 --regid 8 --groups 9,10 bash -c '
	who
	: >"by $$" && rm "by $$"
	for ((n = 1; n <= steps; n++)); do sleep 0.05; done
	who
	id -G
	: >seven
	stat -c "%u %g" seven
	rm seven' >other &
for ((n = 1; n <= steps; n++)); do sleep 0.05; done
wait $!
cat other
who
setpriv --reuid 11 --regid 12 --clear-groups id -u
