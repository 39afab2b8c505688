/* process.h: what the test's own process has: memory, threads, descriptors. */
#ifndef PROCESS_H
#define PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which sanitizers, asked in gcc's way and clang's. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define THREAD_SANITIZED
#endif
#if defined(THREAD_SANITIZED) || defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SANITIZED
#endif

/* Bytes that are allocated and not freed. */
size_t allocated_bytes(void);

/* Threads; open descriptors; threads whose name is `name`, and the system id of one of them, 0 for none. */
int thread_count(void);
int descriptor_count(void);
int thread_named(const char *name);

/* Processor time that thread `tid` has used, ns. */
uint64_t cpu_of_thread(int tid);

/* A line of /proc/self/task/TID/status that begins with `field`, parsed as hex; 0 where there is none. */
uint64_t hex_of_thread(int tid, const char *field);

#endif
