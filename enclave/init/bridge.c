/*
 * See bridge.h. Whoever connects is hostile, and this is C: so it parses nothing but a length, its buffers have
 * fixed sizes, and each connection has a process of its own, which has nothing but its two sockets.
 */
#include "bridge.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static bool address_of(const char *path, struct sockaddr_un *address) {
	memset(address, 0, sizeof *address);
	address->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof address->sun_path) return false;
	strcpy(address->sun_path, path);
	return true;
}

int listen_at(const char *path) {
	struct sockaddr_un address;
	if (!address_of(path, &address)) return -1;
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0) return -1;
	unlink(path);
	if (bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, MAX_CONNECTIONS) == 0)
		return listener;
	close(listener);
	return -1;
}

int connect_to(const char *path) {
	struct sockaddr_un address;
	if (!address_of(path, &address)) return -1;
	int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connection < 0) return -1;
	if (connect(connection, (struct sockaddr *)&address, sizeof address) == 0) return connection;
	close(connection);
	return -1;
}

/* A process that ends with the one that makes it, however that one ends: 0 in it, its id or -1 where it was made. */
static pid_t fork_bound(void) {
	pid_t parent = getpid(), child = fork();
	/* The parent may have ended before the kernel knew that this matters. */
	if (child == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)) _exit(1);
	return child;
}

_Noreturn void serve(int listener, void (*handle)(int client)) {
	unsigned alive = 0;
	for (;;) {
		int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (client < 0) {
			/* A client that gave up before it was accepted is no fault of the listener's. */
			if (errno == EINTR || errno == ECONNABORTED || errno == ECONNRESET || errno == EPROTO) continue;
			_exit(1);
		}
		while (alive > 0 && waitpid(-1, NULL, WNOHANG) > 0) alive--;
		pid_t child = alive < MAX_CONNECTIONS ? fork_bound() : -1;
		if (child == 0) {
			close(listener);
			handle(client);
			_exit(0);
		}
		if (child > 0) alive++;
		close(client);
	}
}

bool send_all(int to, const uint8_t *bytes, size_t length) {
	while (length > 0) {
		/* Whoever has gone away is an error here, not a signal that ends this process. */
		ssize_t sent = send(to, bytes, length, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR) continue;
		if (sent <= 0) return false;
		bytes += sent;
		length -= (size_t)sent;
	}
	return true;
}

static ssize_t receive(int from, uint8_t *bytes, size_t length) {
	ssize_t got;
	do got = recv(from, bytes, length, 0);
	while (got < 0 && errno == EINTR);
	return got;
}

bool receive_all(int from, uint8_t *bytes, size_t length) {
	while (length > 0) {
		ssize_t got = receive(from, bytes, length);
		if (got <= 0) return false;
		bytes += got;
		length -= (size_t)got;
	}
	return true;
}

/* What is not taken is not read, so a client that stalls holds up itself and 64 KiB. */
static void copy(int from, int to) {
	uint8_t held[0x10000];
	ssize_t got;
	while ((got = receive(from, held, sizeof held)) > 0 && send_all(to, held, (size_t)got));
	/* An end is passed on while the other direction goes on; who is gone altogether ends both. */
	shutdown(to, SHUT_WR);
}

/* Each direction blocks in a process of its own: neither can starve the other, and there is no state to get wrong. */
void pump(int one, int other) {
	pid_t child = fork_bound();
	if (child < 0) return;
	if (child == 0) {
		copy(other, one);
		_exit(0);
	}
	copy(one, other);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR);
}

bool become(uid_t user, gid_t group) {
	return setgroups(0, NULL) == 0 && setresgid(group, group, group) == 0 && setresuid(user, user, user) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

bool silence(void) {
	int nothing = open("/dev/null", O_RDWR);
	for (int i = 0; i < 3; i++)
		if (nothing < 0 || dup2(nothing, i) < 0) return false;
	return nothing < 3 || close(nothing) == 0;
}

void run_for(int client, char *const words[]) {
	pid_t program = fork_bound();
	if (program == 0) {
		/* The second call matters where the client is 3 already. All else is closed by the exec. */
		if (silence() && dup2(client, 3) == 3 && fcntl(3, F_SETFD, 0) == 0)
			execve(words[0], words, (char *const[]){NULL});
		_exit(1);
	}
	/* Another process waits for the client's end, so that this one can wait for either without a state to get wrong. */
	pid_t watcher = program < 0 ? -1 : fork_bound();
	if (watcher < 0) return;
	if (watcher == 0) {
		struct pollfd end = {.fd = client, .events = POLLRDHUP};
		while (poll(&end, 1, -1) < 0 && errno == EINTR);
		_exit(0);
	}
	while (wait(NULL) < 0 && errno == EINTR);
}

void answer_nsm(int client, nsm_call *call) {
	uint8_t head[4], request[NSM_MAX_REQUEST], answer[NSM_MAX_RESPONSE];
	if (!receive_all(client, head, sizeof head)) return;
	size_t length = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
	if (length == 0 || length > sizeof request || !receive_all(client, request, length)) return;
	ssize_t got = call(request, length, answer);
	if (got <= 0 || (size_t)got > sizeof answer) return;
	uint8_t size[4] = {0, 0, (uint8_t)(got >> 8), (uint8_t)got};
	if (send_all(client, size, sizeof size)) send_all(client, answer, (size_t)got);
}

size_t nsm_random(nsm_call *call, uint8_t random[NSM_RANDOM_BYTES]) {
	/* CBOR: "GetRandom", and up to the length of the bytes {"GetRandom": {"random": bytes}}. */
	static const uint8_t request[] = "\x69" "GetRandom", start[] = "\xa1\x69" "GetRandom" "\xa1\x66" "random";
	const size_t before = sizeof start - 1;
	uint8_t answer[NSM_MAX_RESPONSE] = {0};
	ssize_t got = call(request, sizeof request - 1, answer);
	/* A shorter answer leaves zeroes here, and its length agrees with nothing below. */
	if (memcmp(answer, start, before) != 0) return 0;
	const uint8_t *head = answer + before;
	/* 0x58: length in one byte, 0x59: in two. */
	size_t head_length = head[0] == 0x58 ? 2 : 3;
	size_t length = head[0] == 0x58 ? head[1] : (size_t)head[1] << 8 | head[2];
	if (head[0] != 0x58 && head[0] != 0x59) return 0;
	if (length < 32 || length > NSM_RANDOM_BYTES || got != (ssize_t)(before + head_length + length)) return 0;
	memcpy(random, head + head_length, length);
	return length;
}
