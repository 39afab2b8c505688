/* hash.h: the two mixing functions that the core's tables use. */
#ifndef FL_HASH_H
#define FL_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Spreads the bits of a key so that its low bits can index a table of a power of two. */
static inline uint64_t fl_hash_mix(uint64_t key)
{
    key ^= key >> 32;
    key *= 0x9e3779b97f4a7c15ull;
    return key ^ (key >> 29);
}

/* FNV-1a, 32 bits: names are short and come from the program itself, so nobody attacks this table. */
static inline uint32_t fl_hash_bytes(const char *bytes, size_t length)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
    return hash;
}

#endif
