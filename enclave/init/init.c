/*
 * The first process of the image: makes of a bare kernel what enclave/nitro.ts expects, three Unix sockets, and
 * starts the program with nothing else. Trusts the kernel and the security module; everything that comes over
 * vsock is hostile. Whatever part of this fails or ends, the enclave ends with it: nothing is repaired or retried.
 *
 *   process 1   root; waits for the others and ends the enclave
 *   module      root; alone can open /dev/nsm, answers on NSM_SOCKET, which the program alone can open
 *   program     user 1000, Node
 *   bridge      user 1001, carries bytes between vsock and the program's socket
 *   verifiers   user 1002, a Node for each connection of the program, which ends with it
 *
 * The bridge is C that reads hostile bytes. Who took it over must not reach the module: with a document that
 * carries a public key of their choice, KMS would release the signing key to them. So it has a user of its own. So have
 * the verifiers, which read proofs and statements of strangers: who took one over reaches no socket of this folder, and
 * no memory of the program.
 */
#include "bridge.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <linux/vm_sockets.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOCKETS "/run/enclave"
#define PROGRAM_SOCKET SOCKETS "/program.sock"
#define NSM_SOCKET SOCKETS "/nsm.sock"
#define VERIFIERS_SOCKET SOCKETS "/verifiers.sock"
#define VSOCK_PORT 5000

enum { PROGRAM_USER = 1000, BRIDGE_USER = 1001, SOCKET_GROUP = 1000, VERIFIERS_USER = 1002, VERIFIERS_GROUP = 1002 };

/* No code from strings; JSON imports warn in Node 20. */
static char *const PROGRAM[] = {
	"/usr/local/bin/node",
	"--disallow-code-generation-from-strings",
	"--disable-warning=ExperimentalWarning",
	/* This and VERIFIER are of first.h or second.h: an image has one of the two programs. */
	"/enclave/dist/enclave/" MAIN,
	PROGRAM_SOCKET,
	NSM_SOCKET,
	VERIFIERS_SOCKET,
	NULL,
};

/* No code from strings, and a bound for the heap. */
static char *const VERIFYING[] = {
	"/usr/local/bin/node",
	"--disallow-code-generation-from-strings",
	"--max-old-space-size=128",
	"/enclave/dist/enclave/" VERIFIER,
	NULL,
};

/* Ends the enclave from process 1, and elsewhere the process, which comes to the same. */
static _Noreturn void end(const char *why) {
	dprintf(STDERR_FILENO, "init: %s (errno %d)\n", why, errno);
	/* The kernel's command line says reboot=k: the hypervisor takes it for the end of the enclave. */
	if (getpid() == 1) reboot(RB_AUTOBOOT);
	_exit(1);
}

static void mount_at(const char *path, const char *type, unsigned long flags, const char *options) {
	if (mkdir(path, 0755) != 0 && errno != EEXIST) end(path);
	/* EBUSY: the kernel has mounted /dev itself. */
	if (mount(type, path, type, MS_NOSUID | MS_NOEXEC | flags, options) != 0 && errno != EBUSY) end(path);
}

static void mount_all(void) {
	/* A process sees its own in /proc: the bridge learns nothing of the program's memory from there. */
	mount_at("/proc", "proc", MS_NODEV, "hidepid=2");
	mount_at("/sys", "sysfs", MS_NODEV | MS_RDONLY, NULL);
	mount_at("/dev", "devtmpfs", 0, "mode=0755");
	mount_at("/run", "tmpfs", MS_NODEV, "mode=0755,size=1m");
}

/* Newer kernels have the driver in them; then there is no such file. */
static void load_nsm_driver(void) {
	int module = open("/nsm.ko", O_RDONLY | O_CLOEXEC);
	if (module < 0 && errno == ENOENT) return;
	if (module < 0 || syscall(SYS_finit_module, module, "", 0) != 0) end("nsm.ko");
	close(module);
}

static int nsm;

static void open_nsm(void) {
	/* The driver may still be finding its device. */
	for (int i = 0; (nsm = open("/dev/nsm", O_RDWR | O_CLOEXEC)) < 0; i++) {
		if (errno != ENOENT || i == 500) end("/dev/nsm");
		usleep(10000);
	}
	/* The driver makes it for everybody. */
	if (chmod("/dev/nsm", 0600) != 0) end("/dev/nsm");
}

/* Linux, include/uapi/linux/nsm.h, which older headers lack. */
struct nsm_raw {
	struct { uint64_t address, length; } request, response;
};

static ssize_t ask_nsm(const uint8_t *request, size_t length, uint8_t *answer) {
	struct nsm_raw raw = {{(uintptr_t)request, length}, {(uintptr_t)answer, NSM_MAX_RESPONSE}};
	if (ioctl(nsm, _IOWR(0x0A, 0, struct nsm_raw), &raw) != 0 || raw.response.length > NSM_MAX_RESPONSE) return -1;
	return (ssize_t)raw.response.length;
}

