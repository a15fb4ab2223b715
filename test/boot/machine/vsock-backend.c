/*
 * The parent's side of an emulated enclave's vsock: QEMU hands the guest's two queues over by the vhost-user protocol
 * (libvhost-user, from QEMU's sources, speaks it), and each stream becomes a connection on a Unix socket of the
 * folder. For tests: it waits for whoever is slow without a limit of time.
 *
 *   vsock-backend <folder> <port>...
 *
 *   <folder>/qemu.sock           QEMU connects here, once; with QEMU this program ends
 *   <folder>/guest-<port>.sock   who connects here reaches the guest's port, one for each that is named
 *   <folder>/host-<port>.sock    is connected to when the guest connects to the parent's port
 *
 * Layouts and operations: Virtual I/O Device specification 1.2, 5.10. The parent has context 3, as on Nitro.
 */
#include "libvhost-user.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PARENT = 3, GUEST = 16, FIRST_OWN_PORT = 0x10000 };
enum { RECEIVE_QUEUE, TRANSMIT_QUEUE, QUEUES };
enum { REQUEST = 1, RESPONSE, RESET, SHUTDOWN, DATA, CREDIT_UPDATE, CREDIT_REQUEST };
enum { STREAM = 1, NO_MORE_RECEIVED = 1, NO_MORE_SENT = 2 };

#define MAX_CONNECTIONS 128
#define MAX_PORTS 4
#define MAX_WATCHES 16
/* What the guest may send before it is taken. */
#define WINDOW 0x10000u
/* Linux gives buffers of a page, with its own bookkeeping in them. */
#define MAX_DATA 3072

struct header {
	uint64_t from_context, to_context;
	uint32_t from_port, to_port, length;
	uint16_t type, operation;
	uint32_t flags, window, taken;
} __attribute__((packed));

struct connection {
	enum { FREE, ASKED, OPEN } state;
	int socket;
	uint32_t own_port, guest_port;
	/* Counters of bytes wrap around, as the specification has them. */
	uint32_t guest_window, guest_taken, sent, taken;
	uint8_t held[WINDOW];
	size_t held_from, held_to;
	bool own_ended, guest_ended;
};

/* What has to be said without bytes of a stream; the queue grows as needed. */
struct word {
	struct header header;
	struct word *next;
};

static VuDev device;
static const char *folder;
static struct connection connections[MAX_CONNECTIONS];
static struct word *words, **last_word = &words;
static struct { int socket; vu_watch_cb call; void *argument; } watches[MAX_WATCHES];
static size_t watch_count;
static bool receives;

static _Noreturn void end(const char *why) {
	fprintf(stderr, "vsock-backend: %s (%s)\n", why, strerror(errno));
	exit(1);
}

/* ---------------------------------------------------------------- to the guest */

static struct header header_of(const struct connection *of, uint16_t operation) {
	return (struct header){
		.from_context = PARENT, .to_context = GUEST, .from_port = of->own_port, .to_port = of->guest_port,
		.type = STREAM, .operation = operation, .window = WINDOW, .taken = of->taken,
	};
}

/* False: the guest has no buffer for it now. */
static bool deliver(struct header header, const uint8_t *data) {
	VuVirtq *queue = vu_get_queue(&device, RECEIVE_QUEUE);
	VuVirtqElement *element = receives ? vu_queue_pop(&device, queue, sizeof *element) : NULL;
	if (element == NULL) return false;
	uint8_t packet[sizeof header + MAX_DATA];
	size_t length = sizeof header + header.length, at = 0;
	memcpy(packet, &header, sizeof header);
	if (header.length > 0) memcpy(packet + sizeof header, data, header.length);
	for (unsigned i = 0; i < element->in_num && at < length; i++) {
		size_t part = element->in_sg[i].iov_len < length - at ? element->in_sg[i].iov_len : length - at;
		memcpy(element->in_sg[i].iov_base, packet + at, part);
		at += part;
	}
	if (at != length) end("the guest's buffers are smaller than a page");
	vu_queue_push(&device, queue, element, (unsigned)length);
	vu_queue_notify(&device, queue);
	free(element);
	return true;
}

