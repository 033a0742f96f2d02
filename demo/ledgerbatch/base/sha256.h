/* SHA-256 (FIPS 180-4). A database stores the digest of the input and rules that it belongs to. */
#ifndef LEDGERBATCH_BASE_SHA256_H
#define LEDGERBATCH_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE      32
#define SHA256_TEXT_SIZE 65

struct sha256 {
    uint32_t state[8];
    uint64_t size;
    uint8_t block[64];
};

void sha256_init(struct sha256 *hash);
void sha256_update(struct sha256 *hash, const void *data, size_t size);

/* Hashes a number as eight bytes. */
void sha256_add_number(struct sha256 *hash, uint64_t number);

/* Hashes the length first, so that different lists of texts are different input of the hash. */
void sha256_add_text(struct sha256 *hash, const char *text);

void sha256_finish(struct sha256 *hash, uint8_t digest[SHA256_SIZE]);

/* Writes a digest as 64 hexadecimal digits and a 0. */
void sha256_write_text(const uint8_t digest[SHA256_SIZE], char text[SHA256_TEXT_SIZE]);

/* Finishes, and writes the digest as 64 hexadecimal digits and a 0. */
void sha256_finish_text(struct sha256 *hash, char digest[SHA256_TEXT_SIZE]);

#endif
