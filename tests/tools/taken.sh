#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What the machine does not have for a job any more: ports, addresses, room in buffers, ids, inotify instances, semaphores. --check says
# it; and once it is there again, the job runs.
# shellcheck disable=SC2016,SC2034,SC2317 # eval expands it later; used by name; functions are called by check
. "$(dirname "$0")/lib.sh"

# job PERL: of the user, with a count in a file; PERL makes what it has.
job()
{
	fresh
	cat >job.pl <<-END
	use strict;
	use Socket;
	my @all;
	sub keep { push @all, @_; }
	$1
	for (my \$i = 0; ; \$i++) {
		open(my \$file, '>', 'count.new') or die;
		print \$file "\$i\n";
		close(\$file);
		rename('count.new', 'count');
		select(undef, undef, undef, 0.02);
	}
	END
	chmod 777 .
	runuser -u "$user" -- bash -c 'exec perl job.pl >log 2>&1 </dev/null' &
	started+=("$!")
	wait_for test -s count || sed 's/^/# /' log
	pid=$(pgrep -n -u "$user" -x perl)
	started+=("$pid")
	runuser -u "$user" -- cr_checkpoint --kill -f ctx "$pid" || echo "# no context"
	wait_for is_gone "$pid"
}
as_user()
{
	rc=0
	err=$(runuser -u "$user" -- "$@" 2>&1 </dev/null) || rc=$?
}
# is_said STATUS TEXT: by --check; and the restart fails.
is_said()
{
	as_user cr_restart --check ctx
	check "$what: --check says it" eval 'status_is '"$1"' && said "'"$2"'"'
	as_user timeout 20 cr_restart ctx
	check "... so does the restart" eval 'status_is '"$1"' && said "'"$2"'"'
}
runs_again()
{
	as_user cr_restart --check ctx
	check "... there again: --check says nothing" eval 'status_is 0 && silent'
	before=$(<count)
	runuser -u "$user" -- cr_restart ctx >restart.out 2>&1 </dev/null &
	started+=("$!" "$pid")
	check "... it runs" wait_for eval '[ "$(<count)" != "'"$before"'" ]'
	end_processes
}
# taken TYPE PORT LISTENS: by somebody else, until end_it_all.
taken()
{
	perl -e 'use Socket; socket(S, PF_INET, $ARGV[0] eq "udp" ? SOCK_DGRAM : SOCK_STREAM, 0); bind(S, sockaddr_in($ARGV[1], INADDR_ANY)) or die;
		 listen(S, 5) if $ARGV[2]; open(F, ">ready"); sleep 1000' "$1" "$2" "$3" &
	holder=$!
	started+=("$holder")
	wait_for test -e ready
	rm -f ready
}
let_go() { kill -KILL "$holder"; wait "$holder" 2>/dev/null; }
udp='socket(my $s, PF_INET, SOCK_DGRAM, 0) or die; bind($s, sockaddr_in(4711, inet_aton($ENV{AT} // "127.0.0.1"))) or die $!; keep($s);'
tcp='socket(my $s, PF_INET, SOCK_STREAM, 0) or die; bind($s, sockaddr_in(4711, inet_aton($ENV{AT} // "127.0.0.1"))) or die $!;'

job "$udp"
what="a UDP port"
taken udp 4711 ''
is_said 98 "(socket:"
check "... by its address" said "UDP 127.0.0.1:4711 is in use"
check "... and not by whom, who is another user's" not said "is in use by"
err=$(cr_restart --check --other-owner=warn ctx 2>&1)
check "... which root is told" said "UDP 127.0.0.1:4711 is in use by process $holder (perl)"
let_go
runs_again

job "$tcp listen(\$s, 5); keep(\$s);"
what="the port of a listening socket"
taken tcp 4711 1
is_said 98 "TCP 127.0.0.1:4711 is in use"
let_go
what="... that only is bound"
taken tcp 4711 ''
is_said 98 "TCP 127.0.0.1:4711 is in use"
let_go
runs_again

job "$tcp keep(\$s);"
what="the port of a bound socket"
taken tcp 4711 1
is_said 98 "TCP 127.0.0.1:4711 is in use"
let_go
runuser -u "$user" -- perl -e 'use Socket; socket(S, PF_INET, SOCK_STREAM, 0); bind(S, sockaddr_in(4711, INADDR_LOOPBACK)) or die;
	listen(S, 5); open(F, ">ready"); sleep 1000' &
