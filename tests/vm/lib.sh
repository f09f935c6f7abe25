# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Common to the scripts of tests/vm. Sourced, never run.
#
# Exit statuses shared by all of them: 0 done, 1 failed, 2 wrong usage.

# The checkout, the build directory, and where everything that is fetched or made
# once is kept.
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
vmdir=$top/tests/vm
cache=${CRYO_CACHE:-${HOME:-/root}/.cache/cryo}
# shellcheck disable=SC2034 # used by the scripts that source this file
build=${CRYO_BUILD:-$top/build}

# What tests/vm/arch/A sets.
# shellcheck disable=SC2034 # used by the scripts that source this file
deb_arch='' gnu='' kernel_flavours=() kernel_arch='' console='' kernel_options='' qemu_program='' cross_packages=()

check_arch()
{
	case $1 in
	x86_64|aarch64|ppc64le) ;;
	*) die 2 "unknown architecture '$1': use x86_64, aarch64 or ppc64le" ;;
	esac
}

# choose_arch A: the machine, and what is built for it, is of architecture A: sets what
# tests/vm/arch/A sets, tells the scripts that are called, and gives each foreign
# architecture a build directory of its own.
choose_arch()
{
	check_arch "$1"
	export CRYO_ARCH=$1
	# shellcheck source=/dev/null
	. "$vmdir/arch/$1"
	build=${CRYO_BUILD:-$top/build}
	is_native || build=$build/$1
	# Held while something is built in, or copied from, the build directory.
	# shellcheck disable=SC2034 # used by the scripts that source this file
	build_lock=$cache/lock/build-$(printf %s "$build" | sha256sum | cut -c1-16)
}

# Are programs of the machine's architecture those of this one? Build hosts are x86-64.
is_native() { [ "$CRYO_ARCH" = x86_64 ]; }

# What the names of tools for the machine begin with.
cross_prefix() { is_native || printf '%s-' "$gnu"; }

# Where kernels come from.
# shellcheck disable=SC2034 # used by the scripts that source this file
kernel_suites=(bookworm bookworm-updates bookworm-security bookworm-backports trixie
	trixie-security sid)

# What goes into a machine has to be readable by its unprivileged user.
umask 022

say() { printf 'vm: %s\n' "$*" >&2; }

# die STATUS MESSAGE: one line, then the end.
die()
{
	local status=$1
	shift
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit "$status"
}

# show_errors LOG: the lines of a compiler's and make's output that matter most.
show_errors()
{
	grep -E -m 5 '(error:|undefined reference|No rule to make|Stop\.)' "$1" >&2 || tail -n 5 "$1" >&2
}

need_tools()
{
	local tool missing=()
	for tool in "$@"; do
		PATH=$PATH:/usr/sbin:/sbin command -v "$tool" >/dev/null || missing+=("$tool")
	done
	[ ${#missing[@]} -eq 0 ] ||
		die 1 "missing: ${missing[*]} (install with $vmdir/deps)"
}

as_root()
{
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -- "$@"; fi
}

# busybox for the machine; it needs no library.
machine_busybox()
{
	local sysroot
	if is_native; then
		printf '/bin/busybox\n'
	else
		sysroot=$("$vmdir/sysroot") || return
		printf '%s\n' "$sysroot/bin/busybox"
	fi
}

# make_initramfs KERNEL-DIR INIT FILE: a file with busybox, the modules of the kernel that are needed to
# reach a disk, and INIT as the first program.
make_initramfs()
{
	local kdir=$1 init=$2 file=$3 dir
	dir=$(mktemp -d "$file.XXXXXX")
	chmod 755 "$dir"
	mkdir -p "$dir/bin"
	cp "$(machine_busybox)" "$dir/bin/"
	cp "$init" "$dir/init"
	cp -r "$kdir/boot" "$dir/boot"
	(cd "$dir" && find . | cpio -o -H newc --quiet -R 0:0) >"$file"
	rm -rf "$dir"
}

# with_lock FILE COMMAND...: one at a time. Caches are filled by building under a
# temporary name and renaming, so readers need no lock. Not to be called as a condition
# (if, ||): that would switch errexit off in COMMAND.
with_lock()
(
	file=$1
	shift
	mkdir -p "$(dirname "$file")"
	exec {fd}>"$file"
	flock "$fd"
	# The descriptor is closed for the command, or a daemon it starts would keep the lock.
	"$@" {fd}>&-
)

# attempt COMMAND...: runs it with errexit on and leaves its status in $attempt_status.
attempt()
{
	set +e
	(set -e; "$@")
	# shellcheck disable=SC2034 # for the caller
	attempt_status=$?
	set -e
}

# touch_cache FILE...: in use. prune_cache: what has not been in use for a month goes, and with it
# what runs that were killed left half-made. Called when something new has come in.
touch_cache() { touch -c "$@" 2>/dev/null || true; }

prune_cache()
{
	find "$cache/kernels" "$cache/root" -mindepth 1 -maxdepth 1 ! -type l -mtime +30 \
		-exec rm -rf {} + 2>/dev/null || true
}

# make_image DIR IMAGE FREE: a file system image with what is in DIR and FREE MiB of room
# beside it, in files of 64 KiB or more on the average, and 10000 others. No mount, no loop device; no journal, because images are used with
# QEMU's snapshot=on and thrown away.
make_image()
{
	local dir=$1 image=$2 free=$3 size files
	size=$(du -sm --apparent-size "$dir" | cut -f1)
	files=$(find "$dir" -printf x | wc -c)
	: >"$image"
	PATH=$PATH:/usr/sbin:/sbin mke2fs -q -t ext4 -O ^has_journal -E lazy_itable_init=1,root_owner=0:0 \
		-N $((files + 10000 + free * 16)) -d "$dir" "$image" "$((size * 12 / 10 + files / 200 + free))M" >&2
}

# --- Debian's archive, through the machine's own apt configuration -------------

# The base address of the archive that serves one suite ("bookworm" or
# "bookworm-security"), as apt itself reads it from one-line and deb822 sources.
# Origin keeps third parties out that also call a suite "bookworm"; it is known
# only once `apt-get update` has run, before that the address must end in the suite's
# usual name.
mirror_of()
{
	local suite=$1
	# shellcheck disable=SC2016 # apt expands these
	apt-get indextargets --format \
		'$(CODENAME)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)|$(REPO_URI)' 'Identifier: Packages' |
	awk -F'|' -v suite="$suite" '
		$3 != "main" || ($1 != suite && $2 != suite) { next }
		$4 == "Debian" || ($4 ~ /ORIGIN/ && $5 ~ /\/debian(-security)?\/?$/) { print $5; exit }'
}

# apt_sources ARCH,... SUITE...: sources.list lines for these suites of Debian, from the
# mirrors that this machine uses. Later suites live beside bookworm on the same mirror.
apt_sources()
{
	local main security suite uri
	local keyring=/usr/share/keyrings/debian-archive-keyring.gpg options="arch=$1"
	shift
	main=$(mirror_of bookworm)
	[ -n "$main" ] || die 1 "apt's sources name no Debian mirror that serves bookworm main"
	security=$(mirror_of bookworm-security)
	[ ! -e "$keyring" ] || options+=" signed-by=$keyring"
	for suite in "$@"; do
		case $suite in
		*-security) uri=$security ;;
		*) uri=$main ;;
		esac
		[ -z "$uri" ] || printf 'deb [%s] %s %s main\n' "$options" "$uri" "$suite"
	done
}

