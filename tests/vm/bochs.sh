# shellcheck shell=bash disable=SC2154,SC2034 # variables of tests/vm/run
# SPDX-License-Identifier: GPL-2.0-only
# Machines that Bochs emulates: sourced by tests/vm/run, whose variables this uses. They boot from a CD, have their
# disks at an IDE controller, and serial lines where QEMU's have virtio.

# Bochs wants whole cylinders.
bochs_disk()
{
	local channel=$1 drive=$2 image=$3
	truncate -s %516096 "$image"
	printf 'ata%s-%s: type=disk, mode=volatile, path="%s", journal="%s"\n' "$channel" "$drive" "$image" \
		"$work/journal-$channel-$drive"
}

bochs_port() { printf 'com%s: enabled=1, mode=file, dev="%s"\n' "$1" "$2"; }

bochs_settings()
{
	local bochs=$1
	cat <<-EOF
	display_library: $([ -n "${CRYO_BOCHS:-}" ] && echo nogui || echo term)
	megs: $((${mem%[MG]} * $([ "${mem: -1}" = G ] && echo 1024 || echo 1)))
	romimage: file="$bochs/share/bochs/BIOS-bochs-latest"
	vgaromimage: file="$bochs/share/vgabios/vgabios.bin"
	cpu: model=$bochs_model, count=1, ips=100000000, ignore_bad_msrs=1
	pci: enabled=1, chipset=i440fx
	ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
	ata1: enabled=1, ioaddr1=0x170, ioaddr2=0x370, irq=15
	ata1-slave: type=cdrom, path="$work/boot.iso", status=inserted
	boot: cdrom
	clock: sync=none, time0=local
	log: $work/bochs.log
	panic: action=fatal
	error: action=ignore
	info: action=ignore
	debug: action=ignore
	EOF
	bochs_disk 0 master "$rootfs"
	bochs_disk 0 slave "$work/project.img"
	[ ! -e "$kdir/modules.img" ] || bochs_disk 1 master "$kdir/modules.img"
	bochs_port 1 "$work/console"
	bochs_port 2 "$work/control"
	bochs_port 3 "$work/stdout"
	bochs_port 4 "$work/stderr"
}

# nopku: XRSTORS of Bochs 3.0 looks for what follows the protection keys in the wrong place when it is not asked for
# these, and Linux does not ask. indirect_target_selection: where Linux 6.12 works around that property of these processors,
# it warns of its own page tables. no5lvl: its system management mode does not come back to five levels of page tables.
bochs_cd()
{
	local bochs=$1
	mkdir -p "$work/cd/isolinux"
	cp "$bochs"/isolinux/* "$work/cd/isolinux/"
	cp "$kdir/vmlinuz" "$work/cd/vmlinuz"
	cp "$work/initrd" "$work/cd/initrd"
	cat >"$work/cd/isolinux/isolinux.cfg" <<-EOF
	default linux
	prompt 0
	label linux
	kernel /vmlinuz
	initrd /initrd
	append console=$console $kernel_options nokaslr nopku no5lvl indirect_target_selection=off loglevel=7 panic=-1 rcupdate.rcu_cpu_stall_timeout=60 8250.nr_uarts=4 $append
	EOF
	"$bochs/xorriso" -as mkisofs -quiet -o "$work/boot.iso" -b isolinux/isolinux.bin -c isolinux/boot.cat \
		-no-emul-boot -boot-load-size 4 -boot-info-table "$work/cd" >"$work/xorriso.log" 2>&1 ||
		die 97 "no CD to boot from: $(tail -n 1 "$work/xorriso.log")"
}

# The modules that reach an IDE disk, in order, in a directory like the kernel's own boot/.
bochs_initrd()
{
	local dir=$work/bochs-kernel module kind path
	mkdir -p "$dir/boot"
	for module in ata_piix sd_mod ext4 crc32c_generic; do
		# Built into this kernel, or gone from it: nothing to load.
		modprobe -d "$kdir/modules" -S "$release" -D "$module" 2>/dev/null || true
	done | while read -r kind path _; do
		[ "$kind" = insmod ] && [ ! -e "$dir/boot/${path##*/}" ] || continue
		cp "$path" "$dir/boot/"
		printf '%s\n' "${path##*/}" >>"$dir/boot/order"
	done
	make_initramfs "$dir" "$vmdir/initramfs-init" "$work/initrd"
}

# A command line that runs the machine, in $emulator.
prepare_bochs()
{
	local bochs
	bochs=$(prepare "$vmdir/bochs")
	[ -e "$kdir/vmlinuz" ] || die 97 "no packed kernel in $kdir, where an older tests/vm/kernel has left it out: remove that"
	bochs_initrd
	bochs_cd "$bochs"
	bochs_settings "$bochs" >"$work/bochsrc"
	emulator=("${CRYO_BOCHS:-$bochs/bochs}" -q -f "$work/bochsrc")
}
