/*
 * What the image's init and the host's vsock bridge share: connections from one socket to another, and the
 * security module on a socket. Nothing here is special to an enclave, so all of it is tested on any machine.
 */
#ifndef BRIDGE_H
#define BRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Each has a process of its own. Whoever comes beyond that is closed at once. */
#define MAX_CONNECTIONS 64

/* Linux, include/uapi/linux/nsm.h. */
#define NSM_MAX_REQUEST 0x1000
#define NSM_MAX_RESPONSE 0x3000
#define NSM_RANDOM_BYTES 256

/* One call of the module: writes at most NSM_MAX_RESPONSE bytes, returns the answer's length or -1. */
typedef ssize_t nsm_call(const uint8_t *request, size_t length, uint8_t *answer);

/* Both return a descriptor that a started program does not inherit, or -1. A file at `path` is replaced. */
int listen_at(const char *path);
int connect_to(const char *path);

/* Runs `handle` for each client, in a process that ends with it. Ends this process when nothing can be accepted. */
_Noreturn void serve(int listener, void (*handle)(int client));

/* Carries bytes both ways until both sides have ended. */
void pump(int one, int other);

/* For good: no way back to root, nor to another user by a file; nobody else of that user looks into this process. */
bool become(uid_t user, gid_t group);

/* Descriptors 0 to 2 of this process lead nowhere. */
bool silence(void);

/* Runs a program that has the client as descriptor 3 and nothing else, until it ends or the client goes away. What is
   left of it then ends with the process that called this. */
void run_for(int client, char *const words[]);

/* One request: length[4] big-endian and as many bytes of CBOR, both ways. A fault is no answer. */
void answer_nsm(int client, nsm_call *call);

/* Returns how many bytes of `random` the module filled (at least 32), or 0. */
size_t nsm_random(nsm_call *call, uint8_t random[NSM_RANDOM_BYTES]);

bool send_all(int to, const uint8_t *bytes, size_t length);
bool receive_all(int from, uint8_t *bytes, size_t length);

#endif
