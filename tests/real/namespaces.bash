# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# namespaces.bash STEPS - in namespaces of its own: who and where it is, at the beginning and at the end
exec 2>&1
me=$BASHPID
tell()
{
	echo "$((BASHPID == me)) $(id -u) $(id -g) $(id -G) $(hostname)"
	cat /proc/self/uid_map /proc/self/gid_map /proc/self/setgroups
	grep -E '^(Groups|Cap|NoNewPrivs)' /proc/self/status
	sed -n '3,$s/:.*//p' /proc/net/dev
	cat /proc/net/if_inet6 /proc/net/fib_trie
	(exec 3<>/dev/tcp/127.0.0.1/1)
	# With a pid namespace of its own.
	[ "$BASHPID" -gt 9 ] || echo /proc/[0-9]*
	rm -f new && : >new && stat -c '%u %g' new
}
tell
for ((n = 1; n <= $1; n++)); do
	sleep 0.05
	echo "$n" >>log
done
sha256sum log
# Put there by somebody else, for a group that has no number here.
[ ! -e secret ] || cat secret
tell
exit 7
