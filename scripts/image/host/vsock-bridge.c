/*
 * The host's end of the enclave's vsock, for programs that can open Unix sockets only: a client says
 * `CONNECT <port>\n`, is answered `OK <port>\n`, and then talks to the enclave (Firecracker's docs/vsock.md,
 * "host-initiated connections"). Runs on the untrusted host and knows nothing of what passes through.
 *
 *   vsock-bridge <listen path> <port> vsock:<cid>
 *   vsock-bridge <listen path> <port> unix:<path>     where something else than a Nitro host has the enclave
 */
#include "../../../enclave/init/bridge.h"

#include <linux/vm_sockets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned port, cid;
static const char *guest_path;

static int connect_guest(void) {
	if (guest_path != NULL) return connect_to(guest_path);
	struct sockaddr_vm address = {.svm_family = AF_VSOCK, .svm_cid = cid, .svm_port = port};
	int connection = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connection < 0) return -1;
	if (connect(connection, (struct sockaddr *)&address, sizeof address) == 0) return connection;
	close(connection);
	return -1;
}

static void handle(int client) {
	char expected[32], answer[32], line[32];
	int length = snprintf(expected, sizeof expected, "CONNECT %u\n", port);
	int answer_length = snprintf(answer, sizeof answer, "OK %u\n", port);
	/* Exactly the line, byte by byte as it comes: what follows belongs to the enclave. */
	for (int i = 0; i < length; i++)
		if (!receive_all(client, (uint8_t *)line + i, 1) || line[i] != expected[i]) return;
	int guest = connect_guest();
	if (guest < 0 || !send_all(client, (uint8_t *)answer, (size_t)answer_length)) return;
	pump(client, guest);
}

static bool read_number(const char *text, unsigned *number) {
	char *rest;
	unsigned long value = strtoul(text, &rest, 10);
	*number = (unsigned)value;
	return text[0] >= '0' && text[0] <= '9' && *rest == '\0' && value <= 0xffffffff;
}

int main(int count, char **words) {
	bool is_vsock = count == 4 && strncmp(words[3], "vsock:", 6) == 0 && read_number(words[3] + 6, &cid);
	bool is_unix = count == 4 && strncmp(words[3], "unix:", 5) == 0;
	if ((!is_vsock && !is_unix) || !read_number(words[2], &port)) {
		fputs("usage: vsock-bridge <listen path> <port> vsock:<cid> | unix:<path>\n", stderr);
		return 2;
	}
	if (is_unix) guest_path = words[3] + 5;
	int listener = listen_at(words[1]);
	if (listener < 0) {
		perror(words[1]);
		return 1;
	}
	serve(listener, handle);
}