started+=("$!")
wait_for test -e ready
rm -f ready
holder=$(pgrep -n -u "$user" -x perl)
what="a port that a process of the same user has"
is_said 98 "TCP 127.0.0.1:4711 is in use by process $holder (perl)"
kill -KILL "$holder"
wait_for is_gone "$holder"
runs_again

ip address add 192.0.2.7/32 dev lo
export AT=192.0.2.7
for kind in udp tcp; do
	job "${!kind} listen(\$s, 5) if '$kind' eq 'tcp'; keep(\$s);"
	what="an address ($kind)"
	ip address del 192.0.2.7/32 dev lo
	is_said 99 "cannot be at 192.0.2.7:4711 again: Cannot assign requested address"
	ip address add 192.0.2.7/32 dev lo
	runs_again
done
unset AT
ip address del 192.0.2.7/32 dev lo

start=$(</proc/sys/net/ipv4/ip_unprivileged_port_start)
echo 4000 >/proc/sys/net/ipv4/ip_unprivileged_port_start
job "$tcp listen(\$s, 5); keep(\$s);"
what="a port that is for root by now"
echo 5000 >/proc/sys/net/ipv4/ip_unprivileged_port_start
is_said 13 "cannot be at 127.0.0.1:4711 again: Permission denied"
echo "$start" >/proc/sys/net/ipv4/ip_unprivileged_port_start
runs_again

most=$(</proc/sys/net/core/rmem_max)
echo 4000000 >/proc/sys/net/core/rmem_max
job "$udp setsockopt(\$s, SOL_SOCKET, SO_RCVBUF, 3000000);"
what="a receive buffer"
echo 200000 >/proc/sys/net/core/rmem_max
is_said 1 "/proc/sys/net/core/rmem_max allows less"
echo 4000000 >/proc/sys/net/core/rmem_max
runs_again
echo "$most" >/proc/sys/net/core/rmem_max

most=$(</proc/sys/net/core/wmem_max)
echo 4000000 >/proc/sys/net/core/wmem_max
job 'socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die; setsockopt($a, SOL_SOCKET, SO_SNDBUF, 2000000);
	require Fcntl; fcntl($a, Fcntl::F_SETFL(), Fcntl::O_NONBLOCK()); syswrite($a, "x" x 1000000); setsockopt($a, SOL_SOCKET, SO_SNDBUF, 2000); keep($a, $b);'
what="what waits in a Unix socket"
echo 10000 >/proc/sys/net/core/wmem_max
is_said 105 "more than /proc/sys/net/core/wmem_max allows"
echo 4000000 >/proc/sys/net/core/wmem_max
runs_again
echo "$most" >/proc/sys/net/core/wmem_max

job 'my $id = semget(0, 20, 0600) // die; semop($id, pack("s3", 0, 1, 0x1000)) or die; keep($id);  # SEM_UNDO'
ipcrm --all=sem
what="a set of semaphores"
most=$(</proc/sys/kernel/sem)
echo "10	32000	500	32000" >/proc/sys/kernel/sem
is_said 22 "20 semaphores of a set are more than /proc/sys/kernel/sem (the first number) allows (10)"
echo "$most" >/proc/sys/kernel/sem
runs_again
ipcrm --all=sem

# holds PERL: somebody else has it, until let_go.
holds()
{
	perl -e "use Socket; $1 open(F, '>ready'); sleep 1000" &
	holder=$!
	started+=("$holder")
	wait_for test -e ready
	rm -f ready
}
for type in SOCK_STREAM SOCK_DGRAM; do
	abstract='socket(my $s, PF_UNIX, '$type', 0) or die; bind($s, pack_sockaddr_un("\0cryo taken")) or die $!; listen($s, 5);'
	job "$abstract keep(\$s);"
	what="an abstract name ($type)"
	holds "$abstract"
	is_said 98 'the abstract name @cryo\x20taken is in use'
	let_go
	runs_again
done

netlink='socket(my $s, 16, SOCK_RAW, 0) or die; bind($s, pack("SSLL", 16, 0, 471100, 0)) or die $!;'
job "$netlink keep(\$s);"
what="a port of netlink"
holds "$netlink"
is_said 98 "port 471100 of netlink protocol 0 is in use"
let_go
runs_again

# The last one: ids begin anew by that.
most=$(</proc/sys/kernel/pid_max)
if [ "$pid" -gt 310 ]; then
	job ''
	what="an id"
	echo "$((pid - 1))" >/proc/sys/kernel/pid_max
	is_said 22 "is out of range: kernel.pid_max is $((pid - 1)) (root can raise it with sysctl)"
	echo "$most" >/proc/sys/kernel/pid_max
	runs_again
fi

done_testing
