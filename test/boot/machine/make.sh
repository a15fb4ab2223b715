#!/usr/bin/env bash
# Makes a machine that starts enclave image files, from Debian's packages: QEMU with its machine nitro-enclave, which
# Debian's own build leaves out, and with qemu.patch; the parent's side of its vsock; and a kernel that has a driver
# for the security module. Needs no root. Does nothing where the folder holds all of it already.
#
#   make.sh              prints the folder when it is made; five minutes of a processor
#   make.sh --if-made    prints the folder, or fails where it would have to be made
#   make.sh --packages   prints what has to be installed first, and stay so: QEMU is linked against it
#
# CLOISTER_MACHINE names another folder than ~/.cache/cloister/machine.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${CLOISTER_MACHINE:-${XDG_CACHE_HOME:-$HOME/.cache}/cloister/machine}
packages=(gcc libc6-dev dpkg-dev patch pkg-config python3 python3-venv ninja-build xz-utils
  libcbor-dev libfdt-dev libglib2.0-dev libgnutls28-dev)
# The release that has a QEMU with this machine and a kernel with this driver.
release=trixie

if [ "${1:-}" = --packages ]; then
  echo "${packages[*]}"
  exit
fi
sources=("$here/make.sh" "$here/qemu.patch" "$here/vsock-backend.c")
made_from=$(cat "${sources[@]}" <(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release) | sha256sum | cut -d' ' -f1)
if [ "$(cat "$folder/made-from" 2>/dev/null || true)" = "$made_from" ]; then
  echo "$folder"
  exit
fi
if [ "${1:-}" = --if-made ]; then exit 1; fi
exec 3>&1 >&2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# A list of packages of its own: this machine's stays as it is.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' | grep -m1 '/debian/$' || true)
if [ -z "$mirror" ]; then
  echo "apt knows no mirror of Debian here; on Debian: apt-get update"
  exit 1
fi
mkdir -p lists/partial cache/archives/partial
printf '%s\n' 'Types: deb deb-src' "URIs: $mirror" "Suites: $release" 'Components: main' \
  'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg' >debian.sources
ours=(-qq -o "Dir::Etc::SourceList=$work/debian.sources" -o Dir::Etc::SourceParts=/dev/null
  -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o Acquire::Languages=none -o APT::Sandbox::User=)
apt-get "${ours[@]}" update
kernel=$(apt-cache "${ours[@]}" depends linux-image-cloud-amd64 | sed -n 's/ *Depends: *//p' | head -1)
# What of these is not in QEMU's source package: its build tool and its firmware.
apt-get "${ours[@]}" download meson seabios qemu-system-data "$kernel"
for file in *.deb; do dpkg-deb -x "$file" unpacked; done
apt-get "${ours[@]}" source --download-only qemu
dpkg-source --extract ./*.dsc source
patch -d source -p1 <"$here/qemu.patch"

mkdir build
build_qemu() {
  cd build
  export PYTHONPATH=$work/unpacked/usr/lib/python3/dist-packages
  ../source/configure --python=/usr/bin/python3 --target-list=x86_64-softmmu --disable-download \
    --disable-install-blobs --without-default-features --without-default-devices --with-devices-x86_64=enclave \
    --enable-system --enable-tcg --enable-fdt=system --enable-libcbor --enable-gnutls --enable-vhost-user &&
    ninja -j "$(nproc)" qemu-system-x86_64
}
(build_qemu) >build.log 2>&1 || {
  tail -50 build.log
  exit 1
}

library=source/subprojects/libvhost-user
mkdir -p new/modules new/firmware
cc -std=gnu11 -D_GNU_SOURCE -O2 -w -c -I "$library" -o library.o "$library/libvhost-user.c"
cc -std=gnu11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -I "$library" -o new/vsock-backend "$here/vsock-backend.c" library.o
strip -o new/qemu-system-x86_64 build/qemu-system-x86_64
cp unpacked/usr/share/seabios/bios-microvm.bin unpacked/usr/share/qemu/linuxboot_dma.bin new/firmware/
cp unpacked/boot/vmlinuz-* new/bzImage
for module in virtio_mmio vsock vmw_vsock_virtio_transport_common vmw_vsock_virtio_transport nsm; do
  xz -dc "$(find unpacked/usr/lib/modules -name "$module.ko.xz")" >"new/modules/$module.ko"
done

# Complete or not there.
echo "$made_from" >new/made-from
mkdir -p "$(dirname "$folder")"
rm -rf "$folder"
mv new "$folder"
echo "$folder" >&3