static void deliver_words(void) {
	while (words != NULL && deliver(words->header, NULL)) {
		struct word *said = words;
		words = said->next;
		free(said);
		if (words == NULL) last_word = &words;
	}
}

/* In order with all that was said before, and before any byte that comes later. */
static void say(struct header header) {
	struct word *word = malloc(sizeof *word);
	if (word == NULL) end("memory");
	*word = (struct word){header, NULL};
	*last_word = word;
	last_word = &word->next;
	deliver_words();
}

static void drop(struct connection *one, bool says_so) {
	if (says_so) say(header_of(one, RESET));
	if (one->socket >= 0) close(one->socket);
	one->state = FREE;
}

static bool has_room(const struct connection *to) {
	return words == NULL && to->sent - to->guest_taken < to->guest_window &&
	       !vu_queue_empty(&device, vu_get_queue(&device, RECEIVE_QUEUE));
}

static void read_socket(struct connection *from) {
	uint8_t data[MAX_DATA];
	size_t room = from->guest_window - (from->sent - from->guest_taken);
	ssize_t got = recv(from->socket, data, room < sizeof data ? room : sizeof data, MSG_DONTWAIT);
	if (got < 0) {
		if (errno != EAGAIN && errno != EINTR) drop(from, true);
		return;
	}
	struct header header = header_of(from, got > 0 ? DATA : SHUTDOWN);
	if (got == 0) {
		from->own_ended = true;
		header.flags = NO_MORE_SENT;
		say(header);
		return;
	}
	header.length = (uint32_t)got;
	from->sent += header.length;
	if (!deliver(header, data)) end("a buffer that was there is gone");
}

/* ---------------------------------------------------------------- from the guest */

static void write_socket(struct connection *to) {
	while (to->held_from < to->held_to) {
		ssize_t sent = send(to->socket, to->held + to->held_from, to->held_to - to->held_from, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EINTR) continue;
		if (sent < 0 && errno == EAGAIN) return;
		if (sent < 0) {
			drop(to, true);
			return;
		}
		to->held_from += (size_t)sent;
		to->taken += (uint32_t)sent;
		say(header_of(to, CREDIT_UPDATE));
	}
	to->held_from = to->held_to = 0;
	if (to->guest_ended) shutdown(to->socket, SHUT_WR);
}

static bool hold(struct connection *of, const uint8_t *data, size_t length) {
	memmove(of->held, of->held + of->held_from, of->held_to - of->held_from);
	of->held_to -= of->held_from;
	of->held_from = 0;
	if (length > WINDOW - of->held_to) return false;
	memcpy(of->held + of->held_to, data, length);
	of->held_to += length;
	return true;
}

static struct connection *a_free_one(void) {
	for (size_t i = 0; i < MAX_CONNECTIONS; i++)
		if (connections[i].state == FREE) return &connections[i];
	return NULL;
}

static struct sockaddr_un address_of(const char *name, unsigned port) {
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int length = snprintf(address.sun_path, sizeof address.sun_path, name, folder, port);
	if (length < 0 || (size_t)length >= sizeof address.sun_path) end("the folder's name is too long");
	return address;
}

static void guest_connects(const struct header *asked) {
	struct sockaddr_un address = address_of("%s/host-%u.sock", asked->to_port);
	struct connection *one = a_free_one();
	int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (one == NULL || connection < 0 || connect(connection, (struct sockaddr *)&address, sizeof address) != 0) {
		struct connection nobody = {.own_port = asked->to_port, .guest_port = asked->from_port};
		if (connection >= 0) close(connection);
		say(header_of(&nobody, RESET));
		return;
	}
	*one = (struct connection){
		.state = OPEN, .socket = connection, .own_port = asked->to_port, .guest_port = asked->from_port,
		.guest_window = asked->window, .guest_taken = asked->taken,
	};
	say(header_of(one, RESPONSE));
}

