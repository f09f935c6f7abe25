#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# cr_restart --pid-ns: a pid namespace of its own, where the ids of the job are free.
# shellcheck disable=SC2016 # eval expands it later
. "$(dirname "$0")/lib.sh"

# With groups that have no number in a user namespace of his.
as_user=(setpriv --reuid "$user" --regid "$user" --groups "4,27,1000" --)
fresh

# Says what it is told to at the end, and counts meanwhile.
cat >job <<'END'
#!/bin/bash
trap 'echo term >>said; exit 7' TERM
n=0
until [ -e go ]; do n=$((n + 1)); echo "$n $$ $(grep NSpid /proc/self/status | wc -w)" >count.new; mv count.new count; sleep 0.1; done
exit "$(cat go)"
END
chmod 755 job
count_is_not() { [ "$(cat count)" != "$1" ]; }
counts() { wait_for count_is_not "$(cat count)"; }
# Its status in $rc.
await_end() { rc=0; wait_for is_gone "$1" || kill -KILL "$1"; wait "$1" 2>/dev/null || rc=$?; }

# saved_by WHO...: a context of a job, which goes on
saved_by()
{
	rm -f go count ctx said
	end_processes
	# What a script starts in the background ignores the keyboard.
	"$@" env --default-signal=INT setsid ./job </dev/null >/dev/null 2>&1 &
	started+=("$!")
	wait_for exists count
	pid=$(cut -d ' ' -f 2 count)
	started+=("$pid")
	cr --tree -f ctx "$pid"
	chmod 644 ctx
	[ "$1" = env ] || chown "$user:" ctx
	said_ctx=$rc
}

# restart_by WHO...: in the background, beside the job that has the ids
restart_by()
{
	rm -f count
	kill -STOP "$pid"
	"$@" cr_restart --pid-ns ctx </dev/null >restart.out 2>&1 &
	restarter=$!
	started+=("$restarter")
	wait_for exists count
}

# The number outside of the process that has this one in the namespace of the restart.
outside_of()
{
	local process inside
	for process in $(pgrep -x job); do
		inside=$(sed -n 's/^NSpid:.*[[:space:]]\([0-9]*\)[[:space:]]\([0-9]*\)$/\2/p' "/proc/$process/status" 2>/dev/null)
		[ "$inside" != "$1" ] || echo "$process"
	done
}

for who in "$user" root; do
	by=("${as_user[@]}")
	[ "$who" != root ] || by=(env)
	saved_by "${by[@]}"
	check "$who: a context" [ "$said_ctx" = 0 ]
	rc=0
	err=$("${by[@]}" cr_restart --check ctx 2>&1 </dev/null) || rc=$?
	check "$who: its ids are in use" eval 'status_is 16 && said "--pid-ns"'
	rc=0
	err=$("${by[@]}" cr_restart --pid-ns --check ctx 2>&1 </dev/null) || rc=$?
	check "... with --pid-ns they are free" status_is 0
	restart_by "${by[@]}"
	check "... it runs" counts
	check "... with the id that it had" [ "$(cut -d ' ' -f 2 count)" = "$pid" ]
	inside=$(outside_of "$pid")
	check "... in a pid namespace of its own" [ "$(readlink "/proc/$inside/ns/pid")" != "$(readlink /proc/self/ns/pid)" ]
	check "... without capabilities that it had not" \
		[ "$(grep CapEff "/proc/$inside/status")" = "$(grep CapEff "/proc/$pid/status")" ]
	check "... nothing is mounted outside" [ "$(grep -c ' /proc ' /proc/self/mounts)" = 1 ]

	into=(nsenter -t "$inside" -p -m)
	[ "$who" = root ] || into+=(-U --preserve-credentials)
	rc=0
	err=$("${by[@]}" "${into[@]}" cr_checkpoint --tree -f "$PWD/ctx.again" "$pid" 2>&1) || rc=$?
	check "... it can be checkpointed again, from inside" status_is 0

	kill -TERM "$restarter"
	await_end "$restarter"
	check "... a signal for cr_restart is the job's, and its status that of cr_restart" eval 'status_is 7 && [ "$(cat said)" = term ]'
	wait_for eval '! pgrep -x cr_restart'
	check "... nobody is left" [ -z "$(pgrep -x cr_restart)" ]

	mv ctx.again ctx
	restart_by "${by[@]}"
	check "... restarted from the second context" counts
	echo 3 >go
	await_end "$restarter"
	check "... its exit status" status_is 3