/* An enclave has no disk, no network and no user at a keyboard: nothing else would fill the kernel's pool. */
static void seed_kernel(void) {
	struct { struct rand_pool_info info; uint8_t bytes[NSM_RANDOM_BYTES]; } seed = {0};
	size_t length = nsm_random(ask_nsm, seed.bytes);
	int device = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
	if (length == 0 || device < 0) end("no randomness");
	seed.info.entropy_count = (int)length * 8;
	seed.info.buf_size = (int)length;
	if (ioctl(device, RNDADDENTROPY, &seed) != 0) end("RNDADDENTROPY");
	explicit_bzero(&seed, sizeof seed);
	close(device);
}

static int listen_vsock(void) {
	struct sockaddr_vm address = {.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = VSOCK_PORT};
	int listener = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
	    listen(listener, MAX_CONNECTIONS) != 0)
		end("vsock");
	return listener;
}

/* Until this byte comes back, nitro-cli takes the enclave for one that did not boot (port and byte are AWS's). */
static void tell_hypervisor(void) {
	struct sockaddr_vm address = {.svm_family = AF_VSOCK, .svm_cid = 3, .svm_port = 9000};
	uint8_t byte = 0xB7;
	int connection = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) != 0 ||
	    !send_all(connection, &byte, 1) || !receive_all(connection, &byte, 1) || byte != 0xB7)
		end("heartbeat");
	close(connection);
}

static void become_or_end(uid_t user, gid_t group) {
	if (!become(user, group)) end("user");
}

static void handle_nsm(int client) {
	answer_nsm(client, ask_nsm);
}

static void handle_connection(int client) {
	/* Before the program listens there is none, and the client is closed. */
	int program = connect_to(PROGRAM_SOCKET);
	if (program >= 0) pump(client, program);
}

static void handle_verifier(int client) {
	run_for(client, VERIFYING);
}

static _Noreturn void run_program(void) {
	if (!silence()) end("/dev/null");
	for (int i = 3; i < 1024; i++) close(i);
	/* The bridge connects by the group. */
	umask(0007);
	become_or_end(PROGRAM_USER, SOCKET_GROUP);
	if (chdir("/enclave") == 0) execve(PROGRAM[0], PROGRAM, (char *const[]){NULL});
	_exit(1);
}

static pid_t start(void) {
	pid_t child = fork();
	if (child < 0) end("fork");
	return child;
}

int main(void) {
	/* Anywhere else, what follows would change the machine it runs on. */
	if (getpid() != 1) return 2;
	mount_all();
	load_nsm_driver();
	open_nsm();
	seed_kernel();

	/* A core file would hold the signing key. */
	if (setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}) != 0) end("rlimit");
	if (mkdir(SOCKETS, 0750) != 0 || chown(SOCKETS, PROGRAM_USER, SOCKET_GROUP) != 0) end(SOCKETS);
	umask(0177);
	int nsm_listener = listen_at(NSM_SOCKET), vsock_listener = listen_vsock();
	int verifiers_listener = listen_at(VERIFIERS_SOCKET);
	if (nsm_listener < 0 || chown(NSM_SOCKET, PROGRAM_USER, 0) != 0) end(NSM_SOCKET);
	if (verifiers_listener < 0 || chown(VERIFIERS_SOCKET, PROGRAM_USER, 0) != 0) end(VERIFIERS_SOCKET);

	pid_t module = start();
	if (module == 0) {
		close(vsock_listener);
		close(verifiers_listener);
		serve(nsm_listener, handle_nsm);
	}
	close(nsm_listener);
	close(nsm);
	/* Before the program, which connects to them at once. */
	pid_t verifiers = start();
	if (verifiers == 0) {
		close(vsock_listener);
		become_or_end(VERIFIERS_USER, VERIFIERS_GROUP);
		if (chdir("/enclave") != 0) end("/enclave");
		serve(verifiers_listener, handle_verifier);
	}
	close(verifiers_listener);
	pid_t program = start();
	if (program == 0) run_program();
	pid_t bridge = start();
	if (bridge == 0) {
		become_or_end(BRIDGE_USER, SOCKET_GROUP);
		serve(vsock_listener, handle_connection);
	}
	close(vsock_listener);
	tell_hypervisor();

	/* Orphans of the four come here too when they end. */
	for (;;) {
		pid_t ended = wait(NULL);
		if (ended < 0 && errno == EINTR) continue;
		errno = 0;
		if (ended < 0 || ended == module || ended == verifiers || ended == program || ended == bridge)
			end("a part has ended");
	}
}