static void guest_says(const struct header *said, const uint8_t *data) {
	struct connection *one = NULL;
	for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
		struct connection *other = &connections[i];
		if (other->state != FREE && other->own_port == said->to_port && other->guest_port == said->from_port)
			one = other;
	}
	if (said->type != STREAM) return;
	if (one == NULL && said->operation == REQUEST) {
		guest_connects(said);
		return;
	}
	if (one == NULL) {
		struct connection nobody = {.own_port = said->to_port, .guest_port = said->from_port};
		if (said->operation != RESET) say(header_of(&nobody, RESET));
		return;
	}
	one->guest_window = said->window;
	one->guest_taken = said->taken;
	switch (said->operation) {
		case RESPONSE:
			one->state = OPEN;
			break;
		case DATA:
			if (!hold(one, data, said->length)) drop(one, true);
			else write_socket(one);
			break;
		case SHUTDOWN:
			if ((said->flags & NO_MORE_SENT) != 0) one->guest_ended = true;
			if (one->guest_ended) write_socket(one);
			/* The guest's socket is closed, and waits for this answer. */
			if (one->state != FREE && (said->flags & NO_MORE_RECEIVED) != 0 && one->guest_ended) drop(one, true);
			break;
		case RESET:
			drop(one, false);
			break;
		case CREDIT_REQUEST:
			say(header_of(one, CREDIT_UPDATE));
			break;
	}
}

static void on_transmitted(VuDev *of, int number) {
	VuVirtq *queue = vu_get_queue(of, number);
	VuVirtqElement *element;
	while ((element = vu_queue_pop(of, queue, sizeof *element)) != NULL) {
		static uint8_t packet[sizeof(struct header) + WINDOW];
		size_t length = 0;
		for (unsigned i = 0; i < element->out_num; i++) {
			size_t part = element->out_sg[i].iov_len;
			if (part > sizeof packet - length) end("a packet larger than the window");
			memcpy(packet + length, element->out_sg[i].iov_base, part);
			length += part;
		}
		vu_queue_push(of, queue, element, 0);
		free(element);
		struct header header;
		if (length < sizeof header) end("a packet without a header");
		memcpy(&header, packet, sizeof header);
		if (header.length != length - sizeof header) end("a packet of another length");
		guest_says(&header, packet + sizeof header);
	}
	vu_queue_notify(of, queue);
}

static void on_buffers(VuDev *of, int number) {
	(void)of, (void)number;
	deliver_words();
}

/* ---------------------------------------------------------------- the device, as QEMU asks for it */

static uint64_t features_of(VuDev *of) {
	(void)of;
	return 1ull << 32 /* version 1 */ | 1ull << VHOST_USER_F_PROTOCOL_FEATURES;
}

static uint64_t protocol_features_of(VuDev *of) {
	(void)of;
	return 1ull << VHOST_USER_PROTOCOL_F_CONFIG;
}

static void set_features(VuDev *of, uint64_t features) {
	(void)of, (void)features;
}

static int get_config(VuDev *of, uint8_t *config, uint32_t length) {
	(void)of;
	uint64_t context = GUEST;
	if (length != sizeof context) return -1;
	memcpy(config, &context, sizeof context);
	return 0;
}

static void on_started(VuDev *of, int number, bool started) {
	if (number >= QUEUES) return;
	vu_queue_handler_cb handler = number == RECEIVE_QUEUE ? on_buffers : on_transmitted;
	if (number == RECEIVE_QUEUE) receives = started;
	vu_set_queue_handler(of, vu_get_queue(of, number), started ? handler : NULL);
	if (started) deliver_words();
}

static void on_fault(VuDev *of, const char *what) {
	(void)of;
	end(what);
}

