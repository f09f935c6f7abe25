# SPDX-License-Identifier: GPL-2.0-only
# lib.sh - what kernels and cpus share: machines one after the other, and a directory that all see. Sourced, with $top.
# shellcheck shell=bash
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tap=0 bad=0
mkdir "$work/share"
: "${CROSS_ARCH:=x86_64}"
# An emulated time stamp counter that is found unstable would make every look at a clock a system call.
machine=(--append tsc=reliable --packages python3 --timeout 400)
# Foreign machines are slower, and have no python.
[ "$CROSS_ARCH" = x86_64 ] || machine=(--arch "$CROSS_ARCH" --timeout 600)
# Without what the older of the kernels do not know and the newer ones tell programs of.
[ "$CROSS_ARCH" != aarch64 ] || machine+=(--cpu max,pauth-impdef=on,sme=off)

# Numbers the results; what else there is explains them.
pass_on()
{
	local line
	while IFS= read -r line; do
		case $line in
		ok\ *|'not ok '*)
			tap=$((tap + 1))
			echo "${line%% - *} $tap - ${line#* - }"
			[ "${line%% *}" = ok ] || bad=1 ;;
		*) printf '# %s\n' "$line" ;;
		esac
	done
}

# machine OPTION... -- ARGUMENT...: guest.sh with these arguments in a machine with these options
machine()
{
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	"$top/tests/vm/run" "${options[@]}" "${machine[@]}" --share "$work/share" -- \
		bash /cryo/tests/cross/guest.sh "$@" >"$work/out" 2>&1 ||
		echo "not ok - the machine with ${options[*]} (exit status $?)" >>"$work/out"
	pass_on <"$work/out"
}

done_testing()
{
	echo "1..$tap"
	exit "$bad"
}
