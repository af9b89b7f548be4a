/* script.h -- snapshots from lines that can be read aloud.
 *
 * Events:   "seg 0 2M, alloc 0 1000, free 0 1000, req 0 9, done 0 9, unseg 0 2M, map 0 2M, unmap 0 2M, oom 64M 3M, snap"
 *           (action, address, size; oom: request, device_free; free is req and done). An item may end
 *           in "@ABC": its stack, one frame a letter, innermost first; "@" alone: a stack without frames.
 *           "#7" at the end is the stream. " | " begins the next device. Before the first event, "{OPTIONS}" is the
 *           PYTORCH_CUDA_ALLOC_CONF of the run; without it the file has no allocator settings.
 * Segments: "0: 1024a1000 512p300 100i; 32M: 20Mi" (address: blocks of SIZE, state, requested size);
 *           "x" before the address: expandable; "#7" after the blocks: the stream; then "%3": the private pool
 *           (0, 3); " | " begins the next device.
 * Numbers may end in K or M. Addresses count from SCRIPT_BASE. Event i happens at 1000 + 10 i microseconds.
 */
#ifndef MEMSNAP_TESTS_SCRIPT_H
#define MEMSNAP_TESTS_SCRIPT_H

#include <memsnap/snapshot.h>

#include <stddef.h>

#define SCRIPT_BASE UINT64_C(0x7f0000000000)

struct script {
    unsigned char *bytes; /* a pickle of protocol 2 */
    size_t n, cap;
};

struct script script_pickle(const char *events, const char *segments);
void script_free(struct script *s);

/* The same, read. `mem`: all zero for the default. The test fails if the reading does. */
struct msnap_snapshot *script_snapshot(struct msnap_mem mem, const char *events, const char *segments);

#endif