# apt_state NAME ARCH,... SUITE...: a private apt state in the cache (lists, no installed
# packages), refreshed once a day or when CRYO_REFRESH is set. The first of Debian's
# architectures is that of packages whose name comes without one. Sets APT_CONFIG, which the
# caller exports to use it. The machine's own apt state is not touched.
apt_state()
{
	local name=$1
	shift
	local dir=$cache/apt/$name
	with_lock "$cache/lock/apt-$name" apt_state_locked "$dir" "$@"
	export APT_CONFIG=$dir/apt.conf
}

apt_state_locked()
{
	local dir=$1 architectures=$2
	shift 2
	mkdir -p "$dir/lists/partial" "$dir/archives/partial"
	apt_sources "$architectures" "$@" >"$dir/sources.list.new"
	[ -e "$dir/status" ] || : >"$dir/status"
	apt_conf "$dir" "$architectures" >"$dir/apt.conf"
	if [ -z "${CRYO_REFRESH:-}" ] && cmp -s "$dir/sources.list.new" "$dir/sources.list" && has_fresh_lists "$dir"; then
		return
	fi
	rm -f "$dir/updated" "$dir/updated-in-part"
	mv "$dir/sources.list.new" "$dir/sources.list"
	say "reading Debian's package lists ($architectures: $*)"
	if APT_CONFIG=$dir/apt.conf apt-get -q update >"$dir/update.log" 2>&1; then
		touch "$dir/updated"
	else
		# A mirror may lack a suite that this run does not need; what is
		# really missing is named when it is asked for.
		say "apt-get update had errors, see $dir/update.log"
		touch "$dir/updated-in-part"
	fi
}

# For a day, or where the mirror is at odds with itself for ten minutes: what is fetched together takes the same lists.
has_fresh_lists()
{
	[ -n "$(find "$1/updated" -mtime -1 2>/dev/null; find "$1/updated-in-part" -mmin -10 2>/dev/null)" ]
}

apt_conf()
{
	local dir=$1 architectures=$2
	# How this machine reaches its mirror (proxies and the like), nothing else.
	(unset APT_CONFIG; apt-config dump) |
		grep -E '^Acquire::(http|https|Retries|ForceIPv[46])\b' || true
	cat <<-EOF
	Dir::Etc::main "/dev/null";
	Dir::Etc::parts "/dev/null";
	Dir::Etc::sourcelist "$dir/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Dir::State::Lists "$dir/lists";
	Dir::State::status "$dir/status";
	Dir::Cache::archives "$dir/archives";
	Dir::Cache::pkgcache "";
	Dir::Cache::srcpkgcache "";
	Acquire::Languages "none";
	Acquire::Check-Valid-Until "false";
	APT::Sandbox::User "root";
	APT::Architecture "${architectures%%,*}";
	APT::Architectures { "${architectures//,/\"; \"}"; };
	EOF
}

choose_arch "${CRYO_ARCH:-x86_64}"