done

# Ends by a signal, and leaves somebody behind.
cat >job <<'END'
#!/bin/bash
(until [ -e later ]; do sleep 0.1; done; echo "left $BASHPID" >>said) &
n=0
until [ -e go ]; do n=$((n + 1)); echo "$n $$" >count.new; mv count.new count; sleep 0.1; done
kill -KILL $$
END
saved_by "${as_user[@]}"
restart_by "${as_user[@]}"
touch go
await_end "$restarter"
check "a job that ends by a signal" status_is 137
check "... who is left in the background" [ ! -e said ]
touch later
wait_for exists said
check "... lives until it ends by itself" grep -q left said
wait_for eval '! pgrep -x cr_restart'
check "... and nobody after it" [ -z "$(pgrep -x cr_restart)" ]

# Who reads the output of cr_restart waits for the job, and not for what it leaves behind.
rm -f go later said
saved_by "${as_user[@]}"
(sleep 1; touch go) &
kill -STOP "$pid"
rc=0
err=$(timeout 60 "${as_user[@]}" cr_restart --pid-ns --redirect 1=/dev/null --redirect 2=/dev/null ctx 2>&1 </dev/null) || rc=$?
check "its output ends with the job" status_is 137
touch later
end_processes

# Jobs with namespaces of their own: in a user namespace nobody can set groups, and what is mounted is locked.
cat >job <<'END'
#!/bin/bash
proc()
{
	local words
	words=$(grep NSpid /proc/self/status | wc -w)
	echo "$words"
	[ "$words" != 2 ] || ps -o comm= -p $$ # else it has another number there
}
until [ -e go ]; do echo "$((n++)) $$ $(id -u) $(id -G | tr ' ' ,)" $(proc) >count.new; mv count.new count; sleep 0.1; done
exit "$(cat go)"
END
sees() { cut -d ' ' -f 2- count; }
# In the namespaces that cr_restart has made: one of the job may be in others.
first_inside()
{
	local process
	for process in $(pgrep -x cr_restart); do
		! grep -q '^NSpid:[[:space:]][0-9]*[[:space:]]1$' "/proc/$process/status" || echo "$process"
	done
}
# goes_on_there COMMAND...: that is a restart, after which the job says $before again.
goes_on_there()
{
	rc=0
	err=$("$@" --pid-ns --check ctx 2>&1 </dev/null) || rc=$?
	check "... nothing stands in the way of it" eval 'status_is 0 && [ -z "$err" ]'
	rm -f count
	"$@" --pid-ns ctx </dev/null >restart.out 2>&1 &
	restarter=$!
	started+=("$restarter")
	wait_for eval 'exists count || is_gone $restarter'
	err=$(cat restart.out)
	check "... it runs" counts
	check "... and is told the same" same "$(sees)" "$before"
}

