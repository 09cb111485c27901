#!/bin/sh
# Runs a program on Debian's kernel, in a guest of QEMU's, without KVM: `make test-kernel`, as a runner of Cargo's.
#
#   guest.sh                          looks for what that takes, and gets the kernel
#   guest.sh PROGRAM ARGUMENTS...     exits as the program does, or with 1 if that has not ended in time
set -eu
# Where Debian has what only root runs as a rule.
PATH=$PATH:/usr/sbin:/sbin
here=$(cd "$(dirname "$0")" && pwd)
work=$(cd "$here/../../../.." && pwd)/target/guest
# The first stable Debian whose kernel has what the agent needs (6.6 or newer).
suite=trixie
mirror=http://deb.debian.org/debian
keys=/usr/share/keyrings/debian-archive-keyring.gpg
# Two minutes and a half by themselves; the machine may do other things.
seconds=${TAILRACE_GUEST_SECONDS:-1200}
# What the guest has beside the program; `ip` and `tc` are those of this machine.
programs="sh mount cat modprobe ip tc"

fail() {
    echo "test-kernel: $1" >&2
    exit 1
}

# What is missing is named at once.
check() {
    [ "$(uname -sm)" = "Linux x86_64" ] || fail "needs x86_64 and Linux, whose programs run in the guest; here is $(uname -sm)"
    missing=
    for program in qemu-system-x86_64 cpio depmod curl gpgv dpkg-deb xz strip $programs; do
        command -v "$program" >/dev/null || missing="$missing $program"
    done
    [ -r $keys ] || missing="$missing $keys"
    [ -z "$missing" ] || fail "missing:$missing (make programs installs all that this takes)"
}

fetch() {
    curl --fail --silent --show-error --location --retry 3 --output "$2" "$mirror/$1" ||
        fail "cannot fetch $mirror/$1: the first run takes the network"
}

check_sum() {
    echo "$2  $1" | sha256sum --check --quiet --status || fail "$1 is not what Debian's index says"
}

# A field of a package in the index.
field() {
    awk -v RS= -v package="$1" '$2 == package' Packages | sed -n "s/^$2: //p"
}

# The suite's newest kernel, which then stays (`rm -r target/guest` for a newer one). Debian signs the index, which has the sums.
get_kernel() {
    [ ! -e "$work/kernel" ] || return 0
    rm -rf "$work"
    mkdir -p "$work/fetched"
    cd "$work/fetched"
    index=main/binary-amd64/Packages.xz
    fetch dists/$suite/InRelease InRelease
    gpgv --keyring $keys --output Release InRelease 2>/dev/null || fail "Debian's keys have not signed the index of $suite"
    fetch dists/$suite/$index Packages.xz
    # Of several sums SHA-256 is the one with 64 digits.
    check_sum Packages.xz "$(awk -v file=$index '$3 == file && length($1) == 64 { print $1 }' Release)"
    xz --decompress Packages.xz
    package=$(field linux-image-cloud-amd64 Depends | sed 's/ .*//')
    fetch "$(field "$package" Filename)" kernel.deb
    check_sum kernel.deb "$(field "$package" SHA256)"
    dpkg-deb --extract kernel.deb kernel
    mv kernel "$work/kernel"
    rm -r "$work/fetched"
}

# A program and its libraries, at their own paths; without debug information, which is most of a test's.
add() {
    for file in "$1" $(ldd "$1" | grep -o '/[^ ]*'); do
        [ ! -e "$root$file" ] || continue
        mkdir -p "$root${file%/*}"
        strip --strip-debug -o "$root$file" "$file"
    done
}

# The guest's file system: the kernel's modules of queues, protocols and virtual links, and programs.
make_root() {
    root=$work/root
    version=$(basename "$work"/kernel/usr/lib/modules/*)
    modules=usr/lib/modules/$version
    rm -rf "$root"
    for folder in proc sys dev tmp run etc bin sbin "$modules/kernel/net" "$modules/kernel/drivers/net"; do
        mkdir -p "$root/$folder"
    done
    ln -s usr/lib "$root/lib"
    for part in kernel/net/sched kernel/net/ipv4 kernel/net/ipv6 kernel/drivers/net/veth.ko.xz; do
        cp -r "$work/kernel/$modules/$part" "$root/$modules/$part"
    done
    cp "$work/kernel/$modules"/modules.* "$root/$modules/"
    depmod --basedir "$root" "$version"
    for program in $programs; do
        path=$(readlink --canonicalize "$(command -v "$program")")
        add "$path"
        ln -s "$path" "$root/bin/$program"
    done
    # Where the kernel looks for it.
    ln -s /bin/modprobe "$root/sbin/modprobe"
    add "$1"
    # A test of Cargo's lies below the command that it starts.
    add "${1%/deps/*}/tailrace"
    # As whom the agent goes on.
    echo "nobody:x:65534:65534::/:/bin/sh" >"$root/etc/passwd"
    cp "$here/init.sh" "$root/init"
    printf '%s\n' "$@" >"$root/command"
    (cd "$root" && find . | cpio --create --format newc --owner 0:0 --quiet) >"$work/root.cpio"
}

# Time in the guest is how many instructions it has executed, 2 ns each, and passes at once while it waits: a machine that is slow
# or busy with other things changes nothing in there.
boot() {
    timeout --foreground --kill-after 5 "$seconds" qemu-system-x86_64 -accel tcg -icount shift=1,sleep=off -cpu max -m 1024 \
        -nodefaults -no-reboot -nographic -serial "file:$work/console" -serial stdio \
        -kernel "$work"/kernel/boot/vmlinuz-* -initrd "$work/root.cpio" -append "console=ttyS0 quiet panic=-1" </dev/null
}

check
get_kernel
[ $# -gt 0 ] || exit 0
make_root "$@"
boot | sed --unbuffered 's/\r$//' | tee "$work/said"
result=$(sed -n 's/^guest: exit status //p' "$work/said")
[ -n "$result" ] || fail "the guest did not end by itself within $seconds s; its kernel's messages are in $work/console"
exit "$result"
