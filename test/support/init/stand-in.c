/*
 * bridge.c with what any machine has: Unix sockets in the place of vsock, and a client of the simulated security
 * module in the place of the device.
 *
 *   stand-in serve <listen> <program> <nsm> <device>   both servers of the image's init
 *   stand-in random <device>                           what the kernel's pool would be seeded with, in hex
 *   stand-in verifiers <user> <listen> <program> ...   what the init's launcher of verifiers does, as that user if it may
 *   stand-in attach <process>                          whether this user may look into that process' memory: an errno
 */
#include "../../../enclave/init/bridge.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *program_path, *device_path;
static char **verifying;

static ssize_t ask_device(const uint8_t *request, size_t length, uint8_t *answer) {
	uint8_t head[4] = {0, 0, (uint8_t)(length >> 8), (uint8_t)length};
	int device = connect_to(device_path);
	if (device < 0 || !send_all(device, head, sizeof head) || !send_all(device, request, length)) return -1;
	if (!receive_all(device, head, sizeof head)) return -1;
	size_t claimed = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
	size_t taken = claimed < NSM_MAX_RESPONSE ? claimed : NSM_MAX_RESPONSE;
	if (!receive_all(device, answer, taken)) return -1;
	close(device);
	/* A device that says more than it may: bridge.c has to notice. */
	return (ssize_t)claimed;
}

static void handle_nsm(int client) {
	answer_nsm(client, ask_device);
}

static void handle_connection(int client) {
	int program = connect_to(program_path);
	if (program >= 0) pump(client, program);
}

static void handle_verifier(int client) {
	run_for(client, verifying);
}

static int serve_verifiers(uid_t user, const char *path) {
	umask(0177);
	int listener = listen_at(path);
	/* The folder and the socket are the program's, whose user is two below the verifiers'. */
	if (listener < 0 || (getuid() == 0 && (chown(path, user - 2, 0) != 0 || !become(user, user)))) return EXIT_FAILURE;
	puts("listening");
	fflush(stdout);
	serve(listener, handle_verifier);
}

int main(int count, char **words) {
	if (count >= 5 && strcmp(words[1], "verifiers") == 0) {
		verifying = words + 4;
		return serve_verifiers((uid_t)atoi(words[2]), words[3]);
	}
	if (count == 3 && strcmp(words[1], "attach") == 0) {
		printf("%d", ptrace(PTRACE_ATTACH, atoi(words[2]), NULL, NULL) == 0 ? 0 : errno);
		return EXIT_SUCCESS;
	}
	if (count == 3 && strcmp(words[1], "random") == 0) {
		uint8_t random[NSM_RANDOM_BYTES];
		device_path = words[2];
		size_t length = nsm_random(ask_device, random);
		for (size_t i = 0; i < length; i++) printf("%02x", random[i]);
		return length > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
	}
	if (count != 6 || strcmp(words[1], "serve") != 0) return 2;
	program_path = words[3];
	device_path = words[5];
	int listener = listen_at(words[2]), nsm_listener = listen_at(words[4]);
	if (listener < 0 || nsm_listener < 0) return EXIT_FAILURE;
	puts("listening");
	fflush(stdout);
	pid_t parent = getpid(), module = fork();
	if (module < 0) return EXIT_FAILURE;
	if (module == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) return EXIT_FAILURE;
		serve(nsm_listener, handle_nsm);
	}
	close(nsm_listener);
	serve(listener, handle_connection);
}