# namespaces_go_on NAME WHO... -- COMMAND...: the job is run by this, and then restarted by $again instead of WHO.
namespaces_go_on()
{
	local name=$1 who=() before
	shift
	while [ "$1" != -- ]; do who+=("$1"); shift; done
	shift
	[ ${#again[@]} -gt 0 ] || again=("${who[@]}" cr_restart)
	rm -f go count ctx
	end_processes
	"${who[@]}" "$@" setsid --wait ./job </dev/null >/dev/null 2>&1 &
	pid=$!
	started+=("$pid")
	wait_for exists count
	before=$(sees)
	rc=0
	err=$("${who[@]}" cr_checkpoint --tree --kill -f ctx "$pid" 2>&1) || rc=$?
	check "$name: a context" status_is 0
	wait "$pid" 2>/dev/null
	before=${before/"$lost"/}
	goes_on_there "${again[@]}"
	if [ "$twice" ]; then
		rc=0
		err=$("${who[@]}" nsenter -t "$(first_inside)" -p -m -U --preserve-credentials \
			cr_checkpoint --tree --kill -f "$PWD/ctx" "$pid" 2>&1) || rc=$?
		check "... a context from inside" status_is 0
		wait "$restarter" 2>/dev/null
		goes_on_there "${again[@]}"
	fi
	echo 3 >go
	await_end "$restarter"
	check "... its exit status" status_is 3
	again=()
}
again=() lost='' twice=1
numbers=(--map-user="$(id -u "$user")" --map-group="$(id -g "$user")")
namespaces_go_on "unshare -Ur" "${as_user[@]}" -- unshare -Ur
twice=''
namespaces_go_on "unshare -U, with the user's own number" "${as_user[@]}" -- unshare -U "${numbers[@]}"
namespaces_go_on "unshare -Urpnu" "${as_user[@]}" -- unshare -Urpnu --fork
namespaces_go_on "one in another" "${as_user[@]}" -- unshare -Ur unshare -U "${numbers[@]/=*/=7}"
# As the machine's binfmt_misc is.
mount -t tmpfs -o size=64k none /proc/sys/fs/binfmt_misc
namespaces_go_on "unshare -Urm" "${as_user[@]}" -- unshare -Urm
twice=1
namespaces_go_on "unshare -Urmpf --mount-proc" "${as_user[@]}" -- unshare -Urmpf --mount-proc
twice=''
namespaces_go_on "mount namespaces in each other" "${as_user[@]}" -- unshare -Urm unshare -m unshare -Urmpf --mount-proc
namespaces_go_on "root, unshare -m" env -- unshare -m
was=$(findmnt -no PROPAGATION /)
mount --make-rshared /
namespaces_go_on "root, unshare -m, slave" env -- unshare -m --propagation slave
mount --make-r"${was%%,*}" /
namespaces_go_on "root, unshare -mpf --mount-proc" env -- unshare -mpf --mount-proc
umount /proc/sys/fs/binfmt_misc
lost=,65534
again=(setpriv --reuid "$user" --regid "$user" --groups "1000" -- cr_restart --groups=own)
namespaces_go_on "unshare -Ur, by who has lost groups" "${as_user[@]}" -- unshare -Ur

# Ids that his namespace does not have.
mkdir mappers
printf '#!/bin/sh\n' | tee mappers/newuidmap >mappers/newgidmap
chmod 755 mappers/*
rm -f count ctx go
end_processes
"${as_user[@]}" unshare -U sh -c 'until [ -e go ]; do sleep 0.1; done; rm go; exec ./job' </dev/null >/dev/null 2>&1 &
pid=$!
started+=("$pid")
wait_for eval '[ "$(readlink /proc/$pid/ns/user)" != "$(readlink /proc/self/ns/user)" ]'
printf '0 1000 1\n1 100000 5\n' | tee "/proc/$pid/uid_map" >"/proc/$pid/gid_map"
touch go
chown "$user:" go
wait_for exists count
cr --tree --kill -f ctx "$pid"
wait "$pid" 2>/dev/null
chown "$user:" ctx
rc=0
err=$("${as_user[@]}" env PATH="$PWD/mappers:$PATH" cr_restart --check ctx 2>&1 </dev/null) || rc=$?
check "a user namespace with more ids" not said "not mapped"
rc=0
err=$("${as_user[@]}" env PATH="$PWD/mappers:$PATH" cr_restart --pid-ns --check ctx 2>&1 </dev/null) || rc=$?
check "... is not made in one that has the user's only" status_is 1
check "... which is said of its users" said \
	"has the users 100000 to 100004, which are not mapped in that of cr_restart (an ordinary user's --pid-ns maps the caller's only)"
check "... and of its groups" said "has the groups 100000 to 100004"

# No user namespaces for him.
limit=$(cat /proc/sys/user/max_user_namespaces)
echo 0 >/proc/sys/user/max_user_namespaces
rc=0
err=$("${as_user[@]}" cr_restart --pid-ns ctx 2>&1 </dev/null) || rc=$?
echo "$limit" >/proc/sys/user/max_user_namespaces
check "no user namespaces: it is said what is missing" \
	eval 'status_is 1 && said "cr_restart: Restart failed: --pid-ns: cannot create a user namespace, which it takes without CAP_SYS_ADMIN: limit reached: user.max_user_namespaces"'
limit=$(cat /proc/sys/user/max_mnt_namespaces)
echo 0 >/proc/sys/user/max_mnt_namespaces
rc=0
err=$(cr_restart --pid-ns --run-on-fail-temp='exit 44' ctx 2>&1 </dev/null) || rc=$?
echo "$limit" >/proc/sys/user/max_mnt_namespaces
check "no mount namespaces: it is said which limits there are" \
	eval 'status_is 1 && said "cannot create a pid namespace: limit reached: user.max_user_namespaces, user.max_pid_namespaces or user.max_mnt_namespaces"'
# As AppArmor may have it: a namespace in which nothing can be done.
rc=0
err=$(unshare -m sh -c 'mount --bind /proc /proc && mount -o remount,ro,bind /proc && exec "$@"' - "${as_user[@]}" cr_restart --pid-ns ctx 2>&1 </dev/null) || rc=$?
check "a user namespace that permits nothing: it is said" \
	eval 'said "--pid-ns: the user namespace was created, but does not permit to write /proc/self/setgroups: Read-only file system"'
# Debian's own.
switch=/proc/sys/kernel/unprivileged_userns_clone
if [ -w $switch ]; then
	echo 0 >$switch
	rc=0
	err=$("${as_user[@]}" cr_restart --pid-ns --run-on-fail-env='exit 44' ctx 2>&1 </dev/null) || rc=$?
	check "... --run-on-fail-env is run" status_is 44
	rc=0
	err=$("${as_user[@]}" cr_restart --pid-ns ctx 2>&1 </dev/null) || rc=$?
	echo 1 >$switch
	check "... and by which switch" eval 'status_is 1 && said "$switch is 0"'
fi

# What signals its own group reaches nobody outside.
cat >job <<'END'
#!/bin/bash
until [ -e go ]; do echo "$((n++)) $$" >count.new; mv count.new count; sleep 0.1; done
trap '' TERM
kill 0
exit 5
END
saved_by "${as_user[@]}"
rm -f count
kill -STOP "$pid"
touch go
rc=0
"${as_user[@]}" bash -c 'cr_restart --pid-ns ctx </dev/null >/dev/null 2>&1; echo "status $?" >outlived' || rc=$?
check "a job that signals its group: the script that restarts it goes on" eval 'status_is 0 && [ "$(cat outlived)" = "status 5" ]'

# At a terminal: in the background it leaves that alone, in the foreground its keys are the job's.
cat >job <<'END'
#!/bin/bash
while :; do echo "$((n++)) $$" >count.new; mv count.new count; sleep 0.1; done
END
saved_by "${as_user[@]}"
kill -STOP "$pid"
rm -f count
mkfifo keys
chmod 666 keys
exec 9<>keys
"${as_user[@]}" script -qfc "bash --norc -i" /dev/null <keys >screen 2>&1 &
started+=("$!")
front() { ps -o tpgid= -p "$(outside_of "$pid")" | tr -d ' '; }
group() { ps -o pgid= -p "$(outside_of "$pid")" | tr -d ' '; }
printf 'cr_restart --pid-ns --restore-pgid %s/ctx </dev/null >/dev/null 2>&1 &\n' "$PWD" >&9
check "in the background of a terminal: it runs" wait_for exists count
check "... and has not taken that" eval '[ "$(front)" != "$(group)" ]'
kill -KILL "$(outside_of "$pid")"
check "... it ends" wait_for eval '[ -z "$(outside_of "$pid")" ]'
printf 'cr_restart --pid-ns --restore-pgid %s/ctx >/dev/null 2>&1\n' "$PWD" >&9
check "in the foreground: it runs" wait_for eval '[ -n "$(outside_of "$pid")" ]'
check "... and has the terminal" wait_for eval '[ "$(front)" = "$(group)" ]'
printf '\032' >&9
check "... Ctrl-Z stops it" wait_for eval '[ "$(state_of "$(outside_of "$pid")")" = T ] && [ "$(front)" != "$(group)" ]'
printf 'fg\n' >&9
check "... fg continues it, with the terminal" wait_for eval '[ "$(front)" = "$(group)" ] && [ "$(state_of "$(outside_of "$pid")")" != T ]'
printf '\003' >&9
check "... and Ctrl-C ends it" wait_for eval '[ -z "$(outside_of "$pid")" ]'
exec 9<&-
rc=0
err=$(cr_restart --pid-ns --report-fd 5 ctx 2>&1 </dev/null) || rc=$?
check "not for libcr" eval 'status_is 255 && said "exclude each other"'
end_processes
done_testing
