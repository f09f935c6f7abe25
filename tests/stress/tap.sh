# SPDX-License-Identifier: GPL-2.0-only
# tap.sh - TAP for test scripts (bash)
set -u
export LC_ALL=C
: "${CR_CHECKPOINT:=cr_checkpoint}" "${CR_RESTART:=cr_restart}" "${CRTEST_USER:=cryo}"
here=$(cd "$(dirname "$0")" && pwd)
tap=0 bad=0

# ok TEXT COMMAND...: whether the command succeeds
ok()
{
	local text=$1
	shift
	tap=$((tap + 1))
	if "$@"; then
		echo "ok $tap - $text"
	else
		echo "not ok $tap - $text"
		bad=1
		return 1
	fi
}

not() { ! "$@"; }

diag() { sed 's/^/# /'; }

skip_all() { echo "1..0 # SKIP $*"; exit 0; }

finish() { echo "1..$tap"; exit "$bad"; }

as_user()
{
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid "$CRTEST_USER" --regid "$CRTEST_USER" --init-groups -- "$@"
	else
		"$@"
	fi
}

# The TAP of another test, numbered on.
pass_on()
{
	local line
	while IFS= read -r line; do
		case $line in
		ok\ *) tap=$((tap + 1)); echo "ok $tap - ${line#* - }" ;;
		not\ ok\ *) tap=$((tap + 1)); bad=1; echo "not ok $tap - ${line#* - }" ;;
		'#'*) printf '%s\n' "$line" ;;
		esac
	done
}