static void watch(VuDev *of, int socket, int condition, vu_watch_cb call, void *argument) {
	(void)of, (void)condition;
	size_t at = 0;
	while (at < watch_count && watches[at].socket != socket) at++;
	if (at == MAX_WATCHES) end("watches");
	watches[at].socket = socket;
	watches[at].call = call;
	watches[at].argument = argument;
	if (at == watch_count) watch_count++;
}

static void unwatch(VuDev *of, int socket) {
	(void)of;
	for (size_t i = 0; i < watch_count; i++)
		if (watches[i].socket == socket) watches[i] = watches[--watch_count];
}

static const VuDevIface INTERFACE = {
	.get_features = features_of,
	.set_features = set_features,
	.get_protocol_features = protocol_features_of,
	.get_config = get_config,
	.queue_set_started = on_started,
};

/* ---------------------------------------------------------------- sockets */

static int listen_at(struct sockaddr_un address) {
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unlink(address.sun_path);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 64) != 0)
		end(address.sun_path);
	return listener;
}

static void accept_for(int listener, uint32_t guest_port) {
	static uint32_t next = FIRST_OWN_PORT;
	int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	struct connection *one = a_free_one();
	if (client < 0 || one == NULL) {
		if (client >= 0) close(client);
		return;
	}
	*one = (struct connection){.state = ASKED, .socket = client, .own_port = next++, .guest_port = guest_port};
	say(header_of(one, REQUEST));
}

int main(int count, char **arguments) {
	if (count < 3 || count > 2 + MAX_PORTS) return 2;
	folder = arguments[1];
	int listeners[MAX_PORTS], ports = count - 2;
	for (int i = 0; i < ports; i++)
		listeners[i] = listen_at(address_of("%s/guest-%u.sock", (unsigned)atoi(arguments[2 + i])));
	int machine = accept(listen_at(address_of("%s/qemu.sock", 0)), NULL, NULL);
	if (machine < 0 || !vu_init(&device, QUEUES, machine, on_fault, NULL, watch, unwatch, &INTERFACE)) end("qemu");

	for (;;) {
		struct pollfd polled[1 + MAX_PORTS + MAX_WATCHES + MAX_CONNECTIONS];
		struct connection *shown[MAX_CONNECTIONS];
		nfds_t all = 0, first_watch, first_connection;
		polled[all++] = (struct pollfd){.fd = machine, .events = POLLIN};
		for (int i = 0; i < ports; i++) polled[all++] = (struct pollfd){.fd = listeners[i], .events = POLLIN};
		first_watch = all;
		for (size_t i = 0; i < watch_count; i++) polled[all++] = (struct pollfd){.fd = watches[i].socket, .events = POLLIN};
		first_connection = all;
		for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
			struct connection *one = &connections[i];
			if (one->state != OPEN) continue;
			short events = (short)((!one->own_ended && receives && has_room(one) ? POLLIN : 0) |
			                       (one->held_from < one->held_to ? POLLOUT : 0));
			shown[all - first_connection] = one;
			/* Without events a hang-up would be reported for ever. */
			polled[all++] = (struct pollfd){.fd = events == 0 ? -1 : one->socket, .events = events};
		}
		if (poll(polled, all, -1) < 0 && errno != EINTR) end("poll");

		for (nfds_t i = first_connection; i < all; i++) {
			struct connection *one = shown[i - first_connection];
			if ((polled[i].revents & POLLOUT) != 0 && one->state == OPEN) write_socket(one);
			if ((polled[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && one->state == OPEN && !one->own_ended && has_room(one))
				read_socket(one);
		}
		for (int i = 0; i < ports; i++)
			if (polled[1 + i].revents != 0) accept_for(listeners[i], (uint32_t)atoi(arguments[2 + i]));
		for (nfds_t i = first_watch; i < first_connection; i++)
			for (size_t j = 0; polled[i].revents != 0 && j < watch_count; j++)
				if (watches[j].socket == polled[i].fd) {
					watches[j].call(&device, VU_WATCH_IN, watches[j].argument);
					break;
				}
		if (polled[0].revents != 0 && !vu_dispatch(&device)) return 0;
	}
}
