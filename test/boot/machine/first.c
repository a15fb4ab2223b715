/*
 * First process of a test image: loads what this kernel has as modules and AWS's has built in, and becomes the
 * image's real init, which finds everything as it would find it there. The kernel's command line names it (rdinit).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Each needs those before it. */
static const char *const MODULES[] = {
	"/modules/virtio_mmio.ko",
	"/modules/vsock.ko",
	"/modules/vmw_vsock_virtio_transport_common.ko",
	"/modules/vmw_vsock_virtio_transport.ko",
};

int main(void) {
	for (size_t i = 0; i < sizeof MODULES / sizeof *MODULES; i++) {
		int module = open(MODULES[i], O_RDONLY | O_CLOEXEC);
		if (module < 0 || syscall(SYS_finit_module, module, "", 0) != 0) {
			dprintf(STDERR_FILENO, "first: %s: %s\n", MODULES[i], strerror(errno));
			return 1;
		}
		close(module);
	}
	execve("/init", (char *const[]){"/init", NULL}, (char *const[]){NULL});
	dprintf(STDERR_FILENO, "first: /init: %s\n", strerror(errno));
	return 1;
}
