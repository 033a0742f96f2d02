/*
 * The two ways to hash blocks of 64 bytes. Only base/sha256*.c and their test use this.
 */
#ifndef LEDGERBATCH_BASE_SHA256_BLOCKS_H
#define LEDGERBATCH_BASE_SHA256_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define SHA256_HAS_X86 1
#else
#define SHA256_HAS_X86 0
#endif

extern const uint32_t sha256_constants[64];

/* Hashes blocks on any processor. */
void sha256_blocks_plain(uint32_t state[8], const uint8_t *blocks, size_t count);

#if SHA256_HAS_X86
/* Returns true if the processor has the instructions that sha256_blocks_x86() uses. */
bool sha256_x86_is_usable(void);
void sha256_blocks_x86(uint32_t state[8], const uint8_t *blocks, size_t count);
#endif

#endif
