# SPDX-License-Identifier: GPL-2.0-only
# guest.sh - what `kernels` and `cpus` do inside the machines (bash)
#
#   guest.sh make NAME [PROGRAM...]      runs each program, checkpoints it and ends it: /share/NAME.tar
#   guest.sh restart NAME[,NAME...] [PROGRAM...]   restarts what is in there, and says in TAP how it went
#   guest.sh refuse NAME [PROGRAM...]    sees that it is not restarted for want of instructions
#
# Programs: clocks, signed (the same with signed return addresses), busybox (static), python, baseline (the same under cr_run --cpu-baseline)
set -u
export LC_ALL=C
tests=/cryo/tests
python_steps=120
busybox=(/cryo/vm/busybox awk -f "$tests/cross/digest.awk")

ok() # STATUS TEXT
{
	if [ "$1" = 0 ]; then echo "ok - $2"; else echo "not ok - $2"; fi
	return "$1"
}

as_user() { setpriv --reuid cryo --regid cryo --init-groups -- "$@"; }

start() # PROGRAM: in its directory
{
	case $1 in
	clocks) exec setpriv --reuid cryo --regid cryo --init-groups -- "$tests/cross/clocks" "$PWD/go" ;;
	signed) exec setpriv --reuid cryo --regid cryo --init-groups -- "$tests/cross/clocks-signed" "$PWD/go" ;;
	busybox) exec setpriv --reuid cryo --regid cryo --init-groups -- "${busybox[@]}" go="$PWD/go" ;;
	baseline) exec setpriv --reuid cryo --regid cryo --init-groups -- \
		cr_run --cpu-baseline=x86-64-v2 python3 "$tests/real/python.py" $python_steps "$PWD/go" ;;
	python) exec setpriv --reuid cryo --regid cryo --init-groups -- \
		python3 "$tests/real/python.py" $python_steps "$PWD/go" ;;
	esac </dev/null >stdout 2>stderr
}

make_one() # PROGRAM
{
	local pid status

	mkdir -p "$dir/$1"
	chown cryo: "$dir/$1"
	cd "$dir/$1" || exit 1
	as_user touch stdout stderr
	start "$1" </dev/null >stdout 2>stderr &
	pid=$!
	until [[ $1 = @(clocks|signed) ]] || [ "$(wc -l <stdout)" -ge 3 ]; do sleep 0.1; done
	sleep 2
	as_user cr_checkpoint --kill -f "$PWD/context" "$pid" >log 2>&1
	status=$?
	wait "$pid" 2>/dev/null
	ok $status "$1: checkpoint" || sed 's/^/# /' log
}

expected() # PROGRAM: what it would have printed
{
	case $1 in
	clocks|signed) sed -n 's/^not ok/ok/; /^ok/p' stdout ;;
	busybox) as_user "${busybox[@]}" steps="$(wc -l <stdout)" ;;
	python|baseline) as_user python3 "$tests/real/python.py" "$(wc -l <stdout)" ;;
	esac
}

# How addresses are signed: the bits, and by what the CPU says.
signing() # CONTEXT
{
	as_user cr_info -vv "$1" | grep -o -e 'signature of code[ :=]*0x[0-9a-f]*' -e 'isar[12][ :=]*0x[0-9a-f]*' | sort -u
}

own_signing()
{
	as_user sh -c 'sleep 100 & cr_checkpoint --kill -f own $!' >/dev/null 2>&1
	signing own
	rm -f own
}

refuse_signed()
{
	local status

	as_user cr_restart context </dev/null >log 2>&1
	status=$?
	[ $status = 55 ] && grep -q "/clocks-signed: signs return addresses (pointer authentication; bits .* would do so otherwise (bits " log
	ok $? "signed of $made on $(uname -r): refused for its return addresses, exit status $status" || sed 's|^|# |' log
	! pgrep clocks-signed >pids
	ok $? "signed of $made: no process is left" || sed 's|^|# |' pids
}

refuse_pages() # PROGRAM
{
	local status

	as_user cr_restart context </dev/null >log 2>&1
	status=$?
	[ $status = 22 ] && grep -qF "the context has pages of $(cat ../pages) bytes, this kernel $(getconf PAGESIZE)" log
	ok $? "$1 of $made on $(uname -r): refused for its pages, exit status $status" || sed 's|^|# |' log
}

restart_one() # PROGRAM
{
	local wanted=0 status

	[[ $1 = @(clocks|signed) ]] || wanted=3
	cd "$dir/$1" || exit 1
	if [ "$(cat ../pages)" != "$(getconf PAGESIZE)" ]; then
		refuse_pages "$1"
		return
	fi
	touch go
	if [ "$1" = signed ] && [ "$(signing context)" != "$(own_signing)" ]; then
		refuse_signed
		return
	fi
	as_user cr_restart context </dev/null >log 2>&1
	status=$?
	[ $status = $wanted ]
	ok $? "$1 of $made on $(uname -r): exit status $status" || sed 's|^|# |' log stderr
	expected "$1" >expected 2>/dev/null
	[ -s expected ] && grep -v '^#' stdout | cmp -s - expected
	ok $? "$1 of $made on $(uname -r): output" || tail -n 12 stdout | sed 's/^/# /'
}

refuse_one() # PROGRAM
{
	local status

	cd "$dir/$1" || exit 1
	as_user cr_restart context </dev/null >log 2>&1
	status=$?
	[ $status = 55 ] && grep -q 'this CPU lacks what programs could use where the context was made: .*avx2' log
	ok $? "$1 of $made is refused: exit status $status" || sed 's|^|# |' log
	! pgrep -f "$1.py" >pids
	ok $? "$1 of $made: no process is left" || sed 's|^|# |' pids
}

command=$1 names=$2
shift 2
[ $# -gt 0 ] || set -- clocks python
# Ids that nobody has yet in the machine of the restart.
[ "$command" != make ] || echo 20000 >/proc/sys/kernel/ns_last_pid
for made in ${names//,/ }; do
	# Not on the share, where files do not belong to those who make them.
	dir=/var/tmp/cross-$made
	[ "$command" = make ] || tar -C "${dir%/*}" -xpf "/share/$made.tar" || exit 1
	[ "$command" != make ] || { mkdir -p "$dir" && getconf PAGESIZE >"$dir/pages"; }
	for program in "$@"; do
		"${command}_one" "$program"
	done
	[ "$command" != make ] || tar -C "${dir%/*}" -cf "/share/$made.tar" "${dir##*/}"
done
