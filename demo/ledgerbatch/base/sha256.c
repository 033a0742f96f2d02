/* Owns the computation of SHA-256, as FIPS 180-4 defines it. */
#include "base/sha256.h"

#include <string.h>

#include "base/sha256_blocks.h"

const uint32_t sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

static uint32_t rotate_right(uint32_t value, unsigned by)
{
    return value >> by | value << (32 - by);
}

static void expand_schedule(uint32_t schedule[64], const uint8_t *block)
{
    for (size_t i = 0; i < 16; i++) {
        schedule[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
                      (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    }
    for (size_t i = 16; i < 64; i++) {
        uint32_t a = schedule[i - 15];
        uint32_t b = schedule[i - 2];
        uint32_t small0 = rotate_right(a, 7) ^ rotate_right(a, 18) ^ a >> 3;
        uint32_t small1 = rotate_right(b, 17) ^ rotate_right(b, 19) ^ b >> 10;
        schedule[i] = schedule[i - 16] + small0 + schedule[i - 7] + small1;
    }
}

static void compress_block(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64];
    expand_schedule(w, block);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (size_t i = 0; i < 64; i++) {
        uint32_t big1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        uint32_t first = h + big1 + ((e & f) ^ (~e & g)) + sha256_constants[i] + w[i];
        uint32_t big0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        uint32_t second = big0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + first;
        d = c;
        c = b;
        b = a;
        a = first + second;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
}

void sha256_blocks_plain(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    for (; count > 0; count--, blocks += 64) {
        compress_block(state, blocks);
    }
}

static void hash_blocks(uint32_t state[8], const uint8_t *blocks, size_t count)
{
#if SHA256_HAS_X86
    if (sha256_x86_is_usable()) {
        sha256_blocks_x86(state, blocks, count);
        return;
    }
#endif
    sha256_blocks_plain(state, blocks, count);
}

void sha256_init(struct sha256 *hash)
{
    static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(hash->state, start, sizeof start);
    hash->size = 0;
}

void sha256_update(struct sha256 *hash, const void *data, size_t size)
{
    const uint8_t *at = data;
    size_t filled = hash->size % 64;
    hash->size += size;
    if (filled > 0) {
        size_t part = size < 64 - filled ? size : 64 - filled;
        memcpy(hash->block + filled, at, part);
        if (filled + part < 64) {
            return;
        }
        hash_blocks(hash->state, hash->block, 1);
        at += part;
        size -= part;
    }
    if (size >= 64) {
        hash_blocks(hash->state, at, size / 64);
    }
    if (size % 64 > 0) {
        memcpy(hash->block, at + size / 64 * 64, size % 64);
    }
}

void sha256_add_number(struct sha256 *hash, uint64_t number)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(number >> (8 * i));
    }
    sha256_update(hash, bytes, sizeof bytes);
}

void sha256_add_text(struct sha256 *hash, const char *text)
{
    sha256_add_number(hash, strlen(text));
    sha256_update(hash, text, strlen(text));
}

void sha256_finish(struct sha256 *hash, uint8_t digest[SHA256_SIZE])
{
    uint64_t bits = hash->size * 8;
    uint8_t tail[72] = { 0x80 };
    size_t filled = hash->size % 64;
    size_t padding = (filled < 56 ? 56 : 120) - filled;
    for (size_t i = 0; i < 8; i++) {
        tail[padding + i] = (uint8_t)(bits >> (56 - 8 * i));
    }
    sha256_update(hash, tail, padding + 8);
    for (size_t i = 0; i < SHA256_SIZE; i++) {
        digest[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
    }
}

void sha256_write_text(const uint8_t digest[SHA256_SIZE], char text[SHA256_TEXT_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < SHA256_SIZE; i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 15];
    }
    text[SHA256_TEXT_SIZE - 1] = 0;
}

void sha256_finish_text(struct sha256 *hash, char digest[SHA256_TEXT_SIZE])
{
    uint8_t bytes[SHA256_SIZE];
    sha256_finish(hash, bytes);
    sha256_write_text(bytes, digest);
}
